"""Areas under ROC curves by the Bayesian bootstrap: for one system, several, classes, or examples in clusters.

The weights belong to units: examples, clusters of them, or, with many examples, random groups within a class. Weights
of the observed units are too sure near an area of 1, and with few clusters: nothing in them allows for an example that
ranks lower than all others did. So each class has half a unit more, with a rank that is uniform between none and all of
the other class: a Dirichlet process (Ferguson 1973, Annals of Statistics 1) with that base and weight instead of none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array, Booleans, Codes, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.weights import (
    UNSEEN,
    at_random,
    blocks_of_draws,
    cluster_weights,
    mean_weight,
    tallied,
    unit_size,
    weight_blocks,
)
from bayesperf.curves.scored_systems import orders_of

# Scores of one system, and of several if there are more examples, are put together in so many bins, next to each other.
# Beyond this number of a class, or of clusters, units with their own weights are merged at random.
_MANY, _BINS, _MOST_OF_CLASS, _MOST_CLUSTERS = 10_000, 1024, 2_000, 5_000
# In single precision, whose rounding is far below the Monte Carlo error.
Weights = NDArray[np.float32]
# From weights of units (units, draws), and a stream, to figures (S, draws).
OfWeights = Callable[[Weights, np.random.Generator], Array]


def bootstrapped(
    positive: Array, negative: Array, cluster: Codes | None, draws: int, rng: np.random.Generator, progressbar: bool
) -> Array:
    """Return draws of the areas (S, draws) of systems with scores (S, n) and (S, m).

    Clusters (n + m,), if there are any, have positives first.
    """
    if cluster is None and len(positive) == 1:
        counts, _ = _counted(np.concatenate([positive[0], negative[0]]), positive.size)
        return area_draws_of_counts(counts, draws, rng, progressbar)[None]
    is_positive = np.arange(positive.shape[1] + negative.shape[1]) < positive.shape[1]
    units = units_of(1 - is_positive, cluster, rng)
    pair = class_pair(np.concatenate([positive, negative], 1), is_positive, ~is_positive, units)
    return drawn_figures([pair], units, draws, rng, progressbar)[0]


def refuse_slow(draws: int, most: int, areas: int, examples: int, instead: str = "") -> None:
    """Refuse more draws of areas than a number of which they would take minutes."""
    if draws > most:
        raise InputError(
            "draws",
            f"{draws:,} draws of {areas:,} areas, of {examples:,} examples, would take minutes.",
            f"Give at most {max(most, 2):,} `draws`{instead}.",
        )


def _counted(scores: Array, positives: int) -> tuple[Counts, Codes]:
    """Return counts of positives and negatives at each distinct score, (2, V), and the place of each example."""
    values, place = np.unique(scores, return_inverse=True)
    of_classes = np.split(place, [positives])
    return np.stack([np.bincount(of_class, minlength=len(values)) for of_class in of_classes]), place


def area_draws_of_counts(counts: Counts, draws: int, rng: np.random.Generator, progressbar: bool) -> Array:
    """Return draws (draws,) of the area of one system, from counts of either class at each score, (2, V)."""
    binned = ScoreBins.of(counts, _BINS)
    beyond, ranks = rng.standard_gamma(UNSEEN, (2, draws)), rng.random((2, 1, draws))
    sizes = binned.sizes[binned.sizes > 0]
    drawn = []
    for weights in weight_blocks(rng, sizes, draws, progressbar):
        of_classes = np.split(weights.T, [binned.with_positives])
        drawn.append([binned.areas(*of_classes), *(of_class.sum(0) for of_class in of_classes)])
    areas, *seen = np.concatenate(drawn, axis=1)
    of_system: Array = areas_with_unseen(areas[None], beyond / (seen + beyond), ranks)[0]
    return of_system


def observed_area(positive: Array, negative: Array) -> float:
    """Return the proportion of pairs of scores in the right order, with ties counted half."""
    return float(twice_below(positive, negative).sum()) / (2 * len(positive) * len(negative))


# ── What is weighted ──


class Units(NamedTuple):
    """Units of examples; each unit has one weight."""

    # The unit of each example (n,); the numbers of examples of units that are weighted together, and whether as
    # clusters (else by standard exponentials); and clusters of the examples, if there are any.
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


def units_of(classes: Codes, cluster: Codes | None, rng: np.random.Generator) -> Units:
    """Return the clusters (n,) of examples or, without, the examples themselves; random groups if they are many.

    Clusters and classes (n,) are numbered from 0.
    """
    if cluster is not None:
        group = at_random(1 + int(cluster.max()), _MOST_CLUSTERS, rng)
        return Units(group[cluster], ((np.bincount(group[cluster]), True),), cluster)
    if len(classes) <= _MANY:
        return Units(np.arange(len(classes)), ((np.ones(len(classes), np.int64), False),))
    unit = np.empty_like(classes)
    sizes: list[tuple[Counts, bool]] = []
    for members in (np.flatnonzero(classes == label) for label in range(1 + int(classes.max()))):
        group = at_random(len(members), _MOST_OF_CLASS, rng)
        unit[members] = sum(len(of_class) for of_class, _ in sizes) + group
        sizes.append((np.bincount(group), len(members) > _MOST_OF_CLASS))
    return Units(unit, tuple(sizes))


# ── Areas under weights ──


def class_pair(scores: Array, positive: Booleans, negative: Booleans, units: Units, averaged: int = 1) -> OfWeights:
    """Return a function from weights of units to the areas of systems with scores (S, n), with what no unit has shown.

    Areas that are averaged share the unseen weight of one area. Otherwise their average would be as low as each of them
    may be.
    """
    members = np.flatnonzero(positive), np.flatnonzero(negative)
    systems = [_in_bins(of_system, members, units) for of_system in scores]
    cluster = units.cluster
    unseen = np.array([unit_size(None if cluster is None else cluster[of_class]) for of_class in members])
    order = orders_of(scores[:, np.concatenate(members)])

    def areas(weights: Weights, rng: np.random.Generator) -> Array:
        drawn = np.empty((len(systems), weights.shape[1]))
        # The weights of one system's bins at a time: those of all would fill the memory.
        for system, (bins, table) in enumerate(systems):
            of_classes = np.split(table @ weights, [bins.with_positives])
            drawn[system] = bins.areas(*of_classes)
            if system == 0:
                seen = np.stack([of_class.sum(0, dtype=float) for of_class in of_classes])
        beyond = unseen[:, None] * rng.standard_gamma(UNSEEN / averaged, seen.shape)
        ranks = rng.random((2, 1 + order.max(), weights.shape[1]))[:, order]
        return areas_with_unseen(drawn, beyond / (seen + beyond), ranks)

    return areas


def areas_with_unseen(areas: Array, unseen: Array, ranks: Array) -> Array:
    """Return areas (S, draws) of populations in which a proportion of each class, (2, draws), was not seen.

    Its ranks (2, S, draws) are the proportions of the other class on the right side of it.
    """
    of_positive, of_negative = unseen
    of_seen = (1 - of_negative) * areas + of_negative * ranks[1]
    return np.asarray((1 - of_positive) * of_seen + of_positive * ((1 - of_negative) * ranks[0] + of_negative / 2))


def drawn_figures(
    figures: Sequence[OfWeights], units: Units, draws: int, rng: np.random.Generator, progressbar: bool
) -> list[Array]:
    """Return draws of several figures, (S, draws) each, by one set of weights."""
    drawn: list[list[Array]] = []
    for block in blocks_of_draws(draws, max(1, units.number // 8), progressbar):
        weights = units.weights(rng, block)
        drawn.append([figure(weights, rng) for figure in figures])
    return [np.concatenate(of_blocks, 1) for of_blocks in zip(*drawn, strict=True)]


def shares(classes: Codes, units: Units) -> OfWeights:
    """Return a function from weights of units to the proportions of classes (n,), numbered from 0."""
    table = tallied(classes, units.of_examples, (1 + int(classes.max()), units.number), np.float32)

    def of_weights(weights: Weights, _: np.random.Generator) -> Array:
        masses = np.asarray(table @ weights, float)
        return np.asarray(masses / masses.sum(0))

    return of_weights


def _in_bins(scores: Array, members: tuple[Codes, Codes], units: Units) -> tuple[ScoreBins, csr_array]:
    """Return the bins of one system, and the matrix from weights of units to those of bins that have examples.

    The bins that have positives come first, then the ones that have negatives.
    """
    both = np.concatenate(members)
    counts, place = _counted(scores[both], len(members[0]))
    if len(both) <= _MANY:
        runs = _runs(counts)
        counts, place = np.stack([np.bincount(runs, of_class).astype(np.int64) for of_class in counts]), runs[place]
    binned = ScoreBins.of(counts, _BINS if len(both) > _MANY else counts.shape[1])
    cell = binned.place[place] + len(binned.in_order) * (np.arange(len(both)) >= len(members[0]))
    occupied, row = np.unique(cell, return_inverse=True)
    return binned, tallied(row, units.of_examples[both], (len(occupied), units.number), np.float32)


def _runs(counts: Counts) -> Codes:
    """Return the run of each score (V,), from counts of either class (2, V): neighbours that only one class has.

    The area asks for no weights within a run, because no example of the other class is there.
    """
    has_positive, has_negative = counts > 0
    is_another = np.diff(has_positive, prepend=True) | np.diff(has_negative, prepend=True)
    return np.cumsum(is_another | (has_positive & has_negative)) - 1


class ScoreBins(NamedTuple):
    """Scores next to each other put together in B bins: the area under weights of the bins.

    Within a bin the proportion of pairs in order is the sample's, so the area has the right mean and omits the variance
    within bins, with 1,024 bins less than a thousandth of it.
    """

    # The bin of each score that occurs (V,), the numbers of positives and of negatives in each bin (2, B), and the
    # share of the pairs within a bin in which the positive has the greater score (B,), ties counted half.
    place: Codes
    sizes: Counts
    in_order: Array

    @classmethod
    def of(cls, counts: Counts, most: int) -> Self:
        """Return bins of scores, up to a number, from counts of either class at each ascending score, (2, V)."""
        lower = np.cumsum(counts.sum(0)) - counts.sum(0)
        bins = lower * most // counts.sum() if counts.shape[1] > most else np.arange(counts.shape[1])
        sizes = np.stack([np.bincount(bins, of_class) for of_class in counts]).astype(np.int64)
        in_lower_bins = np.cumsum(sizes[1]) - sizes[1]
        twice_in_order = twice_below_each(counts[1]) - 2 * in_lower_bins[bins]
        # In floating point: numbers of pairs are soon too great for integers.
        in_order = np.bincount(bins, counts[0] * (twice_in_order / 2)) / np.maximum(sizes[0] * (1.0 * sizes[1]), 1)
        return cls(bins, sizes, in_order)

    @property
    def with_positives(self) -> int:
        """The number of bins that have positives."""
        return int((self.sizes[0] > 0).sum())

    def areas(self, of_positive: NDArray[Any], of_negative: NDArray[Any]) -> Array:
        """Return the areas (draws,) under weights of the bins that have positives, and negatives, (bins, draws)."""
        has_positive, has_negative = self.sizes > 0
        lower = (np.cumsum(has_negative) - has_negative)[has_positive]
        cumulative = np.concatenate([np.zeros((1, of_negative.shape[1])), of_negative])
        # Row by row: NumPy's own sum goes through memory draw by draw, and takes ten times as long.
        for before, here in pairwise(cumulative):
            here += before
        total, below = cumulative[-1], cumulative[lower]
        tied = has_negative[has_positive]
        if tied.any():
            below[tied] += self.in_order[has_positive & has_negative, None] * of_negative[lower[tied]]
        areas = np.einsum("bd,bd->d", of_positive, below) / (of_positive.sum(0, dtype=float) * total)
        # Sums in two orders may differ in the last digit.
        return np.asarray(np.clip(areas, 0, 1))


def twice_below_each(others: Counts) -> Counts:
    """Return twice the number of others below each score, ties counted half, given how many others have each (V,)."""
    return 2 * np.cumsum(others) - others


def twice_below(scores: Array, others: Array) -> Counts:
    """Return twice the number of others below each score, ties counted half."""
    ordered = np.sort(others)
    return np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")
