"""What a bootstrap resamples, as counts: examples, examples of each class, or whole groups of examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.arrays import Array, Counts
from bayesperf.intervals.statistic import Statistic

# How many cells are held at once.
_AT_ONCE = 2**22


class Acceleration(NamedTuple):
    """The acceleration of "bca", (values,), and whether the metric is defined whichever unit is left out."""

    value: Array
    complete: bool


@dataclass(frozen=True)
class Units:
    """The units of one matrix that are resampled: examples, or groups of them.

    Attributes
    ----------
    number : array (strata, kinds)
        Units of each kind; resamples keep their sum over a stratum.
    shape : tuple of int
        Of the cells.
    groups : array (kinds, cells), optional
        What a unit of each kind adds to the cells, of a single stratum; by default each kind has a cell of its own.
    """

    number: Counts
    shape: tuple[int, ...]
    groups: Counts | None = None

    @property
    def content(self) -> Counts:
        """The counts that distinguish these units from those of other matrices."""
        return self.number if self.groups is None else self.groups

    def resample(self, statistic: Callable[[Counts], Array], n: int, rng: np.random.Generator) -> Array:
        """Return values of a function of cells (n, …) in n resamples, (n,) or (n, K)."""
        size = max(1, _AT_ONCE // self.number.size)
        drawn = (self._draw(min(size, n - start), rng) for start in range(0, n, size))
        return np.concatenate([statistic(cells) for cells in drawn])

    def _draw(self, n: int, rng: np.random.Generator) -> Counts:
        """Return the cells of n resamples."""
        sizes = self.number.sum(-1)
        proportions = self.number / np.maximum(sizes, 1)[:, None]
        units = rng.multinomial(sizes, proportions, (n, len(sizes)))
        cells = units if self.groups is None else units[:, 0] @ self.groups
        return cells.reshape(n, *self.shape)

    def acceleration(self, statistic: Statistic) -> Acceleration:
        """Return the acceleration by the jackknife, over the units without which the statistic is defined."""
        skew, spread, complete = np.float64(0), np.float64(0), True
        for stratum, number in enumerate(self.number):
            if number.sum() < 2:
                continue
            kinds = np.flatnonzero(number)
            size = max(1, _AT_ONCE // int(np.prod(self.shape)))
            blocks = (kinds[start : start + size] for start in range(0, len(kinds), size))
            values = np.concatenate([statistic(self._without(stratum, block)) for block in blocks])
            defined = np.isfinite(values)
            complete &= bool(defined.all())
            weights = defined * number[kinds].reshape(-1, *np.ones_like(values.shape[1:]))
            values, n = np.where(defined, values, 0), np.maximum(weights.sum(0), 1)
            centred = (n - 1) / n * ((weights * values).sum(0) / n - values)
            skew = skew + (weights * centred**3).sum(0)
            spread = spread + (weights * centred**2).sum(0)
        value = np.where(spread > 0, skew / np.where(spread > 0, 6 * spread**1.5, 1), 0)
        return Acceleration(np.atleast_1d(value), complete)

    def _without(self, stratum: int, kinds: NDArray[np.intp]) -> Array:
        """Return the cells without one unit of each of some kinds, with the rest of its stratum weighted up."""
        if self.groups is not None:
            return np.asarray((self.groups.sum(0) - self.groups[kinds]).reshape(-1, *self.shape))
        cells = np.tile(self.number.astype(float), (len(kinds), 1, 1))
        total = self.number[stratum].sum()
        cells[np.arange(len(kinds)), stratum, kinds] -= 1
        cells[:, stratum] *= total / (total - 1)
        return cells.reshape(-1, *self.shape)
