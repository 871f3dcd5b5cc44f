"""Are groups treated alike? The criteria of fairness, for each column by which predictions are sliced."""

from __future__ import annotations

from bayesperf import groups
from bayesperf.core.words import short_interval_name
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Column, Folded, Sentence, figures, rows_table
from bayesperf.reports.sections import REPORT, Section


def blocks(analysis: Analysis) -> list[Block]:
    """Return sentences for each column, and a folded table of gaps and ratios."""
    sliced = analysis.slices
    if sliced is None or sliced.found.default_metric != "recall":
        return []
    found, ci_prob = sliced.found, analysis.settings.ci_prob
    by_each = [found.cm.sum([other for other in found.dims if other != dim]) for dim in found.dims]
    each = [groups.parity(cm, random_seed=analysis.settings.seed) for cm in by_each]
    return [block for of_dim in each for block in _of_dim(of_dim, ci_prob)]


def _of_dim(of_dim: groups.Parity, ci_prob: float) -> list[Block]:
    columns = [
        Column("criterion", ("criterion",)),
        Column("contrast", ("contrast",)),
        *figures(short_interval_name(ci_prob, "hdi"), observed="observed", mean="mean"),
        Column("answer", ("answer",)),
    ]
    records = of_dim.summary(ci_prob).to_dict("records")
    return [
        Sentence(of_dim.in_words(ci_prob=ci_prob), lead=of_dim.dim, name=("parity", of_dim.dim, "in_words")),
        Folded(
            f"Gaps and ratios by {of_dim.dim}",
            [rows_table(f"by {of_dim.dim}", columns, records, name=("parity", of_dim.dim, "rows"))],
            is_printed=False,
        ),
    ]


SECTION = Section(96, "parity", "Are groups treated alike?", blocks, (REPORT,))
