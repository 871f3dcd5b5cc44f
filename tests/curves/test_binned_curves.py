"""Curves and areas of binned scores are those of tied scores, and off from those of the scores by no more than said."""

from itertools import combinations, product

import numpy as np
import pytest
import xarray as xr
from scipy.stats import ks_2samp
from sklearn import metrics as sklearn_metrics

import bayesperf as bp
from bayesperf.curves.areas.bootstrapped_areas import area_draws_of_counts
from bayesperf.curves.roc.curve_draws import BootstrappedCurves
from bayesperf.data.classifier_scores import Scores
from tests.shared.areas import moments_with_unseen
from tests.shared.curves import CURVES, DATA, normal_scores

# Of few examples a bin, whose weights are drawn one by one, and of many, whose weights are drawn as sums.
COUNTS = {
    "few": ([0, 1, 3, 2, 5, 4], [6, 4, 0, 3, 2, 0]),
    "many": ([3, 10, 0, 40, 55, 80], [120, 40, 30, 20, 0, 5]),
    "one bin": ([40], [30]),
    "separated": ([0, 0, 20, 30], [50, 10, 0, 0]),
    "reversed": ([30, 20, 0], [0, 0, 40]),
}
every_counts = pytest.mark.parametrize("counts", COUNTS.values(), ids=list(COUNTS))


def binned_values(counts):
    return bp.curves.BinnedScores.from_counts(
        positives=counts[0], negatives=counts[1], values=np.arange(len(counts[0])) / 10
    )


def examples(counts):
    """Return labels and tied scores, in mixed order."""
    values = np.arange(len(counts[0])) / 10
    y = np.repeat([1, 0], [np.sum(counts[0]), np.sum(counts[1])])
    score = np.concatenate([np.repeat(values, of_class) for of_class in counts])
    order = np.random.default_rng(0).permutation(len(y))
    return y[order], score[order]


def ends_agree(first, second):
    np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-15)


# ── The same as tied scores ──


@pytest.mark.few
@every_counts
@pytest.mark.parametrize(("make", "method"), [*((make, "bayesian_bootstrap") for make in CURVES), (CURVES[0], "beta")])
def test_curves_are_those_of_tied_scores(counts, make, method):
    curve, expected = make(binned_values(counts), method=method), make(*examples(counts), method=method)
    xr.testing.assert_identical(curve.dataset, expected.dataset)
    xr.testing.assert_identical(curve.band(), expected.band())
    assert repr(curve) == repr(expected)
    if method == "bayesian_bootstrap":
        xr.testing.assert_identical(curve.band(0.8, "simultaneous"), expected.band(0.8, "simultaneous"))
        for target in ({"recall": 0.8}, {"cost": (1, 5)}):
            point, tied = curve.operating_point(**target), expected.operating_point(**target)
            for name in point:
                xr.testing.assert_identical(point[name].observed, tied[name].observed)
                xr.testing.assert_identical(point[name].joint_draws(20), tied[name].joint_draws(20))
    if make is bp.roc_curve:
        xr.testing.assert_identical(curve.partial_area(0.1, 0.5).eti(), expected.partial_area(0.1, 0.5).eti())


@pytest.mark.few
@pytest.mark.filterwarnings("ignore:y_score. the scores", "ignore:y_score. there are 15 positives")
@every_counts
@pytest.mark.parametrize("make", [bp.roc_curve, bp.precision_recall_curve])
def test_areas_have_the_distribution_of_those_of_tied_scores(counts, make):
    area, expected = (make(*data, draws=4000).area for data in ((binned_values(counts),), examples(counts)))
    values, tied = area.joint_draws(4000).values, expected.joint_draws(4000).values
    if np.ptp(tied) > 1e-12:
        assert ks_2samp(values, tied).pvalue > 0.001
    else:
        ends_agree(values, tied)
    xr.testing.assert_identical(area.examples, expected.examples)
    assert area.quantity == expected.quantity


