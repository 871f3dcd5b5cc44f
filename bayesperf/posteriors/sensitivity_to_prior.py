"""Sensitivity of posterior results to the prior."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from bayesperf import metrics as table
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior

__all__ = ["sensitivity"]

# Names of preset priors or priors; by a name of one's own in a mapping.
type Priors = Sequence[str | priors.Prior] | Mapping[str, str | priors.Prior]


@checked
def sensitivity(
    result: xr.DataTree | ConfusionMatrix,
    metrics: Sequence[str | Metric] | None = None,
    priors: Priors | None = None,
    *,
    ci_prob: float = 0.95,
) -> pd.DataFrame:
    """Return a table of how the posterior changes with the prior.

    Parameters
    ----------
    result : xarray.DataTree or ConfusionMatrix
        A fit, whose prior and likelihood are raised to powers near 1 by importance sampling (power-scaling); or counts,
        for which the posterior is computed under each of several priors.
    metrics : sequence of str, optional
        Metrics to include. For a fit these are names of variables; by default the metrics of the population, if there
        are any.
    priors : sequence or mapping of str to str or Prior, optional
        For counts: priors, or names of presets, by names of one's own if in a mapping; by default the presets "flat",
        "jeffreys" and "perks", and for more than two classes "shared".
    ci_prob : float
        Probability of the highest-density intervals; used for counts only.

    Returns
    -------
    pandas.DataFrame
        For a fit, the columns ``prior``, ``likelihood`` (how fast the distribution of each quantity changes with the
        power; values above 0.05 are noticeable) and ``diagnosis``, indexed by quantity. For counts, the summary under
        each prior, with a column ``prior``.

    Raises
    ------
    ValueError
        If the prior of a fit is flat, because power-scaling does not change it; compare the preset priors instead, by
        passing the counts. Also if a fit has no log-likelihood, if it comes with `priors`, or if two priors have the
        same name.

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
    >>> bp.prior.sensitivity(cm, ["recall"])[["prior", "metric", "mean"]].round(3)
          prior  metric   mean
    0      flat  recall  0.750
    1  jeffreys  recall  0.773
    2     perks  recall  0.786
    >>> mine = {"none": "haldane", "expert": bp.prior.dirichlet([[9, 1], [2, 8]])}
    >>> bp.prior.sensitivity(cm, ["recall"], mine)[["prior", "metric", "mean"]].round(3)
        prior  metric  mean
    0    none  recall   0.8
    1  expert  recall   0.8
    """
    if isinstance(result, ConfusionMatrix):
        return _by_prior(result, metrics, priors, ci_prob)
    if not isinstance(result, xr.DataTree):
        raise InputTypeError(
            "result", f"must be a DataTree (of a fit) or a ConfusionMatrix; it is {type(result).__name__}."
        )
    if priors is not None:
        raise InputError("priors", "a fit has the prior that it was given.", "Pass the counts for others.")
    return _power_scaled(result, metrics)


def posteriors_under(cm: ConfusionMatrix, given: Priors | None) -> dict[str, Posterior]:
    """Return the posterior of counts under each prior, by its name."""
    if given is None:
        given = ["flat", "jeffreys", "perks"] + ["shared"] * (len(cm.labels) > 2)
    if isinstance(given, str | priors.Prior):
        raise InputTypeError(
            "priors", f"must be a sequence or a mapping of priors; it is {given!r}.", f"Write [{given!r}]."
        )
    if isinstance(given, Mapping):
        named = {str(name): priors.resolve(prior, len(cm.labels)) for name, prior in given.items()}
    else:
        several = [priors.resolve(prior, len(cm.labels)) for prior in given]
        named = {prior.name: prior for prior in several}
        if len(named) < len(several):
            raise InputError("priors", "two have the same name.", "Name them: priors={'mine': …, 'yours': …}.")
    if not named:
        raise InputError("priors", "name at least one.")
    return {name: posterior(cm, prior) for name, prior in named.items()}


def _by_prior(cm: ConfusionMatrix, metrics: Any, given: Priors | None, ci_prob: float) -> pd.DataFrame:
    tables = {name: post.summary(metrics, ci_prob) for name, post in posteriors_under(cm, given).items()}
    both = pd.concat([table.assign(prior=name) for name, table in tables.items()], ignore_index=True)
    return both[["prior", *(column for column in both.columns if column != "prior")]]


def _power_scaled(tree: xr.DataTree, metrics: Any) -> pd.DataFrame:
    import arviz_stats

    for group in ("log_likelihood", "log_prior"):
        if group not in tree.children:
            raise InputError(
                "result", f"has no group {group!r}: {tree.attrs.get('left_out', 'bayesperf.fit adds it')}."
            )
    variables = tree["posterior"].data_vars
    known = set(table.names())
    names = [name for name in variables if name in known] or list(variables) if metrics is None else list(metrics)
    if missing := [name for name in names if name not in variables]:
        raise InputError("metrics", f"the fit has no variable {missing[0]!r}.")
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
        raise InputError(
            "",
            f"the prior of this fit is flat ({prior}): to any power it is what it was.",
            "Compare the preset priors instead: bp.prior.sensitivity(cm).",
        ) from None
    return summary
