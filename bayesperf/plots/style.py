"""Common parts of all figures: colours, default intervals, words, and how a finished figure is returned."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesperf.core import checks
from bayesperf.core.errors import InputError
from bayesperf.core.words import percentage
from bayesperf.posteriors.marginal import Kind

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    # Axes to draw in: of the only panel, or of each panel.
    type Panels = Axes | Sequence[Axes]

# Okabe & Ito's palette, whose colours readers with colour vision deficiency can tell apart.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#666666"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9")
# Heat maps from 0 to 1: of probabilities around one half, and of others.
DIVERGING, SEQUENTIAL = (ORANGE, "#ffffff", BLUE), ("#ffffff", BLUE)
# Rows of a forest that fit a page; more are continued in another panel.
MOST_ROWS = 40
# What a legend needs besides its words, and a place's name in a forest needs a character, in inches.
_BESIDE_WORDS = 0.6
CHARACTER = 0.082
# Share of a figure that its title may span.
_OF_FIGURE = 0.97
# Logarithmic axes of fewer decades have ticks at evenly spaced values.
_FEW_DECADES = 0.7
# Texts are not broken into less than this many characters a line.
_FEWEST_CHARACTERS = 10


def closed[**P](draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Make a plotting function wrap texts that would be cropped, and close its figure for pyplot.

    Notebooks would otherwise show it twice. If the caller gave the axes (``ax``), the figure belongs to the caller: its
    layout is left alone, and it stays open.
    """

    @wraps(draw)
    def draw_and_close(*args: P.args, **kwargs: P.kwargs) -> Figure:
        from matplotlib import pyplot as plt

        figure, given = draw(*args, **kwargs), axes_of(kwargs.get("ax"))  # type: ignore[arg-type]
        if not given:
            _fit_figure(figure)
            figure.draw_without_rendering()
            plt.close(figure)
        for axes in given or figure.axes:
            _fit_axes(axes)
        return figure

    return draw_and_close


def axes_of(ax: Panels | None) -> list[Axes]:
    """Return the axes that a caller gave, row by row; none if there are none."""
    if ax is None:
        return []
    return list(np.asarray(ax, dtype=object).ravel())


def default_interval(ci_prob: float | None, ci_kind: Kind | None) -> tuple[float, Kind]:
    """Return the probability and kind of a figure's intervals, with defaults for None.

    The defaults are 95 % and highest-density, unless ``arviz_base.rcParams`` was changed: if a setting differs from
    ArviZ's own default, somebody chose it, and it is followed.

    Examples
    --------
    >>> default_interval(None, "eti")
    (0.95, 'eti')
    >>> import arviz_base
    >>> with arviz_base.rc_context({"stats.ci_prob": 0.8}):
    ...     default_interval(None, None)
    (0.8, 'hdi')
    """
    prob = _arviz_setting("stats.ci_prob", 0.95) if ci_prob is None else ci_prob
    kind = _arviz_setting("stats.ci_kind", "hdi") if ci_kind is None else ci_kind
    return checks.interval(prob, kind)


def _arviz_setting(name: str, ours: Any) -> Any:
    """Return a changed ArviZ setting, or ours; if ArviZ was not imported, nobody changed it."""
    arviz = sys.modules.get("arviz_base")
    if arviz is None:
        return ours
    setting, (default, _) = arviz.rcParams[name], arviz.rcparams.defaultParams[name]
    return ours if setting == default else setting


