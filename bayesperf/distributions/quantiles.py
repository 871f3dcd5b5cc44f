"""Numerical inversion of distribution functions."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bayesperf.core.arrays import Array


class Invertible(Protocol):
    """A distribution whose distribution function and density can be computed."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Ends of the support, the same for all m."""

    def cdf_logpdf(self, x: Array) -> tuple[Array, Array]:
        """Return the distribution function and the log density at x, (m, n)."""


def invert(distribution: Invertible, q: Array, start: Array, most: int = 200) -> Array:
    """Solve cdf(x) = q by Newton steps kept inside a shrinking bracket, on the log scale if x has no upper bound."""
    unbounded = np.isinf(distribution.bounds[1])
    low, high = (np.full(q.shape, bound) for bound in ((-700.0, 700.0) if unbounded else distribution.bounds))
    v = np.log(np.maximum(start, 1e-300)) if unbounded else start
    for _ in range(most):
        cdf, logpdf = distribution.cdf_logpdf(np.exp(v) if unbounded else v)
        miss = cdf - q
        low, high = np.where(miss < 0, v, low), np.where(miss > 0, v, high)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            step = v - miss / np.exp(logpdf + (v if unbounded else 0))
        near = 1e-15 + 1e-13 * np.abs(v)
        # A step of length zero does not indicate a root if the density is infinite.
        done = (np.abs(step - v) <= near) & (np.abs(miss) <= 1e-12) | (high - low <= near)
        v = np.where(done, v, np.where((step > low) & (step < high), step, (low + high) / 2))
        if done.all():
            break
    return np.exp(v) if unbounded else v


def weighted_quantile(values: Array, weights: Array, q: Array) -> Array:
    """Return approximate quantiles (m, n) of weighted points (m, k), as starting values for `invert`."""
    order = np.argsort(values, axis=-1)
    values, weights = np.take_along_axis(values, order, -1), np.take_along_axis(weights, order, -1)
    below = np.cumsum(weights, -1) - weights / 2
    q = np.broadcast_to(q, (len(values), q.shape[-1]))
    return np.stack([np.interp(q[i], below[i], values[i]) for i in range(len(values))])
