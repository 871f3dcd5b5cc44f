"""What a bootstrap draws: examples, examples of each class, or whole groups of them, as counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.arrays import Array, Counts
from bayesperf.intervals.statistic import Statistic

# Cells held at once.
_BLOCK = 2**22


class Acceleration(NamedTuple):
    """The acceleration of "bca", (values,), and whether the metric is defined without any one unit, whichever."""

    value: Array
    complete: bool


@dataclass(frozen=True)
class Units:
    """Units that are resampled of one matrix.

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
        """What tells these units from others."""
        return self.number if self.groups is None else self.groups

    def resample(self, statistic: Statistic, n: int, rng: np.random.Generator) -> Array:
        """Return values of a statistic in n resamples, (n,) or (n, K)."""
        size = max(1, _BLOCK // self.number.size)
        drawn = (self._draw(min(size, n - start), rng) for start in range(0, n, size))
        return np.concatenate([statistic(cells) for cells in drawn])

    def _draw(self, n: int, rng: np.random.Generator) -> Counts:
        """Return the cells of n resamples."""
        of_stratum = self.number.sum(-1)
        shares = self.number / np.maximum(of_stratum, 1)[:, None]
        units = rng.multinomial(of_stratum, shares, (n, len(of_stratum)))
        cells = units if self.groups is None else units[:, 0] @ self.groups
        return cells.reshape(n, *self.shape)

    def acceleration(self, statistic: Statistic) -> Acceleration:
        """Return the acceleration by the jackknife, of the units without which the statistic is defined."""
        skew, spread, complete = np.float64(0), np.float64(0), True
        for stratum, number in enumerate(self.number):
            if number.sum() < 2:
                continue
            kinds = np.flatnonzero(number)
            size = max(1, _BLOCK // int(np.prod(self.shape)))
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
        """Return the cells without one unit of some kinds, in turn; those of its stratum make up for it."""
        if self.groups is not None:
            return np.asarray((self.groups.sum(0) - self.groups[kinds]).reshape(-1, *self.shape))
        cells = np.tile(self.number.astype(float), (len(kinds), 1, 1))
        total = self.number[stratum].sum()
        cells[np.arange(len(kinds)), stratum, kinds] -= 1
        cells[:, stratum] *= total / (total - 1)
        return cells.reshape(-1, *self.shape)
