"""Reading predictions from files with DuckDB: only the requested columns, counted in place.

Fields of CSV files are read as text. A column becomes whole numbers, numbers, booleans or text according to all of its
fields together, in all files; columns of labels become text together. Only an empty field is missing: "NA" and "None"
are labels like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import batched, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from bayesperf.core.arrays import Array, Counts
from bayesperf.core.errors import FileFaultError, interrupts_raised
from bayesperf.data.axis_names import FOLD
from bayesperf.files.data_quality import about_clusters, about_repeats, about_unnamed, about_unused, without_missing
from bayesperf.files.formats import DataFile, open_bytes
from bayesperf.files.opening import Opened, opened
from bayesperf.files.option_table import BESIDE, FILE, Settings
from bayesperf.files.roles import asked_columns
from bayesperf.files.sources import faults_of, held_by
from bayesperf.files.wide import refuse_unknown_labels, stacked

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from numpy.typing import NDArray

# More labels than this, or nearly as many as rows, look like ids.
_MOST_LABELS = 1_000
_FEW_LABELS = 20
_NEARLY_ALL = 0.9
# With more rows than this, scores are counted in bins.
_MOST_SCORED = 1_000_000
# What a field of text can be, from the narrowest on, each wider than those before; booleans alone are apart, and beside
# numbers make a column of text. What DuckDB writes as it reads it needs no pattern, which is slow; it reads more than
# numbers, such as 1_000 and nan.
_WHOLE = (
    "CASE WHEN try_cast({0} AS BIGINT)::VARCHAR = {0} THEN true ELSE regexp_full_match(trim({0}), '[+-]?[0-9]+') END"
)
_NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?)"
_TESTS = (
    f"{_WHOLE} AND try_cast({{0}} AS BIGINT) IS NOT NULL",
    _WHOLE,
    (
        "CASE WHEN isfinite(try_cast({0} AS DOUBLE)) AND try_cast({0} AS DOUBLE)::VARCHAR = {0} THEN true "
        f"ELSE regexp_full_match(trim({{0}}), '{_NUMBER}') END"
    ),
    "lower({0}) IN ('true', 'false')",
)
# The type of each, and of any other text. Whole numbers that do not fit stay text: as floats, ids would become one.
_TYPES = ("BIGINT", "VARCHAR", "DOUBLE", "BOOLEAN", "VARCHAR")
_BOOLEAN, _TEXT = _TYPES.index("BOOLEAN"), len(_TESTS)


@dataclass(frozen=True)
class Predictions:
    """Predictions from files: one row per example, or per combination that occurs."""

    # The requested columns.
    frame: pd.DataFrame
    # Number of examples behind each row; None if a row is an example.
    rows: Counts | None = None
    # Edges of the bins whose lower edges stand for the scores in them; None if the scores are not binned.
    edges: Array | None = None
    # A sentence on rows of one system that repeat an example; empty if no column shows that they do.
    repeats: str = ""
    # Sentences on omitted rows and unused columns, and on probable mistakes.
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def sizes(self) -> Counts:
        """The number of examples behind each row."""
        return np.ones(len(self.frame), np.int64) if self.rows is None else self.rows

    @property
    def each(self) -> pd.DataFrame:
        """A row for each example."""
        return self.frame if self.rows is None else self.frame.loc[self.frame.index.repeat(self.rows)]

    def where(self, kept: NDArray[np.bool_]) -> Predictions:
        """Return the rows that are kept."""
        return replace(self, frame=self.frame[kept], rows=None if self.rows is None else self.rows[kept])


class Profile(NamedTuple):
    """Facts about a column of a file."""

    # Its rows.
    rows: int | None
    # For labels, the number of different ones.
    distinct: int | None
    # Whether a field holds a NUL byte.
    has_nul: bool = False
    # For text, which of `_TESTS` the narrowest and the widest field pass first; None if all fields are empty.
    narrowest: int | None = None
    widest: int | None = None


def read(paths: Sequence[Path], settings: Settings) -> Predictions:
    """Read the columns named by settings from files, and folders of them; refuse files that cannot be read so.

    A column ``file`` identifies several files if settings name it; else they are parts of one data set.
    """
    with opened(paths, settings) as files:
        return read_opened(files, settings)


def read_opened(files: Opened, settings: Settings) -> Predictions:
    """Read the columns that settings name.

    DuckDB counts the rows, unless an id, a split or scores tell examples apart; many scores are counted in bins.
    """
    with interrupts_raised():
        return _read(*files, settings)


def _read(connection: DuckDBPyConnection, files: list[DataFile], settings: Settings) -> Predictions:
    columns, asked = _columns(settings), asked_columns(settings)
    labels = () if settings.of_numbers else (settings.actual, settings.predicted)
    # What is made of scores says of each row whether it is positive, which no file does.
    of_labels = (settings.actual, BESIDE) if settings.calls else (*labels, *settings.judges)
    counted = settings.id is None and settings.score is None and settings.split is None
    typed = all(source.has_types for source in files)
    sources: list[DataFile] = []
    refuse_unknown_labels(connection, files, settings)
    for place, source in enumerate(files):
        with faults_of(source.named):
            sources += stacked(connection, source, settings, place)
    parts: dict[str, list[Profile]] = {}
    for place, source in enumerate(sources):
        with faults_of(source.named):
            part = _make_part(connection, f"part_{place}", source, columns, counted, typed, settings.system is not None)
            parts[part] = _profile(connection, part, columns, labels, counted, typed)
            _check(parts[part], columns, source.path)
    rows = _rows_of(parts, counted, [name in of_labels for name in columns])
    notes = [*dict.fromkeys(source.note for source in sources), about_unused(files, asked)]
    if settings.drop_missing:
        rows, dropped = without_missing(connection, rows, columns, settings, counted)
        notes.insert(0, dropped)
    binned = _count_scores(connection, rows, parts, columns, settings)
    frame, edges = binned or (_fetch(connection, rows, counted, typed), None)
    frame.columns = pd.Index([*columns, *(["rows"] if counted or binned else [])])
    in_order = settings.in_order
    for name in [name for name in (settings.system, FILE) if name in settings.by and name not in in_order]:
        order = _first_seen(connection, rows, columns.index(name)) if binned else frame[name]
        in_order[name] = tuple(order.dropna().unique())
    frame = frame.assign(**{name: pd.Categorical(frame[name], values) for name, values in in_order.items()})
    repeats = about_repeats(
        connection, files if settings.systems else sources, settings, frame if settings.id else None
    )
    unnamed = about_unnamed(connection, files, asked, settings)
    unnamed += about_clusters(connection, files, asked, settings)
    numbers = frame.pop("rows").to_numpy("int64") if counted or binned else None
    if typed:
        _declare_categories(frame, [source.path for source in sources])
    return Predictions(frame, numbers, edges, repeats, tuple(filter(None, notes)), unnamed)


def _columns(settings: Settings) -> list[str]:
    """Return the columns that settings name, as they are once each system has rows of its own."""
    named = (
        settings.split,
        settings.score,
        settings.id,
        *settings.judges,
        settings.answer,
        settings.cluster,
        BESIDE if settings.beside else None,
        *settings.slices,
        *reversed(settings.by),
        settings.predicted,
        settings.actual,
    )
    return list(dict.fromkeys(name for name in named if name is not None))


def _make_part(
    connection: DuckDBPyConnection,
    name: str,
    source: DataFile,
    columns: Sequence[str],
    counted: bool,
    typed: bool,
    in_order: bool,
) -> str:
    """Make a table of the columns, with a row for each combination of their values, or a view with a row an example.

    Columns are text unless all files have types. Combinations stand in the order in which they first occur, if that is
    asked for. Returns the name.
    """
    keys = [source.columns[column] if typed else f"CAST({source.columns[column]} AS VARCHAR)" for column in columns]
    selected = ", ".join(f"{key} AS k{place}" for place, key in enumerate(keys))
    if counted and in_order:
        # Only a window that needs no sorting: files are read in their order.
        numbered = f"SELECT {selected}, row_number() OVER () AS place FROM {source.scan}"
        keys = [f"k{place}" for place in range(len(columns))]
        query = f"SELECT {', '.join(keys)}, count(*) AS rows FROM ({numbered}) GROUP BY ALL ORDER BY min(place)"
        connection.execute(f"CREATE TEMP TABLE {name} AS {query}")
    elif counted:
        query = f"SELECT {selected}, count(*) AS rows FROM {source.scan} GROUP BY ALL"
        connection.execute(f"CREATE TEMP TABLE {name} AS {query}")
    else:
        connection.execute(f"CREATE TEMP VIEW {name} AS SELECT {selected} FROM {source.scan}")
    return name


# ── Columns ──


def _profile(
    connection: DuckDBPyConnection,
    part: str,
    columns: Sequence[str],
    labels: Sequence[str | None],
    counted: bool,
    typed: bool,
) -> list[Profile]:
    """Return the facts about each column of a part."""

    def found_in(rows: str, first_tests: Sequence[int]) -> list[Profile]:
        figures = [
            figure
            for place, (name, first) in enumerate(zip(columns, first_tests, strict=True))
            for figure in _figures(f"k{place}", name in labels, first, counted, typed)
        ]
        found = connection.execute(f"SELECT {', '.join(figures)} FROM {rows}").fetchall()[0]
        return [Profile(*of_one) for of_one in batched(found, len(found) // len(columns))]

    from_the_narrowest = [0] * len(columns)
    if counted or typed:
        return found_in(part, from_the_narrowest)
    # What the first rows do not fit need not be looked for in all of them.
    first = found_in(f"(FROM {part} LIMIT 1000)", from_the_narrowest)
    return found_in(part, [_widest([of_one]) for of_one in first])


def _figures(key: str, is_label: bool, first_test: int, counted: bool, typed: bool) -> list[str]:
    """Return the SQL of the figures of a column's `Profile`; fields narrower than a test are taken to pass it."""
    rows = "sum(rows)::BIGINT" if counted else "count(*)"
    distinct = f"count(DISTINCT {key})" if is_label else "NULL"
    if typed:
        return [rows, distinct, "false", "NULL", "NULL"]
    tests = "".join(
        f" WHEN {test.format(key)} THEN {place}" for place, test in enumerate(_TESTS) if place >= first_test
    )
    passed = f"CASE WHEN {key} IS NULL THEN NULL{tests} ELSE {_TEXT} END"
    return [rows, distinct, f"bool_or(contains({key}, chr(0)))", f"min({passed})", f"max({passed})"]


