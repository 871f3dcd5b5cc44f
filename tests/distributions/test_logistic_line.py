"""The posterior of a line in log-odds, against sums over a grid, where it is nearly normal and where it is not."""

import numpy as np
import pytest
from scipy import special, stats

from bayesperf.distributions import logistic_line
from bayesperf.distributions.logistic_line import NormalPriors

PRIORS = NormalPriors(np.array([0.0, 1.0]), np.array([2.5, 2.5]))


def on_a_grid(x, y):
    """Return intercepts, slopes and their weights in sums over plain rectangles, far out on all sides."""
    intercept, slope = np.meshgrid(np.linspace(-12, 12, 401), np.linspace(-10, 14, 401), indexing="ij")
    log_density = stats.norm.logpdf(intercept, 0, 2.5) + stats.norm.logpdf(slope, 1, 2.5)
    for log_odds, happened in zip(x, y, strict=True):
        linear = intercept + slope * log_odds
        log_density += happened * linear - np.logaddexp(0, linear)
    return intercept, slope, special.softmax(log_density)


def separated(n, reach):
    x = np.linspace(-reach, reach, n)
    return x, (x > 0).astype(float)


def one_class(n):
    return np.linspace(-6, -2, n), np.zeros(n)


def overlapping(n):
    rng = np.random.default_rng(0)
    x = rng.normal(-2, 2, n)
    return x, (rng.random(n) < special.expit(0.5 * x)).astype(float)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "data",
    [separated(200, 12), separated(2, 8), one_class(30), overlapping(60)],
    ids=["many far", "two", "one class", "overlapping"],
)
def test_draws_are_of_the_posterior(data):
    draws = 40_000
    found = logistic_line.draws_of_line(*data, np.ones(len(data[0])), PRIORS, draws, np.random.default_rng(1))
    *values, weight = on_a_grid(*data)
    for own, value in zip(found.T, values, strict=True):
        mean = (weight * value).sum()
        sd = np.sqrt((weight * (value - mean) ** 2).sum())
        assert abs(own.mean() - mean) < 4 * sd / np.sqrt(draws) + 0.003
        assert own.std() == pytest.approx(sd, rel=0.02)
        for level in (0.025, 0.5, 0.975):
            below = weight[value <= np.quantile(own, level)].sum()
            # Beside the error of draws, that of rectangles.
            assert abs(below - level) < 4 * np.sqrt(level * (1 - level) / draws) + 0.012


def test_an_intercept_alone():
    x, y = overlapping(60)
    priors = NormalPriors(np.array([0.3]), np.array([0.8]))
    found = logistic_line.draws_of_line(x, y, np.ones(60), priors, 40_000, np.random.default_rng(1))[:, 0]
    grid = np.linspace(-6, 6, 20_001)
    linear = grid[:, None] + x
    weight = special.softmax((y * linear - np.logaddexp(0, linear)).sum(1) + stats.norm.logpdf(grid, 0.3, 0.8))
    mean = weight @ grid
    assert abs(found.mean() - mean) < 4 * np.sqrt(weight @ (grid - mean) ** 2 / 40_000)
    assert found.std() == pytest.approx(np.sqrt(weight @ (grid - mean) ** 2), rel=0.02)
