"""Compiled models, of which the built-in ones are kept: compiling takes seconds, and sampling less than one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from math import prod
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.sampling.forward import INTERPRETED, dims_of
from bayesperf.sampling.interrupts import load, postponed
from bayesperf.sampling.model_data import resolve_model
from bayesperf.sampling.priors import constant_parameters, has_named_family

if TYPE_CHECKING:
    import pymc as pm

MOST_KEPT = 16
_kept: OrderedDict[Hashable, CompiledModel] = OrderedDict()
# Threads compile one after the other: what one has compiled, the next one finds.
_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """The log density of a model's parameters on the unconstrained scale, and the model's variables there.

    Attributes
    ----------
    density : callable
        Maps a point (n,) and the data to the log density and its gradient (n,). Threads may call it at once.
    variables : callable
        Maps points (draws, n) and the data to the values of the model's variables, each (draws, …).
    dims : dict
        The dims of each of these variables, without that of the draws.
    start : array (n,)
        Where sampling starts, up to a jitter.
    data : dict
        Arrays by the name of their `pymc.Data`; other shared values by number.
    """

    density: Callable[..., tuple[Array, Array]]
    variables: Callable[..., list[Array]]
    dims: dict[str, list[str]]
    start: Array
    data: dict[Any, Array]


def compiled(model: pm.Model, key: Hashable | None = None) -> CompiledModel:
    """Return the compiled form of a model, with the model's data.

    It is kept under the key, if there is one, and given the data of later models of that key.
    """
    if key is None:
        with _lock:
            return _compile(model)
    with _lock:
        if not is_kept(key):
            _kept[key] = _compile(model)
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
        kept = _kept[key]
    kept = replace(kept, start=_flat(_start(model)))
    return with_data(kept, {variable.name: variable.get_value() for variable in model.data_vars})


def is_kept(key: Hashable | None) -> bool:
    """Return whether the compiled form of a model is kept under its key."""
    return key is not None and key in _kept


def with_data(compiled_model: CompiledModel, data: Mapping[str, Any]) -> CompiledModel:
    """Return a compiled model with other data, without those that it does not read."""
    own = compiled_model.data
    used = {name: _contiguous(value, own[name].dtype) for name, value in data.items() if name in own}
    return replace(compiled_model, data=own | used)


def _compile(model: pm.Model) -> CompiledModel:
    """Compile the density, of which sampling takes thousands, by Numba; Python computes the variables, all at once."""
    _check_continuous(model)
    _load_compiler()
    start = _start(model)
    shapes = [value.shape for value in start]
    point, of_point = _log_density(model, shapes)
    points, variables = _variables(model, shapes)
    shared = _shared(model, [*of_point, *variables.values()])
    data = {name: _contiguous(variable.get_value(), variable.dtype) for name, variable in shared.items()}
    with model:
        density = _function(point, of_point, shared, _parallel())
        computed = _function(points, list(variables.values()), shared, INTERPRETED)
    flat = _flat(start)
    density(flat, *data.values())  # Numba compiles what is called for the first time.
    dims = {name: dims_of(model, name, variable.ndim - 1) for name, variable in variables.items()}
    return CompiledModel(density.vm.jit_fn, _one_at_a_time(computed), dims, flat, data)


@cache
def _load_compiler() -> None:
    """Import what compiles, and what Numba imports when it first does."""
    load("pytensor.link.numba.dispatch")
    with postponed():
        import numba

        def nothing() -> None:
            """Stand for the function that is compiled first."""

        numba.njit(nothing)()  # type: ignore[call-arg]


def _one_at_a_time(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of PyTensor's for several threads: it keeps what it computes from in places of its own."""
    lock = threading.Lock()

    def locked(*arguments: Any) -> Any:
        with lock:
            return function(*arguments)

    return locked


def _function(points: Any, outputs: Sequence[Any], shared: Mapping[Any, Any], mode: str) -> Any:
    """Return a function of points and of what the model has in shared variables, which threads then do not share.

    Of their lengths only 1 is known, as it says what is repeated: for other lengths nothing is compiled again.
    """
    import pymc as pm
    from pytensor.graph.replace import clone_replace
    from pytensor.tensor import tensor

    inputs = {
        variable: tensor(dtype=variable.dtype, shape=_open(variable.get_value().shape)) for variable in shared.values()
    }
    outputs = clone_replace(list(outputs), inputs, rebuild_strict=False)
    return pm.compile([points, *inputs.values()], outputs, mode=mode, on_unused_input="ignore", trust_input=True)


def _open(shape: tuple[int, ...]) -> list[int | None]:
    return [length if length == 1 else None for length in shape]


def _parallel() -> Any:
    """Return PyTensor's mode of Numba, but for functions that several threads run at once."""
    from pytensor.compile.mode import NUMBA, Mode
    from pytensor.link.numba.dispatch.basic import numba_njit
    from pytensor.link.numba.linker import NumbaLinker

    class Parallel(NumbaLinker):  # type: ignore[misc]
        def jit_compile(self, fn_and_cache: Any) -> Any:
            function, key = fn_and_cache
            return numba_njit(function.py_func, final_function=True, cache=key is not None, nogil=True)

    return Mode(Parallel(), NUMBA.provided_optimizer)


