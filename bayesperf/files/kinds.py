"""Kinds of files that hold no predictions: studies of a test, reads of cases, attempts at items, votes, and ratings.

A file is of the kind whose columns it has, by their usual names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bayesperf.data.axis_names import axis_role
from bayesperf.files.roles import CORRECT_COLUMNS, EXAMPLE_COLUMNS, QUESTION_COLUMNS, READ_COLUMNS, SYSTEM_COLUMNS


class Kind(NamedTuple):
    """A kind of file."""

    # Usual names of each column, by its role; the first name that occurs is taken.
    columns: Mapping[str, Sequence[str]]
    # The roles that a file must have, and what each is in words.
    required: Mapping[str, str]
    # What the columns of its own roles hold, in words.
    held: Mapping[str, str] = {}
    # What it answers; empty if options name its columns as they do in files of predictions.
    question: str = ""
    # The command that answers it.
    command: str = "summary"
    # What is sampled for the answers, if anything is.
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


def kind_of(names: Iterable[str]) -> str | None:
    """Return the kind of a file by the names of its columns; None if it is of none, or holds predictions."""
    names = list(names)
    if {"actual", "predicted"} <= {name.lower() for name in names}:
        return None
    kind = next((name for name in KINDS if KINDS[name].required.keys() <= usual_columns(name, names).keys()), None)
    # Labels beside those of the raters are the truth, or a system's.
    others = set(names) - set(usual_columns("ratings", names).values())
    return None if kind == "ratings" and any(map(axis_role, others)) else kind


def usual_columns(kind: str, names: Iterable[str]) -> dict[str, str]:
    """Return the column of each role that is called as such columns usually are."""
    by_name = {name.lower(): name for name in names}
    columns = KINDS[kind].columns
    return {role: by_name[usual] for role, known in columns.items() for usual in known[::-1] if usual in by_name}
