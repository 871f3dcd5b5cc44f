"""Reading files that hold no predictions, a column for each role of their kind (`kinds`)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bayesperf.core.errors import InputError
from bayesperf.core.words import enumerated, listed, printable
from bayesperf.files.kinds import KINDS, kind_of, usual_columns
from bayesperf.files.opening import connected_late
from bayesperf.files.sources import open_sources

if TYPE_CHECKING:
    import pandas as pd


class FileOfKind(NamedTuple):
    """The rows of files of one kind."""

    # A name of `KINDS`.
    kind: str
    # A column of text for each role.
    frame: pd.DataFrame
    # The column that each role was read from.
    columns: dict[str, str]
    # Sentences on the format.
    notes: tuple[str, ...]

    @property
    def columns_read(self) -> str:
        """A sentence on the columns that were read."""
        return f"Columns read: {enumerated([printable(name) for name in self.columns.values()])}."


def read_kind(paths: Sequence[Path], kind: str | None, encoding: str | None) -> FileOfKind | None:
    """Read files that are parts of one data set.

    Files that are not of the `kind` are refused. Without one, files of any kind are read, and others give None.
    """
    with tempfile.TemporaryDirectory(prefix="bayesperf-") as folder, connected_late() as connection:
        sources = open_sources(connection, paths, Path(folder), {}, apart=False, encoding=encoding)
        names = [name for name in sources[0].columns if all(name in source.columns for source in sources)]
        kind = kind_of(names) if kind is None else kind
        if kind is None:
            return None
        columns = recognised(kind, names)
        selected = [
            "SELECT {} FROM {}".format(
                ", ".join(f'({source.columns[name]})::VARCHAR AS "{role}"' for role, name in columns.items()),
                source.scan,
            )
            for source in sources
        ]
        frame = connection.sql(" UNION ALL ".join(selected)).df()
    return FileOfKind(kind, frame, columns, tuple(source.note for source in sources if source.note))


def complete(read: FileOfKind, drop_missing: bool) -> FileOfKind:
    """Return the rows without missing values, and a sentence on the others; refuse these unless they are dropped."""
    required = [*KINDS[read.kind].required]
    missing = read.frame[required].isna()
    if not missing.to_numpy().any():
        return read
    numbers = {role: int(missing[role].sum()) for role in required}
    lacking = enumerated([f"{read.columns[role]!r} ({n:,})" for role, n in numbers.items() if n])
    kept = read.frame[~missing.any(axis=1)]
    if not drop_missing:
        raise InputError("", f"values are missing in {lacking}.", "Leave such rows out by --drop-missing.")
    if kept.empty:
        raise InputError("--drop-missing", "in every row a value is missing; none is left.")
    said = f"Left out are {len(read.frame) - len(kept):,} of {len(read.frame):,} rows, for values missing in {lacking}."
    return read._replace(frame=kept.reset_index(drop=True), notes=(said, *read.notes))


def recognised(kind: str, names: Iterable[str]) -> dict[str, str]:
    """Return the column of each role, by its usual names; refuse names among which a required one is missing."""
    names, usual, required = list(names), KINDS[kind].columns, KINDS[kind].required
    found = usual_columns(kind, names)
    if missing := [role for role in required if role not in found]:
        others = [role for role in usual if role not in required]
        raise InputError(
            "",
            f"no column is called as one of {required[missing[0]]} is: {', '.join(usual[missing[0]])}. The columns are "
            f"{listed(names, 8)}.",
            f"Rename the columns to {enumerated([*required])}, and perhaps {enumerated(others)}.",
        )
    return found
