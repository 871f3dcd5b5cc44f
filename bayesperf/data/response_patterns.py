"""Response patterns of several systems on the same examples: each distinct pattern, and its count.

A pattern is the actual class of an example together with the class that every system predicted for it. Of the
K^(M + 1) possible patterns of M systems, only those that occurred are stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import Held
from bayesperf.data.axis_names import MODEL
from bayesperf.data.count_arrays import ALL, CELL_DIMS, SAME_EXAMPLES, check_dims, check_size
from bayesperf.data.cross_tabulation import EncodedColumns, count_combinations
from bayesperf.data.label_encoding import Column, HasPositive, encode_ids, positive_label

# The dims of the table of two systems.
TABLE_DIMS = ("actual", "predicted_a", "predicted_b")


@dataclass(frozen=True, eq=False)
class ResponsePatterns(Held, HasPositive):
    """The patterns that occurred, and their counts."""

    # Numbers of examples, with dims (…, pattern): the leading dims except the dim of the systems.
    counts: xr.DataArray
    # The actual class of each pattern, as a position in `labels`, (pattern,).
    actual: Codes
    # The class that each system predicted, as a position in `labels`, (pattern, M).
    predicted: Codes
    # Names of the systems: their coordinates along `dim`.
    names: tuple[Any, ...]
    # Name of the systems' leading dim in a confusion matrix.
    dim: str
    labels: list[Any]
    pos_label: Any = None
    # Whether these are grades of examples without an actual class: `actual` is then 0, and tables have one row.
    graded: bool = False

    def __post_init__(self) -> None:
        for array in (self.counts.values, self.actual, self.predicted):
            array.setflags(write=False)

    def margins(self) -> xr.DataArray:
        """Return each system's own counts, (…, system, actual, predicted)."""
        classes = len(self.labels)
        actual = [ALL] if self.graded else self.labels
        cells = self._count(self.actual * classes + self.predicted.T, len(actual) * classes)
        coords = {**self.counts.coords, self.dim: list(self.names), "actual": actual, "predicted": self.labels}
        dims = (*self.counts.dims[:-1], self.dim, *CELL_DIMS)
        # As a matrix holds them, which need not copy them then.
        values = cells.reshape(*cells.shape[:-1], len(actual), classes).copy()
        values.setflags(write=False)
        return xr.DataArray(values, coords, dims, "counts", {SAME_EXAMPLES: self.dim})

    def table(self) -> xr.DataArray:
        """Return the counts of two systems with dims (…, actual, predicted_a, predicted_b)."""
        classes = len(self.labels)
        shape = (*self.counts.shape[:-1], *[classes] * len(TABLE_DIMS))
        check_size("cm", shape, classes)
        cell = np.ravel_multi_index((self.actual, *self.predicted.T), shape[-len(TABLE_DIMS) :])
        coords = {**self.counts.coords} | dict.fromkeys(TABLE_DIMS, self.labels)
        cells = self._count(cell[None], classes ** len(TABLE_DIMS))
        return xr.DataArray(cells.reshape(shape), coords, (*self.counts.dims[:-1], *TABLE_DIMS))

    def sum(self, dims: Sequence[str]) -> ResponsePatterns | None:
        """Pool over leading dims; None if the systems' dim is among them."""
        return None if self.dim in dims else replace(self, counts=self.counts.sum(dims))

    def select(self, how: str, indexers: Mapping[str, Any]) -> ResponsePatterns | None:
        """Select as xarray's ``sel`` or ``isel``; None if the systems then no longer lie along a dim of their own."""
        systems = xr.DataArray(np.arange(len(self.names)), {self.dim: list(self.names)}, [self.dim])
        selected = getattr(systems, how)({dim: index for dim, index in indexers.items() if dim == self.dim})
        counts = getattr(self.counts, how)({dim: index for dim, index in indexers.items() if dim != self.dim})
        if selected.dims != (self.dim,) or self.dim in counts.dims:
            return None
        predicted = self.predicted[:, selected.values]
        first, pattern = distinct_patterns(self.actual, predicted, len(self.labels))
        selection = replace(self, counts=counts)
        return replace(
            self,
            counts=counts.isel(pattern=first).copy(data=selection._count(pattern[None], len(first))[..., 0, :]),
            actual=self.actual[first],
            predicted=predicted[first],
            names=tuple(selected[self.dim].values.tolist()),
        )

    def one_vs_rest(self) -> ResponsePatterns:
        """Return the patterns of each class (1) against the rest (0), with last leading dim ``label``."""
        classes = np.arange(len(self.labels))
        actual = (self.actual == classes[:, None]).astype(np.intp).ravel()
        predicted = (self.predicted == classes[:, None, None]).astype(np.intp).reshape(-1, len(self.names))
        first, pattern = distinct_patterns(actual, predicted, 2)
        counts = self._count(pattern.reshape(len(classes), -1), len(first))
        coords = {**self.counts.coords, "label": self.labels}
        dims = (*self.counts.dims[:-1], "label", "pattern")
        return replace(
            self,
            counts=xr.DataArray(counts, coords, dims),
            actual=actual[first],
            predicted=predicted[first],
            labels=[0, 1],
            pos_label=1,
        )

    def _count(self, groups: Codes, size: int) -> Counts:
        """Return numbers of examples (…, row, group), where each row of `groups` (row, pattern) groups the patterns."""
        values = self.counts.values[..., None, :]
        counts = np.zeros((*values.shape[:-2], len(groups), size), dtype=np.int64)
        place: Any = (..., np.arange(len(groups))[:, None], groups)
        np.add.at(counts, place, values)
        return counts


