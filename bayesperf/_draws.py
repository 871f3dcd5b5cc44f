"""The one-dimensional posterior that is known by its draws, with the verbs of `bayesperf._distributions`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayesperf._distributions import Distribution
from bayesperf._quadrature import Array


@dataclass(frozen=True)
class Draws(Distribution):
    """Draws (m, chains, n) of a quantity; NaN where it is undefined, which every verb leaves out.

    Attributes
    ----------
    independent : bool
        Whether draws are independent; else the Monte Carlo error takes their autocorrelation into account.
    """

    values: Array
    bounds: tuple[float, float]
    independent: bool = True
    method: ClassVar[str] = "draws"

    @classmethod
    def of(cls, name: str, values: Array, bounds: tuple[float, float], independent: bool = True) -> Draws:
        """Return draws of a metric; what is not finite counts as undefined, and something must be defined."""
        defined = np.isfinite(values)
        if not defined.any((-2, -1)).all():
            raise ValueError(f"metric {name!r} is undefined (0/0) in every draw.")
        return cls(np.where(defined, values, np.nan), bounds, independent)

    @property
    def size(self) -> int:
        return len(self.values)

    def cdf(self, x: Array) -> Array:
        return self._each(lambda v, x: np.searchsorted(v, x, side="right") / len(v), x)

    def sf(self, x: Array) -> Array:
        return self._each(lambda v, x: 1 - np.searchsorted(v, x, side="right") / len(v), x)

    def ppf(self, q: Array) -> Array:
        return self._each(np.quantile, q)

    guess = ppf

    def logpdf(self, x: Array) -> Array:
        """Return the log of a kernel density estimate (ArviZ's, corrected at the bounds)."""
        with np.errstate(divide="ignore"):
            return np.log(self._each(self._density, x))

    def _density(self, v: Array, x: Array) -> Array:
        from arviz_stats.base import array_stats

        if v[0] == v[-1]:
            return np.where(x == v[0], np.inf, 0.0)
        grid, density, _ = array_stats.kde(v, bound_correction=True)
        return np.asarray(np.interp(x, grid, density, left=0.0, right=0.0))

    def _each(self, function: Callable[[Array, Array], Array], x: Array) -> Array:
        """Apply a function to the sorted defined draws of each quantity."""
        x = np.broadcast_to(x, (len(self.values), x.shape[-1]))
        return np.stack([function(v, x[i]) for i, v in enumerate(self._defined)])

    @cached_property
    def _defined(self) -> list[Array]:
        """The defined draws of each quantity, sorted."""
        flat = np.sort(self.values.reshape(len(self.values), -1), axis=-1)
        return [v[: np.isfinite(v).sum()] for v in flat]

    def mean_sd(self) -> tuple[Array, Array]:
        return self._moments

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        defined = self._defined
        return np.array([v.mean() for v in defined]), np.array([v.std(ddof=1) for v in defined])

    def hdi(self, prob: float) -> Array:
        from arviz_stats.base import array_stats

        return np.stack([array_stats.hdi(v, prob) for v in self._defined])

    def mcse(self) -> Array:
        if self.independent:
            return self.mean_sd()[1] / np.sqrt(np.isfinite(self.values).sum((1, 2)))
        from arviz_stats.base import array_stats

        return np.asarray([array_stats.mcse(v, chain_axis=0, draw_axis=1) for v in self.values])

    def undefined(self) -> Array:
        """Return the share of draws in which the quantity is undefined."""
        return 1 - np.isfinite(self.values).mean((1, 2))
