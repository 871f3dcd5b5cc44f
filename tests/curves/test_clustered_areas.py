"""Areas and weighted scores of examples in clusters: against pairs, loops of weights and scikit-learn."""

import numpy as np
import pytest
import xarray as xr
from sklearn import metrics as sklearn_metrics

import bayesperf as bp
from bayesperf.curves.areas import bootstrapped_areas
from bayesperf.curves.areas.delong import Placements
from tests.shared.systems import areas_compared, scores_compared

CLUSTERS = 20
RNG = np.random.default_rng(8)
CLUSTER = np.r_[:CLUSTERS, RNG.integers(CLUSTERS, size=120 - CLUSTERS)]
Y = (RNG.random(120) < RNG.beta(2, 3, CLUSTERS)[CLUSTER]).astype(int)
SHIFT = 0.8 * RNG.normal(size=CLUSTERS)[CLUSTER]
A = Y + SHIFT + RNG.normal(size=120)
B = A + RNG.normal(size=120)
TIED = np.round(A)
PROBABILITY_A, PROBABILITY_B = (1 / (1 + np.exp(-score)) for score in (A, B))
POSITIVE = Y == 1
# Copies of examples, each with its own in a cluster.
FIVE = np.repeat(np.arange(60), 5)


def by_pairs(score):
    """1 where the positive (row) is above the negative (column), ½ where they tie."""
    difference = score[POSITIVE][:, None] - score[~POSITIVE]
    return (difference > 0) + 0.5 * (difference == 0)


def obuchowski(first, second):
    """The covariance of two areas: equations 4 to 9 of Obuchowski (1997), by loops over all pairs and clusters."""
    wins = [by_pairs(score) for score in (first, second)]
    of_positive, of_negative = CLUSTER[POSITIVE], CLUSTER[~POSITIVE]
    n, m = wins[0].shape
    sums = []
    for win in wins:
        area, x, y = win.mean(), [], []
        for g in range(CLUSTERS):
            rows, columns = np.flatnonzero(of_positive == g), np.flatnonzero(of_negative == g)
            x.append(sum(win[i].mean() - area for i in rows))
            y.append(sum(win[:, j].mean() - area for j in columns))
        sums.append((np.array(x, float), np.array(y, float)))
    (x1, y1), (x2, y2) = sums
    with_positive, with_negative = len(set(of_positive)), len(set(of_negative))
    s10 = with_positive / ((with_positive - 1) * n) * (x1 * x2).sum()
    s01 = with_negative / ((with_negative - 1) * m) * (y1 * y2).sum()
    s11 = CLUSTERS / (CLUSTERS - 1) * ((x1 * y2).sum() + (x2 * y1).sum())
    return s10 / n + s01 / m + s11 / (n * m)


def with_unseen(wins, of_positive, of_negative, sizes, rng, part=0.5, more=None):
    """The area under weights, over all pairs and a row and a column more: part of a unit of each class was not seen."""
    ranks, more = rng.random(2), rng.gamma(part, size=2) * sizes if more is None else more
    wins = np.vstack([np.hstack([wins, np.full((len(wins), 1), ranks[1])]), [ranks[0]] * wins.shape[1] + [0.5]])
    w, v = np.append(of_positive, more[0]), np.append(of_negative, more[1])
    return w @ wins @ v / (w.sum() * v.sum())


def weighted_areas(scores, w, rng):
    """The areas of systems under weights, with half an unseen cluster of each class, of one weight for all systems."""
    of_classes = w[POSITIVE], w[~POSITIVE]
    sizes = np.array([members.sum() / len(set(CLUSTER[members])) for members in (POSITIVE, ~POSITIVE)])
    more = rng.gamma(0.5, size=2) * sizes
    return [with_unseen(by_pairs(score), *of_classes, sizes, rng, more=more) for score in scores]


