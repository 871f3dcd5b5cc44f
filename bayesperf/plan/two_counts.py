"""The assurance that two counts show one system better: sums over one count of tail probabilities of the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, Booleans, Counts
from bayesperf.core.fields import Held
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.beta import ExactDistribution
from bayesperf.distributions.differences import difference, discordant
from bayesperf.distributions.quadrature import beta_nodes
from bayesperf.distributions.tabulated import Tabulated
from bayesperf.plan.evidence import beta_parameters, updated
from bayesperf.plan.one_count import beta_binomial_pmf
from bayesperf.plan.smallest_number import fewest_successes, smallest_by_bisection

# The critical first count is searched for at this many values of the second count, evenly spaced, and as many of the
# most probable, and interpolated at the rest; and the sum runs over this many terms.
_KNOTS, _TERMS = 49, 2048
# Where the interpolation is this near a whole number, it does not tell on which side of it the critical count lies.
_NEAR_WHOLE = 0.1
# Nodes of the table of the first proportion, for which its distribution function is accurate to 1e-11.
_NODES = 257
# Probability of the second count that the sum may leave out at either end.
_TAIL = 1e-10


class TwoCounts(Held, ABC):
    """Two counts of n new examples, and a claim that the first count supports and the second one contradicts.

    The second count is Beta-binomial(n, *second_weights), and the first one Beta-binomial(`first_trials`,
    *first_weights).
    """

    # Posterior probability that shows the claim.
    confidence: float

    @property
    @abstractmethod
    def first_weights(self) -> tuple[float, float]: ...

    @property
    @abstractmethod
    def second_weights(self) -> tuple[float, float]: ...

    @abstractmethod
    def first_trials(self, second: Counts, n: int) -> Counts:
        """Return the number of trials of the first count, given the second."""

    @abstractmethod
    def posterior_probability(self, first: Counts, second: Counts, n: int) -> Array:
        """Return the probability of the claim after these counts (m,) of n examples, (m,)."""

    @property
    def probability_now(self) -> float:
        """The probability of the claim as the evidence stands."""
        nothing = np.zeros(1, int)
        return float(self.posterior_probability(nothing, nothing, 0)[0])

    @cached_property
    def _first_proportion(self) -> Tabulated:
        """The proportion behind the first count, tabulated because it is asked for many thousands of times."""
        a, b = self.first_weights
        return Tabulated.beta(np.array([[a]]), np.array([[b]]), _NODES)

    def assurance(self, n: Counts, either_way: bool) -> tuple[Array, Array]:
        """Return the probability that n examples show the claim (or either it or its contrary), and its errors, 0."""
        return np.array([self._assurance_at(int(each), either_way) for each in n]), np.zeros(len(n))

    def smallest_n(self, assurance: float, either_way: bool) -> int | None:
        """Return the smallest n from which on the assurance is reached; None if it is beyond a million."""
        # The sum over the second count smooths out the teeth.
        return smallest_by_bisection(lambda n: self._assurance_at(n, either_way) >= assurance)

    def _assurance_at(self, n: int, either_way: bool) -> float:
        second = self._second_counts(n)
        weights = beta_binomial_pmf(second, n, *self.second_weights)
        trials = self.first_trials(second, n)
        shown = self._upper_tail(self._critical(second, n, self.confidence), trials)
        if either_way:
            shown = shown + 1 - self._upper_tail(self._critical(second, n, 1 - self.confidence), trials)
        return min(float(weights @ shown / weights.sum()), 1.0)

    def _second_counts(self, n: int) -> Counts:
        """Return the values of the second count that are summed over: all, or evenly spaced ones if they are many."""
        tails = special.betaincinv(*self.second_weights, [_TAIL, 1 - _TAIL])
        low, high = np.clip(n * tails + 6 * np.sqrt(n) * np.array([-1, 1]), 0, n)
        return np.unique(np.linspace(np.floor(low), np.ceil(high), _TERMS).astype(int))

    def _critical(self, second: Counts, n: int, confidence: float) -> Counts:
        """Return the least first count after which the claim has a given probability; one above all if none does.

        It is a smooth function of the angle whose squared sine is the proportion of the second count.
        """
        if len(second) <= 2 * _KNOTS:
            return self._critical_by_bisection(second, n, confidence)
        from scipy.interpolate import PchipInterpolator

        angle = np.arcsin(np.sqrt(second / n))
        evenly = np.searchsorted(angle, np.linspace(angle[0], angle[-1], _KNOTS)).clip(0, len(second) - 1)
        # A U-shaped predictive distribution has its mass where the curve bends.
        probable = np.argsort(beta_binomial_pmf(second, n, *self.second_weights))[-_KNOTS:]
        knots = np.union1d(evenly, probable)
        at_knots = self._critical_by_bisection(second[knots], n, confidence)
        real = self._real_critical(at_knots, second[knots], n, confidence)
        interpolated = PchipInterpolator(angle[knots], real)(angle)
        most = self.first_trials(second, n)
        critical, nearest = np.clip(np.ceil(interpolated), 0, most + 1).astype(int), np.round(interpolated).astype(int)
        doubtful = np.flatnonzero((np.abs(interpolated - nearest) < _NEAR_WHOLE) & (nearest >= 0) & (nearest <= most))
        enough = self.posterior_probability(nearest[doubtful], second[doubtful], n) >= confidence
        critical[doubtful] = np.where(enough, nearest[doubtful], nearest[doubtful] + 1)
        return critical

    def _critical_by_bisection(self, second: Counts, n: int, confidence: float) -> Counts:
        def shown(first: Counts, _: Counts) -> Booleans:
            return self.posterior_probability(first, second, n) >= confidence

        return fewest_successes(shown, self.first_trials(second, n))

    def _real_critical(self, critical: Counts, second: Counts, n: int, confidence: float) -> Array:
        """Return the real first count that would do, on a line through two probits; beyond the possible counts too."""
        most = self.first_trials(second, n)
        below = np.clip(critical - 1, 0, np.maximum(most - 1, 0))
        start, end = (
            special.ndtri(self.posterior_probability(np.minimum(at, most), second, n)) for at in (below, below + 1)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            real = below + (special.ndtri(confidence) - start) / (end - start)
        least, greatest = np.where(critical > 0, critical - 1, -np.inf), np.where(critical > most, np.inf, critical)
        return np.clip(np.where(np.isfinite(real), real, critical), least, greatest)

    def _upper_tail(self, least: Counts, trials: Counts) -> Array:
        """Return the probability that the first count is at least some number.

        That many succeed if the proportion is above the least-th smallest of as many uniforms as there are trials,
        which is Beta.
        """
        uncertain = np.flatnonzero((least > 0) & (least <= trials))
        probability = (least <= 0).astype(float)
        k, m = least[uncertain, None].astype(float), trials[uncertain, None]
        x, _, weights = beta_nodes(k, m - k + 1, nodes=65)
        above = self._first_proportion.sf(x.reshape(1, -1)).reshape(x.shape)
        probability[uncertain] = (weights * above).sum(-1)
        return probability


@dataclass(frozen=True, eq=False)
class IndependentCounts(TwoCounts):
    """Successes of two systems in n trials each, and the claim that one exceeds the other by more than a margin."""

    # Proportions, or increasing functions of them, as the evidence stands: the count of the first is the first count.
    better: ExactDistribution
    other: ExactDistribution
    margin: float
    confidence: float

    @property
    def first_weights(self) -> tuple[float, float]:
        return beta_parameters(self.better)

    @property
    def second_weights(self) -> tuple[float, float]:
        return beta_parameters(self.other)

    def first_trials(self, second: Counts, n: int) -> Counts:
        return np.full_like(second, n)

    def posterior_probability(self, first: Counts, second: Counts, n: int) -> Array:
        better, other = updated(self.better, first, n - first), updated(self.other, second, n - second)
        return _probability_above(difference(better, other), self.margin)


@dataclass(frozen=True, eq=False)
class PairedCounts(TwoCounts):
    """Numbers of n examples of two systems on which only the first or only the second is right; the same claim."""

    # Dirichlet weights: of the first alone being right, of the second alone, and of both or neither.
    first: float
    second: float
    rest: float
    margin: float
    confidence: float

    @property
    def first_weights(self) -> tuple[float, float]:
        return self.first, self.rest

    @property
    def second_weights(self) -> tuple[float, float]:
        return self.second, self.first + self.rest

    def first_trials(self, second: Counts, n: int) -> Counts:
        return n - second

    def posterior_probability(self, first: Counts, second: Counts, n: int) -> Array:
        more = (self.first + first, self.second + second, self.rest + (n - first - second))
        a, b, c = (np.asarray(weight, float) for weight in more)
        # Without a margin the claim depends on the first two weights alone.
        if not self.margin:
            return np.asarray(special.betaincc(a, b, 0.5))
        return _probability_above(discordant(a, b, c), self.margin)


def _probability_above(distribution: Distribution, x: float) -> Array:
    """Return P(X > x), (m,), a block of quantities at a time."""
    return distribution.each(lambda block: block.sf(np.array([[x]]))[:, 0])
