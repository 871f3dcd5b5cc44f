"""Figures of comparisons: how large the difference is, which system is greater, which is best."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.plots.densities import BLUE, DIVERGING, GREY, ORANGE, SEQUENTIAL, curves, intervals, names, reach
from bayesperf.posteriors.marginal import Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.comparison.result import Comparison

# Up to so many systems, cells of a heat map hold their figure; the longest side of one, in inches.
_WRITTEN, _SIDE = 12, 5.5
# Probabilities this near to 0 or 1 would be written 0.000 or 1.000.
_CERTAIN = 0.0005
_INTERVALS = {"hdi": "highest-density", "eti": "equal-tailed"}
# Below, inside and above the region of practical equivalence.
_COLOURS = (ORANGE, GREY, BLUE)


def comparison(comparison: Comparison, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> Figure:
    """Draw the difference of two systems; of more, P(a > b) and, if one direction is better, the ranks.

    Parameters
    ----------
    comparison : Comparison
        What `bayesperf.compare` returns.
    ci_prob, ci_kind
        The interval of the difference.
    """
    if len(comparison.names) == 2:
        return difference(comparison, ci_prob=ci_prob, ci_kind=ci_kind)
    return _heat_maps(comparison, [_GREATER] if comparison.greater_is_better is None else [_GREATER, _RANKS])


# ── The difference ──


def difference(comparison: Comparison, *, ci_prob: float = 0.95, ci_kind: Kind = "hdi") -> Figure:
    """Draw the density of a − b, the region of practical equivalence and the probability on either side of it.

    Of several differences (leading dims, pairs of many systems), their means and intervals, a row each.

    Parameters
    ----------
    comparison : Comparison
        What `bayesperf.compare` returns.
    ci_prob, ci_kind
        The interval.
    """
    from matplotlib import pyplot as plt

    rows = comparison.difference.mean().size
    size = (7.2, 3.6) if rows == 1 else (7.2, 1.6 + 0.26 * rows)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    draw = _draw_difference if rows == 1 else _draw_differences
    draw(axes, comparison, ci_prob, ci_kind)
    axes.axvline(0, color="black", lw=0.8, zorder=1)
    axes.spines[["top", "right"]].set_visible(False)
    interval = f"mean and {100 * ci_prob:g} % {_INTERVALS[ci_kind]} interval"
    figure.suptitle(f"{comparison.difference.estimand},\n{interval}", fontsize="medium")
    plt.close(figure)  # else notebooks show it twice
    return figure


def _draw_difference(axes: Axes, comparison: Comparison, ci_prob: float, ci_kind: Kind) -> None:
    # Finely, for a heavy-tailed difference is a narrow peak on a wide axis.
    drawn = curves(comparison.difference, ci_prob, ci_kind, points=641)
    x, y, rope = drawn.x[0], drawn.density[0], comparison.rope
    axes.set_xlim(*reach(drawn, rope))
    axes.set_ylim(-0.07 * y.max(), 1.08 * y.max())
    edges = (-np.inf, -rope, rope, np.inf)
    grid = np.union1d(x, np.clip([-rope, rope], x[0], x[-1]))
    for low, high, colour in zip(edges, edges[1:], _COLOURS, strict=False):
        inside = grid[(grid >= low) & (grid <= high)]
        axes.fill_between(inside, np.interp(inside, x, y), color=colour, alpha=0.35, lw=0)
    axes.axvspan(-rope, rope, color=GREY, alpha=0.15, lw=0, zorder=0)
    axes.plot(x, y, color="black", lw=1.3)
    axes.plot(drawn.interval[0], [-0.035 * y.max()] * 2, color="black", lw=3, solid_capstyle="butt")
    axes.plot(drawn.mean[0], -0.035 * y.max(), "o", color="black", mec="white", ms=6)
    row = comparison.summary(ci_prob, ci_kind).iloc[0]
    for text, place, colour in zip(_probabilities(row, rope), ("left", "center", "right"), _COLOURS, strict=True):
        at = {"left": 0.0, "center": 0.5, "right": 1.0}[place]
        axes.text(at, 1.02, text, color=colour, ha=place, va="bottom", fontsize="small", transform=axes.transAxes)
    axes.set_yticks([])
    axes.set_ylabel("density")
    axes.set_xlabel("\n".join([f"{_metric(comparison)}, a − b", *_called(comparison.names)]))


def _probabilities(row: Any, rope: float) -> tuple[str, str, str]:
    """Return what is said of the regions below, inside and above."""
    further = f" by more than {rope:g}" if rope else ""
    within = f"P(a − b within ±{rope:g}) {_relation(row['inside'])}"
    if not rope:
        within = f"P(a = b) {_relation(row['inside'])}" if row["inside"] > _CERTAIN else ""
    return f"P(a < b{further}) {_relation(row['below'])}", within, f"P(a > b{further}) {_relation(row['above'])}"


def _relation(probability: float) -> str:
    """Return a probability with its sign of relation; one near 0 or 1 is not written as if it were certain."""
    if probability < _CERTAIN:
        return "< 0.001"
    return "> 0.999" if probability > 1 - _CERTAIN else f"= {probability:.3f}"


def _draw_differences(axes: Axes, comparison: Comparison, ci_prob: float, ci_kind: Kind) -> None:
    drawn = intervals(comparison.difference, ci_prob, ci_kind)
    leading = comparison.difference.leading
    two = len(comparison.names) == 2
    if two and comparison.many:
        leading = leading.isel(pair=0)
    rope, y = comparison.rope, np.arange(len(drawn.mean))[::-1]
    axes.set_xlim(*reach(drawn, rope))
    if rope:
        axes.axvspan(-rope, rope, color=GREY, alpha=0.25, lw=0, zorder=0, label=f"within ±{rope:g}")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize="small")
    axes.hlines(y, *drawn.interval.T, color=BLUE, lw=2)
    axes.plot(drawn.mean, y, "o", color=BLUE, ms=5)
    axes.set_yticks(y, [shorten(name) for name in names(leading)])
    axes.set_ylim(-0.6, len(y) - 0.4)
    axes.grid(axis="x", color=GREY, alpha=0.25, lw=0.6)
    beside: dict[str, Any] = {"ha": "left", "va": "center", "transform": axes.get_yaxis_transform()}
    axes.text(1.02, len(y) - 0.2, "P(a > b)", fontsize="small", **beside)
    for at, probability in zip(y, comparison.summary(ci_prob, ci_kind)["prob_greater"], strict=True):
        axes.text(1.02, at, _relation(probability).removeprefix("= "), fontsize="small", **beside)
    axes.set_ylabel(", ".join(map(str, leading.dims)))
    axes.set_xlabel("\n".join([f"{_metric(comparison)}, a − b", *(_called(comparison.names) if two else [])]))


# ── Many systems ──


class _HeatMap(NamedTuple):
    """What a heat map shows of a comparison, a row a system."""

    title: str
    values: Callable[[Comparison], xr.DataArray]
    label: str
    colours: tuple[str, ...]
    square: bool


_GREATER = _HeatMap("P(a > b)", lambda c: c.prob_greater, "b, numbered as the rows", DIVERGING, True)
_RANKS = _HeatMap("P(rank)", lambda c: c.ranks, "rank, 1 the best", SEQUENTIAL, False)


def prob_matrix(comparison: Comparison) -> Figure:
    """Draw P(a > b) of every pair of systems: rows a, columns b, numbered alike.

    Rows are in the order of their expected rank, if one direction of the metric is better; else as they come.

    Parameters
    ----------
    comparison : Comparison
        Of many systems; with leading dims, a panel a place.

    Raises
    ------
    ValueError
        If it is of two given systems, which are no matrix.
    """
    if not comparison.many:
        raise ValueError("prob_matrix: two systems are no matrix. See plots.difference, or prob_greater itself.")
    return _heat_maps(comparison, [_GREATER])


def ranks(comparison: Comparison) -> Figure:
    """Draw how probably each system has each rank, in the order of their expected ranks, the best on top.

    Parameters
    ----------
    comparison : Comparison
        With leading dims, a panel a place.

    Raises
    ------
    ValueError
        If neither more nor less of the metric is better.
    """
    return _heat_maps(comparison, [_RANKS])


def best_first(comparison: Comparison) -> xr.DataArray:
    """Return positions of systems (…, dim) by expected rank; as they come, if no direction of the metric is better."""
    if comparison.greater_is_better is None:
        systems = comparison.prob_greater.isel({f"{comparison.dim}_other": 0}, drop=True)
        return systems.copy(data=np.broadcast_to(np.arange(len(comparison.names)), systems.shape))
    expected = comparison.ranks.dot(comparison.ranks["rank"], "rank").transpose(..., comparison.dim)
    return expected.copy(data=np.argsort(expected.values, axis=-1, kind="stable"))


def _heat_maps(comparison: Comparison, shown: list[_HeatMap]) -> Figure:
    """Draw heat maps side by side, with a row of panels for every leading coordinate."""
    from matplotlib import pyplot as plt

    order = best_first(comparison)
    leading = order.dims[:-1]
    places = [dict(zip(leading, at, strict=True)) for at in product(*(range(order.sizes[dim]) for dim in leading))]
    count, columns = len(comparison.names), len(shown)
    side = float(np.clip(0.5 * count, 1.8, _SIDE))
    longest = max(len(shorten(name)) for name in comparison.names)
    size = (columns * (side + 1.1) + 0.075 * longest, len(places) * (side + 0.8) + 0.4)
    figure, grid = plt.subplots(len(places), columns, figsize=size, squeeze=False, layout="constrained")
    for row, place in zip(grid, places, strict=True):
        rows = order.isel(place).values
        for position, (axes, chosen) in enumerate(zip(row, shown, strict=True)):
            values = chosen.values(comparison).isel(place).values[rows]
            _draw_heat_map(axes, values[:, rows] if chosen.square else values, chosen)
            axes.set_yticks(range(count), [] if position else _numbered([comparison.names[i] for i in rows]))
            where = ", ".join(f"{dim} {order[dim].values[at]}" for dim, at in place.items())
            axes.set_title(f"{where}: {chosen.title}" if where else chosen.title, fontsize="medium")
        row[0].set_ylabel(f"{comparison.dim}{' a' if shown[0].square else ''}")
    figure.suptitle(f"{comparison.difference.estimand.partition(':')[0]}: {_metric(comparison)}", fontsize="medium")
    plt.close(figure)  # else notebooks show it twice
    return figure


def _draw_heat_map(axes: Axes, values: Array, shown: _HeatMap) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    count = len(values)
    map_ = LinearSegmentedColormap.from_list(shown.title, shown.colours)
    # Among many systems no rank is probable, and few would be seen on a scale up to 1.
    most = 1.0 if shown.square else values.max()
    image = axes.imshow(values, cmap=map_, vmin=0, vmax=most, interpolation="nearest")
    assert axes.figure is not None
    axes.figure.colorbar(image, ax=axes, shrink=0.8, aspect=25)
    fontsize = "small" if count <= _WRITTEN else min(8.0, 0.8 * 72 * _SIDE / count)
    axes.set_xticks(range(count), [str(i + 1) for i in range(count)], rotation=90 if count > _WRITTEN else 0)
    axes.tick_params(labelsize=fontsize, length=0)
    axes.set_xlabel(shown.label)
    if count <= _WRITTEN:
        for (i, j), value in np.ndenumerate(values):
            light = value > 0.8 * most or (shown.square and value < 0.2)
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize="x-small",
                      color="white" if light else "black")  # fmt: skip


def _numbered(names: list[Any]) -> list[str]:
    return [f"{shorten(name)}  {i + 1}" for i, name in enumerate(names)]


# ── The simplex ──


def simplex(shares: xr.DataArray, *, names: tuple[Any, Any] = ("a", "b"), rope: float | None = None) -> Figure:
    """Draw a point a draw in the triangle of the probabilities below, inside and above the rope.

    Parameters
    ----------
    shares : xarray.DataArray (draw, rope)
        Probabilities that add up to 1 in each draw; ``rope`` is below, inside, above.
    names : tuple of two
        What systems a and b are called.
    rope : float, optional
        Half-width of the region of practical equivalence, to be named at the corners.

    Raises
    ------
    ValueError
        If they have other dims, or do not add up to 1.
    """
    from matplotlib import pyplot as plt

    values = _checked_shares(shares)
    corners = np.array([[0, 0], [0.5, np.sqrt(3) / 2], [1, 0]])
    largest = values.argmax(-1)
    points = values @ corners
    figure, axes = plt.subplots(figsize=(6.0, 6.0), layout="constrained")
    axes.fill(*corners.T, fill=False, ec="black", lw=1)
    centre = corners.mean(0)
    for i in range(3):
        middle = (corners[i] + corners[i - 1]) / 2
        axes.plot(*np.transpose([centre, middle]), color=GREY, lw=0.8, ls="--")
        chosen = largest == i
        axes.plot(*points[chosen].T, ".", color=_COLOURS[i], ms=3, alpha=float(np.clip(300 / len(points), 0.08, 0.8)))
    further = f" by more than {rope:g}" if rope else ""
    inside = "inside the rope" if rope is None else f"a − b within ±{rope:g}" if rope else "a = b"
    words = f"a < b{further}", inside, f"a > b{further}"
    for i, (x, y, ha, va) in enumerate([(-0.12, -0.03, "left", "top"), (0.5, 0.9, "center", "bottom"),
                                        (1.12, -0.03, "right", "top")]):  # fmt: skip
        text = f"{words[i]}\nlargest in {100 * (largest == i).mean():.1f} % of draws"
        axes.text(x, y, text, color=_COLOURS[i], ha=ha, va=va)
    axes.text(0.5, -0.17, "\n".join(_called(names)), ha="center", va="top")
    axes.set(xlim=(-0.14, 1.14), ylim=(-0.27, 1.02), aspect="equal")
    axes.set_axis_off()
    figure.suptitle("Probabilities of the three regions, a point a draw", fontsize="medium")
    plt.close(figure)  # else notebooks show it twice
    return figure


def _checked_shares(shares: xr.DataArray) -> Array:
    """Return shares (draw, 3) in the order below, inside, above."""
    if not isinstance(shares, xr.DataArray) or set(shares.dims) != {"draw", "rope"}:
        raise ValueError("shares must be a DataArray with dims draw and rope.")
    if shares["rope"].values.tolist() != ["below", "inside", "above"]:
        raise ValueError(f"shares: rope must be below, inside, above; it is {shares['rope'].values.tolist()}.")
    values = shares.transpose("draw", "rope").values
    if not (values >= 0).all() or not np.allclose(values.sum(-1), 1):
        raise ValueError("shares must be probabilities that add up to 1 in each draw.")
    return np.asarray(values, dtype=float)


# ── Words ──


def shorten(name: Any, most: int = 44) -> str:
    """Return a name, its middle left out if it is long: names often differ at their ends."""
    text = str(name)
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def _called(names: tuple[Any, ...]) -> list[str]:
    """Return what a and b stand for, unless they are called just that."""
    return [f"{letter}: {shorten(name)}" for letter, name in zip("ab", names, strict=True) if str(name) != letter]


def _metric(comparison: Comparison) -> str:
    return comparison.metric.replace("_", " ")