def weights(draws, seed=3):
    """Weights of the examples, drawn in the plain way."""
    drawn = np.random.default_rng(seed).gamma((CLUSTERS - 2) / CLUSTERS, size=(draws, CLUSTERS))
    return drawn[:, CLUSTER]


def is_distributed_as(marginal, expected):
    """Mean and standard deviation of a marginal, and its central 95 %, within 4 standard errors of both samples."""
    sd, error = expected.std(), np.sqrt(1 / len(expected) + 1 / marginal.distribution.values.size)
    assert marginal.mean().item() == pytest.approx(expected.mean(), abs=4 * sd * error)
    assert marginal.sd().item() == pytest.approx(sd, rel=4 * error)
    # A 2.5 % quantile of a normal has a standard error of 2.67 standard deviations over the root of the draws.
    np.testing.assert_allclose(marginal.eti(), np.quantile(expected, [0.025, 0.975]), atol=4 * 2.67 * sd * error)


# ── Obuchowski ──


@pytest.mark.parametrize("score", [A, TIED], ids=["", "tied"])
def test_variance_by_pairs(score):
    area = bp.roc_auc(Y, score, method="delong", cluster=CLUSTER)
    assert area.mean().item() == pytest.approx(by_pairs(score).mean(), rel=1e-13)
    assert area.sd().item() == pytest.approx(np.sqrt(obuchowski(score, score)), rel=1e-12)
    assert area.method == "normal"
    assert "Obuchowski" in area.estimand


def test_variance_of_differences_by_pairs():
    comparison = areas_compared(Y, A, B, method="delong", cluster=CLUSTER)
    variance = obuchowski(A, A) + obuchowski(B, B) - 2 * obuchowski(A, B)
    assert comparison.difference.sd().item() == pytest.approx(np.sqrt(variance), rel=1e-12)
    assert "Obuchowski" in comparison.basis
    systems = np.stack([A, B, TIED])
    codes = np.concatenate([CLUSTER[POSITIVE], CLUSTER[~POSITIVE]])
    covariance = Placements.of(systems[:, POSITIVE], systems[:, ~POSITIVE], codes).covariance
    expected = [[obuchowski(first, second) for second in systems] for first in systems]
    np.testing.assert_allclose(covariance, expected, rtol=1e-11)
    many = areas_compared(Y, {"a": A, "b": B, "c": TIED}, method="delong", cluster=CLUSTER)
    assert many.difference.sd().sel(pair="a − b").item() == pytest.approx(np.sqrt(variance), rel=1e-12)
    assert 0 < many.prob_best.sel(model="a") < 1


def test_clusters_of_one_are_delong_and_clusters_of_copies_too():
    delong = bp.roc_auc(Y[:60], A[:60], method="delong").sd().item()
    single = bp.roc_auc(Y[:60], A[:60], method="delong", cluster=np.arange(60)).sd().item()
    copies = bp.roc_auc(Y[FIVE], A[FIVE], method="delong", cluster=FIVE).sd().item()
    assert single == pytest.approx(delong, rel=1e-12)
    assert copies == pytest.approx(delong, rel=1e-12)


def test_logit():
    plain = bp.roc_auc(Y, A, method="delong", cluster=CLUSTER)
    mean, sd = plain.mean().item(), plain.sd().item()
    logit = np.log(mean / (1 - mean)) + np.array([-1.959964, 1.959964]) * sd / (mean * (1 - mean))
    found = bp.roc_auc(Y, A, method="delong", transform="logit", cluster=CLUSTER).eti()
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-logit)), rtol=1e-6)


# ── The Bayesian bootstrap of clusters ──


