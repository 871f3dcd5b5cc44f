"""Groups that share a population: folds, sites, images, documents, annotators.

Setting. A classifier is evaluated on several groups of examples. Its rates may differ between groups by more than
chance; how much they differ is estimated from the groups. Few or small groups contain little information about this,
so its prior matters, and depends on the kind of groups: random folds of one data set differ little, sites or patients
differ more.

Model. For group f and actual class i with N_fi examples, of which C_fij were predicted as class j:

    C_fi·  ~ Multinomial(N_fi, φ_fi)              predictions in a group
    φ_fi   ~ Dirichlet(κ_i φ_i)                   rates of a group, centred on the population rates
    φ_i    ~ Dirichlet(2/K, …)                    rates: flat for two classes, of the same weight for more
    ρ_i    = 1/(1 + κ_i) ~ Beta(1, 24) or (1, 9)  dispersion: correlation of two examples of a group

The group rates are integrated out, C_fi· ~ DirichletMultinomial(N_fi, κ_i φ_i). This form samples without divergences
where others fail, and the rates are then drawn by conjugacy, φ_fi ~ Dirichlet(κ_i φ_i + C_fi·) (`recover`). Each row
has its own dispersion, and the model conditions on the class totals N_fi, because stratified folds fix them.

Prevalence is modelled separately, by the class totals, and depends on the kind of groups:

    random     Σ_f N_f· ~ Multinomial(Σ_f N_f, π)           folds are parts of one population and share its prevalence π
    clusters   N_f·     ~ DirichletMultinomial(N_f, κ π)    sites have a prevalence each, π_f ~ Dirichlet(κ π + N_f·)

The cells of the population have the prevalence π, the cells of a group have its own prevalence, and the cells of a new
group have a draw of it.

Repeated cross-validation scores every example once per repeat. With `repeats` the likelihood is raised to the power
1/repeats, so that every example counts once; such a likelihood cannot be simulated from.

Source: Griffiths (1973), Biometrics 29, for two classes; Mosimann (1962), Biometrika 49. The priors of the dispersion
were chosen for the coverage of the intervals: 93–97 % for random folds with at least 50 examples, or for sites
that differ by a standard deviation of 0.5 on the logit scale. So was that of the dispersion of prevalence in clusters,
Beta(1, 3): 92–99 % for the mean prevalence of 6 or 20 sites whose dispersion is 0.02–0.5, where Beta(1, 9) has 87 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from bayesperf.models.building import (
    DirichletMultinomial,
    concentration,
    coords,
    dirichlet_rows,
    in_rows,
    log_rows,
    positive,
    prior_variables,
    rows_of_rates,
)

DATA = "counts"
OPTIONS = {
    "dim": "dim of groups",
    "groups": ("random", "clusters"),
    "repeats": "repeats of folds",
    "design": ("joint", "by_actual"),
}
ESTIMAND = "mean"
# For two classes; see `bayesperf.pool`.
EXACT = "groups.group_draws:draws"
# The default of the samplers: with the group rates integrated out there is no funnel that would need smaller steps.
TARGET_ACCEPT = 0.8
POTENTIAL = "a power likelihood (repeats > 1) cannot be simulated from, and its examples are no units to leave out"
DISPERSION = {"random": pm.Beta.dist(1, 24), "clusters": pm.Beta.dist(1, 9)}
PRIORS = {
    "rates": lambda classes: pm.Dirichlet.dist(np.full(classes, 2 / classes)),
    "dispersion": DISPERSION["random"],
    # Flat, as in the closed forms.
    "prevalence": lambda classes: pm.Dirichlet.dist(np.ones(classes)),
    # Only for clusters, which often differ more in prevalence than in rates.
    "prevalence_dispersion": pm.Beta.dist(1, 3),
}


# These replace `rates` if recall or specificity has a prior other than a Beta. They are the same flat Dirichlet.
OF_RATES = {"recall": pm.Beta.dist(1, 1), "specificity": pm.Beta.dist(1, 1)}


def build(
    data: xr.DataArray,
    priors: Mapping[str, Any] | None = None,
    *,
    dim: str = "fold",
    groups: str = "random",
    repeats: int = 1,
    design: str = "joint",
) -> pm.Model:
    """Return the model of counts (…, group, actual, predicted).

    Parameters
    ----------
    data : xarray.DataArray
        Counts; each element of the dims before that of the groups (systems) has its own parameters.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name. For two classes you may also name ``recall`` and
        ``specificity``, which are the means of the groups, and give ``prevalence`` (of the positive class) a Beta.
    dim : str
        The dim of the groups.
    groups : {"random", "clusters"}
        Kind of groups: random folds of one data set ("random"), or sites, subjects or days ("clusters").
    repeats : int
        Number of times that each example was scored; `dim` then contains the folds of all repeats.
    design : {"joint", "by_actual"}
        Whether the data are informative about prevalence ("joint"), or the class totals were fixed ("by_actual").
    """
    counts = data.transpose(..., dim, "actual", "predicted")
    systems = [str(d) for d in counts.dims[:-3]]
    totals = counts.sum("predicted")
    unused = {"prevalence_dispersion": "options={'groups': 'clusters'}"} if groups == "random" else {}
    defaults, priors = PRIORS | {"dispersion": DISPERSION[groups]}, in_rows(priors, counts)
    by_rate = any(name in priors for name in OF_RATES)
    defaults |= OF_RATES if by_rate else {}
    variable = prior_variables(defaults, priors, counts.sizes["actual"], unused)
    with pm.Model(coords=coords(counts)) as model:
        rates_dims = [*systems, "actual", "predicted"]
        if by_rate:
            table = rows_of_rates({name: variable(name, systems) for name in OF_RATES}, positive(counts))
            rates = pm.Deterministic("rates", table, dims=rates_dims)
        else:
            rates = variable("rates", rates_dims)
        dispersion = variable("dispersion", [*systems, "actual"])
        prevalence = variable("prevalence", [*systems, "actual"])

        observe(
            "counts",
            counts,
            DirichletMultinomial,
            {"concentration": concentration(dispersion)[..., None, :], "mean": rates[..., None, :, :]},
            repeats,
        )
        observed, distribution, parameters = totals.sum(dim), pm.Multinomial, {"p": prevalence}
        if groups == "clusters":
            kappa = concentration(variable("prevalence_dispersion", systems))
            observed, distribution = totals, DirichletMultinomial
            parameters = {"concentration": kappa[..., None], "mean": prevalence[..., None, :]}
        if design == "joint":
            observe("totals", observed, distribution, parameters, repeats)
        pm.Deterministic("cells", prevalence[..., None] * rates, dims=[*systems, "actual", "predicted"])
    return model


def observe(name: str, values: xr.DataArray, distribution: Any, parameters: Mapping[str, Any], repeats: int) -> None:
    """Add the likelihood of counts given their totals, raised to the power 1/repeats."""
    dims = [str(d) for d in values.dims]
    observed = pm.Data(f"{name}_data", values.values, dims=dims)
    if repeats == 1:
        distribution(name, n=observed.sum(-1), **parameters, observed=observed, dims=dims)
    else:
        logp = pm.logp(distribution.dist(n=observed.sum(-1), **parameters), observed)
        pm.Potential(name, logp.sum() / repeats)


def recover(
    posterior: xr.Dataset,
    data: xr.DataArray,
    rng: np.random.Generator,
    *,
    groups: str = "random",
    design: str = "joint",
    **_: Any,
) -> dict[str, xr.DataArray]:
    """Draw what was integrated out: ``cells_group`` for the observed groups and ``cells_new`` for a new one."""
    weights = concentration(posterior["dispersion"]) * posterior["rates"]
    of_group = of_new = posterior["prevalence"]
    if groups == "clusters":
        class_weights = concentration(posterior["prevalence_dispersion"]) * posterior["prevalence"]
        totals = data.sum("predicted") * (design == "joint")
        of_group, of_new = (dirichlet_rows(rng, class_weights + seen, "actual") for seen in (totals, 0))
    cells = {
        "cells_group": of_group * dirichlet_rows(rng, weights + data, "predicted"),
        "cells_new": of_new * dirichlet_rows(rng, weights, "predicted"),
    }
    order = [d for d in posterior["cells"].dims if d not in ("actual", "predicted")]
    return {name: cell.transpose(*order, ..., "actual", "predicted") for name, cell in cells.items()}


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray, **_: Any) -> xr.DataArray:
    """Return the log-likelihood of each group's predictions given its class totals, for leave-one-group-out."""
    weights = concentration(posterior["dispersion"]) * posterior["rates"]
    rows = log_rows(weights, data, "predicted")
    return rows.sum("actual").transpose("chain", "draw", ...)
