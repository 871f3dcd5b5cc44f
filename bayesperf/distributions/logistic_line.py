"""The posterior of a line on the log-odds scale: logistic regression with one variable and normal priors, on a grid.

P(y = 1) = expit(α + β x), where x is the log-odds of a probability. So few parameters need no sampler: the log density
is concave and smooth, and a spline through a few points follows it closely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy import special
from scipy.linalg import cholesky, inv, solve

from bayesperf.core.arrays import Array, Counts

# The log density is computed at this many points per parameter: first this many standard deviations to either side of
# the mode, then in the box where it is at most this far below the maximum. It is interpolated at this many more.
_NODES, _REACH, _NEGLIGIBLE, _FINE = 41, 8.0, 25.0, 241
_MOST_BOXES = 20
# More different log-odds than this are grouped. Each unit of their arcsinh has this many groups, times the fourth root
# of the number of examples: the error grows with the square of a group's width, and the posterior standard deviation
# falls with the root of the number.
MANY, _A_UNIT = 2_000, 3
_SHORT_STEP, _MOST_STEPS = 1e-10, 100


class NormalPriors(NamedTuple):
    """Independent normal priors: the means (d,) and standard deviations (d,) of intercept and slope, or of the former.

    The log-odds of the line at the prior means are `means` times the columns; if there is only an intercept, the slope
    is 1.
    """

    means: Array
    sds: Array


def grouped(log_odds: Array, examples: float | Array) -> Array:
    """Return the group number of each log-odds, (V,), weighted by examples: the mean of a group stands for all.

    That moves the line by a few hundredths of its posterior standard deviation at most.
    """
    return np.asarray(np.floor(np.arcsinh(log_odds) * _A_UNIT * examples**0.25))


class LineData(NamedTuple):
    """The data that the posterior of a line needs from the examples and the priors."""

    # Variables of the log-odds: 1, and the log-odds themselves, (d, G).
    columns: Array
    # Sums of these over the positives, (d,).
    sums: Array
    # Log-odds of the frequency at the prior means of the parameters, (G,).
    start: Array
    # Number of examples with each, (G,).
    examples: Array
    # Standard deviations of the priors, (d,).
    sds: Array

    @classmethod
    def of(cls, log_odds: Array, positives: Array | Counts, examples: Array | Counts, priors: NormalPriors) -> LineData:
        """Return the data of a line, given log-odds (V,), and the numbers of positives and of examples with each.

        Many log-odds are `grouped`; the sums over positives include all of them.
        """
        sums = _columns(log_odds)[: len(priors.means)] @ positives
        weights: Array = examples.astype(float)
        if len(log_odds) > MANY:
            _, group = np.unique(grouped(log_odds, weights.sum()), return_inverse=True)
            log_odds = np.bincount(group, weights * log_odds) / np.bincount(group, weights)
            weights = np.bincount(group, weights)
        columns = _columns(log_odds)
        slope_one = np.append(priors.means, 1.0)[:2]
        return cls(columns[: len(priors.means)], sums, slope_one @ columns, weights, priors.sds)

    def log_posterior(self, changes: Array) -> Array:
        """Return the log posterior density, up to a constant, of changes (m, d) from the means of the priors."""
        linear = self.start + changes @ self.columns
        prior = ((changes / self.sds) ** 2).sum(-1) / 2
        return np.asarray(changes @ self.sums - np.logaddexp(0, linear) @ self.examples - prior)

    def newton(self, changes: Array) -> tuple[Array, Array]:
        """Return the Newton step (d,) of the log posterior at changes (d,), and its curvature (d, d)."""
        probability = special.expit(self.start + changes @ self.columns)
        gradient = self.sums - self.columns @ (self.examples * probability) - changes / self.sds**2
        weights = self.examples * probability * (1 - probability)
        curvature = (self.columns * weights) @ self.columns.T + np.diag(1 / self.sds**2)
        step: Array = solve(curvature, gradient, assume_a="pos")
        return step, curvature


def _columns(log_odds: Array) -> Array:
    return np.stack([np.ones_like(log_odds), log_odds])


def draws_of_line(
    log_odds: Array,
    positives: Array | Counts,
    examples: Array | Counts,
    priors: NormalPriors,
    draws: int,
    rng: np.random.Generator,
) -> Array:
    """Return draws (draws, d) of the parameters with priors: intercept and slope, or the intercept with slope 1."""
    drawn: Array = priors.means + _draws(LineData.of(log_odds, positives, examples, priors), draws, rng)
    return drawn


def exact_draws(
    data: xr.DataArray, parameters: Mapping[str, Array], rngs: Sequence[np.random.Generator], size: tuple[int, int]
) -> dict[str, xr.DataArray]:
    """Return independent draws (chain, draw) of intercept and slope of the model `recalibration`.

    The data are rows of identical examples, (case, column), as the model takes them; groups raise NotImplementedError.
    """
    if "dim" in data.attrs:
        raise NotImplementedError("method='exact': lines of groups have no exact form. Use method='mcmc'.")
    log_odds, positives, examples = (data.sel(column=name).values for name in ("log_odds", "positives", "examples"))
    means, sds = np.stack([parameters["intercept"], parameters["slope"]], -1)
    drawn = draws_of_line(log_odds, positives, examples, NormalPriors(means, sds), int(np.prod(size)), rngs[0])
    return {
        name: xr.DataArray(values.reshape(size), dims=("chain", "draw"))
        for name, values in zip(("intercept", "slope"), drawn.T, strict=True)
    }


def _draws(data: LineData, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of the changes of a line, (draws, d): cells of a fine grid, and a position in each."""
    from scipy.interpolate import CubicSpline

    mode, curvature = _mode(data)
    spread = cholesky(inv(curvature), lower=True)
    nodes, density = _log_density(data, mode, spread)
    fine = [np.linspace(along[0], along[-1], _FINE) for along in nodes]
    for axis, (along, at) in enumerate(zip(nodes, fine, strict=True)):
        density = CubicSpline(along, density, axis)(at)
    probability = special.softmax(density).ravel()
    cells = np.unravel_index(rng.choice(probability.size, draws, p=probability), density.shape)
    places = np.stack([at[cell] for at, cell in zip(fine, cells, strict=True)], axis=-1)
    places += rng.uniform(-0.5, 0.5, places.shape) * [at[1] - at[0] for at in fine]
    return np.asarray(mode + places @ spread.T)


