"""The figure of how each of many systems stands: by itself, and drawn towards those like it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.words import LOOKS_BETTER, interval_name, metric_title, short_interval_name
from bayesperf.plots.style import (
    BLUE,
    CHARACTER,
    GREY,
    MOST_ROWS,
    closed,
    default_interval,
    parts_of,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)
from bayesperf.posteriors.densities import intervals
from bayesperf.posteriors.marginal import Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.comparison.result import Comparison
    from bayesperf.plots.style import Panels


@closed
def standings(
    comparison: Comparison, *, ci_prob: float | None = None, ci_kind: Kind | None = None, ax: Panels | None = None
) -> Figure:
    """Draw the metric of each of many systems, best expected rank on top, with the probability that it is the best.

    Of shrunk systems it shows what each is by itself, too. More than forty are continued in another panel.

    Parameters
    ----------
    comparison : Comparison
        Of many systems, by ``compare(..., shrink=True)`` or without, and without other leading dims.
    ci_prob, ci_kind, ax
        The intervals, and the axes, as in `bayesperf.plots.density`.

    Raises
    ------
    ValueError
        If there are other leading dims, or the comparison has no `Comparison.standings`.
    """
    of_interval = default_interval(ci_prob, ci_kind)
    table = comparison.standings(*of_interval)
    if len(table) != len(comparison.names):
        raise InputError(
            "standings", "they are drawn of one place at a time.", "Select one along the other leading dims."
        )
    assert comparison.systems is not None
    alone = None
    if comparison.shrunk is not None:
        drawn = intervals(comparison.systems.each.sel(**{comparison.dim: table[comparison.dim].values}), *of_interval)
        alone = np.column_stack([drawn.mean, drawn.interval])
    parts = parts_of(len(table), MOST_ROWS)
    longest = CHARACTER * max(len(shorten(name)) for name in table[comparison.dim])
    figure, panels = small_multiples(
        len(parts), 4.6 + longest, 1.2 + 0.22 * parts[0].stop, columns=2, margin=(0, 0.8), ax=ax, sharex=True
    )
    for axes, part in zip(panels, parts, strict=True):
        _draw(axes, table.iloc[part], None if alone is None else alone[part], comparison.dim)
        axes.set_xlabel(metric_title(comparison.metric))
        axes.tick_params(labelbottom=True)
    panels[0].set_ylabel(f"{comparison.dim}, by expected rank")
    write_legend(figure, *panels[0].get_legend_handles_labels(), ax=ax)
    how, note = ("", LOOKS_BETTER) if comparison.shrunk is None else (", drawn towards each other", "")
    write_title(figure, f"{len(table)} systems{how}: mean and {interval_name(*of_interval)}", note, ax=ax)
    return figure


def _draw(axes: Axes, table: pd.DataFrame, alone: Array | None, dim: str) -> None:
    """Draw a row for each system, and beside it the probability that it is the best."""
    y = np.arange(len(table))[::-1]
    if alone is not None:
        mean, lower, upper = alone.T
        axes.hlines(y + 0.18, lower, upper, color=GREY, lw=1.2, label=f"by itself, {_kind(table)}")
        axes.plot(mean, y + 0.18, "o", color=GREY, ms=3)
    axes.hlines(y, table["ci_lower"], table["ci_upper"], color=BLUE, lw=2,
                label=_kind(table) if alone is None else f"drawn towards the others, {_kind(table)}")  # fmt: skip
    axes.plot(table["mean"], y, "o", color=BLUE, ms=4, label="mean")
    axes.scatter(table["observed"], y, marker="x", color="black", s=20, lw=1, zorder=3, label="observed")
    axes.set_yticks(y, [shorten(name) for name in table[dim]])
    axes.tick_params(axis="y", labelsize="small", length=0)
    axes.set_ylim(-0.8, len(y) - 0.2)
    axes.grid(axis="x", color=GREY, alpha=0.25, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.text(1.02, len(y) - 0.2, "P(best)", fontsize="small", transform=axes.get_yaxis_transform())
    for at, probability in zip(y, table["prob_best"], strict=True):
        text = "< 0.01" if probability < 0.005 else f"{probability:.2f}"
        axes.text(1.02, at, text, fontsize="small", va="center", transform=axes.get_yaxis_transform())


def _kind(table: pd.DataFrame) -> str:
    return short_interval_name(table.attrs["ci_prob"], table.attrs["ci_kind"])
