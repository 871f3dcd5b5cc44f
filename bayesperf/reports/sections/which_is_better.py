"""Which is better? The differences of the systems, metric by metric, and where each of them stands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from bayesperf.comparison.contrasts_in_words import opposite, second_is_better
from bayesperf.comparison.result import Comparison
from bayesperf.core.words import short_interval_name
from bayesperf.files.option_table import Settings
from bayesperf.posteriors.summary_table import caption
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Column, Figure, Folded, Note, Record, Rows, Sentence, Table, rows_table
from bayesperf.reports.comparison_tables import (
    ABOUT_STANDING,
    MOST_IN_PAIRS,
    STANDING,
    MetricComparison,
    about_contenders,
    about_pairing,
    monte_carlo,
    open_comparison,
    pairing_advice,
)
from bayesperf.reports.drawing import about, names_of, strips
from bayesperf.reports.sections import COMPARISON, REPORT, Section

# With more systems than these, only the first few metrics are pictured pair by pair.
_MOST_PICTURED, _FIRST_METRICS = 50, 2
# With more systems the order is folded.
_MOST_IN_ORDER = 20
# A page says this beside its pictures.
_REGIONS = "Below, inside, above: the probability that a − b is below, in or above the region of ±{:g} (--rope)."


def blocks(analysis: Analysis) -> list[Block]:
    """Return the differences and the standings by each metric, the first open; nothing if there is one system."""
    compared, settings = analysis.comparisons, analysis.settings
    if not compared:
        return []
    summaries = [each.differences(settings) for each in compared]
    first, *others = (
        _by_metric(each, summary, place, settings)
        for place, (each, summary) in enumerate(zip(compared, summaries, strict=True))
    )
    rest = len(others)
    title = f"By {rest} other metric{'s' * (rest > 1)}"
    attrs = {key: value for key, value in summaries[0].attrs.items() if key != "note"}
    attrs |= {"prior": analysis.prior_text} if settings.scores_alone else {}
    rules = ABOUT_STANDING if any(each.beaten for each in compared) else ""
    return [
        Sentence(about_pairing(analysis)),
        *pairing_advice(analysis),
        *first[:1],
        *map(Sentence, open_comparison(analysis)),
        *first[1:],
        *([Folded(title, [block for each in others for block in each])] if others else []),
        *_over_labels(analysis),
        *([Note(_REGIONS.format(settings.rope), "advice")] if settings.rope else []),
        Note(f"{caption(attrs)}{monte_carlo(analysis, pd.concat(summaries))} {rules}".strip()),
    ]


def _over_labels(analysis: Analysis) -> list[Block]:
    """Return the differences of metrics that are averaged over the labels of a row."""
    settings, found = analysis.settings, list[Block]()
    for each in analysis.compared_averages:
        title, summary = f"{each.comparison.title}, over labels", each.comparison.summary(settings.ci_prob)
        name, records = ("averages", "differences"), summary.to_dict("records")
        said = Sentence(each.in_words(settings.ci_prob), "Averaged over the labels", ("averages", "in_words"))
        found += [said, difference_table(each.comparison, records, title, "", settings.ci_prob, name=name)]
    return found


def _by_metric(compared: MetricComparison, summary: pd.DataFrame, place: int, settings: Settings) -> list[Block]:
    """Return what a metric says of the systems: in words, the differences, and where each system stands."""
    comparison, contenders = compared.comparison, [] if settings.all else compared.contenders
    title, beside = comparison.title, about(compared.metric)
    records = _better_first(comparison, summary.to_dict("records"))
    few, pairs = len(comparison.names) <= MOST_IN_PAIRS, comb(len(comparison.names), 2)
    if comparison.baseline is not None and not settings.all:
        shown = [each for each in records if each["b"] == comparison.baseline]
    else:
        shown = [each for each in records if few or settings.all or _is_of_best(each, contenders)]
    pictured = not few and (len(comparison.names) <= _MOST_PICTURED or place < _FIRST_METRICS)
    return [
        Sentence(compared.in_words(settings.ci_prob), name=("comparison_in_words",)),
        # The same of all metrics, it is said once.
        *([Sentence(compared.luck, name=("luck",))] if place == 0 and compared.luck else []),
        rows_table("", (), records, name=("differences",)),
        *([difference_table(comparison, shown, title, beside, settings.ci_prob)] if shown else []),
        *([Note(about_contenders(contenders, len(comparison.names)))] if contenders else []),
        *([Note("All pairs: --all.", "advice")] if len(shown) < max(len(records), pairs) else []),
        *(pictures(comparison) if pictured else []),
        *_standing(compared, contenders),
    ]


def _better_first(comparison: Comparison, records: Sequence[Record]) -> list[Record]:
    """Return a row for each pair of systems, in which a is the better one, as in the sentence above the table.

    If the question names the pair, by a baseline or as two posteriors, a and b are as named.
    """
    if comparison.baseline is not None or not comparison.many or comparison.quantity.greater_is_better is None:
        return list(records)
    return [opposite(each) if second_is_better(comparison, each["prob_greater"]) else each for each in records]


def _is_of_best(record: Record, contenders: Sequence[Any]) -> bool:
    """Whether a difference is between the first contender and another of them."""
    pair = record["a"], record["b"]
    return bool(contenders) and contenders[0] in pair and all(name in contenders for name in pair)


def difference_table(
    comparison: Comparison, records: Sequence[Record], title: str, beside: str, ci_prob: float, **more: Any
) -> Table:
    """Return a row for each pair of systems, with the region of practical equivalence beneath the intervals."""
    dims = [str(dim) for dim in comparison.difference.dims if dim != "pair"]
    records = _better_first(comparison, records)
    interval, rope = short_interval_name(ci_prob, "hdi"), comparison.rope
    # Without a region of practical equivalence the other probabilities would only repeat P(a > b).
    shares = ["below", "inside", "above"] if rope else []
    columns = [
        *names_of(dims),
        Column("a − b", ("a", "b"), "pair"),
        Column(f"difference\n{interval}", ("mean", "ci_lower", "ci_upper"), "estimate"),
        Column("P(a > b)", ("prob_greater",), "probability"),
        *(Column(name, (name,), "probability") for name in shares),
    ]
    names = [f"{record['a']} − {record['b']}" for record in records]
    draw = strips(records, names, f"difference of {comparison.title}", rope=rope)
    shaded = (
        f"; shaded: differences too small to matter, at most {rope:g}; below, inside, above: the probability "
        "that a − b is in that region"
        if rope
        else ""
    )
    reading = f"Dot: mean of the difference a − b; line: its {interval}{shaded}."
    return Table("", columns, [Rows(records, title, beside, draw)], reading=reading, **more)


def pictures(comparison: Comparison) -> list[Figure]:
    """Return pictures of P(a > b) and of the ranks, systems ordered by expected rank; none with leading dims."""
    if comparison.rank_order.ndim > 1:
        return []
    reading = f"By {comparison.title}, systems in the order of their ranks."
    return [Figure(partial(_pictures, comparison), reading=reading)]


def _pictures(comparison: Comparison) -> list[tuple[str, Markup]]:
    rows, title = comparison.rank_order.values, comparison.title
    greater = comparison.prob_greater.values[np.ix_(rows, rows)]
    label = f"heat map of the probability that the {title} of one system is greater than another's"
    drawn = [("P(a > b): rows a, columns b, numbered as in the order", svg.heat_map(greater, label, diverging=True))]
    if comparison.quantity.greater_is_better is None:
        return drawn
    ranks = comparison.ranks.values[rows]
    label = f"heat map of the probability of each rank of each system by {title}"
    return [*drawn, (f"P(rank): darkest, {ranks.max():.2f}", svg.heat_map(ranks / ranks.max(), label))]


def _standing(compared: MetricComparison, contenders: Sequence[Any]) -> list[Block]:
    """Return a row for each system, by expected rank if they are many in one place; of contenders before all others."""
    rows = compared.standing
    ranked = [] if len(compared.comparison.names) == 2 else ["prob_best"]
    if not rows or not (ranked or compared.beaten):
        return []
    few, title = len(compared.comparison.names) <= MOST_IN_PAIRS, compared.comparison.title
    dims = [name for name in rows[0] if name not in STANDING and name != "metric"]
    if not few and len(dims) == 1:
        rows = sorted(rows, key=lambda row: row["expected_rank"])
        rows = [row | {"place": i + 1} for i, row in enumerate(rows)]
    ranked += [] if few else ["expected_rank"]
    beaten = ["beats_chance", "beats_majority"] if compared.beaten else []
    kinds = {"expected_rank": "number"}
    columns = [
        *names_of(dims),
        *([Column("no.", ("place",), "count")] if "place" in rows[0] else []),
        *(Column(STANDING[name], (name,), kinds.get(name, "probability"))
          for name in (*ranked, *beaten)),
    ]  # fmt: skip
    every = rows_table(f"Standings: {title}", columns, rows, name=("standing",))
    if not contenders or len(rows) <= _MOST_IN_ORDER:
        return [every]
    best = [row for row in rows if row[compared.comparison.dim] in contenders]
    return [
        rows_table(f"Standings: {title}", columns, best),
        Folded(f"All {len(rows):,} in order", [every], is_printed=False),
    ]


SECTION = Section(30, "which_is_better", "Which is better?", blocks, (REPORT, COMPARISON))
