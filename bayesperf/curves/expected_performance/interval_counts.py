"""Examples counted between thresholds, such counts drawn anew, and what is called positive from them.

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

from bayesperf.core.arrays import Array, Codes
from bayesperf.counts.scores import Scores, labelled_scores

_TINY = np.finfo(float).tiny
# Numbers held at once in an array of draws.
_BLOCK = 2**20


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

    positive: NDArray[np.bool_]
    score: Array

    @classmethod
    def of(cls, data: Any, name: str, pos_label: Any) -> Examples:
        """Return the examples of a pair (labels, scores), checked; errors say which pair."""
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
        """Return the scores of either class."""
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
        """Return the tally of examples at the cuts of their folds."""
        interval = np.empty_like(fold)
        for i, of_fold in enumerate(cuts):
            interval[fold == i] = np.searchsorted(of_fold, examples.score[fold == i], side="right")
        place = (examples.positive.astype(np.intp), fold, interval)
        return cls(cuts, np.ravel_multi_index(place, _shape(cuts)))

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Classes, folds, intervals (of the fold that has most)."""
        return _shape(self.cuts)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Examples in each interval, of `shape`."""
        return np.bincount(self.codes, minlength=int(np.prod(self.shape))).reshape(self.shape)

    def ends(self) -> Codes:
        """Return the codes (actual, predicted) of what is never (0) and always (1) called positive."""
        last = self.shape[-1] - 1
        return np.array([[np.ravel_multi_index((c, 0, j), self.shape) for j in (0, last)] for c in (0, 1)])

    def weights(self, alpha: Array) -> Array:
        """Return the counts with pseudo-counts α (actual, predicted): examples that score −∞ and ∞."""
        weights = self.counts.astype(float)
        np.add.at(weights.ravel(), self.ends(), alpha)
        return weights

    def places(self, thresholds: Array) -> Codes:
        """Return which cut each threshold (fold, a) is, (1, fold, a)."""
        return np.stack([np.searchsorted(*pair) for pair in zip(self.cuts, thresholds, strict=True)])[None]


def _shape(cuts: Sequence[Array]) -> tuple[int, int, int]:
    return 2, len(cuts), 1 + max(map(len, cuts))


def cells(mass: NDArray[Any], places: Codes) -> Array:
    """Return cells (n, a, actual, predicted) of masses at cuts.

    Parameters
    ----------
    mass : ndarray (n, class, fold, interval)
        In each interval.
    places : ndarray (n or 1, fold, a)
        Which cut each threshold is; -1 for none, and the cells are then NaN.
    """
    below, above = mass.cumsum(-1), mass[..., ::-1].cumsum(-1)[..., ::-1]
    at = np.broadcast_to(places[:, None], (*mass.shape[:3], places.shape[-1]))
    called = (np.take_along_axis(side, at + i, -1).sum(2) for i, side in enumerate((below, above)))
    found = np.stack(list(called), -1).swapaxes(1, 2)
    return np.where((places < 0).any(1)[..., None, None], np.nan, found)


def shares(mass: Array, places: Codes) -> Array:
    """Return cells that sum to 1, of masses as in `cells`."""
    found = cells(mass, places)
    return found / found.sum((-2, -1), keepdims=True)


def draw(rng: np.random.Generator, weights: NDArray[Any], n: int, method: str) -> Array:
    """Return masses (n, …) in place of weights (…): Gamma for the Bayesian bootstrap, else counts of a resample."""
    if method == "bootstrap":
        total = int(weights.sum())
        return rng.multinomial(total, weights.ravel() / total, n).reshape(n, *weights.shape).astype(float)
    # Of a tiny weight a mass can underflow to 0, and a class of such masses to 0/0.
    return np.maximum(rng.standard_gamma(weights, (n, *weights.shape)), np.where(weights > 0, _TINY, 0))


def blocks(draws: int, width: int) -> list[int]:
    """Return sizes of blocks of draws for which arrays of some width fit the memory."""
    size = max(1, _BLOCK // width)
    return [min(size, draws - start) for start in range(0, draws, size)]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two tallies of the same examples: how often each pair of places occurs.

    Attributes
    ----------
    tallies : tuple of two Tally
        Of the systems.
    weights : ndarray (p,)
        Examples, and pseudo-examples, in each pair.
    into : tuple of two sparse arrays
        What sums masses of pairs to those of either tally, (size, p).
    """

    tallies: tuple[IntervalCounts, IntervalCounts]
    weights: Array
    into: tuple[Any, ...]

    @classmethod
    def of(cls, a: IntervalCounts, b: IntervalCounts, alpha: Array) -> Pairs:
        """Return the pairs, with pseudo-counts α (actual, predicted) of each system by itself.

        Given the actual class, the pseudo-examples of the two systems are independent, as in `bayesperf.compare`.
        """
        size = int(np.prod(b.shape))
        seen, counts = np.unique(a.codes * size + b.codes, return_counts=True)
        of_class = alpha.sum(1)[:, None, None]
        both = np.divide(alpha[:, :, None] * alpha[:, None], of_class, out=np.zeros((2, 2, 2)), where=of_class > 0)
        first = np.repeat(a.ends()[:, :, None], 2, 2).ravel()
        second = np.repeat(b.ends()[:, None], 2, 1).ravel()
        places = [np.concatenate([seen // size, first]), np.concatenate([seen % size, second])]
        into = tuple(_summing(place, int(np.prod(tally.shape))) for place, tally in zip(places, (a, b), strict=True))
        return cls((a, b), np.concatenate([counts, both.ravel()]), into)

    def draw(self, rng: np.random.Generator, n: int, method: str) -> Iterator[Array]:
        """Yield masses (n, class, fold, interval) of each system: of one index they belong together."""
        mass = draw(rng, self.weights, n, method).T
        for into, tally in zip(self.into, self.tallies, strict=True):
            yield (into @ mass).T.reshape(n, *tally.shape)


def _summing(place: Codes, size: int) -> Any:
    """Return the matrix (size, p) that sums p numbers by their place."""
    return csr_array((np.ones(len(place)), (place, np.arange(len(place)))), shape=(size, len(place)))
