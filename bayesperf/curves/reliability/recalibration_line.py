"""The recalibration line: a logistic regression of what happened on the log-odds, its posterior on a grid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.linalg import cholesky, inv, solve

from bayesperf.core.arrays import Array
from bayesperf.curves.reliability.probability_counts import ProbabilityCounts

# Standard deviation of the normal priors: of the intercept around 0, and of the slope around 1.
PRIOR_SD = 2.5
PRIORS_IN_WORDS = f"intercept ~ Normal(0, {PRIOR_SD:g}), slope ~ Normal(1, {PRIOR_SD:g})"
# The log density is computed at so many Chebyshev nodes a parameter, as many standard deviations to either side as it
# reaches, and interpolated at so many more.
_NODES, _REACH, _FINE = 25, 8.0, 241
# Above so many different log-odds they are grouped: there are so many groups to a unit of their arcsinh.
_MANY, _A_UNIT = 2_000, 200
_SHORT_STEP, _MOST_STEPS = 1e-10, 100


class LineData(NamedTuple):
    """What the likelihood of a line asks of the examples: the sums over positives, and how many have each log-odds.

    Attributes
    ----------
    columns : ndarray (d, G)
        What the log-odds may be changed by: 1, and the log-odds themselves.
    sums : ndarray (d,)
        Sums of these over the positives.
    log_odds, examples : ndarray (G,)
        Log-odds, and how many examples have each.
    """

    columns: Array
    sums: Array
    log_odds: Array
    examples: Array

    @classmethod
    def of(cls, counts: ProbabilityCounts, parameters: int) -> LineData:
        """Return the data of a line with an intercept alone, or with a slope, too.

        Many log-odds are grouped with those next to them, within 1/200 of their arcsinh, and stand for their mean; the
        sums over positives are of all. Of 100,000 examples that moves the line by less than 0.01 of its posterior
        standard deviation.
        """
        log_odds, examples = special.logit(counts.values), counts.examples.astype(float)
        sums = np.stack([np.ones_like(log_odds), log_odds])[:parameters] @ counts.positives
        if len(log_odds) > _MANY:
            _, group = np.unique(np.floor(np.arcsinh(log_odds) * _A_UNIT), return_inverse=True)
            log_odds = np.bincount(group, examples * log_odds) / np.bincount(group, examples)
            examples = np.bincount(group, examples)
        return cls(np.stack([np.ones_like(log_odds), log_odds])[:parameters], sums, log_odds, examples)

    def log_posterior(self, changes: Array) -> Array:
        """Return the log posterior density, up to a constant, of changes (m, d) of the line α = 0, β = 1."""
        linear = self.log_odds + changes @ self.columns
        prior = (changes**2).sum(-1) / (2 * PRIOR_SD**2)
        return np.asarray(changes @ self.sums - np.logaddexp(0, linear) @ self.examples - prior)

    def newton(self, changes: Array) -> tuple[Array, Array]:
        """Return the Newton step (d,) of the log posterior at changes (d,), and its curvature (d, d)."""
        probability = special.expit(self.log_odds + changes @ self.columns)
        gradient = self.sums - self.columns @ (self.examples * probability) - changes / PRIOR_SD**2
        weights = self.examples * probability * (1 - probability)
        curvature = (self.columns * weights) @ self.columns.T + np.eye(len(changes)) / PRIOR_SD**2
        step: Array = solve(curvature, gradient, assume_a="pos")
        return step, curvature


def draws_of_line(counts: ProbabilityCounts, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of intercept and slope, (draws, 2), of the posterior of P(y = 1) = expit(α + β log-odds)."""
    line: Array = _draws(LineData.of(counts, 2), draws, rng) + np.array([0.0, 1.0])
    return line


def draws_of_intercept(counts: ProbabilityCounts, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of the intercept where the slope is 1, (draws,): P(y = 1) = expit(α + log-odds)."""
    intercept: Array = _draws(LineData.of(counts, 1), draws, rng)[:, 0]
    return intercept


def _draws(data: LineData, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of the changes of a line, (draws, d): cells of a fine grid, and a place in each."""
    mode, curvature = _mode(data)
    spread = cholesky(inv(curvature), lower=True)
    nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    grid = np.stack(np.meshgrid(*[nodes] * len(mode), indexing="ij"), axis=-1)
    values = data.log_posterior(mode + _REACH * grid.reshape(-1, len(mode)) @ spread.T)
    fine = np.linspace(-1, 1, _FINE)
    interpolation = np.polynomial.chebyshev.chebvander(fine, _NODES - 1) @ inv(
        np.polynomial.chebyshev.chebvander(nodes, _NODES - 1)
    )
    density = values.reshape(grid.shape[:-1])
    for _ in mode:
        density = np.tensordot(density, interpolation, axes=(0, 1))
    probability = special.softmax(density).ravel()
    cells = np.unravel_index(rng.choice(probability.size, draws, p=probability), density.shape)
    places = np.stack([fine[cell] for cell in cells], axis=-1)
    places += rng.uniform(-0.5, 0.5, places.shape) * (fine[1] - fine[0])
    return np.asarray(mode + _REACH * places @ spread.T)


def _mode(data: LineData) -> tuple[Array, Array]:
    """Return the mode (d,) of the changes of a line, and its curvature there (d, d), by Newton steps.

    Steps that overshoot are halved.
    """
    mode = step = np.zeros(len(data.columns))
    best = -np.inf
    for _ in range(_MOST_STEPS):
        value = data.log_posterior((mode + step)[None])[0]
        if value < best - 1e-9 * abs(best):
            step = step / 2
            continue
        mode, best = mode + step, value
        step, curvature = data.newton(mode)
        if np.abs(step).max() < _SHORT_STEP:
            break
    return mode, curvature
