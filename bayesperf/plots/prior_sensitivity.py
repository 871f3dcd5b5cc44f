"""Figures of what a metric's posterior owes to the prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesperf.core.words import interval_name, metric_title, place_names
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.plots.densities import Curves, curves
from bayesperf.plots.marginals import draw_densities
from bayesperf.plots.style import closed, label_edges, small_multiples, write_title
from bayesperf.posteriors.marginal import Kind
from bayesperf.posteriors.prior_sensitivity import Priors, posteriors_under

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@closed
def prior_sensitivity(
    cm: ConfusionMatrix,
    metric: str | Metric,
    priors: Priors | None = None,
    *,
    ci_prob: float = 0.95,
    ci_kind: Kind = "hdi",
) -> Figure:
    """Draw the posteriors of a metric under several priors, one over the other.

    Parameters
    ----------
    cm : ConfusionMatrix
        Counts; a panel for each leading coordinate (and each class of a metric of the classes).
    metric : str or Metric
        The metric.
    priors : sequence or mapping of str to str or Prior, optional
        As in `bayesperf.prior_sensitivity`: by default the preset priors.
    ci_prob, ci_kind
        The interval, which is shaded.

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
    ['none', 'weight 72.5', 'weight 725']
    """
    marginals = {name: post[metric] for name, post in posteriors_under(cm, priors).items()}
    drawn = [curves(marginal, ci_prob, ci_kind) for marginal in marginals.values()]
    one = next(iter(marginals.values()))
    names = place_names(one.leading)
    figure, panels = small_multiples(len(names), 3.4 if len(names) > 1 else 5.6, 2.4, margin=(0.6, 1.1), sharex=True)
    for place, (axes, name) in enumerate(zip(panels, names, strict=True)):
        x, density, mean, interval = (
            np.stack([part[place] for part in parts]) for parts in list(zip(*drawn, strict=True))[:4]
        )
        draw_densities(axes, Curves(x, density, mean, interval, list(marginals), drawn[0].logarithmic))
        axes.set_title(name, fontsize="small")
        axes.spines[["top", "right"]].set_visible(False)
    label_edges(panels, metric_title(one.name), panels[0].get_ylabel())
    if drawn[0].logarithmic:
        panels[0].set_xscale("log")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, title="prior", frameon=False, fontsize="small")
    write_title(figure, f"{one.estimand}:", f"mean and {interval_name(ci_prob, ci_kind)}")
    return figure