@pytest.mark.parametrize("per_class", [False, True])
def test_average_precision_has_the_distribution_of_that_of_tied_scores(per_class):
    for seed, counts in enumerate((COUNTS["many"], ([1, 30, 2], [200, 2, 1]), ([25], [4]))):
        marginals = [
            bp.curves.weighted_score("average_precision", *data, per_class=per_class, draws=4000, random_seed=seed)
            for data in ((binned_values(counts),), examples(counts))
        ]
        values, tied = (marginal.joint_draws(4000).values for marginal in marginals)
        assert ks_2samp(values, tied).pvalue > 0.001


def test_few_positives_are_warned_of_by_their_number():
    with pytest.warns(UserWarning, match="there are 15 positives"):
        bp.curves.weighted_score("average_precision", binned_values(COUNTS["few"]), draws=10)


@pytest.mark.filterwarnings("ignore:y_score. the scores")
@every_counts
def test_delong_is_that_of_tied_scores(counts):
    marginals = [bp.roc_auc(*data, method="delong") for data in ((binned_values(counts),), examples(counts))]
    for verb in ("mean", "sd", "eti"):
        ends_agree(*(getattr(marginal, verb)() for marginal in marginals))
    if marginals[0].sd() > 0:
        logits = [
            bp.roc_auc(*data, method="delong", transform="logit").eti()
            for data in ((binned_values(counts),), examples(counts))
        ]
        ends_agree(*logits)


def test_counts_may_be_of_billions():
    counts = np.array(COUNTS["many"])
    small, large = binned_values(counts * 1000), binned_values(counts * 10**9)
    for method in ("delong", "bayesian_bootstrap"):
        areas = [bp.roc_auc(binned, method=method) for binned in (small, large)]
        assert areas[0].mean().item() == pytest.approx(areas[1].mean().item(), abs=1e-4)
        assert areas[0].sd().item() == pytest.approx(1000 * areas[1].sd().item(), rel=0.05)
    width = bp.roc_curve(large).band()["recall"].diff("ci_bound")
    assert 0 < width.mean() < 1e-4


# ── Dirichlet weights ──


def exact_moments(places, total):
    """Return mean and covariance of sums of Dirichlet(1) weights, of which rows of places say what part of each."""
    mean = places.sum(1) / total
    return mean, (places @ places.T / total - np.outer(mean, mean)) / (total + 1)


def test_rates_at_thresholds_have_the_moments_of_dirichlet_weights():
    counts = COUNTS["many"]
    drawn = BootstrappedCurves(binned_values(counts), 20_000, 0, False)
    fpr, recall = (np.concatenate(blocks) for blocks in zip(*drawn.rates(), strict=True))
    for rates, of_class in ((recall, counts[0]), (fpr, counts[1])):
        called = np.append(0, np.cumsum(of_class[::-1]))
        gaps = called[-1] + 1
        # All gaps above a threshold, and a part of its own, which it shares with those between the same two scores.
        places = np.zeros((len(called), gaps))
        for i, above in enumerate(called[1:-1], start=1):
            sharing = np.flatnonzero(called[1:-1] == above) + 1
            places[i, :above] = 1
            places[i, above] = (np.searchsorted(sharing, i) + 0.5) / len(sharing)
        places[-1] = 1
        mean, covariance = exact_moments(places, gaps)
        spread = np.sqrt(np.diag(covariance))
        assert (np.abs(rates.mean(0) - mean) <= 5 * spread / np.sqrt(len(rates)) + 1e-12).all()
        # Of products of two nearly normal variables.
        error = np.sqrt((np.outer(spread**2, spread**2) + covariance**2) / len(rates))
        assert (np.abs(np.cov(rates.T) - covariance) <= 6 * error + 1e-12).all()


