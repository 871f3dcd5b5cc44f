"""Quantiles where distribution functions are steep: in order, and at the probability that was asked for."""

import numpy as np
import pytest

import bayesperf as bp
from bayesperf.distributions.function_of_two_betas import FunctionOfTwoBetas

LEVELS = np.array([0.0005, 0.01, 0.025, 0.05, 0.1, 0.3, 0.5, 0.9, 0.975, 0.9995])


def posterior(table, alpha, **options):
    tp, fn, fp, tn = table
    cm = bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=fp, tn=tn)
    return bp.posterior(cm, bp.prior.dirichlet(alpha), **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "table", "alpha"),
    [
        ("informedness", (0, 100, 10, 0), 0.1),
        ("prevalence_threshold", (10**6, 1, 0, 1000), 0.01),
        ("hter", (30, 0, 0, 4), 0.05),
        ("dor", (30, 0, 0, 4), 0.01),
        ("lr+", (30, 0, 0, 4), 0.01),
        ("fowlkes_mallows", (0, 5, 5, 100), 0.1),
        ("balanced_accuracy", (0, 50, 0, 50), 0.25),
    ],
)
def test_quantiles_are_in_order_and_at_their_probability(name, table, alpha):
    marginal = posterior(table, alpha, design="by_actual" if name == "informedness" else "joint")[name]
    # With weights of .01, farther quantiles are beyond the least and the greatest floating-point numbers.
    levels = LEVELS if alpha > 0.01 else LEVELS[(LEVELS > 0.001) & (LEVELS < 0.99)]
    quantiles = marginal.ppf(levels).values
    assert np.all(np.diff(quantiles) >= 0)
    lower, upper = marginal.eti(0.999).values
    assert lower <= upper
    # The least number at which the distribution function reaches the level; it may jump there.
    assert np.all(marginal.cdf(quantiles).values >= levels - 1e-6)
    assert np.all(marginal.cdf(np.nextafter(quantiles, -np.inf)).values <= levels + 1e-6)


def test_nearly_known_rates_take_few_evaluations(monkeypatch):
    """With 10¹⁵ negatives the distribution function of the mean error has an edge, at half the fpr."""
    evaluations = []
    original = FunctionOfTwoBetas.cdf_logpdf

    def counted(self, x):
        evaluations.append(x)
        return original(self, x)

    monkeypatch.setattr(FunctionOfTwoBetas, "cdf_logpdf", counted)
    tp, fn, fp, tn = 1000, 0, 9 * 10**5, 9 * 10**11
    hter = bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=fp, tn=tn), "flat")["hter"]
    lower, upper = hter.hdi().values
    assert len(evaluations) < 1000
    # The fnr is Beta(1, 1001), highest at 0, and the fpr is 1e-6 to three digits.
    assert lower == pytest.approx(0.5e-6, rel=2e-3)
    assert upper == pytest.approx((1 - 0.05 ** (1 / 1001)) / 2 + 0.5e-6, rel=2e-3)
