"""Groups of two classes whose rates vary on the logit scale: covariates, and correlated recall and specificity.

The setting is the same as in `groups`. Here the recall and specificity of a group, and the prevalence of a cluster, are
logit-normal about the population's values,

    logit(rate_f) = μ + x_f·β + τ z_f,    z_f ~ Normal(0, 1)
    μ ~ Logistic(0, 1)                    uniform on the rate, so without group variation the prior is Beta(1, 1)
    τ ~ HalfNormal(0.5) or HalfNormal(1)  random folds or clusters

with binomial successes in each group. Random folds are parts of one population and share its prevalence. The sampled
parameters are the deviations z ("non-centred"), because the rates of small groups are hard to sample directly.
Covariates x of the groups (year, scanner, language), which should be centred, shift the rates.

Recall and specificity deviate independently unless ``lkj=η`` adds their correlation, ρ ~ LKJ(η), which for two
variables is ρ = 2B − 1, B ~ Beta(η, η). Fewer than ten groups with hundreds of examples per class do not determine
this correlation: compare its posterior with its prior.

Repeated cross-validation scores every example once per repeat. With `repeats` each group's deviations are integrated
out, and the likelihood of the groups is raised to the power 1/repeats, so that every example counts once: the repeats
of one partition say as much as the partition. (A power of the likelihood given the deviations would not: it takes the
folds of all repeats for as many groups.) The rates of the groups are drawn afterwards (`recover`).

`cells` describe the population of groups: they are computed from the population mean of each rate, by Gauss–Hermite
quadrature, at covariates 0.

Source: Brodersen et al. (2012), JMLR 13; the form without correlation is a binomial mixed model for each rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from scipy.special import expit

from bayesperf.models.building import (
    OUTCOMES,
    cells_of_rates,
    coords,
    correlated_second,
    log_likelihood_of_groups,
    log_sum,
    normal_nodes,
    outcomes_of_rates,
    positive,
    variables_with_rates,
)

DATA = "counts"
OPTIONS = {
    "dim": "dim of groups",
    "groups": ("random", "clusters"),
    "lkj": "positive number",
    "covariates": "covariates of groups",
    "repeats": "repeats of folds",
}
POTENTIAL = "a power likelihood (repeats > 1) cannot be simulated from, and its examples are no units to leave out"
DIMS = ("rate", "varying_rate", "covariate")
ESTIMAND = "mean"
SPREAD = {"random": pm.HalfNormal.dist(0.5), "clusters": pm.HalfNormal.dist(1.0)}
PRIORS = {
    "location": pm.Logistic.dist(0, 1),
    "spread": SPREAD["random"],
    "coefficient": pm.Normal.dist(0, 1),
}
RATES = list(OUTCOMES)


def build(
    data: xr.DataArray,
    priors: Mapping[str, Any] | None = None,
    *,
    dim: str = "fold",
    groups: str = "random",
    lkj: float | None = None,
    covariates: xr.DataArray | None = None,
    repeats: int = 1,
) -> pm.Model:
    """Return the model of binary counts (…, group, actual, predicted).

    Parameters
    ----------
    data : xarray.DataArray
        Counts; the attribute ``pos_label`` is the positive class. Systems along other dims are independent.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name. ``recall``, ``specificity`` and ``prevalence`` are understood as
        well, as those of a typical group: their logit is the ``location``, which then is a function of the variables
        ``typical_recall`` and so on. The mean of the groups is a little nearer to ½ if they differ.
    dim : str
        The dim of the groups.
    groups : {"random", "clusters"}
        Kind of groups: random folds of one data set ("random"), or sites, subjects or days ("clusters").
    lkj : float, optional
        Concentration η of the correlation of recall and specificity; by default there is no correlation.
    covariates : xarray.DataArray, optional
        Covariates with dims `dim` and ``covariate``. `bayesperf.fit` takes a DataFrame with a row for each group, a
        mapping of names to values by group or in the order of the groups, or an array in their order, as well.
    repeats : int
        Number of times that each example was scored; `dim` then contains the folds of all repeats.
    """
    if lkj is not None and repeats > 1:
        raise ValueError("options: 'lkj' does not go with 'repeats', under which the deviations are integrated out.")
    counts = data.transpose(..., dim, "actual", "predicted")
    systems = [str(d) for d in counts.dims[:-3]]
    successes, trials = outcomes_of_rates(counts)
    varying = RATES if groups == "clusters" else RATES[1:]
    labels = coords(counts) | {"rate": RATES, "varying_rate": varying}
    if covariates is not None:
        covariates = covariates.sel({dim: counts[dim].values}).transpose(dim, "covariate")
        labels["covariate"] = covariates["covariate"].values
    unused = {"coefficient": "options={'covariates': ...}"} if covariates is None else {}
    variable = variables_with_rates(PRIORS | {"spread": SPREAD[groups]}, priors, counts, RATES, unused)
    with pm.Model(coords=labels) as model:
        location = variable("location", [*systems, "rate"])
        spread = of_every_rate(variable("spread", [*systems, "varying_rate"]), groups)
        z = None if repeats > 1 else deviations(systems, dim, groups, lkj)
        means = [location[..., i, None] for i in range(len(RATES))]
        if covariates is not None:
            coefficient = variable("coefficient", [*systems, "rate", "covariate"])
            x = pm.Data("covariates", covariates.values, dims=[dim, "covariate"])
            means = [mean + (coefficient[..., i, None, :] * x).sum(-1) for i, mean in enumerate(means)]
        group, repeated, total = {}, [], 0.0
        for i, (rate, outcome) in enumerate(OUTCOMES.items()):
            n = pm.Data(f"{outcome}_trials", trials[rate].values, dims=[*systems, dim])
            observed = pm.Data(f"{outcome}_data", successes[rate].values, dims=[*systems, dim])
            if z is None and rate in varying:
                repeated.append([observed, n, means[i], spread[..., i, None]])
            elif z is None:
                total += (observed * means[i] - n * pt.softplus(means[i])).sum()
            else:
                logit = means[i] + spread[..., i, None] * z[i]
                pm.Binomial(outcome, n=n, logit_p=logit, observed=observed, dims=[*systems, dim])
                group[rate] = pm.math.sigmoid(logit)
        if repeated:
            # The rates together, because what is compiled is then a third as much.
            stacked = [pm.math.stack(pt.broadcast_arrays(*of_rates)) for of_rates in zip(*repeated, strict=True)]
            pm.Potential("counts", (total + log_marginal(*stacked).sum()) / repeats)
        else:
            describe_groups(group, positive(counts), [*systems, dim])
        describe_population(location, spread, positive(counts), systems)
    return model


def describe_groups(group: Mapping[str, Any], positive: int, dims: list[str]) -> None:
    """Add the rates of each group, and its cells."""
    pm.Deterministic("rates_group", pm.math.stack(list(group.values()), axis=-1), dims=[*dims, "rate"])
    pm.Deterministic("cells_group", cells_of_rates(group, positive), dims=[*dims, "actual", "predicted"])


def describe_population(location: Any, spread: Any, positive: int, systems: list[str]) -> None:
    """Add the population mean of each rate, by quadrature, and the cells at these rates."""
    nodes, weights = normal_nodes(21)
    mean = pm.math.sigmoid(location[..., None] + spread[..., None] * nodes) @ weights
    pm.Deterministic("rates", mean, dims=[*systems, "rate"])
    population = {rate: mean[..., i] for i, rate in enumerate(RATES)}
    pm.Deterministic("cells", cells_of_rates(population, positive), dims=[*systems, "actual", "predicted"])


def deviations(systems: list[str], dim: str, groups: str, lkj: float | None) -> list[Any]:
    """Return the deviations z of every rate; with `lkj` the deviations of specificity and recall are correlated."""
    deviation = of_every_rate(pm.Normal("deviation", dims=[*systems, dim, "varying_rate"]), groups)
    z = [deviation[..., i] for i in range(len(RATES))]
    if lkj is not None:
        unit = pm.Beta("correlation_unit", lkj, lkj, dims=systems)
        correlation = pm.Deterministic("correlation", 2 * unit - 1, dims=systems)[..., None]
        z[2] = correlated_second(z[1], z[2], correlation)
    return z


def of_every_rate(values: Any, groups: str) -> Any:
    """Return values of every rate, which are 0 for the prevalence of random folds: it does not vary."""
    if groups == "clusters":
        return values
    return pm.math.concatenate([pm.math.zeros_like(values[..., :1]), values], axis=-1)


def log_marginal(successes: Any, trials: Any, location: Any, spread: Any) -> Any:
    """Return the log-likelihood of groups whose deviations are integrated out, up to a constant."""
    z = 0.0 * (location + spread + trials)
    for _ in range(6):
        p = pm.math.sigmoid(location + spread * z)
        slope, curvature = spread * (successes - trials * p) - z, 1 + spread**2 * trials * p * (1 - p)
        z = z + pm.math.clip(slope / curvature, -1, 1)
    p = pm.math.sigmoid(location + spread * z)
    # Whatever the nodes are, the integral is the same: its slope needs none of theirs.
    z, width = map(pytensor.gradient.disconnected_grad, (z, 1 / pm.math.sqrt(1 + spread**2 * trials * p * (1 - p))))
    points, weights = normal_nodes(11)
    nodes = z[..., None] + width[..., None] * points
    log_weights = (points**2 - nodes**2) / 2 + np.log(weights) + pm.math.log(width)[..., None]
    logit = location[..., None] + spread[..., None] * nodes
    log_density = successes[..., None] * logit - trials[..., None] * pt.softplus(logit)
    return log_sum(log_weights + log_density)


def recover(
    posterior: xr.Dataset,
    data: xr.DataArray,
    rng: np.random.Generator,
    *,
    dim: str = "fold",
    covariates: xr.DataArray | None = None,
    repeats: int = 1,
    **_: Any,
) -> dict[str, xr.DataArray]:
    """Draw ``cells_new``, the cells of a new group at covariates 0, and under `repeats` the cells of the groups."""
    new = _new_group(posterior, data, rng)
    if repeats == 1:
        return new
    successes, trials = outcomes_of_rates(data)
    location = _location(posterior, data, dim, covariates)
    spread = posterior["spread"].rename(varying_rate="rate").reindex(rate=RATES, fill_value=0.0)
    drawn = {}
    for rate in RATES:
        at, scale = location.sel(rate=rate, drop=True), spread.sel(rate=rate, drop=True)
        of_groups = []
        for group in data[dim].values:
            k, n = (counts[rate].sel({dim: group}) for counts in (successes, trials))
            mean = at.sel({dim: group}) if dim in at.dims else at
            logit = mean + scale * _drawn_deviation(rng, k, n, mean, scale)
            of_groups.append(logit.copy(data=expit(logit.values)))
        order = [str(d) for d in posterior["cells"].dims if d not in ("actual", "predicted")]
        drawn[rate] = xr.concat(of_groups, data[dim], coords="minimal", compat="override").transpose(*order, dim)
    table = cells_of_rates({rate: drawn[rate].values for rate in RATES}, positive(data))
    dims = (*drawn["recall"].dims, "actual", "predicted")
    every_rate = xr.concat(list(drawn.values()), xr.DataArray(RATES, dims="rate", name="rate")).transpose(..., "rate")
    return new | {"cells_group": xr.DataArray(table, dims=dims), "rates_group": xr.DataArray(every_rate.variable)}


def _drawn_deviation(
    rng: np.random.Generator,
    successes: xr.DataArray,
    trials: xr.DataArray,
    location: xr.DataArray,
    spread: xr.DataArray,
) -> xr.DataArray:
    """Draw the deviation of a group, given its counts, by a fine grid about the mode of its density."""
    z, width = _mode(successes, trials, location, spread)
    points = xr.DataArray(np.linspace(-7, 7, 141), dims="point")
    at = z + width * points
    logit = location + spread * at
    density = successes * logit - trials * np.logaddexp(0, logit) - at**2 / 2
    level: xr.DataArray = xr.DataArray(np.exp(density - density.max("point"))).cumsum("point")
    u = z.copy(data=rng.random(z.shape)) * level.isel(point=-1)
    place = (level < u).sum("point") * 0.1 - 7
    deviation: xr.DataArray = z + width * (place + z.copy(data=rng.uniform(-0.05, 0.05, z.shape)))
    return deviation


def _new_group(posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator) -> dict[str, xr.DataArray]:
    location = posterior["location"].transpose(..., "rate")
    z = location.copy(data=rng.standard_normal(location.shape))
    if "correlation" in posterior:
        first, second = (z.sel(rate=rate, drop=True) for rate in ("recall", "specificity"))
        specificity = correlated_second(first, second, posterior["correlation"])
        z = z.where(z["rate"] != "specificity", specificity).transpose(*location.dims)
    spread = posterior["spread"].rename(varying_rate="rate").reindex(rate=RATES, fill_value=0.0)
    rates = expit((location + spread * z).transpose(*location.dims).values)
    table = cells_of_rates({rate: rates[..., i] for i, rate in enumerate(RATES)}, positive(data))
    return {"cells_new": xr.DataArray(table, dims=(*location.dims[:-1], "actual", "predicted"))}


def log_likelihood(
    posterior: xr.Dataset, data: xr.DataArray, *, dim: str = "fold", covariates: xr.DataArray | None = None, **_: Any
) -> xr.DataArray:
    """Return the log-likelihood of each group's predictions given its class totals, for leave-one-group-out.

    Deviations are unknown if the group is left out, so they are integrated out.
    """
    location, spread = _location(posterior, data, dim, covariates), posterior["spread"].rename(varying_rate="rate")
    correlation = posterior["correlation"] if "correlation" in posterior else xr.DataArray(0.0)
    rates = RATES[1:]
    return log_likelihood_of_groups(
        outcomes_of_rates(data), location.sel(rate=rates), spread.sel(rate=rates), correlation, dim
    )


def _location(posterior: xr.Dataset, data: xr.DataArray, dim: str, covariates: xr.DataArray | None) -> xr.DataArray:
    """Return μ + x·β of every rate; of each group if there are covariates."""
    location = posterior["location"]
    if covariates is None:
        return location
    x = covariates.sel({dim: data[dim].values})
    shifted: xr.DataArray = location + (posterior["coefficient"] * x).sum("covariate")
    return shifted


def _mode(
    successes: xr.DataArray, trials: xr.DataArray, location: xr.DataArray, spread: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the mode of a standard normal density times a binomial likelihood, and the width of the product there."""
    z = 0.0 * (location + spread + trials)
    for _ in range(30):
        p = expit(location + spread * z)
        slope, curvature = spread * (successes - trials * p) - z, 1 + spread**2 * trials * p * (1 - p)
        step = (slope / curvature).clip(-1, 1)
        z = z + step
        if abs(step).max() < 1e-6:
            break
    p = expit(location + spread * z)
    precision: xr.DataArray = 1 + spread**2 * trials * p * (1 - p)
    return z, precision**-0.5