def area_moments(counts):
    """Return mean and variance of the area by Dirichlet weights of the bins, and half an example more of each class."""
    positive, negative = (np.asarray(of_class, float) for of_class in counts)
    above = np.tril(np.ones((len(positive),) * 2), -1) + np.eye(len(positive)) / 2
    squares = []
    for alpha in (positive, negative):
        total = alpha.sum()
        squares.append((np.outer(alpha, alpha) + np.diag(alpha)) / (total * (total + 1)))
    mean = positive @ above @ negative / (positive.sum() * negative.sum())
    # E[(uᵀKv)²] = tr(E[uuᵀ] K E[vvᵀ] Kᵀ), u and v independent.
    second = np.trace(squares[0] @ above @ squares[1] @ above.T)
    mean, sd = moments_with_unseen(mean, second, positive.sum(), negative.sum())
    return mean, sd**2


@pytest.mark.parametrize("counts", [COUNTS["few"], COUNTS["many"], ([3, 1], [2, 2])])
def test_areas_have_the_moments_of_dirichlet_weights(counts):
    draws = 40_000
    values = bp.roc_auc(binned_values(counts), draws=draws).joint_draws(draws).values
    mean, variance = area_moments(counts)
    assert values.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / draws))
    kurtosis = np.mean((values - mean) ** 4) / variance**2
    assert values.var() == pytest.approx(variance, rel=5 * np.sqrt((kurtosis - 1) / draws))


@pytest.mark.slow
def test_areas_of_more_scores_than_are_weighted_singly():
    y, score = normal_scores(900, 700)
    order = np.argsort(score)
    counts = np.stack([y[order], 1 - y[order]])
    values = area_draws_of_counts(counts, 4000, np.random.default_rng(0), False)
    mean, variance = area_moments(counts)
    assert values.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / 4000))
    assert values.var() == pytest.approx(variance, rel=0.01 + 5 * np.sqrt(2 / 4000))


# ── What bins hide ──


def orders(positives, negatives):
    """Yield every order of the positives and negatives of a bin, as labels."""
    for chosen in combinations(range(positives + negatives), positives):
        yield [int(i in chosen) for i in range(positives + negatives)]


@pytest.mark.few
@pytest.mark.parametrize("counts", [([1, 2, 3], [3, 2, 0]), ([2, 2], [1, 3]), ([0, 3, 1], [2, 1, 1]), ([2], [3])])
def test_the_area_is_off_by_the_binning_error_at_most(counts):
    binned = bp.curves.BinnedScores.from_counts(
        positives=counts[0], negatives=counts[1], edges=np.arange(len(counts[0]) + 1)
    )
    observed = binned_area(binned)
    areas = []
    for labels in product(*(list(orders(*of_bin)) for of_bin in zip(*counts, strict=True))):
        y = np.concatenate(labels)
        areas.append(sklearn_metrics.roc_auc_score(y, np.arange(len(y))))
    # It is the least bound: reached where all pairs that share a bin are in one order.
    assert max(areas) - observed == pytest.approx(binned.binning_error, abs=1e-12)
    assert observed - min(areas) == pytest.approx(binned.binning_error, abs=1e-12)


def binned_area(binned):
    points = bp.roc_curve(binned).dataset
    return np.trapezoid(points["recall"], points["fpr"])


@pytest.mark.parametrize("bins", [1, 2, 5, 20, 100])
def test_points_of_bins_are_points_of_the_scores(bins):
    y, score = normal_scores(200, 300)
    edges = np.linspace(score.min(), score.max(), bins + 1)
    counts = [np.histogram(score[y == label], edges)[0] for label in (1, 0)]
    binned = bp.curves.BinnedScores.from_counts(positives=counts[0], negatives=counts[1], edges=edges)
    points = bp.roc_curve(binned).dataset
    false, true = Scores.of(y, score).called(points["threshold"])
    np.testing.assert_array_equal(points["recall"], true / 200)
    np.testing.assert_array_equal(points["fpr"], false / 300)
    assert abs(binned_area(binned) - sklearn_metrics.roc_auc_score(y, score)) <= binned.binning_error


