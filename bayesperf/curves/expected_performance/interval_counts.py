"""Counts of examples in the intervals between thresholds, draws of such counts, and the cells that follow from them.

Only how many examples of a class lie between two thresholds matters, so weights are drawn for those counts and not for
examples: Dirichlet(1, …, 1) over examples is Dirichlet(counts) over their groups, and a resample is Multinomial.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array, Booleans, Codes, Counts
from bayesperf.counts.classifier_scores import Scores, labelled_scores
from bayesperf.distributions.gamma import gamma_masses

# How many numbers an array of draws may hold at once.
_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled scores, in the order given.

    Attributes
    ----------
    positive : ndarray of bool (n,)
        Whether an example is of the positive class.
    score : ndarray (n,)
        Its score.
    """

    positive: Booleans
    score: Array

    @classmethod
    def of(cls, data: Any, name: str, pos_label: Any) -> Examples:
        """Return the examples of a pair (labels, scores), checked; errors name the pair."""
        if not isinstance(data, tuple | list) or len(data) != 2:
            raise TypeError(f"{name} must be a pair of labels and scores, (y_true, y_score); it is {data!r:.60}.")
        try:
            positive, score = labelled_scores(data[0], data[1], pos_label)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
        return cls(positive, score)

    def same_as(self, other: Examples) -> bool:
        """Whether these are the same labels and scores in the same order."""
        return np.array_equal(self.positive, other.positive) and np.array_equal(self.score, other.score)

    def sorted(self) -> Scores:
        """Return the scores of either class in ascending order."""
        return Scores(np.sort(self.score[self.positive]), np.sort(self.score[~self.positive]))


