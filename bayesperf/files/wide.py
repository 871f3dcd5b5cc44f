"""Files with a column for each system: its predictions, or its scores, put one system below the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bayesperf.files.formats import Source, sql_text
from bayesperf.files.roles import asked_columns
from bayesperf.files.settings import FOLD, ROW, STACKED, SYSTEM, Settings

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Rows of different files have different numbers: so many of a file at most.
_ROWS = 1 << 40


def stacked(connection: DuckDBPyConnection, source: Source, settings: Settings, place: int) -> list[Source]:
    """Return a source for each system of a file, the one at `place` of all, with columns as of one system a file.

    If the row says which example it is, rows are numbered.
    """
    if settings.id == ROW:
        source = _numbered(connection, source, list(asked_columns(settings)), place)
    columns = [_of_system(source, settings, system) for system in range(max(1, len(settings.systems)))]
    return [replace(source, columns={**source.columns, **more}) for more in columns]


def _of_system(source: Source, settings: Settings, system: int) -> dict[str, str]:
    """Return the SQL of the columns of one system, by the names that all systems share."""
    columns = {} if settings.fold_column is None else {FOLD: source.columns[settings.fold_column]}
    if settings.systems:
        columns[SYSTEM] = sql_text(settings.systems[system])
    if settings.predictions:
        columns[STACKED["predicted"]] = source.columns[settings.predictions[system]]
    if settings.scores:
        columns[STACKED["score"]] = source.columns[settings.scores[system]]
    if settings.threshold is not None:
        score = columns.get(STACKED["score"]) or source.columns[str(settings.score)]
        # What is no number is not missing: it is refused as a score.
        above = f"coalesce(try_cast({score} AS DOUBLE) >= {settings.threshold!r}, false)"
        columns[settings.predicted] = f"CASE WHEN {score} IS NOT NULL THEN {above} END"
    return columns


def _numbered(connection: DuckDBPyConnection, source: Source, asked: list[str], place: int) -> Source:
    """Return a file with the number of each row, the same for all that read it."""
    columns = {name: f"c{i}" for i, name in enumerate(asked)}
    selected = ", ".join(f"{source.columns[name]} AS {column}" for name, column in columns.items())
    rows = f"SELECT {place * _ROWS} + row_number() OVER () AS row, {selected} FROM {source.scan}"
    connection.execute(f"CREATE TEMP TABLE wide_{place} AS {rows}")
    return replace(source, scan=f"wide_{place}", columns={ROW: "row", **columns})
