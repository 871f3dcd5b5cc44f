"""Whether ranks are uniform: a test, and the simultaneous band of their empirical distribution function.

Säilynoja, Bürkner & Vehtari (2022), Statistics and Computing 32. The ranks of n simulations are given as proportions
("pit", probability integral transforms); their distribution function is evaluated at `levels` 1/n, …, (n − 1)/n.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import stats

from bayesperf.core.arrays import Array

_NULL_SAMPLES = 20_000


def levels(n: int) -> Array:
    """Return 1/n, …, (n − 1)/n."""
    return np.arange(1, n) / n


def distribution_functions(pit: Array) -> Array:
    """Return the empirical distribution function of each row of proportions (m, n) at the levels, (m, n − 1)."""
    return np.asarray(_below(pit) / pit.shape[1], float)


def band(n: int, prob: float) -> Array:
    """Return the band (n − 1, 2) that contains the whole distribution function of n uniform proportions with `prob`."""
    tail = tail_probability(n, prob)
    return np.stack([stats.binom.ppf(tail, n, levels(n)), stats.binom.isf(tail, n, levels(n))], -1) / n


def p_values(pit: Array) -> Array:
    """Return the p-value of uniformity of each row of proportions (m, n), from the simulated null distribution."""
    null = _null(pit.shape[1])
    return (1 + np.searchsorted(null, smallest_tails(pit), side="right")) / (1 + len(null))


def tail_probability(n: int, prob: float) -> float:
    """Return the pointwise binomial tail probability of the band."""
    return float(np.quantile(_null(n), 1 - prob))


def smallest_tails(pit: Array) -> Array:
    """Return the smallest two-sided binomial tail probability of each row's distribution function over the levels."""
    n = pit.shape[1]
    smallest: Array = _tails(n)[np.arange(n - 1), _below(pit)].min(1)
    return smallest


def _below(pit: Array) -> Array:
    """Return the number of proportions in each row that are at most each level."""
    below: Array = np.apply_along_axis(np.searchsorted, 1, np.sort(pit, 1), levels(pit.shape[1]), side="right")
    return below


@cache
def _null(n: int) -> Array:
    """Return sorted smallest tails of samples of n uniform proportions."""
    return np.sort(smallest_tails(np.random.default_rng(0).random((_NULL_SAMPLES, n))))


@cache
def _tails(n: int) -> Array:
    """Return the smaller tail probability for 0, …, n of n proportions below each level, (n − 1, n + 1)."""
    k, level = np.arange(n + 1), levels(n)[:, None]
    tails: Array = np.minimum(stats.binom.cdf(k, n, level), stats.binom.sf(k - 1, n, level))
    return tails
