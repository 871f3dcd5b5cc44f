"""Figures of metrics' distributions: densities, forests, panels of many, and two metrics jointly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arrays import Codes, positions
from bayesperf.core.words import interval_name, place_names, short_interval_name, signed_value
from bayesperf.metrics.metric import Metric
from bayesperf.plots.style import (
    BLUE,
    CHARACTER,
    GREY,
    MOST_ROWS,
    SERIES,
    closed,
    default_interval,
    label_edges,
    log_scale,
    parts_of,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)
from bayesperf.posteriors.densities import Curves, curves, intervals
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.plots.style import Panels

__all__ = ["density", "forest", "joint", "panel"]

# Heights, relative to the maximum density: the strip beneath a density for its interval and mean, per curve, and the
# strip for the text.
_STRIP, _WRITTEN = 0.07, 0.13
# If an interval is narrower than this fraction of the axis, its limits are written outside it, where they do not touch.
_NARROW = 0.25
# Height of a row of a forest, by itself and for each further system in it, in inches.
_ROW, _FURTHER = 0.24, 0.1


def density(
    marginal: Marginal, *, ci_prob: float | None = None, ci_kind: Kind | None = None, ax: Panels | None = None
) -> Figure:
    """Plot the density of a metric with its interval shaded, its mean and the observed score.

    Parameters
    ----------
    marginal : Marginal
        With leading dims, each coordinate has a curve, or a panel if there are more than six. A panel of one curve
        shows the mean and the limits of the interval as text.
    ci_prob, ci_kind
        The interval; by default the 95 % highest-density interval, or the interval that ArviZ's ``rcParams`` were set
        to (``stats.ci_prob``, ``stats.ci_kind``).
    ax : matplotlib.axes.Axes or sequence of them, optional
        Axes to draw in, one per panel. Their figure is returned, and stays open.

    Examples
    --------
    >>> import bayesperf as bp
    >>> post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=45, fn=5, fp=10, tn=90))
    >>> bp.plots.density(post["recall"]).axes[0].get_xlabel()
    'recall'
    """
    return panel([marginal], ci_prob=ci_prob, ci_kind=ci_kind, kind="density", ax=ax)


def forest(
    marginal: Marginal, *, ci_prob: float | None = None, ci_kind: Kind | None = None, ax: Panels | None = None
) -> Figure:
    """Plot the mean and interval of a metric, and the observed score, with a row for every leading coordinate.

    With two leading dims or more, the dim with the fewest coordinates (up to six) has colours, which share the rows of
    the others. The classes of a metric per class are sorted by their means.

    Parameters
    ----------
    marginal, ci_prob, ci_kind, ax
        As in `density`.
    """
    return panel([marginal], ci_prob=ci_prob, ci_kind=ci_kind, kind="forest", ax=ax)


@closed
def panel(
    marginals: Sequence[Marginal],
    *,
    ci_prob: float | None = None,
    ci_kind: Kind | None = None,
    kind: str | None = None,
    ax: Panels | None = None,
) -> Figure:
    """Plot several metrics side by side.

    Parameters
    ----------
    marginals : sequence of Marginal
        For example ``[posterior["recall"], posterior["precision"]]``.
    ci_prob, ci_kind, ax
        As in `density`.
    kind : {"density", "forest"}, optional
        By default densities if metrics have up to six quantities each, forests if they have more. More than six
        densities have a panel each, and forests of more than forty rows continue beside.

    Raises
    ------
    ValueError
        If axes are given, and their number is not the number of panels.
    """
    interval = default_interval(ci_prob, ci_kind)
    shown = _classes_by_value(marginals)
    most = max(marginal.leading.size for marginal in shown)
    draw = (
        _density_panels if (kind or ("density" if most <= len(SERIES) else "forest")) == "density" else _forest_panels
    )
    figure = draw(shown, interval, ax)
    write_title(figure, f"{shown[0].estimand}:", f"mean and {interval_name(*interval)}", ax=ax)
    return figure


def _classes_by_value(marginals: Sequence[Marginal]) -> list[Marginal]:
    """Return marginals with classes in the order of the first marginal that has any: the largest mean first."""
    first = next((marginal for marginal in marginals if "label" in marginal.dims), None)
    if first is None:
        return list(marginals)
    means = first.mean()
    order = np.argsort(-means.mean([dim for dim in means.dims if dim != "label"]).values, kind="stable")
    return [marginal.isel(label=order) if "label" in marginal.dims else marginal for marginal in marginals]


# ── Densities ──


def _density_panels(marginals: Sequence[Marginal], interval: tuple[float, Kind], ax: Panels | None) -> Figure:
    """Plot densities: one panel per metric, or per quantity if a metric has more of them than there are colours."""
    drawn = [curves(marginal, *interval) for marginal in marginals]
    most = max(len(each.names) for each in drawn)
    apart = most > len(SERIES)
    parts = [
        (marginal, part)
        for marginal, whole in zip(marginals, drawn, strict=True)
        for part in ([whole.take([i]) for i in range(len(whole.names))] if apart else [whole])
    ]
    columns, width = (4, 2.9) if apart else (3, 3.4 if len(parts) > 1 else 4.4)
    figure, panels = small_multiples(
        len(parts), width, 2.2 if apart else 2.6, columns=columns, margin=(0.6, 0.9), ax=ax
    )
    for position, (axes, (marginal, part)) in enumerate(zip(panels, parts, strict=True)):
        draw_densities(axes, part)
        axes.set_xlabel(marginal.quantity.metric_title)
        if apart:
            axes.set_title(shorten(part.names[0]), fontsize="small")
            axes.set_ylabel("" if position % columns else axes.get_ylabel())
    for marginal in marginals:
        of_metric = [(axes, part) for axes, (shown, part) in zip(panels, parts, strict=True) if shown is marginal]
        _share_x([axes for axes, _ in of_metric], of_metric[0][1].logarithmic)
        for axes, part in of_metric:
            write_figures(axes, part)
    marks = mark_handles(interval, any(np.isfinite(part.observed).any() for _, part in parts))
    # Some metrics have a curve for each class, others a single one: the fullest legend serves all. A panel of one curve
    # is titled by its name.
    fullest = max(range(len(parts)), key=lambda i: len(parts[i][1].names))
    handles, labels = ([], []) if apart else panels[fullest].get_legend_handles_labels()
    dims = "" if apart else ", ".join(map(str, parts[fullest][0].dims))
    write_legend(figure, [*handles, *marks.values()], [*labels, *marks], dims, ax)
    return figure


def _share_x(panels: Sequence[Axes], logarithmic: bool) -> None:
    """Give panels of one metric the same range and scale."""
    if logarithmic:
        for axes in panels:
            axes.set_xscale("log")
    limits = np.array([axes.get_xlim() for axes in panels])
    for axes in panels:
        axes.set_xlim(limits[:, 0].min(), limits[:, 1].max())
        if logarithmic:
            log_scale(axes)


def draw_densities(axes: Axes, drawn: Curves) -> None:
    """Plot densities with their intervals shaded, and in a strip beneath them intervals, means and observed scores.

    A single density has room for the text of `write_figures`.
    """
    single, peak = len(drawn.names) == 1, drawn.density.max()
    for i, name in enumerate(drawn.names):
        colour, x, y, (low, high) = SERIES[i % len(SERIES)], drawn.x[i], drawn.density[i], drawn.interval[i]
        axes.plot(x, y, color=colour, lw=1.5, label=shorten(name) if name else None)
        inside = (x >= low) & (x <= high)
        axes.fill_between(x[inside], y[inside], color=colour, alpha=0.3 if single else 0.15, lw=0)
        draw_row(axes, drawn.interval[i], drawn.mean[i], drawn.observed[i], -_STRIP * (i + 1) * peak, colour)
    beneath = _STRIP * (len(drawn.names) + 0.7) + (_WRITTEN if single else 0)
    axes.set_ylim(-beneath * peak, (1.16 if single else 1.05) * peak)
    axes.axhline(0, color=GREY, lw=0.5, zorder=0.5)
    axes.set_yticks([])
    axes.set_ylabel("density of the logarithm" if drawn.logarithmic else "density")


def draw_row(axes: Axes, interval: Any, mean: Any, observed: Any, y: Any, colour: str) -> None:
    """Plot intervals (m, 2) or one as bars, means as dots and observed scores as strokes across them, at heights y."""
    axes.hlines(y, *np.transpose(interval), color=colour, lw=2)
    axes.plot(mean, y, "o", color=colour, ms=4.5)
    axes.plot(np.where(np.isfinite(observed), observed, np.nan), y, "|", color="black", ms=9, mew=1.4, zorder=4)


def mark_handles(interval: tuple[float, Kind], observed: bool) -> dict[str, Artist]:
    """Return the meaning of the marks of `draw_row`, for a legend."""
    from matplotlib.lines import Line2D

    marks: dict[str, Artist] = {
        "mean": Line2D([], [], color=GREY, marker="o", ms=4.5, ls=""),
        short_interval_name(*interval): Line2D([], [], color=GREY, lw=2),
    }
    if observed:
        marks["observed"] = Line2D([], [], color="black", marker="|", ms=9, mew=1.4, ls="")
    return marks


def write_figures(axes: Axes, drawn: Curves) -> None:
    """Write the mean above a density, and the interval's limits beneath its ends; nothing for several."""
    if len(drawn.names) > 1:
        return
    (low, high), mean, peak = drawn.interval[0], drawn.mean[0], drawn.density.max()
    ends = np.log(axes.get_xlim()) if drawn.logarithmic else np.array(axes.get_xlim())
    width = np.log(high / low) if drawn.logarithmic and low > 0 else high - low
    beneath = -1.45 * _STRIP * peak
    limits = [signed_value(limit, high - low) for limit in (low, high)]
    if width < _NARROW * np.ptp(ends) and np.isfinite(low) and np.isfinite(high):
        # Where both do not fit beneath their ends, they are written as one, which reaches away from the nearer edge.
        to_the_right = (np.log([low, high]) if drawn.logarithmic else np.array([low, high])).mean() < ends.mean()
        at, side = (low, "left") if to_the_right else (high, "right")
        axes.annotate(" to ".join(limits), (at, beneath), ha=side, va="top", fontsize="small")
    else:
        for limit, text in zip((low, high), limits, strict=True):
            if np.isfinite(limit):
                axes.annotate(text, (limit, beneath), ha="center", va="top", fontsize="small")
    if np.isfinite(mean):
        axes.annotate(f"mean {signed_value(mean, high - low)}", (mean, 1.03 * peak), ha="center", va="bottom",
                      fontsize="small")  # fmt: skip


