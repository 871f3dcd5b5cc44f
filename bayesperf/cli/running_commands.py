"""Running a command: reading with a status shown, and what is said beside the answer, in the words of the shell."""

from __future__ import annotations

import io
import os
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesperf.cli.options import refuse_together
from bayesperf.core.errors import InputError
from bayesperf.files.option_table import OPTIONS, flags_of, no_page

if TYPE_CHECKING:
    from bayesperf.files.option_table import Settings
    from bayesperf.files.reading import Predictions
    from bayesperf.files.reading_kinds import FileOfKind
    from bayesperf.reports.analysis import Analysis
    from bayesperf.reports.answers import Answers
    from bayesperf.reports.blocks import Block

# Files of more bytes are announced.
_LARGE, _HUGE = 3 * 10**8, 3 * 10**9
# What arguments of Python are called where they are typed in a shell.
NAMES = {name: flags_of(name)[0] for name in OPTIONS} | {
    "actual": "--actual",
    "y_true": "--actual",
    "y_pred": "--predicted",
    "dims": "--by",
    "example": "--id",
    "from_scores": "--score and --threshold",
}


def say_size(files: list[Path]) -> None:
    """Say, once, if there is much to read."""
    from bayesperf.files.formats import bytes_of

    if (size := sum(map(bytes_of, files))) > _LARGE:
        _say_once(f"reading {size / 1e9:.1f} GB, which may take {'a minute' if size < _HUGE else 'minutes'} or more.")


@cache
def _say_once(text: str) -> None:
    say(text)


def read_settled(files: list[Path], settings: Settings, compared: bool) -> tuple[Predictions, Settings]:
    """Return what files hold, and the settings with what their columns say; say first if there is much to read.

    What takes long to import is imported once the columns are there.
    """
    from bayesperf.files.opening import opened
    from bayesperf.files.roles import (
        refuse_several_labels,
        with_outcomes,
        with_predicted,
        with_roles,
        without_files_of_systems,
    )

    settings = with_roles(settings, len(files), compared)
    refuse_together(settings)
    settings = with_outcomes(settings)
    say_size(files)
    with opened(files, settings) as opened_files:
        from bayesperf.files.reading import read_opened
        from bayesperf.files.wide import with_labels_apart

        settings = with_predicted(settings, [source.columns for source in opened_files.sources])
        settings = with_labels_apart(*opened_files, settings)
        refuse_several_labels(settings)
        with shown_while("Reading"):
            predictions = read_opened(opened_files, settings)
    return predictions, without_files_of_systems(predictions.frame, settings)


def analysed(files: list[Path], settings: Settings, compared: bool = False) -> Analysis:
    """Read files and analyse them; say first if there is much to print, and refuse too much."""
    predictions, settings = read_settled(files, settings, compared)
    from bayesperf.reports.analysing import analyse
    from bayesperf.reports.many_systems import announcement, refuse_many

    line = shlex.join(["bayesperf", *sys.argv[1:]])
    analysis = replace(analyse(predictions, settings), command=line)
    if compared:
        refuse_many(analysis.counts, analysis.settings)
    if analysis.sliced is not None:
        from bayesperf.reports.sliced import is_sampled

        if is_sampled(analysis.sliced, analysis.settings):
            say("slices are sampled, which takes about half a minute, and more the first time on a machine.")
        with shown_while("Sampling the slices"):
            _ = analysis.slices
    if much := announcement(analysis.counts, analysis.settings):
        say(much)
        with shown_while("Summarising"):
            _ = analysis.summary
    return analysis


# The options of a page of answers; others are of files of predictions.
_OF_ANSWERS = {"drop_missing", "pos_label", "encoding", "ci_prob", "rope", "seed", "title", "output", "json"}


