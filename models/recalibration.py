"""Recalibration of probabilities: how often it happens where a system gives it some probability, a line in log-odds.

Setting. A system gives each example a probability q of being positive. The probabilities may be too high, too low, too
extreme or too timid, and not equally so at every site.

Model. An example with probability q is positive with probability p,

    logit(p) = α + β logit(q)
    α ~ Normal(0, 2.5)          `intercept`: 0 is calibrated; greater if the probabilities are too low
    β ~ Normal(1, 2.5)          `slope`: 1 is calibrated; less if they are too extreme, negative if they rank backwards

If there are groups (sites, years), group g has its own line, which varies about the population's line:

    α_g ~ Normal(α, τ_α),       τ_α ~ HalfNormal(1)      `intercept_spread`
    β_g ~ Normal(β, τ_β),       τ_β ~ HalfNormal(0.5)    `slope_spread`

so that the line of a group with few examples is close to the population's line. `intercept_group` and `slope_group` are
α_g and β_g; `intercept_new` and `slope_new` belong to a group that has not been seen.

The priors are proper, so the posterior exists even if the probabilities separate the classes. Probabilities of 0 and 1
have no log-odds and are refused: clip them; the line depends on where.

The sampled `deviation` of a group is between (α_g − α)/τ_α ("non-centred"), which suits few examples, and α_g itself
("centred"), which suits many: u ~ Normal(wα, τ_α^w), α_g = α + τ_α^(1 − w) (u − wα), where w depends on the
probabilities only (`centring`); likewise for β_g.

Without groups, and with normal priors, the posterior is computed on a grid (`EXACT`).

Source: Cox (1958), Biometrika 45, for the line; Papaspiliopoulos, Roberts and Sköld (2007), Statistical Science 22, for
partial centring.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import expit

from bayesperf.models.building import MOST_VALUES, LogitBinomial, prior_variables

DATA = "probabilities"
DIMS = ("parameter",)
EXACT = "distributions.logistic_line:exact_draws"
TARGET_ACCEPT = 0.98
# The scales of the half-normal priors of τ, of intercepts and of slopes.
SCALES = np.array([1.0, 0.5])
PRIORS = {
    "intercept": pm.Normal.dist(0, 2.5),
    "slope": pm.Normal.dist(1, 2.5),
    "intercept_spread": pm.HalfNormal.dist(SCALES[0]),
    "slope_spread": pm.HalfNormal.dist(SCALES[1]),
}
# The variance v of `centring`: at 0.1 some transitions diverge where groups are small, at 0 sampling takes longer.
CENTRED = 0.03


def build(data: xr.DataArray, priors: Mapping[str, Any] | None = None) -> pm.Model:
    """Return the model of probabilities and what happened, with a line for each group if there are groups.

    Parameters
    ----------
    data : xarray.DataArray
        A table (case, column), a row for the examples of a group with the same probability: its ``log_odds``, how many
        ``examples`` have it, how many of them are ``positives``, and the position of their ``group`` among the
        attribute ``groups``, the labels of the dim that the attribute ``dim`` names. Without that one there are none.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name.
    """
    cases, dim = data.to_series().unstack("column"), data.attrs.get("dim")
    spreads = ["intercept_spread", "slope_spread"]
    unused = {} if dim else dict.fromkeys(spreads, "groups, options={'by': {'site': ids}}")
    variable = prior_variables(PRIORS, priors, unused=unused)
    labels = {"case": data["case"].values, "parameter": ["intercept", "slope"]}
    with pm.Model(coords=labels | ({dim: data.attrs["groups"]} if dim else {})) as model:
        intercept, slope = variable("intercept", []), variable("slope", [])
        if dim:
            mean, spread = pm.math.stack([intercept, slope]), pm.math.stack([variable(name, []) for name in spreads])
            power = pm.Data("power", centring(data), dims=[dim, "parameter"])
            deviation = pm.Normal("deviation", power * mean, spread**power, dims=[dim, "parameter"])
            line = mean + spread ** (1 - power) * (deviation - power * mean)
            group = pm.Data("group_data", cases["group"].astype(int), dims="case")
            intercept = pm.Deterministic("intercept_group", line[:, 0], dims=dim)[group]
            slope = pm.Deterministic("slope_group", line[:, 1], dims=dim)[group]
        log_odds = pm.Data("log_odds", cases["log_odds"], dims="case")
        n = pm.Data("examples", cases["examples"].astype(int), dims="case")
        observed = pm.Data("positives_data", cases["positives"].astype(int), dims="case")
        LogitBinomial("positives", n=n, logit=intercept + slope * log_odds, observed=observed, dims="case")
    return model


def centring(data: xr.DataArray) -> np.ndarray:
    """Return the power w of τ in the scale of each sampled deviation, (group, parameter), from 0 to 1.

    It is I v/(1 + I v), where I is the information of a group's examples on its parameter in units of the prior of τ
    (as of calibrated probabilities), and v a small variance: well-known parameters are sampled as they are.
    """
    cases = data.to_series().unstack("column")
    weight = cases["examples"] * expit(cases["log_odds"]) * expit(-cases["log_odds"])
    terms = [weight, weight * cases["log_odds"] ** 2]
    information = SCALES**2 * np.stack([np.bincount(cases["group"].astype(int), term) for term in terms], -1)
    return np.asarray(information * CENTRED / (1 + information * CENTRED))


def recover(posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator) -> dict[str, xr.DataArray]:
    """Draw the line of a new group, if there are groups."""
    if "dim" not in data.attrs:
        return {}
    return {
        f"{name}_new": posterior[name] + posterior[f"{name}_spread"] * rng.standard_normal(posterior[name].shape)
        for name in ("intercept", "slope")
    }


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray) -> xr.DataArray | None:
    """Return the log-likelihood of each example, given the line of its group; None if there are too many."""
    cases = data.to_series().unstack("column")
    if cases["examples"].sum() * posterior["intercept"].size > MOST_VALUES:
        return None
    intercept, slope = posterior["intercept"], posterior["slope"]
    if "dim" in data.attrs:
        group = xr.DataArray(cases["group"].astype(int).to_numpy(), dims="case")
        intercept, slope = (
            posterior[f"{name}_group"].isel({data.attrs["dim"]: group}) for name in ("intercept", "slope")
        )
    log_odds = xr.DataArray(cases["log_odds"].to_numpy(), dims="case")
    logit = (intercept + slope * log_odds).transpose("chain", "draw", "case")
    positives = cases["positives"].astype(int)
    negatives = cases["examples"].astype(int) - positives
    of_case = np.concatenate([-np.logaddexp(0, -logit.values), -np.logaddexp(0, logit.values)], -1)
    return xr.DataArray(np.repeat(of_case, [*positives, *negatives], -1), dims=("chain", "draw", "example"))
