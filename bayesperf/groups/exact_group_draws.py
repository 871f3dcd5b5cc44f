"""Exact draws of the model `groups` of two classes: rows by quadrature, and so the prevalence of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from scipy import special

from bayesperf.core.arrays import Array
from bayesperf.distributions.beta_binomial import posterior


def draws(
    data: xr.DataArray,
    parameters: Mapping[str, Array],
    rngs: Sequence[np.random.Generator],
    size: tuple[int, int],
    *,
    dim: str = "fold",
    groups: str = "random",
    repeats: int = 1,
    design: str = "joint",
) -> dict[str, xr.DataArray]:
    """Return independent draws (chain, draw, …) of the parameters of `groups`, and its cells.

    Parameters
    ----------
    data : xarray.DataArray
        Counts (…, group, actual, predicted) of two classes.
    parameters : mapping
        Parameters of the priors, by name: Dirichlet of ``rates`` (…, actual, predicted) and ``prevalence`` (…, actual);
        Beta of ``dispersion`` (…, actual, 2) and, for clusters, of ``prevalence_dispersion`` (…, 2).
    rngs : sequence of numpy.random.Generator
        One for each system.
    size : tuple of two int
        Chains and draws.
    dim, groups, repeats, design
        The options of the model. The parameters of the priors already belong to the kind of groups.

    Raises
    ------
    NotImplementedError
        If there are more than two classes.
    """
    counts = data.transpose(..., dim, "actual", "predicted")
    if counts.sizes["actual"] != 2:
        raise NotImplementedError(
            "method='exact': groups of more than two classes have no exact form. Use method='mcmc'."
        )
    systems = counts.dims[:-3]
    tables = counts.values.reshape(-1, *counts.shape[-3:]).astype(float)
    priors = {
        name: np.broadcast_to(values, (*counts.shape[:-3], *SHAPES[name])).reshape(-1, *SHAPES[name])
        for name, values in parameters.items()
    }
    each = [
        _system(table, {name: prior[i] for name, prior in priors.items()}, rng, int(np.prod(size)), 1 / repeats, design)
        for i, (table, rng) in enumerate(zip(tables, rngs, strict=True))
    ]
    shape = (*counts.shape[:-3], *size)
    drawn = {name: np.stack([system[name] for system in each]) for name in each[0]}
    return {
        name: xr.DataArray(
            values.reshape(*shape, *values.shape[2:]), dims=(*systems, "chain", "draw", *DIMS[name])
        ).transpose("chain", "draw", ...)
        for name, values in drawn.items()
    }


# The shape of each prior's parameters for one system, and the dims of each variable.
SHAPES = {
    "rates": (2, 2), "dispersion": (2, 2), "prevalence": (2,), "prevalence_dispersion": (2,),
}  # fmt: skip
DIMS = {
    "rates": ("actual", "predicted"), "dispersion": ("actual",), "prevalence": ("actual",),
    "prevalence_dispersion": (), "cells": ("actual", "predicted"),
}  # fmt: skip


def _system(
    tables: Array, prior: Mapping[str, Array], rng: np.random.Generator, n: int, power: float, design: str
) -> dict[str, Array]:
    """Return n draws of one system, from its tables (group, actual, predicted)."""
    totals = tables.sum(-1)
    rows = [
        _row(tables[:, i], prior["rates"][i], prior["dispersion"][i], rng, n, power) for i in range(len(prior["rates"]))
    ]
    informed = totals if design == "joint" else np.zeros_like(totals)
    drawn = {
        "rates": np.stack([rates for rates, _ in rows], 1),
        "dispersion": np.stack([dispersion for _, dispersion in rows], -1),
    }
    if "prevalence_dispersion" in prior:
        drawn["prevalence"], drawn["prevalence_dispersion"] = _row(
            informed, prior["prevalence"], prior["prevalence_dispersion"], rng, n, power
        )
    else:
        first, second = prior["prevalence"] + power * informed.sum(0)
        share = rng.beta(first, second, n)
        drawn["prevalence"] = np.stack([share, 1 - share], -1)
    return drawn | {"cells": drawn["prevalence"][:, :, None] * drawn["rates"]}


def _row(
    counts: Array, mean: Array, dispersion: Array, rng: np.random.Generator, n: int, power: float
) -> tuple[Array, Array]:
    """Return n joint draws of the mean shares (n, 2) and of the dispersion (n,) of one row of groups, (group, 2)."""
    (a, b), (c, d) = mean.tolist(), dispersion.tolist()
    model = posterior(counts[None, :, 0], counts[None].sum(-1), (c, d), (a, b), power)
    logit = model.draws_of_mean(n, [rng])
    rho = model.draws_of_dispersion(logit, [rng])[0]
    return np.stack([special.expit(logit[0]), special.expit(-logit[0])], -1), special.expit(rho)