def _widest(profiles: Sequence[Profile]) -> int:
    """Return which test of `_TESTS` all fields of a column pass, or that they are text."""
    found = [(p.narrowest, p.widest) for p in profiles if p.narrowest is not None and p.widest is not None]
    if not found:
        return 0
    narrowest, widest = min(low for low, _ in found), max(high for _, high in found)
    return _TEXT if narrowest < _BOOLEAN <= widest else widest


def _check(profile: Sequence[Profile], columns: Sequence[str], path: Path) -> None:
    """Refuse a file without rows, one with NUL bytes, and ids in a column of labels."""
    for name, column in zip(columns, profile, strict=True):
        rows, distinct = column.rows or 0, column.distinct or 0
        if not rows:
            raise FileFaultError("holds no rows.")
        if column.has_nul:
            raise FileFaultError(f"{_line_of_nul(path)}cannot be read: it holds a NUL byte.")
        if distinct > _MOST_LABELS or (distinct > _FEW_LABELS and distinct >= _NEARLY_ALL * rows):
            raise FileFaultError(
                f"column {name!r} holds {distinct:,} different values in {rows:,} rows, as ids or scores do. Name the "
                f"columns of labels by --actual and --predicted. More than {_MOST_LABELS:,} classes can be counted in "
                "Python, by ConfusionMatrix.from_frame."
            )


