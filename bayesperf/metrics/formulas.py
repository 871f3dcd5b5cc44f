"""Definitions of all metrics; nothing else holds the formula of a metric of cells.

A metric is a small function whose argument names determine which cells it needs; its properties are given in the
decorator. The same function is used for counts, probabilities, posterior draws (of any leading shape) and complex-step
derivatives. To add a metric, add a decorated function.

The arguments that a metric may have:

=================================  ====================================================================
``tp``, ``fn``, ``fp``, ``tn``     cells of a binary matrix; of each class against the rest for averages
``hits``                           examples of each class that were predicted right, ``(..., K)``
``misses``, ``false_alarms``       examples of each class predicted as others, and vice versa
``correct``, ``wrong``             sums on and off the diagonal
``within_one``, ``beyond_one``     sums up to one class off the diagonal and farther (ordered classes)
``cells``                          the whole matrix ``(..., actual, predicted)``
``shares``, ``grades``             counts or probabilities of each grade, ``(..., G)``, and the grades' values
=================================  ====================================================================
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Numbers, sums_of_others
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held, applied, by_name
from bayesperf.metrics.arguments import distance, masked_sum
from bayesperf.metrics.exact_forms import (
    FALSE_ALARMS,
    HITS,
    JACCARD,
    JACCARD_OF_RATES,
    MISSES,
    NPV,
    PRECISION,
    RECALL,
    SPECIFICITY,
    Correlation,
    Fraction,
    IncreasingFunction,
    Level,
    Proportion,
    ProportionPair,
    TwoProportions,
    f1_of_jaccard,
    jaccard_of_f1,
    micro_accuracy,
    micro_error,
    micro_jaccard,
    micro_rest,
    micro_rest_error,
)
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import FAMILIES, add, get, row

# ── Proportions of examples ───────────────────────────────────────────────────────────────────────────────────────────


@row(aliases=("acc", "pass_rate"), needs="classes", exact=Proportion(("correct",), ("wrong",)))
def accuracy(correct, wrong):
    """Proportion of examples predicted correctly."""
    return correct / (correct + wrong)


@row(aliases=("err",), needs="classes", greater_is_better=False, exact=Proportion(("wrong",), ("correct",)))
def error_rate(correct, wrong):
    """Proportion of examples predicted wrongly, 1 − accuracy."""
    return wrong / (correct + wrong)


@row(aliases=("ppv", "positive_predictive_value"), exact=PRECISION, micro=micro_accuracy)
def precision(tp, fp):
    """Proportion of predicted positives that are positive."""
    return tp / (tp + fp)


@row(aliases=("sensitivity", "tpr", "true_positive_rate", "hit_rate"), exact=RECALL,
      micro=micro_accuracy)  # fmt: skip
def recall(tp, fn):
    """Proportion of positives that are found."""
    return tp / (tp + fn)


@row(aliases=("tnr", "selectivity", "true_negative_rate"), exact=SPECIFICITY, micro=micro_rest)
def specificity(fp, tn):
    """Proportion of negatives predicted negative."""
    return tn / (tn + fp)


@row(aliases=("negative_predictive_value",), exact=NPV, micro=micro_rest)
def npv(fn, tn):
    """Proportion of predicted negatives that are negative."""
    return tn / (tn + fn)


@row(aliases=("far", "false_positive_rate", "fall_out"), greater_is_better=False, exact=FALSE_ALARMS,
      micro=micro_rest_error)  # fmt: skip
def fpr(fp, tn):
    """False positive (false acceptance) rate, 1 − specificity."""
    return fp / (fp + tn)


@row(aliases=("frr", "false_negative_rate", "miss_rate"), greater_is_better=False, exact=MISSES,
      micro=micro_error)  # fmt: skip
def fnr(tp, fn):
    """False negative (false rejection) rate, 1 − recall."""
    return fn / (fn + tp)


@row(aliases=("false_discovery_rate",), greater_is_better=False, exact=Proportion(("fp",), ("tp",)), micro=micro_error)
def fdr(tp, fp):
    """Proportion of predicted positives that are negative, 1 − precision."""
    return fp / (fp + tp)


@row(aliases=("for",), greater_is_better=False, exact=Proportion(("fn",), ("tn",)), micro=micro_rest_error)
def false_omission_rate(fn, tn):
    """Proportion of predicted negatives that are positive, 1 − npv."""
    return fn / (fn + tn)


@row(greater_is_better=None, exact=Proportion(("tp", "fn"), ("fp", "tn")))
def prevalence(tp, fn, fp, tn):
    """Proportion of examples that are positive."""
    return (tp + fn) / (tp + fn + fp + tn)


@row(greater_is_better=None, exact=Proportion(("tp", "fp"), ("fn", "tn")))
def selection_rate(tp, fn, fp, tn):
    """Proportion of examples that are predicted positive."""
    return (tp + fp) / (tp + fn + fp + tn)


@row(aliases=("csi", "critical_success_index", "threat_score", "iou"), exact=JACCARD, micro=micro_jaccard)
def jaccard(tp, fn, fp):
    """Intersection over union of actual and predicted positives, tp/(tp + fp + fn)."""
    return tp / (tp + fn + fp)


# ── Combinations of precision and recall ──────────────────────────────────────────────────────────────────────────────


@row(
    aliases=("f1_score", "dice"),
    exact=IncreasingFunction(JACCARD_OF_RATES, applied(f1_of_jaccard), applied(jaccard_of_f1)),
    micro=micro_accuracy,
    of_rates=Fraction((2, 0, 0, 0), (2, 1, 1, 0)),
)
def f1(tp, fn, fp):
    """Harmonic mean of precision and recall.

    It equals 2J/(1 + J), where J is the Jaccard index.
    """
    return 2 * tp / (2 * tp + fn + fp)


@checked
def fbeta(beta: float) -> Metric:
    """Return the metric F_β: the weighted harmonic mean of precision and recall, where recall has β² times the weight.

    Parameters
    ----------
    beta : float
        Weight of recall, greater than 0. Names such as ``"f2"`` and ``"f0.5"`` are accepted wherever a metric is named.

    Notes
    -----
    Given the proportion W of false positives among false positives and false negatives, F_β ≤ t if and only if the
    Jaccard index is at most gt/(k(1 − t) + gt), with g = W + β²(1 − W) and k = 1 + β².

    Examples
    --------
    >>> from bayesperf import metrics
    >>> metrics.fbeta(2).name
    'f2'
    """
    if not 0 < checks.number("beta", beta) < np.inf:
        raise InputError("beta", f"must be greater than 0 and finite; it is {beta}.")
    if beta == 1:
        return get("f1")
    formula = _FBeta(float(beta) ** 2)
    name = f"f{np.format_float_positional(beta, trim='-')}"
    return Metric(
        name,
        formula,
        exact=TwoProportions(applied(jaccard_at_fbeta, formula.square), pair=HITS),
        micro=micro_accuracy,
        of_rates=Fraction((1 + formula.square, 0, 0, 0), (1 + formula.square, formula.square, 1, 0)),
    )


@dataclass(frozen=True)
class _FBeta:
    """Weighted harmonic mean of precision and recall."""

    square: float

    def __call__(self, tp, fn, fp):
        return (1 + self.square) * tp / ((1 + self.square) * tp + self.square * fn + fp)


@by_name
def jaccard_at_fbeta(square: float, t: Numbers, w: Numbers, rest: Numbers) -> Numbers:
    """Return the Jaccard index at which F_β is t, if a proportion w of the errors are misses."""
    k, g = 1 + square, w + square * rest
    return np.asarray(g * t / (k * (1 - t) + g * t))


# Registered after F1, whose name matches this pattern.
FAMILIES[re.compile(r"f(\d+(?:\.\d+)?)")] = fbeta


@by_name
def jaccard_at_fowlkes_mallows(t: Numbers, w: Numbers, rest: Numbers) -> Numbers:
    """Return the Jaccard index at which the Fowlkes–Mallows index is t, if a proportion w of the errors are misses."""
    # (J + (1 − J)W)(J + (1 − J)(1 − W)) = J²/t², a quadratic in the odds J/(1 − J).
    odds = t * (t + np.sqrt(t * t + 4 * w * rest * (1 - t * t))) / (2 * (1 - t * t))
    return np.asarray(odds / (1 + odds))


@by_name
def fowlkes_mallows_level(t: Numbers, tp: Numbers, fn: Numbers, fp: Numbers, tn: Numbers) -> Numbers:
    """Return a quantity with the sign of the Fowlkes–Mallows index minus t."""
    return np.asarray(tp**2 - t**2 * (tp + fn) * (tp + fp))


@row(aliases=("fm", "g_measure", "g_score"), micro=micro_accuracy,
      exact=TwoProportions(applied(jaccard_at_fowlkes_mallows), pair=HITS),
      of_rates=Level(applied(fowlkes_mallows_level)))  # fmt: skip
def fowlkes_mallows(tp, fn, fp):
    """Geometric mean of precision and recall."""
    return tp / np.sqrt((tp + fn) * (tp + fp))


# ── Combinations of the two rates, recall and specificity ─────────────────────────────────────────────────────────────
# Each pair uses the rate or its complement, whichever is near 0 where the metric is extreme: near 1 floating-point
# numbers are 1e-16 apart, which is too coarse for a Beta with a parameter of 1/4.

_RATES = ProportionPair(RECALL, SPECIFICITY)
_ERRORS = ProportionPair(MISSES, FALSE_ALARMS)


@by_name
def at_mean(t: Numbers, other: Numbers, _: Numbers) -> Numbers:
    """Return the rate whose mean with the other rate is t."""
    return 2 * t - other


def _mean(pair: ProportionPair) -> TwoProportions:
    return TwoProportions(applied(at_mean), applied(at_mean), multiple=0.5, by_subtraction=True, pair=pair)


@by_name
def at_sum(t: Numbers, other: Numbers, _: Numbers) -> Numbers:
    """Return the rate whose sum with the other rate is 1 + t."""
    return np.asarray(1 + t - other)


def _sum_less_one(pair: ProportionPair) -> TwoProportions:
    return TwoProportions(applied(at_sum), applied(at_sum), multiple=1.0, by_subtraction=True, pair=pair)


@by_name
def at_geometric_mean(t: Numbers, other: Numbers, _: Numbers) -> Numbers:
    """Return the rate whose geometric mean with the other rate is t."""
    return t * t / other


@by_name
def numerator_at_ratio(t: Numbers, denominator: Numbers, _: Numbers) -> Numbers:
    """Return the numerator of a ratio that is t."""
    return t * denominator


@by_name
def denominator_at_ratio(t: Numbers, numerator: Numbers, _: Numbers) -> Numbers:
    """Return the denominator of a ratio that is t."""
    return numerator / t


@by_name
def error_at_odds_ratio(t: Numbers, error: Numbers, rest: Numbers) -> Numbers:
    """Return the error rate at which the odds ratio is t, given the other error rate and its complement."""
    return np.asarray(rest / (t * error + rest))


@by_name
def recall_at_prevalence_threshold(t: Numbers, fpr: Numbers, _: Numbers) -> Numbers:
    """Return the recall at which the prevalence threshold is t."""
    return fpr * ((1 - t) / t) ** 2


@by_name
def fpr_at_prevalence_threshold(t: Numbers, recall: Numbers, _: Numbers) -> Numbers:
    """Return the false positive rate at which the prevalence threshold is t."""
    return np.asarray(recall * (t / (1 - t)) ** 2)


def _likelihood_ratio(pair: ProportionPair) -> TwoProportions:
    factors = ("proportion", "inverse")
    return TwoProportions(
        applied(numerator_at_ratio), applied(denominator_at_ratio), increasing_outer=False, factors=factors, pair=pair
    )


# The macro average of recall, for any number of classes.
add(Metric("balanced_accuracy", recall, aliases=("bac",), needs="classes", average="macro",
            exact=_mean(_RATES)))  # fmt: skip


@row(
    aliases=("hter",),
    greater_is_better=False,
    exact=_mean(_ERRORS),
)
def half_total_error_rate(tp, fn, fp, tn):
    """Mean of the false positive and the false negative rate."""
    return (fn / (tp + fn) + fp / (fp + tn)) / 2


@row(aliases=("youden_j", "bookmaker_informedness"), bounds=(-1.0, 1.0),
      exact=_sum_less_one(_RATES))  # fmt: skip
def informedness(tp, fn, fp, tn):
    """Youden's J: recall + specificity − 1."""
    return tp / (tp + fn) + tn / (fp + tn) - 1


