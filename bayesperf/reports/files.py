"""Reading predictions from CSV, TSV and Parquet files, by DuckDB: the columns asked for alone, counted where they lie.

Fields of CSV files are read as text, and a column becomes whole numbers, numbers, booleans or text by all of its fields
together, those of all files. Only an empty field is missing: "NA" and "None" are labels like any other.
"""

from __future__ import annotations

import csv
import gzip
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from bayesperf.core.arrays import Counts
from bayesperf.core.words import listed
from bayesperf.counts.frames import check_roles
from bayesperf.reports.settings import FILE, FOLD, Settings

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# More labels than this, or nearly as many as rows, are taken for ids.
_MOST_LABELS = 1_000
_FEW_LABELS = 20
_NEARLY_ALL = 0.9
# What columns are called that say which example a row is of.
_EXAMPLE_COLUMNS = ("example", "example_id", "id", "item", "item_id", "sample", "sample_id")
_PACKED = (".zip", ".bz2", ".xz", ".zst", ".7z")
# The types that a column of text can have, and what all of its fields must be; the first that fits is taken. What
# DuckDB writes as it reads it needs no pattern, which is slow; it reads more than numbers, such as 1_000 and nan.
_WHOLE = (
    "CASE WHEN try_cast({0} AS BIGINT)::VARCHAR = {0} THEN true ELSE regexp_full_match(trim({0}), '[+-]?[0-9]+') END"
)
_NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?)"
_TYPES = {
    "BIGINT": f"{_WHOLE} AND try_cast({{0}} AS BIGINT) IS NOT NULL",
    # Whole numbers that do not fit stay text: as floats, different ids would become one.
    "VARCHAR": _WHOLE,
    "DOUBLE": (
        "CASE WHEN isfinite(try_cast({0} AS DOUBLE)) AND try_cast({0} AS DOUBLE)::VARCHAR = {0} THEN true "
        f"ELSE regexp_full_match(trim({{0}}), '{_NUMBER}') END"
    ),
    "BOOLEAN": "lower({0}) IN ('true', 'false')",
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


class Predictions(NamedTuple):
    """Predictions from files: a row an example, or a row for each combination that occurs.

    Attributes
    ----------
    frame : pandas.DataFrame
        The columns that were asked for.
    rows : numpy.ndarray or None
        How many examples each row stands for; None if a row is an example.
    repeats : str
        A sentence on rows of one system that repeat an example; empty if no column shows that they do.
    """

    frame: pd.DataFrame
    rows: Counts | None
    repeats: str


@dataclass(frozen=True)
class Source:
    """A file as DuckDB reads it.

    Attributes
    ----------
    path : Path
        The file that is read: the one the user named, or a copy of it.
    scan : str
        The SQL that reads it.
    columns : mapping of str to str
        The SQL of each column, by name.
    has_types : bool
        Whether the file says itself of what type its columns are.
    """

    path: Path
    scan: str
    columns: Mapping[str, str]
    has_types: bool


def read(paths: Sequence[Path], settings: Settings) -> Predictions:
    """Read the columns that settings name; several files are told apart by a column ``file``.

    Rows are counted by DuckDB, unless examples are told apart by an id or have scores.

    Raises
    ------
    ValueError
        If a file or one of its lines cannot be read, a column is absent, two files have the same name, or a column of
        labels holds ids.
    """
    import duckdb

    columns = _columns(settings)
    labels = (settings.actual, settings.predicted)
    counted = settings.id is None and settings.score is None and settings.split is None
    with tempfile.TemporaryDirectory(prefix="bayesperf-") as folder:
        with duckdb.connect(config={"temp_directory": folder, "autoinstall_known_extensions": False}) as connection:
            sources = _sources(connection, paths, Path(folder))
            typed = all(source.has_types for source in sources.values())
            profiles = {}
            for place, (path, source) in enumerate(sources.items()):
                part = f"part_{place}"
                with _faults_of(path):
                    keys = _keys(source, columns, path.stem if len(paths) > 1 else None, typed)
                    _make_part(connection, part, source, keys, counted)
                    profiles[part] = _profile(connection, part, list(columns), labels, counted, typed)
                    _check(profiles[part], list(columns), source.path)
            frame = _fetch(connection, profiles, counted, typed)
            repeats = _repeats(connection, sources, settings)
        rows = frame.pop("rows").to_numpy("int64") if counted else None
        frame.columns = pd.Index(list(columns))
        if typed:
            _declare_categories(frame, [source.path for source in sources.values()])
    return Predictions(frame, rows, repeats)


def _columns(settings: Settings) -> dict[str, str]:
    """Return the columns that settings name, and the option that names each."""
    check_roles([settings.actual, settings.predicted, *settings.by])
    named = {
        "--actual": settings.actual,
        "--predicted": settings.predicted,
        **{f"--by {name}": name for name in settings.by},
        "--id": settings.id,
        "--score": settings.score,
        "--split": settings.split,
    }
    return {name: option.split()[0] for option, name in reversed(named.items()) if name is not None}


# ── Files ──


def _sources(connection: DuckDBPyConnection, paths: Sequence[Path], folder: Path) -> dict[Path, Source]:
    """Return the files by the paths that the user gave."""
    sources: dict[Path, Source] = {}
    for path in paths:
        with _faults_of(path):
            if path.stem in {other.stem for other in sources}:
                raise FileFaultError(f"two files are called {path.stem!r}; their names become the dim 'file'.")
            whole = path
            if path.exists() and not path.is_file() and not path.is_dir():
                # A pipe can be read only once.
                whole = folder / f"{len(sources)}{path.suffix}"
                with path.open("rb") as pipe, whole.open("wb") as copy:
                    shutil.copyfileobj(pipe, copy)
            is_parquet = path.suffix.lower() in (".parquet", ".pq")
            source = _parquet(connection, whole) if is_parquet else _csv(whole)
            if len(paths) > 1 and FILE in source.columns:
                raise FileFaultError(f"has a column {FILE!r}, the name by which several files are told apart.")
        sources[path] = source
    return sources


def _csv(path: Path) -> Source:
    """Return a CSV or TSV file; its columns are numbered, for DuckDB takes names that differ by case for the same."""
    if path.suffix.lower() in _PACKED:
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
    return Source(path, scan, {name: f"c{place}" for place, name in enumerate(names)}, has_types=False)


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


def _parquet(connection: DuckDBPyConnection, path: Path) -> Source:
    """Return a Parquet file."""
    with path.open("rb"):
        scan = f"read_parquet({_file_name(path)}, hive_partitioning = false)"
    names = [row[0] for row in connection.execute(f"DESCRIBE FROM {scan}").fetchall()]
    return Source(path, scan, {name: '"{}"'.format(name.replace('"', '""')) for name in names}, has_types=True)


def _file_name(path: Path) -> str:
    """Write the name of a file in SQL; none of its characters is a pattern."""
    return _text(re.sub(r"([*?[])", r"[\1]", str(path.absolute())))


def _text(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))


