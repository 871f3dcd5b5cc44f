"""The assurance of a claim about one proportion: exact sums, for all numbers of new trials at once.

n new trials of a proportion S ~ Beta(a, b) have K ~ Beta-binomial(n, a, b) successes, after which S ~ Beta(a + K, b + n
− K). They show that S > x if P(S > x | K) ≥ confidence, which holds from some number of successes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, Counts
from bayesperf.core.fields import Held
from bayesperf.distributions.predicted_proportion import beta_binomial
from bayesperf.plan import smallest_number as smallest

# Up to this many trials every critical number of successes is searched for; beyond, it is a spline through so many.
_EVERY, _KNOTS = 1024, 512
# Where the spline is this near a whole number, it does not tell on which side of it the critical number lies.
_NEAR_WHOLE = 1e-3


@dataclass(frozen=True)
class OneCount(Held):
    """The claim that S > x, for a proportion S ~ Beta(a, b), and how new trials may show it."""

    # The proportion, given the evidence, and the bound.
    a: float
    b: float
    x: float
    # Posterior probability that shows the claim.
    confidence: float

    @property
    def probability_now(self) -> float:
        """The probability of the claim, given the evidence."""
        return float(special.betaincc(self.a, self.b, self.x))

    def assurance(self, n: Counts, either_way: bool) -> tuple[Array, Array]:
        """Return the probability that n trials show the claim (or either it or its contrary), and its errors, 0."""
        return self.shown_up_to(int(n.max()), either_way)[n], np.zeros(len(n))

    def smallest_n(self, assurance: float, either_way: bool) -> int | None:
        """Return the smallest n from which on the assurance is reached; None if it is above a million."""
        return smallest.smallest_of_all(lambda most: self.shown_up_to(most, either_way) >= assurance)

    def shown_up_to(self, most: int, either_way: bool) -> Array:
        """Return the probability that the claim (or either) is shown by n trials, for n = 0, 1, …, most."""
        shown = self._shown(most)
        return shown + OneCount(self.b, self.a, 1 - self.x, self.confidence)._shown(most) if either_way else shown

    def _shown(self, most: int) -> Array:
        """Return the probability that n trials show S > x, for n = 0, 1, …, most.

        One more trial moves the probability of at least k successes by one term of the Beta-binomial, and the critical
        k by 0 or 1: the probabilities are running sums, accurate to about 1e-8.
        """
        critical, a, b = self.critical_successes(most), self.a, self.b
        n, k = np.arange(most), critical[:-1]
        # The next trial matters if its success makes k − 1 into k, or if its failure leaves k short of k + 1.
        rises = critical[1:] > k
        at = np.where(rises, k, k - 1)
        steps = beta_binomial_pmf(at, n, a, b) * np.where(rises, k - n - b, a + at) / (a + b + n)
        return np.clip(np.cumsum(np.concatenate([[float(critical[0] == 0)], steps])), 0, 1)

    def critical_successes(self, most: int) -> Counts:
        """Return the smallest k that shows S > x of n trials, or n + 1 if there is none, for n = 0, 1, …, most."""
        low = smallest.fewest_successes(self._is_shown, np.arange(min(most, _EVERY) + 1))
        return low if most <= _EVERY else np.concatenate([low, self._fewest_of_many_trials(most)])

    def _is_shown(self, k: Any, n: Any) -> Any:
        return special.betaincc(self.a + k, self.b + n - k, self.x) >= self.confidence

    def _fewest_of_many_trials(self, most: int) -> Counts:
        """Return critical numbers for n above `_EVERY`, by a spline through the real k with P(S > x | k) = confidence.

        Less x n, that k is nearly a straight line in √n. Where the spline is near a whole number, that number is tried.
        """
        from scipy.interpolate import CubicSpline

        a, b, x = self.a, self.b, self.x
        knots = np.unique(np.geomspace(_EVERY, max(most, _EVERY + _KNOTS), _KNOTS).round())
        # P(S > x) of Beta(a + k, b + n − k) is the probability of at most a + k − 1 successes in a + b + n − 1 trials
        # at x.
        real = special.bdtrik(self.confidence, a + b + knots - 1, x) - a + 1
        n = np.arange(_EVERY + 1, most + 1)
        critical = x * n + CubicSpline(np.sqrt(knots), real - x * knots)(np.sqrt(n))
        whole, nearest = np.ceil(critical), np.round(critical)
        doubtful = np.flatnonzero((np.abs(critical - nearest) < _NEAR_WHOLE) & (nearest <= n))
        tried = nearest[doubtful]
        whole[doubtful] = np.where(self._is_shown(tried, n[doubtful]), tried, tried + 1)
        return np.clip(whole, 0, n + 1).astype(np.int64)


def beta_binomial_pmf(k: Any, n: Any, a: float, b: float) -> Array:
    """Return the Beta-binomial probability of k successes in n trials, 0 outside 0 … n."""
    possible = (k >= 0) & (k <= n)
    return np.where(possible, beta_binomial(np.where(possible, k, 0), n, a, b), 0.0)