def _log_density(data: LineData, mode: Array, spread: Array) -> tuple[list[Array], Array]:
    """Return the points of each axis, in standard deviations from the mode, and the log density on their grid.

    The standard deviations come from the curvature at the mode. If probabilities separate the classes, the density may
    be far from normal, so the box is widened or narrowed until it just holds the non-negligible mass.
    """
    ends = np.tile([-_REACH, _REACH], (len(mode), 1))
    for _ in range(_MOST_BOXES):
        nodes = [np.linspace(low, high, _NODES) for low, high in ends]
        grid = np.stack(np.meshgrid(*nodes, indexing="ij"), axis=-1)
        values = data.log_posterior(mode + grid.reshape(-1, len(mode)) @ spread.T).reshape(grid.shape[:-1])
        values = np.maximum(values - values.max(), -2 * _NEGLIGIBLE)
        inside = np.argwhere(values > -_NEGLIGIBLE)
        first, last = inside.min(0) - 1, inside.max(0) + 1
        step = np.diff(ends)[:, 0] / (_NODES - 1)
        widths = np.diff(ends)[:, 0]
        ends = np.stack([ends[:, 0] + first * step, ends[:, 0] + last * step], axis=-1)
        # Where the edge holds what is not negligible, by as much again.
        ends += np.stack([-widths * (first < 0), widths * (last >= _NODES)], axis=-1)
        if (first >= 0).all() and (last < _NODES).all() and (last - first > 0.7 * _NODES).all():
            break
    return nodes, values


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
