"""What several systems predicted for the same examples: each distinct outcome, and how often it occurred.

An outcome is the actual class of an example with the class that every system predicted for it. Of the K^(M + 1) that M
systems could have, only those that occurred are kept.
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

from bayesperf.core.arrays import Codes
from bayesperf.counts import tables
from bayesperf.counts.labels import Column, identify
from bayesperf.counts.tables import CELL_DIMS, Coded


@dataclass(frozen=True, eq=False)
class JointOutcomes:
    """How often each outcome occurred.

    Attributes
    ----------
    counts : xarray.DataArray
        Examples, dims (…, outcome), over the leading dims other than that of the systems.
    actual : numpy.ndarray (outcome,)
        Position, among the labels, of the actual class.
    predicted : numpy.ndarray (outcome, M)
        Position of the class that each system predicted.
    names : tuple
        The systems, as they are called along `dim`.
    dim : str
        The leading dim of the systems in a confusion matrix.
    labels : list
        The K class labels.
    pos_label : label or None
        The positive class.
    """

    counts: xr.DataArray
    actual: Codes
    predicted: Codes
    names: tuple[Any, ...]
    dim: str
    labels: list[Any]
    pos_label: Any = None

    def __post_init__(self) -> None:
        for array in (self.counts.values, self.actual, self.predicted):
            array.setflags(write=False)

    def margins(self) -> xr.DataArray:
        """Return each system's own counts, (…, system, actual, predicted)."""
        classes = len(self.labels)
        cells = self._tally(self.actual * classes + self.predicted.T, classes**2)
        coords = {**self.counts.coords, self.dim: list(self.names)} | dict.fromkeys(CELL_DIMS, self.labels)
        dims = (*self.counts.dims[:-1], self.dim, *CELL_DIMS)
        return xr.DataArray(cells.reshape(*cells.shape[:-1], classes, classes), coords, dims)

    def sum(self, dims: Sequence[str]) -> JointOutcomes | None:
        """Pool over leading dims; None if the systems are pooled."""
        return None if self.dim in dims else replace(self, counts=self.counts.sum(dims))

    def select(self, how: str, indexers: Mapping[str, Any]) -> JointOutcomes | None:
        """Select as xarray's ``sel`` or ``isel``; None where the systems no longer stand along their dim."""
        systems = xr.DataArray(np.arange(len(self.names)), {self.dim: list(self.names)}, [self.dim])
        chosen = getattr(systems, how)({dim: index for dim, index in indexers.items() if dim == self.dim})
        counts = getattr(self.counts, how)({dim: index for dim, index in indexers.items() if dim != self.dim})
        if chosen.dims != (self.dim,) or self.dim in counts.dims:
            return None
        predicted = self.predicted[:, chosen.values]
        first, outcome = _distinct(self.actual, predicted, len(self.labels))
        known = replace(self, counts=counts)
        return replace(
            self,
            counts=counts.isel(outcome=first).copy(data=known._tally(outcome[None], len(first))[..., 0, :]),
            actual=self.actual[first],
            predicted=predicted[first],
            names=tuple(chosen[self.dim].values.tolist()),
        )

    def one_vs_rest(self) -> JointOutcomes:
        """Return the outcomes of each class (1) against the rest (0), with last leading dim ``label``."""
        classes = np.arange(len(self.labels))
        actual = (self.actual == classes[:, None]).astype(np.intp).ravel()
        predicted = (self.predicted == classes[:, None, None]).astype(np.intp).reshape(-1, len(self.names))
        first, outcome = _distinct(actual, predicted, 2)
        counts = self._tally(outcome.reshape(len(classes), -1), len(first))
        coords = {**self.counts.coords, "label": self.labels}
        dims = (*self.counts.dims[:-1], "label", "outcome")
        return replace(
            self,
            counts=xr.DataArray(counts, coords, dims),
            actual=actual[first],
            predicted=predicted[first],
            labels=[0, 1],
            pos_label=1,
        )

    def _tally(self, index: Codes, size: int) -> NDArray[np.int64]:
        """Return examples (…, row, size) by what each row of an index (row, outcome) makes of the outcomes."""
        values = self.counts.values[..., None, :]
        found = np.zeros((*values.shape[:-2], len(index), size), dtype=np.int64)
        place: Any = (..., np.arange(len(index))[:, None], index)
        np.add.at(found, place, values)
        return found


def _distinct(actual: Codes, predicted: Codes, classes: int) -> tuple[Codes, Codes]:
    """Return where each distinct outcome first occurs, in the order of the labels, and which outcome each row is."""
    code = actual
    for column in predicted.T:
        code = pd.factorize(code * classes + column, sort=True)[0]
    return np.unique(code, return_index=True)[1], code


def of_pair(counts: xr.DataArray, names: Sequence[str], pos_label: Any) -> JointOutcomes:
    """Return the outcomes of two systems from their table (actual, predicted_a, predicted_b)."""
    actual, *predicted = np.nonzero(counts.values)
    return JointOutcomes(
        counts=xr.DataArray(counts.values[actual, *predicted], dims="outcome"),
        actual=actual,
        predicted=np.stack(predicted, -1),
        names=tuple(names),
        dim="model",
        labels=counts["actual"].values.tolist(),
        pos_label=pos_label,
    )


