"""Files of judged pairs: which of their columns are the two systems, the winner, the prompt and the judge."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from bayesperf.core.errors import InputError
from bayesperf.core.words import listed
from bayesperf.files.sources import open_sources

# Usual names of the columns, by what `bayesperf.fit` calls them.
COLUMNS: Mapping[str, Sequence[str]] = {
    "a": ("a", "model_a", "system_a", "left", "first", "player1", "home", "home_team"),
    "b": ("b", "model_b", "system_b", "right", "second", "player2", "away", "away_team"),
    "winner": ("winner", "preferred", "preference", "choice", "vote", "verdict", "result"),
    "prompt": ("prompt", "prompt_id", "question", "question_id", "item", "item_id", "instruction"),
    "judge": ("judge", "judge_id", "rater", "rater_id", "annotator", "annotator_id", "voter", "expert"),
}
REQUIRED = ("a", "b", "winner")


class JudgedFile(NamedTuple):
    """The rows of files of judged pairs, as `bayesperf.fit` takes them, and the column that each role was read from."""

    frame: pd.DataFrame
    columns: dict[str, str]
    notes: tuple[str, ...]


def read_pairs(paths: Sequence[Path], encoding: str | None = None) -> JudgedFile:
    """Read files of judged pairs, parts of one data set; refuse them if no columns say who met whom and who won."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="bayesperf-") as folder, duckdb.connect() as connection:
        sources = open_sources(connection, paths, Path(folder), {}, apart=False, encoding=encoding)
        names = [name for name in sources[0].columns if all(name in source.columns for source in sources)]
        columns = recognised(names)
        selected = [
            "SELECT {} FROM {}".format(
                ", ".join(f'({source.columns[name]})::VARCHAR AS "{role}"' for role, name in columns.items()),
                source.scan,
            )
            for source in sources
        ]
        frame = connection.sql(" UNION ALL ".join(selected)).df()
    return JudgedFile(frame, columns, tuple(source.note for source in sources if source.note))


def recognised(names: Iterable[str]) -> dict[str, str]:
    """Return the column of each role, by its usual names; refuse names among which a required one is missing."""
    names = list(names)
    found = usual_columns(names)
    if missing := [role for role in REQUIRED if role not in found]:
        wanted = {"a": "the first system", "b": "the second system", "winner": "the winner"}[missing[0]]
        raise InputError(
            "",
            f"no column is called as one of {wanted} is: {', '.join(COLUMNS[missing[0]])}. The columns are "
            f"{listed(names, 8)}.",
            "Rename the columns to a, b and winner, and perhaps prompt and judge.",
        )
    return found


def usual_columns(names: Iterable[str]) -> dict[str, str]:
    """Return the column of each role that is called as such columns usually are."""
    by_name = {name.lower(): name for name in names}
    return {role: by_name[usual] for role, known in COLUMNS.items() for usual in known[::-1] if usual in by_name}
