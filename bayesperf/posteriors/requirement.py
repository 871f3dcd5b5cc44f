"""Requirements for metrics, such as "recall >= 0.8" or {"recall": 0.8}."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import xarray as xr

from bayesperf.core import checks
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get, in_field_words
from bayesperf.posteriors.marginal import Marginal

_REQUIREMENT = re.compile(r"\s*([^<>=\s]+)\s*(>=|<=|>|<)\s*([^<>=\s]+)\s*")


@dataclass(frozen=True)
class Requirement:
    """A bound on a metric, in its better direction; if it is `graded`, of outcomes, whose accuracy is the pass rate."""

    metric: str
    bound: float
    at_least: bool
    graded: bool = False

    @classmethod
    def parse(cls, text: str, graded: bool = False) -> Requirement:
        """Return the requirement written as ``metric>=bound`` or ``metric<=bound``, or with ``>`` or ``<``.

        `>=` and `>` ask the same question: for a metric with a density, the bound itself has probability 0.
        """
        match = _REQUIREMENT.fullmatch(text)
        if not match:
            raise InputError("requirement", f"{text!r} is not of the form recall>=0.8.")
        metric, at_least = get(match[1]), match[2][0] == ">"
        try:
            bound = float(match[3])
        except ValueError:
            raise InputError("requirement", f"{text!r}: {match[3]!r} is not a number.") from None
        if metric.greater_is_better is None or at_least != metric.greater_is_better:
            better = {True: "greater is better: use >=", False: "smaller is better: use <=", None: "neither is better"}
            raise InputError("requirement", f"{text!r}: of {metric.name}, {better[metric.greater_is_better]}.")
        return cls.of(metric, bound, graded)

    @classmethod
    def of(cls, metric: Metric, bound: float, graded: bool = False) -> Requirement:
        """Return the requirement that a metric is at least as good as the bound."""
        with_direction(metric, "requirement")
        asked = f"'{metric.name}{'>=' if metric.greater_is_better else '<='}{bound:g}'"
        low, high = metric.bounds
        if not low <= bound <= high:
            raise InputError("requirement", f"{asked}: {metric.name} lies between {low:g} and {high:g}.")
        return cls(metric.name, bound, metric.better > 0, graded)

    def met(self, marginal: Marginal) -> xr.DataArray:
        """Return the posterior probability that the metric meets the requirement."""
        return marginal.prob_meets(self.bound)

    def __str__(self) -> str:
        return f"{in_field_words(get(self.metric), self.graded).title} {'≥' if self.at_least else '≤'} {self.bound:g}"


def with_direction(name: str | Metric, argument: str = "metric", single: bool = True) -> Metric:
    """Return a metric of which more, or less, is better; unless any will do, with a single value."""
    metric = get(name)
    if metric.greater_is_better is None:
        raise InputError(argument, f"{metric.name!r} has no one direction that is better.")
    if single and metric.average == "per_class":
        raise InputError(argument, f"{metric.name!r} is a value for every class.", "Take its _macro or _micro.")
    return metric


def bounds_of(requirements: Sequence[str] | Mapping[str | Metric, float]) -> dict[Metric, float]:
    """Return the bound of each metric, in its better direction and its range, from a mapping or from texts."""
    if isinstance(requirements, str) or not isinstance(requirements, (Mapping, Sequence)):
        raise InputTypeError(
            "requirements",
            f"must be a mapping of metrics to bounds, or a sequence of texts; it is {requirements!r}.",
            f"Write {[requirements]}." if isinstance(requirements, str) else "Write {'recall': 0.8}.",
        )
    if isinstance(requirements, Mapping):
        asked = [(get(name), checks.number(f"requirements[{name!r}]", of)) for name, of in requirements.items()]
        required = [(metric, Requirement.of(metric, bound).bound) for metric, bound in asked]
    else:
        parsed = map(Requirement.parse, requirements)
        required = [(get(each.metric), each.bound) for each in parsed]
    bounds = dict(required)
    if len(bounds) < len(required):
        raise InputError("requirements", "a metric is required twice.", "Give each metric one bound.")
    return bounds
