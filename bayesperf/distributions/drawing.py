"""Random draws: Gamma masses that remain normal numbers when they are normalised, and importance resampling."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from bayesperf.core.arrays import Array, Codes, Counts

# ── Gamma masses ──

# Draws with tiny concentrations underflow to 0, and a row of such draws gives 0/0. Ratios of draws of at least this
# size are still normal numbers; arithmetic on subnormal numbers is a hundred times slower.
LEAST_MASS = 1e-280
# Draws below 10^−200 have their exponents, down to −10^8, compressed to the range from −200 to −280. They keep their
# order: all but the largest of a row of them are negligible beside it, as they should be.
_COMPRESSED, _LOWEST, _DECADES = 200.0, 1e8, 80.0


def gamma_of_counts(rng: np.random.Generator, counts: Array | Counts, n: int) -> Array:
    """Return n Gamma draws for each of the counts, which are above 0 and ascend, (n, len(counts)).

    All draws of one shape are made together, several times as fast as one shape at a time.
    """
    masses = np.empty((n, len(counts)))
    starts = np.flatnonzero(np.diff(counts, prepend=0))
    for start, end in pairwise([*starts, len(counts)]):
        masses[:, start:end] = rng.standard_gamma(counts[start], (n, end - start))
    return masses


def gamma_masses(rng: np.random.Generator, concentration: Array, shape: tuple[int, ...]) -> Array:
    """Return Gamma draws for Dirichlet draws, at least `LEAST_MASS` where the concentration is above 0."""
    gamma = rng.standard_gamma(concentration, shape)
    if ((concentration > 0) & (concentration < 0.1)).any():
        shapes = np.broadcast_to(concentration, shape)
        small = (gamma < 10**-_COMPRESSED) & (shapes > 0)
        # Below a small x, P(G < x) is in proportion to x^shape: the exponent beyond it is exponential.
        beyond = rng.standard_exponential(int(small.sum())) / (np.log(10) * shapes[small])
        part = np.log1p(beyond / _COMPRESSED) / np.log(_LOWEST / _COMPRESSED)
        gamma[small] = 10 ** -(_COMPRESSED + _DECADES * np.minimum(part, 1))
    return gamma


def dirichlet_shares(
    rng: np.random.Generator, concentration: Array, shape: tuple[int, ...], axis: int | tuple[int, ...] = -1
) -> Array:
    """Return Dirichlet draws along an axis (or two, for cells); components with zero concentration are 0."""
    masses = gamma_masses(rng, concentration, shape)
    masses /= masses.sum(axis, keepdims=True)
    return masses


# ── Strata ──


def stratified(n: int, rng: np.random.Generator) -> Array:
    """Return the middles of n equally probable strata of (0, 1), in random order."""
    return (rng.permutation(n) + 0.5) / n


# ── Importance resampling: a proposal that is tabulated at nodes, and what is drawn again by weight ──

# The smallest density of a proposal, relative to its maximum: weights stay bounded if a rough density is too low.
_LEAST_DENSITY = 1e-4


def stepwise(nodes: Array, log_density: Array, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return n stratified draws from a density that is constant between equidistant nodes, and their log density.

    `log_density` (k,) holds the log density at the nodes (k,), in order, up to a constant.
    """
    density = np.exp(log_density - log_density.max())
    mass = np.maximum((density[1:] + density[:-1]) / 2, _LEAST_DENSITY)
    cumulative = np.concatenate([[0.0], np.cumsum(mass)])
    place = stratified(n, rng) * cumulative[-1]
    cell = np.clip(np.searchsorted(cumulative, place) - 1, 0, len(mass) - 1)
    part = (place - cumulative[cell]) / mass[cell]
    return nodes[cell] + part * (nodes[1] - nodes[0]), np.log(mass[cell])


def interpolated(values: Array, nodes: Array, at: Array) -> Array:
    """Return values (k, …) at equidistant nodes, interpolated linearly, (n, …)."""
    reached = (at - nodes[0]) / (nodes[1] - nodes[0])
    cell = np.clip(reached.astype(int), 0, len(nodes) - 2)
    part = (reached - cell).reshape(-1, *(1,) * (values.ndim - 1))
    return np.asarray(values[cell] * (1 - part) + values[cell + 1] * part)


def with_mass(nodes: Array, log_density: Array, fall: float) -> tuple[float, float]:
    """Return the ends of the range where a log density at equidistant nodes is within `fall` of its maximum."""
    there = np.flatnonzero(log_density > log_density.max() - fall)
    return float(nodes[max(there[0] - 1, 0)]), float(nodes[min(there[-1] + 1, len(nodes) - 1)])


def resampled(log_weight: Array, rng: np.random.Generator) -> Codes:
    """Return positions, one per draw, chosen in proportion to the draws' weights, in random order."""
    n = len(log_weight)
    cumulative = np.cumsum(np.exp(log_weight - log_weight.max()))
    positions = (np.arange(n) + rng.random()) / n * cumulative[-1]
    return rng.permutation(np.minimum(np.searchsorted(cumulative, positions), n - 1))
