"""Distributions represented by draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np

from bayesperf.core.arrays import Array, Codes
from bayesperf.distributions.base import Distribution


@dataclass(frozen=True)
class Draws(Distribution):
    """Draws (m, chains, n) of a quantity, which are NaN where it is undefined; all methods ignore NaN.

    Attributes
    ----------
    independent : bool
        Whether the draws are independent; if not, the Monte Carlo error takes their autocorrelation into account.
    """

    values: Array
    bounds: tuple[float, float]
    independent: bool = True
    method: ClassVar[str] = "draws"

    @classmethod
    def of(cls, name: str, values: Array, bounds: tuple[float, float], independent: bool = True) -> Draws:
        """Return the distribution given by draws of a metric, and raise if all of them are undefined."""
        if np.isnan(values).all((-2, -1)).any():
            raise ValueError(f"metric {name!r} is undefined (0/0) in every draw.")
        return cls(values, bounds, independent)

    @property
    def size(self) -> int:
        return len(self.values)

    def take(self, index: Codes | slice) -> Self:
        return replace(self, values=self.values[index])

    def cdf(self, x: Array) -> Array:
        return self._each(lambda v, x: np.searchsorted(v, x, side="right") / len(v), x)

    def sf(self, x: Array) -> Array:
        return self._each(lambda v, x: 1 - np.searchsorted(v, x, side="right") / len(v), x)

    def ppf(self, q: Array) -> Array:
        return self._each(_quantile, q)

    guess = ppf

    def logpdf(self, x: Array) -> Array:
        """Return the log of a kernel density estimate (ArviZ's, corrected at the bounds)."""
        with np.errstate(divide="ignore"):
            return np.log(self._each(self._density, x))

    def _density(self, v: Array, x: Array) -> Array:
        from arviz_stats.base import array_stats

        v = v[np.isfinite(v)]
        if len(v) < 2 or v[-1] - v[0] <= 1e-12 * abs(v[0]):
            return np.where(np.isclose(x, v[0] if len(v) else np.inf), np.inf, 0.0)
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
        return [v[: len(v) - np.isnan(v).sum()] for v in flat]

    def mean_sd(self) -> tuple[Array, Array]:
        return self._moments

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Means and standard deviations, which are inf if some draws are infinite."""
        finite = np.array([np.isfinite(v).all() for v in self._defined])
        means = [v.mean() for v in self._defined]
        with np.errstate(invalid="ignore"):
            sds = [v.std(ddof=1) for v in self._defined]
        return np.array(means), np.where(finite, sds, np.inf)

    def hdi(self, prob: float) -> Array:
        return np.stack([_shortest(v, prob) for v in self._defined])

    def mcse(self) -> Array:
        mean, sd = self._moments
        defined = ~np.isnan(self.values)
        if self.independent:
            return sd / np.sqrt(defined.sum((1, 2)))
        from arviz_stats.base import array_stats

        # The mean over the defined draws is a ratio of two means over all draws: of the values and of the indicator.
        deviations = np.where(defined & np.isfinite(mean)[:, None, None], self.values - mean[:, None, None], 0)
        errors = [array_stats.mcse(v, chain_axis=0, draw_axis=1) for v in deviations]
        return np.where(np.isfinite(mean), np.asarray(errors) / defined.mean((1, 2)), np.inf)

    def undefined(self) -> Array:
        return np.isnan(self.values).mean((1, 2))

    def shortfall(self) -> Array:
        return np.asarray(np.nanmean(np.maximum(-self.values, 0), (-2, -1)))

    def resample(self, n: int, rng: np.random.Generator) -> Array:
        """Return n of the draws, the same for each quantity, (m, n), with replacement if there are fewer than n."""
        flat = self.values.reshape(self.size, -1)
        return np.asarray(flat[:, rng.choice(flat.shape[-1], n, replace=n > flat.shape[-1])])


def _quantile(ordered: Array, q: Array) -> Array:
    """Return quantiles, without interpolation if some draws are infinite."""
    method: Literal["linear", "lower"] = "linear" if np.isfinite(ordered).all() else "lower"
    return np.asarray(np.quantile(ordered, q, method=method))


def _shortest(ordered: Array, prob: float) -> Array:
    """Return the shortest interval of sorted draws, some of which may be infinite."""
    from arviz_stats.base import array_stats

    finite = np.isfinite(ordered)
    if finite.all():
        return np.asarray(array_stats.hdi(ordered, prob))
    if finite.mean() < prob:
        return np.array([np.quantile(ordered, 1 - prob, method="lower"), np.inf])
    inside = int(np.ceil(prob * len(ordered))) - 1
    width = ordered[finite][inside:] - ordered[finite][: finite.sum() - inside]
    start = int(np.argmin(width))
    return ordered[finite][[start, start + inside]]
