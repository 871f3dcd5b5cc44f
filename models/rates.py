"""Two classes by three rates: prevalence, recall and specificity, with a prior each.

    P  ~ Binomial(N, prevalence)       of N examples, P are positive
    TP ~ Binomial(P, recall)
    TN ~ Binomial(N − P, specificity)

Together the default priors are Jeffreys' Dirichlet on the four cells (½ in each), which is Beta(1, 1) on prevalence and
Beta(½, ½) on recall and specificity, independently; the posterior is then Dirichlet(½ + C). With this model, prior
knowledge of a single rate can be specified for that rate: the prevalence in a screening programme, the specificity of a
device. If the numbers of examples of each class were fixed (``design="by_actual"``), the data are not informative about
prevalence, which is then determined by its prior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from bayesperf.models.building import (
    OUTCOMES,
    cells_of_rates,
    coords,
    draws_of_rates,
    outcomes_of_rates,
    per_example,
    positive,
    prior_variables,
)

DATA = "counts"
OPTIONS = {"design": ("joint", "by_actual")}
PRIORS = {"prevalence": pm.Beta.dist(1, 1), "recall": pm.Beta.dist(0.5, 0.5), "specificity": pm.Beta.dist(0.5, 0.5)}


def build(data: xr.DataArray, priors: Mapping[str, Any] | None = None, *, design: str = "joint") -> pm.Model:
    """Return the model of binary counts (…, actual, predicted); systems along leading dims are independent.

    Parameters
    ----------
    data : xarray.DataArray
        Counts; the attribute ``pos_label`` is the positive class.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name.
    design : {"joint", "by_actual"}
        Whether the data are informative about prevalence ("joint"), or the class totals were fixed ("by_actual").
    """
    counts = data.transpose(..., "actual", "predicted")
    leading = [str(d) for d in counts.dims[:-2]]
    successes, trials = outcomes_of_rates(counts)
    variable = prior_variables(PRIORS, priors)
    with pm.Model(coords=coords(counts)) as model:
        rates = {name: variable(name, leading) for name in PRIORS}
        for rate, outcome in OUTCOMES.items():
            if rate == "prevalence" and design == "by_actual":
                continue
            n = pm.Data(f"{outcome}_trials", trials[rate].values, dims=leading)
            observed = pm.Data(f"{outcome}_data", successes[rate].values, dims=leading)
            pm.Binomial(outcome, n=n, p=rates[rate], observed=observed, dims=leading)
        pm.Deterministic("cells", cells_of_rates(rates, positive(counts)), dims=[*leading, "actual", "predicted"])
    return model


def exact(
    data: xr.DataArray,
    priors: Mapping[str, Any] | None,
    rngs: Sequence[np.random.Generator],
    size: tuple[int, int],
    *,
    design: str = "joint",
) -> dict[str, xr.DataArray]:
    """Return draws (chain, draw) from the Beta posteriors; each matrix has a generator of its own."""
    counts = data.transpose(..., "actual", "predicted")
    successes, trials = outcomes_of_rates(counts)
    if design == "by_actual":
        successes["prevalence"] = trials["prevalence"] = xr.zeros_like(trials["prevalence"])
    rates = draws_of_rates(PRIORS | dict(priors or {}), successes, trials, rngs, size)
    leading = ("chain", "draw", *counts.dims[:-2])
    return {
        **{name: xr.DataArray(rate, dims=leading) for name, rate in rates.items()},
        "cells": xr.DataArray(cells_of_rates(rates, positive(counts)), dims=(*leading, "actual", "predicted")),
    }


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray, *, design: str = "joint") -> xr.DataArray | None:
    """Return the log-likelihood of each example, or of its prediction only if the class totals were fixed."""
    cells = posterior["cells"]
    return per_example(cells if design == "joint" else cells / cells.sum("predicted"), data)
