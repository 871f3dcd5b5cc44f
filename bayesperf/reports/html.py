"""The report as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from platform import python_version
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from bayesperf import metrics
from bayesperf.comparison.result import Comparison
from bayesperf.core.arrays import Array
from bayesperf.core.words import CHOSEN_ON_THE_SAME, format_value, percentage, probability_value
from bayesperf.counts.display import table_html
from bayesperf.plots.style import DIVERGING, SEQUENTIAL
from bayesperf.posteriors.densities import Curves, curves, intervals, reach, without_density
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.summary import caption
from bayesperf.reports import html_scores, svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.comparison_tables import (
    MOST_IN_PAIRS,
    STANDING,
    MetricComparison,
    about_pairing,
    about_standing,
    better_direction,
    signed_values,
)
from bayesperf.reports.in_words import in_short, what_was_read
from bayesperf.reports.scores import AREAS, ScoredSystems, about_split
from bayesperf.reports.settings import FOLD, Settings

_PACKAGES = ("bayesperf", "numpy", "scipy", "xarray")


def render(analysis: Analysis, command: str) -> str:
    """Return an analysis as a self-contained HTML page.

    Parameters
    ----------
    analysis : Analysis
        The analysis to show.
    command : str
        The command that makes the page, for the reader to repeat.
    """
    environment = Environment(
        loader=PackageLoader("bayesperf.reports"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.update(format_value=format_value)
    settings, scores = analysis.settings, analysis.scores
    return environment.get_template("report.html.j2").render(
        title="How good is it?",
        read=what_was_read(analysis),
        in_short=in_short(analysis),
        examples=int(analysis.counts.counts.sum()),
        classes=[str(label) for label in analysis.counts.labels],
        pos_label=analysis.counts.pos_label,
        folds=analysis.counts.counts.sizes.get(FOLD),
        dims=[str(dim) for dim in analysis.pooled.dims],
        tables=_tables(analysis),
        blocks=[_block(analysis.pooled, name, settings.ci_prob) for name in analysis.metric_names],
        fold_blocks=_fold_blocks(analysis),
        comparisons=[_comparison(compared, settings) for compared in analysis.comparisons],
        selection=analysis.selection,
        related=about_pairing(settings.id),
        about_standing=about_standing(analysis.comparisons),
        chosen_on_the_same=CHOSEN_ON_THE_SAME,
        standing=STANDING,
        rope=settings.rope,
        requirements=_requirements(analysis),
        split=about_split(scores.split) if scores and scores.split else None,
        ranking=_ranking(scores) if scores else None,
        thresholds=html_scores.over_thresholds(scores) if scores else None,
        expected=html_scores.expected(scores) if scores and scores.split else None,
        probability=percentage(settings.ci_prob),
        caption=caption(analysis.summary.attrs),
        repeats=analysis.repeats,
        prior=analysis.pooled.prior_text,
        command=command,
        versions={"Python": python_version()} | {name: version(name) for name in _PACKAGES},
        seed=settings.seed,
    )


def _tables(analysis: Analysis) -> list[Markup]:
    """Return the confusion matrix of each system as HTML, with its labels escaped."""
    pooled = analysis.counts.sum(FOLD) if FOLD in analysis.counts.dims else analysis.counts
    return [Markup(table_html(pooled.counts[index], ", ".join(names))) for index, names in analysis.systems]


def _block(posterior: Posterior, name: str, ci_prob: float) -> dict[str, Any]:
    """Return a metric's rows, one for each system, drawn on one scale."""
    marginal, metric = posterior[name], metrics.get(name)
    drawn = curves(marginal, ci_prob, "hdi")
    return {
        "title": metric.title,
        "about": metric.description,
        "better": better_direction(metric),
        "method": marginal.method,
        "mcse": float(marginal.mcse().max()),
        **_rows(drawn, posterior.observed_score(name).values.ravel(), svg.density),
    }