@pytest.mark.parametrize("score", [A, TIED], ids=["", "tied"])
def test_areas_by_a_loop(score):
    rng = np.random.default_rng(1)
    expected = np.array([weighted_areas([score], w * CLUSTERS / (CLUSTERS - 2), rng)[0] for w in weights(1500)])
    area = bp.roc_auc(Y, score, cluster=CLUSTER)
    is_distributed_as(area, expected)
    assert area.observed.item() == pytest.approx(sklearn_metrics.roc_auc_score(Y, score), rel=1e-14)
    assert "of clusters" in area.estimand
    curve = bp.roc_curve(Y, score, cluster=CLUSTER, draws=4000)
    is_distributed_as(curve.area, expected)


@pytest.mark.slow
def test_differences_by_a_loop():
    rng = np.random.default_rng(1)
    of_both = [weighted_areas([A, B], w * CLUSTERS / (CLUSTERS - 2), rng) for w in weights(1500)]
    comparison = areas_compared(Y, A, B, cluster=CLUSTER, draws=4000)
    is_distributed_as(comparison.difference, -np.diff(of_both)[:, 0])
    assert "bootstrap of clusters" in comparison.basis


@pytest.mark.slow
def test_parts_are_of_the_drawn_curves_of_the_band():
    curve = bp.roc_curve(Y, A, cluster=CLUSTER, draws=300)
    grid = np.linspace(0, 0.3, 4001)
    under = np.trapezoid(curve._drawn_curves[0].recall(grid), grid)
    np.testing.assert_allclose(curve.partial_area(0, 0.3).distribution.values[0, 0], under, atol=2e-4)
    alone = bp.roc_auc(Y, A, fpr=(0, 0.3), cluster=CLUSTER, draws=4000)
    is_distributed_as(alone, under)
    assert alone.estimand.startswith("Bayesian bootstrap of clusters of the system's area under the ROC curve from fpr")


@pytest.mark.slow
def test_parts_of_systems():
    """Gaps are weighted in another way there, which near the ends of the curve makes some difference."""
    options = {"fpr": (0, 0.3), "cluster": CLUSTER, "draws": 3000}
    first, second = (bp.roc_auc(Y, score, **options) for score in (A, B))
    difference = areas_compared(Y, A, B, **options).difference
    assert difference.mean().item() == pytest.approx((first.mean() - second.mean()).item(), abs=0.01)
    assert difference.sd() < 0.9 * np.hypot(first.sd(), second.sd())
    whole = bp.roc_auc(Y, A, cluster=CLUSTER, fpr=(0, 1), standardized=True)
    xr.testing.assert_identical(whole.eti(), bp.roc_auc(Y, A, cluster=CLUSTER).eti())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("score_function", "reference"),
    [
        ("log_loss", sklearn_metrics.log_loss),
        pytest.param(*[sklearn_metrics.average_precision_score] * 2, marks=pytest.mark.slow),
    ],
)
def test_weighted_scores_by_a_loop(score_function, reference):
    of_both = np.array([
        [reference(Y, p, sample_weight=w) for p in (PROBABILITY_A, PROBABILITY_B)] for w in weights(400)
    ])  # fmt: skip
    options = {"cluster": {"patient": CLUSTER}, "draws": 500}
    is_distributed_as(bp.curves.weighted_score(score_function, Y, PROBABILITY_A, **options), of_both[:, 0])
    comparison = scores_compared(score_function, Y, PROBABILITY_A, PROBABILITY_B, **options)
    is_distributed_as(comparison.difference, of_both[:, 0] - of_both[:, 1])
    assert "of clusters" in bp.curves.weighted_score(score_function, Y, PROBABILITY_A, **options).estimand


@pytest.mark.slow
def test_classes_keep_their_shares_in_clusters_too():
    expected = []
    for w in weights(400):
        of_class = np.array([w[label == Y].mean() for label in (0, 1)])
        expected.append(sklearn_metrics.log_loss(Y, PROBABILITY_A, sample_weight=w / of_class[Y]))
    score = bp.curves.weighted_score("log_loss", Y, PROBABILITY_A, cluster=CLUSTER, per_class=True)
    is_distributed_as(score, np.array(expected))


