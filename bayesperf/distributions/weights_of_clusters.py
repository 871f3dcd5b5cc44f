"""Weights of clusters, which are drawn as wholes: the Bayesian bootstrap with the variance of samples of clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError

# Fewest clusters: of two the weights would be 0. And how many are enough to be silent.
LEAST, ENOUGH = 3, 20


def cluster_weights(rng: np.random.Generator, sizes: ArrayLike, n: int) -> NDArray[np.float32]:
    """Return n draws of the weights of G clusters of these sizes, (n, G), all of mean (G − 2)/G.

    In single precision, whose rounding is far below the Monte Carlo error; Gamma(a) is Gamma(a + 1) U^(1/a).
    """
    shapes = weight_shapes(sizes).astype(np.float32)
    weights = rng.standard_gamma(shapes + 1, (n, len(shapes)), dtype=np.float32)
    weights *= np.exp(rng.standard_exponential((n, len(shapes)), dtype=np.float32) / -shapes)
    weights *= np.float32(mean_weight(len(shapes))) / shapes
    return weights


def weight_shapes(sizes: ArrayLike) -> Array:
    """Return the shapes of the Gamma distributions of the weights of G clusters of these sizes, (G,).

    Of clusters of one size each is (G − 2)/G: shares of the total are then Dirichlet, of a sum G − 2, so that a mean
    over clusters has the variance S²/G, as in samples of clusters. Weights Gamma(1), of the Bayesian bootstrap of
    examples (Rubin 1981, The Bayesian bootstrap, Annals of Statistics 9, 130–134), fall short of it by
    (G − 1)/(G + 1).

    Of unequal sizes that is too little, for two reasons. A cluster with the share h of all examples draws the mean
    towards itself, so that the square of what it deviates is too small by 1 − h (Bell & McCaffrey 2002, Bias reduction
    in standard errors for linear regression with multi-stage samples, Survey Methodology 28, 169–181): its shape is so
    much smaller. And how much clusters vary is known as of fewer: 1/Σh² (Kish 1965, Survey sampling) stands for G.
    """
    sizes = np.asarray(sizes)
    shares = sizes / sizes.sum()
    effective = max(1 / (shares**2).sum(), LEAST)
    return np.asarray((effective - 2) / effective * (1 - shares) / (1 - 1 / len(shares)))


def mean_weight(clusters: int) -> float:
    """Return the mean of the weights of so many clusters."""
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
        raise InputError("cluster", f"{clusters}{where} say little of others.", f"Give {LEAST} or more.")
