"""Where does it fail? The worst class, the pairs most confused, and the matrices."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from markupsafe import Markup

from bayesperf.core.arrays import Counts
from bayesperf.core.words import chance, estimate, printable, sentence
from bayesperf.groups.slices_in_words import POINTED, odds_ratio
from bayesperf.posteriors.posterior import DRAWS, Posterior
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Column, Figure, Note, Sentence, Table, rows_table
from bayesperf.reports.drawing import place_of
from bayesperf.reports.sections import REPORT, Section

# Matrices of up to this many classes are tables, larger ones heat maps. This many pairs of classes are listed.
_MOST_IN_TABLE, _PAIRS = 11, 8
_MOST_NUMBERED = 40


def blocks(analysis: Analysis) -> list[Block]:
    """Return what is mistaken for what, in words, as matrices and as pairs of classes."""
    if analysis.settings.scores_alone or analysis.counts.graded:
        return []
    shown, counts = analysis.foremost, analysis.foremost_counts.transpose(..., "actual", "predicted")
    places = place_of(shown.leading)
    left_out = len(analysis.systems) - len(places)
    beside = f" Shown for the best systems only; {left_out:,} more are omitted." if left_out else ""
    return [
        # For two classes a matrix says the same.
        *map(Sentence, sentences(analysis) if len(shown.labels) > 2 else []),
        Note(f"Rows of a confusion matrix are actual classes, columns predicted ones.{beside}"),
        *(_matrix(counts[at], name) for at, name in places),
        *(_pairs(counts[at], name) for at, name in places if len(shown.labels) > 2),
    ]


def sentences(analysis: Analysis, best_only: bool = False) -> list[str]:
    """Return a sentence for each system: of two classes how many of each are missed, of more the worst class.

    Of several labels the weakest stands in the place of the best system.
    """
    if analysis.settings.scores_alone or analysis.counts.graded:
        return []
    shown = analysis.foremost
    counts = analysis.foremost_counts.transpose(..., "actual", "predicted")
    places = place_of(shown.leading)
    said = []
    one = analysis.weakest if analysis.of_labels else analysis.best
    for at, name in places[one:][:1] if best_only else places:
        two = len(shown.labels) == 2
        table = counts[at].values
        text = _misses(shown, table, analysis.of_labels) if two else _worst_class(analysis, table, at)
        if text:
            said.append(f"{printable(name)}: {text}." if name else sentence(text))
    return said


def _misses(posterior: Posterior, table: Counts, of_label: bool) -> str:
    """Return how many examples of each of two classes are called the other, or with and without a label."""
    positive = posterior.positive
    if of_label and positive is not None:
        (right, missed), (given, left) = (
            table[positive, [positive, 1 - positive]],
            table[1 - positive, [positive, 1 - positive]],
        )
        return (
            f"{missed:,.0f} of {right + missed:,.0f} examples with this label are missed, and {given:,.0f} of "
            f"{given + left:,.0f} without it are given it"
        )
    labels = [printable(str(label)) for label in posterior.labels]
    order = [0, 1] if posterior.positive is None else [posterior.positive, 1 - posterior.positive]
    return " and ".join(
        f"{table[i, 1 - i]:,.0f} of {table[i].sum():,.0f} examples of class {labels[i]} "
        f"{'is' if table[i, 1 - i] == 1 else 'are'} called {labels[1 - i]}"
        for i in order
    )


def _worst_class(analysis: Analysis, table: Counts, at: tuple[int, ...]) -> str:
    """Return the class that the data point to as the least recognised, if any, and what is taken for what."""
    probability, prob = analysis.prob_worst.values[at], analysis.settings.ci_prob
    labels = [printable(str(label)) for label in analysis.counts.labels]
    pairs = _confused(table)
    taken = _most_frequent(table, labels, *pairs[0]) if pairs else ""
    worst = int(np.argmax(probability))
    if odds_ratio(float(probability[worst]), 1 / len(labels), DRAWS) < POINTED:
        return taken
    recall = analysis.class_by_class["recall"]
    lower, upper = recall.hdi(prob).values[at][worst]
    seen = f"{table[worst, worst]:,} of {table[worst].sum():,}"
    value = estimate(float(recall.mean().values[at][worst]), lower, upper, prob, "hdi", seen)
    text = f"the worst class is {labels[worst]}, with recall {value}; it is the worst of all with probability "
    return f"{text}{chance(float(probability[worst]))}{f', and {taken}' if taken else ''}"


def _most_frequent(table: Counts, labels: list[str], actual: int, predicted: int) -> str:
    """Return how many examples of a class are called another one."""
    wrong = table[actual, predicted]
    of = f"{wrong:,.0f} of {table[actual].sum():,.0f} examples of class {labels[actual]}"
    return f"the most frequent error is that {of} {'is' if wrong == 1 else 'are'} called {labels[predicted]}"


# ── Matrices ──


def _matrix(counts: xr.DataArray, name: str) -> Block:
    """Return a matrix as a table with totals, or as a heat map if there are many classes."""
    table, labels = counts.values, [str(label) for label in counts["actual"].values.tolist()]
    title = f"Confusion matrix of {name}" if name else "Confusion matrix"
    if len(labels) <= _MOST_IN_TABLE:
        whole = np.block([[table, table.sum(1, keepdims=True)], [table.sum(0), table.sum()]])
        names = [*labels, "total"]
        records = [
            {"actual": label} | {str(j): int(n) for j, n in enumerate(row)}
            for label, row in zip(names, whole, strict=True)
        ]
        columns = [Column("actual \\ predicted", ("actual",))]
        columns += [Column(label, (str(j),), "count") for j, label in enumerate(names)]
        return rows_table(title, columns, records)
    numbers = " Numbers refer to the table of classes." * (len(labels) > _MOST_NUMBERED)
    reading = (
        "Darker cells hold a larger proportion of their actual class (on a root scale, so that rare errors show)."
        f"{numbers}"
    )
    return Figure(partial(_heat_map, table, labels, title), title, reading=reading, is_large=True)


def _heat_map(table: Counts, labels: list[str], title: str) -> list[tuple[str, Markup]]:
    # The root of each share, by which rare errors are seen beside the diagonal.
    shares = np.sqrt(table / np.maximum(table.sum(1, keepdims=True), 1))
    label = f"{title}: rows actual classes, columns predicted ones"
    return [("", svg.heat_map(shares, label, names=labels, written=table))]


def _pairs(counts: xr.DataArray, name: str) -> Table:
    """Return the pairs of classes that are most often confused."""
    table, labels = counts.values, [str(label) for label in counts["actual"].values.tolist()]
    records: list[dict[str, Any]] = [
        {"actual": labels[i], "taken": labels[j], "examples": int(table[i, j]), "support": int(table[i].sum()),
         "share": table[i, j] / table[i].sum()}
        for i, j in _confused(table)
    ]  # fmt: skip
    columns = [
        Column("actual", ("actual",)),
        Column("taken for", ("taken",)),
        Column("examples", ("examples",), "count"),
        Column("support", ("support",), "count"),
        Column("share", ("share",), "share"),
    ]
    return rows_table(f"Most confused by {name}" if name else "Most confused", columns, records)


def _confused(table: Counts) -> list[tuple[int, int]]:
    """Return the pairs of classes (actual, predicted) with the most errors, those with any."""
    errors = table * (1 - np.eye(len(table), dtype=int))
    order = np.argsort(-errors, axis=None, kind="stable")[:_PAIRS]
    places = zip(*np.unravel_index(order, errors.shape), strict=True)
    return [(int(i), int(j)) for i, j in places if errors[i, j]]


SECTION = Section(90, "where_it_fails", "Where does it fail?", blocks, (REPORT,))
