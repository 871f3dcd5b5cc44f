"""How well the figures of slices do: each slice, the worst, and gaps, by the model of slices and by simpler ways."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.pooling import slices as pooling
from bayesperf.sampling.fit import fit
from bayesperf.studies.interval_statistics import interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

TARGETS = ("slice", "worst_slice", "gap", "largest_gap")
_DIMS = ("site", "device")
# The recall of a site that is worse than its effects say is at least this.
_LEAST_RECALL = 0.01
# The gap that the sentences ask for.
_GAP = 0.05
# Draws of the ways that need no sampler, and of each of the two chains of the model.
_DRAWS, _CHAIN = 2000, 500
_SAMPLER: Any = {"draws": _CHAIN, "tune": _CHAIN, "chains": 2, "progressbar": False, "metrics": []}


def slices(
    site_sd: float = 0.6,
    device_sd: float = 0.6,
    interaction_sd: float = 0.0,
    worse: float = 0.0,
    analyses: Sequence[str] = ("alone", "pooled", "by_site", "one_dim", "groups_logit", "slices", "slices_interaction"),
    simulations: int = 100,
    *,
    sites: int = 8,
    devices: int = 4,
    examples: float = 12.0,
    imbalance: float = 0.0,
    recall: float = 0.8,
    small: int = 25,
    prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and error of the recall of slices, of the worst slice, and of gaps between sites.

    Each simulation draws the effects of sites, devices and their combinations on the logit of recall, the number of
    positive examples of each slice (geometric), and their predictions.

    Parameters
    ----------
    site_sd, device_sd, interaction_sd : float
        Standard deviations of the true effects on the logit scale; 0 for none.
    worse : float
        How much lower the recall of the first site is than its effects say: one level that differs, where the effects
        of no model are normal.
    analyses : sequence of str
        "alone": each slice by itself (Jeffreys); "pooled": one rate for all; "by_site": that of the site, sites as
        groups (`bayesperf.slices` of counts); "one_dim": all slices as groups of one dim, by that and by the model
        "groups_logit"; "slices": the model of that name; "slices_interaction": with an interaction of site and device.
    simulations : int
        Number of data sets.
    sites, devices : int
        Numbers of levels; with one device the slices are the sites.
    examples : float
        Mean number of positive examples of a slice.
    imbalance : float
        Standard deviation of the logarithms of the sizes of sites, and of devices; of 1, some have fifty times the
        examples of others.
    recall : float
        That of the mean logit.
    small : int
        Slices of fewer positive examples count for the target "slice".
    prob : float
        Probability of the intervals.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``coverage``, where intervals miss (``lower_miss``, ``upper_miss``), mean ``width`` and mean absolute ``error``
        of the posterior mean over (analysis, target): "slice", the mean over small slices; "worst_slice", the one that
        is most probably the worst; "gap", of the first two sites at the observed mix of devices; "largest_gap", between
        sites. ``prob_worst`` is the probability that the chosen slice is the worst, and ``is_worst`` how often it is,
        over (analysis). ``gap_shown`` and ``worst_named`` say how often `bayesperf.Slices.in_words` says that recall
        differs by more than 0.05 between sites, and names a worst slice; ``prob_gap`` is the mean probability of such
        a gap, and ``prior_gap`` that before the data. ``error_ratio`` (analysis, analysis_other, target) is the error
        of one analysis over that of another of the same data. Each has its Monte Carlo standard error. The settings
        are in ``attrs``.

    Notes
    -----
    Intervals are equal-tailed, of 2,000 draws or of two chains of 500. A simulation takes a second for "groups_logit"
    and each model of slices.

    Examples
    --------
    >>> from validation.slices import slices
    >>> study = slices(analyses=["alone", "one_dim"], simulations=20)
    >>> (study["error"].sel(target="slice").diff("analysis") < 0).item()
    True
    """
    asked = [checks.one_of("analyses", name, tuple(ANALYSES)) for name in analyses]
    names = [name for name in ANALYSES if name in asked]
    if not names:
        raise InputError("analyses", f"must name one of {', '.join(map(repr, ANALYSES))}; it is empty.")
    sds = {"site_sd": site_sd, "device_sd": device_sd, "interaction_sd": interaction_sd, "worse": worse,
           "imbalance": imbalance}  # fmt: skip
    if bad := [name for name, sd in sds.items() if not 0 <= checks.number(name, sd) < np.inf]:
        raise InputError(f"{bad[0]}", f"must be finite and at least 0; it is {sds[bad[0]]!r}.")
    if worse >= checks.probability("recall", recall):
        raise InputError("worse", f"must be below recall, {recall}; it is {worse!r}.")
    if not 0 < checks.number("examples", examples) < np.inf:
        raise InputError("examples", f"must be above 0 and finite; it is {examples!r}.")
    settings = {name: float(sd) for name, sd in sds.items()} | {
        "analyses": names, "simulations": checks.count("simulations", simulations, least=2),
        "sites": checks.count("sites", sites, least=2), "devices": checks.count("devices", devices),
        "examples": float(examples), "recall": recall,
        "small": checks.count("small", small), "prob": checks.probability("prob", prob),
        "random_seed": checks.seed(random_seed)}  # fmt: skip
    simulate = partial(_simulate, settings)
    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    coords = {"analysis": names, "target": list(TARGETS)}
    variables = {
        name: (tuple(coords)[: mean.ndim], mean)
        for of_one, values in results.items()
        for name, mean in monte_carlo_means({of_one: values}, np.isfinite(values)).items()
    }
    variables |= _ratios(results["error"])
    return xr.Dataset(variables, coords | {"analysis_other": names}, {**settings, "ci_kind": "eti"})


