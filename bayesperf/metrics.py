"""The table of metrics: one row each, and nobody else knows a metric's formula.

A metric is a small function whose argument names say which cells it needs, with its facts beside it. The same function
serves counts, probabilities, posterior draws (any leading shape) and complex steps. To add one, add a row.

The arguments a metric may ask for:

=================================  ====================================================================
``tp``, ``fn``, ``fp``, ``tn``     cells of a binary matrix; of each class against the rest when averaged
``correct``, ``wrong``             sums on and off the diagonal
``within_one``, ``beyond_one``     sums up to one class off the diagonal and farther (ordered classes)
``cells``                          the whole matrix ``(..., actual, predicted)``
=================================  ====================================================================
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesperf._exact import (
    FALSE_ALARMS, HITS, MISSES, NPV, PRECISION, RECALL, SPECIFICITY, Exact, Mixture, Pair, Share, Transform,
)  # fmt: skip

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from bayesperf.counts import ConfusionMatrix

Array = NDArray[Any]
Needs = Literal["binary", "classes", "ordered"]
AVERAGES = ("macro", "micro", "weighted", "per_class")


def _distance(classes: int) -> Array:
    return np.abs(np.subtract.outer(np.arange(classes), np.arange(classes)))


def _masked_sum(cells: Array, mask: Array) -> Array:
    return np.asarray((cells * mask).sum((-2, -1)))


# How each argument is taken from a matrix, given the position of its positive class.
ARGUMENTS: dict[str, Callable[[Array, int], Array]] = {
    "tp": lambda cells, positive: cells[..., positive, positive],
    "fn": lambda cells, positive: cells[..., positive, 1 - positive],
    "fp": lambda cells, positive: cells[..., 1 - positive, positive],
    "tn": lambda cells, positive: cells[..., 1 - positive, 1 - positive],
    "correct": lambda cells, _: np.einsum("...ii->...", cells),
    "wrong": lambda cells, _: _masked_sum(cells, _distance(cells.shape[-1]) > 0),
    "within_one": lambda cells, _: _masked_sum(cells, _distance(cells.shape[-1]) <= 1),
    "beyond_one": lambda cells, _: _masked_sum(cells, _distance(cells.shape[-1]) > 1),
    "cells": lambda cells, _: cells,
}
_BINARY_ARGUMENTS = {"tp", "fn", "fp", "tn"}


@dataclass(frozen=True)
class Metric:
    """A metric with its facts.

    Attributes
    ----------
    name : str
        Canonical name.
    function : callable
        The formula; its argument names are the cells it needs.
    aliases : tuple of str
        Other names that resolve to it.
    bounds : tuple of float
        Smallest and greatest possible value.
    greater_is_better : bool or None
        Direction; None where neither is better (prevalence).
    needs : {"binary", "classes", "ordered"}
        A binary matrix with a positive class, any number of classes, or classes in their order.
    exact : Share, Transform, Mixture or None
        Its posterior in closed form or by quadrature, for a binary matrix if `needs` is "binary" (or the form pairs the
        two rows or columns), else for any; None means Monte Carlo.
    average : {None, "macro", "micro", "weighted", "per_class"}
        How the one-vs-rest values of K classes become one.
    micro : callable or None
        From the number of classes, the exact form of the micro average.
    """

    name: str
    function: Callable[..., Any]
    aliases: tuple[str, ...] = ()
    bounds: tuple[float, float] = (0.0, 1.0)
    greater_is_better: bool | None = True
    needs: Needs = "binary"
    exact: Exact | None = None
    average: str | None = None
    micro: Callable[[int], Exact] | None = None

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of the cells that the function takes."""
        return tuple(inspect.signature(self.function).parameters)

    @property
    def title(self) -> str:
        """The name in words, for tables and plots."""
        return self.name.replace("_", " ")

    def exact_form(self, classes: int) -> Exact | None:
        """Return the exact form of the posterior for a number of classes, or None."""
        match self.average:
            case "micro":
                return self.micro(classes) if self.micro else None
            case "weighted":
                return None
            case "macro" if self.needs == "binary" or classes > 2:
                return None
        binary_only = isinstance(self.exact, Mixture) and self.needs != "binary"
        return None if binary_only and classes > 2 else self.exact

    def evaluate(self, cells: Array, positive: int | None = None, skip_undefined: bool = False) -> Array:
        """Return the metric of matrices ``(..., K, K)``; with a last axis K if averaged "per_class".

        Undefined values (0/0) are NaN. `skip_undefined` leaves classes whose value is NaN out of macro and weighted
        means, as scikit-learn does.
        """
        cells = np.asarray(cells)
        cells = cells if cells.dtype.kind in "fc" else cells.astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.average is None:
                position = 1 if positive is None else positive
                return np.asarray(self.function(**{a: ARGUMENTS[a](cells, position) for a in self.arguments}))
            parts = one_vs_rest(cells)
            if self.average == "micro":
                return np.asarray(self.function(**{a: parts[a].sum(-1) for a in self.arguments}))
            values = np.asarray(self.function(**{a: parts[a] for a in self.arguments}))
            if self.average == "per_class":
                return values
            weights = parts["tp"] + parts["fn"] if self.average == "weighted" else np.ones_like(values)
            if skip_undefined:
                weights = np.where(np.isfinite(values), weights, 0)
                values = np.where(np.isfinite(values), values, 0)
            return np.asarray((weights * values).sum(-1) / weights.sum(-1))

    def of_binary(self, tp: Array, fn: Array, fp: Array, tn: Array) -> Array:
        """Return the metric of binary cells, also if it is meant for each class against the rest."""
        cells = np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2)
        average = self.average if self.needs == "classes" else None
        return replace(self, average=average).evaluate(cells, 1)

    def depends_on_prevalence(self, classes: int) -> bool:
        """Whether re-weighting the actual classes changes the metric (found by trying it on two tables)."""
        rows = np.arange(1.0, classes + 1)[:, None]
        table = 1 + np.cos(rows * np.arange(1, classes + 1)) ** 2
        before, after = self.evaluate(table, 0), self.evaluate(table * rows, 0)
        return not np.allclose(before, after, rtol=1e-9, atol=1e-12)


