"""Types of arrays, by their contents, and operations on arrays.

The contents are real values, numbers of examples, positions among labels, or truth values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core.fields import Held

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Codes = NDArray[np.intp]
Booleans = NDArray[np.bool_]
# Real numbers, or complex ones where formulas are differentiated by the complex-step method.
Numbers = NDArray[Any]


def decoded(values: Any) -> Any:
    """Return a column or a table of PyArrow with its dictionaries written out; return anything else unchanged.

    NumPy reads missing values in a chunked dictionary as one of its entries, and PyArrow does not group by chunks with
    different dictionaries.
    """
    if not type(values).__module__.startswith("pyarrow"):
        return values
    import pyarrow as pa

    if isinstance(values, pa.Table):
        for place, name in enumerate(values.column_names):
            if pa.types.is_dictionary(values.schema.field(place).type):
                values = values.set_column(place, name, decoded(values.column(place)))
        return values
    is_coded = isinstance(values, pa.Array | pa.ChunkedArray) and pa.types.is_dictionary(values.type)
    return values.cast(values.type.value_type) if is_coded else values


def sums_of_others(values: Numbers) -> Numbers:
    """Return the sum of all other elements along the last axis, by addition only.

    Differences from the total would keep few digits if one element is nearly all of it.

    Examples
    --------
    >>> sums_of_others(np.array([1.0, 2, 4]))
    array([6., 5., 3.])
    """
    others = np.zeros_like(values)
    others[..., 1:] += np.cumsum(values[..., :-1], -1)
    others[..., :-1] += np.cumsum(values[..., :0:-1], -1)[..., ::-1]
    return others


def blocks(n: int, width: int, most: int = 2**21) -> Iterator[slice]:
    """Yield slices of n draws such that arrays of the given width have at most `most` elements."""
    size = max(1, most // width)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


# BLAS divides products of more multiplications among threads.
_SHARED = 2**18


def row_product(rows: Array, matrix: Array) -> Array:
    """Return rows @ matrix, of rows (…, n), a few at a time: one thread then takes them all.

    Threads that share a product of this size wait for each other for longer than it takes, and waiting costs as much.
    """
    flat = rows.reshape(-1, len(matrix))
    product = np.empty((len(flat), matrix.shape[1]))
    for block in blocks(len(flat), matrix.size, _SHARED):
        np.matmul(flat[block], matrix, out=product[block])
    return product.reshape(*rows.shape[:-1], matrix.shape[1])


@lru_cache(maxsize=4)
def pairs_of(n: int) -> tuple[Codes, Codes]:
    """Return the positions of the first and the second of each pair of n, in the order of `itertools.combinations`."""
    first, second = np.triu_indices(n, 1)
    first.setflags(write=False)
    second.setflags(write=False)
    return first, second


# ── Derivatives by complex steps, which are exact to the last digits (Squire & Trapp 1998, SIAM Review 40) ──


def complex_step(function: Callable[[Numbers], Numbers], x: Array, direction: Any = 1.0, step: float = 1e-30) -> Array:
    """Return the derivative of a function at x along a direction d: Im f(x + ihd)/h, with h the step."""
    return np.asarray(np.imag(function(x + 1j * step * direction)) / step)


# ── Coordinates that results share: making them anew takes longer than many of the results themselves ──


def coordinate(dim: str, values: Sequence[Any] | Numbers) -> xr.DataArray:
    """Return an array of coordinates along a dim."""
    along = np.asarray(values)
    return xr.DataArray(along, {dim: along}, [dim], name=dim)


def positions(leading: xr.DataArray) -> xr.DataArray:
    """Return the position of each place along leading dims, row by row, with their coordinates."""
    return leading.copy(deep=False, data=np.arange(leading.size).reshape(leading.shape))


def without_dims(array: xr.DataArray, dims: Collection[Hashable]) -> xr.DataArray:
    """Return an array of zeros with the dims of another one except some, and its coordinates that do not use these."""
    sizes = {dim: size for dim, size in array.sizes.items() if dim not in dims}
    kept = [name for name, each in array.coords.variables.items() if {*each.dims}.isdisjoint(dims)]
    if not sizes and not kept:
        return NO_DIMS
    return xr.DataArray(np.zeros([*sizes.values()]), {name: array.coords[name] for name in kept}, [*sizes])


# The leading dims of one figure: none.
NO_DIMS = xr.DataArray(0.0)
# The last dim of intervals.
CI_BOUND = coordinate("ci_bound", ["lower", "upper"])


def labelled(
    values: Array,
    leading: xr.DataArray,
    last: xr.DataArray | None = None,
    name: str | None = None,
    attrs: Mapping[Any, Any] | None = None,
) -> xr.DataArray:
    """Return values as an array with another array's dims and coordinates, followed by those of a last dim.

    A copy of an array shares its coordinates. A new array copies them, which takes longer than many results.
    """
    if last is not None and (leading.ndim or len(leading.coords)):
        return xr.DataArray(values, leading.coords | last.coords, (*leading.dims, *last.dims), name, attrs)
    array = (leading if last is None else last).copy(deep=False, data=values)
    array.name, array.attrs = name, dict(attrs or {})
    return array


@dataclass(frozen=True, eq=False)
class PairsAlong(Held):
    """All pairs of the places along a dim of an array, in the order of `itertools.combinations`."""

    # An array with this dim, and any others; its values are not used.
    leading: xr.DataArray
    dim: str

    @cached_property
    def names(self) -> tuple[Any, ...]:
        """The coordinates along the dim."""
        return tuple(self._along.tolist())

    @cached_property
    def rows(self) -> tuple[Codes, Codes]:
        """Positions of the first and the second place of each pair among all elements of the array, row by row."""
        shape = self.leading.shape
        order = np.moveaxis(np.arange(self.leading.size).reshape(shape), self.leading.dims.index(self.dim), -1)
        first, second = (order[..., side].ravel() for side in pairs_of(len(self.names)))
        return first, second

    @cached_property
    def leading_of_pairs(self) -> xr.DataArray:
        """An array of zeros with a last dim ``pair``, labelled "x − y", in place of the dim."""
        return self._others.expand_dims(pair=self.labels("−"), axis=-1)

    @cached_property
    def leading_of_both(self) -> xr.DataArray:
        """An array of zeros with two last dims, of the first and of the second place, in place of the dim."""
        both = {name: self._along.rename(name) for name in (self.dim, f"{self.dim}_other")}
        return self._others.expand_dims(both, [-2, -1])

    @property
    def _along(self) -> pd.Index:
        return self.leading.get_index(self.dim)

    @property
    def _others(self) -> xr.DataArray:
        return without_dims(self.leading, [self.dim])

    def labels(self, sign: str) -> pd.Index:
        """Return the label of each pair, as an index: from a list xarray would make strings of equal width first."""
        return pd.Index([f"{a} {sign} {b}" for a, b in combinations(map(str, self.names), 2)])