def answers_in(files: list[Path], settings: Settings) -> Answers | None:
    """Return the answers of files that hold no predictions, by the names of their columns; None of others."""
    from bayesperf.files.option_table import given_options

    if not _OF_ANSWERS.issuperset(given_options(settings)):
        return None
    from bayesperf.files.reading_kinds import complete, read_kind

    say_size(files)
    if (read := read_kind(files, None, settings.encoding)) is None:
        return None
    read = complete(read, settings.drop_missing)
    say_what_takes_long(read)
    from bayesperf.reports.answers_of_files import answers_of_file

    with shown_while("Computing the answers"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answers = answers_of_file(read, settings)
    said = tuple(dict.fromkeys(str(each.message) for each in caught))
    return replace(answers, warnings=said, command=shlex.join(["bayesperf", *sys.argv[1:]]))


def say_what_takes_long(read: FileOfKind) -> None:
    """Say that a model is sampled."""
    from bayesperf.files.kinds import KINDS

    if what := KINDS[read.kind].sampled:
        say(f"{what} are sampled, which takes about ten seconds, and more the first time on a machine.")


def print_answers(answers: Answers, json: bool) -> None:
    """Print answers, as tables or as JSON."""
    from rich.console import Console

    from bayesperf.reports.documents import as_json
    from bayesperf.reports.render.terminal import print_sections

    if json:
        print(as_json(answers, "summary"))
    else:
        print_sections([(section.title, section.blocks) for section in answers.sections[:-1]], Console())


def answer(analysis: Analysis, command: str, json: bool) -> None:
    """Print what a command has to say, as tables or as JSON."""
    from rich.console import Console

    from bayesperf.reports.documents import as_json, print_answer

    if json:
        print(as_json(analysis, command))
    else:
        print_answer(analysis, command, Console())


def answer_of_numbers(files: list[Path], settings: Settings, command: str) -> None:
    """Print what a command has to say of credit, or of the errors of predicted numbers."""
    predictions, settings = read_settled(files, settings, command == "compare")
    from bayesperf.reports.mean_figures import mean_figures

    found = mean_figures(predictions, settings)
    say_warnings(found.warnings)
    facts = {"read": found.read, "settings": asdict(settings)}
    print_blocks_as("json" if settings.json else "text", facts, found.blocks(command))


def print_blocks_as(format_: str, facts: Mapping[str, Any], blocks: Sequence[Block]) -> None:
    """Print blocks as text, Markdown or JSON, which holds facts beside them."""
    if format_ == "json":
        from bayesperf.reports.render.json import in_json

        print(in_json(facts, blocks))
    elif format_ == "markdown":
        from bayesperf.reports.render.markdown import in_markdown

        print(in_markdown(blocks))
    else:
        from rich.console import Console

        from bayesperf.reports.render.terminal import print_blocks

        print_blocks(blocks, Console())


def say_warnings(warned: Iterable[str]) -> None:
    """Say what is probably a mistake in the data."""
    for text in warned:
        say(f"warning: {text}")


def shown_while(work: str) -> AbstractContextManager[Any]:
    """Show what is being done for as long as it takes, on a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(work)


def prepare_streams() -> None:
    """Have something to write to and a width, whatever a shell gives: closed streams, other encodings, no columns."""
    for name in ("stdout", "stderr"):
        if (stream := getattr(sys, name)) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            # Characters that it has not are written as escapes.
            stream.reconfigure(errors="backslashreplace")
    if os.environ.get("COLUMNS", "").strip() == "0":
        del os.environ["COLUMNS"]


def say(text: str) -> None:
    """Print a line to standard error, in which nothing that a user wrote steers the terminal."""
    from bayesperf.core.words import printable

    print(f"bayesperf: {printable(' '.join(text.split()))}", file=sys.stderr)


@contextmanager
def warnings_said() -> Iterator[None]:
    """Print each warning once, as a line."""
    from bayesperf.core.errors import LabelWarning

    said = set()

    def say_once(message: Warning | str, *_: Any, **__: Any) -> None:
        if (text := str(message)) not in said:
            said.add(text)
            say(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", LabelWarning)
        warnings.showwarning = say_once
        yield


# ── Where pages may be written: not where no file can be, nor over what is read ──


def refuse_unwritable(output: Path) -> None:
    """Refuse a file that cannot be written, or has the ending of another format, before there is anything to write."""
    if output.is_dir():
        raise InputError(f"--output {output}", "it is a folder.", "Name a file in it.")
    if problem := no_page(output):
        raise InputError("--output", problem)
    if output.exists() and not output.is_file():
        return
    try:
        with tempfile.TemporaryFile(dir=output.resolve().parent):
            pass
    except OSError as error:
        raise InputError(f"--output {output}", f"cannot be written: {error.strerror}.") from None


def refuse_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write to a file that is read, however it is spelt or linked, or to one that is read of a folder."""
    if not output.exists():
        return
    for path in (file for named in inputs for file in _files(named)):
        if path.exists() and output.samefile(path):
            raise InputError(
                f"--output {output}", f"it is the file of predictions, {path}.", "Give the page a name of its own."
            )


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return [path]
    from bayesperf.core.errors import FileFaultError
    from bayesperf.files.sources import files_of

    try:
        return files_of(path)
    except FileFaultError:
        # What is wrong with the folder is said when it is read.
        return []
