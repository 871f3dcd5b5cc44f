"""The thresholds among which one is chosen, and the confusion matrices at all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bayesperf.core.arrays import Array, Codes, Counts, Numbers
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
    """Thresholds (T,), inf and then scores from the greatest down, and counts (2, T − 1) of examples between them.

    They are of negatives, and of positives, that score at least each candidate and less than the one before.
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


def placed(counts: Counts, chosen: Codes) -> Counts:
    """Return how many of counts (…, 2, T − 1) are in each place among chosen thresholds (…, size): (…, 2, size + 1)."""
    called = np.concatenate([np.zeros_like(counts[..., :1]), counts.cumsum(-1)], axis=-1)
    at = np.take_along_axis(called, np.repeat(chosen[..., None, :], 2, axis=-2), -1)
    return np.diff(np.concatenate([np.zeros_like(at[..., :1]), at, called[..., -1:]], axis=-1), axis=-1)
