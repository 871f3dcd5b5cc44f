"""The tables that the command line prints."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayesperf import metrics
from bayesperf.counts.display import caption, figure
from bayesperf.counts.tables import SUMMARY_COLUMNS
from bayesperf.reports.analysis import Analysis, Settings
from bayesperf.reports.comparing import ABOUT_STANDING, STANDING, Compared
from bayesperf.reports.scores import (
    ABOUT_EXPECTED,
    AREAS,
    EXPECTED,
    ScoredSystems,
    about_areas,
    about_split,
    threshold_text,
)


def print_tables(analysis: Analysis, console: Console) -> None:
    """Print the summary, a row a metric and system, and the requirements."""
    summary = analysis.summary
    leading = [name for name in summary if name not in SUMMARY_COLUMNS]
    table = Table(title="How good is it?", title_justify="left")
    for name in ("metric", *leading):
        table.add_column(str(name), overflow="fold")
    for name in ("mean", f"{100 * analysis.settings.ci_prob:g} % HDI"):
        table.add_column(name, justify="right", no_wrap=True)
    previous = None
    for row in summary.to_dict("records"):
        new = row["metric"] != previous
        if new and previous and leading:
            table.add_section()
        previous = row["metric"]
        title = metrics.get(row["metric"]).title if new else ""
        width = row["ci_upper"] - row["ci_lower"]
        mean, lower, upper = (figure(row[name], width) for name in ("mean", "ci_lower", "ci_upper"))
        cells = [title, *(str(row[name]) for name in leading), mean, f"[{lower}, {upper}]"]
        table.add_row(*map(Text, cells))
    console.print(table)
    console.print(Text(f"{caption(summary.attrs)}{_monte_carlo(summary)}"))
    if analysis.requirements:
        console.print()
        console.print(_requirements(analysis))
        console.print(Text("Posterior probability that the system's metric meets the bound."))
    if analysis.scores is not None:
        print_scores(analysis.scores, console)


def print_scores(scores: ScoredSystems, console: Console) -> None:
    """Print the areas under curves, and what is expected at thresholds chosen on other examples, if those are known."""
    probability = f"{100 * scores.settings.ci_prob:g} %"
    console.print()
    console.print(_areas(scores, f"{probability} HDI"))
    console.print(Text(about_areas(scores)))
    if scores.split is not None:
        console.print()
        console.print(_expected(scores, f"{probability} ETI"))
        console.print(Text(f"{about_split(scores.split)} {ABOUT_EXPECTED}"))


def _areas(scores: ScoredSystems, interval: str) -> Table:
    rows = [
        [AREAS[row["area"]], *(row[dim] for dim in scores.dims), *_with_interval(row, "mean")]
        for row in scores.area_rows
    ]
    return _by_quantity("How well do the scores rank?", ["area", *scores.dims], ["mean", interval], rows)


def _expected(scores: ScoredSystems, interval: str) -> Table:
    rows = [
        [EXPECTED[row["quantity"]], *(row[dim] for dim in scores.dims), threshold_text(row["threshold"]),
         *_with_interval(row, "observed")]
        for row in scores.expected_rows
    ]  # fmt: skip
    return _by_quantity(
        "What is to be expected?", ["error rate", *scores.dims], ["threshold", "on test", interval], rows
    )


def _with_interval(row: Mapping[str, Any], centre: str) -> list[str]:
    width = row["ci_upper"] - row["ci_lower"]
    value, lower, upper = (figure(row[name], width) for name in (centre, "ci_lower", "ci_upper"))
    return [value, f"[{lower}, {upper}]"]


def _by_quantity(heading: str, names: list[str], figures: list[str], rows: list[list[str]]) -> Table:
    """Return a table of which each quantity, the first cell of its rows, is named once."""
    table = Table(title=heading, title_justify="left")
    for name in names:
        table.add_column(name, overflow="fold")
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    for row, previous in zip(rows, [None, *rows], strict=False):
        new = previous is None or row[0] != previous[0]
        if new and previous:
            table.add_section()
        table.add_row(*map(Text, [row[0] if new else "", *row[1:]]))
    return table


def _monte_carlo(summary: pd.DataFrame) -> str:
    drawn = summary[summary["method"] == "draws"]
    if drawn.empty:
        return ""
    names = ", ".join(metrics.get(name).title for name in drawn["metric"].unique())
    return f" By Monte Carlo, standard error of the mean at most {drawn['mcse'].max():.1g}: {names}."


def _requirements(analysis: Analysis) -> Table:
    table = Table(title="Does it meet the requirements?", title_justify="left")
    for dim in analysis.pooled.dims:
        table.add_column(str(dim))
    for requirement in analysis.requirements:
        table.add_column(str(requirement), justify="right")
    columns = [analysis.met(requirement) for requirement in analysis.requirements]
    if (jointly := analysis.met_jointly()) is not None:
        table.add_column("all at once", justify="right")
        columns.append(jointly)
    for index, names in systems(analysis):
        table.add_row(*map(Text, [*names, *(f"{column.values[index]:.3f}" for column in columns)]))
    return table


def systems(analysis: Analysis) -> list[tuple[tuple[int, ...], list[str]]]:
    """Return the position and the coordinates, as text, of every system in the pooled posterior."""
    leading = analysis.pooled.leading
    return [
        (at, [str(leading[dim].values[i]) for dim, i in zip(leading.dims, at, strict=True)])
        for at in np.ndindex(leading.shape)
    ]


def print_comparison(analysis: Analysis, console: Console) -> None:
    """Print the differences of the systems, a row a pair, and how each system stands."""
    settings = analysis.settings
    summaries = [compared.comparison.summary(settings.ci_prob) for compared in analysis.compared]
    for compared, summary in zip(analysis.compared, summaries, strict=True):
        console.print(_differences(compared, summary, settings))
    console.print(Text(f"{caption(summaries[0].attrs)}{_monte_carlo(pd.concat(summaries))} {how_related(analysis)}"))
    if rows := [row for compared in analysis.compared for row in compared.standing]:
        console.print()
        console.print(_standing(rows, several=len(analysis.compared[0].comparison.names) > 2))
        console.print(Text(ABOUT_STANDING))


def how_related(analysis: Analysis) -> str:
    """Return whether systems are compared example by example, and what to do if they could be."""
    if analysis.paired is not None:
        return (
            f"Paired: rows alike in {analysis.settings.id!r} are the same example, on which the systems are compared."
        )
    return (
        "Independent: the systems are taken as judged on different examples. If they judged the same, the differences "
        "are better known than that: name the column that identifies the examples, as --id example."
    )


def _differences(compared: Compared, summary: pd.DataFrame, settings: Settings) -> Table:
    better = f" ({words})" if (words := direction(compared.metric)) else ""
    table = Table(title=f"Is one better? {compared.metric.title}{better}", title_justify="left")
    leading = [str(dim) for dim in compared.comparison.difference.dims if dim != "pair"]
    # Without a region of practical equivalence they would only say P(a > b) again.
    probabilities = ["prob_greater", *(["below", "inside", "above"] if settings.rope else [])]
    for name in (*leading, "a − b"):
        table.add_column(name, overflow="fold")
    table.add_column(f"difference\n{100 * settings.ci_prob:g} % HDI", justify="right", no_wrap=True)
    for name in ("P(a > b)", *probabilities[1:]):
        table.add_column(name, justify="right", min_width=5)
    for row in summary.to_dict("records"):
        mean, lower, upper = signed(row)
        shares = [f"{row[name]:.3f}" for name in probabilities]
        names = [*(str(row[name]) for name in leading), f"{row['a']}\n− {row['b']}"]
        table.add_row(*map(Text, [*names, f"{mean}\n[{lower}, {upper}]", *shares]))
    return table


def _standing(rows: list[dict[Any, Any]], several: bool) -> Table:
    """Return how each system stands among the others, if they are several, and against the rules."""
    table = Table(title="How does each stand?", title_justify="left")
    shown = [*(["prob_best"] if several else []), "beats_chance", "beats_majority"]
    names = list(dict.fromkeys(name for row in rows for name in row if name not in STANDING))
    for name in names:
        table.add_column(str(name), overflow="fold")
    for name in shown:
        table.add_column(STANDING[name], justify="right")
    for row, previous in zip(rows, [None, *rows], strict=False):
        new = previous is None or row["metric"] != previous["metric"]
        if new and previous:
            table.add_section()
        title = metrics.get(row["metric"]).title if new else ""
        figures = ["—" if math.isnan(row[name]) else f"{row[name]:.3f}" for name in shown]
        table.add_row(*map(Text, [title, *(str(row.get(name, "")) for name in names[1:]), *figures]))
    return table


def direction(metric: metrics.Metric) -> str:
    """Return which way is better, in words; empty if neither is."""
    return {True: "more is better", False: "less is better", None: ""}[metric.greater_is_better]


def signed(row: Mapping[Any, Any]) -> list[str]:
    """Return the mean and the ends of the interval of a difference, with a minus that is one."""
    width = row["ci_upper"] - row["ci_lower"]
    values = [row[name] for name in ("mean", "ci_lower", "ci_upper")]
    return ["—" if math.isnan(value) else "−" * (value < 0) + figure(abs(value), width) for value in values]


def as_json(analysis: Analysis, with_comparison: bool = False) -> str:
    """Return all figures as JSON; infinite ones as strings."""
    requirements = [
        {"requirement": str(r), "metric": r.metric, "bound": r.bound, "probability": analysis.met(r).values.tolist()}
        for r in analysis.requirements
    ]
    jointly = analysis.met_jointly()
    document = {
        **_head(analysis),
        "interpretation": analysis.summary.attrs,
        "summary": _records(analysis.summary.to_dict("records")),
        "systems": [names for _, names in systems(analysis)],
        "requirements": requirements,
        "all_requirements": None if jointly is None else jointly.values.tolist(),
        **(_comparison(analysis) if with_comparison and analysis.compared else {}),
        **({} if analysis.scores is None else _scores(analysis.scores, with_comparison)),
    }
    return json.dumps(document, indent=2, allow_nan=False, default=str)


def comparison_as_json(analysis: Analysis) -> str:
    """Return all figures of a comparison as JSON: a row a pair, and a row a system."""
    return json.dumps({**_head(analysis), **_comparison(analysis)}, indent=2, allow_nan=False, default=str)


def _comparison(analysis: Analysis) -> dict[str, Any]:
    summaries = [compared.comparison.summary(analysis.settings.ci_prob) for compared in analysis.compared]
    return {
        "comparison": summaries[0].attrs,
        "paired": analysis.paired is not None,
        "differences": _records(row for summary in summaries for row in summary.to_dict("records")),
        "standing": _records(row for compared in analysis.compared for row in compared.standing),
    }


def _scores(scores: ScoredSystems, with_comparison: bool) -> dict[str, Any]:
    """Return the areas, and with a split what is expected; of a report also the areas compared, if they can be."""
    document: dict[str, Any] = {"areas": _records(scores.area_rows)}
    if with_comparison and scores.compared_areas:
        document["area_differences"] = [
            {**({"place": place} if place else {}), **row}
            for place, compared in scores.compared_areas.items()
            for row in _records(compared.summary(scores.settings.ci_prob).to_dict("records"))
        ]
    if scores.split is not None:
        document |= {"split": scores.split._asdict(), "expected": _records(scores.expected_rows)}
    return document


def _head(analysis: Analysis) -> dict[str, Any]:
    """Return what was asked, and of which counts."""
    counts = analysis.counts.counts
    return {
        "settings": asdict(analysis.settings),
        "labels": [str(label) for label in analysis.counts.labels],
        "counts": {"dims": [str(dim) for dim in counts.dims], "values": counts.values.tolist()},
    }


def _records(rows: Iterable[Mapping[Any, Any]]) -> list[dict[str, Any]]:
    return [{str(key): _plain(value) for key, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
