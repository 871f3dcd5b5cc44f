"""Figures of how a metric depends on assumptions: on the prior, and on the rate of wrong labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.words import interval_name, metric_title, place_names
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.plots.marginals import draw_densities, mark_handles, panel, write_figures
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
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.prior import Prior
from bayesperf.posteriors.sensitivity_to_prior import (
    before_data,
    fits_under,
    posteriors_under,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesperf.plots.style import Panels

__all__ = ["noise_sensitivity", "prior", "prior_sensitivity"]


@closed
def prior(
    prior: str | Prior,
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    cm: ConfusionMatrix | None = None,
    *,
    ci_prob: float | None = None,
    ci_kind: Kind | None = None,
    ax: Panels | None = None,
) -> Figure:
    """Plot the density of each metric under a prior, before any example.

    Parameters
    ----------
    prior : str or Prior
        The prior.
    metrics : str, Metric or sequence of these, optional
        By default recall, specificity, precision and prevalence for two classes, else the metrics of a summary.
    cm : ConfusionMatrix, optional
        The matrix whose classes the prior is for; by default two classes, or the number of classes for which the prior
        has weights.
    ci_prob, ci_kind, ax
        As in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> figure = bp.plots.prior(bp.prior.elicited(recall=(0.75, 0.95, 0.9)), ["recall", "specificity"])
    """
    post = before_data(prior, cm)
    if metrics is None and len(post.labels) == 2 and post.pos_label is not None:
        metrics = _OF_TWO_CLASSES
    names = [metrics] if isinstance(metrics, str | Metric) else metrics or post.default_metrics()
    return panel(post.several(names), ci_prob=ci_prob, ci_kind=ci_kind, ax=ax)


# What is drawn of a prior of two classes.
_OF_TWO_CLASSES = ("recall", "specificity", "precision", "prevalence")


@closed
def prior_sensitivity(
    cm: ConfusionMatrix | xr.DataTree,
    metric: str | Metric,
    priors: Any = None,
    *,
    ci_prob: float | None = None,
    ci_kind: Kind | None = None,
    ax: Panels | None = None,
) -> Figure:
    """Plot the posteriors of a metric under several priors, one above the other, and the priors themselves.

    Parameters
    ----------
    cm : ConfusionMatrix or xarray.DataTree
        Counts, or a fit, whose draws are reweighted; each leading coordinate has a panel (and so has each class of a
        metric per class).
    metric : str or Metric
        The metric.
    priors : sequence or mapping of str to str or Prior, optional
        As in `bayesperf.prior.sensitivity`: by default the preset priors for counts, and only its own prior for a fit.
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
    ['none', 'weight 72.5', 'weight 725', 'mean', '95 % HDI', 'observed', 'before the data']
    """
    from matplotlib.lines import Line2D

    before, after = _before_and_after(cm, priors)
    marginals = {name: post[metric] for name, post in after.items()}
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
        if not drawn[0].logarithmic:
            _draw_priors(axes, [_density(before[name], metric, interval, place) for name in marginals])
        axes.set_title(shorten(name), fontsize="small")
    label_edges(panels, metric_title(one.name), panels[0].get_ylabel(), ax)
    if drawn[0].logarithmic:
        for axes in panels:
            log_scale(axes)
    if len(marginals) == 1:
        for place, axes in enumerate(panels):
            write_figures(axes, drawn[0].take([place]))
    marks = mark_handles(interval, any(np.isfinite(each.observed).any() for each in drawn))
    if any(line.get_linestyle() == _OF_PRIOR["linestyle"] for line in panels[0].lines):
        marks = {**marks, "before the data": Line2D([], [], color="0.4", **_OF_PRIOR)}
    handles, labels = panels[0].get_legend_handles_labels()
    write_legend(figure, [*handles, *marks.values()], [*labels, *marks], "prior", ax)
    write_title(figure, f"{one.estimand}:", f"mean and {interval_name(*interval)}", ax=ax)
    return figure


# The style of a prior's density, drawn beneath its posterior's.
_OF_PRIOR: dict[str, Any] = {"linestyle": "--", "linewidth": 1.0}


def _before_and_after(
    given: ConfusionMatrix | xr.DataTree, priors: Any
) -> tuple[dict[str, Posterior | None], dict[str, Posterior]]:
    """Return what each prior says before the data, if known, and its posterior."""
    if isinstance(given, xr.DataTree):
        fits = fits_under(given, {} if priors is None else priors)
        return {name: fit.prior for name, fit in fits.items()}, {name: fit.posterior for name, fit in fits.items()}
    after, by_name = posteriors_under(given, priors), priors if isinstance(priors, Mapping) else {}
    listed = {each.name: each for each in priors or () if isinstance(each, Prior)}
    return {name: before_data({**listed, **by_name}.get(name, name), given) for name in after}, after


def _density(
    before: Posterior | None, metric: str | Metric, interval: tuple[float, Kind], place: int
) -> tuple[Array, Array] | None:
    """Return the density of a metric before the data; None if the prior has none."""
    if before is None:
        return None
    try:
        of_prior = curves(before[metric], *interval)
    except InputError:
        return None
    row = place if len(of_prior.x) > 1 else 0
    return of_prior.x[row], of_prior.density[row]


def _draw_priors(axes: Axes, densities: Sequence[tuple[Array, Array] | None]) -> None:
    """Plot densities of priors in the colours of their posteriors, no higher than the posteriors."""
    lines, limits = list(axes.lines), axes.get_ylim()
    colours = [line.get_color() for line in lines if not str(line.get_label()).startswith("_")]
    for density, colour in zip(densities, colours, strict=False):
        if density is not None:
            axes.plot(*density, color=colour, **_OF_PRIOR)
    axes.set_ylim(limits)


@closed
def noise_sensitivity(sensitivity: pd.DataFrame, *, ax: Panels | None = None) -> Figure:
    """Plot a metric with its interval against the assumed rate of wrong labels.

    Parameters
    ----------
    sensitivity : pandas.DataFrame
        The result of `bayesperf.labels.noise_sensitivity`; each of several systems has a line.
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=88, fn=12, fp=10, tn=90)
    >>> figure = bp.plots.noise_sensitivity(bp.labels.noise_sensitivity(cm, "f1"))
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
    axes.xaxis.set_major_formatter(lambda rate, _: f"{100 * rate:.3g} %")
    axes.set_ylabel(metric_title(facts["metric"]))
    handles, labels = axes.get_legend_handles_labels()
    if several:
        write_legend(figure, handles, labels, dim, ax)
    write_title(figure, f"{facts['estimand']}:", f"mean and {interval_name(facts['ci_prob'], facts['ci_kind'])}", ax=ax)
    return figure
