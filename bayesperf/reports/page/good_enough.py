"""Is it good enough? The probability that each requirement is met, with its bound on the densities."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesperf import metrics
from bayesperf.comparison.comparing import compare
from bayesperf.core.words import likelihood, probability_value
from bayesperf.posteriors.densities import curves, intervals
from bayesperf.posteriors.requirement import Requirement
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.comparison_tables import RULES
from bayesperf.reports.page.blocks import MOST_DENSITIES, Picture, block_rows

# Of more classes trivial rules are left out: their draws take longer than all else.
_MOST_CLASSES = 20


def facts(analysis: Analysis) -> dict[str, Any]:
    """Return a table of all requirements, and a block for each; without requirements what any system should beat."""
    return {
        "requirements": _table(analysis),
        "blocks": [_block(analysis, requirement) for requirement in analysis.requirements],
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


def _block(analysis: Analysis, requirement: Requirement) -> dict[str, Any]:
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
