"""Differences of areas and scores of systems tested on the same examples, against loops over weights of one's own."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import special
from sklearn import metrics as sklearn_metrics

import bayesperf as bp
from tests.shared.systems import areas_compared, scores_compared


def sample(n, rng, share=0.3, shift=1.5, noise=0.7):
    """Return labels and the scores of two systems, the second of which are those of the first with noise added."""
    y = (rng.random(n) < share).astype(int)
    first = rng.normal(size=n) + shift * y
    return y, first, first + noise * rng.normal(size=n)


Y, A, B = sample(400, np.random.default_rng(4))
PROBABILITY_A, PROBABILITY_B = special.expit(2 * A - 2.5), special.expit(1.5 * B - 2)


def average_precision(y, score, w):
    """Every example passed in the middle of its weight, negatives' weight growing evenly between two negatives."""
    order = np.argsort(-score)
    y, w = y[order], w[order]
    tp = np.cumsum(w * y) - w * y / 2
    negative = np.flatnonzero(y == 0)
    places, passed = np.r_[-1, negative, len(y)], np.r_[0, np.cumsum(w[negative]) - w[negative] / 2, w[negative].sum()]
    total = 0.0
    for i in np.flatnonzero(y == 1):
        before = np.searchsorted(places, i) - 1
        # Positives between two negatives divide the way evenly.
        inside = [j for j in range(places[before] + 1, places[before + 1]) if y[j] == 1]
        part = (inside.index(i) + 0.5) / len(inside)
        fp = passed[before] + part * (passed[before + 1] - passed[before])
        total += w[i] * tp[i] / (tp[i] + fp)
    return total / (w * y).sum()


def brier(y, score, w):
    return w @ (score - y) ** 2 / w.sum()


