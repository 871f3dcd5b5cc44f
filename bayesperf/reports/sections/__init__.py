"""The sections of a report, a file each: a question, and a function that returns the blocks of its answer.

A section is found where it is defined: a module of this package with a `SECTION`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import NamedTuple

from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block

REPORT, SUMMARY, COMPARISON = "report", "summary", "compare"


class Section(NamedTuple):
    """A section of a report."""

    # Sections stand in the order of these.
    place: int
    # What links to it say.
    name: str
    title: str
    # Function of an analysis that returns its blocks; none if there is nothing to say.
    blocks: Callable[[Analysis], Sequence[Block]]
    shown_by: Sequence[str] = (REPORT,)


@cache
def sections() -> list[Section]:
    """Return all sections in order."""
    found = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    return sorted((module.SECTION for module in found if hasattr(module, "SECTION")), key=lambda each: each.place)


def answered(analysis: Analysis, command: str) -> list[tuple[Section, Sequence[Block]]]:
    """Return the sections that a command shows and that have something to say, with their blocks."""
    asked = [section for section in sections() if command in section.shown_by]
    return [(section, blocks) for section in asked if (blocks := section.blocks(analysis))]