def test_average_precision_of_a_curve():
    curve = bp.precision_recall_curve(Y, PROBABILITY_A, cluster=CLUSTER, draws=500)
    alone = bp.curves.weighted_score("average_precision", Y, PROBABILITY_A, cluster=CLUSTER, draws=500)
    assert curve.area.sd().item() == pytest.approx(alone.sd().item(), rel=0.2)
    assert "of clusters" in curve.area.estimand


def test_drawn_curves_know_that_clusters_are_of_unequal_sizes():
    """With a positive below all others, the precision at recall 1 is the share of positives among all examples."""
    sizes = np.array([30, 20] + [3] * 20)
    number, rng = len(sizes), np.random.default_rng(5)
    cluster = np.repeat(np.arange(number), sizes)
    y = (rng.random(len(cluster)) < rng.beta(1, 1, number)[cluster]).astype(int)
    score = rng.normal(y)
    score[y.argmax()] = -9
    drawn = bp.precision_recall_curve(y, score, cluster=cluster, draws=4000).joint_draws()["precision"].sel(recall=1)
    share = sizes / sizes.sum()
    effective = 1 / (share**2).sum()
    shape = (effective - 2) / effective * (1 - share) / (1 - 1 / number)
    weights = rng.gamma(shape, 1 / shape, (20_000, number))
    expected = weights @ np.bincount(cluster, y) / (weights @ sizes)
    assert drawn.mean().item() == pytest.approx(expected.mean(), abs=4 * expected.std() / np.sqrt(4000))
    assert drawn.std().item() == pytest.approx(expected.std(), rel=0.05)


def test_clusters_of_copies_are_as_many_examples():
    """Up to the weights, whose variance is that of samples: Dirichlet(1) falls short of it by (n − 1)/(n + 1)."""
    alone = bp.roc_auc(Y[:60], A[:60], method="delong").sd().item()
    copies = bp.roc_auc(Y[FIVE], A[FIVE], cluster=FIVE).sd().item()
    assert copies == pytest.approx(alone, rel=0.05)
    assert bp.roc_auc(Y[FIVE], A[FIVE]).sd().item() < 0.6 * alone


@pytest.mark.slow
def test_many_clusters_and_many_examples(monkeypatch):
    """In groups at random, and bins: against Obuchowski's variance."""
    rng = np.random.default_rng(2)
    cluster = rng.integers(6_000, size=24_000)
    y = rng.integers(2, size=24_000)
    score = y + rng.normal(size=6_000)[cluster] + rng.normal(size=24_000)
    expected = bp.roc_auc(y, score, cluster=cluster, method="delong")
    monkeypatch.setattr(bootstrapped_areas, "_MOST_CLUSTERS", 3_000)
    area = bp.roc_auc(y, score, cluster=cluster, draws=4000)
    sd = expected.sd().item()
    assert area.mean().item() == pytest.approx(expected.mean().item(), abs=4 * sd / np.sqrt(4000))
    # Of 3,000 groups a variance has a relative standard error of √(2/3,000), of draws one of √(2/4,000).
    assert area.sd().item() == pytest.approx(sd, rel=2 * np.sqrt(2 / 3000 + 2 / 4000))