@contextmanager
def _faults_of(path: Path) -> Iterator[None]:
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


# ── Columns ──


def _keys(source: Source, columns: Mapping[str, str], file: str | None, typed: bool) -> list[str]:
    """Return the SQL of the columns that are asked for, as text unless all files have types."""
    own = dict(source.columns) | ({} if file is None else {FILE: _text(file)})
    keys = []
    for name, option in columns.items():
        if name not in own:
            raise FileFaultError(
                f"no column {name!r}, for {option}; its columns are {listed(list(source.columns), 12)}."
            )
        keys.append(own[name] if typed else f"CAST({own[name]} AS VARCHAR)")
    return keys


def _make_part(connection: DuckDBPyConnection, name: str, source: Source, keys: Sequence[str], counted: bool) -> None:
    """Make a table of the columns, with a row for each combination of their values, or a view with a row an example."""
    selected = ", ".join(f"{key} AS k{place}" for place, key in enumerate(keys))
    if counted:
        query = f"SELECT {selected}, count(*) AS rows FROM {source.scan} GROUP BY ALL"
        connection.execute(f"CREATE TEMP TABLE {name} AS {query}")
    else:
        connection.execute(f"CREATE TEMP VIEW {name} AS SELECT {selected} FROM {source.scan}")


def _profile(
    connection: DuckDBPyConnection, part: str, columns: Sequence[str], labels: Sequence[str], counted: bool, typed: bool
) -> list[dict[str, Any]]:
    """Return figures of each column: its rows, of labels the distinct values, NUL bytes, and which types it fits."""
    figures = {"rows": "sum(rows)::BIGINT" if counted else "count(*)", "distinct": "count(DISTINCT {0})"}
    if not typed:
        figures |= {"nul": "bool_or(contains({0}, chr(0)))"}
        figures |= {kind: f"bool_and({test})" for kind, test in _TYPES.items()}
    query = [
        "NULL" if figure == "distinct" and name not in labels else sql.format(f"k{place}")
        for place, name in enumerate(columns)
        for figure, sql in figures.items()
    ]

    def found_in(rows: str) -> tuple[Any, ...]:
        return connection.execute(f"SELECT {', '.join(query)} FROM {rows}").fetchall()[0]

    if not counted:
        # A type that the first rows do not fit need not be looked for in all of them.
        first = found_in(f"(FROM {part} LIMIT 1000)")
        query = [
            "false" if value is False and "bool_and" in sql else sql for sql, value in zip(query, first, strict=True)
        ]
    return [dict(zip(figures, row, strict=True)) for row in batched(found_in(part), len(figures))]


