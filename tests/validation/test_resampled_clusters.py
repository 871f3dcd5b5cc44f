"""The study of intervals over clusters: what it simulates, each of its methods by hand, and that they cover."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

import bayesperf as bp
from validation import resampled_clusters
from validation.study import run

pytestmark = pytest.mark.slow

TABLE = Path(resampled_clusters.__file__).parent / "tables" / "clusters.csv"


@pytest.mark.parametrize("classes", [2, 5])
def test_clusters_have_the_mean_cells_and_unequal_sizes(classes):
    cluster, actual, predicted = resampled_clusters.clustered(20_000, 0.1, classes, 16, np.random.default_rng(1))
    sizes = np.bincount(cluster, minlength=20_000)
    # 1 + Poisson of an exponential: mean 16, variance 15 + 225, whose fourth moment is about nine times its square.
    assert sizes.mean() == pytest.approx(16, abs=4 * np.sqrt(240 / 20_000))
    assert sizes.var() == pytest.approx(240, rel=4 * np.sqrt(8 / 20_000))
    for found, expected in zip(predicted, resampled_clusters.mean_cells(classes), strict=True):
        cells = np.zeros((len(sizes), classes, classes))
        np.add.at(cells, (cluster, actual, found), 1)
        residual = cells - sizes[:, None, None] * expected
        error = np.sqrt((residual**2).sum(0)) / sizes.sum()
        np.testing.assert_array_less(abs(residual.sum(0) / sizes.sum()), 4 * error)


def test_each_method_by_hand():
    rng = np.random.default_rng(2)
    cluster, actual, (first, second) = resampled_clusters.clustered(25, 0.1, 2, 16, rng)
    cm = bp.ConfusionMatrix.from_predictions(actual, {"first": first, "second": second}, labels=[0, 1], cluster=cluster)
    drawn = {method: resampled_clusters._VALUES[method](cm, 4000, 3) for method in resampled_clusters.METHODS}
    np.testing.assert_array_equal(
        drawn["clusters"], bp.pool(cm, draws=4000, random_seed=3).mean["f1"].joint_draws(4000)
    )
    # The bootstrap, of labels: all examples of the clusters chosen, the same for both systems.
    members = [np.flatnonzero(cluster == each) for each in range(25)]
    chosen = [np.concatenate([members[c] for c in rng.integers(25, size=25)]) for _ in range(400)]
    by_labels = np.array([[f1_score(actual[rows], of[rows]) for rows in chosen] for of in (first, second)])
    found = drawn["cluster_bootstrap"]
    for expected, values in ((by_labels[0], found[0]), (by_labels[0] - by_labels[1], found[0] - found[1])):
        assert values.mean() == pytest.approx(expected.mean(), abs=4 * expected.std() / np.sqrt(400))
        assert values.std() == pytest.approx(expected.std(), rel=4 / np.sqrt(2 * 400))
    # The model takes the two systems for independent; whatever is drawn in clusters does not.
    correlation = {method: np.corrcoef(values)[0, 1] for method, values in drawn.items()}
    assert abs(correlation["groups"]) < 0.1
    assert min(correlation["clusters"], correlation["cluster_bootstrap"]) > 0.3


def test_the_table_is_what_the_pages_say_of_it():
    table = pd.read_csv(TABLE)
    assert set(table.groupby(["classes", "interval"]).size()) == {5 * 3 * 2}
    ours = table.query("interval == 'clusters' and n_groups >= 20")
    few = ours.query("dispersion <= 0.1")["coverage"]
    assert (few > 0.91).all()
    assert few.round(2).agg(["min", "max"]).tolist() == pytest.approx([0.92, 0.98], abs=0.005)
    much = ours.query("dispersion == 0.3")["coverage"]
    assert much.agg(["min", "max"]).tolist() == pytest.approx([0.875, 0.96], abs=0.005)
    # Repetitions: 400, or 100 of the model.
    share = table["coverage"] * (1 - table["coverage"])
    expected = np.sqrt(share / np.where(table["interval"] == "groups", 100, 400))
    np.testing.assert_allclose(table["coverage_mcse"], expected, atol=2e-4)


def test_intervals_of_twenty_unequal_clusters_cover():
    """At least .91 of them, less two standard errors, where those of independent examples do not."""
    study = run(resampled_clusters.STUDY, 100, n_groups=[20, 50], dispersion=[0.03, 0.1], draws=1000)
    coverage, error = study["coverage"], study["coverage_mcse"]
    assert (coverage > 0.91 - 2 * error).sel(interval="clusters").all()
    assert coverage.sel(interval="independent", dispersion=0.1).mean() < 0.9
    # The percentile bootstrap is narrower, and covers less.
    mean, width = (study[name].mean(["n_groups", "dispersion"]) for name in ("coverage", "width"))
    assert (mean.sel(interval="cluster_bootstrap") <= mean.sel(interval="clusters")).all()
    assert (width.sel(interval="cluster_bootstrap") < width.sel(interval="clusters")).all()
