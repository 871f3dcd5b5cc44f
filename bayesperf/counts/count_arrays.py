"""Tables of counts under `bayesperf.counts`: made from columns of labels, and checked."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesperf.counts.labels import Column, encode, given, listed, recode, union

CELL_DIMS = ("actual", "predicted")
# The columns of a summary beside the leading dims.
SUMMARY_COLUMNS = ("metric", "mean", "sd", "median", "ci_lower", "ci_upper", "method", "mcse", "undefined")
# Names that results use for their own; a leading dim of counts cannot have them.
_RESERVED_DIMS = {"chain", "draw", "x", "q", "ci_bound", *SUMMARY_COLUMNS}
_LARGEST_TABLE = 2**30


class Coded(NamedTuple):
    """Columns of one length as codes: those that become leading dims, and by dim those of labels, of one set."""

    leading: dict[str, Column]
    cells: dict[str, NDArray[np.intp]]
    classes: NDArray[Any]


def code(
    columns: Mapping[str, Column],
    by: Mapping[str, Any],
    labels: Iterable[Any] | None,
    dims: tuple[str, ...] = CELL_DIMS,
) -> Coded:
    """Bring label columns to one set of labels, and leading columns beside them."""
    if not isinstance(by, Mapping):
        raise TypeError(f"by must be a mapping of names to columns, as {{'fold': ids}}; it is {type(by).__name__}.")
    check_dims(list(by), dims)
    keys = {name: encode(values, f"by[{name!r}]", fractions=True) for name, values in by.items()}
    lengths = {name: len(column.codes) for name, column in {**columns, **keys}.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(unequal(lengths))
    classes = union(list(columns.values()), list(columns)) if labels is None else given(labels)
    if len(classes) < 2:
        raise ValueError(f"only one label occurs ({listed(classes.tolist())}): name all of them, as labels=[...].")
    codes = [recode(column, classes, name) for name, column in columns.items()]
    sizes = [len(column.labels) for column in keys.values()] + [len(classes)] * len(columns)
    check_size("by" if keys else ", ".join(columns), sizes)
    return Coded(keys, dict(zip(dims, codes, strict=True)), classes)


def code_pairs(y_true: Any, y_pred: Any, by: Mapping[str, Any], labels: Iterable[Any] | None) -> Coded:
    """Bring actual and predicted labels to one set of labels, and leading columns beside them."""
    columns = {"y_true": encode(y_true, "y_true"), "y_pred": encode(y_pred, "y_pred")}
    return code(columns, by, labels)


def tabulate(coded: Coded, weights: NDArray[np.int64] | None = None) -> xr.DataArray:
    """Count the combinations of codes in one pass."""
    keys, cells, classes = coded
    coords = {name: column.labels for name, column in keys.items()} | dict.fromkeys(cells, classes)
    shape = tuple(len(labels) for labels in coords.values())
    codes = [*[column.codes for column in keys.values()], *cells.values()]
    return xr.DataArray(count(codes, shape, weights), coords, list(coords))


def count(
    codes: Sequence[NDArray[np.intp]], shape: tuple[int, ...], weights: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return how often each combination of codes occurs."""
    flat = np.ravel_multi_index(codes, shape)
    return np.bincount(flat, weights, minlength=math.prod(shape)).astype(np.int64).reshape(shape)


def check_size(name: str, shape: Sequence[int]) -> None:
    """Refuse a table that no memory would hold."""
    if math.prod(shape) > _LARGEST_TABLE:
        raise ValueError(
            f"{name}: the table would have {' × '.join(map(str, shape))} cells. Count over fewer groups, or fewer "
            "classes."
        )


def as_table(table: Any, dims: Sequence[str] | Mapping[str, Sequence[Any]] | None) -> xr.DataArray:
    """Return a table in any of its forms as a DataArray; leading axes get their names."""
    if isinstance(table, xr.DataArray):
        return table
    if isinstance(table, pd.DataFrame):
        same = set(table.index) == set(table.columns) and table.shape[0] == table.shape[1]
        if not same or table.index.has_duplicates:
            raise ValueError("table: the index (actual labels) and the columns (predicted labels) must be the same.")
        named = given(table.index)
        cells = table.reindex(columns=table.index)
        if not all(getattr(dtype, "kind", "O") in "iuf" for dtype in cells.dtypes):
            raise TypeError("counts must hold whole numbers; some column of the table does not.")
        return xr.DataArray(cells.to_numpy(float, na_value=np.nan), {"actual": named, "predicted": named}, CELL_DIMS)
    if np.ma.is_masked(table):
        raise ValueError("table has missing (masked) cells: a count is a number of examples. Fill them in.")
    try:
        values = np.asarray(table)
    except ValueError:
        raise ValueError("table must have shape (..., K, K); its rows are of unequal length.") from None
    if values.ndim < 2:
        raise ValueError(f"table must have shape (..., K, K), rows actual; its shape is {values.shape}.")
    leading = [f"dim_{axis}" for axis in range(values.ndim - 2)] if dims is None else list(dims)
    if len(leading) != values.ndim - 2:
        raise ValueError(f"dims: {len(leading)} names for {values.ndim - 2} leading axes of a table {values.shape}.")
    check_dims(leading)
    coords = {name: list(values) for name, values in dims.items()} if isinstance(dims, Mapping) else {}
    for name, size in zip(leading, values.shape, strict=False):
        if name in coords and len(coords[name]) != size:
            raise ValueError(f"dims: {len(coords[name])} coordinates of {name!r} for an axis of {size}.")
    return xr.DataArray(values, coords, (*leading, *CELL_DIMS))


