"""Private or unstable parts of PyMC, PyTensor, nutpie and Numba, which only this file and `simplex_transform` touch.

`models.building` alone defines random variables of its own, which is PyTensor's documented way to extend it; `loops`
alone knows PyTensor's operations as well, by the names of their classes.

Compiled models, of which the built-in ones are kept: compiling takes seconds, and sampling less than one. Draws that
PyMC would make one after the other, made together. Where one of these parts is missing (`unmet`), `pymc.sample` and
PyMC's other public functions take their place: slower, with the same figures but for Monte Carlo error.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
import threading
import timeit
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from hashlib import sha256
from importlib.metadata import version
from itertools import accumulate, pairwise
from math import prod
from numbers import Number
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.sampling import loops
from bayesperf.sampling.interrupts import load, postponed, uncollected
from bayesperf.sampling.model_data import resolve_model
from bayesperf.sampling.simplex_transform import shares, simplex, slope

if TYPE_CHECKING:
    import pymc as pm

# PyTensor's mode that compiles nothing.
INTERPRETED = "FAST_COMPILE"
# What is relied on, by what for; only a sampled fit loads the modules of "sampling". Each row is "module:attribute",
# with the names of the parameters that are given.
RELIES_ON: dict[str, dict[str, str]] = {
    "priors": {
        "pymc.printing:str_for_dist": "dist include_params",
        "pymc.pytensorf:constant_fold": "xs raise_not_constant",
        "pytensor.tensor.random.op:RandomVariable.dist_params": "node",
    },
    "draws together": {
        "pymc.distributions.distribution:SymbolicRandomVariable": "",
        "pymc.model.transform.conditioning:remove_value_transforms": "model",
        "pytensor.graph.replace:vectorize_graph": "outputs replace",
        "pytensor.graph.traversal:ancestors": "graphs blockers",
        "pytensor.tensor.random.op:RandomVariable": "",
        "pytensor.tensor.random.op:RandomVariable.make_node": "rng size dist_params",
        "pytensor.tensor.random.op:RandomVariable.rng_param": "node",
    },
    "sampling": {
        "nutpie.compile_pymc:CompiledPyMCModel": (
            "dims compiled_logp_func compiled_expand_func initial_point_func shared_data shared_var_keys user_data "
            "n_expanded shape_info logp_func expand_func _n_dim _shapes _coords"
        ),
        "nutpie.compiled_pyfunc:from_pyfunc": (
            "ndim make_logp_fn make_expand_fn expanded_dtypes expanded_shapes expanded_names make_initial_point_fn"
        ),
        "pymc.distributions.transforms:SimplexTransform": "",
        "pymc.initial_point:make_initial_point_expression": (
            "free_rvs rvs_to_transforms initval_strategies return_transformed"
        ),
        "pymc.logprob.basic:transformed_conditional_logp": "rvs rvs_to_values rvs_to_transforms",
        "pymc.logprob.utils:replace_rvs_by_values": "graphs rvs_to_values rvs_to_transforms",
        "pymc.pytensorf:rewrite_pregrad": "graph",
        "pytensor.compile.mode:Mode": "linker optimizer",
        "pytensor.compile.mode:Mode.register": "",
        "pytensor.compile.mode:NUMBA.provided_optimizer": "",
        "pytensor.compile.sharedvalue:SharedVariable": "",
        "pytensor.gradient:DisconnectedGrad": "",
        "pytensor.gradient:DisconnectedType": "",
        "pytensor.graph.basic:Apply": "op inputs outputs",
        "pytensor.graph.basic:Constant.signature": "",
        "pytensor.graph.op:Op.pullback": "inputs outputs cotangents",
        "pytensor.graph.replace:clone_replace": "output replace",
        "pytensor.graph.rewriting.basic:dfs_rewriter": "",
        "pytensor.graph.rewriting.basic:node_rewriter": "tracks",
        "pytensor.graph.traversal:io_toposort": "inputs outputs",
        "pytensor.link.numba.cache:compile_numba_function_src": "src function_name global_env cache_key",
        "pytensor.link.numba.dispatch.basic:numba_funcify_and_cache_key": "",
        "pytensor.link.numba.dispatch.basic:numba_njit": "final_function",
        "pytensor.link.numba.dispatch.basic:register_funcify_default_op_cache_key": "op_type",
        "pytensor.link.numba.linker:NumbaLinker.jit_compile": "fn_and_cache",
        "pytensor.link.numba.linker:NumbaLinker.make_all": "",
        "pytensor.scalar:identity": "",
        "pytensor.tensor.basic:Split": "",
        "pytensor.tensor.elemwise:Elemwise": "",
        "pytensor.tensor.math:Sum": "",
        "pytensor.tensor.shape:SpecifyShape": "",
    },
}
# What LLVM may do with numbers: as PyTensor has it, and with infinities and what is no number as they are.
FAST = {"arcp", "contract", "afn", "reassoc", "nsz"}
MOST_KEPT = 16
_kept: OrderedDict[Hashable, CompiledModel] = OrderedDict()
# Threads compile one after the other: what one has compiled, the next one finds.
_lock = threading.Lock()
# Densities in Python that take less than this are called by one chain after the other.
LEAST_SECONDS = 1e-4


# ── The contract ──


@cache
def unmet(use: str = "sampling") -> str | None:
    """Return the first row of `RELIES_ON` that the installed packages do not meet; None if they meet all of a use.

    Sampling relies on all rows.
    """
    uses = RELIES_ON if use == "sampling" else (use,)
    rows = {row: parameters for name in uses for row, parameters in RELIES_ON[name].items()}
    return next((row for row, parameters in rows.items() if not _is_met(row, parameters.split())), None)


def _is_met(row: str, parameters: Sequence[str]) -> bool:
    """Return whether a module has an attribute, which takes parameters of these names."""
    module, _, path = row.partition(":")
    try:
        load(module)
        attribute: Any = reduce(getattr, path.split("."), sys.modules[module])
        return not parameters or inspect.signature(attribute).parameters.keys() >= set(parameters)
    except (ImportError, AttributeError, TypeError, ValueError):
        return False


def missing_in_words(row: str) -> str:
    """Return what is missing and what to do, for a row that `unmet` has returned."""
    package = row.partition(".")[0]
    return (
        f"bayesperf relies on {row.replace(':', '.')}, which {package} {version(package)} does not have in the form "
        "that it knows. Install versions that it was run with: pip install 'pymc>=6,<6.5' 'nutpie>=0.16.9,<0.17'."
    )


# ── Compiled models ──


@dataclass(frozen=True, eq=False)
class DensityInC:
    """A log density and its gradient as a C function, which a sampler need not call by Python: see `loops`."""

    function: Any

    def __call__(self, point: Array, words: Array) -> tuple[Array, Array]:
        """Return the log density at a point (n,), and its gradient (n,)."""
        at, value, gradient = _contiguous(point, float), np.empty(1), np.empty(len(point))
        self.function.ctypes(at.size, *(array.ctypes.data for array in (at, gradient, value, words)))
        return value[0], gradient


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """The log density of a model's parameters on the unconstrained scale, and the model's variables there."""

    # Maps a point (n,) and what `before` returns to the log density and its gradient (n,). Threads may call it at once.
    density: Callable[..., tuple[Array, Array]] | DensityInC
    # Maps the data to the values that the density needs, which are the same at every point.
    before: Callable[..., list[Array]]
    # Maps points (draws, n) and the data to the values of the model's variables, each (draws, …).
    variables: Callable[..., list[Array]]
    # The dims of each of these variables, without the dim of the draws.
    dims: dict[str, list[str]]
    # Where sampling starts, up to a jitter, (n,).
    start: Array
    # Arrays by the name of their `pymc.Data`; other shared values by number.
    data: dict[Any, Array]


@uncollected()
def compiled(model: pm.Model, key: Hashable | None = None) -> CompiledModel:
    """Return the compiled form of a model, with the model's data.

    It is kept under the key, if there is one, and given the data of later models of that key.

    Raises
    ------
    RuntimeError
        If the installed packages lack what this relies on.
    """
    if row := unmet():
        raise RuntimeError(missing_in_words(row))
    if key is None:
        with _lock:
            return _compile(model)
    with _lock:
        new = None if is_kept(key) else _compile(model)
        kept = _kept[key] = new or _kept[key]
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    if new is None:
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
    given = {variable: data[name] for name, variable in shared.items()}
    constant = _constant_in(point, of_point)
    flat = _flat(start)
    with model:
        compute_constant = _one_at_a_time(_function([], constant, given, INTERPRETED))
        values = _prepared(compute_constant, list, *data.values())
        of_constant = dict(zip(constant, values, strict=True))
        density, given_density = _in_loops(point, of_point, of_constant, flat) or _in_parts(
            point, of_point, of_constant, flat
        )
        computed = _function([points], variables.values(), given, INTERPRETED)
    dims = {name: dims_of(model, name, variable.ndim - 1) for name, variable in variables.items()}
    before = partial(_prepared, compute_constant, given_density)
    return CompiledModel(density, before, _one_at_a_time(computed), dims, flat, data)


def _prepared(
    function: Callable[..., list[Array]], given_density: Callable[[list[Array]], list[Array]], *data: Array
) -> list[Array]:
    """Return what a density is given of what a function computes of data."""
    return given_density([_contiguous(value, np.asarray(value).dtype) for value in function(*data)])


def _constant_in(point: Any, outputs: Sequence[Any]) -> list[Any]:
    """Return what outputs are computed from together with a point, and is itself computed from data alone.

    It is the same at every point: Python computes it once, and Numba need not compile it.
    """
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.traversal import io_toposort

    moving, of_data, constant = {point}, set[Any](), dict[Any, None]()
    for node in io_toposort([], outputs):
        if not moving.isdisjoint(node.inputs):
            moving.update(node.outputs)
            constant.update((v, None) for v in node.inputs if v in of_data or isinstance(v, SharedVariable))
        elif any(variable in of_data or isinstance(variable, SharedVariable) for variable in node.inputs):
            of_data.update(node.outputs)
    return list(constant)


def _in_loops(
    point: Any, outputs: Sequence[Any], given: Mapping[Any, Array], start: Array
) -> tuple[DensityInC, Callable[[list[Array]], list[Array]]] | None:
    """Compile outputs as one function of loops; return it, and what makes its arguments of the values given.

    None is returned if they have operations that are no such loops, or if the function and PyTensor's own, which Python
    computes, differ where sampling starts.
    """
    from pytensor.compile.mode import NUMBA, Mode

    apart = ("inplace", "BlasOpt", "fuse_indexed_into_elemwise")
    mode = Mode("py", NUMBA.provided_optimizer.excluding(*apart)).register(_cheaper()[0])
    simplified = _function([point], outputs, given, mode)
    keys: list[str | None] = [version("bayesperf"), version("pytensor")]

    def of_numbers(node: Any) -> Any:
        function, key = _function_of_numbers(node)
        keys.append(key)
        return function

    try:
        source, further, called = loops.written(simplified.maker.fgraph, of_numbers)
    except loops.NoSourceError:
        return None
    density = DensityInC(_numba_function(source, called, keys))

    def words(values: Sequence[Array]) -> list[Array]:
        return [loops.packed([*values, *further])]

    expected = _function([point], outputs, given, None)(start, *given.values())
    same = zip(density(start, *words(list(given.values()))), expected, strict=True)
    return (density, words) if all(np.allclose(a, b, 1e-6, 1e-8, equal_nan=True) for a, b in same) else None


def _function_of_numbers(node: Any) -> tuple[Any, str | None]:
    """Return PyTensor's function of numbers for a node of a scalar operation, for Numba, and its key on disk."""
    from pytensor.link.numba.dispatch.basic import numba_funcify_and_cache_key

    found: tuple[Any, str | None] = numba_funcify_and_cache_key(node.op, node=node)
    return found


