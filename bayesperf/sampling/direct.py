"""Draws that no sampler makes: from exact forms and approximations of posteriors, which a model's file has or names."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.core.random_streams import streams
from bayesperf.sampling.backend import constant_parameters
from bayesperf.sampling.model_data import BuiltModel, named


def direct_draws(built: BuiltModel, method: str, size: tuple[int, int], seed: int) -> xr.Dataset:
    """Return independent draws (chain, draw) by a method, "exact" or "approximate".

    Each system's draws come from its own random stream.

    Raises
    ------
    NotImplementedError
        If the posterior of this model under these priors and options has no such form.
    """
    definition, counts, options = built.definition, built.counts, built.options
    of_cells = built.model.named_vars_to_dims.get("cells", counts.dims)
    systems = [dim for dim in counts.dims[:-2] if dim in of_cells and dim != options.get("dim")]
    rest = [dim for dim in counts.dims if dim not in systems]
    leading = counts.isel(dict.fromkeys(rest, 0), drop=True).transpose(*systems)
    tables = counts.transpose(*systems, *rest).values.reshape(leading.size, -1)
    rngs = streams(seed, method, leading, tables)
    if hasattr(definition, method):
        return xr.Dataset(getattr(definition, method)(counts, built.priors, rngs, size, **options))
    name = getattr(definition, "__name__", str(definition)).rpartition(".")[2]
    place = method.upper()
    if hasattr(definition, place):
        if named(definition) is definition:
            raise NotImplementedError(
                f"method={method!r}: the module {name!r} is a copy, and the function that its {place} names draws from "
                f"the posterior of the original. Use method='mcmc', or define `{method}` in place of {place}."
            )
        module, _, function = getattr(definition, place).partition(":")
        draw = getattr(import_module(f"bayesperf.{module}"), function)
        return xr.Dataset(draw(counts, _parameters(built, method), rngs, size, **options))
    form = {"exact": "closed form", "approximate": "approximation"}[method]
    raise NotImplementedError(
        f"method={method!r}: the posterior of the model {name!r} has no {form}. Use method='mcmc'."
    )


def _parameters(built: BuiltModel, method: str) -> dict[str, Array]:
    """Return the parameters of each prior, along the last axis; refuse families other than the default's."""
    model, defaults, found = built.model, built.definition.PRIORS, {}
    # The options and the data may leave some of them out of the model, or compute them from others.
    there = model.named_vars if built.priors else [variable.name for variable in model.free_RVs]
    for name, default in [(name, prior) for name, prior in defaults.items() if name in there]:
        family = (default(2) if callable(default) else default).owner.op
        parameters = constant_parameters(model[name])
        if type(model[name].owner.op) is not type(family) or parameters is None:
            raise NotImplementedError(
                f"priors: method={method!r} needs a {family.name.capitalize()} prior of {name!r}. Use method='mcmc'."
            )
        found[name] = np.stack(np.broadcast_arrays(*parameters), -1) if family.ndim_supp == 0 else parameters[0]
    return found
