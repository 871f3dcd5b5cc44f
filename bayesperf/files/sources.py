"""Files of predictions, and folders of them: which they are, whether they fit, and what is wrong with them."""

from __future__ import annotations

import re
import shlex
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from bayesperf.core.errors import FileFaultError, InputError
from bayesperf.core.words import enumerated, listed
from bayesperf.data.axis_names import axis_role
from bayesperf.files.formats import (
    NOT_UTF8,
    PARQUET,
    TEXT,
    DataFile,
    is_number,
    open_file,
    sql_text,
)
from bayesperf.files.kinds import KINDS, kind_of
from bayesperf.files.option_table import FILE
from bayesperf.files.roles import SYSTEM_COLUMNS
from bayesperf.files.shapes import with_rows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# A folder whose name says a value that all rows in it have: model=old.
_PARTITION = re.compile(r"([^=]+)=(.*)")
# What a type of a Parquet file holds: files whose columns hold the same can be read as one.
_HELD = {
    "strings": r"VARCHAR|ENUM.*",
    "numbers": r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*",
    "booleans": "BOOLEAN",
}
# What columns hold that an option names, by the words of their names; and what no column of labels is called.
_ROLES = {"--actual": "actual", "--predicted": "predicted"}
_SYSTEM = re.compile(r"(model|system|classifier|clf|method|rater|annotator)[ _.-]?\w+$", re.IGNORECASE)
PROBABILITY = re.compile("prob|score|conf|logit|wahrscheinlich", re.IGNORECASE)
# Among more columns none is looked for that is meant.
_MANY = 1_000
# What DuckDB says of a file, and what is said of it here.
_FAULTS = {
    r"Expected Number of Columns: (\d+) Found: (\d+)": "it has {1} fields, and the header has {0}",
    "unterminated quote": "a quote is opened there and not closed, or text follows a closed one",
    "not utf-8": NOT_UTF8,
    "invalid UTF-8 encoding": NOT_UTF8,
    r"Malformed JSON .*: (.*?)\.? *$": "it is no JSON there, {0}",
    "(field .* holds lists or objects.*)": "{0}",
    "invalid state": r"its lines end in different ways (\n and \r\n), or it is no CSV file",
    "Maximum line size": "the line is longer than 2 MB",
}


def open_sources(
    connection: DuckDBPyConnection,
    paths: Sequence[Path],
    scratch: Path,
    asked: Mapping[str, str],
    apart: bool,
    encoding: str | None,
) -> list[DataFile]:
    """Return the files, those of folders included; refuse any that cannot be read, or that do not fit together.

    `asked` are the columns and the option that names each, `scratch` a folder for copies of pipes; `apart` says whether
    a column ``file`` tells the paths apart, whose names must then differ; `encoding` that of text, if it is known.
    """
    sources: list[DataFile] = []
    names: set[str] = set()
    for path in paths:
        with faults_of(path):
            if apart and path.stem in names:
                raise FileFaultError(
                    f"two files are called {path.stem!r}; their names become the dim 'file'. Rename one, or pool them "
                    "by --parts."
                )
            files = files_of(path) if path.is_dir() else {path: {}}
        names.add(path.stem)
        for file, constants in files.items():
            with faults_of(file):
                source = _open(connection, file, scratch / str(len(sources)), list(asked), encoding)
                source = with_rows(connection, source, asked)
                if apart and FILE in source.columns:
                    raise FileFaultError(f"has a column {FILE!r}, the name by which several files are told apart.")
                _refuse_absent(source, asked, [*constants, *([FILE] if apart else [])])
                more = constants | ({FILE: sql_text(path.stem)} if apart else {})
                sources.append(replace(source, columns={**source.columns, **more}))
    if all(source.has_types for source in sources):
        _refuse_other_kinds(sources, list(asked))
    return sources


def files_of(folder: Path) -> dict[Path, dict[str, str]]:
    """Return the Parquet files, or those of text, of a folder, in order, and columns that folders in it say.

    What begins with "." or "_" is not read: engines that write a folder of parts put notes of their own beside them.
    """
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    )
    parquet = [path for path in files if path.suffix.lower() in PARQUET]
    text = [path for path in files if path.name.lower().removesuffix(".gz").endswith(TEXT)]
    if not parquet and not text:
        raise FileFaultError("the folder holds no Parquet, CSV or JSON files.")
    if parquet and text:
        raise FileFaultError(
            f"the folder holds Parquet files and others, as {parquet[0].name} and {text[0].name}. Name those that "
            "are to be read."
        )
    return {path: _constants(path.relative_to(folder).parts[:-1]) for path in parquet or text}


def _constants(folders: Sequence[str]) -> dict[str, str]:
    """Return the SQL of the columns that names of folders say."""
    said = [match.groups() for match in map(_PARTITION.fullmatch, folders) if match]
    return {name: _constant(value) for name, value in said}


def _constant(value: str) -> str:
    """Write in SQL what the name of a folder says: a whole number, text, or that the value is missing."""
    if value == "__HIVE_DEFAULT_PARTITION__":
        return "NULL"
    return value if re.fullmatch("0|-?[1-9][0-9]{0,17}", value) else sql_text(unquote(value))


