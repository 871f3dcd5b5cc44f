"""A sampler of true cells given labels that are wrong in any known way: the truth of every label is drawn in turn.

Of the examples recorded as r in a column, the numbers that are truly t are multinomial with probabilities proportional
to E[t, r]·s_t; given those numbers, the proportions s of the true classes are Dirichlet. The two are drawn alternately
(data augmentation, Tanner & Wong 1987).
"""

from __future__ import annotations

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.distributions.gamma import gamma_masses

CHAINS = 50
# Steps before the first draw, and between two draws.
_WARMUP, _THIN = 300, 5


def draw_shares(counts: Array, weights: Array, error: Array, n: int, rng: np.random.Generator) -> Array:
    """Return draws of the proportions of the true labels in each column, (CHAINS, n, K, Z).

    Parameters
    ----------
    counts, weights : array (K, Z)
        Examples by recorded label and column, and Dirichlet weights of the true labels in each column.
    error : array (K, K)
        P(recorded | true), with rows of true labels.
    n : int
        Draws of each chain.
    rng : numpy.random.Generator
        Source of random numbers.
    """
    column, recorded = np.nonzero(counts.T)
    seen = counts[recorded, column].astype(int)
    columns, begins = np.unique(column, return_index=True)
    shares = _shares(weights, np.zeros((CHAINS, *weights.shape)), rng)
    kept = np.empty((n, *shares.shape))
    for step in range(_WARMUP + _THIN * n):
        probability = error.T[recorded] * np.moveaxis(shares, 1, 2)[:, column]
        probability /= probability.sum(-1, keepdims=True)
        truth = np.zeros(shares.shape)
        if len(seen):
            drawn = rng.multinomial(seen, probability)
            truth[:, :, columns] = np.moveaxis(np.add.reduceat(drawn, begins, axis=1), 1, 2)
        shares = _shares(weights, truth, rng)
        if step >= _WARMUP and (step - _WARMUP) % _THIN == _THIN - 1:
            kept[(step - _WARMUP) // _THIN] = shares
    return np.moveaxis(kept, 0, 1)


def _shares(weights: Array, truth: Array, rng: np.random.Generator) -> Array:
    masses = gamma_masses(rng, weights + truth, truth.shape)
    return np.asarray(masses / masses.sum(1, keepdims=True))
