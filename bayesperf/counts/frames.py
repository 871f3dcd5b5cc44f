"""Counting inside the user's own data engine, through Narwhals."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from bayesperf.core.arrays import Counts
from bayesperf.core.words import listed


def count_rows(frame: Any, columns: list[str]) -> tuple[dict[str, Any], Counts]:
    """Count the rows of every combination of values of some columns, in the frame's own engine.

    Parameters
    ----------
    frame : native frame
        Eager or lazy; anything `narwhals.from_native` takes.
    columns : list of str
        Columns to group by.

    Returns
    -------
    values : dict of str to column
        The columns, with one entry for each combination.
    rows : numpy.ndarray
        How many rows each combination has.

    Raises
    ------
    TypeError
        If the frame is of a kind that is not supported.
    ValueError
        If a column is absent, named twice, or has missing values.
    """
    try:
        lazy = nw.from_native(frame).lazy()
    except TypeError:
        raise TypeError(
            f"frame is {type(frame).__name__}: give a pandas, Polars or PyArrow frame, or another that Narwhals "
            "supports."
        ) from None
    available = lazy.collect_schema().names()
    absent = [name for name in columns if name not in available]
    if absent:
        raise ValueError(f"no column {absent[0]!r} in the frame; its columns are {listed(available, 12)}.")
    if len(set(columns)) < len(columns):
        raise ValueError(f"columns {columns}: every role (actual, predicted, by) needs a column of its own.")
    # The engine sees names of our own, so that the caller's column names cannot clash with any.
    roles = {f"key_{position}": name for position, name in enumerate(columns)}
    keys = lazy.select(*[nw.col(name).alias(role) for role, name in roles.items()])
    counted = keys.group_by(*roles).agg(nw.len().alias("rows")).collect()
    values, rows = {name: counted[role].to_native() for role, name in roles.items()}, counted["rows"].to_numpy()
    for name, column in values.items():
        missing = rows[np.asarray(pd.isna(np.asarray(column)))].sum()
        if missing:
            raise ValueError(
                f"column {name!r} has {missing} missing value{'s' * bool(missing > 1)}. Drop those rows, or name the "
                "missing ones with a label of their own."
            )
    return values, rows
