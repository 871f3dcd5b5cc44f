"""Areas under ROC curves of several classes: against scikit-learn, and loops of weights."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics as sklearn_metrics

import bayesperf as bp
from bayesperf.curves.areas import bootstrapped_areas
from tests.curves.test_clustered_areas import is_distributed_as, with_unseen
from tests.shared.systems import areas_compared

KINDS = [("ovr", "macro"), ("ovr", "weighted"), ("ovo", "macro"), ("ovo", "weighted")]


def examples(n, classes, seed=4, apart=1.0, digits=9):
    """Return labels of unequal frequency, and probabilities."""
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, n, p=np.arange(classes, 0, -1) / (classes * (classes + 1) / 2))
    y[:classes] = np.arange(classes)
    exponential = np.exp(np.round(rng.normal(size=(n, classes)) + apart * np.eye(classes)[y], digits))
    return y, exponential / exponential.sum(1, keepdims=True)


Y, P = examples(80, 4)
OTHER = examples(80, 4, seed=9)[1] * 0.3 + 0.7 * P
CLUSTER = np.r_[:20, np.random.default_rng(2).integers(20, size=60)]


def of_two(own, other, score, w):
    """An area under weights, over all pairs; it is scikit-learn's, which is slow."""
    difference = score[own][:, None] - score[other]
    wins = (difference > 0) + 0.5 * (difference == 0)
    return w[own] @ wins @ w[other] / (w[own].sum() * w[other].sum())


def and_unseen(rng, cluster, areas):
    """An area of two that has a row and a column more, of what was not seen: half a unit, shared by so many areas."""

    def area(own, other, score, w):
        difference = score[own][:, None] - score[other]
        sizes = [members.sum() / len(np.unique(cluster[members])) for members in (own, other)]
        return with_unseen((difference > 0) + 0.5 * (difference == 0), w[own], w[other], sizes, rng, 0.5 / areas)

    return area


def averaged(y, p, w, kind, average, area=of_two):
    """The average area under weights, from areas of two classes."""
    classes = range(p.shape[1])
    if kind == "ovr":
        areas = [area(y == k, y != k, p[:, k], w) for k in classes]
        frequency = [w[y == k].sum() for k in classes]
    else:
        areas, frequency = [], []
        for j in classes:
            for k in range(j):
                of_pair = [area(y == c, y == o, p[:, c], w) for c, o in ((j, k), (k, j))]
                areas.append(np.mean(of_pair))
                frequency.append(w[(y == j) | (y == k)].sum())
    return np.average(areas, weights=None if average == "macro" else frequency)


@pytest.mark.few
@pytest.mark.parametrize(("kind", "average"), [*KINDS, ("ovr", None)])
@pytest.mark.parametrize("data", [(80, 4), (200, 3), (30, 2), (300, 7)], ids=str)
@pytest.mark.parametrize("digits", [9, 0], ids=["", "tied"])
def test_point_values_are_those_of_scikit_learn(kind, average, data, digits):
    y, p = examples(*data, digits=digits)
    area = bp.roc_auc(y, p, multi_class=kind, average=average, draws=2)
    if data[1] > 2:
        expected = sklearn_metrics.roc_auc_score(y, p, multi_class=kind, average=average)
    else:
        # Both columns rank the same.
        expected = sklearn_metrics.roc_auc_score(y, p[:, 1]) * np.ones(2 if average is None else 1)
    np.testing.assert_allclose(area.observed.values, np.squeeze(expected), rtol=1e-13)
    assert area.observed.dims == area.mean().dims == (("label",) if average is None else ())


