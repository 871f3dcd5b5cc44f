"""ROC curves of several systems by one set of weights, smoothed for scores that separate the classes, or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.weights import weight_blocks
from bayesperf.curves.roc.called_positive import PositiveRates, Steps, steps_at_scores, steps_between_scores
from bayesperf.data.classifier_scores import Scores


def separated(positive: Array, negative: Array) -> list[bool]:
    """Return whether each system's scores, (S, n) and (S, m), separate the classes."""
    pairs = zip(positive, negative, strict=True)
    return [Scores(np.sort(own), np.sort(other)).separated for own, other in pairs]


def smoothed_area_draws(
    positive: Array, negative: Array, draws: int, rng: np.random.Generator, progressbar: bool = False
) -> Array:
    """Return draws of the area under the ROC curve of systems, (S, draws); parameters as of `smoothed_rates`."""
    rates = smoothed_rates(positive, negative, None, draws, rng, progressbar)
    return np.concatenate([areas_of(of_systems) for of_systems in rates], 1)


def areas_of(of_systems: Sequence[tuple[PositiveRates, PositiveRates]]) -> Array:
    """Return the areas under ROC curves, (S, draws), given recall and false positive rate of each."""
    areas = [np.trapezoid(recall.at_every_threshold(), fpr.at_every_threshold(), axis=1) for recall, fpr in of_systems]
    return np.clip(areas, 0, 1)


def smoothed_rates(
    positive: Array,
    negative: Array,
    cluster: Codes | None,
    draws: int,
    rng: np.random.Generator,
    progressbar: bool = False,
) -> Iterator[list[tuple[PositiveRates, PositiveRates]]]:
    """Yield recall and false positive rate of each system, with weights of the gaps, some draws at a time.

    Parameters
    ----------
    positive, negative : ndarray (S, n), (S, m)
        Scores that each system gives to the examples of either class.
    cluster : ndarray (n + m,), optional
        Clusters of the examples, positives first.
    draws, rng, progressbar
        As of `area_draws`.
    """
    gaps = Gaps.of(positive, negative)
    sizes = positive.shape[1], negative.shape[1]
    beyond = gaps.beyond(sizes, cluster if any(separated(positive, negative)) else None)
    means = np.concatenate([np.ones(sum(sizes)), beyond])
    for weights in weight_blocks(rng, means, draws, progressbar, cluster):
        yield gaps.rates(*np.split(weights, [sizes[0], sum(sizes)], axis=1))


def rates_at_scores(
    positive: Array,
    negative: Array,
    cluster: Codes | None,
    draws: int,
    rng: np.random.Generator,
    progressbar: bool = False,
) -> Iterator[list[tuple[PositiveRates, PositiveRates]]]:
    """Yield recall and false positive rate of each system, with Dirichlet(1) weights of the examples, that they share.

    Parameters as of `smoothed_rates`.
    """
    sizes = positive.shape[1], negative.shape[1]
    of_systems = [Falling.of(*system, steps_at_scores) for system in zip(positive, negative, strict=True)]
    for weights in weight_blocks(rng, np.ones(sum(sizes)), draws, progressbar, cluster):
        of_classes = np.split(weights, [sizes[0]], axis=1)
        yield [
            falling.rates(*(w[:, order] for w, order in zip(of_classes, falling.orders, strict=True)))
            for falling in of_systems
        ]


@dataclass(frozen=True)
class Gaps:
    """The gaps between and beyond the scores of either class, n + 1 and m + 1, of systems that share weights.

    The weight of a positive is that of the gap just above its score, the weight of a negative that of the gap just
    below. The gap that is left, below all positives or above all negatives, is where a class overlaps the other unseen:
    each system has its own there, unless it orders the examples as another does.

    Attributes
    ----------
    of_systems : list of Falling
        The examples of each system.
    order : ndarray (S,)
        Which order of the examples is the system's.
    orders : int
        How many there are.
    """

    of_systems: list[Falling]
    order: Codes
    orders: int

    @classmethod
    def of(cls, positive: Array, negative: Array) -> Self:
        """Return the gaps of scores (S, n) and (S, m)."""
        scores = np.concatenate([positive, negative], 1)
        ranks = np.stack([np.unique(of_system, return_inverse=True)[1] for of_system in scores])
        orders, order_of_system = np.unique(ranks, axis=0, return_inverse=True)
        of_systems = [Falling.of(*system, steps_between_scores) for system in zip(positive, negative, strict=True)]
        return cls(of_systems, order_of_system.ravel(), len(orders))

    def beyond(self, sizes: tuple[int, int], cluster: Codes | None) -> Array:
        """Return the mean weight of each gap that is left, (2 · orders,), where examples have a mean weight of 1.

        It is that of one example more, or of one cluster more, of the mean size of those that have the class: where the
        classes do not overlap in any cluster, it is of clusters that one knows how rarely they do.
        """
        if cluster is None:
            return np.ones(2 * self.orders)
        of_classes = np.split(cluster, [sizes[0]])
        return np.repeat([len(codes) / len(np.unique(codes)) for codes in of_classes], self.orders)

    def rates(self, positive: Array, negative: Array, beyond: Array) -> list[tuple[PositiveRates, PositiveRates]]:
        """Return recall and false positive rate of each system by weights (draws, …)."""
        below, above = np.split(beyond, 2, axis=1)
        return [
            falling.rates(
                np.c_[positive[:, falling.orders[0]], below[:, [own]]],
                np.c_[above[:, [own]], negative[:, falling.orders[1]]],
            )
            for falling, own in zip(self.of_systems, self.order, strict=True)
        ]


class Falling(NamedTuple):
    """The examples of a system from the greatest score down.

    Attributes
    ----------
    orders : tuple of two ndarrays
        The order of the positives, and of the negatives.
    steps : tuple of two Steps
        The steps of both classes.
    """

    orders: tuple[Codes, Codes]
    steps: tuple[Steps, Steps]

    @classmethod
    def of(cls, positive: Array, negative: Array, steps: Callable[[Counts], Steps]) -> Self:
        """Return the order of scores (n,) and (m,), and the steps that a function makes of the numbers called."""
        system = Scores(np.sort(positive), np.sort(negative))
        called = system.called(np.r_[np.inf, system.thresholds])
        orders = np.argsort(-positive, kind="stable"), np.argsort(-negative, kind="stable")
        return cls(orders, (steps(called[0]), steps(called[1])))

    def rates(self, positive: Array, negative: Array) -> tuple[PositiveRates, PositiveRates]:
        """Return recall and false positive rate by weights (draws, …) from the top down, which are summed over ties."""
        rates = []
        for steps, weights in zip(self.steps, (positive, negative), strict=True):
            first = np.cumsum(steps.sizes) - steps.sizes
            rates.append(PositiveRates.of(steps, np.add.reduceat(weights, first, axis=1)))
        return rates[0], rates[1]
