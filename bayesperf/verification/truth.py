"""Draws of the cells of voters, from examples of which some are verified.

Examples of one stratum have the same labels from every voter: from the judge, if there is one, and from the systems.
Of N_c examples of stratum c some are verified, and G_ct of these are of class t. If they were chosen at random among
those of their stratum, the likelihood is Π_c p_c^N_c Π_t p(t | c)^G_ct, whatever the dependence of the voters (Begg &
Greenes 1983, Biometrics 39, 207–215), and the cells of a voter are sums of p_c p(t | c).

Under a Dirichlet prior of the cells, p and p(· | c) are Dirichlet variables (`dirichlet_cells`). Under the prior that
strata share (`shared_cells`), a verified example says one of few things: its class is what one of the voters says, or
another than all of them say. How often it is which is alike in strata in which the same voters agree with each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array, Booleans, Codes, Counts, blocks
from bayesperf.distributions import beta_binomial
from bayesperf.distributions.gamma import LEAST_MASS, gamma_masses
from bayesperf.posteriors.shared_classes import DISPERSION, MEAN

# Sweeps until the popularity of classes has forgotten where it started.
_SWEEPS = 20
# Maximum size of temporary arrays.
_BLOCK = 2**23


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
    """

    votes: Codes
    counts: Counts
    verified: Counts

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.verified.shape[1])


# ── A Dirichlet prior ──


def dirichlet_cells(strata: Strata, alpha: Array, n: int, rng: np.random.Generator) -> Array:
    """Return n draws of the cells of each voter, (V, n, K, K).

    Parameters
    ----------
    strata : Strata
        All strata that the prior has weight for.
    alpha : Array (S, K)
        Dirichlet weights of stratum and true class.
    n : int
        Number of draws.
    rng : numpy.random.Generator
        Source of random numbers.
    """
    into = []
    for predicted in strata.votes.T:
        cell = np.arange(strata.classes) * strata.classes + predicted[:, None]
        into.append(_summing(cell.ravel(), np.arange(alpha.size), (strata.classes**2, alpha.size)))
    parts = []
    for block in blocks(n, alpha.size, _BLOCK):
        size = block.stop - block.start
        shares = gamma_masses(rng, alpha.sum(-1) + strata.counts, (size, len(alpha)))
        truth = gamma_masses(rng, alpha + strata.verified, (size, *alpha.shape))
        truth *= (shares / truth.sum(-1) / shares.sum(-1, keepdims=True))[..., None]
        parts.append(np.stack([(sums @ truth.reshape(size, -1).T).T for sums in into]))
    return np.concatenate(parts, 1).reshape(len(into), n, strata.classes, strata.classes)


# ── The prior that strata share ──


def shared_cells(strata: Strata, n: int, rng: np.random.Generator) -> Array:
    """Return n draws of the cells of each voter, (V, n, K, K), under the prior that strata share."""
    strata = _with_agreement(strata)
    into = [_sums_by_cell(strata, voter) for voter in range(strata.votes.shape[1])]
    width = strata.votes.size * 2 + strata.classes**2
    parts = [_shared_block(strata, into, block.stop - block.start, rng) for block in blocks(n, width, _BLOCK)]
    return np.concatenate(parts, 1)


def _with_agreement(strata: Strata) -> Strata:
    """Add the strata of examples to which all voters give the same class, as far as there are none."""
    alike = np.repeat(np.arange(strata.classes)[:, None], strata.votes.shape[1], 1)
    absent = ~(strata.votes == alike[:, None]).all(-1).any(1)
    votes, added = np.concatenate([strata.votes, alike[absent]]), int(absent.sum())
    return Strata(votes, np.pad(strata.counts, (0, added)), np.pad(strata.verified, ((0, added), (0, 0))))


def _shared_block(strata: Strata, into: list[CellSums], n: int, rng: np.random.Generator) -> Array:
    weights: Array = strata.counts + np.float64(1 / len(strata.counts))
    shares = gamma_masses(rng, weights, (n, len(weights)))
    shares /= shares.sum(-1, keepdims=True)
    called, another = _outcomes(strata, n, rng)
    called *= shares[..., None]
    another *= shares
    popularity = _popularity(strata, n, rng)
    # Of the classes that remain in a stratum, whose popularities sum to less than 1.
    another /= np.maximum(popularity @ _remaining(strata).T, LEAST_MASS)
    cells = [
        (sums.called @ called.reshape(n, -1).T).T.reshape(n, strata.classes, strata.classes)
        + popularity[:, :, None] * (sums.another @ another.T).T.reshape(n, strata.classes, strata.classes)
        for sums in into
    ]
    # Draws may underflow to 0, and a ratio of such cells to 0/0.
    return np.maximum(cells, LEAST_MASS)


def shared_truth(strata: Strata, n: int, rng: np.random.Generator) -> Array:
    """Return n draws of the probability of each true class in each stratum, (n, S, K)."""
    called, another = _outcomes(strata, n, rng)
    remain = _remaining(strata)
    rest = _popularity(strata, n, rng)[:, None, :] * remain
    rest *= (another / np.maximum(rest.sum(-1), LEAST_MASS))[..., None]
    for predicted, share in zip(strata.votes.T, np.moveaxis(called, -1, 0), strict=True):
        rest[:, np.arange(len(predicted)), predicted] += share
    return rest


