"""Rules that choose one threshold, or two between which people decide, and requirements that thresholds must meet.

A requirement is a bound that a proportion of examples must keep with a probability. `choose_threshold` says how
thresholds are tried (fixed sequences of tests, with the fallback procedure of Wiens 2003). A single trial is the lower
limit of Clopper & Pearson: with s successes and f failures, P(Beta(s, f + 1) > bound). At a score of its own class this
is the distribution of a rate beyond an order statistic (Wilks 1941), whatever the distribution of scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import betaincc

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans, Codes, Numbers
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.weights import UNSEEN
from bayesperf.core.words import AT_BEST, chance, format_value, percentage, sentence
from bayesperf.metrics.exact_forms import Proportion
from bayesperf.metrics.formulas import cost as cost_metric
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.posteriors.requirement import bounds_of

# The cells whose shares can be required: precision, specificity, recall, and npv.
_SHARES = ({"tp", "fp"}, {"tn", "fp"}, {"tp", "fn"}, {"tn", "fn"})
# Where trials begin: from how many examples on that are called so, as a share of those that are so, and with which part
# of the risk. Recall and specificity change in one direction, and need one beginning.
_BEGINNINGS = ((1 / 5, 3 / 5), (2 / 5, 1 / 5), (3 / 5, 1 / 5))
_ONE_BEGINNING = ((0.0, 1.0),)
# Up to so many trials the successes needed are found for each number.
_EVERY = 1024


class Cells(NamedTuple):
    """Cells (…, T) at thresholds from the strictest down: inf, at which nothing is called positive, then candidates."""

    tp: Numbers
    fn: Numbers
    fp: Numbers
    tn: Numbers


def cells_of(counts: Numbers) -> Cells:
    """Return the cells at all thresholds, given how many negatives and positives (…, 2, T − 1) are between them."""
    called = np.concatenate([np.zeros_like(counts[..., :1]), counts.cumsum(-1)], axis=-1)
    (fp, tp), (tn, fn) = (np.moveaxis(part, -2, 0) for part in (called, called[..., -1:] - called))
    return Cells(tp, fn, fp, tn)


@dataclass(frozen=True)
class ThresholdRequirement:
    """A bound on a proportion of examples."""

    # The requirement.
    metric: Metric
    # The requested bound: at least if more is better, else at most.
    bound: float
    # The cell that is to be large, and the one that is to be small.
    success: str
    failure: str
    # The probability with which it must be met.
    confidence: float

    @property
    def least(self) -> float:
        """The smallest proportion of successes."""
        return self.bound if self.metric.better > 0 else 1 - self.bound

    @property
    def from_strictest(self) -> bool:
        """Whether the strictest threshold is tried first: false positives end with it, false negatives begin."""
        return "fp" in (self.success, self.failure)

    @property
    def of_called_positive(self) -> bool:
        """Whether it concerns the examples called positive."""
        return {self.success, self.failure} == {"tp", "fp"}

    @property
    def of_called_negative(self) -> bool:
        """Whether it concerns the examples called negative."""
        return {self.success, self.failure} == {"tn", "fn"}

    def probability(self, cells: Cells) -> Array:
        """Return the probability that the requirement is met at each threshold by itself, (…, T)."""
        successes, trials = self.counts(cells)
        return np.where(successes > 0, betaincc(np.maximum(successes, 1e-12), trials - successes + 1, self.least), 0.0)

    def counts(self, cells: Cells) -> tuple[Array, Array]:
        """Return successes and trials at each threshold, (…, T)."""
        successes = np.asarray(getattr(cells, self.success), float)
        return successes, successes + getattr(cells, self.failure)

    def margin(self, cells: Cells) -> Array:
        """Return the excess of successes over the number needed at each threshold, in units of √trials, (…, T)."""
        successes, trials = self.counts(cells)
        return np.asarray((successes - self._needed(trials, self.confidence)) / np.sqrt(trials + 1))

    def met(self, cells: Cells) -> Booleans:
        """Return at which thresholds the requirement is met with its confidence, despite the search, (…, T)."""
        successes, trials = self.counts(cells)
        shares, parts = zip(*self._beginnings, strict=True)
        of_class = cells.tp + cells.fn if self.success == "tp" or self.failure == "tp" else cells.tn + cells.fp
        risks = (1 - self.confidence) * np.array(parts)
        begun = [
            trials >= np.maximum(share * of_class, _fewest(self.least, 1 - risk)) - 1e-9
            for share, risk in zip(shares, risks, strict=True)
        ]
        along = slice(None) if self.from_strictest else slice(None, None, -1)
        met = np.zeros(trials.shape, bool)
        for i, first in enumerate(begun):
            passed = ~first
            for j, (last, after) in enumerate(zip(begun[i:], [*begun[i + 1 :], False], strict=True), i):
                enough = successes >= self._needed(trials, 1 - risks[i : j + 1].sum())
                passed |= first & last & ~np.asarray(after) & enough
            met |= first & np.logical_and.accumulate(passed[..., along], axis=-1)[..., along]
        return met

    @property
    def _beginnings(self) -> tuple[tuple[float, float], ...]:
        return _BEGINNINGS if self.of_called_positive or self.of_called_negative else _ONE_BEGINNING

    def _needed(self, trials: Array, confidence: float) -> Array:
        most = 1 << int(np.ceil(trials.max())).bit_length()
        return np.asarray(np.interp(trials, *_needed(self.least, round(confidence, 12), most)))

    def __str__(self) -> str:
        return f"{self.metric.title} {AT_BEST[self.metric.better]} {self.bound:g}"


def _fewest(least: float, confidence: float) -> float:
    """Return the fewest trials that show a share to be above a bound, if all of them are successes."""
    return math.log1p(-confidence) / math.log(least)


@lru_cache(maxsize=64)
def _needed(least: float, confidence: float, most: int) -> tuple[Array, Array]:
    """Return numbers of trials n up to `most`, and the successes s at which P(Beta(s, n − s + 1) > least) is reached.

    Up to 1,024 trials there is every whole number; between those beyond, s is interpolated, to about 1e-4.
    """
    trials = np.unique(
        np.concatenate([np.arange(min(most, _EVERY) + 1.0), np.geomspace(_EVERY, max(most, _EVERY), _EVERY)])
    )
    low, high = np.zeros_like(trials), trials + 1
    for _ in range(60):
        middle = (low + high) / 2
        enough = betaincc(np.maximum(middle, 1e-300), np.maximum(trials - middle + 1, 1e-300), least) >= confidence
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return trials, high


def requirements_of(
    requirements: Sequence[str] | Mapping[str | Metric, float] | None, confidence: float = 0.95
) -> list[ThresholdRequirement]:
    """Return checked requirements of two classes, each of which must be met with a probability of `confidence`."""
    if requirements is None:
        return []
    bounds = bounds_of(requirements)
    if not bounds:
        raise InputError("requirements", "name at least one, as {'recall': 0.9}.")
    return [_requirement(metric, bound, confidence) for metric, bound in bounds.items()]


def _requirement(metric: Metric, bound: Any, confidence: float) -> ThresholdRequirement:
    form = metric.exact_form(2)
    cells = (*form.success, *form.failure) if isinstance(form, Proportion) and metric.average is None else ()
    if metric.greater_is_better is None or set(cells) not in _SHARES:
        raise InputError(
            "requirements",
            f"{metric.name} is no share of one class, or of what is called one, so there is no "
            "order in which thresholds could be tried.",
            "Require recall, specificity, precision or npv (or their complements); any metric "
            "can be the one that is to be best.",
        )
    success, failure = cells[:: metric.better]
    least = checks.probability(f"requirements[{metric.name!r}]", bound)
    return ThresholdRequirement(metric, least, success, failure, confidence)


def prob_met(requirements: Sequence[ThresholdRequirement], cells: Cells, chosen: Codes) -> xr.DataArray:
    """Return the probability that each requirement is met, by itself and at a threshold named beforehand."""
    # Requirements are all of the one threshold, or each of its own.
    at = [int(chosen[i % len(chosen)]) for i in range(len(requirements))]
    met = [float(each.probability(cells)[i]) for each, i in zip(requirements, at, strict=True)]
    names = [each.metric.name for each in requirements]
    note = "each requirement by itself, at a threshold as if it had been named beforehand"
    return xr.DataArray(met, {"requirement": names}, ["requirement"], name="prob_met", attrs={"note": note})


def refusal(requirements: Sequence[ThresholdRequirement], cells: Cells, thresholds: Array) -> ValueError:
    """Return the error that no threshold meets the requirements: how near each comes, and what it would take."""
    parts = [_how_near(requirement, cells, thresholds) for requirement in requirements]
    several = " Each is met somewhere, and nowhere all of them." if all(shown for shown, _ in parts) else ""
    wanted = " and ".join(map(str, requirements))
    return InputError(
        "requirements",
        f"no threshold has {wanted} with probability {percentage(requirements[0].confidence)}"
        f"{' each' if len(requirements) > 1 else ''}. "
        f"{' '.join((text for _, text in parts))}{several} Ask for less, or label more "
        "examples.",
    )


def _how_near(requirement: ThresholdRequirement, cells: Cells, thresholds: Array) -> tuple[bool, str]:
    """Return whether a requirement is met at some threshold, and a sentence on where, or on how near it comes."""
    if len(met := np.flatnonzero(requirement.met(cells))):
        ends = sorted(float(thresholds[at]) for at in (met[0], met[-1]))
        return True, sentence(f"{requirement} is so from {ends[0]:.4g} to {ends[1]:.4g}")
    probability = requirement.probability(cells)
    at = int(probability.argmax())
    successes, failures = (float(getattr(cells, name)[at]) for name in (requirement.success, requirement.failure))
    text = (
        f"The greatest probability of {requirement} is {chance(float(probability[at]))}, at threshold "
        f"{thresholds[at]:.4g} ({successes:.0f} of {successes + failures:.0f})"
    )
    more = _more_examples(requirement, successes, failures)
    return False, f"{text}{'.' if more is None else f'; {more}.'}"


def _more_examples(requirement: ThresholdRequirement, successes: float, failures: float) -> str | None:
    """Return in words by which factor the examples must grow, if the shares stay the same."""
    if successes <= requirement.least * (successes + failures):
        return "that share itself is no better than the bound, and more examples need not help"
    times = np.geomspace(1, 1000, 400)
    enough = betaincc(times * successes, times * failures + 1, requirement.least) >= requirement.confidence
    if not enough.any():
        return None
    factor = float(times[enough.argmax()])
    if factor <= 1:
        return (
            "one threshold alone would do, named beforehand; of all, it comes after one that fails, so it may owe "
            "this to luck"
        )
    return f"about {format_value(factor, 0.9)} times as many examples would be enough, were it to stay so"


# ── Rules ──


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
    tp, fn, fp, tn = (np.asarray(cell, float) + UNSEEN for cell in cells)
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
