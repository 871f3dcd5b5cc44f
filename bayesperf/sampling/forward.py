"""What is computed of a model once, for all draws together: by Python, because compiling would take longer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.sampling.backend import INTERPRETED, computed_once, densities, dims_of, drawn_together, log_shares

if TYPE_CHECKING:
    import pymc as pm


def prior_draws(model: pm.Model, draws: int, seed: int, predictive: bool = True) -> dict[str, xr.Dataset]:
    """Return the groups prior and, if asked for, prior_predictive, of one chain."""
    import pymc as pm

    sizes = xr.Dataset(coords={"chain": [0], "draw": np.arange(draws)})
    observed = [variable.name for variable in model.observed_RVs]
    if (variables := drawn_together(model, sizes)) is None:
        wanted = None if predictive else [variable.name for variable in (*model.free_RVs, *model.deterministics)]
        tree = pm.sample_prior_predictive(
            draws, model=model, var_names=wanted, random_seed=seed, compile_kwargs={"mode": INTERPRETED}
        )
        return {name: tree[name].to_dataset() for name in ("prior", "prior_predictive") if name in tree}
    if not predictive:
        return {"prior": _evaluated(model, {k: v for k, v in variables.items() if k not in observed}, sizes, seed)}
    drawn = _evaluated(model, variables, sizes, seed)
    return {"prior": drawn.drop_vars(observed), "prior_predictive": drawn[observed]}


def predictions(model: pm.Model, posterior: xr.Dataset, seed: int) -> xr.Dataset:
    """Return the data that each draw of the posterior predicts."""
    import pymc as pm

    given = posterior[[variable.name for variable in model.free_RVs]].transpose("chain", "draw", ...)
    if (variables := drawn_together(model, given)) is None:
        tree: xr.DataTree = pm.sample_posterior_predictive(
            xr.DataTree.from_dict({"posterior": posterior}), model=model, random_seed=seed, progressbar=False,
            compile_kwargs={"mode": INTERPRETED},
        )  # fmt: skip
        return tree["posterior_predictive"].to_dataset()
    return _evaluated(model, {variable.name: variables[variable.name] for variable in model.observed_RVs}, given, seed)


def log_densities(model: pm.Model, variables: Sequence[Any], posterior: xr.Dataset) -> xr.Dataset:
    """Return the log densities of free or of observed variables at each draw of the posterior."""
    import pymc as pm

    names = [variable.name for variable in variables]
    if (computed := densities(model, names, posterior)) is None:
        free = {variable.name for variable in model.free_RVs}
        compute = pm.stats.compute_log_prior if free.issuperset(names) else pm.stats.compute_log_likelihood
        tree = xr.DataTree.from_dict({"posterior": posterior})
        found: xr.Dataset = compute(
            tree, var_names=names, model=model, extend_inferencedata=False, progressbar=False,
            compile_kwargs={"mode": INTERPRETED},
        )  # fmt: skip
        return found
    return _evaluated(model, computed, posterior)


def log_likelihoods(model: pm.Model, posterior: xr.Dataset) -> tuple[xr.Dataset, bool]:
    """Return the log-likelihood of observed variables, and whether some had too many values.

    For multinomial counts it is the log-likelihood of each example, because a whole table is too much to leave out.
    """
    import pymc as pm

    from bayesperf.models.building import MOST_VALUES

    families = {variable.name: variable.owner.op for variable in model.observed_RVs}
    tables = [name for name, family in families.items() if isinstance(family, type(pm.Multinomial.rv_op))]
    shares = log_shares(model, tables, posterior) if tables else None
    if shares is None:
        return log_densities(model, model.observed_RVs, posterior), False
    rest = [variable for variable in model.observed_RVs if variable.name not in tables]
    computed = _evaluated(model, {}, posterior) if not rest else log_densities(model, rest, posterior)
    seen = given_data(model)["observed_data"]
    size = posterior.sizes["chain"] * posterior.sizes["draw"]
    if sum(int(seen[name].sum()) for name in tables) * size > MOST_VALUES:
        return xr.Dataset(), True
    for name, values in zip(tables, computed_once(list(shares.values())), strict=True):
        counts = seen[name].values
        flat = np.broadcast_to(values, (*values.shape[:2], *counts.shape)).reshape(*values.shape[:2], -1)
        computed[name] = ("chain", "draw", f"{name}_example"), np.repeat(flat, counts.ravel(), axis=-1)
    return computed, False


def given_data(model: pm.Model) -> dict[str, xr.Dataset]:
    """Return the groups observed_data and constant_data."""
    import pymc as pm

    values = [model.rvs_to_values[variable] for variable in model.observed_RVs]
    computed = pm.compile([], values, mode=INTERPRETED)()
    observed = {variable.name: value for variable, value in zip(model.observed_RVs, computed, strict=True)}
    constant = {variable.name: variable.get_value() for variable in model.data_vars if variable not in values}
    return {
        group: xr.Dataset({name: (dims_of(model, name, np.ndim(value)), value) for name, value in variables.items()})
        for group, variables in (("observed_data", observed), ("constant_data", constant))
    }


def _evaluated(model: pm.Model, variables: Mapping[str, Any], draws: xr.Dataset, seed: int = 0) -> xr.Dataset:
    """Return the values of variables (chain, draw, …) with their dims and labels."""
    values = computed_once(list(variables.values()), seed)
    labelled = {
        name: (("chain", "draw", *dims_of(model, name, value.ndim - 2)), value)
        for name, value in zip(variables, values, strict=True)
    }
    group = xr.Dataset(labelled, {dim: draws[dim] for dim in ("chain", "draw")})
    return group.assign_coords({dim: list(of) for dim, of in model.coords.items() if dim in group.dims and of})
