"""Do we have enough data? How many more examples would settle each open requirement."""

from __future__ import annotations

import math
from typing import Any

from bayesperf.core.words import chance, metric_title, printable, sentence
from bayesperf.distributions.beta import Beta
from bayesperf.plan.anytime import anytime_in_words
from bayesperf.plan.monitoring import monitor
from bayesperf.plan.one_count import OneCount
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.requirement import Requirement
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.page.blocks import place_of

# A requirement is settled if it is met with this probability, or with one less this; and settled data are to be had
# with this assurance.
CONFIDENCE, ASSURANCE = 0.95, 0.8
# The dim of batches that come one after another, after each of which somebody may look.
STEP = "step"
# Of more systems only those nearest to being settled are planned for.
_MOST_PLANNED = 12


def facts(analysis: Analysis) -> dict[str, Any]:
    """Return a row for each requirement and system that is open, and how wide the interval of the first metric is."""
    rows = _open(analysis)
    return {
        "rows": [
            {"name": name, "requirement": str(requirement), "met": chance(met), "examples": _examples(more)}
            for requirement, name, met, more in rows[:_MOST_PLANNED]
        ],
        "left_out": max(len(rows) - _MOST_PLANNED, 0),
        "settled": bool(analysis.requirements) and not rows,
        "confidence": CONFIDENCE,
        "assurance": ASSURANCE,
        "examples": int(analysis.pooled_counts.counts.sum()) // max(len(analysis.systems), 1),
        "width": width_in_words(analysis),
        "ask": analysis.way_in.require,
        "looks": looks_in_words(analysis),
    }


def in_words(analysis: Analysis) -> list[str]:
    """Return a sentence on the requirement that is open and takes the fewest examples to settle; none if all are."""
    rows = _open(analysis)
    if not rows:
        return []
    requirement, name, _, more = rows[0]
    who = f"{printable(name)} meets {requirement}" if name else f"{requirement} is met"
    others = f", and {len(rows) - 1} more {'question is' if len(rows) == 2 else 'questions are'} open"
    it_takes = f"it takes {_examples(more)} more examples to settle it{others if len(rows) > 1 else ''}"
    return [sentence(f"whether {who} is open: {it_takes}")]


def _open(analysis: Analysis) -> list[tuple[Requirement, str, float, int | None]]:
    """Return the open requirements, each with the system, the probability that it is met, and examples to settle it."""
    found = []
    sizes = analysis.pooled_counts.counts.transpose(*analysis.pooled.dims, ...).sum(["actual", "predicted"]).values
    for requirement in analysis.requirements:
        marginal, met = analysis.marginals[requirement.metric], analysis.met(requirement).values
        for at, name in place_of(analysis.pooled.leading):
            if 1 - CONFIDENCE < met[at] < CONFIDENCE:
                dims = dict(zip(analysis.pooled.dims, at, strict=True))
                more = examples_to_settle(
                    marginal.isel(**dims) if dims else marginal, requirement.bound, int(sizes[at])
                )
                found.append((requirement, name, float(met[at]), more))
    return sorted(found, key=lambda row: math.inf if row[3] is None else row[3])


def examples_to_settle(marginal: Marginal, bound: float, examples: int) -> int | None:
    """Return how many more examples settle on which side of a bound a metric lies; None if it is over a million trials.

    The metric is taken for a share of trials. Where its posterior is a Beta it is one, and the number is that of
    `bayesperf.plan.sample_size`; elsewhere the Beta of the same mean and standard deviation stands for it, whose trials
    are so much fewer or more than the examples as its weight is.

    Parameters
    ----------
    marginal : Marginal
        The metric of one system.
    bound : float
        What is required.
    examples : int
        How many examples its posterior comes of.
    """
    low, high = marginal.bounds
    if not math.isfinite(high - low) or not low < bound < high:
        return None
    distribution, x = marginal.distribution, (bound - low) / (high - low)
    if isinstance(distribution, Beta) and "trials" in marginal.observed.coords:
        a, b = (float(weight.ravel()[0]) for weight in (distribution.a, distribution.b))
        trials = float(marginal.observed["trials"])
    else:
        mean, sd = (marginal.mean().item() - low) / (high - low), marginal.sd().item() / (high - low)
        trials = mean * (1 - mean) / sd**2 - 1
        a, b = mean * trials, (1 - mean) * trials
    if trials <= 0:
        return None
    n = OneCount(a, b, x, CONFIDENCE).smallest_n(ASSURANCE, either_way=True)
    return None if n is None else math.ceil(n * examples / trials)


def looks_in_words(analysis: Analysis) -> list[str]:
    """Return a sentence on each requirement that holds however often one looks, of examples that come in batches."""
    settings = analysis.settings
    if STEP not in analysis.pooled_counts.dims or settings.cluster or settings.judge:
        return []
    found = [
        monitor(analysis.pooled_counts, each.bound, each.metric, prior=settings.prior, ci_prob=CONFIDENCE)
        for each in analysis.requirements
    ]
    return [anytime_in_words(each.dataset) for each in found]


def width_in_words(analysis: Analysis) -> str:
    """Return a sentence on the width of the interval of the first metric."""
    name, prob = analysis.metric_names[0], analysis.settings.ci_prob
    interval = analysis.marginals[name].hdi(prob).values.reshape(-1, 2)
    widest = float((interval[:, 1] - interval[:, 0]).max())
    at_most = "at most " if len(interval) > 1 else ""
    return f"the interval of {metric_title(name)} is {at_most}{widest:.2g} wide"


def _rounded(number: int) -> int:
    """Return a number with two digits: it is a plan."""
    digits = max(len(str(number)) - 2, 0)
    unit: int = 10**digits
    return math.ceil(number / unit) * unit


def _examples(more: int | None) -> str:
    return "more than a million" if more is None else f"about {_rounded(more):,}"
