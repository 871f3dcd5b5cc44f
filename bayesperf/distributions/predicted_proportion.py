"""Predictive distributions of proportions in a new test set: beta-binomial, or mixtures over the number of trials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, Counts
from bayesperf.core.fields import Applied
from bayesperf.distributions.draws import Draws

# Numbers of examples up to which probabilities are summed: of a fixed number of trials, and of any number up to it.
MOST_TRIALS, MOST_EXAMPLES = 100_000, 500
# Rounding error of a sum of probabilities, and of a proportion.
_ROUNDING = 1e-12
# Number of examples (m,) and weights (m,) of successes, failures and the rest among them, with the metric as a function
# of the proportion of successes.
ProportionWeights = tuple[Counts, Array, Array, Array, Applied]


@dataclass(frozen=True, kw_only=True)
class PredictedProportion(Draws):
    """Exact distributions of S/T, or of an increasing function of it, with joint draws of them.

    Among `examples` new ones, T are trials, T ~ BetaBinomial(examples, success + failure, rest), and S of them are
    successes, S | T ~ BetaBinomial(T, success, failure). If there is no rest, all examples are trials. S/T is undefined
    if T = 0; results describe the cases where it is defined. Densities are kernel estimates from the draws.
    """

    # Number of examples, (m,).
    examples: Counts
    # Weights of the Dirichlet distribution of the three proportions of examples, (m,).
    success: Array
    failure: Array
    rest: Array
    # The function of the proportion.
    forward: Applied
    method: ClassVar[str] = "exact"
    chunk: ClassVar[int] = 16

    @cached_property
    def _points(self) -> list[tuple[Array, Array]]:
        """Possible values of each quantity, ascending, and their probabilities."""
        rows = zip(self.examples.tolist(), self.success, self.failure, self.rest, strict=True)
        points = [_proportions(*row) for row in rows]
        return [(np.asarray(self.forward(values)), weights) for values, weights in points]

    def pmf(self, x: Array) -> Array:
        """Return P(X = x), up to the rounding error of x."""
        x = np.broadcast_to(x, (self.size, x.shape[-1]))
        result = np.zeros(x.shape)
        for row, at, (values, weights) in zip(result, x, self._points, strict=True):
            place = np.minimum(np.searchsorted(values, at - _ROUNDING), len(values) - 1)
            row[:] = np.where(np.abs(values[place] - at) <= _ROUNDING, weights[place], 0)
        return result

    def cdf(self, x: Array) -> Array:
        return self._each_row(lambda values, below, x: below[np.searchsorted(values, x, side="right")], x)

    def sf(self, x: Array) -> Array:
        return self._each_row(lambda values, below, x: below[-1] - below[np.searchsorted(values, x, side="right")], x)

    def ppf(self, q: Array) -> Array:
        def quantile(values: Array, below: Array, q: Array) -> Array:
            place = np.searchsorted(below[1:], q - _ROUNDING)
            return np.asarray(values[np.minimum(place, len(values) - 1)])

        return self._each_row(quantile, q)

    guess = ppf

    def _each_row(self, function: Callable[[Array, Array, Array], Array], x: Array) -> Array:
        """Apply a function of each row's values, their cumulated probabilities (from 0 on), and arguments (m, n)."""
        x = np.broadcast_to(x, (self.size, x.shape[-1]))
        rows = zip(self._points, x, strict=True)
        return np.stack([function(values, np.concatenate([[0.0], np.cumsum(w)]), at) for (values, w), at in rows])

    def mean_sd(self) -> tuple[Array, Array]:
        mean = np.array([weights @ values for values, weights in self._points])
        return mean, np.sqrt(self._central(mean, 2))

    def skewness(self) -> Array:
        mean, sd = self.mean_sd()
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self._central(mean, 3) / sd**3)

    def _central(self, mean: Array, order: int) -> Array:
        return np.array([w @ (v - centre) ** order for (v, w), centre in zip(self._points, mean, strict=True)])

    def mode(self) -> Array:
        """Return the most probable values, the lowest of equally probable ones."""
        return np.array([values[np.argmax(weights > (1 - 1e-9) * weights.max())] for values, weights in self._points])

    def hdi(self, prob: float) -> Array:
        """Return the shortest intervals with at least this probability; the most probable of equally short ones."""
        return np.stack([_shortest(values, weights, prob) for values, weights in self._points])

    def mcse(self) -> Array:
        return np.zeros(self.size)

    def mcse_interval(self, prob: float, kind: str) -> Array:
        return np.zeros(self.size)

    def undefined(self) -> Array:
        """Return P(T = 0)."""
        rows = zip(self.examples, self.success + self.failure, self.rest, strict=True)
        return np.array([beta_binomial(np.zeros(1), n, a, b)[0] if b > 0 else 0.0 for n, a, b in rows])

    def shortfall(self) -> Array:
        return np.array([weights @ np.maximum(-values, 0) for values, weights in self._points])


def beta_binomial(k: Any, n: Any, a: Any, b: Any) -> Array:
    """Return the probabilities of k successes in n trials."""
    log_ways = -np.log1p(n) - special.betaln(k + 1, n - k + 1)
    return np.asarray(np.exp(log_ways + special.betaln(a + k, b + n - k) - special.betaln(a, b)))


def _proportions(examples: int, success: float, failure: float, rest: float) -> tuple[Array, Array]:
    """Return the possible proportions, ascending, and their probabilities if there are trials."""
    if rest <= 0:
        k = np.arange(examples + 1)
        weights = beta_binomial(k, examples, success, failure)
        return k / examples, weights / weights.sum()
    trials = np.repeat(np.arange(1, examples + 1), np.arange(2, examples + 2))
    k = np.concatenate([np.arange(t + 1) for t in range(1, examples + 1)])
    of_trials = beta_binomial(np.arange(examples + 1), examples, success + failure, rest)
    weights = of_trials[trials] * beta_binomial(k, trials, success, failure)
    # Equal fractions are the same number, because division is rounded correctly.
    values, place = np.unique(k / trials, return_inverse=True)
    weights = np.bincount(place, weights)
    return values, weights / weights.sum()


def _shortest(values: Array, weights: Array, prob: float) -> Array:
    below = np.concatenate([[0.0], np.cumsum(weights)])
    last = np.searchsorted(below[1:], below[:-1] + prob - _ROUNDING)
    first = np.flatnonzero(last < len(values))
    last = last[first]
    width = values[last] - values[first]
    shortest = np.flatnonzero(width <= width.min() + _ROUNDING)
    best = shortest[np.argmax((below[last + 1] - below[first])[shortest])]
    return np.asarray(values[[first[best], last[best]]])
