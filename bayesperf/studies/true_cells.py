"""Draws of the cells of a confusion matrix: of a new test set's, of the system's own, and of the bootstrap's."""

from __future__ import annotations

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.dirichlet import posterior

DISTRIBUTIONS = ("predictive", "posterior", "bootstrap")


def cell_draws(cm: ConfusionMatrix, prior: priors.Prior, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of cells from each of `DISTRIBUTIONS`, (3, draws, K, K)."""
    counts, total = cm.counts.values.ravel(), int(cm.total)
    theta = posterior(cm, prior).draws(draws, random_seed=rng).values
    flat = theta.reshape(draws, -1)
    predictive = rng.multinomial(total, flat / flat.sum(-1, keepdims=True))
    bootstrap = rng.multinomial(total, counts / total, draws)
    return np.stack([predictive.reshape(theta.shape), theta, bootstrap.reshape(theta.shape)])
