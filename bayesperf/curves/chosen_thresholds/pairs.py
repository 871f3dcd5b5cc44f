"""Rules by which two thresholds are chosen, between which people decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.curves.chosen_thresholds.candidates import Cells
from bayesperf.curves.chosen_thresholds.requirements import ThresholdRequirement
from bayesperf.curves.chosen_thresholds.rules import Rule, costs_of

# What may be required: of what is called positive, and of what is called negative.
_SIDES = "one of precision (or fdr), for what is called positive, and one of npv (or its complement), for the rest"


class PairRule(Rule, Protocol):
    """A rule that chooses two thresholds, the strictest first, and may require something of each."""

    @property
    def requirements(self) -> Sequence[ThresholdRequirement]:
        """What is required at the strictest threshold and at the other, if anything."""


@dataclass(frozen=True)
class LeastCost:
    """The thresholds of least mean cost of errors and of abstentions."""

    cost_fp: float
    cost_fn: float
    cost_abstention: float
    size = 2
    requirements: Sequence[ThresholdRequirement] = ()

    def choose(self, cells: Cells) -> Codes:
        """Return the numbers of both thresholds, (…, 2)."""
        # The cost is a sum of what the strictest threshold costs and of what the other does.
        called = self.cost_abstention * (cells.tp + cells.fp)
        of_high, of_low = self.cost_fp * cells.fp - called, self.cost_fn * cells.fn + called
        low = (np.minimum.accumulate(of_high, axis=-1) + of_low).argmin(-1)[..., None]
        above = np.arange(of_high.shape[-1]) <= low
        return np.concatenate([np.where(above, of_high, np.inf).argmin(-1)[..., None], low], axis=-1)


@dataclass(frozen=True)
class LimitedAbstention:
    """The thresholds at which errors cost least, of those that leave no more than a share of examples to people."""

    cost_fp: float
    cost_fn: float
    most: float
    size = 2
    requirements: Sequence[ThresholdRequirement] = ()

    def choose(self, cells: Cells) -> Codes:
        """Return the numbers of both thresholds, (…, 2)."""
        called = cells.tp + cells.fp
        # The strictest threshold that goes with each as the other one.
        least = called - self.most * called[..., -1:] - 1e-9
        rows = zip(called.reshape(-1, called.shape[-1]), least.reshape(-1, called.shape[-1]), strict=True)
        high = np.stack([np.searchsorted(row, wanted) for row, wanted in rows]).reshape(called.shape)
        cost = self.cost_fp * np.take_along_axis(cells.fp, high, -1) + self.cost_fn * cells.fn
        low = cost.argmin(-1)[..., None]
        return np.concatenate([np.take_along_axis(high, low, -1), low], axis=-1)


@dataclass(frozen=True)
class RequiredPair:
    """The thresholds that leave least to people, where those that are decided keep a bound on either side.

    Where none does, as may happen in a data set drawn from the examples, it is the one that comes nearest.
    """

    requirements: Sequence[ThresholdRequirement]
    confidence: float
    size = 2

    def choose(self, cells: Cells) -> Codes:
        """Return the numbers of both thresholds, (…, 2)."""
        of_positive, of_negative = self.requirements
        high = cells.tp.shape[-1] - 1 - self._first(of_positive, cells)[..., ::-1].argmax(-1)[..., None]
        low = self._first(of_negative, cells).argmax(-1)[..., None]
        # Where either side could have the other's threshold, one between is enough: that of the fewest errors.
        number = np.arange(cells.tp.shape[-1])
        errors = np.where((number >= low) & (number <= high), cells.fp + cells.fn, np.inf)
        one = errors.argmin(-1)[..., None]
        return np.where(low <= high, np.concatenate([one, one], -1), np.concatenate([high, low], -1))

    def _first(self, requirement: ThresholdRequirement, cells: Cells) -> Array:
        """Return where a requirement is met, or where it comes nearest, as 1."""
        met, margin = requirement.met(cells, self.confidence), requirement.margin(cells, self.confidence)
        nearest = margin == margin.max(-1, keepdims=True)
        return np.where(met.any(-1, keepdims=True), met, nearest).astype(float)


def pair_rule(
    cost: Any, max_abstention: Any, requirements: Sequence[ThresholdRequirement], confidence: float
) -> tuple[PairRule, str]:
    """Return a checked rule, and what it asks for in words; the arguments are those of `abstention`."""
    if requirements:
        if cost is not None or max_abstention is not None:
            raise InputTypeError("requirements", "give them, or costs, or max_abstention, and not both.")
        sides = sorted(requirements, key=lambda each: each.of_called_negative)
        if [each.of_called_positive for each in sides] != [True, False] or not sides[-1].of_called_negative:
            raise InputError("requirements", f"give two, {_SIDES}.")
        wanted = " and ".join(map(str, sides))
        return RequiredPair(sides, confidence), f"least abstention with {wanted}, with probability {confidence:g} each"
    if max_abstention is not None:
        most = checks.probability("max_abstention", max_abstention)
        of_fp, of_fn = costs_of((1, 1) if cost is None else cost, ("cost_fp", "cost_fn"))
        goal = f"least cost of errors, {of_fp:g} a false positive and {of_fn:g} a false negative"
        return LimitedAbstention(of_fp, of_fn, most), f"{goal}, with at most {100 * most:g} % left to people"
    if cost is None:
        raise InputTypeError("cost, max_abstention, requirements", "give one of them.")
    of_fp, of_fn, of_abstention = costs_of(cost, ("cost_fp", "cost_fn", "cost_abstention"))
    goal = f"least cost, {of_fp:g} a false positive, {of_fn:g} a false negative and {of_abstention:g} an abstention"
    return LeastCost(of_fp, of_fn, of_abstention), goal
