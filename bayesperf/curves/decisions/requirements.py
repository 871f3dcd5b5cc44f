"""Requirements of a threshold: bounds that a proportion of examples must keep with a probability, and where they do.

A threshold that is chosen because it passes, passes by luck more often than one that was named beforehand. So
thresholds are tried in an order that no label decides, from the one that a requirement prefers on, and the first
failure ends the trial (fixed sequences of tests; for thresholds Angelopoulos et al. 2021, Learn then test). One early
failure should not end everything, so trials of predictive values begin again further on. Each has a part of the risk,
which trials that last carry on (the fallback procedure: Wiens 2003). A single trial is the lower limit of Clopper &
Pearson: with s successes and f failures, P(Beta(s, f + 1) > bound). At a score of its own class this is the
distribution of a rate beyond an order statistic (Wilks 1941), whatever the distribution of scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import betaincc

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans, Codes, Numbers
from bayesperf.core.errors import InputError
from bayesperf.core.words import AT_BEST, chance, format_value, percentage, sentence
from bayesperf.metrics.exact_forms import Proportion
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.requirement import bounds_of

# The shares that can be required, by the cells they are of, and whether the strictest threshold is the one preferred.
_FROM_STRICTEST = {
    frozenset({"tp", "fp"}): True,
    frozenset({"tn", "fp"}): True,
    frozenset({"tp", "fn"}): False,
    frozenset({"tn", "fn"}): False,
}
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
        """Whether the strictest threshold is tried first."""
        return _FROM_STRICTEST[frozenset({self.success, self.failure})]

    @property
    def of_called_positive(self) -> bool:
        """Whether it concerns the examples called positive."""
        return frozenset({self.success, self.failure}) == {"tp", "fp"}

    @property
    def of_called_negative(self) -> bool:
        """Whether it concerns the examples called negative."""
        return frozenset({self.success, self.failure}) == {"tn", "fn"}

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
    if metric.greater_is_better is None or frozenset(cells) not in _FROM_STRICTEST:
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
