"""Confidence interval of a prevalence from calls, or from a test, whose errors were counted elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError
from bayesperf.data.label_encoding import missing_positive_label
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.intervals.limits import limits_over, normal_quantile
from bayesperf.intervals.proportions import broadcast, check_counts
from bayesperf.metrics.arguments import ARGUMENTS


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
