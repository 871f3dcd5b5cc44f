"""Blocks: the contents of a section of a report, for every renderer. Renderers know these types, but no section.

A table holds records of full precision; its columns say which values are shown, and how they are written. All renderers
therefore write the same figures, and JSON holds the records themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from markupsafe import Markup

from bayesperf.core.words import printable, probability_value, signed_value

type Record = Mapping[Any, Any]
# Where JSON has what a block says, key within key; nowhere if it is empty.
type Name = tuple[str, ...]


@dataclass(frozen=True)
class Heading:
    """The heading of a part of a section."""

    text: str


@dataclass(frozen=True)
class Sentence:
    """A sentence, or several; `lead` names the subject."""

    text: str
    lead: str = ""
    name: Name = ()


@dataclass(frozen=True)
class Note:
    """Text that is set apart: small print, data, an answer, a warning, a quotation, or text to copy.

    Advice names options of the command line, so it is shown on a terminal only.
    """

    text: str
    kind: Literal["fine", "read", "answer", "advice", "warning", "quote", "verbatim"] = "fine"


@dataclass(frozen=True)
class Column:
    """A column: its heading, the keys of a record that it shows, and how it writes them (see `WRITERS`)."""

    heading: str
    keys: tuple[str, ...]
    kind: str = "text"

    @property
    def is_name(self) -> bool:
        """Whether it holds words, which stand to the left and are never broken."""
        return self.kind in ("text", "pair", "verdict")

    def written(self, record: Record) -> list[str]:
        """Return the lines of a cell: a value, and beneath it its interval."""
        return WRITERS[self.kind](*(record.get(key, "") for key in self.keys))


@dataclass(frozen=True)
class Rows:
    """Rows of a table that belong together, such as those of one metric; they may be drawn on one scale."""

    records: Sequence[Record]
    # Title of the rows, and a few words on them.
    title: str = ""
    about: str = ""
    # Function that returns a picture for each row, and the axis beneath them: a terminal draws nothing.
    draw: Callable[[], tuple[Sequence[Markup], Markup]] | None = None


@dataclass(frozen=True)
class Table:
    """A table. One without columns is for programs alone."""

    title: str
    # Those to show.
    columns: Sequence[Column]
    parts: Sequence[Rows]
    # The heading of the parts, such as "metric".
    of: str = ""
    # How to read its pictures.
    reading: str = ""
    # The keys of its records in JSON.
    name: Name = ()

    @property
    def is_divided(self) -> bool:
        """Whether it has several parts, and so a column that says what each is of."""
        return len(self.parts) > 1

    @property
    def heading(self) -> str:
        """What stands above it: its title, or what its only part is."""
        return self.title if self.is_divided or not self.parts else (self.parts[0].title or self.title)

    @property
    def records(self) -> list[Record]:
        """The records of all parts."""
        return [record for part in self.parts for record in part.records]


@dataclass(frozen=True)
class Figure:
    """Pictures beside each other, each with its caption, as a function draws them; and the names of their colours."""

    draw: Callable[[], Sequence[tuple[str, Markup]]]
    title: str = ""
    legend: Sequence[tuple[str, str]] = ()
    reading: str = ""
    is_large: bool = False


@dataclass(frozen=True)
class Folded:
    """Details, which a page shows if they are asked for; a terminal prints them, or leaves them out."""

    title: str
    blocks: Sequence[Block]
    is_printed: bool = True


type Block = Heading | Sentence | Note | Table | Figure | Folded


class Written(NamedTuple):
    """A section as it stands on a page: its name for links, its title and its blocks."""

    name: str
    title: str
    blocks: Sequence[Block]


def rows_table(title: str, columns: Sequence[Column], records: Sequence[Record], **more: Any) -> Table:
    """Return a table of one part."""
    return Table(title, columns, [Rows(records)], **more)


def figures(interval: str, **centres: str) -> list[Column]:
    """Return the columns of centres, by their keys and headings, and of the interval, by its name."""
    ends = ("ci_lower", "ci_upper")
    return [
        *(Column(heading, (key, *ends), "value") for key, heading in centres.items()),
        Column(interval, ends, "interval"),
    ]


def flat(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield blocks, those that are folded in others too."""
    for block in blocks:
        yield block
        if isinstance(block, Folded):
            yield from flat(block.blocks)


def words_of(block: Block) -> Iterator[str]:
    """Yield the texts of a block: what it says, the titles of its rows and the headings of its columns."""
    match block:
        case Note(_, "advice"):
            return
        case Heading(text) | Sentence(text) | Note(text):
            yield text
        case Table():
            if block.columns:
                yield from (block.title, block.reading, *(column.heading for column in block.columns))
                yield from (text for part in block.parts for text in (part.title, part.about))
        case Figure():
            yield from (block.title, block.reading)
        case Folded(title):
            yield title


# ── How cells are written ──


def interval(lower: float, upper: float) -> str:
    """Write an interval.

    Examples
    --------
    >>> interval(0.436, 0.998), interval(-0.05, 0.25)
    ('0.436–0.998', '−0.050 to 0.250')
    """
    if math.isnan(lower):
        return "—"
    if lower == upper:
        return signed_value(lower)
    low, high = (signed_value(end, upper - lower) for end in (lower, upper))
    return f"{low}–{high}" if lower >= 0 else f"{low} to {high}"


def number(value: float) -> str:
    """Write a number with four digits at most; empty if there is none."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return "" if math.isnan(value) else f"{value:.4g}".replace("-", "−")


def _value(value: float, lower: float, upper: float) -> list[str]:
    return [signed_value(value, upper - lower) or "—"]


def _text(value: Any) -> list[str]:
    return [printable(str(value))]


# Functions that return the lines of a cell, by kinds of columns.
WRITERS: dict[str, Callable[..., list[str]]] = {
    "text": _text,
    "pair": lambda a, b: [*_text(a), f"− {printable(str(b))}"],
    "verdict": lambda text, p, more: [f"{text}, P {probability_value(p)}", *([f"{more} more"] if more else [])],
    "count": lambda n: ["—" if n is None or math.isnan(n) else f"{n:,.0f}"],
    "number": lambda value: [number(value)],
    "share": lambda value: [f"{100 * value:.0f} %"],
    "probability": lambda p: [probability_value(p)],
    "value": _value,
    "interval": lambda lower, upper: [interval(lower, upper)],
    "estimate": lambda value, lower, upper: [*_value(value, lower, upper), interval(lower, upper)],
}
