"""Scores of two classes, sorted: what every curve and area is made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesperf.core.arrays import Array
from bayesperf.counts import tables
from bayesperf.counts.labels import encode, listed


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the examples of either class, in ascending order; what scores at least a threshold is called positive.

    Attributes
    ----------
    positive, negative : ndarray (n,)
        Scores, infinite ones included. Neither is empty.
    """

    positive: Array
    negative: Array

    @classmethod
    def of(cls, y_true: Any, y_score: ArrayLike, pos_label: Any = None, name: str = "y_score") -> Scores:
        """Return the scores of labels (n,) and scores (n,), checked.

        Raises
        ------
        ValueError
            If there are not two classes, or the positive one is not known; if scores are missing or too few.
        """
        is_positive, score = labelled_scores(y_true, y_score, pos_label, name)
        return cls(np.sort(score[is_positive]), np.sort(score[~is_positive]))

    @cached_property
    def thresholds(self) -> Array:
        """The distinct scores, from the greatest down: the thresholds at which what is called positive changes."""
        return np.unique(np.concatenate([self.positive, self.negative]))[::-1]

    def called(self, thresholds: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many of the positives and of the negatives are called positive at each threshold."""
        cuts = np.asarray(thresholds, dtype=float)
        true, false = (len(s) - np.searchsorted(s, cuts, side="left") for s in (self.positive, self.negative))
        return true, false


def labelled_scores(
    y_true: Any, y_score: ArrayLike, pos_label: Any = None, name: str = "y_score"
) -> tuple[NDArray[np.bool_], Array]:
    """Return which examples (n,) are positive, and the scores (n,) of all, checked."""
    is_positive, score = positives(y_true, pos_label), tables.numbers(y_score, name)
    if len(score) != len(is_positive):
        raise ValueError(tables.unequal({"y_true": len(is_positive), name: len(score)}))
    return is_positive, score


def positives(y_true: Any, pos_label: Any = None) -> NDArray[np.bool_]:
    """Return which labels (n,) are the positive one of two."""
    column = encode(y_true, "y_true")
    labels = column.labels.tolist()
    if len(labels) != 2:
        raise ValueError(f"y_true must hold two classes; it holds {listed(labels)}.")
    positive = tables.positive(labels, pos_label)
    if positive is None:
        raise ValueError(tables.ask_for_positive(labels))
    return np.asarray(column.codes == labels.index(positive))
