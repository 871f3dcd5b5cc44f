"""Areas under ROC curves, by inversion of a score test that needs only the area and the numbers of examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, Booleans
from bayesperf.distributions.base import TAIL, Distribution
from bayesperf.distributions.quadrature import tanh_sinh

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
