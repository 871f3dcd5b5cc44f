"""Areas under parts of ROC curves, between two false positive rates or two recalls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import held
from bayesperf.core.weights import weight_blocks
from bayesperf.curves.roc.called_positive import PositiveRates, Steps, area_between, steps_between_scores
from bayesperf.data.classifier_scores import Scores
from bayesperf.posteriors.quantity import Quantity

PARTIAL_NAME = "partial_roc_auc"
_RATES = {"fpr": "false positive rates", "recall": "recalls"}


@held
class PartOfCurve(NamedTuple):
    """A part of a ROC curve.

    The area between two false positive rates is that below the curve, between two recalls that to the right of it, the
    integral of specificity over recall. A standardised one is on a scale on which that by chance is ½ and the greatest
    possible 1 (McClish 1989).
    """

    # "fpr" or "recall".
    rate: str
    low: float
    high: float
    standardized: bool

    @property
    def quantity(self) -> Quantity:
        """What its area is."""
        return Quantity(PARTIAL_NAME, greater_is_better=True, words=self.words, bounds=self.bounds)

    @property
    def words(self) -> str:
        """What its area is, in words."""
        side = "area under the ROC curve" if self.rate == "fpr" else "area beside the ROC curve"
        standardized = ", standardised" if self.standardized else ""
        return f"{side} from {self.rate} {self.low:g} to {self.high:g}{standardized}"

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest possible area."""
        least, greatest = self.scaled(np.array([0, self.high - self.low])).tolist()
        return least, greatest

    def scaled(self, areas: ArrayLike) -> Array:
        """Return areas, standardised if they are to be."""
        areas = np.asarray(areas, float)
        if not self.standardized:
            return areas
        ends = np.array([self.low, self.high]) if self.rate == "fpr" else 1 - np.array([self.high, self.low])
        greatest, by_chance = ends[1] - ends[0], (ends[1] ** 2 - ends[0] ** 2) / 2
        return np.asarray((1 + (areas - by_chance) / (greatest - by_chance)) / 2)

    def areas(self, recall: PositiveRates, fpr: PositiveRates) -> Array:
        """Return the areas (draws,) under curves of given rates."""
        if self.rate == "fpr":
            found = area_between(recall, fpr, self.low, self.high)
        else:
            # Seen from its other end, a curve is specificity over the false negative rate.
            found = area_between(fpr.negative_rates(), recall.negative_rates(), 1 - self.high, 1 - self.low)
        return self.scaled(found.clip(0, self.high - self.low))


def part_of_curve(fpr: Any, recall: Any, standardized: bool) -> PartOfCurve | None:
    """Return the part between two rates, checked; None where none are given, or it is all of the curve."""
    given = {name: ends for name, ends in (("fpr", fpr), ("recall", recall)) if ends is not None}
    if len(given) > 1:
        raise InputTypeError(
            "fpr and recall", "a part of the curve lies between two rates of one kind; give one of them."
        )
    if not given:
        if standardized:
            raise InputTypeError(
                "standardized", "it is of a part of the curve.", "Give fpr=(low, high) or recall=(low, high)."
            )
        return None
    ((rate, ends),) = given.items()
    low, high = range_of_rates(rate, ends, rate)
    # The area of all of the curve is the AUC, and by chance ½, as it is.
    return None if (low, high) == (0, 1) else PartOfCurve(rate, low, high, standardized)


def range_of_rates(name: str, ends: Any, rate: str) -> tuple[float, float]:
    """Return two false positive rates or recalls, checked."""
    try:
        low, high = ends
    except (TypeError, ValueError):
        raise InputTypeError(name, f"must be two {_RATES[rate]}; it is {ends!r}.") from None
    low, high = checks.number(name, low), checks.number(name, high)
    if not 0 <= low < high <= 1:
        raise InputError(name, f"must be {_RATES[rate]}, 0 ≤ low < high ≤ 1; they are {low}, {high}.")
    return low, high


# ── Systems on the same examples ──


def partial_area_draws(
    positive: Array,
    negative: Array,
    part: PartOfCurve,
    cluster: Codes | None,
    draws: int,
    rng: np.random.Generator,
    progressbar: bool,
) -> Array:
    """Return draws of areas of a part of the curves of systems with scores (S, n) and (S, m), (S, draws).

    One set of weights is for all. They are smoothed, as bands are: by weights of the scores alone parts are too great,
    and their intervals too narrow. Clusters (n + m,), if there are any, have positives first.
    """
    blocks = [
        [part.areas(*of_system) for of_system in of_systems]
        for of_systems in _smoothed_rates(positive, negative, cluster, draws, rng, progressbar)
    ]
    return np.concatenate(blocks, 1)


def _smoothed_rates(
    positive: Array,
    negative: Array,
    cluster: Codes | None,
    draws: int,
    rng: np.random.Generator,
    progressbar: bool,
) -> Iterator[list[tuple[PositiveRates, PositiveRates]]]:
    """Yield recall and false positive rate of each system, with weights of the gaps, some draws at a time."""
    gaps = _Gaps.of(positive, negative)
    sizes = positive.shape[1], negative.shape[1]
    separated = any(falling.separated for falling in gaps.of_systems)
    beyond = gaps.beyond(sizes, cluster if separated else None)
    means = np.concatenate([np.ones(sum(sizes)), beyond])
    for weights in weight_blocks(rng, means, draws, progressbar, cluster):
        yield gaps.rates(*np.split(weights, [sizes[0], sum(sizes)], axis=1))


@dataclass(frozen=True)
class _Gaps:
    """The gaps between and beyond the scores of either class, n + 1 and m + 1, of systems that share weights.

    The weight of a positive is that of the gap just above its score, the weight of a negative that of the gap just
    below. The gap that is left, below all positives or above all negatives, is where a class overlaps the other unseen:
    each system has its own there, unless it orders the examples as another does.
    """

    # The examples of each system, its order of the examples (S,), and how many orders there are.

    of_systems: list[_Falling]
    order: Codes
    orders: int

    @classmethod
    def of(cls, positive: Array, negative: Array) -> Self:
        """Return the gaps of scores (S, n) and (S, m)."""
        scores = np.concatenate([positive, negative], 1)
        ranks = np.stack([np.unique(of_system, return_inverse=True)[1] for of_system in scores])
        orders, order_of_system = np.unique(ranks, axis=0, return_inverse=True)
        of_systems = [_Falling.of(*system) for system in zip(positive, negative, strict=True)]
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


class _Falling(NamedTuple):
    """The examples of a system from the greatest score down: the order of either class, and its steps."""

    separated: bool
    orders: tuple[Codes, Codes]
    steps: tuple[Steps, Steps]

    @classmethod
    def of(cls, positive: Array, negative: Array) -> Self:
        """Return the order of scores (n,) and (m,), and the steps between them."""
        system = Scores(np.sort(positive), np.sort(negative))
        called = system.called(np.r_[np.inf, system.thresholds])
        orders = np.argsort(-positive, kind="stable"), np.argsort(-negative, kind="stable")
        return cls(system.separated, orders, (steps_between_scores(called[0]), steps_between_scores(called[1])))

    def rates(self, positive: Array, negative: Array) -> tuple[PositiveRates, PositiveRates]:
        """Return recall and false positive rate by weights (draws, …) from the top down, which are summed over ties."""
        rates = []
        for steps, weights in zip(self.steps, (positive, negative), strict=True):
            first = np.cumsum(steps.sizes) - steps.sizes
            rates.append(PositiveRates.of(steps, np.add.reduceat(weights, first, axis=1)))
        return rates[0], rates[1]
