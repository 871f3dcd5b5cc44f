"""C functions of compiled densities, for nutpie.

nutpie puts a C function around a density that PyTensor compiled, by which Numba links the density into it, then
optimises and compiles it all once more, in every process: ten seconds for a hierarchical model, the density of which
lay compiled on the disk. It compiles the text of an error, and a loop over the data, for six seconds more. Here the
density is called by its address, with the data one by one: it is taken from the disk as it is, and all that is
compiled is the call, within two seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

_lock = Lock()


@contextmanager
def by_address() -> Iterator[None]:
    """Let nutpie call compiled densities by address in this context; a nutpie that works otherwise is left alone."""
    from nutpie import compile_pymc as nutpie

    # Our makers of C functions in the place of nutpie's, and the signatures that they are for.
    ours = {
        "_make_c_logp_func": (_density, "(uint64, float64*, float64*, float64*, void*) -> int64"),
        "_make_c_expand_func": (_expanded, "(uint64, uint64, float64*, float64*, void*) -> int64"),
    }
    supported = all(hasattr(nutpie, name) for name in (*ours, "address_as_void_pointer"))
    with _lock:
        theirs = {name: getattr(nutpie, name) for name in ours} if supported else {}
        for name, make in theirs.items():
            setattr(nutpie, name, _instead(make, *ours[name]))
        try:
            yield
        finally:
            for name, make in theirs.items():
                setattr(nutpie, name, make)


def _instead(theirs: Any, ours: Any, expected: str) -> Any:
    """Return a maker of C functions: ours where nutpie calls them as expected, else nutpie's own."""

    def make(*arguments: Any) -> tuple[Any, Any]:
        function, signature = theirs(*arguments)
        *_, user_data, keys, _ = arguments
        if str(signature) == expected and _is_record_of_words(user_data.dtype, keys):
            function = ours(*arguments)
        return function, signature

    return make


def _density(size: int, function: Any, user_data: Any, keys: Sequence[str], shared: Mapping[str, Any]) -> Any:
    """Return the C function of a density and its gradient, which returns nutpie's error codes."""
    from numba.np.numpy_support import carray

    call = _with_data(function, user_data.dtype, keys, shared)

    def density(dim, point, gradient, value, data):  # type: ignore[no-untyped-def]
        if dim != size:
            return -1
        try:
            log_density, slope = call(carray(point, (size,)), data)
        except Exception:
            return 1
        value[0] = log_density
        for i in range(size):
            gradient[i] = slope[i]
            if not np.isfinite(slope[i]):
                return 3
        return 0 if np.isfinite(log_density) else 4

    return density


def _expanded(
    size: int, n_expanded: int, function: Any, user_data: Any, keys: Sequence[str], shared: Mapping[str, Any]
) -> Any:
    """Return the C function of the variables computed from a point, which returns nutpie's error codes."""
    from numba.np.numpy_support import carray

    call = _with_data(function, user_data.dtype, keys, shared)

    def expanded(dim, expanded_dim, point, values, data):  # type: ignore[no-untyped-def]
        if dim != size or expanded_dim != n_expanded:
            return -1
        try:
            (computed,) = call(carray(point, (size,)), data)
        except Exception:
            return -2
        for i in range(n_expanded):
            values[i] = computed[i]
        return 0

    return expanded


def _is_record_of_words(record: np.dtype[Any], keys: Sequence[str]) -> bool:
    """Return whether a record holds addresses, sizes and shapes of data as words of eight bytes."""
    shared = record["shared"] if record.names == ("shared",) else record
    return shared.names == ("data", "size", "shape") and all(
        shared[part][key].base == np.uint64 for part in shared.names for key in keys
    )


def _word(record: np.dtype[Any], *path: str) -> int:
    """Return the word of a record at which a field begins."""
    start = 0
    for name in path:
        assert record.fields is not None
        record, offset = record.fields[name][:2]
        start += offset
    return start // 8


def _with_data(function: Any, record: np.dtype[Any], keys: Sequence[str], shared: Mapping[str, Any]) -> Any:
    """Return a Numba function (point, address of a record) that calls another with the data of the record."""
    import numba
    from numba.np.numpy_support import carray
    from nutpie.compile_pymc import address_as_void_pointer

    arrays = []
    for i, key in enumerate(keys):
        first = _word(record, "shared", "shape", key)
        shape = "".join(f"int(word[{first + axis}]), " for axis in range(shared[key].ndim))
        arrays.append(f"array(pointer(word[{_word(record, 'shared', 'data', key)}]), ({shape}), dtype_{i})")
    names = {
        "array": carray,
        "pointer": address_as_void_pointer,
        "call": called_by_address(function),
        "uint64": np.uint64,
        **{f"dtype_{i}": shared[key].dtype for i, key in enumerate(keys)},
    }
    # Spelt out: Numba would compile a loop over data of several types for seconds.
    exec(
        "def with_data(point, data):\n"
        f"    word = array(data, ({record.itemsize // 8},), uint64)\n"
        f"    return call({', '.join(['point', *arrays])})\n",
        names,
    )
    return numba.njit(names["with_data"])


def called_by_address(function: Any) -> Any:
    """Return a Numba function that calls another by address, without linking it, and raises what that one raises."""
    import numba
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    def call(typing_context: Any, arguments: Any) -> Any:
        _, _, folded, _ = function.get_call_template(tuple(arguments), {})
        compiled = function.overloads[tuple(folded)]
        result, parameters = compiled.signature.return_type, compiled.signature.args
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            convention = context.call_conv
            pointer = convention.get_function_type(result, parameters).as_pointer()
            callee = builder.inttoptr(context.get_constant(types.uintp, address), pointer)
            status, value = convention.call_function(builder, callee, result, parameters, values)
            with cgutils.if_unlikely(builder, status.is_error):  # type: ignore[no-untyped-call]
                convention.return_status_propagate(builder, status)
            return value

        return result(arguments), generate

    call_it: Any = intrinsic(call)
    return numba.njit(lambda *arguments: call_it(arguments))