def relabelled(counts: xr.DataArray, labels: Iterable[Any]) -> xr.DataArray:
    """Name the rows and columns of a table; put one that carries its labels in the order wanted."""
    named = given(labels)
    carried = set(CELL_DIMS) <= set(counts.coords)
    if carried:
        counts = checked_counts(counts, CELL_DIMS)
    if len(named) != counts.sizes["actual"]:
        raise ValueError(f"labels: {len(named)} given for a table of {counts.sizes['actual']} classes.")
    if carried:
        own = counts["actual"].values.tolist()
        if set(own) != set(named.tolist()):
            raise ValueError(f"labels: the table carries others, {own}.")
        order = [own.index(label) for label in named.tolist()]
        counts = counts.isel(actual=order, predicted=order)
    return counts.assign_coords(actual=named, predicted=named)


def check_dims(names: Sequence[Hashable], cell_dims: Sequence[str] = CELL_DIMS) -> None:
    """Refuse names of leading dims that results use for their own, or that come twice."""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"dims must be named by strings; {name!r} is {type(name).__name__}.")
        if name in _RESERVED_DIMS | set(cell_dims) | set(CELL_DIMS):
            raise ValueError(f"dims: {name!r} is a name that results use; rename that dim.")
        if list(names).count(name) > 1:
            raise ValueError(f"dims: {name!r} comes twice.")


def drop_conflicts(arrays: Sequence[xr.DataArray]) -> list[xr.DataArray]:
    """Drop the coordinates, but those of dims, that the arrays do not all share: they name a cell, not the matrix."""

    def shared(name: Hashable) -> bool:
        return all(name in a.coords and a.coords[name].equals(arrays[0].coords[name]) for a in arrays)

    return [a.drop_vars([name for name in a.coords if name not in a.dims and not shared(name)]) for a in arrays]


def checked_counts(counts: xr.DataArray, cell_dims: tuple[str, ...]) -> xr.DataArray:
    """Return counts as a read-only int64 array, cells last, every dim with coordinates."""
    if not isinstance(counts, xr.DataArray) or not set(cell_dims) <= set(counts.dims):
        raise ValueError(f"counts must be a DataArray with dims {', '.join(cell_dims)}.")
    counts = counts.transpose(..., *cell_dims)
    check_dims(counts.dims[: -len(cell_dims)], cell_dims)
    sizes = {counts.sizes[dim] for dim in cell_dims}
    if len(sizes) > 1 or min(sizes) < 2:
        raise ValueError(f"table must be square with at least two classes; its shape is {counts.shape}.")
    values = whole(counts.values, "counts").astype(np.int64)
    values.setflags(write=False)
    missing = {dim: np.arange(size) for dim, size in counts.sizes.items() if dim not in counts.coords}
    counts = counts.copy(data=values).assign_coords(missing)
    for dim in counts.dims[: -len(cell_dims)]:
        if not counts.sizes[dim] or counts.indexes[dim].has_duplicates:
            raise ValueError(f"dims: {dim!r} must have coordinates, each of them once.")
    labels = given(counts[cell_dims[0]].values)
    for dim in cell_dims[1:]:
        if counts[dim].values.tolist() != labels.tolist():
            raise ValueError(f"the labels of {dim} differ from those of {cell_dims[0]}, or are in another order.")
    other_kind = {dim: labels for dim in cell_dims if counts[dim].dtype != labels.dtype}
    return counts.assign_coords(other_kind).rename("counts")


def whole(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Refuse what is not a number of examples."""
    if values.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold whole numbers; it holds {values.dtype}.")
    for problem, where in {
        "missing or infinite": ~np.isfinite(values),
        "negative": values < 0,
        "fractional": values != np.floor(values),
        "too great": values > 2**53,
    }.items():
        if where.any():
            raise ValueError(
                f"{name} holds {values[where].flat[0]}, which is {problem}: counts are numbers of examples "
                "(0, 1, 2, …), not shares or weights."
            )
    return values


def numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a one-dimensional array of numbers, none missing."""
    array = np.atleast_1d(np.ma.filled(np.ma.asarray(values, float), np.nan) if np.ma.is_masked(values) else values)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be numbers; it holds {array.dtype}.")
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be one-dimensional and not empty; its shape is {array.shape}.")
    if np.isnan(array).any():
        missing = np.isnan(array).sum()
        raise ValueError(f"{name} has {missing} missing value{'s' * bool(missing > 1)}. Drop those examples.")
    return array.astype(float)


def positive(labels: list[Any], pos_label: Any) -> Any:
    """Return the positive label of a binary problem: the one named, or the one that the labels imply."""
    if pos_label is None:
        return labels[labels.index(1)] if len(labels) == 2 and set(labels) in ({0, 1}, {-1, 1}) else None
    if np.ndim(pos_label) or pos_label not in labels:
        raise ValueError(f"pos_label={pos_label!r} is not among the labels {labels}.")
    if len(labels) > 2:
        raise ValueError(f"pos_label is for two classes; there are {len(labels)}. See one_vs_rest().")
    return labels[labels.index(pos_label)]


def ask_for_positive(labels: list[Any]) -> str:
    """Return the question for the positive class."""
    return f"which of the labels {labels} is the positive class? Name it, as pos_label={labels[-1]!r}."


def unequal(lengths: Mapping[str, int]) -> str:
    """Return the words for columns of unequal length."""
    return f"columns of unequal length: {', '.join(f'{name} {length}' for name, length in lengths.items())}."
