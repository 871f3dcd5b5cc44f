"""Draws from posteriors that have an exact form, which a model's file has or names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.core.random_streams import streams
from bayesperf.sampling.backend import constant_parameters
from bayesperf.sampling.model_data import BuiltModel, named

if TYPE_CHECKING:
    import pymc as pm


def exact_draws(built: BuiltModel, size: tuple[int, int], seed: int) -> xr.Dataset:
    """Return independent draws (chain, draw); each system's draws come from its own random stream.

    Raises
    ------
    NotImplementedError
        If the posterior of this model under these priors and options has no exact form.
    """
    model, definition, counts, options = built.model, built.definition, built.counts, built.options
    of_cells = model.named_vars_to_dims.get("cells", counts.dims)
    systems = [dim for dim in counts.dims[:-2] if dim in of_cells and dim != options.get("dim")]
    rest = [dim for dim in counts.dims if dim not in systems]
    leading = counts.isel(dict.fromkeys(rest, 0), drop=True).transpose(*systems)
    tables = counts.transpose(*systems, *rest).values.reshape(leading.size, -1)
    rngs = streams(seed, "exact", leading, tables)
    if hasattr(definition, "exact"):
        return xr.Dataset(definition.exact(counts, built.priors, rngs, size, **options))
    name = getattr(definition, "__name__", str(definition)).rpartition(".")[2]
    if hasattr(definition, "EXACT"):
        if named(definition) is definition:
            raise NotImplementedError(
                f"method='exact': the module {name!r} is a copy, and the function that its EXACT names draws from the "
                "posterior of the original. Use method='mcmc', or define `exact` in place of EXACT."
            )
        module, _, function = definition.EXACT.partition(":")
        draw = getattr(import_module(f"bayesperf.{module}"), function)
        return xr.Dataset(draw(counts, _parameters(definition, model), rngs, size, **options))
    raise NotImplementedError(
        f"method='exact': the posterior of the model {name!r} has no closed form. Use method='mcmc'."
    )


def _parameters(definition: Any, model: pm.Model) -> dict[str, Array]:
    """Return the parameters of each prior, along the last axis; refuse families other than the default's."""
    found = {}
    # The options may leave some of them out of the model.
    for name, default in [(name, prior) for name, prior in definition.PRIORS.items() if name in model.named_vars]:
        family = (default(2) if callable(default) else default).owner.op
        parameters = constant_parameters(model[name])
        if type(model[name].owner.op) is not type(family) or parameters is None:
            raise NotImplementedError(
                f"priors: method='exact' needs a {family.name.capitalize()} prior of {name!r}. Use method='mcmc'."
            )
        found[name] = np.stack(np.broadcast_arrays(*parameters), -1) if family.ndim_supp == 0 else parameters[0]
    return found
