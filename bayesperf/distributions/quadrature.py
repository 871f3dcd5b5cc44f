"""Quadrature rules: nodes and weights."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array


@cache
def tanh_sinh(nodes: int = 129, reach: float = 3.5) -> tuple[Array, Array, Array]:
    """Return nodes in (0, 1), their distances from 1, and weights (Takahasi & Mori 1974).

    Converges for integrands with algebraic singularities at the ends, which occur if panels are split at a kink.
    """
    t = np.linspace(-reach, reach, nodes)
    stretched = np.pi * np.sinh(t)
    weights = np.cosh(t) * special.expit(stretched) * special.expit(-stretched)
    return special.expit(stretched), special.expit(-stretched), weights / weights.sum()


def beta_nodes(a: Array, b: Array, nodes: int = 129) -> tuple[Array, Array, Array]:
    """Return nodes x, 1 − x and weights (m, nodes) with E[f(X)] ≈ Σ weights·f(x), for X ~ Beta(a, b) and smooth f.

    This is the trapezoidal rule for the density of logit X, which decays exponentially, after a sinh substitution about
    its mode. The nodes extend to where the density is below 1e-17 of its value at the mode.
    """
    mode = np.log(a) - np.log(b)
    scale = np.minimum(np.sqrt(1 / a + 1 / b), 1)
    lowest, highest = -np.arcsinh(42 / (a * scale) + 9), np.arcsinh(42 / (b * scale) + 9)
    v = lowest + (highest - lowest) * np.linspace(0, 1, nodes)
    y = mode + scale * np.sinh(v)
    log_x, log_rest = -np.logaddexp(0, -y), -np.logaddexp(0, y)
    log_weight = a * log_x + b * log_rest + np.logaddexp(v, -v)
    weights = np.exp(log_weight - log_weight.max(-1, keepdims=True))
    return np.exp(log_x), np.exp(log_rest), weights / weights.sum(-1, keepdims=True)


@cache
def gauss_legendre(nodes: int) -> tuple[Array, Array, Array]:
    """Return nodes in (0, 1), their distances from 1, and weights, for integrands that are smooth up to both ends."""
    x, weights = np.polynomial.legendre.leggauss(nodes)
    return (1 + x) / 2, (1 - x) / 2, weights / 2


def gauss_jacobi(a: Array, b: Array, nodes: int) -> tuple[Array, Array, Array]:
    """Return nodes x, 1 − x and weights (m, nodes) with E[f(X)] = Σ weights·f(x) for X ~ Beta(a, b) and polynomials f.

    Exact up to degree 2·nodes − 1. The nodes are the eigenvalues of the recurrence matrix of Jacobi polynomials (Golub
    & Welsch 1969), here minus the mean, so that the nodes are accurate relative to their distances.
    """
    k, total = np.arange(1, nodes), a + b
    mean = a / total
    centre = (2 * k * (k + total - 1) + a * (total - 2)) / ((2 * k + total - 2) * (2 * k + total))
    # The factor k + a + b − 2 cancels for k = 1, where it may be 0.
    factor = np.where(k == 1, 1, (k + total - 2) / np.where(k == 1, 1, 2 * k + total - 3))
    square = k * (k + a - 1) * (k + b - 1) * factor / ((2 * k + total - 2) ** 2 * (2 * k + total - 1))
    matrix = np.zeros((len(a), nodes, nodes))
    at = np.arange(nodes)
    matrix[:, at[1:], at[1:]] = centre - mean
    matrix[:, at[1:], at[:-1]] = np.sqrt(square)
    distance, vectors = np.linalg.eigh(matrix)
    return np.clip(mean + distance, 0, 1), np.clip(b / total - distance, 0, 1), vectors[:, 0] ** 2
