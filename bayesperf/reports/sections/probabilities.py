"""Can its probabilities be trusted? A verdict and a number, the reliability curve, and the measures in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from bayesperf.core.words import percentage, sentence
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Folded, Sentence, rows_table
from bayesperf.reports.drawing import colour_of, shared_figures
from bayesperf.reports.scores import ScoredSystem, of_systems
from bayesperf.reports.sections import REPORT, SUMMARY, Section


def blocks(analysis: Analysis) -> list[Block]:
    """Return a verdict on each system, the curves, and the measures in words; nothing without probabilities."""
    scores = analysis.scores
    if scores is None or not scores.are_probabilities:
        return []
    ci_prob = scores.settings.ci_prob
    named = [(", ".join(system.names), system) for system in scores.systems]
    reading = (
        "Line: how often the outcome happened at each stated probability; band: contains all true frequencies at once, "
        f"with at least {percentage(ci_prob)} confidence. Dotted: perfect calibration. The line follows every quirk of "
        "the labels: look at the band."
    )
    details = [
        Sentence(system.calibration_in_words(ci_prob), name, ("probabilities", "in_words")) for name, system in named
    ]
    return [
        *(Sentence(verdict_in_words(each, ci_prob), name, ("probabilities", "verdicts")) for name, each in named),
        *shared_figures(analysis, _reliability, reading),
        rows_table("", (), scores.calibration_rows, name=("probabilities", "calibration")),
        Folded("Measures of calibration", details, is_printed=False),
    ]


# ── The verdict ──

# A system counts as calibrated if its slope is within these bounds, and its mean within this of the frequency.
_SLOPES, _NEAR = (2 / 3, 3 / 2), 0.05
_TOO_EXTREME = "Too extreme: outcomes it calls nearly certain are less certain."
_TOO_TIMID = "Too timid: outcomes it calls likely are even more likely."
_IMPOSSIBLE = "Too extreme: it gave probability 0 to some outcomes that happened."


def verdict_in_words(system: ScoredSystem, ci_prob: float) -> str:
    """Return one of seven verdicts on the calibration, and by how much the probabilities are off."""
    table = system.calibration.summary(ci_prob).set_index("metric")
    squared = table["observed"].get("squared_calibration_error", np.nan)
    off = np.sqrt(max(squared, 0)) if np.isfinite(squared) else abs(table["observed"]["calibration_in_the_large"])
    impossible = "log_loss" in system.calibration.parts[""].left_out
    # No chance explains an outcome of probability 0.
    by_chance = not impossible and table["calibrated_upper"].get("squared_calibration_error", 0) >= squared
    explained = ", which chance alone could explain" * bool(by_chance)
    typical = f"Its probabilities are typically off by about {off:.2g}{explained}."
    error = typical if off else "No error was measured beyond chance."
    return f"{_IMPOSSIBLE if impossible else _verdict(table)} {error}"


def _verdict(table: Any) -> str:
    """Return a verdict by the intervals of the slope and of the mean difference."""
    ends = table[["ci_lower", "ci_upper"]]
    mean = ends.loc["calibration_in_the_large"].to_numpy()
    if "calibration_slope" not in table.index:
        lower, upper = -np.inf, np.inf
    else:
        lower, upper = ends.loc["calibration_slope"].to_numpy()
    if upper < 1 and lower <= 0:
        return "Useless so far: these examples do not show that outcomes follow its probabilities."
    slope = _TOO_EXTREME if upper < 1 else _TOO_TIMID if lower > 1 else ""
    if mean[0] > 0 or mean[1] < 0:
        shift = f"on average its probabilities are too {'low' if mean[0] > 0 else 'high'}."
        return f"{slope} {sentence(shift)}" if slope else f"Shifted: {shift}"
    if slope:
        return slope
    if _SLOPES[0] < lower and upper < _SLOPES[1] and np.abs(mean).max() < _NEAR:
        return "Well calibrated."
    if "calibration_slope" not in table.index:
        return "Open: a calibration slope cannot be computed, so nothing shows that it is calibrated."
    return "These examples are too few to show that it is calibrated."


# ── Pictures ──


def _reliability(analysis: Analysis, systems: Sequence[ScoredSystem]) -> list[tuple[str, Markup]]:
    """Return the isotonic lines with their bands, in steps, and the diagonal beneath."""
    lines = []
    for system in systems:
        points, band = (
            system.reliability.dataset,
            system.reliability.band(analysis.settings.ci_prob)["frequency"].values,
        )
        x, y = points["probability"].values, points["frequency"].values
        # Between two points the lower bound belongs to the first, the upper bound to the second.
        along = np.repeat(x, 2)[1:-1]
        bounds = np.stack([np.repeat(band[:-1, 0], 2), np.repeat(band[1:, 1], 2)], -1)
        corner = np.ones(len(along), bool)
        corner[1:-1] = (np.diff(bounds, axis=0)[:-1] != 0).any(1) | (np.diff(bounds, axis=0)[1:] != 0).any(1)
        lines.append(svg.Line(x, y, along[corner], bounds[corner], colour_of(analysis, system.names)))
    label = f"reliability curves{of_systems(systems)}, with bands"
    return [
        ("Reliability curve", svg.plane(lines, ("probability given", "frequency"), label, beneath=[((0, 1), (0, 1))]))
    ]


SECTION = Section(60, "trusted", "Can its probabilities be trusted?", blocks, (REPORT, SUMMARY))
