"""At which thresholds is it useful to act on the probabilities? Decision curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from markupsafe import Markup

from bayesperf import curves
from bayesperf.core.words import percentage
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Sentence, rows_table
from bayesperf.reports.drawing import colour_of, shared_figures
from bayesperf.reports.scores import ScoredSystem, of_systems
from bayesperf.reports.sections import REPORT, SUMMARY, Section

# How far beneath treating none the picture of the net benefit reaches, in parts of its height.
_BENEATH = 0.12


def blocks(analysis: Analysis) -> list[Block]:
    """Return where systems are useful, and their net benefits; nothing without probabilities."""
    scores = analysis.scores
    if scores is None or not scores.are_probabilities:
        return []
    ci_prob, shaded = scores.settings.ci_prob, " Shaded: where acting does more good." * (len(scores.systems) == 1)
    reading = (
        "If you act when the probability is at least t, you accept (1 − t)/t false alarms per positive found (nine "
        "at t = 0.1). The net benefit, per example, is the positives found minus the cost of the false alarms at that "
        f"price. Line: these examples; band: {percentage(ci_prob)} equal-tailed interval, threshold by threshold. "
        f"Dotted: treating all (falling) and none (0).{shaded}"
    )
    said = [
        Sentence(_in_words(each.decisions, ci_prob), ", ".join(each.names), ("probabilities", "in_words"))
        for each in scores.systems
    ]
    records = rows_table("", (), scores.useful_rows, name=("probabilities", "useful"))
    return [*said, *shared_figures(analysis, _net_benefit, reading), records]


def _in_words(curve: curves.DecisionCurve, prob: float) -> str:
    """Return at which thresholds it is useful to act on the probabilities."""
    from bayesperf.curves.decisions.benefit_curve import ranges_in_words

    if curve.useful_ranges(prob).empty:
        return (
            "At no threshold does acting on these probabilities do more good than treating everybody or nobody, with a "
            f"probability of at least {percentage(prob)}."
        )
    return (
        "Acting on these probabilities does more good than treating everybody or nobody, with a probability of at "
        f"least {percentage(prob)} at each of these thresholds: {' '.join(ranges_in_words(curve, prob))}."
    )


def _net_benefit(analysis: Analysis, systems: Sequence[ScoredSystem]) -> list[tuple[str, Markup]]:
    """Return net benefits with bands, treating all and none beneath, and where a single system is useful shaded."""
    ci_prob, curves = analysis.settings.ci_prob, [system.decisions for system in systems]
    bands = [curve.band(ci_prob)["net_benefit"].values for curve in curves]
    top = 1.05 * max(float(band.max()) for band in bands)
    bottom = -_BENEATH * top
    lines = []
    for system, band in zip(systems, bands, strict=True):
        points = system.decisions.dataset
        x, y = points["threshold"].values, points["net_benefit"].values
        lines.append(svg.Line(x, y, x, band, colour_of(analysis, system.names)))
    beneath = [([0.0, 1.0], [0.0, 0.0])]
    for prevalence in {float(curve.data.class_totals[0, 1] / curve.data.class_totals.sum()) for curve in curves}:
        # Treating all is worth less than `bottom` from this threshold on.
        end = (prevalence - bottom) / (1 - bottom)
        cuts = np.linspace(0, end, 60)
        beneath.append((cuts.tolist(), (prevalence - (1 - prevalence) * cuts / (1 - cuts)).tolist()))
    ranges = curves[0].useful_ranges(ci_prob) if len(curves) == 1 else pd.DataFrame({"low": [], "high": []})
    drawn = svg.plane(
        lines,
        ("threshold", "net benefit"),
        f"net benefit{of_systems(systems)} over the threshold, with bands",
        top=top,
        bottom=bottom,
        height=240,
        beneath=beneath,
        spans=list(zip(ranges["low"].tolist(), ranges["high"].tolist(), strict=True)),
    )
    return [("Net benefit", drawn)]


SECTION = Section(70, "useful", "At which thresholds is it useful?", blocks, (REPORT, SUMMARY))
