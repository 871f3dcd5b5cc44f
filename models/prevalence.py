"""The prevalence of classes in data that nobody labelled, from predictions whose errors are known from elsewhere.

Setting. A classifier, judge or test runs where nobody knows the truth. How often it takes one class for another was
counted elsewhere, on labelled examples, and is the same here: no data at hand can check that.

Model. Of the N_i labelled examples of class i, C_ij were predicted as class j. In part m of the unlabelled data (a
month, a site) Y_mj of n_m examples are predicted as class j:

    C_i· ~ Multinomial(N_i, φ_i)                  rates of predictions of a class
    Y_m· ~ Multinomial(n_m, Σ_i π_mi φ_i)         predictions, with the actual classes summed out
    φ_i  ~ Dirichlet(1/K, …)                      rates
    π_m  ~ Dirichlet(1/K, …)                      prevalence of the part

The total weight of either prior is one example; for two classes it is Jeffreys' prior. With ``pooled`` the parts share
a population, about whose prevalence π̄ they vary on the logarithmic scale:

    π_mi ∝ π̄_i exp(τ z_mi / √2),    z_mi ~ Normal(0, 1)
    π̄    ~ Dirichlet(1/K, …)
    τ    ~ HalfNormal(1)                          spread: standard deviation of the log odds of two classes

The cells are those of the unlabelled examples, π_mi φ_ij, so that any metric of the classifier there follows, not only
the prevalence. Two classes that the classifier confuses cannot be told apart by its predictions, and their prevalences
are negatively correlated.

Source: Rogan & Gladen (1978), American Journal of Epidemiology 107, for two classes; Gelman & Carpenter (2020), Applied
Statistics 69. `bayesperf.labels.prevalence` integrates two classes without sampling.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from bayesperf.models.building import coords, per_example, prior_variables, softmax

DATA = "counts"
OPTIONS = {"calls": "counts of predictions", "pooled": (False, True)}
ESTIMAND = "unlabelled"
PRIORS = {
    "rates": lambda classes: pm.Dirichlet.dist(np.full(classes, 1 / classes)),
    "prevalence": lambda classes: pm.Dirichlet.dist(np.full(classes, 1 / classes)),
    "spread": pm.HalfNormal.dist(1),
}


def build(
    data: xr.DataArray,
    priors: Mapping[str, Any] | None = None,
    *,
    calls: xr.DataArray | None = None,
    pooled: bool = False,
) -> pm.Model:
    """Return the model of counts (actual, predicted) of labelled examples, and of calls of unlabelled ones.

    Parameters
    ----------
    data : xarray.DataArray
        Counts of the labelled examples.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name. With `pooled`, ``prevalence`` is that of the population π̄.
    calls : xarray.DataArray
        Numbers of unlabelled examples by predicted class, (…, predicted); leading dims are parts of the data.
    pooled : bool
        Whether the parts share a population.
    """
    if calls is None:
        raise ValueError("options: give 'calls', the numbers of unlabelled examples by predicted class.")
    if data.ndim > 2:
        raise ValueError(f"data: labelled examples are one matrix; sum the dims {data.dims[:-2]}.")
    rows = data.transpose("actual", "predicted")
    calls = calls.transpose(..., "predicted")
    parts = [str(d) for d in calls.dims[:-1]]
    unused = {} if pooled else {"spread": "options={'pooled': True}"}
    variable = prior_variables(PRIORS, priors, rows.sizes["actual"], unused)
    with pm.Model(coords=coords(rows) | coords(calls)) as model:
        rates = variable("rates", ["actual", "predicted"])
        if pooled:
            centre = pm.math.log(pm.math.maximum(variable("prevalence", ["actual"]), 1e-300))
            deviation = pm.Normal("deviation", dims=[*parts, "actual"]) / np.sqrt(2)
            shares = softmax(centre + variable("spread", []) * deviation)
            prevalence = pm.Deterministic("prevalence_group", shares, dims=[*parts, "actual"])
        else:
            prevalence = variable("prevalence", [*parts, "actual"])
        labelled = pm.Data("counts_data", rows.values, dims=["actual", "predicted"])
        pm.Multinomial("counts", n=labelled.sum(-1), p=rates, observed=labelled, dims=["actual", "predicted"])
        seen = pm.Data("calls_data", calls.values, dims=[*parts, "predicted"])
        cells = pm.Deterministic("cells", prevalence[..., None] * rates, dims=[*parts, "actual", "predicted"])
        pm.Multinomial("calls", n=seen.sum(-1), p=cells.sum(-2), observed=seen, dims=[*parts, "predicted"])
    return model


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray, *, calls: xr.DataArray, **_: Any) -> xr.DataArray | None:
    """Return the log-likelihood of each example's prediction: of the labelled ones, then of the others."""
    seen = posterior["cells"].sum("actual").transpose(..., *calls.dims)
    labelled, called = per_example(posterior["rates"], data), per_example(seen, calls)
    return None if labelled is None or called is None else xr.concat([labelled, called], "example")
