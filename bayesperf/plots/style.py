"""What all figures share: colours, the words of axes and titles, and how a finished figure is handed over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's palette, whose colours readers with colour vision deficiency can tell apart.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#666666"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9")
# Heat maps from 0 to 1: of probabilities around one half, and of others.
DIVERGING, SEQUENTIAL = (ORANGE, "#ffffff", BLUE), ("#ffffff", BLUE)
# Rows of a forest that fit a page; more are continued in another panel.
MOST_ROWS = 40
# How many characters of a remark fit into an inch.
_CHARACTERS_PER_INCH = 17
_CHARACTERS_OF_TITLE_PER_INCH = 13


def closed[**P](draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Make a plotting function close its figure for pyplot; notebooks would otherwise show it twice."""

    @wraps(draw)
    def draw_and_close(*args: P.args, **kwargs: P.kwargs) -> Figure:
        from matplotlib import pyplot as plt

        figure = draw(*args, **kwargs)
        plt.close(figure)
        return figure

    return draw_and_close


def small_multiples(
    count: int,
    width: float,
    height: float,
    *,
    columns: int = 4,
    margin: tuple[float, float] = (0.6, 0.6),
    **options: Any,
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, row by row: never more beside each other than fit a page, the rest below.

    Parameters
    ----------
    count : int
        Number of panels.
    width, height : float
        Of each, in inches.
    columns : int
        How many there are beside each other at most.
    margin : tuple of two float
        What the figure has besides, in inches.
    **options
        Of ``matplotlib.pyplot.subplots``.
    """
    from matplotlib import pyplot as plt

    columns = min(columns, count)
    rows = -(-count // columns)
    size = (width * columns + margin[0], height * rows + margin[1])
    figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **options)
    panels = list(grid.flat)
    for axes in panels[count:]:
        axes.set_axis_off()
    return figure, panels[:count]


def parts_of(count: int, most: int) -> list[slice]:
    """Return consecutive parts of so many quantities, about equal and none longer than `most`."""
    size = -(-count // -(-count // most))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def label_edges(panels: Sequence[Axes], x: str, y: str) -> None:
    """Label the axes of small multiples: x where there is no panel below, y at the left."""
    place = panels[0].get_subplotspec()
    assert place is not None
    columns = place.get_gridspec().ncols
    for position, axes in enumerate(panels):
        at_bottom = position + columns >= len(panels)
        axes.set_xlabel(x if at_bottom else "")
        axes.tick_params(labelbottom=at_bottom)
        axes.set_ylabel("" if position % columns else y)


def write_title(figure: Figure, *lines: str) -> None:
    """Write lines of a title above a figure, broken where they do not fit its width."""
    width, _ = figure.get_size_inches()
    figure.suptitle(
        "\n".join(fill(line, int(_CHARACTERS_OF_TITLE_PER_INCH * width)) for line in lines), fontsize="medium"
    )


def remark(figure: Figure, text: str) -> None:
    """Write a remark beneath a figure."""
    width, _ = figure.get_size_inches()
    figure.supxlabel(fill(text, int(_CHARACTERS_PER_INCH * width)), fontsize="x-small", color=GREY)


def shorten(name: Any, most: int = 44) -> str:
    """Return a name as text, its middle left out if it is long: names often differ at their ends."""
    text = str(name)
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"
