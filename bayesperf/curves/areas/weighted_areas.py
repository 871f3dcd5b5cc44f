"""Areas under ROC curves by weights of either class: of examples, or of those with scores next to each other."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.weights import alike, weight_blocks

# Above so many examples of one system the weights are those of bins, of which there are so many.
_MANY, _BINS = 10_000, 1024


def area_draws(
    positive: Array, negative: Array, draws: int, rng: np.random.Generator, progressbar: bool = False
) -> Array:
    """Return draws of the area under the ROC curve of systems, (S, draws), of one set of weights for all.

    Parameters
    ----------
    positive, negative : ndarray (S, n), (S, m)
        Scores that each system gives to the examples of either class.
    draws, rng, progressbar
        How many draws, their stream, and whether to show a bar on a terminal if it takes long.

    Notes
    -----
    Of one system with more than 10,000 examples the weights are of 1,024 bins of scores next to each other, each the
    sum of its examples' weights. Within a bin the share of the pairs that are in order is that of the sample, so the
    area has the right mean and leaves out the variance within bins, less than a thousandth of it.
    """
    if len(positive) == 1 and positive.size + negative.size > _MANY:
        values, place = np.unique(np.concatenate([positive[0], negative[0]]), return_inverse=True)
        of_classes = np.split(place, [positive.size])
        counts = np.stack([np.bincount(of_class, minlength=len(values)) for of_class in of_classes])
        return area_draws_of_counts(counts, draws, rng, progressbar)[None]
    (rows, row_sizes), (columns, column_sizes) = _groups(positive, negative), _groups(negative, positive)
    systems = [_places(own[rows], others[columns]) for own, others in zip(positive, negative, strict=True)]
    blocks = []
    for weights in weight_blocks(rng, np.concatenate([row_sizes, column_sizes]), draws, progressbar):
        of_rows, of_columns = np.split(weights, [len(rows)], 1)
        below = np.zeros((len(weights), len(columns) + 1))
        area = np.empty((len(systems), len(weights)))
        for i, (order, low, high) in enumerate(systems):
            np.cumsum(of_columns[:, order], 1, out=below[:, 1:])
            placement = (np.take(below, low, 1) + np.take(below, high, 1)) / (2 * below[:, -1:])
            area[i] = np.einsum("ij,ij->i", of_rows, placement) / of_rows.sum(1)
        blocks.append(area)
    # Sums in two orders may differ in the last digit.
    return np.clip(np.concatenate(blocks, 1), 0, 1)


def area_draws_of_counts(counts: Counts, draws: int, rng: np.random.Generator, progressbar: bool) -> Array:
    """Return draws of the area under the ROC curve of one system, (draws,).

    Parameters
    ----------
    counts : ndarray (2, V)
        How many positives and negatives have each score that occurs, ascending. Of more than 1,024 scores, those next
        to each other are weighted together, as in `area_draws`.
    draws, rng, progressbar
        As of `area_draws`.
    """
    binned = ScoreBins.of(counts, _BINS)
    weights = weight_blocks(rng, binned.sizes.ravel(), draws, progressbar)
    return np.concatenate([binned.areas(*np.split(block, 2, 1)) for block in weights])


class ScoreBins(NamedTuple):
    """Scores next to each other put together: the area under weights of the bins.

    Attributes
    ----------
    place : ndarray (V,)
        Bin of each score that occurs.
    sizes : ndarray (2, B)
        How many positives and negatives are in each.
    in_order : ndarray (B,)
        Share of the pairs within a bin in which the positive has the greater score, ties counted half.
    """

    place: Codes
    sizes: Counts
    in_order: Array

    @classmethod
    def of(cls, counts: Counts, most: int) -> Self:
        """Return bins of scores, at most so many, given how many of either class have each, ascending, (2, V)."""
        lower = np.cumsum(counts.sum(0)) - counts.sum(0)
        bins = lower * most // counts.sum() if counts.shape[1] > most else np.arange(counts.shape[1])
        sizes = np.stack([np.bincount(bins, of_class) for of_class in counts]).astype(np.int64)
        in_lower_bins = np.cumsum(sizes[1]) - sizes[1]
        twice_in_order = twice_below_each(counts[1]) - 2 * in_lower_bins[bins]
        # In floating point: numbers of pairs are soon too great for integers.
        in_order = np.bincount(bins, counts[0] * (twice_in_order / 2)) / np.maximum(sizes[0] * (1.0 * sizes[1]), 1)
        return cls(bins, sizes, in_order)

    def areas(self, of_positive: Array, of_negative: Array) -> Array:
        """Return the areas (draws,) under weights of the positives and negatives of each bin, (draws, B)."""
        below = np.cumsum(of_negative, 1) - of_negative * (1 - self.in_order)
        areas = (of_positive * below).sum(1) / (of_positive.sum(1) * of_negative.sum(1))
        # Sums in two orders may differ in the last digit.
        return np.asarray(np.clip(areas, 0, 1))


def twice_below_each(others: Counts) -> Counts:
    """Return twice the number of others below each score, ties counted half, given how many others have each (V,)."""
    return 2 * np.cumsum(others) - others


def twice_below(scores: Array, others: Array) -> Counts:
    """Return twice the number of others below each score, ties counted half."""
    ordered = np.sort(others)
    return np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")


def _places(scores: Array, others: Array) -> tuple[Counts, Counts, Counts]:
    """Return the sorting order of the others, and the first and the last place of each score among them."""
    order = np.argsort(others)
    ordered = others[order]
    return order, np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")


def _groups(scores: Array, others: Array) -> tuple[Codes, Counts]:
    """Return an example of each group, and how many examples it has.

    Examples that have the same others below, by every system's scores, make a group: their weights can be drawn as a
    sum. If groups are small, single weights are drawn faster.
    """
    first, sizes = alike(np.stack([twice_below(own, other) for own, other in zip(scores, others, strict=True)]))
    examples = scores.shape[1]
    return (first, sizes) if 4 * len(first) <= examples else (np.arange(examples), np.ones(examples, np.int64))
