"""Sensitivity of posterior results to the prior."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf import metrics as table
from bayesperf import models
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.counted import Counted
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.drawing import resampled
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.arviz_trees import observed_table
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.tree_attributes import LEFT_OUT, MODEL, POSITIVE, PRIOR, options_of

__all__ = ["sensitivity"]

# Names of presets or priors; by names of one's own in a mapping.
type Priors = Sequence[str | priors.Prior] | Mapping[str, str | priors.Prior]
# With a greater Pareto k̂ the weights of draws cannot be trusted (Vehtari et al., 2024).
_GREATEST_K = 0.7


@checked
def sensitivity(
    result: xr.DataTree | ConfusionMatrix,
    metrics: Sequence[str | Metric] | None = None,
    priors: Any = None,
    *,
    ci_prob: float = 0.95,
) -> pd.DataFrame:
    """Return a table of how the posterior changes with the prior.

    Parameters
    ----------
    result : xarray.DataTree or ConfusionMatrix
        A fit, whose prior and likelihood are raised to powers near 1 by importance sampling (power-scaling); or counts,
        for which the posterior is computed under each of several priors. With `priors`, the draws of a fit are
        reweighted by the density of each prior, without another fit.
    metrics : sequence of str, optional
        Metrics to include. For a fit these are names of variables; by default the metrics of the population, if it has
        any.
    priors : sequence or mapping of str to str or Prior, optional
        For counts: priors or names of presets, or a mapping of your names to these; by default the presets "flat",
        "jeffreys" and "perks", and for more than two classes "shared". For a fit of a built-in model of counts: a
        mapping of your names to values of the argument ``priors`` of `bayesperf.fit`, or to other fits, which are used
        as they are.
    ci_prob : float
        Probability of the highest-density intervals; used for counts, and for a fit with `priors`.

    Returns
    -------
    pandas.DataFrame
        For a fit, the columns ``prior``, ``likelihood`` (how fast the distribution of each quantity changes with the
        power; values above 0.05 are noticeable) and ``diagnosis``, indexed by quantity. For counts, the summary under
        each prior, with a column ``prior``. For a fit with `priors`, the summary of the fit ("as fitted") and under
        each prior, with columns ``pareto_k`` and ``diagnosis``: above 0.7, the fit has too few draws where the other
        prior puts the posterior, and you must fit the model again.

    Raises
    ------
    ValueError
        If the prior of a fit is flat, because power-scaling does not change it; compare the preset priors instead, by
        passing the counts. Also if a fit has no log-likelihood, if its draws cannot be reweighted (a model of your own,
        priors that change its parameters), or if two priors have the same name.

    Notes
    -----
    The likelihood of models of groups is the probability of the predictions given the class totals, as in
    cross-validation. It contains no information about prevalence, whose sensitivity is therefore underestimated.

    References
    ----------
    Kallioinen, Paananen, Bürkner & Vehtari (2024), Statistics and Computing 34. Vehtari, Simpson, Gelman, Yao & Gabry
    (2024), Pareto smoothed importance sampling, JMLR 25.

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
    return _power_scaled(result, metrics) if priors is None else _reweighted(result, metrics, priors, ci_prob)


def posteriors_under(cm: Counted, given: Priors | None) -> dict[str, Posterior]:
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


def before_data(prior: str | priors.Prior, cm: ConfusionMatrix | None = None) -> Posterior:
    """Return the prior's distribution before any example: the posterior of no examples, for the classes of a matrix."""
    if cm is None:
        resolved = priors.resolve(prior, 2)
        weights = np.asarray(0 if resolved.shared_by_classes else resolved.pseudo_counts(2, 1))
        classes = len(weights) if weights.ndim == 2 else 2
        empty = ConfusionMatrix.from_table(np.zeros((classes, classes), int), pos_label=1 if classes == 2 else None)
    else:
        empty = ConfusionMatrix(xr.zeros_like(cm.counts), cm.pos_label)
    return replace(posterior(empty, prior), inference="Prior")


def _by_prior(cm: ConfusionMatrix, metrics: Any, given: Priors | None, ci_prob: float) -> pd.DataFrame:
    tables = {name: post.summary(metrics, ci_prob) for name, post in posteriors_under(cm, given).items()}
    both = pd.concat([table.assign(prior=name) for name, table in tables.items()], ignore_index=True)
    return both[["prior", *(column for column in both.columns if column != "prior")]]


# ── Other priors of a fit ──

