"""What is to be expected of a threshold chosen on other examples? Error rates, and the curve over their weights."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from bayesperf import curves
from bayesperf.core.words import percentage, short_interval_name
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Column, Note, Rows, Sentence, Table, figures
from bayesperf.reports.drawing import colour_of, names_of, shared_figures, strips
from bayesperf.reports.scores import ABOUT_EXPECTED, BAND, EXPECTED, ScoredSystem, of_systems, with_threshold
from bayesperf.reports.sections import REPORT, SUMMARY, Section


def blocks(analysis: Analysis) -> list[Block]:
    """Return expected performance curves, where two systems differ, and a table of error rates; nothing unsplit."""
    scores = analysis.scores
    if scores is None or scores.split is None:
        return []
    ci_prob = scores.settings.ci_prob
    formula = scores.systems[0].expected.dataset.attrs["formula"]
    reading = (
        f"For every α the threshold minimises {formula} on the development rows. Line: the result on the test rows; "
        f"{BAND} band: with probability {percentage(ci_prob)} it contains the system's whole curve."
    )
    parts = []
    for quantity, title in EXPECTED.items():
        records = [row for row in scores.expected_rows if row["quantity"] == quantity]
        records = [
            row | {"chosen": with_threshold(", ".join(str(row[dim]) for dim in scores.dims), row["threshold"])}
            for row in records
        ]
        keys = "observed", "ci_lower", "ci_upper"
        colours = [colour_of(analysis, [row[dim] for dim in scores.dims]) for row in records]
        draw = strips(records, [row["chosen"] for row in records], title, keys=keys, colours=colours)
        parts.append(Rows(records, title, "", draw))
    columns = [
        *names_of(scores.dims),
        Column("threshold", ("threshold",), "number"),
        *figures(short_interval_name(ci_prob, "eti"), observed="on test"),
    ]
    return [
        *shared_figures(analysis, _curves, reading),
        *(Sentence(_differs(both, ci_prob), place) for place, both in scores.compared_curves.items()),
        Table("", columns, parts, of="error rate", name=("expected",)),
        Note(ABOUT_EXPECTED),
    ]


def _curves(analysis: Analysis, systems: Sequence[ScoredSystem]) -> list[tuple[str, Markup]]:
    """Return the expected performance curves in steps, with the spans where two of them differ."""
    from bayesperf.plots.expected_performance import significant_spans, step_edges

    scores, ci_prob = analysis.scores, analysis.settings.ci_prob
    assert scores is not None
    both = scores.compared_curves.get(", ".join(systems[0].names[1:]))
    lines = []
    for system in systems:
        curve = system.expected
        name, edges = curve.metric.name, step_edges(curve.alphas)
        x, y = svg.steps(edges, curve.dataset[name].values)
        _, band = svg.steps(edges, curve.band(ci_prob, BAND)[name].values)
        lines.append(svg.Line(x, y, x, band, colour_of(analysis, system.names)))
    drawn = svg.plane(
        lines,
        ("α", f"{systems[0].expected.metric.title} on test"),
        f"expected performance curves{of_systems(systems)}, with bands",
        top=1.05 * max(float(line.band.max()) for line in lines),
        height=240,
        spans=[] if both is None else significant_spans(both.difference(ci_prob=ci_prob, kind=BAND)),
    )
    return [("", drawn)]


def _differs(both: curves.ExpectedPerformanceCurve, ci_prob: float) -> str:
    """Return a sentence that says where two systems differ."""
    from bayesperf.plots.expected_performance import significant_spans

    a, b = both.names
    what = f"the {percentage(ci_prob)} {BAND} band of the difference {a} − {b} excludes 0"
    related = "the same examples" if both.paired else "different examples"
    spans = significant_spans(both.difference(ci_prob=ci_prob, kind=BAND))
    where = f"Shaded: α at which {what}" if spans else f"At no α {what}"
    return f"{where}, for systems tested on {related}, with thresholds chosen on other development rows like these."


SECTION = Section(80, "expected", "What can be expected?", blocks, (REPORT, SUMMARY))
