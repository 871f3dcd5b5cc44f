"""Beta distributions, and increasing functions of a Beta-distributed quantity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, Codes
from bayesperf.core.complex_step import complex_step
from bayesperf.distributions.base import TAIL, Distribution
from bayesperf.distributions.quadrature import beta_nodes


@dataclass(frozen=True)
class Beta(Distribution):
    """Beta(a, b), both positive."""

    a: Array
    b: Array
    bounds: tuple[float, float] = (0.0, 1.0)
    method: ClassVar[str] = "exact"

    @property
    def size(self) -> int:
        return len(self.a)

    def take(self, index: Codes | slice) -> Self:
        return replace(self, a=self.a[index], b=self.b[index])

    @property
    def base(self) -> Beta:
        """The distribution itself, for a common interface with `TransformedBeta`."""
        return self

    @staticmethod
    def forward(x: Any) -> Any:
        """Return the quantity as a function of its Beta variable: the identity."""
        return x

    @staticmethod
    def inverse(t: Any) -> Any:
        """Return the Beta variable as a function of the quantity: the identity."""
        return t

    def cdf(self, x: Array) -> Array:
        return special.betainc(self.a, self.b, np.clip(x, 0, 1))

    def sf(self, x: Array) -> Array:
        return special.betaincc(self.a, self.b, np.clip(x, 0, 1))

    def logpdf(self, x: Array) -> Array:
        outside = (x < 0) | (x > 1)
        x = np.clip(x, 0, 1)
        with np.errstate(divide="ignore"):
            value = special.xlogy(self.a - 1, x) + special.xlog1py(self.b - 1, -x) - special.betaln(self.a, self.b)
        return np.where(outside, -np.inf, value) if outside.any() else np.asarray(value)

    def ppf(self, q: Array) -> Array:
        return special.betaincinv(self.a, self.b, q)

    def mean_sd(self) -> tuple[Array, Array]:
        a, b = self.a[:, 0], self.b[:, 0]
        mean = a / (a + b)
        return mean, np.sqrt(mean * (b / (a + b)) / (a + b + 1))

    @cached_property
    def lowest(self) -> Array:
        """The quantile below which the mass is negligible, (m, 1)."""
        return special.betaincinv(self.a, self.b, TAIL)

    @cached_property
    def lowest_rest(self) -> Array:
        """The quantile of 1 − X below which the mass is negligible, (m, 1)."""
        return special.betaincinv(self.b, self.a, TAIL)

    def quantiles(self, u: Array, rest: Array) -> tuple[Array, Array]:
        """Return X and 1 − X at lower tail probabilities u and upper tail probabilities rest = 1 − u, (m, n, nodes).

        One inversion, from the smaller tail, is sufficient unless there is mass within rounding error of 0 or 1.
        """
        a, b = self.a[..., None], self.b[..., None]
        # Below 1e-100 betaincinv fails, and the integrand is negligible.
        u, rest = np.clip(u, 1e-100, 1), np.clip(rest, 1e-100, 1)
        if min(self.a.min(), self.b.min()) < 1:
            return special.betaincinv(a, b, u), special.betaincinv(b, a, rest)
        lower = u < 0.5
        near = special.betaincinv(np.where(lower, a, b), np.where(lower, b, a), np.where(lower, u, rest))
        return np.where(lower, near, 1 - near), np.where(lower, 1 - near, near)

    def guess(self, q: Array) -> Array:
        """Return quantiles of the logit-normal distribution with the same mean and variance of the logit."""
        location = special.digamma(self.a) - special.digamma(self.b)
        scale = np.sqrt(special.zeta(2, self.a) + special.zeta(2, self.b))
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


@dataclass(frozen=True)
class TransformedBeta(Distribution):
    """The distribution of an increasing function of a Beta variable."""

    base: Beta
    forward: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    method: ClassVar[str] = "exact"

    @property
    def size(self) -> int:
        return self.base.size

    def take(self, index: Codes | slice) -> Self:
        return replace(self, base=self.base.take(index))

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

    def guess(self, q: Array) -> Array:
        return np.asarray(self.forward(self.base.guess(q)))


def weighted_mean_sd(values: Array, weights: Array) -> tuple[Array, Array]:
    """Return means and standard deviations of weighted values (m, nodes)."""
    mean = (weights * values).sum(-1)
    return mean, np.sqrt((weights * (values - mean[:, None]) ** 2).sum(-1))
