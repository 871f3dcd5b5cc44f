"""Arrays of counts: labelled tables with dims (…, actual, predicted), and checks of their form."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.axis_names import axis_role, is_transposed
from bayesperf.data.label_encoding import check_labels

CELL_DIMS = ("actual", "predicted")
# The only row of a table of outcomes, which have no actual class.
ALL = "all"
# What counts say of their examples, in attributes, which stay with them in xarray and in files: the dim of systems
# tested on the same ones, the dim along which they are counted again, the class whose correct calls nobody counted.
SAME_EXAMPLES, COUNTED_AGAIN, UNCOUNTED = "same_examples", "repeats", "uncounted_negatives"
# Columns of a posterior summary, apart from the leading dims.
SUMMARY_COLUMNS = (
    "metric", "observed", "mean", "sd", "median", "ci_lower", "ci_upper", "method", "mcse", "mcse_interval", "undefined"
)  # fmt: skip
# Names that results use for their own dims and columns; no leading dim of counts can have them.
_RESERVED_DIMS = {"chain", "draw", "x", "q", "ci_bound", "answer", "mode", *SUMMARY_COLUMNS}
# What pandas calls the row and the column of totals.
_MARGIN = "All"
# Cells of a table: 2 GiB of counts.
_LARGEST_TABLE = 2**28


def check_size(name: str, shape: Sequence[int], classes: int = 0) -> None:
    """Refuse a table too large for memory; if there are many `classes`, name them as the likely cause."""
    if math.prod(shape) <= _LARGEST_TABLE:
        return
    cause = f" {classes:,} different labels may be ids or scores: give columns of labels." if classes > 1_000 else ""
    raise InputError(
        name,
        f"the table would have {' × '.join(map(str, shape))} cells, more than memory holds.{cause} "
        "Count over fewer groups, or fewer classes.",
    )


def check_dims(names: Sequence[Hashable], cell_dims: Sequence[str] = CELL_DIMS) -> None:
    """Refuse names of leading dims that are reserved, repeated, or not strings."""
    for name in names:
        if not isinstance(name, str):
            raise InputTypeError("dims", f"must be named by strings; {name!r} is {type(name).__name__}.")
        if name in _RESERVED_DIMS | set(cell_dims) | set(CELL_DIMS):
            raise InputError("dims", f"{name!r} is a name that results use; rename that dim.")
        if list(names).count(name) > 1:
            raise InputError("dims", f"{name!r} comes twice.")


def checked_cells(values: NDArray[Any], axes: int) -> NDArray[Any]:
    """Return an array whose last axes are cells; refuse cells that are not a table of counts."""
    sizes = values.shape[-axes:]
    if len(set(sizes)) > 1 or min(sizes) < 2:
        what = "be square with at least two classes" if axes > 1 else "have at least two outcomes"
        raise InputError("table", f"must {what}; its shape is {values.shape}.")
    checks.whole_numbers("counts", values)
    if (most := values.sum(tuple(range(-axes, 0)), dtype=float).max(initial=0)) > checks.MOST_EXAMPLES:
        raise InputError(
            "counts",
            f"have a matrix that adds up to {most:.4g}, and figures of more than "
            f"{checks.MOST_EXAMPLES:.0e} examples lose their digits.",
            "Divide all by one number, as counts // 1000: intervals are then too wide, not too narrow.",
        )
    return values


def checked_counts(counts: xr.DataArray, cell_dims: tuple[str, ...]) -> xr.DataArray:
    """Return counts as a read-only int64 array, cell dims last, every dim with coordinates."""
    if not isinstance(counts, xr.DataArray) or not set(cell_dims) <= set(counts.dims):
        raise InputError("counts", f"must be a DataArray with dims {', '.join(cell_dims)}.")
    if counts.dims[-len(cell_dims) :] != cell_dims:
        counts = counts.transpose(..., *cell_dims)
    check_dims(counts.dims[: -len(cell_dims)], cell_dims)
    values = checked_cells(counts.values, len(cell_dims))
    if counts.name != "counts" or values.dtype != np.int64 or values.flags.writeable or values.base is not None:
        # Others may change these: only counts that nobody can change, as a matrix has them, are taken as they are.
        counts = counts.copy(deep=False, data=values.astype(np.int64))
        counts.name = "counts"
        counts.values.setflags(write=False)
    missing = {dim: np.arange(size) for dim, size in counts.sizes.items() if dim not in counts.coords}
    if missing:
        counts = counts.assign_coords(missing)
    for dim in counts.dims[: -len(cell_dims)]:
        if not counts.sizes[dim] or counts.get_index(dim).has_duplicates:
            raise InputError("dims", f"{dim!r} must have coordinates, each of them once.")
    along = {dim: counts.coords.variables[dim].values for dim in cell_dims}
    labels = check_labels(along[cell_dims[0]], fractions=len(cell_dims) == 1)
    for dim, own in along.items():
        if own.tolist() != labels.tolist():
            raise InputError("counts", f"must have the labels of {cell_dims[0]} along {dim}, in the same order.")
    other_kind = {dim: labels for dim, own in along.items() if own.dtype != labels.dtype}
    return counts.assign_coords(other_kind) if other_kind else counts


def marked(counts: xr.DataArray, mark: str, value: Hashable | None = None) -> xr.DataArray:
    """Return counts with the value of a mark; without the mark if it is None."""
    if counts.attrs.get(mark) == value:
        return counts
    others = {name: other for name, other in counts.attrs.items() if name != mark}
    counts = counts.copy(deep=False)
    counts.attrs = others | ({} if value is None else {mark: value})
    return counts


def same_examples(counts: xr.DataArray) -> Hashable | None:
    """Return the dim of the systems tested on the same examples, if counts are marked with it."""
    dim: Hashable = counts.attrs.get(SAME_EXAMPLES)
    return dim if dim in counts.dims else None


def repeated_dim(counts: xr.DataArray) -> Hashable | None:
    """Return the dim along which examples are counted again, if counts are marked with it."""
    dim: Hashable = counts.attrs.get(COUNTED_AGAIN)
    return dim if dim in counts.dims and counts.sizes[dim] > 1 else None


def has_uncounted_negatives(counts: xr.DataArray | None) -> bool:
    """Whether these are counts of two classes whose true negatives were not counted."""
    return counts is not None and UNCOUNTED in counts.attrs


def refuse_uncounted_cells(counts: xr.DataArray | None, argument: str = "", needs: str = "the cells need") -> None:
    """Refuse counts without true negatives if they are needed."""
    if has_uncounted_negatives(counts):
        raise InputError(
            argument,
            f"{needs} true negatives, and nobody counted them.",
            "Ask for precision, recall or f1 of `posterior`, or give `tn`.",
        )


def as_table(array: xr.DataArray) -> xr.DataArray:
    """Return outcomes (…, outcome) as tables of one row (…, actual, predicted); return tables unchanged."""
    if "outcome" not in array.dims:
        return array
    row = array.rename(outcome="predicted").expand_dims(actual=[ALL]).transpose(..., *CELL_DIMS)
    return row.assign_attrs(array.attrs)


def as_outcomes(cells: xr.DataArray) -> xr.DataArray:
    """Return tables of one row (…, actual, predicted) as outcomes (…, outcome); return other tables unchanged."""
    if cells.sizes["actual"] > 1:
        return cells
    return cells.isel(actual=0, drop=True).rename(predicted="outcome")


def table_to_counts(
    table: Any, dims: Sequence[str] | Mapping[str, Sequence[Any]] | None, argument: str = "table"
) -> xr.DataArray:
    """Return a DataArray, DataFrame or array (…, K, K) as a DataArray.

    `dims` names the leading axes of an array, and `argument` the table in errors.
    """
    if isinstance(table, xr.DataArray):
        return _with_cell_dims(table, argument)
    if isinstance(table, pd.DataFrame):
        return _frame_to_counts(table, argument)
    if np.ma.is_masked(table):
        raise InputError(argument, "has missing (masked) cells: a count is a number of examples.", "Fill them in.")
    try:
        values = np.asarray(table)
    except ValueError:
        raise InputError(argument, "must have shape (..., K, K); its rows are of unequal length.") from None
    except TypeError as error:
        raise InputTypeError(argument, f"no array can be made of it: {error}") from None
    if values.ndim < 2:
        raise InputError(argument, f"must have shape (..., K, K), rows actual; its shape is {values.shape}.")
    leading = [f"dim_{axis}" for axis in range(values.ndim - 2)] if dims is None else dims
    coords = named_axes(leading, values.shape[:-2], f"leading axes of a table {values.shape}")
    return xr.DataArray(values, coords, (*leading, *CELL_DIMS))


def named_axes(
    dims: Sequence[str] | Mapping[str, Sequence[Any]], shape: Sequence[int], axes: str
) -> dict[str, list[Any]]:
    """Return the coordinates that `dims` gives to axes of some shape, after checking that they fit.

    `axes` describes in errors what is named.
    """
    if isinstance(dims, str):
        raise InputTypeError("dims", f"must be a sequence or a mapping of names, as dims=[{dims!r}]; it is {dims!r}.")
    if len(dims) != len(shape):
        raise InputError("dims", f"{len(dims)} names for {len(shape)} {axes}.")
    check_dims(list(dims))
    coords = {name: list(labels) for name, labels in dims.items()} if isinstance(dims, Mapping) else {}
    for name, size in zip(dims, shape, strict=True):
        if name in coords and len(coords[name]) != size:
            raise InputError("dims", f"{len(coords[name])} coordinates of {name!r} for an axis of {size}.")
    return coords


def labelled_arrays(
    arrays: Mapping[str, Any], dims: Sequence[str] | Mapping[str, Sequence[Any]] | None
) -> list[xr.DataArray]:
    """Return arrays, given by name, as DataArrays over the same dims; refuse arrays that do not fit them.

    Plain arrays broadcast by their shapes, as in NumPy, and `dims` names their axes; without it they are ``dim_0``, ….
    A DataArray has its own dims.
    """
    *first, last = arrays
    names = f"{', '.join(first)} and {last}"
    # A column of a frame is labelled by its index, unless its axis is named.
    labelled_types = (xr.DataArray, pd.Series) if dims is None else (xr.DataArray,)
    labelled = {name: xr.DataArray(value) for name, value in arrays.items() if isinstance(value, labelled_types)}
    for array in labelled.values():
        check_dims(array.dims)
    # A DataArray turns masked values into missing ones.
    plain = {name: xr.DataArray(value).values for name, value in arrays.items() if name not in labelled}
    try:
        shape = np.broadcast_shapes(*(value.shape for value in plain.values()))
    except ValueError as error:
        raise InputError(names, f"do not broadcast: {error}") from None
    leading = [f"dim_{axis}" for axis in range(len(shape))] if dims is None else dims
    coords = named_axes(leading, shape, f"axes of {names}, whose shape is {shape}")
    for name, value in plain.items():
        spread = (np.broadcast_to(value, shape), coords, list(leading)) if value.ndim else (value,)
        labelled[name] = xr.DataArray(*spread)
    try:
        return list(xr.broadcast(*xr.align(*drop_conflicting_coords([labelled[n] for n in arrays]), join="exact")))
    except ValueError as error:
        raise InputError(names, f"do not broadcast: {error}") from None


def _with_cell_dims(table: xr.DataArray, argument: str) -> xr.DataArray:
    """Return a DataArray whose dims of actual and predicted labels have these names."""
    if set(CELL_DIMS) <= set(table.dims):
        return table
    roles = [axis_role(name) for name in table.dims]
    if any(roles.count(dim) != 1 for dim in CELL_DIMS):
        raise InputError(
            argument,
            f"which of its dims {', '.join(map(repr, table.dims))} is of the actual labels, and "
            "which of the predicted ones?",
            f"Name them, as {argument}.rename({{'dim_0': 'actual', 'dim_1': 'predicted'}}).",
        )
    return table.rename({name: role for name, role in zip(table.dims, roles, strict=True) if role})


def _frame_to_counts(table: pd.DataFrame, argument: str) -> xr.DataArray:
    if is_transposed(table.index.names, table.columns.names):
        table = table.T
    same = set(table.index) == set(table.columns) and table.shape[0] == table.shape[1]
    if not same or table.index.has_duplicates:
        raise InputError(argument, "the index (actual labels) and the columns (predicted labels) must be the same.")
    labels = check_labels(table.index)
    cells = table.reindex(columns=table.index)
    if not all(getattr(dtype, "kind", "O") in "iuf" for dtype in cells.dtypes):
        raise InputTypeError("counts", "must hold whole numbers; some column of the table does not.")
    return xr.DataArray(cells.to_numpy(float, na_value=np.nan), dict.fromkeys(CELL_DIMS, labels), CELL_DIMS)


def refuse_margins(counts: xr.DataArray) -> None:
    """Refuse a table whose last row and column hold the totals of the others.

    Raises
    ------
    ValueError
        If the last class is called "All", as pandas calls margins, or its counts are the sums of the other classes'
        counts.
    """
    last = counts["actual"].values[-1].item()
    cells = counts.values
    inner = cells[..., :-1, :-1]
    sums = (
        cells.shape[-1] > 2
        and inner.any()
        and np.array_equal(cells[..., -1, :], cells[..., :-1, :].sum(-2))
        and np.array_equal(cells[..., :, -1], cells[..., :, :-1].sum(-1))
    )
    if sums or last == _MARGIN:
        raise InputError(
            "table",
            f"the last row and column, {last!r}, {'hold the sums of the others' if sums else 'are margins'}.",
            "Leave margins out, as table.iloc[:-1, :-1]; if it is a class, name all of them, as labels=[...].",
        )


def with_labels(counts: xr.DataArray, labels: Iterable[Any]) -> xr.DataArray:
    """Label the rows and columns of a table; reorder a table that already has labels."""
    wanted = check_labels(labels)
    labelled = set(CELL_DIMS) <= set(counts.coords)
    if labelled:
        counts = checked_counts(counts, CELL_DIMS)
    if len(wanted) != counts.sizes["actual"]:
        raise InputError("labels", f"{len(wanted)} given for a table of {counts.sizes['actual']} classes.")
    if labelled:
        own = counts["actual"].values.tolist()
        if set(own) != set(wanted.tolist()):
            raise InputError("labels", f"the table carries others, {own}.")
        order = [own.index(label) for label in wanted.tolist()]
        counts = counts.isel(actual=order, predicted=order)
    return counts.assign_coords(actual=wanted, predicted=wanted)


def drop_conflicting_coords(arrays: Sequence[xr.DataArray]) -> list[xr.DataArray]:
    """Drop coordinates without a dim of their own that not all arrays share: they describe a cell, not the matrix."""

    def shared(name: Hashable) -> bool:
        return all(name in a.coords and a.coords[name].equals(arrays[0].coords[name]) for a in arrays)

    return [a.drop_vars([name for name in a.coords if name not in a.dims and not shared(name)]) for a in arrays]