def test_areas_of_the_loops_are_those_of_scikit_learn():
    w = np.random.default_rng(0).exponential(size=80)
    for average in ("macro", "weighted"):
        expected = sklearn_metrics.roc_auc_score(Y, P, multi_class="ovr", average=average, sample_weight=w)
        assert averaged(Y, P, w, "ovr", average) == pytest.approx(expected, rel=1e-12)
        expected = sklearn_metrics.roc_auc_score(Y, P, multi_class="ovo", average=average)
        assert averaged(Y, P, np.ones(80), "ovo", average) == pytest.approx(expected, rel=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize(("kind", "average"), KINDS)
def test_draws_by_a_loop(kind, average):
    rng = np.random.default_rng(1)
    area = and_unseen(rng, np.arange(80), {"ovr": 4, "ovo": 12}[kind])
    expected = np.array([averaged(Y, P, rng.exponential(size=80), kind, average, area) for _ in range(500)])
    is_distributed_as(bp.roc_auc(Y, P, multi_class=kind, average=average, draws=5000), expected)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "average"), KINDS[::3])
def test_draws_of_clusters_by_a_loop(kind, average):
    rng = np.random.default_rng(1)
    # Of a mean of 1, beside which an unseen cluster has half as much.
    weights = rng.gamma(18 / 20, 20 / 18, size=(500, 20))[:, CLUSTER]
    area = and_unseen(rng, CLUSTER, {"ovr": 4, "ovo": 12}[kind])
    expected = np.array([averaged(Y, P, w, kind, average, area) for w in weights])
    found = bp.roc_auc(Y, P, multi_class=kind, average=average, cluster={"patient": CLUSTER}, draws=5000)
    is_distributed_as(found, expected)
    assert "of clusters" in found.estimand


@pytest.mark.slow
def test_each_class_has_half_an_example_unseen():
    areas = bp.roc_auc(Y, P, multi_class="ovr", average=None, draws=5000)
    assert areas.leading["label"].values.tolist() == [0, 1, 2, 3]
    rng = np.random.default_rng(5)
    for k in range(4):
        area = and_unseen(rng, np.arange(80), 1)
        expected = [area(k == Y, k != Y, P[:, k], rng.exponential(size=80)) for _ in range(2000)]
        assert stats.ks_2samp(areas.sel(label=k).joint_draws(5000).values, expected).pvalue > 1e-3
        # A mean as of half an example more on either side, of an area of ½ (both sides are independent of the rest).
        n, m = (k == Y).sum(), (k != Y).sum()
        seen = (1 - 0.5 / (n + 0.5)) * (1 - 0.5 / (m + 0.5))
        mean = 0.5 + seen * (areas.observed.sel(label=k).item() - 0.5)
        assert areas.mean().sel(label=k).item() == pytest.approx(mean, abs=4 * areas.mcse().sel(label=k).item())


def test_a_class_that_is_separated_has_a_width():
    y = np.repeat([0, 1, 2], 20)
    p = np.eye(3)[y] * 0.5 + np.random.default_rng(0).dirichlet(np.ones(3), 60) * 0.5
    p[y != 0, 0] = p[y != 0, 0].clip(None, 0.2)
    p[y != 0, 1:] *= (1 - p[y != 0, :1]) / p[y != 0, 1:].sum(1, keepdims=True)
    areas = bp.roc_auc(y, p, multi_class="ovr", average=None)
    assert areas.observed.sel(label=0) == 1
    # Nothing but what is unseen: shares of Beta(½, 20) and Beta(½, 40), of which a uniform part is in order.
    rng = np.random.default_rng(0)
    s, t = rng.beta(0.5, 20, 100_000), rng.beta(0.5, 40, 100_000)
    u, v = rng.random((2, 100_000))
    expected = (1 - s) * (1 - t) + s * (1 - t) * u + (1 - s) * t * v + s * t / 2
    np.testing.assert_allclose(areas.sel(label=0).eti(), np.quantile(expected, [0.025, 0.975]), atol=0.003)
    assert areas.sd().sel(label=0).item() == pytest.approx(expected.std(), rel=0.06)