def one_vs_rest(cells: Array) -> dict[str, Array]:
    """Return tp, fn, fp, tn of each class against the rest, ``(..., K)`` each, of matrices ``(..., K, K)``."""
    tp = np.einsum("...ii->...i", cells)
    fn, fp = cells.sum(-1) - tp, cells.sum(-2) - tp
    # Summed, not subtracted from the total: posterior draws of tiny cells must not come out negative.
    classes = np.arange(cells.shape[-1])
    rest = (classes[:, None, None] != classes[:, None]) & (classes[:, None, None] != classes)
    tn = np.einsum("...ij,kij->...k", cells, rest.astype(float))
    return {"tp": tp, "fn": fn, "fp": fp, "tn": tn}


_TABLE: dict[str, Metric] = {}
_ALIASES: dict[str, str] = {}


def _add(metric: Metric) -> None:
    unknown = set(metric.arguments) - set(ARGUMENTS)
    if unknown or not metric.arguments:
        raise ValueError(
            f"metric {metric.name!r}: its function's arguments must be among {', '.join(ARGUMENTS)}; "
            f"it takes {', '.join(metric.arguments) or 'none'}."
        )
    for name in (metric.name, *metric.aliases):
        if name in _ALIASES or (_FBETA.fullmatch(name) and name != "f1"):
            raise ValueError(f"a metric named {name!r} exists already.")
        if any(name.endswith(f"_{average}") for average in AVERAGES):
            raise ValueError(f"metric {name!r}: names ending in _{', _'.join(AVERAGES)} are kept for averages.")
    _TABLE[metric.name] = metric
    _ALIASES.update(dict.fromkeys((metric.name, *metric.aliases), metric.name))


