"""The figure of simulation-based calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from scipy import stats

from bayesperf.plots.style import BLUE, GREY

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def calibration(study: xr.Dataset) -> Figure:
    """Draw, for every parameter, how far the ranks' distribution function is from uniform, and its simultaneous band.

    Parameters
    ----------
    study : xarray.Dataset
        Of `bayesperf.studies.calibration`.
    """
    from matplotlib import pyplot as plt

    from bayesperf.studies.simulation_based_calibration import threshold

    n, parameters = study.sizes["simulation"], study["parameter"].values
    points = np.arange(1, n) / n
    tail = threshold(n, 1 - (1 - study.attrs["prob"]) / len(parameters))
    lower = stats.binom.ppf(tail, n, points) / n - points
    upper = stats.binom.isf(tail, n, points) / n - points
    columns = min(6, len(parameters))
    rows = -(-len(parameters) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(2.1 * columns, 1.5 * rows + 0.9), squeeze=False, sharex=True,
                                sharey=True, layout="constrained")  # fmt: skip
    for axes in grid.flat[len(parameters) :]:
        axes.set_axis_off()
    for axes, parameter in zip(grid.flat, parameters, strict=False):
        pit = np.sort(study["pit"].sel(parameter=parameter).values)
        axes.fill_between(points, lower, upper, color=GREY, alpha=0.25, lw=0, step="mid")
        axes.plot(points, np.searchsorted(pit, points, side="right") / n - points, color=BLUE, lw=1.2)
        axes.axhline(0, color=GREY, lw=0.6)
        axes.set_title(parameter, fontsize="x-small")
        axes.tick_params(labelsize="x-small")
        axes.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("share of posterior draws below the truth", fontsize="small")
    figure.supylabel("distribution function\nless uniform", fontsize="small")
    figure.suptitle(
        f"{study.attrs['model']}: ranks of {n} simulations, with {100 * study.attrs['prob']:g} % simultaneous bands "
        f"(Bonferroni over {len(parameters)} parameters)",
        fontsize="small",
    )
    plt.close(figure)
    return figure