@pytest.mark.parametrize("kind", ["ovr", "ovo"])
def test_averages_of_separated_classes_are_less_uncertain_than_each(kind):
    """One example more, unseen, is in one of the areas that are averaged, not in each."""
    y = np.repeat(np.arange(4), 12)
    p = np.eye(4)[y] * 0.8 + np.random.default_rng(0).dirichlet(np.ones(4), 48) * 0.2
    average = bp.roc_auc(y, p, multi_class=kind)
    assert average.observed == 1
    areas, others = {"ovr": (4, 36), "ovo": (12, 12)}[kind]
    short = 0.5 * (1 - np.prod([1 - 0.5 / areas / (n + 0.5 / areas) for n in (12, others)]))
    assert 1 - average.mean().item() == pytest.approx(short, rel=0.05)
    assert average.sd() > 0.3 * short


@pytest.mark.slow
def test_many_examples_are_put_together_at_random(monkeypatch):
    y, p = examples(1500, 3)
    exact = bp.roc_auc(y, p, multi_class="ovo", draws=4000)
    monkeypatch.setattr(bootstrapped_areas, "_MANY", 500)
    monkeypatch.setattr(bootstrapped_areas, "_MOST_OF_CLASS", 200)
    found = bp.roc_auc(y, p, multi_class="ovo", draws=4000)
    sd = exact.sd().item()
    assert found.mean().item() == pytest.approx(exact.mean().item(), abs=4 * sd * np.sqrt(2 / 4000))
    # Of about 600 groups a variance has a relative standard error of √(2/600), of draws each one of √(2/4,000).
    assert found.sd().item() == pytest.approx(sd, rel=2 * np.sqrt(2 / 600 + 4 / 4000))


@pytest.mark.slow
def test_columns_are_in_the_order_of_labels_or_named():
    names = np.array(["cat", "dog", "emu", "fox"])
    plain = bp.roc_auc(Y, P, multi_class="ovo").eti().values
    frame = pd.DataFrame(P, columns=names)[["fox", "cat", "emu", "dog"]]
    options = {"multi_class": "ovo", "average": "macro"}
    ordered = bp.roc_auc(names[Y], P, **options)
    np.testing.assert_array_equal(ordered.eti(), plain)
    for probabilities, labels in ((frame, None), (dict(frame), None), (frame.to_numpy(), list(frame))):
        found = bp.roc_auc(names[Y], probabilities, labels=labels, **options)
        np.testing.assert_allclose(found.observed, ordered.observed, rtol=1e-13)
    areas = bp.roc_auc(names[Y], frame, multi_class="ovr", average=None)
    assert areas.leading["label"].values.tolist() == list(frame)
    with pytest.raises(ValueError, match="labels: y_true declares the order"):
        bp.roc_auc(pd.Categorical(names[Y], categories=names[::-1]), P, multi_class="ovr")


def test_what_it_is_called():
    macro, weighted = (bp.roc_auc(Y, P, multi_class="ovr", average=a, draws=50) for a in ("macro", "weighted"))
    assert (macro.name, weighted.name) == ("roc_auc_ovr", "roc_auc_ovr_weighted")
    assert macro.estimand == "Bayesian bootstrap of the system's AUC (each class against the rest, macro average)"
    assert macro.in_words().startswith("ROC AUC one-vs-rest is 0.")
    with pytest.raises(ValueError, match="of different metrics: 'roc_auc_ovr' and 'roc_auc_ovr_weighted'"):
        bp.compare(macro, bp.roc_auc(Y[::-1], P[::-1], multi_class="ovr", average="weighted", draws=50))


# ── Comparison ──


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "average"), KINDS[::3])
@pytest.mark.parametrize("cluster", [None, CLUSTER], ids=["", "clusters"])
def test_difference_by_a_loop(kind, average, cluster):
    rng = np.random.default_rng(1)
    weights = rng.exponential(size=(400, 80)) if cluster is None else rng.gamma(18 / 20, size=(400, 20))[:, cluster]
    expected = np.array([np.subtract(*(averaged(Y, p, w, kind, average) for p in (P, OTHER))) for w in weights])
    comparison = areas_compared(Y, P, OTHER, multi_class=kind, average=average, cluster=cluster, draws=5000)
    is_distributed_as(comparison.difference, expected)
    assert comparison.metric == "roc_auc_ovr" if kind == "ovr" else "roc_auc_ovo_weighted"
    assert comparison.quantity.greater_is_better


