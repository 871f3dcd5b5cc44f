"""Figures of sequences of samples: the autocorrelation of correctness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayesperf.core.errors import InputError
from bayesperf.core.words import percentage
from bayesperf.plots.style import BLUE, GREY, ORANGE, closed, small_multiples, write_legend, write_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@closed
def autocorrelation(dataset: xr.Dataset, *, ax: Axes | None = None) -> Figure:
    """Draw the autocorrelation of correctness against the band of the fitted Markov chain.

    Parameters
    ----------
    dataset : xarray.Dataset
        What `bayesperf.sequences.autocorrelation` returns.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Raises
    ------
    ValueError
        If it is another data set.
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
    axes.spines[["top", "right"]].set_visible(False)
    write_legend(figure, *axes.get_legend_handles_labels(), ax=ax)
    write_title(figure, "Autocorrelation of correctness", f"and the {band}", ax=ax)
    return figure
