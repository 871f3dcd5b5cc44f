"""Columns of labels before they are counted: of one kind, with the classes that were named, each spelt once."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bayesperf.core.errors import InputError
from bayesperf.core.words import listed
from bayesperf.files.class_names import about_labels, classes_in_words, merged_by, nearest, plain
from bayesperf.files.option_table import BESIDE, Settings
from bayesperf.files.reading import Predictions

_BOOLEANS = {"true": True, "false": False}
# A whole number, however it is written.
_WHOLE = re.compile(r"\s*\+?(-?)0*([0-9]+)(?:\.0*)?\s*")
# Labels that differ by digits alone are classes of their own: grade 1, grade 2.
_DIGITS = re.compile(r"\d+")


def with_classes(predictions: Predictions, settings: Settings) -> tuple[Predictions, Settings]:
    """Return predictions whose columns of labels are as they are counted, with notes and warnings, and their settings.

    Of more than two classes one that is named as positive is held against the others together.

    Raises
    ------
    ValueError
        If the actual and the predicted labels have nothing in common, or no label is called as the positive class.
    """
    scores = _scores_of_judges(predictions.frame, settings)
    frame = predictions.frame.assign(**scores)
    names = [settings.actual, BESIDE if settings.calls else settings.predicted, *settings.judges]
    columns = [name for name in names if name in frame and name not in scores]
    frame = _as_one_kind(frame, columns)
    predictions = replace(predictions, frame=frame)
    counts = _label_counts(predictions, columns)
    for name in {settings.predicted, BESIDE} & {*columns}:
        _refuse_strangers(predictions, name, settings)
    spelt = about_labels(counts)
    warned = (
        *spelt,
        *_twin_warnings(counts),
        *(() if spelt or settings.judge is not None else _stray_warnings(counts)),
    )
    predictions = replace(predictions, warnings=(*predictions.warnings, *warned))
    if settings.pos_label is None:
        return predictions, settings
    every = dict.fromkeys(map(_text, named_labels(frame, settings) or []), 0) | counts
    positive = _named_label(every, settings.pos_label)
    if len(every) <= 2:
        return predictions, settings
    others = f"not {positive}"
    for name in columns:
        is_positive = frame[name].map(_text) == positive
        one_or_other = np.where(is_positive, positive, others)
        frame = frame.assign(**{name: pd.Series(one_or_other, frame.index).where(frame[name].notna(), None)})
    note = f"Class {positive!r} is held against the other {len(counts) - 1} together, {others!r}."
    predictions = replace(predictions, frame=frame, notes=(note, *predictions.notes))
    return predictions, replace(settings, labels=(), pos_label=positive)


def _scores_of_judges(frame: pd.DataFrame, settings: Settings) -> dict[str, Any]:
    """Return the columns of the judges who give scores, as numbers."""
    if not settings.judges:
        return {}
    from bayesperf.labels.judges import as_score

    called = {_text(each) for name in (settings.actual, settings.predicted) for each in frame[name].dropna().unique()}
    classes = [float(each) if _WHOLE.fullmatch(each) else each for each in settings.labels or called]
    read = {name: pd.to_numeric(frame[name], errors="coerce") for name in settings.judges}
    scores = {name: as_score(column, classes) for name, column in read.items()}
    return {name: score for name, score in scores.items()
            if score is not None and np.array_equal(np.isnan(score), frame[name].isna())}  # fmt: skip


def _text(label: Any) -> str:
    """Write a label as a user types it: a whole number without a point."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _label_counts(predictions: Predictions, columns: list[str]) -> dict[str, int]:
    """Return how often each label occurs in the first column, and those that occur in others only."""
    counts: dict[str, int] = {}
    weights = pd.Series(predictions.sizes, predictions.frame.index)
    for place, name in enumerate(columns):
        for label, n in weights.groupby(predictions.frame[name], observed=True).sum().items():
            counts[_text(label)] = counts.get(_text(label), 0) + int(n) * (place == 0)
    return counts


def _named_label(counts: dict[str, int], text: str) -> str:
    """Return the label that a text on the command line stands for."""
    if (found := label_of(list(counts), text)) is None:
        near = nearest(text, list(counts))
        advice = f"Name it as --pos-label {near!r}." if near else ""
        raise InputError(f"--pos-label {text}", f"no label is called so; {classes_in_words(counts)}", advice)
    return str(found)


