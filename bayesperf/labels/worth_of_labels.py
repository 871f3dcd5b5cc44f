"""The value of further verified examples of each stratum for a metric: the variance that they should leave.

To first order a metric is m(θ) ≈ m(θ̄) + Σ_tz ∂m/∂θ_tz (θ_tz − θ̄_tz), and θ is a sum over strata c of p_c p(t | c). An
example of stratum c contributes p_c times the slope at its true class, which varies with the standard deviation s_c.
After n_c of them the variance is about Σ_c p_c² s_c²/(n_c + κ_c) + v. Here κ_c is the number of labels that the prior
is worth (from the current posterior) and v is the part that labels cannot reduce: how common the strata are. It is
smallest for n_c + κ_c proportional to p_c s_c (Neyman 1934, Journal of the Royal Statistical Society 97, 558–625).
Shared parameters make strata err together, and the sum is scaled to the present variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bayesperf.core.arrays import Array, Counts
from bayesperf.core.fields import Held
from bayesperf.distributions.drawing import dirichlet_shares
from bayesperf.intervals.delta_method import gradient_of
from bayesperf.labels.cells import joint_cells, resolved, spread_over_strata
from bayesperf.labels.sample import VerifiedSample
from bayesperf.labels.verifying import Verified
from bayesperf.labels.voter_cells import Strata, shared_truth
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import prior as priors

_DRAWS = 2000
# Halvings by which an allocation is found, and the fewest labels that a prior is taken to be worth.
_HALVINGS, _LEAST_WORTH = 200, 0.1
_LEAST = 1e-300


@dataclass(frozen=True)
class LabelValue(Held):
    """The variance of a metric, by strata."""

    # Examples that are not verified, (S,).
    available: Counts
    # p_c s_c, in proportion, (S,).
    scale: Array
    # The number of labels that prior and verified examples are worth, n_c + κ_c, (S,).
    worth: Array
    # The variance that labels cannot reduce.
    fixed: float

    def variance(self, labels: Array | Counts) -> float:
        """Return the variance after a number of further labels in each stratum."""
        return float((self.scale**2 / (self.worth + labels)).sum() + self.fixed)

    def after_calls(self, calls: float, examples: int) -> LabelValue:
        """Return the value if a judge labels more examples of the same kinds: they show how common strata are."""
        more = self.available * (1 + calls / max(int(self.available.sum()), 1))
        return replace(self, available=np.rint(more).astype(int), fixed=self.fixed * examples / (examples + calls))

    def labels_for(self, variance: float) -> float:
        """Return the number of labels, where they tell most, that leave a variance; inf if all leave more."""
        if self.variance(self.available) > variance:
            return np.inf
        high = float((self.worth + self.available).max()) / max(float(self.scale.max()), _LEAST)
        high *= float(self.scale.max()) / max(float(self.scale[self.scale > 0].min(initial=1)), _LEAST)
        return float(self._fewest(high, lambda labels: self.variance(labels) <= variance).sum())

    def by_chance(self, n: int) -> Array:
        """Return the expected number in each stratum of n labels chosen at random."""
        return np.asarray(self.available * (n / max(int(self.available.sum()), 1)))

    def allocation(self, n: int) -> Counts:
        """Return the allocation of n labels that leaves the smallest variance, in whole numbers."""
        least = float(self.scale[self.scale > 0].min(initial=np.inf))
        labels = self._fewest(float((self.worth + n).max()) / max(least, 1e-12), lambda labels: bool(labels.sum() >= n))
        return _whole_numbers(labels, n, self.available)

    def _fewest(self, highest: float, enough: Callable[[Array], bool]) -> Array:
        """Return the labels, where they tell most, at the lowest level that is enough.

        At a level the labels of a stratum and what it is worth are in proportion to its scale.
        """

        def labels_at(level: float) -> Array:
            return np.clip(level * self.scale - self.worth, 0, self.available)

        low, high = 0.0, highest
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if enough(labels_at(middle)) else (middle, high)
        return labels_at(high)


def _whole_numbers(labels: Array, n: int, available: Counts) -> Counts:
    """Return whole numbers of labels, n in total; the largest remainders get the rest."""
    labels = labels * min(1.0, n / max(labels.sum(), 1e-12))
    whole = np.floor(labels + 1e-9).astype(int)
    for place in np.argsort(whole - labels, kind="stable"):
        if whole.sum() >= n:
            break
        whole[place] += whole[place] < available[place]
    # Strata that are worth nothing are taken if there is nothing else.
    for place in np.argsort(-available, kind="stable"):
        whole[place] += min(n - int(whole.sum()), int(available[place] - whole[place]))
    return whole


def label_value(source: Verified, metric: Metric) -> LabelValue:
    """Return the value of labels for a system's metric, or for the difference if there are two systems."""
    sample = source.sample
    systems = list(sample.positions)
    prior = resolved(source.prior, sample, len(systems))
    (strata,) = sample.strata_of([*range(len(sample.judges)), *systems])
    truth = _truth(sample, prior, strata, systems, source.random_seed)
    cells = joint_cells(sample, prior, systems, _DRAWS, source.random_seed)[0]
    slopes = np.zeros(strata.verified.shape)
    values = np.zeros(_DRAWS)
    for sign, of_system, predicted in zip((1, -1), cells, strata.votes[:, -len(systems) :].T, strict=False):
        gradient = gradient_of(metric, sample.positive, of_system.mean(0))
        slopes += sign * gradient[:, predicted].T
        values += sign * metric.evaluate(of_system, sample.positive)
    shares, mean = strata.counts / strata.counts.sum(), truth.mean(0)
    of_stratum = (mean * slopes).sum(-1)
    spread = np.maximum((mean * slopes**2).sum(-1) - of_stratum**2, 0)
    known = (truth * slopes).sum(-1).var(0)
    worth = np.maximum(spread / np.maximum(known, _LEAST), strata.verified.sum(1) + _LEAST_WORTH)
    scale = shares * np.sqrt(spread)
    fixed = float(shares @ of_stratum**2 - (shares @ of_stratum) ** 2) / int(strata.counts.sum())
    now, apart = float(np.nanvar(values)) - fixed, float((scale**2 / worth).sum())
    scale *= np.sqrt(max(now, 0.0) / max(apart, _LEAST))
    return LabelValue(strata.counts - strata.verified.sum(1), scale, worth, fixed)


def _truth(sample: VerifiedSample, prior: priors.Prior, strata: Strata, systems: list[int], random_seed: int) -> Array:
    """Return draws of the probabilities of the true classes in each stratum, (n, S, K)."""
    rng = np.random.default_rng([random_seed, len(strata.counts)])
    if prior.shared_by_classes:
        return shared_truth(strata, _DRAWS, rng)
    ((whole, alpha),) = spread_over_strata(sample, prior, systems)
    seen = whole.counts > 0
    return dirichlet_shares(rng, alpha[seen] + whole.verified[seen], (_DRAWS, *alpha[seen].shape))
