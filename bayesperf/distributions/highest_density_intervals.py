"""Highest-density intervals: the shortest intervals of a given probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesperf.core.arrays import Array, Booleans
from bayesperf.distributions.quantiles import WIDEST, Invertible, invert

if TYPE_CHECKING:
    from bayesperf.distributions.base import Distribution

# A Newton step shorter than this fraction of the interval is the last one: the error it leaves is its square, or the
# rounding error of the density.
_CONVERGED = 1e-5
# Intervals whose widths differ by less than this fraction have the same width.
_SAME = 1e-9
# Fraction of the interval over which the slope of the density is taken, and the factor of it and of the last step for a
# density that may have several peaks, and so bend sharply.
_NUDGE, _FINE = 1e-4, 1e-2
# Number of intervals that are compared to find the shortest one roughly.
_COMPARED = 25
# Range of the search for a shorter interval around the shortest one's tail, relative to the largest tail.
_AROUND = 1 / 6
# The smallest tail of these intervals.
_LEAST = 1e-12


def highest_density(distribution: Distribution, prob: float, start: Array | None = None) -> Array:
    """Return the shortest intervals of probability `prob`, (m, 2).

    Newton's method solves for both ends, with equal densities and the required probability. If it does not converge
    (the density is highest at a bound, or far from smooth), or the density may have several peaks, the shortest of many
    intervals is refined: it ends at a bound if the density is highest there; otherwise bisection finds it. The first
    ends are `start`, (m, 2), if they are approximately known, else the approximate quantiles of equal tails.
    """
    if start is None:
        start = distribution.guess(np.array([[(1 - prob) / 2, (1 + prob) / 2]]))
    ends, found = start.copy(), distribution.one_peak().copy()
    known = np.flatnonzero(found)
    if len(known):
        part = distribution if found.all() else distribution.take(known)
        ends[known], found[known] = newton(part, start[known], prob)
    rest = np.flatnonzero(~found)
    if len(rest):
        ends[rest] = _shortest(distribution.take(rest), prob)
    return ends


def newton(
    distribution: Invertible, ends: Array, prob: float, most: int = 12, finer: float = 1.0
) -> tuple[Array, Booleans]:
    """Iterate from initial ends; return the final ends and which of them converged."""
    ends = ends.copy()
    active, converged = np.arange(len(ends)), np.zeros(len(ends), bool)
    for _ in range(most):
        ends[active], moved, good = _newton_step(distribution, ends[active], prob, finer * _NUDGE)
        # Steps end where the interval is not the shortest, too: further ones would only repeat the last.
        still = moved <= finer * _CONVERGED
        converged[active] = still & good
        left = np.flatnonzero(~still)
        if len(left) == len(active):
            continue
        active = active[left]
        if not len(active):
            break
        distribution = distribution.take(left)
    return ends, converged


def _newton_step(distribution: Invertible, ends: Array, prob: float, nudge: float) -> tuple[Array, Array, Booleans]:
    """Move both ends by one Newton step; return them, their relative movement, and whether it may be the last.

    It may not if the step was clipped, or if the interval is not shorter than those beside it. The movement is relative
    to the interval and to the distances from the bounds. If there is no upper bound, the step is taken on the log
    scale, because the lower end may then be tiny relative to the interval.
    """
    low, high = distribution.bounds
    unbounded = np.isinf(high)
    v = np.log(np.clip(ends, 1 / WIDEST, WIDEST)) if unbounded else ends
    width = v[:, 1] - v[:, 0]
    apart = nudge * width
    near = v[:, [0, 0, 1, 1]] + apart[:, None] * [0, 1, -1, 0]
    cdf, logpdf = distribution.cdf_logpdf(_exp(near) if unbounded else near)
    with np.errstate(all="ignore"):
        rise, fall = (logpdf[:, 1] - logpdf[:, 0]) / apart, (logpdf[:, 3] - logpdf[:, 2]) / apart
        pdf_lower, pdf_upper = np.exp(logpdf[:, [0, 3]]).T * (ends.T if unbounded else 1)
        unequal, excess = logpdf[:, 3] - logpdf[:, 0], cdf[:, 3] - cdf[:, 0] - prob
        determinant = fall * pdf_lower - rise * pdf_upper
        step = np.stack([fall * excess - pdf_upper * unequal, rise * excess - pdf_lower * unequal], -1)
        wanted = v + step / determinant[:, None]
    room = np.stack([width, width] if unbounded else [v[:, 0] - low, high - v[:, 1]], -1)
    middle = v.mean(-1)
    least, greatest = v[:, 0] - 0.9 * room[:, 0], v[:, 1] + 0.9 * room[:, 1]
    new = np.stack([np.minimum(np.maximum(wanted[:, 0], least), middle),
                    np.minimum(np.maximum(wanted[:, 1], middle), greatest)], -1)  # fmt: skip
    finite = np.isfinite(wanted).all(-1)
    good = finite & (determinant < 0) & (new == wanted).all(-1)
    with np.errstate(invalid="ignore", divide="ignore"):  # Ends may have met, at a bound or each other.
        moved = (np.abs(new - v) / np.minimum(room, width[:, None])).max(-1)
    result = _exp(new) if unbounded else new
    return np.where(finite[:, None], result, ends), np.where(finite, moved, np.inf), good


def _exp(v: Array) -> Array:
    return np.exp(np.clip(v, -np.log(WIDEST), np.log(WIDEST)))


def _shortest(distribution: Distribution, prob: float) -> Array:
    """Return the shortest of many intervals, refined."""
    with np.errstate(
        invalid="ignore"
    ):  # Infinite ends would have NaN widths: without an upper bound both may be infinite.
        return _shortest_or_infinite(distribution, prob)


def _shortest_or_infinite(distribution: Distribution, prob: float) -> Array:
    tail, ends = _roughly_shortest(distribution, prob)
    at_bound = np.flatnonzero((tail <= 0) | (tail >= 1 - prob))
    inside = np.ones(len(tail), bool)
    if len(at_bound):
        intervals, lower = _at_bound(distribution.take(at_bound), prob)
        inside[at_bound] = lower
        ends[at_bound[~lower]] = intervals[~lower]
    rest = np.flatnonzero(inside)
    if len(rest):
        ends[rest] = _refined(distribution.take(rest), prob, tail[rest, None], ends[rest])
    return ends


def _roughly_shortest(distribution: Distribution, prob: float) -> tuple[Array, Array]:
    """Compare intervals with interpolated ends; return the tail below the shortest, (m,), and its ends, (m, 2)."""
    logarithmic = np.isinf(distribution.bounds[1])
    share = (1 - np.cos(np.linspace(0, np.pi, _COMPARED))) / 2
    levels = np.hstack([(1 - prob) * share, prob + (1 - prob) * share])
    points = np.sort(distribution.guess(np.clip(levels, _LEAST, 1 - _LEAST)[None, :]), -1)
    points = np.clip(points, 1 / WIDEST, WIDEST) if logarithmic else points
    below = np.maximum.accumulate(distribution.cdf(points), -1)
    tails = np.linspace(0, 1 - prob, 16 * _COMPARED)
    scaled = np.log(points) if logarithmic else points
    lower, upper = (
        np.stack([np.interp(tails + mass, *row) for row in zip(below, scaled, strict=True)]) for mass in (0, prob)
    )
    if logarithmic:
        lower, upper = np.exp(lower), np.exp(upper)
    width = upper - lower
    best = (width <= width.min(-1, keepdims=True) * (1 + _SAME)).argmax(-1)[:, None]
    return tails[best[:, 0]], np.hstack([np.take_along_axis(end, best, -1) for end in (lower, upper)])


def _at_bound(distribution: Distribution, prob: float) -> tuple[Array, Booleans]:
    """Return the intervals that end at a bound, and in which of them the density is not the highest there."""
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
    use_low = higher[:, 0] & ~(higher[:, 1] & (width_high < width_low * (1 - _SAME)))
    intervals = np.where(use_low[:, None], from_low, to_high)
    if flat.any():
        intervals[flat] = distribution.take(np.flatnonzero(flat)).ppf(np.array([[(1 - prob) / 2, (1 + prob) / 2]]))
    return intervals, ~higher.any(-1)


def _refined(distribution: Distribution, prob: float, tail: Array, ends: Array) -> Array:
    """Bisect the tail, near its approximate value, for equal densities at both ends, until Newton's method converges.

    The result is never wider than the central interval, even if a peak is narrower than its rounding error.
    """
    around = (1 - prob) * _AROUND
    tails = np.hstack([np.maximum(tail - around, 0), np.minimum(tail + around, 1 - prob)])
    # The intervals of both tails; tails between them have ends between these ends.
    outer = np.broadcast_to(np.array(distribution.bounds)[:, None], (len(ends), 2, 2)).copy()
    ends, active = ends.copy(), np.arange(len(ends))
    for turn in range(40):
        current = distribution.take(active)
        if turn % 4 == 0:
            refined, converged = newton(current, ends[active], prob, 6, _FINE)
            converged &= np.diff(refined)[:, 0] <= 1.01 * np.diff(ends[active])[:, 0]
            ends[active[converged]] = refined[converged]
            settled = np.ptp(outer, axis=1).max(-1) <= _SAME * np.diff(ends[active])[:, 0]
            rest = ~(converged | settled)
            active, tails, outer = active[rest], tails[rest], outer[rest]
            if not len(active):
                break
            current = distribution.take(active)
        tail = tails.mean(-1, keepdims=True)
        ends[active] = invert(current, np.hstack([tail, tail + prob]), ends[active], (outer[:, 0], outer[:, 1]))
        density = current.logpdf(ends[active])
        side = np.where(density[:, 1] > density[:, 0], 0, 1)
        every = np.arange(len(active))
        tails[every, side], outer[every, side] = tail[:, 0], ends[active]
    central = distribution.ppf(np.array([[(1 - prob) / 2, (1 + prob) / 2]]))
    return np.where(np.diff(central) < np.diff(ends), central, ends)
