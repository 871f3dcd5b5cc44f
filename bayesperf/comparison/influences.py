"""What each example, or each cluster of them, adds to the estimates of a metric of several systems, to first order."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayesperf.comparison.error_correlations import Influence
from bayesperf.core.arrays import Array
from bayesperf.counts.count_arrays import CELL_DIMS
from bayesperf.counts.joint_outcomes import JointOutcomes
from bayesperf.intervals.delta import gradient_of
from bayesperf.metrics.metric import Metric
from bayesperf.pooling.pooled_clusters import ClusteredPosterior


def influence_of_examples(outcomes: JointOutcomes, metric: Metric, positive: int | None) -> list[Influence]:
    """Return the influence of examples on each system, for every place along the other leading dims of the metric."""
    by_cell = _by_cell(outcomes.margins(), outcomes.dim, metric, positive)
    systems = np.arange(len(outcomes.names))
    values = by_cell[..., systems, outcomes.actual[:, None], outcomes.predicted]
    counts = np.asarray(outcomes.counts.transpose(..., "outcome"))
    # A metric with a value a class has more places than the counts.
    each = np.repeat(counts.reshape(-1, counts.shape[-1]), len(values) // max(counts[..., 0].size, 1), axis=0)
    return [Influence(*of_place) for of_place in zip(values, each, strict=True)]


def influence_of_clusters(post: ClusteredPosterior, metric: Metric, dim: str) -> list[Influence]:
    """Return the influence of clusters of examples on each system along a dim, for every other place of the metric."""
    assert post.observed is not None
    by_cell = _by_cell(post.observed, dim, metric, post.positive)
    places, systems, classes, _ = by_cell.shape
    # The place of each matrix among those that the clusters know of.
    order = post.observed.isel(dict.fromkeys(CELL_DIMS, 0), drop=True)
    matrices = order.copy(data=np.arange(order.size).reshape(order.shape)).transpose(..., dim).values
    matrices = np.repeat(matrices.reshape(-1, systems), places // (order.size // systems), axis=0)
    table, size = post.clusters.table.tocsc(), classes**2
    values = np.stack([
        [table[:, matrix * size : (matrix + 1) * size] @ cells.ravel() for matrix, cells in zip(row, of_place, strict=True)]
        for row, of_place in zip(matrices, by_cell, strict=True)
    ])  # fmt: skip
    return [Influence(of_place.T, np.ones(of_place.shape[1])) for of_place in values]


def _by_cell(counts: xr.DataArray, dim: str, metric: Metric, positive: int | None) -> Array:
    """Return what an example in each cell adds to the metric, (place, system, K, K), with mean 0 over the examples.

    What is in no cell, and what an undefined metric owes to one, is 0.
    """
    ordered = counts.transpose(..., dim, *CELL_DIMS).values
    *leading, systems, classes, _ = ordered.shape
    shares = ordered / ordered.sum((-1, -2), keepdims=True)
    gradient = gradient_of(metric, positive, shares).reshape(classes, classes, *leading, systems, -1)
    gradient = np.where(np.isfinite(gradient), gradient, 0)
    weights = np.moveaxis(shares, (-2, -1), (0, 1))[..., None]
    centred = gradient - (weights * gradient).sum((0, 1))
    # Axes (K, K, …, system, label) become (…, label, system, K, K).
    return np.moveaxis(centred, (-1, -2, 0, 1), (-4, -3, -2, -1)).reshape(-1, systems, classes, classes)
