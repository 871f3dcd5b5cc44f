"""Gamma draws that remain normal floating-point numbers when they are normalised."""

from __future__ import annotations

import numpy as np

from bayesperf.core.arrays import Array

# Draws with tiny concentrations underflow to 0, and a row of such draws gives 0/0. Ratios of draws of at least this
# size are still normal numbers; arithmetic on subnormal numbers is a hundred times slower.
LEAST_MASS = 1e-280


def gamma_of_counts(rng: np.random.Generator, counts: Array, n: int) -> Array:
    """Return n Gamma draws for each count above 0, (n, len(counts)).

    All of one shape are drawn together, which is several times as fast as drawing each of its own shape.
    """
    masses = np.empty((n, len(counts)))
    distinct, which = np.unique(counts, return_inverse=True)
    for place, count in enumerate(distinct):
        same = np.flatnonzero(which == place)
        masses[:, same] = rng.standard_gamma(count, (n, len(same)))
    return masses


def gamma_masses(rng: np.random.Generator, concentration: Array, shape: tuple[int, ...]) -> Array:
    """Return Gamma draws for Dirichlet draws, at least `LEAST_MASS` where the concentration is above 0."""
    gamma = rng.standard_gamma(concentration, shape)
    small = (concentration > 0) & (concentration < 0.1)
    if small.any():
        np.maximum(gamma, np.where(small, LEAST_MASS, 0), out=gamma)
    return gamma
