"""The glossary: terms of reports and of the manual, each with the words that it is known by in a text."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Term(NamedTuple):
    """A term, what it means, and a pattern of what stands for it in a text; by default the term itself."""

    name: str
    meaning: str
    pattern: str = ""

    def occurs_in(self, text: str) -> bool:
        """Whether a text uses the term."""
        return re.search(self.pattern or rf"\b{re.escape(self.name)}\b", text) is not None


@cache
def glossary() -> list[Term]:
    """Return all terms. A line of the file is a term: its name, what it means, and its pattern if it has one."""
    lines = Path(__file__).with_name("glossary.txt").read_text(encoding="utf-8").splitlines()
    return [Term(*line.split(" :: ")) for line in lines]


def terms_of(text: str) -> list[Term]:
    """Return the terms of the glossary that a text uses, in alphabetical order.

    Examples
    --------
    >>> [term.name for term in terms_of("HTER is 0.1 (95 % ETI 0.05–0.15)")]
    ['ETI', 'HTER']
    """
    return [term for term in glossary() if term.occurs_in(text)]
