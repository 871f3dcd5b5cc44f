"""Modes of distributions: where their densities are greatest."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bayesperf.core.arrays import Array

# Probabilities of the quantiles at which densities are compared, denser towards both ends.
_LEVELS = (1 - np.cos(np.linspace(0, np.pi, 203)[1:-1])) / 2
# Golden sections of the interval between the neighbours of the best of them: as many as a density is exact for.
_SECTIONS, _GOLDEN = 45, (np.sqrt(5) - 1) / 2
# Fraction of that interval within which a mode next to a bound is at the bound.
_AT_BOUND = 1e-8


class Dense(Protocol):
    """Protocol of the m distributions with common bounds whose modes are searched."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Ends of the support, the same for all m."""

    def logpdf(self, x: Array) -> Array:
        """Return the log density at x, (m, n)."""

    def guess(self, q: Array) -> Array:
        """Return approximate quantiles strictly inside the bounds, (m, n)."""


def greatest_density(distribution: Dense) -> Array:
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
