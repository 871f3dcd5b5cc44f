"""Reading scores from a file: which rows are test rows and which choose thresholds, with checks of both."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bayesperf.core.errors import InputError
from bayesperf.core.words import listed
from bayesperf.data.axis_names import FOLD
from bayesperf.data.binned_scores import BinnedScores
from bayesperf.data.label_encoding import positive_label
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.files.option_table import BESIDE, Settings
from bayesperf.files.reading import Predictions
from bayesperf.reports.class_columns import label_of
from bayesperf.reports.scores import LabelledScores, ScoredSystem, ScoredSystems, Split

# With more scores than this, curves are drawn from counts in bins, each with at most one in this many of either class.
_MANY, _BINS = 10_000, 2_048
# Value of the --split column for the test rows.
TEST = "test"
_NUMBER = re.compile(r"\s*[-+]?[\d.]+(e[-+]?\d+)?\s*", re.IGNORECASE)
_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


def split_rows(predictions: Predictions, settings: Settings) -> tuple[Predictions, Predictions]:
    """Return the rows that systems are judged by, and those on which thresholds are chosen, as a column splits them.

    Raises
    ------
    ValueError
        If the column does not hold "test" and one other value, a class is missing from a part, or an example is in
        both.
    """
    name, frame = str(settings.split), predictions.frame
    if missing := int(frame[name].isna().sum()):
        raise InputError(
            f"--split {name}",
            f"{missing} missing.",
            "Each row must say which part it is of, or be left out by --drop-missing.",
        )
    values = frame[name].map(str)
    parts = sorted(values.unique())
    if len(parts) != 2 or sum(map(_is_test, parts)) != 1:
        raise InputError(
            f"--split {name}",
            f"it must hold two values, '{TEST}' for the examples to judge by and another for "
            f"those to choose thresholds on; it holds {listed(parts)}.",
        )
    is_test = values.map(_is_test).to_numpy(bool)
    test, dev = predictions.where(is_test), predictions.where(~is_test)
    for part in (test.frame, dev.frame):
        if lacking := _values(frame, settings.actual) - _values(part, settings.actual):
            raise InputError(
                f"--split {name}", f"{str(part[name].iloc[0])!r} holds no example of class {min(lacking, key=str)!r}."
            )
    if both := _values(test.frame, settings.id) & _values(dev.frame, settings.id):
        raise InputError(
            f"--split {name}",
            f"by --id {settings.id}, {min(both, key=str)!r} is in both parts"
            f"{f', as are {len(both) - 1} more' if len(both) > 1 else ''}.",
            "A threshold would be judged by what it was chosen on.",
        )
    return test, dev


def _values(frame: pd.DataFrame, column: str | None) -> set[Any]:
    """Return the values of a column; none if it is absent, which is reported elsewhere."""
    return set(frame[column].dropna()) if column in frame else set()


def _is_test(value: str) -> bool:
    return value.strip().lower() == TEST


def with_calls(predictions: Predictions, settings: Settings) -> Predictions:
    """Return predictions with labels made of scores: the positive one from a threshold on, or of all without one.

    If a column of predicted labels stands beside them, a note more says how many rows it calls otherwise.

    Raises
    ------
    ValueError
        If there are not two classes of which one is positive, or scores are missing or no numbers.
    """
    frame = predictions.frame
    _check_numbers(frame[str(settings.score)], str(settings.score))
    classes = sorted(frame[settings.actual].dropna().unique().tolist())
    named = None if settings.pos_label is None else label_of(classes, settings.pos_label)
    positive = positive_label(classes, None) if named is None else named
    if len(classes) != 2 or positive is None:
        raise InputError(
            "--score" if settings.scores_alone else "--threshold",
            f"needs two classes and --pos-label; the labels of {settings.actual!r} are {listed(classes)}.",
            f"Name the positive one, as --pos-label {shlex.quote(str(classes[-1]))}.",
        )
    negative = next(label for label in classes if label != positive)
    is_positive = frame[settings.predicted].to_numpy(bool)
    calls = pd.Series([negative, positive]).take(is_positive.astype(int))
    called = frame.assign(**{settings.predicted: calls.set_axis(frame.index)})
    if not settings.beside:
        return replace(predictions, frame=called)
    weights = predictions.sizes
    others = (called[BESIDE] != called[settings.predicted]) & called[BESIDE].notna()
    said = (
        f"Labels are made by --threshold {settings.threshold:g}; {listed(settings.beside)} "
        f"{'says' if len(settings.beside) == 1 else 'say'} otherwise in {weights[others].sum():,} of "
        f"{weights.sum():,} rows."
    )
    return replace(predictions, frame=called.drop(columns=BESIDE), notes=(said, *predictions.notes))


def scored_systems(
    test: Predictions, dev: Predictions | None, counts: ConfusionMatrix, settings: Settings
) -> ScoredSystems:
    """Return the scores of all systems, of the rows that `split_rows` returns and the counts of those of the test.

    Raises
    ------
    ValueError
        If there are not two classes, scores are missing or no numbers, or a system has examples of one class only.
    """
    dims = [name for name in settings.by if name != FOLD]
    if counts.pos_label is None:
        raise InputError(
            "--score",
            f"needs two classes and --pos-label; the labels are {', '.join(map(str, counts.labels))}.",
            f"Name the positive one, as --pos-label {shlex.quote(str(counts.labels[-1]))}.",
        )
    test_scores = _scores_by_system(test.frame, dims, counts.labels, settings)
    dev_scores = {} if dev is None else _scores_by_system(dev.frame, dims, counts.labels, settings)
    if dev is not None:
        _check_parts(test_scores, dev_scores, f"--split {settings.split}")
    systems = [
        ScoredSystem(
            names,
            scores,
            dev_scores.get(names),
            counts.pos_label,
            settings.prior,
            settings.seed,
            by_score := _counted_by_score(scores, counts.pos_label, test),
            by_score.coarsened(_BINS) if test.rows is not None or len(scores.y_score) > _MANY else None,
        )
        for names, scores in test_scores.items()
    ]
    return ScoredSystems(systems, dims, _split(test, dev, settings), settings.id is not None, settings)


def _counted_by_score(scores: LabelledScores, pos_label: Any, predictions: Predictions) -> BinnedScores:
    """Return scores counted by score, or by the bins in which they were counted."""
    y_true, y_score = scores
    rows, edges = predictions.rows, predictions.edges
    numbers = np.ones(len(y_score), np.int64)
    if rows is not None:
        numbers = pd.Series(rows, predictions.frame.index).loc[y_true.index].to_numpy(np.int64)
    values, place = np.unique(y_score, return_inverse=True)
    negatives, positives = np.zeros((2, len(values)), np.int64)
    is_positive = (y_true == pos_label).to_numpy(bool)
    np.add.at(positives, place[is_positive], numbers[is_positive])
    np.add.at(negatives, place[~is_positive], numbers[~is_positive])
    # The upper edge of a bin without scores above is the next score.
    limits = None if edges is None else np.append(values, edges[-1])
    return BinnedScores(values, positives, negatives, limits)


def _check_parts(
    test: dict[tuple[str, ...], LabelledScores], dev: dict[tuple[str, ...], LabelledScores], option: str
) -> None:
    """Refuse systems without a part, or whose two parts are the same."""
    if alone := set(test) ^ set(dev):
        raise InputError(option, f"{', '.join(min(alone))} is in one part only.")
    for names, (labels, scores) in dev.items():
        if np.array_equal(scores, test[names].y_score) and labels.tolist() == test[names].y_true.tolist():
            raise InputError(
                option,
                f"both parts of {', '.join(names) or 'the file'} hold the same labels and scores.",
                "A threshold would be judged by what it was chosen on.",
            )


def _split(test: Predictions, dev: Predictions | None, settings: Settings) -> Split | None:
    """Return the sizes and names of both parts, if there are two."""
    if dev is None or settings.split is None:
        return None
    frames = test.frame, dev.frame
    names = [str(part[settings.split].iloc[0]) for part in frames]
    return Split(settings.split, names[0], len(frames[0]), names[1], len(frames[1]))


def _scores_by_system(
    frame: pd.DataFrame, dims: list[str], labels: Sequence[Any], settings: Settings
) -> dict[tuple[str, ...], LabelledScores]:
    """Return the labels and scores of each system, sorted by example if a column identifies the examples."""
    score = str(settings.score)
    _check_numbers(frame[score], score)
    if settings.id is not None:
        frame = frame.sort_values(settings.id)
    parts = frame.groupby(dims, sort=True, observed=True, dropna=False) if dims else [((), frame)]
    by_system = {}
    for key, rows in parts:
        names = tuple(map(str, key))
        if (own := set(rows[settings.actual])) != set(labels):
            option = f"--score {score}" if settings.split is None else f"--split {settings.split}"
            part = "" if settings.split is None else f" in {str(rows[settings.split].iloc[0])!r}"
            raise InputError(
                option,
                f"{', '.join(names) or 'the file'}{part} must hold examples of the classes "
                f"{listed(list(labels))}; it holds {listed(sorted(own, key=str))}.",
            )
        by_system[names] = LabelledScores(rows[settings.actual], rows[score].to_numpy(float))
    return by_system


def _check_numbers(column: pd.Series[Any], name: str) -> None:
    """Refuse a column that does not hold finite numbers."""
    if missing := int(column.isna().sum()):
        raise InputError(
            f"--score {name}", f"{missing} of {len(column)} missing.", "Leave those rows out by --drop-missing."
        )
    if not pd.api.types.is_numeric_dtype(column):
        other = next((value for value in column if not _NUMBER.fullmatch(str(value))), column.iloc[0])
        advice = "Write decimals with a point." if _COMMA.fullmatch(str(other)) else ""
        if "%" in str(other):
            advice = "Write all of them as percentages, or none."
        raise InputError(f"--score {name}", f"it must hold numbers; it holds {other!r}.", advice)
    if infinite := int(np.isinf(column.to_numpy(float)).sum()):
        raise InputError(
            f"--score {name}", f"{infinite} of {len(column)} infinite.", "Put numbers beyond all others in their place."
        )
