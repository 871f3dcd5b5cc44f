"""How probable it is that two counts together show what is asked: sums over one of them of tails of the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, Counts
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.differences import ExactDistribution, difference, discordant
from bayesperf.distributions.quadrature import beta_nodes
from bayesperf.plan.more_trials import after, parameters
from bayesperf.plan.one_count import predictive
from bayesperf.plan.search import from_some

# The critical first count is searched for at so many of the second count, evenly spaced, and as many of the most
# probable, and interpolated at the rest; and the sum runs over so many.
_KNOTS, _TERMS = 49, 2048
# How near a whole number the interpolation leaves open on which side of it the critical count lies.
_OPEN = 0.1
# Mass of the second count that the sum may leave out at either end.
_TAIL = 1e-10


@dataclass(frozen=True, eq=False)
class TwoCounts:
    """Two counts of n new examples, and a claim that the first speaks for and the second against.

    Attributes
    ----------
    left : callable
        From the counts (m,) and n to the probability of the claim that they leave, (m,).
    against : tuple of two float
        The second count is Beta-binomial(n, against).
    speaking : tuple of two float
        The first count is Beta-binomial of these and its trials.
    trials : callable
        From the second count and n to the trials of the first.
    confidence : float
        Posterior probability that shows the claim.
    """

    left: Callable[[Counts, Counts, int], Array]
    against: tuple[float, float]
    speaking: tuple[float, float]
    trials: Callable[[Counts, int], Counts]
    confidence: float

    @property
    def limit(self) -> float:
        """The probability of the claim as the evidence stands."""
        nothing = np.zeros(1, int)
        return float(self.left(nothing, nothing, 0)[0])

    def values(self, n: Counts, both: bool) -> tuple[Array, Array]:
        """Return the probability that n examples show the claim, or one of it and its contrary, and its errors, 0."""
        return np.array([self._value(int(one), both) for one in n]), np.zeros(len(n))

    def smallest(self, assurance: float, both: bool) -> int | None:
        """Return the smallest n from which on that probability is great enough; None if it is beyond a million."""
        # The sum over the second count wears the teeth away.
        return from_some(lambda n: self._value(n, both) >= assurance)

    def _value(self, n: int, both: bool) -> float:
        second = self._second(n)
        chances = predictive(second, n, *self.against)
        trials = self.trials(second, n)
        met = self._tail(self._critical(second, n, self.confidence), trials)
        if both:
            met = met + 1 - self._tail(self._critical(second, n, 1 - self.confidence), trials)
        return min(float(chances @ met / chances.sum()), 1.0)

    def _second(self, n: int) -> Counts:
        """Return the values of the second count that are summed over: all, or evenly spaced ones of many."""
        tails = special.betaincinv(*self.against, [_TAIL, 1 - _TAIL])
        low, high = np.clip(n * tails + 6 * np.sqrt(n) * np.array([-1, 1]), 0, n)
        return np.unique(np.linspace(np.floor(low), np.ceil(high), _TERMS).astype(int))

    def _critical(self, second: Counts, n: int, confidence: float) -> Counts:
        """Return the least first count that leaves a probability of at least some confidence; one more if none does.

        It is smooth in the angle whose squared sine is the share of the second count.
        """
        if len(second) <= 2 * _KNOTS:
            return self._searched(second, n, confidence)
        from scipy.interpolate import PchipInterpolator

        angle = np.arcsin(np.sqrt(second / n))
        evenly = np.searchsorted(angle, np.linspace(angle[0], angle[-1], _KNOTS)).clip(0, len(second) - 1)
        # A U-shaped prediction has its mass where the curve bends.
        probable = np.argsort(predictive(second, n, *self.against))[-_KNOTS:]
        knots = np.union1d(evenly, probable)
        real = self._between(self._searched(second[knots], n, confidence), second[knots], n, confidence)
        found = PchipInterpolator(angle[knots], real)(angle)
        critical, most = np.clip(np.ceil(found), 0, self.trials(second, n) + 1).astype(int), self.trials(second, n)
        tried = np.round(found).astype(int)
        near = np.flatnonzero((np.abs(found - tried) < _OPEN) & (tried >= 0) & (tried <= most))
        enough = self.left(tried[near], second[near], n) >= confidence
        critical[near] = np.where(enough, tried[near], tried[near] + 1)
        return critical

    def _searched(self, second: Counts, n: int, confidence: float) -> Counts:
        """Return it by bisection."""
        low, high = np.zeros_like(second), self.trials(second, n) + 1
        most = high - 1
        while (open_ := low < high).any():
            middle = np.minimum((low + high) // 2, most)
            enough = self.left(middle, second, n) >= confidence
            low, high = np.where(open_ & ~enough, middle + 1, low), np.where(open_ & enough, middle, high)
        return low

    def _between(self, critical: Counts, second: Counts, n: int, confidence: float) -> Array:
        """Return the real first count that would do, beyond the possible ones too: on a line through two probits."""
        most = self.trials(second, n)
        below = np.clip(critical - 1, 0, np.maximum(most - 1, 0))
        start, end = (special.ndtri(self.left(np.minimum(at, most), second, n)) for at in (below, below + 1))
        with np.errstate(invalid="ignore", divide="ignore"):
            real = below + (special.ndtri(confidence) - start) / (end - start)
        least, greatest = np.where(critical > 0, critical - 1, -np.inf), np.where(critical > most, np.inf, critical)
        return np.clip(np.where(np.isfinite(real), real, critical), least, greatest)

    def _tail(self, least: Counts, trials: Counts) -> Array:
        """Return the probability that the first count is at least some number.

        It is that the share is above the least-th smallest of as many uniforms as there are trials, which is Beta.
        """
        some = np.flatnonzero((least > 0) & (least <= trials))
        found = (least <= 0).astype(float)
        k, m = least[some, None].astype(float), trials[some, None]
        x, _, weights = beta_nodes(k, m - k + 1, nodes=65)
        found[some] = (weights * special.betaincc(*self.speaking, x)).sum(-1)
        return found


def _above(distribution: Distribution, x: float) -> Array:
    """Return P(X > x), (m,), some at a time."""
    starts = range(0, distribution.size, distribution.chunk)
    at = np.array([[x]])
    return np.concatenate([distribution.take(slice(i, i + distribution.chunk)).sf(at)[:, 0] for i in starts])


def independent(better: ExactDistribution, other: ExactDistribution, margin: float, confidence: float) -> TwoCounts:
    """Return the counts that show one share, or function of it, to exceed another by a margin, of n trials each."""

    def left(first: Counts, second: Counts, n: int) -> Array:
        return _above(difference(after(better, first, n - first), after(other, second, n - second)), margin)

    return TwoCounts(left, parameters(other), parameters(better), lambda k, n: np.full_like(k, n), confidence)


def paired(first: float, second: float, rest: float, margin: float, confidence: float) -> TwoCounts:
    """Return the same for shares of the same n examples: weights of success of one alone, of the other alone, rest."""

    def left(one: Counts, other: Counts, n: int) -> Array:
        a, b, c = (np.asarray(w, float) for w in (first + one, second + other, rest + (n - one - other)))
        # Which is greater depends on the first two alone.
        return _above(discordant(a, b, c), margin) if margin else np.asarray(special.betaincc(a, b, 0.5))

    return TwoCounts(left, (second, first + rest), (first, rest), lambda k, n: n - k, confidence)
