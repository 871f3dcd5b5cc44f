"""What all figures share: colours, the words of axes and titles, and how a finished figure is handed over."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import product
from textwrap import fill
from typing import TYPE_CHECKING, Any

import xarray as xr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe & Ito's palette, whose colours readers with colour vision deficiency can tell apart.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#666666"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9")
# Heat maps from 0 to 1: of probabilities around one half, and of others.
DIVERGING, SEQUENTIAL = (ORANGE, "#ffffff", BLUE), ("#ffffff", BLUE)
# How many characters of a remark fit into an inch.
_CHARACTERS_PER_INCH = 17


def closed[**P](draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Make a plotting function close its figure for pyplot; notebooks would otherwise show it twice."""

    @wraps(draw)
    def draw_and_close(*args: P.args, **kwargs: P.kwargs) -> Figure:
        from matplotlib import pyplot as plt

        figure = draw(*args, **kwargs)
        plt.close(figure)
        return figure

    return draw_and_close


def remark(figure: Figure, text: str) -> None:
    """Write a remark beneath a figure."""
    width, _ = figure.get_size_inches()
    figure.supxlabel(fill(text, int(_CHARACTERS_PER_INCH * width)), fontsize="x-small", color=GREY)


def place_names(leading: xr.DataArray) -> list[str]:
    """Return a name for each place along leading dims: its coordinates, joined."""
    return [", ".join(place) for place in product(*(map(str, leading[dim].values.tolist()) for dim in leading.dims))]


def metric_words(name: str) -> str:
    """Return the name of a metric as the label of an axis."""
    return name.replace("_", " ")


def shorten(name: Any, most: int = 44) -> str:
    """Return a name as text, its middle left out if it is long: names often differ at their ends."""
    text = str(name)
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"
