"""Draws for many classes with nearly all cells 0: the sums of each class, and cells from the same draws.

Given the popularity g of the classes among errors and the weight η, the error proportions of class i are q_i ~
Dirichlet(ηg without i, rescaled to sum to η, plus the counts). They split by origin into a Gamma mass for each cell
with examples, and a mass for the prior, of shape η, that a Dirichlet process spreads over atoms from g without i
(Sethuraman 1994, A constructive definition of Dirichlet priors).

The prior's mass is the sum of two processes, of weight 1 and η − 1. Only a few atoms of the first process are drawn: a
unit stick is broken at uniform places, and the remainder after the first pieces, which has the distribution of the
whole, stands on two atoms in halves. The squares of the pieces of such a stick sum to 1/2 on average, and so do the
squares of the halves: the means, variances and covariances of all proportions are exactly those of the Dirichlet
distribution. The third moments are off by a relative 4^−s/4 with s pieces, 2e-5 with `STICKS`. If η < 1, one atom has
all of it with probability (1 − η)/(1 + η), and the squares sum to 1/(1 + η), as they should.

The second process has many atoms in each row, and all rows share one draw of it, Dirichlet(cg). Its sums over rows have
about the same distribution as with a separate draw for each row: the same means, and the same variances for 1 + c = ηN,
where N is the effective number of rows, (Σm)²/Σm² of masses m. If η is large in all draws, this process has all of the
mass.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bayesperf.core.arrays import Array, Codes, blocks, sums_of_others
from bayesperf.core.weights import indicators
from bayesperf.distributions.drawing import LEAST_MASS, gamma_masses, gamma_of_counts
from bayesperf.metrics.arguments import ClassSums
from bayesperf.posteriors.shared_class_errors import SharedErrors

# Pieces broken from a stick before what is left falls on two atoms.
STICKS = 7
ATOMS = STICKS + 2
# The weight beyond which no atoms are drawn.
_LARGE = 100.0


class SparseRows(ClassSums):
    """n draws of matrices of K classes, given their diagonals and the number of errors in each row.

    Parameters
    ----------
    counts : array (K, K)
        Examples by actual and predicted class.
    tp, fn : array (n, K)
        Draws of the cells on the diagonal and of the sums of the others in each row.
    shared : SharedErrors
        n draws of the popularity of each class among errors, and of η.
    rng : numpy.random.Generator
        Source of random numbers for these draws alone: errors are drawn when they are needed.
    """

    def __init__(self, counts: Array, tp: Array, fn: Array, shared: SharedErrors, rng: np.random.Generator):
        self.counts, self.tp, self.fn, self.shared, self.rng = counts, tp, fn, shared, rng

    @cached_property
    def errors(self) -> SparseErrors:
        """The drawn cells off the diagonal."""
        n, classes = self.tp.shape
        actual, predicted = np.nonzero(self.counts * ~np.eye(classes, dtype=bool))
        ascending = np.argsort(self.counts[actual, predicted], kind="stable")
        actual, predicted = actual[ascending], predicted[ascending]
        seen = gamma_of_counts(self.rng, self.counts[actual, predicted], n)
        weight, popularity = np.exp(self.shared.log_weight)[:, None], self.shared.popularity
        on_stick = np.minimum(weight, 0.0 if weight.min() > _LARGE else 1.0)
        prior = gamma_masses(self.rng, on_stick, (n, classes))
        spread = gamma_masses(self.rng, weight - on_stick, (n, classes))
        scale = self.fn / (prior + spread + seen @ indicators(actual, classes))
        seen *= scale[:, actual]
        prior *= scale
        spread *= scale
        if on_stick.any():
            pieces, atoms = _pieces(prior, self.rng), _atoms(popularity, self.rng)
        else:
            pieces, atoms = np.zeros((n, 0, classes)), np.zeros((n, 0, classes), dtype=int)
        if (weight < 1).any():
            whole = self.rng.random((n, classes)) < (1 - weight) / (1 + weight)
            pieces[:, 0] = np.where(whole, prior, pieces[:, 0])
            pieces[:, 1:] *= ~whole[:, None]
        base = _of_all_rows(popularity, weight - on_stick, spread, self.rng)
        return SparseErrors(actual, predicted, seen, atoms, pieces, spread / sums_of_others(base), base)

    @cached_property
    def fp(self) -> Array:
        """Cells of other actual classes in each predicted class's column."""
        n, classes = self.tp.shape
        errors = self.errors
        cell = errors.atoms.reshape(n, -1) + classes * np.arange(n)[:, None]
        of_prior = np.bincount(cell.ravel(), errors.prior.ravel(), n * classes).reshape(n, classes)
        # A class that no atom fell on is not predicted by mistake at all.
        of_seen = errors.seen @ indicators(errors.predicted, classes)
        of_spread = errors.base * sums_of_others(errors.spread)
        return np.asarray(np.maximum(of_prior + of_seen + of_spread, LEAST_MASS))

    def cells(self) -> Iterator[Array]:
        """Yield the matrices in blocks (…, K, K)."""
        n, classes = self.tp.shape
        errors = self.errors
        for block in blocks(n, classes**2):
            hits = self.tp[block]
            row = classes * np.arange(hits.size).reshape(-1, 1, classes)
            place, mass = (row + errors.atoms[block]).ravel(), errors.prior[block].ravel()
            matrices = np.bincount(place, mass, hits.size * classes).reshape(*hits.shape, classes)
            matrices[:, errors.actual, errors.predicted] += errors.seen[block]
            matrices += errors.spread[block][:, :, None] * errors.base[block][:, None, :]
            np.einsum("nii->ni", matrices)[...] = hits
            yield np.maximum(matrices, LEAST_MASS, out=matrices)


