"""R̂ and effective sample sizes of many parameters at once, against ArviZ's of one after the other."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from bayesperf.sampling.convergence import TOGETHER, convergence


def correlated(shape, phi):
    """Return chains in which each draw resembles the one before."""
    draws = np.random.default_rng(0).standard_normal(shape)
    for t in range(1, shape[-1]):
        draws[..., t] = phi * draws[..., t - 1] + np.sqrt(1 - phi**2) * draws[..., t]
    return draws


def by_arviz(draws, tail):
    axes = {"chain_axis": 1, "draw_axis": 2}
    tails = array_stats.ess(draws, method="tail", prob=tail, **axes)
    return [array_stats.rhat(draws, **axes), array_stats.ess(draws, method="bulk", **axes), tails]


@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero) encountered:RuntimeWarning")
@pytest.mark.parametrize("phi", [0, 0.5, 0.99, -0.5, 1])
@pytest.mark.parametrize(("chains", "n"), [(4, 400), (2, 101), (1, 100), (3, 6), (3, 5), (2, 4), (4, 3), (1, 1)])
def test_figures_are_those_of_arviz(chains, n, phi):
    draws = correlated((TOGETHER + 3, chains, n), phi)
    np.testing.assert_allclose(convergence(draws, 0.94), by_arviz(draws, 0.94), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero) encountered:RuntimeWarning")
@pytest.mark.parametrize(
    "changed",
    [
        np.round,
        lambda draws: (draws > 1).astype(float),
        lambda draws: np.where(draws > 2.5, np.nan, draws),
        lambda draws: np.broadcast_to(draws[..., :1], draws.shape),
        lambda draws: np.broadcast_to(draws[:, :1, :1], draws.shape),
    ],
    ids=["ties", "two values", "some unknown", "stuck chains", "constants"],
)
def test_odd_draws(changed):
    draws = changed(correlated((10, 4, 101), 0.5))
    np.testing.assert_allclose(convergence(draws, 0.9), by_arviz(draws, 0.9), rtol=1e-9)
