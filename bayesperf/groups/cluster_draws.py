"""Draws of cells by the Bayesian bootstrap of clusters, as arrays: weights of clusters, and of pseudo-examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, blocks
from bayesperf.core.random_streams import stream
from bayesperf.core.weights import at_random, cluster_weights, tallied
from bayesperf.data.clusters import Clusters
from bayesperf.distributions.drawing import gamma_masses

# The most clusters that have weights of their own. More are put together at random.
_MOST = 5_000
# Maximum number of weights at once: they stay in the processor's cache.
_BLOCK = 2**18


def cluster_cells(
    clusters: Clusters, alpha: Array, draws: int, seed: int, of_prior: Sequence[np.random.Generator] | None = None
) -> Array:
    """Return draws of cells (M, n, K, K) of systems, by the Bayesian bootstrap of the clusters that they judged.

    The cells are proportional to Σ_g v_g C_g + ε: C_g are the counts of cluster g, v_g its weight (`cluster_weights`)
    and ε_c ~ Gamma(α_c) the pseudo-examples of the prior. Systems that were judged in the same clusters have the same
    weights; if they have their own examples there, a cluster's size is their total.

    Parameters
    ----------
    clusters : Clusters
        The counts of all systems, one after the other.
    alpha : array (M, K, K)
        Pseudo-examples.
    draws, seed : int
        Number and seed of the draws.
    of_prior : sequence of Generator, optional
        Sources of the pseudo-examples of each system. By default systems with the same counts in every cluster have the
        same, so that they never differ.
    """
    systems, size = len(alpha), alpha[0].size
    what = f"the {alpha.size:,} cells of {systems:,} systems" if systems > 1 else f"{size:,} cells"
    checks.draws_in_memory(draws, 2 * alpha.size, what, "Merge rare classes, or pool fewer systems.")
    cells = np.empty((systems, draws, size))
    columns = clusters.table.tocsc()
    tables = [columns[:, place : place + size].tocsr() for place in range(0, clusters.cells, size)]
    # A cluster without examples of a system is none of its clusters.
    judged = [np.flatnonzero(table.sum(1)) for table in tables]
    flat = alpha.reshape(systems, -1)
    if of_prior is None:
        known = zip(tables, flat, strict=True)
        of_prior = [stream(seed, "pseudo-examples", _contents(table, of_system)) for table, of_system in known]
    for within in {codes.tobytes(): codes for codes in judged}.values():
        members = [system for system, codes in enumerate(judged) if np.array_equal(codes, within)]
        _fill(cells, members, tables, within, flat, stream(seed, clusters.name, within), of_prior)
    return cells.reshape(systems, draws, *alpha.shape[1:])


def _fill(
    cells: Array,
    members: list[int],
    tables: list[csr_array],
    within: Codes,
    alpha: Array,
    rng: np.random.Generator,
    of_prior: Sequence[np.random.Generator],
) -> None:
    """Fill the draws of the systems that were judged in the same clusters."""
    groups = min(len(within), _MOST)
    group = at_random(len(within), _MOST, rng)
    into = tallied(group, within, (groups, tables[0].shape[0]))
    sizes = into @ np.sum([tables[system].sum(1) for system in members], axis=0)
    dense = [_of_cells_seen(into @ tables[system]) for system in members]
    for system in members:
        cells[system] = gamma_masses(of_prior[system], alpha[system], cells.shape[1:])
    for block in blocks(cells.shape[1], groups, _BLOCK):
        weights = cluster_weights(rng, sizes, block.stop - block.start)
        # A product for each system: in one product for all, rounding would depend on the systems beside it.
        for system, (seen, table) in zip(members, dense, strict=True):
            cells[system][block, seen] += weights @ table
    for system in members:
        cells[system] /= cells[system].sum(1, keepdims=True)


def _of_cells_seen(table: csr_array) -> tuple[Codes | slice, NDArray[np.float32]]:
    """Return the cells that have examples in some cluster, and the counts of them."""
    seen = np.flatnonzero(table.sum(0))
    counts = table[:, seen].toarray().astype(np.float32)
    return (slice(None) if len(seen) == table.shape[1] else seen), counts


def _contents(table: csr_array, alpha: Array) -> Array:
    """Return all that determines the posterior of a system, as one array."""
    entries = table.tocoo()
    return np.concatenate([*entries.coords, entries.data, alpha]).astype(float)
