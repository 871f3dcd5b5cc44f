"""What a report says in sentences: what was read, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesperf import metrics
from bayesperf.core.words import chance, enumerated, metric_title, over_places, places_in_words, printable, sentence
from bayesperf.data.cross_tabulation import LABEL
from bayesperf.files.settings import FOLD, SYSTEM
from bayesperf.posteriors.requirement import Requirement
from bayesperf.posteriors.sentences import estimate_in_words
from bayesperf.reports.analysis import Analysis

# Of more classes than these only the number is said, and the sizes of the smallest and the largest.
_MOST_CLASSES = 6


def what_was_read(analysis: Analysis) -> str:
    """Return sentences on the data: rows, systems, folds, classes with their sizes, what was left out.

    Of a file with a column for each system a row is counted once.
    """
    counts = analysis.counts.counts
    names = {str(dim): size for dim, size in zip(counts.dims[:-2], counts.shape[:-2], strict=True)}
    along = [f"{size:,} {printable(dim)}{'s' if size > 1 else ''}" for dim, size in names.items()]
    columns, n = len(analysis.settings.systems), rows_read(analysis)
    judged = ", each with predictions of" if columns or analysis.of_labels else ", of"
    rows = f"{n:,} row{'s' if n > 1 else ''}" + (f"{judged} {enumerated(along)}" if along else "")
    return " ".join([sentence(rows), _classes(analysis), *map(printable, analysis.notes)])


def rows_read(analysis: Analysis) -> int:
    """Return the number of rows; one with several systems or labels, each in a column, is counted once."""
    counts = analysis.counts.counts
    columns = LABEL if analysis.of_labels else SYSTEM if analysis.settings.systems else None
    return int(counts.sum()) // (1 if columns is None else counts.sizes[columns])


def _classes(analysis: Analysis) -> str:
    """Return a sentence on the sizes of the classes, of each system if they are the same for all."""
    counts = analysis.counts.counts
    by_class = counts.sum([dim for dim in counts.dims if dim in ("predicted", FOLD)])
    flat = by_class.transpose(..., "actual").values.reshape(-1, by_class.sizes["actual"])
    same, sizes = bool((flat == flat[0]).all()), flat[0] if (flat == flat[0]).all() else flat.sum(0)
    texts = map(str, analysis.counts.labels)
    # Blanks at the ends would not be seen.
    labels = [printable(text if text == text.strip() else repr(text)) for text in texts]
    where = "" if len(flat) == 1 else ", in each" if same else ", in all together"
    if len(labels) > _MOST_CLASSES:
        ends = int(np.argmin(sizes)), int(np.argmax(sizes))
        small, large = (f"{labels[i]} ({int(sizes[i]):,})" for i in ends)
        return sentence(f"{len(labels)} classes{where}, from {small} to {large}")
    parts = [f"{label} ({int(n):,})" for n, label in zip(sizes, labels, strict=True)]
    return sentence(f"actual classes{where}: {enumerated(parts)}{_positive(analysis, labels)}")


def _positive(analysis: Analysis, labels: Sequence[str]) -> str:
    """Return which class is positive and why, or what it means that none is."""
    positive = analysis.counts.pos_label
    if positive is not None:
        why = "by the labels" if analysis.settings.pos_label is None else "as named"
        return f"; positive is {printable(str(positive))}, {why}"
    if len(labels) > 2:
        return ""
    how = analysis.way_in.positive(analysis.counts.labels[-1])
    return f". Neither is named as positive, so that figures are averages over both; for those of one: {how}"


def in_short(analysis: Analysis) -> list[str]:
    """Return sentences on the first metric, the requirements and the comparison of the systems."""
    prob = analysis.settings.ci_prob
    sentences = [sentence(estimate_in_words(analysis.marginals[analysis.metric_names[0]], prob, "hdi"))]
    sentences += [_requirement(analysis, requirement) for requirement in analysis.requirements]
    sentences += analysis.pooled.source.remarks(analysis.pooled, metrics.get(analysis.metric_names[0]))
    return [*sentences, *comparisons_in_words(analysis)[:1]]


def comparisons_in_words(analysis: Analysis) -> list[str]:
    """Return sentences on the comparison of the systems by each metric."""
    return [each.comparison.in_words(ci_prob=analysis.settings.ci_prob) for each in analysis.comparisons]


def _requirement(analysis: Analysis, requirement: Requirement) -> str:
    """Return a sentence on the probability that a requirement is met."""
    met = analysis.met(requirement)
    probabilities = met.values.ravel().tolist()
    relation = f"is at {'least' if requirement.at_least else 'most'} {requirement.bound:g}"
    said = over_places([chance(p) for p in probabilities], places_in_words(analysis.pooled.leading), probabilities)
    return sentence(f"{metric_title(requirement.metric)} {relation} with probability {said}")