def _line_of_nul(path: Path) -> str:
    """Return in words the line of a NUL byte, or of what stands for one in JSON; nothing if it is written otherwise."""
    with open_bytes(path) as file:
        lines = (number for number, line in enumerate(file, 1) if b"\0" in line or b"\\u0000" in line)
        return "".join(f"line {number}: " for number in islice(lines, 1))


# ── Rows ──


def _rows_of(parts: Mapping[str, Sequence[Profile]], counted: bool, are_labels: Sequence[bool]) -> str:
    """Return the SQL of all parts, each column of text as the type that all of its fields fit.

    Labels are text if those of one column are: a number would not be written as it was, "7" for "007".
    """
    columns = [*zip(*parts.values(), strict=True)]
    kinds = {f"k{place}": _kind(profiles) for place, profiles in enumerate(columns)}
    of_labels = [f"k{place}" for place in np.flatnonzero(are_labels) if _is_known(columns[place])]
    if "VARCHAR" in map(kinds.get, of_labels):
        kinds |= dict.fromkeys(of_labels, "VARCHAR")
    keys = [key if kind == "VARCHAR" else f"CAST(trim({key}) AS {kind}) AS {key}" for key, kind in kinds.items()]
    selected = ", ".join([*keys, *(["rows"] if counted else [])])
    return " UNION ALL ".join(f"SELECT {selected} FROM {part}" for part in parts)


