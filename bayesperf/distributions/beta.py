"""Beta distributions, and increasing functions of a Beta-distributed quantity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, Codes, complex_step
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Applied
from bayesperf.distributions.base import TAIL, Distribution
from bayesperf.distributions.quadrature import beta_nodes
from bayesperf.distributions.tabulated import LEAST, MOST, Axis
from bayesperf.metrics.exact_forms import UNCHANGED

# A number whose distance from 1 has lost three of its digits.
_SMALL = 1e-3


def beta_quantile(a: Array, b: Array, q: Any) -> Array:
    """Return quantiles of Beta(a, b).

    SciPy fails if a is just above 1 and q is tiny; there the lower tail of the distribution is a power function.
    """
    x = special.betaincinv(a, b, q)
    if not np.isnan(x).any():
        return np.asarray(x)
    with np.errstate(divide="ignore"):
        log_power = (np.log(q) + np.log(a) + special.betaln(a, b)) / a
    return np.asarray(np.where(np.isnan(x), np.exp(log_power), x))


def beta_above(a: Array, b: Array, x: Array) -> Array:
    """Return P(X > x) for X ~ Beta(a, b), as P(1 − X < 1 − x): SciPy's own function takes ten times as long.

    SciPy's function is used where x is so small that digits would be lost.
    """
    value = special.betainc(b, a, 1 - x)
    small = x < _SMALL
    return np.where(small, special.betaincc(a, b, np.where(small, x, 1)), value) if small.any() else np.asarray(value)


# Logarithms of the smallest and the largest parameter in the search for an interval.
_ENDS = -15.0, 60.0
_ENDS_OF_A = -6.0, 25.0


@dataclass(frozen=True)
class Beta(Distribution):
    """Beta(a, b), both positive."""

    a: Array
    b: Array
    bounds: tuple[float, float] = (0.0, 1.0)
    method: ClassVar[str] = "exact"
    forward: ClassVar[Applied] = UNCHANGED
    inverse: ClassVar[Applied] = UNCHANGED

    @property
    def base(self) -> Beta:
        """The distribution itself, for a common interface with `TransformedBeta`."""
        return self

    def cdf(self, x: Array) -> Array:
        return special.betainc(self.a, self.b, np.clip(x, 0, 1))

    def sf(self, x: Array) -> Array:
        return beta_above(self.a, self.b, np.clip(x, 0, 1))

    def logpdf(self, x: Array) -> Array:
        outside = (x < 0) | (x > 1)
        x = np.clip(x, 0, 1)
        with np.errstate(divide="ignore"):
            value = special.xlogy(self.a - 1, x) + special.xlog1py(self.b - 1, -x) - special.betaln(self.a, self.b)
        return np.where(outside, -np.inf, value) if outside.any() else np.asarray(value)

    def ppf(self, q: Array) -> Array:
        return beta_quantile(self.a, self.b, q)

    def mean_sd(self) -> tuple[Array, Array]:
        a, b = self.a[:, 0], self.b[:, 0]
        mean = a / (a + b)
        return mean, np.sqrt(mean * (b / (a + b)) / (a + b + 1))

    def mode(self) -> Array:
        """Return the modes: in the middle if the density is flat, at 0 if it is equally infinite at 0 and 1."""
        above, below = self.a[:, 0] - 1, self.b[:, 0] - 1
        inside = (above >= 0) & (below >= 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where((above == 0) & (below == 0), 0.5, above / (above + below))
        return np.where(inside, share, np.where(above > below, 1.0, 0.0))

    def skewness(self) -> Array:
        a, b = self.a[:, 0], self.b[:, 0]
        return np.asarray(2 * (b - a) / (a + b + 2) * np.sqrt((a + b + 1) / a / b))

    @cached_property
    def lowest(self) -> Array:
        """The quantile below which the mass is negligible, (m, 1)."""
        return beta_quantile(self.a, self.b, TAIL)

    @cached_property
    def lowest_rest(self) -> Array:
        """The quantile of 1 − X below which the mass is negligible, (m, 1)."""
        return beta_quantile(self.b, self.a, TAIL)

    @cached_property
    def tables(self) -> BetaTables:
        """Tables of the distribution functions."""
        return BetaTables.of(self.a, self.b)

    @cached_property
    def distinct(self) -> tuple[Beta, Codes]:
        """The distinct Betas among them, for what is computed once for equal ones, and the position of each."""
        pairs, rows = np.unique(self.a[:, 0] + 1j * self.b[:, 0], return_inverse=True)
        return Beta(pairs.real[:, None], pairs.imag[:, None]), rows

    def take(self, index: Codes | slice) -> Self:
        part = super().take(index)
        if "distinct" in vars(self):
            # What a subset needs may have been computed.
            betas, rows = self.distinct
            vars(part)["distinct"] = betas, rows[index]
        return part

    def quantiles(self, u: Array, rest: Array) -> tuple[Array, Array]:
        """Return X and 1 − X at lower tail probabilities u and upper tail probabilities rest = 1 − u, (m, n, nodes).

        One inversion, from the smaller tail, is enough unless the inverted variable is nearer 1 than 0: rounding then
        loses digits of its distance from 1.
        """
        a, b = self.a[..., None], self.b[..., None]
        # Below 1e-100 betaincinv fails, and the integrand is negligible.
        u, rest = np.clip(u, 1e-100, 1), np.clip(rest, 1e-100, 1)
        lower = u < 0.5
        first, second = np.where(lower, a, b), np.where(lower, b, a)
        near = beta_quantile(first, second, np.where(lower, u, rest))
        far = 1 - near
        if min(self.a.min(), self.b.min()) < 1:
            # There the density is above 1, and rounding of the other tail does less harm than rounding of the distance.
            density = Beta(first, second).logpdf(near)
            lost = (near > 0.5) & (density > 0)
            far[lost] = beta_quantile(second[lost], first[lost], np.where(lower, rest, u)[lost])
        return np.where(lower, near, far), np.where(lower, far, near)

    def guess(self, q: Array) -> Array:
        """Return quantiles of the logit-normal distribution with the same mean and variance of the logit."""
        location = special.digamma(self.a) - special.digamma(self.b)
        # Infinite for the smallest parameters, whose median is then not a number.
        scale = np.minimum(np.sqrt(special.zeta(2, self.a) + special.zeta(2, self.b)), 1e300)
        return np.clip(special.expit(location + scale * special.ndtri(q)), 1e-15, 1 - 1e-15)

    def factor(self, kind: str) -> tuple[Array, Array]:
        """Return the mean and squared coefficient of variation of X, 1/X or (1 − X)/X, which are inf if they diverge.

        Explicit formulas are used, because differences of log-gamma functions lose digits at large counts.
        """
        a, b = self.a[:, 0], self.b[:, 0]
        if kind == "proportion":
            return a / (a + b), b / (a * (a + b + 1))
        with np.errstate(divide="ignore"):
            mean = (a + b - 1 if kind == "inverse" else b) / (a - 1)
            variation = (b / (a + b - 1) if kind == "inverse" else (a + b - 1) / b) / (a - 2)
        return np.where(a > 1, mean, np.inf), np.where(a > 2, variation, np.inf)

    def factor_skewness(self, kind: str) -> Array:
        """Return the skewness of X, 1/X or (1 − X)/X, inf if it diverges; the last two differ by 1."""
        if kind == "proportion":
            return self.skewness()
        a, b = self.a[:, 0], self.b[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = 2 * (a + 2 * b - 1) / (a - 3) * np.sqrt((a - 2) / (b * (a + b - 1)))
        return np.where(a > 3, value, np.inf)


@dataclass(frozen=True)
class TransformedBeta(Distribution):
    """The distribution of an increasing function of a Beta variable."""

    base: Beta
    forward: Applied
    inverse: Applied
    method: ClassVar[str] = "exact"

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Values of the function at 0 and 1."""
        return float(self.forward(0.0)), float(self.forward(1.0))

    def cdf(self, x: Array) -> Array:
        return self.base.cdf(self.inverse(np.clip(x, *self.bounds)))

    def sf(self, x: Array) -> Array:
        return self.base.sf(self.inverse(np.clip(x, *self.bounds)))

    def logpdf(self, x: Array) -> Array:
        clipped = np.clip(x, *self.bounds)
        value = self.base.logpdf(self.inverse(clipped)) + np.log(complex_step(self.inverse, clipped))
        return np.where(clipped == x, value, -np.inf)

    def ppf(self, q: Array) -> Array:
        return np.asarray(self.forward(self.base.ppf(q)))

    def mean_sd(self) -> tuple[Array, Array]:
        x, _, weights = beta_nodes(self.base.a, self.base.b)
        return weighted_mean_sd(np.asarray(self.forward(x)), weights)

    def skewness(self) -> Array:
        x, _, weights = beta_nodes(self.base.a, self.base.b)
        return weighted_skewness(np.asarray(self.forward(x)), weights)

    def guess(self, q: Array) -> Array:
        return np.asarray(self.forward(self.base.guess(q)))


