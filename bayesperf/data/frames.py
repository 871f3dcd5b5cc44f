"""Counting inside the user's own data engine, through Narwhals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import narwhals as nw

from bayesperf.core.arrays import Counts, decoded
from bayesperf.core.errors import InputError, InputTypeError, interrupts_raised
from bayesperf.core.words import listed

# How an engine is asked for the totals, where that is not as Narwhals asks by itself. The in-memory engine of Polars
# would hold all rows at once. Totals of DuckDB as pandas need no PyArrow, and an ENUM keeps its labels.
_COLLECTING: dict[nw.Implementation, dict[str, Any]] = {
    nw.Implementation.POLARS: {"engine": "streaming"},
    nw.Implementation.DUCKDB: {"backend": "pandas"},
}
# Types of columns that no label or group has. What is in a column of Python objects shows when it is encoded.
_NO_LABELS = (nw.Decimal, nw.Binary, nw.Date, nw.Datetime, nw.Duration, nw.Time, nw.List, nw.Array, nw.Struct)


def count_rows(
    frame: Any, columns: list[str], numbered: Mapping[str, Callable[[nw.Expr], nw.Expr]] | None = None
) -> tuple[dict[str, Any], Counts]:
    """Count the rows of every combination of values of some columns, in the frame's own engine.

    Any frame that Narwhals supports will do; a lazy one is grouped in place, and only the totals are collected.
    `numbered` columns hold numbers, and are grouped by the result of a function. Return the columns, with one entry per
    combination, and the number of rows of each. Unsupported frames, absent columns, columns of a type that labels
    cannot have, and failures of the engine are refused.
    """
    numbered = numbered or {}
    lazy = lazy_frame(frame, columns)
    schema = lazy.collect_schema()
    for name in columns:
        if name in numbered and not schema[name].is_numeric():
            raise InputTypeError("column", f"{name!r} must hold numbers; it holds {schema[name]}.")
        if name not in numbered:
            _refuse_type(name, schema[name], lazy.implementation)
    roles = {f"key_{position}": name for position, name in enumerate(columns)}
    made = {role: numbered[name] for role, name in roles.items() if name in numbered}
    with engine_errors():
        counted = collect(select(lazy, roles, made).group_by(*roles).agg(nw.len().alias("rows")))
    return {name: counted[role].to_native() for role, name in roles.items()}, counted["rows"].to_numpy()


def column_names(columns: str | Sequence[str] | None) -> list[str]:
    """Return the names of one column, of several, or of none."""
    return [columns] if isinstance(columns, str) else list(() if columns is None else columns)


def lazy_frame(frame: Any, columns: list[str]) -> nw.LazyFrame[Any]:
    """Return a frame of any engine as a lazy Narwhals frame with the named columns, each for one role."""
    try:
        lazy: nw.LazyFrame[Any] = nw.from_native(decoded(nw.to_native(frame, pass_through=True))).lazy()
    except TypeError:
        raise InputTypeError(
            "frame",
            f"is {type(frame).__name__}: give a pandas, Polars or PyArrow frame, a DuckDB "
            "relation, or a frame of Dask, Ibis, PySpark or another engine that Narwhals "
            "supports.",
        ) from None
    with engine_errors():
        names = lazy.collect_schema().names()
    absent = [name for name in columns if name not in names]
    if absent:
        raise InputError("frame", f"has no column {absent[0]!r}; its columns are {listed(names, 12)}.")
    check_roles(columns)
    return lazy


def _refuse_type(name: str, dtype: Any, engine: nw.Implementation) -> None:
    """Refuse a column of a type that labels cannot have."""
    if isinstance(dtype, _NO_LABELS):
        raise InputTypeError("column", f"{name!r} holds {dtype}: labels must be strings, whole numbers or booleans.")
    if engine.is_polars() and isinstance(dtype, nw.Int128 | nw.UInt128):
        raise InputTypeError("column", f"{name!r} holds {dtype}, which NumPy cannot: cast it to Int64.")


@contextmanager
def engine_errors() -> Iterator[None]:
    """Raise an engine's errors while it counts, in its own words, as one kind of error in one line."""
    try:
        with interrupts_raised():
            yield
    except (ImportError, MemoryError):
        raise
    except Exception as error:
        # A TypeError means objects that cannot be grouped.
        said = f"its engine could not count the rows: {str(error).split('\n')[0]}"
        if isinstance(error, TypeError):
            raise InputTypeError("frame", f"{said}.", "Labels must be strings, whole numbers or booleans.") from error
        raise InputError("frame", said) from error


def collect(totals: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Have the engine compute a table of totals, and return it."""
    return totals.collect(**_COLLECTING.get(totals.implementation, {}))


def select(
    lazy: nw.LazyFrame[Any], roles: Mapping[str, str], made: Mapping[str, Callable[[nw.Expr], nw.Expr]] | None = None
) -> nw.LazyFrame[Any]:
    """Return columns, or functions of them, under names of our own, which cannot clash with the caller's names."""
    if lazy.implementation.is_spark_like():
        # Spark would take "a.b" for a field of a struct, and names that differ by case for one: it sees their places.
        places = {name: f"column_{place}" for place, name in enumerate(lazy.collect_schema().names())}
        lazy = nw.from_native(lazy.to_native().toDF(*places.values()))
        roles = {role: places[name] for role, name in roles.items()}
    made = made or {}
    kept = {role: made[role](nw.col(name)) if role in made else nw.col(name) for role, name in roles.items()}
    return lazy.select(*[expression.alias(role) for role, expression in kept.items()])


def check_roles(columns: list[str]) -> None:
    """Refuse a column that is named for two roles."""
    if len(set(columns)) < len(columns):
        raise InputError(
            "",
            f"columns {columns}: every role (actual, predicted, judge, by, score, cluster) needs a column of its own.",
        )
