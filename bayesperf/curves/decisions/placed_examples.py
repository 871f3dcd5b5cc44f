"""Examples by the thresholds between which systems place them, weighted as units, and draws of the rates they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array, Booleans, Codes, Counts, Numbers, blocks
from bayesperf.core.fields import Held, held_as
from bayesperf.core.weights import alike, at_random, mean_weight, unit_weights, weight_shapes

# The most units that have weights of their own. More are put together at random.
MOST_UNITS = 2_000
# Jeffreys' prior: so much of an example in each cell of the confusion matrix, at whatever threshold.
PSEUDO_EXAMPLES = 0.5


def _fields_of_csr(table: csr_array) -> dict[str, Any]:
    return {name: getattr(table, name) for name in ("data", "indices", "indptr", "shape")}


def _csr(data: Array, indices: Codes, indptr: Codes, shape: tuple[int, int]) -> csr_array:
    return csr_array((data, indices, indptr), shape)


held_as(csr_array, _fields_of_csr, _csr)


@dataclass(frozen=True, eq=False)
class PlacedExamples(Held):
    """Units of examples, each of which has one weight: examples that no system tells apart, or clusters.

    A place is the number of thresholds that a probability reaches, from 0 to T.
    """

    # Shape of the Gamma distribution of each unit's weight, (U,).
    shapes: Array
    # By how much a unit's weight counts in each place of each system, negatives before positives, (U, S · 2 · (T + 1)).
    table: csr_array
    # How many negatives, and how many positives, each system puts in each place, (S, 2, T + 1).
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


# ── Draws ──


class RateDraws(NamedTuple):
    """Draws of the prevalence (n,), and of fpr and recall at thresholds, (S, T, n) each."""

    prevalence: Array
    fpr: Array
    recall: Array


def drawn_rates(placed: PlacedExamples, draws: int, rng: np.random.Generator) -> RateDraws:
    """Return joint draws of the rates of all systems at all thresholds.

    Probabilities and classes are jointly a Dirichlet process: examples have Dirichlet weights, and so have half a
    positive and half a negative example at either end of the scale, above all thresholds and below. At every threshold
    the four cells then are Dirichlet(counts + ½), which is the posterior of that confusion matrix under Jeffreys'
    prior, and along thresholds they change as the weights of the examples between them. All systems have the examples'
    weights; of the whole example that is added to a class, each has a share of its own above the thresholds, Beta(½,
    ½), but systems that place all examples alike have the same.
    """
    systems, _, places = placed.counts.shape
    rates = np.empty((2, systems, places - 1, draws))
    prevalence = np.empty(draws)
    _, alike = np.unique(placed.counts.reshape(systems, -1), axis=0, return_inverse=True)
    for part in blocks(draws, max(len(placed.shapes), placed.counts.size)):
        n = part.stop - part.start
        of_places = (unit_weights(rng, placed.shapes, n) @ placed.table).reshape(n, systems, 2, places)
        added = rng.standard_gamma(2 * PSEUDO_EXAMPLES, (n, 1, 2))
        above = added * rng.beta(PSEUDO_EXAMPLES, PSEUDO_EXAMPLES, (n, 1 + alike.max(), 2))[:, alike.ravel()]
        totals = of_places.sum(-1) + added
        called = called_at(of_places) + above[..., None]
        rates[..., part] = np.moveaxis(called / totals[..., None], (2, 1, 3, 0), (0, 1, 2, 3))
        prevalence[part] = totals[:, 0, 1] / totals[:, 0].sum(-1)
    return RateDraws(prevalence, *rates)