def _open(
    connection: DuckDBPyConnection, path: Path, copy: Path, asked: Sequence[str], encoding: str | None
) -> DataFile:
    """Return a file: a copy of it if it is a pipe, which can be read only once, or a link if its name is no text."""
    whole = path
    if any("\udc80" <= char <= "\udcff" for char in str(path.absolute())):
        copy.symlink_to(path.absolute())
        return open_file(connection, path, copy, copy.with_suffix(".txt"), asked, encoding)
    if path.exists() and not path.is_file():
        whole = copy
        with path.open("rb") as pipe, copy.open("wb") as file:
            shutil.copyfileobj(pipe, file)
    return open_file(connection, path, whole, copy.with_suffix(".txt"), asked, encoding)


def _refuse_absent(source: DataFile, asked: Mapping[str, str], more: Sequence[str]) -> None:
    there = [*source.columns, *more]
    if absent := {name: option for name, option in asked.items() if name not in there}:
        named = enumerated([f"{name!r}, for {option}" for name, option in absent.items()])
        file = shlex.quote(str(source.named))
        instead = _of_kind(there, file) if absent.get("actual") == "--actual" else ""
        # Truth and scores of reads are no labels of one system: an area of all of them would pool the readers.
        offer = instead or _offer(absent, there, asked, f"bayesperf {file}")
        raise FileFaultError(f"no column {named}; its columns are {listed(there, 12)}.{offer}")


def _of_kind(there: Sequence[str], file: str) -> str:
    """Return a sentence with the command that answers a file which holds no predictions; empty for other files."""
    kind = kind_of(there)
    if kind is None or not KINDS[kind].question:
        return ""
    found = KINDS[kind]
    answered = f"{found.question} bayesperf {found.command} {file} (without other options)."
    return f" They are columns of {kind}. {answered}"


def _offer(absent: Mapping[str, str], there: Sequence[str], asked: Mapping[str, str], look: str) -> str:
    """Return a sentence with the options to type, if columns are there that look like those asked for.

    Where none looks like labels that are asked for, it names the command that says what columns hold.
    """
    if all(map(is_number, there)):
        return " The first line must name the columns."
    if len(there) > _MANY:
        return ""
    free = [name for name in there if name not in asked]
    offered: dict[str, list[str]] = {}
    for name, option in absent.items():
        offered[option] = _looking_like(name, option, free)
    if len(offered.get("--actual", ())) > 1:
        # Which of them is meant, and which predictions are its own, only their values tell.
        offered |= {"--actual": [], "--predicted": []}
    if offered.get("--predicted") == [] and (scores := [name for name in free if PROBABILITY.search(name)]):
        del offered["--predicted"]
        offered["--score"] = scores
    typed = [f"{option} {shlex.quote(name)}" for option, names in sorted(offered.items()) for name in names]
    perhaps = f" Perhaps it is {' '.join(typed)}." if typed else ""
    is_open = any(option in _ROLES and not names for option, names in offered.items())
    return f"{perhaps} To see what each column probably is: {look}" if is_open else perhaps


def _looking_like(name: str, option: str, free: Sequence[str]) -> list[str]:
    """Return the columns that may be meant by a name: one that is alike, or those whose words say their role."""
    alike = get_close_matches(name, free, 1, 0.8 if option in _ROLES else 0.6)
    if alike or option not in _ROLES:
        return alike
    looking = [other for other in free if _ROLES[option] == axis_role(other) and not PROBABILITY.search(other)]
    if looking or option != "--predicted":
        return looking
    return [other for other in free if _SYSTEM.match(other) and other.lower() not in SYSTEM_COLUMNS]


def _refuse_other_kinds(sources: Sequence[DataFile], asked: Sequence[str]) -> None:
    """Refuse Parquet files of which one column holds strings and another numbers."""
    for name in asked:
        first, *others = [source for source in sources if name in source.types] or [sources[0]]
        for other in others:
            held, instead = (held_by(source.types[name]) for source in (first, other))
            if held != instead:
                raise InputError(
                    f"{other.named}",
                    f"column {name!r} holds {instead}, and {held} in {first.named}.",
                    "Write it the same way in all files.",
                )


def held_by(type_: str) -> str:
    """Return what a type holds, in words."""
    return next((words for words, pattern in _HELD.items() if re.fullmatch(pattern, type_)), type_.lower())


@contextmanager
def faults_of(path: Path) -> Iterator[None]:
    """Say in one line what is wrong with a file, and where."""
    import duckdb

    try:
        yield
    except FileFaultError as fault:
        raise InputError(str(path), f"{fault}") from None
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}.") from None
    except (EOFError, zlib.error):
        raise InputError(str(path), "cannot be read: the file is damaged.") from None
    except duckdb.Error as error:
        said = str(error)
        line = re.search(r"CSV Error on Line: (\d+)", said)
        where = f"{path}: line {line[1]}" if line else f"{path}"
        for pattern, words in _FAULTS.items():
            if match := re.search(pattern, said):
                raise InputError(where, f"cannot be read: {words.format(*match.groups())}.") from None
        raise InputError(where, f"cannot be read: {said.splitlines()[0].rstrip('.')}.") from None
