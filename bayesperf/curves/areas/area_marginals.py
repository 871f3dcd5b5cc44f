"""What areas under ROC curves are called, and their distributions as labelled marginals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array, Codes
from bayesperf.core.random_streams import streams
from bayesperf.curves.areas.areas_by_unit import class_pair, drawn_figures, units_of_clusters
from bayesperf.curves.areas.smoothed_areas import separated, smoothed_area_draws
from bayesperf.curves.areas.weighted_areas import area_draws, twice_below
from bayesperf.curves.curve_marginals import marginal_of_draws
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.draws import Draws
from bayesperf.posteriors.marginal import Marginal, Origin
from bayesperf.posteriors.quantity import Quantity

NAME = "roc_auc"
QUANTITY = Quantity(NAME, greater_is_better=True, words="AUC", bounds=(0.0, 1.0))
# How the distribution of an area is called, by method.
INFERENCES = {
    "bayesian_bootstrap": "Bayesian bootstrap",
    "delong": "DeLong's normal approximation",
    "binormal": "Binormal posterior",
    "pairs": "Posterior, as if pairs were independent,",
}
# The same of examples in clusters.
OF_CLUSTERS = {
    "bayesian_bootstrap": "Bayesian bootstrap of clusters",
    "delong": "Obuchowski's normal approximation",
}


def own_seed(seed: int, scores: Array) -> int:
    """Return a seed for these scores, so that under one seed the areas of other scores have other random numbers."""
    return int(streams(seed, NAME, xr.DataArray(0.0), [scores])[0].integers(2**63))


def area_marginal(
    areas: Distribution,
    seed: int,
    inference: str,
    leading: xr.DataArray | None = None,
    examples: xr.DataArray | None = None,
    score: xr.DataArray | None = None,
    joint: bool = False,
) -> Marginal:
    """Return the labelled marginal of areas."""
    leading = xr.DataArray(0.0) if leading is None else leading
    if isinstance(areas, Draws):
        return marginal_of_draws(QUANTITY, areas.values[:, 0], leading, seed, inference, examples, score, joint)
    # Joint distributions have draws of their own.
    origin = None if joint else InverseTransform(areas, seed)
    return Marginal(QUANTITY, areas, leading, origin, inference, seed, examples, joint, score)


def observed_area(positive: Array, negative: Array) -> float:
    """Return the share of pairs of scores that are in the right order, ties counted half."""
    return float(twice_below(positive, negative).sum()) / (2 * len(positive) * len(negative))


@dataclass(frozen=True, eq=False)
class InverseTransform(Origin):
    """Areas drawn by their quantiles."""

    areas: Distribution
    random_seed: int

    def sampled(self, n: int, random_seed: int | None) -> Array:
        rng = np.random.default_rng(self.random_seed if random_seed is None else random_seed)
        return self.areas.ppf(rng.random((self.areas.size, n)))


def bootstrapped(
    positive: Array,
    negative: Array,
    cluster: Codes | None,
    draws: int,
    rng: np.random.Generator,
    progressbar: bool,
) -> Draws:
    """Return the areas of systems, of scores (S, n) and (S, m), by the Bayesian bootstrap; smoothed if one separates.

    Weights of the scores themselves would know of no overlap. All systems are smoothed then: a smoothed area of scores
    that separate the classes is below the area of scores that all but do, not smoothed. Clusters (n + m,), if there are
    any, have positives first, and half a cluster unseen in either class (`class_pair`).
    """
    if cluster is not None:
        units = units_of_clusters(cluster, rng)
        is_positive = np.arange(len(cluster)) < positive.shape[1]
        pair = class_pair(np.concatenate([positive, negative], 1), is_positive, ~is_positive, units)
        return drawn(drawn_figures([pair], units, draws, rng, progressbar)[0])
    draw = smoothed_area_draws if any(separated(positive, negative)) else area_draws
    return drawn(draw(positive, negative, draws, rng, progressbar))


def drawn(values: Array) -> Draws:
    """Return the distribution of areas with draws (S, n)."""
    return Draws(values[:, None], (0.0, 1.0))
