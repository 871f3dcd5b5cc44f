"""Areas under ROC curves by one set of weights: of systems, of classes, of examples in clusters.

What is weighted are units: examples, clusters of them, or, of many examples, groups of a class put together at random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array, Booleans, Codes, Counts
from bayesperf.curves.areas.bayesian_bootstrap import ScoreBins, blocks_of_draws
from bayesperf.curves.areas.smoothed_areas import Gaps, areas_of, separated
from bayesperf.distributions.cluster_weights import at_random, cluster_weights, mean_weight

# Of more examples scores are put together in bins next to each other, as in `area_draws`; of more of a class, or more
# clusters, those that have a weight of their own are put together at random.
_MANY, _BINS, _MOST_OF_CLASS, _MOST_CLUSTERS = 10_000, 1024, 2_000, 5_000
# In single precision, whose rounding is far below the Monte Carlo error.
Weights = NDArray[np.float32]
# From weights of units (units, draws), and of what is beyond the scores (b, draws), to figures (S, draws).
OfWeights = Callable[[Weights, Array], Array]


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


class ClassPair(NamedTuple):
    """The areas of systems by some examples as positives and others as negatives, under weights.

    Attributes
    ----------
    beyond : ndarray (b,)
        Mean weights that it takes beyond those of units: none but of scores that separate the classes.
    of_weights : callable
        From weights to areas.
    """

    beyond: Array
    of_weights: OfWeights


def class_pair(scores: Array, positive: Booleans, negative: Booleans, units: Units) -> ClassPair:
    """Return the areas of systems, smoothed if the scores of one separate the classes.

    Parameters
    ----------
    scores : ndarray (S, n)
        Scores that each system gives to the examples.
    positive, negative : ndarray of bool (n,)
        Which are the one and the other.
    units : Units
        What is weighted.
    """
    members = np.flatnonzero(positive), np.flatnonzero(negative)
    of_classes = scores[:, members[0]], scores[:, members[1]]
    if any(separated(*of_classes)):
        return _smoothed(of_classes, members, units)
    systems = [_in_bins(of_system, members, units) for of_system in scores]
    return ClassPair(np.empty(0), lambda weights, _: np.stack([system(weights) for system in systems]))


def drawn_figures(
    figures: Sequence[ClassPair],
    units: Units,
    draws: int,
    rng: np.random.Generator,
    progressbar: bool,
    averaged: int = 1,
) -> list[Array]:
    """Return draws of several figures, (S, draws) each, by one set of weights.

    Of areas that are averaged, as many as given, all together overlap unseen by the weight of one example: otherwise
    their average would be as low as each of them may be.
    """
    beyond = np.concatenate([figure.beyond for figure in figures])[:, None]
    ends = np.cumsum([len(figure.beyond) for figure in figures])[:-1]
    drawn: list[list[Array]] = []
    for block in blocks_of_draws(draws, max(1, units.number // 8), progressbar):
        weights = units.weights(rng, block)
        others = np.split(beyond * rng.standard_gamma(1 / averaged, (len(beyond), block)), ends)
        drawn.append([figure.of_weights(weights, own) for figure, own in zip(figures, others, strict=True)])
    return [np.concatenate(blocks, 1) for blocks in zip(*drawn, strict=True)]


def shares(classes: Codes, units: Units) -> ClassPair:
    """Return the shares of classes (n,), numbered from 0, in the place of systems."""
    table = _table(classes, units.of_examples, (1 + int(classes.max()), units.number))

    def of_weights(weights: Weights, _: Array) -> Array:
        masses = np.asarray(table @ weights, float)
        return np.asarray(masses / masses.sum(0))

    return ClassPair(np.empty(0), of_weights)


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


def _smoothed(of_classes: tuple[Array, Array], members: tuple[Codes, Codes], units: Units) -> ClassPair:
    gaps = Gaps.of(*of_classes)
    both = np.concatenate(members)
    cluster = None if units.cluster is None else units.cluster[both]
    own = [units.of_examples[of_class] for of_class in members]

    def of_weights(weights: Weights, beyond: Array) -> Array:
        positive, negative = (weights[of_class].T.astype(float) for of_class in own)
        return areas_of(gaps.rates(positive, negative, beyond.T))

    return ClassPair(gaps.beyond((len(members[0]), len(members[1])), cluster), of_weights)


def _table(rows: Codes, columns: Codes, shape: tuple[int, int]) -> csr_array:
    """Return how many examples are in each row and column."""
    return csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
