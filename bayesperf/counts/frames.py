"""Counting inside the user's own data engine, through Narwhals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core.arrays import Counts
from bayesperf.core.words import listed
from bayesperf.counts.cross_tabulation import cross_tabulate, encode_columns
from bayesperf.counts.label_encoding import encode


def count_rows(
    frame: Any, columns: list[str], numbered: Mapping[str, Callable[[nw.Expr], nw.Expr]] | None = None
) -> tuple[dict[str, Any], Counts]:
    """Count the rows of every combination of values of some columns, in the frame's own engine.

    Parameters
    ----------
    frame : native frame
        Eager or lazy; anything `narwhals.from_native` takes.
    columns : list of str
        Columns to group by.
    numbered : mapping, optional
        Columns of numbers that are grouped by what a function makes of them.

    Returns
    -------
    values : dict of str to column
        The columns, with one entry for each combination.
    rows : numpy.ndarray
        How many rows each combination has.

    Raises
    ------
    TypeError
        If the frame is of a kind that is not supported, or a column to be numbered does not hold numbers.
    ValueError
        If a column is absent or named twice, or the engine fails.
    """
    try:
        lazy = nw.from_native(frame).lazy()
    except TypeError:
        raise TypeError(
            f"frame is {type(frame).__name__}: give a pandas, Polars or PyArrow frame, or another that Narwhals "
            "supports."
        ) from None
    schema = lazy.collect_schema()
    absent = [name for name in columns if name not in schema]
    if absent:
        raise ValueError(f"no column {absent[0]!r} in the frame; its columns are {listed(list(schema), 12)}.")
    check_roles(columns)
    numbered = numbered or {}
    for name in numbered:
        if not schema[name].is_numeric():
            raise TypeError(f"column {name!r} must hold numbers; it holds {schema[name]}.")
    # The engine sees names of our own, so that the caller's column names cannot clash with any.
    roles = {f"key_{position}": name for position, name in enumerate(columns)}
    grouped = {name: numbered[name](nw.col(name)) if name in numbered else nw.col(name) for name in columns}
    try:
        keys = lazy.select(*[grouped[name].alias(role) for role, name in roles.items()])
        counted = keys.group_by(*roles).agg(nw.len().alias("rows")).collect()
    except (ImportError, MemoryError):
        raise
    except Exception as error:
        # Every engine raises errors of its own, in its own words.
        raise ValueError(f"frame: its engine could not count the rows: {str(error).split('\n')[0]}") from error
    return {name: counted[role].to_native() for role, name in roles.items()}, counted["rows"].to_numpy()


def check_roles(columns: list[str]) -> None:
    """Refuse a column that is named for two roles."""
    if len(set(columns)) < len(columns):
        raise ValueError(f"columns {columns}: every role (actual, predicted, by, score) needs a column of its own.")


def tabulate(
    values: Mapping[str, Any],
    rows: Counts,
    actual: str,
    predicted: str,
    by: Sequence[str],
    labels: Iterable[Any] | None = None,
) -> xr.DataArray:
    """Return the counts of rows that stand for several examples each, as dims (…, actual, predicted).

    Parameters
    ----------
    values : mapping of str to column
        The columns, with one entry for each combination, as `count_rows` returns them.
    rows : numpy.ndarray
        How many examples each combination stands for.
    actual, predicted, by, labels
        As in `ConfusionMatrix.from_frame`.

    Raises
    ------
    ValueError
        If there are no rows, or values are missing.
    """
    if not len(rows):
        raise ValueError("frame has no rows: there is nothing to count.")
    for name in (actual, predicted, *by):
        refuse_missing_rows(name, values[name], rows)
    columns = {f"column {name!r}": encode(values[name], f"column {name!r}") for name in (actual, predicted)}
    encoded = encode_columns(columns, {name: values[name] for name in by}, labels)
    return cross_tabulate(encoded, rows)


def refuse_missing_rows(name: str, values: Any, rows: Counts) -> None:
    """Refuse a column of labels with missing values, each of which stands for several rows."""
    missing = rows[np.asarray(pd.isna(np.asarray(values)))].sum()
    if missing:
        raise ValueError(
            f"column {name!r} has {missing} missing value{'s' * bool(missing > 1)}. Drop those rows, or name the "
            "missing ones with a label of their own."
        )
