"""The head of the page: what was judged, from which file, when, and by which data one recognises it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date

import numpy as np

from bayesperf.core.words import enumerated, printable
from bayesperf.data.joint_outcomes import JointOutcomes
from bayesperf.files.settings import FOLD
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.answers_in_words import rows_read

# Of more systems or files than these only the number is said.
_MOST_NAMED = 6
# So many hexadecimal digits of the digest are shown: by chance two data sets in 10¹⁹ share them.
_DIGITS = 16


def facts(analysis: Analysis, sources: Sequence[str], on: date) -> list[tuple[str, str]]:
    """Return names and values: files, rows, systems, folds, classes, day and digest."""
    counts, what = analysis.counts, "labels" if analysis.of_labels else "systems"
    positive = "" if counts.pos_label is None else f"; positive is {printable(str(counts.pos_label))}"
    said = {
        "Data": _listed(sources, "files"),
        "Rows": f"{rows_read(analysis):,}",
        what.capitalize(): _listed(systems_by_name(analysis), what),
        "Folds": str(counts.counts.sizes.get(FOLD, "")),
        "Classes": f"{_listed(list(map(str, counts.labels)), 'classes')}{positive}",
        "Day": on.isoformat(),
        "Digest": digest(analysis),
    }
    return [(name, value) for name, value in said.items() if value]


def systems_by_name(analysis: Analysis) -> list[str]:
    """Return the names of all systems; none if the only one has no name."""
    return [", ".join(names) for _, names in analysis.systems if names]


def digest(analysis: Analysis) -> str:
    """Return the beginning of the SHA-256 of the data: of the counts, of those matched by example, and of the scores.

    It is the same whatever the order of the rows and the format of the file.
    """
    counts = analysis.counts.counts
    counts = counts.sortby([dim for dim in counts.dims if dim not in ("actual", "predicted")])
    coords = [(str(dim), list(map(str, counts[dim].values.tolist()))) for dim in counts.dims]
    hashed = hashlib.sha256(repr((coords, str(analysis.counts.pos_label))).encode())
    hashed.update(np.ascontiguousarray(counts.values, "<i8").tobytes())
    if analysis.paired is not None and analysis.paired.outcomes is not None:
        hashed.update(repr(_matched(analysis.paired.outcomes)).encode())
    for system in analysis.scores.systems if analysis.scores else []:
        for part in filter(None, (system.test, system.dev)):
            rows = sorted(zip(map(str, part.y_true), part.y_score.tolist(), strict=True))
            hashed.update(repr((system.names, rows)).encode())
    return hashed.hexdigest()[:_DIGITS]


def _matched(outcomes: JointOutcomes) -> list[tuple[tuple[int, ...], list[int]]]:
    """Return each outcome, the classes called in the order of the systems' names, and how often it occurred, sorted."""
    columns = sorted(range(len(outcomes.names)), key=lambda i: str(outcomes.names[i]))
    called = outcomes.predicted[:, columns].tolist()
    numbers = outcomes.counts.values.reshape(-1, len(called)).T.tolist()
    return sorted(((int(actual), *each), n) for actual, each, n in zip(outcomes.actual, called, numbers, strict=True))


def _listed(names: Sequence[str], what: str) -> str:
    shown = [printable(name) for name in names]
    return enumerated(shown) if 0 < len(shown) <= _MOST_NAMED else f"{len(shown):,} {what}" if shown else ""
