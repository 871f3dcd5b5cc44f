"""Parameters shared by the errors of all classes: which classes errors fall into, and how much they clump.

The errors of class i are multinomial with probabilities q_i ~ Dirichlet(ηg_j/(1 − g_i), j ≠ i), where g is the
popularity of each class among errors. The clumping 1/(1 + η) is near 0 if popularity alone decides where errors fall,
and near 1 if the errors of each class all fall in one other class. It is the correlation of two errors of a class.

g and η are drawn by importance resampling, with the likelihood of Dirichlet–multinomial errors. If errors clump, most
errors in a cell repeat an earlier one of their row and say nothing about g. A proposal that counted all of them would
be far too narrow; the proposals here count only the errors that are not repeats.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, Codes, blocks, sums_of_others
from bayesperf.distributions.drawing import gamma_masses, resampled, stepwise, with_mass

# Nodes of log η, its range at first, scans that narrow it down, and how far its log density falls there.
_NODES, _RANGE, _SCANS, _FALL = 17, (-16.0, 16.0), 3, 12.0
# The power of the rough density of log η from which it is proposed: a wider one.
_POWER = 0.7
# The proportion of wider proposals of g, and their counts, as a fraction of the others'.
_WIDE, _WIDER = 0.2, 0.2
# Steps to the number of errors that are no repeats.
_STEPS = 10
# The smallest proportion of a class: its logarithm is finite.
_LEAST = 1e-300


class SharedErrors(NamedTuple):
    """n draws of the shared parameters of one matrix's errors: log η (n,), and the popularity g (n, K)."""

    log_weight: Array
    popularity: Array

    def take(self, index: Codes | slice) -> Self:
        """Return some of the draws."""
        return type(self)(*(part[index] for part in self))


def draws_of_errors(
    errors: Array, n: int, rng: np.random.Generator, popularity: Array, clumping: tuple[float, float]
) -> SharedErrors:
    """Return n draws, some of them equal, given errors (K, K) by actual and predicted class, zero on the diagonal.

    `popularity` (K,) holds the weights of the Dirichlet prior of g; `clumping` is the Beta of 1/(1 + η).
    """
    nodes, log_mass, counted = _approximation(errors, popularity, clumping)
    log_weight, log_proposal = stepwise(nodes, _POWER * log_mass, n, rng)
    node = np.rint((log_weight - nodes[0]) / (nodes[1] - nodes[0])).astype(int)
    scale = np.where(rng.random(n) < _WIDE, _WIDER, 1.0)
    proposals = np.maximum(gamma_masses(rng, counted[node] * scale[:, None], (n, len(errors))), _LEAST)
    proposals /= proposals.sum(-1, keepdims=True)
    logs = np.log(proposals)
    product = np.einsum("nk,nk->n", logs, counted[node])
    narrow, wide = (share * product - logs.sum(-1) - _log_beta(share * counted)[node] for share in (1, _WIDER))
    log_proposal += np.logaddexp(narrow + np.log1p(-_WIDE), wide + np.log(_WIDE))
    drawn = SharedErrors(log_weight, proposals)
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
    # With weight w, k errors in a cell have the likelihood w (w + 1) … (w + k − 1), whose first factor is a ratio.
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
    """Return equidistant nodes of log η where its mass is, the approximate log mass, and a Dirichlet of g at each."""
    low, high = _RANGE
    for _ in range(_SCANS):
        nodes = np.linspace(low, high, _NODES)
        counted = _weights_of_popularity(errors, np.exp(nodes), popularity)
        mean = counted / counted.sum(-1, keepdims=True)
        # The density at a mean divided by its Dirichlet's density there approximates the mass.
        log_mass = log_density(errors, SharedErrors(nodes, mean), popularity, clumping) + _log_beta(counted)
        log_mass -= (np.log(mean) * (counted - 1)).sum(-1)
        low, high = with_mass(nodes, log_mass, _FALL)
    return nodes, log_mass - log_mass.max(), counted


def _weights_of_popularity(errors: Array, weight: Array, popularity: Array) -> Array:
    """Return the weights of a Dirichlet distribution that approximates g's, for each η (k,), (k, K).

    The weights sum to the prior's sum plus the number of errors that are not repeats. If e draws from a
    Dirichlet–multinomial fall into a category of weight a, a[ψ(a + e) − ψ(a)] of them are expected to be new ones
    (Antoniak 1974, Mixtures of Dirichlet processes). No error falls in its own class: the number that would otherwise
    fall there is added to the class's own weight before the weights are scaled to their sum.
    """
    actual, predicted = np.nonzero(errors > 1)
    repeated = errors[actual, predicted]
    # The first error of a cell is always new.
    single = errors == 1
    counted = popularity + (errors > 0).sum(0) + np.zeros((len(weight), 1))
    for _ in range(_STEPS):
        share = counted / counted.sum(-1, keepdims=True)
        others = sums_of_others(share)
        of_cell = weight[:, None] * share[:, predicted] / others[:, actual]
        new = of_cell * (special.digamma(of_cell + repeated) - special.digamma(of_cell))
        by_predicted, by_actual = (
            of_single + np.stack([np.bincount(place, each, len(errors)) for each in new])
            for of_single, place in ((single.sum(0), predicted), (single.sum(1), actual))
        )
        counted = popularity + by_predicted
        total = counted.sum(-1, keepdims=True)
        counted = counted + by_actual * share / others
        counted *= total / counted.sum(-1, keepdims=True)
    return counted


def _log_beta(weights: Array) -> Array:
    """Return the log normalising constants of Dirichlet distributions, (k,)."""
    return np.asarray(special.gammaln(weights).sum(-1) - special.gammaln(weights.sum(-1)))
