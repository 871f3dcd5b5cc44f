"""Expected performance curves: of systems by themselves, and where two of them differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayesperf.plots.densities import GREY, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.curves import ExpectedPerformanceComparison, ExpectedPerformanceCurve


def epc(
    curves: ExpectedPerformanceCurve | Mapping[str, ExpectedPerformanceCurve],
    *,
    comparison: ExpectedPerformanceComparison | None = None,
    ci_prob: float = 0.95,
    kind: str = "pointwise",
) -> Figure:
    """Draw expected performance curves with their bands, and of two their difference.

    Parameters
    ----------
    curves : ExpectedPerformanceCurve or mapping of str to them
        One, or several by name: of one criterion and metric.
    comparison : ExpectedPerformanceComparison, optional
        Draws the difference below, and shades the α at which its band leaves out 0.
    ci_prob : float
        Probability of the equal-tailed bands.
    kind : {"pointwise", "simultaneous"}
        Whether it is of each α by itself or of the whole curve.

    Raises
    ------
    ValueError
        If there are no curves, or they are of different criteria or metrics.
    """
    from matplotlib import pyplot as plt

    named = dict(curves) if isinstance(curves, Mapping) else {"": curves}
    shown = {(curve.dataset.attrs["formula"], curve.metric.title, curve.estimand) for curve in named.values()}
    if len(shown) != 1:
        raise ValueError("curves: give one or more, of one criterion, metric, method and kind of resampling.")
    ((formula, title, estimand),) = shown
    rows = 1 if comparison is None else 2
    figure, grid = plt.subplots(
        rows, figsize=(7.2, 3.8 + 1.9 * (rows - 1)), squeeze=False, sharex=True, layout="constrained",
        height_ratios=[2, 1][:rows],
    )  # fmt: skip
    top, bottom = grid[0, 0], grid[-1, 0]
    for (name, curve), colour in zip(named.items(), _colours(len(named)), strict=True):
        _draw(top, curve.dataset[curve.metric.name], curve.band(ci_prob, kind)[curve.metric.name], colour, name)
    top.set_ylabel(f"{title} on the test set")
    if comparison is not None:
        _draw_difference(list(grid[:, 0]), comparison, ci_prob, kind)
    if len(named) > 1:
        top.legend(frameon=False, fontsize="small")
    bottom.set_xlabel(f"α   (the threshold minimises {formula} on the development set)")
    for axes in grid[:, 0]:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color=GREY, alpha=0.25, lw=0.6)
    figure.suptitle(f"{estimand},\n{100 * ci_prob:g} % {kind} equal-tailed band", fontsize="medium")
    plt.close(figure)  # else notebooks show it twice
    return figure


def _colours(count: int) -> list[str]:
    return [SERIES[i % len(SERIES)] for i in range(count)]


def _draw(axes: Axes, points: xr.DataArray, band: xr.DataArray, colour: str, name: str) -> None:
    """Draw a curve in steps: thresholds, and what follows from them, change at some α and stay between."""
    alpha = points["alpha"].values
    lower, upper = band.values.T
    axes.fill_between(alpha, lower, upper, step="mid", color=colour, alpha=0.2, lw=0)
    axes.plot(alpha, points.values, drawstyle="steps-mid", color=colour, lw=1.5, label=name or None)


def _draw_difference(
    both: Sequence[Axes], comparison: ExpectedPerformanceComparison, ci_prob: float, kind: str
) -> None:
    """Draw the difference below, and shade where it is significant in both panels."""
    axes = both[1]
    points, band = comparison.dataset[comparison.metric], comparison.band(ci_prob, kind)[comparison.metric]
    _draw(axes, points, band, "black", "")
    axes.axhline(0, color=GREY, lw=0.8)
    axes.set_ylabel("\n− ".join(map(str, comparison.names)))
    alpha = points["alpha"].values
    edges = np.concatenate([alpha[:1], (alpha[:-1] + alpha[1:]) / 2, alpha[-1:]])
    differs = comparison.significant(ci_prob, kind).values
    starts = np.flatnonzero(np.diff(differs.astype(int), prepend=0) == 1)
    ends = np.flatnonzero(np.diff(differs.astype(int), append=0) == -1) + 1
    for start, end in zip(starts, ends, strict=True):
        for panel in both:
            label = "0 outside the band of the difference" if panel is both[0] and start == starts[0] else None
            panel.axvspan(edges[start], edges[end], color=GREY, alpha=0.18, lw=0, label=label, zorder=0)
