"""Distributions of differences and ratios of two quantities.

For two independent Beta variables, or the same increasing function of both, they are integrals over one of the
variables. The same holds for the difference of two systems' proportions of the same examples, which depends only on the
examples that one system gets right and the other wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.core.fields import Applied, Held, applied, by_name
from bayesperf.distributions.base import TAIL
from bayesperf.distributions.beta import Beta, ExactDistribution, skewness_of_product
from bayesperf.distributions.function_of_two_betas import FunctionOfTwoBetas, Panel
from bayesperf.distributions.quadrature import beta_nodes, tanh_sinh
from bayesperf.metrics.exact_forms import LevelSets

# Distance from equality beyond which rounding near 1 is negligible.
_ALIKE = 1e-6
# The share of the discordant examples at which two systems are equal.
_HALF = np.array([[0.5]])


@dataclass(frozen=True)
class IndependentContrast(FunctionOfTwoBetas):
    """The distribution of X − Y or X / Y for independent Betas, or the same increasing function of two Betas."""

    # X and Y.
    first: ExactDistribution
    second: ExactDistribution
    # The same contrast in terms of 1 − X and 1 − Y. Near 1, floating-point numbers are 1e-16 apart, which is too coarse
    # for a Beta with a small second parameter: for two systems without errors, and a weak prior, most mass is there. If
    # both ends have such mass, an error remains: 2e-4 for two Beta(0.09, 0.09).
    mirrored: FunctionOfTwoBetas
    # Value of the contrast if X = Y.
    equal: float

    def oriented(self, function: Callable[[FunctionOfTwoBetas, Array], list[Array]], x: Array) -> list[Array]:
        """Use 1 − X and 1 − Y where X and Y are nearly equal and both may be within rounding error of 1."""
        x = np.broadcast_to(x, (self.size, x.shape[-1]))
        at_one, at_zero = self.inner.b + self.outer.b, self.inner.a + self.outer.a
        alike = (at_one < np.minimum(at_zero, 1)) & (np.abs(x - self.equal) < _ALIKE)
        results = [np.empty(x.shape), np.empty(x.shape)]
        for places, part in ((~alike, self), (alike, self.mirrored)):
            rows = np.flatnonzero(places.any(-1))
            if len(rows):
                values = FunctionOfTwoBetas.oriented(part.take(rows), function, x[rows])
                for result, value in zip(results, values, strict=True):
                    result[rows] = np.where(places[rows], value, result[rows])
        return results


def _off_zero(panel: Panel, size: Array) -> Panel:
    """Move thresholds that cancellation made 0, where densities may be infinite, away by the rounding error."""
    least = np.spacing(np.where(np.isinf(size), 1, size))[..., None]
    return panel._replace(threshold=np.where(np.abs(panel.threshold) < least, least, panel.threshold))


@dataclass(frozen=True)
class Difference(IndependentContrast):
    """The distribution of X − Y."""

    def panel(self, t: Array) -> Panel:
        return _off_zero(super().panel(t), np.abs(t))

    def mean_sd(self) -> tuple[Array, Array]:
        (mean, sd), (second_mean, second_sd) = self.first.mean_sd(), self.second.mean_sd()
        return mean - second_mean, np.hypot(sd, second_sd)

    def skewness(self) -> Array:
        first, second = (side.skewness() * side.mean_sd()[1] ** 3 for side in (self.first, self.second))
        return np.asarray((first - second) / self.mean_sd()[1] ** 3)

    def shortfall(self) -> Array:
        """Integrate P(X < t < Y) over t, split at quantiles of X and Y, where the distribution functions bend."""
        levels = np.array([[TAIL, 0.5, 1 - TAIL]])
        bends = self.first.ppf(levels), self.second.ppf(levels)
        low, high = bends[0][:, :1], np.maximum(bends[1][:, -1:], bends[0][:, :1])
        edges = np.clip(np.sort(np.hstack(bends)), low, high)
        node, _, weight = tanh_sinh(49)
        length = np.diff(edges)[..., None]
        t = (edges[:, :-1, None] + length * node).reshape(len(edges), -1)
        inside = self.first.cdf(t) * self.second.sf(t)
        return np.asarray((inside * (length * weight).reshape(t.shape)).sum(-1))


@dataclass(frozen=True)
class Ratio(IndependentContrast):
    """The distribution of X / Y, both at least 0."""

    def mean_sd(self) -> tuple[Array, Array]:
        """Return the moments, which are inf if the mean of 1/Y, or of its square, diverges."""
        mean, sd = self.first.mean_sd()
        inverse, inverse_variation, _ = _inverse_moments(self.second)
        variation = (sd / mean) ** 2
        mean = mean * inverse
        return mean, mean * np.sqrt(variation + inverse_variation + variation * inverse_variation)

    def skewness(self) -> Array:
        mean, sd = self.first.mean_sd()
        _, inverse_variation, inverse_skewness = _inverse_moments(self.second)
        return skewness_of_product(((sd / mean) ** 2, inverse_variation), (self.first.skewness(), inverse_skewness))


def difference(first: ExactDistribution, second: ExactDistribution) -> Difference:
    """Return the distribution of X − Y."""
    width = first.bounds[1] - first.bounds[0]
    return _independent(Difference, first, second, applied(x_less_y), applied(x_plus_y), (-width, width), 0.0)


def ratio(first: ExactDistribution, second: ExactDistribution) -> Ratio:
    """Return the distribution of X / Y."""
    return _independent(Ratio, first, second, applied(x_over_y), applied(x_times_y), (0.0, np.inf), 1.0)


@by_name
def x_less_y(x: Any, y: Any) -> Any:
    """Return x − y."""
    return x - y


@by_name
def x_plus_y(x: Any, y: Any) -> Any:
    """Return x + y."""
    return x + y


@by_name
def x_over_y(x: Any, y: Any) -> Any:
    """Return x / y."""
    return x / y


@by_name
def x_times_y(x: Any, y: Any) -> Any:
    """Return x · y."""
    return x * y


@dataclass(frozen=True)
class ContrastFunctions(Held):
    """The contrast f(x) ∘ f(y) of two Betas x and y, and its level sets."""

    # f and its inverse.
    forward: Applied
    inverse: Applied
    # The operation and its inverse: subtraction and addition, or division and multiplication.
    apart: Applied
    together: Applied

    @by_name
    def value(self, x: Array, _: Array, y: Array, __: Array) -> Array:
        return np.asarray(self.apart(self.forward(x), self.forward(y)))

    @by_name
    def x_at(self, t: Array, y: Array, _: Array) -> Array:
        return np.asarray(self.inverse(self.together(self.forward(y), t)))

    @by_name
    def y_at(self, t: Array, x: Array, _: Array) -> Array:
        return np.asarray(self.inverse(self.apart(self.forward(x), t)))

    # In terms of 1 − x and 1 − y, computed from the difference of x and y, which is 0 if they are equal, rather than
    # from the distance to 1.

    @by_name
    def mirrored_value(self, _: Array, y: Array, __: Array, x: Array) -> Array:
        return np.asarray(self.apart(self.forward(x), self.forward(y)))

    @by_name
    def rest_y_at(self, t: Array, rest_x: Array, x: Array) -> Array:
        return np.asarray(rest_x - (self.inverse(self.apart(self.forward(x), t)) - self.inverse(self.forward(x))))

    @by_name
    def rest_x_at(self, t: Array, rest_y: Array, y: Array) -> Array:
        return np.asarray(rest_y - (self.inverse(self.together(self.forward(y), t)) - self.inverse(self.forward(y))))


def _independent[T: IndependentContrast](
    kind: type[T],
    first: ExactDistribution,
    second: ExactDistribution,
    apart: Applied,
    together: Applied,
    bounds: tuple[float, float],
    equal: float,
) -> T:
    """Return the distribution of the contrast of X and Y by the operation `apart`, whose inverse is `together`."""
    x, y = first.base, second.base
    contrast = ContrastFunctions(first.forward, first.inverse, apart, together)
    mirrored = FunctionOfTwoBetas(
        Beta(y.b, y.a),
        Beta(x.b, x.a),
        LevelSets(applied(contrast.rest_y_at), applied(contrast.rest_x_at), increasing_outer=False),
        applied(contrast.mirrored_value),
        bounds,
    )
    form = LevelSets(applied(contrast.x_at), applied(contrast.y_at), increasing_outer=False)
    value = applied(contrast.value)
    return kind(x, y, form, value, bounds, first=first, second=second, mirrored=mirrored, equal=equal)


def _inverse_moments(quantity: ExactDistribution) -> tuple[Array, Array, Array]:
    """Return the mean, the squared coefficient of variation and the skewness of 1/Y, which are inf if they diverge.

    A power of the Beta that would diverge is absorbed into its density: x⁻ᵖ Beta(x; a, b) ∝ Beta(x; a − p, b).
    """
    beta = quantity.base
    relative = []
    for order in (1, 2, 3):
        power = order if quantity.bounds[0] == 0 else 0
        finite = beta.a > power
        x, _, weights = beta_nodes(np.where(finite, beta.a - power, 1), beta.b, 513)
        x = np.maximum(x, 1e-150)
        total = (weights * x**power).sum(-1)
        # x/y has a finite limit where both vanish.
        limited = x / np.asarray(quantity.forward(x))
        mean = (weights * x ** (power - 1) * limited).sum(-1) / total
        # Relative to the mean, and times y if the power is absorbed.
        deviation = (limited / mean[:, None] - x) / (1 if power else x)
        central = (weights * deviation**order).sum(-1) / total
        relative.append(np.where(finite[:, 0], mean if order == 1 else central, np.inf))
    mean, variation, third = relative
    with np.errstate(invalid="ignore"):
        return mean, variation, np.where(np.isinf(third), np.inf, third / variation**1.5)


@dataclass(frozen=True)
class Discordant(FunctionOfTwoBetas):
    """The distribution of θ_1 − θ_2 for (θ_1, θ_2, rest) ~ Dirichlet.

    The difference is S(2B − 1), with S = θ_1 + θ_2 independent of B = θ_1/S. Given S it increases with B; given B it
    increases with S only if B > 1/2, so the integral is always over S. Its sign is that of B − 1/2, whatever S is.
    """

    @property
    def nodes(self) -> int:
        # Errors are below 1e-11 for weights of 3 to 500,000, compared with ten times the nodes.
        return 36

    def cdf(self, x: Array) -> Array:
        return self._split_at_zero(super().cdf, self.inner.cdf, x)

    def sf(self, x: Array) -> Array:
        return self._split_at_zero(super().sf, self.inner.sf, x)

    def _split_at_zero(self, integral: Callable[[Array], Array], of_share: Callable[[Array], Array], x: Array) -> Array:
        """Return a tail probability: at 0 the probability that B is on that side of 1/2, elsewhere the integral."""
        x = np.broadcast_to(x, (self.size, x.shape[-1]))
        value, elsewhere = np.repeat(of_share(_HALF), x.shape[-1], 1), (x != 0).any(0)
        if elsewhere.any():
            value[:, elsewhere] = np.where(x[:, elsewhere] == 0, value[:, elsewhere], integral(x[:, elsewhere]))
        return value

    def panel(self, t: Array) -> Panel:
        return _off_zero(super().panel(t), np.ones_like(t))

    def mean_sd(self) -> tuple[Array, Array]:
        first, second = self.inner.a[:, 0], self.inner.b[:, 0]
        total = first + second + self.outer.b[:, 0]
        mean = (first - second) / total
        # The mean of the square is E[θ_1² + θ_2² − 2 θ_1 θ_2] = ((a − b)² + a + b) / (A (A + 1)).
        variance = ((first + second) - (first - second) * mean) / (total * (total + 1))
        return mean, np.sqrt(variance)

    def shortfall(self) -> Array:
        """Return E[S] E[max(1 − 2B, 0)]."""
        a, b, rest = self.inner.a[:, 0], self.inner.b[:, 0], self.outer.b[:, 0]
        plain, size_biased = Beta(a[:, None], b[:, None]), Beta(a[:, None] + 1, b[:, None])
        expected = plain.cdf(_HALF)[:, 0] - 2 * a / (a + b) * size_biased.cdf(_HALF)[:, 0]
        return np.asarray((a + b) / (a + b + rest) * expected)


def discordant(first: Array, second: Array, rest: Array) -> Discordant:
    """Return the distribution of θ_1 − θ_2 for Dirichlet distributions with these weights, (m,) each."""
    first, second, rest = (weight.reshape(-1, 1) for weight in (first, second, rest))
    return Discordant(Beta(first, second), Beta(first + second, rest), *_OF_DISCORDANT, (-1.0, 1.0))


@by_name
def difference_of_discordant(b: Array, _: Array, s: Array, __: Array) -> Array:
    """Return S(2B − 1), the difference of two proportions of the same examples."""
    return s * (2 * b - 1)


@by_name
def split_at(t: Array, s: Array, _: Array) -> Array:
    """Return the B at which S(2B − 1) = t."""
    return (1 + t / s) / 2


@by_name
def discordant_at(t: Array, b: Array, _: Array) -> Array:
    """Return the S at which S(2B − 1) = t; if there is none, a value far outside [0, 1] that preserves the order."""
    beyond = 1e300 * np.where(t > 0, 1 - b, np.where(t < 0, b, b - 0.5))
    with np.errstate(divide="ignore", invalid="ignore"):
        # The sign alone: a product with the smallest t would be 0.
        return np.where(np.sign(t) * (b - 0.5) > 0, t / (2 * b - 1), beyond)


# The level sets of the difference, and the difference itself.
_OF_DISCORDANT = (
    LevelSets(applied(split_at), applied(discordant_at), increasing_outer=None), applied(difference_of_discordant)
)  # fmt: skip