def _numba_function(source: str, called: Mapping[str, Any], keys: Sequence[str | None]) -> Any:
    """Return the C function of a source, kept on disk if what it calls has keys there."""
    import numba
    from numba import types
    from pytensor.link.numba.cache import compile_numba_function_src
    from pytensor.link.numba.dispatch.basic import numba_njit

    from bayesperf.sampling import elementary

    key = None if None in keys else sha256(repr((source, inspect.getsource(elementary), keys)).encode()).hexdigest()
    names = {
        "__name__": __name__,
        "carray": numba.carray,  # type: ignore[attr-defined]
        "shares": numba_njit(shares),
        "slope": numba_njit(slope),
        **{function.__name__: function for function in (elementary.exp, elementary.log, elementary.log1p)},
        **loops.FUNCTIONS,
        **called,
    }
    function = compile_numba_function_src(source, "density", names, cache_key=key)
    form = types.int64(types.uint64, *[types.voidptr] * 4)
    return numba.cfunc(form, cache=key is not None, error_model="numpy", fastmath=FAST)(function)


def _in_parts(
    point: Any, outputs: Sequence[Any], given: Mapping[Any, Array], start: Array
) -> tuple[Callable[..., Any], Callable[[list[Array]], list[Array]]]:
    """Compile outputs as PyTensor does, a function for each operation."""
    mode, compiled_by_numba = _parallel()
    _function([point], outputs, given, mode)(start, *given.values())
    return compiled_by_numba[-1], list