@dataclass(frozen=True, eq=False)
class IntervalCounts:
    """Examples by class, fold, and the interval between cuts that their score lies in.

    Attributes
    ----------
    cuts : sequence of ndarray
        The thresholds of each fold, ascending. Interval j of a fold holds what j cuts do not exceed.
    codes : ndarray (n,)
        Where each example is in a table of `shape`.
    """

    cuts: Sequence[Array]
    codes: Codes

    @classmethod
    def of(cls, examples: Examples, fold: Codes, cuts: Sequence[Array]) -> IntervalCounts:
        """Return the counts of examples between the cuts of their folds."""
        interval = np.empty_like(fold)
        for i, of_fold in enumerate(cuts):
            interval[fold == i] = np.searchsorted(of_fold, examples.score[fold == i], side="right")
        place = (examples.positive.astype(np.intp), fold, interval)
        return cls(cuts, np.ravel_multi_index(place, _shape(cuts)))

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of classes, folds and intervals (of the fold that has most)."""
        return _shape(self.cuts)

    @cached_property
    def counts(self) -> Counts:
        """Examples in each interval, of `shape`."""
        return np.bincount(self.codes, minlength=int(np.prod(self.shape))).reshape(self.shape)

    def ends(self) -> Codes:
        """Return the codes (actual, predicted) of the intervals that are never (0) and always (1) called positive."""
        last = self.shape[-1] - 1
        return np.array([[np.ravel_multi_index((c, 0, j), self.shape) for j in (0, last)] for c in (0, 1)])

    def weights(self, alpha: Array) -> Array:
        """Return the counts plus pseudo-counts α (actual, predicted), of examples that score −∞ and ∞."""
        weights = self.counts.astype(float)
        np.add.at(weights.ravel(), self.ends(), alpha)
        return weights

    def positions(self, thresholds: Array) -> Codes:
        """Return the number of the cut that each threshold (fold, a) is, (1, fold, a)."""
        return np.stack([np.searchsorted(*pair) for pair in zip(self.cuts, thresholds, strict=True)])[None]


def _shape(cuts: Sequence[Array]) -> tuple[int, int, int]:
    return 2, len(cuts), 1 + max(map(len, cuts))


def cells_at_cuts(mass: NDArray[Any], positions: Codes) -> Array:
    """Return the cells (n, a, actual, predicted) at thresholds, of counts or weights of the intervals.

    Parameters
    ----------
    mass : ndarray (n, class, fold, interval)
        Counts or weights of each interval.
    positions : ndarray (n or 1, fold, a)
        Number of the cut that each threshold is; -1 for none, and the cells are then NaN.
    """
    below, above = mass.cumsum(-1), mass[..., ::-1].cumsum(-1)[..., ::-1]
    at = np.broadcast_to(positions[:, None], (*mass.shape[:3], positions.shape[-1]))
    called = (np.take_along_axis(side, at + i, -1).sum(2) for i, side in enumerate((below, above)))
    cells = np.stack(list(called), -1).swapaxes(1, 2)
    return np.where((positions < 0).any(1)[..., None, None], np.nan, cells)


def cell_probabilities(mass: Array, positions: Codes) -> Array:
    """Return the cells of `cells_at_cuts` divided by their sum."""
    cells = cells_at_cuts(mass, positions)
    return cells / cells.sum((-2, -1), keepdims=True)


def draw_mass(rng: np.random.Generator, weights: NDArray[Any], n: int, method: str) -> Array:
    """Return n draws for weights (…), (n, …): Gamma variables for the Bayesian bootstrap, else counts of resamples."""
    if method == "bootstrap":
        total = int(weights.sum())
        return rng.multinomial(total, weights.ravel() / total, n).reshape(n, *weights.shape).astype(float)
    return gamma_masses(rng, weights, (n, *weights.shape))


def block_sizes(draws: int, width: int) -> list[int]:
    """Return the sizes of blocks of draws, such that a block of arrays of some width fits in memory."""
    size = max(1, _AT_ONCE // width)
    return [min(size, draws - start) for start in range(0, draws, size)]


@dataclass(frozen=True, eq=False)
class PairedIntervalCounts:
    """The same examples by the intervals of two systems: how often each pair of intervals occurs.

    Attributes
    ----------
    systems : tuple of two IntervalCounts
        Counts of each system by itself.
    weights : ndarray (p,)
        Examples, and pseudo-examples, in each pair of intervals.
    margins : tuple of two sparse arrays
        Matrices that sum draws for pairs to draws for the intervals of either system, (size, p).
    """

    systems: tuple[IntervalCounts, IntervalCounts]
    weights: Array
    margins: tuple[Any, ...]

    @classmethod
    def of(cls, a: IntervalCounts, b: IntervalCounts, alpha: Array) -> PairedIntervalCounts:
        """Return the paired counts, with pseudo-counts α (actual, predicted) of each system by itself.

        Given the actual class, the pseudo-examples of the two systems are independent, as in `bayesperf.compare`.
        """
        size = int(np.prod(b.shape))
        seen, counts = np.unique(a.codes * size + b.codes, return_counts=True)
        of_class = alpha.sum(1)[:, None, None]
        both = np.divide(alpha[:, :, None] * alpha[:, None], of_class, out=np.zeros((2, 2, 2)), where=of_class > 0)
        first = np.repeat(a.ends()[:, :, None], 2, 2).ravel()
        second = np.repeat(b.ends()[:, None], 2, 1).ravel()
        codes = [np.concatenate([seen // size, first]), np.concatenate([seen % size, second])]
        margins = tuple(_summing(code, int(np.prod(side.shape))) for code, side in zip(codes, (a, b), strict=True))
        return cls((a, b), np.concatenate([counts, both.ravel()]), margins)

    def draw(self, rng: np.random.Generator, n: int, method: str) -> Iterator[Array]:
        """Yield draws (n, class, fold, interval) for each system; those of one index belong together."""
        mass = draw_mass(rng, self.weights, n, method).T
        for margin, system in zip(self.margins, self.systems, strict=True):
            yield (margin @ mass).T.reshape(n, *system.shape)


def _summing(codes: Codes, size: int) -> Any:
    """Return the matrix (size, p) that sums p numbers by their code."""
    return csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(size, len(codes)))
