"""What the next examples may show, where no running sum tells: all outcomes if they are few, else simulated ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import xarray as xr
from scipy import special

from bayesperf.core.arrays import Array, Counts
from bayesperf.counts.count_arrays import CELL_DIMS
from bayesperf.metrics.metric import Metric
from bayesperf.plan.search import from_some
from bayesperf.posteriors.dirichlet import DirichletPosterior

# Draws behind the probability that one simulated outcome leaves, of a metric without a closed form.
_INNER = 1000
# With so many outcomes a search makes do where their share is so many standard errors from what is wanted.
_SKETCH, _CLEAR = 200, 4


@dataclass(frozen=True, eq=False)
class SimulatedOutcomes:
    """Outcomes of n new examples, and the probability of the claim that each outcome leaves.

    Attributes
    ----------
    weights : numpy.ndarray (cells,)
        Dirichlet weights of the cells that an example may fall into.
    probability : callable
        From counts (m, cells) to the probability of the claim, (m,).
    confidence : float
        Which probability shows the claim.
    simulations, random_seed : int
        How many outcomes are simulated, where there are more; and their seed, the same for every n.
    """

    weights: Array
    probability: Callable[[Counts], Array]
    confidence: float
    simulations: int
    random_seed: int

    @property
    def limit(self) -> float:
        """The probability of the claim as the evidence stands."""
        return float(self.probability(np.zeros((1, len(self.weights)), int))[0])

    def values(self, n: Counts, both: bool) -> tuple[Array, Array]:
        """Return the probability that n examples show the claim, or one of it and its contrary, and its errors."""
        found = np.array([self._value(int(one), both, self.simulations) for one in n])
        return found[:, 0], found[:, 1]

    def smallest(self, assurance: float, both: bool) -> int | None:
        """Return about the smallest n from which on it is great enough; None if it is beyond a million."""

        def reached(n: int) -> bool:
            # A few outcomes decide what is far from it.
            value, error = self._value(n, both, min(_SKETCH, self.simulations))
            near = abs(value - assurance) < _CLEAR * error
            return (self._value(n, both, self.simulations)[0] if near else value) >= assurance

        return from_some(reached, exact=False)

    def _value(self, n: int, both: bool, simulations: int) -> tuple[float, float]:
        exact = math.comb(n + len(self.weights) - 1, n) <= simulations
        if exact:
            counts = every_outcome(n, len(self.weights))
            chances = outcome_probability(counts, self.weights)
        else:
            counts, chances = self._simulated(n)[:simulations], np.full(simulations, 1 / simulations)
        left = self.probability(counts)
        met = (left >= self.confidence) | (both & (left <= 1 - self.confidence))
        share = min(float(met @ chances), 1.0)
        return share, 0.0 if exact else math.sqrt(share * (1 - share) / simulations)

    def _simulated(self, n: int) -> Counts:
        """Return counts (simulations, cells): of the same shares and the same luck for every n, or the curve jumps."""
        rng = np.random.default_rng(self.random_seed)
        return fallen(
            n, rng.dirichlet(self.weights, self.simulations), rng.random((self.simulations, len(self.weights)))
        )


def every_outcome(n: int, cells: int) -> Counts:
    """Return all ways in which n examples fall into cells, (m, cells)."""
    bars = np.array(list(combinations(range(n + cells - 1), cells - 1)), int).reshape(-1, cells - 1)
    return np.diff(bars, prepend=-1, append=n + cells - 1) - 1


def fallen(n: int, shares: Array, luck: Array) -> Counts:
    """Return how n examples fall into cells of given shares, (m, cells), at quantiles `luck` of each cell in turn."""
    from scipy.stats import binom

    left, rest = np.full(len(shares), n), np.cumsum(shares[:, ::-1], 1)[:, ::-1]
    counts = np.zeros(shares.shape, int)
    for cell in range(shares.shape[1] - 1):
        chance = np.clip(shares[:, cell] / np.maximum(rest[:, cell], 1e-300), 0, 1)
        counts[:, cell] = np.maximum(binom.ppf(luck[:, cell], left, chance), 0)
        left = left - counts[:, cell]
    counts[:, -1] = left
    return counts


def outcome_probability(counts: Counts, weights: Array) -> Array:
    """Return the Dirichlet-multinomial probability of counts (m, cells)."""
    n, total = counts[0].sum(), weights.sum()
    rising = special.gammaln(weights + counts) - special.gammaln(weights) - special.gammaln(counts + 1)
    whole = special.gammaln(n + 1) + special.gammaln(total) - special.gammaln(total + n)
    return np.asarray(np.exp(rising.sum(-1) + whole))


def of_metric(post: DirichletPosterior, metric: Metric, bound: float) -> Callable[[Counts], Array]:
    """Return the probability that a metric is above a bound, or below it if less is better, after more examples."""
    template = post.concentration

    def probability(counts: Counts) -> Array:
        cells = counts.reshape(-1, *template.shape)
        dims = ("future", *CELL_DIMS)
        coords = {"future": np.arange(len(cells))} | {dim: template[dim].values for dim in CELL_DIMS}
        more = xr.DataArray(cells, coords, dims)
        draws = post.n_draws if len(cells) == 1 else _INNER
        new = replace(post, concentration=more + template, observed=more + post.observed, n_draws=draws)
        marginal = new[metric]
        found = marginal.sf(bound) if metric.greater_is_better else marginal.cdf(bound)
        return np.asarray(found.values)

    return probability