@cache
def _load_compiler() -> None:
    """Import what compiles, and what Numba imports when it first does."""
    load("pytensor.link.numba.dispatch")
    with postponed(), uncollected(lasting=True):
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


def _function(points: Sequence[Any], outputs: Iterable[Any], given: Mapping[Any, Array], mode: Any) -> Any:
    """Return a function of points and of the values given of variables, which threads then do not share.

    Without a mode it computes what is written. Only length 1 is known in advance, because it means repetition: for
    other lengths nothing is compiled again.
    """
    import pymc as pm
    from pytensor.graph.replace import clone_replace
    from pytensor.tensor import tensor

    mode = mode or _as_written()
    inputs = {variable: tensor(dtype=variable.dtype, shape=_open(value.shape)) for variable, value in given.items()}
    outputs = clone_replace(list(outputs), inputs, rebuild_strict=False)
    return pm.compile([*points, *inputs.values()], outputs, mode=mode, on_unused_input="ignore", trust_input=True)


def _as_written() -> Any:
    """Return the mode that computes what is written, with Python, but what is only filled, which takes it long."""
    from pytensor.compile.mode import Mode

    return Mode("py", None).including("local_second_to_alloc")


def _open(shape: tuple[int, ...]) -> list[int | None]:
    return [length if length == 1 else None for length in shape]


