"""The documents made from an analysis, or from answers: a page, Markdown, text on a terminal, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Note, Sentence, Written, flat, words_of
from bayesperf.reports.data_in_words import head, what_was_read
from bayesperf.reports.glossary import terms_of
from bayesperf.reports.render import markdown
from bayesperf.reports.render.json import in_json
from bayesperf.reports.sections import COMPARISON, REPORT, SUMMARY, answered

if TYPE_CHECKING:
    from rich.console import Console

    from bayesperf.reports.answers import Answers

TITLE = "Classifier performance"


def document(shown: Analysis | Answers, path: Path, title: str | None = None, sources: Sequence[str] = ()) -> str:
    """Return a report as the ending of a file says: Markdown for .md, JSON for .json, else a page of HTML."""
    match path.suffix.lower():
        case ".md":
            return as_markdown(shown, title, sources)
        case ".json":
            return as_json(shown, REPORT)
    return as_html(shown, title, sources)


def as_html(shown: Analysis | Answers, title: str | None = None, sources: Sequence[str] = ()) -> str:
    """Return a report as a self-contained HTML page; `sources` are the names of the files that were read."""
    from bayesperf.reports.render.html import page

    heading, facts, sections = _page(shown, title, sources)
    said = " ".join(text for section in sections for block in flat(section.blocks) for text in words_of(block))
    return page(heading, facts, sections, terms_of(said))


def as_markdown(shown: Analysis | Answers, title: str | None = None, sources: Sequence[str] = ()) -> str:
    """Return a report as Markdown, without pictures; the parameters are those of `as_html`."""
    heading, facts, sections = _page(shown, title, sources)
    return markdown.document(heading, facts, [(section.title, section.blocks) for section in sections])


def _page(
    shown: Analysis | Answers, title: str | None, sources: Sequence[str]
) -> tuple[str, list[tuple[str, str]], list[Written]]:
    """Return the heading, the facts at the head and the sections of a page."""
    today = date.today()
    if not isinstance(shown, Analysis):
        return title or shown.title, shown.head(sources, today), shown.sections
    sections = [Written(section.name, section.title, blocks) for section, blocks in answered(shown, REPORT)]
    return title or TITLE, head(shown, sources, today), _said_once(sections)


def _said_once(sections: Sequence[Written]) -> list[Written]:
    """Return sections without the sentences that stand in an earlier one, as those in short do."""
    said: set[str] = set()
    kept = []
    for section in sections:
        blocks = [block for block in section.blocks if not (isinstance(block, Sentence) and block.text in said)]
        said |= {block.text for block in blocks if isinstance(block, Sentence)}
        kept.append(section._replace(blocks=blocks))
    return kept


def print_answer(analysis: Analysis, command: str, console: Console, first: bool = True) -> None:
    """Print the sections that a command shows, all or nothing; if they are the `first` of the data, what was read."""
    from bayesperf.reports.render.terminal import print_blocks, print_sections

    sections = [(section.title, blocks) for section, blocks in answered(analysis, command)]
    if command == COMPARISON and first:
        # Others say it in short.
        print_blocks([Note(text) for text in (what_was_read(analysis), analysis.selection) if text], console)
    print_sections(sections, console)


def as_json(shown: Analysis | Answers, command: str) -> str:
    """Return the figures of the sections that a command shows as JSON, with the settings and the counts."""
    if not isinstance(shown, Analysis):
        facts = {"read": shown.read, "warnings": list(shown.warnings), "ci_prob": shown.ci_prob, "rope": shown.rope}
        return in_json(facts, [block for section in shown.sections for block in section.blocks])
    sections = answered(shown, command)
    return in_json(_facts(shown, command), [block for _, blocks in sections for block in blocks])


def _facts(analysis: Analysis, command: str) -> dict[str, Any]:
    """Return what JSON has beside the figures: what was read and asked, and how figures are to be understood."""
    counts = analysis.counts.counts
    # Scores alone call nothing.
    counts = counts.sum("predicted") if analysis.settings.scores_alone else counts
    facts: dict[str, Any] = {
        "read": what_was_read(analysis),
        "warnings": list(analysis.warnings),
        "settings": asdict(analysis.settings),
        "labels": [str(label) for label in analysis.counts.labels],
        **({"selection": analysis.selection} if analysis.selection else {}),
        "counts": {"dims": [str(dim) for dim in counts.dims], "values": counts.values.tolist()},
        "headline": analysis.headline,
    }
    if analysis.headline_comparison and command != SUMMARY:
        first = analysis.headline_comparison[0].comparison.summary(analysis.settings.ci_prob)
        facts |= {"comparison": first.attrs, "paired": analysis.is_paired}
    if command == COMPARISON:
        return facts
    requirements = [
        {"requirement": str(r), "metric": r.metric, "bound": r.bound, "probability": analysis.met(r).values.tolist()}
        for r in analysis.requirements
    ]
    jointly = analysis.met_jointly()
    scores = analysis.scores
    return facts | {
        "interpretation": analysis.summary.attrs,
        "systems": [names for _, names in analysis.systems],
        "requirements": requirements,
        "all_requirements": None if jointly is None else jointly.values.tolist(),
        **({} if scores is None or scores.split is None else {"split": scores.split._asdict()}),
    }