def test_several_systems():
    same = areas_compared(Y, {"a": P, "b": P.copy(), "c": OTHER}, multi_class="ovr", draws=200)
    differences = same.difference.sd()
    assert (differences.values == 0).tolist() == [True, False, False]
    assert same.prob_best.sum().item() == pytest.approx(1)
    areas = bp.roc_auc(Y, {"a": P, "c": OTHER}, multi_class="ovr", average=None, draws=200)
    assert areas.dims == ("label", "model")
    alone = bp.roc_auc(Y, OTHER, multi_class="ovr", average=None, draws=200)
    np.testing.assert_array_equal(areas.observed.sel(model="c"), alone.observed)
    assert bp.compare(areas).prob_greater.dims == ("label", "model", "model_other")


# ── Arguments ──

NOT_ONE = np.where(np.arange(80)[:, None] == 3, 0.4, P)
OVR = {"multi_class": "ovr"}
ONE_CLUSTER = np.where(Y == 2, 99, CLUSTER)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: bp.roc_auc(Y, P), ValueError, "y_score has a column for each class. Say multi_class='ovr'"),
        (lambda: bp.roc_auc(Y, P, multi_class="all"), ValueError, "multi_class must be one of"),
        (lambda: bp.roc_auc(Y, P, average="micro", **OVR), ValueError, "average must be 'macro', 'weighted' or"),
        (lambda: bp.roc_auc(Y, P, multi_class="ovo", average=None), ValueError, "average must be .* None of 'ovo'"),
        (lambda: bp.roc_auc(Y, P[:, 0], **OVR), ValueError, r"must have a column for each class, \(n, K\); its shape"),
        (lambda: bp.roc_auc(Y, P[:, :3], **OVR), ValueError, "labels must name the 3 columns of y_score, each once"),
        (lambda: bp.roc_auc(Y, P, labels=[0, 1, 2, 2], **OVR), ValueError, "labels must name the 4 columns"),
        (lambda: bp.roc_auc(Y, P, labels=[0, 1, 2, 5], **OVR), ValueError, "y_true holds 3, not among the labels"),
        (lambda: bp.roc_auc(Y, P[:9], **OVR), ValueError, "columns of unequal length: y_true 80, y_score 9"),
        (lambda: bp.roc_auc(Y, NOT_ONE, **OVR), ValueError, "must add up to 1; those of example 3 add up to 1.6"),
        (lambda: bp.roc_auc(Y, P - 1, **OVR), ValueError, "y_score must hold probabilities"),
        (lambda: bp.roc_auc(Y, np.where(P > 0.9, np.nan, P), **OVR), ValueError, "missing value"),
        (lambda: bp.roc_auc(Y.clip(None, 2), P, labels=range(4), **OVR), ValueError, "no example of class 3"),
        (lambda: bp.roc_auc(Y, P, method="delong", **OVR), ValueError, "method, of several classes, must be"),
        (lambda: bp.roc_auc(Y, P, fpr=(0, 0.1), **OVR), ValueError, "several classes have no one curve"),
        (lambda: bp.roc_auc(Y, P, pos_label=1, **OVR), TypeError, "pos_label: of several classes"),
        (lambda: bp.roc_auc(Y == 1, P[:, 1], labels=[0, 1]), TypeError, "labels and average are of multi_class"),
        (lambda: bp.roc_auc(Y, P, cluster=ONE_CLUSTER, **OVR), ValueError, "examples of class 2 are all"),
        (lambda: areas_compared(Y, P, OTHER), ValueError, "score of 'a' has a column for each class"),
        (lambda: areas_compared(Y, P, OTHER[:, :3], **OVR), ValueError, "labels must name the 3 columns of score"),
    ],
)  # fmt: skip
def test_bad_arguments(call, error, match):
    with pytest.raises(error, match=match):
        call()
