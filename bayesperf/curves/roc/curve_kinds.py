"""What distinguishes ROC, precision–recall and DET curves: their axes, and where their bands are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from bayesperf import metrics
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.fields import Applied, Held, applied, by_name
from bayesperf.curves.roc.curve_draws import RocDraws
from bayesperf.data.binned_scores import BinnedScores
from bayesperf.data.classifier_scores import Scores

# Values of x at which the bands of ROC curves are drawn.
EVEN = np.linspace(0, 1, 201)


@by_name
def _every_point(fp: Counts, fn: Counts) -> slice:
    return slice(None)


@dataclass(frozen=True)
class CurveKind(Held):
    """A kind of curve."""

    # What it is called.
    name: str
    # The metrics on its axes.
    x: str
    y: str
    # From the scores to the values of x at which bands are drawn.
    grid: Applied
    # From drawn ROC curves and values of x to those of y, (draws, k).
    along: Applied
    # From the numbers of false positives and false negatives at every threshold to the points that are drawn.
    kept: Applied

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


@by_name
def _even_grid(_: Scores | BinnedScores) -> Array:
    return EVEN


@by_name
def _positive_grid(_: Scores | BinnedScores) -> Array:
    return EVEN[1:]


@by_name
def _grid_in_normal_deviates(scores: Scores | BinnedScores) -> Array:
    """Return points evenly spaced in normal deviates, as far out as 1 in n + 1 of n negatives (1 in 20 at least)."""
    reach = ndtri(1 / max(scores.class_totals[0] + 1, 20))
    return np.asarray(ndtr(reach * (1 - 2 * EVEN)))


@by_name
def _recall(drawn: RocDraws, fpr: Array) -> Array:
    return drawn.recall(fpr)


@by_name
def _fnr(drawn: RocDraws, fpr: Array) -> Array:
    return 1 - drawn.recall(fpr)


@by_name
def _precision(drawn: RocDraws, recall: Array) -> Array:
    """Return the precision at given recalls: between two thresholds both counts change evenly, precision does not.

    Davis & Goadrich (2006), The relationship between precision-recall and ROC curves, ICML.
    """
    prevalence = drawn.prevalence
    tp, fp = prevalence * recall, (1 - prevalence) * drawn.fpr(recall)
    return np.asarray(metrics.get("precision").function(tp=tp, fp=fp))


@by_name
def _between_no_errors(fp: Counts, fn: Counts) -> slice:
    """Return the points from the last threshold without a false positive to the first without a false negative."""
    return slice(int(np.searchsorted(fp, 0, side="right")) - 1, len(fn) - int((fn == 0).sum()) + 1)


ROC = CurveKind("roc", "fpr", "recall", applied(_even_grid), applied(_recall), applied(_every_point))
PRECISION_RECALL = CurveKind(
    "precision_recall", "recall", "precision", applied(_positive_grid), applied(_precision), applied(_every_point)
)
DET = CurveKind("det", "fpr", "fnr", applied(_grid_in_normal_deviates), applied(_fnr), applied(_between_no_errors))
