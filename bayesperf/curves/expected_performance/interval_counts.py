"""Counts of examples in the intervals between thresholds, and the cells that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.arrays import Array, Booleans, Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import Held
from bayesperf.data.classifier_scores import Scores, clusters_of, labelled_scores


@dataclass(frozen=True, eq=False)
class Examples(Held):
    """Labelled scores, in the order given."""

    # Whether an example is of the positive class, (n,).
    positive: Booleans
    # Its score, (n,).
    score: Array
    # Which cluster it belongs to, numbered from 0; None if every example is by itself, (n,), or None.
    cluster: Codes | None = None

    @classmethod
    def of(cls, data: Any, name: str, pos_label: Any, cluster: Any = None) -> Examples:
        """Return the examples of a pair (labels, scores), checked; errors name the pair."""
        if not isinstance(data, tuple | list) or len(data) != 2:
            raise InputTypeError(name, f"must be a pair of labels and scores, (y_true, y_score); it is {data!r:.60}.")
        try:
            positive, score = labelled_scores(data[0], data[1], pos_label)
        except InputError as error:
            raise type(error)(name, str(error)) from None
        return cls(positive, score, None if cluster is None else clusters_of(cluster, len(score), name))

    def same_as(self, other: Examples) -> bool:
        """Whether these are the same labels and scores in the same order."""
        return np.array_equal(self.positive, other.positive) and np.array_equal(self.score, other.score)

    def alike(self, other: Examples | None) -> bool:
        """Whether these have the same labels, and clusters, in the same order, as the same examples have."""
        return other is not None and all(
            np.array_equal(own, others) if own is not None and others is not None else own is others
            for own, others in ((self.positive, other.positive), (self.cluster, other.cluster))
        )

    def sorted(self) -> Scores:
        """Return the scores of either class in ascending order."""
        return Scores(np.sort(self.score[self.positive]), np.sort(self.score[~self.positive]))


@dataclass(frozen=True, eq=False)
class IntervalCounts:
    """Examples by class, fold, and the interval between cuts that their score lies in."""

    # The thresholds of each fold, ascending. Interval j of a fold holds what j cuts do not exceed.
    cuts: Sequence[Array]
    # Where each example is in a table of `shape`; -1 if it is not in it, (n,).
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
        inside = self.codes[self.codes >= 0]
        return np.bincount(inside, minlength=int(np.prod(self.shape))).reshape(self.shape)

    def ends(self) -> Codes:
        """Return the codes (actual, predicted) of the intervals that are never (0) and always (1) called positive."""
        last = self.shape[-1] - 1
        return np.array([[np.ravel_multi_index((c, 0, j), self.shape) for j in (0, last)] for c in (0, 1)])

    def positions(self, thresholds: Array) -> Codes:
        """Return the number of the cut that each threshold (fold, a) is, (1, fold, a)."""
        return np.stack([np.searchsorted(*pair) for pair in zip(self.cuts, thresholds, strict=True)])[None]


def _shape(cuts: Sequence[Array]) -> tuple[int, int, int]:
    return 2, len(cuts), 1 + max(map(len, cuts))


def cells_at_cuts(mass: NDArray[Any], positions: Codes) -> Array:
    """Return the cells (n, a, actual, predicted) at cuts, of counts or weights (n, class, fold, interval).

    Positions (n or 1, fold, a) are the numbers of the cuts; -1 for none, and the cells are then NaN.
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
