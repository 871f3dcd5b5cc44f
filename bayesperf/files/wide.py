"""Files with a column for each system: its predictions, or its scores, put one system below the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bayesperf.core.errors import InputError
from bayesperf.files.formats import Source, sql_text
from bayesperf.files.settings import ROW, STACKED, SYSTEM, Settings

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Rows of different files have different numbers: so many of a file at most.
_ROWS = 1 << 40


def named_systems(settings: Settings, predictions: tuple[str, ...], scores: tuple[str, ...]) -> Settings:
    """Return settings with the columns of predictions and scores, in the order named; if several, each is a system.

    Scores that do not match the predictions, a threshold without scores, and a column named twice are refused.
    """
    calls = settings.threshold is not None
    if calls and (predictions or not scores):
        raise InputError(
            "--threshold",
            "predictions are made of scores by it. "
            + ("Leave --predicted out." if scores else "Name their column, as --score score."),
        )
    for option, named in (("--predicted", predictions), ("--score", scores)):
        if twice := next((name for name in named if named.count(name) > 1), None):
            raise InputError(f"{option} {twice}", "it is named twice.")
    if scores and not calls and len(scores) != max(1, len(predictions)):
        raise InputError(
            "--score",
            f"{len(scores)} of scores, and {max(1, len(predictions))} of --predicted.",
            "Name one for each, in the same order; or none of --predicted, and the --threshold "
            "that makes predictions of scores.",
        )
    if len(predictions) < 2 and len(scores) < 2:
        (predicted,) = predictions or (settings.predicted,)
        return replace(settings, predicted=predicted, score=scores[0] if scores else None)
    options: dict[str | None, str] = dict(asked_columns(replace(settings, predicted="", score=None)).items())
    options[settings.id] = "--id"
    if taken := {SYSTEM, ROW, *STACKED.values()}.intersection(options):
        raise InputError(
            f"{options[min(taken)]} {min(taken)}",
            "with a column for each system this is the name of a column of its own.",
            "Rename the file's.",
        )
    return replace(
        settings,
        by=(SYSTEM, *settings.by),
        predicted=STACKED["predicted"],
        score=STACKED["score"] if scores else None,
        predictions=predictions,
        scores=scores,
        id=ROW if settings.id is None else settings.id,
    )


def asked_columns(settings: Settings) -> dict[str, str]:
    """Return the columns that files must have, and the option that asks for each."""
    by = [name for name in settings.by if not (name == SYSTEM and settings.systems)]
    named = {settings.actual: "--actual"} | dict.fromkeys(by, "--by")
    if settings.id is not None and settings.id != ROW:
        named[settings.id] = "--id"
    if settings.split is not None:
        named[settings.split] = "--split"
    if settings.judge is not None:
        named[settings.judge] = "--judge"
    named |= dict.fromkeys(settings.clusters, "--cluster") | dict.fromkeys(settings.slices, "--slice")
    predictions = settings.predictions or ((settings.predicted,) if settings.threshold is None else ())
    scores = settings.scores or ((settings.score,) if settings.score is not None else ())
    return dict.fromkeys(predictions, "--predicted") | dict.fromkeys(scores, "--score") | named


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
    columns = {}
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
