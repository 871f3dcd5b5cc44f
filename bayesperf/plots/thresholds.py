"""Figures of thresholds: where a system is useful, and what a chosen threshold decides."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.core.words import percentage, places_in_words
from bayesperf.data.axis_names import MODEL
from bayesperf.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    SERIES,
    band_name,
    closed,
    default_interval,
    label_around,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.curves.decisions.benefit_curve import DecisionCurve
    from bayesperf.curves.decisions.choosing import Candidates, ChosenThreshold
    from bayesperf.plots.style import Panels

__all__ = ["decision_curve", "score_regions"]

# How far below 0 an axis goes, and how far apart bars of useful thresholds are, in parts of it.
_BELOW, _BARS = 0.25, 0.04


@closed
def decision_curve(
    curve: DecisionCurve, *, ci_prob: float | None = None, kind: str = "pointwise", ax: Panels | None = None
) -> Figure:
    """Plot net benefit over thresholds, beside treating all and none, and where each system is useful.

    Parameters
    ----------
    curve : DecisionCurve
        A curve of one system or several. Every group of ``by`` has a panel, and so has each of more than six systems.
    ci_prob : float, optional
        Probability of the bands, and minimum probability of being useful, as in `bayesperf.plots.density`.
    kind : {"pointwise", "simultaneous"}
        Whether a band is valid at each threshold separately or for the whole curve.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
    >>> curve = bp.decision_curve(frame["actual"], frame["score"], pos_label="malignant")
    >>> [text.get_text() for text in bp.plots.decision_curve(curve).legends[0].get_texts()][:3]
    ['the system', 'treat all', 'treat none']
    """
    prob, _ = default_interval(ci_prob, None)
    band, useful = curve.band(prob, kind)["net_benefit"], curve.useful_ranges(prob)
    of_systems = MODEL in curve.dataset.dims
    # More systems than there are colours have a panel each.
    together = of_systems and curve.dataset.sizes[MODEL] <= len(SERIES)
    first = curve.dataset["net_benefit"].isel(threshold=0, drop=True)
    leading = first.isel({MODEL: 0}, drop=True) if together else first
    figure, panels = (
        small_multiples(leading.size, 3.2, 2.6, columns=3, margin=(0.6, 1.3), ax=ax, sharex=True, sharey=True)
        if leading.size > 1
        else small_multiples(1, 7.2, 4.4, margin=(0, 0), ax=ax)
    )
    top = 1.05 * float(band.max())
    for axes, name, labels in zip(panels, places_in_words(leading), _places(leading), strict=True):
        _draw_decisions(axes, curve.dataset.sel(labels), band.sel(labels), _rows(useful, labels))
        axes.set(xlim=(0, 1), ylim=(-_BELOW * top, top))
        axes.set_title(shorten(name), fontsize="small")
    label_around(figure, panels, "threshold", "net benefit per example", ax)
    _write_legend(figure, panels[0], band_name(prob, kind), percentage(prob), ax)
    write_title(figure, curve.estimand, f"{percentage(prob)} {kind} equal-tailed band", ax=ax)
    return figure


def _places(leading: xr.DataArray) -> list[dict[str, Any]]:
    """Return the labels of each panel."""
    labels = product(*(leading[dim].values.tolist() for dim in leading.dims))
    return [dict(zip(map(str, leading.dims), place, strict=True)) for place in labels]


def _rows(useful: pd.DataFrame, labels: dict[str, Any]) -> pd.DataFrame:
    """Return the ranges of thresholds of a panel."""
    for dim, label in labels.items():
        useful = useful[useful[dim] == label]
    return useful


def _draw_decisions(axes: Axes, points: xr.Dataset, band: xr.DataArray, useful: pd.DataFrame) -> None:
    """Plot a panel's systems, what they are compared with, and the bars of their useful thresholds."""
    cuts = points["threshold"].values
    systems = points[MODEL].values.tolist() if MODEL in points.dims else [None]
    half = (cuts[1] - cuts[0]) / 2 if len(cuts) > 1 else 0.005
    for i, (system, colour) in enumerate(zip(systems, SERIES, strict=False)):
        own = {} if system is None else {MODEL: system}
        values, bounds = points["net_benefit"].sel(own), band.sel(own)
        axes.fill_between(cuts, *bounds.values.T, color=colour, alpha=0.2, lw=0)
        name = "the system" if system is None else shorten(system)
        axes.plot(cuts, values, color=colour, lw=1.5, marker="." if len(cuts) == 1 else "", label=name, zorder=3)
        for _, (low, high) in _rows(useful, own)[["low", "high"]].iterrows():
            axes.plot([low - half, high + half], [_BARS * (i + 0.7)] * 2, color=colour, lw=3, solid_capstyle="butt",
                      transform=axes.get_xaxis_transform())  # fmt: skip
    axes.plot(cuts, points["treat_all"], color=GREY, lw=1, ls="--", label="treat all", zorder=2)
    axes.axhline(0, color="black", lw=0.8, label="treat none", zorder=1)


