"""Clusters that matrices are counted with: which cells their examples are in, whatever is selected or summed."""

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bayesperf as bp
from bayesperf.core.errors import DependenceWarning
from tests.shared.engines import ENGINES


def predictions(n=400, seed=0, classes=3, clusters=30):
    rng = np.random.default_rng(seed)
    return (
        rng.integers(classes, size=n),
        {name: rng.integers(classes, size=n) for name in ("old", "new")},
        rng.integers(clusters, size=n),
        rng.choice(["x", "y"], size=n),
    )


def by_cluster(cm, clusters):
    """The counts of each cluster, (cluster, …, actual, predicted)."""
    return clusters.table.toarray().reshape(clusters.size, *cm.counts.shape)


def brute_force(y_true, y_pred, cluster, site):
    """Counts of (cluster, site, model, actual, predicted), clusters in the order of their ids."""
    places = {label: place for place, label in enumerate(np.unique(cluster))}
    counts = np.zeros((len(places), 2, 2, 3, 3), int)
    for model, column in enumerate(y_pred.values()):
        for t, p, c, s in zip(y_true, column, cluster, site, strict=True):
            counts[places[c], int(s == "y"), model, t, p] += 1
    return counts


def test_wide_and_long_columns():
    y_true, y_pred, cluster, site = predictions()
    expected = brute_force(y_true, y_pred, cluster, site)
    wide = bp.ConfusionMatrix.from_predictions(y_true, y_pred, by={"site": site}, cluster=cluster)
    np.testing.assert_array_equal(by_cluster(wide, wide.clusters), expected)
    assert (wide.clusters.name, wide.clusters.size, wide.dims) == ("cluster", 30, ("site", "model"))
    models = np.repeat(["old", "new"], 400)
    long = bp.ConfusionMatrix.from_predictions(
        np.tile(y_true, 2), np.concatenate(list(y_pred.values())), by={"site": np.tile(site, 2), "model": models},
        example=np.tile(np.arange(400), 2), cluster={"patient": np.tile(cluster, 2)},
    ).isel(model=[1, 0])  # fmt: skip
    np.testing.assert_array_equal(by_cluster(long, long.clusters), expected)
    assert long.clusters.name == "patient"
    assert long.patterns is not None


def test_selections_and_sums():
    y_true, y_pred, cluster, site = predictions()
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred, by={"site": site}, cluster=cluster)
    tables = by_cluster(cm, cm.clusters)
    for derived, expected in {
        "sel": (cm.sel(model="new"), tables[:, :, 1]),
        "isel": (cm.isel(site=[1, 0]), tables[:, ::-1]),
        "sum": (cm.sum("site"), tables.sum(1)),
        "sum of both": (cm.sum(["model", "site"]), tables.sum((1, 2))),
        "sum of the second": (cm.sum("model"), tables.sum(2)),
    }.values():
        np.testing.assert_array_equal(by_cluster(derived, derived.clusters), expected)
    rest = cm.one_vs_rest()
    np.testing.assert_array_equal(by_cluster(rest, rest.clusters).sum(0), rest.counts)
    one = tables[..., 1:2, :].sum((-2, -1)) - tables[..., 1, 1]
    np.testing.assert_array_equal(by_cluster(rest, rest.clusters)[..., 1, 1, 0], one)


def test_of_clusters_within_clusters_the_first_count():
    hospital, patient = [1, 1, 2, 2, 3, 3], ["a", "b", "a", "b", "c", "d"]
    cm = bp.ConfusionMatrix.from_predictions([0, 1] * 3, [0, 1] * 3, cluster={"hospital": hospital, "patient": patient})
    assert (cm.clusters.name, cm.clusters.size) == ("hospital", 3)


@pytest.mark.slow
def test_a_million_clusters_stay_sparse():
    n = 1_000_000
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    cm = bp.ConfusionMatrix.from_predictions(y, y, labels=[0, 1], cluster=np.arange(n))
    assert cm.clusters.size == len(cm.clusters.counts) == n