@row(aliases=("g_mean",), exact=TwoProportions(applied(at_geometric_mean), applied(at_geometric_mean), pair=_RATES))
def geometric_mean(tp, fn, fp, tn):
    """Geometric mean of recall and specificity."""
    return np.sqrt(tp / (tp + fn) * (tn / (fp + tn)))


@row(aliases=("lr+", "plr"), bounds=(0.0, np.inf),
      exact=_likelihood_ratio(ProportionPair(RECALL, FALSE_ALARMS)))  # fmt: skip
def positive_likelihood_ratio(tp, fn, fp, tn):
    """How much more often positives are called positive than negatives are: recall / fpr."""
    return tp / (tp + fn) / (fp / (fp + tn))


@row(aliases=("lr-", "nlr"), bounds=(0.0, np.inf), greater_is_better=False,
      exact=_likelihood_ratio(ProportionPair(MISSES, SPECIFICITY)))  # fmt: skip
def negative_likelihood_ratio(tp, fn, fp, tn):
    """How much more often positives are called negative than negatives are: fnr / specificity."""
    return fn / (tp + fn) / (tn / (fp + tn))


@row(aliases=("dor",), bounds=(0.0, np.inf),
      exact=TwoProportions(applied(error_at_odds_ratio), applied(error_at_odds_ratio), increasing=False,
                           increasing_outer=False, factors=("odds", "odds"), pair=_ERRORS))  # fmt: skip
