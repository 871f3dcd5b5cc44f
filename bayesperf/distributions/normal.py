"""Normal approximations, on the scale of the metric or of its log-odds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
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
    are those of the normal distribution without bounds.
    """

    location: Array
    scale: Array
    bounds: tuple[float, float] = (-np.inf, np.inf)
    method: ClassVar[str] = "normal"

    @property
    def size(self) -> int:
        return len(self.location)

    def take(self, index: Codes | slice) -> Self:
        return replace(self, location=self.location[index], scale=self.scale[index])

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
    """Return the distribution of X − Y, independent."""
    (low, high), (least, greatest) = first.bounds, second.bounds
    scale = np.hypot(first.scale, second.scale)
    return Normal(first.location - second.location, scale, (low - greatest, high - least))


@dataclass(frozen=True)
class JointNormal(Normal):
    """Normal distributions that are jointly normal.

    Draws are not clipped to the bounds, so that their differences are those of `difference`.

    Attributes
    ----------
    covariance : Array (m, m)
        Covariances of all the distributions.
    """

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
        return self.difference(*rows) if what == "difference" else None

    def difference(self, first: Codes, second: Codes) -> Normal:
        """Return the distributions of the differences between some rows and others."""
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

    @property
    def size(self) -> int:
        return len(self.location)

    def take(self, index: Codes | slice) -> Self:
        return replace(self, location=self.location[index], scale=self.scale[index])

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