class SparseErrors(NamedTuple):
    """Draws of errors of classes."""

    # Places of the errors observed, (cells,).
    actual: Codes
    predicted: Codes
    # Masses of these errors, (n, cells).
    seen: Array
    # Predicted classes of the atoms of each row, and their masses, (n, ATOMS, K).
    atoms: Codes
    prior: Array
    # Mass of each row that is spread over the others in proportion to the base, per unit of the base, (n, K).
    spread: Array
    base: Array


def _of_all_rows(popularity: Array, weight: Array, mass: Array, rng: np.random.Generator) -> Array:
    """Return one draw of the second process for all rows, (n, K), given its weight (n, 1) and masses (n, K)."""
    rows = mass.sum(-1, keepdims=True) ** 2 / np.maximum((mass**2).sum(-1, keepdims=True), LEAST_MASS)
    base = gamma_masses(rng, popularity * np.maximum((1 + weight) * rows - 1, weight), popularity.shape)
    base = np.maximum(base, LEAST_MASS)
    return np.asarray(base / base.sum(-1, keepdims=True))


def _pieces(length: Array, rng: np.random.Generator) -> Array:
    """Return the pieces (n, ATOMS, K) of sticks of lengths (n, K)."""
    n, classes = length.shape
    fraction = rng.random((n, STICKS, classes))
    pieces = np.empty((n, ATOMS, classes))
    left = length.copy()
    for stick in range(STICKS):
        np.multiply(left, fraction[:, stick], out=pieces[:, stick])
        left -= pieces[:, stick]
    pieces[:, STICKS:] = left[:, None] / 2
    return pieces


def _atoms(popularity: Array, rng: np.random.Generator) -> Codes:
    """Return draws of predicted classes, other than the actual one, from the popularity (n, K), (n, ATOMS, K)."""
    n, classes = popularity.shape
    cumulative = popularity.cumsum(-1)
    # Shuffling the classes, each as often as it is drawn, is several times as fast as a search for each draw.
    often = rng.multinomial(classes * ATOMS, popularity / cumulative[:, -1:])
    drawn = np.repeat(np.tile(np.arange(classes), n), often.ravel()).reshape(n, -1)
    atoms = rng.permuted(drawn, axis=1).reshape(n, ATOMS, classes)
    same = np.flatnonzero(atoms == np.arange(classes))
    if len(same):
        draw, actual = same // (ATOMS * classes), same % classes
        # Again, in what is left without the actual class.
        own, before = popularity[draw, actual], cumulative[draw, actual] - popularity[draw, actual]
        place = rng.random(len(draw)) * (cumulative[draw, -1] - own)
        place += np.where(place < before, 0, own)
        # One search serves all draws: the probabilities of the i-th, shifted, lie between i and i + 1.
        edges = (cumulative[:, :-1] / cumulative[:, -1:] + np.arange(n)[:, None]).ravel()
        again = np.searchsorted(edges, place / cumulative[draw, -1] + draw) - draw * (classes - 1)
        np.put(atoms, same, again)
    return atoms
