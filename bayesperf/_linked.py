"""Compiled densities, called by their address.

nutpie puts a C function around a density that PyTensor compiled, by which Numba links the density into it, then
optimises and compiles it all once more, in every process: ten seconds for a hierarchical model, the density of which
lay compiled on the disk. Called by its address it is taken from there as it is, and all that is compiled is the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_WRAPPER = "make_extraction_fn"
_lock = Lock()


@contextmanager
def by_address() -> Iterator[None]:
    """Have nutpie call by its address what it compiles; a nutpie that works otherwise is left alone."""
    from nutpie import compile_pymc

    wrap = getattr(compile_pymc, _WRAPPER, None)
    if wrap is None:
        yield
        return
    with _lock:
        setattr(compile_pymc, _WRAPPER, lambda function, *arguments: wrap(called_by_address(function), *arguments))
        try:
            yield
        finally:
            setattr(compile_pymc, _WRAPPER, wrap)


def called_by_address(function: Any) -> Any:
    """Return a Numba function that calls another without linking it; what that one raises, it raises."""
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
