"""How well do the scores rank, where to put the threshold, and what is to be expected of one chosen elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import batched
from typing import Any

import numpy as np
from markupsafe import Markup

from bayesperf.comparison.result import Comparison
from bayesperf.core.words import CHOSEN_ON_THE_SAME, percentage
from bayesperf.curves.expected_performance.performance_curve import ExpectedPerformanceCurve
from bayesperf.plots.expected_performance import significant_spans, step_edges
from bayesperf.plots.style import SERIES
from bayesperf.posteriors.densities import without_density
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.page.blocks import block_rows
from bayesperf.reports.page.which_is_better import is_few, pairs, pictures
from bayesperf.reports.scores import (
    ABOUT_EXPECTED,
    AREAS,
    BAND,
    EXPECTED,
    THRESHOLD_METRICS,
    ScoredSystem,
    ScoredSystems,
    about_areas,
    threshold_text,
)


def ranking(analysis: Analysis) -> dict[str, Any] | None:
    """Return ROC and precision–recall curves, a row of pictures for each place, a block for each area, and differences.

    Nothing if there are no scores.
    """
    scores = analysis.scores
    if scores is None:
        return None
    ci_prob = scores.settings.ci_prob
    rows = [
        {
            "place": place,
            "legend": legend_of(systems),
            "pictures": [
                ("ROC curve", _roc(systems, ci_prob)),
                ("Precision–recall curve", _precision_recall(systems, ci_prob)),
            ],
        }
        for place, systems in shared_pictures(scores)
    ]
    blocks = [
        _block(name, [row for row in scores.area_rows if row["area"] == area], scores.dims, "mean")
        for area, name in AREAS.items()
    ]
    compared = [_areas_compared(scores, place, comparison) for place, comparison in scores.compared_areas.items()]
    pair = analysis.way_in.pair if analysis.comparisons and not compared else ""
    about = about_areas(scores)
    return {"rows": rows, "blocks": blocks, "comparisons": compared, "about": about, "band": BAND, "pair": pair,
            "rope": scores.settings.rope, "no_probabilities": scores.no_probabilities}  # fmt: skip


def _areas_compared(scores: ScoredSystems, place: str, comparison: Comparison) -> dict[str, Any]:
    """Return the differences of areas of systems judged on the same examples."""
    few = is_few(comparison)
    return {
        "title": ", ".join(filter(None, [AREAS["roc_auc"], place])),
        "about": "difference on the same examples",
        "better": "more is better",
        **(pairs(comparison, scores.settings) if few else {"pictures": pictures(comparison)}),
    }


def expected(analysis: Analysis) -> dict[str, Any] | None:
    """Return expected performance curves, a picture for each place, and a block for each quantity; nothing unsplit."""
    scores = analysis.scores
    if scores is None or scores.split is None:
        return None
    ci_prob, rows = scores.settings.ci_prob, scores.expected_rows
    shown = [
        {
            "place": place,
            "legend": legend_of(systems),
            "pictures": [("", _expected_curves(systems, scores.compared_curves.get(place), ci_prob))],
            "differs": _differs(scores.compared_curves.get(place), ci_prob),
        }
        for place, systems in shared_pictures(scores)
    ]
    blocks = [
        _block(name, [row for row in rows if row["quantity"] == quantity], scores.dims, "observed")
        for quantity, name in EXPECTED.items()
    ]
    formula = scores.systems[0].expected.dataset.attrs["formula"]
    return {"rows": shown, "blocks": blocks, "about": ABOUT_EXPECTED, "band": BAND, "formula": formula}


def over_thresholds(analysis: Analysis) -> dict[str, Any] | None:
    """Return pictures of each system's metrics over the threshold, marked where a split chose the threshold."""
    scores = analysis.scores
    if scores is None:
        return None
    thresholds = {", ".join(system.names): system.threshold for system in (scores.systems if scores.split else [])}
    shown = []
    for name, posterior in scores.over_thresholds.items():
        marginals = [posterior[metric] for metric in THRESHOLD_METRICS]
        at = marginals[0].mean()["threshold"].values
        centre = np.stack([marginal.mean().values for marginal in marginals])
        interval = np.stack([marginal.hdi(scores.settings.ci_prob).values for marginal in marginals])
        threshold = thresholds.get(name, np.nan)
        of = f" of {name}" if name else ""
        label = f"{', '.join(THRESHOLD_METRICS)}{of} over the threshold, with their bands"
        shown.append((_named(name, threshold), svg.bands(at, centre, interval, label, threshold)))
    if not shown:
        return None
    return {
        "legend": [(name, svg.colour(i)) for i, name in enumerate(THRESHOLD_METRICS)],
        "pictures": shown,
        "chosen": bool(thresholds),
        "chosen_on_the_same": CHOSEN_ON_THE_SAME,
        "how": analysis.way_in.split,
    }


