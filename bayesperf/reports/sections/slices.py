"""Which slices are the worst? The levels of each dim and the worst slices, observed beside estimated."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bayesperf import groups, metrics
from bayesperf.core.words import chance, enumerated, estimate, printable, sentence, short_interval_name
from bayesperf.data.axis_names import are_times
from bayesperf.groups.slices_in_words import rows_of_slices
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Column, Folded, Note, Rows, Sentence, Table, figures, rows_table
from bayesperf.reports.drawing import about, strips
from bayesperf.reports.sections import REPORT, SUMMARY, Section

# So many of the worst slices are shown.
_WORST = 8


def blocks(analysis: Analysis) -> list[Block]:
    """Return sentences and a table for each metric, and how much the levels of each dim differ."""
    sliced = analysis.slices
    if sliced is None:
        return []
    found, ci_prob = sliced.found, analysis.settings.ci_prob
    first, *others = ([*_of_metric(found, metric, ci_prob)] for metric in sliced.metrics)
    titles = [analysis.metric(metric).title for metric in sliced.metrics[1:]]
    return [
        *(Note(text, "warning") for text in sliced.warnings),
        Sentence(_about(analysis)),
        *first,
        *(Folded(title, each) for title, each in zip(titles, others, strict=True)),
        *_for_programs(found, sliced.metrics, ci_prob),
    ]


def sentences(analysis: Analysis) -> list[str]:
    """Return sentences on the slices by the first metric, if there are any."""
    sliced = analysis.slices
    if sliced is None or not sliced.metrics:
        return []
    metric, ci_prob = sliced.metrics[0], analysis.settings.ci_prob
    return [*_over_time(sliced.found, metric, ci_prob), *sliced.found.sentences(metric, ci_prob=ci_prob)]


def _about(analysis: Analysis) -> str:
    assert analysis.slices is not None
    found, name = analysis.slices.found, analysis.slices.system
    best = f" of {name}, the best," if name and len(analysis.systems) > 1 else f" of {name}" if name else ""
    levels = [found.cm.counts.sizes[dim] for dim in found.dims]
    sizes = f"{levels[0]} slices" if len(levels) == 1 else f"{' × '.join(map(str, levels))} slices"
    several = " Each level has its own mix of the other columns; gaps compare levels at the same mix."
    return (
        f"{sentence(f'the predictions{best} sliced by {enumerated(list(found.dims))} ({sizes})')} A slice is shrunk "
        "towards the others, more strongly the fewer examples (n) it has."
        f"{several if len(found.dims) > 1 else ''}"
    )


def _over_time(found: groups.Slices, metric: str, ci_prob: float) -> list[str]:
    """Return a sentence on the first and the last level of each dim whose levels are times."""
    said, title = [], found[metric].quantity.title
    for dim in found.dims:
        names = found.cm.counts[dim].values.tolist()
        if not are_times(names):
            continue
        gaps = found.gap(dim, metric, ci_prob=ci_prob)
        (row,) = gaps[(gaps[dim] == names[0]) & (gaps[f"{dim}_other"] == names[-1])].to_dict("records")
        is_worse = row["prob_greater"] if metrics.get(metric).better > 0 else 1 - row["prob_greater"]
        change = estimate(-row["mean"], -row["ci_upper"], -row["ci_lower"], ci_prob, "hdi")
        first, last = (printable(str(names[place])) for place in (0, -1))
        said.append(
            f"From {dim} {first}, the first, to {last}, the last, {title} changes by {change}: it is worse in the last "
            f"with probability {chance(is_worse)}."
        )
    return said


def _of_metric(found: groups.Slices, metric: str, ci_prob: float) -> list[Block]:
    """Return a metric's sentences, and rows that are all drawn on one scale."""
    records: list[dict[str, Any]] = []
    for block in rows_of_slices(found, metric, _WORST, ci_prob, "hdi"):
        records += [
            {"what": block.heading, "name": name, "n": n, "observed": seen, "mean": mean, "ci_lower": ends[0],
             "ci_upper": ends[1]}
            for name, n, seen, mean, ends in zip(*block[1:], strict=True)
        ]  # fmt: skip
    columns = [
        *([Column("of", ("what",))] if len(found.dims) > 1 else []),
        Column("level, or slice" if len(found.dims) > 1 else found.dims[0], ("name",)),
        Column("n", ("n",), "count"),
        *figures(short_interval_name(ci_prob, "hdi"), observed="observed", mean="mean"),
    ]
    title = found[metric].quantity.title
    draw = strips(records, [record["name"] for record in records], title, marked="observed")
    said = [*_over_time(found, metric, ci_prob), *found.sentences(metric, ci_prob=ci_prob)]
    return [
        *(Sentence(text, name=("slices", "metrics", metric, "in_words")) for text in said),
        Table("", columns, [Rows(records, title, about(metrics.get(metric)), draw)], reading=_READING),
    ]


_READING = "Dot: estimated mean; line: its interval; ring: observed."


def _for_programs(found: groups.Slices, names: list[str], ci_prob: float) -> list[Table]:
    """Return all slices, the gaps of all pairs of levels, and how much the levels of each dim differ, as records."""
    tables: dict[tuple[str, ...], pd.DataFrame] = {("which_dim", "rows"): found.which_dim(ci_prob)}
    for metric in names:
        tables["metrics", metric, "slices"] = found.summary(metric, ci_prob)
        tables |= {("metrics", metric, "gaps", dim): found.gap(dim, metric, ci_prob=ci_prob) for dim in found.dims}
    return [rows_table("", (), table.to_dict("records"), name=("slices", *place)) for place, table in tables.items()]


SECTION = Section(95, "slices", "Which slices are the worst?", blocks, (REPORT, SUMMARY))
