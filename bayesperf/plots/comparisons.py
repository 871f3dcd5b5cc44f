"""Figures of comparisons: how large a difference is, which of two systems is greater, and which of many is best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.words import (
    BEST_OF_MANY,
    LOOKS_BETTER,
    interval_name,
    place_names,
    short_interval_name,
)
from bayesperf.plots.style import (
    BLUE,
    CHARACTER,
    DIVERGING,
    GREY,
    MOST_ROWS,
    ORANGE,
    SEQUENTIAL,
    closed,
    default_interval,
    parts_of,
    remark,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)
from bayesperf.posteriors.densities import Curves, curves, intervals, reach
from bayesperf.posteriors.marginal import Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.comparison.result import Comparison
    from bayesperf.plots.style import Panels

__all__ = ["comparison", "difference", "prob_matrix", "ranks", "simplex", "standings"]

# Cells of a heat map show their value if there are at most this many systems.
_MOST_WITH_VALUES = 12
# Longest side of a heat map, in inches.
_LONGEST_SIDE = 5.5
# The same if there are more than two places, and how wide these may be together.
_LONGEST_OF_MANY = 3.0
_PAGE = 14.0
# Longest name of a pair of systems.
_LONGEST_PAIR = 104
# Smallest cell that its value fits in.
_LEAST_CELL = 0.24
# Probabilities nearer than this to 0 or 1 would be written 0.000 or 1.000.
_NEARLY_CERTAIN = 0.0005
# Below, inside and above the region of practical equivalence.
_REGION_COLOURS = (ORANGE, GREY, BLUE)


def comparison(
    comparison: Comparison, *, ci_prob: float | None = None, ci_kind: Kind | None = None, ax: Panels | None = None
) -> Figure:
    """Plot the difference of two systems; for more systems P(a > b) and, if one direction is better, the ranks.

    Parameters
    ----------
    comparison : Comparison
        The result of `bayesperf.compare`.
    ci_prob, ci_kind, ax
        The interval of the difference, and the axes, as in `bayesperf.plots.density`.
    """
    if len(comparison.names) == 2:
        return difference(comparison, ci_prob=ci_prob, ci_kind=ci_kind, ax=ax)
    return _heat_maps(
        comparison, [_GREATER] if comparison.quantity.greater_is_better is None else [_GREATER, _RANKS], ax=ax
    )


# ── The difference ──


@closed
def difference(
    comparison: Comparison, *, ci_prob: float | None = None, ci_kind: Kind | None = None, ax: Panels | None = None
) -> Figure:
    """Plot the density of a − b, or a / b, the region of practical equivalence and the probabilities beside it.

    Several differences (leading dims, pairs of many systems) are drawn as means and intervals, one row each; more than
    forty continue in another panel.

    Parameters
    ----------
    comparison : Comparison
        The result of `bayesperf.compare`.
    ci_prob, ci_kind, ax
        The intervals, and the axes, as in `bayesperf.plots.density`.
    """
    of_interval = default_interval(ci_prob, ci_kind)
    rows = comparison.contrast.mean().size
    parts = parts_of(rows, MOST_ROWS)
    height = 3.6 if rows == 1 else 1.6 + 0.26 * parts[0].stop
    longest = 0 if rows == 1 else CHARACTER * max(map(len, _row_names(comparison)))
    figure, panels = small_multiples(len(parts), max(7.2, 4.2 + longest), height, columns=2, margin=(0, 0), ax=ax)
    for axes, part in zip(panels, parts, strict=True):
        if rows == 1:
            _draw_difference(axes, comparison, *of_interval)
        else:
            _draw_differences(axes, comparison, *of_interval, part)
        axes.axvline(1 if comparison.of_ratio else 0, color="black", lw=0.8, zorder=1)
    write_title(figure, f"{comparison.contrast.estimand},", f"mean and {interval_name(*of_interval)}", ax=ax)
    return figure


def _draw_difference(axes: Axes, comparison: Comparison, ci_prob: float, ci_kind: Kind) -> None:
    """Plot the density of one difference, with its interval and the probabilities of the three regions."""
    # On a fine grid, because a heavy-tailed difference is a narrow peak on a wide axis.
    drawn = curves(comparison.contrast, ci_prob, ci_kind, points=641)
    x, y, (lower, upper) = drawn.x[0], drawn.density[0], comparison.region
    axes.set_xlim(*_reach(drawn, comparison))
    axes.set_ylim(-0.07 * y.max(), 1.08 * y.max())
    edges = (-np.inf, lower, upper, np.inf)
    grid = np.union1d(x, np.clip([lower, upper], x[0], x[-1]))
    for low, high, colour in zip(edges, edges[1:], _REGION_COLOURS, strict=False):
        inside = grid[(grid >= low) & (grid <= high)]
        axes.fill_between(inside, np.interp(inside, x, y), color=colour, alpha=0.35, lw=0)
    axes.axvspan(lower, upper, color=GREY, alpha=0.15, lw=0, zorder=0)
    axes.plot(x, y, color="black", lw=1.3)
    axes.plot(drawn.interval[0], [-0.035 * y.max()] * 2, color="black", lw=3, solid_capstyle="butt")
    axes.plot(drawn.mean[0], -0.035 * y.max(), "o", color="black", mec="white", ms=6)
    row = comparison.summary(ci_prob, ci_kind).iloc[0]
    for text, place, colour in zip(
        _probabilities(row, comparison), ("left", "center", "right"), _REGION_COLOURS, strict=True
    ):
        at = {"left": 0.0, "center": 0.5, "right": 1.0}[place]
        axes.text(at, 1.02, text, color=colour, ha=place, va="bottom", fontsize="small", transform=axes.transAxes)
    axes.set_yticks([])
    axes.set_ylabel("density")
    axes.set_xlabel("\n".join([f"{comparison.title}, {comparison.symbol}", *_names_of_sides(comparison.names)]))


def _reach(drawn: Curves, comparison: Comparison) -> tuple[float, float]:
    """Return the limits of the axis: they include the value of equal systems and, unless far out, the region."""
    if not comparison.of_ratio:
        return reach(drawn, comparison.rope)
    ends = np.concatenate([drawn.x[np.isfinite(drawn.x)], comparison.region])
    margin = 0.04 * np.ptp(ends)
    return float(ends.min() - margin), float(ends.max() + margin)


def _region_in_words(comparison: Comparison) -> str:
    """Return the region of practical equivalence in words."""
    lower, upper = comparison.region
    return f"from {lower:.3g} to {upper:.3g}" if comparison.of_ratio else f"within ±{upper:g}"


def _probabilities(row: Any, comparison: Comparison) -> tuple[str, str, str]:
    """Return the texts about the regions below, inside and above."""
    rope, (_, upper) = comparison.rope, comparison.region
    factor = f" by a factor of more than {upper:.3g}" if comparison.of_ratio else f" by more than {upper:g}"
    further = factor if rope else ""
    within = f"P({comparison.symbol} {_region_in_words(comparison)}) {_relation(row['inside'])}"
    if not rope:
        within = f"P(a = b) {_relation(row['inside'])}" if row["inside"] > _NEARLY_CERTAIN else ""
    return f"P(a < b{further}) {_relation(row['below'])}", within, f"P(a > b{further}) {_relation(row['above'])}"


def _relation(probability: float) -> str:
    """Return a probability with its relation sign, so that one near 0 or 1 does not look certain."""
    if probability < _NEARLY_CERTAIN:
        return "< 0.001"
    return "> 0.999" if probability > 1 - _NEARLY_CERTAIN else f"= {probability:.3f}"


def _draw_differences(axes: Axes, comparison: Comparison, ci_prob: float, ci_kind: Kind, part: slice) -> None:
    """Plot means and intervals of some of several differences, with P(a > b) beside them."""
    drawn = intervals(comparison.contrast, ci_prob, ci_kind)
    two = len(comparison.names) == 2
    y = np.arange(len(drawn.mean[part]))[::-1]
    axes.set_xlim(*_reach(drawn, comparison))
    if comparison.rope:
        axes.axvspan(*comparison.region, color=GREY, alpha=0.25, lw=0, zorder=0, label=_region_in_words(comparison))
    axes.hlines(y, *drawn.interval[part].T, color=BLUE, lw=2, label=short_interval_name(ci_prob, ci_kind))
    axes.plot(drawn.mean[part], y, "o", color=BLUE, ms=5, label="mean")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize="small", ncols=3)
    axes.set_yticks(y, _row_names(comparison)[part])
    axes.set_ylim(-0.6, len(y) - 0.4)
    axes.grid(axis="x", color=GREY, alpha=0.25, lw=0.6)
    beside: dict[str, Any] = {"ha": "left", "va": "center", "transform": axes.get_yaxis_transform()}
    axes.text(1.02, len(y) - 0.2, "P(a > b)", fontsize="small", **beside)
    for at, probability in zip(y, comparison.summary(ci_prob, ci_kind)["prob_greater"][part], strict=True):
        axes.text(1.02, at, _relation(probability).removeprefix("= "), fontsize="small", **beside)
    axes.set_ylabel(", ".join(map(str, _rows(comparison).dims)))
    called = _names_of_sides(comparison.names) if two else []
    axes.set_xlabel("\n".join([f"{comparison.title}, {comparison.symbol}", *called]))


def _rows(comparison: Comparison) -> xr.DataArray:
    """Return an array with a place for each difference; two systems have one pair."""
    leading = comparison.contrast.leading
    return leading.isel(pair=0) if len(comparison.names) == 2 and comparison.many else leading


def _row_names(comparison: Comparison) -> list[str]:
    return [shorten(name, _LONGEST_PAIR) for name in place_names(_rows(comparison))]


# ── Many systems ──


class _HeatMap(NamedTuple):
    """One kind of heat map of a comparison, with a row for each system."""

    title: str
    values: Callable[[Comparison], xr.DataArray]
    label: str
    colours: tuple[str, ...]
    square: bool


_GREATER = _HeatMap("P(a > b)", attrgetter("prob_greater"), "b, numbered as the rows", DIVERGING, True)
_RANKS = _HeatMap("P(rank)", attrgetter("ranks"), "rank, 1 the best", SEQUENTIAL, False)


def prob_matrix(comparison: Comparison, *, ax: Panels | None = None) -> Figure:
    """Plot P(a > b) for every pair of systems: rows a, columns b, numbered alike.

    Systems are ordered by their expected rank if one direction of the metric is better; otherwise they keep their
    order.

    Parameters
    ----------
    comparison : Comparison
        A comparison of many systems; with leading dims, each coordinate has a panel.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Raises
    ------
    ValueError
        If the comparison has two named systems, which make no matrix.
    """
    if not comparison.many:
        raise InputError("prob_matrix", "two systems are no matrix.", "See plots.difference, or prob_greater itself.")
    return _heat_maps(comparison, [_GREATER], ax=ax)


def ranks(comparison: Comparison, *, ax: Panels | None = None) -> Figure:
    """Plot the probability of each rank of each system; systems are ordered by expected rank, best on top.

    Parameters
    ----------
    comparison : Comparison
        With leading dims, each coordinate has a panel.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Raises
    ------
    ValueError
        If the metric has no better direction.
    """
    return _heat_maps(comparison, [_RANKS], ax=ax)


@closed
def _heat_maps(comparison: Comparison, maps: list[_HeatMap], *, ax: Panels | None) -> Figure:
    """Plot heat maps side by side, for every leading coordinate."""
    order = comparison.rank_order
    leading = order.dims[:-1]
    places = [dict(zip(leading, at, strict=True)) for at in product(*(range(order.sizes[dim]) for dim in leading))]
    count = len(comparison.names)
    side = float(np.clip(0.5 * count, 1.8, _LONGEST_SIDE if len(places) <= 2 else _LONGEST_OF_MANY))
    longest = CHARACTER * max(len(shorten(name)) for name in comparison.names) + 0.3
    # As many places beside each other as a page is wide, each with all of its maps.
    beside = int(np.clip(_PAGE // (len(maps) * (side + 1.1) + longest), 1, len(places) if len(places) > 2 else 1))
    figure, panels = small_multiples(
        len(places) * len(maps),
        side + 1.1,
        side + 0.8,
        columns=beside * len(maps),
        margin=(longest * beside, 0.6),
        boxed=True,
        ax=ax,
    )
    if ax is None:
        figure.set_layout_engine("compressed")
    for number, place in enumerate(places):
        rows, row = order.isel(place).values, panels[number * len(maps) : (number + 1) * len(maps)]
        for position, (axes, heat_map) in enumerate(zip(row, maps, strict=True)):
            values = heat_map.values(comparison).isel(place).values[rows]
            _draw_heat_map(axes, values[:, rows] if heat_map.square else values, heat_map, side)
            axes.set_yticks(range(count), [] if position else _numbered([comparison.names[i] for i in rows]))
            where = ", ".join(f"{dim} {order[dim].values[at]}" for dim, at in place.items())
            axes.set_title(f"{where}: {heat_map.title}" if where else heat_map.title, fontsize="medium")
        row[0].set_ylabel(f"{comparison.dim}{' a' if maps[0].square else ''}")
    if _RANKS in maps and count > 2 and comparison.shrunk is None and ax is None:
        remark(figure, BEST_OF_MANY)
    of = replace(comparison.contrast.quantity, contrast="").described(comparison.contrast.inference)
    write_title(figure, f"{of}: {comparison.title}", ax=ax)
    return figure


def _draw_heat_map(axes: Axes, values: Array, heat_map: _HeatMap, side: float) -> None:
    """Plot a heat map with its colour bar; for few systems, with the values in the cells."""
    from matplotlib.colors import LinearSegmentedColormap

    count = len(values)
    colours = LinearSegmentedColormap.from_list(heat_map.title, heat_map.colours)
    # Among many systems every rank is improbable, and hardly any would be visible on a scale up to 1.
    most = 1.0 if heat_map.square else values.max()
    image = axes.imshow(values, cmap=colours, vmin=0, vmax=most, interpolation="nearest")
    assert axes.figure is not None
    axes.figure.colorbar(image, ax=axes, shrink=0.8, aspect=25)
    fontsize = "small" if count <= _MOST_WITH_VALUES else min(8.0, 0.8 * 72 * side / count)
    axes.set_xticks(range(count), [str(i + 1) for i in range(count)], rotation=90 if count > _MOST_WITH_VALUES else 0)
    axes.tick_params(labelsize=fontsize, length=0)
    axes.set_xlabel(heat_map.label)
    if count <= _MOST_WITH_VALUES and side / count >= _LEAST_CELL:
        for (i, j), value in np.ndenumerate(values):
            light = value > 0.8 * most or (heat_map.square and value < 0.2)
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize="x-small",
                      color="white" if light else "black")  # fmt: skip


def _numbered(names: list[Any]) -> list[str]:
    return [f"{shorten(name)}  {i + 1}" for i, name in enumerate(names)]


# ── The simplex ──


@closed
def simplex(
    shares: xr.DataArray, *, names: tuple[Any, Any] = ("a", "b"), rope: float | None = None, ax: Axes | None = None
) -> Figure:
    """Plot posterior draws of the probabilities below, inside and above the rope as points in a triangle.

    Parameters
    ----------
    shares : xarray.DataArray (draw, rope)
        Probabilities that add up to 1 in each draw; ``rope`` is below, inside, above.
    names : tuple of two
        Names of systems a and b.
    rope : float, optional
        Half-width of the region of practical equivalence, named at the corners.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Raises
    ------
    ValueError
        If the probabilities have other dims, or do not add up to 1.
    """
    values = _checked_shares(shares)
    corners = np.array([[0, 0], [0.5, np.sqrt(3) / 2], [1, 0]])
    largest = values.argmax(-1)
    points = values @ corners
    figure, (axes,) = small_multiples(1, 6.0, 6.0, margin=(0, 0), ax=ax)
    axes.fill(*corners.T, fill=False, ec="black", lw=1)
    centre = corners.mean(0)
    for i in range(3):
        middle = (corners[i] + corners[i - 1]) / 2
        axes.plot(*np.transpose([centre, middle]), color=GREY, lw=0.8, ls="--")
        here = points[largest == i]
        axes.plot(*here.T, ".", color=_REGION_COLOURS[i], ms=3, alpha=float(np.clip(300 / len(points), 0.08, 0.8)))
    further = f" by more than {rope:g}" if rope else ""
    inside = "inside the rope" if rope is None else f"a − b within ±{rope:g}" if rope else "a = b"
    words = f"a < b{further}", inside, f"a > b{further}"
    for i, (x, y, ha, va) in enumerate([(-0.12, -0.03, "left", "top"), (0.5, 0.9, "center", "bottom"),
                                        (1.12, -0.03, "right", "top")]):  # fmt: skip
        text = f"{words[i]}\nlargest in {100 * (largest == i).mean():.1f} % of draws"
        axes.text(x, y, text, color=_REGION_COLOURS[i], ha=ha, va=va)
    axes.text(0.5, -0.17, "\n".join(_names_of_sides(names)), ha="center", va="top")
    axes.set(xlim=(-0.14, 1.14), ylim=(-0.27, 1.02), aspect="equal")
    axes.set_axis_off()
    write_title(figure, "Probabilities of the three regions, a point a draw", ax=ax)
    return figure


def _checked_shares(shares: xr.DataArray) -> Array:
    """Return the probabilities (draw, 3) in the order below, inside, above."""
    if not isinstance(shares, xr.DataArray) or set(shares.dims) != {"draw", "rope"}:
        raise InputError("shares", "must be a DataArray with dims draw and rope.")
    if shares["rope"].values.tolist() != ["below", "inside", "above"]:
        raise InputError("shares", f"rope must be below, inside, above; it is {shares['rope'].values.tolist()}.")
    values = shares.transpose("draw", "rope").values
    if not (values >= 0).all() or not np.allclose(values.sum(-1), 1):
        raise InputError("shares", "must be probabilities that add up to 1 in each draw.")
    return np.asarray(values, dtype=float)


# ── Words ──


def _names_of_sides(names: tuple[Any, ...]) -> list[str]:
    """Return what a and b stand for, unless the names are "a" and "b" themselves."""
    return [f"{letter}: {shorten(name)}" for letter, name in zip("ab", names, strict=True) if str(name) != letter]


# ── Systems in order ──


@closed
def standings(
    comparison: Comparison, *, ci_prob: float | None = None, ci_kind: Kind | None = None, ax: Panels | None = None
) -> Figure:
    """Plot the metric of each of many systems, best expected rank on top, with the probability that it is the best.

    For shrunk systems it also shows each system alone. More than forty systems continue in another panel.

    Parameters
    ----------
    comparison : Comparison
        A comparison of many systems, from ``compare(..., shrink=True)`` or without it, and without other leading dims.
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
    if comparison.shrunk is not None and not comparison.systems.each.quantity.scope.shrunk:
        drawn = intervals(comparison.systems.each.sel(**{comparison.dim: table[comparison.dim].values}), *of_interval)
        alone = np.column_stack([drawn.mean, drawn.interval])
    parts = parts_of(len(table), MOST_ROWS)
    longest = CHARACTER * max(len(shorten(name)) for name in table[comparison.dim])
    figure, panels = small_multiples(
        len(parts), 4.6 + longest, 1.2 + 0.22 * parts[0].stop, columns=2, margin=(0, 0.8), ax=ax, sharex=True
    )
    for axes, part in zip(panels, parts, strict=True):
        _draw_standings(axes, table.iloc[part], None if alone is None else alone[part], comparison.dim)
        axes.set_xlabel(comparison.title)
        axes.tick_params(labelbottom=True)
    panels[0].set_ylabel(f"{comparison.dim}, by expected rank")
    write_legend(figure, *panels[0].get_legend_handles_labels(), ax=ax)
    how, note = ("", LOOKS_BETTER) if comparison.shrunk is None else (", drawn towards each other", "")
    write_title(figure, f"{len(table)} systems{how}: mean and {interval_name(*of_interval)}", note, ax=ax)
    return figure


