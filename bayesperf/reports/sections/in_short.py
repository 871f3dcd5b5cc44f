"""In short: the verdict, which system is best and by how much, how good it is, and what to mind."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from bayesperf import metrics
from bayesperf.core.words import enumerated, percentage, place_names, printable, sentence
from bayesperf.posteriors.densities import curves
from bayesperf.posteriors.sentences import estimate_in_words
from bayesperf.reports import svg
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Column, Figure, Note, Sentence, rows_table
from bayesperf.reports.data_in_words import positive_advice, what_was_read
from bayesperf.reports.drawing import colours_of, names_of
from bayesperf.reports.scores import about_split
from bayesperf.reports.sections import REPORT, SUMMARY, Section, slices, trust, where_it_fails
from bayesperf.reports.verdicts import ASSURANCE, CONFIDENCE, by_probability, in_one_sentence

# Number of sentences that follow the answer itself, and of classes that are named.
_MOST_MORE, _MOST_NAMED = 3, 5
_ALL = "all at once"


def blocks(analysis: Analysis) -> list[Block]:
    """Return what was read, warnings, the verdicts, a few sentences and the main figure."""
    scores = analysis.scores
    split = about_split(scores.split) if scores is not None and scores.split is not None else ""
    return [
        Note(what_was_read(analysis), "read"),
        *(Note(text, "advice") for text in (positive_advice(analysis),) if text),
        *(Note(text, "warning") for text in analysis.warnings),
        *(Note(text, "read") for text in (split, analysis.selection) if text),
        *verdict_table(analysis),
        *(Sentence(text, name=("in_words",)) for text in sentences(analysis)),
        Note(_terms(analysis)),
        _figure(analysis),
    ]


# ── The verdict ──


def verdict_table(analysis: Analysis) -> list[Block]:
    """Return a row for each system, with what is shown of each requirement; for programs a record for each of both."""
    if not analysis.requirements:
        return []
    jointly = analysis.met_jointly()
    records: list[dict[str, Any]] = [
        dict(zip(map(str, analysis.pooled.dims), names, strict=True))
        | ({} if jointly is None else {_ALL: float(jointly.values[at])})
        for at, names in analysis.systems
    ]
    # The verdicts stand by the requirements, and for each by the systems.
    for i, each in enumerate(analysis.verdicts):
        name = each.requirement
        records[i % len(records)] |= {name: each.verdict, f"P({name})": each.probability, f"more({name})": each.more}
    asked = [str(requirement) for requirement in analysis.requirements]
    columns = [
        *names_of(analysis.pooled.dims),
        *(Column(text, (text, f"P({text})", f"more({text})"), "verdict") for text in dict.fromkeys(asked)),
        *([] if jointly is None else [Column(_ALL, (_ALL,), "probability")]),
    ]
    return [
        rows_table("Verdict", columns, records),
        rows_table("", (), [each._asdict() for each in analysis.verdicts], name=("verdicts",)),
        Note(_rule(analysis)),
    ]


def _rule(analysis: Analysis) -> str:
    """Return which systems meet all requirements, and by which rule."""
    if len(analysis.systems) == 1:
        return in_one_sentence(analysis.verdicts, by_probability(CONFIDENCE))
    jointly = f" {_ALL.capitalize()} is the probability that all are met." if len(analysis.requirements) > 1 else ""
    return (
        "P is the probability that the system itself, not its score on these examples, meets the requirement: "
        f"{by_probability(CONFIDENCE)}. Anything between is open: the table says how many more examples would "
        f"probably settle it (with probability {ASSURANCE:g}).{jointly}"
    )


# ── Sentences ──


def sentences(analysis: Analysis) -> list[str]:
    """Return the answer to the question, and at most three sentences more."""
    more = [
        *where_it_fails.sentences(analysis, best_only=True),
        *slices.sentences(analysis)[:1],
        *trust.cautions(analysis)[:1],
    ]
    return [*_answer(analysis), *more[:_MOST_MORE]]


def _terms(analysis: Analysis) -> str:
    """Return what the words in the sentences mean: where they are read first, nobody has seen the terms."""
    macro = any(metrics.get(name).average == "macro" for name in analysis.headline[:2])
    return (
        "HDI is the highest-density interval: given the prior and these examples, it contains the metric with the "
        f"stated probability.{' Observed is the score on these examples.' * analysis.is_observed}"
        f"{' Macro is the mean over the classes.' * macro}"
    )


def _answer(analysis: Analysis) -> list[str]:
    """Return whether metrics agree on the best system, the difference of the best two, and the headline's figures."""
    prob = analysis.settings.ci_prob
    headline = analysis.headline[:2]
    compared = analysis.comparisons if analysis.settings.scores_alone else analysis.headline_comparison
    said = [*_disagreement(analysis), *(each.in_words(prob) for each in compared)]
    said += [sentence(estimate_in_words(analysis.marginals[name], prob, "hdi")) for name in headline]
    if "accuracy" in headline and not analysis.counts.graded:
        said.append(f"Always calling the majority class would have accuracy {analysis.majority}.")
    return [*said, *_never_found(analysis), *analysis.pooled.source.remarks(analysis.pooled, metrics.get(headline[0]))]


