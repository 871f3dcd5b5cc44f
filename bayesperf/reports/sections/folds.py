"""How do the folds differ? Each metric fold by fold."""

from __future__ import annotations

from bayesperf.core.words import short_interval_name
from bayesperf.data.axis_names import FOLD
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Folded, Note, Rows, Table, figures
from bayesperf.reports.drawing import colour_of, names_of, strips
from bayesperf.reports.sections import REPORT, SUMMARY, Section


def blocks(analysis: Analysis) -> list[Block]:
    """Return a table of all metrics in each fold, folded; nothing if there are no folds."""
    if analysis.folds is None:
        return []
    dims = [*analysis.pooled.dims, FOLD]
    by_fold = analysis.summary[analysis.summary[FOLD] != "pooled"].sort_values(dims, kind="stable")
    parts = []
    for name in analysis.metric_names:
        metric, records = analysis.metric(name), by_fold[by_fold["metric"] == name].to_dict("records")
        names = [f"{', '.join(str(row[dim]) for dim in dims[:-1])} fold {row[FOLD]}".strip() for row in records]
        colours = [colour_of(analysis, [row[dim] for dim in dims[:-1]]) for row in records]
        parts.append(Rows(records, metric.title, "", strips(records, names, metric.title, colours=colours)))
    interval = short_interval_name(analysis.settings.ci_prob, "hdi")
    columns = [*names_of(dims), *figures(interval, observed="observed", mean="mean")]
    said = (
        "Each fold is estimated by itself. It has few examples, so the prior pulls its mean further from the observed "
        "score than it pulls the pooled mean. The differences between folds do not show how much the figure would vary "
        "with another training set, because all models were trained on nearly the same data."
    )
    return [Note(said), Folded("Fold by fold", [Table("", columns, parts, of="metric", name=("summary",))])]


SECTION = Section(98, "folds", "How do the folds differ?", blocks, (REPORT, SUMMARY))
