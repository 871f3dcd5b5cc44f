"""Draws of the cells of voters, from examples of which some are verified.

Examples of one stratum have the same labels from every voter: from the judge, if there is one, and from the systems.
Among the N_c examples of stratum c some are verified, and G_ct of these have class t. If they were chosen at random
within their stratum, the likelihood is Π_c p_c^N_c Π_t p(t | c)^G_ct, whatever the dependence of the voters (Begg &
Greenes 1983, Biometrics 39, 207–215), and the cells of a voter are sums of p_c p(t | c).

Under a Dirichlet prior of the cells, p and p(· | c) are Dirichlet variables (`dirichlet_cells`). Under the prior that
strata share (`shared_cells`), they are Dirichlet variables given the parameters of a logit model (`vote_model`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array, Codes, Counts, blocks
from bayesperf.distributions.drawing import LEAST_MASS, gamma_masses
from bayesperf.labels.votes import posterior_draws, vote_model

# Maximum size of temporary arrays.
_BLOCK = 2**21


class Strata(NamedTuple):
    """The strata of the examples of one matrix.

    Attributes
    ----------
    votes : Codes (S, V)
        The class that each voter gives to the examples of a stratum, a judge first.
    counts : Counts (S,)
        Numbers of examples.
    verified : Counts (S, K)
        Numbers of verified examples by their true class.
    levels : Codes (S,)
        The level that the examples of a stratum belong to.
    """

    votes: Codes
    counts: Counts
    verified: Counts
    levels: Codes

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.verified.shape[1])


# ── A Dirichlet prior ──


def dirichlet_cells(strata: Strata, alpha: Array, n: int, rng: np.random.Generator) -> Array:
    """Return n draws of the cells of each voter, (V, n, K, K); alpha (S, K) has weights of stratum and true class."""

    def masses(block: slice) -> Array:
        shape = (block.stop - block.start, *alpha.shape)
        return gamma_masses(rng, alpha + strata.verified, shape).transpose(1, 2, 0)

    return _cells(strata, alpha.sum(-1), masses, n, rng)


# ── The prior that strata share ──


def shared_cells(strata: Strata, n: int, rng: np.random.Generator) -> Array:
    """Return n draws of the cells of each voter, (V, n, K, K), under the prior that strata share."""
    strata = _with_agreement(strata)
    size = len(strata.counts)
    return _cells(strata, np.full(size, 1 / size), _shared_masses(strata, n, rng), n, rng)


def shared_truth(strata: Strata, n: int, rng: np.random.Generator) -> Array:
    """Return n draws of the probability of each true class in each stratum, (n, S, K)."""
    masses = _shared_masses(strata, n, rng)(slice(0, n))
    return np.asarray((masses / masses.sum(1, keepdims=True)).transpose(2, 0, 1))


def _with_agreement(strata: Strata) -> Strata:
    """Add the missing strata of examples to which all voters give the same class."""
    alike = np.repeat(np.arange(strata.classes)[:, None], strata.votes.shape[1], 1)
    absent = ~(strata.votes == alike[:, None]).all(-1).any(1)
    votes, added = np.concatenate([strata.votes, alike[absent]]), int(absent.sum())
    counts, verified = np.pad(strata.counts, (0, added)), np.pad(strata.verified, ((0, added), (0, 0)))
    return Strata(votes, counts, verified, np.pad(strata.levels, (0, added)))


def _shared_masses(strata: Strata, n: int, rng: np.random.Generator) -> Callable[[slice], Array]:
    """Return a function that draws Gamma variables of κ m + Y in each stratum, (S, K, size), for some of n draws."""
    model = vote_model(*strata)
    drawn = posterior_draws(model, n, rng)

    def masses(block: slice) -> Array:
        weights = model.class_shares(drawn.parameters[block])
        weights *= drawn.precision[block]
        weights += strata.verified[..., None]
        return gamma_masses(rng, weights, weights.shape)

    return masses


# ── Cells ──


def _cells(strata: Strata, weights: Array, masses: Callable[[slice], Array], n: int, rng: np.random.Generator) -> Array:
    """Return n draws of the cells of each voter, (V, n, K, K).

    Strata are drawn by their Dirichlet weights, and true classes in each stratum as Gamma variables (S, K, size).
    """
    size, classes = strata.verified.size, strata.classes
    into = []
    for predicted in strata.votes.T:
        cell = np.arange(classes) * classes + predicted[:, None]
        into.append(csr_array((np.ones(size), (cell.ravel(), np.arange(size))), shape=(classes**2, size)))
    parts = []
    for block in blocks(n, size, _BLOCK):
        shares = gamma_masses(rng, weights + strata.counts, (block.stop - block.start, len(weights)))
        truth = masses(block)
        truth *= (shares.T / truth.sum(1) / shares.sum(-1))[:, None]
        parts.append(np.stack([(sums @ truth.reshape(size, -1)).T for sums in into]))
    cells = np.concatenate(parts, 1).reshape(len(into), n, classes, classes)
    # Draws may underflow to 0, and a ratio of such cells to 0/0.
    return np.asarray(np.maximum(cells, LEAST_MASS, out=cells))


def agreement(votes: Codes) -> Codes:
    """Return, for each stratum, a code of which voters agree with each other."""
    alike = (votes[:, :, None] == votes[:, None]).reshape(len(votes), -1)
    return np.unique(alike, axis=0, return_inverse=True)[1].ravel()
