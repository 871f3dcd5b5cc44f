"""The study of many classes, against one simulation made by hand; and what its published table says."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from validation import many_classes

pytestmark = pytest.mark.slow

TABLE = Path(many_classes.__file__).parent / "tables" / "coverage.csv"


SYSTEM = {"classes": 5, "recall": [0.9, 0.9], "dispersion": [0.1, 0.1]}


def systems(n, **settings):
    """Cells of n systems, the shares of their classes, and their recalls."""
    cells = np.stack([many_classes._system(np.random.default_rng(seed), **SYSTEM | settings) for seed in range(n)])
    np.testing.assert_allclose(cells.sum((1, 2)), 1)
    shares = cells.sum(-1)
    return cells, shares, np.einsum("sii->si", cells) / shares


@pytest.mark.parametrize(("sizes", "errors"), [("equal", "popular"), ("tenfold", "uniform")])
def test_systems(sizes, errors):
    cells, shares, recall = systems(4000, sizes=sizes, recalls="random", errors=errors)
    np.testing.assert_allclose(shares.max(1) / shares.min(1), 1 if sizes == "equal" else 10)
    assert recall.mean() == pytest.approx(0.9, abs=4 * 0.3 * np.sqrt(0.1 / recall.size))
    assert recall.var() == pytest.approx(0.9 * 0.1 * 0.1, rel=0.05)
    spread = cells[:, 0, 1:] / cells[:, 0, 1:].sum(-1, keepdims=True)
    assert spread.std() > 0.2 if errors == "popular" else spread.std() < 1e-12


@pytest.mark.parametrize(
    ("recalls", "expected"), [("falling", [0.95, 0.825, 0.7, 0.575, 0.45]), ("step", [0.95, 0.95, 0.95, 0.3, 0.3])]
)
def test_systems_that_no_model_has(recalls, expected):
    cells, shares, recall = systems(2, sizes="zipf", recalls=recalls, errors="clumped")
    np.testing.assert_allclose(shares[:, 0, None] / shares, [[1, 2, 3, 4, 5]] * 2)
    np.testing.assert_allclose(recall, [expected] * 2)
    wrong = cells * ~np.eye(5, dtype=bool)
    assert ((wrong > 0).sum(-1) == 2).all()
    np.testing.assert_allclose(wrong.max(-1) / wrong.sum(-1), 0.7)


def test_the_published_table_says_that_the_shared_prior_covers():
    figures = pd.read_csv(TABLE).query("interval == 'shared_eti'")
    # The worst of classes that are exactly alike is another question (see `Posterior.prob_worst`).
    figures = figures[(figures["metric"] != "worst_recall") | (figures["quality"] != 0.99)]
    assert set(figures["classes"]) == {3, 10, 30}
    assert figures["coverage"].mean() >= 0.93
    assert (figures["coverage"] >= 0.88 - 3 * figures["coverage_mcse"]).all()
