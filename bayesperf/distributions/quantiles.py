"""Numerical inversion of distribution functions."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from bayesperf.core.arrays import Array, Codes

# The largest quantile in the search without an upper bound, and the reciprocal of the smallest.
WIDEST = 1e300
# A Newton step this short, or its relative length, is the last one.
_SHORT, _RELATIVE = 1e-15, 1e-13
# So is the one after an error that is smaller, relative to the tail: the next is about its square.
_CLOSE = 1e-8


class Invertible(Protocol):
    """A distribution whose distribution function and density can be computed."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Ends of the support, the same for all m."""

    def cdf_logpdf(self, x: Array) -> tuple[Array, Array]:
        """Return the distribution function and the log density at x, (m, n)."""

    def take(self, index: Codes) -> Self:
        """Return a subset of the m distributions."""


def invert(
    distribution: Invertible, q: Array, start: Array, within: tuple[Array, Array] | None = None, most: int = 200
) -> Array:
    """Solve cdf(x) = q for probabilities q (m, n), by Newton steps kept inside a shrinking bracket.

    The first bracket is `within`, two arrays (m, n), if given, else the bounds of the distribution. Steps are taken on
    the log scale if x has no upper bound. If they do not halve the error, the bracket is split in the middle of the
    interval or, every third time, in the middle of the floating-point numbers in it. There are fewer than 2⁶⁴ of them,
    so the method also inverts distribution functions that rise over hundreds of orders of magnitude, or jump from one
    number to the next: the result is then the smallest number at which the function reaches q. Quantiles increase with
    q.
    """
    unbounded = np.isinf(distribution.bounds[1])
    low, high = (np.array(np.broadcast_to(end, q.shape)) for end in within or distribution.bounds)
    if unbounded:
        low, high = np.maximum(low, 1 / WIDEST), np.minimum(high, WIDEST)
    x, worst = np.clip(start, low, high), np.full(q.shape, np.inf)
    active = np.arange(len(q))
    for turn in range(most):
        at, wanted = x[active], q[active]
        cdf, logpdf = distribution.cdf_logpdf(at)
        miss = cdf - wanted
        least, greatest = np.where(miss < 0, at, low[active]), np.where(miss >= 0, at, high[active])
        with np.errstate(all="ignore"):
            slope = np.exp(logpdf)
            step = at * np.exp(-miss / (slope * at)) if unbounded else at - miss / slope
        near = np.abs(step - at) <= (0 if unbounded else _SHORT) + _RELATIVE * np.abs(at)
        halved = 2 * np.abs(miss) <= worst[active]
        # A step of length zero does not indicate a root if the density is infinite; an error this small that does not
        # become smaller is the distribution function's own.
        found = np.abs(miss) <= np.where(near, 1e-10, np.where(halved, 0, 1e-7))
        adjacent = np.nextafter(least, greatest) >= greatest
        newton = (step > least) & (step < greatest) & halved
        split = np.where(newton, step, _between(least, greatest, turn % 3 > 0))
        x[active] = np.where(found, at, np.where(adjacent, greatest, split))
        low[active], high[active], worst[active] = least, greatest, np.abs(miss)
        found |= newton & (np.abs(miss) <= _CLOSE * np.minimum(wanted, 1 - wanted))
        left = np.flatnonzero(~(found | adjacent).all(-1))
        if len(left) == len(active):
            continue
        active = active[left]
        if not len(active):
            break
        distribution = distribution.take(left)
    if unbounded:
        x = np.where(x >= WIDEST * (1 - _RELATIVE), np.inf, x)
    return _in_order(x, q)


def _between(low: Array, high: Array, of_interval: bool) -> Array:
    """Return the middle of an interval, or the number that halves the floating-point numbers in it."""
    if of_interval:
        return np.asarray(low + (high - low) / 2)
    ranks = [
        bits ^ ((bits >> 63) & np.int64(2**63 - 1)) for bits in ((end + 0.0).view(np.int64) for end in (low, high))
    ]
    middle = (ranks[0] >> 1) + (ranks[1] >> 1)
    return np.asarray((middle ^ ((middle >> 63) & np.int64(2**63 - 1))).view(float))


def _in_order(x: Array, q: Array) -> Array:
    """Return quantiles in increasing order, which errors of the distribution function may have broken."""
    order = np.argsort(q, axis=-1, kind="stable")
    ordered = np.maximum.accumulate(np.take_along_axis(x, order, -1), -1)
    return np.take_along_axis(ordered, np.argsort(order, axis=-1, kind="stable"), -1)


def weighted_quantile(values: Array, weights: Array, q: Array) -> Array:
    """Return approximate quantiles (m, n) of weighted points (m, k), as starting values for `invert`."""
    order = np.argsort(values, axis=-1)
    values, weights = np.take_along_axis(values, order, -1), np.take_along_axis(weights, order, -1)
    below = np.cumsum(weights, -1) - weights / 2
    q = np.broadcast_to(q, (len(values), q.shape[-1]))
    return np.stack([np.interp(q[i], below[i], values[i]) for i in range(len(values))])
