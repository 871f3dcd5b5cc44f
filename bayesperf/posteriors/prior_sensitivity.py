"""Sensitivity of posterior results to the prior."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any

import pandas as pd
import xarray as xr

from bayesperf import metrics as table
from bayesperf import prior as priors
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.dirichlet import posterior

__all__ = ["prior_sensitivity"]


def prior_sensitivity(
    result: xr.DataTree | ConfusionMatrix, metrics: Sequence[str | Metric] | None = None, *, ci_prob: float = 0.95
) -> pd.DataFrame:
    """Return a table of how the posterior changes with the prior.

    Parameters
    ----------
    result : xarray.DataTree or ConfusionMatrix
        A fit, whose prior and likelihood are raised to powers near 1 by importance sampling (power-scaling); or counts,
        for which the posterior is computed under each of the preset priors.
    metrics : sequence of str, optional
        Metrics to include. For a fit these are names of variables; by default the metrics of the population, if there
        are any.
    ci_prob : float
        Probability of the highest-density intervals; used for counts only.

    Returns
    -------
    pandas.DataFrame
        For a fit, the columns ``prior``, ``likelihood`` (how fast the distribution of each quantity changes with the
        power; values above 0.05 are noticeable) and ``diagnosis``, indexed by quantity. For counts, the summary under
        each preset prior, with a column ``prior``.

    Raises
    ------
    ValueError
        If the prior of a fit is flat, because power-scaling does not change it; compare the preset priors instead, by
        passing the counts. Also if a fit has no log-likelihood.

    Notes
    -----
    The likelihood of models of groups is that of the predictions given the class totals, as in cross-validation. It
    contains no information about prevalence, whose sensitivity is therefore underestimated.

    References
    ----------
    Kallioinen, Paananen, Bürkner & Vehtari (2024), Statistics and Computing 34.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=8, fn=2, fp=1, tn=9)
    >>> bp.prior_sensitivity(cm, ["recall"])[["prior", "metric", "mean"]].round(3)
          prior  metric   mean
    0      flat  recall  0.750
    1  jeffreys  recall  0.773
    2     perks  recall  0.786
    """
    if isinstance(result, ConfusionMatrix):
        return _by_presets(result, metrics, ci_prob)
    if not isinstance(result, xr.DataTree):
        raise TypeError(f"result must be a DataTree (of a fit) or a ConfusionMatrix; it is {type(result).__name__}.")
    return _power_scaled(result, metrics)


def _by_presets(cm: ConfusionMatrix, metrics: Any, ci_prob: float) -> pd.DataFrame:
    presets = [priors.flat(), priors.jeffreys(), priors.perks()] + [priors.shared()] * (len(cm.labels) > 2)
    tables = {preset.name: posterior(cm, preset).summary(metrics, ci_prob) for preset in presets}
    both = pd.concat([table.assign(prior=name) for name, table in tables.items()], ignore_index=True)
    return both[["prior", *(column for column in both.columns if column != "prior")]]


def _power_scaled(tree: xr.DataTree, metrics: Any) -> pd.DataFrame:
    import arviz_stats

    for group in ("log_likelihood", "log_prior"):
        if group not in tree.children:
            raise ValueError(f"result has no group {group!r}: {tree.attrs.get('left_out', 'bayesperf.fit adds it')}.")
    variables = tree["posterior"].data_vars
    known = set(table.names())
    names = [name for name in variables if name in known] or list(variables) if metrics is None else list(metrics)
    if missing := [name for name in names if name not in variables]:
        raise ValueError(f"metrics: the fit has no variable {missing[0]!r}.")
    # The advice that it logs is in the table already.
    logging.getLogger("arviz_stats.psense").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Number of tail draws")
            summary: pd.DataFrame = arviz_stats.psense_summary(tree, var_names=names)
    except ValueError as error:
        if "tail values are the same" not in str(error):
            raise
        prior = tree["posterior"].attrs.get("prior", "")
        raise ValueError(
            f"the prior of this fit is flat ({prior}): to any power it is what it was. Compare the preset priors "
            "instead: prior_sensitivity(cm)."
        ) from None
    return summary
