"""Comparison of marginals of different test sets: areas, scores, averages over folds."""

import warnings

import numpy as np
import pytest
from scipy import integrate, stats

import bayesperf as bp
from bayesperf.core.errors import DependenceWarning

RNG = np.random.default_rng(8)


def scored(negatives, positives, shift):
    y = RNG.permutation(np.repeat([0, 1], [negatives, positives]))
    return y, RNG.normal(size=len(y)) + shift * y


FIRST, SECOND = scored(60, 40, 1.2), scored(50, 30, 0.8)


def components(y, score):
    """The area of a system and its variance by DeLong's structural components, all pairs in a table."""
    difference = score[y == 1][:, None] - score[y == 0]
    wins = (difference > 0) + 0.5 * (difference == 0)
    return wins.mean(), wins.mean(1).var(ddof=1) / len(wins) + wins.mean(0).var(ddof=1) / wins.shape[1]


def test_delong_of_two_test_sets_is_the_normal_of_the_sum_of_variances():
    comparison = bp.compare(*(bp.roc_auc(*side, method="delong") for side in (FIRST, SECOND)), rope=0.03)
    (a, of_a), (b, of_b) = components(*FIRST), components(*SECOND)
    normal = stats.norm(a - b, np.sqrt(of_a + of_b))
    assert comparison.difference.method == "normal"
    np.testing.assert_allclose(comparison.difference.eti(), normal.ppf([0.025, 0.975]), rtol=1e-12)
    assert comparison.prob_greater.item() == pytest.approx(normal.sf(0), rel=1e-12)
    regions = normal.cdf(-0.03), normal.cdf(0.03) - normal.cdf(-0.03), normal.sf(0.03)
    np.testing.assert_allclose(comparison.prob_rope, regions, rtol=1e-10)
    assert comparison.prob_better.item() == comparison.prob_greater.item()
    assert "DeLong" in comparison.basis
    assert "independent" in comparison.basis


@pytest.mark.parametrize("seeds", [(0, 0), (0, 7)])
def test_bootstrapped_areas_of_two_test_sets_are_independent(seeds):
    a, b = (bp.roc_auc(*side, random_seed=seed) for side, seed in zip((FIRST, SECOND), seeds, strict=True))
    comparison = bp.compare(a, b)
    difference = comparison.difference
    assert difference.mean().item() == pytest.approx(a.mean().item() - b.mean().item(), abs=1e-12)
    sd = np.hypot(a.sd(), b.sd()).item()
    assert difference.sd().item() == pytest.approx(sd, rel=4 / np.sqrt(2 * 10_000))
    # Of all pairs of a draw of either.
    of_a, of_b = (np.sort(side.distribution.values.ravel()) for side in (a, b))
    above = np.searchsorted(of_b, of_a).mean() / len(of_b)
    assert comparison.prob_greater.item() == pytest.approx(above, abs=4 * np.sqrt(above * (1 - above) / 10_000))
    ratio = comparison.ratio
    assert ratio.median().item() == pytest.approx(a.median().item() / b.median().item(), rel=0.02)


def test_two_methods_of_one_area_may_be_compared():
    comparison = bp.compare(bp.roc_auc(*FIRST), bp.roc_auc(*SECOND, method="delong"), draws=500)
    (a, of_a), (b, of_b) = components(*FIRST), components(*SECOND)
    assert comparison.difference.mean().item() == pytest.approx(a - b, abs=0.02)
    assert comparison.difference.sd().item() == pytest.approx(np.sqrt(of_a + of_b), rel=0.1)
    assert comparison.basis.startswith("a: Bayesian bootstrap")
    assert comparison.difference.estimand == "The difference between two systems in the AUC"


@pytest.mark.slow
def test_rates_of_two_test_sets_are_those_of_their_posteriors():
    a, b = (bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=1, tn=1)) for tp, fn in ((40, 10), (30, 15)))
    comparison = bp.compare(a["recall"], b["recall"], rope=0.05)
    expected = bp.compare(a, b, "recall", rope=0.05)
    np.testing.assert_array_equal(comparison.prob_rope, expected.prob_rope)
    assert comparison.difference.method == "quadrature"
    by_hand = integrate.quad(lambda x: stats.beta(40.5, 10.5).sf(x) * stats.beta(30.5, 15.5).pdf(x), 0, 1)[0]
    assert comparison.prob_greater.item() == pytest.approx(by_hand, abs=1e-7)


