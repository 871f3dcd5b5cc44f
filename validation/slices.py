"""How well the figures of slices do: each slice, the worst, and gaps, by the model of slices and by simpler ways.

Each simulation draws the effects of sites, devices and their combinations on the logit of recall (`site_sd`,
`device_sd`, `interaction_sd`), the number of positive examples of each slice (geometric), and their predictions. The
recall of the first site may be `worse` than its effects say: one level that differs, where the effects of no model are
normal.

There are these ways: "alone", each slice by itself (Jeffreys); "pooled", one rate for all; "by_site", that of the
site, sites as groups (`bayesperf.slices` of counts); "one_dim", all slices as groups of one dim, by that and by the
model "groups_logit"; "slices", the model of that name; "slices_interaction", with an interaction of site and device.
Targets are "slice", the mean over slices of fewer positive examples than `small`; "worst_slice", the one that is most
probably the worst; "gap", of the first two sites at the observed mix of devices; "largest_gap", between sites.
Intervals are equal-tailed, of 2,000 draws or of two chains of 500. A simulation takes a second for "groups_logit" and
each model.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayesperf.core.arrays import Array
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.groups.sliced_metrics import Slices
from bayesperf.groups.slices_in_words import POINTED, SHOWN, odds_ratio
from bayesperf.groups.slicing import slices
from bayesperf.sampling.fitting import fit
from validation.study import FOLDER, Study, interval_figures, means, run, table

TARGETS = ("slice", "worst_slice", "gap", "largest_gap")
_DIMS = ("site", "device")
# The recall of a site that is worse than its effects say is at least this.
_LEAST_RECALL = 0.01
# The gap that the sentences ask for.
_GAP = 0.05
# Draws of the ways that need no sampler, and of each of the two chains of the model.
_DRAWS, _CHAIN = 2000, 500
_SAMPLER: Any = {"draws": _CHAIN, "tune": _CHAIN, "chains": 2, "progressbar": False, "metrics": []}


def simulate(
    rng: np.random.Generator, *, analyses: Sequence[str], small: int, prob: float, **design: Any
) -> dict[str, Array]:
    """Return how every analysis of one data set does, (analysis, target), and of its worst slice, (analysis,)."""
    cm, true = data_set(rng, **design)
    few = cm.counts.sum(["actual", "predicted"]).values < small
    seeds = dict(zip(ANALYSES, rng.integers(2**31, size=len(ANALYSES)).tolist(), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        each = [_outcomes(ANALYSES[name](cm, seeds[name]), true, few, prob) for name in analyses]
    return {name: np.stack([of_one[name] for of_one in each]) for name in each[0]}


def data_set(
    rng: np.random.Generator,
    *,
    site_sd: float,
    device_sd: float,
    interaction_sd: float,
    worse: float,
    sites: int,
    devices: int,
    examples: float,
    imbalance: float,
    recall: float,
) -> tuple[ConfusionMatrix, Array]:
    """Return the counts of a data set, all of positive examples, and the true recall (site, device)."""
    shape = sites, devices
    effects = [
        site_sd * rng.standard_normal((sites, 1)),
        device_sd * rng.standard_normal((1, devices)),
        interaction_sd * rng.standard_normal(shape),
    ]
    true = special.expit(special.logit(recall) + sum(effects))
    true[0] = np.maximum(true[0] - worse, _LEAST_RECALL)
    sizes = sum(imbalance * rng.standard_normal(of_dim) for of_dim in ((sites, 1), (1, devices)))
    n = rng.poisson(rng.gamma(1, examples * np.exp(sizes - imbalance**2)))
    n[0, 0] += 1  # Something was observed.
    tp = rng.binomial(n, true)
    dims = {dim: list(range(size)) for dim, size in zip(_DIMS, shape, strict=True)}
    return ConfusionMatrix.from_counts(tp=tp, fn=n - tp, fp=0, tn=0, dims=dims), true


def reduce(results: Mapping[str, Array], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the means, and the ratios of the errors of each two analyses of the same data."""
    other = {"analysis_other": ("analysis_other", list(settings["analyses"]))}
    return means(results, settings) | _ratios(results["error"]) | other


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


