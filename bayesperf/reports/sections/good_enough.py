"""Is it good enough? How probably each requirement is met; without requirements, whether it beats trivial rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayesperf.comparison.comparing import compare
from bayesperf.core.words import enumerated, probability_value
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Column, Sentence, rows_table
from bayesperf.reports.comparison_tables import RULES
from bayesperf.reports.drawing import names_of
from bayesperf.reports.sections import REPORT, SUMMARY, Section

# Of more classes trivial rules are left out: their draws take longer than all else.
_MOST_CLASSES = 20
_RULES = {"chance": "chance (each class as often as it occurs, at random)", "majority": "always the majority class"}


def blocks(analysis: Analysis) -> list[Block]:
    """Return the probabilities that requirements are met, or those that trivial rules are beaten."""
    if not analysis.requirements:
        return [] if analysis.comparisons else list(_beaten(analysis))
    columns = {str(requirement): analysis.met(requirement).values for requirement in analysis.requirements}
    if (jointly := analysis.met_jointly()) is not None:
        columns["all at once"] = jointly.values
    dims = list(map(str, analysis.pooled.dims))
    records = [
        dict(zip(dims, names, strict=True)) | {text: float(values[at]) for text, values in columns.items()}
        for at, names in analysis.systems
    ]
    shown = [*names_of(dims), *(Column(text, (text,), "probability") for text in columns)]
    return [rows_table("Posterior probability that each requirement is met", shown, records)]


def _beaten(analysis: Analysis) -> Iterator[Sentence]:
    """Yield how probably each system is better than each trivial rule, by the headline metric."""
    if len(analysis.counts.labels) > _MOST_CLASSES:
        return
    found = {}
    for rule in RULES:
        try:
            found[rule] = compare(analysis.pooled, rule, analysis.headline[0]).prob_better.values
        except ValueError:
            # Of the rule the metric is undefined (0/0), or neither direction is better.
            continue
    for at, names in analysis.systems if found else []:
        values = {rule: probability_value(float(np.asarray(each[at]))) for rule, each in found.items()}
        said = enumerated([f"better than {_RULES[rule]} with probability {value}" for rule, value in values.items()])
        yield Sentence(f"It is {said}.", ", ".join(names))


SECTION = Section(20, "good_enough", "Is it good enough?", blocks, (REPORT, SUMMARY))
