"""The figure of simulation-based calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xarray as xr

from bayesperf.plots.studies import check_study
from bayesperf.plots.style import BLUE, GREY, closed, label_edges, small_multiples

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@closed
def simulation_based_calibration(study: xr.Dataset) -> Figure:
    """Draw, for every parameter, the deviation of the ranks' distribution function from uniform, and its band.

    Parameters
    ----------
    study : xarray.Dataset
        Of `bayesperf.studies.simulation_based_calibration`.
    """
    check_study(study, "simulation_based_calibration", ("level", "parameter"), "ecdf")
    levels, parameters = study["level"].values, study["parameter"].values
    deviation = (study["ecdf"] - study["level"]).transpose("parameter", "level").values
    lower, upper = (study["band"] - study["level"]).transpose("ci_bound", "level").values
    figure, panels = small_multiples(len(parameters), 2.1, 1.5, columns=6, margin=(0, 0.9), sharex=True, sharey=True)
    for axes, parameter, curve in zip(panels, parameters, deviation, strict=True):
        axes.fill_between(levels, lower, upper, color=GREY, alpha=0.25, lw=0, step="mid")
        axes.plot(levels, curve, color=BLUE, lw=1.2)
        axes.axhline(0, color=GREY, lw=0.6)
        axes.set_title(parameter, fontsize="x-small")
        axes.tick_params(labelsize="x-small")
        axes.spines[["top", "right"]].set_visible(False)
    label_edges(panels, "", "")
    figure.supxlabel("proportion of posterior draws below the truth", fontsize="small")
    figure.supylabel("distribution function\nminus uniform", fontsize="small")
    figure.suptitle(
        f"{study.attrs['model']}: ranks of {study.sizes['simulation']} simulations, with "
        f"{100 * study.attrs['prob']:g} % simultaneous bands (Bonferroni over {len(parameters)} parameters)",
        fontsize="small",
    )
    return figure