class CellSums(NamedTuple):
    """Which cells of a voter the shares of strata add to, if they are of the class of a voter, or of another."""

    called: csr_array
    another: csr_array


def _sums_by_cell(strata: Strata, voter: int) -> CellSums:
    (size, voters), classes, predicted = strata.votes.shape, strata.classes, strata.votes[:, voter]
    called = (strata.votes * classes + predicted[:, None]).ravel()
    stratum, actual = np.nonzero(_remaining(strata))
    return CellSums(
        _summing(called, np.arange(called.size), (classes**2, size * voters)),
        _summing(actual * classes + predicted[stratum], stratum, (classes**2, size)),
    )


def _summing(row: Codes, column: Codes, shape: tuple[int, int]) -> csr_array:
    """Return a matrix of ones at some places, by which columns are summed into rows."""
    return csr_array((np.ones(len(row)), (row, column)), shape=shape)


def _remaining(strata: Strata) -> Booleans:
    """Whether no voter gives a class to the examples of a stratum, (S, K)."""
    remain = np.ones(strata.verified.shape, bool)
    np.put_along_axis(remain, strata.votes, False, 1)
    return remain


def agreement(votes: Codes) -> Codes:
    """Return for each stratum which voters agree with each other, as a code that is the same where these are."""
    alike = (votes[:, :, None] == votes[:, None]).reshape(len(votes), -1)
    return np.unique(alike, axis=0, return_inverse=True)[1].ravel()


def _first_of_class(votes: Codes) -> Booleans:
    """Whether a voter is the first to give an example its class, (S, V)."""
    return np.stack([(votes[:, :v] != votes[:, v : v + 1]).all(1) for v in range(votes.shape[1])], 1)


def _outcomes(strata: Strata, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return draws of the probabilities that each voter is right, (n, S, V), and that none is, (n, S).

    The class is another one, or else that of the first voter, or else that of the next who differs, and so on: each of
    these steps is a rate that strata with the same agreement of voters share, and that comes back by conjugacy.
    """
    votes, verified, classes = strata.votes, strata.verified, strata.classes
    first = _first_of_class(votes)
    right = np.take_along_axis(verified, votes, 1) * first
    kinds = agreement(votes)
    called, another = np.zeros((n, *votes.shape)), np.zeros((n, len(votes)))
    for kind in range(kinds.max() + 1):
        members = np.flatnonzero(kinds == kind)
        voters = np.flatnonzero(first[members[0]])
        left, unseen = np.ones((n, len(members))), verified[members].sum(1)
        if len(voters) < classes:
            wrong = unseen - right[members].sum(1)
            rate = _shared_rate(wrong, unseen, n, rng)
            another[:, members], left, unseen = rate, 1 - rate, unseen - wrong
        for voter in voters[:-1]:
            hits = right[members, voter]
            rate = _shared_rate(hits, unseen, n, rng)
            called[:, members, voter], left, unseen = left * rate, left * (1 - rate), unseen - hits
        called[:, members, voters[-1]] = left
    return called, another


def _shared_rate(successes: Counts, trials: Counts, n: int, rng: np.random.Generator) -> Array:
    """Return n draws of the rates of groups that share a mean and a dispersion, (n, groups)."""
    model = beta_binomial.posterior(successes[None].astype(float), trials[None].astype(float), DISPERSION, MEAN)
    logit_mean = model.draws_of_mean(n, [rng])
    kappa = np.exp(-model.draws_of_dispersion(logit_mean, [rng])[0])[:, None]
    hits = special.expit(logit_mean[0])[:, None] * kappa + successes
    misses = special.expit(-logit_mean[0])[:, None] * kappa + (trials - successes)
    hits, misses = (np.maximum(rng.standard_gamma(weights), LEAST_MASS) for weights in (hits, misses))
    return np.asarray(hits / (hits + misses))


def _popularity(strata: Strata, n: int, rng: np.random.Generator) -> Array:
    """Return n draws of the popularity g ~ Dirichlet(1) of the classes among those that no voter gives, (n, K).

    Of class t with probability g_t / Σ g of the classes that remain: with a Gamma variable for each set of these, the
    masses of g are Gamma variables as well (Caron & Doucet 2012, Efficient Bayesian inference for generalized
    Bradley–Terry models, §2). Each draw is the end of a chain of its own, which starts from the prior.
    """
    remain = _remaining(strata)
    another = strata.verified * remain
    # An example whose class is the only one that remains says nothing.
    seen = (another.sum(1) > 0) & (remain.sum(1) > 1)
    remain, which = np.unique(remain[seen], axis=0, return_inverse=True)
    times = np.bincount(which, another[seen].sum(1), len(remain))
    masses = gamma_masses(rng, np.ones(strata.classes), (n, strata.classes))
    for _ in range(_SWEEPS if len(remain) else 0):
        rates = 1 + (rng.standard_gamma(times, (n, len(times))) / (masses @ remain.T)) @ remain
        masses = rng.standard_gamma(1 + another[seen].sum(0), masses.shape) / rates
    return np.asarray(masses / masses.sum(-1, keepdims=True))
