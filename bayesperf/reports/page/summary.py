"""The summary: three to six sentences, and the figure of the first metric."""

from __future__ import annotations

from typing import Any

from bayesperf import metrics
from bayesperf.plots.densities import curves
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.in_words import in_short, what_was_read
from bayesperf.reports.page import enough_data, trust, where_it_fails

MOST_SENTENCES = 6


def facts(analysis: Analysis) -> dict[str, Any]:
    """Return sentences and the main figure."""
    return {"read": what_was_read(analysis), "sentences": sentences(analysis), "figure": _figure(analysis)}


def sentences(analysis: Analysis) -> list[str]:
    """Return what the page comes to: how good, whether good enough, which is better, where it fails, what to mind."""
    first = in_short(analysis)
    last = [
        *where_it_fails.in_words(analysis)[:1],
        *enough_data.in_words(analysis)[:1],
        *trust.cautions(analysis)[:1],
    ]
    return [*first[: MOST_SENTENCES - len(last)], *last]


def _figure(analysis: Analysis) -> dict[str, Any]:
    """Return the densities of the first metric over each other, with the bound that it is to meet."""
    name, foremost = analysis.metric_names[0], analysis.foremost
    metric = metrics.get(name)
    marginal = foremost[name]
    if metric.average == "per_class":
        marginal = marginal.isel(label=0)
    drawn = curves(marginal, analysis.settings.ci_prob, "hdi")
    bounds = [(r.bound, r.at_least) for r in analysis.requirements if r.metric == name]
    scale = svg.Scale(drawn, [bound for bound, _ in bounds])
    rest = len(analysis.systems) - len(drawn.names)
    return {
        "title": metric.title,
        "picture": svg.overlay(drawn, scale, f"{metric.title}: posterior density of each system", bounds[:1]),
        "legend": [(name, svg.colour(i)) for i, name in enumerate(drawn.names) if name],
        "bound": str(next((r for r in analysis.requirements if r.metric == name), "")),
        "rest": rest,
    }
