"""Joint draws of the cells of systems with some verified predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.random_streams import streams
from bayesperf.data.count_arrays import CELL_DIMS, check_size
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.labels.sample import ALONE, MODEL, VerifiedSample
from bayesperf.labels.voter_cells import Strata, dirichlet_cells, shared_cells
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.paired_systems import pseudo_counts
from bayesperf.posteriors.sources.stored_draws import stored

_SHARED_TEXT = (
    "shared by the strata (true classes ~ Dirichlet(κ m), log m a sum of how popular the class is and of how good each "
    "vote for it is; 1/(1 + κ) ~ Beta(1, 9); strata of total weight 1)"
)


def resolved(prior: priors.Prior | None, sample: VerifiedSample, systems: int = 1) -> priors.Prior:
    """Return the joint prior of several systems: the named one, or one chosen by the number of strata."""
    if prior is None:
        few = len(sample.labels) == 2 and systems == 1 and not sample.levels.any()
        return priors.jeffreys() if few else priors.shared()
    return prior


def described(prior: priors.Prior, sample: VerifiedSample) -> str:
    """Return a description of a prior as it is used here."""
    whole = prior.describe(sample.verified_only())
    return _SHARED_TEXT if prior.shared_by_classes else f"{whole}, spread evenly over the strata"


def joint_cells(
    sample: VerifiedSample, prior: priors.Prior, systems: Sequence[int], draws: int, random_seed: int
) -> Array:
    """Return joint draws of the cells of systems, by position, after the judge's cells, (m, V, n, K, K).

    The strata are those of the judge, of these systems, and of the levels.
    """
    voters = [*range(sample.has_judge), *systems]
    strata, leading = sample.strata_of(voters), sample.counts.isel(stratum=0, drop=True).astype(float)
    if prior.shared_by_classes:
        drawn = [partial(shared_cells, each) for each in strata]
    else:
        drawn = [partial(dirichlet_cells, *each) for each in spread_over_strata(sample, prior, systems)]
    contents = [np.column_stack([*each.votes.T, each.levels, each.counts, each.verified]).ravel() for each in strata]
    purpose = f"verified {[sample.voters()[voter] for voter in voters]}"
    rngs = streams(random_seed, purpose, leading, contents)
    return np.stack([draw(draws, rng) for draw, rng in zip(drawn, rngs, strict=True)])


def spread_over_strata(
    sample: VerifiedSample, prior: priors.Prior, systems: Sequence[int]
) -> list[tuple[Strata, Array]]:
    """Return all possible strata, and the Dirichlet weights of their true classes, for each matrix.

    The weights of a class are spread evenly over the judge's labels and over the levels, and over the systems as if
    they were independent given the class, so that each system's weights sum to its α.
    """
    classes, judges = len(sample.labels), int(sample.has_judge)
    shape = (int(sample.levels.max()) + 1, *(classes,) * (judges + len(systems)))
    check_size("judge and y_pred", (*shape, classes), classes)
    levels, *votes = np.unravel_index(np.arange(math.prod(shape)), shape)
    spread = []
    given = sample.strata_of([*range(judges), *systems])
    for strata, alpha in zip(given, _proper_counts(sample, prior), strict=True):
        place = np.ravel_multi_index([strata.levels, *strata.votes.T], shape)
        counts, verified = np.zeros(len(levels), int), np.zeros((len(levels), classes), int)
        counts[place], verified[place] = strata.counts, strata.verified
        weights = np.tile(alpha[0].sum(-1) / shape[0] / classes**judges, (len(levels), 1))
        for system, predicted in zip(systems, votes[judges:], strict=True):
            of_system = alpha[system - judges]
            weights *= (of_system / of_system.sum(-1, keepdims=True))[:, predicted].T
        spread.append((Strata(np.stack(votes, 1), counts, verified, levels), weights))
    return spread


def _proper_counts(sample: VerifiedSample, prior: priors.Prior) -> Array:
    """Return α of each system, for each element of the leading dims, (m, M, K, K)."""
    cm = sample.verified_only()
    if not sample.systems:
        cm = ConfusionMatrix(cm.counts.expand_dims({ALONE: [0]}, -3), cm.pos_label)
    alpha = pseudo_counts(cm, prior)
    if (alpha <= 0).any():
        raise InputError(
            "prior",
            f"{prior.describe(cm)} has no weight for some cells, and of strata without a verified "
            "example it alone says what they are.",
            "Use a proper prior, as 'jeffreys'.",
        )
    return alpha


def labelled_cells(sample: VerifiedSample, cells: Array, systems: Sequence[Any]) -> xr.DataArray:
    """Return draws (m, M, n, K, K) with the leading dims of a sample, and the systems' dim if they have names."""
    leading = sample.counts.isel(stratum=0, drop=True)
    dims: dict[str, list[Any]] = ({MODEL: list(systems)} if systems else {}) | dict.fromkeys(CELL_DIMS, sample.labels)
    return stored(cells, leading.expand_dims(dims, range(leading.ndim, leading.ndim + len(dims))))
