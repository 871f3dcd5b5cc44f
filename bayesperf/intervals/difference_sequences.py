"""Intervals of the difference of two systems that are valid however often you look."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.intervals.confidence_sequences import confidence_sequence
from bayesperf.intervals.limits import limits_over
from bayesperf.intervals.proportions import broadcast, check_counts


@checked
def difference_sequence(
    successes_a: ArrayLike | xr.DataArray,
    trials_a: ArrayLike | xr.DataArray,
    successes_b: ArrayLike | xr.DataArray,
    trials_b: ArrayLike | xr.DataArray,
    *,
    confidence: float = 0.95,
    prior: tuple[float, float] = (1, 1),
) -> Any:
    """Return intervals that all contain rate a − rate b at once, from independent trials, however often you look.

    Parameters
    ----------
    successes_a, trials_a, successes_b, trials_b : int, array-like or xarray.DataArray
        Whole numbers that broadcast against each other: all successes and trials so far, at each look.
    confidence : float
        Probability that the intervals of *all* looks contain the difference.
    prior : tuple of two float
        As in `bayesperf.intervals.confidence_sequence`.

    Returns
    -------
    numpy.ndarray or xarray.DataArray
        With a last axis of 2, lower and upper; inside [-1, 1]. For a DataArray, that dim is ``ci_bound``.

    Raises
    ------
    ValueError
        If a number is negative or fractional, or successes exceed trials.

    Notes
    -----
    Each rate has a confidence sequence with half of the error. You may look after every trial of either system, and
    stop at any time. Turner, Ly & Grünwald (2024), Statistics & Probability Letters 198, test equal rates with one
    martingale for both.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.intervals.difference_sequence([45, 450], [50, 500], [30, 300], [50, 500]).round(3)
    array([[-0.106,  0.617],
           [ 0.165,  0.424]])
    """
    checks.probability("confidence", confidence)
    given = {"successes_a": successes_a, "trials_a": trials_a, "successes_b": successes_b, "trials_b": trials_b}
    (k_a, n_a, k_b, n_b), leading = broadcast(given)
    check_counts(k_a, n_a, "successes_a", "trials_a")
    check_counts(k_b, n_b, "successes_b", "trials_b")
    level = (1 + confidence) / 2
    a, b = (confidence_sequence(k, n, confidence=level, prior=prior) for k, n in ((k_a, n_a), (k_b, n_b)))
    limits = a - b[..., ::-1]
    return limits if leading is None else limits_over(limits, leading, None, confidence=confidence, prior=list(prior))


@checked
def paired_sequence(
    only_a: ArrayLike | xr.DataArray,
    only_b: ArrayLike | xr.DataArray,
    trials: ArrayLike | xr.DataArray,
    *,
    confidence: float = 0.95,
    prior: tuple[float, float] = (1, 1),
) -> Any:
    """Return intervals that all contain rate a − rate b at once, for systems on the same examples.

    Parameters
    ----------
    only_a, only_b : int, array-like or xarray.DataArray
        Examples so far, at each look, on which only a, or only b, succeeds: the discordant pairs of McNemar's test.
    trials : int, array-like or xarray.DataArray
        All examples so far.
    confidence, prior
        As in `difference_sequence`.

    Returns
    -------
    numpy.ndarray or xarray.DataArray
        As by `difference_sequence`.

    Raises
    ------
    ValueError
        If a number is negative or fractional, or discordant examples exceed the trials.

    Notes
    -----
    The difference is d(2s − 1), where d is the proportion of discordant examples and s that of the ones that a wins.
    Both have a confidence sequence with half of the error, d over all examples and s over the discordant ones; the
    interval holds the differences of all their values. Its sign is decided by s alone.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.intervals.paired_sequence([12, 120], [3, 30], [100, 1000]).round(3)
    array([[-0.061,  0.29 ],
           [ 0.038,  0.156]])
    """
    checks.probability("confidence", confidence)
    (a, b, n), leading = broadcast({"only_a": only_a, "only_b": only_b, "trials": trials})
    for name, values in (("only_a", a), ("only_b", b)):
        check_counts(values, n, name, "trials")
    if (a + b > n).any():
        raise InputError("only_a and only_b", "together exceed the trials.")
    level = (1 + confidence) / 2
    share = confidence_sequence(a + b, n, confidence=level, prior=prior)
    won = 2 * confidence_sequence(a, a + b, confidence=level, prior=prior) - 1
    limits = np.stack([_product(share, won[..., 0], np.minimum), _product(share, won[..., 1], np.maximum)], -1)
    return limits if leading is None else limits_over(limits, leading, None, confidence=confidence, prior=list(prior))


def _product(share: Array, won: Array, extreme: Any) -> Array:
    """Return the extreme of a proportion of discordant examples, within its limits, times the lead among them."""
    return np.asarray(extreme(share[..., 0] * won, share[..., 1] * won))
