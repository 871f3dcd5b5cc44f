"""Examples by the thresholds between which systems place them, as units that are weighted together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array, Booleans, Codes, Counts, Numbers
from bayesperf.core.fields import Held, held_as
from bayesperf.core.weights import alike, at_random, mean_weight, weight_shapes

# The most units that have weights of their own. More are put together at random.
MOST_UNITS = 2_000


def _fields_of_csr(table: csr_array) -> dict[str, Any]:
    return {name: getattr(table, name) for name in ("data", "indices", "indptr", "shape")}


def _csr(data: Array, indices: Codes, indptr: Codes, shape: tuple[int, int]) -> csr_array:
    return csr_array((data, indices, indptr), shape)


held_as(csr_array, _fields_of_csr, _csr)


@dataclass(frozen=True, eq=False)
class PlacedExamples(Held):
    """Units of examples, each of which has one weight: examples that no system tells apart, or clusters.

    A place is the number of thresholds that a probability reaches, from 0 to T.

    Attributes
    ----------
    shapes : ndarray (U,)
        Shape of the Gamma distribution of each unit's weight.
    table : scipy.sparse.csr_array (U, S · 2 · (T + 1))
        By how much a unit's weight counts in each place of each system, negatives before positives.
    counts : ndarray (S, 2, T + 1)
        How many negatives, and how many positives, each system puts in each place.
    """

    shapes: Array
    table: csr_array
    counts: Counts

    @property
    def called(self) -> Counts:
        """How many negatives, and how many positives, are called positive at each threshold, (S, 2, T)."""
        return called_at(self.counts)


def called_at(by_place: Numbers) -> Numbers:
    """Return the sums (…, T) over all places above each threshold, given those of each place (…, T + 1)."""
    return by_place[..., ::-1].cumsum(-1)[..., -2::-1]


def of_counts(counts: Counts) -> PlacedExamples:
    """Return the examples of one system, given how many of either class are in each place, (2, T + 1)."""
    seen = np.flatnonzero(counts)
    table = csr_array((np.ones(len(seen)), (np.arange(len(seen)), seen)), shape=(len(seen), counts.size))
    return PlacedExamples(counts.ravel()[seen].astype(float), table, counts[None])


def of_examples(
    places: Codes, is_positive: Booleans, thresholds: int, cluster: Codes | None, rng: np.random.Generator
) -> PlacedExamples:
    """Return examples as units.

    Parameters
    ----------
    places : ndarray (S, n)
        Place of each example by each system.
    is_positive : ndarray (n,)
        Whether it is positive.
    thresholds : int
        How many there are.
    cluster : ndarray (n,), optional
        Cluster of each example; examples of a cluster have one weight.
    rng : numpy.random.Generator
        What puts units together at random, if there are too many.

    Notes
    -----
    Weights of examples are standard exponentials (the Bayesian bootstrap), so that those of a number of alike examples
    sum to a Gamma of that shape. Those of clusters are as in `weight_shapes`.
    """
    systems, examples = places.shape
    cells = (2 * np.arange(systems)[:, None] + is_positive) * (thresholds + 1) + places
    size = systems * 2 * (thresholds + 1)
    counts = np.bincount(cells.ravel(), minlength=size).reshape(systems, 2, thresholds + 1)
    if cluster is None:
        example, sizes = alike(cells)
        if len(example) <= MOST_UNITS:
            return PlacedExamples(sizes.astype(float), _table(np.arange(len(example)), cells[:, example], size), counts)
    units = np.arange(examples) if cluster is None else cluster
    group = at_random(1 + int(units.max()), MOST_UNITS, rng)[units]
    shapes = weight_shapes(np.bincount(group))
    # All weights are of one mean, whatever their shape.
    table = _table(group, cells, size) * (mean_weight(len(shapes)) / shapes)[:, None]
    return PlacedExamples(shapes, table.tocsr(), counts)


def _table(unit: Codes, cells: Codes, size: int) -> csr_array:
    """Return how many examples of each unit (n,) are in each cell, given their cells (S, n)."""
    rows = np.tile(unit, len(cells))
    return csr_array((np.ones(cells.size), (rows, cells.ravel())), shape=(1 + int(unit.max()), size))
