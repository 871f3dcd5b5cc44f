"""Numerical rules shared by the one-dimensional posteriors: nodes, inversion, highest-density intervals.

Arrays only. A distribution carries m of its kind at once: parameters have shape ``(m, 1)``, arguments and values
``(m, n)``; the bounds are the same for all m.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesperf.core.arrays import Array

# A Newton step shorter than this share of the interval is the last: what it leaves is its square, or the density's
# rounding error.
_SETTLED = 1e-5


class Continuous(Protocol):
    """What the rules here ask of a distribution."""

    @property
    def bounds(self) -> tuple[float, float]: ...
    def cdf_logpdf(self, x: Array) -> tuple[Array, Array]: ...
    def logpdf(self, x: Array) -> Array: ...
    def ppf(self, q: Array) -> Array: ...
    def take(self, index: NDArray[np.intp]) -> Self: ...
    def guess(self, q: Array) -> Array: ...


@cache
def tanh_sinh(nodes: int = 129, reach: float = 3.5) -> tuple[Array, Array, Array]:
    """Return nodes in (0, 1), their distances from 1, and weights (Takahasi & Mori 1974).

    Converges for integrands with algebraic singularities at either end, which panels cut at a kink have.
    """
    t = np.linspace(-reach, reach, nodes)
    stretched = np.pi * np.sinh(t)
    weights = np.cosh(t) * special.expit(stretched) * special.expit(-stretched)
    return special.expit(stretched), special.expit(-stretched), weights / weights.sum()


def beta_nodes(a: Array, b: Array, nodes: int = 129) -> tuple[Array, Array, Array]:
    """Return nodes x, 1 − x and weights (m, nodes) with E[f(X)] ≈ Σ weights·f(nodes), X ~ Beta(a, b), f smooth.

    The trapezoidal rule for the density of logit X, which falls off exponentially, after a sinh substitution about its
    mode that reaches where it is below 1e-17 of the mode's.
    """
    mode = np.log(a) - np.log(b)
    scale = np.minimum(np.sqrt(1 / a + 1 / b), 1)
    lowest, highest = -np.arcsinh(42 / (a * scale) + 9), np.arcsinh(42 / (b * scale) + 9)
    v = lowest + (highest - lowest) * np.linspace(0, 1, nodes)
    y = mode + scale * np.sinh(v)
    log_x, log_rest = -np.logaddexp(0, -y), -np.logaddexp(0, y)
    log_weight = a * log_x + b * log_rest + np.logaddexp(v, -v)
    weights = np.exp(log_weight - log_weight.max(-1, keepdims=True))
    return np.exp(log_x), np.exp(log_rest), weights / weights.sum(-1, keepdims=True)


def invert(distribution: Continuous, q: Array, start: Array, most: int = 200) -> Array:
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
        # A step of no length is no root where the density is infinite.
        done = (np.abs(step - v) <= near) & (np.abs(miss) <= 1e-12) | (high - low <= near)
        v = np.where(done, v, np.where((step > low) & (step < high), step, (low + high) / 2))
        if done.all():
            break
    return np.exp(v) if unbounded else v


def highest_density(distribution: Continuous, prob: float) -> Array:
    """Return the shortest interval holding `prob`, (m, 2).

    A two-ended Newton iteration for equal density and mass; what it cannot settle (a density that is highest at an
    end, or far from smooth) is decided by comparing densities, and bisected.
    """
    ends, settled = _newton(distribution, distribution.guess(np.array([[(1 - prob) / 2, (1 + prob) / 2]])), prob)
    rest = np.flatnonzero(~settled)
    if len(rest):
        ends[rest] = _decided(distribution.take(rest), prob)
    return ends


def _newton(distribution: Continuous, ends: Array, prob: float, most: int = 12) -> tuple[Array, NDArray[np.bool_]]:
    """Iterate from some ends; return where they went and which settled."""
    ends = ends.copy()
    active = np.arange(len(ends))
    for _ in range(most):
        ends[active], moved = _newton_step(distribution.take(active), ends[active], prob)
        active = active[moved > _SETTLED]
        if not len(active):
            break
    settled = np.ones(len(ends), bool)
    settled[active] = False
    return ends, settled


def _newton_step(distribution: Continuous, ends: Array, prob: float) -> tuple[Array, Array]:
    """Move both ends once; return them and how far they moved, relative to the room they have (inf if clipped).

    On the log scale where there is no upper bound: the lower end may then be a tiny part of the interval.
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


def _decided(distribution: Continuous, prob: float) -> Array:
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
    """Bisect the lower tail mass at which both ends have the same density, until Newton's steps settle."""
    ends = distribution.ppf(np.array([[(1 - prob) / 2, (1 + prob) / 2]]))
    low, high = np.zeros((len(ends), 1)), np.full((len(ends), 1), 1 - prob)
    active = np.arange(len(ends))
    for _ in range(50):
        current = distribution.take(active)
        tail = (low + high) / 2
        quantiles = current.ppf(np.hstack([tail, tail + prob]))
        ends[active], settled = _newton(current, quantiles, prob, most=5)
        density = current.logpdf(quantiles)
        rising = density[:, 1:] > density[:, :1]
        low, high = np.where(rising, tail, low)[~settled], np.where(rising, high, tail)[~settled]
        ends[active[~settled]] = quantiles[~settled]
        active = active[~settled]
        if not len(active):
            break
    return ends


def weighted_quantile(values: Array, weights: Array, q: Array) -> Array:
    """Return rough quantiles (m, n) of weighted points (m, k): a start for `invert`."""
    order = np.argsort(values, axis=-1)
    values, weights = np.take_along_axis(values, order, -1), np.take_along_axis(weights, order, -1)
    below = np.cumsum(weights, -1) - weights / 2
    q = np.broadcast_to(q, (len(values), q.shape[-1]))
    return np.stack([np.interp(q[i], below[i], values[i]) for i in range(len(values))])
