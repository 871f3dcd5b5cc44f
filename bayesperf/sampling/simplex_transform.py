"""PyMC's simplex transform as one operation, which Numba compiles in a second rather than in twenty.

What it relies on stands in `bayesperf.sampling.backend.RELIES_ON`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from bayesperf.core.arrays import Array


@cache
def simplex() -> Any:
    """Return PyMC's transform, with the same coordinates: logarithms of shares less their mean, but the last."""
    from pymc.distributions.transforms import SimplexTransform

    class Simplex(SimplexTransform):  # type: ignore[misc]
        def backward(self, value: Any, *inputs: Any) -> Any:
            """Return the shares."""
            return _shares_operation()(value)[0]

        def log_jac_det(self, value: Any, *inputs: Any) -> Any:
            """Return the log determinant of the Jacobian of `backward`."""
            return _shares_operation()(value)[1]

    return Simplex()


@cache
def _shares_operation() -> Any:
    """Return the operation from coordinates (…, K − 1) to shares (…, K) and the log determinant of their Jacobian (…).

    The shares p are a softmax of the coordinates and of minus their sum; the log determinant is log K + Σ log p.
    Operations are classes of PyTensor's, whose methods it names and calls.
    """
    import pytensor.tensor as pt
    from pytensor.gradient import DisconnectedType
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    class _Shares(Op):  # type: ignore[misc]
        __props__ = ()

        def make_node(self, coordinates: Any) -> Apply:
            coordinates = pt.as_tensor(coordinates, dtype="float64")
            *leading, size = coordinates.type.shape
            shares = pt.tensor(dtype="float64", shape=(*leading, None if size is None else size + 1))
            return Apply(self, [coordinates], [shares, pt.tensor(dtype="float64", shape=tuple(leading))])

        def perform(self, node: Apply, inputs: list[Array], outputs: Any) -> None:
            outputs[0][0], outputs[1][0] = shares(inputs[0])

        # Of the arguments the shapes are the last: PyTensor 3.0 gives the graph before the node.
        def infer_shape(self, *arguments: Any) -> Any:
            ((*leading, size),) = arguments[-1]
            return [(*leading, size + 1), tuple(leading)]

        def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
            given = [
                pt.zeros_like(output) if isinstance(cotangent.type, DisconnectedType) else cotangent
                for output, cotangent in zip(outputs, cotangents, strict=True)
            ]
            return [_slope_operation()(outputs[0], *given)]

    return _in_numba(_Shares, shares)


@cache
def _slope_operation() -> Any:
    """Return the operation from shares (…, K), and gradients by them and by the log determinant (…), to (…, K − 1)."""
    import pytensor.tensor as pt
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    class _Slope(Op):  # type: ignore[misc]
        __props__ = ()

        def make_node(self, shares: Any, of_shares: Any, of_determinant: Any) -> Apply:
            *leading, size = shares.type.shape
            slope = pt.tensor(dtype="float64", shape=(*leading, None if size is None else size - 1))
            return Apply(self, [shares, of_shares, of_determinant], [slope])

        def perform(self, node: Apply, inputs: list[Array], outputs: Any) -> None:
            outputs[0][0] = slope(*inputs)

        def infer_shape(self, *arguments: Any) -> Any:
            *leading, size = arguments[-1][0]
            return [(*leading, size - 1)]

    return _in_numba(_Slope, slope)


def _in_numba(operation: Any, function: Callable[..., Any]) -> Any:
    """Return an operation of a class, for which Numba compiles a function."""
    from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key

    @register_funcify_default_op_cache_key(operation)  # type: ignore[untyped-decorator]
    def in_numba(*_: Any, **__: Any) -> Any:
        return numba_njit(function)

    return operation()


def shares(coordinates: Array) -> tuple[Array, Array]:
    """Return shares (…, K) and the log determinant of their Jacobian (…) at coordinates (…, K − 1)."""
    leading, size = coordinates.shape[:-1], coordinates.shape[-1] + 1
    rows = np.ascontiguousarray(coordinates).reshape(-1, size - 1)
    share, determinant = np.empty((len(rows), size)), np.empty(len(rows))
    for i in range(len(rows)):
        last = 0.0
        for k in range(size - 1):
            last -= rows[i, k]
        greatest = last
        for k in range(size - 1):
            greatest = max(greatest, rows[i, k])
        total = 0.0
        for k in range(size):
            share[i, k] = math.exp((rows[i, k] if k < size - 1 else last) - greatest)
            total += share[i, k]
        for k in range(size):
            share[i, k] /= total
        determinant[i] = math.log(size) - size * (greatest + math.log(total))
    return share.reshape((*leading, size)), determinant.reshape(leading)


def slope(shares: Array, of_shares: Array, of_determinant: Array) -> Array:
    """Return the gradient (…, K − 1) by the coordinates from those by the shares and by the log determinant."""
    leading, size = shares.shape[:-1], shares.shape[-1]
    share = np.ascontiguousarray(shares).reshape(-1, size)
    by_share = np.ascontiguousarray(of_shares).reshape(-1, size)
    by_determinant = np.ascontiguousarray(of_determinant).reshape(-1)
    gradient = np.empty((len(share), size - 1))
    for i in range(len(share)):
        mean = size * by_determinant[i]
        for k in range(size):
            mean += share[i, k] * by_share[i, k]
        last = share[i, size - 1] * (by_share[i, size - 1] - mean)
        for k in range(size - 1):
            gradient[i, k] = share[i, k] * (by_share[i, k] - mean) - last
    return gradient.reshape((*leading, size - 1))