_FIT_AGAIN = "Fit it under each prior and give the fits: priors={'mine': bp.fit(…)}."
# Draws within this fraction of the range of a prior's draws are at its end; another prior goes beyond it if it has more
# than this probability there.
_NEAR, _BEYOND = 0.02, 0.01
# What ArviZ says of weights, or of powers of a prior, whose greatest values are all the same.
_NO_TAIL = "tail values are the same"


class Under(NamedTuple):
    """A fit under another prior: its draws, draws of the prior, and the Pareto k̂ of the weights (or NaN)."""

    posterior: Posterior
    prior: Posterior | None
    pareto_k: float


def fits_under(tree: xr.DataTree, given: Any) -> dict[str, Under]:
    """Return a fit as it is, and under each of several priors."""
    if not isinstance(given, Mapping) or not all(isinstance(each, Mapping | xr.DataTree) for each in given.values()):
        raise InputTypeError(
            "priors",
            f"must map names of yours to the `priors` of a fit, or to other fits; it is {given!r}.",
            "Write priors={'sceptic': {'recall': pm.Beta.dist(1, 1)}}.",
        )
    under = {"as fitted": _as_it_is(tree)}
    for name, each in given.items():
        under[str(name)] = _as_it_is(each) if isinstance(each, xr.DataTree) else _resampled_fit(tree, each)
    return under


def _as_it_is(tree: xr.DataTree) -> Under:
    return Under(Posterior.from_datatree(tree), _of_prior(tree, tree.children.get("prior")), np.nan)


def _of_prior(tree: xr.DataTree, group: xr.DataTree | None) -> Posterior | None:
    """Return the draws of a prior as a posterior; None if they do not include the cells."""
    if group is None or "cells" not in group.data_vars:
        return None
    drawn = group.to_dataset().assign_attrs(tree["posterior"].attrs)
    return Posterior.from_datatree(xr.DataTree.from_dict({"posterior": drawn}))


def _resampled_fit(tree: xr.DataTree, given: Mapping[str, Any]) -> Under:
    """Return a fit with its draws resampled in proportion to their weights under another prior."""
    import pymc as pm

    draws, model = tree["posterior"].to_dataset(), _model_under(tree, given)
    names = [variable.name for variable in model.free_RVs]
    before = tree["log_prior"].to_dataset()
    if set(names) != set(before.data_vars):
        raise InputError(
            "priors",
            f"they give the model other parameters ({', '.join(names)}) than the fit has "
            f"({', '.join(map(str, before.data_vars))}).",
            _FIT_AGAIN,
        )
    interpreted = {"compile_kwargs": {"mode": "FAST_COMPILE"}}
    after = pm.stats.compute_log_prior(
        xr.DataTree.from_dict({"posterior": draws[names]}), model=model, extend_inferencedata=False, progressbar=False,
        **interpreted,
    )  # fmt: skip
    log_ratio = _total_log_density(
        after.to_dataset() if isinstance(after, xr.DataTree) else after
    ) - _total_log_density(before)
    if not np.isfinite(log_ratio).any():
        raise InputError("priors", "no draw of the fit is possible under them.", _FIT_AGAIN)
    log_weight, pareto_k = _smoothed(log_ratio.ravel())
    chosen = np.sort(resampled(log_weight, np.random.default_rng(0)))
    flat = draws.stack(sample=("chain", "draw"), create_index=False).isel(sample=chosen).drop_vars(["chain", "draw"])
    again = flat.rename(sample="draw").expand_dims(chain=[0]).assign_coords(draw=np.arange(len(chosen)))
    data = {name: tree[name].to_dataset() for name in ("observed_data", "constant_data") if name in tree}
    groups = {"posterior": again, **data}
    posterior = Posterior.from_datatree(xr.DataTree.from_dict(groups))
    has_cells = "cells" in model.named_vars
    spoken = logging.getLogger("pymc.sampling.forward")
    spoken.addFilter(_is_warning)
    wanted = [*names, *(["cells"] if has_cells else [])]
    try:
        drawn = pm.sample_prior_predictive(4000, model=model, var_names=wanted, random_seed=0, **interpreted)
    finally:
        spoken.removeFilter(_is_warning)
    fitted, other = tree["prior"].to_dataset(), drawn["prior"].to_dataset()
    if any(_is_cut_off(draws[name], fitted[name], other[name]) for name in names):
        pareto_k = np.inf
    return Under(posterior, _of_prior(tree, drawn["prior"]) if has_cells else None, float(pareto_k))