def _outcomes(found: Slices, true: Array, small: Array, prob: float) -> dict[str, Array]:
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
    found_of = {
        target: interval_figures(low, high, truth) | {"error": abs(mean - truth)}
        for target, (low, high, mean, truth) in estimates.items()
    }
    # Of small slices there may be none.
    by_target = {
        name: np.array([np.mean(of[name]) if np.size(of[name]) else np.nan for of in found_of.values()])
        for name in next(iter(found_of.values()))
    }
    return by_target | {
        "prob_worst": np.array(worst[chosen]),
        "is_worst": np.array(float(true[chosen] == true[seen].min())),
        "prob_gap": np.array(now),
        "prior_gap": np.array(then),
        "gap_shown": np.array(float(odds_ratio(now, then, draws) >= SHOWN)),
        "worst_named": np.array(float(odds_ratio(worst[chosen], 1 / seen.sum(), draws) >= POINTED)),
    }


def _of_draws(cm: ConfusionMatrix, recall: Array, before: Array) -> Slices:
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
    return Slices(cm, rates, prior_rates, xr.Dataset(), "", independent_draws=True)


def _recall_of(cm: ConfusionMatrix) -> tuple[Array, Array]:
    """Return the successes and the failures of each slice, (site, device, 1)."""
    positives = cm.counts.sel(actual=cm.pos_label)
    return positives.sel(predicted=1).values[..., None], positives.sel(predicted=0).values[..., None]


def _alone(cm: ConfusionMatrix, seed: int) -> Slices:
    tp, fn = _recall_of(cm)
    rng = np.random.default_rng(seed)
    size = (*tp.shape[:2], _DRAWS)
    return _of_draws(cm, rng.beta(0.5 + tp, 0.5 + fn, size), rng.beta(0.5, 0.5, size))


def _pooled(cm: ConfusionMatrix, seed: int) -> Slices:
    tp, fn = _recall_of(cm)
    drawn = np.random.default_rng(seed).beta(0.5 + tp.sum(), 0.5 + fn.sum(), _DRAWS)
    recall = np.broadcast_to(drawn, (*tp.shape[:2], _DRAWS))
    return _of_draws(cm, recall, recall)


def _by_site(cm: ConfusionMatrix, seed: int) -> Slices:
    """Take every slice for its site."""
    found = slices(cm.sum("device"), draws=_DRAWS, random_seed=seed)
    drawn = (_recall_in(rates, "site") for rates in (found.rates, found.prior_rates))
    return _of_draws(cm, *(np.broadcast_to(each[:, None], (*cm.counts.shape[:2], _DRAWS)) for each in drawn))


def _one_dim(cm: ConfusionMatrix, seed: int) -> Slices:
    """Take the slices for groups of one dim."""
    found = slices(_flat(cm), draws=_DRAWS, random_seed=seed)
    drawn = (_recall_in(rates, "slice") for rates in (found.rates, found.prior_rates))
    return _of_draws(cm, *(each.reshape(*cm.counts.shape[:2], -1) for each in drawn))


def _groups_logit(cm: ConfusionMatrix, seed: int) -> Slices:
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


def _modelled(options: Mapping[str, Any], cm: ConfusionMatrix, seed: int) -> Slices:
    """Fit the model to recall alone, which is the accuracy where all examples are positive."""
    settings = {"outcome": "accuracy"} | dict(options)
    tree = fit(cm, "slices", options=settings, random_seed=seed, **_SAMPLER)
    drawn = (tree[name]["rates"].sel(rate="accuracy").transpose(*_DIMS, ...) for name in ("posterior", "prior"))
    return _of_draws(cm, *(each.values.reshape(*cm.counts.shape[:2], -1) for each in drawn))


ANALYSES: dict[str, Callable[[ConfusionMatrix, int], Slices]] = {
    "alone": _alone,
    "pooled": _pooled,
    "by_site": _by_site,
    "one_dim": _one_dim,
    "groups_logit": _groups_logit,
    "slices": partial(_modelled, {}),
    "slices_interaction": partial(_modelled, {"interactions": (_DIMS,)}),
}

