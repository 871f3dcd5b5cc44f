"""The share of a class that is called positive along the thresholds, in draws.

Thresholds are numbered from 0, above every score, down through the distinct scores. A class is a row of steps from its
greatest score down, with Dirichlet weights; a threshold has its place among them, so many steps from the top.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.arrays import Array, Counts


class Steps(NamedTuple):
    """A class: how many examples weigh in each step (m,), and the places of the thresholds among the steps (T,)."""

    sizes: Counts
    places: Array


def on_scores(called: Counts) -> Steps:
    """Return the scores themselves as steps, equal ones together: the Bayesian bootstrap.

    Parameters
    ----------
    called : ndarray (T,)
        How many of the class are called positive at each threshold, from none to all.
    """
    passed, places = np.unique(called, return_inverse=True)
    return Steps(np.diff(passed), places.astype(float))


def on_gaps(called: Counts) -> Steps:
    """Return the n + 1 gaps between the n scores, and beyond both ends, as steps: the smoothed Bayesian bootstrap.

    Whatever the distribution of the scores, if continuous, its shares in these gaps are Dirichlet(1) from sample to
    sample. The thresholds in a gap, at scores of the other class, divide it evenly; the first one has nothing above
    itself and the last one nothing below, so that curves end in the corners of the unit square.
    """
    inner = called[1:-1]
    _, first, gap, together = np.unique(inner, return_index=True, return_inverse=True, return_counts=True)
    within = (np.arange(len(inner)) - first[gap] + 0.5) / together[gap]
    return Steps(np.ones(called[-1] + 1, np.int64), np.concatenate([[0.0], inner + within, [called[-1] + 1.0]]))


@dataclass(frozen=True)
class Masses:
    """Draws of the share of a class that is called positive.

    Attributes
    ----------
    sums : ndarray (draws, m + 1)
        Weights of the steps summed from the top, from 0 to 1.
    places : ndarray (T,)
        Of the thresholds among the steps.
    """

    sums: Array
    places: Array

    @classmethod
    def of(cls, steps: Steps, weights: Array | Counts) -> Masses:
        """Return the masses of weights (draws, m), which need not sum to 1."""
        sums = np.zeros((len(weights), len(steps.sizes) + 1))
        np.cumsum(weights, axis=-1, out=sums[:, 1:])
        sums /= sums[:, -1:]
        return cls(sums, steps.places)

    def at(self, thresholds: NDArray[np.intp]) -> Array:
        """Return the masses at thresholds (draws, k)."""
        places = self.places[thresholds]
        steps, part = self._parted(places)
        below, above = (np.take_along_axis(self.sums, step, -1) for step in steps)
        return np.asarray(below + part * (above - below))

    def everywhere(self) -> Array:
        """Return the masses at all thresholds, (draws, T)."""
        (step, after), part = self._parted(self.places)
        below, above = np.take(self.sums, step, -1), np.take(self.sums, after, -1)
        return np.asarray(below + part * (above - below))

    def _parted(self, places: Array) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], Array]:
        """Return the steps before and after places, and the part of the step between that is passed."""
        step = places.astype(np.intp)
        return (step, np.minimum(step + 1, self.sums.shape[-1] - 1)), places - step

    def last_within(self, shares: Array) -> NDArray[np.intp]:
        """Return the last thresholds at which the mass is at most each share, (draws, k)."""
        last = self.sums.shape[-1] - 2
        step = np.stack([np.searchsorted(row, shares, side="right") - 1 for row in self.sums]).clip(0, last)
        below, above = (np.take_along_axis(self.sums, s, -1) for s in (step, step + 1))
        part = np.divide(shares - below, above - below, out=np.ones_like(below), where=above > below)
        return np.searchsorted(self.places, step + part, side="right") - 1

    def turned(self) -> Masses:
        """Return the share called negative, thresholds numbered from the lowest up."""
        return Masses(1 - self.sums[:, ::-1], self.sums.shape[-1] - 1 - self.places[::-1])


def along(x: Masses, y: Masses, grid: Array) -> Array:
    """Return y where x takes the values of a grid, (draws, k): the greatest such y, straight between thresholds.

    So ties count half: a score that both classes have is one threshold.
    """
    start = np.minimum(x.last_within(grid), len(x.places) - 2)
    (x0, x1), (y0, y1) = ((masses.at(start), masses.at(start + 1)) for masses in (x, y))
    part = np.divide(grid - x0, x1 - x0, out=np.ones_like(x0), where=x1 > x0)
    return np.asarray(y0 + part.clip(0, 1) * (y1 - y0))
