"""How well do the scores rank? ROC and precision–recall curves, the areas beneath them, and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from bayesperf.core.words import percentage, short_interval_name
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Note, Rows, Table, figures, rows_table
from bayesperf.reports.comparison_tables import MOST_IN_PAIRS
from bayesperf.reports.drawing import colour_of, names_of, shared_figures, strips
from bayesperf.reports.scores import AREAS, BAND, ScoredSystem, about_areas, of_systems
from bayesperf.reports.sections import REPORT, SUMMARY, Section
from bayesperf.reports.sections.which_is_better import difference_table, pictures


def blocks(analysis: Analysis) -> list[Block]:
    """Return the curves, a table of areas, and the differences of areas; nothing if there are no scores."""
    scores = analysis.scores
    if scores is None:
        return []
    nothing = "No distribution of the scores is assumed: the examples of a class get Dirichlet weights."
    return [
        *shared_figures(analysis, _curves, _reading(scores.settings.ci_prob)),
        *_areas(analysis),
        *([] if "roc_auc" in analysis.metric_names else _differences(analysis)),
        Note(f"{about_areas(scores)} {nothing}"),
        *([Note(scores.no_probabilities)] if scores.no_probabilities else []),
    ]


def _reading(ci_prob: float) -> str:
    return (
        f"Line: the curve of these examples; {BAND} band: with probability {percentage(ci_prob)} it contains the "
        "system's whole curve. Dotted: guessing."
    )


def _areas(analysis: Analysis) -> list[Table]:
    """Return a row for each area and system; none of areas that stand among the metrics."""
    scores = analysis.scores
    assert scores is not None
    parts = []
    for area, title in AREAS.items():
        if area in analysis.metric_names:
            continue
        records = [row for row in scores.area_rows if row["area"] == area]
        names = [", ".join(str(row[dim]) for dim in scores.dims) for row in records]
        draw = strips(
            records, names, title, colours=[colour_of(analysis, [row[dim] for dim in scores.dims]) for row in records]
        )
        parts.append(Rows(records, title, "", draw))
    interval = short_interval_name(scores.settings.ci_prob, "hdi")
    columns = [*names_of(scores.dims), *figures(interval, mean="mean")]
    return [Table("", columns, parts, of="area", name=("areas",))] if parts else []


def _differences(analysis: Analysis) -> list[Block]:
    """Return the differences of areas of systems tested on the same examples, at each place."""
    scores = analysis.scores
    assert scores is not None
    shown: list[Block] = []
    for place, comparison in scores.compared_areas.items():
        rows = comparison.summary(scores.settings.ci_prob).to_dict("records")
        records: list[dict[Any, Any]] = [({"place": place} if place else {}) | row for row in rows]
        title, beside = ", ".join(filter(None, [AREAS["roc_auc"], place])), "difference on the same examples"
        if len(comparison.names) <= MOST_IN_PAIRS:
            named = ("area_differences",)
            shown.append(difference_table(comparison, records, title, beside, scores.settings.ci_prob, name=named))
        else:
            shown += [rows_table("", (), records, name=("area_differences",)), *pictures(comparison)]
    return shown


def _curves(analysis: Analysis, systems: Sequence[ScoredSystem]) -> list[tuple[str, Markup]]:
    ci_prob = analysis.settings.ci_prob
    return [
        ("ROC curve", _roc(analysis, systems, ci_prob)),
        ("Precision–recall curve", _precision_recall(analysis, systems, ci_prob)),
    ]


def _roc(analysis: Analysis, systems: Sequence[ScoredSystem], ci_prob: float) -> Markup:
    """Return the ROC curves with the line of random guesses beneath."""
    lines = []
    for system in systems:
        points, band = system.roc.dataset, system.roc.band(ci_prob, BAND)
        x, y, along = points["fpr"].values, points["recall"].values, band["fpr"].values
        lines.append(svg.Line(x, y, along, band["recall"].values, colour_of(analysis, system.names)))
    label = f"ROC curves{of_systems(systems)}, with bands"
    return svg.plane(lines, ("false positive rate", "recall"), label, beneath=[((0, 1), (0, 1))])


def _precision_recall(analysis: Analysis, systems: Sequence[ScoredSystem], ci_prob: float) -> Markup:
    """Return the curves in steps, as the average precision sums them, with the precision of random guesses beneath."""
    lines = []
    for system in systems:
        points, band = system.precision_recall.dataset, system.precision_recall.band(ci_prob, BAND)
        x, y = svg.steps(points["recall"].values, points["precision"].values[1:])
        colour = colour_of(analysis, system.names)
        lines.append(svg.Line(x, y, band["recall"].values, band["precision"].values, colour))
    # The precision if all examples are called positive.
    guesses = {system.precision_recall.dataset["precision"].values[-1] for system in systems}
    return svg.plane(
        lines,
        ("recall", "precision"),
        f"precision–recall curves{of_systems(systems)}, with bands",
        beneath=[((0, 1), (precision, precision)) for precision in guesses],
    )


SECTION = Section(40, "ranking", "How well do the scores rank?", blocks, (REPORT, SUMMARY))
