"""Files of predictions as DuckDB reads them: CSV, TSV and Parquet files, and folders of them."""

from __future__ import annotations

import csv
import gzip
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from bayesperf.core.words import listed
from bayesperf.reports.settings import FILE

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_PACKED = (".zip", ".bz2", ".xz", ".zst", ".7z")
_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv", ".tab")
# A folder whose name says a value that all rows in it have: model=old.
_PARTITION = re.compile(r"([^=]+)=(.*)")
# What a type of a Parquet file holds: files whose columns hold the same can be read as one.
_HELD = {
    "strings": r"VARCHAR|ENUM.*",
    "numbers": r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*",
    "booleans": "BOOLEAN",
}
# What DuckDB says of a CSV file, and what is said of it here.
_FAULTS = {
    r"Expected Number of Columns: (\d+) Found: (\d+)": "it has {1} fields, and the header has {0}",
    "unterminated quote": "a quote is opened there and not closed, or text follows a closed one",
    "not utf-8": "it is not UTF-8; save the file as UTF-8",
    "invalid state": r"its lines end in different ways (\n and \r\n), or it is no CSV file",
    "Maximum line size": "the line is longer than 2 MB",
}


class FileFaultError(ValueError):
    """What is wrong with a file that is named where this is caught."""


@dataclass(frozen=True)
class Source:
    """A file as DuckDB reads it.

    Attributes
    ----------
    named : Path
        The file, or the copy of a pipe, by which it is named in errors.
    path : Path
        The file that is read.
    scan : str
        The SQL that reads it.
    columns : mapping of str to str
        The SQL of each column, by name.
    types : mapping of str to str
        The type of each column, if the file says it.
    """

    named: Path
    path: Path
    scan: str
    columns: Mapping[str, str]
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_types(self) -> bool:
        """Whether the file says itself of what type its columns are."""
        return bool(self.types)


def open_sources(
    connection: DuckDBPyConnection, paths: Sequence[Path], scratch: Path, asked: Mapping[str, str], apart: bool
) -> list[Source]:
    """Return the files, those of folders included.

    Parameters
    ----------
    connection : DuckDBPyConnection
        What reads them.
    paths : sequence of Path
        Files and folders that the user named.
    scratch : Path
        A folder for copies of pipes.
    asked : mapping of str to str
        The columns that are asked for, and the option that names each.
    apart : bool
        Whether a column ``file`` tells the paths apart.

    Raises
    ------
    ValueError
        If a file cannot be read or lacks a column, a column holds different kinds of values in different files, or two
        paths have the same name.
    """
    sources: list[Source] = []
    names: set[str] = set()
    for path in paths:
        with faults_of(path):
            if apart and path.stem in names:
                raise FileFaultError(
                    f"two files are called {path.stem!r}; their names become the dim 'file'. Rename one, or pool them "
                    "by --parts."
                )
            files = _files_of(path) if path.is_dir() else {path: {}}
        names.add(path.stem)
        for file, constants in files.items():
            with faults_of(file):
                source = _open(connection, file, scratch / f"{len(sources)}{file.suffix}")
                if apart and FILE in source.columns:
                    raise FileFaultError(f"has a column {FILE!r}, the name by which several files are told apart.")
                _refuse_absent(source, asked, [*constants, *([FILE] if apart else [])])
                more = constants | ({FILE: sql_text(path.stem)} if apart else {})
                sources.append(Source(source.named, source.path, source.scan, {**source.columns, **more}, source.types))
    if all(source.has_types for source in sources):
        _refuse_other_kinds(sources, list(asked))
    return sources


