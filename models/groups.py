"""Groups that share a population: folds, sites, images, documents, annotators.

The story. A classifier is judged on several groups of examples. Its rates differ from group to group, by more than
chance or by no more; how much is learnt from the groups. Few or small groups say little of it, so its prior matters,
and depends on what the groups are: random folds of one data set differ little, sites or patients more.

The model, for group f and actual class i, of which N_fi examples were predicted as class j C_fij times:

    C_fi·  ~ Multinomial(N_fi, φ_fi)              predictions in a group
    φ_fi   ~ Dirichlet(κ_i φ_i)                   a group's rates, about the population's
    φ_i    ~ Dirichlet(2/K, …)                    rates: flat for two classes, as light for more
    ρ_i    = 1/(1 + κ_i) ~ Beta(1, 24) or (1, 9)  dispersion: correlation of two examples of a group

The group rates are integrated out, C_fi· ~ DirichletMultinomial(N_fi, κ_i φ_i): that form samples without divergences
where others fail, and the rates come back by conjugacy, φ_fi ~ Dirichlet(κ_i φ_i + C_fi·) (`recover`). Rows have a
dispersion each, and the class totals N_fi are given, because stratified folds fix them.

Prevalence stands apart. The pooled totals give `prevalence`, for the population's and the groups' cells. The totals
of the groups give `prevalence_mean` and `prevalence_dispersion`, by the same model, for the prevalence of a new
group.

Repeated cross-validation scores every example once a repeat. `repeats` takes the likelihood to the power 1/repeats, so
that every example counts once; such a likelihood cannot be simulated from.

Source: Griffiths (1973), Biometrics 29, for two classes; Mosimann (1962), Biometrika 49. The priors of the dispersion
were chosen for the coverage of the intervals: 93–97 % where folds are random and examples at least 50, or sites as
different as a standard deviation of 0.5 on the logit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import gammaln

from ._counts import coords
from ._dirichlet import DirichletMultinomial, concentration, dirichlet_draws
from ._priors import prior_variables

DATA = "counts"
OPTIONS = {
    "dim": "dim of groups",
    "groups": ("random", "clusters"),
    "repeats": "repeats of folds",
    "design": ("joint", "by_actual"),
}
ESTIMAND = "Posterior of the metric at the population mean over {dim}s"
# The samplers' own default. With the group rates integrated out there is no funnel that would need smaller steps.
TARGET_ACCEPT = 0.8
DISPERSION = {"random": pm.Beta.dist(1, 24), "clusters": pm.Beta.dist(1, 9)}
PRIORS = {
    "rates": lambda classes: pm.Dirichlet.dist(np.full(classes, 2 / classes)),
    "dispersion": DISPERSION["random"],
    # The row totals of a flat prior on the cells.
    "prevalence": lambda classes: pm.Dirichlet.dist(np.full(classes, 2.0)),
    "prevalence_mean": lambda classes: pm.Dirichlet.dist(np.full(classes, 2.0)),
    "prevalence_dispersion": DISPERSION["random"],
}


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
        Counts; dims before the group's (systems) have parameters of their own.
    priors : mapping, optional
        Instead of `PRIORS`, by name.
    dim : str
        The dim of the groups.
    groups : {"random", "clusters"}
        What they are: random folds of one data set, or sites, subjects, days.
    repeats : int
        How often each example was scored; `dim` then has the folds of all repeats.
    design : {"joint", "by_actual"}
        Whether the data tell the prevalence, or the class totals were fixed.
    """
    counts = data.transpose(..., dim, "actual", "predicted")
    systems = [str(d) for d in counts.dims[:-3]]
    totals = counts.sum("predicted")
    defaults = PRIORS | {"dispersion": DISPERSION[groups], "prevalence_dispersion": DISPERSION[groups]}
    variable = prior_variables(defaults, priors, counts.sizes["actual"])
    with pm.Model(coords=coords(counts)) as model:
        rates = variable("rates", [*systems, "actual", "predicted"])
        dispersion = variable("dispersion", [*systems, "actual"])
        prevalence = variable("prevalence", [*systems, "actual"])
        prevalence_mean = variable("prevalence_mean", [*systems, "actual"])
        prevalence_dispersion = variable("prevalence_dispersion", systems)

        observe(
            "counts",
            counts,
            DirichletMultinomial,
            {"a": (concentration(dispersion)[..., None] * rates)[..., None, :, :]},
            repeats,
        )
        if design == "joint":
            observe("totals", totals.sum(dim), pm.Multinomial, {"p": prevalence}, repeats)
            observe(
                "group_totals",
                totals,
                DirichletMultinomial,
                {"a": (concentration(prevalence_dispersion)[..., None] * prevalence_mean)[..., None, :]},
                repeats,
            )
        pm.Deterministic("cells", prevalence[..., None] * rates, dims=[*systems, "actual", "predicted"])
    return model


def observe(name: str, values: xr.DataArray, distribution: Any, parameters: Mapping[str, Any], repeats: int) -> None:
    """Add the likelihood of counts given their totals, to the power 1/repeats."""
    dims = [str(d) for d in values.dims]
    observed = pm.Data(f"{name}_data", values.values, dims=dims)
    if repeats == 1:
        distribution(name, n=observed.sum(-1), **parameters, observed=observed, dims=dims)
    else:
        logp = pm.logp(distribution.dist(n=observed.sum(-1), **parameters), observed)
        pm.Potential(name, logp.sum() / repeats)


def recover(
    posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, *, dim: str = "fold", **_: Any
) -> dict[str, xr.DataArray]:
    """Draw what was integrated out: ``cells_group`` of the observed groups and ``cells_new`` of a new one."""
    weights = (1 / posterior["dispersion"] - 1) * posterior["rates"]
    class_weights = (1 / posterior["prevalence_dispersion"] - 1) * posterior["prevalence_mean"]
    observed = posterior["prevalence"] * _dirichlet(rng, weights + data, "predicted")
    new = _dirichlet(rng, class_weights, "actual") * _dirichlet(rng, weights, "predicted")
    order = [d for d in posterior["cells"].dims if d not in ("actual", "predicted")]
    return {
        "cells_group": observed.transpose(*order, dim, "actual", "predicted"),
        "cells_new": new.transpose(*order, "actual", "predicted"),
    }


def _dirichlet(rng: np.random.Generator, concentration: xr.DataArray, dim: str) -> xr.DataArray:
    ordered = concentration.transpose(..., dim)
    return ordered.copy(data=dirichlet_draws(rng, ordered.values))


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray, **_: Any) -> xr.DataArray:
    """Return the log-likelihood of each group's predictions, given its class totals: the unit left out is a group."""
    weights = (1 / posterior["dispersion"].clip(min=1e-8) - 1) * posterior["rates"]
    cells = _gammaln(weights + data) - _gammaln(weights) - _gammaln(data + 1.0)
    kappa, totals = weights.sum("predicted"), data.sum("predicted")
    rows = cells.sum("predicted") + _gammaln(kappa) + _gammaln(totals + 1.0) - _gammaln(kappa + totals)
    return rows.sum("actual").transpose("chain", "draw", ...)


def _gammaln(values: xr.DataArray) -> xr.DataArray:
    return values.copy(data=gammaln(values.values))
