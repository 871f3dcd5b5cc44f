"""The figure of several readers' areas under ROC curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesperf.core.words import interval_name
from bayesperf.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    closed,
    default_interval,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesperf.curves.areas.areas_of_readers import ReaderAreas
    from bayesperf.plots.style import Panels
    from bayesperf.posteriors.marginal import Kind

__all__ = ["reader_areas"]

# How far the average and a new reader stand from the readers, in the distance of two modalities.
_ASIDE = 0.14


@closed
def reader_areas(
    study: ReaderAreas, *, ci_prob: float | None = None, ci_kind: Kind | None = None, ax: Panels | None = None
) -> Figure:
    """Plot the observed areas of each reader with each modality, and intervals of the average and of a new reader.

    Parameters
    ----------
    study : ReaderAreas
        Of `bayesperf.curves.reader_areas`.
    ci_prob, ci_kind, ax
        The intervals, and the axes, as in `bayesperf.plots.density`.
    """
    of_interval = default_interval(ci_prob, ci_kind)
    observed, names = study.observed, [shorten(name) for name in study.observed["modality"].values.tolist()]
    figure, (axes,) = small_multiples(1, 2.4 + 1.2 * len(names), 4.2, margin=(0.4, 0.8), ax=ax)
    places = np.arange(len(names))
    lines = axes.plot(places, observed.values, "o-", color=GREY, lw=0.8, ms=4, alpha=0.7)
    lines[0].set_label(f"{len(lines)} readers, observed")
    for marginal, at, colour, style, name in (
        (study.average_reader, -_ASIDE, BLUE, "-", "average reader"),
        (study.new_reader, _ASIDE, ORANGE, "--", "new reader"),
    ):
        axes.vlines(places + at, *marginal.interval(*of_interval).values.T, color=colour, ls=style, lw=2)
        axes.plot(places + at, marginal.mean(), "D", color=colour, ms=5, label=name)
    axes.set_xticks(places, names)
    axes.set(xlim=(-0.5, len(names) - 0.5), ylabel="area under the ROC curve", xlabel="modality")
    axes.grid(axis="y", color=GREY, alpha=0.25, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    write_legend(figure, *axes.get_legend_handles_labels(), ax=ax)
    write_title(figure, f"Means and {interval_name(*of_interval)}s", ax=ax)
    return figure
