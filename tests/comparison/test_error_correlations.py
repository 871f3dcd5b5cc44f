"""Correlations of systems' errors: how much of their spread is chance, by simulation; and what examples add."""

import numpy as np
import pytest
from scipy import special

import bayesperf as bp
from bayesperf.comparison.error_correlations import Influence, chance_spread, error_covariance
from bayesperf.comparison.influences import influence_of_clusters, influence_of_examples

PAIRS = ~np.eye(20, dtype=bool)


def right(rng, accuracy, difficulty, examples=200, systems=20):
    """Return which examples (n, M) each system got right, some examples being harder for all."""
    hard = np.sqrt(difficulty) * rng.standard_normal((examples, 1))
    own = np.sqrt(1 - difficulty) * rng.standard_normal((examples, systems))
    return (hard + own < special.ndtri(accuracy)).astype(float)


@pytest.mark.parametrize(("accuracy", "difficulty"), [(0.5, 0.2), (0.8, 0.5), (0.95, 0.5), (0.8, 0.8)])
def test_the_spread_of_equal_correlations_is_chance(accuracy, difficulty):
    rng, found, expected = np.random.default_rng(0), [], []
    for _ in range(150):
        x = right(rng, accuracy, difficulty, 600 if accuracy > 0.9 else 200)
        correlation = np.corrcoef(x.T)
        mean = correlation[PAIRS].mean()
        expected.append(((correlation[PAIRS] - mean) ** 2).sum())
        found.append(chance_spread(Influence(x - x.mean(0), np.ones(len(x))), mean))
    error = np.std(np.subtract(found, expected)) / np.sqrt(150)
    # Of second order in 1/n are 2 %, and at an accuracy of .95, of ten errors a system, 5 %.
    assert np.mean(found) == pytest.approx(
        np.mean(expected), abs=4 * error + (0.05 if accuracy > 0.9 else 0.02) * np.mean(expected)
    )


def test_units_that_are_alike_are_counted():
    x = right(np.random.default_rng(1), 0.8, 0.5)
    x -= x.mean(0)
    doubled = chance_spread(Influence(np.repeat(x, 2, axis=0), np.ones(400)), 0.3)
    assert chance_spread(Influence(x, np.full(200, 2)), 0.3) == pytest.approx(doubled, rel=1e-12)


def test_correlations_that_differ_are_kept_as_examples_become_many():
    """Two of four systems are nearly the same: with 200 examples it is seen already."""
    rng = np.random.default_rng(0)
    x = right(rng, 0.8, 0.3, 2000, 4)
    x[:, 1] = np.where(rng.random(2000) < 0.02, 1 - x[:, 0], x[:, 0])
    true = np.corrcoef(x.T)
    weights = rng.standard_gamma(1, (4000, 2000))
    draws = weights @ x / weights.sum(1, keepdims=True)
    found = error_covariance(draws, Influence(x - x.mean(0), np.ones(2000))).drawn
    scale = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    np.testing.assert_allclose(np.diag(found), draws.var(0, ddof=1))
    np.testing.assert_allclose(found / scale, true, atol=0.06)
    assert found[0, 1] / scale[0, 1] > 0.85


def test_even_correlations_are_means_of_pairs_and_expect_the_same_sum_of_squares():
    rng, codes = np.random.default_rng(0), np.array([0, 0, 1, 1, 1, 0])
    root = rng.standard_normal((6, 6))
    covariance = root @ root.T
    covariance /= np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    draws = rng.multivariate_normal(np.zeros(6), covariance, 4000)
    found, same = np.corrcoef(draws.T), np.equal.outer(codes, codes) & ~np.eye(6, dtype=bool)
    centring = np.eye(6) - 1 / 6
    unit = draws / draws.std(0, ddof=1)
    assert np.trace(centring @ error_covariance(unit, None).even) == pytest.approx(np.trace(centring @ found))
    even = error_covariance(unit, None, codes).even
    np.testing.assert_allclose(even[same], found[same].mean())
    np.testing.assert_allclose(even[0, 2:5], found[np.not_equal.outer(codes, codes)].mean())
    np.testing.assert_allclose(np.diag(even), 1)


def test_two_systems_keep_their_covariance():
    draws = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.4], [0.4, 2]], 500)
    for found in error_covariance(draws, None):
        np.testing.assert_allclose(found, np.cov(draws.T))


def test_a_system_without_errors_has_no_correlations():
    x = right(np.random.default_rng(0), 0.8, 0.5, systems=5)
    with_perfect = np.column_stack([x, np.ones(200)])
    centred = with_perfect - with_perfect.mean(0)
    assert np.isfinite(chance_spread(Influence(centred, np.ones(200)), 0.3))


