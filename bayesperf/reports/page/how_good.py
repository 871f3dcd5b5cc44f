"""How good is it, and is it good enough? Each metric with its density, classes one by one, and each requirement."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesperf import metrics
from bayesperf.comparison.comparing import compare
from bayesperf.core.words import likelihood, probability_value
from bayesperf.posteriors.densities import curves, intervals, without_density
from bayesperf.posteriors.requirement import Requirement
from bayesperf.posteriors.summary_table import caption
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.comparison_tables import RULES
from bayesperf.reports.page.blocks import MOST_DENSITIES, Picture, block_rows, metric_block, place_of

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


# ── Requirements: the probability that each is met, with its bound on the densities ──

# Of more classes trivial rules are left out: their draws take longer than all else.
_MOST_CLASSES = 20


def good_enough(analysis: Analysis) -> dict[str, Any]:
    """Return a table of all requirements, and a block for each; without requirements what any system should beat."""
    return {
        "requirements": _table(analysis),
        "blocks": [_required_block(analysis, requirement) for requirement in analysis.requirements],
        "ask": analysis.way_in.require,
        "trivial": [] if analysis.requirements or analysis.comparisons else _beaten(analysis),
    }


def _table(analysis: Analysis) -> dict[str, Any] | None:
    """Return the probabilities that each system meets each requirement, and all of them at once."""
    if not analysis.requirements:
        return None
    columns = {str(r): analysis.met(r).values for r in analysis.requirements}
    if (jointly := analysis.met_jointly()) is not None:
        columns["all at once"] = jointly.values
    rows = []
    for index, names in analysis.systems:
        values = [values[index] for values in columns.values()]
        rows.append((", ".join(names), [probability_value(value) for value in values], likelihood(float(values[-1]))))
    return {"columns": list(columns), "rows": rows}


def _required_block(analysis: Analysis, requirement: Requirement) -> dict[str, Any]:
    """Return the densities of a required metric, with the bound beneath."""
    marginal = analysis.marginals[requirement.metric]
    many = marginal.leading.size > MOST_DENSITIES
    drawn = (intervals if many else curves)(marginal, analysis.settings.ci_prob, "hdi")
    scale = svg.Scale(drawn, [requirement.bound])
    height = svg.FLAT if many else svg.HEIGHT
    beneath = [svg.bound(requirement.bound, requirement.at_least, scale, height)]
    picture: Picture = svg.strip if many else svg.density
    title = metrics.get(requirement.metric).title
    return {"title": str(requirement), **block_rows(drawn, drawn.observed, title, picture, beneath, scale)}


def _beaten(analysis: Analysis) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the probabilities that each system is better than each trivial rule, by the first metric."""
    name = analysis.metric_names[0]
    if len(analysis.counts.labels) > _MOST_CLASSES:
        return []
    found = {}
    for rule in RULES:
        try:
            found[rule] = compare(analysis.pooled, rule, name).prob_better.values
        except ValueError:
            # Of the rule the metric is undefined (0/0), or neither direction is better.
            continue
    return [
        (
            ", ".join(names),
            [(rule, probability_value(float(np.asarray(values[index])))) for rule, values in found.items()],
        )
        for index, names in analysis.systems
        if found
    ]
