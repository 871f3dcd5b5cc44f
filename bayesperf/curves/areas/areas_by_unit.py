"""Areas under ROC curves by one set of weights: of systems, of classes, of examples in clusters.

What is weighted are units: examples, clusters of them, or, of many examples, groups of a class put together at random.
Weights of what was seen are too sure near an area of 1, and with few clusters: nothing in them knows of an example that
ranks lower than all others did. So either class has half a unit more, of a rank that is uniform between none and all of
the other class: a Dirichlet process (Ferguson 1973, Annals of Statistics 1) of that base and weight instead of none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array, Booleans, Codes, Counts
from bayesperf.core.weights import at_random, blocks_of_draws, cluster_weights, mean_weight
from bayesperf.curves.areas.weighted_areas import ScoreBins

# Of more examples scores are put together in bins next to each other, as in `area_draws`; of more of a class, or more
# clusters, those that have a weight of their own are put together at random.
_MANY, _BINS, _MOST_OF_CLASS, _MOST_CLUSTERS = 10_000, 1024, 2_000, 5_000
# In single precision, whose rounding is far below the Monte Carlo error.
Weights = NDArray[np.float32]
# From weights of units (units, draws), and a stream, to figures (S, draws).
OfWeights = Callable[[Weights, np.random.Generator], Array]
# What was not seen of a class weighs half as much as a unit, as in Jeffreys' prior; its rank may be any.
HALF = 0.5


class Units(NamedTuple):
    """Units of examples, each of which has one weight.

    Attributes
    ----------
    of_examples : ndarray (n,)
        The unit of each example.
    sizes : tuple of (ndarray, bool)
        The numbers of examples of units that are weighted together, and whether as clusters; else standard exponential.
    cluster : ndarray (n,), optional
        Clusters of the examples, if there are any.
    """

    of_examples: Codes
    sizes: tuple[tuple[Counts, bool], ...]
    cluster: Codes | None = None

    @property
    def number(self) -> int:
        """How many there are."""
        return sum(len(of_part) for of_part, _ in self.sizes)

    def weights(self, rng: np.random.Generator, draws: int) -> Weights:
        """Return draws of the weights, of a mean of 1, (units, draws)."""
        parts = [
            cluster_weights(rng, of_part, draws).T / np.float32(mean_weight(len(of_part)))
            if as_clusters
            else rng.standard_exponential((len(of_part), draws), dtype=np.float32)
            for of_part, as_clusters in self.sizes
        ]
        return np.ascontiguousarray(np.concatenate(parts))


def units_of_clusters(cluster: Codes, rng: np.random.Generator) -> Units:
    """Return the clusters of examples (n,), numbered from 0."""
    group = at_random(1 + int(cluster.max()), _MOST_CLUSTERS, rng)
    return Units(group[cluster], ((np.bincount(group[cluster]), True),), cluster)


def units_of_examples(classes: Codes, rng: np.random.Generator) -> Units:
    """Return examples, given their classes (n,), or groups of them if they are many."""
    if len(classes) <= _MANY:
        return Units(np.arange(len(classes)), ((np.ones(len(classes), np.int64), False),))
    unit = np.empty_like(classes)
    sizes: list[tuple[Counts, bool]] = []
    for members in (np.flatnonzero(classes == label) for label in range(1 + int(classes.max()))):
        group = at_random(len(members), _MOST_OF_CLASS, rng)
        unit[members] = sum(len(of_class) for of_class, _ in sizes) + group
        sizes.append((np.bincount(group), len(members) > _MOST_OF_CLASS))
    return Units(unit, tuple(sizes))


def class_pair(scores: Array, positive: Booleans, negative: Booleans, units: Units, averaged: int = 1) -> OfWeights:
    """Return a function from weights of units to the areas of systems, with what no unit has shown.

    Parameters
    ----------
    scores : ndarray (S, n)
        Scores that each system gives to the examples.
    positive, negative : ndarray of bool (n,)
        Which are the one and the other.
    units : Units
        What is weighted.
    averaged : int
        How many such areas are averaged; all together they have what is unseen of one. Otherwise their average would be
        as low as each of them may be.
    """
    members = np.flatnonzero(positive), np.flatnonzero(negative)
    systems = [_in_bins(of_system, members, units) for of_system in scores]
    in_units = np.stack([np.bincount(units.of_examples[of_class], minlength=units.number) for of_class in members])
    unseen = np.array([_unit_size(of_class, units) for of_class in members])
    order = _orders(scores[:, np.concatenate(members)])

    def areas(weights: Weights, rng: np.random.Generator) -> Array:
        seen = np.asarray(in_units @ weights, float)
        beyond = unseen[:, None] * rng.standard_gamma(HALF / averaged, seen.shape)
        ranks = rng.random((2, 1 + order.max(), weights.shape[1]))[:, order]
        return with_unseen(np.stack([system(weights) for system in systems]), beyond / (seen + beyond), ranks)

    return areas


def with_unseen(areas: Array, unseen: Array, ranks: Array) -> Array:
    """Return areas (S, draws) of populations in which a part of either class was not seen.

    Parameters
    ----------
    areas : ndarray (S, draws)
        Areas of what was seen.
    unseen : ndarray (2, draws)
        The shares of the positives, and of the negatives, that were not.
    ranks : ndarray (2, S, draws)
        Which part of the other class the unseen positives, and the unseen negatives, are on the right side of.
    """
    of_positive, of_negative = unseen
    of_seen = (1 - of_negative) * areas + of_negative * ranks[1]
    return np.asarray((1 - of_positive) * of_seen + of_positive * ((1 - of_negative) * ranks[0] + of_negative / 2))


def _unit_size(members: Codes, units: Units) -> float:
    """Return how many examples of a class a unit has that has any: 1, or the mean over clusters."""
    return 1.0 if units.cluster is None else len(members) / len(np.unique(units.cluster[members]))


def _orders(scores: Array) -> Codes:
    """Return a number of the order in which each system has the examples (S, n): the same for those that have one."""
    ranks = np.stack([np.unique(of_system, return_inverse=True)[1] for of_system in scores])
    return np.unique(ranks, axis=0, return_inverse=True)[1].ravel()


def drawn_figures(
    figures: Sequence[OfWeights], units: Units, draws: int, rng: np.random.Generator, progressbar: bool
) -> list[Array]:
    """Return draws of several figures, (S, draws) each, by one set of weights."""
    drawn: list[list[Array]] = []
    for block in blocks_of_draws(draws, max(1, units.number // 8), progressbar):
        weights = units.weights(rng, block)
        drawn.append([figure(weights, rng) for figure in figures])
    return [np.concatenate(blocks, 1) for blocks in zip(*drawn, strict=True)]


def shares(classes: Codes, units: Units) -> OfWeights:
    """Return a function from weights of units to the shares of classes (n,), numbered from 0, in place of systems."""
    table = _table(classes, units.of_examples, (1 + int(classes.max()), units.number))

    def of_weights(weights: Weights, _: np.random.Generator) -> Array:
        masses = np.asarray(table @ weights, float)
        return np.asarray(masses / masses.sum(0))

    return of_weights


def _in_bins(scores: Array, members: tuple[Codes, Codes], units: Units) -> Callable[[Weights], Array]:
    """Return a function from weights of units to the areas (draws,) of one system."""
    both = np.concatenate(members)
    values, place = np.unique(scores[both], return_inverse=True)
    of_classes = np.split(place, [len(members[0])])
    counts = np.stack([np.bincount(of_class, minlength=len(values)) for of_class in of_classes])
    binned = ScoreBins.of(counts, _BINS if len(both) > _MANY else len(values))
    bins = len(binned.in_order)
    cell = binned.place[place] + bins * (np.arange(len(both)) >= len(members[0]))
    table = _table(cell, units.of_examples[both], (2 * bins, units.number))

    def areas(weights: Weights) -> Array:
        masses = np.asarray(table @ weights, float).T
        return binned.areas(masses[:, :bins], masses[:, bins:])

    return areas


def _table(rows: Codes, columns: Codes, shape: tuple[int, int]) -> csr_array:
    """Return how many examples are in each row and column."""
    return csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
