"""How many examples make an interval narrow enough: against the intervals of all outcomes."""

import numpy as np
import pytest
from scipy import stats

import bayesperf as bp
from bayesperf.plan.evidence import updated
from bayesperf.plan.sample_sizes import interval_width
from bayesperf.plan.widths import IntervalWidth

CM = bp.ConfusionMatrix.from_counts(tp=40, fn=5, fp=6, tn=60)


def widths(n, confidence=0.95, metric="recall", tp=4, fn=1):
    """Return the width of the interval after each number of successes, by the posterior of its matrix."""
    k = np.arange(n + 1)
    cm = bp.ConfusionMatrix.from_counts(tp=tp + k, fn=fn + n - k, fp=np.zeros(n + 1, int), tn=np.zeros(n + 1, int))
    return bp.posterior(cm)[metric].hdi(confidence).diff("ci_bound").values[:, 0]


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 30, 400])
def test_expected_widths_are_sums_over_outcomes(n):
    chances = stats.betabinom(n, 4.5, 1.5).pmf(np.arange(n + 1))
    plan = interval_width(0.2, evidence=(4, 5))
    assert plan.curve(n).item() == pytest.approx(chances @ widths(n), abs=1e-9)
    assured = interval_width(0.2, evidence=(4, 5), assurance=0.9)
    assert assured.curve(n).item() == pytest.approx(chances @ (widths(n) <= 0.2), abs=1e-9)


@pytest.mark.parametrize("metric", ["recall", "f1"])
@pytest.mark.parametrize("counts", [(4, 1), (0, 0)])
def test_widths_between_the_knots_are_close(metric, counts):
    n = 3000
    tp, fn = counts
    before = bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=0, tn=0))[metric].distribution
    k = np.arange(n + 1)
    every = np.diff(updated(before, k, n - k).hdi(0.9))[:, 0]
    np.testing.assert_allclose(IntervalWidth(before, 0.9).of_outcomes(n), every, rtol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("assurance", [None, 0.8])
def test_from_there_on_it_is_narrow_enough(assurance):
    plan = interval_width(0.15, 0.9, evidence=(8, 10), assurance=assurance)
    values = plan.curve(np.arange(max(plan.n - 5, 0), plan.n + 60)).values
    met = values <= 0.15 if assurance is None else values >= assurance
    assert met[5:].all()
    assert not met[4]
    assert plan.aim == ("width" if assurance is None else "assurance")
    assert plan.target == (assurance or 0.15)
    assert plan.reached == values[5]


@pytest.mark.slow
def test_it_is_about_what_the_normal_says():
    # Width 2 · 1.96 √(p (1 − p)/n), with p all but known.
    plan = interval_width(0.04, metric="specificity", evidence=(9000, 10_000))
    assert plan.n == 0
    sure = interval_width(0.01, metric="specificity", evidence=(9000, 10_000))
    assert sure.n + 10_000 == pytest.approx((2 * 1.96 / 0.01) ** 2 * 0.09, rel=0.01)
    assert sure.counts == "negatives"


@pytest.mark.slow
def test_examples_and_words():
    plan = interval_width(0.05, metric="f1", evidence=CM)
    assert plan.counts == "examples that are or are called positive"
    assert plan.examples == int(np.ceil(plan.n * 113 / 52.5))
    assert plan.claim == "expected width of the 95 % highest-density interval of F1"
    assert plan.limit == 0
    assert interval_width(0.1, metric="accuracy", evidence=CM, assurance=0.9).claim.endswith(
        "interval of accuracy ≤ 0.1"
    )


BAD = {
    "width": ({"width": 0.0}, "width must be above 0 and less than the metric's range, 1; it is 0.0"),
    "wide": ({"width": 1.0}, "width must be above 0 and less than the metric's range, 1; it is 1.0"),
    "text": ({"width": "wide"}, "width must be a number; it is 'wide'"),
    "confidence": ({"confidence": 1.0}, "confidence must be a number between 0 and 1"),
    "assurance": ({"assurance": 0.0}, "assurance must be a number between 0 and 1"),
    "metric": ({"metric": "balanced_accuracy"}, "metric 'balanced_accuracy': its posterior is no Beta, nor a function"),
}


@pytest.mark.parametrize(("change", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_in_words(change, words):
    with pytest.raises((ValueError, TypeError), match=words):
        interval_width(**{"width": 0.1, "evidence": CM, **change})
