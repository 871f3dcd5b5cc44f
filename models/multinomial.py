"""Independent confusion matrices: multinomial counts with a Dirichlet prior.

    C ~ Multinomial(N, θ)
    θ ~ Dirichlet(α)

θ are the K × K cell probabilities, which the model contains as `shares` along one dim ``cell`` (row by row) and as the
table `cells`. The default α is ½ in every cell for two classes (Jeffreys' prior), as of `bayesperf.posterior`, and 1 in
total for more (Perks' prior), where `bayesperf.posterior` has another default: one that the classes share, which is no
Dirichlet (the model ``classes``). The posterior is exactly Dirichlet(α + C) (`exact`): use this model with another
prior, or as a starting point for your own.

Weights far below 1 give the probabilities of unobserved cells long tails: with ten classes NUTS computes metrics
correctly, but the probability of such a cell is so small, and explored so slowly, that R̂ reports it. The closed form
does not have this problem.

Source: Caelen (2017), A Bayesian interpretation of the confusion matrix, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from bayesperf.models.building import (
    cells_of_rates,
    conjugate_parameters,
    coords,
    dirichlet_draws,
    draws_of_rates,
    given_rates,
    outcomes_of_rates,
    per_example,
    positive,
    prior_variables,
)

DATA = "counts"
PRIORS = {
    "shares": lambda classes: pm.Dirichlet.dist(np.full(classes**2, 0.5 if classes == 2 else 1 / classes**2)),
}
# Of two classes, where one of these has a prior of its own: what Jeffreys' Dirichlet has them be.
OF_RATES = {"prevalence": pm.Beta.dist(1, 1), "recall": pm.Beta.dist(0.5, 0.5), "specificity": pm.Beta.dist(0.5, 0.5)}


def build(data: xr.DataArray, priors: Mapping[str, Any] | None = None) -> pm.Model:
    """Return the model of counts (…, actual, predicted); matrices along leading dims are independent.

    With two classes you may also give priors of ``recall``, ``specificity`` and ``prevalence``, each independent of the
    others; `shares` is then their function. Those that are not given follow Jeffreys' Dirichlet.
    """
    counts = data.transpose(..., "actual", "predicted")
    leading = [str(d) for d in counts.dims[:-2]]
    flat = counts.values.reshape(*counts.shape[:-2], -1)
    by_rate = of_rates(priors, counts)
    variable = prior_variables(OF_RATES if by_rate else PRIORS, priors, counts.sizes["actual"])
    with pm.Model(coords=coords(counts) | {"cell": np.arange(flat.shape[-1])}) as model:
        if by_rate:
            table = cells_of_rates({name: variable(name, leading) for name in OF_RATES}, positive(counts))
            shares = pm.Deterministic("shares", table.reshape(flat.shape), dims=[*leading, "cell"])
        else:
            shares = variable("shares", [*leading, "cell"])
        observed = pm.Data("counts_data", flat, dims=[*leading, "cell"])
        pm.Multinomial("counts", n=observed.sum(-1), p=shares, observed=observed, dims=[*leading, "cell"])
        pm.Deterministic("cells", shares.reshape(counts.shape), dims=[*leading, "actual", "predicted"])
    return model


def of_rates(priors: Mapping[str, Any] | None, counts: xr.DataArray) -> dict[str, Any]:
    """Return the given priors of rates, which replace a prior of `shares`."""
    return given_rates(priors, counts, "shares", f"pm.Dirichlet.dist(np.ones({counts.sizes['actual'] ** 2}))")


def exact(
    data: xr.DataArray, priors: Mapping[str, Any] | None, rngs: Sequence[np.random.Generator], size: tuple[int, int]
) -> dict[str, xr.DataArray]:
    """Return draws (chain, draw) from the Dirichlet posteriors; each matrix has a generator of its own.

    Under priors of rates they are the draws of the model `rates`.
    """
    counts = data.transpose(..., "actual", "predicted")
    if of_rates(priors, counts):
        rates = draws_of_rates(OF_RATES | dict(priors or {}), *outcomes_of_rates(counts), rngs, size)
        table, leading = cells_of_rates(rates, positive(counts)), ("chain", "draw", *counts.dims[:-2])
        return {
            **{name: xr.DataArray(rate, dims=leading) for name, rate in rates.items()},
            "shares": xr.DataArray(table.reshape(*table.shape[:-2], -1), dims=(*leading, "cell")),
            "cells": xr.DataArray(table, dims=(*leading, "actual", "predicted")),
        }
    prior = (priors or {}).get("shares", PRIORS["shares"](counts.sizes["actual"]))
    flat = counts.values.reshape(*counts.shape[:-2], -1)
    concentration = (conjugate_parameters("shares", prior, "dirichlet") + flat).reshape(len(rngs), -1)
    draws = [
        dirichlet_draws(rng, np.broadcast_to(row, (*size, row.size)))
        for rng, row in zip(rngs, concentration, strict=True)
    ]
    shares = np.stack(draws, 2).reshape(*size, *flat.shape)
    leading = ("chain", "draw", *counts.dims[:-2])
    return {
        "shares": xr.DataArray(shares, dims=(*leading, "cell")),
        "cells": xr.DataArray(shares.reshape(*size, *counts.shape), dims=(*leading, "actual", "predicted")),
    }


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray) -> xr.DataArray | None:
    """Return the log-likelihood of each example; leaving out a whole matrix would not check the model."""
    return per_example(posterior["cells"], data)