def _smoothed(log_ratio: Array) -> tuple[Array, float]:
    """Return Pareto-smoothed log weights and k̂; the ratios themselves and NaN if the greatest are all the same.

    This is so if the prior is that of the fit, or as flat: there is no tail to smooth.
    """
    import arviz_stats.base

    ratio = np.round(log_ratio - log_ratio.max(), 9)  # without the rounding of the densities, which has a tail, too
    try:
        # Its argument is a log-likelihood that is left out, the negative of what is put in.
        log_weight, pareto_k = arviz_stats.base.array_stats.psislw(-ratio)
    except ValueError as error:
        if _NO_TAIL not in str(error):
            raise
        return ratio, np.nan
    return np.asarray(log_weight), float(pareto_k)


def _is_cut_off(posterior: xr.DataArray, fitted: xr.DataArray, other: xr.DataArray) -> bool:
    """Return whether a fit's draws lie at an end of its prior that the other prior goes beyond.

    The weights of existing draws say nothing about values that the fit could not draw, so k̂ does not either.
    """
    low, high = float(fitted.min()), float(fitted.max())
    near = _NEAR * (high - low)
    at_low, at_high = float(posterior.min()) < low + near, float(posterior.max()) > high - near
    beyond_low, beyond_high = float((other < low - near).mean()), float((other > high + near).mean())
    return (at_low and beyond_low > _BEYOND) or (at_high and beyond_high > _BEYOND)


def _is_warning(record: logging.LogRecord) -> bool:
    """Whether a message is more than PyMC's notice of the step it is at."""
    return record.levelno >= logging.WARNING


def _total_log_density(log_prior: xr.Dataset) -> Array:
    """Return the total log density of all variables, (chain, draw)."""
    terms = [log_prior[name] for name in log_prior.data_vars]
    summed = [term.sum([dim for dim in term.dims if dim not in ("chain", "draw")]) for term in terms]
    return np.asarray(sum(term.transpose("chain", "draw").values for term in summed))


def _model_under(tree: xr.DataTree, given: Mapping[str, Any]) -> Any:
    """Return the PyMC model of a fit under other priors."""
    attrs = tree["posterior"].attrs
    name, options = attrs.get(MODEL), options_of(tree)
    if name not in models.names() or getattr(models, name).DATA != "counts":
        raise InputError("priors", "only fits of a built-in model to counts are weighted anew.", _FIT_AGAIN)
    if "log_prior" not in tree.children:
        raise InputError("result", "has no group 'log_prior': bayesperf.fit adds it.")
    counts = observed_table(tree)
    if counts is None:
        raise InputError("result", "has no counts.", _FIT_AGAIN)
    labels, position = counts["actual"].values.tolist(), int(attrs[POSITIVE])
    cm = ConfusionMatrix(counts.drop_attrs(), labels[position] if position >= 0 else None)
    # Covariates and calls have labels in the tree, and none among its options.
    tables = [tree[group].to_dataset() for group in ("constant_data", "observed_data") if group in tree]
    labelled = {each: table[each] for table in tables for each in options if each in table}
    return models.build(cm, name, given, options=options | labelled)


def _reweighted(tree: xr.DataTree, metrics: Any, given: Any, ci_prob: float) -> pd.DataFrame:
    rows = [
        under.posterior.summary(metrics, ci_prob).assign(prior=name, pareto_k=under.pareto_k)
        for name, under in fits_under(tree, given).items()
    ]
    table = pd.concat(rows, ignore_index=True)
    # Draws that were drawn again are no chains: their Monte Carlo error is none that chains would tell.
    table = table.drop(columns=[name for name in ("mcse", "mcse_interval") if name in table])
    unreliable = table["pareto_k"] > _GREATEST_K
    table["diagnosis"] = np.where(unreliable, "too few draws there: fit it under this prior", "")
    return table[["prior", *(column for column in table.columns if column != "prior")]]


def _power_scaled(tree: xr.DataTree, metrics: Any) -> pd.DataFrame:
    import arviz_stats

    for group in ("log_likelihood", "log_prior"):
        if group not in tree.children:
            raise InputError("result", f"has no group {group!r}: {tree.attrs.get(LEFT_OUT, 'bayesperf.fit adds it')}.")
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
        if _NO_TAIL not in str(error):
            raise
        prior = tree["posterior"].attrs.get(PRIOR, "")
        raise InputError(
            "",
            f"the prior of this fit is flat ({prior}): to any power it is what it was.",
            "Compare the preset priors instead: bp.prior.sensitivity(cm).",
        ) from None
    return summary
