"""What each column is: the roles that options name, and those that the names of columns say."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bayesperf.core.errors import InputError
from bayesperf.core.words import listed
from bayesperf.data.axis_names import FOLD, LABEL
from bayesperf.files.option_table import FILE, ROW, STACKED, Settings, flags_of

if TYPE_CHECKING:
    import pandas as pd

# Usual names of columns that identify examples, systems, and parts of the data.
EXAMPLE_COLUMNS = ("example", "example_id", "id", "item", "item_id", "sample", "sample_id")
SYSTEM_COLUMNS = (
    "agent", "algorithm", "annotator", "bot", "classifier", "estimator", "llm", "method", "model", "model_id",
    "model_name", "modell", "modello", "modelo", "modèle", "network", "rater", "run", "seed", "sistema", "system",
    "système", "variant",
)  # fmt: skip
FOLD_COLUMNS = (
    "cv_fold",
    "durchgang",
    "falte",
    "falz",
    "faltung",
    "fold",
    "fold_id",
    "folds",
    "kfold",
    "pli",
    "pliegue",
    "podział",
)
PART_COLUMNS = ("part", "partition", "set", "split", "subset")
CLUSTER_COLUMNS = (
    "case_id", "document", "document_id", "hospital", "image", "image_id", "participant", "patient", "patient_id",
    "session", "subject", "subject_id", "user", "user_id", "video",
)  # fmt: skip
# What says whether an attempt passed, and the question that it is at.
CORRECT_COLUMNS = (
    "correct", "exact_match", "is_correct", "pass", "passed", "resolved", "reward", "right", "solved", "success",
)  # fmt: skip
# The same if they hold words such as pass and fail.
RESULT_COLUMNS = ("outcome", "result", "status", "verdict")
# What number the attempts at a question have, if it is not the name of a system.
ATTEMPT_COLUMNS = ("attempt", "epoch", "rep", "repeat", "repetition", "run", "seed", "trial", "try")
QUESTION_COLUMNS = ("doc_id", "instance_id", "problem", "problem_id", "question", "question_id", "task", "task_id")
# The columns of what readers say of cases, by their roles.
READ_COLUMNS = {
    "reader": ("reader", "reader_id", "radiologist", "observer", "physician"),
    "case": ("case", "case_id", "patient", "patient_id", "image", "image_id"),
    "modality": ("modality", "modality_id", "condition", "arm", "treatment", "method"),
    "truth": ("truth", "actual", "gold", "reference", "disease"),
}
# The roles of which each has columns of its own.
_APART = (
    "actuals", "predictions", "system_column", "fold_column", "by", "slices", "clusters", "split", "id", "judges",
    "correct", "grade", "answer", "credit",
)  # fmt: skip


def with_roles(settings: Settings, files: int, compared: bool = False) -> Settings:
    """Return settings with the columns of systems, folds and other groups in order, as a number of files has them.

    Of the columns of --by one that is called as systems are is the system, and one called as folds are the fold.
    `compared` says whether systems are compared, which must be told apart from other groups then.
    """
    settings = _named_columns(settings)
    _refuse_two_roles(settings)
    apart = files > 1 and not settings.parts and FILE not in settings.by
    if settings.parts and files > 1 and FILE in settings.by:
        raise InputError("--parts", "parts of one data set are not told apart.", f"Remove --by {FILE}.")
    system = settings.system_column or (None if settings.systems else _called(settings.by, SYSTEM_COLUMNS))
    fold = settings.fold_column or _called(settings.by, FOLD_COLUMNS)
    others = [name for name in settings.by if name not in (system, fold)]
    if compared and system is None and not settings.systems and not apart and len(others) > 1:
        raise InputError(
            "--by", f"which of {listed(others)} tells the systems apart?", f"Name it, as --system {others[0]}."
        )
    stacked = settings.stacked_by
    # Labels in pairs of columns may be those of several systems, one below the other.
    systems = [name for name in (system, stacked) if name is not None]
    by = (*systems, *([FILE] if apart else []), *others, *([] if fold is None else [FOLD]))
    return replace(settings, system_column=system, fold_column=fold, by=by)


def without_files_of_systems(frame: pd.DataFrame, settings: Settings) -> Settings:
    """Return settings that do not tell files apart, if each system stands in one file: they are told apart already."""
    if settings.system_column is None or FILE not in settings.by:
        return settings
    files = frame.groupby(settings.system_column, observed=True)[FILE].nunique()
    if len(files) < 2 or (files > 1).any():
        return settings
    return replace(settings, by=tuple(name for name in settings.by if name != FILE))


def with_outcomes(settings: Settings) -> Settings:
    """Return settings that read a column of outcomes, or of credit, as labels of both kinds are."""
    column = settings.correct or settings.grade or settings.credit
    return settings if column is None else replace(settings, actual=column, predicted=column)


def with_predicted(settings: Settings, columns: Sequence[Collection[str]]) -> Settings:
    """Return settings that read the usual column of predicted labels beside one of scores, if all files have it."""
    there = all(settings.predicted in of_file for of_file in columns)
    return replace(settings, scores_alone=settings.scores_alone and bool(settings.scores or not there))


# What is asked of rows with one label.
_OF_ONE_LABEL = ("judges", "clusters", "slices", "split", "top", "against", "state")


def refuse_several_labels(settings: Settings) -> None:
    """Refuse what is not asked of rows that have several labels."""
    if LABEL not in settings.by or not (settings.actuals or settings.joined):
        return
    for name in _OF_ONE_LABEL:
        if getattr(settings, name) not in (None, ()):
            flag = flags_of(name)[0]
            raise InputError(
                flag,
                "it is asked of rows with one label, and these have several.",
                f"Remove {flag}, or name the columns of one label, of 0 and 1.",
            )


def _called(names: tuple[str, ...], known: tuple[str, ...]) -> str | None:
    return next((name for name in names if name.strip().lower() in known), None)


def _roles(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield each column that is named, and the option that names it."""
    for option in _APART:
        value = getattr(settings, option) or (settings.actual if option == "actuals" else None)
        for name in (value,) if isinstance(value, str) else value or ():
            yield name, flags_of(option)[0]


