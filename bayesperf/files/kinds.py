"""Kinds of files that hold no predictions: studies of a test, reads of cases, attempts at items, votes, and ratings.

A file is of the kind whose columns it has, by their usual names.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bayesperf.core.errors import InputError
from bayesperf.core.words import enumerated, listed
from bayesperf.data.axis_names import axis_role
from bayesperf.files.roles import CORRECT_COLUMNS, EXAMPLE_COLUMNS, QUESTION_COLUMNS, READ_COLUMNS, SYSTEM_COLUMNS
from bayesperf.files.sources import open_sources

if TYPE_CHECKING:
    import pandas as pd


class Kind(NamedTuple):
    """A kind of file.

    Attributes
    ----------
    columns : mapping
        Usual names of each column, by its role; the first name that occurs is taken.
    required : mapping
        The roles that a file must have, and what each is in words.
    held : mapping
        What the columns of its own roles hold, in words.
    question : str
        What it answers; empty if options name its columns as they do in files of predictions.
    command : str
        The command that answers it.
    sampled : str
        What is sampled for the answers, if anything is.
    """

    columns: Mapping[str, Sequence[str]]
    required: Mapping[str, str]
    held: Mapping[str, str] = {}
    question: str = ""
    command: str = "summary"
    sampled: str = ""


_READS = {"reader": "the reader", "case": "the case", "truth": "the truth of the case"}
_OF_READS = {
    "reader": "readers",
    "case": "cases",
    "modality": "ways of reading",
    "truth": "the truth of each case",
    "read": "what the reader said",
}
# In the order in which they are looked for.
KINDS: Mapping[str, Kind] = {
    "judged pairs": Kind(
        {
            "a": ("a", "model_a", "system_a", "left", "first", "player1", "home", "home_team"),
            "b": ("b", "model_b", "system_b", "right", "second", "player2", "away", "away_team"),
            "winner": ("winner", "preferred", "preference", "choice", "vote", "verdict", "result"),
            "prompt": ("prompt", "prompt_id", "question", "question_id", "item", "item_id", "instruction"),
            "judge": ("judge", "judge_id", "rater", "rater_id", "annotator", "annotator_id", "voter", "expert"),
            "count": ("count",),
        },
        {"a": "the first system", "b": "the second system", "winner": "the winner"},
        {
            "a": "the first of two systems",
            "b": "the second of two systems",
            "winner": "which of the two was preferred",
            "prompt": "prompts",
            "judge": "judges",
            "count": "how many judgements a row stands for",
        },
        question="Which is best?",
        command="rank",
        sampled="strengths",
    ),
    "studies": Kind(
        {
            "study": ("study", "study_id", "studyid", "study_name", "studynames", "author", "trial", "paper", "site"),
            "test": ("test", "index_test", "marker", "modality", "type", "system", "model"),
            "tp": ("tp", "true_positives", "true_positive"),
            "fn": ("fn", "false_negatives", "false_negative"),
            "fp": ("fp", "false_positives", "false_positive"),
            "tn": ("tn", "true_negatives", "true_negative"),
        },
        dict.fromkeys(("tp", "fn", "fp", "tn"), "a number of cases"),
        {
            "study": "studies",
            "test": "tests",
            "tp": "true positives",
            "fn": "false negatives",
            "fp": "false positives",
            "tn": "true negatives",
        },
        question="What do the studies say together?",
    ),
    "scored reads": Kind(
        READ_COLUMNS | {"score": ("score", "rating", "confidence", "probability")},
        _READS | {"score": "the score"},
        _OF_READS,
        question="How well do readers tell the cases apart?",
    ),
    "reads": Kind(
        READ_COLUMNS | {"read": ("read", "call", "decision", "predicted")},
        _READS | {"read": "the read"},
        _OF_READS,
        question="How good are the readers?",
        sampled="rates of readers",
    ),
    "attempts": Kind(
        {
            "system": SYSTEM_COLUMNS,
            "item": (*QUESTION_COLUMNS, *EXAMPLE_COLUMNS),
            "correct": CORRECT_COLUMNS,
        },
        {"system": "the system", "item": "the item", "correct": "right or wrong"},
        sampled="abilities",
    ),
    "ratings": Kind(
        {
            "item": (*EXAMPLE_COLUMNS, *QUESTION_COLUMNS, "document", "patient", "image", "text"),
            "rater": ("rater", "rater_id", "annotator", "annotator_id", "coder", "labeler", "labeller", "observer"),
            "rating": ("rating", "label", "answer", "grade", "code", "category", "annotation"),
        },
        {"item": "the item", "rater": "the rater", "rating": "what the rater said"},
        {"item": "items", "rater": "raters", "rating": "what the rater said"},
        question="How well do the raters agree?",
    ),
}


class FileOfKind(NamedTuple):
    """The rows of files of one kind.

    Attributes
    ----------
    kind : str
        A name of `KINDS`.
    frame : pandas.DataFrame
        A column of text for each role.
    columns : dict
        The column that each role was read from.
    notes : tuple of str
        Sentences on the format.
    """

    kind: str
    frame: pd.DataFrame
    columns: dict[str, str]
    notes: tuple[str, ...]


def kind_of(names: Iterable[str]) -> str | None:
    """Return the kind of a file by the names of its columns; None if it is of none, or holds predictions."""
    names = list(names)
    if {"actual", "predicted"} <= {name.lower() for name in names}:
        return None
    kind = next((name for name in KINDS if KINDS[name].required.keys() <= usual_columns(name, names).keys()), None)
    # Labels beside those of the raters are the truth, or a system's.
    others = set(names) - set(usual_columns("ratings", names).values())
    return None if kind == "ratings" and any(map(axis_role, others)) else kind


def read_kind(paths: Sequence[Path], kind: str | None = None, encoding: str | None = None) -> FileOfKind | None:
    """Read files that are parts of one data set.

    Files that are not of the `kind` are refused. Without one, files of any kind are read, and others give None.
    """
    import duckdb

    with tempfile.TemporaryDirectory(prefix="bayesperf-") as folder, duckdb.connect() as connection:
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


def usual_columns(kind: str, names: Iterable[str]) -> dict[str, str]:
    """Return the column of each role that is called as such columns usually are."""
    by_name = {name.lower(): name for name in names}
    columns = KINDS[kind].columns
    return {role: by_name[usual] for role, known in columns.items() for usual in known[::-1] if usual in by_name}
