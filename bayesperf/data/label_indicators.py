"""Several labels an example: matrices of zeros and ones, a column a label, and what they encode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.errors import InputError
from bayesperf.core.words import listed
from bayesperf.data.count_arrays import CELL_DIMS, check_dims
from bayesperf.data.cross_tabulation import EncodedColumns
from bayesperf.data.label_encoding import Column, check_labels, encode

# The leading dim of several labels an example.
LABEL = "label"


class Indicators(NamedTuple):
    """Which labels examples have, and were predicted to have (n, L), and the names of the labels."""

    y_true: NDArray[np.intp]
    y_pred: NDArray[np.intp]
    labels: NDArray[Any]

    @classmethod
    def of(cls, y_true: Any, y_pred: Any, labels: Iterable[Any] | None = None) -> Indicators:
        """Check two indicator matrices; the labels are those named, or the columns of a frame, or else numbered.

        Raises
        ------
        ValueError
            If the matrices differ in shape or columns, or hold anything but 0 and 1.
        """
        (actual, columns), (predicted, others) = (_matrix(v, n) for v, n in ((y_true, "y_true"), (y_pred, "y_pred")))
        if actual.shape != predicted.shape:
            raise InputError(
                "y_true and y_pred",
                "must have a row an example and a column a label each; their shapes are "
                f"{actual.shape} and {predicted.shape}.",
            )
        if columns and others and columns != others:
            raise InputError("y_true and y_pred", f"differ in their columns: {listed(columns)}, and {listed(others)}.")
        found = columns or others or list(range(actual.shape[1]))
        names = check_labels(found if labels is None else labels)
        if len(names) != actual.shape[1]:
            raise InputError("labels", f"{len(names)} given for {actual.shape[1]} columns, one a label.")
        return cls(actual, predicted, names)

    def columns(self, by: Mapping[str, Any]) -> EncodedColumns:
        """Return a row an example and label, encoded, with the columns of leading dims."""
        check_dims([*by, LABEL], CELL_DIMS)
        leading = {name: encode(values, f"by[{name!r}]", fractions=True) for name, values in by.items()}
        examples, count = self.y_true.shape
        checks.equal_lengths({"y_true": examples} | {name: len(column.codes) for name, column in leading.items()})
        repeated = {name: Column(np.repeat(c.codes, count), c.labels, c.declared) for name, c in leading.items()}
        repeated[LABEL] = Column(np.tile(np.arange(count), examples), self.labels, declared=True)
        cells = dict(zip(CELL_DIMS, (self.y_true.ravel(), self.y_pred.ravel()), strict=True))
        return EncodedColumns(repeated, cells, np.array([0, 1]), "y_true, y_pred")


def are_indicators(y_true: Any, y_pred: Any) -> bool:
    """Whether columns are matrices of several labels an example."""
    return _columns(y_true) > 1 and _columns(y_pred) > 1


def _columns(values: Any) -> int:
    shape: tuple[int, ...] = getattr(values, "shape", ())
    return int(shape[1]) if len(shape) == 2 else 0


def _matrix(values: Any, name: str) -> tuple[NDArray[np.intp], list[Any]]:
    """Return an indicator matrix, and the names of its columns if it has any."""
    frame = nw.from_native(values, eager_only=True, pass_through=True)
    columns = frame.columns if isinstance(frame, nw.DataFrame) else []
    array = frame.to_numpy() if columns else values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    if array.ndim != 2:
        raise InputError(name, f"must have a row an example and a column a label; its shape is {array.shape}.")
    if not len(array):
        raise InputError(name, "is empty: there is nothing to count.")
    known = np.isin(array, [0, 1])
    if not known.all():
        raise InputError(
            name,
            "has several columns, of which each must say by 0 or 1 whether an example has that "
            f"label; it holds {array[~known].tolist()[0]!r}.",
            "For one label an example give one column.",
        )
    return array.astype(np.intp), columns
