"""Clusters of examples (patients, images, documents) behind the counts of a matrix, stored by the cells that occur."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Codes, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held
from bayesperf.core.weights import tallied
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.cross_tabulation import EncodedColumns
from bayesperf.data.label_encoding import encode_ids


def within(name: str, graded: bool) -> str:
    """Return, in words, what clusters contain: graded answers, or predictions if examples were predicted repeatedly."""
    return "answers" if graded else "predictions" if name == "example" else "examples"


@dataclass(frozen=True, eq=False)
class Clusters(Held):
    """The cells of each cluster's examples, with one entry per combination that occurs."""

    # Name of a cluster, such as "patient".
    name: str
    # Number of clusters counted; after a selection some may have no examples left.
    size: int
    # Number of cells of the matrices, all leading dims together.
    cells: int
    # A cluster, and a cell as a position in the flattened counts, (entry,).
    cluster: Codes
    cell: Codes
    # Number of the cluster's examples in the cell, (entry,).
    counts: Counts

    def __post_init__(self) -> None:
        for array in (self.cluster, self.cell, self.counts):
            array.setflags(write=False)

    @cached_property
    def table(self) -> scipy.sparse.csr_array:
        """The counts, (cluster, cell)."""
        return scipy.sparse.csr_array((self.counts, (self.cluster, self.cell)), shape=(self.size, self.cells))

    def taken(self, cells: Codes) -> Clusters:
        """Return the clusters of other matrices, whose cells are these of the cells before."""
        return of_table(self.name, self.table[:, cells])

    def summed(self, into: Codes, cells: int) -> Clusters:
        """Return the clusters of other matrices, whose cells are sums of the cells before."""
        return of_table(self.name, self.table @ tallied(np.arange(self.cells), into, (self.cells, cells), np.int64))

    def one_vs_rest(self, classes: int) -> Clusters:
        """Return the clusters of a binary matrix for each class, after the leading dims: tn, fp, fn and tp."""
        place, actual, predicted = np.unravel_index(np.arange(self.cells), (self.cells // classes**2, classes, classes))
        label = np.arange(classes)[:, None]
        into = (place * classes + label) * 4 + 2 * (actual == label) + (predicted == label)
        before = np.broadcast_to(np.arange(self.cells), into.shape)
        shape = self.cells, self.cells // classes * 4
        return of_table(self.name, self.table @ tallied(before.ravel(), into.ravel(), shape, np.int64))


def of_table(name: str, table: scipy.sparse.csr_array) -> Clusters:
    """Return clusters of a sparse table (cluster, cell)."""
    entries = table.tocoo()
    row, column = entries.coords
    return Clusters(name, *table.shape, row.astype(np.intp), column.astype(np.intp), entries.data)


def of_dim(counts: xr.DataArray, dim: str) -> Clusters:
    """Return a leading dim of counts as clusters of the matrices without it."""
    tables = counts.transpose(dim, ..., *CELL_DIMS).values
    return of_table(dim, scipy.sparse.csr_array(tables.reshape(len(tables), -1)))


class ClusterColumn(NamedTuple):
    """The name of a cluster, the cluster of each row, and their number."""

    name: str
    codes: Codes
    size: int


def cluster_column(cluster: Any) -> ClusterColumn:
    """Encode a column of clusters: hashable ids (n,), or a mapping that names them, such as ``{"patient": ids}``.

    For nested clusters, such as ``{"hospital": …, "patient": …}``, the first are independent of each other.
    """
    columns = cluster if isinstance(cluster, Mapping) else {"cluster": cluster}
    if not columns:
        raise InputError("cluster", "name a column of ids, as {'patient': ids}.")
    encoded = {str(name): encode_ids(ids, f"cluster[{name!r}]") for name, ids in columns.items()}
    checks.equal_lengths({f"cluster[{name!r}]": len(column.codes) for name, column in encoded.items()})
    name, column = next(iter(encoded.items()))
    return ClusterColumn(name, _places(column.labels)[column.codes], len(column.labels))


def _places(ids: NDArray[Any]) -> Codes:
    """Return each id's place in sorted order: engines count rows in any order, and draws follow the clusters' order."""
    try:
        order = np.argsort(ids, kind="stable")
    except TypeError:  # Ids of several kinds.
        return np.arange(len(ids))
    places = np.empty_like(order)
    places[order] = np.arange(len(ids))
    return places


def clusters_of_rows(cluster: ClusterColumn, columns: EncodedColumns, weights: Counts | None = None) -> Clusters:
    """Count the examples of each cluster in each cell; columns: leading dims, the actual class, predictions."""
    actual, *predicted = columns.cells.values()
    checks.equal_lengths({"y_true": len(actual), "cluster": len(cluster.codes)})
    classes = len(columns.classes)
    table = len(predicted), 1 if columns.graded else classes, classes
    shape = (*(len(column.labels) for column in columns.leading.values()), *table)
    leading = [column.codes for column in columns.leading.values()]
    rows = np.ones(len(actual), np.int64) if weights is None else weights
    cells = [
        np.ravel_multi_index([*leading, np.full(len(actual), system), actual, of_one], shape)
        for system, of_one in enumerate(predicted)
    ]
    # What falls on one place is summed.
    entries = np.tile(rows, len(cells)), (np.tile(cluster.codes, len(cells)), np.concatenate(cells))
    return of_table(cluster.name, scipy.sparse.csr_array(entries, shape=(cluster.size, math.prod(shape))))


def check_within(cluster: Codes, example: Any) -> None:
    """Refuse an example with different clusters for different systems."""
    ids = encode_ids(example, "example")
    checks.equal_lengths({"example": len(ids.codes), "cluster": len(cluster)})
    pairs = pd.DataFrame({"example": ids.codes, "cluster": cluster}).drop_duplicates()
    twice = pairs["example"].duplicated()
    if twice.any():
        name = ids.labels[pairs["example"][twice].iloc[0]]
        raise InputError("cluster", f"example {name!r} is of two clusters.", "Rows of one example must have the same.")
