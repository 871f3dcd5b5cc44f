"""Figures of how a metric depends on what is assumed: on the prior, on the rate of wrong labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import FuncFormatter

from bayesperf.core.words import interval_name, metric_title, place_names
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.plots.marginals import draw_densities, mark_handles, write_figures
from bayesperf.plots.style import (
    BLUE,
    SERIES,
    closed,
    default_interval,
    label_edges,
    log_scale,
    shorten,
    small_multiples,
    write_legend,
    write_title,
)
from bayesperf.posteriors.densities import Curves, curves
from bayesperf.posteriors.marginal import Kind
from bayesperf.posteriors.sensitivity_to_prior import Priors, posteriors_under

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesperf.labels.sensitivity_to_noise import LabelNoiseSensitivity
    from bayesperf.plots.style import Panels


@closed
def prior_sensitivity(
    cm: ConfusionMatrix,
    metric: str | Metric,
    priors: Priors | None = None,
    *,
    ci_prob: float | None = None,
    ci_kind: Kind | None = None,
    ax: Panels | None = None,
) -> Figure:
    """Draw the posteriors of a metric under several priors, one over the other.

    Parameters
    ----------
    cm : ConfusionMatrix
        Counts; a panel for each leading coordinate (and each class of a metric of the classes).
    metric : str or Metric
        The metric.
    priors : sequence or mapping of str to str or Prior, optional
        As in `bayesperf.prior.sensitivity`: by default the preset priors.
    ci_prob, ci_kind, ax
        As in `bayesperf.plots.density`; the interval is shaded.

    References
    ----------
    Caelen (2017), A Bayesian interpretation of the confusion matrix, Fig. 2.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=50, fn=30, fp=30, tn=35)
    >>> belief = {"precision": 0.6, "recall": 0.65, "accuracy": 0.6}
    >>> priors = {f"weight {m}": bp.prior.elicited(**belief, weight=m) for m in (72.5, 725)}
    >>> figure = bp.plots.prior_sensitivity(cm, "mcc", {"none": "haldane", **priors})
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['none', 'weight 72.5', 'weight 725', 'mean', '95 % HDI', 'observed']
    """
    marginals = {name: post[metric] for name, post in posteriors_under(cm, priors).items()}
    interval = default_interval(ci_prob, ci_kind)
    drawn = [curves(marginal, *interval) for marginal in marginals.values()]
    one = next(iter(marginals.values()))
    names = place_names(one.leading)
    width = 3.4 if len(names) > 1 else 5.6
    figure, panels = small_multiples(len(names), width, 2.4, margin=(0.6, 1.1), ax=ax, sharex=True)
    for place, (axes, name) in enumerate(zip(panels, names, strict=True)):
        x, density, mean, limits, observed = (
            np.stack([getattr(each, part)[place] for each in drawn])
            for part in ("x", "density", "mean", "interval", "observed")
        )
        draw_densities(axes, Curves(x, density, mean, limits, list(marginals), drawn[0].logarithmic, observed))
        axes.set_title(shorten(name), fontsize="small")
        axes.spines[["top", "right"]].set_visible(False)
    label_edges(panels, metric_title(one.name), panels[0].get_ylabel(), ax)
    if drawn[0].logarithmic:
        for axes in panels:
            log_scale(axes)
    if len(marginals) == 1:
        for place, axes in enumerate(panels):
            write_figures(axes, drawn[0].take([place]))
    marks = mark_handles(interval, any(np.isfinite(each.observed).any() for each in drawn))
    handles, labels = panels[0].get_legend_handles_labels()
    write_legend(figure, [*handles, *marks.values()], [*labels, *marks], "prior", ax)
    write_title(figure, f"{one.estimand}:", f"mean and {interval_name(*interval)}", ax=ax)
    return figure


@closed
def label_noise(sensitivity: LabelNoiseSensitivity, *, ax: Panels | None = None) -> Figure:
    """Draw a metric with its interval against the rate at which labels are taken to be wrong.

    Parameters
    ----------
    sensitivity : LabelNoiseSensitivity
        What `bayesperf.labels.noise_sensitivity` returns; of several systems, a line each.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=88, fn=12, fp=10, tn=90)
    >>> figure = bp.labels.noise_sensitivity(cm, "f1").plot()
    >>> figure.axes[0].get_xlabel()
    'labels that are wrong'
    """
    data = sensitivity.dataset
    facts, dim = data.attrs, data.attrs["dim"]
    systems = [data.sel({dim: name}) for name in data[dim].values] if dim in data.dims else [data]
    figure, (axes,) = small_multiples(1, 6.4, 3.6, margin=(0.4, 0.2), ax=ax)
    for number, system in enumerate(systems):
        colour = SERIES[number % len(SERIES)] if len(systems) > 1 else BLUE
        rate, (lower, upper) = system["rate"].values, system["interval"].transpose("ci_bound", "rate").values
        axes.fill_between(rate, lower, upper, color=colour, alpha=0.15, lw=0)
        name = shorten(str(system[dim].item())) if len(systems) > 1 else "mean"
        axes.plot(rate, system["mean"].values, "o-", color=colour, lw=1.5, ms=3.5, label=name)
    axes.set_xlabel("labels that are wrong")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{100 * rate:.3g} %"))
    axes.set_ylabel(metric_title(facts["metric"]))
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    if len(systems) > 1:
        write_legend(figure, handles, labels, dim, ax)
    write_title(figure, f"{facts['estimand']}:", f"mean and {interval_name(facts['ci_prob'], facts['ci_kind'])}", ax=ax)
    return figure
