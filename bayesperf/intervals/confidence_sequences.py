"""Intervals of a rate, or of the difference of two systems, that are valid however often you look."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import betaln, xlog1py, xlogy

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.intervals.limits import limits_over
from bayesperf.intervals.proportions import broadcast, check_counts

# Newton's steps end when they change a limit by less than this fraction of it, or after this many.
_SHORT, _MOST = 1e-15, 100


@checked
def confidence_sequence(
    successes: ArrayLike | xr.DataArray,
    trials: ArrayLike | xr.DataArray,
    *,
    confidence: float = 0.95,
    prior: tuple[float, float] = (1, 1),
) -> Any:
    """Return intervals that all contain a rate at once, with the stated confidence, however often you look.

    Parameters
    ----------
    successes, trials : int, array-like or xarray.DataArray
        Whole numbers that broadcast against each other: all successes and trials so far, at each look.
    confidence : float
        Probability that the intervals of *all* looks contain the rate, between 0 and 1.
    prior : tuple of two float
        Weights of the Beta over which rates are averaged. The confidence holds for any weights; the intervals are
        narrowest for rates with much weight in the Beta.

    Returns
    -------
    numpy.ndarray or xarray.DataArray
        With a last axis of 2, lower and upper; inside [0, 1]. For a DataArray, that dim is ``ci_bound``. Without trials
        it is [0, 1].

    Raises
    ------
    ValueError
        If a number is negative or fractional, successes exceed trials, or a weight of the prior is not above 0.

    Notes
    -----
    An interval holds the rates p whose likelihood is more than 1 − confidence of the average likelihood under the Beta;
    equivalently, the rates whose posterior density is more than that fraction of their prior density. At the true rate,
    the ratio of the average to the likelihood is a martingale that starts at 1, and the probability that it ever
    reaches 1/(1 − confidence) is at most 1 − confidence (Ville). You may therefore look after every trial, stop at any
    time, and continue after that. The price is width: with 100 trials the interval is some 1.6 times as wide as an
    interval for one look.

    All intervals contain the rate at once, so the largest lower and the smallest upper limit so far bound it, too: with
    looks in their order, ``numpy.maximum.accumulate`` and ``numpy.minimum.accumulate`` compute them. Trials must be
    independent and have one rate; the numbers of trials at each look may depend on earlier results.

    Robbins (1970), Annals of Mathematical Statistics 41, section 5; Waudby-Smith & Ramdas (2020), Confidence sequences
    for sampling without replacement, NeurIPS 33 (the ratio of prior and posterior); Howard, Ramdas, McAuliffe & Sekhon
    (2021), Annals of Statistics 49(2). Waudby-Smith & Ramdas (2024), JRSS-B 86(1), have such intervals for the mean of
    any bounded quantity.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.intervals.confidence_sequence([0, 8, 45, 460], [0, 10, 50, 500]).round(3)
    array([[0.   , 1.   ],
           [0.353, 0.99 ],
           [0.712, 0.984],
           [0.869, 0.957]])
    """
    checks.probability("confidence", confidence)
    a, b = checks.beta_weights("prior", prior)
    (k, n), leading = broadcast({"successes": successes, "trials": trials})
    check_counts(k, n, "successes", "trials")
    log_bound = np.log1p(-confidence) + betaln(a + k, b + n - k) - betaln(a, b)
    limits = np.stack([_lower(k, n, log_bound), 1 - _lower(n - k, n, log_bound)], -1)
    return limits if leading is None else limits_over(limits, leading, None, confidence=confidence, prior=[a, b])


def _lower(k: Array, n: Array, log_bound: Array) -> Array:
    """Return the smallest p at which k log p + (n − k) log(1 − p) is a bound, by Newton's steps in log p.

    The function is concave in log p, and not above the bound at the start, since the second term is not above 0: steps
    lead upwards and never past the root.
    """
    p = np.exp(log_bound / np.where(k > 0, k, 1))
    # A root below the smallest floating-point number is 0.
    inside = (k > 0) & (k < n) & (p > 0)
    for _ in range(_MOST):
        missing = log_bound - xlogy(k, p) - xlog1py(n - k, -p)
        step = np.divide(missing * (1 - p), k - n * p, out=np.zeros_like(p), where=inside & (missing > 0))
        if not (step > _SHORT).any():
            break
        p = np.minimum(p * np.exp(step), np.where(inside, k / np.maximum(n, 1), p))
    return np.where(k > 0, p, 0)


# ── The difference of two systems ──


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
        As in `difference_sequence`.

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