# ── Forests ──


class _Rows(NamedTuple):
    """How a forest arranges the places of a marginal.

    `places` are their positions (rows, systems), `names` the names of the rows, `dims` the dims of the rows, and
    `systems` the names of the colours, along the dim `coloured`; one empty name if there are no colours.
    """

    places: Codes
    names: list[str]
    dims: str
    systems: list[str]
    coloured: str


def _rows(marginal: Marginal) -> _Rows:
    """Return the rows of a forest: the dim of the fewest coordinates has colours, unless it is the only one."""
    at = positions(marginal.leading)
    few = [dim for dim in at.dims if dim != "label" and 1 < at.sizes[dim] <= len(SERIES)]
    if at.ndim < 2 or not few:
        return _Rows(at.values.reshape(-1, 1), place_names(at), _joined(at.dims), [""], "")
    coloured = min(few, key=lambda dim: at.sizes[dim])
    rows = at.isel({coloured: 0}, drop=True)
    places = at.transpose(..., coloured).values.reshape(-1, at.sizes[coloured])
    systems = [str(system) for system in at[coloured].values.tolist()]
    return _Rows(places, place_names(rows), _joined(rows.dims), systems, str(coloured))


def _joined(dims: Sequence[Any]) -> str:
    return ", ".join(map(str, dims))


