"""What was read, in sentences, and in the facts at the head of a report: files, rows, classes, a digest."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from datetime import date

import numpy as np

from bayesperf.core.words import enumerated, printable, sentence
from bayesperf.data.axis_names import FOLD, LABEL, MODEL
from bayesperf.data.count_arrays import same_examples
from bayesperf.data.counted import Counted
from bayesperf.data.label_encoding import positive_label
from bayesperf.data.response_patterns import ResponsePatterns
from bayesperf.files.option_table import FILE
from bayesperf.reports.analysis import Analysis

# With more classes than these, the text gives only their number and the smallest and largest sizes.
_MOST_CLASSES = 6
_HAVE_PLURALS = (MODEL, "system", FOLD, FILE, LABEL)


def what_was_read(analysis: Analysis) -> str:
    """Return sentences on the data: rows, systems, folds, classes with their sizes, what was left out.

    Of a file with a column for each system a row is counted once.
    """
    counts = analysis.counts.counts
    names = {str(dim): counts.sizes[dim] for dim in analysis.counts.dims}
    along = [_places(dim, size, dim == analysis.settings.system_column) for dim, size in names.items()]
    columns, n = len(analysis.settings.systems), rows_read(analysis)
    of_each = "scores" if analysis.settings.scores_alone else "outcomes" if analysis.counts.graded else "predictions"
    judged = f", each with {of_each} of" if columns or analysis.of_labels else ":"
    row = "row" if analysis.attempts is None else "attempt"
    row = row if analysis.settings.judge is None else f"verified {row}"
    rows = f"{n:,} {row}{'s' if n > 1 else ''}" + (f"{judged} {enumerated(along)}" if along else "")
    return " ".join([sentence(rows), _classes(analysis), *map(printable, analysis.notes)])


def _places(dim: str, size: int, of_systems: bool) -> str:
    """Return how many places there are along a dim; a name of the user's own has no plural that we know."""
    s = "s" if size > 1 else ""
    if of_systems and dim not in _HAVE_PLURALS:
        return f"{size:,} system{s} (column {dim!r})"
    return f"{size:,} {dim}{s}" if dim in _HAVE_PLURALS else f"{size:,} value{s} of {printable(dim)}"


def rows_read(analysis: Analysis) -> int:
    """Return the number of rows; one with several systems or labels, each in a column, is counted once."""
    counts = analysis.counts.counts
    labels = counts.sizes.get(LABEL, 1) if same_examples(counts) == LABEL else 1
    systems = counts.sizes.get(MODEL, 1) if analysis.settings.systems else 1
    return int(counts.sum()) // (labels * systems)


def _classes(analysis: Analysis) -> str:
    """Return a sentence on the sizes of the classes, of each system if they are the same for all; or on outcomes."""
    if analysis.counts.graded:
        return _outcomes(analysis)
    counts = analysis.counts.counts
    by_class = counts.sum([dim for dim in counts.dims if dim in ("predicted", FOLD)])
    flat = by_class.transpose(..., "actual").values.reshape(-1, by_class.sizes["actual"])
    same, sizes = bool((flat == flat[0]).all()), flat[0] if (flat == flat[0]).all() else flat.sum(0)
    texts = map(str, analysis.counts.labels)
    # Blanks at the ends would not be seen.
    labels = [printable(text if text == text.strip() else repr(text)) for text in texts]
    each = enumerated([printable(str(dim)) for dim in by_class.dims if dim != "actual"] or ["system"])
    where = "" if len(flat) == 1 else f" for each {each}" if same else " in total"
    if len(labels) > _MOST_CLASSES:
        ends = int(np.argmin(sizes)), int(np.argmax(sizes))
        small, large = (f"{labels[i]} ({int(sizes[i]):,})" for i in ends)
        return sentence(f"{len(labels)} classes{where}, from {small} to {large}")
    parts = [f"{label} ({int(n):,})" for n, label in zip(sizes, labels, strict=True)]
    return sentence(f"actual classes{where}: {enumerated(parts)}{_positive(analysis, labels)}")


def _is_right_or_wrong(analysis: Analysis) -> bool:
    return len(analysis.counts.labels) == 2 and analysis.settings.grade is None


def _outcomes(analysis: Analysis) -> str:
    """Return a sentence on how many rows are right and wrong, or have each grade."""
    counts = analysis.counts.counts
    numbers = counts.sum([dim for dim in counts.dims if dim != "outcome"]).values.tolist()
    if _is_right_or_wrong(analysis):
        right, wrong = ("are right", "wrong") if analysis.attempts is None else ("pass", "fail")
        return f"{numbers[1]:,} {right}, {numbers[0]:,} {wrong}."
    grades = analysis.counts.labels
    if len(grades) > _MOST_CLASSES:
        return f"{len(grades)} grades, from {grades[0]:g} to {grades[-1]:g}."
    return sentence(f"grades: {enumerated([f'{grade:g} ({n:,})' for grade, n in zip(grades, numbers, strict=True)])}")