def _parallel() -> tuple[Any, list[Any]]:
    """Return PyTensor's mode of Numba, but for functions that several threads run at once, and a list for these."""
    from pytensor.compile.mode import NUMBA, Mode
    from pytensor.link.numba.dispatch.basic import numba_njit
    from pytensor.link.numba.linker import NumbaLinker

    compiled_by_numba: list[Any] = []

    class Parallel(NumbaLinker):  # type: ignore[misc]
        def make_all(self, *arguments: Any, **settings: Any) -> Any:
            _leave_out_checks(self.fgraph)
            return super().make_all(*arguments, **settings)

        def jit_compile(self, fn_and_cache: Any) -> Any:
            function, key = fn_and_cache
            parallel = numba_njit(function.py_func, final_function=True, cache=key is not None, nogil=True)
            compiled_by_numba.append(parallel)
            return parallel

    mode = Mode(Parallel(), NUMBA.provided_optimizer)
    return mode.register(*_cheaper()), compiled_by_numba


@cache
def _cheaper() -> list[tuple[Any, float]]:
    """Return rewrites to operations of the same values that Numba compiles in less time, with their places."""
    from pytensor.graph.basic import Constant
    from pytensor.graph.rewriting.basic import dfs_rewriter, node_rewriter
    from pytensor.scalar import identity
    from pytensor.tensor.basic import Split
    from pytensor.tensor.elemwise import Elemwise
    from pytensor.tensor.math import Sum

    @node_rewriter([Split])  # type: ignore[untyped-decorator]
    def into_slices(_: Any, node: Any) -> list[Any] | None:
        array, lengths = node.inputs
        if not isinstance(lengths, Constant):
            return None
        stops = [0, *accumulate(lengths.data.tolist())]
        before = (slice(None),) * node.op.axis
        return [array[(*before, slice(start, stop))] for start, stop in pairwise(stops)]

    @node_rewriter([Sum])  # type: ignore[untyped-decorator]
    def of_elements(_: Any, node: Any) -> list[Any] | None:
        """PyTensor fuses the sum of an elementwise function with it."""
        (array,) = node.inputs
        if array.owner is None or isinstance(array.owner.op, Elemwise) or array.type.dtype != "float64":
            return None
        return [node.op(Elemwise(identity)(array))]

    return [(dfs_rewriter(into_slices), 1.9), (dfs_rewriter(of_elements), 48.9)]


