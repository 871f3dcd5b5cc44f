"""What is computed of a model once, for all draws together: by Python, because compiling would take longer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    import pymc as pm

# PyTensor's mode that compiles nothing.
INTERPRETED = "FAST_COMPILE"


def prior_draws(model: pm.Model, draws: int, seed: int) -> dict[str, xr.Dataset]:
    """Return the groups prior and prior_predictive, of one chain."""
    import pymc as pm

    sizes = xr.Dataset(coords={"chain": [0], "draw": np.arange(draws)})
    if (variables := _drawn_together(model, sizes)) is None:
        tree = pm.sample_prior_predictive(draws, model=model, random_seed=seed, compile_kwargs={"mode": INTERPRETED})
        return {name: tree[name].to_dataset() for name in ("prior", "prior_predictive") if name in tree}
    drawn = _evaluated(model, variables, sizes, seed)
    observed = [variable.name for variable in model.observed_RVs]
    return {"prior": drawn.drop_vars(observed), "prior_predictive": drawn[observed]}


def predictions(model: pm.Model, posterior: xr.Dataset, seed: int) -> xr.Dataset:
    """Return the data that each draw of the posterior predicts."""
    import pymc as pm

    given = posterior[[variable.name for variable in model.free_RVs]].transpose("chain", "draw", ...)
    if (variables := _drawn_together(model, given)) is None:
        tree: xr.DataTree = pm.sample_posterior_predictive(
            xr.DataTree.from_dict({"posterior": posterior}), model=model, random_seed=seed, progressbar=False,
            compile_kwargs={"mode": INTERPRETED},
        )  # fmt: skip
        return tree["posterior_predictive"].to_dataset()
    return _evaluated(model, {variable.name: variables[variable.name] for variable in model.observed_RVs}, given, seed)


def log_densities(model: pm.Model, variables: Sequence[Any], posterior: xr.Dataset) -> xr.Dataset:
    """Return the log densities of free or observed variables at each draw of the posterior."""
    from pymc.model.transform.conditioning import remove_value_transforms
    from pytensor.graph.replace import vectorize_graph

    names = [variable.name for variable in variables]
    untransformed = remove_value_transforms(model)
    densities = untransformed.logp(vars=[untransformed[name] for name in names], sum=False)
    given = posterior.transpose("chain", "draw", ...)
    at = {untransformed.rvs_to_values[rv]: _constant(given[rv.name], rv) for rv in untransformed.free_RVs}
    computed = dict(zip(names, vectorize_graph(densities, at), strict=True))
    return _evaluated(model, computed, posterior)


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


def dims_of(model: pm.Model, name: str, ndim: int) -> list[str]:
    """Return the first dims of a variable of a model; those without a name are called as ArviZ would."""
    dims = model.named_vars_to_dims.get(name) or [None] * ndim
    return [dim or f"{name}_dim_{axis}" for axis, dim in enumerate(dims[:ndim])]


def _drawn_together(model: pm.Model, given: xr.Dataset) -> dict[str, Any] | None:
    """Return the variables of a model as arrays (chain, draw, …), one draw of them for each of those given.

    PyMC would draw them one after the other, which takes a millisecond each. A model with variables of unknown shape,
    or whose parameters are random in themselves, is left to it: then None is returned.
    """
    from pytensor.graph.replace import vectorize_graph
    from pytensor.tensor.random.op import RandomVariable

    drawn: dict[Any, Any] = {model[str(name)]: _constant(draws, model[str(name)]) for name, draws in given.items()}
    for variable in [variable for variable in model.basic_RVs if variable not in drawn]:
        operation = variable.owner.op
        dims = model.named_vars_to_dims.get(variable.name, ())
        if not isinstance(operation, RandomVariable) or len(dims) != variable.ndim or not _known(model, dims):
            return None
        own = operation.dist_params(variable.owner)
        if _has_other_draws(own, drawn):
            return None
        batch = [len(model.coords[dim]) for dim in dims[: variable.ndim - operation.ndim_supp]]
        repeated = vectorize_graph(own, drawn) if drawn else own
        parameters = [
            _aligned(before, after, len(batch) - (before.ndim - core))
            for before, after, core in zip(own, repeated, operation.ndims_params, strict=True)
        ]
        node = operation.make_node(
            operation.rng_param(variable.owner), [given.sizes["chain"], given.sizes["draw"], *batch], *parameters
        )
        drawn[variable] = node.outputs[1]
    computed = vectorize_graph(model.deterministics, drawn) if model.deterministics else []
    new = {variable.name: values for variable, values in drawn.items() if variable.name not in given}
    return new | {variable.name: values for variable, values in zip(model.deterministics, computed, strict=True)}


def _has_other_draws(parameters: Sequence[Any], drawn: Mapping[Any, Any]) -> bool:
    """Return whether parameters depend on random variables other than those drawn."""
    from pymc.distributions.distribution import SymbolicRandomVariable
    from pytensor.graph.traversal import ancestors
    from pytensor.tensor.random.op import RandomVariable

    others = (variable for variable in ancestors(parameters, blockers=drawn) if variable not in drawn)
    return any(v.owner and isinstance(v.owner.op, RandomVariable | SymbolicRandomVariable) for v in others)


def _known(model: pm.Model, dims: Sequence[Any]) -> bool:
    """Return whether dims have labels, and so lengths."""
    return all(model.coords.get(dim) is not None for dim in dims)


def _aligned(before: Any, after: Any, missing: int) -> Any:
    """Return a repeated parameter (chain, draw, …) with as many dims as the others have; one not repeated as it is."""
    from pytensor.tensor import expand_dims

    return after if after.ndim == before.ndim else expand_dims(after, tuple(range(2, 2 + missing)))


def _constant(draws: xr.DataArray, variable: Any) -> Any:
    from pytensor.tensor import constant

    return constant(draws.values.astype(variable.dtype))


def _evaluated(model: pm.Model, variables: Mapping[str, Any], draws: xr.Dataset, seed: int = 0) -> xr.Dataset:
    """Return the values of variables (chain, draw, …) with their dims and labels."""
    import pymc as pm

    values = pm.compile([], list(variables.values()), random_seed=seed, mode=INTERPRETED)()
    labelled = {
        name: (("chain", "draw", *dims_of(model, name, value.ndim - 2)), value)
        for name, value in zip(variables, values, strict=True)
    }
    group = xr.Dataset(labelled, {dim: draws[dim] for dim in ("chain", "draw")})
    return group.assign_coords({dim: list(of) for dim, of in model.coords.items() if dim in group.dims and of})