def _row(**facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function into the table under its own name (less a trailing underscore)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        _add(Metric(function.__name__.rstrip("_"), function, **facts))
        return function

    return enter


_FBETA = re.compile(r"f(\d+(?:\.\d+)?)")

# The exact forms of micro averages. Every wrong prediction is one false positive and one false negative, so that with
# accuracy A: Σtp = A, Σfn = Σfp = 1 − A, Σtn = (K − 1)A + (K − 2)(1 − A).
_ACCURACY = Share(("correct",), ("wrong",))
_ERROR = Share(("wrong",), ("correct",))


def _micro_jaccard(_: int) -> Exact:
    return Transform(_ACCURACY, lambda a: a / (2 - a), lambda t: 2 * t / (1 + t))


def _micro_rest(classes: int) -> Exact:
    k = classes - 1
    return Transform(_ACCURACY, lambda a: 1 - (1 - a) / k, lambda t: 1 - k * (1 - t))


def _micro_rest_error(classes: int) -> Exact:
    k = classes - 1
    return Transform(_ERROR, lambda e: e / k, lambda t: k * t)


def _micro_accuracy(_: int) -> Exact:
    return _ACCURACY


def _micro_error(_: int) -> Exact:
    return _ERROR


# ── Shares of examples ────────────────────────────────────────────────────────────────────────────────────────────────


@_row(aliases=("acc",), needs="classes", exact=_ACCURACY)
def accuracy(correct, wrong):
    """Share of examples predicted correctly."""
    return correct / (correct + wrong)


@_row(aliases=("err",), needs="classes", greater_is_better=False, exact=_ERROR)
def error_rate(correct, wrong):
    """Share of examples predicted wrongly, 1 − accuracy."""
    return wrong / (correct + wrong)


@_row(aliases=("ppv", "positive_predictive_value"), exact=PRECISION, micro=_micro_accuracy)
def precision(tp, fp):
    """Share of predicted positives that are positive."""
    return tp / (tp + fp)


@_row(aliases=("sensitivity", "tpr", "true_positive_rate", "hit_rate"), exact=RECALL,
      micro=_micro_accuracy)  # fmt: skip
def recall(tp, fn):
    """Share of positives that are found."""
    return tp / (tp + fn)


@_row(aliases=("tnr", "selectivity", "true_negative_rate"), exact=SPECIFICITY, micro=_micro_rest)
def specificity(fp, tn):
    """Share of negatives predicted negative."""
    return tn / (tn + fp)


@_row(aliases=("negative_predictive_value",), exact=NPV, micro=_micro_rest)
def npv(fn, tn):
    """Share of predicted negatives that are negative."""
    return tn / (tn + fn)


@_row(aliases=("far", "false_positive_rate", "fall_out"), greater_is_better=False, exact=FALSE_ALARMS,
      micro=_micro_rest_error)  # fmt: skip
def fpr(fp, tn):
    """False positive (false acceptance) rate, 1 − specificity."""
    return fp / (fp + tn)


@_row(aliases=("frr", "false_negative_rate", "miss_rate"), greater_is_better=False, exact=MISSES,
      micro=_micro_error)  # fmt: skip
def fnr(tp, fn):
    """False negative (false rejection) rate, 1 − recall."""
    return fn / (fn + tp)


@_row(aliases=("false_discovery_rate",), greater_is_better=False, exact=Share(("fp",), ("tp",)), micro=_micro_error)
def fdr(tp, fp):
    """Share of predicted positives that are negative, 1 − precision."""
    return fp / (fp + tp)


@_row(aliases=("for",), greater_is_better=False, exact=Share(("fn",), ("tn",)), micro=_micro_rest_error)
def false_omission_rate(fn, tn):
    """Share of predicted negatives that are positive, 1 − npv."""
    return fn / (fn + tn)


@_row(greater_is_better=None, exact=Share(("tp", "fn"), ("fp", "tn")))
def prevalence(tp, fn, fp, tn):
    """Share of examples that are positive."""
    return (tp + fn) / (tp + fn + fp + tn)


@_row(aliases=("csi", "critical_success_index", "threat_score", "iou"), exact=Share(("tp",), ("fn", "fp")),
      micro=_micro_jaccard)  # fmt: skip
def jaccard(tp, fn, fp):
    """Positives found, of all that are or are called positive (intersection over union)."""
    return tp / (tp + fn + fp)


# ── Combinations of precision and recall ──────────────────────────────────────────────────────────────────────────────


@_row(aliases=("f1_score", "dice"), micro=_micro_accuracy,
      exact=Transform(Share(("tp",), ("fn", "fp")), lambda j: 2 * j / (1 + j), lambda t: t / (2 - t)))  # fmt: skip
def f1(tp, fn, fp):
    """Harmonic mean of precision and recall; 2J/(1 + J) with J the Jaccard index."""
    return 2 * tp / (2 * tp + fn + fp)


def fbeta(beta: float) -> Metric:
    """Return F_β: the weighted harmonic mean of precision and recall, recall β² times as heavy.

    Parameters
    ----------
    beta : float
        Greater than 0. ``"f2"`` and ``"f0.5"`` are short for it in every place that takes a metric's name.

    Notes
    -----
    Given the share W of false positives among all errors on positives, F_β ≤ t exactly if the Jaccard index is at most
    gt/(k(1 − t) + gt), with g = W + β²(1 − W) and k = 1 + β².

    Examples
    --------
    >>> from bayesperf import metrics
    >>> metrics.fbeta(2).name
    'f2'
    """
    if not 0 < beta < np.inf:
        raise ValueError(f"beta must be greater than 0 and finite; it is {beta}.")
    if beta == 1:
        return _TABLE["f1"]
    square = float(beta) ** 2
    k = 1 + square

    def function(tp, fn, fp):  # type: ignore[no-untyped-def]
        return k * tp / (k * tp + square * fn + fp)

    def jaccard_at(t: Array, w: Array, rest: Array) -> Array:
        g = w + square * rest
        return np.asarray(g * t / (k * (1 - t) + g * t))

    return Metric(f"f{beta:g}", function, exact=Mixture(HITS, jaccard_at), micro=_micro_accuracy)


def _jaccard_at_fowlkes_mallows(t: Array, w: Array, rest: Array) -> Array:
    # (J + (1 − J)W)(J + (1 − J)(1 − W)) = J²/t², a quadratic in the odds J/(1 − J).
    square = t * t
    odds = square * (1 + np.sqrt(1 + 4 * w * rest * (1 - square) / square)) / (2 * (1 - square))
    return np.asarray(odds / (1 + odds))


@_row(aliases=("fm", "g_measure"), exact=Mixture(HITS, _jaccard_at_fowlkes_mallows), micro=_micro_accuracy)
def fowlkes_mallows(tp, fn, fp):
    """Geometric mean of precision and recall."""
    return tp / np.sqrt((tp + fn) * (tp + fp))


# ── Combinations of the two rates, recall and specificity ─────────────────────────────────────────────────────────────
# Of each rate and its complement the pair takes the one that is near 0 where the metric is extreme: near 1 numbers are
# 1e-16 apart, which is coarse for a Beta with a parameter of 1/4.

_RATES = Pair(RECALL, SPECIFICITY)
# The macro average of recall, of any number of classes.
_add(Metric("balanced_accuracy", recall, aliases=("bac",), needs="classes", average="macro",
            exact=Mixture(_RATES, lambda t, s, _: 2 * t - s, lambda t, r, _: 2 * t - r)))  # fmt: skip


@_row(aliases=("hter",), greater_is_better=False,
      exact=Mixture(Pair(MISSES, FALSE_ALARMS), lambda t, w, _: 2 * t - w, lambda t, x, _: 2 * t - x))  # fmt: skip
def half_total_error_rate(tp, fn, fp, tn):
    """Mean of the false positive and the false negative rate."""
    return (fn / (tp + fn) + fp / (fp + tn)) / 2


def _share_at_sum(t: Array, share: Array, _: Array) -> Array:
    return np.asarray(1 + t - share)


@_row(aliases=("youden_j", "bookmaker_informedness"), bounds=(-1.0, 1.0),
      exact=Mixture(_RATES, _share_at_sum, _share_at_sum))  # fmt: skip
def informedness(tp, fn, fp, tn):
    """Youden's J: recall + specificity − 1."""
    return tp / (tp + fn) + tn / (fp + tn) - 1


@_row(aliases=("g_mean",), exact=Mixture(_RATES, lambda t, s, _: t * t / s, lambda t, r, _: t * t / r,
                                         powers=(0.5, 0, 0.5, 0)))  # fmt: skip
def geometric_mean(tp, fn, fp, tn):
    """Geometric mean of recall and specificity."""
    return np.sqrt(tp / (tp + fn) * (tn / (fp + tn)))


@_row(aliases=("lr+", "plr"), bounds=(0.0, np.inf),
      exact=Mixture(Pair(RECALL, FALSE_ALARMS), lambda t, w, _: t * w, lambda t, x, _: x / t, increasing_outer=False,
                    powers=(1, 0, -1, 0)))  # fmt: skip
def positive_likelihood_ratio(tp, fn, fp, tn):
    """How much more often positives are called positive than negatives are: recall / fpr."""
    return tp / (tp + fn) / (fp / (fp + tn))


@_row(aliases=("lr-", "nlr"), bounds=(0.0, np.inf), greater_is_better=False,
      exact=Mixture(Pair(MISSES, SPECIFICITY), lambda t, w, _: t * w, lambda t, x, _: x / t, increasing_outer=False,
                    powers=(1, 0, -1, 0)))  # fmt: skip
def negative_likelihood_ratio(tp, fn, fp, tn):
    """How much more often positives are called negative than negatives are: fnr / specificity."""
    return fn / (tp + fn) / (tn / (fp + tn))


def _error_at_odds_ratio(t: Array, error: Array, rest: Array) -> Array:
    return np.asarray(rest / (t * error + rest))


@_row(aliases=("dor",), bounds=(0.0, np.inf),
      exact=Mixture(Pair(MISSES, FALSE_ALARMS), _error_at_odds_ratio, _error_at_odds_ratio, increasing=False,
                    increasing_outer=False, powers=(-1, 1, -1, 1)))  # fmt: skip
def diagnostic_odds_ratio(tp, fn, fp, tn):
    """Ratio of the likelihood ratios, (tp·tn)/(fn·fp)."""
    return tp / fn * (tn / fp)


@_row(aliases=("pt",), greater_is_better=False,
      exact=Mixture(Pair(RECALL, FALSE_ALARMS), lambda t, w, _: w * (1 / t - 1) ** 2,
                    lambda t, x, _: x / (1 / t - 1) ** 2, increasing=False))  # fmt: skip
def prevalence_threshold(tp, fn, fp, tn):
    """Prevalence below which precision falls most steeply: √fpr / (√recall + √fpr)."""
    return np.sqrt(fp / (fp + tn)) / (np.sqrt(tp / (tp + fn)) + np.sqrt(fp / (fp + tn)))


# ── The whole matrix ──────────────────────────────────────────────────────────────────────────────────────────────────


@_row(aliases=("delta_p",), bounds=(-1.0, 1.0),
      exact=Mixture(Pair(PRECISION, NPV), _share_at_sum, _share_at_sum))  # fmt: skip
def markedness(tp, fn, fp, tn):
    """Return precision + npv − 1."""
    return tp / (tp + fp) + tn / (fn + tn) - 1


@_row()
def p4(tp, fn, fp, tn):
    """Harmonic mean of precision, recall, specificity and npv."""
    return 4 * tp * tn / (4 * tp * tn + (tp + tn) * (fp + fn))


@_row(aliases=("mcc", "phi"), bounds=(-1.0, 1.0), needs="classes")
def matthews_corrcoef(cells):
    """Correlation of actual and predicted classes (of K classes: Gorodkin's R_K)."""
    actual, predicted = cells.sum(-1), cells.sum(-2)
    total = actual.sum(-1)
    covariance = np.einsum("...ii->...", cells) * total - (actual * predicted).sum(-1)
    variances = (total**2 - (actual**2).sum(-1)) * (total**2 - (predicted**2).sum(-1))
    return covariance / np.sqrt(variances)


def _kappa(cells: Array, disagreement: Array) -> Array:
    chance = cells.sum(-1)[..., :, None] * cells.sum(-2)[..., None, :]
    observed = (disagreement * cells).sum((-2, -1)) * cells.sum((-2, -1))
    return np.asarray(1 - observed / (disagreement * chance).sum((-2, -1)))


@_row(aliases=("kappa",), bounds=(-1.0, 1.0), needs="classes")
def cohen_kappa(cells):
    """Agreement beyond chance."""
    return _kappa(cells, _distance(cells.shape[-1]) > 0)


@_row(aliases=("quadratic_weighted_kappa", "qwk"), bounds=(-1.0, 1.0), needs="ordered")
def weighted_kappa(cells):
    """Agreement beyond chance, errors weighted by the square of their distance in classes."""
    return _kappa(cells, _distance(cells.shape[-1]) ** 2)


@_row(aliases=("mae",), bounds=(0.0, np.inf), greater_is_better=False, needs="ordered")
def mean_absolute_error(cells):
    """Mean distance, in classes, between the actual and the predicted class."""
    return _masked_sum(cells, _distance(cells.shape[-1])) / cells.sum((-2, -1))


@_row(aliases=("adjacent_accuracy",), needs="ordered", exact=Share(("within_one",), ("beyond_one",)))
def off_by_one(within_one, beyond_one):
    """Share of examples predicted at most one class off."""
    return within_one / (within_one + beyond_one)


def cost(cost_matrix: ArrayLike) -> Metric:
    """Return the mean cost of an example as a metric.

    Parameters
    ----------
    cost_matrix : array-like (K, K)
        Cost of each outcome, rows actual and columns predicted, in the order of the labels; gains are negative costs.

    Raises
    ------
    ValueError
        If the matrix is not square or not finite.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    >>> bp.score(cm, bp.metrics.cost([[0, 1], [5, 0]])).item()
    0.55
    """
    matrix = np.asarray(cost_matrix, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise ValueError(f"cost_matrix must be square and finite; its shape is {matrix.shape}.")

    def function(cells):  # type: ignore[no-untyped-def]
        if cells.shape[-1] != len(matrix):
            raise ValueError(f"cost_matrix is for {len(matrix)} classes; the confusion matrix has {cells.shape[-1]}.")
        return _masked_sum(cells, matrix) / cells.sum((-2, -1))

    bounds = (float(matrix.min()), float(matrix.max()))
    return Metric("cost", function, bounds=bounds, greater_is_better=False, needs="classes")


# ── Looking metrics up ────────────────────────────────────────────────────────────────────────────────────────────────


def names(needs: Needs | None = None) -> list[str]:
    """Return the canonical names of all metrics, or of those that need a binary matrix, classes or ordered classes.

    Examples
    --------
    >>> from bayesperf import metrics
    >>> metrics.names("ordered")
    ['weighted_kappa', 'mean_absolute_error', 'off_by_one']
    """
    return [metric.name for metric in _TABLE.values() if needs in (None, metric.needs)]


def get(name: str | Metric) -> Metric:
    """Return a metric by its name, alias, ``"f<beta>"``, or any of them with an average's suffix.

    Raises
    ------
    ValueError
        If there is none of that name; the error offers the nearest.

    Examples
    --------
    >>> from bayesperf import metrics
    >>> metrics.get("ppv").name, metrics.get("sensitivity_macro").name
    ('precision', 'recall_macro')
    """
    if isinstance(name, Metric):
        return name
    if not isinstance(name, str):
        raise TypeError(f"metric must be a name or a Metric; it is {type(name).__name__}.")
    if name in _ALIASES:
        return _TABLE[_ALIASES[name]]
    if beta := _FBETA.fullmatch(name):
        return fbeta(float(beta[1]))
    for average in AVERAGES:
        if name.endswith(f"_{average}"):
            base = get(name.removesuffix(f"_{average}"))
            if not set(base.arguments) <= _BINARY_ARGUMENTS or base.average:
                raise ValueError(f"metric {name!r}: {base.name} is one number for all classes and has no averages.")
            facts: dict[str, Any] = {"bounds": (0.0, 1.0)} if base.name == "prevalence" else {}
            return replace(base, name=f"{base.name}_{average}", aliases=(), average=average, **facts)
    near = difflib.get_close_matches(name, [*_ALIASES, *(f"{n}_{a}" for n in names("binary") for a in AVERAGES)])
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "bayesperf.metrics.names() lists them."
    raise ValueError(f"no metric named {name!r}: {hint}")


def applicable(name: str | Metric, labels: Sequence[Any], positive: int | None) -> Metric:
    """Return the metric if it can be computed for these labels.

    Raises
    ------
    ValueError
        If the metric is binary and there are more than two classes, or two of which none is the positive one.
    """
    metric = get(name)
    if metric.needs == "binary" and metric.average is None:
        if len(labels) > 2:
            options = ", ".join(f"{metric.name}_{average}" for average in AVERAGES)
            raise ValueError(f"metric {metric.name!r} is binary and there are {len(labels)} classes: use {options}.")
        if positive is None:
            raise ValueError(
                f"metric {metric.name!r} needs a positive class: name one of {list(labels)} as pos_label when making "
                f"the ConfusionMatrix, as pos_label={labels[-1]!r}."
            )
    return metric


def headline(classes: int) -> list[str]:
    """Return the names that a summary shows when none are asked for."""
    if classes == 2:
        return ["accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f1", "matthews_corrcoef"]
    return ["accuracy", "balanced_accuracy", "precision_macro", "recall_macro", "f1_macro", "matthews_corrcoef"]


def register(
    name: str,
    function: Callable[..., Any],
    *,
    aliases: Sequence[str] = (),
    bounds: tuple[float, float] = (-np.inf, np.inf),
    greater_is_better: bool | None = True,
) -> Metric:
    """Add a metric of your own to the table; from then on its name works wherever a metric's name does.

    Parameters
    ----------
    name : str
        A name not yet taken.
    function : callable
        Takes any of the named cells ``tp, fn, fp, tn`` (of a binary matrix; suffixes then give averages), ``correct``,
        ``wrong``, or ``cells`` (..., actual, predicted), and returns values of the leading shape. It is called with
        counts, probabilities and posterior draws alike, so use NumPy operations only.
    aliases : sequence of str
        Other names.
    bounds : tuple of float
        Smallest and greatest possible value.
    greater_is_better : bool or None
        Direction.

    Raises
    ------
    ValueError
        If a name is taken, or the function takes other arguments.

    Examples
    --------
    >>> import bayesperf as bp
    >>> net = bp.metrics.register("net_benefit", lambda tp, fn, fp, tn: (tp - fp) / (tp + fn + fp + tn))
    >>> cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    >>> bp.score(cm, "net_benefit").item()
    0.35
    >>> bp.metrics.unregister("net_benefit")
    """
    arguments = set(inspect.signature(function).parameters)
    needs: Needs = "binary" if arguments <= _BINARY_ARGUMENTS else "classes"
    metric = Metric(name, function, tuple(aliases), bounds, greater_is_better, needs)
    _add(metric)
    return metric


def unregister(name: str) -> None:
    """Take a metric out of the table again."""
    metric = get(name)
    del _TABLE[metric.name]
    for alias in (metric.name, *metric.aliases):
        del _ALIASES[alias]


def table() -> pd.DataFrame:
    """Return every metric with its facts, a row each: what the documentation prints."""
    import pandas as pd

    rows = [
        {
            "name": metric.name,
            "aliases": ", ".join(metric.aliases),
            "needs": metric.needs,
            "bounds": metric.bounds,
            "greater_is_better": metric.greater_is_better,
            "posterior": metric.exact.method if metric.exact else "draws",
            "description": (inspect.getdoc(metric.function) or "").splitlines()[0:1],
        }
        for metric in _TABLE.values()
    ]
    return pd.DataFrame(rows).explode("description", ignore_index=True)


def score(cm: ConfusionMatrix, metric: str | Metric) -> xr.DataArray:
    """Return the point value of a metric for every matrix.

    Parameters
    ----------
    cm : ConfusionMatrix
        Counts, with any leading dims.
    metric : str or Metric
        A name of `names`, an alias, or a metric object.

    Returns
    -------
    xarray.DataArray
        Over the leading dims (and ``label`` for ``_per_class``). Undefined values (a denominator of 0) are NaN; macro
        and weighted averages leave out the classes where the metric is undefined.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    >>> bp.score(cm, "recall").item()
    0.8
    """
    import xarray as xr

    positive = None if cm.pos_label is None else cm.labels.index(cm.pos_label)
    found = applicable(metric, cm.labels, positive)
    values = found.evaluate(cm.counts.values, positive, skip_undefined=True)
    dims = (*cm.dims, *(["label"] if found.average == "per_class" else []))
    coords = {name: value for name, value in cm.counts.coords.items() if set(value.dims) <= set(cm.dims)}
    if found.average == "per_class":
        coords["label"] = cm.labels
    return xr.DataArray(np.where(np.isfinite(values), values, np.nan), coords, dims, name=found.name)
