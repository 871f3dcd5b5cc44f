"""Tables of totals: columns with an entry for each combination of their values, and the number of rows of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core.arrays import Counts
from bayesperf.core.errors import InputError
from bayesperf.data.clusters import Clusters, cluster_column, clusters_of_rows
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.cross_tabulation import EncodedColumns, cross_tabulate, encode_columns
from bayesperf.data.label_encoding import encode


def tabulate(
    values: Mapping[str, Any],
    rows: Counts,
    actual: str,
    predicted: str,
    by: Sequence[str],
    labels: Iterable[Any] | None,
) -> xr.DataArray:
    """Return the counts, as dims (…, actual, predicted), of rows that stand for several examples each.

    `values` and `rows` are as `count_rows` returns them; no rows, or missing values, are refused.
    """
    return cross_tabulate(encode_totals(values, rows, [actual, predicted], by, labels), rows)


def clusters_of_totals(values: Mapping[str, Any], rows: Counts, cluster: str, columns: EncodedColumns) -> Clusters:
    """Return the clusters of a table of totals, given its other columns as `encode_totals` returns them."""
    refuse_missing_rows(values, rows, [cluster])
    return clusters_of_rows(cluster_column({cluster: values[cluster]}), columns, rows)


def encode_totals(
    values: Mapping[str, Any],
    rows: Counts,
    columns: Sequence[str],
    by: Sequence[str],
    labels: Iterable[Any] | None = None,
    dims: tuple[str, ...] = CELL_DIMS,
) -> EncodedColumns:
    """Encode the columns of a table of totals: class labels, as cell dims, and those of leading dims."""
    refuse_missing_rows(values, rows, [*columns, *by])
    of_labels = {f"column {name!r}": encode(values[name], f"column {name!r}") for name in columns}
    return encode_columns(of_labels, {name: values[name] for name in by}, labels, dims)


def refuse_missing_rows(values: Mapping[str, Any], rows: Counts, names: Iterable[str]) -> None:
    """Refuse a table of totals without rows, or with missing values in a column of labels."""
    if not len(rows):
        raise InputError("frame", "has no rows: there is nothing to count.")
    for name in names:
        if missing := rows[np.asarray(pd.isna(np.asarray(values[name])))].sum():
            raise InputError(
                "column",
                f"{name!r} has {missing} missing value{'s' * bool(missing > 1)}.",
                "Drop those rows, or name the missing ones with a label of their own.",
            )
