"""Intervals of a rate from its successes in trials, of the difference of two, and of a prevalence from calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import betainccinv, betaincinv

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Booleans
from bayesperf.core.errors import InputError
from bayesperf.data.label_encoding import missing_positive_label
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.intervals.limits import limits_over, normal_quantile, warn_of_no_width
from bayesperf.metrics.arguments import ARGUMENTS

# From successes, trials (above 0), the confidence and its normal quantile to the lower and the upper limit.
Limits = Callable[[Array, Array, float, float], tuple[Array, Array]]


@checked
def proportion(
    successes: ArrayLike | xr.DataArray,
    trials: ArrayLike | xr.DataArray,
    *,
    confidence: float = 0.95,
    method: str = "wilson",
) -> Any:
    """Return confidence intervals of rates.

    Parameters
    ----------
    successes, trials : int, array-like or xarray.DataArray
        Whole numbers that broadcast against each other.
    confidence : float
        Nominal coverage, between 0 and 1.
    method : {"wilson", "wald", "agresti_coull", "agresti_coull_add2", "clopper_pearson", "jeffreys"}
        "wilson" inverts the score test. "wald" is the textbook interval p̂ ± z√(p̂(1 − p̂)/n). "agresti_coull" first
        adds z²/2 successes and z²/2 failures, "agresti_coull_add2" two of each. "clopper_pearson" inverts the exact
        test: it covers at least as often as stated, often more. "jeffreys" is the equal-tailed interval of Beta(k + ½,
        n − k + ½).

    Returns
    -------
    numpy.ndarray or xarray.DataArray
        With a last axis of 2, lower and upper; inside [0, 1]. For a DataArray, that dim is ``ci_bound``. Without trials
        it is [0, 1].

    Raises
    ------
    ValueError
        If a number is negative or fractional, or successes exceed trials.

    Warns
    -----
    UserWarning
        If an interval has no width: "wald" without successes, or without failures.

    Notes
    -----
    Brown, Cai & DasGupta (2001), Statistical Science 16, recommend "wilson" and "jeffreys" for few trials; "wald"
    covers far less than stated, at 40 trials and more. They start "jeffreys" at 0 without successes and end it at 1
    without failures; here, as in other packages, it is not changed, so that it excludes these.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.intervals.proportion(9, 10).round(3)
    array([0.596, 0.982])
    >>> bp.intervals.proportion([0, 5], 10, method="clopper_pearson").round(3)
    array([[0.   , 0.308],
           [0.187, 0.813]])
    """
    z = normal_quantile(confidence)
    limits_of = METHODS[checks.one_of("method", method, METHODS)]
    (k, n), leading = broadcast({"successes": successes, "trials": trials})
    check_counts(k, n, "successes", "trials")
    # One trial stands in where there are none; the interval is then [0, 1], whatever the method.
    limits = np.stack(limits_of(k, np.maximum(n, 1), confidence, z), -1).clip(0, 1)
    limits[n == 0] = 0, 1
    warn_of_no_width(limits, f"method={method!r}", "take method='wilson', which has one.")
    return limits if leading is None else limits_over(limits, leading, None, confidence=confidence, method=method)


def broadcast(columns: dict[str, ArrayLike | xr.DataArray]) -> tuple[list[Array], xr.DataArray | None]:
    """Return whole numbers as arrays of one shape, and labelled zeros of that shape if any of them is labelled.

    Plain arrays broadcast by their last axes, labelled ones by dim.
    """
    arrays = {name: checks.whole_numbers(name, np.asarray(values)).astype(float) for name, values in columns.items()}
    is_labelled = any(isinstance(values, xr.DataArray) for values in columns.values())
    try:
        if not is_labelled:
            return list(np.broadcast_arrays(*arrays.values())), None
        labelled_arrays = [
            column.copy(data=array) if isinstance(column, xr.DataArray) else xr.DataArray(array)
            for column, array in zip(columns.values(), arrays.values(), strict=True)
        ]
        shaped = xr.broadcast(*xr.align(*labelled_arrays, join="exact"))
    except ValueError as error:
        raise InputError(f"{', '.join(columns)}", f"do not broadcast: {error}") from None
    return [array.values for array in shaped], xr.zeros_like(shaped[0], dtype=float)


def check_counts(k: Array, n: Array, successes: str, trials: str) -> None:
    """Refuse more successes than trials."""
    if (k > n).any():
        at = np.argmax(k > n)
        raise InputError(successes, f"must not exceed {trials}; there are {k.flat[at]:g} of {n.flat[at]:g}.")


def _wald(k: Array, n: Array, _: float, z: float) -> tuple[Array, Array]:
    p = k / n
    half = z * np.sqrt(p * (1 - p) / n)
    return p - half, p + half


def wilson(k: Array, n: Array, _: float, z: float) -> tuple[Array, Array]:
    """Return the limits of Wilson (1927), the roots of n(p̂ − p)² = z²p(1 − p)."""
    p, square = k / n, z * z
    # (n + z²) times the larger root; without failures, n + z² to the last digit.
    above = k + (square / 2 + z / 2 * np.sqrt(square + 4 * p * (n - k)))
    # The smaller root by the product of the two, p̂²n/(n + z²), which loses no digits.
    return p * k / above, above / (n + square)


def _clopper_pearson(k: Array, n: Array, confidence: float, _: float) -> tuple[Array, Array]:
    tail = (1 - confidence) / 2
    # Where the limit is 0 or 1, parameters of 1 replace parameters of 0.
    lower = betaincinv(np.maximum(k, 1), n - k + 1, tail)
    upper = betainccinv(k + 1, np.maximum(n - k, 1), tail)
    return np.where(k == 0, 0, lower), np.where(k == n, 1, upper)


def _jeffreys(k: Array, n: Array, confidence: float, _: float) -> tuple[Array, Array]:
    tail = (1 - confidence) / 2
    return betaincinv(k + 0.5, n - k + 0.5, tail), betainccinv(k + 0.5, n - k + 0.5, tail)


METHODS: dict[str, Limits] = {
    "wilson": wilson,
    "wald": _wald,
    "agresti_coull": lambda k, n, _, z: _wald(k + z * z / 2, n + z * z, _, z),
    "agresti_coull_add2": lambda k, n, _, z: _wald(k + 2, n + 4, _, z),
    "clopper_pearson": _clopper_pearson,
    "jeffreys": _jeffreys,
}


# ── Differences of two rates ──

# From successes and trials (above 0) of a and of b, and the normal quantile, to the lower and the upper limit.
LimitsOfDifference = Callable[[Array, Array, Array, Array, float], tuple[Array, Array]]
# After this many halvings of [−1, 1] the ends are a few floats apart.
_HALVINGS = 60


@checked
def proportion_difference(
    successes_a: ArrayLike | xr.DataArray,
    trials_a: ArrayLike | xr.DataArray,
    successes_b: ArrayLike | xr.DataArray,
    trials_b: ArrayLike | xr.DataArray,
    *,
    confidence: float = 0.95,
    method: str = "newcombe",
) -> Any:
    """Return confidence intervals of rate a − rate b, from independent trials.

    If two systems share examples, their trials are paired: use `bayesperf.intervals.delta` or `bootstrap` with
    ``contrast="difference"``.

    Parameters
    ----------
    successes_a, trials_a, successes_b, trials_b : int, array-like or xarray.DataArray
        Whole numbers that broadcast against each other.
    confidence : float
        Nominal coverage, between 0 and 1.
    method : {"newcombe", "miettinen_nurminen", "agresti_caffo", "wald"}
        "newcombe" combines the limits of two Wilson intervals; "miettinen_nurminen" inverts the score test;
        "agresti_caffo" is "wald" after adding one success and one failure to each; "wald" is the textbook interval.

    Returns
    -------
    numpy.ndarray or xarray.DataArray
        With a last axis of 2, lower and upper; inside [−1, 1]. For a DataArray, that dim is ``ci_bound``. Without
        trials of a or of b it is [−1, 1].

    Raises
    ------
    ValueError
        If a number is negative or fractional, or successes exceed trials.

    Warns
    -----
    UserWarning
        If an interval has no width: "wald" where neither rate has both successes and failures.

    Notes
    -----
    Newcombe (1998), Statistics in Medicine 17, his method 10; Miettinen & Nurminen (1985), Statistics in Medicine 4;
    Agresti & Caffo (2000), The American Statistician 54.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.intervals.proportion_difference(56, 70, 48, 80).round(4)
    array([0.0524, 0.3339])
    >>> bp.intervals.proportion_difference(56, 70, 48, 80, method="miettinen_nurminen").round(4)
    array([0.0528, 0.3382])
    """
    z = normal_quantile(confidence)
    limits_of = METHODS_OF_DIFFERENCES[checks.one_of("method", method, METHODS_OF_DIFFERENCES)]
    (k_a, n_a, k_b, n_b), leading = broadcast(
        {"successes_a": successes_a, "trials_a": trials_a, "successes_b": successes_b, "trials_b": trials_b}
    )
    check_counts(k_a, n_a, "successes_a", "trials_a")
    check_counts(k_b, n_b, "successes_b", "trials_b")
    limits = np.stack(limits_of(k_a, np.maximum(n_a, 1), k_b, np.maximum(n_b, 1), z), -1).clip(-1, 1)
    limits[(n_a == 0) | (n_b == 0)] = -1, 1
    warn_of_no_width(limits, f"method={method!r}", "take method='newcombe', which has one.")
    return limits if leading is None else limits_over(limits, leading, None, confidence=confidence, method=method)


def _wald_of_difference(k_a: Array, n_a: Array, k_b: Array, n_b: Array, z: float) -> tuple[Array, Array]:
    a, b = k_a / n_a, k_b / n_b
    half = z * np.sqrt(a * (1 - a) / n_a + b * (1 - b) / n_b)
    return a - b - half, a - b + half


def _newcombe(k_a: Array, n_a: Array, k_b: Array, n_b: Array, z: float) -> tuple[Array, Array]:
    a, b = k_a / n_a, k_b / n_b
    (low_a, high_a), (low_b, high_b) = wilson(k_a, n_a, 0, z), wilson(k_b, n_b, 0, z)
    # Not by np.hypot, which takes five times as long for numbers that no square can take out of range.
    below, above = np.sqrt((a - low_a) ** 2 + (high_b - b) ** 2), np.sqrt((high_a - a) ** 2 + (b - low_b) ** 2)
    return a - b - below, a - b + above


def _miettinen_nurminen(k_a: Array, n_a: Array, k_b: Array, n_b: Array, z: float) -> tuple[Array, Array]:
    difference = k_a / n_a - k_b / n_b

    def rejected(delta: Array) -> Booleans:
        """Return whether the score test rejects a difference."""
        b = _rate_b_given(delta, k_a, n_a, k_b, n_b)
        a = b + delta
        variance = np.maximum(a * (1 - a) / n_a + b * (1 - b) / n_b, 0) * (n_a + n_b) / (n_a + n_b - 1)
        return np.asarray((difference - delta) ** 2 > z * z * variance)

    return _edge(rejected, difference, -1.0), _edge(rejected, difference, 1.0)


def _edge(rejected: Callable[[Array], Booleans], kept: Array, end: float) -> Array:
    """Return where rejection begins between a value that is kept and an end of the range, by bisection."""
    beyond = np.full_like(kept, end)
    for _ in range(_HALVINGS):
        middle = (kept + beyond) / 2
        out = rejected(middle)
        kept, beyond = np.where(out, kept, middle), np.where(out, middle, beyond)
    return beyond


def _rate_b_given(delta: Array, k_a: Array, n_a: Array, k_b: Array, n_b: Array) -> Array:
    """Return the most likely rate b if rate a exceeds it by delta, a root of the cubic of Miettinen & Nurminen."""
    total, successes = n_a + n_b, k_a + k_b
    l2 = ((n_a + 2 * n_b) * delta - total - successes) / (3 * total)
    l1 = ((n_b * delta - total - 2 * k_b) * delta + successes) / (3 * total)
    l0 = k_b * delta * (1 - delta) / total
    q = l2**3 - 3 * l1 * l2 / 2 + l0 / 2
    p = np.copysign(np.sqrt(np.maximum(l2 * l2 - l1, 0)), q)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(p == 0, 1, np.clip(q / p**3, -1, 1))
    root = 2 * p * np.cos((np.pi + np.arccos(cosine)) / 3) - l2
    return np.clip(root, np.maximum(0, -delta), np.minimum(1, 1 - delta))


METHODS_OF_DIFFERENCES: dict[str, LimitsOfDifference] = {
    "newcombe": _newcombe,
    "miettinen_nurminen": _miettinen_nurminen,
    "agresti_caffo": lambda k_a, n_a, k_b, n_b, z: _wald_of_difference(k_a + 1, n_a + 2, k_b + 1, n_b + 2, z),
    "wald": _wald_of_difference,
}


# ── A prevalence, from calls whose errors were counted elsewhere ──


@checked
def prevalence(
    calls: ArrayLike | xr.DataArray, errors: ConfusionMatrix, *, n: ArrayLike, confidence: float = 0.95
) -> Any:
    """Return confidence intervals of the prevalence in data that nobody labelled (Lang & Reiczigel 2014).

    Parameters
    ----------
    calls, n : int, array-like or xarray.DataArray
        How many examples were called positive, and how many there are.
    errors : ConfusionMatrix
        Counts from elsewhere, of two classes, without leading dims: how often calls are right.
    confidence : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    numpy.ndarray or xarray.DataArray
        With a last axis of 2, lower and upper; inside [0, 1].

    Raises
    ------
    TypeError
        If `errors` is no ConfusionMatrix.
    ValueError
        If `errors` have leading dims or more than two classes, or calls are no better than chance.

    Notes
    -----
    Rogan & Gladen's ratio (called + specificity − 1)/(recall + specificity − 1), with z²/2 pseudo-examples called
    positive and z²/2 called negative, one more right and one more wrong call of each class, and a shift of the centre.
    If recall and specificity are known, map the limits of `proportion` by the ratio instead. The posterior is
    `bayesperf.labels.prevalence`.

    References
    ----------
    Lang & Reiczigel (2014), Preventive Veterinary Medicine 113.

    Examples
    --------
    >>> import bayesperf as bp
    >>> validated = bp.ConfusionMatrix.from_counts(tp=103, fn=19, fp=2, tn=399)
    >>> bp.intervals.prevalence(50, validated, n=3330).round(3)
    array([0.   , 0.021])
    """
    checks.instance("errors", errors, ConfusionMatrix)
    if errors.dims or len(errors.labels) > 2:
        raise InputError("errors", "must be of two classes, without leading dims.", "Sum them, or select one.")
    if errors.positive is None:
        raise missing_positive_label(errors.labels)
    z = normal_quantile(confidence)
    (y, of), leading = broadcast({"calls": calls, "n": n})
    check_counts(y, of, "calls", "n")
    tp, fn, fp, tn = (ARGUMENTS[name](errors.counts.values, errors.positive) for name in ("tp", "fn", "fp", "tn"))
    recall, specificity = (tp + 1) / (tp + fn + 2), (tn + 1) / (tn + fp + 2)
    if recall + specificity <= 1:
        raise InputError(
            "errors", "are those of calls no better than chance.", "Check which class is the positive one."
        )
    called, better = (y + z**2 / 2) / (of + z**2), recall + specificity - 1
    centre = (called + specificity - 1) / better
    of_recall, of_specificity = (
        rate * (1 - rate) / (number + 2) for rate, number in ((recall, tp + fn), (specificity, tn + fp))
    )
    variance = called * (1 - called) / (of + z**2) + centre**2 * of_recall + (1 - centre) ** 2 * of_specificity
    half = z * np.sqrt(variance) / better
    shifted = centre + 2 * z**2 * (centre * of_recall - (1 - centre) * of_specificity)
    limits = np.clip(np.stack([shifted - half, shifted + half], -1), 0, 1)
    return limits if leading is None else limits_over(limits, leading, "prevalence", confidence=confidence)
