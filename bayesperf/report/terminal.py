"""The tables that the command line prints."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayesperf import metrics
from bayesperf._display import caption, figure
from bayesperf._tables import SUMMARY_COLUMNS
from bayesperf.report.analysis import Analysis


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
    leading = analysis.pooled._leading
    return [
        (at, [str(leading[dim].values[i]) for dim, i in zip(leading.dims, at, strict=True)])
        for at in np.ndindex(leading.shape)
    ]


def as_json(analysis: Analysis) -> str:
    """Return all figures as JSON; infinite ones as strings."""
    requirements = [
        {"requirement": str(r), "metric": r.metric, "bound": r.bound, "probability": analysis.met(r).values.tolist()}
        for r in analysis.requirements
    ]
    jointly = analysis.met_jointly()
    document = {
        "settings": asdict(analysis.settings),
        "interpretation": analysis.summary.attrs,
        "labels": [str(label) for label in analysis.counts.labels],
        "counts": {
            "dims": [str(d) for d in analysis.counts.counts.dims],
            "values": analysis.counts.counts.values.tolist(),
        },
        "summary": [{str(k): _plain(v) for k, v in row.items()} for row in analysis.summary.to_dict("records")],
        "systems": [names for _, names in systems(analysis)],
        "requirements": requirements,
        "all_requirements": None if jointly is None else jointly.values.tolist(),
    }
    return json.dumps(document, indent=2, allow_nan=False, default=str)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