def _leave_out_checks(graph: Any) -> None:
    """Take the checks of shapes, which the model has passed, out of a graph: their messages take seconds to compile."""
    from pytensor.tensor.shape import SpecifyShape

    for node in [node for node in graph.apply_nodes if isinstance(node.op, SpecifyShape)]:
        (checked,), array = node.outputs, node.inputs[0]
        if checked.type.broadcastable == array.type.broadcastable and checked not in graph.outputs:
            for client, i in list(graph.clients[checked]):
                graph.change_node_input(client, i, array, check=False)


def _log_density(model: pm.Model, shapes: Sequence[tuple[int, ...]]) -> tuple[Any, list[Any]]:
    """Return a point (n,) and, of it, the log density and its gradient."""
    import pytensor.tensor as pt
    from pymc.logprob.basic import transformed_conditional_logp
    from pymc.logprob.utils import replace_rvs_by_values
    from pymc.pytensorf import rewrite_pregrad
    from pytensor import grad
    from pytensor.gradient import DisconnectedGrad
    from pytensor.graph.replace import clone_replace
    from pytensor.graph.traversal import ancestors

    variables: Any = {"rvs_to_values": model.rvs_to_values, "rvs_to_transforms": _transforms(model)}
    terms = [
        *transformed_conditional_logp(model.basic_RVs, **variables),
        *replace_rvs_by_values(model.potentials, **variables),
    ]
    values = [pt.tensor(dtype="float64", shape=shape) for shape in shapes]
    own = dict(zip(model.value_vars, values, strict=True))
    log_density = clone_replace(sum(term.sum() for term in terms), own, rebuild_strict=False)
    # What a model has taken out of the gradient would be simplified into it again.
    apart = {v: v.type() for v in ancestors([log_density]) if v.owner and isinstance(v.owner.op, DisconnectedGrad)}
    # The gradient of a simplified density has half as many operations to compile.
    log_density = rewrite_pregrad(clone_replace(log_density, apart, rebuild_strict=False))
    gradient = pt.concatenate([slope.ravel() for slope in grad(log_density, values)])
    back = {value: variable for variable, value in apart.items()}
    whole = clone_replace([log_density, gradient], back, rebuild_strict=False)
    point = pt.tensor(dtype="float64", shape=(sum(map(prod, shapes)),))
    parts = dict(zip(values, _split(point, shapes), strict=True))
    return point, clone_replace(whole, parts, rebuild_strict=False)


def _transforms(model: pm.Model) -> dict[Any, Any]:
    """Return the model's transforms, with a simplex in place of PyMC's that takes less time to compile."""
    return {**model.rvs_to_transforms, **dict.fromkeys(_simplexes(model), simplex())}


def _simplexes(model: pm.Model) -> list[Any]:
    """Return the variables that PyMC's simplex transforms."""
    from pymc.distributions.transforms import SimplexTransform

    return [rv for rv, transform in model.rvs_to_transforms.items() if type(transform) is SimplexTransform]


def _variables(model: pm.Model, shapes: Sequence[tuple[int, ...]]) -> tuple[Any, dict[str, Any]]:
    """Return points (draws, n) and, of them, the free variables and those computed from them, (draws, …), by name."""
    import pytensor.tensor as pt
    from pymc.logprob.utils import replace_rvs_by_values
    from pytensor.graph.replace import vectorize_graph

    wanted = [*model.free_RVs, *model.deterministics]
    points = pt.tensor(dtype="float64", shape=(None, sum(map(prod, shapes))))
    parts = dict(zip(model.value_vars, _split(points, shapes), strict=True))
    # PyMC's softmax would be compiled by C, which takes ten seconds on a new machine; ours is of all points at once.
    shares = {rv: rv.type() for rv in _simplexes(model)}
    parts |= {share: simplex().backward(parts.pop(model.rvs_to_values[rv])) for rv, share in shares.items()}
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


def started(compiled_model: CompiledModel, model: pm.Model, initvals: Mapping[str, Any]) -> CompiledModel:
    """Return a compiled model that is sampled from given values of variables on, if there are any."""
    return replace(compiled_model, start=_flat(_start(model, initvals))) if initvals else compiled_model


def impossible_at_start(model: pm.Model, initvals: Mapping[str, Any]) -> dict[str, float]:
    """Return the log densities that are not finite where sampling starts, by variable."""
    values = zip(model.value_vars, _start(model, initvals), strict=True)
    point = {variable.name: value.astype(variable.dtype) for variable, value in values}
    densities = model.point_logps(point, mode=INTERPRETED)
    return {name: float(density) for name, density in densities.items() if not np.isfinite(density)}


