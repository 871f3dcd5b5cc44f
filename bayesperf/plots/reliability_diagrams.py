"""Figures of reliability curves, recalibration, and measures of calibration compared with calibrated systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bayesperf.core.errors import InputError
from bayesperf.core.words import metric_title, percentage, short_interval_name
from bayesperf.plots.style import (
    BLUE,
    GREY,
    SERIES,
    band_name,
    closed,
    default_interval,
    label_edges,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)
from bayesperf.posteriors.marginal import Kind

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.curves.reliability.frequencies import ProbabilityCounts
    from bayesperf.curves.reliability.frequency_curve import ReliabilityCurve
    from bayesperf.curves.reliability.measures import Calibration
    from bayesperf.curves.reliability.recalibration import Recalibration
    from bayesperf.plots.style import Panels

__all__ = ["calibration", "recalibration", "reliability"]

_METHODS = {"isotonic": "isotonic", "bins": "bins of equally many examples", "logistic": "logistic recalibration"}
# The strip beneath the diagram that shows how many examples have each probability: its height, and its bars.
_STRIP, _BARS = 0.16, 50
# A line of recalibration is drawn at this many probabilities.
_POINTS = 101
# What is drawn of the measures of calibration: each stands for others beside it.
_MEASURES = ("calibration_in_the_large", "calibration_slope", "squared_calibration_error", "brier", "log_loss")


@closed
def reliability(
    curves: ReliabilityCurve | Mapping[str, ReliabilityCurve],
    *,
    ci_prob: float | None = None,
    kind: str = "simultaneous",
    ax: Panels | None = None,
) -> Figure:
    """Plot the reliability curve of a system, or of several, with bands, and the distribution of the probabilities.

    Parameters
    ----------
    curves : ReliabilityCurve or mapping of str to ReliabilityCurve
        Curves of one system or several, or several curves by name, made by the same method. More than three have a
        panel each.
    ci_prob : float, optional
        Probability of the bands, as in `bayesperf.plots.density`.
    kind : {"simultaneous", "pointwise"}
        The kind of the bands, as in `bayesperf.curves.ReliabilityCurve.band`.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> curve = bp.reliability_curve([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    >>> figure = bp.plots.reliability(curve)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['calibrated', 'frequency', '95 % band, simultaneous']
    """
    prob, _ = default_interval(ci_prob, None)
    named = dict(curves) if isinstance(curves, Mapping) else curves.each()
    methods = {each.method for each in named.values()}
    if len(methods) != 1:
        raise InputError("curves", f"must be made by one method; they are by {sorted(methods)}.")
    apart = len(named) > 3
    figure, panels = (
        small_multiples(len(named), 3.4, 3.7, ax=ax) if apart else small_multiples(1, 5.2, 5.7, margin=(0, 0), ax=ax)
    )
    groups = [{name: each} for name, each in named.items()] if apart else [named]
    for axes, group in zip(panels, groups, strict=True):
        _set_up(axes)
        for colour, (name, each) in zip(SERIES, group.items(), strict=False):
            _draw_curve(axes, each, prob, kind, colour, "" if apart else name)
            _draw_strip(axes, each.parts[""], colour, filled=len(group) == 1)
        if len(group) > 1:
            axes.fill([], [], color=GREY, alpha=0.3, lw=0, label=f"{band_name(prob, kind)}, of each")
        if apart:
            axes.set_title(shorten(next(iter(group))), fontsize="small")
        if not apart or axes is panels[0]:
            axes.legend(facecolor="white", edgecolor="none", framealpha=0.8, fontsize="small", loc="upper left")
    label_edges(panels, "probability given", "frequency", ax)
    (method,) = methods
    words = "Reliability curve", f"{kind} {percentage(prob)} band ({_METHODS[method]})"
    if apart:
        write_title(figure, *words, ax=ax)
    else:
        panels[0].set_title("\n".join(words), fontsize="medium")
    return figure


def _set_up(axes: Axes) -> None:
    """Set the scales, and draw the diagonal and the line above the strip."""
    axes.set(xlim=(-0.02, 1.02), ylim=(-_STRIP - 0.04, 1.02), aspect="equal")
    axes.set_yticks(np.linspace(0, 1, 6))
    axes.plot([0, 1], [0, 1], color="black", lw=0.8, ls="--", zorder=1, label="calibrated")
    axes.axhline(-0.02, color=GREY, lw=0.5)


def _draw_curve(axes: Axes, curve: ReliabilityCurve, prob: float, kind: str, colour: str, name: str) -> None:
    """Plot a curve with its band: bins as points with bars, bounds of an isotonic line as steps."""
    points, band = curve.dataset, curve.band(prob, kind)["frequency"]
    x, y = points["probability"].values, points["frequency"].values
    lower, upper = (band.sel(ci_bound=bound).values for bound in ("lower", "upper"))
    # With several systems the band has no line in the legend.
    label, of_band = shorten(name) or "frequency", "_band" if name else band_name(prob, kind)
    if curve.method == "bins":
        axes.vlines(x, lower, upper, color=colour, lw=1.5, alpha=0.6, label=of_band, zorder=2)
        axes.plot(x, y, "o", color=colour, ms=5, mec="white", label=label, zorder=3)
        return
    axes.plot(x, y, color=colour, lw=1.5, label=label, zorder=3)
    if curve.method == "isotonic":
        # Between two points the lower bound belongs to the first, the upper bound to the second.
        x, lower, upper = np.repeat(x, 2)[1:-1], np.repeat(lower[:-1], 2), np.repeat(upper[1:], 2)
    axes.fill_between(x, lower, upper, color=colour, alpha=0.2, lw=0, label=of_band, zorder=2)


def _draw_strip(axes: Axes, counts: ProbabilityCounts, colour: str, filled: bool) -> None:
    """Plot, below the diagram, the number of examples with each probability."""
    number, edges = np.histogram(counts.values, bins=_BARS, range=(0, 1), weights=counts.examples)
    height = -_STRIP - 0.03 + _STRIP * number / number.max()
    axes.stairs(height, edges, baseline=-_STRIP - 0.03, color=GREY if filled else colour, fill=filled, lw=1,
                alpha=0.6 if filled else 1)  # fmt: skip


@closed
def recalibration(
    recalibration: Recalibration,
    *,
    ci_prob: float | None = None,
    ci_kind: Kind | None = None,
    ax: Panels | None = None,
) -> Figure:
    """Plot recalibrated against original probabilities, with intervals, and the distribution of the original ones.

    With groups, each has a thin line, and the line with intervals describes a group not seen yet.

    Parameters
    ----------
    recalibration : Recalibration
        The result of `bayesperf.curves.recalibrate`.
    ci_prob, ci_kind
        The intervals, as in `bayesperf.plots.density`.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> recalibration = bp.curves.recalibrate([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    >>> figure = bp.plots.recalibration(recalibration)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['calibrated', 'recalibrated', '95 % HDI']
    """
    interval = default_interval(ci_prob, ci_kind)
    figure, (axes,) = small_multiples(1, 5.2, 5.7, margin=(0, 0), ax=ax)
    _set_up(axes)
    values = recalibration.counts.values
    at = np.unique(np.append(np.linspace(values[0], values[-1], _POINTS), values[[0, -1]]))
    for place, (label, mean) in enumerate(recalibration.means_of_groups(at).items()):
        axes.plot(at, mean, color=GREY, lw=0.8, alpha=0.8, zorder=2, label=f"_{label}" if place else "of each group")
    marginal = recalibration.predict(at)
    lower, upper = marginal.interval(*interval).values.T
    name = f"a new {recalibration.dim}" if recalibration.dim else "recalibrated"
    axes.plot(at, marginal.mean().values, color=BLUE, lw=1.5, zorder=4, label=name)
    axes.fill_between(at, lower, upper, color=BLUE, alpha=0.2, lw=0, zorder=3, label=short_interval_name(*interval))
    _draw_strip(axes, recalibration.counts, GREY, filled=True)
    axes.legend(facecolor="white", edgecolor="none", framealpha=0.8, fontsize="small", loc="upper left")
    label_edges([axes], "probability given", "probability", ax)
    axes.set_title(f"Recalibration ({recalibration.method}), with {short_interval_name(*interval)} at each probability",
                   fontsize="medium")  # fmt: skip
    return figure


@closed
def calibration(
    calibration: Calibration,
    *,
    ci_prob: float | None = None,
    ci_kind: Kind | None = None,
    ax: Panels | None = None,
) -> Figure:
    """Plot measures of calibration, one panel each, beside the range of perfectly calibrated systems.

    Parameters
    ----------
    calibration : Calibration
        The result of `bayesperf.curves.calibration`.
    ci_prob, ci_kind
        The intervals, and the probability of the range, as in `bayesperf.plots.density`.
    ax
        Axes to draw in, one per panel, as in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> calibration = bp.curves.calibration([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9], bins=2, draws=100)
    >>> [axes.get_title() for axes in bp.plots.calibration(calibration).axes][:2]
    ['calibration in the large', 'calibration slope']
    """
    interval = default_interval(ci_prob, ci_kind)
    table = calibration.summary(*interval)
    shown = [measure for measure in _MEASURES if measure in set(table["metric"])]
    labels = calibration.labels or [""]
    height = 0.8 + 0.28 * len(labels)
    figure, panels = small_multiples(len(shown), 2.9, height, columns=3, margin=(1, 0.9), ax=ax)
    for place, (axes, measure) in enumerate(zip(panels, shown, strict=True)):
        rows = table[table["metric"] == measure]
        of_labels = rows.set_index("label").reindex(labels) if "label" in rows else rows
        _draw_measure(axes, of_labels)
        axes.set_title("Brier score" if measure == "brier" else metric_title(measure), fontsize="small")
        axes.set_yticks(range(len(labels)), [shorten(label, 20) for label in labels] if place % 3 == 0 else [])
    handles, names = panels[-1].get_legend_handles_labels()
    titles = {"observed": "observed", "range": f"range of calibrated systems, {percentage(interval[0])}",
              "posterior": f"posterior, {short_interval_name(*interval)}"}  # fmt: skip
    write_legend(figure, handles, [titles[name] for name in names], ax=ax)
    write_title(figure, "Calibration, beside perfectly calibrated systems with these probabilities", ax=ax)
    return figure


def _draw_measure(axes: Axes, rows: pd.DataFrame) -> None:
    """Plot a measure, one row per label: the range of calibrated systems, the posterior and the observed value."""
    y = np.arange(len(rows))
    low, high = rows["calibrated_lower"], rows["calibrated_upper"]
    axes.barh(y, high - low, 0.7, left=low, color=GREY, alpha=0.35, lw=0, label="range")
    for at, value in zip(y, np.where(low == high, low, np.nan), strict=True):
        axes.vlines(value, at - 0.35, at + 0.35, color=GREY, lw=2)
    axes.hlines(y, rows["ci_lower"], rows["ci_upper"], color=BLUE, lw=1.5, label="posterior")
    axes.plot(rows["observed"].fillna(rows["mean"]), y, "o", color=BLUE, ms=5, mec="white", label="observed")
    axes.use_sticky_edges = False
    axes.margins(x=0.08)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    axes.tick_params(left=False, labelsize="small")
    axes.locator_params(axis="x", nbins=4)
