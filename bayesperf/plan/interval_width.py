"""How wide an interval will be after more trials of a share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesperf.core.arrays import Array, Counts
from bayesperf.distributions.differences import ExactDistribution
from bayesperf.plan.more_trials import after, parameters
from bayesperf.plan.one_count import predictive
from bayesperf.plan.search import from_some

# Up to so many trials every outcome has its interval found; of more trials so many outcomes, and the rest lie between.
_KNOTS = 400


@dataclass(frozen=True, eq=False)
class IntervalWidth:
    """The highest-density interval of a share, or of a function of one, after n more trials.

    Attributes
    ----------
    known : Beta or Transformed
        As the evidence stands.
    prob : float
        Of the interval.
    most : float, optional
        If given, `values` are the probability of at most that width; else the expected width.
    """

    known: ExactDistribution
    prob: float
    most: float | None = None

    @property
    def limit(self) -> float:
        """Where the values tend to with ever more trials."""
        return 0.0 if self.most is None else 1.0

    def values(self, n: Counts) -> tuple[Array, Array]:
        """Return the expected width, or the probability that it is small enough, and its errors, 0."""
        return np.array([self._value(int(one)) for one in n]), np.zeros(len(n))

    def smallest(self, target: float) -> int | None:
        """Return the smallest n from which on the target is met; None if it is beyond a million."""
        sign = 1 if self.most is None else -1
        return from_some(lambda n: sign * self._value(n) <= sign * target, teeth=True)

    def _value(self, n: int) -> float:
        chances = predictive(np.arange(n + 1), n, *parameters(self.known))
        widths = self.of_outcomes(n)
        return float(chances @ (widths if self.most is None else widths <= self.most))

    def of_outcomes(self, n: int) -> Array:
        """Return the widths after 0, 1, …, n successes of n, (n + 1,).

        They are about proportional to √(k (n − k)): smooth in the angle whose squared sine is k/n.
        """
        successes = np.arange(n + 1)
        angle = np.arcsin(np.sqrt(successes / max(n, 1)))
        tried = successes
        if n > _KNOTS:
            tried = np.unique(np.round(n * np.sin(np.linspace(0, np.pi / 2, _KNOTS)) ** 2).astype(int))
        ends = after(self.known, tried, n - tried).hdi(self.prob)
        return np.interp(angle, angle[tried], ends[:, 1] - ends[:, 0])