def _kind(profiles: Sequence[Profile]) -> str:
    """Return the type that all fields of a column of text fit; VARCHAR if files have types, or no field holds any."""
    return _TYPES[_widest(profiles)] if _is_known(profiles) else "VARCHAR"


def _is_known(profiles: Sequence[Profile]) -> bool:
    """Return whether a column of text holds any field."""
    return any(profile.widest is not None for profile in profiles)


def _fetch(connection: DuckDBPyConnection, rows: str, counted: bool, typed: bool) -> pd.DataFrame:
    """Return rows as a frame."""
    if typed or counted or find_spec("pyarrow") is None:
        found = connection.execute(rows).df()
        # As pandas has whole numbers of which some are missing.
        whole = [] if typed else [name for name, held in found.dtypes.items() if held == "Int64"]
        return found.astype(dict.fromkeys(whole, "float64")) if whole else found
    # Without a Python object for each field of text. Types of a file's own, such as decimals, would become others.
    table = connection.sql(rows).to_arrow_table()
    frame: pd.DataFrame = table.to_pandas()
    missing = [field.name for field in table.schema if str(field.type) == "bool" and frame[field.name].hasnans]
    return frame.astype(dict.fromkeys(missing, "boolean"))


def _count_scores(
    connection: DuckDBPyConnection,
    rows: str,
    parts: Mapping[str, Sequence[Profile]],
    columns: Sequence[str],
    settings: Settings,
) -> tuple[pd.DataFrame, Array | None] | None:
    """Return many scores counted, and the edges of their bins, if nothing but their distribution is asked for."""
    many = sum(profile[0].rows or 0 for profile in parts.values()) > _MOST_SCORED
    if settings.score is None or settings.id is not None or settings.split is not None or not many:
        return None
    keys = {name: f"k{place}" for place, name in enumerate(columns)}
    apart = [keys[name] for name in (settings.actual, *settings.by) if name != FOLD]
    others = [key for name, key in keys.items() if name != settings.score]
    counted = count_in_bins(connection, rows, keys[settings.score], others, apart)
    return None if counted is None else (counted[0][[*keys.values(), "rows"]], counted[1])


def _first_seen(connection: DuckDBPyConnection, rows: str, column: int) -> pd.Series:
    """Return the values of a column in the order in which they first occur."""
    numbered = f"SELECT k{column} AS value, row_number() OVER () AS place FROM ({rows})"
    return connection.execute(f"SELECT value FROM ({numbered}) GROUP BY value ORDER BY min(place)").df()["value"]


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