def _draw_standings(axes: Axes, table: pd.DataFrame, alone: Array | None, dim: str) -> None:
    """Plot a row for each system, and beside it the probability that it is the best."""
    y = np.arange(len(table))[::-1]
    if alone is not None:
        mean, lower, upper = alone.T
        axes.hlines(y + 0.18, lower, upper, color=GREY, lw=1.2, label=f"by itself, {_kind_of_interval(table)}")
        axes.plot(mean, y + 0.18, "o", color=GREY, ms=3)
    axes.hlines(
        y,
        table["ci_lower"],
        table["ci_upper"],
        color=BLUE,
        lw=2,
        label=_kind_of_interval(table) if alone is None else f"drawn towards the others, {_kind_of_interval(table)}",
    )
    axes.plot(table["mean"], y, "o", color=BLUE, ms=4, label="mean")
    if table["observed"].notna().any():
        axes.scatter(table["observed"], y, marker="x", color="black", s=20, lw=1, zorder=3, label="observed")
    axes.set_yticks(y, [shorten(name) for name in table[dim]])
    axes.tick_params(axis="y", labelsize="small", length=0)
    axes.set_ylim(-0.8, len(y) - 0.2)
    axes.grid(axis="x", color=GREY, alpha=0.25, lw=0.6)
    axes.text(1.02, len(y) - 0.2, "P(best)", fontsize="small", transform=axes.get_yaxis_transform())
    for at, probability in zip(y, table["prob_best"], strict=True):
        text = "< 0.01" if probability < 0.005 else f"{probability:.2f}"
        axes.text(1.02, at, text, fontsize="small", va="center", transform=axes.get_yaxis_transform())


def _kind_of_interval(table: pd.DataFrame) -> str:
    return short_interval_name(table.attrs["ci_prob"], table.attrs["ci_kind"])
