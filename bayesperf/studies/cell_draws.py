"""Draws of the cells of a confusion matrix: of a new test set's, of the system's own, and of the bootstrap's."""

from __future__ import annotations

import numpy as np

from bayesperf import prior as priors
from bayesperf.core.arrays import Array
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.posteriors.dirichlet import posterior

DISTRIBUTIONS = ("predictive", "posterior", "bootstrap")
# Pseudo-counts that are none in effect, but leave no distribution improper.
_NEARLY_NONE = 1e-9


def cell_draws(cm: ConfusionMatrix, prior: priors.Prior, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of cells from each of `DISTRIBUTIONS`, (3, draws, K, K).

    A cell with neither examples nor pseudo-counts stays empty in all draws: the limit as pseudo-counts go to 0.
    """
    counts, total = cm.counts.values.ravel(), int(cm.total)
    alpha = prior.concentration(cm)
    if prior.rates is None and (cm.counts + alpha == 0).any():
        prior = priors.dirichlet(alpha.clip(_NEARLY_NONE))
    theta = posterior(cm, prior).draws(draws, random_seed=rng).values
    flat = theta.reshape(draws, -1)
    predictive = rng.multinomial(total, flat / flat.sum(-1, keepdims=True))
    bootstrap = rng.multinomial(total, counts / total, draws)
    return np.stack([predictive.reshape(theta.shape), theta, bootstrap.reshape(theta.shape)])
