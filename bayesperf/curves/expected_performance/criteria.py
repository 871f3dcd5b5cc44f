"""How thresholds are chosen on a development set: the candidates, and the criteria to minimise over them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

from bayesperf import metrics
from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held
from bayesperf.data.classifier_scores import Scores
from bayesperf.metrics.registry import single_valued

# What breaks ties is added to a criterion times this: greater than the rounding errors that would hide a tie, and less
# than any difference that matters.
_TIE = 1e-10
# The largest number of candidates that a drawn development set chooses among.
_MOST_DRAWN = 512

CriterionFunction = Callable[[Array, Array, float], Any]


@dataclass(frozen=True)
class Criterion(Held):
    """A criterion to minimise over thresholds: a function of α and of two metrics that trade off against each other."""

    # Its name.
    name: str
    # The metrics, V1 and V2.
    first: str
    second: str
    # From the values of both and α to the criterion: a name in `VALUES`, or a function of the caller's own.
    value: str | CriterionFunction
    # The criterion, for people to read.
    formula: str

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the function as bytes, so that any function, even a lambda, can be pickled."""
        try:
            return self.__dict__ | {"value": cloudpickle.dumps(self.value)}
        except Exception as error:
            raise pickle.PicklingError(f"criterion {self.name!r}: its function cannot be pickled: {error}") from error

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"value": pickle.loads(state["value"])})

    def evaluate(self, cells: NDArray[Any]) -> tuple[Array, Array]:
        """Return the two metrics, (…) each, for cells (…, actual, predicted)."""
        first, second = (metrics.get(name).evaluate(cells, 1) for name in (self.first, self.second))
        return first, second

    def tie_break(self, first: Array, second: Array) -> Array:
        """Return the tie-breaks between equally good thresholds: the sum of both metrics, then their difference."""
        loss = np.zeros_like(first)
        for name, values in ((self.first, first), (self.second, second)):
            metric = metrics.get(name)
            loss -= 0 if metric.greater_is_better is None else metric.better * values
        return np.asarray(_TIE * (loss + 1e-3 * np.abs(first - second)))


def _harmonic_mean(first: Array, second: Array) -> Array:
    total = first + second
    return 2 * np.divide(first * second, total, out=np.zeros_like(total), where=total > 0)


# The functions to minimise, by the criterion's name: of the values of both metrics and α.
VALUES: dict[str, CriterionFunction] = {
    "weighted_mean": lambda first, second, alpha: alpha * first + (1 - alpha) * second,
    "negative_weighted_mean": lambda first, second, alpha: -(alpha * first + (1 - alpha) * second),
    "negative_harmonic_mean": lambda first, second, _: -_harmonic_mean(first, second),
    "distance_of_first": lambda first, _, alpha: np.abs(alpha - first),
    "distance_of_second": lambda _, second, alpha: np.abs(alpha - second),
    "distance_of_both": lambda first, second, _: np.abs(first - second),
}
# Bengio, Mariéthoz & Keller (2005), The expected performance curve, eqs. 8 and 10–13. The last three have no α.
_RATES, _RETRIEVAL = ("fpr", "fnr"), ("precision", "recall")
CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion("far_frr", *_RATES, "weighted_mean", "α·FAR + (1 − α)·FRR"),
        Criterion("precision_recall", *_RETRIEVAL, "negative_weighted_mean", "−(α·precision + (1 − α)·recall)"),
        Criterion("far", *_RATES, "distance_of_first", "|α − FAR|"),
        Criterion("frr", *_RATES, "distance_of_second", "|α − FRR|"),
        Criterion("precision", *_RETRIEVAL, "distance_of_first", "|α − precision|"),
        Criterion("recall", *_RETRIEVAL, "distance_of_second", "|α − recall|"),
        Criterion("f1", *_RETRIEVAL, "negative_harmonic_mean", "−F1"),
        Criterion("equal_error", *_RATES, "distance_of_both", "|FAR − FRR|"),
        Criterion("break_even", *_RETRIEVAL, "distance_of_both", "|precision − recall|"),
    )
}


def criterion_of(criterion: str | CriterionFunction, of_metrics: tuple[str, str] | None) -> Criterion:
    """Return the criterion with a name, or for a function C(V1, V2, α) of two metrics, by default FAR and FRR."""
    if not callable(criterion):
        if of_metrics is not None:
            raise InputError(
                "criterion_metrics",
                "are those of a function.",
                f"The metrics of criterion={criterion!r} are fixed: leave criterion_metrics out.",
            )
        return CRITERIA[checks.one_of("criterion", criterion, CRITERIA)]
    given = ("far", "frr") if of_metrics is None else of_metrics
    if isinstance(given, str) or len(given) != 2:
        raise InputError("criterion_metrics", f"must be two names of metrics, of V1 and V2; they are {given!r}.")
    first, second = (single_valued(name, [0, 1], 1).name for name in given)
    name = getattr(criterion, "__name__", "criterion").replace("<lambda>", "criterion")
    return Criterion(name, first, second, criterion, f"{name}({given[0]}, {given[1]}; α)")


def nearest(criterion: Criterion) -> tuple[Criterion, Criterion]:
    """Return the criteria that bring each of the two metrics of a criterion to α."""
    return replace(criterion, value="distance_of_first"), replace(criterion, value="distance_of_second")


