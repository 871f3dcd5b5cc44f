"""The Student-t distribution: the posterior of a mean difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayesperf.core.arrays import Array, Codes
from bayesperf.distributions.base import Distribution


@dataclass(frozen=True)
class StudentT(Distribution):
    """The distribution of location + scale · T, where T has df degrees of freedom.

    A scale of 0 puts all mass on the location. The mean is infinite for df ≤ 1, and the standard deviation for df ≤ 2;
    the median and intervals are always finite.
    """

    location: Array
    scale: Array
    df: Array
    bounds: tuple[float, float] = (-np.inf, np.inf)
    method: ClassVar[str] = "student_t"

    @classmethod
    def of(cls, location: ArrayLike, scale: ArrayLike, df: ArrayLike) -> Self:
        """Return one distribution for each element of the parameters, which are arrays of the same shape."""
        location, scale, df = (np.asarray(part, dtype=float).reshape(-1, 1) for part in (location, scale, df))
        return cls(location, scale, df)

    @property
    def size(self) -> int:
        return len(self.location)

    def take(self, index: Codes | slice) -> Self:
        return replace(self, location=self.location[index], scale=self.scale[index], df=self.df[index])

    def cdf(self, x: Array) -> Array:
        z = self._standard(x)
        return np.where(self.scale > 0, np.where(z < 0, self._tail(z), 1 - self._tail(z)), x >= self.location)

    def sf(self, x: Array) -> Array:
        z = self._standard(x)
        return np.where(self.scale > 0, np.where(z > 0, self._tail(z), 1 - self._tail(z)), x < self.location)

    def logpdf(self, x: Array) -> Array:
        half = self.df / 2
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_scale = np.log(self.scale) + 0.5 * np.log(self.df) + special.betaln(half, 0.5)
            value = -log_scale - (half + 0.5) * np.log1p(self._standard(x) ** 2 / self.df)
        return np.where(self.scale > 0, value, np.where(np.isclose(x, self.location), np.inf, -np.inf))

    def ppf(self, q: Array) -> Array:
        """Return quantiles, computed from Beta quantiles of df/(df + T²) or its complement at twice the nearer tail."""
        outer = np.minimum(q, 1 - q) * 2
        rest, middle = special.betaincinv(self.df / 2, 0.5, outer), special.betaincinv(0.5, self.df / 2, 1 - outer)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.where(outer < 0.5, (1 - rest) / rest, middle / (1 - middle))
            away = self.scale * np.sign(q - 0.5) * np.sqrt(self.df * odds)
        return np.asarray(self.location + np.where(self.scale > 0, away, 0))

    guess = ppf

    def hdi(self, prob: float) -> Array:
        """Return the equal-tailed interval, which is the shortest for a symmetric unimodal density."""
        return self.eti(prob)

    def mean_sd(self) -> tuple[Array, Array]:
        location, scale, df = (part[:, 0] for part in (self.location, self.scale, self.df))
        sd = scale * np.sqrt(df / np.where(df > 2, df - 2, 1))
        spread = scale > 0
        return np.where(spread & (df <= 1), np.inf, location), np.where(spread & (df <= 2), np.inf, sd)

    def mode(self) -> Array:
        return self.location[:, 0]

    def skewness(self) -> Array:
        """Return 0, or NaN for df ≤ 3, for which it is undefined, and without spread."""
        return np.where((self.scale > 0) & (self.df > 3), 0.0, np.nan)[:, 0]

    def shortfall(self) -> Array:
        """Return scale · [z F(z) + f(z) (df + z²)/(df − 1)] of T at z = −location/scale, which is inf for df ≤ 1."""
        location, scale, df = (part[:, 0] for part in (self.location, self.scale, self.df))
        zero = np.zeros((self.size, 1))
        below, density = self.cdf(zero)[:, 0], self.pdf(zero)[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            # The variable density is f/scale.
            spread = density * (df * scale**2 + location**2) / (df - 1) - location * below
        return np.where(scale > 0, np.where(df > 1, spread, np.inf), np.maximum(-location, 0))

    def resample(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.location + self.scale * rng.standard_t(self.df, (self.size, n)))

    def _standard(self, x: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((x - self.location) / self.scale)

    def _tail(self, z: Array) -> Array:
        """Return P(T > |z|), from the Beta variable T²/(df + T²) or its complement, whichever is more accurate."""
        with np.errstate(over="ignore", invalid="ignore"):
            square = z**2
            near = special.betaincc(0.5, self.df / 2, square / (self.df + square))
            far = special.betainc(self.df / 2, 0.5, self.df / (self.df + square))
        return np.asarray(0.5 * np.where(square < self.df, near, far))
