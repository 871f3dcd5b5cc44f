"""Rules by which thresholds are chosen: from the cells at all candidates to the number of the one, or of the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans, Codes
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.curves.chosen_thresholds.candidates import Cells
from bayesperf.curves.chosen_thresholds.requirements import ThresholdRequirement
from bayesperf.metrics.formulas import cost as cost_metric
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued

# Jeffreys' prior: so much of an example in each cell.
PSEUDO_EXAMPLES = 0.5


class Rule(Protocol):
    """A rule that chooses thresholds."""

    @property
    def size(self) -> int:
        """How many thresholds it chooses."""

    def choose(self, cells: Cells) -> Codes:
        """Return the numbers of the thresholds, (…, size), the strictest first, given the cells (…, T)."""


@dataclass(frozen=True)
class BestThreshold:
    """The threshold at which a metric is best among those that meet all requirements; of several the strictest.

    Where none meets them, as may happen in a part of the examples, it is the one that comes nearest.

    Attributes
    ----------
    metric : Metric
        What is to be best: its value at the posterior mean of the cells under Jeffreys' prior.
    requirements : list of ThresholdRequirement
        What it must meet, each with the probability `confidence`.
    confidence : float
        That probability.
    prevalence : float or None
        The share of positives for which it is chosen; None for that of the examples.
    """

    metric: Metric
    requirements: Sequence[ThresholdRequirement]
    confidence: float
    prevalence: float | None
    size = 1

    def choose(self, cells: Cells) -> Codes:
        """Return the number of the threshold, (…, 1)."""
        values = self.values(cells)
        if self.requirements:
            met = self.met(cells)
            near = np.min([each.margin(cells, self.confidence) for each in self.requirements], axis=0)
            values = np.where(met.any(-1, keepdims=True), np.where(met, values, -np.inf), near)
            # What calls nothing positive is no threshold.
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
        sign = 1 if self.metric.greater_is_better else -1
        return np.asarray(np.nan_to_num(sign * self.metric.of_binary(tp, fn, fp, tn), nan=-np.inf))


def best_threshold(
    best: str | Metric | None,
    cost: Any,
    requirements: Sequence[ThresholdRequirement],
    confidence: float,
    prevalence: float | None,
) -> tuple[BestThreshold, str]:
    """Return a checked rule, and what it asks for in words; the arguments are those of `choose_threshold`."""
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
    return BestThreshold(metric, requirements, confidence, prevalence), f"{goal}{at}{wanted}{assured}"


def costs_of(cost: Any, names: Sequence[str]) -> list[float]:
    """Return costs, checked: positive, finite numbers, one for each name."""
    if not isinstance(cost, tuple | list) or len(cost) != len(names):
        raise InputTypeError("cost", f"must be ({', '.join(names)}); it is {cost!r}.")
    numbers = [checks.number(name, value) for name, value in zip(names, cost, strict=True)]
    if not all(0 < number < np.inf for number in numbers):
        given = ", ".join(f"{number:g}" for number in numbers)
        raise InputError("cost", f"costs must be greater than 0 and finite; they are {given}.")
    return numbers
