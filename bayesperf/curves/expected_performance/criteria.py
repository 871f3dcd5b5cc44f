"""How thresholds are chosen on a development set: the candidates, and the criteria that are minimised over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesperf import metrics
from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.counts.classifier_scores import Scores

# Values of a criterion that differ by less are the same number, rounded differently.
_TIE = 1e-12


class Criterion(NamedTuple):
    """What is minimised over thresholds: a function of α and of two metrics that trade off against each other.

    Attributes
    ----------
    first, second : str
        The metrics, V1 and V2.
    value : callable
        From the values of both and α to the criterion.
    formula : str
        The criterion, for people to read.
    """

    first: str
    second: str
    value: Callable[[Array, Array, float], Array]
    formula: str


def _weighted_mean(first: Array, second: Array, alpha: float) -> Array:
    return alpha * first + (1 - alpha) * second


def _negative_weighted_mean(first: Array, second: Array, alpha: float) -> Array:
    return -(alpha * first + (1 - alpha) * second)


def _distance_of_first(first: Array, second: Array, alpha: float) -> Array:
    return np.abs(alpha - first)


def _distance_of_second(first: Array, second: Array, alpha: float) -> Array:
    return np.abs(alpha - second)


def _distance_of_both(first: Array, second: Array, alpha: float) -> Array:
    return np.abs(first - second)


# Bengio, Mariéthoz & Keller (2005), The expected performance curve, eqs. 10–13.
CRITERIA = {
    "far_frr": Criterion("fpr", "fnr", _weighted_mean, "α·FAR + (1 − α)·FRR"),
    "precision_recall": Criterion("precision", "recall", _negative_weighted_mean, "−(α·precision + (1 − α)·recall)"),
    "far": Criterion("fpr", "fnr", _distance_of_first, "|α − FAR|"),
    "frr": Criterion("fpr", "fnr", _distance_of_second, "|α − FRR|"),
}
_EQUAL_ERROR = Criterion("fpr", "fnr", _distance_of_both, "|FAR − FRR|")


def nearest(criterion: Criterion) -> tuple[Criterion, Criterion]:
    """Return the criteria that bring each of the two metrics of a criterion to α."""
    return criterion._replace(value=_distance_of_first), criterion._replace(value=_distance_of_second)


def grid(alphas: ArrayLike | None) -> Array:
    """Return the values of α, checked; by default 0, 0.01, …, 1."""
    values = np.arange(101) / 100 if alphas is None else checks.vector("alphas", alphas)
    if values.min() < 0 or values.max() > 1:
        raise ValueError(f"alphas must be in [0, 1]; they reach from {values.min():g} to {values.max():g}.")
    if (np.diff(values) <= 0).any():
        raise ValueError("alphas must ascend, each of them once. Sort them: numpy.unique(alphas).")
    return values


def candidates(scores: Scores) -> Array:
    """Return the thresholds (k,) that a criterion chooses among, ascending.

    The lowest score, at which all is called positive; the middle between each two neighbouring scores; and inf, at
    which nothing is (but what scores inf).
    """
    seen = scores.thresholds[::-1]
    low, high = seen[:-1], seen[1:]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = low + (high - low) / 2
    # Next to an infinite score, and between two neighbouring floating-point numbers, there is no middle.
    middle = np.where((low < middle) & (middle <= high), middle, high)
    return np.unique(np.concatenate([seen[:1], middle, [np.inf]]))


def counts_at_thresholds(scores: Scores, thresholds: Array) -> Counts:
    """Return the counts (k, actual, predicted) at each threshold."""
    tp, fp = scores.called(thresholds)
    return np.stack([np.stack([len(scores.negative) - fp, fp], -1), np.stack([len(scores.positive) - tp, tp], -1)], -2)


def both_metrics(criterion: Criterion, cells: NDArray[Any]) -> tuple[Array, Array]:
    """Return the two metrics of a criterion, (…) each, for cells (…, actual, predicted)."""
    first, second = (metrics.get(name).evaluate(cells, 1) for name in (criterion.first, criterion.second))
    return first, second


def minimisers(criterion: Criterion, cells: NDArray[Any], alphas: Iterable[float]) -> Codes:
    """Return which of k candidates minimises a criterion at every α; of several, the one of the lowest threshold.

    Parameters
    ----------
    criterion : Criterion
        A candidate at which a metric is undefined (precision, where nothing is called positive) is left out.
    cells : ndarray (…, k, actual, predicted)
        At the candidates, thresholds ascending.
    alphas : iterable of float
        Values of α, a of them.

    Returns
    -------
    ndarray (…, a)
        -1 where a metric is undefined at every candidate.
    """
    first, second = both_metrics(criterion, cells)
    undefined = np.isnan(first) | np.isnan(second)
    positions = []
    for alpha in alphas:
        value = criterion.value(first, second, alpha)
        value[undefined] = np.inf
        least = value.min(-1)
        at = np.argmax(value <= least[..., None] + _TIE, -1)
        positions.append(np.where(np.isfinite(least), at, -1))
    return np.stack(positions, -1)


def equal_error_threshold(y_true: Any, y_score: ArrayLike, *, pos_label: Any = None) -> float:
    """Return the threshold of the equal error rate, or break-even point: where FAR and FRR are nearest to each other.

    Parameters
    ----------
    y_true : array-like (n,)
        Labels of two classes.
    y_score : array-like (n,)
        Scores, greater for the positive class. What scores at least the threshold is called positive.
    pos_label : label, optional
        The positive class; inferred for {0, 1}, {-1, 1} and {False, True}.

    Returns
    -------
    float
        The lowest score, the middle between two neighbouring scores, or inf (nothing is called positive): the lowest of
        these at which they differ least.

    Raises
    ------
    ValueError
        If there are not two classes, or scores are missing.

    Examples
    --------
    >>> from bayesperf.curves import equal_error_threshold
    >>> equal_error_threshold([0, 0, 0, 1, 1, 1], [1.0, 2.0, 4.0, 3.0, 5.0, 6.0])
    3.5
    """
    scores = Scores.of(y_true, y_score, pos_label)
    cuts = candidates(scores)
    return float(cuts[minimisers(_EQUAL_ERROR, counts_at_thresholds(scores, cuts), [0.0])[0]])
