"""What distinguishes ROC, precision–recall and DET curves, and which of their thresholds meets a target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from bayesperf import metrics
from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.curves.roc.curve_draws import RocDraws
from bayesperf.data.binned_scores import BinnedScores
from bayesperf.data.classifier_scores import Scores

# Values of x at which the bands of ROC curves are drawn.
EVEN = np.linspace(0, 1, 201)


class CurveKind(NamedTuple):
    """A kind of curve."""

    # Its name.
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


# From the false positive rates and recalls at all thresholds, (draws, T), and the prevalence, (draws, 1), to the number
# of the threshold that meets a target in each draw, (draws,).
Choice = Callable[[Array, Array, Array], Codes]


def threshold_choice(fpr: float | None, recall: float | None, cost: Any) -> tuple[str, Choice]:
    """Return a target in words, and a function that chooses the threshold that meets it."""
    options = {"fpr": fpr, "recall": recall, "cost": cost}
    targets = {name: value for name, value in options.items() if value is not None}
    if len(targets) != 1:
        got = ", ".join(targets) or "none"
        raise InputTypeError("operating_point", f"takes one target: fpr, recall or cost; it got {got}.")
    ((name, value),) = targets.items()
    return {"fpr": _greatest_fpr, "recall": _least_recall, "cost": _least_cost}[name](value)


def _greatest_fpr(target: Any) -> tuple[str, Choice]:
    """Choose the lowest threshold whose false positive rate is at most the target."""
    most = checks.probability("fpr", target)
    return f"lowest threshold with fpr ≤ {most:g}", lambda fpr, *_: (fpr <= most).sum(-1) - 1


def _least_recall(target: Any) -> tuple[str, Choice]:
    """Choose the highest threshold whose recall is at least the target."""
    least = checks.probability("recall", target)
    return f"highest threshold with recall ≥ {least:g}", lambda _, recall, __: (recall < least).sum(-1)


def _least_cost(target: Any) -> tuple[str, Choice]:
    """Choose the threshold of least mean cost, the lowest of several."""
    if not isinstance(target, tuple | list) or len(target) not in (2, 3):
        raise InputTypeError("cost", f"must be (cost_fp, cost_fn) or (cost_fp, cost_fn, prevalence); it is {target!r}.")
    of_fp, of_fn = (checks.number(name, cost) for name, cost in zip(("cost_fp", "cost_fn"), target, strict=False))
    if not (0 < of_fp < np.inf and 0 < of_fn < np.inf):
        raise InputError("cost", f"both costs must be greater than 0 and finite; they are {of_fp:g} and {of_fn:g}.")
    fixed = checks.probability("cost: the prevalence", target[2]) if len(target) == 3 else None

    def choose(fpr: Array, recall: Array, prevalence: Array) -> Codes:
        positives = prevalence if fixed is None else fixed
        mean_cost = of_fp * (1 - positives) * fpr + of_fn * positives * (1 - recall)
        return np.asarray(fpr.shape[-1] - 1 - mean_cost[:, ::-1].argmin(-1))

    at = "the observed prevalence" if fixed is None else f"prevalence {fixed:g}"
    return f"least cost, {of_fp:g} a false positive and {of_fn:g} a false negative, at {at}", choose