def test_separated_scores_have_a_width_and_less_of_larger_clusters():
    y = np.repeat([0, 1], 30)
    score = np.arange(60.0) + 100 * y
    areas = [bp.roc_auc(y, score, cluster=np.arange(60) // size) for size in (1, 3)]
    assert areas[0].mean() > areas[1].mean() > 0.8
    assert (np.array([area.sd() for area in areas]) > 0.005).all()
    # Half a cluster of either class is unseen, of 30 and of 10 that have it: an area of ½ in their share.
    for area, clusters in zip(areas, (30, 10), strict=True):
        expected = 0.5 + 0.5 * (1 - 0.5 / (clusters + 0.5)) ** 2
        assert area.mean().item() == pytest.approx(expected, abs=4 * area.mcse().item() + 0.003)
    other = areas_compared(y, score, score + 0.1 * y, cluster=np.arange(60) // 3)
    assert not other.difference.distribution.values.any()


# ── Clusters ──


def test_the_first_of_nested_clusters_counts():
    inner = np.random.default_rng(0).integers(1000, size=120)
    plain = bp.roc_auc(Y, A, cluster=CLUSTER)
    for named in ({"hospital": CLUSTER, "patient": inner}, {"hospital": [f"h{c:02}" for c in CLUSTER]}):
        np.testing.assert_array_equal(bp.roc_auc(Y, A, cluster=named).eti(), plain.eti())
    band = bp.roc_curve(Y, A, cluster={"hospital": CLUSTER}, draws=100).band()
    assert band.equals(bp.roc_curve(Y, A, cluster=CLUSTER, draws=100).band())


def test_examples_may_be_in_any_order():
    order = np.random.default_rng(1).permutation(120)
    found = bp.roc_auc(Y[order], A[order], cluster=CLUSTER[order]).eti()
    np.testing.assert_allclose(found, bp.roc_auc(Y, A, cluster=CLUSTER).eti(), rtol=1e-5)


BINNED = bp.curves.BinnedScores.from_counts(positives=[1, 2, 3], negatives=[3, 2, 1], values=[0, 1, 2])
ONE_CLUSTER = np.where(Y == 1, 0, 1 + np.arange(120) % 30)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: bp.roc_auc(Y, A, cluster=CLUSTER[:5]), ValueError, "y_score 120, cluster 5"),
        (lambda: bp.roc_auc(Y, A, cluster=np.zeros(120)), ValueError, "cluster: there is only one"),
        (lambda: bp.roc_auc(Y, A, cluster=np.arange(120) % 2), ValueError, "cluster: 2 say little of others"),
        (lambda: bp.roc_auc(Y, A, cluster=ONE_CLUSTER), ValueError, "cluster: the positives are all of one"),
        (lambda: areas_compared(Y, A, B, cluster=ONE_CLUSTER), ValueError, "cluster: the positives are all of one"),
        (lambda: bp.roc_auc(Y, A, cluster={}), ValueError, "cluster: name a column of ids"),
        (lambda: bp.roc_auc(Y, A, cluster=CLUSTER, method="pairs"), ValueError, "method, of clusters, must be one of"),
        (lambda: bp.roc_auc(Y, A, cluster=CLUSTER, method="binormal"), ValueError, "method, of clusters, must be one"),
        (lambda: bp.roc_auc(BINNED, cluster=CLUSTER), ValueError, "cluster: bins do not tell"),
        (
            lambda: bp.curves.weighted_score("average_precision", BINNED, cluster=CLUSTER),
            ValueError, "cluster: bins do not"),
        (
            lambda: bp.curves.weighted_score("brier", Y, PROBABILITY_A, cluster=[1]),
            ValueError, "y_score 120, cluster 1"),
        (lambda: bp.curves.weighted_score("brier", Y, PROBABILITY_A, cluster=[1, 2, 3]), ValueError, "unequal length"),
        (lambda: bp.curves.det_curve(Y, A, cluster=CLUSTER, method="beta"), ValueError, "cluster applies to method="),
    ],
)  # fmt: skip
def test_bad_clusters(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_few_clusters_are_warned_of():
    for call in (
        lambda: bp.roc_auc(Y, A, cluster=CLUSTER // 2),
        lambda: bp.roc_curve(Y, A, cluster=CLUSTER // 2),
        lambda: bp.curves.weighted_score("brier", Y, {"a": PROBABILITY_A, "b": PROBABILITY_B}, cluster=CLUSTER // 2),
    ):
        with pytest.warns(bp.errors.DependenceWarning, match="cluster: 10 are few") as caught:
            call()
        assert caught[0].filename == __file__