@pytest.mark.parametrize("method", ["bayesian_bootstrap", "delong"])
def test_the_area_says_by_how_much_it_may_be_off(method):
    binned = bp.curves.BinnedScores.from_counts(positives=[1, 2, 7], negatives=[8, 3, 1], edges=[0, 0.3, 0.6, 1])
    # ½ (1·8 + 2·3 + 7·1)/(10·12)
    assert binned.binning_error == pytest.approx(21 / 240)
    assert bp.roc_auc(binned, method=method).estimand.endswith("(off by at most 0.087 by bins) of the system's AUC")


def test_scores_that_tie_hide_nothing():
    binned = binned_values(COUNTS["many"])
    assert binned.binning_error == 0
    assert bp.roc_auc(binned).estimand == bp.roc_auc(*examples(COUNTS["many"])).estimand


# ── Merging ──


@pytest.mark.slow
def test_the_curve_of_a_sum_is_that_of_all_examples():
    y, score = DATA["tied"]
    values = np.unique(score)
    parts = [np.arange(100) % 3 == part for part in range(3)]
    counted = [
        bp.curves.BinnedScores.from_counts(
            positives=(score[part & (y == 1)] == values[:, None]).sum(1),
            negatives=(score[part & (y == 0)] == values[:, None]).sum(1),
            values=values,
        )
        for part in parts
    ]
    for make in CURVES:
        curve, expected = make(sum(counted)), make(y, score)
        xr.testing.assert_identical(curve.dataset, expected.dataset)
        xr.testing.assert_identical(curve.band(), expected.band())


def test_systems_on_different_test_sets_are_compared():
    a, b = bp.roc_auc(binned_values(COUNTS["many"])), bp.roc_auc(binned_values(COUNTS["few"]))
    assert bp.compare(a, b).difference.mean().item() == pytest.approx((a.mean() - b.mean()).item(), abs=0.01)


# ── Refused ──


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda b: bp.roc_curve(b, [1, 2]), TypeError, "y_score: BinnedScores hold classes and scores"),
        (lambda b: bp.roc_auc(b, pos_label=1), TypeError, "pos_label: BinnedScores hold classes and scores"),
        (lambda b: bp.curves.det_curve([0, 1]), TypeError, "y_score: give the scores of the labels, or BinnedScores"),
        (lambda b: bp.curves.weighted_score("brier", [0, 1]), TypeError, "y_score: give the scores of the labels"),
        (lambda b: bp.roc_curve(b, method="binormal"), ValueError, "method='binormal' needs the scores that bins hide"),
        (lambda b: bp.roc_curve(b, cluster=[1, 2]), ValueError, "cluster: bins do not tell the examples"),
        (lambda b: bp.roc_auc(b, method="pairs"), ValueError, "method, of binned scores, must be one of"),
        (lambda b: bp.roc_auc(b, method="binormal"), ValueError, "method, of binned scores, must be one of"),
        (lambda b: bp.curves.weighted_score("brier", b), ValueError, "binned scores have 'average_precision' alone"),
        (
            lambda b: bp.curves.weighted_score(sklearn_metrics.roc_auc_score, b),
            ValueError,
            "have 'average_precision' alone",
        ),
    ],
)
def test_what_bins_cannot_tell_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(binned_values(COUNTS["many"]))


@pytest.mark.parametrize("counts", [([0, 0], [1, 2]), ([1, 2], [0, 0])])
def test_one_class_has_no_curve(counts):
    binned = bp.curves.BinnedScores.from_counts(positives=counts[0], negatives=counts[1], edges=[0, 0.5, 1])
    for call in (bp.roc_curve, bp.roc_auc, lambda b: bp.curves.weighted_score("average_precision", b)):
        with pytest.raises(
            ValueError, match=r"y_true must hold two classes; it is <bayesperf.curves.BinnedScores: 2 bins"
        ):
            call(binned)
    with pytest.raises(ValueError, match="binning_error needs both classes"):
        binned.binning_error  # noqa: B018


def test_delong_asks_for_two_of_each_class():
    with pytest.raises(ValueError, match="needs two examples of each class; there are 1 positive and 5 negative"):
        bp.roc_auc(binned_values(([1, 0], [2, 3])), method="delong")