# ── From columns ──────────────────────────────────────────────────────────────────────────────────────────────────────


def of_examples(coded: Coded, example: Any, pos_label: Any) -> JointOutcomes:
    """Match the rows of each example, refuse what does not match, and count its outcomes.

    Parameters
    ----------
    coded : Coded
        Leading columns, one of them the systems, and the label columns ``actual`` and ``predicted``.
    example : array-like (n,)
        Ids, of any hashable kind.
    pos_label : label, optional
        The positive class.
    """
    dim = _systems(list(coded.leading))
    tables.check_dims(list(coded.leading), ("outcome",))
    ids = identify(example, "example")
    actual, predicted = coded.cells["actual"], coded.cells["predicted"]
    if len(ids.codes) != len(actual):
        raise ValueError(tables.unequal({"y_true": len(actual), "example": len(ids.codes)}))
    rows = _matched(ids, dim, coded.leading[dim])
    labels, names = coded.classes.tolist(), coded.leading[dim].labels.tolist()
    others = {name: column for name, column in coded.leading.items() if name != dim}
    given = {"y_true": (actual, labels)}
    given |= {f"by[{name!r}]": (column.codes, column.labels.tolist()) for name, column in others.items()}
    for name, (codes, values) in given.items():
        _check_same(name, codes[rows], values, ids.labels, dim, names)
    of_system = predicted[rows]
    first, outcome = _distinct(actual[rows[:, 0]], of_system, len(labels))
    coords = {name: column.labels for name, column in others.items()}
    shape = (*(len(values) for values in coords.values()), len(first))
    tables.check_size("by", shape)
    counts = tables.count([*(column.codes[rows[:, 0]] for column in others.values()), outcome], shape)
    return JointOutcomes(
        counts=xr.DataArray(counts, coords, (*coords, "outcome")),
        actual=actual[rows[first, 0]],
        predicted=of_system[first],
        names=tuple(names),
        dim=dim,
        labels=labels,
        pos_label=tables.positive(labels, pos_label),
    )


def _systems(dims: Sequence[str]) -> str:
    """Return the dim of the systems that judged the examples."""
    if not dims:
        raise ValueError("example: name the systems that judged the examples, as by={'model': names}.")
    if "model" not in dims and len(dims) > 1:
        raise ValueError(
            f"example: which of the dims {', '.join(map(repr, dims))} holds the systems that judged the same examples? "
            "Call it 'model' in by."
        )
    return "model" if "model" in dims else dims[0]


def _matched(ids: Column, dim: str, systems: Column) -> Codes:
    """Return the row of each example and system, (N, M): one each."""
    place = ids.codes * len(systems.labels) + systems.codes
    rows = np.argsort(place, kind="stable")
    again = rows[1:][np.diff(place[rows]) == 0]
    if len(again):
        row = again.min()
        example, system = _name(ids.labels[ids.codes[row]]), _at(dim, systems.labels[systems.codes[row]])
        raise ValueError(
            f"example: {example} occurs twice for {system}{_more(len(again) - 1, 'more such row')}. A system judges an "
            "example once; give repeats ids of their own."
        )
    missing = len(ids.labels) * len(systems.labels) - len(rows)
    if missing:
        raise ValueError(
            "example: systems must be judged on the same examples; missing are "
            f"{', '.join(islice(_lacking(ids, dim, systems), 3))}{_more(missing - 3, 'more judgement')}. Drop those "
            "examples for all systems, or leave out `example`: the systems then count as judged on different ones."
        )
    return rows.reshape(len(ids.labels), len(systems.labels))


def _lacking(ids: Column, dim: str, systems: Column) -> Iterator[str]:
    """Yield the examples that a system has not judged, in words."""
    for code in np.flatnonzero(np.bincount(systems.codes, minlength=len(systems.labels)) < len(ids.labels)):
        for example in np.setdiff1d(np.arange(len(ids.labels)), ids.codes[systems.codes == code]):
            yield f"{_name(ids.labels[example])} for {_at(dim, systems.labels[code])}"


def _check_same(
    name: str, codes: Codes, values: Sequence[Any], ids: NDArray[Any], dim: str, systems: Sequence[Any]
) -> None:
    """Refuse an example of which two systems' rows say different things, codes (N, M)."""
    differs = codes != codes[:, :1]
    examples = np.flatnonzero(differs.any(1))
    if len(examples):
        at, other = examples[0], int(differs[examples[0]].argmax())
        raise ValueError(
            f"{name}: example {_name(ids[at])} is {values[codes[at, 0]]!r} for {_at(dim, systems[0])} and "
            f"{values[codes[at, other]]!r} for {_at(dim, systems[other])}"
            f"{_more(len(examples) - 1, 'more such example')}. Rows of one example must agree in all but the system "
            "and its prediction."
        )


def _name(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)


def _at(dim: str, system: Any) -> str:
    return f"{dim} {_name(system)}"


def _more(count: int, what: str) -> str:
    return f" (and {count} {what}{'s' * (count > 1)})" if count > 0 else ""
