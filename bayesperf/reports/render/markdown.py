"""Blocks as Markdown, as GitHub and notebooks show it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from bayesperf.reports.blocks import Block, Column, Figure, Folded, Heading, Note, Sentence, Table


def document(title: str, head: Sequence[tuple[str, str]], sections: Iterable[tuple[str, Sequence[Block]]]) -> str:
    """Return a title, facts, and sections, each a heading and blocks, as Markdown."""
    facts = "\n".join(f"- {escaped(name)}: {escaped(value)}" for name, value in head)
    parts = [f"# {escaped(title)}", facts]
    for heading, blocks in sections:
        parts += [f"## {escaped(heading)}", in_markdown(blocks)]
    return "\n\n".join(parts) + "\n"


def in_markdown(blocks: Sequence[Block]) -> str:
    """Return blocks as Markdown, pictures left out; no text of a user's is markup."""
    return "\n\n".join(text for block in blocks if (text := _block(block)))


def escaped(text: str) -> str:
    """Write a text so that none of its characters is markup."""
    return re.sub(r"([\\`*_{}\[\]<>|#~&])", r"\\\1", " ".join(text.split()))


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return f"### {escaped(text)}"
        case Sentence(text, lead):
            return f"**{escaped(lead)}**: {escaped(text)}" if lead else escaped(text)
        case Note(text, "warning" | "answer"):
            return f"**{escaped(text)}**"
        case Note(text, "quote"):
            return f"> {escaped(text)}"
        case Note(text, "verbatim"):
            # Fences longer than any in the text.
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
            return f"{fence}\n{text}\n{fence}"
        case Note(text, kind):
            return "" if kind == "advice" else escaped(text)
        case Table():
            return _table(block) if block.columns else ""
        case Folded(title, blocks):
            summary = escape(" ".join(title.split()))
            inside = in_markdown(blocks)
            return f"<details><summary>{summary}</summary>\n\n{inside}\n\n</details>" if inside else ""
        case Figure():
            return ""


def _table(table: Table) -> str:
    """Return a table; what its parts are of is the first column, if there are several."""
    apart = [Column(table.of, ("part",))] if table.is_divided else []
    columns = [*apart, *table.columns]
    lines = [
        [escaped(column.heading) for column in columns],
        [":--" if column.is_name else "--:" for column in columns],
    ]
    for part in table.parts:
        for i, record in enumerate(part.records):
            values = {**record, "part": part.title if i == 0 else ""}
            lines.append([escaped(_cell(column, values)) for column in columns])
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"**{escaped(table.heading)}**\n\n{rows}" if table.heading else rows


def _cell(column: Column, record: dict[str, object]) -> str:
    first, *rest = column.written(record)
    beneath = (f" {line}" if column.kind == "pair" else f" ({line})" for line in rest)
    return "".join([first, *beneath])
