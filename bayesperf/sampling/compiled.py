"""Compiled models, of which the built-in ones are kept: compiling takes seconds, and sampling less than one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.sampling.model_data import resolve_model
from bayesperf.sampling.nutpie_functions import by_address
from bayesperf.sampling.priors import constant_parameters, has_named_family

if TYPE_CHECKING:
    import pymc as pm

MOST_KEPT = 16
_kept: OrderedDict[Hashable, Any] = OrderedDict()


def compiled(model: pm.Model, key: Hashable | None = None) -> Any:
    """Return nutpie's compiled form of a model, with the model's data.

    It is kept under the key, if there is one, and given the data of later models of that key.
    """
    if key is None:
        return _compile(model)
    if key in _kept:
        _kept.move_to_end(key)
    else:
        _kept[key] = _compile(model)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return with_data(_kept[key], {variable.name: variable.get_value() for variable in model.data_vars})


def _compile(model: pm.Model) -> Any:
    import nutpie

    with by_address():
        return nutpie.compile_pymc_model(model)


def with_data(compiled_model: Any, data: Mapping[str, Any]) -> Any:
    """Return a compiled model with other data, without those that it does not read."""
    used = {variable.name for variable in compiled_model.shared_var_keys}
    return compiled_model.with_data(**{name: value for name, value in data.items() if name in used})


def compilation_key(
    name: Any,
    model: pm.Model,
    counts: xr.DataArray,
    options: Mapping[str, Any],
    priors: Mapping[str, Any] | None,
) -> Hashable | None:
    """Return what the compiled form of a built-in model depends on; None if that cannot be told.

    That is its name, the shapes of its data, its options, and the family and parameters of each prior. Data in
    `pymc.Data` may change; whatever else of the data is in the model is among its constants. A model of the caller's
    own has no key: nothing says that two functions of one name build the same model. Neither has a model with a prior
    that makes its own variables, whose parameters are not constant, or whose family was made for it alone.
    """
    if not isinstance(name, str) or any(hasattr(prior, "create_variable") for prior in (priors or {}).values()):
        return None
    if not all(isinstance(value, str | Number | None | xr.DataArray) for value in options.values()):
        return None
    families = _families(model, resolve_model(name).PRIORS)  # type: ignore[union-attr]
    # Values of arrays are data or constants.
    settings = {key: value.sizes if isinstance(value, xr.DataArray) else value for key, value in options.items()}
    data = [(variable.name, variable.dtype, variable.get_value(borrow=True).shape) for variable in model.data_vars]
    sizes = [(dim, len(labels or ())) for dim, labels in model.coords.items()]
    shapes = (tuple(counts.sizes.items()), tuple(sizes), tuple(data))
    return None if families is None else (name, repr(settings), shapes, families, _constants(model))


def _families(model: pm.Model, names: Mapping[str, Any]) -> Hashable | None:
    """Return the family and the parameters of each prior; None if one has no name or no constant parameters."""
    families = []
    for variable in (model[name] for name in names if name in model.named_vars):
        parameters = constant_parameters(variable)
        if parameters is None or not has_named_family(variable):
            return None
        numbers = tuple((value.shape, value.dtype.str, value.tobytes()) for value in parameters)
        families.append((variable.name, variable.owner.op, numbers))
    return tuple(families)


def _constants(model: pm.Model) -> Hashable:
    """Return the constants of a model, and the shared values that are no data of it."""
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.basic import Constant
    from pytensor.graph.traversal import ancestors

    variables = [*model.basic_RVs, *model.deterministics, *model.potentials, *model.rvs_to_values.values()]
    data, constants = set(model.data_vars), list[Hashable]()
    for variable in ancestors(variables):
        if isinstance(variable, Constant):
            constants.append(variable.signature())
        elif isinstance(variable, SharedVariable) and variable not in data:
            value = variable.get_value(borrow=True)
            if isinstance(value, np.ndarray):
                constants.append((variable.name, value.shape, value.tobytes()))
    return tuple(constants)
