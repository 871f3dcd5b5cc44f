"""Whether requirements are shown met, shown missed or undecided: the rows of a gate, and their words."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayesperf.core.words import percentage, printable, probability_value

# How probable it is that the examples which would settle a requirement do so.
ASSURANCE = 0.8
MET, MISSED, UNDECIDED = "met", "missed", "undecided"


class Verdict(NamedTuple):
    """What the data say of one requirement.

    Attributes
    ----------
    requirement : str
        What is required, in words.
    system : str
        Which system it is; empty if there is one.
    observed : str
        What was seen, in words.
    probability : float or None
        The posterior probability that it is met; None where a confidence sequence decides.
    verdict : str
        "met", "missed" or "undecided".
    more : str
        What would settle it, in words; empty if it is settled, or nobody can say.
    """

    requirement: str
    system: str
    observed: str
    probability: float | None
    verdict: str
    more: str = ""


def verdict_of(probability: float, confidence: float) -> str:
    """Return what a probability shows: that it is met, that it is missed, or neither."""
    return MET if probability >= confidence else MISSED if probability <= 1 - confidence else UNDECIDED


def overall(verdicts: Sequence[Verdict]) -> str:
    """Return the verdict on all requirements: missed if one is, else undecided if one is, else met."""
    found = {each.verdict for each in verdicts}
    return next((verdict for verdict in (MISSED, UNDECIDED) if verdict in found), MET)


def in_one_sentence(verdicts: Sequence[Verdict], shown_by: str) -> str:
    """Return the verdict on all requirements, how many of them are what, and by which rule."""
    counts = {verdict: sum(each.verdict == verdict for each in verdicts) for verdict in (MET, MISSED, UNDECIDED)}
    of = len(verdicts)
    if counts[MET] == of:
        every = {1: "The requirement is", 2: "Both requirements are"}.get(of, f"All {of} requirements are")
        said = f"{every} shown met"
    else:
        words = [
            f"{n} shown {verdict}" if verdict != UNDECIDED else f"{n} undecided" for verdict, n in counts.items() if n
        ]
        said = f"{overall(verdicts).capitalize()}. Of {of} requirement{'s' * (of > 1)}: {', '.join(words)}"
    return f"{said} ({shown_by})."


def by_probability(confidence: float) -> str:
    """Return the rule by which probabilities are judged, in words."""
    return f"P ≥ {confidence:g} shows a requirement met, P ≤ {round(1 - confidence, 9):g} missed"


def by_sequence(confidence: float, steps: int) -> str:
    """Return the rule of repeated checks, in words."""
    run = "1 run so far" if steps == 1 else f"{steps} runs so far"
    return f"by a confidence sequence, {percentage(confidence)}, which holds however often one looks; {run}"


# ── Text, Markdown, JSON ──

_COLUMNS = ("verdict", "requirement", "system", "P(met)", "observed")


def _cells(verdicts: Sequence[Verdict]) -> tuple[list[str], list[list[str]]]:
    """Return the headings of the columns that say something, and the cells in them."""
    rows = [[each.verdict, each.requirement, each.system, _probability(each), each.observed] for each in verdicts]
    shown = [place for place in range(len(_COLUMNS)) if any(row[place] for row in rows)]
    return [_COLUMNS[place] for place in shown], [[printable(row[place]) for place in shown] for row in rows]


def _probability(verdict: Verdict) -> str:
    return "" if verdict.probability is None else probability_value(verdict.probability)


def _what_settles(verdicts: Sequence[Verdict]) -> list[str]:
    """Return a sentence for each requirement that more examples would settle."""
    return [
        f"To settle {each.requirement}{printable(f' of {each.system}') if each.system else ''}, with probability "
        f"{ASSURANCE:g}: {each.more}."
        for each in verdicts
        if each.more
    ]


def print_verdicts(verdicts: Sequence[Verdict], shown_by: str, read: str) -> None:
    """Print the verdict, what was read, a row for each requirement and system, and what would settle them."""
    console = Console()
    console.print(Text(in_one_sentence(verdicts, shown_by), style="bold"))
    console.print(Text(read))
    console.print()
    headings, rows = _cells(verdicts)
    table = Table()
    for heading in headings:
        narrow = heading in ("verdict", "P(met)")
        table.add_column(heading, justify="right" if heading == "P(met)" else "left", overflow="fold", no_wrap=narrow)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    for text in _what_settles(verdicts):
        console.print(Text(text))


def verdicts_as_markdown(verdicts: Sequence[Verdict], shown_by: str, read: str) -> str:
    """Return the same as Markdown, as a step summary of GitHub shows it."""
    headings, rows = _cells(verdicts)
    lines = [headings, ["---"] * len(headings), *([_escaped(cell) for cell in row] for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    said = [f"**{_escaped(in_one_sentence(verdicts, shown_by))}**", _escaped(read), table]
    return "\n\n".join([*said, *map(_escaped, _what_settles(verdicts))])


def _escaped(text: str) -> str:
    """Write a text so that none of its characters is markup."""
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", text)


def verdicts_as_json(verdicts: Sequence[Verdict], shown_by: str, read: str, **facts: Any) -> str:
    """Return the same as JSON."""
    document = {
        "verdict": overall(verdicts), "in_words": in_one_sentence(verdicts, shown_by), "read": read, **facts,
        "requirements": [each._asdict() for each in verdicts],
    }  # fmt: skip
    return json.dumps(document, indent=2, allow_nan=False, default=str)