def folds(accuracies, folds=5, n=40):
    counts = np.array([[[round(n * a / 2), 0], [n - round(n * a / 2) * 2, round(n * a / 2)]] for a in accuracies])
    return bp.posterior(bp.ConfusionMatrix.from_table(counts, dims=["fold"]), "haldane")


def test_averages_over_folds_of_two_data_sets():
    a, b = folds([0.9, 0.8, 0.85, 0.9, 0.95]), folds([0.8, 0.7, 0.85, 0.75])
    of_a, of_b = (bp.folds.average(post, "accuracy") for post in (a, b))
    comparison = bp.compare(of_a, of_b)
    exact = [(post["accuracy"].mean().mean().item(), (post["accuracy"].sd() ** 2).mean() / len(post.observed.fold))
             for post in (a, b)]  # fmt: skip
    sd = np.sqrt(sum(variance for _, variance in exact)).item()
    assert comparison.difference.mean().item() == pytest.approx(exact[0][0] - exact[1][0], abs=4 * sd / 100)
    assert comparison.difference.sd().item() == pytest.approx(sd, rel=4 / np.sqrt(2 * 10_000))
    assert comparison.prob_better.item() > 0.95


def test_scores_of_two_test_sets():
    probability = [(y, 1 / (1 + np.exp(-s))) for y, s in (FIRST, SECOND)]
    a, b = (bp.curves.weighted_score("brier", *side) for side in probability)
    comparison = bp.compare(a, b)
    sd = np.hypot(a.sd(), b.sd()).item()
    assert comparison.difference.sd().item() == pytest.approx(sd, rel=4 / np.sqrt(2 * 1000))
    assert comparison.prob_better.item() == pytest.approx(1 - comparison.prob_greater.item())


def test_parts_of_areas_and_precision_recall_areas():
    roc = [bp.roc_curve(*side) for side in (FIRST, SECOND)]
    part = bp.compare(*(curve.partial_area(0, 0.3) for curve in roc))
    assert part.difference.bounds == (-0.3, 0.3)
    assert bp.compare(*(curve.area for curve in roc)).metric == "roc_auc"
    assert (
        bp.compare(*(bp.precision_recall_curve(*side).area for side in (FIRST, SECOND))).metric == "average_precision"
    )
    with pytest.raises(ValueError, match=r"different things: .* fpr 0 to 0.3\" and .* fpr 0 to 0.2"):
        bp.compare(roc[0].partial_area(0, 0.3), roc[1].partial_area(0, 0.2))


def test_expected_performance_of_two_test_sets():
    (dev, first, second), options = (scored(60, 60, 1.5) for _ in range(3)), {"alphas": [0.2, 0.5], "draws": 400}
    a, b = bp.curves.epc(dev, first, **options), bp.curves.epc(dev, (second[0][:-1], second[1][:-1]), **options)
    means = [curve.expected_performance() for curve in (a, b)]
    comparison = bp.compare(*means)
    assert comparison.quantity.greater_is_better is False
    sd = np.hypot(*(side.sd() for side in means))
    np.testing.assert_allclose(comparison.difference.sd(), sd, rtol=4 / np.sqrt(2 * 400))
    tests = {"a": first, "b": (second[0][:-1], second[1][:-1])}
    joint = bp.curves.epc(dict.fromkeys("ab", dev), tests, **options)
    apart = bp.compare(joint.expected_performance())
    np.testing.assert_allclose(comparison.difference.sd(), apart.difference.sd().squeeze(), rtol=4 / np.sqrt(400))
    assert bp.compare(a.area, b.area).quantity.greater_is_better is False
    with pytest.raises(ValueError, match="a and b are of different things"):
        bp.compare(means[0], b.expected_performance(0, 0.5))
    with pytest.raises(ValueError, match="a and b are of different things"):
        bp.compare(a.area, bp.curves.epc(dev, second, alphas=[0.2, 0.8]).area)


