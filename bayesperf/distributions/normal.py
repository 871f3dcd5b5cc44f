"""Normal approximations, on the scale of the metric or of its log-odds, Student's t, and areas by a score test."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayesperf.core.arrays import Array, Booleans, Codes
from bayesperf.distributions.base import TAIL, Distribution
from bayesperf.distributions.beta import weighted_skewness
from bayesperf.distributions.quadrature import tanh_sinh

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


# ── Areas under ROC curves, by a score test that needs only the area and the numbers of examples ──


# Halvings of [0, 1] after which a quantile is as accurate as a floating-point number near 1.
_HALVINGS = 60


def hanley_mcneil_variance(area: Array, positive: Array, negative: Array) -> Array:
    """Return the variance of an area by Hanley & McNeil (1982), Radiology 143.

    The scores of each class are assumed to be exponential, as a stand-in for any distribution. The probability that two
    positives both score above a negative is then Q1 = A/(2 − A), and the probability that one positive scores above two
    negatives is Q2 = 2A²/(1 + A).
    """
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    of_pairs = area * (1 - area) + (positive - 1) * (q1 - area**2) + (negative - 1) * (q2 - area**2)
    return np.asarray(of_pairs / (positive * negative))


@dataclass(frozen=True)
class AreaByScore(Distribution):
    """The area A with P(A ≤ x) = Φ((x − observed)/s(x)), where s(x) is the standard error if the area is x.

    s² is Hanley & McNeil's variance with (n + m)/2 in place of both numbers of examples in its numerator, so that it is
    the same for A and 1 − A. Equal-tailed intervals equal method 5 of Newcombe (2006), Statistics in Medicine 25. If
    the observed area is 0 or 1, half of the mass is on it.
    """

    # The observed area, and the number of examples in each class, (m, 1).
    observed: Array
    positive: Array
    negative: Array
    bounds: tuple[float, float] = (0.0, 1.0)
    method: ClassVar[str] = "normal"

    def cdf(self, x: Array) -> Array:
        return np.where(x < 0, 0.0, np.where(x >= 1, 1.0, special.ndtr(self._standard(x))))

    def sf(self, x: Array) -> Array:
        return np.where(x < 0, 1.0, np.where(x >= 1, 0.0, special.ndtr(-self._standard(x))))

    def logpdf(self, x: Array) -> Array:
        inside = (x > 0) & (x < 1)
        x = np.where(inside, x, 0.5)
        variance, slope = self._variance(x)
        z = (x - self.observed) / np.sqrt(variance)
        pace = (1 - (x - self.observed) * slope / (2 * variance)) / np.sqrt(variance)
        return np.where(inside, np.log(pace) - z**2 / 2 - np.log(2 * np.pi) / 2, -np.inf)

    def ppf(self, q: Array) -> Array:
        wanted = special.ndtri(np.broadcast_to(q, (self.size, np.shape(q)[-1])))
        low, high = np.zeros(wanted.shape), np.ones(wanted.shape)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = self._standard(middle) < wanted
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        at_end = self._standard(np.array([[0.0, 1.0]]))
        return np.where(wanted <= at_end[:, :1], 0.0, np.where(wanted >= at_end[:, 1:], 1.0, (low + high) / 2))

    def one_peak(self) -> Booleans:
        """Return where both classes have three examples or more: with fewer, some densities have a valley about ½."""
        return np.minimum(self.positive, self.negative)[:, 0] >= 3

    def guess(self, q: Array) -> Array:
        return np.clip(self.ppf(q), 1e-15, 1 - 1e-15)

    def mean_sd(self) -> tuple[Array, Array]:
        """Integrate the tails: sf(x) and 2(x − observed) sf(x) above the observed area give the moments."""
        ends = self.ppf(np.array([[TAIL, 1 - TAIL]]))
        node, _, weight = tanh_sinh()
        above, below = (ends[:, 1:] - self.observed) * node, (self.observed - ends[:, :1]) * node
        upper = (ends[:, 1:] - self.observed) * weight * self.sf(self.observed + above)
        lower = (self.observed - ends[:, :1]) * weight * self.cdf(self.observed - below)
        shift = (upper - lower).sum(-1)
        square = 2 * (above * upper + below * lower).sum(-1)
        return self.observed[:, 0] + shift, np.sqrt(np.maximum(square - shift**2, 0))

    def _standard(self, x: Array) -> Array:
        """Return (x − observed)/s(x), and its limits at 0 and 1."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (x - self.observed) / np.sqrt(self._variance(np.clip(x, 0, 1))[0])
        return np.where(x == self.observed, 0.0, z)

    def _variance(self, x: Array) -> tuple[Array, Array]:
        """Return s² = u (1 + k (1 + 2u)/(2 + u))/(n m) at u = x (1 − x) and k = (n + m)/2 − 1, and its derivative."""
        u, k = x * (1 - x), (self.positive + self.negative) / 2 - 1
        pairs = self.positive * self.negative
        inflation = 1 + k * (1 + 2 * u) / (2 + u)
        slope = (1 - 2 * x) * (inflation + 3 * k * u / (2 + u) ** 2)
        return u * inflation / pairs, slope / pairs