def _start(model: pm.Model, initvals: Mapping[str, Any] | None = None) -> list[Array]:
    """Return the values of the parameters at which sampling starts, on the unconstrained scale."""
    import pymc as pm
    from pymc.initial_point import make_initial_point_expression

    values = make_initial_point_expression(
        free_rvs=model.free_RVs,
        rvs_to_transforms=model.rvs_to_transforms,
        initval_strategies=model.rvs_to_initial_values | {model[name]: at for name, at in (initvals or {}).items()},
        return_transformed=True,
    )
    return [np.asarray(value, float) for value in pm.compile([], values, random_seed=0, mode=_as_written())()]


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


# ── Sampling by nutpie ──


def sample_compiled(
    model: CompiledModel, settings: Mapping[str, Any], seed: int, progressbar: bool = False
) -> dict[str, xr.Dataset]:
    """Sample a compiled model by nutpie; return the groups posterior, without labels, and sample_stats."""
    load("nutpie")
    import nutpie

    data = tuple(model.data.values())
    of_nutpie, own, stop = (_called_in_c if isinstance(model.density, DensityInC) else _called_in_python)(model, data)
    settings = {**own, **settings}
    try:
        running = nutpie.sample(
            of_nutpie, **settings, seed=seed, progress_bar=progressbar, save_warmup=False, blocking=False
        )
    except AttributeError as error:
        unknown = str(error).removeprefix("Unknown settings attribute: ")
        if unknown not in settings:
            raise
        raise InputTypeError(unknown, unknown_setting("nutpie")) from None
    try:
        tree = running.wait()
    except BaseException:  # What was drawn until then is no sample of the posterior.
        stop()  # A chain is cancelled when its trajectory has ended: here, at the next point.
        running.cancel()
        raise
    points = tree["posterior"]["point"].values
    values = model.variables(points.reshape(-1, points.shape[-1]), *data)
    each = zip(model.dims.items(), values, strict=True)
    posterior = {
        name: (("chain", "draw", *dims), value.reshape(*points.shape[:2], *value.shape[1:]))
        for (name, dims), value in each
    }
    return {"posterior": xr.Dataset(posterior), "sample_stats": tree["sample_stats"].to_dataset()}


def _called_in_c(model: CompiledModel, data: Sequence[Array]) -> tuple[Any, dict[str, Any], Callable[[], None]]:
    """Return what nutpie samples, settings for it, and what stops its chains, for a density in C."""
    from nutpie.compile_pymc import CompiledPyMCModel

    (words,), n = model.before(*data), len(model.start)
    density: Any = model.density
    # The variables are computed from the points, all at once.
    in_c = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint64, *[ctypes.c_void_p] * 3)(_copy)
    address = ctypes.cast(in_c, ctypes.c_void_p).value
    of_nutpie = CompiledPyMCModel(
        dims={}, compiled_logp_func=density.function,
        compiled_expand_func=SimpleNamespace(address=address, function=in_c),
        initial_point_func=partial(_jittered, model.start), shared_data={}, shared_var_keys={}, user_data=words,
        n_expanded=n, shape_info=(["point"], [slice(0, n)], [(n,)]), logp_func=None, expand_func=None, _n_dim=n,
        _shapes={"point": (n,)}, _coords={},
    )  # fmt: skip

    def stop() -> None:
        words[0] = 1

    return of_nutpie, {}, stop


def _copy(_: int, size: int, point: int, values: int, __: int) -> int:
    """Copy a point, (size,), from one address to another."""
    ctypes.memmove(values, point, 8 * size)
    return 0


def _called_in_python(model: CompiledModel, data: Sequence[Array]) -> tuple[Any, dict[str, Any], Callable[[], None]]:
    """Return what nutpie samples, settings for it, and what stops its chains, for a density in Python."""
    from nutpie.compiled_pyfunc import from_pyfunc

    before, stopped = model.before(*data), threading.Event()

    def density(point: Array) -> tuple[float, Array]:
        if stopped.is_set():
            return np.nan, point
        value, slope = model.density(point, *before)
        return float(value), slope

    of_nutpie = from_pyfunc(
        len(model.start),
        make_logp_fn=lambda: density,
        make_expand_fn=lambda *_: lambda point: {"point": point},
        expanded_dtypes=[np.dtype(float)],
        expanded_shapes=[model.start.shape],
        expanded_names=["point"],
        make_initial_point_fn=partial(_jittered, model.start),
    )
    # Chains would wait for each other, to call a quick density, for longer than it takes.
    quick = min(timeit.repeat(lambda: density(model.start), number=1, repeat=5)) < LEAST_SECONDS
    return of_nutpie, {"cores": 1 if quick else None}, stopped.set