def test_operating_points_of_two_test_sets():
    a, b = (bp.roc_curve(*side, draws=300).operating_point(fpr=0.2) for side in (FIRST, SECOND))
    assert bp.compare(a["recall"], b["recall"]).prob_better.item() > 0.5
    assert bp.compare(a["fpr"], b["fpr"]).quantity.greater_is_better is False
    other = bp.roc_curve(*SECOND, draws=300).operating_point(fpr=0.1)
    with pytest.raises(ValueError, match="a and b are of different things"):
        bp.compare(a["recall"], other["recall"])


@pytest.mark.parametrize("method", ["bayesian_bootstrap", "delong"])
def test_one_test_set_is_warned_of(method):
    y, score = FIRST
    a, b = (bp.roc_auc(y, s, method=method) for s in (score, score + RNG.normal(size=len(y))))
    with pytest.warns(DependenceWarning, match="roc_auc"):
        bp.compare(a, b)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bp.compare(a, b, independent=True)


def test_a_marginal_against_itself_is_a_tie():
    a = bp.curves.weighted_score("average_precision", *FIRST)
    with pytest.warns(DependenceWarning):
        comparison = bp.compare(a, a)
    assert comparison.prob_greater.item() == pytest.approx(0.5, abs=0.05)
    posterior = bp.posterior(bp.ConfusionMatrix.from_counts(tp=8, fn=2, fp=1, tn=9))
    drawn = posterior.predict(draws=100)["f1"]
    with pytest.warns(DependenceWarning):
        bp.compare(drawn, drawn)


AREA = bp.roc_auc(*FIRST)
RECALL = bp.posterior(bp.ConfusionMatrix.from_counts(tp=8, fn=2, fp=1, tn=9))


@pytest.mark.parametrize(
    ("sides", "options", "error", "words"),
    [
        ((AREA, bp.roc_auc(*SECOND)), {"metric": "roc_auc"}, TypeError, "metric: a Marginal is of one metric"),
        ((AREA, RECALL), {}, TypeError, r"b must be a Marginal, .* posterior\['roc_auc'\]"),
        ((RECALL, AREA), {}, TypeError, "a must be a Marginal"),
        ((AREA, None), {}, TypeError, "b must be the Marginal of the other system"),
        ((AREA, "chance"), {}, TypeError, "b must be a Marginal"),
        ((AREA, RECALL["recall"]), {}, ValueError, "different metrics: 'roc_auc' and 'recall'"),
        ((RECALL["recall"], RECALL.predict(10)["recall"]), {}, ValueError, "a and b are of different things"),
        ((RECALL["recall"], folds([0.9, 0.8])["recall"]), {}, ValueError, "differ in their leading dims"),
        ((folds([0.9] * 3)["recall"], folds([0.9, 0.8])["recall"]), {}, ValueError, "differ in their leading coord"),
        ((AREA, bp.roc_auc(*SECOND)), {"rope": -1}, ValueError, "rope must be"),
        ((AREA, bp.roc_auc(*SECOND)), {"prior": "flat"}, TypeError, "prior applies to counts"),
        ((AREA, bp.roc_auc(*SECOND)), {"pooled": True}, TypeError, "unexpected keyword argument 'pooled'"),
    ],
)
def test_bad_comparisons(sides, options, error, words):
    with pytest.raises(error, match=words):
        bp.compare(*sides, **options)


def test_ratio_of_what_can_be_negative_is_refused():
    pairs = [(y, 1 / (1 + np.exp(-s))) for y, s in (FIRST, SECOND)]
    comparison = bp.compare(*(bp.curves.weighted_score("calibration_slope", *side, draws=50) for side in pairs))
    assert comparison.quantity.greater_is_better is None
    with pytest.raises(ValueError, match="can be negative"):
        _ = comparison.ratio


def test_predictions_from_the_same_test_set_are_noticed_metric_by_metric_too():
    sides = [bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=50 - tp, fp=4, tn=46)) for tp in (40, 44)]
    a, b = (side.predict(50, draws=200)["recall"] for side in sides)
    with pytest.warns(DependenceWarning, match="of as many examples of every class"):
        bp.compare(a, b)