def weighted_loop(function, a, b, draws, seed=9):
    """Differences of a score under draws of weights for both systems."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_exponential((draws, len(Y)))
    return np.array([function(Y, a, w) - function(Y, b, w) for w in weights])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "function", "a", "b", "draws"),
    [("average_precision", average_precision, A, B, 400), ("brier", brier, PROBABILITY_A, PROBABILITY_B, 4000)],
)
def test_difference_of_scores_by_a_loop(name, function, a, b, draws):
    expected = weighted_loop(function, a, b, draws)
    difference = scores_compared(name, Y, a, b, draws=4000).difference
    sd, error = expected.std(), np.sqrt(1 / draws + 1 / 4000)
    assert difference.mean().item() == pytest.approx(expected.mean(), abs=4 * sd * error)
    assert difference.sd().item() == pytest.approx(sd, rel=4 * error / np.sqrt(2))
    # A 2.5 % quantile of a normal has a standard error of 2.67 standard deviations over the root of the draws.
    np.testing.assert_allclose(difference.eti(), np.quantile(expected, [0.025, 0.975]), atol=4 * 2.67 * sd * error)


def test_draws_are_differences_of_each_system_s_own():
    both = scores_compared("log_loss", Y, PROBABILITY_A, PROBABILITY_B, random_seed=5)
    alone = [
        bp.curves.weighted_score("log_loss", Y, p, random_seed=5).distribution.values
        for p in (PROBABILITY_A, PROBABILITY_B)
    ]
    np.testing.assert_allclose(both.difference.distribution.values, alone[0] - alone[1], atol=1e-12)
    assert both.prob_better.item() == pytest.approx(1 - both.prob_greater.item())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alone", "together"),
    [
        (lambda y, s: bp.curves.weighted_score("average_precision", y, s),
         lambda *data: scores_compared("average_precision", *data)),
        (lambda y, s: bp.roc_curve(y, s).partial_area(0, 0.2), lambda *data: areas_compared(*data, fpr=(0, 0.2))),
        (bp.roc_auc, areas_compared),
    ],
    ids=["average precision", "partial area", "area"],
)  # fmt: skip
def test_intervals_overlap_where_that_of_the_difference_leaves_out_zero(alone, together):
    y, first, second = sample(1500, np.random.default_rng(2), noise=0.5)
    better, worse = (alone(y, score).eti().values for score in (first, second))
    difference = together(y, first, second).difference.eti().values
    assert better[0] < worse[1]
    assert difference[0] > 0
    # Narrower than if the systems had been tested on different examples.
    assert np.diff(difference) < 0.7 * np.hypot(np.diff(better), np.diff(worse))


def rates_in_gaps(y, score, of_examples, beyond):
    """Recall and false positive rate at all thresholds, by weights of gaps: above positives and below negatives."""
    thresholds = np.sort(score)[::-1]
    rates = []
    for label, own in ((1, beyond[0]), (0, beyond[1])):
        members = np.flatnonzero(y == label)[np.argsort(-score[y == label])]
        gaps = [*of_examples[members], own] if label else [own, *of_examples[members]]
        positions, above, between = [], 0, {}
        for t in thresholds:
            if t in score[y == label]:
                above += 1
                positions.append(above)
            else:
                between.setdefault(above, []).append(len(positions))
                positions.append(None)
        for above, places in between.items():
            for i, place in enumerate(places):
                positions[place] = above + (i + 0.5) / len(places)
        cumulative = np.r_[0, np.cumsum(gaps)] / np.sum(gaps)
        ends = [0, *positions, len(gaps)]
        rates.append(np.interp(ends, np.arange(len(cumulative)), cumulative))
    return rates


def partial_area(y, score, of_examples, beyond, rate, low, high):
    recall, fpr = rates_in_gaps(y, score, of_examples, beyond)
    at = np.linspace(low, high, 2_001)
    if rate == "recall":
        return np.trapezoid(1 - np.interp(at, recall, fpr), at)
    return np.trapezoid(np.interp(at, fpr, recall), at)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("part", "standardized"), [(("fpr", 0, 0.2), True), (("fpr", 0.1, 0.5), False), (("recall", 0.7, 1), True)]
)
def test_difference_of_partial_areas_by_a_loop(part, standardized):
    draws, rng, (rate, low, high) = 200, np.random.default_rng(2), part
    y, a, b = sample(80, np.random.default_rng(5))
    expected = np.empty(draws)
    for i in range(draws):
        w = rng.standard_exponential(len(y))
        areas = [partial_area(y, score, w, rng.standard_exponential(2), *part) for score in (a, b)]
        expected[i] = np.subtract(*areas)
    ends = (low, high) if rate == "fpr" else (1 - high, 1 - low)
    scale = 0.5 / (high - low - (ends[1] ** 2 - ends[0] ** 2) / 2) if standardized else 1
    expected *= scale
    options = {rate: (low, high), "standardized": standardized}
    comparison = areas_compared(y, a, b, draws=4000, rope=0.005, **options)
    difference, sd, error = comparison.difference, expected.std(), np.sqrt(1 / draws + 1 / 4000)
    assert difference.mean().item() == pytest.approx(expected.mean(), abs=4 * sd * error + 1e-4)
    assert difference.sd().item() == pytest.approx(sd, rel=4 * error / np.sqrt(2))
    assert difference.bounds == pytest.approx((scale * (low - high), scale * (high - low)))
    assert comparison.prob_better.item() == comparison.prob_greater.item()
    alone = [bp.roc_auc(y, score, draws=4000, **options) for score in (a, b)]
    assert difference.mean().item() == pytest.approx(
        (alone[0].mean() - alone[1].mean()).item(), abs=4 * alone[0].sd().item() / np.sqrt(2000)
    )
    assert comparison.metric == alone[0].name == "partial_roc_auc"


@pytest.mark.slow
def test_the_whole_range_is_the_area():
    part, whole = areas_compared(Y, A, B, fpr=(0, 1)), areas_compared(Y, A, B)
    np.testing.assert_allclose(part.difference.distribution.values, whole.difference.distribution.values, atol=1e-12)


@pytest.mark.slow
def test_areas_agree_with_delong():
    delong, drawn = (areas_compared(Y, A, B, method=method).difference for method in ("delong", "bayesian_bootstrap"))
    assert drawn.sd().item() == pytest.approx(delong.sd().item(), rel=0.05)
    np.testing.assert_allclose(drawn.eti(), delong.eti(), atol=0.15 * delong.sd().item())


def test_ties_and_separated_scores_in_parts():
    tied = areas_compared(Y, np.round(A), np.round(B), fpr=(0, 0.2), draws=500).difference
    alone = [bp.roc_curve(Y, np.round(score), draws=4000).partial_area(0, 0.2).mean() for score in (A, B)]
    assert tied.mean().item() == pytest.approx((alone[0] - alone[1]).item(), abs=4 * tied.sd().item() / np.sqrt(400))
    apart = areas_compared(Y, A + 10 * Y, B + 10 * Y, fpr=(0, 0.2), draws=500).difference
    assert apart.sd().item() > 0
    assert areas_compared(Y, A, np.exp(A), fpr=(0, 0.2), draws=500).difference.sd().item() == 0


@pytest.mark.parametrize("form", [dict, pd.DataFrame])
def test_many_systems(form):
    scores = form({"one": A, "two": B, "three": B[::-1]})
    for many in (
        scores_compared("average_precision", Y, scores, draws=300),
        areas_compared(Y, scores, fpr=(0, 0.5), draws=300),
    ):
        assert many.prob_greater.dims == ("model", "model_other")
        assert many.prob_best.sel(model="one").item() > 0.9
        assert many.ranks.sel(model="three", rank=3).item() > 0.99
    pair = scores_compared("average_precision", Y, A, B, draws=300)
    three = scores_compared("average_precision", Y, scores, draws=300)
    assert pair.prob_greater.item() == three.prob_greater.sel(model="one", model_other="two").item()
    assert pair.names == ("a", "b")


@pytest.mark.slow
def test_functions_of_one_s_own():
    of_function = scores_compared(
        sklearn_metrics.log_loss, Y, PROBABILITY_A, PROBABILITY_B, draws=50, greater_is_better=False
    )
    named = scores_compared("log_loss", Y, PROBABILITY_A, PROBABILITY_B, draws=50)
    np.testing.assert_allclose(of_function.difference.mean(), named.difference.mean(), rtol=1e-10)
    assert of_function.prob_better.item() == named.prob_better.item()
    unknown = scores_compared(sklearn_metrics.log_loss, Y, PROBABILITY_A, PROBABILITY_B, draws=10)
    with pytest.raises(ValueError, match="neither more nor less"):
        _ = unknown.prob_better


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: scores_compared("brier", Y, {}), ValueError, "y_score must map names of systems"),
        (lambda: scores_compared("brier", Y, A, B), ValueError, "must hold probabilities"),
        (lambda: scores_compared("brier", Y, A, B[:9]), ValueError, "must hold probabilities"),
        (
            lambda: scores_compared("average_precision", Y, A, B[:9]),
            ValueError,
            "columns of unequal length",
        ),
        (lambda: scores_compared("herd", Y, A, B), ValueError, "score_function must be one of"),
        (
            lambda: scores_compared("brier", Y, A, B, greater_is_better=True),
            ValueError,
            "greater_is_better applies to a function",
        ),
        (lambda: areas_compared(Y, A, B, fpr=(0.2, 0.1)), ValueError, "fpr must be false positive rates"),
        (lambda: areas_compared(Y, A, B, fpr=0.2), TypeError, "fpr must be two false positive rates"),
        (
            lambda: areas_compared(Y, A, B, fpr=(0, 0.2), method="delong"),
            ValueError,
            "method, of a part of the curve, must be",
        ),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.slow
def test_intervals_of_differences_cover_as_the_documentation_says():
    rng = np.random.default_rng(0)
    y, a, b = sample(1_000_000, rng)
    at = np.linspace(0, 0.2, 20_001)

    def part(score):
        fpr, recall, _ = sklearn_metrics.roc_curve(y, score)
        return np.trapezoid(np.interp(at, fpr, recall), at)

    true = {
        "average_precision": np.subtract(*(sklearn_metrics.average_precision_score(y, s) for s in (a, b))),
        "brier": np.subtract(
            *(np.mean((p - y) ** 2) for p in (special.expit(2 * a - 2.5), special.expit(1.5 * b - 2)))
        ),
        "part": part(a) - part(b),
        "auc": np.subtract(*(sklearn_metrics.roc_auc_score(y, s) for s in (a, b))),
    }
    simulations, inside = 400, dict.fromkeys(true, 0)
    for i in range(simulations):
        y_i, a_i, b_i = sample(100, np.random.default_rng([1, i]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of fewer than 20 positives.
            compared = {
                "average_precision": scores_compared("average_precision", y_i, a_i, b_i),
                "brier": scores_compared("brier", y_i, special.expit(2 * a_i - 2.5), special.expit(1.5 * b_i - 2)),
                "part": areas_compared(y_i, a_i, b_i, fpr=(0, 0.2), draws=1000),
                "auc": areas_compared(y_i, a_i, b_i, draws=1000),
            }
        for name, comparison in compared.items():
            low, high = comparison.difference.eti().values
            inside[name] += low <= true[name] <= high
    # The smoothed curves of parts err on the wide side, each with weights of its own beyond its scores.
    assert inside.pop("part") / simulations >= 0.96
    documented = {"average_precision": 0.95, "brier": 0.95, "auc": 0.95}
    for name, rate in documented.items():
        # Both this figure and the documented one are of 400 data sets.
        error = np.sqrt(2 * rate * (1 - rate) / simulations)
        assert inside[name] / simulations == pytest.approx(rate, abs=3 * error + 0.005)
