"""Figures of two metrics together: a point for each joint draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesperf.core import checks
from bayesperf.core.words import metric_title, place_names
from bayesperf.metrics.metric import Metric
from bayesperf.plots.style import BLUE, closed, label_edges, shorten, small_multiples, write_title
from bayesperf.posteriors.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesperf.plots.style import Panels


@closed
def joint(
    post: Posterior, first: str | Metric, second: str | Metric, *, draws: int = 2000, ax: Panels | None = None
) -> Figure:
    """Draw the joint distribution of two metrics: a point a draw, the correlation of all draws, the observed point.

    Parameters
    ----------
    post : Posterior
        Or a prediction, of which the points are new test sets; a panel for each leading coordinate.
    first, second : str or Metric
        Metrics with a single value, along x and y.
    draws : int
        How many of the joint draws are shown, at most. The correlation is that of all (`Posterior.correlation`).
    ax
        Axes to draw in, as in `bayesperf.plots.density`.

    Raises
    ------
    ValueError
        If a metric has a value for each class, or is not available.

    References
    ----------
    Caelen (2017), A Bayesian interpretation of the confusion matrix, Fig. 1.

    Examples
    --------
    >>> import bayesperf as bp
    >>> post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=65, fn=15, fp=35, tn=30))
    >>> figure = bp.plots.joint(post, "precision", "recall")
    >>> figure.axes[0].get_title()
    'correlation 0.26'
    """
    most = checks.count("draws", draws)
    metrics = [post.applicable(metric) for metric in (first, second)]
    correlations = post.correlation(*metrics).values.ravel()
    observed = np.stack([post.observed_score(metric).values.ravel() for metric in metrics], axis=-1)
    names = place_names(post.leading)
    figure, panels = small_multiples(len(names), 2.9 if len(names) > 1 else 4.4, 2.9, ax=ax, sharex=True, sharey=True)
    for axes, name, values, at, correlation in zip(
        panels, names, post.joint_draws(metrics), observed, correlations, strict=True
    ):
        x, y = (values[metric] for metric in metrics)
        # Evenly spaced, so that draws of all chains are among them.
        shown = np.linspace(0, len(x) - 1, min(most, len(x))).astype(int)
        axes.plot(x[shown], y[shown], ".", color=BLUE, ms=4, mew=0, alpha=float(np.clip(600 / len(shown), 0.1, 0.7)),
                  rasterized=True)  # fmt: skip
        if np.isfinite(at).all():
            axes.plot(*at, "X", color="black", mec="white", ms=9, label="observed")
        found = f"correlation {correlation:.2f}" if np.isfinite(correlation) else "correlation undefined"
        axes.set_title(f"{shorten(name)}: {found}".removeprefix(": "), fontsize="small")
        axes.spines[["top", "right"]].set_visible(False)
    x_name, y_name = (metric_title(metric.name) for metric in metrics)
    label_edges(panels, x_name, y_name, ax)
    if panels[0].get_legend_handles_labels()[1]:
        panels[0].legend(frameon=False, fontsize="small")
    write_title(figure, f"{post.estimand},", f"{len(shown):,} of {len(x):,} joint draws", ax=ax)
    return figure
