"""Slices of a test set by several dims at once, as site × device × age, whose rates add up on the logit scale.

Setting. Counts over several leading dims form a table of slices, many of which have few examples or none. A slice
shares features with others: its site with the other slices of that site, its device with the other slices of that
device. Its rates are therefore also learned from the slices that resemble it.

Model. For each rate (recall and specificity, or accuracy) and each slice s, whose level of dim d is s_d,

    successes_s ~ Binomial(trials_s, p_s)
    logit(p_s)  = μ + Σ_d a_d[s_d] + Σ_i b_i[s]         dims d, and those interactions i that are asked for
    a_d         = σ_d W_d z_d,    z_d ~ Normal(0, 1)     deviations of the levels of a dim from their mean
    b_i         = σ_i (W_d ⊗ W_e) z_i                    deviations from the sum of the dims d and e
    μ           ~ Logistic(0, 1)                         uniform on the rate
    σ_d         ~ HalfNormal(1),  σ_i ~ HalfNormal(0.5)

The columns of W_d, one fewer than the dim has levels, sum to 0, so that μ is the mean of the logits of all slices and
the dims do not compete with it. Levels without an order have orthonormal W_d: a_d is then distributed as independent
Normal(0, σ_d²) levels about their mean. Ordered levels (ages, months) are a random walk about its mean, scaled so that
the variance of a level is the same on average. The order may be reversed; for two levels it makes no difference.

The prior of σ_d is the same as for clusters in `groups_logit`, with which this model agrees for a single dim: there μ
is the mean of a population of levels, here of the levels in the table. Interactions are a priori half as large as dims.

The sampled parameters u are deviations in units that suit few examples and many,

    a = σ u/√(1 + I σ²),    u ~ Normal(0, 1 + I σ²)

where I is the information of the trials on a, as of rates of 0.8 (`information`). σ/√(1 + I σ²) is how well a is known
given σ, so that u is about equally well known whatever σ: z where the data say little ("non-centred"), √I a where they
say much ("centred"). I depends on the numbers of trials only.

The prevalence of each slice is its own, Beta(1 + positives, 1 + negatives): how common a class is says nothing about
how well it is recognised, and the precision of a slice must not borrow the prevalence of the others.

Source: Gelman and Hill (2007), Data Analysis Using Regression and Multilevel/Hierarchical Models, chapters 13 and 14;
for the scale of random walks Sørbye and Rue (2014), Spatial Statistics 8; between centred and non-centred parameters
Papaspiliopoulos, Roberts and Sköld (2007), Statistical Science 22.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from scipy.linalg import helmert
from scipy.stats import binom

from bayesperf.models.building import (
    OUTCOMES,
    LogitBinomial,
    cells_of_rates,
    coords,
    outcomes_of_rates,
    positive,
    prior_variables,
)

DATA = "counts"
OPTIONS = {
    "dims": "dims of slices",
    "interactions": "interactions of dims",
    "ordered": "ordered dims",
    "outcome": ("rates", "accuracy"),
}
DIMS = ("rate", "effect", "contrast")
ESTIMAND = "slices"
# The scales of the half-normal priors of σ, of dims and of interactions.
OF_DIM, OF_INTERACTION = 1.0, 0.5
PRIORS = {"location": pm.Logistic.dist(0, 1), "spread": pm.HalfNormal.dist(OF_DIM)}
# The Beta prior of the prevalence of a slice.
PREVALENCE = (1.0, 1.0)
# The observed variable of each rate.
OBSERVED = OUTCOMES | {"accuracy": "correct"}
# Counts inform most effects: trajectories are a third shorter than at 0.95. At 0.85, where dims make no difference, a
# transition may diverge.
TARGET_ACCEPT = 0.9


def build(
    data: xr.DataArray,
    priors: Mapping[str, Any] | None = None,
    *,
    dims: Sequence[str] | None = None,
    interactions: Sequence[Sequence[str]] = (),
    ordered: Sequence[str] = (),
    outcome: str = "rates",
) -> pm.Model:
    """Return the model of counts (…, *dims, actual, predicted).

    Parameters
    ----------
    data : xarray.DataArray
        Counts; for recall and specificity of two classes, of which the attribute ``pos_label`` is the positive one.
        Systems along other dims are independent.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name. The dims of ``spread`` are (effect, rate).
    dims : sequence of str, optional
        The dims of the slices; by default all leading dims.
    interactions : sequence of sequences of str
        Dims, two or more, whose combinations deviate from the sum of their effects.
    ordered : sequence of str
        Dims whose levels are in order, as bands of age or months.
    outcome : {"rates", "accuracy"}
        Whether recall and specificity of two classes are modelled, or the accuracy of any number of classes.
    """
    dims = [str(d) for d in data.dims if d not in ("actual", "predicted")] if dims is None else dims
    counts = data.transpose(..., *dims, "actual", "predicted")
    leading = [str(d) for d in counts.dims[:-2]]
    systems = leading[: len(leading) - len(dims)]
    successes, trials = of_outcome(counts, outcome)
    terms = [*((dim,) for dim in dims), *interactions]
    design = {":".join(term): contrasts(counts, dims, term, ordered) for term in terms}
    columns = np.concatenate(list(design.values()), axis=1)
    # The effect that each column of the design belongs to.
    effect = np.repeat(np.arange(len(terms)), [columns.shape[1] for columns in design.values()])
    labels = coords(counts) | {"rate": list(successes), "effect": list(design)}
    labels["contrast"] = [f"{name} {i}" for name, columns in design.items() for i in range(columns.shape[1])]
    scales = np.array([OF_DIM if len(term) == 1 else OF_INTERACTION for term in terms])
    default = {"spread": pm.HalfNormal.dist(np.repeat(scales[:, None], len(successes), axis=1))}
    # A prior of one's own for all effects is held to the support of that of one.
    variable = prior_variables(PRIORS if "spread" in (priors or {}) else PRIORS | default, priors)
    with pm.Model(coords=labels) as model:
        location = variable("location", [*systems, "rate"])
        spread = variable("spread", [*systems, "effect", "rate"])
        scale = spread[..., effect, :]
        of_trials = information(columns, trials, len(dims))
        known = pm.Data("information", of_trials, dims=[*systems, "contrast", "rate"])
        width = pm.math.sqrt(1 + known * scale**2)
        deviation = pm.Normal("deviation", 0, width, dims=[*systems, "contrast", "rate"])
        effects, logits = scale / width * deviation, location[(..., *(None for _ in dims), slice(None))]
        for place, term in enumerate(terms):
            own = [dim for dim in dims if dim in term]
            of_levels = pm.math.matmul(contrasts(counts, own, term, ordered), effects[..., effect == place, :])
            # It is the same for all levels of the other dims.
            shape = [counts.sizes[dim] if dim in own else 1 for dim in dims]
            logits = logits + of_levels.reshape((*counts.shape[: len(systems)], *shape, len(successes)))
        for i, rate in enumerate(successes):
            n = pm.Data(f"{OBSERVED[rate]}_trials", trials[rate].values, dims=leading)
            observed = pm.Data(f"{OBSERVED[rate]}_data", successes[rate].values, dims=leading)
            LogitBinomial(OBSERVED[rate], n=n, logit=logits[..., i], observed=observed, dims=leading)
        pm.Deterministic("rates", pm.math.sigmoid(logits), dims=[*leading, "rate"])
    return model


def of_outcome(counts: xr.DataArray, outcome: str) -> tuple[dict[str, xr.DataArray], dict[str, xr.DataArray]]:
    """Return the successes and the trials of each rate that is modelled."""
    if outcome == "accuracy":
        right = xr.DataArray(np.eye(counts.sizes["actual"], dtype=int), dims=("actual", "predicted"))
        table = ("actual", "predicted")
        return {"accuracy": (counts * right).sum(table)}, {"accuracy": counts.sum(table)}
    if counts.sizes["actual"] != 2:
        raise ValueError(
            f"data: recall and specificity are of two classes; there are {counts.sizes['actual']}. Say "
            "options={'outcome': 'accuracy'}."
        )
    successes, trials = ({rate: part[rate] for rate in ("recall", "specificity")} for part in outcomes_of_rates(counts))
    return successes, trials


def contrasts(counts: xr.DataArray, dims: Sequence[str], term: Sequence[str], ordered: Sequence[str]) -> np.ndarray:
    """Return the rows of W for a dim, or their products for an interaction, for all levels of dims: (…, columns)."""
    factors = [
        basis(counts.sizes[dim], dim in ordered) if dim in term else np.ones((counts.sizes[dim], 1)) for dim in dims
    ]
    return reduce(np.kron, factors)


def information(columns: np.ndarray, trials: Mapping[str, xr.DataArray], slices: int) -> np.ndarray:
    """Return the information of the trials on each column of the design, (…, columns, rate), as of rates of 0.8."""
    n = np.stack([of_rate.values for of_rate in trials.values()], -1)
    n = n.reshape(*n.shape[: n.ndim - 1 - slices], len(columns), -1)
    return np.asarray(0.16 * np.einsum("sc,...sr->...cr", columns**2, n))


def basis(levels: int, ordered: bool) -> np.ndarray:
    """Return W, (levels, levels − 1): orthonormal contrasts, or the sums of the steps of a random walk about its mean.

    Steps are scaled so that the variance of W z, averaged over the levels, equals that of orthonormal contrasts, 1 −
    1/levels.
    """
    if not ordered:
        return np.asarray(helmert(levels).T)
    walk = np.tri(levels)[:, 1:]
    walk -= walk.mean(0)
    return np.asarray(walk * np.sqrt((levels - 1) / (walk**2).sum()))


def recover(
    posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, *, outcome: str = "rates", **_: Any
) -> dict[str, xr.DataArray]:
    """Draw the prevalence of each slice, and return ``cells`` of it and the rates; or else the ``accuracy``."""
    if outcome == "accuracy":
        return {"accuracy": posterior["rates"].sel(rate="accuracy", drop=True)}
    rates = {rate: posterior["rates"].sel(rate=rate, drop=True) for rate in posterior["rate"].values.tolist()}
    slices = rates["recall"].dims
    successes, trials = (part["prevalence"].transpose(*slices[2:]).values for part in outcomes_of_rates(data))
    drawn = rng.beta(PREVALENCE[0] + successes, PREVALENCE[1] + trials - successes, rates["recall"].shape)
    table = cells_of_rates(
        {"prevalence": drawn, **{rate: values.values for rate, values in rates.items()}}, positive(data)
    )
    return {"cells": xr.DataArray(table, dims=(*slices, "actual", "predicted"))}


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray, *, outcome: str = "rates", **_: Any) -> xr.DataArray:
    """Return the log-likelihood of each slice's predictions given its class totals, for leave-one-slice-out."""
    successes, trials = of_outcome(data, outcome)
    of_rates = [
        xr.apply_ufunc(binom.logpmf, successes[rate], trials[rate], posterior["rates"].sel(rate=rate, drop=True))
        for rate in successes
    ]
    total: xr.DataArray = sum(of_rates[1:], of_rates[0])
    return total.transpose("chain", "draw", ...)
