"""Groups of two classes whose rates vary on the logit scale: covariates, and correlated recall and specificity.

The story is that of `groups`. Here a group's prevalence, recall and specificity are logit-normal about the
population's,

    logit(rate_f) = μ + x_f·β + τ z_f,    z_f ~ Normal(0, 1)
    μ ~ Logistic(0, 1)                    uniform on the rate itself, so no groups' spread meets Beta(1, 1)
    τ ~ HalfNormal(0.5) or HalfNormal(1)  random folds or clusters

with successes binomial in each group. Deviations z are the parameters that are sampled ("non-centred"): with small
groups the rates themselves are not. Covariates x of the groups (year, scanner, language: centre them) shift the
rates.

Recall and specificity deviate independently unless ``lkj=η`` asks for their correlation, ρ ~ LKJ(η), which for two is
ρ = 2B − 1, B ~ Beta(η, η). Fewer than ten groups with hundreds of examples a class do not tell it: compare its
posterior with its prior.

`cells` are of the population of groups: the mean of each rate over it, by Gauss–Hermite quadrature, at covariates 0.

Source: Brodersen et al. (2012), JMLR 13; the form without correlation is a binomial mixed model for each rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import expit, logsumexp
from scipy.stats import binom

from ._parts import chosen, coords, positive
from .rates import OUTCOMES, cells, outcomes

SPREAD = {"random": pm.HalfNormal.dist(0.5), "clusters": pm.HalfNormal.dist(1.0)}
PRIORS = {
    "location": pm.Logistic.dist(0, 1),
    "spread": SPREAD["random"],
    "coefficient": pm.Normal.dist(0, 1),
}
RATES = list(OUTCOMES)


def normal_nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of expectations over a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / weights.sum()


def build(
    data: xr.DataArray,
    priors: Mapping[str, Any] | None = None,
    *,
    dim: str = "fold",
    groups: str = "random",
    lkj: float | None = None,
    covariates: xr.DataArray | None = None,
) -> pm.Model:
    """Return the model of binary counts (…, group, actual, predicted).

    Parameters
    ----------
    data : xarray.DataArray
        Counts; attribute ``pos_label`` is the positive class. Systems along other dims are apart.
    priors : mapping, optional
        Instead of `PRIORS`, by name.
    dim : str
        The dim of the groups.
    groups : {"random", "clusters"}
        What they are: random folds of one data set, or sites, subjects, days.
    lkj : float, optional
        Concentration η of the correlation of recall and specificity; none by default.
    covariates : xarray.DataArray, optional
        Dims `dim` and ``covariate``.
    """
    counts = data.transpose(..., dim, "actual", "predicted")
    systems = [str(d) for d in counts.dims[:-3]]
    successes, trials = outcomes(counts)
    labels = coords(counts) | {"rate": RATES}
    if covariates is not None:
        covariates = covariates.sel({dim: counts[dim].values}).transpose(dim, "covariate")
        labels["covariate"] = covariates["covariate"].values
    random = chosen(PRIORS | {"spread": SPREAD[groups]}, priors)
    with pm.Model(coords=labels) as model:
        location = random("location", [*systems, "rate"])
        spread = random("spread", [*systems, "rate"])
        z = pm.Normal("deviation", dims=[*systems, dim, "rate"])
        if lkj is not None:
            unit = pm.Beta("correlation_unit", lkj, lkj, dims=systems)
            correlation = pm.Deterministic("correlation", 2 * unit - 1, dims=systems)[..., None]
            specificity = correlation * z[..., 1] + pm.math.sqrt(1 - correlation**2) * z[..., 2]
            z = pm.math.stack([z[..., 0], z[..., 1], specificity], axis=-1)
        logit = location[..., None, :] + spread[..., None, :] * z
        if covariates is not None:
            coefficient = random("coefficient", [*systems, "rate", "covariate"])
            x = pm.Data("covariates", covariates.values, dims=[dim, "covariate"])
            logit = logit + (coefficient[..., None, :, :] * x[:, None, :]).sum(-1)
        rates = pm.Deterministic("rates_group", pm.math.sigmoid(logit), dims=[*systems, dim, "rate"])
        for i, (rate, outcome) in enumerate(OUTCOMES.items()):
            n = pm.Data(f"{outcome}_trials", trials[rate].values, dims=[*systems, dim])
            observed = pm.Data(f"{outcome}_data", successes[rate].values, dims=[*systems, dim])
            pm.Binomial(outcome, n=n, logit_p=logit[..., i], observed=observed, dims=[*systems, dim])
        nodes, weights = normal_nodes(21)
        mean = pm.math.sigmoid(location[..., None] + spread[..., None] * nodes) @ weights
        pm.Deterministic("rates", mean, dims=[*systems, "rate"])
        population = {rate: mean[..., i] for i, rate in enumerate(RATES)}
        pm.Deterministic("cells", cells(population, positive(counts)), dims=[*systems, "actual", "predicted"])
        group = {rate: rates[..., i] for i, rate in enumerate(RATES)}
        pm.Deterministic("cells_group", cells(group, positive(counts)), dims=[*systems, dim, "actual", "predicted"])
    return model


def recover(posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, **_: Any) -> dict[str, xr.DataArray]:
    """Draw ``cells_new``, those of a new group at covariates 0."""
    location = posterior["location"].transpose(..., "rate")
    z = location.copy(data=rng.standard_normal(location.shape))
    if "correlation" in posterior:
        r = posterior["correlation"]
        together = r * z.sel(rate="recall", drop=True) + np.sqrt(1 - r**2) * z.sel(rate="specificity", drop=True)
        z = z.where(z["rate"] != "specificity", together).transpose(*location.dims)
    rates = expit((location + posterior["spread"] * z).transpose(*location.dims).values)
    table = cells({rate: rates[..., i] for i, rate in enumerate(RATES)}, positive(data))
    return {"cells_new": xr.DataArray(table, dims=(*location.dims[:-1], "actual", "predicted"))}


def log_likelihood(
    posterior: xr.Dataset, data: xr.DataArray, *, covariates: xr.DataArray | None = None, **_: Any
) -> xr.DataArray:
    """Return the log-likelihood of each group's predictions, given its class totals: the unit left out is a group.

    A group's own deviations are integrated out, by Gauss–Hermite quadrature, as they are of a group left out.
    """
    successes, trials = outcomes(data)
    logit = posterior["location"]
    if covariates is not None:
        logit = logit + (posterior["coefficient"] * covariates).sum("covariate")
    # Two deviations that are correlated need a grid; fewer nodes keep it small.
    points, weights = normal_nodes(15 if "correlation" in posterior else 41)
    nodes = {rate: xr.DataArray(points, dims=rate) for rate in ("recall", "specificity")}
    total: xr.DataArray = xr.DataArray(0.0)
    if "correlation" in posterior:
        r = posterior["correlation"]
        nodes["specificity"] = r * nodes["recall"] + np.sqrt(1 - r**2) * nodes["specificity"]
    for rate, z in nodes.items():
        p = expit((logit + posterior["spread"] * z).sel(rate=rate, drop=True))
        at_nodes = xr.apply_ufunc(binom.logpmf, successes[rate], trials[rate], p)
        total = total + at_nodes + xr.DataArray(np.log(weights), dims=rate)
        if "correlation" not in posterior:
            total = _log_sum(total, [rate])
    total = _log_sum(total, [dim for dim in nodes if dim in total.dims])
    return total.transpose("chain", "draw", ...)


def _log_sum(values: xr.DataArray, dims: list[str]) -> xr.DataArray:
    found: xr.DataArray = values.reduce(logsumexp, dims) if dims else values
    return found
