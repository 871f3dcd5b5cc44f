"""How many more labels are needed, if examples are plenty and their true labels are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held
from bayesperf.core.words import format_value, metric_title
from bayesperf.labels.choosing_labels import value_of
from bayesperf.labels.worth_of_labels import LabelValue
from bayesperf.metrics.metric import Metric
from bayesperf.plan.plan_result import Plan, UnreachableError
from bayesperf.plan.settling import prob_settled
from bayesperf.plan.smallest_number import smallest_by_bisection
from bayesperf.posteriors.posterior import Posterior

# Calls of a judge are tried up to this many times the examples so far, at this many numbers, which are then refined.
_MOST_CALLS, _TRIED, _REFINED = 1000, 25, 3


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelsLeft(Held):
    """The width of an interval, or the probability that a requirement is settled, after more labels."""

    # The variance that remains after labels.
    value: LabelValue
    # Probability of the interval, or the probability that settles the requirement.
    confidence: float
    # The posterior mean minus the requirement; None if the plan is for a width.
    distance: float | None
    # The number of labels that is enough if examples are chosen at random; None if all are not enough.
    by_chance: int | None = None
    # Further examples that a judge labels before.
    calls: int = 0
    # Cost of a label and of a judge's call.
    costs: tuple[float, float] | None = None

    @property
    def available(self) -> int:
        """Examples without a label."""
        return int(self.value.available.sum())

    def curve(self, n: Counts) -> tuple[Array, Array]:
        return np.array([self.reached(each, self.value.allocation) for each in n.tolist()]), np.zeros(len(n))

    def reached(self, n: int, allocation: Callable[[int], Array | Counts]) -> float:
        """Return the width, or the probability, after n labels that are allocated in some way."""
        variance = self.value.variance(allocation(min(n, self.available)))
        if self.distance is None:
            return float(-2 * ndtri((1 - self.confidence) / 2) * np.sqrt(variance))
        now = self.value.variance(0 * self.value.available)
        return float(prob_settled(self.distance, now, np.array(variance), self.confidence))

    def smallest_n(self, target: float, allocation: Callable[[int], Array | Counts]) -> int | None:
        """Return the smallest number of labels, allocated in some way, that is enough; None if all are not."""
        sign = 1 if self.distance is None else -1

        def holds(n: int) -> bool:
            return sign * self.reached(n, allocation) <= sign * target

        return smallest_by_bisection(holds) if holds(self.available) else None

    def in_words(self, plan: Plan) -> str:
        if not plan.n and not self.calls:
            return f"For {plan.claim} no more labels are needed."
        if self.costs is not None:
            label, call = self.costs
            total = plan.n * label + self.calls * call
            return (
                f"For {plan.claim} the cheapest way is about {self.calls:,} more calls of the judge and {plan.n:,} "
                f"more labels where they tell most, at a cost of {total:,.4g}."
            )
        chance = "all are not enough" if self.by_chance is None else f"about {self.by_chance:,}"
        return (
            f"For {plan.claim} about {plan.n:,} more labels are needed where they tell most, or {chance} "
            f"at random, of {self.available:,} examples without one."
        )


@checked
def labels(
    posterior: Posterior,
    *,
    metric: str | Metric,
    width: float | None = None,
    requirement: float | None = None,
    confidence: float = 0.95,
    assurance: float = 0.8,
    costs: tuple[float, float] | None = None,
) -> Plan:
    """Return how many more labels bring an interval to a width, or settle whether a requirement is met.

    Parameters
    ----------
    posterior : Posterior
        Posterior of a partly verified sample (`bayesperf.labels.verify`) of one system or two; with two systems, the
        plan is for their difference.
    metric : str or Metric
        A metric with a single value.
    width : float, optional
        Width that the credible interval should have.
    requirement : float, optional
        Instead of a width: the required value of the metric. It is settled once the probability that the metric is
        above it is at least `confidence`, or at most one minus that.
    confidence : float
        Probability of the interval, or the probability that settles the requirement.
    assurance : float
        Probability, given the data so far, that it will be settled.
    costs : tuple of two float, optional
        Cost of a label and of a judge's call. The judge may then label more examples, of the same kinds, and the plan
        has the cheapest numbers of both for the width: ``n`` labels and ``model.calls`` calls.

    Returns
    -------
    Plan
        Its ``n`` counts labels allocated as `bayesperf.labels.next_labels` advises; its ``model.by_chance`` counts
        labels of examples chosen at random.

    Raises
    ------
    TypeError, ValueError
        As `bayesperf.labels.next_labels`; or if not exactly one of `width` and `requirement` is given.
    UnreachableError
        If the labels of all examples are not enough: the sample is too small, or the metric too near the requirement.

    Notes
    -----
    The plan treats the posterior as normal, with the variance that labels are expected to leave (to first order, see
    `bayesperf.labels.next_labels`). With few labels it is a plan, not a promise: verify in batches and plan anew.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesperf as bp
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 4000)
    >>> judge, predicted = (np.where(rng.random(4000) < error, 1 - truth, truth) for error in (0.1, 0.1))
    >>> post = bp.labels.verify(np.where(np.arange(4000) < 100, truth, np.nan), predicted, judge=judge)
    >>> plan = bp.plan.labels(post, metric="accuracy", width=0.04)
    >>> round(plan.n, -1), round(plan.model.by_chance, -1), plan.model.available
    (450, 650, 3900)
    """
    if (width is None) == (requirement is None):
        raise InputError("width, requirement", "give one of them.")
    confidence, assurance = checks.probability("confidence", confidence), checks.probability("assurance", assurance)
    value, metric = value_of(posterior, metric)
    title = metric_title(metric.name)
    if width is not None:
        target = width = checks.above_zero("width", width)
        claim = f"an interval of {title} of width {format_value(width)}"
        model = LabelsLeft(value=value, confidence=confidence, distance=None)
    else:
        bound = checks.number("requirement", requirement)
        target, claim = assurance, f"settling whether {title} is above {format_value(bound)}"
        mean = np.subtract.reduce(np.atleast_1d(posterior[metric].mean().values))
        model = LabelsLeft(value=value, confidence=confidence, distance=float(mean) - bound)
    if costs is not None:
        model = _cheapest(model, target, width, int(posterior.source.sample.counts.sum()), costs)  # type: ignore[attr-defined]
        value = model.value
    n = model.smallest_n(target, value.allocation)
    limit = model.reached(model.available, value.allocation)
    if n is None:
        raise UnreachableError(
            f"for {claim}, the labels of all {model.available:,} examples are not enough. Predict more examples, or "
            "ask for less.",
            limit,
        )
    return Plan(
        n=n,
        counts="labels",
        claim=claim,
        aim="assurance" if width is None else "width",
        target=target,
        reached=model.reached(n, value.allocation),
        mcse=0.0,
        limit=limit,
        basis=posterior.prior_text,
        share=1.0,
        model=replace(model, by_chance=model.smallest_n(target, value.by_chance)),
    )


def _cheapest(
    model: LabelsLeft, target: float, width: float | None, examples: int, costs: tuple[float, float]
) -> LabelsLeft:
    """Return the model after the number of calls at which labels and calls together cost least."""
    if width is None:
        raise InputError("costs", "are for a width.", "Give `width`, or remove `costs`.")
    if np.shape(costs) != (2,) or not all(checks.number("costs", each) > 0 for each in costs):
        raise InputError("costs", f"must be the costs of a label and of a call, both above 0; they are {costs!r}.")
    label, call = costs
    variance = (target / (2 * ndtri((1 + model.confidence) / 2))) ** 2

    def cost(calls: float) -> float:
        return label * model.value.after_calls(calls, examples).labels_for(variance) + call * calls

    tried = np.concatenate([[0.0], np.geomspace(1, _MOST_CALLS * examples, _TRIED)])
    for _ in range(_REFINED):
        best = int(np.argmin([cost(calls) for calls in tried]))
        tried = np.linspace(tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)], _TRIED)
    calls = round(float(tried[np.argmin([cost(each) for each in tried.tolist()])]))
    return replace(model, value=model.value.after_calls(calls, examples), calls=calls, costs=(label, call))
