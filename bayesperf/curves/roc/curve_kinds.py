"""What distinguishes ROC, precision–recall and DET curves: their axes, and where their bands are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from bayesperf import metrics
from bayesperf.core.arrays import Array, Counts
from bayesperf.curves.roc.curve_draws import RocDraws
from bayesperf.data.binned_scores import BinnedScores
from bayesperf.data.classifier_scores import Scores

# Values of x at which the bands of ROC curves are drawn.
EVEN = np.linspace(0, 1, 201)


class CurveKind(NamedTuple):
    """A kind of curve."""

    # What it is called.
    name: str
    # The metrics on its axes.
    x: str
    y: str
    # From the scores to the values of x at which bands are drawn.
    grid: Callable[[Scores | BinnedScores], Array]
    # From drawn ROC curves and values of x to those of y, (draws, k).
    along: Callable[[RocDraws, Array], Array]
    # From the numbers of false positives and false negatives at every threshold to the points that are drawn.
    kept: Callable[[Counts, Counts], slice]

    def points(self, tp: Counts, fn: Counts, fp: Counts, tn: Counts) -> tuple[Array, Array]:
        """Return both metrics of counts; precision is 1 where nothing is called positive, as in scikit-learn."""
        cells = {"tp": tp, "fn": fn, "fp": fp, "tn": tn}
        with np.errstate(invalid="ignore"):
            x, y = (m.function(**{name: cells[name] for name in m.arguments}) for m in self.metrics)
        return x, np.where(np.isnan(y), 1.0, y)

    @property
    def metrics(self) -> tuple[metrics.Metric, metrics.Metric]:
        """The metrics on its axes."""
        return metrics.get(self.x), metrics.get(self.y)


def _grid_in_normal_deviates(scores: Scores | BinnedScores) -> Array:
    """Return points evenly spaced in normal deviates, as far out as 1 in n + 1 of n negatives (1 in 20 at least)."""
    reach = ndtri(1 / max(scores.class_totals[0] + 1, 20))
    return np.asarray(ndtr(reach * (1 - 2 * EVEN)))


def _fnr(drawn: RocDraws, fpr: Array) -> Array:
    return 1 - drawn.recall(fpr)


def _precision(drawn: RocDraws, recall: Array) -> Array:
    """Return the precision at given recalls: between two thresholds both counts change evenly, precision does not.

    Davis & Goadrich (2006), The relationship between precision-recall and ROC curves, ICML.
    """
    prevalence = drawn.prevalence
    tp, fp = prevalence * recall, (1 - prevalence) * drawn.fpr(recall)
    return np.asarray(metrics.get("precision").function(tp=tp, fp=fp))


def _between_no_errors(fp: Counts, fn: Counts) -> slice:
    """Return the points from the last threshold without a false positive to the first without a false negative."""
    return slice(int(np.searchsorted(fp, 0, side="right")) - 1, len(fn) - int((fn == 0).sum()) + 1)


CURVE_KINDS = {
    kind.name: kind
    for kind in (
        CurveKind("roc", "fpr", "recall", lambda _: EVEN, lambda drawn, fpr: drawn.recall(fpr), lambda *_: slice(None)),
        CurveKind("precision_recall", "recall", "precision", lambda _: EVEN[1:], _precision, lambda *_: slice(None)),
        CurveKind("det", "fpr", "fnr", _grid_in_normal_deviates, _fnr, _between_no_errors),
    )
}