def _disagreement(analysis: Analysis) -> list[str]:
    """Return by which metric which system is the best, if metrics disagree."""
    found = analysis.best_by_metric
    if len(found) < 2:
        return []
    each = [f"{printable(name)} by {enumerated([analysis.metric(m).title for m in by])}" for name, by in found.items()]
    return [sentence(f"the metrics disagree on the best system: {'; '.join(each)}")]


def _never_found(analysis: Analysis) -> list[str]:
    """Return the classes of which a system finds no example, of more than two."""
    if len(analysis.counts.labels) == 2 or analysis.counts.graded:
        return []
    counts = analysis.foremost_counts.transpose(..., "actual", "predicted").values
    counts = counts.reshape(-1, *counts.shape[-2:])[analysis.best]
    right, of = np.diagonal(counts), counts.sum(1)
    lost = [printable(str(label)) for label, r, n in zip(analysis.counts.labels, right, of, strict=True) if not r and n]
    if not lost:
        return []
    return [f"Never found: {enumerated(lost, _MOST_NAMED)}."]


# ── The figure ──


def _figure(analysis: Analysis) -> Figure:
    """Return the densities of the headline over each other, with the bound that it is to meet."""
    name, marginal = analysis.headline[0], analysis.first_of_foremost
    metric = analysis.metric(name)
    if metric.average == "per_class":
        marginal = marginal.isel(label=0)
    bounds = [each for each in analysis.requirements if each.metric == name][:1]
    colours, rest = colours_of(analysis, marginal.leading), len(analysis.systems) - marginal.leading.size
    names = place_names(marginal.leading)

    def draw() -> list[tuple[str, Markup]]:
        drawn = curves(marginal, analysis.settings.ci_prob, "hdi")
        scale = svg.Scale(drawn, [each.bound for each in bounds])
        label = f"{metric.title}: posterior density of each system"
        return [("", svg.overlay(drawn, scale, label, colours, [(each.bound, each.at_least) for each in bounds]))]

    shaded = f"{percentage(analysis.settings.ci_prob)} highest-density interval shaded"
    reading = f"How plausible each value of {metric.title} is (posterior density), {shaded}"
    required = f"; required: {bounds[0]}" if bounds else ""
    left_out = f"; the best systems, {rest:,} more below" if rest > 0 else ""
    return Figure(
        draw,
        legend=[(each, colour) for each, colour in zip(names, colours, strict=True) if each],
        reading=f"{reading}{required}{left_out}.",
        is_large=True,
    )


SECTION = Section(0, "summary", "In short", blocks, (REPORT, SUMMARY))