ExactDistribution = Beta | TransformedBeta


def weighted_mean_sd(values: Array, weights: Array) -> tuple[Array, Array]:
    """Return means and standard deviations of weighted values (m, nodes)."""
    mean = (weights * values).sum(-1)
    return mean, np.sqrt((weights * (values - mean[:, None]) ** 2).sum(-1))


def weighted_skewness(values: Array, weights: Array) -> Array:
    """Return the skewness of weighted values (m, nodes)."""
    mean, sd = weighted_mean_sd(values, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((weights * (values - mean[:, None]) ** 3).sum(-1) / sd**3)


def skewness_of_product(variations: tuple[Array, Array], skewnesses: tuple[Array, Array]) -> Array:
    """Return the skewness of a product of two independent quantities, given their squared coefficients of variation.

    For both quantities divided by their means it is a sum of products of central moments, in which the first ones have
    cancelled. It is inf if either skewness is inf.
    """
    (u, w), (skew_u, skew_w) = variations, skewnesses
    with np.errstate(invalid="ignore"):
        third_u, third_w = skew_u * u**1.5, skew_w * w**1.5
        third = third_u + third_w + third_u * third_w + 6 * u * w + 3 * (u * third_w + w * third_u)
        value = third / (u + w + u * w) ** 1.5
    return np.where(np.isinf(skew_u) | np.isinf(skew_w), np.inf, value)


def beta_of_interval(name: str, lower: float, upper: float, prob: float) -> tuple[float, float]:
    """Return a and b of the Beta with half of 1 − prob below an interval, and half above it.

    There is exactly one: each a has one b that puts the right mass below `lower`, and as a grows, less mass lies above
    `upper`. `name` is that of the quantity with this interval, for errors.
    """
    from scipy.optimize import brentq

    tail = (1 - prob) / 2

    def of_lower(log_a: float) -> float:
        """Return the log b that puts `tail` below the interval."""
        return float(
            brentq(lambda log_b: special.betainc(np.exp(log_a), np.exp(log_b), lower) - tail, *_ENDS, xtol=1e-12)
        )

    def too_much_above(log_a: float) -> float:
        return float(special.betaincc(np.exp(log_a), np.exp(of_lower(log_a)), upper) - tail)

    try:
        log_a = brentq(too_much_above, *_ENDS_OF_A, xtol=1e-12)
    except ValueError:
        raise InputError(
            name, f"no Beta has {prob:g} of its probability between {lower} and {upper}.", "Give a wider interval."
        ) from None
    return float(np.exp(log_a)), float(np.exp(of_lower(log_a)))


# ── Tables of the distribution functions, for integrals that need them at very many points ──


# Number of cells of a table, for which their error is about 1e-10.
_CELLS = 192


class BetaTables(NamedTuple):
    """Distribution functions of m Betas, polynomials of degree 5 in each cell of an axis.

    Looking them up takes a third of the time of `scipy.special.betainc`.
    """

    # The cells: equal steps whose logits are denser near the mode.
    axis: Axis
    # Coefficients of the polynomials in the fraction of the cell, from the constant up.
    coefficients: Array

    @classmethod
    def of(cls, a: Array, b: Array) -> BetaTables:
        """Return the tables of m Betas with parameters (m, 1).

        At the nodes the polynomials have the values, slopes and curvatures of the distribution function. Its
        differences are integrals of the density by the corrected trapezoidal rule with both derivatives.
        """
        axis = Axis.of_beta(a, b, _CELLS + 1)
        v = axis.positions(_CELLS + 1)
        logit, pace = axis.logits(v), axis.pace(v)
        log_density = a * special.log_expit(logit) + b * special.log_expit(-logit)
        density = np.exp(log_density - log_density.max(-1, keepdims=True)) * pace
        x, rest = special.expit(logit), special.expit(-logit)
        excess = a * rest - b * x
        # Derivatives of the log density of v, and of the density, both per step.
        first = (excess * pace + np.tanh(v)) * axis.step
        second = (excess * (logit - axis.centre) - (a + b) * x * rest * pace**2 + np.cosh(v) ** -2) * axis.step**2
        slope, bend = density * first, density * (first**2 + second)
        (f, g), (df, dg), (ddf, ddg) = ((part[:, :-1], part[:, 1:]) for part in (density, slope, bend))
        mass = np.maximum((f + g) / 2 + (df - dg) / 10 + (ddf + ddg) / 120, 0)
        total = mass.sum(-1, keepdims=True)
        below = np.cumsum(mass, -1) - mass
        cubic = 10 * mass - 6 * f - 4 * g - 1.5 * df + 0.5 * dg
        quartic = -15 * mass + 8 * f + 7 * g + 1.5 * df - dg
        quintic = 6 * mass - 3 * (f + g) - (df - dg) / 2
        coefficients = np.stack([below, f, df / 2, cubic, quartic, quintic]) / total
        return cls(axis, coefficients.reshape(6, -1))

    def cdf(self, rows: Codes, x: Array) -> Array:
        """Return the distribution functions of the Betas `rows` (k,) at x (k, n), NaN where x is."""
        axis = self.axis.take(rows)
        # The cell of NaN is any. SciPy's logit takes ten times as long.
        inside = np.fmin(np.fmax(x, LEAST), MOST)
        logit = np.log(inside) - np.log1p(-inside)
        reached = np.clip(axis.reached(logit), 0, _CELLS)
        cell = np.minimum(reached, _CELLS - 1).astype(int)
        part = reached - cell
        cell += rows[:, None] * _CELLS
        value: Array = self.coefficients[5].take(cell)
        for power in (4, 3, 2, 1, 0):
            value *= part
            value += self.coefficients[power].take(cell)
        value[x <= 0], value[x >= 1], value[np.isnan(x)] = 0, 1, np.nan
        return value
