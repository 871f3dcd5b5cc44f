"""The options of `bayesperf.files.option_table` as Click takes them, and the files that are named."""

from __future__ import annotations

import csv
import glob
import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, get_args, get_type_hints

import click

from bayesperf.core.errors import InputError
from bayesperf.files.option_table import DEFAULTS, OPTIONS, Settings, flags_of, given_options


def existing(named: Iterable[Path]) -> list[Path]:
    """Return the files of patterns; refuse one that is not there before anything is imported that takes long."""
    files = [file for path in named for file in _expanded(path)]
    for file in files:
        try:
            file.stat()
        except OSError as error:
            raise InputError(str(file), f"cannot be read: {error.strerror}.") from None
    return list(dict.fromkeys(files))


def _expanded(path: Path) -> list[Path]:
    """Return the files that a pattern stands for, in order; a path that is there is none, whatever it is called."""
    if os.path.lexists(path):
        return [path]
    pattern = os.path.expanduser(path)
    if not glob.has_magic(pattern):
        return [Path(pattern)]
    found = [Path(file) for file in sorted(glob.glob(pattern, recursive=True))]
    if not found:
        raise InputError(str(path), "no file has a name of this pattern.")
    return found


# A command with it takes files, as `files`.
takes_files = partial(
    click.argument, "files", nargs=-1, type=Path, callback=lambda _context, _argument, named: existing(named)
)
_FILES = """
FILES are CSV (separated by comma, semicolon or tab), JSON lines, or either packed by gzip, or Parquet, a row an
example; patterns, or folders of such files. Several become a dim 'file'.
"""


class Command(click.Command):
    """A command whose options of one value are given once: of two the last would win, in silence."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; refuse an option of one value that comes twice."""
        _, _, order = self.make_parser(ctx).parse_args(args=[*args])
        for option, times in Counter(order).items():
            if times > 1 and option.nargs == 1 and not (option.multiple or getattr(option, "is_flag", False)):
                raise InputError(option.opts[0], f"it takes one value and is given {times} times.")
        return super().parse_args(ctx, args)


def command(function: Callable[..., Any]) -> Command:
    """Return a function as a command: beside its own arguments it has the options of the table that name it.

    The function takes them as `settings`. What it returns is the exit code.
    """
    options = [name for name, row in OPTIONS.items() if function.__name__ in row.commands.split()]

    @wraps(function)
    def run(**given: Any) -> Any:
        asked = {name: given.pop(name) for name in options}
        return function(**given, settings=_settings(asked))

    files_in_words = _FILES * ("files" in inspect.signature(function).parameters)
    said = f"{inspect.getdoc(function)}\n{files_in_words}"
    return click.command(cls=Command, params=[_option(name) for name in options], help=said)(run)


def _option(name: str) -> click.Option:
    """Return an option of the table as Click takes it: of a tuple it is repeatable."""
    default, (kind, *_) = DEFAULTS[name], (*get_args(_KINDS[name]), _KINDS[name])
    return click.Option(
        [*flags_of(name), name], type=kind, is_flag=kind is bool, multiple=default == (), default=default,
        show_default=True, help=OPTIONS[name].help,
    )  # fmt: skip


_KINDS = get_type_hints(Settings)


def _settings(asked: Mapping[str, Any]) -> Settings:
    """Return options as settings; refuse values that are none, and options that do not go together."""
    values = {name: _values(name, value) for name, value in asked.items()}
    for name, value in values.items():
        if value is not None and (fault := OPTIONS[name].fault) and (problem := fault(value)):
            raise InputError(flags_of(name)[0], problem)
    settings = Settings(**values)
    if settings.verified_only:
        settings = replace(settings, judges=())
    refuse_together(settings)
    _refuse_lonely(settings, asked)
    return settings


def _values(name: str, value: Any) -> Any:
    """Return a value as its field holds it; a field in quotes can hold commas."""
    if not OPTIONS[name].has_entries:
        return value
    return tuple(entry.strip() for text in value for entry in next(csv.reader([text], skipinitialspace=True)))


def refuse_together(settings: Settings) -> None:
    """Refuse options that do not go with others that are given."""
    given = given_options(settings)
    for name, other in ((row, each) for row in given for each in OPTIONS[row].against if each in given):
        flag, instead, why = flags_of(name)[0], flags_of(other)[0], OPTIONS[name].against[other]
        raise InputError(flag, f"does not go with {instead}: {why}.", f"Remove {flag} or {instead}.")


def _refuse_lonely(settings: Settings, available: Mapping[str, Any]) -> None:
    """Refuse options without others that they need, of those that the command has."""
    given = given_options(settings)
    for name, needed in ((row, each) for row in given for each in OPTIONS[row].needs):
        others = needed.split("|")
        if others[0] in available and not {*others} & {*given}:
            flags = " or ".join(flags_of(other)[0] for other in others)
            raise InputError(flags_of(name)[0], f"needs {flags}: {OPTIONS[name].needs[needed]}.", f"Add {flags}.")
