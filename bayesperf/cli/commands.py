"""The command line: ``bayesperf demo``, ``summary``, ``compare`` and ``report`` of files, ``rank``, ``plan``, …."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from bayesperf.cli.checking import check
from bayesperf.cli.options_for_typer import Command, Files, existing, with_options
from bayesperf.cli.planning import plan
from bayesperf.cli.ranking import rank
from bayesperf.cli.running_commands import (
    NAMES,
    analysed,
    answer,
    answer_of_numbers,
    answers_in,
    prepare_streams,
    print_answers,
    refuse_input,
    refuse_unwritable,
    say,
    say_warnings,
    warnings_said,
)
from bayesperf.core.errors import InputError
from bayesperf.files.option_table import Settings

# May stand anywhere on the line: it is asked for when a command has failed.
_DEBUG = "--debug"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    # It has one of its own: Typer's loads what checks values, which takes as long as all else that help needs.
    add_help_option=False,
    help="Posterior distributions of the performance metrics of classifiers.",
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"bayesperf {version('bayesperf')}")
        raise typer.Exit


def _say_help(context: typer.Context, wanted: bool) -> None:
    if wanted:
        print(context.get_help())
        raise typer.Exit


Help = Annotated[bool, typer.Option("--help", is_eager=True, callback=_say_help, help="Show this message and exit.")]
Version = Annotated[
    bool, typer.Option("--version", is_eager=True, callback=_say_version, help="Print the version, and stop.")
]

Debug = Annotated[bool, typer.Option(_DEBUG, help="Print the traceback of a fault of bayesperf's own.")]
File = Annotated[Path, typer.Argument(help="A file, or a folder of files, as for summary.")]
Models = Annotated[list[str] | None, typer.Argument(help="Names of models. [all]")]


@app.callback()
def _options(shown: Version = False, debug: Debug = False, helped: Help = False) -> None:
    pass


def summary(files: Files, settings: Settings) -> None:
    """Print each metric's posterior mean and highest-density interval; for scores, areas under curves."""
    if settings.of_numbers:
        answer_of_numbers(files, settings, "summary")
        return
    if (answers := answers_in(files, settings)) is not None:
        say_warnings(answers.warnings)
        print_answers(answers, settings.json)
        return
    analysis = analysed(files, settings)
    say_warnings(analysis.warnings)
    answer(analysis, "summary", settings.json)


def compare(files: Files, settings: Settings) -> None:
    """Print which system is better, and by how much, for each pair of the systems in --system."""
    if settings.of_numbers:
        answer_of_numbers(files, settings, "compare")
        return
    analysis = analysed(files, settings, compared=True)
    from bayesperf.reports.analysing import check_systems

    if analysis.of_labels:
        raise InputError(
            "compare",
            "rows have several labels, and one system.",
            "Name a column of systems, as --system model, or columns of joined labels, as --predicted a --predicted b.",
        )
    check_systems(analysis.counts, analysis.settings)
    say_warnings(analysis.warnings)
    answer(analysis, "compare", settings.json)


def report(files: Files, settings: Settings) -> None:
    """Write an HTML page with densities, intervals, comparisons and folds; with -o NAME.md, Markdown."""
    output = settings.output or Path("report.html")
    refuse_input(output, files)
    refuse_unwritable(output)
    shown = answers_in(files, settings) or analysed(files, settings, compared=True)
    from bayesperf.core.saving import write_whole
    from bayesperf.reports.documents import as_json, document

    say_warnings(shown.warnings)
    write_whole(output, document(shown, output, settings.title, [*map(str, files)]))
    print(as_json(shown, "report") if settings.json else f"The report is in {output}")


@app.command("compile", cls=Command)
def compile_(models: Models = None) -> None:
    """Compile models once on this machine, so that their first fit takes seconds."""
    from bayesperf.models import names

    for model in models or ():
        if model not in names():
            raise InputError("models", f"there is no model {model}; they are {', '.join(names())}.")
    from bayesperf.sampling.nuts import announced
    from bayesperf.sampling.precompiling import folder, precompile

    for model in models or names():
        start = time.monotonic()
        with announced(f"Compiling {model}", sys.stderr.isatty()):
            precompile(model)
        print(f"{model}: {time.monotonic() - start:.0f} s", flush=True)
    print(f"What was compiled is in {folder()}")


