"""Highest-density intervals: the shortest intervals of a given probability."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from bayesperf.core.arrays import Array, Booleans, Codes

# A Newton step shorter than this fraction of the interval is the last one: the error it leaves is its square, or the
# rounding error of the density.
_CONVERGED = 1e-5


class Continuous(Protocol):
    """Protocol of the m distributions with common bounds for which intervals are computed."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Ends of the support, the same for all m."""

    def cdf_logpdf(self, x: Array) -> tuple[Array, Array]:
        """Return the distribution function and the log density at x, (m, n)."""

    def logpdf(self, x: Array) -> Array:
        """Return the log density at x, (m, n)."""

    def ppf(self, q: Array) -> Array:
        """Return quantiles, (m, n)."""

    def guess(self, q: Array) -> Array:
        """Return approximate quantiles strictly inside the bounds, (m, n)."""

    def take(self, index: Codes) -> Self:
        """Return a subset of the m distributions."""


def highest_density(distribution: Continuous, prob: float) -> Array:
    """Return the shortest intervals of probability `prob`, (m, 2).

    Newton's method solves for both ends, with equal densities and the required probability. If it does not converge
    (the density is highest at a bound, or far from smooth), densities are compared to decide whether the interval ends
    at a bound or is found by bisection.
    """
    ends, converged = _newton(distribution, distribution.guess(np.array([[(1 - prob) / 2, (1 + prob) / 2]])), prob)
    rest = np.flatnonzero(~converged)
    if len(rest):
        ends[rest] = _at_bound_or_inside(distribution.take(rest), prob)
    return ends


def _newton(distribution: Continuous, ends: Array, prob: float, most: int = 12) -> tuple[Array, Booleans]:
    """Iterate from initial ends; return the final ends and which of them converged."""
    ends = ends.copy()
    active = np.arange(len(ends))
    for _ in range(most):
        ends[active], moved = _newton_step(distribution.take(active), ends[active], prob)
        active = active[moved > _CONVERGED]
        if not len(active):
            break
    converged = np.ones(len(ends), bool)
    converged[active] = False
    return ends, converged


def _newton_step(distribution: Continuous, ends: Array, prob: float) -> tuple[Array, Array]:
    """Move both ends by one Newton step; return them and their relative movement (inf if the step was clipped).

    The movement is relative to the interval and to the distances from the bounds. If there is no upper bound, the step
    is taken on the log scale, because the lower end may then be tiny relative to the interval.
    """
    low, high = distribution.bounds
    unbounded = np.isinf(high)
    v = np.log(ends) if unbounded else ends
    width = v[:, 1] - v[:, 0]
    nudge = 1e-4 * width
    near = np.stack([v[:, 0], v[:, 0] + nudge, v[:, 1] - nudge, v[:, 1]], -1)
    cdf, logpdf = distribution.cdf_logpdf(np.exp(near) if unbounded else near)
    with np.errstate(all="ignore"):
        rise, fall = (logpdf[:, 1] - logpdf[:, 0]) / nudge, (logpdf[:, 3] - logpdf[:, 2]) / nudge
        pdf_lower, pdf_upper = np.exp(logpdf[:, [0, 3]]).T * (ends.T if unbounded else 1)
        unequal, excess = logpdf[:, 3] - logpdf[:, 0], cdf[:, 3] - cdf[:, 0] - prob
        determinant = fall * pdf_lower - rise * pdf_upper
        step = np.stack([fall * excess - pdf_upper * unequal, rise * excess - pdf_lower * unequal], -1)
        wanted = v + step / determinant[:, None]
    room = np.stack([width, width] if unbounded else [v[:, 0] - low, high - v[:, 1]], -1)
    middle = v.mean(-1)
    new = np.stack([np.clip(wanted[:, 0], v[:, 0] - 0.9 * room[:, 0], middle),
                    np.clip(wanted[:, 1], middle, v[:, 1] + 0.9 * room[:, 1])], -1)  # fmt: skip
    finite = np.isfinite(wanted).all(-1)
    good = finite & (rise > 0) & (fall < 0) & (new == wanted).all(-1)
    moved = (np.abs(new - v) / np.minimum(room, width[:, None])).max(-1)
    result = np.exp(new) if unbounded else new
    return np.where(finite[:, None], result, ends), np.where(good, moved, np.inf)


def _at_bound_or_inside(distribution: Continuous, prob: float) -> Array:
    """Return the intervals by comparing the density just inside the bounds with that at the other end."""
    low, high = distribution.bounds
    quantiles = distribution.ppf(np.array([[1 - prob, prob]]))
    from_low, to_high = quantiles.copy(), quantiles.copy()
    from_low[:, 0], to_high[:, 1] = low, high
    reach = (quantiles[:, 1] if np.isinf(high) else high) - low
    top = 1e12 * reach if np.isinf(high) else high - 1e-12 * reach
    inside = np.stack(np.broadcast_arrays(low + 1e-12 * reach, top, quantiles[:, 0])[:2], -1)
    at_bound, at_quantile = distribution.logpdf(inside), distribution.logpdf(quantiles)[:, ::-1]
    higher = at_bound >= at_quantile
    flat = np.isclose(at_bound, at_quantile, rtol=0, atol=1e-9).all(-1)
    width_low, width_high = np.diff(from_low)[:, 0], np.diff(to_high)[:, 0]
    use_low = higher[:, 0] & ~(higher[:, 1] & (width_high < width_low * (1 - 1e-9)))
    intervals = np.where(use_low[:, None], from_low, to_high)
    if flat.any():
        intervals[flat] = distribution.take(np.flatnonzero(flat)).ppf(np.array([[(1 - prob) / 2, (1 + prob) / 2]]))
    inner = np.flatnonzero(~higher.any(-1))
    if len(inner):
        intervals[inner] = _bisected(distribution.take(inner), prob)
    return intervals


def _bisected(distribution: Continuous, prob: float) -> Array:
    """Bisect the lower tail probability for equal densities at both ends, until Newton's method converges."""
    ends = distribution.ppf(np.array([[(1 - prob) / 2, (1 + prob) / 2]]))
    low, high = np.zeros((len(ends), 1)), np.full((len(ends), 1), 1 - prob)
    active = np.arange(len(ends))
    for _ in range(50):
        current = distribution.take(active)
        tail = (low + high) / 2
        quantiles = current.ppf(np.hstack([tail, tail + prob]))
        ends[active], converged = _newton(current, quantiles, prob, most=5)
        density = current.logpdf(quantiles)
        rising = density[:, 1:] > density[:, :1]
        low, high = np.where(rising, tail, low)[~converged], np.where(rising, high, tail)[~converged]
        ends[active[~converged]] = quantiles[~converged]
        active = active[~converged]
        if not len(active):
            break
    return ends
