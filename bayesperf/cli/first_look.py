"""The command ``bayesperf FILE``: what a file holds, and what to type next."""

from __future__ import annotations

from pathlib import Path

from bayesperf.cli.options import existing


def print_look(file: Path) -> None:
    """Print what a file holds, a row a column, and a command for each question that it can answer."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from bayesperf.core.words import printable
    from bayesperf.files.looking import ROLES, look

    (path,) = existing([file])
    found, console = look(path), Console()
    console.print(Text(f"{printable(str(path))}: {found.attrs['rows']:,} rows, {len(found)} columns."))
    for note in found.attrs["notes"]:
        console.print(Text(printable(note)))
    table = Table()
    for heading in ("column", "holds", "probably"):
        table.add_column(heading, overflow="fold")
    for name, holds, role in zip(found["column"], found["holds"], found["role"], strict=True):
        table.add_row(*(Text(printable(str(cell))) for cell in (name, holds, ROLES[role][1])))
    console.print(table)
    if not found.attrs["commands"]:
        console.print(
            Text(
                "No column is called as actual and predicted labels are. Name them by --actual, and by --predicted "
                "or --score."
            )
        )
        return
    console.print(Text("What it can answer, and what to type. Change what is not as you mean it."))
    for question, command in found.attrs["commands"].items():
        console.print(Text(f"\n{question}", style="bold"))
        # Whole, however long: it is there to be pasted.
        print(f"  {printable(command)}")
