"""Files whose rows are no examples: confusion matrices, tables of counts, a column for each reader or for each class.

They are read as if they had a row for each example, or a column that they lack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bayesperf.core.errors import FileFaultError, InputError
from bayesperf.core.words import enumerated
from bayesperf.data.axis_names import axis_role
from bayesperf.files.formats import TOTALS, DataFile, sql_text
from bayesperf.files.roles import (
    ATTEMPT_COLUMNS,
    CORRECT_COLUMNS,
    QUESTION_COLUMNS,
    READ_COLUMNS,
    RESULT_COLUMNS,
    SYSTEM_COLUMNS,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Names of columns that count trials, and those that are right or wrong among them; and that say so of one row.
_TRIALS = ("n", "total", "trials", "count", "cases", "attempts", "support", "examples", "samples", "n_total")
_RIGHT = (*CORRECT_COLUMNS, "hits", "k", "n_correct", "n_passed", "num_correct", "successes")
_WRONG = ("error", "errors", "incorrect", "is_error", "is_incorrect", "is_wrong", "mistake", "wrong")
_READER = re.compile(r"(reader|radiologist|observer|physician)[ _.-]?(?!id$)\w+", re.IGNORECASE)
# The word before or after the name of a class in the name of the column of its probabilities.
_OF_CLASS = re.compile(r"p|prob|proba|probability|score|conf|confidence|logit|predicted|pred", re.IGNORECASE)
# What the margins of a matrix are called.
_MARGINS = {*TOTALS, "all", "sum"}
# More examples than this are not counted out, and a matrix has at most this many classes.
_MOST_EXAMPLES, _MOST_CLASSES = 10_000_000, 200
# Values are sought in so many rows first.
_FIRST = 1_000


def with_rows(connection: DuckDBPyConnection, source: DataFile, asked: Mapping[str, str]) -> DataFile:
    """Return a file with a row for each example; the same file if it has one already.

    `asked` are the columns and the option that names each. Columns that exist are taken as they are, unless they count
    what is right.
    """
    _refuse_what_is_wrong(connection, source, asked)
    is_complete = bool(asked) and asked.keys() <= source.columns.keys()
    shapes = _SHAPES if not is_complete else (_counts,) if "--correct" in asked.values() else ()
    found = next(filter(None, (shape(connection, source) for shape in shapes)), None)
    return source if found is None else replace(found, note=f"{source.note} {found.note}".strip())


def _matrix(connection: DuckDBPyConnection, source: DataFile) -> DataFile | None:
    """Return the examples that a confusion matrix counts; its first column names the classes of its rows."""
    corner, *names = source.columns
    if not 1 < len(names) <= _MOST_CLASSES + 1:
        return None
    texts = ", ".join(f"({text})::VARCHAR" for text in source.columns.values())
    rows = connection.execute(f"SELECT {texts} FROM {source.scan} LIMIT {len(names) + 2}").fetchall()
    named = [(row[0] or "").strip() for row in rows]
    has_words = len({*named}.intersection(names)) < 2
    rows_called, columns_called = ([_class(name) if has_words else name for name in each] for each in (named, names))
    cells = {name: dict(zip(columns_called, row[1:], strict=True)) for name, row in zip(rows_called, rows, strict=True)}
    classes = [name for name in columns_called if name in cells and name.lower() not in _MARGINS]
    others = {*cells, *columns_called}.difference(classes)
    if len(classes) < 2 or any(name.lower() not in _MARGINS for name in others) or len(cells) < len(rows):
        return None
    counts = [(row, column, cells[row][column] or "0") for row in classes for column in classes]
    if not all(re.fullmatch(r"\d+(\.0+)?", count) for *_, count in counts):
        return None
    _refuse_too_many(sum(int(float(count)) for *_, count in counts))
    words = [*re.findall(r"[^\W_]+", corner), *(named if has_words else ())]
    first = next(filter(None, map(axis_role, words)), "actual")
    axes = ("actual", "predicted") if first == "actual" else ("predicted", "actual")
    values = ", ".join(f"({sql_text(row)}, {sql_text(column)}, {int(float(n))})" for row, column, n in counts)
    scan = f"(SELECT a, b, unnest(range(n)) FROM (VALUES {values}) AS matrix(a, b, n))"
    note = (
        f"A confusion matrix: its rows are read as {axes[0]} labels and its columns as {axes[1]} ones"
        f"{', without the totals' if others else ''}. Its columns here are actual and predicted."
    )
    return DataFile(source.named, source.path, scan, dict(zip(axes, "ab", strict=True)), note=note)


def _class(name: str) -> str:
    """Return the class that a row or column of a matrix is called by, without a word such as "actual"."""
    word, _, rest = re.sub(r"[ :.-]+", "_", name.strip()).partition("_")
    return name.strip()[len(word) + 1 :].strip() if rest and axis_role(word) else name.strip()


def _counts(connection: DuckDBPyConnection, source: DataFile) -> DataFile | None:
    """Return the trials that a table counts, and of which it counts those that are right, or wrong."""
    trials, right, wrong = (_first_called(source, names) for names in (_TRIALS, _RIGHT, _WRONG))
    counted = right or wrong
    if trials is None or counted is None or "predicted" in map(axis_role, source.columns):
        return None
    n, k = (f"try_cast({source.columns[name]} AS DOUBLE)" for name in (trials, counted))
    is_count, most, total = connection.execute(
        f"SELECT bool_and(coalesce({n} = floor({n}) AND {k} = floor({k}) AND {k} BETWEEN 0 AND {n}, false)), max({k}), "
        f"sum({n}) FROM {source.scan}"
    ).fetchall()[0]
    if not is_count or most <= 1:
        return None
    _refuse_too_many(total)
    kept = {name: text for name, text in source.columns.items() if name not in (trials, counted)}
    selected = "".join(f"{text} AS k{place}, " for place, text in enumerate(kept.values()))
    scan = f"(SELECT {selected}({k})::BIGINT AS k, unnest(range(({n})::BIGINT)) AS i FROM {source.scan})"
    columns = {name: f"k{place}" for place, name in enumerate(kept)}
    columns["correct"] = "(i < k)::VARCHAR" if right else "(i >= k)::VARCHAR"
    note = (
        f"A table of counts: {trials!r} of a row are rows here, {counted!r} of them {'right' if right else 'wrong'}. "
        f"Its columns here are {enumerated([*columns])}."
    )
    return DataFile(source.named, source.path, scan, columns, note=note)


def _reads(connection: DuckDBPyConnection, source: DataFile) -> DataFile | None:
    """Return the reads of a file that has a column for each reader, beside the case and its truth."""
    usual = {role: _first_called(source, names) for role, names in READ_COLUMNS.items()}
    readers = [name for name in source.columns if _READER.fullmatch(name)]
    if len(readers) < 2 or usual["reader"] or not (usual["case"] and usual["truth"]):
        return None
    kept = {name: text for name, text in source.columns.items() if name not in readers}
    texts = [f"({source.columns[name]})::VARCHAR" for name in readers]
    selected = "".join(f"{text} AS k{place}, " for place, text in enumerate(kept.values()))
    scan = (
        f"(FROM (SELECT {selected}unnest([{', '.join(map(sql_text, readers))}]) AS reader, "
        f"unnest([{', '.join(texts)}]) AS read FROM {source.scan}) WHERE read IS NOT NULL)"
    )
    said = {row[0] for row in connection.execute(f"SELECT DISTINCT read FROM {scan} LIMIT {_FIRST}").fetchall()}
    are_scores = len(said) > 2 and all(re.fullmatch(r"\s*[-+]?[0-9.]+(e-?\d+)?\s*", value) for value in said)
    truth = source.columns[usual["truth"]]
    truths = connection.execute(f"SELECT DISTINCT ({truth})::VARCHAR FROM {source.scan} LIMIT {_FIRST}").fetchall()
    if not (are_scores or said <= {row[0] for row in truths}):
        return None
    read = "score" if are_scores else "read"
    columns = {name: f"k{place}" for place, name in enumerate(kept)} | {"reader": "reader", read: "read"}
    note = f"A column for each of {len(readers)} readers: each is read as rows, and the columns 'reader' and {read!r}."
    return DataFile(source.named, source.path, scan, columns, note=note)


def _answers(connection: DuckDBPyConnection, source: DataFile) -> DataFile | None:
    """Return the answers of a file that has a column of right and wrong for each system, beside the questions."""
    taken = (*CORRECT_COLUMNS, *RESULT_COLUMNS, *_WRONG, *{*SYSTEM_COLUMNS}.difference(ATTEMPT_COLUMNS))
    if _first_called(source, QUESTION_COLUMNS) is None or _first_called(source, taken) is not None:
        return None
    if any(map(axis_role, source.columns)):
        return None
    others = [name for name in source.columns if name.strip().lower() not in (*QUESTION_COLUMNS, *ATTEMPT_COLUMNS)]
    said = [
        f"coalesce(bool_and(lower(trim(({source.columns[name]})::VARCHAR)) IN ('0', '1', 'true', 'false')), false)"
        for name in others
    ]
    if len(others) < 2:
        return None
    found = connection.execute(f"SELECT {', '.join(said)} FROM {source.scan}").fetchall()[0]
    systems = [name for name, says_right in zip(others, found, strict=True) if says_right]
    if len(systems) < 2:
        return None
    kept = {name: text for name, text in source.columns.items() if name not in systems}
    selected = "".join(f"{text} AS k{place}, " for place, text in enumerate(kept.values()))
    texts = ", ".join(f"({source.columns[name]})::VARCHAR" for name in systems)
    scan = (
        f"(SELECT {selected}unnest([{', '.join(map(sql_text, systems))}]) AS system, unnest([{texts}]) AS correct "
        f"FROM {source.scan})"
    )
    columns = {name: f"k{place}" for place, name in enumerate(kept)} | {"system": "system", "correct": "correct"}
    note = (
        f"A column of right and wrong for each of {len(systems)} systems, {enumerated(systems)}: each is read as rows, "
        "and the columns 'system' and 'correct'."
    )
    return DataFile(source.named, source.path, scan, columns, note=note)


def _wrong(connection: DuckDBPyConnection, source: DataFile) -> DataFile | None:
    """Return a file with a column that says what is right, made of one that says what is wrong."""
    name = _first_called(source, _WRONG)
    if name is None or _first_called(source, _RIGHT) is not None or any(map(axis_role, source.columns)):
        return None
    text = f"lower(({source.columns[name]})::VARCHAR)"
    says = f"bool_and({text} IN ('0', '1', 'false', 'true'))"
    if not connection.execute(f"SELECT {says} FROM {source.scan} WHERE {text} IS NOT NULL").fetchall()[0][0]:
        return None
    return _with_column(
        source,
        "correct",
        f"{text} IN ('0', 'false')",
        "BOOLEAN",
        f"Column 'correct' is made here: a row is right where {name!r} is 0.",
    )


def _refuse_what_is_wrong(connection: DuckDBPyConnection, source: DataFile, asked: Mapping[str, str]) -> None:
    """Refuse a column of errors where one of what is right is asked for."""
    for name, option in asked.items():
        if option == "--correct" and name.strip().lower() in _WRONG:
            right = _first_called(source, _RIGHT) or ("correct" if _wrong(connection, source) else None)
            advice = f"Take --correct {right}." if right else "Write a column of what is right in the file."
            raise InputError(f"--correct {name}", "must say what is right; by its name it says what is wrong.", advice)


def _class_scores(connection: DuckDBPyConnection, source: DataFile) -> DataFile | None:
    """Return a file with the label of the greatest score, if it has a column of scores for each actual label."""
    actual = next((name for name in source.columns if axis_role(name) == "actual"), None)
    if actual is None or "predicted" in source.columns or len(source.columns) > _FIRST:
        return None
    label = f"({source.columns[actual]})::VARCHAR"
    by_class = _columns_of_classes([name for name in source.columns if name != actual])
    # The first rows spare files that have no such columns the reading of all.
    for rows in (f"(FROM {source.scan} LIMIT {_FIRST})", source.scan):
        query = f"SELECT DISTINCT {label} AS v FROM {rows} WHERE v IS NOT NULL LIMIT {_FIRST}"
        labels = {row[0].strip() for row in connection.execute(query).fetchall()}
        by_class = [of for of in by_class if len(labels) > 1 and labels <= of.keys()]
        if not by_class:
            return None
    of = by_class[0]
    if any(axis_role(name) == "predicted" for name in source.columns.keys() - of.values()):
        return None
    scores = [
        f"try_cast(replace(rtrim(({source.columns[name]})::VARCHAR, ' %'), ',', '.') AS DOUBLE)" for name in of.values()
    ]
    greatest = f"list_position([{', '.join(scores)}], greatest({', '.join(scores)}))"
    made = f"CASE WHEN {' + '.join(scores)} IS NOT NULL THEN [{', '.join(map(sql_text, of))}][{greatest}] END"
    type_ = re.sub("ENUM.*", "VARCHAR", source.types.get(actual, "VARCHAR"))
    return _with_column(
        source,
        "predicted",
        f"({made})::{type_}",
        type_,
        f"Column 'predicted' is made here: the class of the greatest of {enumerated([*of.values()])}.",
    )


def _columns_of_classes(names: Sequence[str]) -> list[dict[str, str]]:
    """Return the columns by the classes that they may be of: as they are called, or by a word before or after."""
    found: dict[tuple[str, bool], dict[str, str]] = {}
    for name in names:
        for pattern, is_after in ((r"([^\W_]+)[ _.:(-]+(.+?)\)?", False), (r"(.+?)[ _.:-]+([^\W_]+)", True)):
            if match := re.fullmatch(pattern, name):
                word, class_ = match.groups()[::-1] if is_after else match.groups()
                if _OF_CLASS.fullmatch(word):
                    found.setdefault((word, is_after), {})[class_] = name
    return [*found.values(), {name: name for name in names}]


def _with_column(source: DataFile, name: str, text: str, type_: str, note: str) -> DataFile:
    types = {**source.types, name: type_} if source.has_types else {}
    return replace(source, columns={**source.columns, name: text}, types=types, note=note)


def _first_called(source: DataFile, names: Sequence[str]) -> str | None:
    return next((name for name in source.columns if name.strip().lower() in names), None)


def _refuse_too_many(examples: float) -> None:
    if examples > _MOST_EXAMPLES:
        raise FileFaultError(
            f"it counts {examples:,.0f} examples, and more than {_MOST_EXAMPLES:,} are not counted out. In Python, "
            "ConfusionMatrix takes the counts."
        )


# In the order in which they are tried.
_SHAPES: Sequence[Callable[[DuckDBPyConnection, DataFile], DataFile | None]] = (
    _matrix,
    _counts,
    _reads,
    _answers,
    _wrong,
    _class_scores,
)
