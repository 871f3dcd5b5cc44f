"""Normal approximations, on the scale of the metric or of its log-odds, and Student's t."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayesperf.core.arrays import Array, Codes
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.beta import weighted_skewness

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(101)
# Variances of differences up to this, relative to the sum of both variances, are rounding errors.
_NEGLIGIBLE = 1e-14


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal(location, scale); a scale of 0 puts all mass on the location.

    Mass beyond the bounds is placed at the bounds, so intervals are clipped; the density, mean and standard deviation
    belong to the normal distribution without bounds.
    """

    location: Array
    scale: Array
    bounds: tuple[float, float] = (-np.inf, np.inf)
    method: ClassVar[str] = "normal"

    def cdf(self, x: Array) -> Array:
        inside = np.where(self.scale > 0, special.ndtr(self._standard(x)), x >= self.location)
        return np.where(x < self.bounds[0], 0, np.where(x >= self.bounds[1], 1, inside))

    def sf(self, x: Array) -> Array:
        inside = np.where(self.scale > 0, special.ndtr(-self._standard(x)), x < self.location)
        return np.where(x < self.bounds[0], 1, np.where(x >= self.bounds[1], 0, inside))

    def logpdf(self, x: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = -(self._standard(x) ** 2) / 2 - np.log(self.scale * np.sqrt(2 * np.pi))
        value = np.where(self.scale > 0, value, np.where(x == self.location, np.inf, -np.inf))
        return np.where((x < self.bounds[0]) | (x > self.bounds[1]), -np.inf, value)

    def ppf(self, q: Array) -> Array:
        with np.errstate(invalid="ignore"):
            value = np.where(self.scale > 0, self.location + self.scale * special.ndtri(q), self.location)
        return np.clip(value, *self.bounds)

    guess = ppf

    def hdi(self, prob: float) -> Array:
        """Return the equal-tailed interval, which is the shortest for a symmetric unimodal density."""
        return self.eti(prob)

    def mean_sd(self) -> tuple[Array, Array]:
        return self.location[:, 0], self.scale[:, 0]

    def mode(self) -> Array:
        return np.clip(self.location[:, 0], *self.bounds)

    def skewness(self) -> Array:
        return np.where(self.scale[:, 0] > 0, 0.0, np.nan)

    def shortfall(self) -> Array:
        """Return scale · φ(z) − location · Φ(−z) with z = location/scale, for the normal without bounds."""
        location, scale = self.mean_sd()
        with np.errstate(divide="ignore", invalid="ignore"):
            z = location / scale
            below = scale * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) - location * special.ndtr(-z)
        return np.where(scale > 0, below, np.maximum(-location, 0))

    def _standard(self, x: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray((x - self.location) / self.scale)


def difference(first: Normal, second: Normal) -> Normal:
    """Return the distribution of X − Y for independent X and Y."""
    (low, high), (least, greatest) = first.bounds, second.bounds
    scale = np.hypot(first.scale, second.scale)
    return Normal(first.location - second.location, scale, (low - greatest, high - least))


@dataclass(frozen=True)
class JointNormal(Normal):
    """Normal distributions that are jointly normal.

    Draws are not clipped to the bounds, so that their differences are distributed as `difference` says.
    """

    # Covariances of all the distributions, (m, m).
    covariance: Array = field(kw_only=True)

    @classmethod
    def of(cls, mean: Array, covariance: Array, bounds: tuple[float, float]) -> Self:
        """Return the distributions with means (m,) and covariances (m, m)."""
        scale = np.sqrt(np.diagonal(covariance).clip(0))
        return cls(mean[:, None], scale[:, None], bounds, covariance=covariance)

    def take(self, index: Codes | slice) -> Self:
        return replace(super().take(index), covariance=self.covariance[index][:, index])

    def resample(self, n: int, rng: np.random.Generator) -> Array:
        """Return n joint draws, (m, n)."""
        return rng.multivariate_normal(self.location[:, 0], self.covariance, n).T

    def contrast(
        self, what: str, operation: Any, bounds: tuple[float, float], rows: tuple[Codes, Codes]
    ) -> Normal | None:
        if what != "difference":
            return None
        first, second = rows
        variances = np.diagonal(self.covariance)
        sums = variances[first] + variances[second]
        left = sums - 2 * self.covariance[first, second]
        # Rows that are alike differ by 0 for certain: what is left of their variances is a rounding error.
        scale = np.sqrt(np.where(left > _NEGLIGIBLE * sums, left, 0))
        width = self.bounds[1] - self.bounds[0]
        return Normal(self.location[first] - self.location[second], scale[:, None], (-width, width))


@dataclass(frozen=True)
class LogitNormal(Distribution):
    """A quantity in (0, 1) whose log-odds are Normal(location, scale), scale > 0."""

    location: Array
    scale: Array
    bounds: tuple[float, float] = (0.0, 1.0)
    method: ClassVar[str] = "normal"

    def cdf(self, x: Array) -> Array:
        return self._log_odds.cdf(special.logit(np.clip(x, 0, 1)))

    def sf(self, x: Array) -> Array:
        return self._log_odds.sf(special.logit(np.clip(x, 0, 1)))

    def logpdf(self, x: Array) -> Array:
        inside = (x > 0) & (x < 1)
        x = np.where(inside, x, 0.5)
        value = self._log_odds.logpdf(special.logit(x)) - np.log(x) - np.log1p(-x)
        return np.where(inside, value, -np.inf)

    def ppf(self, q: Array) -> Array:
        return special.expit(self._log_odds.ppf(q))

    guess = ppf

    def mean_sd(self) -> tuple[Array, Array]:
        values = special.expit(self.location + self.scale * _NODES)
        weights = _WEIGHTS / _WEIGHTS.sum()
        mean = values @ weights
        return mean, np.sqrt((values - mean[:, None]) ** 2 @ weights)

    def skewness(self) -> Array:
        values = special.expit(self.location + self.scale * _NODES)
        return weighted_skewness(values, np.broadcast_to(_WEIGHTS / _WEIGHTS.sum(), values.shape))

    @property
    def _log_odds(self) -> Normal:
        return Normal(self.location, self.scale)


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

    def cdf(self, x: Array) -> Array:
        z = self._standard(x)
        tail = self._tail(z)
        return np.where(self.scale > 0, np.where(z < 0, tail, 1 - tail), x >= self.location)

    def sf(self, x: Array) -> Array:
        z = self._standard(x)
        tail = self._tail(z)
        return np.where(self.scale > 0, np.where(z > 0, tail, 1 - tail), x < self.location)

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
        """Return 0; NaN without spread, or for df ≤ 3, where it is undefined."""
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
