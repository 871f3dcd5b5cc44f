"""The assurance of a claim about any metric: sums over all outcomes if they are few, else over simulated ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import xarray as xr
from scipy import special

from bayesperf.core.arrays import Array, Counts
from bayesperf.core.fields import Held
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.metrics.metric import Metric
from bayesperf.plan.smallest_number import smallest_by_bisection
from bayesperf.posteriors.posterior import Posterior

# Draws behind the probability of a claim after one simulated outcome, of a metric without a closed form.
_DRAWS_PER_OUTCOME = 1000
# A search is content with this many simulations where their estimate is this many standard errors from what is wanted.
_FIRST_SIMULATIONS, _CLEAR_ERRORS = 200, 4


@dataclass(frozen=True, eq=False)
class SimulatedCounts(Held):
    """Outcomes of n new examples, and the probability of a claim after each outcome."""

    # Dirichlet weights of the cells that an example may fall into, (cells,).
    weights: Array
    # From counts (m, cells) to the probability of the claim, (m,).
    posterior_probability: ProbabilityMet
    # Posterior probability that shows the claim.
    confidence: float
    # How many outcomes are simulated, where there are more; and their seed, the same for every n.
    simulations: int
    random_seed: int

    @property
    def probability_now(self) -> float:
        """The probability of the claim as the evidence stands."""
        return float(self.posterior_probability(np.zeros((1, len(self.weights)), int))[0])

    def assurance(self, n: Counts, either_way: bool) -> tuple[Array, Array]:
        """Return the probability that n examples show the claim (or either it or its contrary), and its errors."""
        estimates = np.array([self._assurance_at(int(each), either_way, self.simulations) for each in n])
        return estimates[:, 0], estimates[:, 1]

    def smallest_n(self, assurance: float, either_way: bool) -> int | None:
        """Return about the smallest n from which on the assurance is reached; None if it is beyond a million."""

        def reached(n: int) -> bool:
            # A few outcomes decide where the assurance is far from what is wanted.
            value, error = self._assurance_at(n, either_way, min(_FIRST_SIMULATIONS, self.simulations))
            if abs(value - assurance) < _CLEAR_ERRORS * error:
                value, _ = self._assurance_at(n, either_way, self.simulations)
            return value >= assurance

        return smallest_by_bisection(reached, exact=False)

    def _assurance_at(self, n: int, either_way: bool, simulations: int) -> tuple[float, float]:
        exact = math.comb(n + len(self.weights) - 1, n) <= simulations
        if exact:
            counts = every_outcome(n, len(self.weights))
            probabilities = outcome_probability(counts, self.weights)
        else:
            counts, probabilities = self._simulated(n)[:simulations], np.full(simulations, 1 / simulations)
        after = self.posterior_probability(counts)
        shown = (after >= self.confidence) | (either_way & (after <= 1 - self.confidence))
        value = min(float(shown @ probabilities), 1.0)
        return value, 0.0 if exact else math.sqrt(value * (1 - value) / simulations)

    def _simulated(self, n: int) -> Counts:
        """Return counts (simulations, cells), from the same random numbers for every n, or the curve would be rough."""
        rng = np.random.default_rng(self.random_seed)
        probabilities = rng.dirichlet(self.weights, self.simulations)
        return multinomial_quantiles(n, probabilities, rng.random((self.simulations, len(self.weights))))


def every_outcome(n: int, cells: int) -> Counts:
    """Return all ways in which n examples fall into cells, (m, cells)."""
    bars = np.array(list(combinations(range(n + cells - 1), cells - 1)), int).reshape(-1, cells - 1)
    return np.diff(bars, prepend=-1, append=n + cells - 1) - 1


def multinomial_quantiles(n: int, probabilities: Array, levels: Array) -> Counts:
    """Return counts (m, cells) of n examples: cell by cell, binomial quantiles of what the cells before left."""
    from scipy.stats import binom

    left, rest = np.full(len(probabilities), n), np.cumsum(probabilities[:, ::-1], 1)[:, ::-1]
    counts = np.zeros(probabilities.shape, int)
    for cell in range(probabilities.shape[1] - 1):
        conditional = np.clip(probabilities[:, cell] / np.maximum(rest[:, cell], 1e-300), 0, 1)
        counts[:, cell] = np.maximum(binom.ppf(levels[:, cell], left, conditional), 0)
        left = left - counts[:, cell]
    counts[:, -1] = left
    return counts


def outcome_probability(counts: Counts, weights: Array) -> Array:
    """Return the Dirichlet-multinomial probability of counts (m, cells)."""
    n, total = counts[0].sum(), weights.sum()
    log_cells = special.gammaln(weights + counts) - special.gammaln(weights) - special.gammaln(counts + 1)
    log_total = special.gammaln(n + 1) + special.gammaln(total) - special.gammaln(total + n)
    return np.asarray(np.exp(log_cells.sum(-1) + log_total))


@dataclass(frozen=True, eq=False)
class ProbabilityMet(Held):
    """The probability that a metric is at least as good as a bound, after more examples.

    It is called with the counts of the new examples in the cells, (m, cells).
    """

    post: Posterior
    metric: Metric
    bound: float

    def __call__(self, counts: Counts) -> Array:
        """Return the probability after each of some outcomes, (m,)."""
        now = self.post.template
        cells = counts.reshape(-1, *now.shape)
        coords = {"future": np.arange(len(cells))} | {dim: now[dim].values for dim in CELL_DIMS}
        more = xr.DataArray(cells, coords, ("future", *CELL_DIMS))
        source = self.post.source.updated(more, None if len(cells) == 1 else _DRAWS_PER_OUTCOME)
        assert self.post.observed is not None
        after = replace(self.post, source=source, observed=more + self.post.observed)
        return np.asarray(after[self.metric].prob_meets(self.bound).values)