def _write_legend(figure: Figure, axes: Axes, band: str, prob: str, ax: Panels | None) -> None:
    """Write a legend of lines, bands and bars."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles, names = axes.get_legend_handles_labels()
    alone = len(names) == 1 + len(("treat all", "treat none"))
    colour = SERIES[0] if alone else GREY
    of_each = "" if alone else ", of each"
    others: dict[str, Artist] = {
        f"{band}{of_each}, equal-tailed": Patch(color=colour, alpha=0.25, lw=0),
        f"useful with probability ≥ {prob}, pointwise": Line2D([], [], color=colour, lw=3),
    }
    write_legend(figure, [*handles, *others.values()], [*names, *others], ax=ax)


_HISTOGRAM_BARS = 40


@closed
def score_regions(chosen: ChosenThreshold, *, ax: Axes | None = None) -> Figure:
    """Plot the number of examples per class and score, and the thresholds; scores left to people are grey.

    Parameters
    ----------
    chosen : ChosenThreshold
        The result of `bayesperf.choose_threshold` or `bayesperf.curves.abstention`. The figure shows the examples that
        were used to choose.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
    >>> two = bp.curves.abstention(frame["actual"], frame["score"], max_abstention=0.05, pos_label="malignant",
    ...                            draws=100)
    >>> [text.get_text() for text in bp.plots.score_regions(two).legends[0].get_texts()]
    ['negatives', 'positives', 'left to people']
    """
    edges, counts = _bars(chosen.candidates)
    figure, (axes,) = small_multiples(1, 7.2, 3.2, margin=(0, 0), ax=ax)
    for of_class, colour, name, side in zip(counts, (BLUE, ORANGE), ("negatives", "positives"), (-1, 1), strict=True):
        axes.stairs(side * of_class, edges, color=colour, fill=True, alpha=0.6, label=name)
    axes.axhline(0, color="black", lw=0.6)
    ends = [chosen.low, chosen.high]
    for end in {float(np.clip(each, *edges[[0, -1]])) for each in ends}:
        axes.axvline(end, color="black", lw=1.2)
        axes.annotate(f"{end:.3g}", (end, 1), (3, -2), xycoords=axes.get_xaxis_transform(), textcoords="offset points",
                      va="top", fontsize="small")  # fmt: skip
    if ends[0] < ends[-1]:
        axes.axvspan(*np.clip(ends, *edges[[0, -1]]), color=GREY, alpha=0.2, lw=0, label="left to people")
    axes.set_ylim(-1.05 * counts[0].max(), 1.25 * counts[1].max())
    axes.yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    axes.set(xlabel="score", ylabel="examples: positive above,\nnegative below", xlim=edges[[0, -1]])
    write_legend(figure, *axes.get_legend_handles_labels(), ax=ax)
    write_title(figure, "Scores of the examples that chose", chosen.rule, ax=ax)
    return figure


def _bars(candidates: Candidates) -> tuple[Array, Array]:
    """Return edges of bars (k + 1,), and the number of negatives and positives (2, k) in each."""
    scores = candidates.thresholds[1:]
    edges = np.histogram_bin_edges(scores, _HISTOGRAM_BARS)
    return edges, np.stack([np.histogram(scores, edges, weights=of_class)[0] for of_class in candidates.counts])