def _refuse_two_roles(settings: Settings) -> None:
    """Refuse a column that is named twice."""
    seen: dict[str, str] = {}
    # One column of predictions is no longer among those of which each is a system.
    own = (settings.predicted,) if settings.predicted == settings.actual and not settings.scores_alone else ()
    settings = replace(settings, predictions=settings.predictions or own)
    for name, option in _roles(settings):
        if (first := seen.setdefault(name, option)) != option or [*_roles(settings)].count((name, option)) > 1:
            problem = "it is named twice." if first == option else f"it is {first} already."
            raise InputError(f"{option} {name}", problem, "Every role needs a column of its own.")


def _named_columns(settings: Settings) -> Settings:
    """Return settings with what becomes of the columns of predictions and scores; if several, each is a system.

    Scores that do not match the predictions, and a threshold without scores, are refused.
    """
    predictions, scores, calls = settings.predictions, settings.scores, settings.threshold is not None
    if calls and not scores:
        raise InputError("--threshold", "predictions are made of scores by it.", "Name their column, as --score score.")
    if twice := next((name for name in scores if scores.count(name) > 1), None):
        raise InputError(f"--score {twice}", "it is named twice.")
    if scores and predictions and len(scores) != len(predictions):
        raise InputError(
            "--score",
            f"{len(scores)} column{'s' * (len(scores) > 1)} of scores and {len(predictions)} of predictions.",
            "Name one for each, in the same order; or none of --predicted.",
        )
    if len(settings.actuals) < 2:
        settings = replace(settings, actual=next(iter(settings.actuals), settings.actual), actuals=())
    elif (named := len(predictions or scores)) != len(settings.actuals):
        raise InputError(
            "--actual",
            f"{len(settings.actuals)} of --actual, each a label, and {named} of --predicted.",
            "Name one --predicted for each, in the same order.",
        )
    settings = replace(settings, scores_alone=bool(scores) and not predictions and not calls)
    if calls:
        settings, predictions = replace(settings, predictions=(), beside=predictions), ()
    if len(predictions) < 2 and len(scores) < 2:
        predicted, score = (named[0] if named else None for named in (predictions, scores))
        return replace(settings, predicted=predicted or settings.predicted, score=score, predictions=(), scores=())
    _refuse_taken_names(settings)
    return replace(
        settings,
        actual=STACKED["actual"] if settings.actuals else settings.actual,
        predicted=STACKED["predicted"],
        score=STACKED["score"] if scores else None,
        id=ROW if settings.id is None and not settings.actuals else settings.id,
    )


def _refuse_taken_names(settings: Settings) -> None:
    """Refuse columns that are called as those which are made of a column for each system."""
    options = dict(_roles(replace(settings, predictions=())))
    if taken := {str(settings.stacked_by), ROW, STACKED["predicted"], STACKED["score"]}.intersection(options):
        raise InputError(
            f"{options[min(taken)]} {min(taken)}",
            "with a column for each system this is the name of a column of its own.",
            "Rename the file's.",
        )
    if settings.system_column is not None and not settings.actuals:
        raise InputError(
            f"--system {settings.system_column}", "systems have a column each already.", "Name it by --by instead."
        )


def asked_columns(settings: Settings) -> dict[str, str]:
    """Return the columns that files must have, and the option that asks for each."""
    made = {FOLD, settings.stacked_by, LABEL if settings.joined else None, settings.system_column}
    by = tuple(name for name in settings.by if name not in made or (name == FOLD and settings.fold_column is None))
    own = settings.predictions or (() if settings.calls else (settings.predicted,))
    scores = settings.scores or ((settings.score,) if settings.score is not None else ())
    id_ = None if settings.id == ROW else settings.id
    named = dict(_roles(replace(settings, predictions=own, by=by, id=id_)))
    named = dict.fromkeys(settings.beside, "--predicted") | named
    return named | {name: "--score" for name in scores if name not in named}
