"""How probable it is that the next trials of a share show what is asked: exact sums, for all numbers of trials at once.

Of n new trials of a share S ~ Beta(a, b), K ~ Beta-binomial(n, a, b) succeed, and leave S ~ Beta(a + K, b + n − K).
They show that S > x if P(S > x | K) ≥ confidence, which is so from some number of successes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, Counts
from bayesperf.plan.search import from_all

# Up to so many trials every critical number of successes is searched for; beyond, it is a spline through so many.
_EVERY, _KNOTS = 1024, 512
# How near a whole number the spline leaves open on which side of it the critical number lies.
_OPEN = 1e-3


@dataclass(frozen=True)
class OneCount:
    """A share S ~ Beta(a, b), and the claim that S > x.

    Attributes
    ----------
    a, b, x : float
        The share as the evidence stands, and the bound.
    confidence : float
        Posterior probability that shows the claim.
    """

    a: float
    b: float
    x: float
    confidence: float

    @property
    def limit(self) -> float:
        """The probability of the claim as the evidence stands."""
        return float(special.betaincc(self.a, self.b, self.x))

    def values(self, n: Counts, both: bool) -> tuple[Array, Array]:
        """Return the probability that n trials show the claim, or one of it and its contrary, and its errors, 0."""
        return self._up_to(int(n.max()), both)[n], np.zeros(len(n))

    def smallest(self, assurance: float, both: bool) -> int | None:
        """Return the smallest n from which on that probability is great enough; None if it is beyond a million."""
        return from_all(lambda most: self._up_to(most, both) >= assurance)

    def _up_to(self, most: int, both: bool) -> Array:
        return (settled if both else shown)(self.a, self.b, self.x, self.confidence, most)


def shown(a: float, b: float, x: float, confidence: float, most: int) -> Array:
    """Return the probability that n trials show S > x, for n = 0, 1, …, most.

    One more trial moves the probability of at least k successes by one term of the Beta-binomial, and the critical k
    by 0 or 1: the probabilities are running sums, to about 1e-8.
    """
    critical = fewest_successes(a, b, x, confidence, most)
    n, k = np.arange(most), critical[:-1]
    # Of the next trial: the success that makes k − 1 into k, or the failure that leaves k short of k + 1.
    rises = critical[1:] > k
    at = np.where(rises, k, k - 1)
    steps = predictive(at, n, a, b) * np.where(rises, k - n - b, a + at) / (a + b + n)
    return np.clip(np.cumsum(np.concatenate([[float(critical[0] == 0)], steps])), 0, 1)


def settled(a: float, b: float, x: float, confidence: float, most: int) -> Array:
    """Return the probability that n trials show S > x or show S < x, for n = 0, 1, …, most."""
    return shown(a, b, x, confidence, most) + shown(b, a, 1 - x, confidence, most)


def predictive(k: Any, n: Any, a: float, b: float) -> Array:
    """Return the Beta-binomial probability of k successes in n trials, 0 outside 0 … n."""
    possible = (k >= 0) & (k <= n)
    k = np.where(possible, k, 0)
    log_ways = -np.log1p(n) - special.betaln(k + 1, n - k + 1)
    return np.where(possible, np.exp(log_ways + special.betaln(a + k, b + n - k) - special.betaln(a, b)), 0.0)


def fewest_successes(a: float, b: float, x: float, confidence: float, most: int) -> Counts:
    """Return the least k of n trials with P(S > x | k) ≥ confidence, n + 1 where none is, for n = 0, 1, …, most."""
    few = np.arange(min(most, _EVERY) + 1)
    low, high = np.zeros_like(few), few + 1
    while (open_ := low < high).any():
        middle = (low + high) // 2
        # Where low = high = n + 1 the middle is no number of successes, and nothing is left to decide.
        enough = special.betaincc(a + middle, np.maximum(b + few - middle, b), x) >= confidence
        low, high = np.where(open_ & ~enough, middle + 1, low), np.where(open_ & enough, middle, high)
    return low if most <= _EVERY else np.concatenate([low, _of_many(a, b, x, confidence, most)])


def _of_many(a: float, b: float, x: float, confidence: float, most: int) -> Counts:
    """Return them for n above `_EVERY`, by a spline through the real k at which P(S > x | k) = confidence.

    Less x n, it is nearly a straight line in √n. Where it comes near a whole number, that number is tried.
    """
    from scipy.interpolate import CubicSpline

    knots = np.unique(np.geomspace(_EVERY, max(most, _EVERY + _KNOTS), _KNOTS).round())
    # P(S > x) of Beta(a + k, b + n − k) is the probability of at most a + k − 1 of a + b + n − 1 at x each.
    real = special.bdtrik(confidence, a + b + knots - 1, x) - a + 1
    n = np.arange(_EVERY + 1, most + 1)
    found = x * n + CubicSpline(np.sqrt(knots), real - x * knots)(np.sqrt(n))
    whole = np.ceil(found)
    near = np.flatnonzero((np.abs(found - np.round(found)) < _OPEN) & (np.round(found) <= n))
    tried = np.round(found[near])
    enough = special.betaincc(a + tried, b + n[near] - tried, x) >= confidence
    whole[near] = np.where(enough, tried, tried + 1)
    return np.clip(whole, 0, n + 1).astype(np.int64)
