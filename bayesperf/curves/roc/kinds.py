"""What sets ROC, precision–recall and DET curves apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from bayesperf import metrics
from bayesperf.core.arrays import Array, Counts
from bayesperf.counts.scores import Scores
from bayesperf.curves.roc.draws import RocDraws

# Where bands are drawn.
EVEN = np.linspace(0, 1, 201)


@dataclass(frozen=True)
class Shape:
    """A kind of curve.

    Attributes
    ----------
    name : str
        What it is called.
    x, y : str
        The metrics on its axes.
    grid : callable
        From the scores, the values of x along which bands are drawn.
    along : callable
        From drawn ROC curves and values of x, those of y, (draws, k).
    kept : callable
        From the counts of false and of missed ones at every threshold, which points are the curve.
    """

    name: str
    x: str
    y: str
    grid: Callable[[Scores], Array]
    along: Callable[[RocDraws, Array], Array]
    kept: Callable[[Counts, Counts], slice] = lambda fp, fn: slice(None)

    def points(self, tp: Counts, fn: Counts, fp: Counts, tn: Counts) -> tuple[Array, Array]:
        """Return both metrics of counts; the precision of nothing called positive is 1, as scikit-learn has it."""
        cells = {"tp": tp, "fn": fn, "fp": fp, "tn": tn}
        with np.errstate(invalid="ignore"):
            x, y = (m.function(**{name: cells[name] for name in m.arguments}) for m in self.metrics)
        return x, np.where(np.isnan(y), 1.0, y)

    @property
    def metrics(self) -> tuple[metrics.Metric, metrics.Metric]:
        """The metrics on its axes."""
        return metrics.get(self.x), metrics.get(self.y)


def _precision(drawn: RocDraws, recall: Array) -> Array:
    """Return the precision at given recalls: between two thresholds both counts change evenly, precision does not.

    Davis & Goadrich (2006), The relationship between precision-recall and ROC curves, ICML.
    """
    share = drawn.prevalence
    return np.asarray(metrics.get("precision").function(tp=share * recall, fp=(1 - share) * drawn.fpr(recall)))


def _normal_deviates(scores: Scores) -> Array:
    """Return places evenly spaced in normal deviates, as far out as 1 in n + 1 of n negatives (1 in 20 at least)."""
    reach = ndtri(1 / max(len(scores.negative) + 1, 20))
    return np.asarray(ndtr(reach * (1 - 2 * EVEN)))


def _between_no_errors(fp: Counts, fn: Counts) -> slice:
    """Keep from the last threshold without a false positive to the first without a false negative."""
    return slice(int(np.searchsorted(fp, 0, side="right")) - 1, len(fn) - int((fn == 0).sum()) + 1)


ROC = Shape("roc", "fpr", "recall", lambda _: EVEN, lambda drawn, fpr: drawn.recall(fpr))
PRECISION_RECALL = Shape(
    "precision_recall", "recall", "precision", lambda _: EVEN[1:], _precision
)  # fmt: skip
DET = Shape("det", "fpr", "fnr", _normal_deviates, lambda drawn, fpr: 1 - drawn.recall(fpr), _between_no_errors)
