"""Areas under parts of ROC curves, between two false positive rates or two recalls."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import held
from bayesperf.curves.areas.smoothed_areas import rates_at_scores, separated, smoothed_rates
from bayesperf.curves.roc.called_positive import PositiveRates, area_between
from bayesperf.posteriors.quantity import Quantity

PARTIAL_NAME = "partial_roc_auc"
_RATES = {"fpr": "false positive rates", "recall": "recalls"}


@held
class PartOfCurve(NamedTuple):
    """A part of a ROC curve.

    Attributes
    ----------
    rate : {"fpr", "recall"}
        Along which rate it lies: the area between two false positive rates is that below the curve, between two recalls
        that to the right of it, the integral of specificity over recall.
    low, high : float
        From where to where.
    standardized : bool
        Whether areas are put on a scale on which that by chance is ½ and the greatest possible 1 (McClish 1989).
    """

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
    def whole(self) -> bool:
        """Whether it is all of the curve, whose area is the AUC."""
        return (self.low, self.high) == (0, 1)

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
    """Return the part between two rates, checked, or None where none are given."""
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
    return PartOfCurve(rate, *range_of_rates(rate, ends, rate), standardized)


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


def partial_area_draws(
    positive: Array,
    negative: Array,
    part: PartOfCurve,
    cluster: Codes | None,
    draws: int,
    rng: np.random.Generator,
    progressbar: bool,
) -> Array:
    """Return draws of systems' areas of a part of the curve, (S, draws), of one set of weights for all.

    Of a part they are smoothed, as bands are: by weights of the scores alone parts are too great, and their intervals
    too narrow. Of the whole curve they are if the scores of one system separate the classes, as whole areas are.

    Parameters
    ----------
    positive, negative : ndarray (S, n), (S, m)
        Scores that each system gives to the examples of either class.
    part : PartOfCurve
        The part.
    cluster : ndarray (n + m,), optional
        Clusters of the examples, positives first.
    draws, rng, progressbar
        As of `area_draws`.
    """
    rates = rates_at_scores if part.whole and not any(separated(positive, negative)) else smoothed_rates
    blocks = [
        [part.areas(*of_system) for of_system in of_systems]
        for of_systems in rates(positive, negative, cluster, draws, rng, progressbar)
    ]
    return np.concatenate(blocks, 1)
