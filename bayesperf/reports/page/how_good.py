"""How good is it? The classes of more than two one by one, and each metric with its density."""

from __future__ import annotations

from typing import Any

from bayesperf.posteriors.densities import without_density
from bayesperf.posteriors.summary_table import caption
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.page.blocks import metric_block
from bayesperf.reports.page.places import place_of

# Of more classes than the first number the table is folded, and so many of the least recognised stand open.
_MOST_OPEN, _WORST = 30, 10


def facts(analysis: Analysis) -> dict[str, Any]:
    """Return the tables of classes and the blocks of metrics."""
    ci_prob = analysis.settings.ci_prob
    return {
        "per_class": _per_class(analysis) if analysis.class_by_class else [],
        "blocks": [metric_block(name, analysis.marginals[name], ci_prob) for name in analysis.metric_names],
        "many": len(analysis.systems),
        "caption": caption(analysis.summary.attrs),
        "left_out": len(analysis.systems) - analysis.foremost.leading.size,
    }


def _per_class(analysis: Analysis) -> list[dict[str, Any]]:
    """Return a table for each system: of each class how many examples it has, and its recall, precision and F1."""
    posterior, found, ci_prob = analysis.foremost, analysis.class_by_class, analysis.settings.ci_prob
    support = analysis.foremost_counts.sum("predicted")
    tables = []
    for at, name in place_of(posterior.leading):
        estimates = {
            title: (marginal.mean().values[at], marginal.hdi(ci_prob).values[at]) for title, marginal in found.items()
        }
        means, ends = estimates["recall"]
        drawn = without_density(means, ends, [str(label) for label in posterior.labels])
        scale = svg.Scale(drawn)
        rows: list[dict[str, Any]] = [
            {
                "number": i + 1,
                "name": label,
                "support": int(support.values[at][i]),
                "figures": [(mean[i], *interval[i]) for mean, interval in estimates.values()],
                "picture": svg.strip(drawn, i, scale, "recall"),
            }
            for i, label in enumerate(drawn.names)
        ]
        worst = sorted(rows, key=lambda row: row["figures"][0][0])[:_WORST] if len(rows) > _MOST_OPEN else []
        tables.append({"name": name, "columns": list(found), "rows": rows, "worst": worst, "axis": svg.axis(scale)})
    return tables