def _rows(drawn: Curves, observed: Array, picture: Callable[[Curves, int, svg.Scale], Markup]) -> dict[str, Any]:
    """Return rows with their figures and pictures on one scale, and its axis."""
    scale = svg.Scale(drawn)
    figures = zip(drawn.names, observed, drawn.mean, drawn.interval, strict=True)
    rows = [
        {"name": name, "observed": seen, "mean": mean, "interval": interval, "picture": picture(drawn, i, scale)}
        for i, (name, seen, mean, interval) in enumerate(figures)
    ]
    return {"rows": rows, "axis": svg.axis(scale)}


def _fold_blocks(analysis: Analysis) -> list[dict[str, Any]]:
    """Return the first few metrics, fold by fold."""
    if analysis.folds is None:
        return []
    blocks = []
    for name in analysis.metric_names[:4]:
        drawn = intervals(analysis.folds[name], analysis.settings.ci_prob, "hdi")
        observed = analysis.folds.observed_score(name).values.ravel()
        blocks.append({"title": metrics.get(name).title, **_rows(drawn, observed, svg.strip)})
    return blocks


def _comparison(compared: MetricComparison, settings: Settings) -> dict[str, Any]:
    """Return a metric's differences, a row for each pair; for many systems, pictures of all pairs and ranks instead."""
    few = _few(compared.comparison)
    shown = _pairs(compared.comparison, settings) if few else {"pictures": _pictures(compared.comparison)}
    return {
        "title": compared.metric.title,
        "about": compared.metric.description,
        "better": better_direction(compared.metric),
        "mcse": float(compared.comparison.difference.mcse().max()),
        "standing": _standing(compared, few),
        **shown,
    }


def _few(comparison: Comparison) -> bool:
    return len(comparison.names) <= MOST_IN_PAIRS


def _pairs(comparison: Comparison, settings: Settings) -> dict[str, Any]:
    summary, rope = comparison.summary(settings.ci_prob), settings.rope
    drawn = without_density(summary["mean"].to_numpy(), summary[["ci_lower", "ci_upper"]].to_numpy())
    scale = svg.Scale(drawn._replace(x=np.array([reach(drawn, rope)])))
    dims = [dim for dim in comparison.difference.dims if dim != "pair"]
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
            "picture": svg.strip(drawn, i, scale, beneath),
        }
        for i, row in enumerate(summary.to_dict("records"))
    ]
    return {"rows": rows, "axis": svg.axis(scale)}


def _pictures(comparison: Comparison) -> list[tuple[str, Markup]]:
    """Return pictures of P(a > b) and of the ranks, systems ordered by expected rank; none with leading dims."""
    order = comparison.rank_order
    if order.ndim > 1:
        return []
    rows = order.values
    matrix = svg.heat_map(comparison.prob_greater.values[np.ix_(rows, rows)], DIVERGING, "heat map of P(a > b)")
    if comparison.greater_is_better is None:
        return [("P(a > b): rows a, columns b, in the order of the tables above", matrix)]
    ranks = comparison.ranks.values[rows]
    pictured = svg.heat_map(ranks / ranks.max(), SEQUENTIAL, "heat map of P(rank)")
    return [("P(a > b): rows a, columns b", matrix), (f"P(rank): darkest, {ranks.max():.2f}", pictured)]


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


def _requirements(analysis: Analysis) -> dict[str, Any] | None:
    if not analysis.requirements:
        return None
    columns = {str(r): analysis.met(r).values for r in analysis.requirements}
    if (jointly := analysis.met_jointly()) is not None:
        columns["all at once"] = jointly.values
    rows = [(", ".join(names), [probability_value(values[index]) for values in columns.values()])
            for index, names in analysis.systems]  # fmt: skip
    return {"columns": list(columns), "rows": rows}


def _ranking(scores: ScoredSystems) -> dict[str, Any]:
    """Return curves and areas of scores, with comparisons of areas for systems judged on the same examples."""
    area_comparisons = [
        {
            "title": ", ".join(filter(None, [AREAS["roc_auc"], place])),
            "about": "difference on the same examples",
            "better": "more is better",
            "mcse": float(comparison.difference.mcse().max()),
            **(_pairs(comparison, scores.settings) if _few(comparison) else {"pictures": _pictures(comparison)}),
        }
        for place, comparison in scores.compared_areas.items()
    ]
    return html_scores.ranking(scores) | {"comparisons": area_comparisons}
