"""Files with a column for each system: its predictions, or its scores, put one system below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bayesperf.core.errors import InputError
from bayesperf.core.words import listed
from bayesperf.data.axis_names import FOLD, LABEL
from bayesperf.files.class_names import classes_in_words
from bayesperf.files.formats import DataFile, sql_text
from bayesperf.files.option_table import BESIDE, ROW, STACKED, Settings
from bayesperf.files.roles import asked_columns
from bayesperf.files.sources import faults_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Numbers with a comma for a point, and those that may be thousands.
_COMMA, _THOUSANDS = r"\s*[-+]?[0-9]*,[0-9]+([eE][-+]?[0-9]+)?\s*", r"\s*[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+\s*"
# The sign of a percentage.
PERCENT_SIGN = r"\s*%\s*$"
# Words that say whether a row is right.
_RIGHT = (
    "pass passed right correct yes good richtig juste exact correcto correcta giusto giusta corretto corretta poprawny "
    "poprawna poprawne doğru"
)
_WRONG = (
    "fail failed wrong incorrect no bad falsch faux inexact incorrecto incorrecta sbagliato sbagliata scorretto "
    "scorretta błędny błędna błędne yanlış"
)
RIGHT_OR_WRONG = dict.fromkeys(_RIGHT.split(), "true") | dict.fromkeys(_WRONG.split(), "false")
# Rows of different files have different numbers: at most this many rows per file.
_ROWS = 1 << 40


def stacked(connection: DuckDBPyConnection, source: DataFile, settings: Settings, place: int) -> list[DataFile]:
    """Return a source for each system of a file, the one at `place` of all, with columns as of one system a file.

    If the row says which example it is, rows are numbered.
    """
    source = _with_outcomes(_with_labels(source, settings), settings)
    source = _with_numbers(connection, source, settings)
    if settings.id == ROW:
        source = _numbered(connection, source, list(asked_columns(settings)), place)
    columns = [_of_system(source, settings, system) for system in range(max(1, len(settings.systems)))]
    of_each = [replace(source, columns={**source.columns, **more}) for more in columns]
    return [_of_label(each, settings, label) for each in of_each for label in settings.joined] or of_each


def refuse_unknown_labels(connection: DuckDBPyConnection, sources: Sequence[DataFile], settings: Settings) -> None:
    """Refuse what is not written as a label and another, and a label that occurs in none of the files."""
    counts = _label_counts(connection, sources, settings) if settings.map else {}
    for text in settings.map:
        old = text.rpartition("=")[0]
        if not old:
            raise InputError(
                f"--map {text}",
                "must be a label, '=', and the label to read it as, 'Yes=yes'; or nothing, if it is missing: 'NA='.",
            )
        if old not in counts:
            raise InputError(f"--map {text}", f"no label is {old!r}; {classes_in_words(counts, old)}")


def _label_counts(connection: DuckDBPyConnection, sources: Sequence[DataFile], settings: Settings) -> dict[str, int]:
    """Return the labels of files, and how often each occurs in their columns of labels."""
    values = " UNION ALL ".join(
        f"SELECT CAST({source.columns[name]} AS VARCHAR) AS label FROM {source.scan}"
        for source in sources
        for name in _label_columns(settings)
    )
    counted = f"SELECT label, count(*) FROM ({values}) WHERE label IS NOT NULL GROUP BY label"
    return dict(connection.execute(counted).fetchall())


def _label_columns(settings: Settings) -> list[str]:
    predicted = settings.predictions or (() if settings.calls else (settings.predicted,))
    return [settings.actual, *predicted, *settings.beside, *settings.judges]


def _with_labels(source: DataFile, settings: Settings) -> DataFile:
    """Return a file whose labels are those that --map says."""
    if not settings.map:
        return source
    pairs = [text.rpartition("=") for text in settings.map]
    cases = " ".join(f"WHEN {sql_text(old)} THEN {sql_text(new) if new else 'NULL'}" for old, _, new in pairs)
    texts = {name: f"CAST({source.columns[name]} AS VARCHAR)" for name in _label_columns(settings)}
    mapped = {name: f"CASE {text} {cases} ELSE {text} END" for name, text in texts.items()}
    types = {name: "VARCHAR" if name in mapped else held for name, held in source.types.items()}
    return replace(source, columns={**source.columns, **mapped}, types=types)


def _with_outcomes(source: DataFile, settings: Settings) -> DataFile:
    """Return a file in which words such as pass and fail are true and false, if rows are right or wrong."""
    if settings.correct is None:
        return source
    names = [name for name in (settings.correct, *settings.judges) if source.types.get(name, "VARCHAR") == "VARCHAR"]
    cases = " ".join(f"WHEN {sql_text(word)} THEN {sql_text(said)}" for word, said in RIGHT_OR_WRONG.items())
    texts = {name: f"CAST({source.columns[name]} AS VARCHAR)" for name in names}
    said = {name: f"CASE lower(trim({text})) {cases} ELSE {text} END" for name, text in texts.items()}
    return replace(source, columns={**source.columns, **said})


def _with_numbers(connection: DuckDBPyConnection, source: DataFile, settings: Settings) -> DataFile:
    """Return a file whose scores are numbers with decimal points, and proportions.

    Commas are read as points where they can be nothing else, and percentages where all have a sign.
    """
    scores = settings.scores or ((settings.score,) if settings.score is not None else ())
    texts = [name for name in scores if source.types.get(name, "VARCHAR") == "VARCHAR"]
    commas, percentages = {}, {}
    for name in texts:
        text = f"CAST({source.columns[name]} AS VARCHAR)"
        number = f"regexp_replace({text}, {sql_text(PERCENT_SIGN)}, '')"
        if _has_commas(connection, source, name, number, settings.decimal):
            number = commas[name] = f"replace({number}, ',', '.')"
        is_percent = f"contains({text}, '%') AND try_cast({number} AS DOUBLE) IS NOT NULL"
        found = connection.execute(f"SELECT bool_and({is_percent}) FROM {source.scan} WHERE {text} IS NOT NULL")
        if found.fetchall()[0][0]:
            percentages[name] = f"(CAST({number} AS DOUBLE) / 100)::VARCHAR"
    notes = [
        source.note,
        f"Commas in {listed(list(commas))} are read as decimal points." if commas else "",
        f"Percentages in {listed(list(percentages))} are read as proportions: 67% as 0.67." if percentages else "",
    ]
    return replace(
        source, columns={**source.columns, **commas, **percentages}, note=" ".join(note for note in notes if note)
    )


def _has_commas(connection: DuckDBPyConnection, source: DataFile, name: str, number: str, decimal: str | None) -> bool:
    """Return whether commas in a column of scores are decimal points; refuse those that may stand for thousands."""
    if decimal == ".":
        return False
    tests = (_COMMA, _THOUSANDS, r"\s*[-+]?[0-9]*\.[0-9]+.*")
    figures = ", ".join(f"count(*) FILTER (regexp_full_match({number}, {sql_text(test)}))" for test in tests)
    commas, thousands, points = connection.execute(f"SELECT {figures} FROM {source.scan}").fetchall()[0]
    if commas and decimal is None and (points or commas == thousands):
        raise InputError(
            f"--score {name}", "commas in it may stand for decimals or thousands.", "Say which: --decimal , or ."
        )
    return bool(commas)


def _of_system(source: DataFile, settings: Settings, system: int) -> dict[str, str]:
    """Return the SQL of the columns of one system, by the names that all systems share."""
    columns = {} if settings.fold_column is None else {FOLD: source.columns[settings.fold_column]}
    if settings.systems:
        columns[str(settings.stacked_by)] = sql_text((settings.actuals or settings.systems)[system])
    if settings.actuals:
        columns[STACKED["actual"]] = source.columns[settings.actuals[system]]
    if settings.predictions:
        columns[STACKED["predicted"]] = source.columns[settings.predictions[system]]
    if settings.scores:
        columns[STACKED["score"]] = source.columns[settings.scores[system]]
    if settings.beside:
        columns[BESIDE] = source.columns[settings.beside[system]]
    if settings.calls:
        score = columns.get(STACKED["score"]) or source.columns[str(settings.score)]
        # What is no number is not missing: it is refused as a score.
        threshold = settings.threshold
        above = "true" if threshold is None else f"coalesce(try_cast({score} AS DOUBLE) >= {threshold!r}, false)"
        columns[settings.predicted] = f"CASE WHEN {score} IS NOT NULL THEN {above} END"
    return columns


# ── Several labels of a row, joined in a column ──

JOINT = "|"
_MOST_LABELS = 1_000


def with_labels_apart(connection: DuckDBPyConnection, sources: Sequence[DataFile], settings: Settings) -> Settings:
    """Return settings that tell the labels of a row apart, if a column of labels joins several of them."""
    named_so = any(JOINT in label for label in settings.labels)
    if settings.calls or settings.of_numbers or settings.judge is not None or settings.actuals or named_so:
        return settings
    mapped, values = [_with_labels(source, settings) for source in sources], set[str]()
    if not any(_holds_joint(connection, source, settings) for source in mapped):
        return settings
    for source in mapped:
        columns = [f"SELECT {_joined(source.columns[name])} FROM {source.scan}" for name in _label_columns(settings)]
        with faults_of(source.named):
            values |= {row[0] for row in connection.execute(" UNION ".join(columns)).fetchall()}
    labels = {label for value in values for label in value.strip(JOINT).split(JOINT) if label}
    if all(value.count(JOINT) <= 2 for value in values) or len(labels) > _MOST_LABELS:
        return settings
    if settings.labels and (more := labels.difference(settings.labels)):
        raise InputError("--labels", f"{min(more)!r} occurs, too.", "Name all labels.")
    fold = [name for name in settings.by if name == FOLD]
    by = (*(name for name in settings.by if name != FOLD), LABEL, *fold)
    # Of one system a row is matched with no other.
    id_ = None if settings.id == ROW and not settings.systems else settings.id
    return replace(settings, by=by, id=id_, joined=settings.labels or tuple(sorted(labels)), labels=())


def _holds_joint(connection: DuckDBPyConnection, source: DataFile, settings: Settings) -> bool:
    """Return whether a field of labels holds the sign that joins several, which most files never do."""
    tests = [f"contains(CAST({source.columns[name]} AS VARCHAR), '{JOINT}')" for name in _label_columns(settings)]
    with faults_of(source.named):
        return bool(connection.execute(f"SELECT 1 FROM {source.scan} WHERE {' OR '.join(tests)} LIMIT 1").fetchall())


def _joined(column: str) -> str:
    """Return the SQL of the labels of a row, each between two signs; none where a field is empty."""
    text = f"regexp_replace(trim(coalesce(CAST({column} AS VARCHAR), '')), '\\s*[|]\\s*', '{JOINT}', 'g')"
    return f"'{JOINT}' || {text} || '{JOINT}'"


def _of_label(source: DataFile, settings: Settings, label: str) -> DataFile:
    """Return a file that says of each row whether it has a label, and is predicted to have it."""
    test = sql_text(f"{JOINT}{label}{JOINT}")
    columns = {
        name: f"contains({_joined(source.columns[name])}, {test})::INTEGER"
        for name in (settings.actual, settings.predicted)
    }
    note = (
        f"Labels joined by {JOINT!r} are read one by one: a row has each, or has it not, and an empty field has none. "
        "If a class is called so, name all classes by --labels."
    )
    return replace(
        source,
        columns={**source.columns, **columns, LABEL: sql_text(label)},
        note=f"{source.note} {note}".strip(),
    )


def _numbered(connection: DuckDBPyConnection, source: DataFile, asked: list[str], place: int) -> DataFile:
    """Return a file with the number of each row, the same for all that read it."""
    columns = {name: f"c{i}" for i, name in enumerate(asked)}
    selected = ", ".join(f"{source.columns[name]} AS {column}" for name, column in columns.items())
    rows = f"SELECT {place * _ROWS} + row_number() OVER () AS row, {selected} FROM {source.scan}"
    connection.execute(f"CREATE TEMP TABLE wide_{place} AS {rows}")
    return replace(source, scan=f"wide_{place}", columns={ROW: "row", **columns})
