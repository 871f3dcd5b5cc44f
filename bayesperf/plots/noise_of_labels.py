"""Figures of what wrong labels do to a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import FuncFormatter

from bayesperf.core.words import interval_name, metric_title
from bayesperf.plots.style import BLUE, SERIES, closed, shorten, small_multiples, write_legend, write_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from bayesperf.plots.style import Panels


@closed
def label_noise(sensitivity: pd.DataFrame, *, ax: Panels | None = None) -> Figure:
    """Draw a metric with its interval against the rate at which labels are taken to be wrong.

    Parameters
    ----------
    sensitivity : pandas.DataFrame
        What `bayesperf.labels.noise_sensitivity` returns; of several systems, a line each.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=88, fn=12, fp=10, tn=90)
    >>> figure = bp.plots.label_noise(bp.labels.noise_sensitivity(cm, "f1"))
    >>> figure.axes[0].get_xlabel()
    'labels that are wrong'
    """
    facts, dim = sensitivity.attrs, sensitivity.attrs["dim"]
    several = dim in sensitivity
    systems = sensitivity.groupby(dim, sort=False) if several else [("mean", sensitivity)]
    figure, (axes,) = small_multiples(1, 6.4, 3.6, margin=(0.4, 0.2), ax=ax)
    for number, (name, system) in enumerate(systems):
        colour = SERIES[number % len(SERIES)] if several else BLUE
        axes.fill_between(system["rate"], system["ci_lower"], system["ci_upper"], color=colour, alpha=0.15, lw=0)
        axes.plot(system["rate"], system["mean"], "o-", color=colour, lw=1.5, ms=3.5, label=shorten(str(name)))
    axes.set_xlabel("labels that are wrong")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{100 * rate:.3g} %"))
    axes.set_ylabel(metric_title(facts["metric"]))
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    if several:
        write_legend(figure, handles, labels, dim, ax)
    write_title(figure, f"{facts['estimand']}:", f"mean and {interval_name(facts['ci_prob'], facts['ci_kind'])}", ax=ax)
    return figure