def look(file: File, settings: Settings) -> None:
    """Print what a file holds, what each column probably is, and what to type next. FILE alone does the same."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from bayesperf.core.words import printable
    from bayesperf.files.first_look import ROLES, look_at

    (path,) = existing([file])
    found, console = look_at(path, settings.encoding), Console()
    console.print(
        Text(f"{printable(str(path))}: {_number(found.rows, 'row')}, {_number(len(found.columns), 'column')}.")
    )
    for note in found.notes:
        console.print(Text(printable(note)))
    table = Table()
    for heading in ("column", "holds", "probably"):
        table.add_column(heading, overflow="fold")
    for name, holds, *_, role in found.columns:
        table.add_row(*(Text(printable(cell)) for cell in (name, holds, ROLES[role][1])))
    console.print(table)
    if not found.commands:
        console.print(
            Text(
                "No column is called as actual and predicted labels are. Name them by --actual, and by --predicted "
                "or --score."
            )
        )
    else:
        console.print(Text("What it can answer, and what to type. Where a column is guessed wrong, type another."))
    in_python = {question: f"in Python: {call}" for question, call in found.in_python.items()}
    for question, typed in (found.commands | in_python).items():
        console.print(Text(f"\n{question}", style="bold"))
        # Whole, however long: it is there to be pasted.
        print(f"  {printable(typed)}")


def _number(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"


def demo(settings: Settings) -> None:
    """Show what bayesperf does, on shipped predictions of three breast-cancer classifiers."""
    from rich.console import Console

    from bayesperf import datasets
    from bayesperf.core.saving import write_whole
    from bayesperf.files.reading import Predictions
    from bayesperf.reports.analysing import analyse
    from bayesperf.reports.documents import document, print_answer

    output = settings.output or Path("bayesperf-demo.html")
    refuse_unwritable(output)
    settings = Settings(
        by=("model",), pos_label="malignant", require=("recall>=0.9", "precision>=0.9"), id="example", rope=0.01
    )
    predictions, console = Predictions(datasets.load("breast_cancer")), Console()
    print_answer(analyse(predictions, settings), "summary", console)
    console.print()
    # Systems are ordered by the metric of the first requirement, as in the sentences above and in the report.
    compared = analyse(predictions, replace(settings, metrics=("recall",), require=()))
    print_answer(compared, "compare", console, first=False)
    folds = analyse(predictions, replace(settings, by=("model", "fold"), score="score"))
    folds = replace(folds, command="bayesperf demo")
    write_whole(output, document(folds, output, "Three classifiers of breast cancer"))
    print(f"The report, with densities and folds, is in {output.resolve()}")


for _command in (summary, compare, report, plan, check, rank, look, demo):
    app.command(cls=Command)(with_options(_command))


def _with_command(arguments: list[str]) -> list[str]:
    """Return the arguments; a file alone, without a command, is looked at."""
    commands = {str(info.name or info.callback.__name__) for info in app.registered_commands if info.callback}
    first = arguments[0] if arguments else ""
    # A misspelt command has no suffix; a misspelt file has.
    is_file = (
        first not in commands and not first.startswith("-") and (os.path.exists(first) or bool(Path(first).suffix))
    )
    return ["look", *arguments] if is_file else arguments


def _load_faster() -> None:
    """Spare what takes a third of the time of a small file, in a process that is the command line's alone.

    Garbage is looked for less often while modules are loaded, which leave none, and not in all of them at the end.
    xarray imports Dask with its first array if it finds it, and no file is read by Dask. The products of matrices are
    small here: threads that share them wait for one another longer than they work.
    """
    if "xarray" not in sys.modules:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        gc.set_threshold(100_000)
        atexit.register(gc.freeze)
        sys.modules.setdefault("dask", None)  # type: ignore[arg-type]


def main() -> None:
    """Run the command line.

    Bad input ends with code 2 and one line; a fault of bayesperf's own with code 70 and one line, or its traceback;
    Ctrl-C with 130.
    """
    arguments = sys.argv[1:]
    _load_faster()
    prepare_streams()
    try:
        with warnings_said():
            app(_with_command([argument for argument in arguments if argument != _DEBUG]))
    except MemoryError as error:
        say(f"memory is not enough. {error}")
        sys.exit(2)
    except InputError as error:
        say(error.phrased(NAMES))
        sys.exit(2)
    except OSError as error:
        say(str(error))
        sys.exit(2)
    except Exception as error:
        if _DEBUG in arguments:
            raise
        say(
            f"this is a fault of bayesperf, not of your data: {type(error).__name__}: {error}. Please report it to its "
            f"maintainers, with the traceback that {_DEBUG} prints."
        )
        sys.exit(70)