def test_a_posterior_that_ignores_clusters_says_so():
    y_true, y_pred, cluster, _ = predictions()
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred["old"], cluster={"patient": cluster})
    with pytest.warns(DependenceWarning, match=r"examples are of 30 patients.*pool\(cm\)"):
        post = bp.posterior(cm)
    steps = bp.ConfusionMatrix.from_predictions(
        y_true > 0, y_pred["old"] > 0, by={"step": np.arange(400) // 100}, cluster={"patient": np.arange(400) // 10}
    )
    for answer in (
        lambda: post.update(cm),
        lambda: bp.monitor(steps, 0.5, "recall"),
        lambda: bp.pool(steps, "step"),
    ):
        with pytest.warns(DependenceWarning, match=r"examples are of \d+ patients"):
            answer()
    # The model knows its groups.
    same = bp.ConfusionMatrix.from_predictions(
        y_true > 0, y_pred["old"] > 0, by={"step": np.arange(400) // 100}, cluster={"step": np.arange(400) // 100}
    )
    bp.pool(same, "step")
    # Of the patients those who are in the selection.
    with pytest.warns(DependenceWarning, match="examples are of 10 patients"):
        bp.posterior(steps.sel(step=0))


@pytest.mark.parametrize("engine", ["pandas", "polars, lazy", "pyarrow", "duckdb"])
def test_frames_of_every_engine(engine):
    y_true, y_pred, cluster, site = predictions()
    frame = pd.DataFrame({"y": y_true, **y_pred, "patient": cluster, "hospital": cluster // 3, "site": site})
    expected = bp.ConfusionMatrix.from_predictions(y_true, y_pred, by={"site": site}, cluster=cluster)
    cm = bp.ConfusionMatrix.from_frame(
        ENGINES[engine](pa.Table.from_pandas(frame)), actual="y", predicted=["old", "new"], by="site", cluster="patient"
    )
    # Engines return clusters in an order of their own.
    found, wanted = (np.unique(by_cluster(each, each.clusters), axis=0) for each in (cm, expected))
    np.testing.assert_array_equal(found, wanted)
    assert cm.clusters.name == "patient"


def test_frames_of_one_system_and_nested_clusters():
    y_true, y_pred, cluster, _ = predictions()
    frame = pd.DataFrame({"y": y_true, "p": y_pred["old"], "patient": cluster, "hospital": cluster // 3})
    cm = bp.ConfusionMatrix.from_frame(frame, actual="y", predicted="p", cluster=["hospital", "patient"])
    assert (cm.clusters.name, cm.clusters.size) == ("hospital", 10)
    np.testing.assert_array_equal(by_cluster(cm, cm.clusters).sum(0), cm.counts)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pandas", "polars, lazy", "duckdb"])
def test_rows_of_an_example_in_a_frame_are_of_one_cluster(engine):
    y_true, y_pred, cluster, _ = predictions(60)
    systems = [pd.DataFrame({"id": range(60), "y": y_true, "model": name, "p": y_pred[name], "patient": cluster})
               for name in ("old", "new")]  # fmt: skip
    options = {"actual": "y", "predicted": "p", "by": "model", "example": "id", "cluster": "patient"}
    frame = ENGINES[engine](pa.Table.from_pandas(pd.concat(systems), preserve_index=False))
    cm = bp.ConfusionMatrix.from_frame(frame, **options)
    wide = bp.ConfusionMatrix.from_predictions(y_true, y_pred, cluster={"patient": cluster}).isel(model=[1, 0])
    np.testing.assert_array_equal(by_cluster(cm, cm.clusters), by_cluster(wide, wide.clusters))
    np.testing.assert_array_equal(cm.patterns.margins(), wide.counts)
    systems[1].loc[7, "patient"] += 1
    frame = ENGINES[engine](pa.Table.from_pandas(pd.concat(systems), preserve_index=False))
    with pytest.raises(ValueError, match=r"column 'patient' differs between model .* for 1 example\."):
        bp.ConfusionMatrix.from_frame(frame, **options)


def test_an_engine_counts_by_the_outer_clusters_alone():
    frame = pd.DataFrame({"y": [0, 1] * 3, "p": [0, 1] * 3, "hospital": [1, 1, 2, 2, 3, 3], "patient": [None] * 6})
    cm = bp.ConfusionMatrix.from_frame(frame, actual="y", predicted="p", cluster=["hospital", "patient"])
    assert (cm.clusters.name, cm.clusters.size, len(cm.clusters.counts)) == ("hospital", 3, 6)
    with pytest.raises(ValueError, match="no column 'person'"):
        bp.ConfusionMatrix.from_frame(frame, actual="y", predicted="p", cluster=["hospital", "person"])


@pytest.mark.slow
def test_a_million_clusters_counted_in_an_engine():
    """As many entries as rows, none a dim; drawn in random groups of them."""
    n = 1_000_000
    relation = duckdb.sql(
        f"SELECT i % 2 AS y, (i % 2 + (hash(i) % 10 = 0)::INT) % 2 AS p, i AS patient FROM range({n}) AS rows(i)"
    )
    cm = bp.ConfusionMatrix.from_frame(relation, actual="y", predicted="p", cluster="patient")
    assert (cm.clusters.size, len(cm.clusters.counts), cm.dims) == (n, n, ())
    accuracy = bp.pool(cm, draws=200).mean["accuracy"]
    # Of one example each, they are independent.
    assert accuracy.sd().item() == pytest.approx(np.sqrt(0.09 / n), rel=4 / np.sqrt(2 * 200))
    assert accuracy.observed.item() == pytest.approx(0.9, abs=0.002)


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ([1, 2], "columns of unequal length: .*cluster"),
        ([1, None, 2, 2], "cluster.* has 1 missing value"),
        ({}, "cluster: name a column of ids"),
        ({"hospital": [1, 1, 2, 2], "patient": [1, 2]}, "columns of unequal length"),
    ],
)
def test_bad_columns(cluster, message):
    with pytest.raises(ValueError, match=message):
        bp.ConfusionMatrix.from_predictions([0, 1, 0, 1], [0, 1, 1, 1], cluster=cluster)


def test_an_example_of_two_clusters_is_refused():
    with pytest.raises(ValueError, match=r"cluster: example 'b' is of two clusters"):
        bp.ConfusionMatrix.from_predictions(
            [0, 1, 0, 1], [0, 1, 1, 1], by={"model": [1, 1, 2, 2]}, example=["a", "b", "a", "b"], cluster=[1, 2, 1, 1]
        )
    indicators = np.array([[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="cluster is for one label an example"):
        bp.ConfusionMatrix.from_predictions(indicators, indicators, cluster=[1, 2])


def test_dims_of_pool_and_clusters_exclude_each_other():
    y_true, y_pred, cluster, site = predictions()
    cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred["old"], by={"site": site}, cluster={"patient": cluster})
    with pytest.raises(ValueError, match="dim: the counts have patients as clusters already"):
        bp.pool(cm, "site", method="bayesian_bootstrap")


def test_repeats_with_ids_of_their_own_would_count_again_and_as_clusters_do_not():
    """What the error of an example that occurs twice recommends: judged five times, and alike each time."""
    rng = np.random.default_rng(2)
    right = {"new": rng.random(120) < 0.85, "old": rng.random(120) < 0.8}
    ones, five = np.ones(120, int), np.repeat(np.arange(120), 5)
    alone = bp.ConfusionMatrix.from_predictions(ones, {n: each.astype(int) for n, each in right.items()}, labels=[0, 1])
    repeated = {name: each[five].astype(int) for name, each in right.items()}
    options = {"labels": [0, 1]}
    as_new = bp.ConfusionMatrix.from_predictions(ones[five], repeated, **options)
    clustered = bp.ConfusionMatrix.from_predictions(ones[five], repeated, cluster={"example": five}, **options)
    judged = {"alone": alone, "as new": as_new, "clustered": bp.pool(clustered).mean}
    sd = {name: bp.compare(each, metric="recall").difference.sd().item() for name, each in judged.items()}
    assert sd["clustered"] == pytest.approx(sd["alone"], rel=0.05)
    assert sd["as new"] == pytest.approx(sd["alone"] / np.sqrt(5), rel=0.05)
