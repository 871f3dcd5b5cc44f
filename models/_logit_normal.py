"""Pairs of binomial counts whose logits are correlated normals over groups: integrals, draws and rates.

The pair is recall and specificity, in this order, on the last axis. With standard normal z₁ and z₂,

    logit recall       =  μ₁ + τ₁ z₁
    logit specificity  =  μ₂ + τ₂ (ρ z₁ + √(1 − ρ²) z₂)

The functions do without PyMC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import expit, gammaln

Array = NDArray[np.float64]
RATES = ["recall", "specificity"]
# Steps of Newton's method, of which a handful are usual, and the smallest that is taken.
_STEPS, _SMALLEST = 60, 1e-4
# Steps of a chain that begins at the normal approximation, and accepts nine of ten.
_MOVES = 12


class Peak(NamedTuple):
    """The mode of the density of (z₁, z₂) given counts, and the Cholesky factor of its precision there."""

    first: Array
    second: Array
    corner: Array
    below: Array
    last: Array

    def at(self, x: Array | float, y: Array | float) -> tuple[Array, Array]:
        """Return the point that lies (x, y) standard deviations from the mode."""
        second = y / self.last
        return self.first + (x - self.below * second) / self.corner, self.second + second


class Pairs(NamedTuple):
    """Counts of pairs, and the parameters of their logits: arrays that broadcast."""

    successes: Array
    trials: Array
    location: Array
    spread: Array
    correlation: Array

    @property
    def _of_second(self) -> tuple[Array, Array]:
        """The weights of z₁ and z₂ in the second logit."""
        spread = self.spread[..., 1]
        return spread * self.correlation, spread * np.sqrt(1 - self.correlation**2)

    def log_density(self, first: Array, second: Array) -> Array:
        """Return the log density of (z₁, z₂) and the counts, up to constants."""
        c, d = self._of_second
        a = self.location[..., 0] + self.spread[..., 0] * first
        b = self.location[..., 1] + c * first + d * second
        of_counts = self.successes[..., 0] * a - self.trials[..., 0] * _softplus(a)
        of_counts = of_counts + self.successes[..., 1] * b - self.trials[..., 1] * _softplus(b)
        return np.asarray(of_counts - (first**2 + second**2) / 2)

    def peak(self) -> Peak:
        """Return the mode and the curvature of the log density of (z₁, z₂), which is concave, by Newton's method."""
        s, (c, d) = self.spread[..., 0], self._of_second
        first = second = 0.0 * (self.location[..., 0] + self.trials[..., 0] + s + c)
        for _ in range(_STEPS):
            p, q = expit(self.location[..., 0] + s * first), expit(self.location[..., 1] + c * first + d * second)
            e, f = self.successes[..., 0] - self.trials[..., 0] * p, self.successes[..., 1] - self.trials[..., 1] * q
            v, w = self.trials[..., 0] * p * (1 - p), self.trials[..., 1] * q * (1 - q)
            slope, other = s * e + c * f - first, d * f - second
            h, k, m = 1 + s**2 * v + c**2 * w, c * d * w, 1 + d**2 * w
            size = h * m - k**2
            move, move_other = (m * slope - k * other) / size, (h * other - k * slope) / size
            # A step is at most one logit: beyond, the curvature says little. In deviations it may be long.
            longest = np.maximum(np.maximum(abs(s * move), abs(c * move + d * move_other)), 1)
            first, second = first + move / longest, second + move_other / longest
            if longest.max() == 1 and max(abs(move).max(), abs(move_other).max()) < _SMALLEST:
                break
        corner = np.sqrt(h)
        return Peak(first, second, corner, k / corner, np.sqrt(m - (k / corner) ** 2))

    def log_likelihood(self, nodes: int = 15) -> Array:
        """Return the log-probability of the counts of each pair, by Gauss–Hermite quadrature about the mode."""
        peak = self.peak()
        highest = self.log_density(peak.first, peak.second)
        points, weights = normal_nodes(nodes)
        total = np.zeros_like(highest)
        for (x, u), (y, w) in product(zip(points, weights, strict=True), repeat=2):
            total += u * w * np.exp(self.log_density(*peak.at(x, y)) - highest + (x**2 + y**2) / 2)
        coefficient = (
            gammaln(self.trials + 1) - gammaln(self.successes + 1) - gammaln(self.trials - self.successes + 1)
        ).sum(-1)
        return np.asarray(highest + np.log(total) - np.log(peak.corner * peak.last) + coefficient)

    def draw(self, rng: np.random.Generator) -> Array:
        """Draw (z₁, z₂) of each pair given its counts, (…, 2).

        Each is the end of a chain of proposals from the normal approximation, widened, which are accepted by
        Metropolis' and Hastings' rule; the chain begins at such a proposal.
        """
        peak, wide = self.peak(), 1.2
        current, density = None, np.array(-np.inf)
        for _ in range(_MOVES):
            x, y = wide * rng.standard_normal((2, *peak.first.shape))
            proposed = np.stack(peak.at(x, y), -1)
            weight = self.log_density(proposed[..., 0], proposed[..., 1]) + (x**2 + y**2) / (2 * wide**2)
            accepted = np.log(rng.random(weight.shape)) < weight - density
            current = proposed if current is None else np.where(accepted[..., None], proposed, current)
            density = np.where(accepted, weight, density)
        assert current is not None
        return current


