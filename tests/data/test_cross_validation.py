"""Rows of features and labels of any kind, by position."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import bayesperf as bp
from bayesperf.core.errors import DependenceWarning, PriorWarning
from bayesperf.data.cross_validation import mean_of_repeats, take

TABLE = np.arange(8.0).reshape(4, 2)
KINDS = {
    "array": TABLE,
    "sparse": sparse.csr_array(TABLE),
    "list": TABLE.tolist(),
    "pandas": pd.DataFrame(TABLE, index=[9, 8, 7, 6]),
    "pandas series": pd.Series(TABLE[:, 0], index=[9, 8, 7, 6]),
    "polars": pl.DataFrame(TABLE),
    "polars series": pl.Series(TABLE[:, 0]),
    "pyarrow": pa.table({"a": TABLE[:, 0], "b": TABLE[:, 1]}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_taken_by_position_and_keep_their_kind(kind):
    rows = take(KINDS[kind], np.array([2, 0, 2]))
    assert type(rows) is type(KINDS[kind])
    expected = TABLE[[2, 0, 2], 0] if "series" in kind else TABLE[[2, 0, 2]]
    np.testing.assert_array_equal(rows.toarray() if kind == "sparse" else np.asarray(rows), expected)


def test_the_mean_of_repeats_keeps_the_classes_and_is_the_nearest():
    rng = np.random.default_rng(3)
    rows = np.stack([rng.multinomial([40, 25, 10], [[0.7, 0.2, 0.1]] * 3) for _ in range(7)])
    counts = xr.DataArray(rows[:, None], dims=("repeat", "fold", "actual", "predicted"))
    found = mean_of_repeats(counts).values
    assert found.sum(-1).tolist() == [40, 25, 10]
    assert (np.abs(found - rows.mean(0)) < 1).all()
    # No table of these classes is nearer, by the sum of distances of a row.
    for i, row in enumerate(rows.mean(0)):
        others = [(a, b, found[i].sum() - a - b) for a in range(41) for b in range(41)]
        assert np.abs(found[i] - row).sum() <= min(np.abs(np.array(each) - row).sum() for each in others) + 1e-12


# ── Several classifiers ──


X, Y = (values[::3] for values in load_breast_cancer(return_X_y=True))


def test_classifiers_of_a_mapping_are_judged_on_the_same_folds():
    systems = {"bayes": GaussianNB(), "stump": DecisionTreeClassifier(max_depth=1, random_state=0)}
    both = bp.ConfusionMatrix.from_cross_validation(systems, X, Y, cv=4)
    assert set(both.dims) == {"model", "fold"}
    for name, estimator in systems.items():
        alone = bp.ConfusionMatrix.from_cross_validation(estimator, X, Y, cv=4)
        np.testing.assert_array_equal(both.sel(model=name).counts, alone.counts)
    assert both.patterns is not None


def test_advice_for_repeats_is_to_draw_whole_examples():
    """Not to compare the counts, which makes a comparison of each fold."""
    systems = {"bayes": GaussianNB(), "stump": DecisionTreeClassifier(max_depth=1, random_state=0)}
    repeated = bp.ConfusionMatrix.from_cross_validation(systems, X, Y, cv=list(StratifiedKFold(4).split(X, Y)) * 2)
    with pytest.warns(PriorWarning, match="nothing of the dispersion"):
        of_folds = bp.pool(repeated, "fold").mean
    with pytest.warns(DependenceWarning, match=r"compare whole examples, compare\(pool\(cm\)\.mean, metric"):
        bp.compare(of_folds, metric="recall")
    with pytest.warns(DependenceWarning, match=rf"the predictions are of {len(Y)} examples, and"):
        bp.posterior(repeated)
    assert f": {len(Y)} examples, each once in each of 2 repeats" in repr(repeated)
    assert bp.pool(repeated).in_words("recall").startswith(f"The predictions are of {len(Y)} examples. ")


@pytest.mark.slow
def test_classifiers_are_compared_over_repeats_by_whole_examples():
    """Repeats of the same folds say no more than one, but for the prior's pseudo-examples."""
    systems = {"bayes": GaussianNB(), "stump": DecisionTreeClassifier(max_depth=1, random_state=0)}
    folds = list(StratifiedKFold(4).split(X, Y))
    repeated = bp.ConfusionMatrix.from_cross_validation(systems, X, Y, cv=folds * 3)
    assert set(repeated.dims) == {"model", "repeat", "fold"}
    assert repeated.clusters.size == len(Y)
    with pytest.raises(ValueError, match="each of 3 repeats is of the same examples"):
        repeated.sum(["repeat", "fold"])
    once = bp.ConfusionMatrix.from_predictions(
        Y,
        {name: cross_val_predict(estimator, X, Y, cv=folds) for name, estimator in systems.items()},
        cluster={"example": np.arange(len(Y))},
    )
    found, expected = (
        bp.compare(bp.pool(cm, draws=20_000).mean, metric="accuracy").difference for cm in (repeated, once)
    )
    assert found.mean().item() == pytest.approx(expected.mean().item(), abs=2e-3)
    assert found.sd().item() == pytest.approx(expected.sd().item(), rel=0.1)
    np.testing.assert_array_equal(bp.pool(repeated).mean.observed / 3, bp.pool(once).mean.observed)
