"""Whether ranks are uniform: the test and its simultaneous band."""

import numpy as np
import pytest
from scipy import stats

from bayesperf.studies import calibrating_samplers as ranks


def smallest_tail(pit):
    """The smallest two-sided binomial tail of the distribution function, point by point."""
    n = len(pit)
    tails = []
    for i in range(1, n):
        below = int((pit <= i / n).sum())
        distribution = stats.binom(n, i / n)
        tails += [distribution.cdf(below), distribution.sf(below - 1)]
    return min(tails)


def test_statistic():
    pit = np.random.default_rng(1).random((5, 30))
    np.testing.assert_allclose(ranks.smallest_tails(pit), [smallest_tail(row) for row in pit], rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 100, 200])
def test_p_values_are_uniform_if_proportions_are(n):
    p = ranks.p_values(np.random.default_rng(1).random((4000, n)))
    for level in (0.01, 0.05, 0.1, 0.5, 0.9):
        error = 5 * np.sqrt(level * (1 - level) * (1 / 4000 + 1 / 20_000))
        assert (p <= level).mean() == pytest.approx(level, abs=error)
    assert p.min() > 0
    assert p.max() <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "a", "b"),
    [("too high", 1.6, 1), ("too low", 1, 1.6), ("too narrow a posterior", 0.55, 0.55), ("too wide", 2, 2)],
)
def test_p_values_are_small_if_a_posterior_is(wrong, a, b):
    p = ranks.p_values(np.random.default_rng(2).beta(a, b, (500, 200)))
    assert np.median(p) < 1e-3, wrong
    assert (p < 0.01).mean() > 0.8
    # The worst p-value is no smaller than the simulated null distribution can tell.
    assert p.min() >= 1 / 20_001


def test_a_p_value_counts_what_is_as_extreme():
    null = np.random.default_rng(0).random((20_000, 12))
    tails = ranks.smallest_tails(null)
    expected = [(1 + (tails <= tail).sum()) / 20_001 for tail in tails[:5]]
    np.testing.assert_allclose(ranks.p_values(null[:5]), expected, rtol=1e-12)


@pytest.mark.parametrize("proportions", [[0.0] * 50, [1.0] * 50, [0.5] * 50])
def test_proportions_that_are_all_the_same(proportions):
    assert ranks.p_values(np.array([proportions]))[0] < 1e-4


def test_band():
    """Uniform proportions stay inside at every level as often as said."""
    for n, prob in ((50, 0.9), (100, 0.99)):
        inside = ranks.smallest_tails(np.random.default_rng(3).random((4000, n))) >= ranks.tail_probability(n, prob)
        error = 5 * np.sqrt(prob * (1 - prob) * (1 / 4000 + 1 / 20_000))
        assert inside.mean() == pytest.approx(prob, abs=error)


def test_a_distribution_function_is_inside_the_band_if_its_p_value_is_large_enough():
    n, prob = 60, 0.9
    pit = np.concatenate([np.random.default_rng(4).random((40, n)), np.random.default_rng(5).beta(1.5, 1, (40, n))])
    curves = ranks.distribution_functions(pit)
    np.testing.assert_allclose(curves[3], [(pit[3] <= level).mean() for level in np.arange(1, n) / n])
    lower, upper = ranks.band(n, prob).T
    inside = ((lower - 1e-12 <= curves) & (curves <= upper + 1e-12)).all(1)
    np.testing.assert_array_equal(inside, ranks.smallest_tails(pit) >= ranks.tail_probability(n, prob))
    assert 0 < inside[40:].mean() < inside[:40].mean()