def _ratios(error: Array) -> dict[str, Any]:
    """Return the ratios of the mean errors (simulation, analysis, target) of all pairs of analyses, by name.

    Their standard errors are those of paired ratios, by the delta method.
    """
    defined = np.isfinite(error).all(1, keepdims=True)
    n, mean = defined.sum(0), np.where(defined, error, 0).sum(0) / defined.sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean[:, None] / mean
        rest = np.where(defined[:, None], (error[:, :, None] - ratio * error[:, None]) ** 2, 0).sum(0) / n
        mcse = np.sqrt(rest / n) / mean
    dims = ("analysis", "analysis_other", "target")
    return {"error_ratio": (dims, ratio), "error_ratio_mcse": (dims, mcse)}


def _simulate(settings: Mapping[str, Any], _: int, rng: np.random.Generator) -> dict[str, Array]:
    """Return how every analysis of one data set does, (analysis, target), and of its worst slice, (analysis, 1)."""
    shape = settings["sites"], settings["devices"]
    effects = [
        settings["site_sd"] * rng.standard_normal((shape[0], 1)),
        settings["device_sd"] * rng.standard_normal((1, shape[1])),
        settings["interaction_sd"] * rng.standard_normal(shape),
    ]
    true = special.expit(special.logit(settings["recall"]) + sum(effects))
    true[0] = np.maximum(true[0] - settings["worse"], _LEAST_RECALL)
    sizes = sum(settings["imbalance"] * rng.standard_normal(of_dim) for of_dim in ((shape[0], 1), (1, shape[1])))
    n = rng.poisson(rng.gamma(1, settings["examples"] * np.exp(sizes - settings["imbalance"] ** 2)))
    n[0, 0] += 1  # Something was observed.
    tp = rng.binomial(n, true)
    dims = {dim: list(range(size)) for dim, size in zip(_DIMS, shape, strict=True)}
    cm = ConfusionMatrix.from_counts(tp=tp, fn=n - tp, fp=0, tn=0, dims=dims)
    seeds = rng.integers(2**31, size=len(ANALYSES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        each = [
            _outcomes(ANALYSES[name](cm, int(seed)), true, n < settings["small"], settings["prob"])
            for name, seed in zip(ANALYSES, seeds, strict=True)
            if name in settings["analyses"]
        ]
    return {name: np.stack([of_one[name] for of_one in each]) for name in each[0]}


def _outcomes(found: pooling.Slices, true: Array, small: Array, prob: float) -> dict[str, Array]:
    """Return the outcomes of each target."""
    marginal, worst = found["recall"], found.prob_worst("recall").values
    seen = ~np.isnan(marginal.observed.values)
    chosen = np.unravel_index(worst.argmax(), worst.shape)
    weights = found.trials.sel(rate="recall").sum("site").values / found.trials.sel(rate="recall").sum().item()
    levels, gaps = true @ weights, found.gap("site", "recall", ci_prob=prob, ci_kind="eti").iloc[0]
    largest, before = (found.largest_gap("site", "recall", before_data=prior) for prior in (False, True))
    now, then = (each.prob_above(_GAP).item() for each in (largest, before))
    draws = found.rates[0, 0, ..., 0].size
    means, intervals = marginal.mean().values, marginal.eti(prob).values
    estimates = {
        "slice": (*intervals[small].T, means[small], true[small]),
        "worst_slice": (*intervals[chosen], means[chosen], true[chosen]),
        "gap": (gaps["ci_lower"], gaps["ci_upper"], gaps["mean"], levels[0] - levels[1]),
        "largest_gap": (*largest.eti(prob).values, largest.mean().item(), np.ptp(levels)),
    }
    outcomes = {
        target: interval_outcomes(low, high, truth) | {"error": abs(mean - truth)}
        for target, (low, high, mean, truth) in estimates.items()
    }
    # Of small slices there may be none.
    by_target = {
        name: np.array([np.mean(of[name]) if np.size(of[name]) else np.nan for of in outcomes.values()])
        for name in next(iter(outcomes.values()))
    }
    return by_target | {
        "prob_worst": np.array(worst[chosen]),
        "is_worst": np.array(float(true[chosen] == true[seen].min())),
        "prob_gap": np.array(now),
        "prior_gap": np.array(then),
        "gap_shown": np.array(float(pooling.odds_ratio(now, then, draws) >= pooling.SHOWN)),
        "worst_named": np.array(float(pooling.odds_ratio(worst[chosen], 1 / seen.sum(), draws) >= pooling.POINTED)),
    }


def _of_draws(cm: ConfusionMatrix, recall: Array, before: Array) -> pooling.Slices:
    """Return slices of draws of recall and of its prior, (site, device, draw); nothing is asked of the other rates."""
    coords = {dim: cm.counts[dim].values for dim in _DIMS} | {"rate": ["prevalence", "recall", "specificity"]}
    rates, prior_rates = (
        xr.DataArray(
            np.stack([np.full_like(drawn, 0.5), drawn, np.full_like(drawn, 0.5)], -1)[:, :, None],
            coords,
            (*_DIMS, "chain", "draw", "rate"),
        )
        for drawn in (recall, before)
    )
    return pooling.Slices(cm, rates, prior_rates, xr.Dataset(), "", independent=True)


def _recall_of(cm: ConfusionMatrix) -> tuple[Array, Array]:
    """Return the successes and the failures of each slice, (site, device, 1)."""
    positives = cm.counts.sel(actual=cm.pos_label)
    return positives.sel(predicted=1).values[..., None], positives.sel(predicted=0).values[..., None]


def _alone(cm: ConfusionMatrix, seed: int) -> pooling.Slices:
    tp, fn = _recall_of(cm)
    rng = np.random.default_rng(seed)
    size = (*tp.shape[:2], _DRAWS)
    return _of_draws(cm, rng.beta(0.5 + tp, 0.5 + fn, size), rng.beta(0.5, 0.5, size))


def _pooled(cm: ConfusionMatrix, seed: int) -> pooling.Slices:
    tp, fn = _recall_of(cm)
    drawn = np.random.default_rng(seed).beta(0.5 + tp.sum(), 0.5 + fn.sum(), _DRAWS)
    recall = np.broadcast_to(drawn, (*tp.shape[:2], _DRAWS))
    return _of_draws(cm, recall, recall)


def _by_site(cm: ConfusionMatrix, seed: int) -> pooling.Slices:
    """Take every slice for its site."""
    found = pooling.slices(cm.sum("device"), draws=_DRAWS, random_seed=seed)
    drawn = (_recall_in(rates, "site") for rates in (found.rates, found.prior_rates))
    return _of_draws(cm, *(np.broadcast_to(each[:, None], (*cm.counts.shape[:2], _DRAWS)) for each in drawn))


def _one_dim(cm: ConfusionMatrix, seed: int) -> pooling.Slices:
    """Take the slices for groups of one dim."""
    found = pooling.slices(_flat(cm), draws=_DRAWS, random_seed=seed)
    drawn = (_recall_in(rates, "slice") for rates in (found.rates, found.prior_rates))
    return _of_draws(cm, *(each.reshape(*cm.counts.shape[:2], -1) for each in drawn))


def _groups_logit(cm: ConfusionMatrix, seed: int) -> pooling.Slices:
    """Take the slices for groups of one dim, by the model of logit-normal groups."""
    tree = fit(_flat(cm), "groups_logit", options={"groups": "clusters"}, random_seed=seed, **_SAMPLER)
    drawn = (_recall_in(tree[name]["rates_group"], "slice") for name in ("posterior", "prior"))
    return _of_draws(cm, *(each.reshape(*cm.counts.shape[:2], -1) for each in drawn))


def _recall_in(rates: Any, dim: str) -> Array:
    """Return draws of recall, (dim, draw)."""
    recall = rates.sel(rate="recall", drop=True).transpose(dim, "chain", "draw").values
    return np.reshape(recall, (len(recall), -1))


def _flat(cm: ConfusionMatrix) -> ConfusionMatrix:
    tp, fn = _recall_of(cm)
    return ConfusionMatrix.from_counts(tp=tp.ravel(), fn=fn.ravel(), fp=0, tn=0, dims=["slice"])


def _modelled(options: Mapping[str, Any], cm: ConfusionMatrix, seed: int) -> pooling.Slices:
    """Fit the model to recall alone, which is the accuracy where all examples are positive."""
    settings = {"outcome": "accuracy"} | dict(options)
    tree = fit(cm, "slices", options=settings, random_seed=seed, **_SAMPLER)
    drawn = (tree[name]["rates"].sel(rate="accuracy").transpose(*_DIMS, ...) for name in ("posterior", "prior"))
    return _of_draws(cm, *(each.values.reshape(*cm.counts.shape[:2], -1) for each in drawn))


ANALYSES: dict[str, Callable[[ConfusionMatrix, int], pooling.Slices]] = {
    "alone": _alone,
    "pooled": _pooled,
    "by_site": _by_site,
    "one_dim": _one_dim,
    "groups_logit": _groups_logit,
    "slices": partial(_modelled, {}),
    "slices_interaction": partial(_modelled, {"interactions": (_DIMS,)}),
}