def _files_of(folder: Path) -> dict[Path, dict[str, str]]:
    """Return the Parquet files, or the CSV files, of a folder, in order, and columns that folders in it say.

    What begins with "." or "_" is not read: engines that write a folder of parts put notes of their own beside them.
    """
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    )
    parquet = [path for path in files if path.suffix.lower() in _PARQUET]
    text = [path for path in files if path.name.lower().removesuffix(".gz").endswith(_TEXT)]
    if not parquet and not text:
        raise FileFaultError("the folder holds no Parquet or CSV files.")
    if parquet and text:
        raise FileFaultError(
            f"the folder holds Parquet files and CSV files, as {parquet[0].name} and {text[0].name}. Name those that "
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


def _open(connection: DuckDBPyConnection, path: Path, copy: Path) -> Source:
    """Return a file, a copy of it if it is a pipe, which can be read only once."""
    whole = path
    if path.exists() and not path.is_file():
        whole = copy
        with path.open("rb") as pipe, copy.open("wb") as file:
            shutil.copyfileobj(pipe, file)
    return _parquet(connection, path, whole) if path.suffix.lower() in _PARQUET else _csv(path, whole)


def _refuse_absent(source: Source, asked: Mapping[str, str], more: Sequence[str]) -> None:
    for name, option in asked.items():
        if name not in source.columns and name not in more:
            raise FileFaultError(
                f"no column {name!r}, for {option}; its columns are {listed([*source.columns, *more], 12)}."
            )


def _refuse_other_kinds(sources: Sequence[Source], asked: Sequence[str]) -> None:
    """Refuse Parquet files of which one column holds strings and another numbers."""
    for name in asked:
        first, *others = [source for source in sources if name in source.types] or [sources[0]]
        for other in others:
            held, instead = (held_by(source.types[name]) for source in (first, other))
            if held != instead:
                raise ValueError(
                    f"{other.named}: column {name!r} holds {instead}, and {held} in {first.named}. Write it the same "
                    "way in all files."
                )


def held_by(type_: str) -> str:
    """Return what a type holds, in words."""
    return next((words for words, pattern in _HELD.items() if re.fullmatch(pattern, type_)), type_.lower())


def _csv(named: Path, path: Path) -> Source:
    """Return a CSV or TSV file; its columns are numbered, for DuckDB takes names that differ by case for the same."""
    if named.suffix.lower() in _PACKED:
        raise FileFaultError("unpack it, or pack it by gzip (.gz).")
    is_packed = path.suffix.lower() == ".gz"
    kind = (path.with_suffix("") if is_packed else path).suffix.lower()
    delimiter = "\t" if kind in (".tsv", ".tab") else ","
    names, line = _header(path, is_packed, delimiter)
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(names)))
    scan = (
        f"read_csv({_file_name(path)}, columns = {{{columns}}}, auto_detect = false, header = false, skip = {line}, "
        f"delim = '{delimiter}', quote = '\"', escape = '\"', compression = '{'gzip' if is_packed else 'none'}', "
        "strict_mode = true, hive_partitioning = false)"
    )
    return Source(named, path, scan, {name: f"c{place}" for place, name in enumerate(names)})


def _header(path: Path, is_packed: bool, delimiter: str) -> tuple[list[str], int]:
    """Return the names of the columns, and the number of the line that ends the header."""
    opened: Any = gzip.open if is_packed else open
    with opened(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            names = next((record for record in reader if record), None)
        except csv.Error as error:
            raise FileFaultError(f"line {reader.line_num}: cannot be read: {error}.") from None
        line = reader.line_num
    if names is None:
        raise FileFaultError("cannot be read: the file is empty.")
    if any("\udc80" <= char <= "\udcff" for char in "".join(names)):
        raise FileFaultError(f"line {line}: cannot be read: {_FAULTS['not utf-8']}.")
    names = [name or f"Unnamed: {place}" for place, name in enumerate(names)]
    for name in names:
        if names.count(name) > 1:
            raise FileFaultError(f"line {line}: two columns are called {name!r}. Rename one.")
    if is_packed:
        # DuckDB does not compare checksums.
        with gzip.open(path) as packed:
            while packed.read(1 << 20):
                pass
    return names, line


def _parquet(connection: DuckDBPyConnection, named: Path, path: Path) -> Source:
    """Return a Parquet file."""
    with path.open("rb"):
        scan = f"read_parquet({_file_name(path)}, hive_partitioning = false)"
    types = {row[0]: str(row[1]) for row in connection.execute(f"DESCRIBE FROM {scan}").fetchall()}
    return Source(named, path, scan, {name: '"{}"'.format(name.replace('"', '""')) for name in types}, types)


def _file_name(path: Path) -> str:
    """Write the name of a file in SQL; none of its characters is a pattern."""
    return sql_text(re.sub(r"([*?[])", r"[\1]", str(path.absolute())))


def sql_text(text: str) -> str:
    """Write a text in SQL."""
    return "'{}'".format(text.replace("'", "''"))


@contextmanager
def faults_of(path: Path) -> Iterator[None]:
    """Say in one line what is wrong with a file, and where."""
    import duckdb

    try:
        yield
    except FileFaultError as fault:
        raise ValueError(f"{path}: {fault}") from None
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror or error}.") from None
    except (EOFError, zlib.error):
        raise ValueError(f"{path}: cannot be read: the file is damaged.") from None
    except duckdb.Error as error:
        said = str(error)
        line = re.search(r"CSV Error on Line: (\d+)", said)
        where = f"{path}: line {line[1]}" if line else f"{path}"
        for pattern, words in _FAULTS.items():
            if match := re.search(pattern, said):
                raise ValueError(f"{where}: cannot be read: {words.format(*match.groups())}.") from None
        raise ValueError(f"{where}: cannot be read: {said.splitlines()[0].rstrip('.')}.") from None
