"""How intervals perform if the truth is known: whether they cover, on which side they miss, and how wide they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.arrays import Array

OUTCOMES = ("coverage", "lower_miss", "upper_miss", "width")


def interval_outcomes(lower: Array, upper: Array, true: Array | float) -> dict[str, NDArray[Any]]:
    """Return, under the names of `OUTCOMES`, whether intervals (bounds included) cover or miss the truth, and widths.

    ``lower_miss``: the truth lies below the lower bound; ``upper_miss``: above the upper one. An interval with NaN
    bounds neither covers nor misses.
    """
    return {
        "coverage": (lower <= true) & (true <= upper),
        "lower_miss": true < lower,
        "upper_miss": true > upper,
        "width": upper - lower,
    }


def monte_carlo_means(values: Mapping[str, NDArray[Any]], defined: NDArray[np.bool_] | None = None) -> dict[str, Array]:
    """Return means over simulations (simulation, …), and their Monte Carlo standard errors under the names ``*_mcse``.

    Simulations that are not `defined` do not count; without any the mean is NaN. The error is the standard deviation
    over simulations (divided by their number n, not n − 1) over √n: for a proportion p this is √(p(1 − p)/n).
    """
    means: dict[str, Array] = {}
    for name, of_simulations in values.items():
        counts = np.broadcast_to(True if defined is None else defined, of_simulations.shape)
        n = counts.sum(0)
        with np.errstate(invalid="ignore"):
            mean = np.where(counts, of_simulations, 0).sum(0) / n
            variance = np.where(counts, (of_simulations - mean) ** 2, 0).sum(0) / n
            means[name], means[f"{name}_mcse"] = mean, np.sqrt(variance) / np.sqrt(n)
    return means
