"""Weights of clusters, which are drawn as wholes: the Bayesian bootstrap with the variance of samples of clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.arrays import Codes

# Fewest clusters: of two the weights would be 0. And how many are enough to be silent.
LEAST, ENOUGH = 3, 20


def cluster_weights(rng: np.random.Generator, clusters: int, n: int) -> NDArray[np.float32]:
    """Return n draws of the weights of clusters, Gamma((G − 2)/G), (n, G).

    Shares of the total are Dirichlet, of a sum G − 2, so that a mean over clusters has the variance S²/G, as in samples
    of clusters; weights Gamma(1), of the Bayesian bootstrap of examples (Rubin 1981, The Bayesian bootstrap, Annals of
    Statistics 9, 130–134), fall short of it by (G − 1)/(G + 1). In single precision, whose rounding is far below the
    Monte Carlo error; Gamma(a) is Gamma(a + 1) U^(1/a).
    """
    shape, size = weight_shape(clusters), (n, clusters)
    weights = rng.standard_gamma(shape + 1, size, dtype=np.float32)
    weights *= np.exp(rng.standard_exponential(size, dtype=np.float32) / np.float32(-shape))
    return weights


def weight_shape(clusters: int) -> float:
    """Return the shape of the Gamma distribution of each cluster's weight, which is its mean, too."""
    return (clusters - 2) / clusters


def at_random(units: int, most: int, rng: np.random.Generator) -> Codes:
    """Return the group (units,) of each unit: itself, or one of the most that have weights, at random.

    Groups leave the variance between units as it is, and how well it is estimated, to a share of √(2/most) (Wolter
    2007, Introduction to variance estimation, ch. 2: the random groups).
    """
    group = np.arange(units) % most
    return group if units <= most else rng.permutation(group)


def check_enough(clusters: int, where: str = "") -> None:
    """Refuse fewer clusters than can be weighted."""
    if clusters < LEAST:
        raise ValueError(f"cluster: {clusters}{where} say little of others. Give {LEAST} or more.")