def diagnostic_odds_ratio(tp, fn, fp, tn):
    """Ratio of the likelihood ratios, (tp·tn)/(fn·fp)."""
    return tp / fn * (tn / fp)


@row(aliases=("pt",), greater_is_better=False,
      exact=TwoProportions(applied(recall_at_prevalence_threshold), applied(fpr_at_prevalence_threshold),
                           increasing=False, pair=ProportionPair(RECALL, FALSE_ALARMS)))  # fmt: skip
def prevalence_threshold(tp, fn, fp, tn):
    """Prevalence below which precision falls most steeply: √fpr / (√recall + √fpr)."""
    return np.sqrt(fp / (fp + tn)) / (np.sqrt(tp / (tp + fn)) + np.sqrt(fp / (fp + tn)))


# ── The whole matrix ──────────────────────────────────────────────────────────────────────────────────────────────────


@by_name
def markedness_level(t: Numbers, tp: Numbers, fn: Numbers, fp: Numbers, tn: Numbers) -> Numbers:
    """Return a quantity with the sign of markedness minus t."""
    return np.asarray(tp * tn - fp * fn - t * (tp + fp) * (fn + tn))


@row(aliases=("delta_p",), bounds=(-1.0, 1.0), of_rates=Level(applied(markedness_level)),
      exact=_sum_less_one(ProportionPair(PRECISION, NPV)))  # fmt: skip
