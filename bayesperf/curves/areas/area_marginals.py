"""What areas under ROC curves are called, and their distributions as labelled marginals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.core.random_streams import streams
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


@dataclass(frozen=True, eq=False)
class InverseTransform(Origin):
    """Areas drawn by their quantiles."""

    areas: Distribution
    random_seed: int

    def sampled(self, n: int, random_seed: int | None) -> Array:
        rng = np.random.default_rng(self.random_seed if random_seed is None else random_seed)
        return self.areas.ppf(rng.random((self.areas.size, n)))
