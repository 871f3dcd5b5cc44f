"""Areas under parts of ROC curves, between two false positive rates."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.curves.areas.smoothed_areas import rates_at_scores, separated, smoothed_rates
from bayesperf.curves.roc.called_positive import area_between

PARTIAL_NAME = "partial_roc_auc"


def range_of_rates(name: str, rates: Any) -> tuple[float, float]:
    """Return two false positive rates, checked."""
    try:
        low, high = rates
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be two false positive rates; it is {rates!r}.") from None
    low, high = checks.number(name, low), checks.number(name, high)
    if not 0 <= low < high <= 1:
        raise ValueError(f"{name} must be false positive rates, 0 ≤ low < high ≤ 1; they are {low}, {high}.")
    return low, high


def partial_quantity(low: float, high: float) -> str:
    """Return what such an area is, in words."""
    return f"area under the ROC curve from fpr {low:g} to {high:g}"


def partial_area_draws(
    positive: Array, negative: Array, low: float, high: float, draws: int, rng: np.random.Generator, progressbar: bool
) -> Array:
    """Return draws of systems' areas between two false positive rates, (S, draws), of one set of weights for all.

    If the scores of one separate the classes all are smoothed, as whole areas are.

    Parameters
    ----------
    positive, negative : ndarray (S, n), (S, m)
        Scores that each system gives to the examples of either class.
    low, high : float
        False positive rates.
    draws, rng, progressbar
        As of `area_draws`.
    """
    rates = smoothed_rates if any(separated(positive, negative)) else rates_at_scores
    blocks = [
        [area_between(recall, fpr, low, high) for recall, fpr in of_systems]
        for of_systems in rates(positive, negative, draws, rng, progressbar)
    ]
    return np.clip(np.concatenate(blocks, 1), 0, high - low)
