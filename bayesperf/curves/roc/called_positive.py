"""The rate at which a class is called positive along the thresholds, in draws, and the areas of parts of the curve.

Thresholds are numbered from 0, above every score, down through the distinct scores. Going down, the rate rises from 0
to 1 in steps that have Dirichlet weights; every threshold has its position among the steps, counted from the top.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.posteriors.quantity import Quantity

PARTIAL_NAME = "partial_roc_auc"
_RATES = {"fpr": "false positive rates", "recall": "recalls"}


class Steps(NamedTuple):
    """The steps of one class."""

    # How many examples' weights each step has, (m,).
    sizes: Counts
    # Position of each threshold among the steps, from 0 to m, (T,).
    positions: Array

    @property
    def of_gaps(self) -> Codes:
        """The step of each gap, from the top down."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def steps_at_scores(called: Counts) -> Steps:
    """Return a step at each distinct score, from the number of the class that each threshold calls positive, (T,)."""
    passed, positions = np.unique(called, return_inverse=True)
    return Steps(np.diff(passed), positions.astype(float))


def steps_between_scores(called: Counts) -> Steps:
    """Return a step in each of the n + 1 gaps between n scores and beyond both ends: the smoothed Bayesian bootstrap.

    Whatever the distribution of the scores, if continuous, its probabilities of these gaps are Dirichlet(1) from sample
    to sample. The thresholds in a gap, at scores of the other class, divide it evenly; the first one has nothing above
    itself and the last one nothing below, so that curves end in the corners of the unit square.

    If scores tie, the gaps that no threshold is in make one step between thresholds, of the sum of their weights.
    """
    inner = called[1:-1]
    within = places_among_equals(inner)
    gaps = int(called[-1]) + 1
    ends = np.unique(np.concatenate([[0, gaps], inner, inner + 1]))
    # If steps are of few gaps, single weights are drawn faster.
    if 4 * len(ends) > gaps:
        return Steps(np.ones(gaps, np.int64), np.concatenate([[0.0], inner + within, [float(gaps)]]))
    positions = np.concatenate([[0.0], np.searchsorted(ends, inner) + within, [len(ends) - 1.0]])
    return Steps(np.diff(ends), positions)


def places_among_equals(rising: Codes) -> Array:
    """Return where each element of a rising array is among those that equal it, which divide the unit evenly."""
    _, first, which, number = np.unique(rising, return_index=True, return_inverse=True, return_counts=True)
    return np.asarray((np.arange(len(rising)) - first[which] + 0.5) / number[which])


@dataclass(frozen=True)
class PositiveRates:
    """Draws of the rate at which a class is called positive."""

    # Weights of the steps summed from the top, from 0 to 1, (draws, m + 1).
    cumulative: Array
    # Positions of the thresholds among the steps, (T,).
    positions: Array

    @classmethod
    def of(cls, steps: Steps, weights: Array | Counts) -> PositiveRates:
        """Return the rates by weights (draws, m), which need not sum to 1."""
        cumulative = np.zeros((len(weights), len(steps.sizes) + 1))
        np.cumsum(weights, axis=-1, out=cumulative[:, 1:])
        cumulative /= cumulative[:, -1:]
        return cls(cumulative, steps.positions)

    def at(self, thresholds: Codes | None = None) -> Array:
        """Return the rates at thresholds (draws, k), or at all of them, (draws, T)."""
        positions, taken = (
            (self.positions, np.take) if thresholds is None else (self.positions[thresholds], np.take_along_axis)
        )
        step = positions.astype(np.intp)
        after = np.minimum(step + 1, self.cumulative.shape[-1] - 1)
        low, high = taken(self.cumulative, step, -1), taken(self.cumulative, after, -1)
        return np.asarray(low + (positions - step) * (high - low))

    def last_threshold_within(self, rates: Array) -> Codes:
        """Return the last thresholds at which the rate is at most each of those given, (draws, k)."""
        last = self.cumulative.shape[-1] - 2
        step = np.stack([np.searchsorted(row, rates, side="right") - 1 for row in self.cumulative]).clip(0, last)
        low, high = (np.take_along_axis(self.cumulative, s, -1) for s in (step, step + 1))
        part = np.divide(rates - low, high - low, out=np.ones_like(low), where=high > low)
        return np.searchsorted(self.positions, step + part, side="right") - 1

    def negative_rates(self) -> PositiveRates:
        """Return the rates at which the class is called negative, thresholds numbered from the lowest up."""
        last = self.cumulative.shape[-1] - 1
        return PositiveRates(1 - self.cumulative[:, ::-1], last - self.positions[::-1])


def interpolated(x: PositiveRates, y: PositiveRates, grid: Array) -> Array:
    """Return y where x takes the values of a grid, (draws, k): the largest such y, straight between thresholds.

    So ties count half: a score that both classes have is one threshold.
    """
    start = np.minimum(x.last_threshold_within(grid), len(x.positions) - 2)
    (x0, x1), (y0, y1) = ((rates.at(start), rates.at(start + 1)) for rates in (x, y))
    part = np.divide(grid - x0, x1 - x0, out=np.ones_like(x0), where=x1 > x0)
    return np.asarray(y0 + part.clip(0, 1) * (y1 - y0))


def area_between(positive: PositiveRates, negative: PositiveRates, low: float, high: float) -> Array:
    """Return the areas under ROC curves between two false positive rates, (draws,)."""
    # A curve that rises is cut at both ends by clipping both its rates.
    bottom, top = np.split(interpolated(negative, positive, np.array([low, high])), 2, axis=1)
    recall, fpr = positive.at(), negative.at()
    return np.asarray(np.trapezoid(recall.clip(bottom, top), fpr.clip(low, high)))


# ── Parts of a curve ──


class PartOfCurve(NamedTuple):
    """A part of a ROC curve, as in `ThresholdCurve.partial_area`."""

    # "fpr" or "recall".
    rate: str
    low: float
    high: float
    standardized: bool

    @property
    def quantity(self) -> Quantity:
        """What its area is."""
        return Quantity(PARTIAL_NAME, greater_is_better=True, words=self.words, bounds=self.bounds, word=self.words)

    @property
    def words(self) -> str:
        """What its area is, in words."""
        side = "area under the ROC curve" if self.rate == "fpr" else "area beside the ROC curve"
        return f"{'standardised ' * self.standardized}{side} from {self.rate} {self.low:g} to {self.high:g}"

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible area."""
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
    """Return the part between two rates, checked; None if no rates are given, or if the part is the whole curve."""
    given = {name: ends for name, ends in (("fpr", fpr), ("recall", recall)) if ends is not None}
    if len(given) > 1:
        raise InputTypeError(
            "fpr and recall", "a part of the curve lies between two rates of one kind; give one of them."
        )
    if not given:
        if standardized:
            raise InputTypeError(
                "standardized", "applies to a part of the curve.", "Give fpr=(low, high) or recall=(low, high)."
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
