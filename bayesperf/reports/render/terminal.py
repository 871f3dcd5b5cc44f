"""Blocks on a terminal of 80 columns: names are not broken, and nothing that a user wrote steers it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from bayesperf.core.words import printable
from bayesperf.reports.blocks import Block, Figure, Folded, Heading, Note, Sentence, Table

# Longer names than this may be broken.
_LONGEST_NAME = 24
# Stands for a blank at which no line ends, between a number and its sign.
_HELD = "\u2800"


def print_sections(sections: Iterable[tuple[str, Sequence[Block]]], console: Console) -> None:
    """Print sections, each a heading, which may be empty, and blocks; those that hold pictures alone are left out."""
    for i, (heading, blocks) in enumerate(sections):
        if i:
            console.print()
        if heading:
            console.print(wrapped(heading, console, "bold"))
        print_blocks(blocks, console)


def print_blocks(blocks: Sequence[Block], console: Console) -> None:
    """Print blocks, without pictures, and without details that are for a page."""
    printed = list(_printed(blocks))
    for block, previous in zip(printed, (None, *printed), strict=False):
        # A table stands apart from what is around it.
        if (previous is not None and isinstance(block, Table)) or isinstance(previous, Table):
            console.print()
        match block:
            case Heading(text):
                console.print(wrapped(text, console, "bold"))
            case Sentence(text, lead):
                console.print(wrapped(f"{lead}: {text}" if lead else text, console))
            case Note(text, kind):
                console.print(wrapped(text, console, "bold" if kind in ("warning", "answer") else ""))
            case Table():
                console.print(_grid(block))


def _printed(blocks: Iterable[Block]) -> Iterator[Block]:
    """Return the blocks that a terminal prints, those of folded ones among them."""
    for block in blocks:
        match block:
            case Folded():
                yield from _printed(block.blocks) if block.is_printed else ()
            case Figure() | Table(columns=()) | Table(columns=[]):
                pass
            case _:
                yield block


def wrapped(text: str, console: Console, style: str = "") -> Text:
    """Return a text in lines that fit a console; none ends between a number and "%"."""
    held = _text(text).plain.replace(" %", f"{_HELD}%")
    lines = Text(held).wrap(console, console.width)
    return Text("\n".join(line.plain.replace(_HELD, " ").rstrip() for line in lines), style)


def _text(value: Any) -> Text:
    return Text(printable(str(value)))


def _grid(table: Table) -> Grid:
    """Return a table; what its parts are of is the first column, if there are several."""
    grid = Grid(title=_text(table.heading), title_justify="left", title_style="", show_edge=False, pad_edge=False)
    if table.is_divided:
        grid.add_column(_text(table.of), overflow="fold")
    for column in table.columns:
        longest = max((len(line) for record in table.records for line in column.written(record)), default=0)
        kept = column.kind != "verdict" and (not column.is_name or longest <= _LONGEST_NAME)
        grid.add_column(
            _broken(column.heading.split("\n")),
            justify="left" if column.is_name else "right",
            overflow="fold",
            no_wrap=kept,
        )
    for part in table.parts:
        for i, record in enumerate(part.records):
            first = [_text(part.title if i == 0 else "")] if table.is_divided else []
            grid.add_row(*first, *(_broken(column.written(record)) for column in table.columns))
        if len(part.records) > 1:
            grid.add_section()
    return grid


def _broken(lines: Sequence[str]) -> Text:
    """Return lines one below the other: what breaks lines in a name is escaped first."""
    return Text("\n").join(map(_text, lines))