def distinct_patterns(actual: Codes, predicted: Codes, classes: int) -> tuple[Codes, Codes]:
    """Return the first row of each distinct pattern, sorted in the order of the labels, and each row's pattern."""
    code = actual
    for column in predicted.T:
        code = pd.factorize(code * classes + column, sort=True)[0]
    return np.unique(code, return_index=True)[1], code


# ── From tables and columns ───────────────────────────────────────────────────────────────────────────────────────────


def of_table(table: NDArray[Any], labels: list[Any], names: Sequence[Any], pos_label: Any) -> ResponsePatterns:
    """Return the patterns of systems from a table of counts, the actual class first, then each system's prediction."""
    actual, *predicted = np.nonzero(table)
    return ResponsePatterns(
        counts=xr.DataArray(table[actual, *predicted].astype(np.int64), dims="pattern"),
        actual=actual,
        predicted=np.stack(predicted, -1),
        names=tuple(names),
        dim=MODEL,
        labels=labels,
        pos_label=positive_label(labels, pos_label),
    )


def of_examples(columns: EncodedColumns, example: Any, pos_label: Any, dim: str | None = None) -> ResponsePatterns:
    """Match the rows of the same example, by ids (n,), and count the patterns; refuse rows that do not match.

    The label columns are ``actual`` and ``predicted``; one of the leading columns, `dim`, holds the systems.
    """
    dim = dim_of_systems(list(columns.leading)) if dim is None else dim
    check_dims(list(columns.leading), ("pattern",))
    ids = encode_ids(example, "example")
    actual, predicted = columns.cells["actual"], columns.cells["predicted"]
    checks.equal_lengths({"y_true": len(actual), "example": len(ids.codes)})
    rows = _rows_of_examples(ids, dim, columns.leading[dim])
    labels, names = columns.classes.tolist(), columns.leading[dim].labels.tolist()
    others = {name: column for name, column in columns.leading.items() if name != dim}
    facts = {"y_true": (actual, labels)}
    facts |= {f"by[{name!r}]": (column.codes, column.labels.tolist()) for name, column in others.items()}
    for name, (codes, values) in facts.items():
        _check_same(name, codes[rows], values, ids.labels, dim, names)
    by_example = {name: column._replace(codes=column.codes[rows[:, 0]]) for name, column in others.items()}
    cells = {"actual": actual[rows[:, 0]]} | {f"predicted_{i}": of_one for i, of_one in enumerate(predicted[rows].T)}
    return of_columns(columns._replace(leading=by_example, cells=cells), dim, names, pos_label)


def of_columns(
    columns: EncodedColumns, dim: str, names: Sequence[Any], pos_label: Any, weights: Counts | None = None
) -> ResponsePatterns:
    """Count the patterns of rows with the actual class and the predictions of M named systems.

    `dim` is the leading dim of the systems, `weights` the number of examples behind each row.
    """
    actual, *predicted = columns.cells.values()
    by_system, labels = np.stack(predicted, -1), columns.classes.tolist()
    first, pattern = distinct_patterns(actual, by_system, len(labels))
    coords = {name: column.labels for name, column in columns.leading.items()}
    shape = (*(len(values) for values in coords.values()), len(first))
    check_dims([*coords, dim], ("pattern",))
    check_size("by", shape)
    counts = count_combinations([*(column.codes for column in columns.leading.values()), pattern], shape, weights)
    return ResponsePatterns(
        counts=xr.DataArray(counts, coords, (*coords, "pattern")),
        actual=actual[first],
        predicted=by_system[first],
        names=tuple(names),
        dim=dim,
        labels=labels,
        pos_label=None if columns.graded else positive_label(labels, pos_label),
        graded=columns.graded,
    )


