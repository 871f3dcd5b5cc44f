"""Draws of the class sums of many classes under Dirichlet priors of little weight, for any number of systems at once.

The row of actual class i is a Dirichlet process on the joint predictions of all systems (one system: on its predicted
classes), with prior weight w = α_i·. Stick-breaking spreads a Gamma mass of shape w over atoms from the base measure,
in which the predictions of the systems are independent (Sethuraman 1994, A constructive definition of Dirichlet
priors). With w of at most 1, a few pieces hold nearly all of it. The remainder has the same distribution as the whole.
It is put on two atoms, in proportions p and 1 − p such that p² + (1 − p)² = 1/(1 + w), the expected sum of the squared
pieces. Means, variances and covariances of all cells, within and between systems, are therefore exactly those of the
process.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy

from bayesperf.core.arrays import Array, Codes, Counts, blocks
from bayesperf.core.weights import indicators
from bayesperf.distributions.drawing import LEAST_MASS, gamma_masses, gamma_of_counts
from bayesperf.metrics.arguments import GivenSums

# The largest number of classes for which every cell is drawn to compute a metric.
FEW_CLASSES = 30
# The largest prior weight of a class whose mass two atoms can represent, and the pieces broken from it before.
MOST_WEIGHT, STICKS = 1.0, 7
# The mass of a class that no piece fell on: far more than the smallest mass, and less than any other.
_NEGLIGIBLE = 1e10 * LEAST_MASS
# Maximum size of temporary arrays: they stay in the processor's cache.
_BLOCK = 2**19


def is_sparse(alpha: Array) -> bool:
    """Whether to draw class sums without the cells, given α (…, K, K)."""
    return alpha.shape[-1] > FEW_CLASSES and bool(alpha.sum(-1).max() <= MOST_WEIGHT * (1 + 1e-9))


def class_sums(
    rng: np.random.Generator, alpha: Array, counts: Counts, actual: Codes, predicted: Codes, n: int
) -> Iterator[GivenSums]:
    """Yield n joint draws of the class sums of all systems, (M, n, K), in blocks.

    `alpha` (M, K, K) holds the pseudo-counts of each system; a class has the same sum, at most `MOST_WEIGHT`, in all
    systems. `counts` (patterns,) says how often each pattern occurred, `actual` and `predicted` (patterns, M) are its
    classes.
    """
    systems, classes, _ = alpha.shape
    weight = alpha[0].sum(-1)
    ascending = np.argsort(counts, kind="stable")
    counts, actual, predicted = counts[ascending], actual[ascending], predicted[ascending]
    # Examples, then hits and false alarms of each system, of all classes: one product copies the masses once.
    hits = [indicators(actual, classes, right) for right in actual == predicted.T]
    false_alarms = [indicators(of_one, classes, of_one != actual) for of_one in predicted.T]
    columns = scipy.sparse.hstack([indicators(actual, classes), *hits, *false_alarms], "csr")
    places = [_Places(of_one) for of_one in alpha]
    for block in blocks(n, max((STICKS + 2) * classes, len(counts)), _BLOCK):
        size = block.stop - block.start
        seen = gamma_of_counts(rng, counts, size)
        prior = _pieces(rng, weight, size)
        of_rows, *of_systems = np.split(seen @ columns, 1 + 2 * systems, axis=1)
        mass = of_rows + prior.sum(1)
        total = mass.sum(-1, keepdims=True)
        sums = np.empty((3, systems, size, classes))
        for system in range(systems):
            right, wrong = _hits_and_false_alarms(prior, places[system].draw(rng, prior.shape))
            tp = of_systems[system] + right
            sums[:, system] = tp, mass - tp, wrong + of_systems[systems + system]
            _fill_columns(rng, sums[:, system], total, places[system].on_diagonal)
        # A class without any piece has the smallest mass whose ratios are still normal numbers.
        yield GivenSums(*np.maximum(sums / total, LEAST_MASS))


def _hits_and_false_alarms(pieces: Array, atoms: Codes) -> tuple[Array, Array]:
    """Return the mass (n, K) of right pieces of each class, and of wrong ones, by the predicted classes (n, s, K)."""
    n, sticks, classes = pieces.shape
    right = np.flatnonzero(atoms == np.arange(classes))
    hits = right // (sticks * classes) * classes + right % classes
    wrong = pieces.flatten()
    wrong[right] = 0
    cells = (atoms + classes * np.arange(n)[:, None, None]).ravel()
    masses = np.bincount(hits, pieces.ravel()[right], n * classes), np.bincount(cells, wrong, n * classes)
    return masses[0].reshape(n, classes), masses[1].reshape(n, classes)


def _fill_columns(rng: np.random.Generator, sums: Array, total: Array, on_diagonal: Array) -> None:
    """Give the classes that no piece fell on, of the predicted, a negligible mass, right or wrong (sums (3, n, K)).

    Of two cells of tiny weight one has nearly all of the mass: the right one with the prior's probability (K,).
    """
    tp, _, fp = sums
    draw, column = np.nonzero(tp + fp < LEAST_MASS * total)
    right = rng.random(len(draw)) < on_diagonal[column]
    mass = _NEGLIGIBLE * total[draw, 0]
    tp[draw, column], fp[draw, column] = np.where(right, mass, 0), np.where(right, 0, mass)


def _pieces(rng: np.random.Generator, weight: Array, n: int) -> Array:
    """Return the pieces of the prior's mass of each class, (n, STICKS + 2, K)."""
    pieces = np.empty((n, STICKS + 2, len(weight)))
    left = gamma_masses(rng, weight, (n, len(weight)))
    slope = -np.maximum(weight, LEAST_MASS)
    for stick in range(STICKS):
        # 1 − Beta(1, w), which is U^(1/w).
        rest = rng.standard_exponential(left.shape)
        rest /= slope
        # Powers that underflow take ten times as long, and e^−700 of a mass is as good as none of it.
        np.maximum(rest, -700, out=rest)
        np.exp(rest, out=rest)
        rest *= left
        np.subtract(left, rest, out=pieces[:, stick])
        left = rest
    share = (1 + np.sqrt(np.maximum(2 / (1 + weight) - 1, 0))) / 2
    pieces[:, STICKS], pieces[:, STICKS + 1] = left * share, left * (1 - share)
    return pieces


class _Places:
    """Predicted classes of the atoms of every row, drawn in proportion to its pseudo-counts (K, K)."""

    def __init__(self, alpha: Array):
        self.classes = len(alpha)
        # The probability that the atom of a predicted class is right.
        self.on_diagonal = np.diag(alpha) / np.maximum(alpha.sum(0), LEAST_MASS)
        self.uniform = np.allclose(alpha, alpha[:, :1], rtol=1e-9, atol=1e-12)
        # One search serves all rows: the probabilities of row i, shifted, lie between i and i + 1.
        cumulative = alpha.cumsum(-1)
        totals = np.maximum(cumulative[:, -1:], LEAST_MASS)
        self.edges = (cumulative[:, :-1] / totals + np.arange(self.classes)[:, None]).ravel()

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Codes:
        """Return draws of predicted classes, (…, K)."""
        if self.uniform:
            return rng.integers(self.classes, size=shape)
        row = np.arange(self.classes)
        return np.asarray(np.searchsorted(self.edges, rng.random(shape) + row) - row * (self.classes - 1))
