"""Blocks as one self-contained HTML page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from bayesperf.reports.blocks import Written
from bayesperf.reports.glossary import Term


def page(title: str, head: Sequence[tuple[str, str]], sections: Sequence[Written], terms: Sequence[Term]) -> str:
    """Return a page, which needs nothing beside it: facts at its head, sections of which the first is boxed, terms."""
    template = _environment().get_template("page.html.j2")
    return template.render(title=title, head=head, sections=sections, terms=terms)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("bayesperf.reports", "render"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["kind_of"] = lambda block: type(block).__name__
    environment.filters |= {"percent_held": _with_percent_held, "options_held": _with_options_held}
    return environment


def _with_percent_held(text: str) -> str:
    """Return a text in which no line ends between a number and "%"."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _with_options_held(text: str) -> Markup:
    """Return a text in which no line ends within the name of an option."""
    return Markup(re.sub(r"--[\w-]+", r'<span class="held">\g<0></span>', str(escape(text))))
