"""Differences and ratios of two quantities, with the verbs of `bayesperf._distributions`.

Of two independent shares, or the same increasing function of both, they are integrals over one of them. So is the
difference of two systems' shares among the same examples, to which only those count that one system gets right and the
other wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, singledispatch
from typing import Any

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.core.derivatives import complex_step
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.quadrature import beta_nodes, tanh_sinh
from bayesperf.distributions.two_betas import Beta, Distribution, FunctionOfTwoBetas, Panel, TransformedBeta
from bayesperf.metrics.exact_forms import LevelSets

Exact = Beta | TransformedBeta
Operation = Callable[[Any, Any], Any]
# Mass that an integral over a distribution function may leave to its end.
_TAIL = 1e-13
# Differences from equality beyond which rounding near 1 no longer counts.
_ALIKE = 1e-6
# Least parameter of Betas whose product has no kink, or end that is not smooth, to speak of.
_SMOOTH = 5.0


@dataclass(frozen=True)
class IndependentContrast(FunctionOfTwoBetas):
    """X − Y or X / Y of independent quantities of one metric: shares, or the same increasing function of both.

    Attributes
    ----------
    first, second : Beta or Transformed
        X and Y.
    mirrored : Mixture
        The same, in terms of 1 less either share. Near 1 numbers are 1e-16 apart, which is coarse for a Beta whose
        second parameter is small: of two systems without an error, and little prior, all that differs is there. Where
        both ends have such mass an error is left, 2e-4 for two of Beta(0.09, 0.09).
    equal : float
        Its value where X = Y.
    """

    first: Exact
    second: Exact
    mirrored: FunctionOfTwoBetas
    equal: float

    def _oriented(self, function: Callable[[FunctionOfTwoBetas, Array], list[Array]], x: Array) -> list[Array]:
        """Where X and Y are nearly equal, and both may be within rounding of 1, take 1 less either."""
        x = np.broadcast_to(x, (self.size, x.shape[-1]))
        at_one, at_zero = self.inner.b + self.outer.b, self.inner.a + self.outer.a
        alike = (at_one < np.minimum(at_zero, 1)) & (np.abs(x - self.equal) < _ALIKE)
        results = [np.empty(x.shape), np.empty(x.shape)]
        for chosen, part in ((~alike, self), (alike, self.mirrored)):
            rows = np.flatnonzero(chosen.any(-1))
            if len(rows):
                values = FunctionOfTwoBetas._oriented(part.take(rows), function, x[rows])
                for result, value in zip(results, values, strict=True):
                    result[rows] = np.where(chosen[rows], value, result[rows])
        return results

    def _panel(self, t: Array) -> Panel:
        """Integrate over the outer share itself where its density is finite: that takes no quantiles of it."""
        outer, inner = (min(share.a.min(), share.b.min()) for share in (self.outer, self.inner))
        if outer < 1:
            return super()._panel(t)
        assert self.form.outer_at is not None
        tail = np.array([[_TAIL]])
        t = np.where(np.isinf(t), self.equal, t)
        at_ends = [self.form.outer_at(t, end, 1 - end) for end in (self.inner.ppf(tail), self.inner.isf(tail))]
        bounds = self.outer.ppf(tail), self.outer.isf(tail)
        first, last = (np.clip(end(*at_ends), *bounds) for end in (np.minimum, np.maximum))
        node, rest_node, weight = _gauss_legendre() if min(inner, outer) >= _SMOOTH else tanh_sinh()
        length = (last - first)[..., None]
        w, rest = first[..., None] + length * node, (1 - last)[..., None] + length * rest_node
        before, after = self.outer.cdf(first), self.outer.sf(last)
        weights = weight * np.exp(Beta(self.outer.a[..., None], self.outer.b[..., None]).logpdf(w))
        # Of the mass between, not by the density's own norm, which at large counts loses digits.
        weights *= ((1 - before - after) / np.maximum(weights.sum(-1), 1e-300))[..., None]
        threshold = self.form.inner_at(t[..., None], w, rest)
        slope = np.abs(complex_step(lambda z: self.form.inner_at(z, w, rest), t[..., None]))
        rising = at_ends[1] > at_ends[0]
        return Panel(threshold, slope, weights, before, after, rising)


def _off_zero(panel: Panel, size: Array) -> Panel:
    """Move thresholds that cancel to 0, where densities may be infinite, as far away as what cancels is rounded."""
    least = np.spacing(np.where(np.isinf(size), 1, size))[..., None]
    return panel._replace(threshold=np.where(np.abs(panel.threshold) < least, least, panel.threshold))


@dataclass(frozen=True)
class Difference(IndependentContrast):
    """X − Y."""

    def _panel(self, t: Array) -> Panel:
        return _off_zero(super()._panel(t), np.abs(t))

    def mean_sd(self) -> tuple[Array, Array]:
        (mean, sd), (second_mean, second_sd) = self.first.mean_sd(), self.second.mean_sd()
        return mean - second_mean, np.hypot(sd, second_sd)


@dataclass(frozen=True)
class Ratio(IndependentContrast):
    """X / Y, both at least 0."""

    def mean_sd(self) -> tuple[Array, Array]:
        """Return the moments, inf where the mean, or the square, of 1/Y diverges."""
        mean, sd = self.first.mean_sd()
        inverse, inverse_variation = _inverse_moments(self.second)
        variation = (sd / mean) ** 2
        mean = mean * inverse
        return mean, mean * np.sqrt(variation + inverse_variation + variation * inverse_variation)


def difference(first: Exact, second: Exact) -> Difference:
    """Return X − Y."""
    width = first.bounds[1] - first.bounds[0]
    return _independent(Difference, first, second, operator.sub, operator.add, (-width, width), 0.0)


def ratio(first: Exact, second: Exact) -> Ratio:
    """Return X / Y."""
    return _independent(Ratio, first, second, operator.truediv, operator.mul, (0.0, np.inf), 1.0)


@cache
def _gauss_legendre(nodes: int = 48) -> tuple[Array, Array, Array]:
    """Return nodes in (0, 1), their distances from 1, and weights, for integrands smooth up to the ends."""
    x, weights = np.polynomial.legendre.leggauss(nodes)
    return (1 + x) / 2, (1 - x) / 2, weights / 2


def _independent[T: IndependentContrast](
    kind: type[T],
    first: Exact,
    second: Exact,
    apart: Operation,
    together: Operation,
    bounds: tuple[float, float],
    equal: float,
) -> T:
    """Return X apart from Y; `together` undoes it."""
    (x, forward, inverse), (y, _, _) = _parts(first), _parts(second)

    def share(operation: Operation) -> Callable[[Array, Array, Array], Array]:
        return lambda t, other, _: np.asarray(inverse(operation(forward(other), t)))

    def complement(operation: Operation) -> Callable[[Array, Array, Array], Array]:
        # By the step from the other, which is none between equals, and not by its distance from 1.
        def at(t: Array, other: Array, rest: Array) -> Array:
            return np.asarray(other - (inverse(operation(forward(rest), t)) - inverse(forward(rest))))

        return at

    mirrored = FunctionOfTwoBetas(
        Beta(y.b, y.a),
        Beta(x.b, x.a),
        LevelSets(complement(apart), complement(together), increasing_outer=False),
        lambda _, y, __, x: apart(forward(x), forward(y)),
        bounds,
    )
    surface = LevelSets(share(together), share(apart), increasing_outer=False)
    return kind(
        x, y, surface, lambda x, _, y, __: apart(forward(x), forward(y)), bounds, first, second, mirrored, equal
    )  # fmt: skip


def _parts(quantity: Exact) -> tuple[Beta, Callable[[Any], Any], Callable[[Any], Any]]:
    """Return the share that a quantity is a function of, the function and its inverse."""
    if isinstance(quantity, TransformedBeta):
        return quantity.base, quantity.forward, quantity.inverse
    return quantity, lambda x: x, lambda t: t


def _inverse_moments(quantity: Exact) -> tuple[Array, Array]:
    """Return the mean and the squared coefficient of variation of 1/Y, inf where they diverge.

    A power of the share that would diverge is taken into its Beta: x⁻ᵖ Beta(x; a, b) ∝ Beta(x; a − p, b).
    """
    share, forward, _ = _parts(quantity)
    diverges = quantity.bounds[0] == 0
    found = []
    for power in (1, 2) if diverges else (0, 0):
        finite = share.a > power
        x, _, weights = beta_nodes(np.where(finite, share.a - power, 1), share.b, 513)
        x = np.maximum(x, 1e-150)
        total = (weights * x**power).sum(-1)
        # x/y has a limit where both vanish.
        limited = x / np.asarray(forward(x))
        mean = (weights * x ** (power - 1) * limited).sum(-1) / total
        square = (weights * x ** (power - 2) * (limited - mean[:, None] * x) ** 2).sum(-1) / total
        found.append(np.where(finite[:, 0], (mean, square / mean**2), np.inf))
    return found[0][0], found[1][1]


@dataclass(frozen=True)
class Discordant(FunctionOfTwoBetas):
    """θ_1 − θ_2 of (θ_1, θ_2, rest) ~ Dirichlet: S(2B − 1), with S = θ_1 + θ_2 ⟂ B = θ_1/S.

    Given S it grows with B; given B it grows with S only where B > 1/2, so the integral is always over S.
    """

    def _panel(self, t: Array) -> Panel:
        return _off_zero(super()._panel(t), np.ones_like(t))

    def mean_sd(self) -> tuple[Array, Array]:
        first, second = self.inner.a[:, 0], self.inner.b[:, 0]
        total = first + second + self.outer.b[:, 0]
        mean = (first - second) / total
        # Of the square, E[θ_1² + θ_2² − 2 θ_1 θ_2] = ((a − b)² + a + b) / (A (A + 1)).
        variance = ((first + second) - (first - second) * mean) / (total * (total + 1))
        return mean, np.sqrt(variance)


def discordant(first: Array, second: Array, rest: Array) -> Discordant:
    """Return θ_1 − θ_2 of Dirichlets of these weights, (m,) each."""
    first, second, rest = (weight.reshape(-1, 1) for weight in (first, second, rest))

    def share_of_discordant(t: Array, x: Array, _: Array) -> Array:
        # Where no share will do, one out of reach, in the order in which the others are.
        beyond = 1e300 * np.where(t > 0, 1 - x, np.where(t < 0, x, x - 0.5))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(t * (x - 0.5) > 0, t / (2 * x - 1), beyond)

    surface = LevelSets(lambda t, w, _: (1 + t / w) / 2, share_of_discordant, increasing_outer=None)
    return Discordant(
        Beta(first, second), Beta(first + second, rest), surface, lambda x, _, w, __: w * (2 * x - 1), (-1.0, 1.0)
    )  # fmt: skip


@singledispatch
def shortfall(distribution: Distribution) -> Array:
    """Return E[max(−D, 0)], (m,)."""
    raise NotImplementedError(type(distribution).__name__)


@shortfall.register
def _(distribution: Difference) -> Array:
    """Integrate P(X < t < Y) over t, between the quantiles of both: there the distribution functions bend."""
    first, second = distribution.first, distribution.second
    levels = np.array([[_TAIL, 0.5, 1 - _TAIL]])
    bends = first.ppf(levels), second.ppf(levels)
    low, high = bends[0][:, :1], np.maximum(bends[1][:, -1:], bends[0][:, :1])
    edges = np.clip(np.sort(np.hstack(bends)), low, high)
    node, _, weight = tanh_sinh(49)
    length = np.diff(edges)[..., None]
    t = (edges[:, :-1, None] + length * node).reshape(len(edges), -1)
    inside = first.cdf(t) * second.sf(t)
    return np.asarray((inside * (length * weight).reshape(t.shape)).sum(-1))


@shortfall.register
def _(distribution: Discordant) -> Array:
    """Return E[S] E[max(1 − 2B, 0)]."""
    a, b, rest = distribution.inner.a[:, 0], distribution.inner.b[:, 0], distribution.outer.b[:, 0]
    fewer, heavier = Beta(a[:, None], b[:, None]), Beta(a[:, None] + 1, b[:, None])
    half = np.array([[0.5]])
    short = fewer.cdf(half)[:, 0] - 2 * a / (a + b) * heavier.cdf(half)[:, 0]
    return np.asarray((a + b) / (a + b + rest) * short)


@shortfall.register
def _(distribution: Draws) -> Array:
    return np.asarray(np.nanmean(np.maximum(-distribution.values, 0), (-2, -1)))
