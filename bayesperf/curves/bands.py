"""Bands of drawn curves: between quantiles at every place, or between ranks that hold whole curves."""

from __future__ import annotations

from typing import Literal

import numpy as np

from bayesperf.core.arrays import Array

BandKind = Literal["pointwise", "simultaneous"]


def pointwise(curves: Array, prob: float) -> Array:
    """Return the equal-tailed intervals of curves (draws, k) at each place, (k, 2)."""
    return np.quantile(curves, [(1 - prob) / 2, (1 + prob) / 2], axis=0).T


def simultaneous(curves: Array, prob: float) -> Array:
    """Return the rank envelope of curves (draws, k), (k, 2).

    At each place it runs from the r-th smallest to the r-th greatest value, with the greatest r for which at least a
    share `prob` of the curves lies inside at every place.
    """
    draws = len(curves)
    ordered = np.sort(curves, axis=0)
    # How many curves are at most, and at least, where each is: a curve is inside if both are r or more everywhere.
    most_extreme = np.full(draws, draws)
    for values, ranked in zip(curves.T, ordered.T, strict=True):
        at_most, below = (np.searchsorted(ranked, values, side=side) for side in ("right", "left"))
        most_extreme = np.minimum(most_extreme, np.minimum(at_most, draws - below))
    outside = int(np.floor((1 - prob) * draws + 1e-9))
    rank = np.sort(most_extreme)[outside]
    return ordered[[rank - 1, draws - rank]].T


def holding(bounds: Array, observed: Array) -> Array:
    """Return intervals (k, 2) widened to hold the observed values (k,)."""
    return np.stack([np.minimum(bounds[:, 0], observed), np.maximum(bounds[:, 1], observed)], axis=-1)