STUDY = Study(
    grid={},
    simulate=simulate,
    reduce=reduce,
    rows={"analysis": "analyses", "target": list(TARGETS)},
    settings={
        "analyses": tuple(ANALYSES),
        "site_sd": 0.6,
        "device_sd": 0.6,
        "interaction_sd": 0.0,
        "worse": 0.0,
        "sites": 8,
        "devices": 4,
        "examples": 12.0,
        "imbalance": 0.0,
        "recall": 0.8,
        "small": 25,
        "prob": 0.95,
    },
)

# ── How well slices are estimated ──

BOTH = {"site_sd": 0.6, "device_sd": 0.6}
VARYING: dict[str, dict[str, Any]] = {
    "nothing": {"site_sd": 0.0, "device_sd": 0.0},
    "site": {"site_sd": 0.6, "device_sd": 0.0},
    "site, device": BOTH,
    "site, device, both together": BOTH | {"interaction_sd": 0.4},
    "site, device; sizes differ": BOTH | {"imbalance": 1.0},
}
SIMPLER = ("alone", "pooled", "by_site", "one_dim")
# `groups_logit` takes longest, and is compared with its twin "one_dim" in fewer simulations.
TWINS = ("one_dim", "groups_logit")


def slices_table(jobs: int = 1) -> pd.DataFrame:
    """Return a row for each setting, analysis and target."""
    tables = []
    for varying, changes in VARYING.items():
        more = ("slices_interaction",) if "interaction_sd" in changes else ()
        for analyses, simulations in (((*SIMPLER, "slices", *more), 150), (TWINS, 20)):
            folder = FOLDER / "slices" / f"{varying}, {len(analyses)}"
            study = run(STUDY, simulations, n_jobs=jobs, folder=folder, analyses=analyses, **changes)
            beside = "slices" if "slices" in analyses else analyses[-1]
            of_one = study.sel(analysis_other=beside, drop=True)
            figures = of_one[[name for name in of_one if "target" in of_one[name].dims]]
            rows = figures.to_dataframe().reset_index()
            tables.append(rows.assign(simulations=simulations, beside=beside).round(4))
            tables[-1].insert(0, "varying", varying)
    return pd.concat(tables, ignore_index=True)


# ── How often sentences claim a gap or name a worst one ──

CLAIMS = ("prior_gap", "prob_gap", "gap_shown", "gap_shown_mcse", "prob_worst", "worst_named", "worst_named_mcse",
          "is_worst")  # fmt: skip
SAME = {"site_sd": 0.0, "device_sd": 0.0}
SITES = SAME | {"devices": 1, "analyses": ("by_site",)}
MODEL = SAME | {"analyses": ("slices",)}
# By what varies: sites alone, of so many positive examples on average, or sites × devices by the model of slices.
LEVELS: dict[tuple[str, str], dict[str, Any]] = {
    ("nothing", "8 sites of 48"): SITES | {"examples": 48},
    ("nothing", "8 sites of 400"): SITES | {"examples": 400},
    ("nothing", "30 sites of 20"): SITES | {"examples": 20, "sites": 30},
    ("nothing", "2 sites of 48"): SITES | {"examples": 48, "sites": 2},
    ("one site, by 0.2", "8 sites of 48"): SITES | {"examples": 48, "worse": 0.2},
    ("one site, by 0.2", "8 sites of 400"): SITES | {"examples": 400, "worse": 0.2},
    ("one site, by 0.2", "30 sites of 20"): SITES | {"examples": 20, "sites": 30, "worse": 0.2},
    ("one site, by 0.2", "2 sites of 48"): SITES | {"examples": 48, "sites": 2, "worse": 0.2},
    ("all sites, normal", "8 sites of 48"): SITES | {"examples": 48, "site_sd": 0.6},
    ("nothing", "8 sites × 4 devices of 12"): MODEL,
    ("one site, by 0.2", "8 sites × 4 devices of 12"): MODEL | {"worse": 0.2},
}
# Fits take long.
CASES = [
    ({"varying": varying, "levels": levels}, 30 if changes["analyses"] == ("slices",) else 200, changes)
    for (varying, levels), changes in LEVELS.items()
]
TABLES = {
    "slices": slices_table,
    "slice_claims": lambda jobs: table(STUDY, CASES, jobs, name="slice_claims", columns=CLAIMS).drop(
        columns="analysis"
    ),
}
