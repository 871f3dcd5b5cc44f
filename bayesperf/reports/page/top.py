"""The top of the page: what was judged, from which file and when; the summary in a few sentences and a figure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

from bayesperf import metrics
from bayesperf.core.words import enumerated, printable, sentence
from bayesperf.data.joint_outcomes import JointOutcomes
from bayesperf.files.settings import FOLD
from bayesperf.posteriors.densities import curves
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.answers_in_words import in_short, rows_read, what_was_read
from bayesperf.reports.page import enough_data, trust, where_it_fails

# ── The head ──

# Of more systems or files than these only the number is said.
_MOST_NAMED = 6
# So many hexadecimal digits of the digest are shown: by chance two data sets in 10¹⁹ share them.
_DIGITS = 16


def head(analysis: Analysis, sources: Sequence[str], on: date) -> list[tuple[str, str]]:
    """Return names and values: files, rows, systems, folds, classes, day and digest."""
    counts, what = analysis.counts, "labels" if analysis.of_labels else "systems"
    positive = "" if counts.pos_label is None else f"; positive is {printable(str(counts.pos_label))}"
    said = {
        "Data": _listed(sources, "files"),
        "Rows": f"{rows_read(analysis):,}",
        what.capitalize(): _listed([", ".join(names) for _, names in analysis.systems if names], what),
        "Folds": str(counts.counts.sizes.get(FOLD, "")),
        "Classes": f"{_listed(list(map(str, counts.labels)), 'classes')}{positive}",
        "Day": on.isoformat(),
        "Digest": digest(analysis),
    }
    return [(name, value) for name, value in said.items() if value]


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


# ── The summary ──

FEWEST_SENTENCES, MOST_SENTENCES = 3, 6


def summary(analysis: Analysis) -> dict[str, Any]:
    """Return sentences and the main figure."""
    return {
        "read": what_was_read(analysis),
        "warnings": analysis.warnings,
        "sentences": sentences(analysis),
        "figure": _figure(analysis),
    }


def sentences(analysis: Analysis) -> list[str]:
    """Return what the page comes to: how good, whether good enough, which is better, where it fails, what to mind."""
    own = [
        *in_short(analysis),
        where_it_fails.in_words(analysis)[analysis.best],
        *where_it_fails.slices_in_words(analysis)[:1],
        *enough_data.in_words(analysis),
    ]
    # Warnings stand above them, and a sentence may have said it.
    said_already = " ".join([*analysis.warnings, *own])
    to_mind = [text for text in trust.cautions(analysis) if text not in said_already][:1] or [
        text for text in (trust.about_priors(analysis),) if text
    ]
    said = [*own, *to_mind][:MOST_SENTENCES]
    return said if len(said) >= FEWEST_SENTENCES else [*said, sentence(enough_data.width_in_words(analysis))]


def _figure(analysis: Analysis) -> dict[str, Any]:
    """Return the densities of the first metric over each other, with the bound that it is to meet."""
    name = analysis.metric_names[0]
    metric = metrics.get(name)
    marginal = analysis.first_of_foremost
    if metric.average == "per_class":
        marginal = marginal.isel(label=0)
    drawn = curves(marginal, analysis.settings.ci_prob, "hdi")
    bounds = [(r.bound, r.at_least) for r in analysis.requirements if r.metric == name]
    scale = svg.Scale(drawn, [bound for bound, _ in bounds])
    rest = len(analysis.systems) - len(drawn.names)
    return {
        "title": metric.title,
        "picture": svg.overlay(drawn, scale, f"{metric.title}: posterior density of each system", bounds[:1]),
        "legend": [(name, svg.colour(i)) for i, name in enumerate(drawn.names) if name],
        "bound": str(next((r for r in analysis.requirements if r.metric == name), "")).replace(
            " ", "\N{NO-BREAK SPACE}"
        ),
        "rest": rest,
    }