def _log_density(model: pm.Model, shapes: Sequence[tuple[int, ...]]) -> tuple[Any, list[Any]]:
    """Return a point (n,) and, of it, the log density and its gradient."""
    import pytensor.tensor as pt
    from pymc.logprob.basic import transformed_conditional_logp
    from pymc.logprob.utils import replace_rvs_by_values
    from pymc.pytensorf import rewrite_pregrad
    from pytensor import grad
    from pytensor.graph.replace import clone_replace

    variables: Any = {"rvs_to_values": model.rvs_to_values, "rvs_to_transforms": _transforms(model)}
    terms = [
        *transformed_conditional_logp(model.basic_RVs, **variables),
        *replace_rvs_by_values(model.potentials, **variables),
    ]
    values = [pt.tensor(dtype="float64", shape=shape) for shape in shapes]
    own = dict(zip(model.value_vars, values, strict=True))
    log_density = clone_replace(sum(term.sum() for term in terms), own, rebuild_strict=False)
    # The gradient of a simplified density has half as many operations to compile.
    log_density = rewrite_pregrad(log_density)
    gradient = pt.concatenate([slope.ravel() for slope in grad(log_density, values)])
    point = pt.tensor(dtype="float64", shape=(sum(map(prod, shapes)),))
    parts = dict(zip(values, _split(point, shapes), strict=True))
    return point, clone_replace([log_density, gradient], parts, rebuild_strict=False)


def _transforms(model: pm.Model) -> dict[Any, Any]:
    """Return the model's transforms, with a simplex that takes less to compile in the place of PyMC's."""
    from bayesperf.sampling.simplex import Simplex

    return {**model.rvs_to_transforms, **dict.fromkeys(_simplexes(model), Simplex())}


def _simplexes(model: pm.Model) -> list[Any]:
    """Return the variables that PyMC's simplex transforms."""
    from pymc.distributions.transforms import SimplexTransform

    return [rv for rv, transform in model.rvs_to_transforms.items() if type(transform) is SimplexTransform]


def _variables(model: pm.Model, shapes: Sequence[tuple[int, ...]]) -> tuple[Any, dict[str, Any]]:
    """Return points (draws, n) and, of them, the free variables and those computed from them, (draws, …), by name."""
    import pytensor.tensor as pt
    from pymc.logprob.utils import replace_rvs_by_values
    from pytensor.graph.replace import vectorize_graph

    from bayesperf.sampling.simplex import Simplex

    wanted = [*model.free_RVs, *model.deterministics]
    points = pt.tensor(dtype="float64", shape=(None, sum(map(prod, shapes))))
    parts = dict(zip(model.value_vars, _split(points, shapes), strict=True))
    # PyMC's softmax would be compiled by C, which takes ten seconds on a new machine; ours is of all points at once.
    shares = {rv: rv.type() for rv in _simplexes(model)}
    parts |= {share: Simplex().backward(parts.pop(model.rvs_to_values[rv])) for rv, share in shares.items()}
    untransformed = model.rvs_to_transforms | dict.fromkeys(shares)
    of_values = replace_rvs_by_values(
        wanted, rvs_to_values=model.rvs_to_values | shares, rvs_to_transforms=untransformed
    )
    computed = vectorize_graph(of_values, parts)
    return points, {variable.name: values for variable, values in zip(wanted, computed, strict=True)}


def _split(points: Any, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Return the values of each parameter, (…, *shape), of points (…, n)."""
    stops = list(accumulate(map(prod, shapes)))
    parts = [points[..., stop - prod(shape) : stop] for stop, shape in zip(stops, shapes, strict=True)]
    leading = [points.shape[axis] for axis in range(points.ndim - 1)]
    return [part.reshape((*leading, *shape)) for part, shape in zip(parts, shapes, strict=True)]


def _start(model: pm.Model) -> list[Array]:
    """Return the values of the parameters at which sampling starts, on the unconstrained scale."""
    import pymc as pm
    from pymc.initial_point import make_initial_point_expression

    values = make_initial_point_expression(
        free_rvs=model.free_RVs,
        rvs_to_transforms=model.rvs_to_transforms,
        initval_strategies=model.rvs_to_initial_values,
        return_transformed=True,
    )
    return [np.asarray(value, float) for value in pm.compile([], values, random_seed=0, mode=INTERPRETED)()]


def _flat(values: Sequence[Array]) -> Array:
    return np.concatenate([np.ravel(value) for value in values])


def _shared(model: pm.Model, outputs: Sequence[Any]) -> dict[Any, Any]:
    """Return the shared arrays that outputs are computed from: data by name, others by number."""
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.traversal import ancestors

    found = [v for v in ancestors(outputs) if isinstance(v, SharedVariable) and hasattr(v.type, "shape")]
    data = set(model.data_vars)
    return {variable.name if variable in data else i: variable for i, variable in enumerate(found)}


def _contiguous(value: Any, dtype: Any) -> Array:
    """Return an array as Numba has compiled for: its elements in the order of C."""
    return np.array(value, dtype, order="C")


def _check_continuous(model: pm.Model) -> None:
    if discrete := [variable.name for variable in model.free_RVs if np.dtype(variable.dtype).kind != "f"]:
        raise InputError(
            "model",
            f"{discrete[0]!r} is discrete, and NUTS samples what is continuous.",
            "Sum it out of the model, or say nuts_sampler='pymc', which samples it by steps of its own.",
        )


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
    if not all(isinstance(value, str | Number | tuple | None | xr.DataArray) for value in options.values()):
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
    for variable in (variable for variable in model.free_RVs if variable.name in names):
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
