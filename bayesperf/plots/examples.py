"""Figures of the examples: confusion matrices, and the correlation of neighbours in a sequence."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.words import percentage, place_names
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.plots.style import (
    BLUE,
    CHARACTER,
    GREY,
    ORANGE,
    SEQUENTIAL,
    closed,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.plots.style import Panels

__all__ = ["autocorrelation", "confusion_matrix"]

# Length of a cell that holds its count and share well, and of the longest side of a matrix, of one alone or of several.
_CELL, _LONGEST, _LONGEST_OF_MANY = 0.62, 9.0, 4.2
# Smallest cell that holds its count, and its share besides.
_LEAST_WITH_COUNT, _LEAST_WITH_SHARE = 0.28, 0.5
# More classes have no totals beside their names, and colours that tell small shares apart.
_MOST_WITH_TOTALS = 30
# Longest name of a class, and sizes of characters in points.
_LONGEST_NAME, _LARGEST, _SMALLEST = 28, 9.0, 4.5
_NO_EXAMPLES = "#dddddd"


@closed
def confusion_matrix(cm: ConfusionMatrix, *, ax: Panels | None = None) -> Figure:
    r"""Plot counts as a heat map: a row for each actual class, coloured by the proportions of its examples.

    Parameters
    ----------
    cm : ConfusionMatrix
        With leading dims, each coordinate has a panel. Counts and proportions are written if the cells have room for
        them; a class without examples is grey. Beyond about a hundred classes not every one is named.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_table([[18, 2], [5, 15]], labels=["cat", "dog"])
    >>> figure = bp.plots.confusion_matrix(cm)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['18\n90 %', '2\n10 %', '5\n25 %', '15\n75 %']
    """
    places = list(product(*(range(cm.counts.sizes[dim]) for dim in cm.dims)))
    names = [shorten(label, _LONGEST_NAME) for label in cm.labels]
    side = float(np.clip(_CELL * len(names), 1.6, _LONGEST if len(places) == 1 else _LONGEST_OF_MANY))
    room = CHARACTER * (max(map(len, names)) + (9 if len(names) <= _MOST_WITH_TOTALS else 0))
    upright = CHARACTER * max(map(len, names)) > 0.9 * side / len(names)
    beneath = CHARACTER * max(map(len, names)) if upright else 0.2
    columns = max(int(14 // (side + room + 1.4)), 1)
    figure, panels = small_multiples(
        len(places), side + room + 1.4, side + beneath + 0.7, columns=columns, margin=(0.2, 0.5), boxed=True, ax=ax
    )
    if ax is None:
        figure.set_layout_engine("compressed")
    for axes, place, title in zip(panels, places, place_names(cm.counts[..., 0, 0]), strict=True):
        _draw_matrix(axes, cm.counts.values[place], names, side)
        axes.tick_params(axis="x", rotation=90 if upright else 0)
        axes.set_title(shorten(title), fontsize="medium")
    total = f"{int(cm.counts.sum()):,} examples"
    write_title(figure, total if cm.pos_label is None else f"{total}, positive {cm.pos_label!r}", ax=ax)
    return figure


def _draw_matrix(axes: Axes, counts: Counts, names: list[str], side: float) -> None:
    """Plot one matrix with its colour bar."""
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    count, totals = len(names), counts.sum(1)
    with np.errstate(invalid="ignore"):
        shares = counts / totals[:, None]
    colours = LinearSegmentedColormap.from_list("shares", SEQUENTIAL).with_extremes(bad=_NO_EXAMPLES)
    many = count > _MOST_WITH_TOTALS
    image = axes.imshow(shares, cmap=colours, norm=PowerNorm(0.5 if many else 1, 0, 1), interpolation="nearest")
    assert axes.figure is not None
    axes.figure.colorbar(image, ax=axes, shrink=0.8, aspect=25, label="share of the actual class")
    with_totals = [f"{name} (n = {total:,})" for name, total in zip(names, totals.tolist(), strict=True)]
    size = 0.8 * 72 * side / count
    # Of very many classes every second, third, … is named: more names would overlap, and take a minute to draw.
    step = max(int(np.ceil(_SMALLEST / size)), 1)
    axes.set_yticks(range(0, count, step), (names if many else with_totals)[::step])
    axes.set_xticks(range(0, count, step), names[::step])
    axes.tick_params(length=0, labelsize=np.clip(size, _SMALLEST, _LARGEST))
    axes.set_xlabel("predicted")
    axes.set_ylabel("actual")
    if side / count >= _LEAST_WITH_COUNT:
        _write_cells(axes, counts, shares, side / count)


def _write_cells(axes: Axes, counts: Counts, shares: Array, cell: float) -> None:
    """Write the counts into the cells, and the proportions below if there is room; with many cells, no zeros."""
    share_fits = cell >= _LEAST_WITH_SHARE
    longest = max(len(f"{counts.max():,}"), 5 if share_fits else 1)
    fontsize = min(_LARGEST, 72 * cell / (0.75 * longest))
    if fontsize < _SMALLEST:
        return
    for (row, column), value in np.ndenumerate(counts):
        share = shares[row, column]
        beneath = f"\n{100 * share:.0f} %" if share_fits and value else ""
        text = f"{value:,}{beneath}" if value or share_fits else ""
        axes.text(column, row, text, ha="center", va="center", fontsize=fontsize,
                  color="white" if share > 0.6 else "black")  # fmt: skip


@closed
def autocorrelation(dataset: xr.Dataset, *, ax: Axes | None = None) -> Figure:
    """Plot the autocorrelation of correctness against the band of the fitted Markov chain.

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of `bayesperf.sequences.autocorrelation`.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Raises
    ------
    ValueError
        If it is another dataset.
    """
    needed = ["observed", "lower", "upper", "outside"]
    if not isinstance(dataset, xr.Dataset) or not set(needed) <= set(dataset.data_vars):
        raise InputError("dataset", f"must be that of bayesperf.sequences.autocorrelation, with {', '.join(needed)}.")
    observed, lower, upper, outside = (dataset[name].values for name in needed)
    x = np.arange(len(observed))
    figure, (axes,) = small_multiples(1, 3.4 + 0.7 * len(x), 3.4, margin=(0, 0), ax=ax)
    band = f"{percentage(dataset.attrs['ci_prob'])} simultaneous band of the fitted chain"
    axes.axhline(0, color=GREY, lw=0.8)
    axes.vlines(x, lower, upper, color=GREY, alpha=0.4, lw=14, label=band)
    for shown, colour, marker, label in (
        (~outside, BLUE, "o", "observed, inside"),
        (outside, ORANGE, "D", "observed, outside"),
    ):
        if shown.any():
            axes.plot(x[shown], observed[shown], marker, color=colour, ms=6, label=label)
    axes.set_xticks(x, [str(lag) for lag in dataset["lag"].values])
    axes.set_xlim(-0.6, len(x) - 0.4)
    axes.set_xlabel("lag (samples)")
    axes.set_ylabel("autocorrelation of correctness")
    write_legend(figure, *axes.get_legend_handles_labels(), ax=ax)
    write_title(figure, "Autocorrelation of correctness", f"and the {band}", ax=ax)
    return figure
