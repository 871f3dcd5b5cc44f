"""Rough distributions, and searches that start from them."""

import numpy as np
import pytest
from scipy import special

import bayesperf as bp
from bayesperf.distributions.highest_density_intervals import highest_density
from bayesperf.distributions.normal_scores import NormalScores

RNG = np.random.default_rng(5)
SMOOTH = bp.ConfusionMatrix.from_table(RNG.integers(10, 200, (30, 2, 2)), dims=["model"])
SMALL = bp.ConfusionMatrix.from_table(RNG.integers(0, 6, (30, 2, 2)), dims=["model"])


def test_of_a_logit_normal_they_are_exact():
    mean, sd = np.array([0.5, -3.0]), np.array([0.4, 1.5])

    def cdf(x):
        return special.ndtr((special.logit(x) - mean[:, None]) / sd[:, None])

    scores = NormalScores.of(cdf, mean, sd, (0.0, 1.0))
    q = np.array([[0.001, 0.5, 0.975]] * 2)
    exact = special.expit(mean[:, None] + sd[:, None] * special.ndtri(q))
    np.testing.assert_allclose(scores.ppf(q), exact, rtol=1e-9)
    np.testing.assert_allclose(scores.cdf_logpdf(exact)[0], q, rtol=1e-9)
    density = np.exp(scores.cdf_logpdf(exact)[1])
    slope = (cdf(exact * (1 + 1e-6)) - cdf(exact * (1 - 1e-6))) / (2e-6 * exact)
    np.testing.assert_allclose(density, slope, rtol=1e-6)


@pytest.mark.parametrize("metric", ["mcc", "balanced_accuracy", "cohen_kappa"])
def test_they_are_near_and_never_what_is_returned(metric):
    distribution = bp.posterior(SMOOTH, "flat")[metric].distribution
    q = np.array([[0.025, 0.5, 0.975]] * 30)
    np.testing.assert_allclose(distribution.cdf(distribution.rough.ppf(q)), q, atol=1e-3)
    np.testing.assert_allclose(distribution.cdf(distribution.ppf(q)), q, atol=1e-9)


@pytest.mark.few
@pytest.mark.parametrize("counts", [SMOOTH, SMALL])
@pytest.mark.parametrize("metric", ["mcc", "balanced_accuracy"])
def test_limits_do_not_depend_on_the_start(metric, counts):
    distribution = bp.posterior(counts, "flat")[metric].distribution
    tails = np.array([[0.025, 0.975]] * 30)
    from_few = highest_density(distribution, 0.95, distribution.quantiles_of_few(tails))
    np.testing.assert_allclose(distribution.cdf(distribution.hdi(0.95)), distribution.cdf(from_few), rtol=0, atol=1e-7)