def shared_pictures(scores: ScoredSystems) -> Iterator[tuple[str, tuple[ScoredSystem, ...]]]:
    """Yield each place with systems that share a picture there, at most as many as there are colours."""
    for place, systems in scores.places.items():
        for some in batched(systems, len(SERIES)):
            yield place, some


def legend_of(systems: Sequence[ScoredSystem]) -> list[tuple[str, str]]:
    """Return the names of systems with their colours."""
    return [(system.names[0], svg.colour(i)) for i, system in enumerate(systems) if system.names]


def _block(name: str, rows: Sequence[dict[str, Any]], dims: Sequence[str], centre: str) -> dict[str, Any]:
    """Return a quantity's rows, one for each system, with their intervals on one scale."""
    interval = np.array([[row["ci_lower"], row["ci_upper"]] for row in rows])
    middle = np.array([row[centre] for row in rows])
    names = [_named(", ".join(row[dim] for dim in dims), row.get("threshold", np.nan)) for row in rows]
    drawn = without_density(middle, interval, names)
    scale = svg.Scale(drawn._replace(x=np.append(interval, middle)))
    block = block_rows(drawn, drawn.observed, name, svg.strip, scale=scale)
    heads = (centre if centre == "mean" else "on test", rows[0]["ci_kind"].upper())
    return {"title": name, **block, "counted": False, "heads": heads}


def _named(name: str, threshold: float) -> str:
    """Return the name of a system, with its threshold if it has one."""
    return "; ".join(filter(None, [name, f"threshold {text}" if (text := threshold_text(threshold)) else ""]))


# ── Pictures ──


def of_systems(systems: Sequence[ScoredSystem]) -> str:
    """Return of which systems a picture is."""
    names = [", ".join(system.names) for system in systems if system.names]
    return f" of {', '.join(names)}" if names else ""


def _roc(systems: Sequence[ScoredSystem], ci_prob: float) -> Markup:
    """Return the ROC curves with the line of random guesses beneath."""
    lines = []
    for curve in (system.roc for system in systems):
        points, band = curve.dataset, curve.band(ci_prob, BAND)
        lines.append(svg.Line(points["fpr"].values, points["recall"].values, band["fpr"].values, band["recall"].values))
    return svg.plane(
        lines,
        ("false positive rate", "recall"),
        f"ROC curves{of_systems(systems)}, with bands",
        beneath=[((0, 1), (0, 1))],
    )


def _precision_recall(systems: Sequence[ScoredSystem], ci_prob: float) -> Markup:
    """Return the curves in steps, as the average precision sums them, with the precision of random guesses beneath."""
    lines = []
    for curve in (system.precision_recall for system in systems):
        points, band = curve.dataset, curve.band(ci_prob, BAND)
        recall, precision = svg.steps(points["recall"].values, points["precision"].values[1:])
        lines.append(svg.Line(recall, precision, band["recall"].values, band["precision"].values))
    # The precision if all examples are called positive.
    guesses = {system.precision_recall.dataset["precision"].values[-1] for system in systems}
    return svg.plane(
        lines,
        ("recall", "precision"),
        f"precision–recall curves{of_systems(systems)}, with bands",
        beneath=[((0, 1), (precision, precision)) for precision in guesses],
    )


def _expected_curves(systems: Sequence[ScoredSystem], both: ExpectedPerformanceCurve | None, ci_prob: float) -> Markup:
    """Return the expected performance curves in steps, with the spans where two of them differ."""
    lines = []
    for curve in (system.expected for system in systems):
        name, edges = curve.metric.name, step_edges(curve.alphas)
        x, y = svg.steps(edges, curve.dataset[name].values)
        _, band = svg.steps(edges, curve.band(ci_prob, BAND)[name].values)
        lines.append(svg.Line(x, y, x, band))
    return svg.plane(
        lines,
        ("α", f"{systems[0].expected.metric.title} on test"),
        f"expected performance curves{of_systems(systems)}, with bands",
        top=1.05 * max(float(line.band.max()) for line in lines),
        height=240,
        spans=[] if both is None else significant_spans(both.difference(ci_prob=ci_prob, kind=BAND)),
    )


def _differs(both: ExpectedPerformanceCurve | None, ci_prob: float) -> str:
    """Return a sentence that says where two systems differ."""
    if both is None:
        return ""
    a, b = both.names
    what = f"the {percentage(ci_prob)} {BAND} band of the difference {a} − {b} leaves out 0"
    related = "the same examples" if both.paired else "different examples"
    where = (
        f"Shaded: α at which {what}"
        if significant_spans(both.difference(ci_prob=ci_prob, kind=BAND))
        else f"At no α {what}"
    )
    return (
        f"{where}, of systems judged by {related}, if thresholds had been chosen on other development rows like these."
    )
