"""Figures of the posterior distributions of metrics: densities and forests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesperf.core.words import interval_name, metric_title, place_names
from bayesperf.plots.densities import Curves, curves, intervals
from bayesperf.plots.style import BLUE, GREY, MOST_ROWS, SERIES, closed, parts_of, small_multiples, write_title
from bayesperf.posteriors.marginal import Kind, Marginal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def density(marginal: Marginal, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> Figure:
    """Draw the density of a metric with its interval shaded and its mean marked.

    Parameters
    ----------
    marginal : Marginal
        With leading dims, a curve for each of their coordinates; if there are more than six, a panel for each.
    ci_prob, ci_kind
        The interval.
    """
    return panel([marginal], ci_prob=ci_prob, ci_kind=ci_kind, kind="density")


def forest(marginal: Marginal, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> Figure:
    """Draw the mean and interval of a metric for every leading coordinate, one below the other."""
    return panel([marginal], ci_prob=ci_prob, ci_kind=ci_kind, kind="forest")


@closed
def panel(
    marginals: Sequence[Marginal],
    *,
    ci_prob: float = 0.95,
    ci_kind: Kind = "hdi",
    kind: str | None = None,
) -> Figure:
    """Draw several metrics side by side.

    Parameters
    ----------
    marginals : sequence of Marginal
        As ``[posterior["recall"], posterior["precision"]]``.
    ci_prob, ci_kind
        The interval.
    kind : {"density", "forest"}, optional
        By default densities if metrics have up to six quantities each, forests if they have more. More than six
        densities have a panel each, and forests of more than forty rows are continued beside.
    """
    most = max(len(place_names(marginal.leading)) for marginal in marginals)
    kind = kind or ("density" if most <= len(SERIES) else "forest")
    draw, compute = (draw_densities, curves) if kind == "density" else (_draw_forest, intervals)
    drawn = [compute(marginal, ci_prob, ci_kind) for marginal in marginals]
    # More densities than there are colours have panels of their own; more rows than fit a page are continued.
    apart = kind == "density" and most > len(SERIES)
    parts = [
        (marginal, part)
        for marginal, whole in zip(marginals, drawn, strict=True)
        for part in _split(whole, 1 if apart else MOST_ROWS)
    ]
    longest = max(len(part.names) for _, part in parts)
    height = 1.1 + 0.24 * longest if kind == "forest" else 2.0 if apart else 2.6
    columns, width = (4, 2.9) if apart else (3, 3.4 if len(parts) > 1 else 4.0)
    figure, panels = small_multiples(len(parts), width, height, columns=columns, margin=(0.6, 0.5))
    for position, (axes, (marginal, part)) in enumerate(zip(panels, parts, strict=True)):
        draw(axes, part)
        axes.set_xlabel(metric_title(marginal.name))
        if apart:
            axes.set_title(part.names[0], fontsize="small")
            axes.set_ylabel("" if position % columns else axes.get_ylabel())
        if part.logarithmic:
            axes.set_xscale("log")
        axes.spines[["top", "right"]].set_visible(False)
        if kind == "forest" and position % columns and part.names == parts[0][1].names:
            axes.tick_params(labelleft=False)
        elif kind == "forest":
            axes.set_ylabel(", ".join(map(str, marginal.dims)))
    for marginal in marginals:
        _share_x([axes for axes, (shown, _) in zip(panels, parts, strict=True) if shown is marginal])
    if kind == "density" and most > 1 and not apart:
        # Some metrics have a curve for each class, others a single one: the fullest legend serves all.
        fullest = max(range(len(drawn)), key=lambda i: len(drawn[i].names))
        panels[fullest].legend(title=", ".join(map(str, marginals[fullest].dims)), frameon=False, fontsize="small")
    write_title(figure, f"{marginals[0].estimand}:", f"mean and {interval_name(ci_prob, ci_kind)}")
    return figure


def _split(drawn: Curves, most: int) -> list[Curves]:
    """Return what is drawn in parts of at most so many quantities."""
    return [
        Curves(
            x=drawn.x[part],
            density=drawn.density[part],
            mean=drawn.mean[part],
            interval=drawn.interval[part],
            names=drawn.names[part],
            logarithmic=drawn.logarithmic,
        )
        for part in parts_of(len(drawn.names), most)
    ]


def _share_x(panels: Sequence[Axes]) -> None:
    """Give panels of one metric the same range."""
    limits = np.array([axes.get_xlim() for axes in panels])
    for axes in panels:
        axes.set_xlim(limits[:, 0].min(), limits[:, 1].max())


def draw_densities(axes: Axes, drawn: Curves) -> None:
    """Draw densities with their intervals shaded and their means dashed."""
    single = len(drawn.names) == 1
    for i, name in enumerate(drawn.names):
        colour = SERIES[i % len(SERIES)]
        x, y, (low, high) = drawn.x[i], drawn.density[i], drawn.interval[i]
        axes.plot(x, y, color=colour, lw=1.5, label=name or None)
        inside = (x >= low) & (x <= high)
        axes.fill_between(x[inside], y[inside], color=colour, alpha=0.35 if single else 0.2, lw=0)
        if np.isfinite(drawn.mean[i]):
            axes.plot([drawn.mean[i]] * 2, [0, np.interp(drawn.mean[i], x, y)], color=colour, lw=1, ls="--")
    axes.set_ylim(bottom=0)
    axes.set_yticks([])
    axes.set_ylabel("density of the logarithm" if drawn.logarithmic else "density")


def _draw_forest(axes: Axes, drawn: Curves) -> None:
    """Draw means and intervals, a row for each."""
    y = np.arange(len(drawn.names))[::-1]
    axes.hlines(y, *drawn.interval.T, color=BLUE, lw=2)
    axes.plot(drawn.mean, y, "o", color=BLUE, ms=5)
    axes.set_yticks(y, drawn.names)
    axes.set_ylim(-0.6, len(y) - 0.4)
    axes.grid(axis="x", color=GREY, alpha=0.25, lw=0.6)