def _forest_panels(marginals: Sequence[Marginal], interval: tuple[float, Kind], ax: Panels | None) -> Figure:
    """Plot one forest per metric, continued beside if it has more rows than fit a page."""
    from matplotlib.lines import Line2D

    rows = [_rows(marginal) for marginal in marginals]
    height = _ROW + _FURTHER * (max(len(each.systems) for each in rows) - 1)
    most = int(MOST_ROWS * _ROW / height)
    parts = [(i, part) for i, each in enumerate(rows) for part in parts_of(len(each.names), most)]
    drawn = [intervals(marginal, *interval) for marginal in marginals]
    names = [[shorten(name) for name in rows[i].names[part]] for i, part in parts]
    margin = CHARACTER * max(len(name) for each in names for name in each)
    alike = all(each == names[0] for each in names)
    columns, width = 3, 3.2 + (0 if alike else margin)
    figure, panels = small_multiples(
        len(parts),
        width,
        0.8 + height * max(map(len, names)),
        columns=columns,
        margin=(0.6 + (margin if alike else 0), 0.9),
        ax=ax,
    )
    for position, (axes, (i, part)) in enumerate(zip(panels, parts, strict=True)):
        _draw_forest(axes, drawn[i], rows[i].places[part])
        axes.set_xlabel(marginals[i].quantity.metric_title)
        axes.set_yticks(range(len(names[position]))[::-1], names[position])
        if position % columns and alike:
            axes.tick_params(labelleft=False)
        else:
            axes.set_ylabel(rows[i].dims)
    for i in range(len(marginals)):
        _share_x([axes for axes, (of, _) in zip(panels, parts, strict=True) if of == i], drawn[i].logarithmic)
    marks = mark_handles(interval, any(np.isfinite(each.observed).any() for each in drawn))
    fullest = max(rows, key=lambda each: len(each.systems))
    systems = [shorten(name) for name in fullest.systems] if fullest.coloured else []
    swatches = [Line2D([], [], color=colour, lw=2, marker="o", ms=4.5) for colour in SERIES[: len(systems)]]
    write_legend(figure, [*swatches, *marks.values()], [*systems, *marks], fullest.coloured, ax)
    return figure


