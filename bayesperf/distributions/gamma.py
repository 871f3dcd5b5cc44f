"""Gamma draws whose normalised values stay normal floating-point numbers."""

from __future__ import annotations

import numpy as np

from bayesperf.core.arrays import Array

# Draws of tiny concentration underflow to 0, and a row of them to 0/0. Ratios of draws of at least this size are still
# normal numbers; arithmetic on subnormal ones is a hundred times slower.
LEAST_MASS = 1e-280


def gamma_masses(rng: np.random.Generator, concentration: Array, shape: tuple[int, ...]) -> Array:
    """Return Gamma draws of a shape, at least `LEAST_MASS` where the concentration is above 0: a Dirichlet's masses."""
    gamma = rng.standard_gamma(concentration, shape)
    small = (concentration > 0) & (concentration < 0.1)
    if small.any():
        np.maximum(gamma, np.where(small, LEAST_MASS, 0), out=gamma)
    return gamma
