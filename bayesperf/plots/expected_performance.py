"""Figures of expected performance curves, and of the α at which two curves differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.words import percentage
from bayesperf.plots.style import (
    GREY,
    SERIES,
    band_name,
    closed,
    default_interval,
    label_around,
    label_edges,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.curves.expected_performance.performance_curve import ExpectedPerformanceCurve
    from bayesperf.plots.style import Panels

__all__ = ["epc"]


@closed
def epc(
    curves: ExpectedPerformanceCurve | Mapping[str, ExpectedPerformanceCurve],
    *,
    difference: str | None = None,
    ci_prob: float | None = None,
    kind: str = "pointwise",
    ax: Panels | None = None,
) -> Figure:
    """Plot expected performance curves with their bands, and the difference of two of them.

    Parameters
    ----------
    curves : ExpectedPerformanceCurve or mapping of str to them
        Curves of one system or several, or several curves by name, with one criterion and metric. More than six systems
        have a panel each.
    difference : {"models", "thresholds"}, optional
        Whether to draw the difference of a curve's two systems below, and to shade the α at which its band excludes 0:
        where the two models, or the two thresholds, differ.
    ci_prob : float, optional
        Probability of the equal-tailed bands, as in `bayesperf.plots.density`.
    kind : {"pointwise", "simultaneous"}
        Whether a band is valid at each α separately or for the whole curve.
    ax
        Axes to draw in, as in `bayesperf.plots.density`; with a difference, two.

    Raises
    ------
    ValueError
        If there are no curves, or they have different criteria or metrics.
    """
    named = dict(curves) if isinstance(curves, Mapping) else curves.each()
    if difference is not None and (isinstance(curves, Mapping) or len(named) != 2):
        raise InputError("difference", "is of a curve of two systems.", "Take curve.sel(model=[a, b]).")
    shown = {
        (curve.criterion.formula, curve.metric.title, curve.estimand, curve.system.chosen_on)
        for curve in named.values()
    }
    if len(shown) != 1:
        raise InputError("curves", "give one or more, of one criterion, metric, method and kind of resampling.")
    ((formula, title, estimand, chosen_on),) = shown
    prob, _ = default_interval(ci_prob, None)
    # More curves than there are colours have a panel each.
    apart = difference is None and len(named) > len(SERIES)
    figure, panels = _panels(len(named) if apart else 1, difference is not None, ax)
    for i, (name, curve) in enumerate(named.items()):
        axes, colour = (panels[i], SERIES[0]) if apart else (panels[0], SERIES[i % len(SERIES)])
        points, band = (of[curve.metric.name] for of in (curve.dataset, curve.band(prob, kind)))
        _draw(axes, points, band, colour, "" if apart else name)
        axes.set_title(shorten(name) if apart else "", fontsize="small")
    y = f"{title} on the test set"
    if apart:
        label_around(figure, panels, "α", y, ax)
    else:
        label_edges(panels, f"α   (the threshold minimises {formula} on {chosen_on})", y, ax)
    if difference is not None:
        assert not isinstance(curves, Mapping)
        _draw_difference(panels, curves.difference(ci_prob=prob, kind=kind, question=difference), curves.names)
    what = f"α: the threshold minimises {formula} on {chosen_on}" if apart else ""
    _write_legend(figure, panels[0], [""] if apart else list(named), band_name(prob, kind), what, ax)
    for axes in panels:
        axes.grid(axis="y", color=GREY, alpha=0.25, lw=0.6)
    write_title(figure, f"{estimand},", f"{percentage(prob)} {kind} equal-tailed band", ax=ax)
    return figure


def _panels(curves: int, compared: bool, ax: Panels | None) -> tuple[Figure, list[Axes]]:
    """Return a figure with a small panel for each of several curves, or a large one, and one below for a difference."""
    if curves > 1:
        return small_multiples(curves, 2.9, 2.3, margin=(0.6, 1.3), ax=ax, sharex=True, sharey=True)
    heights = [3.9, 2.1] if compared else [4.2]
    size = len(heights), 7.2, sum(heights) / len(heights)
    return small_multiples(*size, columns=1, margin=(0, 0), ax=ax, sharex=True, height_ratios=heights)


def _write_legend(figure: Figure, axes: Axes, names: list[str], band: str, title: str, ax: Panels | None) -> None:
    """Write a legend of lines, bands and shaded spans; a single curve has no name."""
    from matplotlib.patches import Patch

    handles, labels = axes.get_legend_handles_labels()
    colour = SERIES[0] if len(names) == 1 else GREY
    shade = Patch(color=colour, alpha=0.25, lw=0)
    of_each = "" if len(names) == 1 else ", of each"
    write_legend(figure, [*handles, shade], [*labels, f"{band}{of_each}, equal-tailed"], title, ax)


def _draw(axes: Axes, points: xr.DataArray, band: xr.DataArray, colour: str, name: str) -> None:
    """Plot a curve in steps, because thresholds change at some values of α and stay the same between them."""
    alpha = points["alpha"].values
    lower, upper = band.values.T
    axes.fill_between(alpha, lower, upper, step="mid", color=colour, alpha=0.2, lw=0)
    axes.plot(alpha, points.values, drawstyle="steps-mid", color=colour, lw=1.5, label=shorten(name) or None)


def _draw_difference(both: Sequence[Axes], found: xr.Dataset, names: Sequence[str]) -> None:
    """Plot the difference below, and shade where it is significant in both panels."""
    axes = both[1]
    _draw(axes, found["difference"], found["interval"], "black", "")
    axes.axhline(0, color=GREY, lw=0.8)
    axes.set_ylabel("\n− ".join(shorten(name, 24) for name in names))
    for position, (start, end) in enumerate(significant_spans(found)):
        for panel in both:
            label = f"these two {found.attrs['question']} differ" if panel is both[0] and not position else None
            panel.axvspan(start, end, color=GREY, alpha=0.18, lw=0, label=label, zorder=0)


def step_edges(alphas: Array) -> Array:
    """Return where a curve in steps changes: at both ends, and half-way between neighbouring values of α."""
    return np.concatenate([alphas[:1], (alphas[:-1] + alphas[1:]) / 2, alphas[-1:]])


def significant_spans(found: xr.Dataset) -> list[tuple[float, float]]:
    """Return the spans of α over which the band of a difference excludes 0."""
    changes = np.diff(found["significant"].values.astype(int), prepend=0, append=0)
    starts, ends = np.flatnonzero(changes == 1), np.flatnonzero(changes == -1)
    edges = step_edges(found["alpha"].values)
    return list(zip(edges[starts].tolist(), edges[ends].tolist(), strict=True))
