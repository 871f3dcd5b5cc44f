"""Whether its probabilities can be trusted, and at which thresholds it is useful to act on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from bayesperf.core.words import metric_title, probability_value, signed_value
from bayesperf.curves.decisions.benefit_curve import ranges_in_words
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.page.score_sections import legend_of, of_systems, shared_pictures
from bayesperf.reports.scores import ScoredSystem

# Bars of the distribution of the probabilities.
_BARS = 40
# How far beneath treating none the picture of the net benefit reaches, in parts of its height.
_BENEATH = 0.12
# The measures of calibration that are shown, and the value of each that is perfect; None if it has none.
_MEASURES = {
    "calibration_in_the_large": "0",
    "calibration_slope": "1",
    "squared_calibration_error": "0",
    "brier": None,
    "brier_miscalibration": "0",
    "log_loss": None,
}


def trusted(analysis: Analysis) -> dict[str, Any] | None:
    """Return sentences, reliability diagrams and a table of measures of calibration; nothing without probabilities."""
    scores = analysis.scores
    if scores is None or not scores.are_probabilities:
        return None
    ci_prob = scores.settings.ci_prob
    rows = [
        {
            "place": place,
            "legend": legend_of(systems),
            "pictures": [
                ("Reliability curve", _reliability(systems, ci_prob)),
                ("Distribution of the probabilities", _distribution(systems)),
            ],
        }
        for place, systems in shared_pictures(scores)
    ]
    said = [(", ".join(system.names), system.calibration_in_words(ci_prob)) for system in scores.systems]
    return {"said": said, "rows": rows, "tables": [_table(system, ci_prob) for system in scores.systems]}


def useful(analysis: Analysis) -> dict[str, Any] | None:
    """Return decision curves with the ranges of thresholds where systems are useful; nothing without probabilities."""
    scores = analysis.scores
    if scores is None or not scores.are_probabilities:
        return None
    ci_prob = scores.settings.ci_prob
    rows = [
        {"place": place, "legend": legend_of(systems), "pictures": [("Net benefit", _net_benefit(systems, ci_prob))]}
        for place, systems in shared_pictures(scores)
    ]
    said = [(", ".join(each.names), *ranges_in_words(each.decisions, ci_prob)) for each in scores.systems]
    return {"said": said, "rows": rows, "one": len(scores.systems) == 1}


def _table(system: ScoredSystem, ci_prob: float) -> dict[str, Any]:
    """Return measures of calibration of a system, each beside what a calibrated system shows, as texts."""
    table = system.calibration.summary(ci_prob).set_index("metric")
    rows = [_figures(measure, row) for measure, row in table.loc[table.index.isin(_MEASURES)].iterrows()]
    return {"name": ", ".join(system.names), "rows": rows}


def _figures(measure: Any, row: pd.Series[Any]) -> dict[str, str]:
    width = row["ci_upper"] - row["ci_lower"]
    if np.isnan(width):
        width = row["calibrated_upper"] - row["calibrated_lower"]

    def written(*names: str) -> str:
        return "" if np.isnan(row[names[0]]) else " to ".join(signed_value(row[name], width) for name in names)

    same = row["calibrated_lower"] == row["calibrated_upper"]
    return {
        "name": metric_title(measure),
        "observed": written("mean" if np.isnan(row["observed"]) else "observed"),
        "interval": written("ci_lower", "ci_upper"),
        "calibrated": written("calibrated_lower") if same else written("calibrated_lower", "calibrated_upper"),
        "tail": "" if np.isnan(row["tail"]) else probability_value(row["tail"]),
    }


# ── Pictures ──


def _reliability(systems: Sequence[ScoredSystem], ci_prob: float) -> Markup:
    """Return the isotonic lines with their bands, in steps, and the diagonal beneath."""
    lines = []
    for system in systems:
        points, band = system.reliability.dataset, system.reliability.band(ci_prob)["frequency"].values
        x, y = points["probability"].values, points["frequency"].values
        # Between two points the lower bound is that of the first, the upper that of the second.
        along = np.repeat(x, 2)[1:-1]
        bounds = np.stack([np.repeat(band[:-1, 0], 2), np.repeat(band[1:, 1], 2)], -1)
        corner = np.ones(len(along), bool)
        corner[1:-1] = (np.diff(bounds, axis=0)[:-1] != 0).any(1) | (np.diff(bounds, axis=0)[1:] != 0).any(1)
        lines.append(svg.Line(x, y, along[corner], bounds[corner]))
    return svg.plane(
        lines,
        ("probability given", "frequency"),
        f"reliability curves{of_systems(systems)}, with bands",
        beneath=[((0, 1), (0, 1))],
    )


def _distribution(systems: Sequence[ScoredSystem]) -> Markup:
    """Return which share of the examples has each probability, in bars."""
    shares = []
    for counts in (system.reliability.parts[""] for system in systems):
        number, edges = np.histogram(counts.values, _BARS, (0, 1), weights=counts.examples)
        shares.append(number / counts.total)
    lines = []
    for share in shares:
        x, y = svg.steps(edges, share)
        lines.append(svg.Line(x, y, x, np.stack([np.zeros_like(y), y], -1)))
    return svg.plane(
        lines,
        ("probability given", "share of the examples"),
        f"distribution of the probabilities{of_systems(systems)}",
        top=1.05 * max(float(share.max()) for share in shares),
    )


def _net_benefit(systems: Sequence[ScoredSystem], ci_prob: float) -> Markup:
    """Return net benefits with bands, treating all and none beneath, and where a single system is useful shaded."""
    curves = [system.decisions for system in systems]
    bands = [curve.band(ci_prob)["net_benefit"].values for curve in curves]
    top = 1.05 * max(float(band.max()) for band in bands)
    bottom = -_BENEATH * top
    lines = [
        svg.Line(points["threshold"].values, points["net_benefit"].values, points["threshold"].values, band)
        for points, band in zip((curve.dataset for curve in curves), bands, strict=True)
    ]
    beneath = [([0.0, 1.0], [0.0, 0.0])]
    for prevalence in {float(curve.data.class_totals[0, 1] / curve.data.class_totals.sum()) for curve in curves}:
        # Treating all is worth less than `bottom` from this threshold on.
        end = (prevalence - bottom) / (1 - bottom)
        cuts = np.linspace(0, end, 60)
        beneath.append((cuts.tolist(), (prevalence - (1 - prevalence) * cuts / (1 - cuts)).tolist()))
    ranges = curves[0].useful_ranges(ci_prob) if len(curves) == 1 else pd.DataFrame({"low": [], "high": []})
    return svg.plane(
        lines,
        ("threshold", "net benefit"),
        f"net benefit{of_systems(systems)} over the threshold, with bands",
        top=top,
        bottom=bottom,
        height=240,
        beneath=beneath,
        spans=list(zip(ranges["low"].tolist(), ranges["high"].tolist(), strict=True)),
    )