def markedness(tp, fn, fp, tn):
    """The counterpart of Youden's J in the predicted classes: precision + npv − 1."""
    return tp / (tp + fp) + tn / (fn + tn) - 1


@by_name
def p4_level(t: Numbers, tp: Numbers, fn: Numbers, fp: Numbers, tn: Numbers) -> Numbers:
    """Return a quantity with the sign of P4 minus t."""
    return np.asarray(4 * tp * tn * (1 - t) - t * (tp + tn) * (fp + fn))


@row(of_rates=Level(applied(p4_level), bends=True))
def p4(tp, fn, fp, tn):
    """Harmonic mean of precision, recall, specificity and npv."""
    return 4 * tp * tn / (4 * tp * tn + (tp + tn) * (fp + fn))


def _dot(u: Numbers, v: Numbers) -> Numbers:
    return np.asarray(np.einsum("...i,...i->...", u, v))


def _of_both(sums: Numbers) -> Numbers:
    """Return the product over two classes, in a tenth of the time of a product over an axis."""
    return np.asarray(sums[..., 0] * sums[..., 1])


@row(aliases=("mcc", "phi"), bounds=(-1.0, 1.0), needs="classes", of_rates=Correlation())
def matthews_corrcoef(hits, misses, false_alarms):
    """Correlation of actual and predicted classes.

    For K classes it is Gorodkin's R_K.
    """
    actual, predicted = hits + misses, hits + false_alarms
    if hits.shape[-1] == 2:
        # Without the differences of nearly equal numbers that occur if one class is hardly ever predicted.
        determinant = _of_both(hits) - _of_both(misses)
        actual, predicted = _of_both(actual), _of_both(predicted)
        # A product of two rounded roots would miss 1 if all predictions are right.
        return determinant / actual * np.sqrt(actual / predicted)
    total = actual.sum(-1)
    covariance = hits.sum(-1) * total - _dot(actual, predicted)
    variances = (total**2 - _dot(actual, actual)) * (total**2 - _dot(predicted, predicted))
    return covariance / np.sqrt(variances)