def _jittered(start: Array, seed: int) -> Array:
    """Return where a chain starts, as PyMC does: next to the middle of the prior."""
    return start + np.random.default_rng(seed).uniform(-1, 1, len(start))


def unknown_setting(sampler: str) -> str:
    """Return why a setting is refused."""
    return f"is no argument of bayesperf.fit, nor a setting of its sampler, {sampler}."


# ── Draws and densities of a model, for all draws of others together ──


def drawn_together(model: pm.Model, given: xr.Dataset) -> dict[str, Any] | None:
    """Return the variables of a model as arrays (chain, draw, …), one draw of them for each of those given.

    PyMC would draw them one after the other, which takes a millisecond each. A model with variables of unknown shape,
    or whose parameters are random in themselves, is left to it: then None is returned.
    """
    if unmet("draws together"):
        return None
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
    """Return a repeated parameter (chain, draw, …) with the same number of dims as the others; else unchanged."""
    from pytensor.tensor import expand_dims

    return after if after.ndim == before.ndim else expand_dims(after, tuple(range(2, 2 + missing)))


def _constant(draws: xr.DataArray, variable: Any) -> Any:
    from pytensor.tensor import constant

    return constant(draws.values.astype(variable.dtype))


def computed_once(outputs: Sequence[Any], seed: int = 0) -> list[Array]:
    """Return the values of outputs as they are written: to simplify them takes longer than to compute them once."""
    import pymc as pm

    values: list[Array] = pm.compile([], list(outputs), random_seed=seed, mode=_as_written())()
    return values


def densities(model: pm.Model, names: Sequence[str], posterior: xr.Dataset) -> dict[str, Any] | None:
    """Return the log densities of variables at each draw of the posterior, as arrays (chain, draw, …).

    None is returned where PyMC must compute them.
    """
    if unmet("draws together"):
        return None
    from pymc.model.transform.conditioning import remove_value_transforms
    from pytensor.graph.replace import vectorize_graph

    untransformed = remove_value_transforms(model)
    terms = untransformed.logp(vars=[untransformed[name] for name in names], sum=False)
    given = posterior.transpose("chain", "draw", ...)
    at = {untransformed.rvs_to_values[rv]: _constant(given[rv.name], rv) for rv in untransformed.free_RVs}
    return dict(zip(names, vectorize_graph(terms, at), strict=True))


def log_shares(model: pm.Model, names: Sequence[str], posterior: xr.Dataset) -> dict[str, Any] | None:
    """Return the logarithms of the shares of multinomial variables at each draw, as arrays (chain, draw, …, share).

    None is returned where PyMC must compute the densities.
    """
    if unmet("draws together"):
        return None
    import pytensor.tensor as pt
    from pymc.model.transform.conditioning import remove_value_transforms
    from pytensor.graph.replace import vectorize_graph

    untransformed = remove_value_transforms(model)
    variables = [untransformed[name] for name in names]
    shares = [pt.log(variable.owner.op.dist_params(variable.owner)[1]) for variable in variables]
    given = posterior.transpose("chain", "draw", ...)
    at = {untransformed.rvs_to_values[rv]: _constant(given[rv.name], rv) for rv in untransformed.free_RVs}
    terms = untransformed.replace_rvs_by_values(shares)
    return dict(zip(names, vectorize_graph(terms, at), strict=True))


def dims_of(model: pm.Model, name: str, ndim: int) -> list[str]:
    """Return the first dims of a variable of a model; those without a name are called as ArviZ would."""
    dims = model.named_vars_to_dims.get(name) or [None] * ndim
    return [dim or f"{name}_dim_{axis}" for axis, dim in enumerate(dims[:ndim])]


# ── Priors and data of a built model ──