def of_two_systems(cm: Any, argument: str, with_dims: bool = False) -> ResponsePatterns:
    """Return the patterns of a matrix of two systems tested on the same examples, and refuse any other argument."""
    patterns = getattr(cm, "patterns", None)
    if not isinstance(patterns, ResponsePatterns):
        raise InputTypeError(
            argument,
            f"must be a ConfusionMatrix of two systems tested on the same examples; it is {_what_it_is(cm)}.",
            "Make one with ConfusionMatrix.from_predictions(y_true, {'new': y_new, 'old': y_old}).",
        )
    others = list(patterns.counts.dims[:-1])
    if len(patterns.names) != 2 or (others and not with_dims):
        raise InputError(
            argument,
            f"must be of two systems{'' if with_dims else ' and no other leading dims'}; it has "
            f"{len(patterns.names)} along {patterns.dim!r}{f' and {others}' if others else ''}.",
            "Select them.",
        )
    return patterns


def _what_it_is(cm: Any) -> str:
    """Return, in words, what was passed in place of systems tested on the same examples."""
    name = type(cm).__name__
    return f"a {name} without their response patterns" if hasattr(cm, "patterns") else name


def dim_of_systems(dims: Sequence[str]) -> str:
    """Return the dim of the systems tested on the examples: ``model``, or the only one."""
    if not dims:
        raise InputError("example", "name the systems that judged the examples, as by={'model': names}.")
    if MODEL not in dims and len(dims) > 1:
        raise InputError(
            "example",
            f"which of the dims {', '.join(map(repr, dims))} holds the systems that judged the same examples?",
            "Call it 'model' in by.",
        )
    return MODEL if MODEL in dims else dims[0]


def _rows_of_examples(ids: Column, dim: str, systems: Column) -> Codes:
    """Return the one row of each example and system, (N, M)."""
    place = ids.codes * len(systems.labels) + systems.codes
    rows = np.argsort(place, kind="stable")
    again = rows[1:][np.diff(place[rows]) == 0]
    if len(again):
        row = again.min()
        example, system = _name(ids.labels[ids.codes[row]]), _at(dim, systems.labels[systems.codes[row]])
        raise InputError(
            "example",
            f"{example} occurs twice for {system}{_more(len(again) - 1, 'more such row')}.",
            "A system judges an example once. If it was judged again, in repeats or attempts, "
            "leave out example and count with cluster=ids, for bp.pool.",
        )
    missing = len(ids.labels) * len(systems.labels) - len(rows)
    if missing:
        raise InputError(
            "example",
            "systems must be tested on the same examples; missing are "
            f"{', '.join(islice(_missing(ids, dim, systems), 3))}{_more(missing - 3, 'more judgement')}.",
            "Drop those examples for all systems, or leave out `example`: the systems then count "
            "as tested on different ones.",
        )
    return rows.reshape(len(ids.labels), len(systems.labels))


def _missing(ids: Column, dim: str, systems: Column) -> Iterator[str]:
    """Yield, in words, each example that a system was not tested on."""
    for code in np.flatnonzero(np.bincount(systems.codes, minlength=len(systems.labels)) < len(ids.labels)):
        for example in np.setdiff1d(np.arange(len(ids.labels)), ids.codes[systems.codes == code]):
            yield f"{_name(ids.labels[example])} for {_at(dim, systems.labels[code])}"


def _check_same(
    name: str, codes: Codes, values: Sequence[Any], ids: NDArray[Any], dim: str, systems: Sequence[Any]
) -> None:
    """Refuse an example whose rows differ between systems in a column that they must agree in; codes are (N, M)."""
    differs = codes != codes[:, :1]
    examples = np.flatnonzero(differs.any(1))
    if len(examples):
        at, other = examples[0], int(differs[examples[0]].argmax())
        raise InputError(
            name,
            f"example {_name(ids[at])} is {values[codes[at, 0]]!r} for {_at(dim, systems[0])} and "
            f"{values[codes[at, other]]!r} for {_at(dim, systems[other])}"
            f"{_more(len(examples) - 1, 'more such example')}.",
            "Rows of one example must agree in all but the system and its prediction.",
        )


def _name(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)


def _at(dim: str, system: Any) -> str:
    return f"{dim} {_name(system)}"


def _more(count: int, what: str) -> str:
    return f" (and {count} {what}{'s' * (count > 1)})" if count > 0 else ""