@by_name
def kappa_level(t: Numbers, tp: Numbers, fn: Numbers, fp: Numbers, tn: Numbers) -> Numbers:
    """Return a quantity with the sign of Cohen's kappa minus t."""
    return np.asarray(2 * (tp * tn - fp * fn) - t * ((tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)))


@row(aliases=("kappa",), bounds=(-1.0, 1.0), needs="classes", of_rates=Level(applied(kappa_level)))
def cohen_kappa(hits, misses, false_alarms):
    """Agreement beyond chance."""
    actual = hits + misses
    by_chance = _dot(actual, sums_of_others(hits + false_alarms))
    return 1 - misses.sum(-1) * actual.sum(-1) / by_chance


@row(
    aliases=("quadratic_weighted_kappa", "qwk"),
    bounds=(-1.0, 1.0),
    needs="ordered",
    of_rates=Level(applied(kappa_level)),
)
def weighted_kappa(cells):
    """Agreement beyond chance, errors weighted by the square of their distance in classes."""
    return _beyond_chance(cells, 1.0 * distance(cells.shape[-1]) ** 2)


@row(bounds=(-1.0, 1.0), needs="ordered", of_rates=Level(applied(kappa_level)))
def linear_weighted_kappa(cells):
    """Agreement beyond chance, errors weighted by their distance in classes."""
    return _beyond_chance(cells, 1.0 * distance(cells.shape[-1]))


def _beyond_chance(cells: Array, disagreement: Array) -> Array:
    by_chance = _dot(cells.sum(-1) @ disagreement, cells.sum(-2))
    return 1 - masked_sum(cells, disagreement) * cells.sum((-2, -1)) / by_chance


@row(aliases=("macro_f1_star",), needs="classes")
def f1_of_averages(hits, misses, false_alarms):
    """Harmonic mean of macro precision and macro recall (F1*; the macro average of F1 is ``f1_macro``)."""
    precision, recall = ((hits / (hits + errors)).mean(-1) for errors in (false_alarms, misses))
    total = precision + recall
    return 2 * precision * recall / np.where(total == 0, 1, total)


