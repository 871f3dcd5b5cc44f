"""The rank envelope: a band that contains whole curves."""

from __future__ import annotations

from typing import Literal

import numpy as np

from bayesperf.core.arrays import Array


def rank_envelope(curves: Array, outside: int, ties: Literal["inside", "ordered"] = "inside") -> Array:
    """Return the rank envelope of curves (draws, k) as lower and upper bounds, (k, 2).

    At each point the envelope extends from the r-th smallest to the r-th greatest value, with the greatest r for which
    no more than a given number of curves leave it at any point.

    Parameters
    ----------
    curves : ndarray (draws, k)
        Values of each curve at k points.
    outside : int
        Maximum number of curves that may leave the envelope at some point.
    ties : {"inside", "ordered"}
        Curves with the same value at a point are all assigned the better of their ranks from below and the better of
        those from above ("inside"), or are ranked in the order of the draws ("ordered"), which makes the band wider.
    """
    draws = len(curves)
    ordered = np.sort(curves, axis=0)
    # The number of curves beyond each curve, on the side with fewer, at the point where this number is smallest.
    depth = np.full(draws, draws)
    for values, ranked in zip(curves.T, ordered.T, strict=True):
        if ties == "inside":
            first, last = np.searchsorted(ranked, values, "left"), np.searchsorted(ranked, values, "right") - 1
        else:
            first = last = values.argsort(kind="stable").argsort()
        depth = np.minimum(depth, np.minimum(last, draws - 1 - first))
    rank = np.sort(depth)[outside]
    return ordered[[rank, draws - 1 - rank]].T
