"""Figures of groups: estimates that borrow from each other, and slices of the examples."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.errors import InputError
from bayesperf.core.words import interval_name, short_interval_name
from bayesperf.groups.slices_in_words import Rows, rows_of_slices
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import score
from bayesperf.plots.style import (
    BLUE,
    CHARACTER,
    GREY,
    ORANGE,
    closed,
    default_interval,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)
from bayesperf.posteriors.marginal import Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.groups.pooling import Pooled
    from bayesperf.groups.sliced_metrics import Slices
    from bayesperf.plots.style import Panels

__all__ = ["shrinkage", "slices"]


@closed
def shrinkage(
    pooled: Pooled,
    metric: str | Metric = "recall",
    *,
    ci_prob: float | None = None,
    ci_kind: Kind | None = None,
    ax: Panels | None = None,
) -> Figure:
    """Plot each group's observed value and its estimate, with the population mean and the prediction for a new group.

    Parameters
    ----------
    pooled : Pooled
        With leading dims other than the dim of the groups, each coordinate has a panel.
    metric : str
        A metric with a single value, not one value per class.
    ci_prob, ci_kind, ax
        The intervals, and the axes, as in `bayesperf.plots.density`.

    Raises
    ------
    ValueError
        If the metric has a value for each class, or cannot be computed.
    """
    model = pooled.model
    if model is None:
        raise InputError("pooled", "the Bayesian bootstrap has no groups of its own.", "Draw its `mean` in its place.")
    marginals = {name: getattr(pooled, name)[metric] for name in ("mean", "by_group", "new_group")}
    if len(marginals["mean"].dims) > len(pooled.mean.dims):
        raise InputError("metric", f"{marginals['mean'].name!r} has a value a class; name one that has a single value.")
    of_interval = default_interval(ci_prob, ci_kind)
    parts = {name: (marginal.mean(), marginal.interval(*of_interval)) for name, marginal in marginals.items()}
    observed, examples = score(model.cm, metric), model.cm.total
    systems = [dim for dim in model.cm.dims if dim != model.dim]
    places = [dict(zip(systems, at, strict=True)) for at in product(*(range(observed.sizes[dim]) for dim in systems))]
    height = 1.6 + 0.26 * observed.sizes[model.dim]
    longest = CHARACTER * max(len(shorten(name)) for name in observed[model.dim].values.tolist())
    figure, panels = small_multiples(
        len(places), 3.6 + longest, height, columns=3, margin=(0.8, 0.6), ax=ax, sharex=True
    )
    for position, (axes, place) in enumerate(zip(panels, places, strict=True)):
        at_place = {name: (mean.isel(place), interval.isel(place)) for name, (mean, interval) in parts.items()}
        _draw_shrinkage(
            axes,
            at_place,
            observed.isel(place),
            examples.isel(place),
            model.dim,
            short_interval_name(*of_interval),
        )
        axes.set_xlabel(marginals["mean"].quantity.metric_title)
        axes.tick_params(labelbottom=True)
        if not position % 3:
            axes.set_ylabel(f"{model.dim} (n: its examples, of both classes)")
        names = [f"{dim} {observed.isel(place)[dim].item()!s}" for dim in systems]
        axes.set_title(shorten(", ".join(names)), fontsize="medium")
    write_legend(figure, *panels[0].get_legend_handles_labels(), ax=ax)
    write_title(figure, f"Means and {interval_name(*of_interval)}s", ax=ax)
    return figure


def _draw_shrinkage(
    axes: Axes,
    parts: dict[str, tuple[Any, Any]],
    observed: xr.DataArray,
    examples: xr.DataArray,
    dim: str,
    interval: str,
) -> None:
    """Plot a row for each group, from the top, and the new group below them."""
    count = observed.sizes[dim]
    y = np.arange(count, 0, -1)
    mean, band = parts["mean"]
    axes.axvspan(*band.values, color=GREY, alpha=0.2, lw=0, label=f"population mean, {interval}")
    axes.axvline(mean.item(), color=GREY, lw=1.5, label="population mean")
    means, intervals = (part.transpose(dim, ...).values for part in parts["by_group"])
    axes.hlines(y, *intervals.T, color=BLUE, lw=2, label=f"{dim}, {interval}")
    axes.plot(means, y, "o", color=BLUE, ms=5, label=f"{dim}, estimated")
    axes.scatter(observed.values, y, marker="x", color="black", s=28, lw=1.2, zorder=3, label=f"{dim}, observed")
    new_mean, new_interval = parts["new_group"]
    axes.hlines(0, *new_interval.values, color=ORANGE, lw=2, ls="--")
    axes.plot(new_mean.item(), 0, "D", color=ORANGE, ms=5, label=f"new {dim}")
    names = [
        f"{shorten(name)} (n = {n})"
        for name, n in zip(observed[dim].values.tolist(), examples.values.tolist(), strict=True)
    ]
    axes.set_yticks([*y, 0], [*names, f"new {dim}"])
    axes.set_ylim(-0.6, count + 0.6)
    axes.grid(axis="x", color=GREY, alpha=0.25, lw=0.6)


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
    """Plot the metric of the levels of each dim, and of the worst slices, observed beside estimated.

    Levels keep their own observed mix of the other dims, so that the observed and the estimated value describe the same
    examples. If a dim has more than 20 levels, the worst 20 are drawn.

    Parameters
    ----------
    found : Slices
        The result of `bayesperf.slices`.
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
    named = [[block.heading, *_slice_names(block)] for block in blocks]
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
    axes.set_xlabel(found[metric].quantity.metric_title)
    axes.grid(axis="x", color=GREY, alpha=0.25, lw=0.6)
    write_legend(figure, *axes.get_legend_handles_labels(), ax=ax)
    write_title(figure, f"Observed, and {interval_name(*of_interval)}s of what is estimated", ax=ax)
    return figure


def _slice_names(block: Rows) -> list[str]:
    counts = ["" if np.isnan(n) else f" (n = {n:,.0f})" for n in block.trials]
    return [f"{shorten(name)}{count}" for name, count in zip(block.names, counts, strict=True)]
