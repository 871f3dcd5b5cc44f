"""The report as one self-contained HTML page: the head, a summary, and a section for each question."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import cache
from html import unescape
from importlib.metadata import version
from platform import python_version
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from bayesperf.core.words import percentage, signed_value
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.glossary import terms_of
from bayesperf.reports.page import (
    enough_data,
    how_good,
    methods,
    probabilities,
    score_sections,
    top,
    trust,
    where_it_fails,
    which_is_better,
)
from bayesperf.reports.scores import about_split

TITLE = "Classifier performance"
# The question of each section, by the name of its template, and the function that finds what it shows, if anything.
SECTIONS: dict[str, tuple[str, Callable[[Analysis], dict[str, Any] | None]]] = {
    "how_good": ("How good is it?", how_good.facts),
    "good_enough": ("Is it good enough?", how_good.good_enough),
    "which_is_better": ("Which is better?", which_is_better.facts),
    "ranking": ("How well do the scores rank?", score_sections.ranking),
    "thresholds": ("Where to put the threshold?", score_sections.over_thresholds),
    "trusted": ("Can its probabilities be trusted?", probabilities.trusted),
    "useful": ("At which thresholds is it useful?", probabilities.useful),
    "expected": ("What is to be expected?", score_sections.expected),
    "where_it_fails": ("Where does it fail?", where_it_fails.facts),
    "enough_data": ("Do we have enough data?", enough_data.facts),
    "trust": ("Can the figures be trusted?", trust.facts),
}
_PACKAGES = ("bayesperf", "numpy", "scipy", "xarray")


def render(analysis: Analysis, command: str, *, title: str | None = None, sources: Sequence[str] = ()) -> str:
    """Return an analysis as a self-contained HTML page.

    Parameters
    ----------
    analysis : Analysis
        The analysis to show.
    command : str
        The command that makes the page, for the reader to repeat; empty if there is none.
    title : str, optional
        The heading of the page.
    sources : sequence of str
        Names of the files that were read.
    """
    settings = analysis.settings
    shared = {
        "probability": percentage(settings.ci_prob),
        "dims": [str(dim) for dim in analysis.pooled.dims],
        "labels": [str(label) for label in analysis.counts.labels],
        "format_value": signed_value,
    }
    found = {name: facts for name, (_, section) in SECTIONS.items() if (facts := section(analysis)) is not None}
    bodies = [
        {"id": name, "title": SECTIONS[name][0], "body": _fill(name, shared | facts)} for name, facts in found.items()
    ]
    versions = {"Python": python_version()} | {name: version(name) for name in _PACKAGES}
    said = _fill("methods", shared | methods.facts(analysis, command, versions))
    bodies.append({"id": "methods", "title": "Methods, to cite", "body": said})
    summary = _fill("summary", shared | top.summary(analysis))
    text = unescape(re.sub("<[^>]+>", " ", " ".join([summary, *(body["body"] for body in bodies)])))
    scored = analysis.scores
    return _filled(
        "page",
        {
            "title": title or TITLE,
            "head": top.head(analysis, sources, date.today()),
            "summary": summary,
            "split": about_split(scored.split) if scored and scored.split else "",
            "selection": analysis.selection,
            "sections": bodies,
            "terms": terms_of(text),
        },
    )


def _fill(template: str, facts: dict[str, Any]) -> Markup:
    return Markup(_filled(template, facts))


def _filled(template: str, facts: dict[str, Any]) -> str:
    return _environment().get_template(f"{template}.html.j2").render(facts)


@cache
def _environment() -> Environment:
    return Environment(loader=PackageLoader("bayesperf.reports"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