# ── Many scores, counted where they lie: by score if few occur, else by bins that follow their distribution ──

# So many different scores are counted one by one.
_FEW_SCORES = 50_000
# Bins between the quantiles of each class of each system, and how many at least of many of these, and in all.
_BINS, _FEWEST_BINS, _MOST_BINS = 2_048, 64, 2**14
# About how many scores of each class of each system quantiles are taken of.
_SAMPLED = 100_000


def count_in_bins(
    connection: DuckDBPyConnection, rows: str, score: str, others: Sequence[str], told_apart: Sequence[str]
) -> tuple[pd.DataFrame, Array | None] | None:
    """Count rows, of some SQL, by score or by bins of it, and by other columns; return the edges, too.

    Edges are quantiles of scores that a hash chooses, so that they are the same from run to run, whatever the order of
    the rows. Combinations of the columns `told_apart`, systems and classes, may differ in their distribution of scores.
    The frame has a row for each combination that occurs: the columns, the score or the lower edge of its bin, and
    ``rows``. Edges are None if scores are not binned, and all is None if there are scores that are missing, infinite or
    no numbers.
    """
    connection.execute(f"CREATE TEMP VIEW scored AS {rows}")
    kind = connection.execute(f"SELECT typeof({score}) FROM scored LIMIT 1").fetchall()[0][0]
    if held_by(kind) != "numbers":
        return None
    connection.execute(f"CREATE TEMP VIEW numbers AS SELECT {', '.join(others)}, {score}::DOUBLE AS score FROM scored")
    figures = "bool_and(score IS NOT NULL AND isfinite(score)), approx_count_distinct(score), min(score), max(score)"
    finite, distinct, least, greatest = connection.execute(f"SELECT {figures} FROM numbers").fetchall()[0]
    if not finite:
        return None
    keys = ", ".join(others)
    if distinct <= _FEW_SCORES:
        frame = connection.execute(f"SELECT {keys}, score, count(*) AS rows FROM numbers GROUP BY ALL").df()
        return frame.rename(columns={"score": score}), None
    lower = np.union1d(_quantiles(connection, told_apart), [least, greatest])
    # The upper edge of a bin of `histogram` is in it: of the negated scores it is the lower one.
    bounds = ", ".join(repr(edge) for edge in (-lower[::-1]).tolist())
    counted = f"SELECT {keys}, histogram(-score, [{bounds}]) AS bins FROM numbers GROUP BY ALL"
    entries = f"SELECT {keys}, unnest(map_keys(bins)) AS bin, unnest(map_values(bins)) AS rows FROM ({counted})"
    frame = connection.execute(f"SELECT {keys}, -bin AS {score}, rows FROM ({entries}) WHERE rows > 0").df()
    return frame, np.append(lower, np.inf)


def _quantiles(connection: DuckDBPyConnection, told_apart: Sequence[str]) -> Array:
    """Return scores that divide those of each combination of some columns evenly."""
    keys = ", ".join(told_apart)
    connection.execute(
        f"CREATE TEMP TABLE strata AS SELECT {keys}, row_number() OVER () AS stratum, "
        f"greatest(1, count(*) // {_SAMPLED}) AS one_of FROM numbers GROUP BY {keys}"
    )
    sampled = connection.execute(
        f"SELECT DISTINCT stratum, score FROM numbers JOIN strata USING ({keys}) WHERE hash(score) % one_of = 0"
    ).df()
    strata = [of_one.to_numpy() for _, of_one in sampled.groupby("stratum")["score"]]
    bins = np.clip(_MOST_BINS // max(1, len(strata)), _FEWEST_BINS, _BINS)
    return np.unique(
        np.concatenate([[], *(np.quantile(scores, np.linspace(0, 1, bins + 1), method="lower") for scores in strata)])
    )
