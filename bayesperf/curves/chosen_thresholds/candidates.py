"""The thresholds among which one is chosen, and the confusion matrices at all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bayesperf.core.arrays import Array, Counts, Numbers
from bayesperf.core.errors import InputError
from bayesperf.core.fields import held
from bayesperf.data.binned_scores import BinnedScores, scores_of

# Of more scores so many are candidates, spread evenly over either class.
MOST_CANDIDATES = 1_000


class Cells(NamedTuple):
    """Cells (…, T) at thresholds from the strictest down: inf, at which nothing is called positive, then candidates."""

    tp: Numbers
    fn: Numbers
    fp: Numbers
    tn: Numbers


@held
class Candidates(NamedTuple):
    """Thresholds from the strictest down, and the examples between them.

    Attributes
    ----------
    thresholds : ndarray (T,)
        inf, then scores in descending order.
    counts : ndarray (2, T - 1)
        How many negatives, and how many positives, have a score at least each candidate and below the one before.
    """

    thresholds: Array
    counts: Counts

    @property
    def cells(self) -> Cells:
        """The cells at the thresholds, (T,) each."""
        return cells_of(self.counts)


def candidates_of(y_true: Any, y_score: ArrayLike | None, pos_label: Any) -> tuple[Candidates, tuple[Any, Any], Any]:
    """Return the candidates of labels and scores, both labels, and the positive one."""
    scores = scores_of(y_true, y_score, pos_label)
    if isinstance(scores, BinnedScores):
        labels, positive = (0, 1), 1
        binned = scores
    else:
        labels, positive = scores.labels, scores.pos_label
        ascending = scores.thresholds[::-1]
        if not np.isfinite(ascending).all():
            raise InputError("y_score", "has infinite values, and a threshold at one says nothing: clip them.")
        called = (np.append(of_class, 0) for of_class in scores.called(ascending))
        true, false = (-np.diff(of_class) for of_class in called)
        binned = BinnedScores.from_counts(true, false, values=ascending)
    binned = binned.coarsened(MOST_CANDIDATES // 2)
    counts = np.stack([binned.negatives, binned.positives])[:, ::-1]
    return Candidates(np.concatenate([[np.inf], binned.values[::-1]]), counts), labels, positive


def cells_of(counts: Numbers) -> Cells:
    """Return the cells at all thresholds, given how many negatives and positives (…, 2, T − 1) are between them."""
    called = np.concatenate([np.zeros_like(counts[..., :1]), counts.cumsum(-1)], axis=-1)
    (fp, tp), (tn, fn) = (np.moveaxis(part, -2, 0) for part in (called, called[..., -1:] - called))
    return Cells(tp, fn, fp, tn)
