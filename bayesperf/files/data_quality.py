"""Remarks on files of predictions: omitted rows, unused columns, and probable mistakes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bayesperf.core.errors import InputError
from bayesperf.core.words import enumerated, listed
from bayesperf.data.axis_names import FOLD, LABEL
from bayesperf.files.formats import DataFile
from bayesperf.files.option_table import ROW, Settings
from bayesperf.files.roles import (
    ATTEMPT_COLUMNS,
    CLUSTER_COLUMNS,
    EXAMPLE_COLUMNS,
    PART_COLUMNS,
    QUESTION_COLUMNS,
    SYSTEM_COLUMNS,
)
from bayesperf.files.sources import faults_of

if TYPE_CHECKING:
    import pandas as pd
    from duckdb import DuckDBPyConnection

# More different values than this are not systems.
MOST_SYSTEMS = 50
# Ids of which at most this share repeats repeat by mistake.
_FEW = 0.1


def without_missing(
    connection: DuckDBPyConnection, rows: str, columns: Sequence[str], settings: Settings, counted: bool
) -> tuple[str, str]:
    """Return the SQL of the rows without missing values, and a sentence on the others; refuse if no row is left.

    If a column identifies examples, an example is removed from every system.
    """
    keys = {f"k{place}": name for place, name in enumerate(columns)}
    if settings.calls:
        # It is missing where the score is.
        keys = {key: name for key, name in keys.items() if name != settings.predicted}
    n = "rows" if counted else "1"
    empty = " OR ".join(f"{key} IS NULL" for key in keys)
    incomplete = f"({empty})"
    if settings.id is not None:
        example = next(key for key, name in keys.items() if name == settings.id)
        incomplete = f"({empty} OR {example} IN (SELECT {example} FROM ({rows}) WHERE {empty}))"
    figures = [f"coalesce(sum({n}) FILTER ({test}), 0)::BIGINT" for test in ("true", incomplete, empty)]
    figures += [f"coalesce(sum({n}) FILTER ({key} IS NULL), 0)::BIGINT" for key in keys]
    total, dropped, missing, *by_column = connection.execute(f"SELECT {', '.join(figures)} FROM ({rows})").fetchall()[0]
    if total and dropped == total:
        raise InputError("--drop-missing", "in every row, or of every example, a value is missing; none is left.")
    if not dropped:
        return rows, ""
    where = enumerated(
        [f"{name!r} ({lacking:,})" for name, lacking in zip(keys.values(), by_column, strict=True) if lacking]
    )
    said = f"Left out are {dropped:,} of {total:,} rows, for values missing in {where}"
    others = ", and the rows of the same examples" if dropped > missing else ""
    return f"SELECT * FROM ({rows}) WHERE NOT {incomplete}", f"{said}{others}."


def about_unused(sources: Sequence[DataFile], asked: Mapping[str, str]) -> str:
    """Return a sentence on unused columns of files; empty if there are none."""
    unused = _unused(sources, asked)
    return f"Not used: {'column' if len(unused) == 1 else 'columns'} {listed(unused, 8)}." if unused else ""


def _unused(sources: Sequence[DataFile], asked: Mapping[str, str]) -> list[str]:
    return [name for name in dict.fromkeys(name for source in sources for name in source.columns) if name not in asked]


def about_unnamed(
    connection: DuckDBPyConnection, sources: Sequence[DataFile], asked: Mapping[str, str], settings: Settings
) -> tuple[str, ...]:
    """Return warnings about unused columns whose names suggest systems or parts of the data."""
    said, unused = [], _unused(sources, asked)
    # Where systems are told apart, or another column can tell them, a run is an attempt of each.
    other = {name.lower() for name in unused}.intersection(SYSTEM_COLUMNS).difference(ATTEMPT_COLUMNS)
    for name in unused:
        is_attempt = name.lower() in ATTEMPT_COLUMNS and (settings.system_column is not None or bool(other))
        is_system = name.lower() in SYSTEM_COLUMNS and not settings.systems and not is_attempt
        is_part = name.lower() in PART_COLUMNS and settings.split is None
        if not (is_system or is_part):
            continue
        values = _values(connection, sources, name)
        if not 1 < len(values) <= MOST_SYSTEMS:
            continue
        if is_system:
            said.append(
                f"Column {name!r} holds {len(values)} values ({listed(values)}) and is not used: if they are systems, "
                f"their rows count here as one system's. To tell them apart: --system {shlex.quote(name)}."
            )
        elif "test" in {value.strip().lower() for value in values}:
            said.append(
                f"Column {name!r} holds {listed(values)} and is not used: all rows are counted alike. To tell them "
                f"apart: --by {shlex.quote(name)}."
            )
    return tuple(said)


def _values(connection: DuckDBPyConnection, sources: Sequence[DataFile], name: str) -> list[str]:
    """Return the different values of a column, up to a few more than there can be systems."""
    values: set[str] = set()
    for source in sources:
        if name in source.columns:
            with faults_of(source.named):
                query = (
                    f"SELECT DISTINCT {source.columns[name]}::VARCHAR AS v FROM {source.scan} LIMIT {MOST_SYSTEMS + 1}"
                )
                values |= {row[0] for row in connection.execute(query).fetchall() if row[0] is not None}
    return sorted(values)


def about_repeats(
    connection: DuckDBPyConnection, sources: Sequence[DataFile], settings: Settings, frame: pd.DataFrame | None
) -> str:
    """Return a sentence on rows of one system that repeat an example; empty if no column shows that they do.

    The column of ids, which is in the frame, identifies examples; otherwise a column with a usual name of ids.
    """
    systems = [*_system_columns(settings), *settings.clusters]
    if frame is not None and settings.id != ROW:
        ids = settings.id
        again = frame.duplicated([ids, *(name for name in settings.by if name != FOLD)])
        return _repeated(str(ids), int(again.sum()), len(frame))
    for column in _shared(sources, EXAMPLE_COLUMNS):
        if column not in systems:
            repeated, total = _rows_again(connection, sources, column, systems)
            if repeated:
                return _repeated(column, repeated, total)
    return ""


def about_clusters(
    connection: DuckDBPyConnection, sources: Sequence[DataFile], asked: Mapping[str, str], settings: Settings
) -> tuple[str, ...]:
    """Return warnings about unused columns whose names suggest clusters, with several rows per system.

    Of answers that are right or wrong the questions are clusters, too.
    """
    if settings.cluster is not None:
        return ()
    systems = _system_columns(settings)
    names = (*CLUSTER_COLUMNS, *(QUESTION_COLUMNS if settings.of_outcomes else ()))
    said = []
    for name in _shared(sources, names):
        again, total = (0, 0) if name in asked else _rows_again(connection, sources, name, systems)
        cluster = f"--cluster {shlex.quote(name)}"
        if again > _FEW * total:
            said.append(
                f"Column {name!r} repeats and is not used: rows count as independent examples. If those of one are "
                f"alike, intervals are too narrow: {cluster}."
            )
        elif again:
            said.append(
                f"Column {name!r} repeats in {again:,} of {total:,} rows and is not used. Remove rows that were "
                f"copied: they count as other examples. If rows of one are alike: {cluster}."
            )
    return tuple(said)


def _system_columns(settings: Settings) -> list[str]:
    """Return the columns of a file that identify systems."""
    return [
        name
        for name in settings.by
        if name != FOLD and name not in (settings.stacked_by, LABEL if settings.joined else None)
    ]


def _shared(sources: Sequence[DataFile], names: Sequence[str]) -> list[str]:
    """Return the columns of all files that have one of these names."""
    return [
        name
        for name in sources[0].columns
        if name.lower() in names and all(name in source.columns for source in sources)
    ]


def _rows_again(
    connection: DuckDBPyConnection, sources: Sequence[DataFile], column: str, systems: Sequence[str]
) -> tuple[int, int]:
    """Return the number of rows of one system whose value occurs in another of its rows, and the number of rows."""
    selected = [
        "SELECT {} FROM {}".format(
            ", ".join(f"{source.columns[name]} AS k{i}" for i, name in enumerate((column, *systems))), source.scan
        )
        for source in sources
    ]
    with faults_of(sources[0].named):
        keys = ", ".join(f"k{i}" for i in range(1 + len(systems)))
        groups = f"SELECT count(*) AS n FROM ({' UNION ALL '.join(selected)}) GROUP BY {keys}"
        again, total = connection.execute(f"SELECT sum(n - 1), sum(n) FROM ({groups})").fetchall()[0]
    return int(again or 0), int(total or 0)


def _repeated(column: str, again: int, total: int) -> str:
    if not again:
        return ""
    return (
        f"Column {column!r} repeats: {again:,} of {total:,} rows are of an example that another row is of, and "
        "count here as if they were of others, so intervals are too narrow. If several systems judged them, "
        "name the column that tells these apart: --system COLUMN."
    )
