"""Approximate distributions from normal scores: starting values for the search of quantiles and intervals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Self

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from bayesperf.core.arrays import Array, Codes
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.highest_density_intervals import highest_density, newton
from bayesperf.distributions.quantiles import invert

# Number of points of the interpolation, and how many standard deviations of the logit they reach to either side.
_POINTS, _REACH = 11, 3.5
# The smallest probability with a score, and the smallest distance from the bounds, relative to their distance.
_LEAST, _INSIDE = 1e-9, 1e-15


@cache
def _interpolation() -> tuple[Array, Array]:
    """Return points in [−1, 1], and the matrix from values at them to coefficients of powers."""
    points = np.asarray(chebyshev.chebpts2(_POINTS))
    return points, np.asarray(np.linalg.inv(np.vander(points, increasing=True)).T)


def logit_between(x: Array, bounds: tuple[float, float]) -> Array:
    """Return the logit of the position of x between the bounds, finite at them too."""
    low, high = bounds
    return np.asarray(special.logit(np.clip((x - low) / (high - low), _INSIDE, 1 - _INSIDE)))


@dataclass(frozen=True)
class NormalScores:
    """Distributions between finite bounds whose normal scores Φ⁻¹(cdf) are polynomials of the logit.

    The logit refers to the position between the bounds. The scores of a metric are nearly linear in it, so that a few
    points determine them to several digits; beyond the points they continue as straight lines.
    """

    # The points are at logits from centre − scale to centre + scale, (m, 1).
    centre: Array
    scale: Array
    # Coefficients of the powers of (logit − centre)/scale, (m, points).
    coefficients: Array
    # Ends of the support.
    bounds: tuple[float, float]

    @classmethod
    def of(cls, cdf: Callable[[Array], Array], mean: Array, sd: Array, bounds: tuple[float, float]) -> Self:
        """Return the approximation to distribution functions of (m, n); mean and sd (m,) describe the logits."""
        points, matrix = _interpolation()
        rough = cls(mean[:, None], _REACH * sd[:, None], np.zeros((len(mean), _POINTS)), bounds)
        scores = special.ndtri(np.clip(cdf(rough.at(points)), _LEAST, 1 - _LEAST))
        return replace(rough, coefficients=np.einsum("mi,ij->mj", scores, matrix))

    def take(self, index: Codes | slice) -> Self:
        """Return a subset of the m distributions."""
        return type(self)(self.centre[index], self.scale[index], self.coefficients[index], self.bounds)

    def cdf_logpdf(self, x: Array) -> tuple[Array, Array]:
        """Return the distribution function and the log density at x, (m, n)."""
        low, high = self.bounds
        logit = logit_between(x, self.bounds)
        u = (logit - self.centre) / self.scale
        inside = np.clip(u, -1, 1)
        score, slope = np.zeros(u.shape), np.zeros(u.shape)
        for coefficient in self.coefficients.T[::-1, :, None]:
            slope = score + inside * slope
            score = coefficient + inside * score
        score += slope * (u - inside)
        with np.errstate(invalid="ignore", divide="ignore"):
            log_slope = np.log(slope / (self.scale * (high - low)))
        steepness = log_slope - special.log_expit(logit) - special.log_expit(-logit)
        return special.ndtr(score), steepness - score**2 / 2 - np.log(2 * np.pi) / 2

    def ppf(self, q: Array) -> Array:
        """Return quantiles, (m, n)."""
        return invert(self, q, self.at(special.ndtri(np.clip(q, _LEAST, 1 - _LEAST)) / _REACH), most=20)

    def hdi(self, prob: float) -> Array:
        """Return the shortest intervals of a given probability, (m, 2)."""
        tails = np.broadcast_to([[(1 - prob) / 2, (1 + prob) / 2]], (len(self.centre), 2))
        return newton(self, self.ppf(tails), prob, most=3)[0]

    def at(self, u: Array) -> Array:
        """Return the quantity where (logit − centre)/scale is u."""
        low, high = self.bounds
        return low + (high - low) * np.clip(special.expit(self.centre + self.scale * u), _INSIDE, 1 - _INSIDE)


class RoughlyKnown(Distribution):
    """Distributions whose searches start from normal scores, if these are smooth and the bounds finite."""

    @property
    @abstractmethod
    def rough(self) -> NormalScores:
        """Approximations to the distributions."""

    @abstractmethod
    def quantiles_of_few(self, q: Array) -> Array:
        """Return quantiles (m, n) of a few weighted values, strictly inside the bounds."""

    def guess(self, q: Array) -> Array:
        return self._started(lambda rough, q: rough.ppf(q), np.broadcast_to(q, (self.size, q.shape[-1])))

    def hdi(self, prob: float) -> Array:
        tails = np.broadcast_to([[(1 - prob) / 2, (1 + prob) / 2]], (self.size, 2))
        return highest_density(self, prob, self._started(lambda rough, _: rough.hdi(prob), tails))

    def _started(self, function: Callable[[NormalScores, Array], Array], q: Array) -> Array:
        """Return a result of the scores, or quantiles q (m, n) if a density may have several peaks."""
        smooth = self.one_peak() & np.isfinite(self.bounds).all()
        if smooth.all():
            return function(self.rough, q)
        start, rest = np.empty(q.shape), np.flatnonzero(~smooth)
        start[rest] = self.take(rest).quantiles_of_few(q[rest])
        if smooth.any():
            start[smooth] = function(self.take(np.flatnonzero(smooth)).rough, q[smooth])
        return start