def grid(alphas: ArrayLike | None) -> Array:
    """Return the values of α, checked; by default 0, 0.01, …, 1."""
    values = np.arange(101) / 100 if alphas is None else checks.vector("alphas", alphas)
    if values.min() < 0 or values.max() > 1:
        raise InputError("alphas", f"must be in [0, 1]; they reach from {values.min():g} to {values.max():g}.")
    if (np.diff(values) <= 0).any():
        raise InputError("alphas", "must ascend, each of them once.", "Sort them: numpy.unique(alphas).")
    return values


def candidates(scores: Scores) -> Array:
    """Return the thresholds (k,) that a criterion chooses among, ascending.

    -inf, at which all is called positive; the middle between each two neighbouring scores; and inf, at which nothing is
    (except scores of inf).
    """
    seen = scores.thresholds[::-1]
    low, high = seen[:-1], seen[1:]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = low + (high - low) / 2
    # Next to an infinite score, and between two neighbouring floating-point numbers, there is no middle.
    middle = np.where((low < middle) & (middle <= high), middle, high)
    return np.unique(np.concatenate([[-np.inf], middle, [np.inf]]))


def thinned(scores: Scores, cuts: Array) -> Array:
    """Return at most 512 of the candidates: evenly spread over the difference of the logits of FRR and FAR.

    All are kept where an error rate rests on few examples; where a candidate changes little, some are omitted.
    """
    if len(cuts) <= _MOST_DRAWN:
        return cuts
    called, sizes = np.stack(scores.called(cuts)), np.array(scores.class_totals)[:, None]
    false, true = logit((called + 0.5) / (sizes + 1))
    place = -true - false
    return cuts[np.unique(np.searchsorted(place, np.linspace(place[0], place[-1], _MOST_DRAWN)))]


def counts_at_thresholds(scores: Scores, thresholds: Array) -> Counts:
    """Return the counts (k, actual, predicted) at each threshold."""
    called, totals = np.stack(scores.called(thresholds), -1), np.array(scores.class_totals)
    return np.stack([totals - called, called], -1)


def minimisers(criterion: Criterion, cells: NDArray[Any], alphas: Iterable[float]) -> Codes:
    """Return which of k candidates, rising, with cells (…, k, actual, predicted), minimises a criterion at α, (…, a).

    If several do, ties are broken as in `epc`: at α = 0, where the first metric does not count, it decides, and at
    α = 1 the second. A candidate at which a metric is undefined (precision, if nothing is called positive) is omitted;
    -1 if all are.
    """
    first, second = criterion.evaluate(cells)
    undefined = ~(np.isfinite(first) & np.isfinite(second))
    first, second = (np.where(undefined, 0.0, values) for values in (first, second))
    least = np.where(undefined, np.inf, criterion.tie_break(first, second))
    positions = [(_values(criterion, first, second, alpha) + least).argmin(-1) for alpha in alphas]
    return np.where(undefined.all(-1)[..., None], -1, np.stack(positions, -1))


def _values(criterion: Criterion, first: Array, second: Array, alpha: float) -> Array:
    """Return the values of a criterion, checked; those that are undefined are never the least."""
    function = VALUES[criterion.value] if isinstance(criterion.value, str) else criterion.value
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = np.asarray(function(first, second, alpha), dtype=float)
    if values.shape != first.shape:
        raise InputError(
            "criterion",
            f"{criterion.name} returned shape {values.shape} where {first.shape} was wanted.",
            "It is called with arrays of both metrics, and must return a value for each of their elements.",
        )
    return np.where(np.isnan(values), np.inf, values)


@checked
def equal_error_threshold(y_true: Any, y_score: ArrayLike, *, pos_label: Any = None) -> float:
    """Return the threshold of the equal error rate, or break-even point: where FAR and FRR are nearest to each other.

    Parameters
    ----------
    y_true, y_score, pos_label
        As in `roc_curve`.

    Returns
    -------
    float
        The middle between two neighbouring scores, -inf (all is called positive) or inf (nothing is). If several have
        the same difference, the one where both are smallest; among these the lowest.

    Examples
    --------
    >>> from bayesperf.curves import equal_error_threshold
    >>> equal_error_threshold([0, 0, 0, 1, 1, 1], [1.0, 2.0, 4.0, 3.0, 5.0, 6.0])
    3.5
    """
    return _threshold("equal_error", y_true, y_score, pos_label)


@checked
def break_even_threshold(y_true: Any, y_score: ArrayLike, *, pos_label: Any = None) -> float:
    """Return the threshold of the break-even point of precision and recall: where they are nearest to each other.

    They are equal where the number of examples called positive equals the number of positives.

    Parameters
    ----------
    y_true, y_score, pos_label
        As in `roc_curve`.

    Returns
    -------
    float
        As `equal_error_threshold`; if several have the same difference, the one where both are largest.

    Examples
    --------
    >>> from bayesperf.curves import break_even_threshold
    >>> break_even_threshold([0, 0, 0, 0, 1, 1], [1.0, 2.0, 3.0, 5.0, 4.0, 6.0])
    4.5
    """
    return _threshold("break_even", y_true, y_score, pos_label)


def _threshold(criterion: str, y_true: Any, y_score: ArrayLike, pos_label: Any) -> float:
    """Return the threshold that a criterion without α chooses."""
    scores = Scores.of(y_true, y_score, pos_label)
    cuts = candidates(scores)
    return float(cuts[minimisers(CRITERIA[criterion], counts_at_thresholds(scores, cuts), [0.0])[0]])
