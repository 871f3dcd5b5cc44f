"""Compiled PyMC models, kept: sampling takes less than a second, compiling takes seconds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesperf.sampling.linked import by_address

if TYPE_CHECKING:
    import pymc as pm

_KEPT = 16
_compiled: OrderedDict[Hashable, Any] = OrderedDict()


def compiled(model: pm.Model) -> Any:
    """Return nutpie's compiled form of a model, with the model's data.

    Models of one structure and one shape of data share a compilation, whatever their data and coordinates. Data must be
    `pymc.Data`; other constants are part of the structure.
    """
    import nutpie

    key = structure(model)
    if key in _compiled:
        _compiled.move_to_end(key)
    else:
        with by_address():
            _compiled[key] = nutpie.compile_pymc_model(model)
        while len(_compiled) > _KEPT:
            _compiled.popitem(last=False)
    return with_data(_compiled[key], {variable.name: variable.get_value() for variable in model.data_vars})


def with_data(function: Any, data: dict[str, Any]) -> Any:
    """Return a compiled model with other data; what only simulations read is no part of it."""
    used = {variable.name for variable in function.shared_var_keys}
    return function.with_data(**{name: value for name, value in data.items() if name in used})


def structure(model: pm.Model) -> Hashable:
    """Return all that compiling a model depends on: its graph, its constants, the shapes of its data."""
    from pytensor.graph.traversal import toposort

    variables = [*model.basic_RVs, *model.deterministics, *model.potentials]
    # A transform is what it computes.
    transforms = {rv: transform for rv, transform in model.rvs_to_transforms.items() if transform is not None}
    transformed = [
        compute(model.rvs_to_values[rv], *rv.owner.inputs)
        for rv, transform in transforms.items()
        for compute in (transform.backward, transform.log_jac_det)
    ]
    number: dict[Any, int] = {}
    data = set(model.data_vars)

    def token(variable: Any) -> Hashable:
        if variable in number:
            return number[variable]
        if hasattr(variable, "data"):
            value = variable.data
            return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else repr(value)
        value = variable.get_value(borrow=True) if hasattr(variable, "get_value") else None
        if not isinstance(value, np.ndarray):
            return variable.name, str(variable.type)
        # Data are changed with every fit; other shared values are not.
        return variable.name, str(variable.type), value.shape, None if variable in data else value.tobytes()

    graph = []
    for node in toposort([*variables, *transformed]):
        graph.append((node.op, tuple(token(variable) for variable in node.inputs)))
        number |= {output: len(number) + i for i, output in enumerate(node.outputs)}
    names = tuple((variable.name, token(variable)) for variable in variables)
    free = tuple((rv.name, type(transforms.get(rv)).__name__) for rv in model.free_RVs)
    computed = tuple(token(variable) for variable in transformed)
    dims = tuple(sorted((name, tuple(dims)) for name, dims in model.named_vars_to_dims.items()))
    observed = tuple((rv.name, token(model.rvs_to_values[rv])) for rv in model.observed_RVs)
    sizes = tuple((dim, len(values or ())) for dim, values in model.coords.items())
    return tuple(graph), names, free, computed, observed, dims, sizes
