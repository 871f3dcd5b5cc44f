"""Reads: what several readers said of the same cases, with one modality or several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array, Booleans, Codes
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.words import listed
from bayesperf.data.classifier_scores import binary_labels
from bayesperf.data.frames import collect, engine_errors, lazy_frame, select
from bayesperf.data.label_encoding import Column, codes_for_labels, encode

# The dims of reads, and the columns of a frame that has the names of their roles.
DIMS = ("modality", "reader", "case")
COLUMNS = {"reader": "reader", "case": "case", "modality": "modality", "truth": "truth", "read": "read"}
# What stands for a read that is missing.
MISSING = -1


@dataclass(frozen=True)
class Reads:
    """Reads of cases, in the order of a frame."""

    # The columns by their roles.
    names: Mapping[str, str]
    # The modality, the reader and the case of each read.
    ids: Mapping[str, Column]
    # The scores, or the calls.
    said: Any
    # The truth of each case, (case,).
    is_positive: Booleans
    # The labels of the truth, in order, and the positive one.
    labels: tuple[list[Any], Any]

    @classmethod
    def of(cls, frame: Any, names: Mapping[str, str], pos_label: Any) -> Reads:
        """Return the reads of a frame, of which `names` has the columns by role, the last what was said.

        There is one modality if no column has the name of that role.
        """
        there = lazy_frame(frame, []).collect_schema().names()
        if names["modality"] == COLUMNS["modality"] and names["modality"] not in there:
            names = {role: name for role, name in names.items() if role != "modality"}
        lazy = lazy_frame(frame, list(names.values()))
        with engine_errors():
            columns = collect(select(lazy, names)).to_dict(as_series=True)
        table = {role: column.to_native() for role, column in columns.items()}
        *_, said = names
        encoded = {
            role: encode(table[role], f"column {names[role]!r}", fractions=True) for role in DIMS if role in names
        }
        ids = {"modality": Column(np.zeros(len(encoded["case"].codes), np.intp), np.array(["only"]))} | encoded
        truth = binary_labels(table["truth"], pos_label)
        case = ids["case"]
        share = np.bincount(case.codes, truth.is_positive) / np.bincount(case.codes)
        if (both := ~np.isin(share, (0, 1))).any():
            raise InputError(
                f"column {names['truth']!r}",
                f"has two labels for case {case.labels[both.argmax()]!s}.",
                "Give each case one.",
            )
        return cls(
            names, {role: ids[role] for role in DIMS}, table[said], share == 1, (list(truth.labels), truth.pos_label)
        )

    @property
    def coords(self) -> dict[str, Any]:
        """The names of modalities, readers and cases."""
        return {role: column.labels for role, column in self.ids.items()}

    def placed(self, values: Array | Codes, missing: Any) -> xr.DataArray:
        """Return a value of each read as an array (modality, reader, case), with another where there is no read."""
        table = np.full([len(column.labels) for column in self.ids.values()], missing, dtype=values.dtype)
        table[tuple(column.codes for column in self.ids.values())] = values
        return xr.DataArray(table, self.coords, list(DIMS))

    def refuse_repeated(self, whole: bool, advice: str) -> None:
        """Refuse cases that were read twice by a reader with a modality; of a `whole` study also missing reads."""
        shape = tuple(len(column.labels) for column in self.ids.values())
        place = np.ravel_multi_index([column.codes for column in self.ids.values()], shape)
        reads = np.bincount(place, minlength=int(np.prod(shape))).reshape(shape)
        wrong = reads != 1 if whole else reads > 1
        if wrong.any():
            at = np.argwhere(wrong)[0]
            places = [labels[i] for labels, i in zip(self.coords.values(), at, strict=True)]
            which = ", ".join(f"{role} {place!s}" for role, place in zip(self.coords, places, strict=True))
            rule = "every reader must read every case once" if whole else "a reader reads a case once"
            raise InputError("frame", f"has {reads[tuple(at)]} reads of {which}; {rule} with each modality.", advice)


def binary_reads(frame: Any, pos_label: Any) -> xr.DataArray:
    """Return whether each read is right, 1, wrong, 0, or missing, −1, (modality, reader, case).

    The attributes have the ``truth`` of each case (1 is positive), the ``labels`` and the ``pos_label``.
    """
    reads = Reads.of(frame, COLUMNS, pos_label)
    reads.refuse_repeated(False, "Give each its own modality, such as 'first' and 'second'.")
    labels, positive = reads.labels
    called = encode(reads.said, "column 'read'")
    if strange := sorted(set(called.labels.tolist()) - set(labels), key=str):
        raise InputTypeError("column 'read'", f"holds {listed(strange)}, which column 'truth' does not.")
    is_called = codes_for_labels(called, np.array(labels), "column 'read'") == labels.index(positive)
    right = (is_called == reads.is_positive[reads.ids["case"].codes]).astype(int)
    facts = {"truth": reads.is_positive.astype(int), "labels": labels, "pos_label": positive}
    return reads.placed(right, MISSING).assign_attrs(facts)