def _positive(analysis: Analysis, labels: Sequence[str]) -> str:
    """Return which class is positive and why, or what it means that none is."""
    positive = analysis.counts.pos_label
    if positive is not None:
        # A matrix does not say who named its positive class; of labels such as 0 and 1 it is inferred.
        inferred = analysis.settings.pos_label is None and positive_label(analysis.counts.labels, None) == positive
        why = "inferred from the labels" if inferred else "as specified"
        return f"; {printable(str(positive))} is positive, {why}"
    if len(labels) > 2:
        return ""
    return ". Neither class is named as positive, so figures are averages over both"


def positive_advice(analysis: Analysis) -> str:
    """Return how a positive class is named, if there are two classes and neither is; else nothing."""
    counts = analysis.counts
    if counts.pos_label is not None or len(counts.labels) > 2 or counts.graded:
        return ""
    sizes = counts.counts.sum([dim for dim in counts.counts.dims if dim != "actual"]).values.tolist()
    # The rarer class is usually the one that a system is to find.
    rarer = counts.labels[0 if sizes[0] < sizes[1] else 1]
    return f"For the figures of one class: --pos-label {shlex.quote(printable(str(rarer)))}"


# ── The head ──

# With more systems or files than these, the text gives only their number.
_MOST_NAMED = 6
# So many hexadecimal digits of the digest are shown: by chance two data sets in 10¹⁹ share them.
_DIGITS = 16


def head(analysis: Analysis, sources: Sequence[str], on: date) -> list[tuple[str, str]]:
    """Return names and values: files, rows, systems, folds, classes, day and digest."""
    counts, what = analysis.counts, "labels" if analysis.of_labels else "systems"
    positive = "" if counts.pos_label is None else f"; positive is {printable(str(counts.pos_label))}"
    classes = {"Classes": f"{_listed(list(map(str, counts.labels)), 'classes')}{positive}"}
    if counts.graded:
        grades = {"Grades": _listed(list(map(str, counts.labels)), "grades")}
        classes = {"Outcomes": "right and wrong"} if _is_right_or_wrong(analysis) else grades
    said = {
        "Data": _listed(sources, "files"),
        "Rows": f"{rows_read(analysis):,}",
        what.capitalize(): _listed([", ".join(names) for _, names in analysis.systems if names], what),
        "Folds": str(counts.counts.sizes.get(FOLD, "")),
        **classes,
        "Day": on.isoformat(),
        "Digest of the data": digest(analysis),
    }
    return [(name, value) for name, value in said.items() if value]


def digest(analysis: Analysis) -> str:
    """Return the beginning of the SHA-256 of the data: of the counts, of those matched by example, and of the scores.

    It is the same whatever the order of the rows and the format of the file.
    """
    counts = analysis.counts.counts
    counts = counts.sortby([dim for dim in counts.dims if dim not in analysis.counts.cell_dims])
    coords = [(str(dim), list(map(str, counts[dim].values.tolist()))) for dim in counts.dims]
    hashed = hashlib.sha256(repr((coords, str(analysis.counts.pos_label))).encode())
    hashed.update(np.ascontiguousarray(counts.values, "<i8").tobytes())
    if isinstance(analysis.paired, Counted) and analysis.paired.patterns is not None:
        hashed.update(repr(_matched(analysis.paired.patterns)).encode())
    for system in analysis.scores.systems if analysis.scores else []:
        for part in filter(None, (system.test, system.dev)):
            rows = sorted(zip(map(str, part.y_true), part.y_score.tolist(), strict=True))
            hashed.update(repr((system.names, rows)).encode())
    return hashed.hexdigest()[:_DIGITS]


def _matched(patterns: ResponsePatterns) -> list[tuple[tuple[int, ...], list[int]]]:
    """Return each pattern, the classes called in the order of the systems' names, and how often it occurred, sorted."""
    columns = sorted(range(len(patterns.names)), key=lambda i: str(patterns.names[i]))
    called = patterns.predicted[:, columns].tolist()
    numbers = patterns.counts.values.reshape(-1, len(called)).T.tolist()
    return sorted(((int(actual), *each), n) for actual, each, n in zip(patterns.actual, called, numbers, strict=True))


def _listed(names: Sequence[str], what: str) -> str:
    shown = [printable(name) for name in names]
    return enumerated(shown) if 0 < len(shown) <= _MOST_NAMED else f"{len(shown):,} {what}" if shown else ""