# ── What examples and clusters add ──


def predictions(rng, n=300, systems=4, classes=2):
    actual = rng.integers(classes, size=n)
    wrong = rng.random((systems, n)) < 0.25
    guess = (actual + 1 + rng.integers(max(classes - 1, 1), size=(systems, n))) % classes
    return actual, {f"s{i}": np.where(wrong[i], guess[i], actual) for i in range(systems)}


@pytest.mark.parametrize(
    ("metric", "classes"), [("f1", 2), ("recall", 2), ("mcc", 2), ("f1_macro", 3), ("recall_per_class", 3)]
)
def test_the_influence_of_an_example_is_what_leaving_it_out_changes(metric, classes):
    actual, predicted = predictions(np.random.default_rng(0), 400, 3, classes)
    cm = bp.ConfusionMatrix.from_predictions(actual, predicted, labels=range(classes))
    metric, positive = bp.metrics.get(metric), 1 if classes == 2 else None
    influences = influence_of_examples(cm.outcomes, metric, positive)
    places = classes if metric.average == "per_class" else 1
    assert len(influences) == places
    whole = bp.score(cm, metric)
    for outcome in (0, 3, len(cm.outcomes.actual) - 1):
        less = cm.outcomes.counts.values.copy()
        less[outcome] -= 1
        left = type(cm.outcomes)(
            cm.outcomes.counts.copy(data=less),
            *(getattr(cm.outcomes, name) for name in ("actual", "predicted", "names", "dim", "labels", "pos_label")),
        )
        change = whole - bp.score(bp.ConfusionMatrix(left.margins(), cm.pos_label), metric)
        found = np.stack([of_place.values[outcome] for of_place in influences], -1)
        # To first order in 1/n.
        np.testing.assert_allclose(found / 400, change.values.reshape(found.shape), atol=3 * 20 / 400**2)


def test_the_influence_of_a_cluster_is_the_sum_of_its_examples():
    rng = np.random.default_rng(0)
    actual, predicted = predictions(rng, 300, 3, 3)
    cluster = rng.integers(40, size=300)
    cm = bp.ConfusionMatrix.from_predictions(actual, predicted, labels=range(3), cluster=cluster)
    post, metric = bp.pool(cm).mean, bp.metrics.get("f1_macro")
    (of_clusters,) = influence_of_clusters(post, metric, "model")
    (of_examples,) = influence_of_examples(cm.outcomes, metric, None)
    outcome = {(cm.outcomes.actual[i], *cm.outcomes.predicted[i]): i for i in range(len(cm.outcomes.actual))}
    rows = [outcome[(actual[k], *(predicted[name][k] for name in predicted))] for k in range(300)]
    expected = np.zeros((40, 3))
    np.add.at(expected, np.unique(cluster, return_inverse=True)[1], of_examples.values[rows])
    np.testing.assert_allclose(of_clusters.values, expected, atol=1e-12)


def test_clusters_of_several_places_keep_their_order():
    rng = np.random.default_rng(0)
    n, site = 400, np.repeat(["x", "y"], 200)
    actual, predicted = predictions(rng, n, 3)
    cluster = rng.integers(30, size=n)
    settings = {"labels": [0, 1]}
    cm = bp.ConfusionMatrix.from_predictions(actual, predicted, by={"site": site}, cluster=cluster, **settings)
    found = influence_of_clusters(bp.pool(cm).mean, bp.metrics.get("accuracy"), "model")
    for of_site, name in zip(found, ["x", "y"], strict=True):
        here = site == name
        each = np.stack([predicted[system][here] == actual[here] for system in predicted], -1)
        expected = np.zeros((30, 3))
        np.add.at(expected, cluster[here], each - each.mean(0))
        np.testing.assert_allclose(of_site.values, expected, atol=1e-12)


def test_the_metric_of_clustered_systems_is_shrunk():
    rng = np.random.default_rng(0)
    actual, predicted = predictions(rng, 600, 8)
    cm = bp.ConfusionMatrix.from_predictions(actual, predicted, cluster=rng.integers(60, size=600))
    post = bp.pool(cm).mean
    alone, found = (bp.compare(post, metric="f1", shrink=shrink) for shrink in (False, True))
    assert np.ptp(found.shrunk.mean().values) < np.ptp(post["f1"].mean().values)
    assert found.prob_best.max() < alone.prob_best.max()
