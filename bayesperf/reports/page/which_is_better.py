"""Which is better? The differences of the systems, metric by metric, and where each of them stands."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from bayesperf.comparison.result import Comparison
from bayesperf.core.words import LOOKS_BETTER, metric_title, probability_value
from bayesperf.files.settings import Settings
from bayesperf.posteriors.densities import reach, without_density
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.comparison_tables import (
    MOST_IN_PAIRS,
    STANDING,
    MetricComparison,
    about_pairing,
    about_standing,
    signed_values,
)
from bayesperf.reports.page.blocks import about

# Of more systems than these only the first few metrics are pictured pair by pair.
_MOST_PICTURED, _FIRST_METRICS = 50, 2


def facts(analysis: Analysis) -> dict[str, Any] | None:
    """Return a block for each metric; nothing if there is one system."""
    if not analysis.comparisons:
        return None
    return {
        "blocks": [_block(compared, i, analysis.settings) for i, compared in enumerate(analysis.comparisons)],
        "related": about_pairing(analysis),
        "about_standing": about_standing(analysis.comparisons),
        "rope": analysis.settings.rope,
    }


def _block(compared: MetricComparison, place: int, settings: Settings) -> dict[str, Any]:
    """Return a metric's differences, a row for each pair; for many systems, pictures of all pairs and ranks instead."""
    few, said = is_few(compared.comparison), compared.comparison.in_words(ci_prob=settings.ci_prob)
    pictured = len(compared.comparison.names) <= _MOST_PICTURED or place < _FIRST_METRICS
    shown = pairs(compared.comparison, settings) if few else {"pictures": pictures(compared.comparison, pictured)}
    return {
        **about(compared.metric),
        # What goes for the best by any metric is said of the first.
        "said": said if place == 0 else said.removesuffix(LOOKS_BETTER),
        "standing": _standing(compared, few),
        **shown,
    }


def is_few(comparison: Comparison) -> bool:
    """Whether systems are so few that all pairs are listed."""
    return len(comparison.names) <= MOST_IN_PAIRS


def pairs(comparison: Comparison, settings: Settings) -> dict[str, Any]:
    """Return a row for each pair of systems, with the region of practical equivalence beneath."""
    summary, rope = comparison.summary(settings.ci_prob), settings.rope
    names = [f"{a} − {b}" for a, b in zip(summary["a"], summary["b"], strict=True)]
    drawn = without_density(summary["mean"].to_numpy(), summary[["ci_lower", "ci_upper"]].to_numpy(), names)
    scale = svg.Scale(drawn._replace(x=np.array([reach(drawn, rope)])))
    dims = [dim for dim in comparison.difference.dims if dim != "pair"]
    title = f"difference of {metric_title(comparison.metric)}"
    beneath = svg.equivalence(rope, scale)
    rows = [
        {
            "where": ", ".join(str(row[dim]) for dim in dims),
            "a": row["a"],
            "b": row["b"],
            "figures": signed_values(row),
            "probabilities": {
                name: probability_value(row[name]) for name in ("prob_greater", "below", "inside", "above")
            },
            "picture": svg.strip(drawn, i, scale, title, beneath),
        }
        for i, row in enumerate(summary.to_dict("records"))
    ]
    return {"rows": rows, "axis": svg.axis(scale)}


def pictures(comparison: Comparison, pictured: bool = True) -> list[tuple[str, Markup]]:
    """Return pictures of P(a > b) and of the ranks, systems ordered by expected rank; none with leading dims."""
    order = comparison.rank_order
    if order.ndim > 1 or not pictured:
        return []
    rows, title = order.values, metric_title(comparison.metric)
    matrix = svg.heat_map(
        comparison.prob_greater.values[np.ix_(rows, rows)],
        f"heat map of the probabilities that the {title} of one system is greater than that of another",
        diverging=True,
    )
    if comparison.greater_is_better is None:
        return [("P(a > b): rows a, columns b, in the order of the tables above", matrix)]
    ranks = comparison.ranks.values[rows]
    pictured_ranks = svg.heat_map(
        ranks / ranks.max(), f"heat map of the probability of each rank of each system by {title}"
    )
    return [
        ("P(a > b): rows a, columns b, numbered as in the table", matrix),
        (f"P(rank): darkest, {ranks.max():.2f}", pictured_ranks),
    ]


def _standing(compared: MetricComparison, few: bool) -> dict[str, Any] | None:
    """Return a row for each system: in order, or numbered by expected rank if there are many systems in one place."""
    rows = compared.standing
    if not rows:
        return None
    names = [name for name in rows[0] if name not in STANDING and name != "metric"]
    numbered = not few and len(names) == 1
    if numbered:
        rows = sorted(rows, key=lambda row: row["expected_rank"])
    ranked = [] if len(compared.comparison.names) == 2 else ["prob_best"] if few else ["prob_best", "expected_rank"]
    columns = [*ranked, "beats_chance", "beats_majority"]
    cells = [
        (", ".join(str(row[name]) for name in names),
         [probability_value(row[name]) for name in columns])
        for row in rows
    ]  # fmt: skip
    return {"dims": names, "columns": [STANDING[name] for name in columns], "rows": cells, "numbered": numbered}
