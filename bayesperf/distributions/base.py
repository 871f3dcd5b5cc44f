"""The base class of one-dimensional distributions: abstract methods, and default methods derived from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np

from bayesperf.core.arrays import Array, Booleans, Codes
from bayesperf.core.fields import Held, fields_of
from bayesperf.distributions.highest_density_intervals import highest_density
from bayesperf.distributions.quadrature import tanh_sinh

# Probability that integrals over a distribution function may neglect beyond each end.
TAIL = 1e-13


class Distribution(Held, ABC):
    """An array of m distributions of the same kind with common bounds.

    Parameters have shape ``(m, 1)``, arguments and values ``(m, n)``, moments ``(m,)``.
    """

    # How results are computed; see `bayesperf.Marginal`.
    method: ClassVar[str]
    # Maximum number of distributions to evaluate at once; it limits the memory of distributions with many nodes.
    chunk: ClassVar[int] = 1_000_000
    # Ends of the support.
    bounds: tuple[float, float]

    @property
    def size(self) -> int:
        """The number of distributions, m: that of the first field."""
        first = next(iter(vars(self).values()))
        return len(first) if isinstance(first, np.ndarray) else int(first.size)

    @abstractmethod
    def cdf(self, x: Array) -> Array:
        """Return P(X ≤ x)."""

    @abstractmethod
    def sf(self, x: Array) -> Array:
        """Return P(X > x)."""

    @abstractmethod
    def logpdf(self, x: Array) -> Array:
        """Return the log density, which is −inf outside the bounds."""

    @abstractmethod
    def ppf(self, q: Array) -> Array:
        """Return quantiles."""

    @abstractmethod
    def mean_sd(self) -> tuple[Array, Array]:
        """Return the means and standard deviations, which are inf if they diverge."""

    @abstractmethod
    def guess(self, q: Array) -> Array:
        """Return approximate quantiles, strictly inside the bounds."""

    def take(self, index: Codes | slice) -> Self:
        """Return a subset of the m distributions: these rows of every field that has rows."""

        def taken(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return value[index]
            return value.take(index) if hasattr(value, "take") else value

        return type(self)(**{name: taken(value) for name, value in fields_of(self).items()})

    def pdf(self, x: Array) -> Array:
        """Return the density."""
        return np.exp(self.logpdf(x))

    def cdf_logpdf(self, x: Array) -> tuple[Array, Array]:
        """Return the distribution function and the log density, which some subclasses compute together more cheaply."""
        return self.cdf(x), self.logpdf(x)

    def one_peak(self) -> Booleans:
        """Return which densities are known to have a single peak, (m,), if any inside the bounds."""
        return np.ones(self.size, bool)

    def mode(self) -> Array:
        """Return where the densities are greatest, (m,)."""
        return greatest_density(self)

    def skewness(self) -> Array:
        """Return the third standardised moments, (m,): inf if they diverge, NaN without any spread.

        The third central moment is the integral of 3(x − μ)² sf(x) above the mean μ minus the integral of 3(x − μ)²
        cdf(x) below it.
        """
        mean, sd = (moment[:, None] for moment in self.mean_sd())
        low, high = np.hsplit(self.ppf(np.array([[TAIL, 1 - TAIL]])), 2)
        node, _, weight = tanh_sinh()
        above, below = (high - mean) * node, (mean - low) * node
        upper = ((high - mean) * weight * above**2 * self.sf(mean + above)).sum(-1)
        lower = ((mean - low) * weight * below**2 * self.cdf(mean - below)).sum(-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(3 * (upper - lower) / sd[:, 0] ** 3)

    def hdi(self, prob: float) -> Array:
        """Return the highest-density intervals, (m, 2)."""
        return highest_density(self, prob)

    def eti(self, prob: float) -> Array:
        """Return the equal-tailed intervals, (m, 2)."""
        return self.ppf(np.array([[(1 - prob) / 2, (1 + prob) / 2]]))

    def blocks(self) -> Iterator[Self]:
        """Yield the distributions in blocks that fit in memory: the object itself if one block is enough."""
        if self.size <= self.chunk:
            yield self
            return
        for start in range(0, self.size, self.chunk):
            yield self.take(slice(start, start + self.chunk))

    def parameters(self) -> Array | None:
        """Return the numbers that determine each distribution, (m, k); None if it is not worth comparing them."""
        return None

    def each(self, function: Callable[[Distribution], Array]) -> Array:
        """Return a function of the distributions, (m, …), computed in blocks; of equal ones once."""
        known = None if self.size == 1 else self.parameters()
        if known is None:
            return np.concatenate([function(block) for block in self.blocks()])
        _, first, rows = np.unique(known, axis=0, return_index=True, return_inverse=True)
        distinct = self if len(first) == self.size else self.take(first)
        values = np.concatenate([function(block) for block in distinct.blocks()])
        return values if distinct is self else values[rows]

    def interval(self, prob: float, kind: str) -> Array:
        """Return the intervals of the given kind, "hdi" or "eti", (m, 2)."""
        return self.hdi(prob) if kind == "hdi" else self.eti(prob)

    def resample(self, n: int, rng: np.random.Generator) -> Array:
        """Return n independent draws of each, (m, n)."""
        return self.ppf(rng.random((self.size, n)))

    def contrast(
        self, what: str, operation: Any, bounds: tuple[float, float], rows: tuple[Codes, Codes]
    ) -> Distribution | None:
        """Return the difference or ratio of joint rows, all pairs in order; None if only draws of them give it.

        `operation` is the contrast as a function of two arrays of draws; `rows` says which rows are compared.
        """
        return None

    def mcse(self) -> Array:
        """Return the Monte Carlo standard errors of the means, which are zero unless computed from draws."""
        return np.zeros(self.size)

    def mcse_interval(self, prob: float, kind: str) -> Array:
        """Return the larger Monte Carlo standard error of the ends of each "hdi" or "eti"; zero unless from draws."""
        return np.zeros(self.size)

    def undefined(self) -> Array:
        """Return the fraction of draws in which the quantity is undefined (0/0)."""
        return np.zeros(self.size)

    def shortfall(self) -> Array:
        """Return E[max(−X, 0)], (m,): the integral of the distribution function up to 0."""
        low = np.minimum(np.maximum(self.ppf(np.array([[TAIL]])), self.bounds[0]), 0)
        node, _, weight = tanh_sinh()
        return np.asarray((self.cdf(low * (1 - node)) * -low * weight).sum(-1))


# ── Modes ──

# Probabilities of the quantiles at which densities are compared, denser towards both ends.
_LEVELS = (1 - np.cos(np.linspace(0, np.pi, 203)[1:-1])) / 2
# Golden-section steps between the neighbours of the best quantile: enough for the accuracy of a density.
_SECTIONS, _GOLDEN = 45, (np.sqrt(5) - 1) / 2
# Fraction of that interval within which a mode next to a bound is at the bound.
_AT_BOUND = 1e-8


def greatest_density(distribution: Distribution) -> Array:
    """Return where the density is greatest, (m,): the best of many quantiles, refined; the lowest of equally good ones.

    A density that increases up to a bound, or is infinite there, has its mode at the bound.
    """
    low, high = distribution.bounds
    points = np.sort(distribution.guess(_LEVELS[None, :]), -1)
    best = distribution.logpdf(points).argmax(-1)[:, None]
    ends = [np.full_like(points[:, :1], low), points, points[:, -1:] if np.isinf(high) else np.full(best.shape, high)]
    # Position i of the points is i + 1 of these.
    every = np.hstack(ends)
    left, right = (np.take_along_axis(every, best + shift, -1) for shift in (0, 2))
    near = _AT_BOUND * (right - left)
    for _ in range(_SECTIONS):
        inner = np.hstack([right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)])
        density = distribution.logpdf(inner)
        lower = density[:, :1] >= density[:, 1:]
        left, right = np.where(lower, left, inner[:, :1]), np.where(lower, inner[:, 1:], right)
    mode = (left + right) / 2
    return np.asarray(np.where(mode - low <= near, low, np.where(high - mode <= near, high, mode))[:, 0])
