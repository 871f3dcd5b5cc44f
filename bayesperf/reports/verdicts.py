"""Whether requirements are shown met, shown missed or open: the rows of a gate, and their words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bayesperf.core.words import percentage, plural, printable
from bayesperf.distributions.beta import Beta
from bayesperf.plan.one_count import OneCount
from bayesperf.reports.blocks import Block, Column, Note, Sentence, rows_table

if TYPE_CHECKING:
    from bayesperf.posteriors.marginal import Marginal
    from bayesperf.reports.analysis import Analysis

# A report takes a requirement for settled if it is met with this probability, or with one less this.
CONFIDENCE = 0.95
# With more systems it takes too long to compute how many examples would settle each.
_MOST_PLANNED = 50
# How probable it is that the examples which would settle a requirement do so.
ASSURANCE = 0.8
MET, MISSED, OPEN = "met", "missed", "open"


class Verdict(NamedTuple):
    """What the data say of one requirement."""

    # What is required, in words.
    requirement: str
    # Which system it is; empty if there is one.
    system: str
    # What was seen, in words.
    observed: str
    # The posterior probability that it is met; None where a confidence sequence decides.
    probability: float | None
    # "met", "missed" or "open".
    verdict: str
    # What would settle it, in words; empty if it is settled, or nobody can say.
    more: str = ""


def verdict_of(probability: float, confidence: float) -> str:
    """Return what a probability shows: that it is met, that it is missed, or neither."""
    return MET if probability >= confidence else MISSED if probability <= 1 - confidence else OPEN


def overall(verdicts: Sequence[Verdict]) -> str:
    """Return the verdict on all requirements: missed if one is, else open if one is, else met."""
    found = {each.verdict for each in verdicts}
    return next((verdict for verdict in (MISSED, OPEN) if verdict in found), MET)


def in_one_sentence(verdicts: Sequence[Verdict], shown_by: str) -> str:
    """Return the verdict on all requirements, how many of them are what, and by which rule."""
    # A requirement of several systems has several verdicts.
    what, shown = ("verdict", "") if any(each.system for each in verdicts) else ("requirement", "shown ")
    words = {MET: f"{shown}{MET}", MISSED: f"{shown}{MISSED}", OPEN: OPEN}
    counts, of = Counter(each.verdict for each in verdicts), len(verdicts)
    if len(counts) == 1:
        every = {1: f"The {what} is", 2: f"Both {what}s are"}.get(of, f"All {of} {what}s are")
        return f"{every} {words[verdicts[0].verdict]} ({shown_by})."
    each = ", ".join(f"{counts[verdict]} {text}" for verdict, text in words.items() if counts[verdict])
    return f"{overall(verdicts).capitalize()}. Of {of} {what}s: {each} ({shown_by})."


def by_probability(confidence: float) -> str:
    """Return the rule by which probabilities are judged, in words."""
    return f"P ≥ {confidence:g} shows a requirement met, P ≤ {round(1 - confidence, 9):g} missed"


def by_sequence(confidence: float, steps: int) -> str:
    """Return the rule of repeated checks, in words."""
    run = "1 run so far" if steps == 1 else f"{steps} runs so far"
    return f"by a {percentage(confidence)} confidence sequence, which is valid however often you look; {run}"


# ── Of an analysis ──


def verdicts_of(analysis: Analysis, confidence: float = CONFIDENCE) -> list[Verdict]:
    """Return what the posterior shows of each requirement and system, by the requirements."""
    found, shape = [], analysis.pooled.leading.shape
    sizes, source = analysis.pooled_counts.total.transpose(*analysis.pooled.dims).values, analysis.attempts
    for requirement in analysis.requirements:
        marginal, met = analysis.marginals[requirement.metric], analysis.met(requirement).values.reshape(shape)
        for at, names in analysis.systems:
            verdict, more = verdict_of(float(met[at]), confidence), ""
            if verdict == OPEN and len(analysis.systems) <= _MOST_PLANNED:
                one = marginal.isel(**analysis.indices(at))
                n = int(sizes[at]) if source is None else source.units
                more = about_so_many(examples_to_settle(one, requirement.bound, n, confidence))
                more += f" {plural(source.dim)}" if more and source is not None else ""
            found.append(Verdict(str(requirement), ", ".join(names), "", float(met[at]), verdict, more))
    return found


def examples_to_settle(marginal: Marginal, bound: float, examples: int, confidence: float = CONFIDENCE) -> float | None:
    """Return how many more examples settle on which side of a bound a metric of one system lies.

    It is infinite if it is over a million trials, and None where the bound is an end, or the metric has none.

    The metric is taken for a share of trials. Where its posterior is a Beta it is one, and the number is that of
    `bayesperf.plan.sample_size`; elsewhere the Beta of the same mean and standard deviation stands for it, and the
    number is scaled by examples/(a + b), of the examples that its posterior comes of.
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
    n = OneCount(a, b, x, confidence).smallest_n(ASSURANCE, either_way=True)
    return math.inf if n is None else math.ceil(n * examples / trials)


def about_so_many(more: float | None) -> str:
    """Write a number with two digits: it is a plan."""
    if more is None:
        return ""
    if math.isinf(more):
        return "over a million"
    unit = 10 ** max(len(str(int(more))) - 2, 0)
    return f"about {math.ceil(more / unit) * unit:,}"


# ── As blocks ──


def as_blocks(verdicts: Sequence[Verdict], shown_by: str, read: str, of: str) -> list[Block]:
    """Return the verdict, what was read, a row for each requirement and system, and what would settle them.

    `of` is what the systems are called: they may be labels.
    """
    records = [each._asdict() for each in verdicts]
    every = (
        Column("verdict", ("verdict",)),
        Column("requirement", ("requirement",)),
        Column(of, ("system",)),
        Column("P(met)", ("probability",), "probability"),
        Column("observed", ("observed",)),
    )
    columns = [column for column in every if any(record[column.keys[0]] not in ("", None) for record in records)]
    return [
        Note(in_one_sentence(verdicts, shown_by), "answer"),
        Sentence(read),
        rows_table("", columns, records, name=("requirements",)),
        *(
            Sentence(
                f"To settle {each.requirement}{printable(f' for {each.system}') if each.system else ''}: {each.more} "
                f"(enough with probability {ASSURANCE:g})."
            )
            for each in verdicts
            if each.more
        ),
    ]