def _check(profile: Sequence[Mapping[str, Any]], columns: Sequence[str], path: Path) -> None:
    """Refuse a file without rows, one with NUL bytes, and ids in a column of labels."""
    for name, column in zip(columns, profile, strict=True):
        rows, distinct = column["rows"] or 0, column["distinct"] or 0
        if not rows:
            raise FileFaultError("holds no rows.")
        if column.get("nul"):
            raise FileFaultError(f"line {_line_of_nul(path)}: cannot be read: it holds a NUL byte.")
        if distinct > _MOST_LABELS or (distinct > _FEW_LABELS and distinct >= _NEARLY_ALL * rows):
            raise FileFaultError(
                f"column {name!r} holds {distinct:,} different values in {rows:,} rows, as ids or scores do. Name the "
                f"columns of labels by --actual and --predicted. More than {_MOST_LABELS:,} classes can be counted in "
                "Python, by ConfusionMatrix.from_frame."
            )


def _repeats(connection: DuckDBPyConnection, sources: Mapping[Path, Source], settings: Settings) -> str:
    """Return a sentence on rows of one system that repeat an example; empty if no column shows that they do."""
    systems = [name for name in settings.by if name not in (FOLD, FILE)]
    shared = [name for name in sources[next(iter(sources))].columns if all(name in s.columns for s in sources.values())]
    named = [settings.id] if settings.id else [name for name in shared if name.lower() in _EXAMPLE_COLUMNS]
    for column in (name for name in named if name not in systems):
        again = total = 0
        for path, source in sources.items():
            keys = ", ".join(source.columns[name] for name in (column, *systems))
            with _faults_of(path):
                query = f"SELECT sum(n - 1), sum(n) FROM (SELECT count(*) AS n FROM {source.scan} GROUP BY {keys})"
                counted = connection.execute(query).fetchall()[0]
            again, total = again + int(counted[0]), total + int(counted[1])
        if again:
            return (
                f"Column {column!r} repeats: {again:,} of {total:,} rows are of an example that another row is of, and "
                "count here as if they were of others, so intervals are too narrow. If several systems judged them, "
                "name the column that tells these apart: --by COLUMN."
            )
    return ""


def _line_of_nul(path: Path) -> int:
    opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rb") as file:
        return next(number for number, line in enumerate(file, 1) if b"\0" in line)


def _fetch(
    connection: DuckDBPyConnection, profiles: Mapping[str, Sequence[Mapping[str, Any]]], counted: bool, typed: bool
) -> pd.DataFrame:
    """Return all parts as one frame, each column of text as the first type that all of its fields fit."""
    kinds = {
        f"k{place}": next((kind for kind in _TYPES if all(part.get(kind) for part in parts)), "VARCHAR")
        for place, parts in enumerate(zip(*profiles.values(), strict=True))
    }
    keys = [key if kind == "VARCHAR" else f"CAST(trim({key}) AS {kind}) AS {key}" for key, kind in kinds.items()]
    selected = ", ".join([*keys, *(["rows"] if counted else [])])
    query = " UNION ALL ".join(f"SELECT {selected} FROM {part}" for part in profiles)
    if typed or counted or find_spec("pyarrow") is None:
        return connection.execute(query).df()
    # Without a Python object for each field of text. Types of a file's own, such as decimals, would become others.
    frame: pd.DataFrame = connection.sql(query).to_arrow_table().to_pandas()
    missing = [key for key, kind in kinds.items() if kind == "BOOLEAN" and frame[key].hasnans]
    return frame.astype(dict.fromkeys(missing, "boolean"))


def _declare_categories(frame: pd.DataFrame, paths: Sequence[Path]) -> None:
    """Give columns that are categorical in Parquet files their categories, in order, which DuckDB does not hand on."""
    try:
        from pyarrow import parquet, types
    except ImportError:
        return
    for name in frame:
        found = []
        for path in paths:
            with parquet.ParquetFile(path) as file:
                place = file.schema_arrow.get_field_index(name)
                if place < 0 or not types.is_dictionary(file.schema_arrow.field(place).type):
                    break
                column = file.read_row_group(0, columns=[name])[name]
                found.append(column.chunk(0).dictionary.to_pylist())
        if len(found) == len(paths) and all(categories == found[0] for categories in found):
            declared = pd.Categorical(frame[name], found[0])
            if not (declared.isna() & frame[name].notna()).any():
                frame[name] = declared
