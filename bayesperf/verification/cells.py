"""Joint draws of the cells of systems of which some predictions were verified."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayesperf import prior as priors
from bayesperf.core.arrays import Array
from bayesperf.core.random_streams import streams
from bayesperf.counts.count_arrays import CELL_DIMS, check_size
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.posteriors.joint_systems import pseudo_counts
from bayesperf.verification.sample import MODEL, VerifiedSample
from bayesperf.verification.truth import Strata, dirichlet_cells, shared_cells

_SHARED_TEXT = (
    "shared by the strata (true classes ~ Dirichlet(κ m), log m a sum of how popular the class is and of how good each "
    "vote for it is; 1/(1 + κ) ~ Beta(1, 9); strata of total weight 1)"
)
# Weight of each class in each stratum of two classes, as Jeffreys' prior has it where a judge and one system vote.
_IN_EACH_STRATUM = 0.25
_EACH_TEXT = "Beta(¼, ¼) in each stratum (strata of total weight 1)"


def resolved(prior: priors.Prior | None, sample: VerifiedSample, systems: int = 1) -> priors.Prior | None:
    """Return the prior of n systems taken together, or None for Beta(¼, ¼) in each stratum.

    The default for two classes with `strata` or several systems is None.
    """
    if prior is not None:
        return prior
    if len(sample.labels) > 2:
        return priors.shared()
    return None if systems > 1 or sample.levels.any() else priors.jeffreys()


def pooled(prior: priors.Prior | None) -> bool:
    """Whether a prior, as `resolved` returns it, is shared by the strata."""
    return prior is not None and prior.shared_by_classes


def described(prior: priors.Prior | None, sample: VerifiedSample) -> str:
    """Return a description of a prior as it is used here."""
    if prior is None:
        return _EACH_TEXT
    whole = prior.describe(sample.verified_only())
    return _SHARED_TEXT if pooled(prior) else f"{whole}, spread evenly over the strata"


def joint_cells(
    sample: VerifiedSample, prior: priors.Prior | None, systems: Sequence[int], draws: int, random_seed: int
) -> Array:
    """Return joint draws of the cells of systems, by their positions, after those of the judge, (m, V, n, K, K).

    The strata are those of the judge, of these systems, and of the levels.
    """
    voters = [*range(sample.has_judge), *systems]
    strata, leading = sample.strata_of(voters), sample.counts.isel(stratum=0, drop=True).astype(float)
    if pooled(prior):
        drawn = [partial(shared_cells, each) for each in strata]
    else:
        drawn = [partial(dirichlet_cells, *each) for each in spread_over_strata(sample, prior, systems)]
    contents = [np.column_stack([*each.votes.T, each.levels, each.counts, each.verified]).ravel() for each in strata]
    purpose = f"verified {[sample.voters()[voter] for voter in voters]}"
    rngs = streams(random_seed, purpose, leading, contents)
    return np.stack([draw(draws, rng) for draw, rng in zip(drawn, rngs, strict=True)])


class SpreadPrior(NamedTuple):
    """A Dirichlet prior spread over all strata that there can be.

    Attributes
    ----------
    strata : Strata
        All strata, occupied or not.
    alpha : Array (S, K)
        Dirichlet weights of the true classes in each stratum.
    weights : Array (S,)
        Dirichlet weights of the strata.
    """

    strata: Strata
    alpha: Array
    weights: Array


def spread_over_strata(sample: VerifiedSample, prior: priors.Prior | None, systems: Sequence[int]) -> list[SpreadPrior]:
    """Return all strata that there can be, and the prior's Dirichlet weights there, of each matrix.

    The weights of a class are spread evenly over what the judge says and over the levels, and over the systems as if
    they were independent given the class, so that those of each system sum to its α. Without a prior each stratum has
    ¼ a class, and 1/S for its own share.
    """
    classes, judges = len(sample.labels), int(sample.has_judge)
    shape = (int(sample.levels.max()) + 1, *(classes,) * (judges + len(systems)))
    check_size("judge and y_pred", (*shape, classes), classes)
    levels, *votes = np.unravel_index(np.arange(math.prod(shape)), shape)
    alphas = None if prior is None else _proper_counts(sample, prior)
    spread = []
    for element, strata in enumerate(sample.strata_of([*range(judges), *systems])):
        place = np.ravel_multi_index([strata.levels, *strata.votes.T], shape)
        counts, verified = np.zeros(len(levels), int), np.zeros((len(levels), classes), int)
        counts[place], verified[place] = strata.counts, strata.verified
        whole = Strata(np.stack(votes, 1), counts, verified, levels)
        if alphas is None:
            alpha, weights = np.full(verified.shape, _IN_EACH_STRATUM), np.full(len(levels), 1 / len(levels))
        else:
            alpha = np.tile(alphas[element, 0].sum(-1) / shape[0] / classes**judges, (len(levels), 1))
            for system, predicted in zip(systems, votes[judges:], strict=True):
                of_system = alphas[element, system - judges]
                alpha *= (of_system / of_system.sum(-1, keepdims=True))[:, predicted].T
            weights = alpha.sum(-1)
        spread.append(SpreadPrior(whole, alpha, weights))
    return spread


def _proper_counts(sample: VerifiedSample, prior: priors.Prior) -> Array:
    """Return α of each system, for each element of the leading dims, (m, M, K, K)."""
    cm = sample.verified_only()
    if not sample.systems:
        cm = ConfusionMatrix(cm.counts.expand_dims({MODEL: [0]}, -3), cm.pos_label)
    alpha = pseudo_counts(cm, prior)
    if (alpha <= 0).any():
        raise ValueError(
            f"prior: {prior.describe(cm)} has no weight for some cells, and of strata without a verified example it "
            "alone says what they are. Use a proper prior, as 'jeffreys'."
        )
    return alpha


def labelled_cells(sample: VerifiedSample, cells: Array, systems: Sequence[Any]) -> xr.DataArray:
    """Return draws (m, M, n, K, K) with the leading dims of a sample, and that of the systems if these have names."""
    leading = sample.counts.isel(stratum=0, drop=True)
    shape = (*leading.shape, *([len(systems)] if systems else []), 1, *cells.shape[2:])
    coords = dict(leading.coords) | ({MODEL: list(systems)} if systems else {})
    coords |= {"chain": [0], "draw": np.arange(cells.shape[2])} | dict.fromkeys(CELL_DIMS, sample.labels)
    dims = (*leading.dims, *([MODEL] if systems else []), "chain", "draw", *CELL_DIMS)
    return xr.DataArray(cells.reshape(shape), coords, dims, name="cells")
