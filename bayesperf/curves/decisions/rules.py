"""Rules that choose one threshold, or two between which people decide, from the cells at all thresholds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans, Codes
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.curves.decisions.placed_examples import PSEUDO_EXAMPLES
from bayesperf.curves.decisions.requirements import Cells, ThresholdRequirement
from bayesperf.metrics.formulas import cost as cost_metric
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued


@dataclass(frozen=True, kw_only=True)
class Rule(ABC):
    """A rule that chooses thresholds.

    Attributes
    ----------
    words : str
        What it aims at, in words.
    requirements : sequence of ThresholdRequirement
        What one threshold must meet, or the stricter one and the other, each with a probability of `confidence`.
    best : Metric or None
        The metric that one threshold optimises, at a `prevalence`, or that of the examples.
    """

    size: ClassVar[int]
    words: str
    requirements: Sequence[ThresholdRequirement] = ()
    confidence: float = 0.95
    best: Metric | None = None
    prevalence: float | None = None

    @abstractmethod
    def choose(self, cells: Cells) -> Codes:
        """Return the numbers of the thresholds, (…, size), the strictest first, given the cells (…, T)."""


@dataclass(frozen=True, kw_only=True)
class BestThreshold(Rule):
    """The threshold at which a metric is best among those that meet all requirements; if several, the strictest.

    If none meets them, as may happen in a part of the examples, it is the one that comes nearest. The metric is
    evaluated at the posterior mean of the cells under Jeffreys' prior, at the given prevalence or the observed one.
    """

    best: Metric
    size = 1

    def choose(self, cells: Cells) -> Codes:
        """Return the number of the threshold, (…, 1)."""
        values = self.values(cells)
        if self.requirements:
            met = self.met(cells)
            near = np.min([each.margin(cells, self.confidence) for each in self.requirements], axis=0)
            values = np.where(met.any(-1, keepdims=True), np.where(met, values, -np.inf), near)
            # A rule that calls nothing positive has no threshold.
            values[..., 0] = -np.inf
        return values.argmax(-1)[..., None]

    def met(self, cells: Cells) -> Booleans:
        """Return at which thresholds all requirements are met, (…, T)."""
        return np.asarray(np.logical_and.reduce([each.met(cells, self.confidence) for each in self.requirements]))

    def values(self, cells: Cells) -> Array:
        """Return the metric at each threshold, (…, T), turned so that more is better."""
        tp, fn, fp, tn = (np.asarray(cell, float) + PSEUDO_EXAMPLES for cell in cells)
        if self.prevalence is not None:
            positives, negatives = self.prevalence / (tp + fn), (1 - self.prevalence) / (fp + tn)
            tp, fn, fp, tn = positives * tp, positives * fn, negatives * fp, negatives * tn
        return np.asarray(np.nan_to_num(self.best.better * self.best.of_binary(tp, fn, fp, tn), nan=-np.inf))


def best_threshold(
    best: str | Metric | None,
    cost: Any,
    requirements: Sequence[ThresholdRequirement],
    confidence: float,
    prevalence: float | None,
) -> BestThreshold:
    """Return a checked rule; takes the arguments of `choose_threshold`."""
    if (best is None) == (cost is None):
        raise InputTypeError(
            "best, cost", "give one of them: the metric that is to be best, or what either error costs."
        )
    if cost is not None:
        of_fp, of_fn = costs_of(cost, ("cost_fp", "cost_fn"))
        metric = cost_metric([[0, of_fp], [of_fn, 0]])
        goal = f"least cost, {of_fp:g} a false positive and {of_fn:g} a false negative"
    else:
        assert best is not None
        metric = single_valued(best, (0, 1), 1)
        if metric.greater_is_better is None:
            raise InputError("best", f"neither more nor less {metric.name} is better.")
        goal = f"best {metric.title}"
    for each in requirements:
        if prevalence is not None and each.metric.depends_on_prevalence(2):
            raise InputError(
                "prevalence",
                f"{each.metric.name} changes with it, and can be required only at the prevalence of the examples.",
                "Leave prevalence out, or require recall or specificity.",
            )
    at = "" if prevalence is None else f", at prevalence {prevalence:g}"
    wanted = "".join(f", with {each}" for each in requirements)
    assured = f", with probability {confidence:g}{' each' if len(requirements) > 1 else ''}" if requirements else ""
    return BestThreshold(
        words=f"{goal}{at}{wanted}{assured}",
        requirements=requirements,
        confidence=confidence,
        best=metric,
        prevalence=prevalence,
    )


# ── Two thresholds ──

# Possible requirements, on examples called positive and on examples called negative.
_SIDES = "one of precision (or fdr), for what is called positive, and one of npv (or its complement), for the rest"


@dataclass(frozen=True, kw_only=True)
class LeastCost(Rule):
    """The thresholds with the lowest mean cost of errors and of abstentions."""

    cost_fp: float
    cost_fn: float
    cost_abstention: float
    size = 2

    def choose(self, cells: Cells) -> Codes:
        """Return the numbers of both thresholds, (…, 2)."""
        # The cost is a sum of what the strictest threshold costs and of what the other does.
        called = self.cost_abstention * (cells.tp + cells.fp)
        of_high, of_low = self.cost_fp * cells.fp - called, self.cost_fn * cells.fn + called
        low = (np.minimum.accumulate(of_high, axis=-1) + of_low).argmin(-1)[..., None]
        above = np.arange(of_high.shape[-1]) <= low
        return np.concatenate([np.where(above, of_high, np.inf).argmin(-1)[..., None], low], axis=-1)


@dataclass(frozen=True, kw_only=True)
class LimitedAbstention(Rule):
    """The thresholds with the lowest cost of errors that leave at most a given proportion of examples to people."""

    cost_fp: float
    cost_fn: float
    most: float
    size = 2

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


@dataclass(frozen=True, kw_only=True)
class RequiredPair(Rule):
    """The thresholds that leave least to people, if the decided examples keep a bound on each side.

    If none does, as may happen in a resampled data set, it is the one that comes nearest.
    """

    size = 2

    def choose(self, cells: Cells) -> Codes:
        """Return the numbers of both thresholds, (…, 2)."""
        of_positive, of_negative = self.requirements
        high = cells.tp.shape[-1] - 1 - self._first(of_positive, cells)[..., ::-1].argmax(-1)[..., None]
        low = self._first(of_negative, cells).argmax(-1)[..., None]
        # If each side could have the other's threshold, one between them is enough: the one with the fewest errors.
        number = np.arange(cells.tp.shape[-1])
        errors = np.where((number >= low) & (number <= high), cells.fp + cells.fn, np.inf)
        one = errors.argmin(-1)[..., None]
        return np.where(low <= high, np.concatenate([one, one], -1), np.concatenate([high, low], -1))

    def _first(self, requirement: ThresholdRequirement, cells: Cells) -> Array:
        """Return where a requirement is met, or where it comes nearest, as 1."""
        met, margin = requirement.met(cells, self.confidence), requirement.margin(cells, self.confidence)
        nearest = margin == margin.max(-1, keepdims=True)
        return np.where(met.any(-1, keepdims=True), met, nearest).astype(float)


def pair_rule(cost: Any, max_abstention: Any, requirements: Sequence[ThresholdRequirement], confidence: float) -> Rule:
    """Return a checked rule for two thresholds; takes the arguments of `abstention`."""
    if requirements:
        if cost is not None or max_abstention is not None:
            raise InputTypeError("requirements", "give them, or costs, or max_abstention, and not both.")
        sides = sorted(requirements, key=lambda each: each.of_called_negative)
        if [each.of_called_positive for each in sides] != [True, False] or not sides[-1].of_called_negative:
            raise InputError("requirements", f"give two, {_SIDES}.")
        wanted = " and ".join(map(str, sides))
        goal = f"least abstention with {wanted}, with probability {confidence:g} each"
        return RequiredPair(words=goal, requirements=sides, confidence=confidence)
    if max_abstention is not None:
        most = checks.probability("max_abstention", max_abstention)
        of_fp, of_fn = costs_of((1, 1) if cost is None else cost, ("cost_fp", "cost_fn"))
        goal = f"least cost of errors, {of_fp:g} a false positive and {of_fn:g} a false negative"
        goal = f"{goal}, with at most {100 * most:g} % left to people"
        return LimitedAbstention(words=goal, cost_fp=of_fp, cost_fn=of_fn, most=most)
    if cost is None:
        raise InputTypeError("cost, max_abstention, requirements", "give one of them.")
    of_fp, of_fn, of_abstention = costs_of(cost, ("cost_fp", "cost_fn", "cost_abstention"))
    goal = f"least cost, {of_fp:g} a false positive, {of_fn:g} a false negative and {of_abstention:g} an abstention"
    return LeastCost(words=goal, cost_fp=of_fp, cost_fn=of_fn, cost_abstention=of_abstention)


def costs_of(cost: Any, names: Sequence[str]) -> list[float]:
    """Return costs, checked: positive, finite numbers, one for each name."""
    if not isinstance(cost, tuple | list) or len(cost) != len(names):
        raise InputTypeError("cost", f"must be ({', '.join(names)}); it is {cost!r}.")
    numbers = [checks.number(name, value) for name, value in zip(names, cost, strict=True)]
    if not all(0 < number < np.inf for number in numbers):
        given = ", ".join(f"{number:g}" for number in numbers)
        raise InputError("cost", f"costs must be greater than 0 and finite; they are {given}.")
    return numbers
