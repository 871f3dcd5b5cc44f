"""Approximate draws of the model `items`, for more systems and items than a sampler gets through.

Given the spreads, a normal distribution q takes the place of the posterior of abilities, difficulties and means of
sets. It is the one that is closest to the posterior p, so that E_q log(p / q) is greatest. Newton's method finds it;
slopes and curvatures of the likelihood are their means over q, not their values at one point as in Laplace's
approximation. The precision matrix is

    [ D   B ]      D: a diagonal, of the items or of the systems, whichever are more
    [ Bᵀ  G ]      G: the rest, which is small

so that only a matrix of the size of G is factored. Deviations sum to 0: the distribution is conditioned on that.

The spreads (of abilities, difficulties and sets) are written as quantiles of their priors, and these as normal
deviates. E_q log(p / q), with a term for the skewness that q lacks, approximates their log density. It is computed at
the nodes of a grid and interpolated, and spreads are drawn from it. With these spreads q has the interpolated mean, and
the covariance matrix of a node next to them.

Source: Challis & Barber (2013), Journal of Machine Learning Research 14, for q; Rue, Martino & Chopin (2009), Journal
of the Royal Statistical Society B 71, for the grid, and for sums by conditioning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.linalg import block_diag, cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit, log_expit, ndtr, ndtri

from bayesperf.core.arrays import Array
from bayesperf.models._logit_normal import normal_nodes

# Nodes of means over q: three are enough if the variance of no cell is above the limit.
_NODES, _FEW_NODES, _LIMIT = 5, 3, 0.3
# Cells (system × item) that are computed at once, which a processor's cache holds.
_BLOCK = 16_384
# Newton's method ends at steps that are smaller than this; its greatest step, and most steps.
_ENOUGH, _FARTHEST, _MOST = 1e-4, 2.0, 100
# The greatest deviate, in size, of which a spread is computed.
_EXTREME = 6.0
# Places of the grid in each direction, in standard deviations, for two spreads and for three, and the ends and the
# number of places of the finer grid on which spreads are drawn.
_GRID, _END, _FINE = {2: (-3.6, -1.8, 0.0, 1.8, 3.6), 3: (-2.0, 0.0, 2.0)}, 3.6, {2: 121, 3: 61}
# Step of the differences that give the curvature of the log density of the spreads, and the least curvature.
_STEP, _LEAST = 0.05, 0.25
SPREADS = ("ability_spread", "difficulty_spread", "set_spread")


class Normal(NamedTuple):
    """A normal distribution of all parameters given the spreads, and what it says of them."""

    # Abilities, difficulties, then their mean and the deviations of the sets, in one vector.
    mean: Array
    # Variances of the log-odds of the cells (system, item).
    variance: Array
    # The approximate log density of the data, up to a constant, and what skewness adds to it.
    log_density: float = 0.0
    skewness: float = 0.0
    # The derivatives of the former with respect to the logarithms of the spreads.
    slope: Array = np.empty(0)


class Precision(NamedTuple):
    """A precision matrix of a long part, which is diagonal, and a short rest, and the sums that are 0."""

    # The place in the vector of all parameters of each of the long part, then of each of the rest.
    order: Array
    # The diagonal of the long part.
    diagonal: Array
    # The block between the long part and the rest, each row divided by the diagonal.
    scaled: Array
    # The Cholesky factor of the precision of the rest.
    root: Array
    # The sums that are 0, as rows of weights of the parameters.
    sums: Array
    # The covariances of the parameters and the sums, without regard to these, (parameter, sum).
    tied: Array

    def solve(self, values: Array) -> Array:
        """Return the product of the covariance matrix, without regard to the sums, and values (parameter, …)."""
        split, found = len(self.diagonal), np.empty(values.shape)
        long, rest = np.split(values[self.order], [split])
        short = cho_solve((self.root, True), rest - self.scaled.T @ long)
        found[self.order] = np.concatenate([(long.T / self.diagonal).T - self.scaled @ short, short])
        return found

    def conditioned(self, values: Array) -> Array:
        """Return vectors (parameter, …) moved, along covariances, to where the sums are 0."""
        return np.asarray(values - self.tied @ np.linalg.solve(self.sums @ self.tied, self.sums @ values))

    def variances(self, systems: int, items: int) -> tuple[Array, Array]:
        """Return the variances of all parameters, and those of the log-odds of the cells."""
        split, marginal = len(self.diagonal), np.empty(len(self.order))
        rest = cho_solve((self.root, True), np.eye(len(self.root)))
        across = -self.scaled @ rest
        marginal[self.order] = np.concatenate([1 / self.diagonal - (across * self.scaled).sum(1), np.diag(rest)])
        known = self.tied @ np.linalg.inv(self.sums @ self.tied)
        marginal -= (known * self.tied).sum(1)
        first, second = slice(systems), slice(systems, systems + items)
        short = across[:, : systems + items - split]
        covariance = (short if split == systems else short.T) - known[first] @ self.tied[second].T
        cells = marginal[first, None] + marginal[second] - 2 * covariance
        return np.maximum(marginal, 0), np.maximum(cells, 0)

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """Return n draws about 0, (parameter, n)."""
        split, drawn = len(self.diagonal), np.empty((len(self.order), n))
        short = solve_triangular(self.root.T, rng.standard_normal((len(self.root), n)))
        long = rng.standard_normal((split, n)) / np.sqrt(self.diagonal)[:, None] - self.scaled @ short
        drawn[self.order] = np.concatenate([long, short])
        return self.conditioned(drawn)

    def log_determinant(self) -> float:
        """Return the logarithm of the determinant of the covariance matrix where the sums are 0, up to a constant."""
        each = np.log(self.diagonal).sum() + 2 * np.log(np.diag(self.root)).sum()
        return float(-each - np.linalg.slogdet(self.sums @ self.tied)[1])


@dataclass(frozen=True, eq=False)
class Crossed:
    """Attempts at items, and the prior."""

    # How many there are, (system, item).
    passed: Array
    attempts: Array
    # The set of each item.
    place: Array
    # The mean and the scale of the logistic prior of the mean difficulty.
    location: Array
    # The scales of the half-normal priors of the spreads: two, or three if there are several sets.
    scales: Array

    @property
    def design(self) -> Array:
        """Which of the mean and the deviations of the sets add up to the expected difficulty of each item."""
        ones = np.ones((len(self.place), 1))
        return np.hstack([ones, np.eye(int(self.place.max()) + 1)[self.place]]) if self.place.any() else ones

    @property
    def sizes(self) -> Array:
        """How many deviations each spread is of."""
        return np.array([*self.passed.shape, self.place.max() + 1])[: len(self.scales)]

    def parts(self, values: Array) -> list[Array]:
        """Return the abilities, the difficulties, and their mean with the deviations of the sets."""
        systems, items = self.passed.shape
        return np.split(values, [systems, systems + items], axis=-1)

    def spreads(self, u: Array) -> tuple[Array, Array]:
        """Return spreads of which normal deviates (…, spread) are given, and the slopes of their logarithms."""
        u = np.clip(u, -_EXTREME, _EXTREME)
        standard = -ndtri(ndtr(-u) / 2)
        return self.scales * standard, np.exp((standard**2 - u**2) / 2) / (2 * standard)

    def precision(self, weight: Array, spreads: Array, curvature: float) -> Precision:
        """Return the precision given the curvatures of the likelihood in the cells, and of the location's prior."""
        systems, items = weight.shape
        inverse, design = spreads**-2.0, self.design
        of_systems, of_items = weight.sum(1) + inverse[0], weight.sum(0) + inverse[1]
        tied = -design * inverse[1]
        means = design.T @ design * inverse[1]
        means += np.diag([curvature, *np.repeat(inverse[2:], design.shape[1] - 1)])
        order = np.arange(systems + items + len(means))
        if items >= systems:
            order = np.r_[systems : systems + items, :systems, systems + items : len(order)]
            diagonal, across = of_items, np.hstack([-weight.T, tied])
            rest = block_diag(np.diag(of_systems), means)
        else:
            diagonal, across = of_systems, np.hstack([-weight, np.zeros((systems, len(means)))])
            rest = np.block([[np.diag(of_items), tied], [tied.T, means]])
        scaled = across / diagonal[:, None]
        root = np.linalg.cholesky(rest - across.T @ scaled)
        sums = np.zeros((len(inverse), len(order)))
        sums[0, :systems] = sums[1, systems : systems + items] = 1
        sums[1, systems + items :] = -design.sum(0)
        sums[2:, systems + items + 1 :] = 1
        without = Precision(order, diagonal, scaled, root, sums, np.empty(0))
        return without._replace(tied=without.solve(sums.T))

    def prior_slope(self, values: Array, spreads: Array) -> tuple[Array, float, Array]:
        """Return the slope of the log prior, the curvature for the location, and each sum of squares of deviations."""
        ability, difficulty, means = self.parts(values)
        shift = (difficulty - self.design @ means) / spreads[1]
        of_sets = means[1:] / spreads[2] if len(spreads) > 2 else means[1:]
        middle, scale = self.location
        below = expit((means[0] - middle) / scale)
        slope = self.design.T @ shift / spreads[1]
        slope[0] += (1 - 2 * below) / scale
        slope[1:] -= of_sets / spreads[2:]
        squares = [(each**2).sum() for each in (ability / spreads[0], shift, of_sets)][: len(spreads)]
        parts = [-ability / spreads[0] ** 2, -shift / spreads[1], slope]
        return np.concatenate(parts), 2 * below * (1 - below) / scale**2, np.array(squares)

    def averaged(self, functions: Callable[[Array], tuple[Array, Array]], values: Array, variance: Array) -> Array:
        """Return the means over q of two functions of the log-odds of each cell."""
        ability, difficulty, _ = self.parts(values)
        found = np.zeros((2, *variance.shape))
        nodes = list(zip(*normal_nodes(_NODES if variance.max() > _LIMIT else _FEW_NODES), strict=True))
        height = max(_BLOCK // len(difficulty), 1)
        for rows in (slice(start, start + height) for start in range(0, len(ability), height)):
            logit, sd = ability[rows, None] - difficulty, np.sqrt(variance[rows])
            for node, share in nodes:
                for total, each in zip(found[:, rows], functions(logit + node * sd), strict=True):
                    total += share * each
        return found

    def closest(self, u: Array, start: Normal) -> tuple[Normal, Precision]:
        """Return the normal distribution that is closest to the posterior given deviates of the spreads."""
        spreads, _ = self.spreads(u)
        values, variance = start.mean, start.variance
        for _ in range(_MOST):
            rate, weight = self.averaged(_rate_and_slope, values, variance)
            weight *= self.attempts
            slope, curvature, _ = self.prior_slope(values, spreads)
            precision = self.precision(weight, spreads, curvature)
            marginal, variance = precision.variances(*self.passed.shape)
            surplus = self.passed - self.attempts * rate
            slope[: sum(surplus.shape)] += np.concatenate([surplus.sum(1), -surplus.sum(0)])
            step = precision.conditioned(precision.solve(slope))
            farthest = max(abs(step).max(), _ENOUGH / 2)
            values = values + step * min(1.0, _FARTHEST / farthest)
            if farthest < _ENOUGH:
                break
        squares = self.prior_slope(values, spreads)[2]
        told = float(np.vdot(weight, variance))
        log_density, skewness = self._log_likelihood(values, variance, marginal)
        log_density += self._log_prior(values, spreads, squares) + (precision.log_determinant() + told) / 2
        # The squares of deviations, divided by their prior variances, have means whose sum is known.
        free, at = len(values) - len(precision.sums), sum(self.passed.shape)
        ability, _, means = self.parts(marginal)
        traces = np.array([ability.sum(), 0.0, means[1:].sum()])[: len(spreads)] / spreads**2
        traces[1] = free - told - curvature * marginal[at] - traces.sum()
        slope = squares + traces - (self.sizes - 1)
        return Normal(values, variance, log_density, skewness, slope), precision

    def _log_likelihood(self, values: Array, variance: Array, marginal: Array) -> tuple[float, float]:
        """Return the mean log-likelihood, and what the skewness of abilities and difficulties adds to a log density."""
        ability, difficulty, _ = self.parts(values)
        third, failed = self.averaged(_change_of_slope_and_failure, values, variance)
        passed = self.passed.sum(1) @ ability - self.passed.sum(0) @ difficulty
        third *= self.attempts
        skewness = sum(
            (third.sum(axis) ** 2 * of_each**3).sum()
            for axis, of_each in zip((1, 0), self.parts(marginal)[:2], strict=True)
        )
        return float(passed + np.vdot(self.attempts, failed)), float(skewness / 12)

    def _log_prior(self, values: Array, spreads: Array, squares: Array) -> float:
        place = (values[sum(self.passed.shape)] - self.location[0]) / self.location[1]
        of_location = log_expit(place) + log_expit(-place)
        return float(of_location - ((self.sizes - 1) * np.log(spreads) + squares / 2).sum())


def _rate_and_slope(logit: Array) -> tuple[Array, Array]:
    """Return the rate that has these log-odds, and its derivative."""
    rate = 1 / (1 + np.exp(-logit))
    return rate, rate * (1 - rate)


def _change_of_slope_and_failure(logit: Array) -> tuple[Array, Array]:
    """Return the second derivative of the rate that has these log-odds, and the logarithm of its complement."""
    rate = expit(logit)
    return rate * (1 - rate) * (1 - 2 * rate), log_expit(-logit)


def draws(
    data: xr.DataArray,
    parameters: Mapping[str, Array],
    rngs: Sequence[np.random.Generator],
    size: tuple[int, int],
    *,
    discrimination: bool = False,
) -> dict[str, xr.DataArray]:
    """Return independent draws (chain, draw, …) of an approximation to the posterior of `items`.

    Parameters
    ----------
    data : xarray.DataArray
        Counts (system, ``item``, ``outcome``) of wrong and right attempts.
    parameters : mapping
        Parameters of the priors by name, along the last axis.
    rngs : sequence of numpy.random.Generator
        One for each system.
    size : tuple of two int
        Chains and draws.
    discrimination
        The option of the model.

    Raises
    ------
    NotImplementedError
        If items have slopes, or attempts have grades.
    """
    from bayesperf.models.items import sets

    for what, is_asked in {"slopes of items": discrimination, "grades": data.sizes["outcome"] > 2}.items():
        if is_asked:
            raise NotImplementedError(f"method='approximate': {what} have no approximation. Use method='mcmc'.")
    attempts = data.values.sum(-1).astype(float)
    place = sets(attempts)
    scales = [parameters[name][..., -1] for name in SPREADS[: 2 + bool(place.any())]]
    crossed = Crossed(
        data.values[..., 1].astype(float), attempts, place, np.asarray(parameters["location"]), np.array(scales)
    )
    rng = np.random.default_rng([int(each.integers(2**32)) for each in rngs])
    spreads, values = _drawn(crossed, rng, int(np.prod(size)))
    return _labelled(data, crossed, spreads, values, size)


def _drawn(crossed: Crossed, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Return n draws of the spreads (n, spread) and of all other parameters (n, parameter)."""
    dims = len(crossed.scales)
    centre, axes, start = _centre(crossed)
    places = list(product(range(len(_GRID[dims])), repeat=dims))
    nodes = centre + np.array(_GRID[dims])[places] @ axes.T
    means, log_density, last = [], [], start
    for u in nodes:
        last = crossed.closest(u, last)[0]
        means.append(last.mean)
        log_density.append(last.log_density + last.skewness - u @ u / 2)
    z = _places(np.array(log_density), rng, n, dims)
    values = _polynomials(z, dims) @ np.array(means)
    for u, mean, number in zip(nodes, means, _next_nodes(z, rng, dims), strict=True):
        if len(number):
            last, precision = crossed.closest(u, last._replace(mean=mean))
            values[number] += precision.draw(rng, len(number)).T
    return crossed.spreads(centre + z @ axes.T)[0], values


def _centre(crossed: Crossed) -> tuple[Array, Array, Normal]:
    """Return the mode of the deviates of the spreads, their standardised directions, and the distribution there."""
    size = sum(crossed.passed.shape) + crossed.design.shape[1]
    state = Normal(np.zeros(size), np.zeros(crossed.passed.shape))

    def minus(u: Array) -> tuple[float, Array]:
        nonlocal state
        state = crossed.closest(u, state)[0]
        return float(u @ u / 2 - state.log_density), u - state.slope * crossed.spreads(u)[1]

    start = np.zeros(len(crossed.scales))
    centre = minimize(minus, start, method="BFGS", jac=True, options={"gtol": 0.05}).x
    middle = minus(centre)[1]
    curvature = np.array([minus(centre + step)[1] - middle for step in _STEP * np.eye(len(start))]) / _STEP
    values, directions = np.linalg.eigh((curvature + curvature.T) / 2)
    return centre, directions / np.sqrt(np.maximum(values, _LEAST)), state


def _polynomials(z: Array, dims: int) -> Array:
    """Return the weights (…, node) of the nodes of the grid in what interpolates them."""
    grid = np.array(_GRID[dims])
    each = np.vander(z.ravel(), len(grid)) @ np.linalg.inv(np.vander(grid))
    return _products(each.reshape(*z.shape, -1))


def _products(each: Array) -> Array:
    """Return the products (…, node) of weights (…, direction, place)."""
    found = each[..., 0, :]
    for further in np.moveaxis(each[..., 1:, :], -2, 0):
        found = (found[..., None] * further[..., None, :]).reshape(*found.shape[:-1], -1)
    return found


def _places(log_density: Array, rng: np.random.Generator, n: int, dims: int) -> Array:
    """Return n places (n, direction) in standard deviations, drawn from the interpolated density."""
    width = 2 * _END / _FINE[dims]
    fine = -_END + width * (np.arange(_FINE[dims]) + 0.5)
    each = np.vander(fine, len(_GRID[dims])) @ np.linalg.inv(np.vander(_GRID[dims]))
    dense = log_density.reshape([len(_GRID[dims])] * dims)
    for _ in range(dims):
        dense = np.tensordot(dense, each, (0, 1))
    share = np.exp(dense - dense.max())
    chosen = rng.choice(share.size, n, p=share.ravel() / share.sum())
    return fine[np.array(np.unravel_index(chosen, share.shape)).T] + width * (rng.random((n, dims)) - 0.5)


def _next_nodes(z: Array, rng: np.random.Generator, dims: int) -> list[Any]:
    """Return the draws for each node: one of those next to a draw, more probably the nearer."""
    grid = np.array(_GRID[dims])
    position = np.interp(z, grid, np.arange(len(grid)))
    chosen = np.floor(position + rng.random(z.shape)).astype(int)
    flat = np.ravel_multi_index(chosen.T, [len(grid)] * dims)
    return [np.flatnonzero(flat == node) for node in range(len(grid) ** dims)]


def _labelled(
    data: xr.DataArray, crossed: Crossed, spreads: Array, values: Array, size: tuple[int, int]
) -> dict[str, xr.DataArray]:
    """Return the variables of the model `items` from spreads (draw, spread) and the other parameters."""
    from bayesperf.models.items import INFORMATION

    system, item = (str(dim) for dim in data.dims[:2])
    ability, difficulty, means = crossed.parts(values)
    location = means[:, :1]
    deviations = {
        "ability": (crossed.attempts.sum(1), ability),
        "difficulty": (crossed.attempts.sum(0), difficulty - means @ crossed.design.T),
    }
    found: dict[str, Any] = {"ability": ((system,), ability), "difficulty": ((item,), difficulty)}
    for spread, (name, (trials, of_each)) in zip(spreads.T[..., None], deviations.items(), strict=False):
        width = np.sqrt(1 + INFORMATION * trials[:-1] * spread**2)
        found[f"{name}_deviation"] = (f"{name}_component",), width / spread * _components(of_each)
    if crossed.place.any():
        found["set_deviation"] = ("set_component",), _components(means[:, 1:]) / spreads[:, 2:]
        found["set_difficulty"] = ("set",), location + means[:, 1:]
    found |= {name: ((), spread) for name, spread in zip(SPREADS, spreads.T, strict=False)} | {
        "location": ((), location)
    }
    return {
        name: xr.DataArray(each.reshape(*size, *[-1] * len(dims)), dims=("chain", "draw", *dims))
        for name, (dims, each) in found.items()
    }


def _components(deviations: Array) -> Array:
    """Return the numbers, one fewer along the last axis, of which `zero_sum` makes deviations."""
    return np.asarray(deviations[..., :-1] - deviations[..., -1:] / (np.sqrt(deviations.shape[-1]) + 1))