@row(aliases=("mae",), bounds=(0.0, np.inf), greater_is_better=False, needs="ordered")
def mean_absolute_error(cells):
    """Mean distance, in classes, between the actual and the predicted class."""
    return masked_sum(cells, distance(cells.shape[-1])) / cells.sum((-2, -1))


@row(aliases=("adjacent_accuracy",), needs="ordered", exact=Proportion(("within_one",), ("beyond_one",)))
def off_by_one(within_one, beyond_one):
    """Proportion of examples predicted at most one class off."""
    return within_one / (within_one + beyond_one)


@checked
def cost(cost_matrix: ArrayLike, name: str = "cost") -> Metric:
    """Return a metric that is the mean cost per example.

    Parameters
    ----------
    cost_matrix : array-like (K, K)
        Cost of each outcome, rows actual and columns predicted, in the order of the labels; gains are negative costs.
    name : str
        Name of the metric in tables.

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
        raise InputError("cost_matrix", f"must be square and finite; its shape is {matrix.shape}.")

    bounds = (float(matrix.min()), float(matrix.max()))
    return Metric(
        name, Cost(matrix), bounds=bounds, greater_is_better=False, needs="classes", of_rates=_cost_of_rates(matrix)
    )


def _cost_of_rates(matrix: Numbers) -> Fraction | None:
    """Return the mean cost as a function of the rates, if both kinds of error cost more than being right."""
    if matrix.shape != (2, 2) or not (matrix[0, 1] > matrix[0, 0] and matrix[1, 0] > matrix[1, 1]):
        return None
    (tn, fp), (fn, tp) = matrix.tolist()
    return Fraction((tp, fn, fp, tn), (1, 1, 1, 1))


@dataclass(frozen=True, eq=False)
class Cost(Held):
    """Mean cost of an example."""

    matrix: Numbers

    def __call__(self, cells):
        """Return the mean cost of cells (…, K, K)."""
        if cells.shape[-1] != len(self.matrix):
            raise InputError(
                "cost_matrix", f"is for {len(self.matrix)} classes; the confusion matrix has {cells.shape[-1]}."
            )
        return masked_sum(cells, self.matrix) / cells.sum((-2, -1))


def net_benefit(threshold: float) -> Metric:
    """Return the net benefit of calling positive if the probability is at least `threshold` (Vickers & Elkin 2006).

    TP/n − FP/n · t/(1 − t): the true positives, minus the false ones weighted by the odds of the threshold. If you call
    positive from a probability t of 1 in 10, you accept nine false positives for a true one. The unit is true positives
    per example: 0.05 is worth as much as finding 5 of 100 examples without a false alarm.

    Parameters
    ----------
    threshold : float
        The probability, between 0 and 1, at which the predictions were made. Names such as ``"net_benefit_at_0.1"`` are
        accepted wherever a metric is named.

    References
    ----------
    Vickers & Elkin (2006), Decision curve analysis: a novel method for evaluating prediction models, Medical Decision
    Making 26, 565–574.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=45, tn=5)
    >>> metric = bp.metrics.net_benefit(0.1)
    >>> metric.name, bp.score(cm, metric).round(3).item()
    ('net_benefit_at_0.1', 0.35)
    """
    t = checks.probability("threshold", threshold)
    name = f"net_benefit_at_{np.format_float_positional(t, trim='-')}"
    formula = NetBenefit(t / (1 - t))
    of_rates = Fraction((1, 0, -formula.odds, 0), (1, 1, 1, 1))
    return Metric(name, formula, bounds=(-formula.odds, 1.0), of_rates=of_rates)


@dataclass(frozen=True)
class NetBenefit(Held):
    """True positives minus weighted false positives, per example."""

    # Odds of the threshold, t/(1 − t).
    odds: Any

    def __call__(self, tp, fn, fp, tn):
        """Return the net benefit of cells."""
        return (tp - self.odds * fp) / (tp + fn + fp + tn)


FAMILIES[re.compile(r"net_benefit_at_(0?\.\d+)")] = net_benefit


# ── Outcomes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@row(needs="outcomes", bounds=(-np.inf, np.inf))
def mean_grade(shares, grades):
    """Mean of the grades."""
    return (shares * grades).sum(-1) / shares.sum(-1)


@row(needs="outcomes", bounds=(-np.inf, np.inf))
def median_grade(shares, grades):
    """Smallest grade that at least half of the examples do not exceed."""
    total = shares.sum(-1, keepdims=True)
    median = grades[(2 * shares.cumsum(-1) >= total * (1 - 1e-12)).argmax(-1)]
    return np.where(total[..., 0] > 0, median, np.nan)


def share_at_least(grade: float) -> Metric:
    """Return the proportion of outcomes with a grade of at least `grade`.

    Parameters
    ----------
    grade : float
        A grade. Names such as ``"share_at_least_4"`` are accepted wherever a metric is named.

    Examples
    --------
    >>> import bayesperf as bp
    >>> outcomes = bp.Outcomes.from_grades([5, 4, 4, 2, 5], scale=[1, 2, 3, 4, 5])
    >>> bp.score(outcomes, "share_at_least_4").item()
    0.8
    """
    value = checks.number("grade", grade)
    name = f"share_at_least_{np.format_float_positional(value, trim='-')}"
    return Metric(name, ShareAtLeast(float(value)), needs="outcomes")


@dataclass(frozen=True)
class ShareAtLeast(Held):
    """Proportion of outcomes with at least a given grade."""

    grade: float

    def __call__(self, shares, grades):
        """Return the proportion."""
        return (shares * (grades >= self.grade)).sum(-1) / shares.sum(-1)

    def place(self, grades):
        """Return the place of the grade on a scale."""
        first = int(np.searchsorted(np.asarray(grades, float), self.grade))
        if not 0 < first < len(grades):
            raise InputError(
                "metric",
                f"share_at_least_{self.grade:g} is {'0' if first else '1'} on the scale {list(grades)}.",
                f"Name a grade above {grades[0]} and up to {grades[-1]}.",
            )
        return first


# ── Scores ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@row(needs="scores", aliases=("auc", "auroc"))
def roc_auc(positives, negatives):
    """Probability that a positive scores above a negative; ties count half."""
    below = negatives.cumsum(-1) - negatives / 2
    return (positives * below).sum(-1) / (positives.sum(-1) * negatives.sum(-1))


@row(needs="scores")
def average_precision(positives, negatives):
    """Mean over the positives of the precision at the score of each."""
    tp, fp = (counts[..., ::-1].cumsum(-1)[..., ::-1] for counts in (positives, negatives))
    return (positives * tp / (tp + fp)).sum(-1) / positives.sum(-1)


@row(needs="scores", aliases=("brier_score", "brier_score_loss"), greater_is_better=False)
def brier(positives, negatives, scores):
    """Mean squared difference between the probability and the outcome."""
    return (positives * (1 - scores) ** 2 + negatives * scores**2).sum(-1) / (positives + negatives).sum(-1)


# The longest scale of which a summary shows the share from each grade on.
_FEW_GRADES = 7
FAMILIES[re.compile(r"share_at_least_(-?\d+(?:\.\d+)?)")] = share_at_least


def headline(classes: int, has_positive: bool) -> list[str]:
    """Return the names of the metrics that a summary shows by default."""
    if classes == 2 and has_positive:
        return ["accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f1", "matthews_corrcoef"]
    return ["accuracy", "balanced_accuracy", "precision_macro", "recall_macro", "f1_macro", "matthews_corrcoef"]


def headline_of_grades(grades: Sequence[float]) -> list[str]:
    """Return the names of the metrics that a summary of outcomes shows by default."""
    if len(grades) == 2:
        return ["accuracy"]
    shares = [share_at_least(grade).name for grade in grades[1:]]
    return ["mean_grade", "median_grade", *(shares if len(grades) <= _FEW_GRADES else shares[-1:])]
