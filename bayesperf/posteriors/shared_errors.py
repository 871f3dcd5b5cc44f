"""What the errors of the classes share: which classes they fall into, and how much they clump, by draws.

The errors of class i are multinomial with shares q_i ~ Dirichlet(ηg_j/(1 − g_i), j ≠ i), where g is the popularity of
each class among errors. The clumping 1/(1 + η) is near 0 if all classes are taken for others by popularity alone, and
near 1 if each is taken for one other class. It is the correlation of two errors of a class.

g and η are drawn by importance resampling, with the likelihood of Dirichlet–multinomial errors. Of errors that clump
most in a cell repeat an earlier one of their row and say nothing of g. A proposal that counted all of them would be far
too narrow; those used here count the errors that are no repeats.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, blocks, sums_of_others
from bayesperf.distributions.gamma import gamma_masses
from bayesperf.distributions.importance import resampled, stepwise, with_mass

# Nodes of log η, its range at first, scans that narrow it down, and how far its log density falls there.
_NODES, _RANGE, _SCANS, _FALL = 17, (-16.0, 16.0), 3, 12.0
# The power of the rough density of log η from which it is proposed: a wider one.
_POWER = 0.7
# Steps to the number of errors that are no repeats.
_STEPS = 10
# The least share of a class: its logarithm is finite.
_LEAST = 1e-300


class SharedErrors(NamedTuple):
    """n draws of what the errors of the classes of one matrix share: log η (n,), and the popularity g (n, K)."""

    log_weight: Array
    popularity: Array

    def take(self, index: Array | slice) -> Self:
        """Return some of the draws."""
        return type(self)(*(part[index] for part in self))


def draws_of_errors(
    errors: Array, n: int, rng: np.random.Generator, popularity: Array, clumping: tuple[float, float]
) -> SharedErrors:
    """Return n draws, of which some are alike.

    Parameters
    ----------
    errors : array (K, K)
        Errors by actual and predicted class; zeros on the diagonal.
    n, rng
        Number of draws, and the source of random numbers.
    popularity : array (K,)
        Weights of the Dirichlet prior of g.
    clumping : tuple of two float
        The Beta of 1/(1 + η).
    """
    nodes, log_mass, first = _approximation(errors, popularity, clumping)
    log_weight, log_proposal = stepwise(nodes, _POWER * log_mass, n, rng)
    reached = (log_weight - nodes[0]) / (nodes[1] - nodes[0])
    cell = np.clip(reached.astype(int), 0, len(nodes) - 2)
    part = (reached - cell)[:, None]
    counted = popularity + first[cell] * (1 - part) + first[cell + 1] * part
    proposals = np.maximum(gamma_masses(rng, counted, counted.shape), _LEAST)
    proposals /= proposals.sum(-1, keepdims=True)
    drawn = SharedErrors(log_weight, proposals)
    log_proposal += _log_dirichlet(proposals, counted)
    return drawn.take(resampled(log_density(errors, drawn, popularity, clumping) - log_proposal, rng))


def log_density(errors: Array, drawn: SharedErrors, popularity: Array, clumping: tuple[float, float]) -> Array:
    """Return the log density of log η and g, (n,), up to a constant."""
    a, b = clumping
    prior = a * special.log_expit(-drawn.log_weight) + b * special.log_expit(drawn.log_weight)
    return np.asarray(_log_likelihood(errors, drawn) + prior + np.log(drawn.popularity) @ (popularity - 1))


def _log_likelihood(errors: Array, drawn: SharedErrors) -> Array:
    """Return the log-likelihood of Dirichlet–multinomial errors, up to a constant."""
    log_weight, popularity = drawn
    # Summed, not subtracted from 1: the most popular class may have all but a tiny part.
    others = sums_of_others(popularity)
    # Of weight w, k errors in a cell have the likelihood w (w + 1) … (w + k − 1), whose first factor is a ratio.
    seen = errors > 0
    total = np.log(popularity) @ seen.sum(0) - np.log(others) @ seen.sum(1)
    in_rows, often = np.unique(errors.sum(1)[seen.any(1)], return_counts=True)
    total += log_weight * (seen.sum() - often.sum())
    weight = np.exp(log_weight)[:, None]
    total -= (special.gammaln(weight + in_rows) - special.gammaln(weight + 1)) @ often
    actual, predicted = np.nonzero(errors > 1)
    repeated = errors[actual, predicted]
    for block in blocks(len(popularity), max(1, len(repeated))):
        of_cell = weight[block] * popularity[block][:, predicted] / others[block][:, actual]
        total[block] += (special.gammaln(of_cell + repeated) - special.gammaln(of_cell + 1)).sum(-1)
    return np.asarray(total)


def _approximation(errors: Array, popularity: Array, clumping: tuple[float, float]) -> tuple[Array, Array, Array]:
    """Return equidistant nodes of log η where its mass is, the rough log mass, and errors that are no repeats there."""
    low, high = _RANGE
    for _ in range(_SCANS):
        nodes = np.linspace(low, high, _NODES)
        first = _expected_first(errors, np.exp(nodes), popularity)
        counted = popularity + first
        mean = counted / counted.sum(-1, keepdims=True)
        # The density of a mean over that of the proposal there is roughly the mass.
        log_mass = log_density(errors, SharedErrors(nodes, mean), popularity, clumping) - _log_dirichlet(mean, counted)
        low, high = with_mass(nodes, log_mass, _FALL)
    return nodes, log_mass - log_mass.max(), first


def _expected_first(errors: Array, weight: Array, popularity: Array) -> Array:
    """Return how many errors by predicted class are no repeats, at a popularity that these numbers suggest, (k, K).

    Of e draws from a Dirichlet–multinomial that fall into a category of weight a, a[ψ(a + e) − ψ(a)] are expected to be
    new ones (Antoniak 1974, Mixtures of Dirichlet processes).
    """
    actual, predicted = np.nonzero(errors > 1)
    repeated = errors[actual, predicted]
    # The first error of a cell is always new.
    single = np.broadcast_to((errors == 1).sum(0), (len(weight), len(errors)))
    first = (errors > 0).sum(0) + np.zeros(single.shape)
    for _ in range(_STEPS):
        counted = popularity + first
        counted /= counted.sum(-1, keepdims=True)
        of_cell = weight[:, None] * counted[:, predicted] / sums_of_others(counted)[:, actual]
        new = of_cell * (special.digamma(of_cell + repeated) - special.digamma(of_cell))
        first = single + np.stack([np.bincount(predicted, each, len(errors)) for each in new])
    return first


def _log_dirichlet(shares: Array, weights: Array) -> Array:
    """Return the log density of Dirichlet distributions, (n,)."""
    log_beta = special.gammaln(weights).sum(-1) - special.gammaln(weights.sum(-1))
    return np.asarray((np.log(shares) * (weights - 1)).sum(-1) - log_beta)
