"""The figure of slices: the levels of each dim, and the worst slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesperf.core import checks
from bayesperf.core.words import interval_name, metric_title, short_interval_name
from bayesperf.groups.slice_rows import Rows, rows_of_slices
from bayesperf.metrics.metric import Metric
from bayesperf.plots.style import (
    BLUE,
    CHARACTER,
    GREY,
    closed,
    default_interval,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)
from bayesperf.posteriors.marginal import Kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesperf.groups.slicing import Slices
    from bayesperf.plots.style import Panels


@closed
def slices(
    found: Slices,
    metric: str | Metric = "",
    *,
    worst: int = 8,
    ci_prob: float | None = None,
    ci_kind: Kind | None = None,
    ax: Panels | None = None,
) -> Figure:
    """Draw the metric of the levels of each dim, and of the worst slices, observed beside estimated.

    Levels have their own observed mix of the other dims, so that what was observed and what is estimated are of the
    same. Of a dim with more than 20 levels the worst 20 are drawn.

    Parameters
    ----------
    found : Slices
        By `bayesperf.slices`.
    metric : str or Metric
        By default recall, or the accuracy.
    worst : int
        Number of slices, if there are several dims.
    ci_prob, ci_kind, ax
        The intervals, and the axes, as in `bayesperf.plots.density`.
    """
    checks.count("worst", worst)
    of_interval = default_interval(ci_prob, ci_kind)
    blocks = rows_of_slices(found, metric, worst, *of_interval)
    named = [[block.heading, *_names(block)] for block in blocks]
    names = [name for block in named for name in block]
    longest = CHARACTER * max(map(len, names))
    figure, (axes,) = small_multiples(1, 4.2 + longest, 0.24 * len(names) + 0.4, margin=(0.6, 1.0), ax=ax)
    y = np.arange(len(names), 0, -1)
    headings = np.cumsum([0, *(1 + len(block.names) for block in blocks[:-1])])
    rows = np.delete(y, headings)
    observed, means, intervals = (np.concatenate(parts) for parts in zip(*(block[3:] for block in blocks), strict=True))
    axes.hlines(rows, *intervals.T, color=BLUE, lw=2, label=short_interval_name(*of_interval))
    axes.plot(means, rows, "o", color=BLUE, ms=5, label="estimated mean")
    axes.scatter(observed, rows, marker="x", color="black", s=28, lw=1.2, zorder=3, label="observed")
    axes.set_yticks(y, names)
    for position in headings:
        axes.get_yticklabels()[position].set_fontweight("bold")
        axes.axhline(y[position] + 0.5, color=GREY, lw=0.6)
    axes.set_ylim(0.3, len(names) + 0.7)
    axes.set_xlabel(metric_title(found[metric].name))
    axes.grid(axis="x", color=GREY, alpha=0.25, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    write_legend(figure, *axes.get_legend_handles_labels(), ax=ax)
    write_title(figure, f"Observed, and {interval_name(*of_interval)}s of what is estimated", ax=ax)
    return figure


def _names(block: Rows) -> list[str]:
    counts = ["" if np.isnan(n) else f" (n = {n:,.0f})" for n in block.trials]
    return [f"{shorten(name)}{count}" for name, count in zip(block.names, counts, strict=True)]
