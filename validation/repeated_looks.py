"""How often a system is wrongly said to meet a requirement, or to miss it, if one looks again and again: exact sums."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import betaincc
from scipy.stats import binom

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans, Counts
from bayesperf.core.errors import InputError
from bayesperf.intervals.confidence_sequence import confidence_sequence
from bayesperf.plan.smallest_number import fewest_successes
from bayesperf.studies.run import parallel_map

# From successes and trials so far, the requirement and the confidence to whether it is said to be met.
Rule = Callable[[Counts, Counts, float, float], Booleans]


def repeated_looks(
    requirement: float = 0.7,
    looks: int = 1000,
    batch: int = 10,
    *,
    rate: ArrayLike | None = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> xr.Dataset:
    """Return how probably a rate is said to meet a requirement, or to miss it, at one of many looks or another.

    A system is tested on batches of trials, and one looks after each. Runs of which nothing was said yet go on; their
    distribution over the successes so far is carried from look to look, so that the probabilities are exact.

    Parameters
    ----------
    requirement : float
        What the rate is to be at least.
    looks : int
        Number of batches.
    batch : int
        Trials in each.
    rate : array-like (r,), optional
        True rates in [0, 1]; by default the requirement itself.
    confidence : float
        From which probability on, or with which confidence, something is said.
    n_jobs : int, optional
        Number of rules and rates computed in parallel (joblib).

    Returns
    -------
    xarray.Dataset
        ``met`` and ``missed``, the probabilities that by a look it was said that the rate is above the requirement, or
        that it is below, over (rule, rate, look). The rules are "flat" and "jeffreys", the posterior probability under
        these priors, and "confidence_sequence", by `bayesperf.intervals.confidence_sequence`. Each of the two counts
        whether or not the other was said before. The settings are in ``attrs``.

    Raises
    ------
    ValueError
        If the requirement or the confidence is not between 0 and 1, or a rate is outside [0, 1].

    Notes
    -----
    Of systems exactly at a requirement of .7, about 5 % have a posterior probability of .95 at any one look, but 19 %
    after one of 20 batches of ten or another (21 % with Jeffreys' prior), and 41 % (43 %) after one of 1,000. By the
    confidence sequence .4 and .7 % are said to meet it, and .7 and 1.1 % to miss it. Its 5 % are for both sides, all
    times and looks after every trial, so that fewer looks leave some of them unused.

    Examples
    --------
    >>> from validation.repeated_looks import repeated_looks
    >>> study = repeated_looks(0.7, looks=20)
    >>> study["met"].isel(rate=0, look=-1).round(3).values
    array([0.19 , 0.211, 0.004])
    """
    needed = checks.probability("requirement", requirement)
    level = checks.probability("confidence", confidence)
    rates = checks.vector("rate", needed if rate is None else rate)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise InputError("rate", f"must be rates in [0, 1]; it holds {rates[(rates < 0) | (rates > 1)][0]}.")
    numbers = np.arange(1, checks.count("looks", looks) + 1)
    settings = {"requirement": needed, "looks": looks, "batch": checks.count("batch", batch), "confidence": level}
    cases = ((rule, needed, level, numbers * batch, p) for rule in RULES.values() for p in rates)
    said = np.array(parallel_map(_said, cases, n_jobs)).reshape(len(RULES), len(rates), 2, looks)
    dims = ("rule", "rate", "look")
    variables = {name: (dims, said[:, :, i]) for i, name in enumerate(("met", "missed"))}
    return xr.Dataset(variables, {"rule": list(RULES), "rate": rates, "look": numbers}, settings)


def _by_posterior(weight: float) -> Rule:
    def met(k: Counts, n: Counts, requirement: float, confidence: float) -> Booleans:
        return np.asarray(betaincc(weight + k, weight + n - k, requirement) >= confidence)

    return met


def _by_confidence_sequence(k: Counts, n: Counts, requirement: float, confidence: float) -> Booleans:
    return np.asarray(confidence_sequence(k, n, confidence=confidence)[..., 0] >= requirement)


RULES: dict[str, Rule] = {
    "flat": _by_posterior(1),
    "jeffreys": _by_posterior(0.5),
    "confidence_sequence": _by_confidence_sequence,
}


def _said(rule: Rule, requirement: float, confidence: float, trials: Counts, rate: float) -> tuple[Array, Array]:
    """Return the probabilities that it was said by each look that a rate is above, and below, a requirement.

    A rate is below if that of the failures is above.
    """
    met, missed = (
        fewest_successes(partial(_shown, rule, bound, confidence), trials) for bound in (requirement, 1 - requirement)
    )
    return _reached(met, trials, rate), _reached(missed, trials, 1 - rate)


def _shown(rule: Rule, requirement: float, confidence: float, successes: Counts, trials: Counts) -> Booleans:
    return rule(successes, trials, requirement, confidence)


def _reached(least: Counts, trials: Counts, rate: float) -> Array:
    """Return the probability that successes have been at least so many, by each look."""
    running, reached = np.ones(1), []
    batch = trials[0]
    more: Any = binom.pmf(np.arange(batch + 1), batch, rate)
    for bound in least:
        running = np.convolve(running, more)
        reached.append(running[bound:].sum())
        running[bound:] = 0
    return np.cumsum(reached)