def _draw_forest(axes: Axes, drawn: Curves, places: Codes) -> None:
    """Plot means, intervals and observed scores of places (rows, systems), from the top."""
    count, systems = places.shape
    y = np.arange(count)[::-1]
    for i in range(systems):
        part = drawn.take(places[:, i])
        draw_row(axes, part.interval, part.mean, part.observed, y - 0.7 * ((i + 0.5) / systems - 0.5), SERIES[i])
    axes.set_ylim(-0.6, count - 0.4)
    axes.grid(axis="x", color=GREY, alpha=0.25, lw=0.6)


# ── Two metrics ──


@closed
def joint(
    post: Posterior, first: str | Metric, second: str | Metric, *, draws: int = 2000, ax: Panels | None = None
) -> Figure:
    """Plot the joint distribution of two metrics: a point per draw, the correlation of all draws, the observed point.

    Parameters
    ----------
    post : Posterior
        A posterior, or a prediction, whose points are new test sets; each leading coordinate has a panel.
    first, second : str or Metric
        Metrics with a single value, along x and y.
    draws : int
        Maximum number of joint draws shown. The correlation uses all of them (`Posterior.correlation`).
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Raises
    ------
    ValueError
        If a metric has a value for each class, or is not available.

    References
    ----------
    Caelen (2017), A Bayesian interpretation of the confusion matrix, Fig. 1.

    Examples
    --------
    >>> import bayesperf as bp
    >>> post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=65, fn=15, fp=35, tn=30))
    >>> figure = bp.plots.joint(post, "precision", "recall")
    >>> figure.axes[0].get_title()
    'correlation 0.26'
    """
    most = checks.count("draws", draws)
    metrics = [post.applicable(metric) for metric in (first, second)]
    correlations = post.correlation(*metrics).values.ravel()
    observed = np.stack([post.observed_score(metric).values.ravel() for metric in metrics], axis=-1)
    names = place_names(post.leading)
    figure, panels = small_multiples(len(names), 2.9 if len(names) > 1 else 4.4, 2.9, ax=ax, sharex=True, sharey=True)
    for axes, name, values, at, correlation in zip(
        panels, names, post.drawn_by_matrix(metrics), observed, correlations, strict=True
    ):
        x, y = (values[metric] for metric in metrics)
        # Evenly spaced, so that draws of all chains are among them.
        shown = np.linspace(0, len(x) - 1, min(most, len(x))).astype(int)
        axes.plot(x[shown], y[shown], ".", color=BLUE, ms=4, mew=0, alpha=float(np.clip(600 / len(shown), 0.1, 0.7)),
                  rasterized=True)  # fmt: skip
        if np.isfinite(at).all():
            axes.plot(*at, "X", color="black", mec="white", ms=9, label="observed")
        found = f"correlation {correlation:.2f}" if np.isfinite(correlation) else "correlation undefined"
        axes.set_title(f"{shorten(name)}: {found}".removeprefix(": "), fontsize="small")
    x_name, y_name = (metric.title for metric in metrics)
    label_edges(panels, x_name, y_name, ax)
    if panels[0].get_legend_handles_labels()[1]:
        panels[0].legend(frameon=False, fontsize="small")
    write_title(figure, f"{post.estimand},", f"{len(shown):,} of {len(x):,} joint draws", ax=ax)
    return figure
