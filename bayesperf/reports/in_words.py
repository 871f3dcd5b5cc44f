"""What a report says in sentences: what was read, and what it comes to."""

from __future__ import annotations

import numpy as np

from bayesperf.core.words import chance, enumerated, metric_title, over_places, places_in_words, printable, sentence
from bayesperf.posteriors.in_words import estimate_in_words
from bayesperf.posteriors.requirement import Requirement
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.settings import FOLD

# Of more classes than these only the number is said, and the sizes of the smallest and the largest.
_MOST_CLASSES = 6


def what_was_read(analysis: Analysis) -> str:
    """Return sentences on the data: rows, classes with their sizes, the positive class, systems and folds."""
    counts = analysis.counts.counts
    names = {str(dim): size for dim, size in zip(counts.dims[:-2], counts.shape[:-2], strict=True)}
    along = [f"{size:,} {printable(dim)}{'s' if size > 1 else ''}" for dim, size in names.items()]
    rows = f"{int(counts.sum()):,} rows" + (f", of {enumerated(along)}" if along else "")
    return f"{sentence(rows)} {_classes(analysis)}"


def _classes(analysis: Analysis) -> str:
    """Return a sentence on the sizes of the classes, of each system if they are the same for all."""
    counts, positive = analysis.counts.counts, analysis.counts.pos_label
    by_class = counts.sum([dim for dim in counts.dims if dim in ("predicted", FOLD)])
    flat = by_class.transpose(..., "actual").values.reshape(-1, by_class.sizes["actual"])
    same, sizes = bool((flat == flat[0]).all()), flat[0] if (flat == flat[0]).all() else flat.sum(0)
    labels = [printable(str(label)) for label in analysis.counts.labels]
    where = "" if len(flat) == 1 else ", in each" if same else ", in all together"
    if len(labels) > _MOST_CLASSES:
        ends = int(np.argmin(sizes)), int(np.argmax(sizes))
        small, large = (f"{labels[i]} ({int(sizes[i]):,})" for i in ends)
        return sentence(f"{len(labels)} classes{where}, from {small} to {large}")
    parts = [f"{label} ({int(n):,})" for n, label in zip(sizes, labels, strict=True)]
    taken = "" if positive is None else f"; positive is {printable(str(positive))}"
    return sentence(f"actual classes{where}: {enumerated(parts)}{taken}")


def in_short(analysis: Analysis) -> list[str]:
    """Return sentences on the first metric, the requirements and the comparison of the systems."""
    prob = analysis.settings.ci_prob
    sentences = [sentence(estimate_in_words(analysis.pooled[analysis.metric_names[0]], prob, "hdi"))]
    sentences += [_requirement(analysis, requirement) for requirement in analysis.requirements]
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
