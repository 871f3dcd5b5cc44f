"""The figure of simulation-based calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xarray as xr

from bayesperf.core.words import percentage
from bayesperf.plots.studies import check_study
from bayesperf.plots.style import BLUE, GREY, closed, label_around, shorten, small_multiples, write_legend, write_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesperf.plots.style import Panels


@closed
def simulation_based_calibration(study: xr.Dataset, *, ax: Panels | None = None) -> Figure:
    """Draw, for every parameter, the deviation of the ranks' distribution function from uniform, and its band.

    Parameters
    ----------
    study : xarray.Dataset
        Of `bayesperf.studies.simulation_based_calibration`.
    ax
        Axes to draw in, one a parameter, as in `bayesperf.plots.density`.
    """
    check_study(study, "simulation_based_calibration", ("level", "parameter"), "ecdf")
    levels, parameters = study["level"].values, study["parameter"].values
    deviation = (study["ecdf"] - study["level"]).transpose("parameter", "level").values
    lower, upper = (study["band"] - study["level"]).transpose("ci_bound", "level").values
    figure, panels = small_multiples(
        len(parameters), 2.1, 1.7, columns=6, margin=(0.4, 1.3), ax=ax, sharex=True, sharey=True
    )
    band = f"{percentage(study.attrs['prob'])} simultaneous band (Bonferroni over {len(parameters)} parameters)"
    for axes, parameter, curve in zip(panels, parameters, deviation, strict=True):
        axes.fill_between(levels, lower, upper, color=GREY, alpha=0.25, lw=0, step="mid", label=band)
        axes.plot(levels, curve, color=BLUE, lw=1.2)
        axes.axhline(0, color=GREY, lw=0.6)
        axes.set_title(shorten(parameter, 28), fontsize="x-small")
        axes.xaxis.label.set_fontsize("x-small")
        axes.tick_params(labelsize="x-small")
        axes.spines[["top", "right"]].set_visible(False)
    label_around(figure, panels, "share of draws below the truth", "distribution function minus uniform", ax)
    write_legend(figure, *panels[0].get_legend_handles_labels(), ax=ax)
    write_title(figure, f"{study.attrs['model']}: ranks of {study.sizes['simulation']} simulations", ax=ax)
    return figure
