"""How many more labels are needed, where examples are plenty and their true labels are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.words import format_value, metric_title
from bayesperf.labels.choosing_labels import value_of
from bayesperf.labels.worth_of_labels import LabelValue
from bayesperf.metrics.metric import Metric
from bayesperf.plan.sample_sizes import UnreachableError
from bayesperf.plan.smallest_number import smallest_by_bisection
from bayesperf.posteriors.posterior import Posterior


@dataclass(frozen=True, kw_only=True)
class LabelsPlan:
    """How many more labels a partly verified sample needs. Made by `bayesperf.plan.labels`.

    Attributes
    ----------
    advised : int
        Labels that are enough if they go where `bayesperf.labels.next_labels` says.
    by_chance : int or None
        Labels that are enough if examples are chosen by chance; None if all are not.
    claim : str
        What is planned for, in words.
    available : int
        Examples without a label.
    """

    advised: int
    by_chance: int | None
    claim: str
    available: int

    def in_words(self) -> str:
        """Return the answer in a sentence."""
        if not self.advised:
            return f"For {self.claim} no more labels are needed."
        chance = "all are not enough" if self.by_chance is None else f"about {self.by_chance:,}"
        return (
            f"For {self.claim} about {self.advised:,} more labels are needed where they tell most, and by chance "
            f"{chance}, of {self.available:,} examples without one."
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
) -> LabelsPlan:
    """Return how many more labels bring an interval to a width, or settle whether a requirement is met.

    Parameters
    ----------
    posterior : Posterior
        Of a partly verified sample (`bayesperf.labels.verify`): of one system, or of two, and then the
        difference of the two is planned for.
    metric : str or Metric
        A metric with a single value.
    width : float, optional
        Width that the credible interval is to have.
    requirement : float, optional
        In place of a width: what the metric is required to be. It is settled once the probability that the metric is
        above it is at least `confidence`, or at most one minus that.
    confidence : float
        Probability of the interval, or with which the requirement is settled.
    assurance : float
        Probability, as things stand, that it will be settled.

    Returns
    -------
    LabelsPlan

    Raises
    ------
    TypeError, ValueError
        As `bayesperf.labels.next_labels`; or if not exactly one of `width` and `requirement` is given.
    UnreachableError
        If the labels of all examples are not enough: the sample is too small, or the metric too near the requirement.

    Notes
    -----
    The posterior is taken for normal, with the variance that labels are expected to leave (to first order, see
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
    >>> round(plan.advised, -1), round(plan.by_chance, -1), plan.available
    (450, 650, 3900)
    """
    if (width is None) == (requirement is None):
        raise InputError("width, requirement", "give one of them.")
    confidence, assurance = checks.probability("confidence", confidence), checks.probability("assurance", assurance)
    value, metric = value_of(posterior, metric)
    title = metric_title(metric.name)
    if width is not None:
        if (width := checks.number("width", width)) <= 0:
            raise InputError("width", f"must be above 0; it is {width}.")
        claim = f"an interval of {title} of width {format_value(width)}"
        enough = _narrow(width, confidence)
    else:
        bound = checks.number("requirement", requirement)
        claim = f"settling whether {title} is above {format_value(bound)}"
        mean = np.subtract.reduce(np.atleast_1d(posterior[metric].mean().values))
        enough = _settled(float(mean), bound, confidence, assurance, value)
    left = int(value.available.sum())
    advised, by_chance = (_smallest(enough, value, way, left) for way in (value.allocation, value.by_chance))
    if advised is None:
        raise UnreachableError(
            f"for {claim}, the labels of all {left:,} examples are not enough. Predict more examples, or ask for less.",
            limit=float(np.sqrt(value.variance(value.available))),
        )
    return LabelsPlan(advised=advised, by_chance=by_chance, claim=claim, available=left)


def _smallest(
    enough: Callable[[float], bool], value: LabelValue, way: Callable[[int], Array | Counts], left: int
) -> int | None:
    """Return the smallest number of labels, spent in some way, that is enough; None if all that are left are not."""

    def holds(n: int) -> bool:
        return enough(value.variance(way(min(n, left))))

    return smallest_by_bisection(holds) if holds(left) else None


def _narrow(width: float, confidence: float) -> Callable[[float], bool]:
    half = width / 2 / stats.norm.isf((1 - confidence) / 2)
    return lambda variance: bool(np.sqrt(variance) <= half)


def _settled(
    mean: float, requirement: float, confidence: float, assurance: float, value: LabelValue
) -> Callable[[float], bool]:
    """Return whether a requirement will be settled with the assurance, by the variance that labels leave.

    The posterior mean to come is normal about the present one, with the variance that the labels take away.
    """
    now = value.variance(0 * value.available)

    def enough(variance: float) -> bool:
        margin, moves = stats.norm.isf(1 - confidence) * np.sqrt(variance), np.sqrt(max(now - variance, 1e-300))
        above, below = ((side * (mean - requirement) - margin) / moves for side in (1, -1))
        return bool(stats.norm.cdf(above) + stats.norm.cdf(below) >= assurance)

    return enough
