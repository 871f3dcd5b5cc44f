"""Draws of the cells of voters, from examples of which some are verified.

Examples of one stratum have the same labels from every voter: from the judge, if there is one, and from the systems.
Among the N_c examples of stratum c some are verified, and G_ct of these have class t. If they were chosen at random
within their stratum, the likelihood is Π_c p_c^N_c Π_t p(t | c)^G_ct, whatever the dependence of the voters (Begg &
Greenes 1983, Biometrics 39, 207–215), and the cells of a voter are sums of p_c p(t | c).

Under a Dirichlet prior of the cells, p and p(· | c) are Dirichlet variables (`dirichlet_cells`). Under the prior that
strata share (`shared_cells`), they are Dirichlet variables given the parameters of a logit model (`vote_model`).

If examples come in clusters, N_c and G_ct are sums over these, each with a weight of the Bayesian bootstrap, the same
in both (`bayesperf.core.weights`), and only the prior's pseudo-examples are Gamma variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array, Codes, Counts, blocks
from bayesperf.core.weights import LEAST, at_random, cluster_weights, mean_weight, tallied, unit_weights
from bayesperf.distributions.drawing import LEAST_MASS, gamma_masses
from bayesperf.labels.votes import posterior_draws, vote_model

# Maximum size of temporary arrays, and the most clusters with weights of their own; more are put together at random.
_BLOCK, _MOST = 2**21, 5_000
EVERY = slice(None)


class Strata(NamedTuple):
    """The strata of the examples of one matrix."""

    # The class, or the bin of a score, that each voter gives to the examples of a stratum, judges first, (S, V).
    votes: Codes
    # Numbers of examples, (S,).
    counts: Counts
    # Numbers of verified examples by their true class, (S, K).
    verified: Counts
    # The level that the examples of a stratum belong to, (S,).
    levels: Codes
    # For each voter, how much each bin of its score speaks for the second class, from 0 to 1; empty if it gives
    # classes, (V,). If there is none, all give classes.
    bins: tuple[tuple[float, ...], ...] = ()
    # The number of examples, and of verified ones by their true class, of each cluster in each stratum.
    clusters: csr_array | None = None

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.verified.shape[1])

    @property
    def sure(self) -> tuple[Counts, Counts]:
        """Numbers of examples and of verified ones that are the same in each draw: none, if clusters are weighted."""
        return (self.counts, self.verified) if self.clusters is None else (0 * self.counts, 0 * self.verified)


# ── A Dirichlet prior ──


def dirichlet_cells(strata: Strata, alpha: Array, n: int, rng: np.random.Generator, voters: slice = EVERY) -> Array:
    """Return n draws of the cells of voters, (V, n, K, K); alpha (S, K) has weights of stratum and true class."""

    def masses(block: slice) -> Array:
        shape = (block.stop - block.start, *alpha.shape)
        return gamma_masses(rng, alpha + strata.sure[1], shape).transpose(1, 2, 0)

    return _cells(strata, alpha.sum(-1), masses, n, rng, voters)


# ── The prior that strata share ──


def shared_cells(strata: Strata, n: int, rng: np.random.Generator, voters: slice = EVERY) -> Array:
    """Return n draws of the cells of voters, (V, n, K, K), under the prior that strata share."""
    strata = _with_agreement(strata)
    size = len(strata.counts)
    return _cells(strata, np.full(size, 1 / size), _shared_masses(strata, n, rng), n, rng, voters)


def shared_truth(strata: Strata, n: int, rng: np.random.Generator) -> Array:
    """Return n draws of the probability of each true class in each stratum, (n, S, K)."""
    masses = _shared_masses(strata, n, rng)(slice(0, n))
    return np.asarray((masses / masses.sum(1, keepdims=True)).transpose(2, 0, 1))


def _with_agreement(strata: Strata) -> Strata:
    """Add the missing strata of examples to which all voters give the same class."""
    alike = np.repeat(np.arange(strata.classes)[:, None], strata.votes.shape[1], 1)
    last = np.array([len(bins) - 1 for bins in strata.bins] or [0])
    alike = np.where((last > 0) & (alike == 1), last, alike)
    absent = ~(strata.votes == alike[:, None]).all(-1).any(1)
    votes, added = np.concatenate([strata.votes, alike[absent]]), int(absent.sum())
    counts, verified = np.pad(strata.counts, (0, added)), np.pad(strata.verified, ((0, added), (0, 0)))
    return Strata(votes, counts, verified, np.pad(strata.levels, (0, added)), strata.bins, strata.clusters)


def _shared_masses(strata: Strata, n: int, rng: np.random.Generator) -> Callable[[slice], Array]:
    """Return a function that draws Gamma variables of κ m + Y in each stratum, (S, K, size), for some of n draws."""
    model = vote_model(*strata[:-1])
    drawn = posterior_draws(model, n, rng)

    def masses(block: slice) -> Array:
        weights = model.class_shares(drawn.parameters[block])
        weights *= drawn.precision[block]
        weights += strata.sure[1][..., None]
        return gamma_masses(rng, weights, weights.shape)

    return masses


# ── Cells ──


def _cells(
    strata: Strata,
    weights: Array,
    masses: Callable[[slice], Array],
    n: int,
    rng: np.random.Generator,
    voters: slice,
) -> Array:
    """Return n draws of the cells of voters, (V, n, K, K).

    Strata are drawn by their Dirichlet weights, and true classes in each stratum as Gamma variables (S, K, size). The
    cells of a score have everything in the first column: only the true classes are known.
    """
    size, classes = strata.verified.size, strata.classes
    into = []
    bins = strata.bins or [()] * strata.votes.shape[1]
    for predicted, scored in zip(strata.votes.T[voters], bins[voters], strict=True):
        cell = np.arange(classes) * classes + (0 * predicted if scored else predicted)[:, None]
        into.append(csr_array((np.ones(size), (cell.ravel(), np.arange(size))), shape=(classes**2, size)))
    parts = []
    weighted = None if strata.clusters is None else _weighted_counts(strata, strata.clusters, rng)
    for block in blocks(n, max(size, 0 if strata.clusters is None else min(strata.clusters.shape[0], _MOST)), _BLOCK):
        shares = gamma_masses(rng, weights + strata.sure[0], (block.stop - block.start, len(weights)))
        truth = masses(block)
        if weighted is not None:
            of_clusters = weighted(block.stop - block.start)
            shares[:, : of_clusters.shape[1]] += of_clusters[..., 0]
            truth[: of_clusters.shape[1]] += of_clusters[..., 1:].transpose(1, 2, 0)
        truth *= (shares.T / truth.sum(1) / shares.sum(-1))[:, None]
        parts.append(np.stack([(sums @ truth.reshape(size, -1)).T for sums in into]))
    cells = np.concatenate(parts, 1).reshape(len(into), n, classes, classes)
    # Draws may underflow to 0, and a ratio of such cells to 0/0.
    return np.asarray(np.maximum(cells, LEAST_MASS, out=cells))


def _weighted_counts(strata: Strata, table: csr_array, rng: np.random.Generator) -> Callable[[int], Array]:
    """Return a function that draws the counts of strata by weights of clusters, (n, S, 1 + K).

    Clusters with verified examples have weights by the numbers of these, as few of them may stand for all.
    """
    slots = 1 + strata.classes
    is_verified = np.arange(table.shape[1]) % slots > 0
    examples, verified = table[:, ~is_verified].sum(1), table[:, is_verified].sum(1)
    parts = []
    for sizes, known in ((verified, verified > 0), (examples, (verified == 0) & (examples > 0))):
        rows = np.flatnonzero(known)
        groups = min(len(rows), _MOST)
        if groups:
            into = tallied(at_random(len(rows), _MOST, rng), np.arange(len(rows)), (groups, len(rows)))
            parts.append((into @ sizes[rows], (into @ table[rows]).toarray()))

    def weighted(n: int) -> Array:
        found = sum(_unit_mean_weights(rng, sizes, n) @ of_group for sizes, of_group in parts)
        return np.asarray(found).reshape(n, -1, slots)

    return weighted


def _unit_mean_weights(rng: np.random.Generator, sizes: Array, n: int) -> Array:
    """Return weights of clusters with mean 1, (n, G)."""
    if len(sizes) < LEAST:
        return unit_weights(rng, np.ones(len(sizes)), n)
    return cluster_weights(rng, sizes, n).astype(float) / mean_weight(len(sizes))


def agreement(votes: Codes) -> Codes:
    """Return, for each stratum, a code of which voters agree with each other."""
    alike = (votes[:, :, None] == votes[:, None]).reshape(len(votes), -1)
    return np.unique(alike, axis=0, return_inverse=True)[1].ravel()