def small_multiples(
    count: int,
    width: float,
    height: float,
    *,
    columns: int = 4,
    margin: tuple[float, float] = (0.6, 0.6),
    boxed: bool = False,
    ax: Panels | None = None,
    **options: Any,
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, row by row, with no more panels in a row than fit a page.

    `width` and `height` are the size of each panel, and `margin` what the figure has besides, in inches; `boxed` panels
    have lines on all four sides; `ax` holds existing axes, one per panel; the options go to
    ``matplotlib.pyplot.subplots``.
    """
    from matplotlib import pyplot as plt

    if panels := axes_of(ax):
        if len(panels) != count:
            raise InputError(
                "ax", f"holds {len(panels)} axes, and this figure has {count} panels: give as many, or leave ax out."
            )
        figure: Figure = panels[0].get_figure(root=True)  # type: ignore[assignment]
    else:
        columns = min(columns, count)
        rows = -(-count // columns)
        size = (width * columns + margin[0], height * rows + margin[1])
        figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **options)
        panels = list(grid.flat)
        for axes in panels[count:]:
            axes.set_axis_off()
    for axes in panels if not boxed else []:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels[:count]


def parts_of(count: int, most: int) -> list[slice]:
    """Return consecutive parts of a number of quantities, about equal and none longer than `most`."""
    size = -(-count // -(-count // most))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def label_edges(panels: Sequence[Axes], x: str, y: str, ax: Panels | None = None) -> None:
    """Label the axes of small multiples: x if there is no panel below, y at the left; all of the caller's axes."""
    place = panels[0].get_subplotspec()
    columns = 1 if ax is not None or place is None else place.get_gridspec().ncols
    for position, axes in enumerate(panels):
        at_bottom = ax is not None or position + columns >= len(panels)
        axes.set_xlabel(x if at_bottom else "")
        axes.tick_params(labelbottom=at_bottom)
        axes.set_ylabel("" if position % columns else y)


def label_around(figure: Figure, panels: Sequence[Axes], x: str, y: str, ax: Panels | None) -> None:
    """Label small multiples: x as `label_edges` does, y left of the whole figure; the caller's axes one by one."""
    label_edges(panels, x, "" if ax is None else y, ax)
    if ax is None:
        figure.supylabel(y, fontsize="medium")


def write_title(figure: Figure, *lines: str, ax: Panels | None = None) -> None:
    """Write the lines of a title above a figure, or above the caller's axes if there is one; several get none."""
    text, given = "\n".join(line for line in lines if line), axes_of(ax)
    if len(given) == 1:
        own = given[0].get_title()
        given[0].set_title(f"{text}\n{own}" if own else text, fontsize="medium")
    elif not given:
        figure.suptitle(text, fontsize="medium")


def remark(figure: Figure, text: str) -> None:
    """Write a remark below a figure, in the place of a legend."""
    figure.supxlabel(text, fontsize="x-small", color=GREY)


def log_scale(axes: Axes, *, y: bool = False) -> None:
    """Make the horizontal axis logarithmic, or the vertical one, with few round numbers at its ticks.

    It keeps the limits that it has when this is called.
    """
    from matplotlib import ticker

    axis, set_scale, limits = (
        (axes.yaxis, axes.set_yscale, axes.get_ylim) if y else (axes.xaxis, axes.set_xscale, axes.get_xlim)
    )
    set_scale("log")
    low, high = limits()
    decades = np.log10(high / low)
    few = ticker.MaxNLocator(4, steps=[1, 2, 5, 10])
    axis.set_major_locator(
        few if decades < _FEW_DECADES else ticker.LogLocator(subs=(1, 2, 5) if decades < 2 else (1,), numticks=6)
    )
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def band_name(ci_prob: float, kind: str) -> str:
    """Name the band around a curve for a legend, such as "95 % band, pointwise"."""
    return f"{percentage(ci_prob)} band, {kind}"


def write_legend(
    figure: Figure, handles: Sequence[Artist], labels: Sequence[str], title: str = "", ax: Panels | None = None
) -> None:
    """Write a legend below a figure, in as many columns as fit; inside the axes if the caller gave them."""
    if not labels:
        return
    style: dict[str, Any] = {"title": title or None, "fontsize": "small", "title_fontsize": "small"}
    if given := axes_of(ax):
        given[0].legend(handles, labels, framealpha=0.7, edgecolor="none", **style)
        return
    width = figure.get_size_inches()[0]
    widest = _BESIDE_WORDS + CHARACTER * max(map(len, labels))
    columns = min(len(labels), max(int(width // widest), 1))
    legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, **style)
    for text in legend.get_texts():
        wrap(text, (width / columns - _BESIDE_WORDS) * figure.dpi)


def wrap(text: Text, length: float, *, upright: bool = False) -> None:
    """Break the lines of a text to a maximum length in pixels; upright text is read from below."""
    lines = text.get_text().split("\n")
    characters = max(map(len, lines))
    while characters > _FEWEST_CHARACTERS:
        extent = text.get_window_extent()
        reach = extent.height if upright else extent.width
        if reach <= length:
            return
        characters = max(min(characters - 1, int(characters * length / reach)), _FEWEST_CHARACTERS)
        text.set_text("\n".join(fill(line, characters) for line in lines))


def _fit_figure(figure: Figure) -> None:
    """Break the title and the labels of a whole figure if they are longer than it is wide or high."""
    width, height = figure.bbox.size
    for text in figure.texts:
        upright = text.get_rotation() == 90
        wrap(text, _OF_FIGURE * (height if upright else width), upright=upright)


def _fit_axes(axes: Axes) -> None:
    """Break the title, the labels and the legend of axes if they are longer than the axes are wide or high."""
    width, height = axes.bbox.size
    wrap(axes.title, width)
    wrap(axes.xaxis.label, width)
    wrap(axes.yaxis.label, height, upright=True)
    if (legend := axes.get_legend()) is not None:
        for text in legend.get_texts():
            wrap(text, width - _BESIDE_WORDS * text.get_figure(root=True).dpi)  # type: ignore[union-attr]


def shorten(name: Any, most: int = 44) -> str:
    """Return a name as text for a figure; long names lose their middle, because they often differ at their ends.

    A dollar sign is escaped, because Matplotlib reads text between two of them as mathematics.
    """
    text = " ".join(str(name).split())
    half = (most - 1) // 2
    short = text if len(text) <= most else f"{text[:half]}…{text[-half:]}"
    return short.replace("$", r"\$")
