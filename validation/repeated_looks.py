"""How often a system is wrongly said to meet a requirement, or to miss it, if one looks again and again: exact sums.

A system is tested on batches of trials, and one looks after each. Runs of which nothing was said yet go on; their
distribution over the successes so far is carried from look to look, so that the probabilities are exact.

Of systems exactly at a requirement of .7, about 5 % have a posterior probability of .95 at any one look, but 19 %
after one of 20 batches of ten or another (21 % with Jeffreys' prior), and 41 % (43 %) after one of 1,000. By the
confidence sequence .4 and .7 % are said to meet it, and .7 and 1.1 % to miss it. Its 5 % are for both sides, all times
and looks after every trial, so that fewer looks leave some of them unused.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import betaincc
from scipy.stats import binom

from bayesperf.core.arrays import Array, Booleans, Counts
from bayesperf.intervals.confidence_sequences import confidence_sequence
from bayesperf.plan.smallest_number import fewest_successes

# From successes and trials so far, the requirement and the confidence to whether it is said to be met.
Rule = Callable[[Counts, Counts, float, float], Booleans]


def repeated_looks(
    requirement: float = 0.7,
    looks: int = 1000,
    batch: int = 10,
    *,
    rates: Sequence[float] | None = None,
    confidence: float = 0.95,
) -> xr.Dataset:
    """Return how probably a rate was said, by each look, to be above the requirement (``met``), or below (``missed``).

    The rules are the posterior probability under "flat" and "jeffreys" priors, and the "confidence_sequence"; rates are
    those that are true, by default the requirement itself. Each of the two counts whether or not the other was said
    before.
    """
    rates = [requirement] if rates is None else list(rates)
    numbers = np.arange(1, looks + 1)
    said = np.array(
        [[_said(rule, requirement, confidence, numbers * batch, p) for p in rates] for rule in RULES.values()]
    )
    variables = {name: (("rule", "rate", "look"), said[:, :, i]) for i, name in enumerate(("met", "missed"))}
    return xr.Dataset(variables, {"rule": list(RULES), "rate": rates, "look": numbers})


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


def looks_table(_: int = 1) -> pd.DataFrame:
    """Return what is said at some looks after batches of ten of a system exactly at a requirement of 0.7."""
    return repeated_looks().sel(look=[1, 20, 100, 1000]).to_dataframe().round(4).reset_index()


TABLES = {"repeated_looks": looks_table}
