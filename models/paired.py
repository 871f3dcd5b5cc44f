"""Joint cells of two systems that were evaluated on the same examples.

    C ~ Multinomial(N, θ)         C_iab examples of actual class i, predicted a by one system and b by the other
    θ ~ Dirichlet(α/K, …)

Systems evaluated on the same examples tend to make errors on the same ones, so the difference of their metrics is known
more precisely than from their separate tables. The weight of each joint cell is 1/K of the weight of a cell in the
table of one system, so the marginal posterior of each system is that of its own table: under Jeffreys' prior for two
classes, under Perks' for more. `cells` has both margins, along a dim ``model``; `shares` are the joint cells, along one
dim ``cell``. The posterior is exactly Dirichlet (`exact`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from bayesperf.models.building import conjugate_parameters, coords, dirichlet_draws, per_example, prior_variables

DATA = "paired counts"
PRIORS = {
    "shares": lambda classes: pm.Dirichlet.dist(np.full(classes**3, 0.25 if classes == 2 else 1 / classes**3)),
}


def build(data: xr.DataArray, priors: Mapping[str, Any] | None = None) -> pm.Model:
    """Return the model of joint counts.

    Parameters
    ----------
    data : xarray.DataArray
        Counts (actual, predicted_a, predicted_b); the attribute ``names`` contains the names of the two systems.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name; the K³ joint cells are in the order of the dims of the data.
    """
    flat = data.values.ravel()
    labels = coords(data) | {"model": names(data), "predicted": data["actual"].values, "cell": np.arange(flat.size)}
    variable = prior_variables(PRIORS, priors, data.sizes["actual"])
    with pm.Model(coords=labels) as model:
        shares = variable("shares", ["cell"])
        observed = pm.Data("counts_data", flat, dims="cell")
        pm.Multinomial("counts", n=observed.sum(), p=shares, observed=observed, dims="cell")
        joint = shares.reshape(data.shape)
        pm.Deterministic("cells", pm.math.stack(_margins(joint)), dims=["model", "actual", "predicted"])
    return model


def names(data: xr.DataArray) -> list[str]:
    """Return the names of the two systems."""
    return list(data.attrs.get("names", ["a", "b"]))


def _margins(joint: Any) -> list[Any]:
    """Return the tables of both systems from joint cells (…, actual, predicted_a, predicted_b)."""
    return [joint.sum(-1), joint.sum(-2)]


def exact(
    data: xr.DataArray, priors: Mapping[str, Any] | None, rngs: Sequence[np.random.Generator], size: tuple[int, int]
) -> dict[str, xr.DataArray]:
    """Return draws (chain, draw) from the Dirichlet posterior."""
    prior = (priors or {}).get("shares", PRIORS["shares"](data.sizes["actual"]))
    concentration = conjugate_parameters("shares", prior, "dirichlet") + data.values.ravel()
    shares = dirichlet_draws(rngs[0], np.broadcast_to(concentration, (*size, data.size)))
    cells = np.stack(_margins(shares.reshape(*size, *data.shape)), 2)
    return {
        "shares": xr.DataArray(shares, dims=("chain", "draw", "cell")),
        "cells": xr.DataArray(cells, dims=("chain", "draw", "model", "actual", "predicted")),
    }


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray) -> xr.DataArray | None:
    """Return the log-likelihood of each example."""
    counts = xr.DataArray(data.values.ravel(), dims="cell")
    return per_example(posterior["shares"], counts)
