"""The tables that the command line prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayesperf import metrics
from bayesperf.core.words import format_value, printable, probability_value, short_interval_name
from bayesperf.data.count_arrays import SUMMARY_COLUMNS
from bayesperf.files.settings import Settings
from bayesperf.posteriors.summary_table import caption
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.answers_in_words import comparisons_in_words, in_short, what_was_read
from bayesperf.reports.comparison_tables import (
    ABOUT_STANDING,
    STANDING,
    MetricComparison,
    about_contenders,
    about_pairing,
    better_direction,
    of_best,
    signed_values,
)
from bayesperf.reports.scores import (
    ABOUT_EXPECTED,
    AREAS,
    EXPECTED,
    ScoredSystems,
    about_areas,
    about_split,
    threshold_text,
)
from bayesperf.reports.sliced import SlicedSystem

# So many slices are printed.
_WORST = 10
# Longer names than this may be broken.
_LONGEST_NAME = 24


def print_tables(analysis: Analysis, console: Console) -> None:
    """Print what was read, what it comes to in words, a row for each metric and system, and the requirements."""
    _print_words([what_was_read(analysis), *in_short(analysis)], console)
    summary = analysis.summary
    leading = [name for name in summary if name not in SUMMARY_COLUMNS]
    table = Table(title="How good is it?", title_justify="left")
    table.add_column("metric", overflow="fold")
    for name in leading:
        _add_names(table, str(name), summary[name])
    for name in ("observed", "mean", short_interval_name(analysis.settings.ci_prob, "hdi")):
        table.add_column(name, justify="right", no_wrap=True)
    previous = None
    for row in summary.to_dict("records"):
        new = row["metric"] != previous
        if new and previous and leading:
            table.add_section()
        previous = row["metric"]
        title = metrics.get(row["metric"]).title if new else ""
        width = row["ci_upper"] - row["ci_lower"]
        figures = (format_value(row[name], width) for name in ("observed", "mean", "ci_lower", "ci_upper"))
        observed, mean, lower, upper = figures
        cells = [title, *(str(row[name]) for name in leading), observed, mean, f"[{lower}, {upper}]"]
        table.add_row(*map(_text, cells))
    console.print(table)
    pairing = f" {about_pairing(analysis)}" if analysis.comparisons else ""
    console.print(_text(f"{caption(summary.attrs)}{_monte_carlo(summary)}{pairing}"))
    if analysis.selection:
        console.print(_text(analysis.selection))
    if analysis.requirements:
        console.print()
        console.print(_requirements(analysis))
        console.print(Text("Posterior probability that the system's metric meets the bound."))
    if analysis.scores is not None:
        print_scores(analysis.scores, console)
    if analysis.slices is not None:
        print_slices(analysis.slices, console, analysis.settings.ci_prob)


def _print_words(sentences: Sequence[str], console: Console) -> None:
    for text in sentences:
        console.print(_text(text))
    console.print()


def print_scores(scores: ScoredSystems, console: Console) -> None:
    """Print the areas under curves and, with a split, the performance at thresholds chosen on development examples."""
    ci_prob = scores.settings.ci_prob
    console.print()
    console.print(_areas(scores, short_interval_name(ci_prob, "hdi")))
    console.print(Text(about_areas(scores)))
    for text in scores.probabilities_in_words if scores.are_probabilities else []:
        console.print(_text(text))
    if scores.split is not None:
        console.print()
        console.print(_expected(scores, short_interval_name(ci_prob, "eti")))
        console.print(_text(f"{about_split(scores.split)} {ABOUT_EXPECTED}"))


def print_slices(sliced: SlicedSystem, console: Console, ci_prob: float) -> None:
    """Print by each metric where a system fails, in words, and its worst slices."""
    found = sliced.found
    console.print()
    for metric in sliced.metrics:
        rows = found.summary(metric, ci_prob).sort_values("mean", ascending=found[metric].greater_is_better is True)
        of_system = f" {printable(sliced.system)}" if sliced.system else ""
        table = Table(title=f"Where does it fail?{of_system}, {metrics.get(metric).title}", title_justify="left")
        for dim in found.dims:
            table.add_column(_text(dim), overflow="fold")
        for name in ("n", "observed", "mean", short_interval_name(ci_prob, "hdi"), "P(worst)"):
            table.add_column(name, justify="right", no_wrap=True)
        for row in rows.head(_WORST).to_dict("records"):
            width = row["ci_upper"] - row["ci_lower"]
            observed, mean, lower, upper = (
                format_value(row[name], width) for name in ("observed", "mean", "ci_lower", "ci_upper")
            )
            places = [row[dim] for dim in found.dims]
            figures = [
                f"{row['n']:,}",
                observed or "—",
                mean,
                f"[{lower}, {upper}]",
                probability_value(row["prob_worst"]),
            ]
            table.add_row(*map(_text, [*places, *figures]))
        console.print(table)
        _print_words(found.sentences(metric, ci_prob=ci_prob), console)


def _add_names(table: Table, heading: str, names: Iterable[Any]) -> None:
    """Add a column of names, none of which is broken unless it is very long."""
    longest = max((len(printable(str(name))) for name in names), default=0)
    table.add_column(_text(heading), overflow="fold", no_wrap=longest <= _LONGEST_NAME)


def _text(value: Any) -> Text:
    """Write a cell, in which nothing that a user wrote steers the terminal."""
    return Text(printable(str(value)))


def _areas(scores: ScoredSystems, interval: str) -> Table:
    """Return a table of the areas under curves."""
    rows = [
        [AREAS[row["area"]], *(row[dim] for dim in scores.dims), *_with_interval(row, "mean")]
        for row in scores.area_rows
    ]
    return _by_quantity("How well do the scores rank?", ["area", *scores.dims], ["mean", interval], rows)


def _expected(scores: ScoredSystems, interval: str) -> Table:
    """Return a table of the error rates on test examples, at thresholds chosen on development examples."""
    rows = [
        [EXPECTED[row["quantity"]], *(row[dim] for dim in scores.dims), threshold_text(row["threshold"]),
         *_with_interval(row, "observed")]
        for row in scores.expected_rows
    ]  # fmt: skip
    return _by_quantity(
        "What is to be expected?", ["error rate", *scores.dims], ["threshold", "on test", interval], rows
    )


def _with_interval(row: Mapping[str, Any], centre: str) -> list[str]:
    """Write a value and its interval."""
    width = row["ci_upper"] - row["ci_lower"]
    value, lower, upper = (format_value(row[name], width) for name in (centre, "ci_lower", "ci_upper"))
    return [value, f"[{lower}, {upper}]"]


def _by_quantity(heading: str, names: list[str], figures: list[str], rows: list[list[str]]) -> Table:
    """Return a table whose rows begin with a quantity, which is shown in the first of its rows alone."""
    table = Table(title=heading, title_justify="left")
    for name in names:
        table.add_column(_text(name), overflow="fold")
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    for row, previous in zip(rows, [None, *rows], strict=False):
        new = previous is None or row[0] != previous[0]
        if new and previous:
            table.add_section()
        table.add_row(*map(_text, [row[0] if new else "", *row[1:]]))
    return table


def _monte_carlo(summary: pd.DataFrame) -> str:
    """Return a sentence on the Monte Carlo errors of a summary; empty if nothing was drawn."""
    drawn = summary[summary["method"] == "draws"]
    if drawn.empty:
        return ""
    names = ", ".join(metrics.get(name).title for name in drawn["metric"].unique())
    return f" By Monte Carlo, standard error of the mean at most {drawn['mcse'].max():.1g}: {names}."


def _requirements(analysis: Analysis) -> Table:
    """Return a table of the probabilities that each system meets the requirements."""
    table = Table(title="Does it meet the requirements?", title_justify="left")
    for dim in analysis.pooled.dims:
        table.add_column(_text(dim))
    for requirement in analysis.requirements:
        table.add_column(_text(requirement), justify="right")
    columns = [analysis.met(requirement) for requirement in analysis.requirements]
    if (jointly := analysis.met_jointly()) is not None:
        table.add_column("all at once", justify="right")
        columns.append(jointly)
    for index, names in analysis.systems:
        table.add_row(*map(_text, [*names, *(probability_value(column.values[index]) for column in columns)]))
    return table


def print_comparison(analysis: Analysis, console: Console) -> None:
    """Print in words which system is better, their differences, a row for each pair, and the standing of each."""
    settings = analysis.settings
    _print_words([what_was_read(analysis), *comparisons_in_words(analysis)], console)
    comparisons = analysis.comparisons
    summaries = [each.comparison.summary(settings.ci_prob) for each in comparisons]
    contenders = [[] if settings.all else each.contenders for each in comparisons]
    for each, summary, names in zip(comparisons, summaries, contenders, strict=True):
        console.print(_differences(each, of_best(summary, names), settings))
        if names:
            console.print(_text(about_contenders(names, len(each.comparison.names))))
    errors, pairing = _monte_carlo(pd.concat(summaries)), about_pairing(analysis)
    console.print(_text(f"{caption(summaries[0].attrs)}{errors} {pairing}"))
    if analysis.selection:
        console.print(_text(analysis.selection))
    shown = zip(comparisons, contenders, strict=True)
    if rows := [
        row for each, names in shown for row in each.standing if not names or row[each.comparison.dim] in names
    ]:
        console.print()
        console.print(_standing(rows, several=len(comparisons[0].comparison.names) > 2))
        console.print(Text(ABOUT_STANDING))


def _differences(compared: MetricComparison, summary: pd.DataFrame, settings: Settings) -> Table:
    better = f" ({words})" if (words := better_direction(compared.metric)) else ""
    table = Table(title=f"Is one better? {compared.metric.title}{better}", title_justify="left")
    leading = [str(dim) for dim in compared.comparison.difference.dims if dim != "pair"]
    # Without a region of practical equivalence the other probabilities would only repeat P(a > b).
    probabilities = ["prob_greater", *(["below", "inside", "above"] if settings.rope else [])]
    for name in (*leading, "a − b"):
        table.add_column(_text(name), overflow="fold")
    table.add_column(f"difference\n{short_interval_name(settings.ci_prob, 'hdi')}", justify="right", no_wrap=True)
    for name in ("P(a > b)", *probabilities[1:]):
        table.add_column(name, justify="right", min_width=5)
    for row in summary.to_dict("records"):
        mean, lower, upper = signed_values(row)
        cells = [probability_value(row[name]) for name in probabilities]
        # A line each: what breaks lines in names is escaped first.
        pair = Text("\n− ").join([_text(row["a"]), _text(row["b"])])
        names = [*(_text(row[name]) for name in leading), pair]
        table.add_row(*names, *map(Text, [f"{mean}\n[{lower}, {upper}]", *cells]))
    return table


def _standing(rows: list[dict[Any, Any]], several: bool) -> Table:
    """Return a table of each system's standing: among the others, if there are several, and against trivial rules."""
    table = Table(title="How does each stand?", title_justify="left")
    columns = [*(["prob_best"] if several else []), "beats_chance", "beats_majority"]
    names = list(dict.fromkeys(name for row in rows for name in row if name not in STANDING))
    for name in names:
        table.add_column(_text(name), overflow="fold")
    for name in columns:
        table.add_column(STANDING[name], justify="right")
    for row, previous in zip(rows, [None, *rows], strict=False):
        new = previous is None or row["metric"] != previous["metric"]
        if new and previous:
            table.add_section()
        title = metrics.get(row["metric"]).title if new else ""
        figures = [probability_value(row[name]) for name in columns]
        table.add_row(*map(_text, [title, *(row.get(name, "") for name in names[1:]), *figures]))
    return table
