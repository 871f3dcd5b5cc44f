"""A page of answers: what any result says in words, as a figure and as a table, and how it was made.

An answer needs no `Analysis`, which counts a classifier's predictions: studies of a test, reads, attempts and judged
pairs have answers of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from bayesperf import plots
from bayesperf.comparison.result import Comparison
from bayesperf.core.answer import Answer
from bayesperf.core.errors import InputTypeError
from bayesperf.core.words import enumerated, metric_title, percentage, printable, short_interval_name
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.summary_table import caption
from bayesperf.reports.blocks import Block, Column, Figure, Name, Note, Rows, Sentence, Table, Written
from bayesperf.reports.drawing import picture, strips
from bayesperf.reports.sections.methods import made_by
from bayesperf.reports.sections.which_is_better import difference_table

# What stands beneath a question; blocks only on our own pages.
type Part = Answer | pd.DataFrame | Block


# What tells how a figure was computed, and ends that have a column together: they stand in JSON alone.
_NOT_SHOWN = ("metric", "method", "mode", "sd", "mcse", "mcse_interval", "undefined", "ci_lower", "ci_upper")
# Names of other parts of a page, and of facts in JSON.
_TAKEN = ("main", "in_short", "methods", "terms", "read", "warnings", "ci_prob", "rope")
# With more columns there is no room for pictures.
_MOST_BESIDE = 5
_CENTRES = ("mean", "median", "estimate")
_PROBABILITIES = {
    "prob_best": "P(best)", "prob_greater": "P(a > b)", "below": "P(below)", "inside": "P(inside)", "above": "P(above)",
    "p_value": "p", "prob_shown": "P(shown)", "prob_right": "P(right)",
}  # fmt: skip


@dataclass(frozen=True)
class Answers:
    """Answers to questions, a section each."""

    # By the question, its answers and tables.
    parts: Mapping[str, Sequence[Part]]
    # Probability of the intervals; differences that do not matter.
    ci_prob: float = 0.95
    rope: float = 0.0
    title: str = "What the data say"
    # What was read, in words.
    read: str = ""
    # What the reader must know of how the answers were found.
    warnings: tuple[str, ...] = ()
    # The command that makes the page; empty if there is none.
    command: str = ""

    @cached_property
    def sections(self) -> list[Written]:
        """The sections: the first answer in short, each question, and how the page was made."""
        words = {question: self._words(question) for question in self.parts}
        first, read = next(iter(words)), [Note(self.read, "read")] if self.read else []
        short = [*read, *words[first], *(Note(text, "warning") for text in self.warnings)]
        written = [Written("in_short", "In short", short)] if short else []
        for question, said in words.items():
            shown = [block for place in range(len(self.parts[question])) for block in self._shown(question, place)]
            if blocks := [*(said if question != first else ()), *shown]:
                written.append(Written(self._names[question], question, blocks))
        return [*written, Written("methods", "How it was made", made_by(self.command))]

    @cached_property
    def _names(self) -> dict[str, str]:
        """The name of each question in links and in JSON."""
        names: dict[str, str] = {}
        for question in self.parts:
            name = named(question)
            while name in (*_TAKEN, *names.values()):
                name += "_"
            names[question] = name
        return names

    def head(self, sources: Sequence[str], on: date) -> list[tuple[str, str]]:
        """Return the names and values at the head of the page."""
        data = [("Data", enumerated([printable(name) for name in sources], 6))] if sources else []
        return [*data, ("Day", on.isoformat())]

    def _words(self, question: str) -> list[Block]:
        """Return what the answers to a question say."""
        said = [
            each.in_words(**self._taken(each.in_words)) for each in self.parts[question] if isinstance(each, Answer)
        ]
        lines = [line for text in said for line in text.splitlines() if line]
        return [Sentence(line, name=(self._names[question], "in_words")) for line in lines]

    def _shown(self, question: str, place: int) -> list[Block]:
        """Return what an answer shows beside words: its figure, and its table with a caption."""
        part = self.parts[question][place]
        name = (self._names[question], "table" if place == 0 else f"table_{place + 1}")
        if isinstance(part, pd.DataFrame):
            return table_of(part, name)
        if not isinstance(part, Answer):
            return [part]
        options = self._taken(getattr(plots, part.drawn_by, part.plot))
        drawn = [Figure(partial(_drawn, part.plot, options, question), is_large=True)]
        rows = part.table_below(**self._taken(part.summary))
        if isinstance(part, Comparison) and not part.of_ratio:
            pairs = difference_table(part, rows.to_dict("records"), part.title, "", self.ci_prob, name=name)
            return [*drawn, pairs, Note(caption(rows.attrs))]
        return [*drawn, *table_of(rows, name, _titles(part, rows))]

    def _taken(self, method: Any) -> dict[str, Any]:
        """Return the options that a method takes."""
        parameters = signature(method).parameters
        takes_all = any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
        taken = {"ci_prob": self.ci_prob} if takes_all or "ci_prob" in parameters else {}
        return taken | ({"rope": self.rope} if "rope" in parameters else {})


def answers_of(data: Any, **options: Any) -> Answers:
    """Return the page of an answer, or of several by the question of each; refuse what is neither."""
    asked = data if isinstance(data, Mapping) else {_question(data): data}
    parts = {str(question): [*each] if isinstance(each, list | tuple) else [each] for question, each in asked.items()}
    if not any(parts.values()):
        raise InputTypeError("data", "is empty: there is no answer to show.")
    for question, part in ((question, part) for question, each in parts.items() for part in each):
        if not isinstance(part, Answer | pd.DataFrame):
            raise InputTypeError(
                "data", f"{question!r} must be an answer or a DataFrame; it is {type(part).__name__}.",
                "Give what has `in_words`.",
            )  # fmt: skip
    return Answers(parts, **options)


def _question(answer: Any) -> str:
    """Return what kind of answer it is, in words."""
    words = re.findall("[A-Z][a-z]*", type(answer).__name__)
    return " ".join(words).capitalize()


def named(question: str) -> str:
    """Return a question as a name.

    Examples
    --------
    >>> named("How good is the test?")
    'how_good_is_the_test'
    """
    return re.sub(r"\W+", "_", question.lower()).strip("_") or "answer"


def _drawn(plot: Any, options: Mapping[str, Any], question: str) -> list[tuple[str, Markup]]:
    return [("", picture(plot(**options), question))]


# ── Tables ──


def _titles(part: Answer, rows: pd.DataFrame) -> dict[str, str]:
    """Return what metrics are called for these data, by name, if not as their names say."""
    if isinstance(part, Posterior):
        return {name: part.applicable(name).title for name in rows["metric"].unique()}
    return {part.name: part.quantity.title} if isinstance(part, Marginal) else {}


def table_of(table: pd.DataFrame, name: Name, titles: Mapping[str, str] = MappingProxyType({})) -> list[Block]:
    """Return a table and its caption; nothing if it is empty. Rows of a metric are drawn on one scale.

    `titles` are what metrics are called, by name, if not as their names say.
    """
    if table.empty:
        return []
    attrs = table.attrs
    table = table.reset_index(drop=table.index.name is None and pd.api.types.is_integer_dtype(table.index))
    has_interval = {"ci_lower", "ci_upper"} <= set(table)
    centre = _centre(table) if has_interval else ""
    interval = f"{percentage(attrs['confidence'])} CI" if "confidence" in attrs else "interval"
    interval = short_interval_name(attrs["ci_prob"], attrs.get("ci_kind", "eti")) if "ci_prob" in attrs else interval
    columns = [each for key in table for each in _columns(table, key, centre, interval)]
    by_metric = table.groupby("metric", sort=False) if "metric" in table else [("", table)]
    titled = [(titles.get(str(metric), metric_title(str(metric))), rows) for metric, rows in by_metric]
    parts = [_rows(title, rows, columns, centre) for title, rows in titled]
    shown: list[Block] = [Table("", columns, parts, of="metric", name=name)]
    return [*shown, Note(caption(attrs))] if {"ci_prob", "ci_kind", "estimand"} <= attrs.keys() else shown


def _centre(table: pd.DataFrame) -> str:
    """Return the column that an interval is drawn about: the mean, or the median if a mean is not finite."""
    there = [name for name in _CENTRES if name in table]
    return next((name for name in there if np.isfinite(table[name]).all()), there[0] if there else "")


def _columns(table: pd.DataFrame, name: Any, centre: str, interval: str) -> list[Column]:
    """Return the columns that show a column of a table: none if it says nothing, two if an interval follows."""
    values, key = table[name], (name,)
    needless = name == "median" and centre != "median"
    if name in _NOT_SHOWN or needless or (values == "").all() or values.isna().all():
        return []
    heading, ends = str(name).replace("_", " "), ("ci_lower", "ci_upper")
    if centre and name in (*_CENTRES, "observed"):
        shown = Column(heading, (name, *ends), "value")
        return [shown, Column(interval, ends, "interval")] if name == centre else [shown]
    if name in _PROBABILITIES:
        return [Column(_PROBABILITIES[name], key, "probability")]
    if pd.api.types.is_bool_dtype(values) or not pd.api.types.is_numeric_dtype(values):
        return [Column(heading, key)]
    return [Column(heading, key, "count" if pd.api.types.is_integer_dtype(values) else "number")]


def _rows(title: str, rows: pd.DataFrame, columns: Sequence[Column], centre: str) -> Rows:
    """Return the rows of a metric, with their intervals drawn if all are finite."""
    records, keys = rows.to_dict("records"), (centre, "ci_lower", "ci_upper")
    is_wide = len(columns) > _MOST_BESIDE
    if is_wide or not centre or not np.isfinite(rows[list(keys)].to_numpy(float)).all():
        return Rows(records, title)
    texts = [column.keys[0] for column in columns if column.kind == "text"]
    names = [" ".join(str(record[text]) for text in texts) for record in records]
    return Rows(records, title, draw=strips(records, names, title, keys=keys))