def _refuse_strangers(predictions: Predictions, name: str, settings: Settings) -> None:
    """Refuse predictions of which no label is an actual one: two codings, which would count as classes apart."""
    pairs = predictions.frame[[settings.actual, name]].dropna()
    actual, predicted = ({*map(_text, pairs[column].unique())} for column in pairs)
    are_scores = any("." in label for label in predicted) and pd.api.types.is_numeric_dtype(pairs[name])
    if settings.labels or are_scores or actual & predicted or min(len(actual), len(predicted)) < 2:
        return
    weights = pd.Series(predictions.sizes, predictions.frame.index)[pairs.index]
    new, old = (pairs[column].map(_text) for column in (settings.actual, name))
    meant = pd.crosstab(old, new, values=weights, aggfunc="sum").fillna(0).idxmax(axis=1)
    merged = [merged_by(str(old), str(new)) for old, new in meant.items()] if meant.is_unique else []
    raise InputError(
        BESIDE if name == BESIDE else f"--predicted {name}",
        f"no label is an actual one: {settings.actual!r} holds {listed(sorted(actual))}, and {name!r} "
        f"{listed(sorted(predicted))}.",
        f"If they mean the same: {' '.join(merged)}." if merged else "Name other columns, or merge labels by --map.",
    )


def _twin_warnings(counts: dict[str, int]) -> list[str]:
    """Return warnings of labels that are no actual ones, and are nearly called as one that is."""
    return [
        f"Label {label!r} is predicted and never actual, and looks like {near!r}. To merge them: "
        f"{merged_by(label, near)}."
        for label, near in _twins(counts).items()
        if near
    ]


def _stray_warnings(counts: dict[str, int]) -> list[str]:
    """Return a warning about the labels that are never actual, and look like none that is."""
    strays = [label for label, near in _twins(counts).items() if not near]
    # Of two classes the file may hold one alone.
    if len(counts) < 3 or not strays:
        return []
    occur, they_mean = ("Label {} occurs", "it means") if len(strays) == 1 else ("Labels {} occur", "one means")
    return [
        f"{occur.format(listed(strays))} only among the predictions. If {they_mean} another class: "
        f"{merged_by(strays[0], 'CLASS')}."
    ]


def _twins(counts: dict[str, int]) -> dict[str, str]:
    """Return the labels that are no actual ones, each with the one that it is nearly called as; empty if none."""
    known = [label for label, n in counts.items() if n]
    near = {label: nearest(label, known, 0.8) for label, n in counts.items() if not n}
    # Numbers tell classes apart.
    return {
        label: "" if _DIGITS.sub("", plain(twin)) == _DIGITS.sub("", plain(label)) else twin
        for label, twin in near.items()
    }


def _as_one_kind(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Convert label columns to text if one of them holds text: a file does not say whether its numbers are labels."""
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in columns]
    if all(numeric):
        return frame
    if any(numeric):
        frame = frame.assign(**{name: frame[name].map(_text, na_action="ignore") for name in columns})
    _refuse_two_spellings(frame, columns)
    return frame


def _refuse_two_spellings(frame: pd.DataFrame, columns: list[str]) -> None:
    """Refuse labels of text that are one whole number, as "007" and "7": they would count as two."""
    seen: dict[tuple[str, ...], str] = {}
    for label in dict.fromkeys(label for name in columns for label in frame[name].dropna().unique()):
        number = _WHOLE.fullmatch(str(label))
        if number and (first := seen.setdefault(number.groups(), label)) != label:
            raise InputError(
                "",
                f"columns {', '.join(map(repr, columns))}: {first!r} and {label!r} are one number, "
                "but among labels of text they count as two.",
                f"Merge them: {merged_by(str(label), str(first))}.",
            )


def named_labels(frame: pd.DataFrame, settings: Settings) -> list[Any] | None:
    """Return the labels that were named, as values of the kind that the columns hold; None if none were."""
    if not settings.labels:
        return None
    columns = [frame[name] for name in (settings.actual, settings.predicted)]
    if not all(pd.api.types.is_numeric_dtype(column) for column in columns):
        return list(settings.labels)
    try:
        return [_BOOLEANS[text.lower()] if text.lower() in _BOOLEANS else float(text) for text in settings.labels]
    except ValueError:
        held = listed(sorted({label for column in columns for label in column.dropna().unique().tolist()}))
        raise InputError(f"--labels {','.join(settings.labels)}", f"the labels of the file are {held}.") from None


def label_of(labels: list[Any], text: str) -> Any:
    """Return the label that a text on the command line stands for: written as it is, else in other capitals."""
    found = [label for label in labels if _text(label).lower() == text.lower()]
    return next((label for label in found if _text(label) == text), found[0] if found else None)