def normal_nodes(count: int) -> tuple[Array, Array]:
    """Return the nodes and weights of an expectation over a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / weights.sum()


def correlated_second(first: Any, second: Any, correlation: Any) -> Any:
    """Return ρ z₁ + √(1 − ρ²) z₂: of two standard normals, arrays or tensors, the second with a correlation."""
    return correlation * first + (1 - correlation**2) ** 0.5 * second


def correlated(deviation: xr.DataArray, correlation: xr.DataArray) -> xr.DataArray:
    """Return the standardised deviations of recall and specificity, of which the second depends on the first."""
    first, second = (deviation.sel(rate=rate, drop=True) for rate in RATES)
    both = [first, correlated_second(first, second, correlation)]
    pair: xr.DataArray = xr.concat(both, xr.DataArray(RATES, dims="rate", name="rate"))
    return pair


def cells_over_groups(
    parameters: xr.Dataset, labels: Sequence[Any], positive: int, new: xr.DataArray, shift: Any = 0.0
) -> dict[str, xr.DataArray]:
    """Return draws of the ``cells`` of the mean over groups, the median group, each group, and a new group.

    `parameters` has ``location``, ``spread``, ``correlation`` and the groups' ``deviation``; `new` has standard normal
    deviations of a new group, and `shift` is added to the logits of the observed groups.
    """
    location, spread, correlation = (parameters[name] for name in ("location", "spread", "correlation"))
    new = correlated(new, correlation)
    group = location + shift + spread * correlated(parameters["deviation"], correlation)
    rates = {
        "cells": mean_rate(location, spread),
        "cells_median": _expit(location),
        "cells_group": _expit(group),
        "cells_new": _expit(location + spread * new),
    }
    ordered = {name: xr.DataArray(each).transpose(*location.dims[:-1], ..., "rate") for name, each in rates.items()}
    return {name: tables_of_rates(each, labels, positive) for name, each in ordered.items()}


def tables_of_rates(rates: xr.DataArray, labels: Sequence[Any], positive: int) -> xr.DataArray:
    """Return cells (…, actual, predicted) of a recall and a specificity (…, rate); classes are equally common in them.

    The rows are all that two rates determine.
    """
    rows, names = RATES if positive == 0 else RATES[::-1], list(labels)
    right = rates.sel(rate=rows).rename(rate="actual").assign_coords(actual=names)
    same = xr.DataArray(np.eye(2), {"actual": names, "predicted": names}, ["actual", "predicted"])
    table: xr.DataArray = (right * same + (1 - right) * (1 - same)) / 2
    return table.transpose(*rates.dims[:-1], "actual", "predicted")


def mean_rate(location: xr.DataArray, spread: xr.DataArray) -> xr.DataArray:
    """Return the expectation of expit of a normal, by Gauss–Hermite quadrature."""
    nodes, weights = normal_nodes(41)

    def mean(middle: Array, sd: Array) -> Array:
        return np.asarray(sum(w * expit(middle + sd * node) for node, w in zip(nodes, weights, strict=True)))

    rate: xr.DataArray = xr.apply_ufunc(mean, location, spread)
    return rate.rename(None)


def log_likelihood_of_groups(
    counts: tuple[Mapping[str, xr.DataArray], Mapping[str, xr.DataArray]],
    location: xr.DataArray,
    spread: xr.DataArray,
    correlation: xr.DataArray,
    dim: str,
) -> xr.DataArray:
    """Return the log-likelihood (chain, draw, …, group) of the successes and trials of both rates of each group.

    Deviations are unknown if the group is left out, so they are integrated out.
    """
    both = [xr.concat([each[rate] for rate in RATES], xr.DataArray(RATES, dims="rate", name="rate")) for each in counts]
    *arrays, correlation = xr.broadcast(*both, location, spread, correlation)
    dims = ["chain", "draw", *(d for d in both[0].dims if d not in ("rate", dim)), dim]
    k, n, mean, sd, r = (array.transpose(*dims, "rate").values.astype(float) for array in (*arrays, correlation))
    return xr.DataArray(Pairs(k, n, mean, sd, r[..., 0]).log_likelihood(), {dim: both[0][dim].values}, dims)


def _expit(logit: xr.DataArray) -> xr.DataArray:
    return logit.copy(data=expit(logit.values))


def _softplus(x: Array) -> Array:
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-abs(x))))
