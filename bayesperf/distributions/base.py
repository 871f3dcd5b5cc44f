"""What every one-dimensional distribution can do: the contract, and what follows from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np

from bayesperf.core.arrays import Array, Codes
from bayesperf.distributions.highest_density import highest_density
from bayesperf.distributions.quadrature import tanh_sinh

# Probability that an integral over a distribution function may leave beyond its ends.
TAIL = 1e-13


class Distribution(ABC):
    """m distributions of one kind on common bounds.

    Parameters have shape ``(m, 1)``, arguments and values ``(m, n)``, moments ``(m,)``.

    Attributes
    ----------
    method : str
        How figures are computed; see `bayesperf.Marginal`.
    chunk : int
        How many are computed at once, which bounds the memory of those that need many nodes each.
    bounds : tuple of float
        Ends of the support.
    """

    method: ClassVar[str]
    chunk: ClassVar[int] = 1_000_000
    bounds: tuple[float, float]

    @property
    @abstractmethod
    def size(self) -> int:
        """How many there are, m."""

    @abstractmethod
    def cdf(self, x: Array) -> Array:
        """Return P(X ≤ x)."""

    @abstractmethod
    def sf(self, x: Array) -> Array:
        """Return P(X > x)."""

    @abstractmethod
    def logpdf(self, x: Array) -> Array:
        """Return the log density; −inf outside the bounds."""

    @abstractmethod
    def ppf(self, q: Array) -> Array:
        """Return quantiles."""

    @abstractmethod
    def mean_sd(self) -> tuple[Array, Array]:
        """Return means and standard deviations, inf where they diverge."""

    @abstractmethod
    def guess(self, q: Array) -> Array:
        """Return rough quantiles, strictly inside the bounds."""

    @abstractmethod
    def take(self, index: Codes | slice) -> Self:
        """Return some of the m distributions."""

    def pdf(self, x: Array) -> Array:
        """Return the density."""
        return np.exp(self.logpdf(x))

    def cdf_logpdf(self, x: Array) -> tuple[Array, Array]:
        """Return the distribution function and the log density, which some kinds compute together at less cost."""
        return self.cdf(x), self.logpdf(x)

    def hdi(self, prob: float) -> Array:
        """Return the highest-density intervals, (m, 2)."""
        return highest_density(self, prob)

    def eti(self, prob: float) -> Array:
        """Return the equal-tailed intervals, (m, 2)."""
        return self.ppf(np.array([[(1 - prob) / 2, (1 + prob) / 2]]))

    def resample(self, n: int, rng: np.random.Generator) -> Array:
        """Return n independent draws of each, (m, n)."""
        return self.ppf(rng.random((self.size, n)))

    def mcse(self) -> Array:
        """Return the Monte Carlo standard errors of the means: zero, unless figures are computed from draws."""
        return np.zeros(self.size)

    def undefined(self) -> Array:
        """Return the fraction of draws in which the quantity is undefined (0/0)."""
        return np.zeros(self.size)

    def shortfall(self) -> Array:
        """Return E[max(−X, 0)], (m,): the integral of the distribution function up to 0."""
        low = np.minimum(np.maximum(self.ppf(np.array([[TAIL]])), self.bounds[0]), 0)
        node, _, weight = tanh_sinh()
        return np.asarray((self.cdf(low * (1 - node)) * -low * weight).sum(-1))
