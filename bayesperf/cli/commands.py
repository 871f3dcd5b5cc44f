"""The command line: ``bayesperf demo``, ``summary``, ``compare`` and ``report`` of files, ``rank``, ``plan``, …."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from bayesperf.cli.checking import check
from bayesperf.cli.options import command, existing, takes_files
from bayesperf.cli.planning import plan
from bayesperf.cli.running_commands import (
    NAMES,
    analysed,
    answer,
    answer_of_numbers,
    answers_in,
    prepare_streams,
    print_answers,
    print_blocks_as,
    refuse_input,
    refuse_unwritable,
    say,
    say_warnings,
    say_what_takes_long,
    shown_while,
    warnings_said,
)
from bayesperf.core.errors import InputError
from bayesperf.files.option_table import Settings

# May stand anywhere on the line: it is asked for when a command has failed.
_DEBUG = "--debug"


class _InOrder(click.Group):
    """Commands in the order in which a user meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return [*self.commands]


@click.group(cls=_InOrder)
@click.version_option(package_name="bayesperf", message="bayesperf %(version)s", help="Print the version, and stop.")
@click.option(_DEBUG, is_flag=True, expose_value=False, help="Print the traceback of a fault of bayesperf's own.")
def app() -> None:
    """Posterior distributions of the performance metrics of classifiers."""


@takes_files(required=True)
def summary(files: list[Path], settings: Settings) -> None:
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


@takes_files(required=True)
def compare(files: list[Path], settings: Settings) -> None:
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


@takes_files(required=True)
def report(files: list[Path], settings: Settings) -> None:
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


@takes_files(required=True)
def rank(files: list[Path], settings: Settings) -> None:
    """Print which system is best, from a file in which each row says which of two systems was preferred.

    Columns are recognised by their names: a, b and winner, model_a and model_b, home and away, and so on; also prompt
    and judge. A winner is the name of a system, a, b or tie. Several files are parts of one data set.
    """
    from bayesperf.files.reading_kinds import read_kind
    from bayesperf.reports.judged_systems import judged_systems

    read = read_kind(files, "judged pairs", settings.encoding)
    assert read is not None
    say_what_takes_long(read)
    with shown_while("Sampling the strengths"):
        found = judged_systems(read, settings)
    words = found.compared.in_words(ci_prob=settings.ci_prob)
    print_blocks_as(settings.format, {"in_words": words}, found.blocks)


@click.argument("models", nargs=-1)
def compile_(models: tuple[str, ...]) -> None:
    """Compile models, or all of them, once on this machine, so that their first fit takes seconds."""
    from bayesperf.models import names

    for model in models:
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


@click.argument("file", type=Path)
def look(file: Path, settings: Settings) -> None:
    """Print what a file holds, what each column probably is, and what to type next.

    FILE, or a folder of files, alone does the same.
    """
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


for _function in (summary, compare, report, plan, check, rank, look, demo):
    app.add_command(command(_function))
app.command("compile")(compile_)


def _with_command(arguments: list[str]) -> list[str]:
    """Return the arguments; a file alone, without a command, is looked at."""
    first = arguments[0] if arguments else ""
    # A misspelt command has no suffix; a misspelt file has.
    is_file = (
        first not in app.commands and not first.startswith("-") and (os.path.exists(first) or bool(Path(first).suffix))
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
        gc.set_threshold(500_000)
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
            line = _with_command([argument for argument in arguments if argument != _DEBUG])
            sys.exit(app.main(line, standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
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