def constant_parameters(variable: Any) -> list[Array] | None:
    """Return the parameters of a random variable; None if some are not constant, or PyMC does not tell them."""
    if unmet("priors"):
        return None
    from pymc.pytensorf import constant_fold

    family: Any = variable.owner.op
    # Truncated and other derived distributions may have no signature.
    if not hasattr(family, "dist_params") or getattr(family, "extended_signature", "") is None:
        return None
    parameters = family.dist_params(variable.owner)
    if _has_other_draws(parameters, {}):
        return None
    folded = constant_fold(parameters, raise_not_constant=False)
    constant = all(isinstance(value, np.ndarray | np.number) for value in folded)
    return [np.asarray(value) for value in folded] if constant else None


def family_in_words(variable: Any, with_parameters: bool) -> str:
    """Return the family of a random variable as PyMC prints it, with its parameters or without."""
    if unmet("priors"):
        return str(variable.owner.op)
    from pymc.printing import str_for_dist

    return str(str_for_dist(variable, include_params=with_parameters)).partition(" ~ ")[2]


def data_of(model: pm.Model, variable: Any) -> set[Any]:
    """Return the `pymc.Data` from which the values of an observed variable are computed; PyMC may have cast them."""
    from pytensor.graph.traversal import ancestors

    return set(model.data_vars).intersection(ancestors([model.rvs_to_values[variable]]))


# ── Keys of compiled models ──


def compilation_key(
    name: Any,
    model: pm.Model,
    counts: xr.DataArray,
    options: Mapping[str, Any],
    priors: Mapping[str, Any] | None,
) -> Hashable | None:
    """Return what the compiled form of a built-in model depends on; None if that cannot be told.

    That is its name, the shapes of its data, its options, and the family and parameters of each prior. Data in
    `pymc.Data` may change; whatever else of the data is in the model is among its constants. A dim of data alone may
    have another length. A model of the caller's own has no key: nothing says that two functions of one name build the
    same model. Neither has a model with a prior that makes its own variables, whose parameters are not constant, or
    whose family was made for it alone.
    """
    if not isinstance(name, str) or any(hasattr(prior, "create_variable") for prior in (priors or {}).values()):
        return None
    if not all(isinstance(value, str | Number | tuple | None | xr.DataArray) for value in options.values()):
        return None
    # Priors of rates may be variables that are not in `PRIORS`: by the same name, or of a typical group.
    given = [*(priors or {}), *(f"typical_{prior}" for prior in priors or {})]
    families = _families(model, {*resolve_model(name).PRIORS, *given})  # type: ignore[union-attr]
    # Values of arrays are data or constants.
    settings = {key: value.sizes if isinstance(value, xr.DataArray) else value for key, value in options.items()}
    parts = (tuple(counts.sizes), _shapes(model), families, _constants(model))
    return None if families is None else (name, repr(settings), *parts)


def _shapes(model: pm.Model) -> Hashable:
    """Return the lengths of dims and the types of data; of a dim of data alone, whether it has one label or more.

    The compiled functions take arrays of any length, but they know in advance which have the length 1.
    """
    lengths = {dim: len(labels or ()) for dim, labels in model.coords.items()}
    computed = [*model.free_RVs, *model.deterministics]
    own = {dim for variable in computed for dim in model.named_vars_to_dims.get(variable.name, ())}
    if all(variable.name in model.named_vars_to_dims for variable in computed if variable.ndim):
        lengths = {dim: length if dim in own else min(length, 2) for dim, length in lengths.items()}
    data = []
    for variable in model.data_vars:
        shape = variable.get_value(borrow=True).shape
        dims = model.named_vars_to_dims.get(variable.name, [None] * len(shape))
        data.append((variable.name, variable.dtype, *(lengths.get(d, n) for d, n in zip(dims, shape, strict=True))))
    observed = [(variable.name, type(variable.owner.op)) for variable in model.observed_RVs]
    return tuple(lengths.items()), tuple(data), tuple(observed)


def _families(model: pm.Model, names: Collection[str]) -> Hashable | None:
    """Return the family and the parameters of each prior; None if one has no name or no constant parameters."""
    families = []
    for variable in (variable for variable in model.free_RVs if variable.name in names):
        parameters = constant_parameters(variable)
        if parameters is None or not _has_named_family(variable):
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


def _has_named_family(variable: Any) -> bool:
    """Return whether the family of a random variable is a class of its module, not one made for a single variable."""
    family = type(variable.owner.op)
    return getattr(sys.modules.get(family.__module__), family.__name__, None) is family
