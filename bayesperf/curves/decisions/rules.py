"""Rules that choose one threshold, or two between which people decide, from the cells at all thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.curves.decisions.placed_examples import PSEUDO_EXAMPLES
from bayesperf.curves.decisions.requirements import Cells, ThresholdRequirement
from bayesperf.metrics.formulas import cost as cost_metric
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued


class Rule(NamedTuple):
    """A rule that chooses thresholds."""

    # What it aims at, in words.
    words: str
    # How many thresholds it chooses, and their numbers (…, size), the strictest first, given the cells (…, T).
    size: int
    choose: Callable[[Cells], Codes]
    # What the one threshold must meet, or the stricter one and the other.
    requirements: Sequence[ThresholdRequirement] = ()
    # The metric that one threshold optimises, at a prevalence, or that of the examples.
    best: Metric | None = None
    prevalence: float | None = None


# ── One threshold ──


def best_threshold(
    best: str | Metric | None, cost: Any, requirements: Sequence[ThresholdRequirement], prevalence: float | None
) -> Rule:
    """Return a checked rule for one threshold; takes the arguments of `choose_threshold`."""
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
    words = f"{goal}{at}{''.join(f', with {each}' for each in requirements)}{_assured(requirements)}"
    choose = partial(_best, best=metric, prevalence=prevalence, requirements=requirements)
    return Rule(words, 1, choose, requirements, metric, prevalence)


def _assured(requirements: Sequence[ThresholdRequirement]) -> str:
    if not requirements:
        return ""
    return f", with probability {requirements[0].confidence:g}{' each' * (len(requirements) > 1)}"


def _best(cells: Cells, best: Metric, prevalence: float | None, requirements: Sequence[ThresholdRequirement]) -> Codes:
    """Choose the threshold at which a metric is best among those that meet all requirements; of several the strictest.

    If none meets them, as may happen in a part of the examples, it is the one that comes nearest. The metric is
    evaluated at the posterior mean of the cells under Jeffreys' prior, at the given prevalence or the observed one.
    """
    tp, fn, fp, tn = (np.asarray(cell, float) + PSEUDO_EXAMPLES for cell in cells)
    if prevalence is not None:
        positives, negatives = prevalence / (tp + fn), (1 - prevalence) / (fp + tn)
        tp, fn, fp, tn = positives * tp, positives * fn, negatives * fp, negatives * tn
    values: Array = np.nan_to_num(best.better * best.of_binary(tp, fn, fp, tn), nan=-np.inf)
    if requirements:
        met = np.all([each.met(cells) for each in requirements], axis=0)
        near = np.min([each.margin(cells) for each in requirements], axis=0)
        values = np.where(met.any(-1, keepdims=True), np.where(met, values, -np.inf), near)
        # A rule that calls nothing positive has no threshold.
        values[..., 0] = -np.inf
    return values.argmax(-1)[..., None]


# ── Two thresholds ──

# Possible requirements, on examples called positive and on examples called negative.
_SIDES = "one of precision (or fdr), for what is called positive, and one of npv (or its complement), for the rest"


def pair_rule(cost: Any, max_abstention: Any, requirements: Sequence[ThresholdRequirement]) -> Rule:
    """Return a checked rule for two thresholds; takes the arguments of `abstention`."""
    if requirements:
        if cost is not None or max_abstention is not None:
            raise InputTypeError("requirements", "give them, or costs, or max_abstention, and not both.")
        sides = sorted(requirements, key=lambda each: each.of_called_negative)
        if [each.of_called_positive for each in sides] != [True, False] or not sides[-1].of_called_negative:
            raise InputError("requirements", f"give two, {_SIDES}.")
        goal = f"least abstention with {' and '.join(map(str, sides))}{_assured(sides)}"
        return Rule(goal, 2, partial(_required_pair, sides=sides), sides)
    if max_abstention is not None:
        most = checks.probability("max_abstention", max_abstention)
        of_fp, of_fn = costs_of((1, 1) if cost is None else cost, ("cost_fp", "cost_fn"))
        goal = f"least cost of errors, {of_fp:g} a false positive and {of_fn:g} a false negative"
        goal = f"{goal}, with at most {100 * most:g} % left to people"
        return Rule(goal, 2, partial(_limited_abstention, of_fp=of_fp, of_fn=of_fn, most=most))
    if cost is None:
        raise InputTypeError("cost, max_abstention, requirements", "give one of them.")
    of_fp, of_fn, of_abstention = costs_of(cost, ("cost_fp", "cost_fn", "cost_abstention"))
    goal = f"least cost, {of_fp:g} a false positive, {of_fn:g} a false negative and {of_abstention:g} an abstention"
    return Rule(goal, 2, partial(_least_cost, of_fp=of_fp, of_fn=of_fn, of_abstention=of_abstention))


def _least_cost(cells: Cells, of_fp: float, of_fn: float, of_abstention: float) -> Codes:
    """Choose the thresholds with the lowest mean cost of errors and of abstentions."""
    # The cost is a sum of what the strictest threshold costs and of what the other does.
    called = of_abstention * (cells.tp + cells.fp)
    of_high, of_low = of_fp * cells.fp - called, of_fn * cells.fn + called
    low = (np.minimum.accumulate(of_high, axis=-1) + of_low).argmin(-1)[..., None]
    above = np.arange(of_high.shape[-1]) <= low
    return np.concatenate([np.where(above, of_high, np.inf).argmin(-1)[..., None], low], axis=-1)


def _limited_abstention(cells: Cells, of_fp: float, of_fn: float, most: float) -> Codes:
    """Choose the thresholds with the lowest cost of errors that leave at most a given proportion to people."""
    called = cells.tp + cells.fp
    # The strictest threshold that goes with each as the other one.
    least = called - most * called[..., -1:] - 1e-9
    rows = zip(called.reshape(-1, called.shape[-1]), least.reshape(-1, called.shape[-1]), strict=True)
    high = np.stack([np.searchsorted(row, wanted) for row, wanted in rows]).reshape(called.shape)
    cost = of_fp * np.take_along_axis(cells.fp, high, -1) + of_fn * cells.fn
    low = cost.argmin(-1)[..., None]
    return np.concatenate([np.take_along_axis(high, low, -1), low], axis=-1)


def _required_pair(cells: Cells, sides: Sequence[ThresholdRequirement]) -> Codes:
    """Choose the thresholds that leave least to people, if the decided examples keep a bound on each side.

    If none does, as may happen in a resampled data set, it is the one that comes nearest.
    """
    of_positive, of_negative = (_met_or_nearest(cells, each) for each in sides)
    number = np.arange(cells.tp.shape[-1])
    high, low = number[-1] - of_positive[..., ::-1].argmax(-1)[..., None], of_negative.argmax(-1)[..., None]
    # If each side could have the other's threshold, one between them is enough: the one with the fewest errors.
    errors = np.where((number >= low) & (number <= high), cells.fp + cells.fn, np.inf)
    one = errors.argmin(-1)[..., None]
    return np.where(low <= high, np.concatenate([one, one], -1), np.concatenate([high, low], -1))


def _met_or_nearest(cells: Cells, requirement: ThresholdRequirement) -> Array:
    """Return where a requirement is met, or where it comes nearest, as 1."""
    met, margin = requirement.met(cells), requirement.margin(cells)
    nearest = margin == margin.max(-1, keepdims=True)
    return np.where(met.any(-1, keepdims=True), met, nearest).astype(float)


def costs_of(cost: Any, names: Sequence[str]) -> list[float]:
    """Return costs, checked: positive, finite numbers, one for each name."""
    if not isinstance(cost, tuple | list) or len(cost) != len(names):
        raise InputTypeError("cost", f"must be ({', '.join(names)}); it is {cost!r}.")
    numbers = [checks.number(name, value) for name, value in zip(names, cost, strict=True)]
    if not all(0 < number < np.inf for number in numbers):
        given = ", ".join(f"{number:g}" for number in numbers)
        raise InputError("cost", f"costs must be greater than 0 and finite; they are {given}.")
    return numbers
