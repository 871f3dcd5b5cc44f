"""How wide the highest-density interval of a proportion will be after more trials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesperf.core.arrays import Array, Counts
from bayesperf.core.fields import Held
from bayesperf.distributions.beta import ExactDistribution
from bayesperf.plan.evidence import beta_parameters, updated
from bayesperf.plan.one_count import beta_binomial_pmf
from bayesperf.plan.plan_result import Plan, assurance_in_words, width_in_words
from bayesperf.plan.smallest_number import smallest_by_bisection

# Of up to this many trials the interval of every outcome is computed; of more trials those of so many, and the widths
# of the others are interpolated.
_KNOTS = 400


@dataclass(frozen=True, eq=False)
class IntervalWidth(Held):
    """The width of the highest-density interval of a proportion, or an increasing function of one, after n trials."""

    # The distribution of the quantity, given the evidence.
    distribution: ExactDistribution
    # Probability of the interval.
    prob: float
    # If given, `curve` is the probability that the width is at most this; else the expected width.
    max_width: float | None = None

    @property
    def limit(self) -> float:
        """The limit of the curve with ever more trials."""
        return 0.0 if self.max_width is None else 1.0

    def curve(self, n: Counts) -> tuple[Array, Array]:
        """Return the expected width, or the probability that it is small enough, after n trials, and its errors, 0."""
        return np.array([self._at(int(each)) for each in n]), np.zeros(len(n))

    def in_words(self, plan: Plan) -> str:
        return width_in_words(plan) if self.max_width is None else assurance_in_words(plan)

    def smallest_n(self, target: float) -> int | None:
        """Return the smallest n from which on the target is met; None if it is above a million."""
        sign = 1 if self.max_width is None else -1
        return smallest_by_bisection(lambda n: sign * self._at(n) <= sign * target, sawtooth=True)

    def _at(self, n: int) -> float:
        probabilities = beta_binomial_pmf(np.arange(n + 1), n, *beta_parameters(self.distribution))
        widths = self.of_outcomes(n)
        return float(probabilities @ (widths if self.max_width is None else widths <= self.max_width))

    def of_outcomes(self, n: int) -> Array:
        """Return the widths after 0, 1, …, n successes of n, (n + 1,).

        The widths are about proportional to √(k (n − k)): smooth in the angle whose squared sine is k/n.
        """
        successes = np.arange(n + 1)
        angle = np.arcsin(np.sqrt(successes / max(n, 1)))
        knots = successes
        if n > _KNOTS:
            knots = np.unique(np.round(n * np.sin(np.linspace(0, np.pi / 2, _KNOTS)) ** 2).astype(int))
        intervals = updated(self.distribution, knots, n - knots).hdi(self.prob)
        return np.interp(angle, angle[knots], intervals[:, 1] - intervals[:, 0])
