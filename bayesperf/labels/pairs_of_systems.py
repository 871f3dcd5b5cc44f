"""Several systems with the same verified examples: each pair by the strata of both systems and of the judge."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.data.axis_names import MODEL
from bayesperf.distributions.draws import DrawsBesidePairs
from bayesperf.labels.cells import joint_cells, labelled_cells, resolved
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.quantity import Quantity
from bayesperf.posteriors.ranks import rounded

if TYPE_CHECKING:
    from bayesperf.labels.verifying import Verified
    from bayesperf.posteriors.posterior import Posterior


def marginal_of_verified_systems(
    source: Verified, post: Posterior, metric: Metric, draws: int, random_seed: int
) -> Marginal:
    """Return a metric of all systems of a partly verified sample, along the dim ``model``, together.

    A stratum is a combination of labels from the two systems of a pair and the judge: for the difference of two systems
    it matters which of the two is right where they differ. The notes of `bayesperf.labels.verify` describe the default
    priors.
    """
    sides = _pairs(source, post, metric, draws, random_seed)
    joint = _joint_draws(source, post, metric, sides, random_seed).transpose(..., MODEL, "draw")
    first, second = (rounded(side.values.reshape(-1, *side.shape[-2:]), metric.bounds) for side in sides)
    distribution = DrawsBesidePairs(
        joint.values.reshape(-1, 1, joint.sizes["draw"]),
        metric.bounds,
        pairs=(first, second),
        independent_pairs=source.independent_draws,
    )
    leading = xr.zeros_like(joint.isel(draw=0, drop=True))
    return Marginal(Quantity.of(metric, post.scope), distribution, leading, joint=True)


def _pairs(
    source: Verified, post: Posterior, metric: Metric, draws: int, random_seed: int
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return draws of the metric of the first and of the second system of each pair, (…, pair, chain, draw)."""
    sample, prior = source.sample, resolved(source.prior, source.sample, systems=2)
    pairs = list(combinations(range(len(sample.systems)), 2))
    sides: tuple[list[xr.DataArray], list[xr.DataArray]] = ([], [])
    for places in pairs:
        systems = [sample.positions[place] for place in places]
        cells = joint_cells(sample, prior, systems, draws, random_seed)[:, -2:]
        cells = _at_prevalence(cells, post.stated_prevalence, source.random_seed)
        for side, values in enumerate(np.moveaxis(cells, 1, 0)):
            sides[side].append(evaluate(metric, labelled_cells(sample, values[:, None], ()), post.positive))
    names = xr.Variable("pair", [f"{sample.systems[i]} − {sample.systems[j]}" for i, j in pairs])
    first, second = (xr.concat(side, names).transpose(..., "pair", "chain", "draw") for side in sides)
    return first, second


def _at_prevalence(cells: Array, prevalence: Prevalence | None, random_seed: int) -> Array:
    """Return joint draws (m, 2, n, K, K) at a prevalence, which both systems share in each draw."""
    if prevalence is None:
        return cells
    shares = prevalence.draw(np.random.default_rng([random_seed, 2]), cells.shape[2])
    return np.asarray(cells / cells.sum(-1, keepdims=True) * shares[..., None])


def _joint_draws(
    source: Verified, post: Posterior, metric: Metric, sides: tuple[xr.DataArray, xr.DataArray], random_seed: int
) -> xr.DataArray:
    """Return joint draws of the metric of all systems, (…, draw, model).

    For two systems they are the pair's draws. For more, the draws of each system are reordered so that their ranks are
    those of normal variables with the correlations of the pairs (Iman & Conover 1982, Communications in Statistics B
    11, 311–334).
    """
    first, second = (side.isel(chain=0, drop=True) for side in sides)
    if first.sizes["pair"] == 1:
        pair = xr.concat([first, second], xr.Variable(MODEL, list(source.sample.systems))).isel(pair=0, drop=True)
        return pair.transpose(..., "draw", MODEL)
    alone = evaluate(metric, source.cells, post.positive).isel(chain=0, drop=True).transpose(..., "draw", MODEL)
    correlations = xr.corr(first, second, "draw").transpose(..., "pair").fillna(0).values
    values = alone.values.reshape(-1, *alone.shape[-2:])
    each = zip(values, correlations.reshape(len(values), -1), strict=True)
    rng = np.random.default_rng([random_seed, len(source.sample.systems)])
    return alone.copy(data=np.stack([_coupled(of_one, pairs, rng) for of_one, pairs in each]).reshape(alone.shape))


def _coupled(values: Array, correlations: Array, rng: np.random.Generator) -> Array:
    """Return draws (n, M) with the columns reordered to have given correlations of pairs."""
    from scipy import stats

    n, systems = values.shape
    matrix = np.eye(systems)
    matrix[np.triu_indices(systems, 1)] = correlations
    matrix = np.triu(matrix, 1).T + matrix
    # Correlations of pairs may not come from any joint distribution: their negative part is omitted.
    sizes, directions = np.linalg.eigh(matrix)
    scores = rng.standard_normal((n, systems)) @ (directions * np.sqrt(np.maximum(sizes, 0))).T
    ranks = stats.rankdata(scores, axis=0).astype(int) - 1
    return np.take_along_axis(np.sort(values, axis=0), ranks, axis=0)
