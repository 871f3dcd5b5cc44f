"""A first look at a file of predictions: what each column probably is, and what to type next."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bayesperf.core.errors import FileFaultError
from bayesperf.core.words import enumerated, listed
from bayesperf.data.axis_names import are_times, axis_role
from bayesperf.files.class_names import MISSING, merged_by, plain, spellings, yes_of
from bayesperf.files.data_quality import MOST_SYSTEMS
from bayesperf.files.formats import DataFile, sql_text
from bayesperf.files.kinds import KINDS, Kind, kind_of, usual_columns
from bayesperf.files.roles import (
    ATTEMPT_COLUMNS,
    CLUSTER_COLUMNS,
    CORRECT_COLUMNS,
    EXAMPLE_COLUMNS,
    FOLD_COLUMNS,
    PART_COLUMNS,
    QUESTION_COLUMNS,
    RESULT_COLUMNS,
    SYSTEM_COLUMNS,
)
from bayesperf.files.sources import PROBABILITY, faults_of, open_sources
from bayesperf.files.wide import JOINT, PERCENT_SIGN, RIGHT_OR_WRONG

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# The possible roles of a column, the option for each, and its description in words, in the order of the options.
ROLES = {
    "actual": ("--actual", "actual labels"),
    "correct": ("--correct", "right or wrong"),
    "predicted": ("--predicted", "predicted labels"),
    "score": ("--score", "scores"),
    "system": ("--system", "systems"),
    "fold": ("--fold", "folds"),
    "part": ("--split", "parts of the data"),
    "cluster": ("--cluster", "clusters: examples of one are alike"),
    "id": ("--id", "ids of examples"),
    "group": ("--slice", "groups of examples"),
    **{role: ("", held) for kind in KINDS.values() for role, held in kind.held.items()},
    "": ("", ""),
}
_PAGE = "A page for a colleague"
_ALIKE, _OVER_TIME = "Are groups treated alike?", "Does it get worse over time?"
_ENOUGH = "Are there enough data?"
# Labels that say themselves which is positive.
_PLAIN = ({"0", "1"}, {"-1", "1"}, {"false", "true"})
# Two columns hold the same labels if this proportion of all their labels occurs in both.
_SHARED = 0.5
# A column with more different values than this holds no labels; with more different numbers it holds scores.
_MOST_LABELS, _FEW_NUMBERS = 1_000, 20
# Words are ids, of which some repeat by mistake, if this proportion of them differs.
_NEARLY_ALL = 0.9
# Verdicts beside a judge; elsewhere they may be classes. What columns of judges are called, and columns of ids.
_GOOD_OR_BAD = {"good", "bad"}
_JUDGE = re.compile("judge|grader|evaluator|llm|richter|bewerter|juge|juez|evaluador|giudice|sędzia", re.IGNORECASE)
_ID = re.compile(r"(^|.*[ _.-])(id|no|nr|num|number|key)", re.IGNORECASE)
# How lists and objects begin.
_NESTED = ('["', "[{", '{"')


class _Column(NamedTuple):
    """Facts about a column: its rows, missing and different values, numbers among them, and its values if few."""

    name: str
    rows: int
    missing: int
    distinct: int
    numbers: int
    whole: bool
    lowest: float | None
    highest: float | None
    values: dict[str, int]
    is_percent: bool = False

    @property
    def is_continuous(self) -> bool:
        """Whether it holds numbers that are not labels: fractions, or many values."""
        if not self.distinct or self.numbers < self.rows - self.missing:
            return False
        return self.is_percent or not self.whole or self.distinct > _FEW_NUMBERS

    @property
    def is_labels(self) -> bool:
        """Whether it may hold labels."""
        return self.distinct > 1 and self.is_filled

    @property
    def is_filled(self) -> bool:
        """Whether it may hold labels, perhaps the same in all rows."""
        return 0 < self.distinct <= _MOST_LABELS and not self.is_continuous and not self.is_nested

    @property
    def is_nested(self) -> bool:
        """Whether it holds lists or objects, as JSON does."""
        return bool(self.values) and all(value.startswith(_NESTED) for value in self.values)

    @property
    def is_proportion(self) -> bool:
        """Whether its numbers can be probabilities, or percentages by their signs."""
        return self.is_percent or (self.lowest is not None and self.lowest >= 0 and (self.highest or 0) <= 1)

    @property
    def labels(self) -> set[str]:
        """Its labels as they are compared with those of others: joined ones apart, spelt alike, none for missing."""
        # Whole numbers beside missing values may be written as 1.0.
        end = ".0" if self.whole else ""
        return {plain(label.removesuffix(end)) for value in self.values for label in value.split(JOINT)} - MISSING


class FirstLook(NamedTuple):
    """What a file probably holds."""

    # For each column its name, what it holds in words, its numbers of different and of missing values, and its role (a
    # key of `ROLES`).
    columns: list[tuple[str, str, int, int, str]]
    # Number of rows.
    rows: int
    # Sentences on the format, and on what looks like a mistake.
    notes: list[str]
    # A command for each question that the file can answer.
    commands: dict[str, str]
    # What to call in Python for each question that no command answers.
    in_python: dict[str, str]


def look_at(path: Path, encoding: str | None = None) -> FirstLook:
    """Return what a file, or a folder of files, probably holds; nothing slow is imported for it."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="bayesperf-") as folder, duckdb.connect() as connection:
        sources = open_sources(connection, [path], Path(folder), {}, apart=False, encoding=encoding)
        with faults_of(path):
            columns = _columns(connection, sources)
            if not columns[0].rows:
                raise FileFaultError("holds no rows.")
            crossed = _crossed(connection, columns)
    roles = _roles(columns, crossed)
    notes = [
        *(source.note for source in sources if source.note),
        *_about_guess(columns, roles),
        *_about_systems(columns, roles, crossed),
        *_about_spellings(columns, roles),
        *_about_repeats(columns, roles),
        *_about_lists(columns),
    ]
    described = [
        (each.name, _holds(each), each.distinct, each.missing, role) for each, role in zip(columns, roles, strict=True)
    ]
    read_so = [] if encoding is None else ["--encoding", encoding]
    commands = _typed(path, _commands(columns, roles), _typed_spellings(columns, roles), read_so)
    return FirstLook(described, columns[0].rows, notes, commands, _in_python(columns, roles))


# ── What columns hold ──


def _columns(connection: DuckDBPyConnection, sources: Sequence[DataFile]) -> list[_Column]:
    """Return the facts about every column that all files share."""
    names = [name for name in sources[0].columns if all(name in source.columns for source in sources)]
    parts = [
        "SELECT {} FROM {}".format(
            ", ".join(f"({source.columns[name]})::VARCHAR AS k{place}" for place, name in enumerate(names)), source.scan
        )
        for source in sources
    ]
    connection.execute(f"CREATE TEMP VIEW looked AS {' UNION ALL '.join(parts)}")
    return [_column(connection, name, f"k{place}") for place, name in enumerate(names)]


def _column(connection: DuckDBPyConnection, name: str, key: str) -> _Column:
    # Decimals may be written with a comma, and percentages with their sign.
    number = f"try_cast(replace(regexp_replace({key}, {sql_text(PERCENT_SIGN)}, ''), ',', '.') AS DOUBLE)"
    rows, missing, distinct, numbers, whole, lowest, highest, is_percent = connection.execute(
        f"SELECT count(*), count(*) - count({key}), count(DISTINCT {key}), count({number}), "
        f"coalesce(bool_and({number} = floor({number})), false), min({number}), max({number}), "
        f"coalesce(bool_and(contains({key}, '%')), false) FROM looked"
    ).fetchall()[0]
    values = {}
    if distinct <= _MOST_LABELS:
        counted = f"SELECT {key}, count(*) AS n FROM looked WHERE {key} IS NOT NULL GROUP BY 1 ORDER BY n DESC, 1"
        values = dict(connection.execute(counted).fetchall())
    return _Column(name, rows, missing, distinct, numbers, whole, lowest, highest, values, is_percent)


def _crossed(connection: DuckDBPyConnection, columns: Sequence[_Column]) -> tuple[int, int] | None:
    """Return the places of ids and of names, if each id occurs once with each name, as where systems saw the same.

    Names are words, and no times, labels or folds.
    """
    words = [
        place
        for place, each in enumerate(columns)
        if 1 < each.distinct <= MOST_SYSTEMS
        and not (each.missing or each.numbers or are_times(sorted(each.values)) or axis_role(each.name))
        and len({*each.values.values()}) == 1
        and _IS["fold"](each) is False
    ]
    ids = [place for place, each in enumerate(columns) if _ID.fullmatch(each.name) and not each.missing]
    for id_, named in ((one, other) for one in ids for other in words if one != other):
        rows = columns[id_].rows
        if columns[id_].distinct * columns[named].distinct == rows and columns[id_].distinct > MOST_SYSTEMS:
            both = f"SELECT count(*) FROM (SELECT DISTINCT k{id_}, k{named} FROM looked)"
            if connection.execute(both).fetchall()[0][0] == rows:
                return id_, named
    return None


def _holds(column: _Column) -> str:
    """Return the contents of a column in words."""
    gaps = f"; {column.missing:,} missing" if column.missing else ""
    if not column.distinct:
        return "nothing"
    if column.is_continuous and column.lowest is not None and column.highest is not None:
        written, sign = ",.0f" if column.whole else ",g", " %" if column.is_percent else ""
        return f"numbers from {column.lowest:{written}} to {column.highest:{written}}{sign}{gaps}"
    few = [f"{value} ({n:,})" for value, n in list(column.values.items())[:4]]
    if column.distinct > len(few):
        return f"{column.distinct:,} values{f', such as {listed(list(column.values)[:3])}' if few else ''}{gaps}"
    return ", ".join(few) + gaps


# ── What columns are ──

# Columns of right and wrong, if they hold words.
_RIGHT_COLUMNS = (*CORRECT_COLUMNS, *RESULT_COLUMNS)
_IS: Mapping[str, Callable[[_Column], bool]] = {
    "actual": lambda c: axis_role(c.name) == "actual" and c.is_filled and not PROBABILITY.search(c.name),
    "predicted": lambda c: axis_role(c.name) == "predicted" and c.is_filled and not PROBABILITY.search(c.name),
    "score": lambda c: c.is_continuous and (c.is_percent or not c.whole or bool(PROBABILITY.search(c.name))),
    "system": lambda c: c.name.lower() in SYSTEM_COLUMNS and 1 < c.distinct <= MOST_SYSTEMS,
    "fold": lambda c: c.name.lower() in FOLD_COLUMNS and c.distinct > 1,
    "part": lambda c: c.name.lower() in PART_COLUMNS and 1 < c.distinct <= MOST_SYSTEMS,
    "correct": lambda c: _says_right(c) and (c.name.lower() in (CORRECT_COLUMNS if c.numbers else _RIGHT_COLUMNS)),
    "cluster": lambda c: c.name.lower() in CLUSTER_COLUMNS and 1 < c.distinct < _NEARLY_ALL * c.rows,
    "id": lambda c: (
        c.name.lower() in EXAMPLE_COLUMNS
        or c.distinct >= (_NEARLY_ALL if not c.numbers or _ID.fullmatch(c.name) else 1) * c.rows
    ),
}


def _says_right(column: _Column) -> bool:
    """Return whether a column holds right and wrong alone."""
    numbers_too = {"0", "1", "0.0", "1.0", "false", "true", *RIGHT_OR_WRONG} - _GOOD_OR_BAD
    return bool(column.values) and {value.strip().lower() for value in column.values} <= numbers_too


def _roles(columns: Sequence[_Column], crossed: tuple[int, int] | None) -> list[str]:
    """Return the probable role of each column: by its name and contents; then by the labels that it shares."""
    kind, named = _kind(columns)
    if kind is not None and kind.question:
        return [named.get(column.name, "") for column in columns]
    roles = [next((role for role, test in _IS.items() if test(column)), "") for column in columns]
    if "actual" in roles or roles.count("correct") > 1:
        roles = ["" if role == "correct" else role for role in roles]
    if "correct" in roles:
        asked = [column.name.lower() in QUESTION_COLUMNS for column in columns]
        roles = ["cluster" if is_question and 1 < column.distinct < column.rows else role
                 for is_question, column, role in zip(asked, columns, roles, strict=True)]  # fmt: skip
        roles = ["" if "cluster" in roles and column.numbers and column.name.lower() in ATTEMPT_COLUMNS else role
                 for column, role in zip(columns, roles, strict=True)]  # fmt: skip
    elif pairs := _pairs(columns):
        said = dict.fromkeys(pairs, "actual") | dict.fromkeys(pairs.values(), "predicted")
        roles = [said.get(place, "" if role in ("actual", "predicted") else role) for place, role in enumerate(roles)]
    else:
        roles = _with_labels(columns, roles)
    if crossed is not None and "predicted" in roles and "system" not in roles:
        roles = ["system" if place == crossed[1] and role == "" else role for place, role in enumerate(roles)]
    roles = _with_shared_ids(columns, _with_likely_scores(columns, roles))
    return [
        "group" if role == "" and column.is_labels and column.distinct <= MOST_SYSTEMS else role
        for column, role in zip(columns, roles, strict=True)
    ]


def _kind(columns: Sequence[_Column]) -> tuple[Kind | None, dict[str, str]]:
    """Return the kind of a file that holds no predictions, and the roles of its columns by name; else nothing."""
    by_name = {column.name: column for column in columns}
    if (kind := kind_of(by_name)) is None:
        return None, {}
    of_role = {role: by_name[name] for role, name in usual_columns(kind, by_name).items()}
    if "winner" in of_role and not (_share(of_role["a"], of_role["b"]) and of_role["winner"].is_labels):
        return None, {}
    return KINDS[kind], {column.name: role for role, column in of_role.items()}


def _with_labels(columns: Sequence[_Column], roles: Sequence[str]) -> list[str]:
    """Return the roles with one column of actual labels, and with columns of predicted labels that share them."""
    actual = roles.index("actual") if "actual" in roles else _first_of_the_same_labels(columns, roles)
    if actual is None:
        return list(roles)
    # Of several only the first is taken: the user chooses among them.
    roles = ["" if role == "actual" else role for role in roles]
    roles[actual] = "actual"
    if "predicted" in roles:
        # Beside them a judge has the labels of which people know some.
        is_judged = columns[actual].missing > 0
        return [
            "predicted"
            if is_judged and role == "" and _JUDGE.search(column.name) and _share(column, columns[actual])
            else role
            for column, role in zip(columns, roles, strict=True)
        ]
    return [
        "predicted" if role in ("", "system") and column.is_labels and column.labels <= columns[actual].labels else role
        for column, role in zip(columns, roles, strict=True)
    ]


def _with_likely_scores(columns: Sequence[_Column], roles: Sequence[str]) -> list[str]:
    """Return the roles without scores that can be no probabilities, if others can: amounts and ages beside a risk."""
    likely = [role == "score" and column.is_proportion for column, role in zip(columns, roles, strict=True)]
    named = [bool(PROBABILITY.search(column.name)) for column in columns]
    is_score = [one or other for one, other in zip(likely, named, strict=True)]
    return ["" if role == "score" and any(likely) and not kept else role
            for role, kept in zip(roles, is_score, strict=True)]  # fmt: skip


def _with_shared_ids(columns: Sequence[_Column], roles: Sequence[str]) -> list[str]:
    """Return the roles with the columns that hold each value once for each system as ids, which pair the systems."""
    systems = next((column.distinct for column, role in zip(columns, roles, strict=True) if role == "system"), 0)
    return [
        "id" if role == "" and systems > 1 and column.distinct * systems == column.rows else role
        for column, role in zip(columns, roles, strict=True)
    ]


def _first_of_the_same_labels(columns: Sequence[_Column], roles: Sequence[str]) -> int | None:
    """Return the place of the probable actual labels, which no name says; None if nothing suggests them.

    They have the labels of a column of predicted labels, or of another column that nothing is known of; where some are
    missing, not all were verified. Beside scores they are the only column of two labels.
    """
    free = [place for place, column in enumerate(columns) if roles[place] == "" and column.is_labels]
    others = [place for place, role in enumerate(roles) if role == "predicted"] or free
    same = [
        place for place in free if any(_share(columns[place], columns[other]) for other in others if other != place)
    ]
    if "predicted" in roles and all(len(columns[other].labels) == 2 for other in others):
        same = [place for place in same if len(columns[place].labels) == 2]
    if same:
        return max(same, key=lambda place: columns[place].missing > 0 and not _is_joined(columns[place]))
    two = [place for place in free if columns[place].distinct == 2]
    return two[0] if "score" in roles and len(two) == 1 else None


def _about_guess(columns: Sequence[_Column], roles: Sequence[str]) -> list[str]:
    """Return a sentence on the column of actual labels, if its name does not say that it holds them."""
    actual = [column.name for column, role in zip(columns, roles, strict=True) if role == "actual"]
    if not actual or any(axis_role(name) == "actual" for name in actual):
        return []
    return [f"No name says which column holds the actual labels; by its values it may be {actual[0]!r}."]


def _about_systems(columns: Sequence[_Column], roles: Sequence[str], crossed: tuple[int, int] | None) -> list[str]:
    """Return a sentence on the systems, if no name but their ids say which column tells them apart."""
    if crossed is None or roles[crossed[1]] != "system" or columns[crossed[1]].name.lower() in SYSTEM_COLUMNS:
        return []
    ids, named = (columns[place] for place in crossed)
    return [
        f"Each value of {ids.name!r} occurs once with each of the {named.distinct} values of {named.name!r}: these are "
        "probably systems that saw the same examples."
    ]


def _label_counts(columns: Sequence[_Column], roles: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Return the labels of all columns of labels, and how often each occurs; and those that are actual."""
    counts: dict[str, int] = {}
    of = {role: [each for each, its in zip(columns, roles, strict=True) if its == role]
          for role in ("actual", "predicted")}  # fmt: skip
    if len(of["actual"]) != 1 or _is_joined(of["actual"][0]) or not of["predicted"]:
        return {}, []
    for column in (*of["actual"], *of["predicted"]):
        for label, n in column.values.items():
            counts[label] = counts.get(label, 0) + n
    return counts, [*of["actual"][0].values]


def _about_spellings(columns: Sequence[_Column], roles: Sequence[str]) -> list[str]:
    """Return sentences on labels that look like one class, and on those that may stand for missing values."""
    counts, actual = _label_counts(columns, roles)
    said = [
        f"Labels {enumerated([f'{label!r} ({counts[label]:,})' for label in labels])} look like one class, which the "
        f"commands below read as {labels[0]!r}."
        for labels in spellings(counts, actual)
    ]
    merged = {label for labels in spellings(counts, actual) for label in labels}
    strays = [label for label in actual if counts[label] == 1 and label not in merged]
    if len(strays) == 1 and len(counts) > 2:
        said.append(
            f"Label {strays[0]!r} occurs once, and is never predicted. If it is a mistake, add "
            f"{merged_by(strays[0], 'CLASS')} with the class that it means. Otherwise it counts as a class."
        )
    gaps = [label for label in counts if label.strip().lower() in MISSING]
    if gaps and len(counts) > 2:
        said.append(
            f"{'Label' if len(gaps) == 1 else 'Labels'} {enumerated([*map(repr, gaps)])} may stand for a missing "
            f"value. If so, add {' '.join(merged_by(gap, '') for gap in gaps)} --drop-missing. Otherwise it counts as "
            "a class, and an answer that a system did not give as wrong."
        )
    return said


def _typed_spellings(columns: Sequence[_Column], roles: Sequence[str]) -> list[str]:
    """Return the options that read each spelling of a class as one."""
    same = spellings(*_label_counts(columns, roles))
    return [word for first, *others in same for other in others for word in ("--map", f"{other}={first}")]


def _with_one_spelling(columns: Sequence[_Column], roles: Sequence[str]) -> list[_Column]:
    """Return the columns with labels as the options say that are typed."""
    read_as = {other: first for first, *others in spellings(*_label_counts(columns, roles)) for other in others}

    def merged(column: _Column) -> _Column:
        values: dict[str, int] = {}
        for label, n in column.values.items():
            values[read_as.get(label, label)] = values.get(read_as.get(label, label), 0) + n
        return column._replace(values=dict(sorted(values.items(), key=lambda each: -each[1])), distinct=len(values))

    return [merged(column) if role in ("actual", "predicted") and column.values else column
            for column, role in zip(columns, roles, strict=True)]  # fmt: skip


def _about_repeats(columns: Sequence[_Column], roles: Sequence[str]) -> list[str]:
    """Return a sentence on each column of ids of which a few repeat."""
    repeated = [(column, column.rows - column.missing - column.distinct) for column in columns]
    return [
        f"Column {column.name!r} looks like ids of examples, and {again:,} of {column.rows:,} rows repeat one. Remove "
        "rows that were copied: they count as other examples, and intervals become too narrow."
        for (column, again), role in zip(repeated, roles, strict=True)
        if role == "id" and 0 < again <= (1 - _NEARLY_ALL) * column.rows
    ]


def _about_lists(columns: Sequence[_Column]) -> list[str]:
    """Return a sentence on each column that is called as labels are, and holds lists or objects."""
    return [
        f"Column {column.name!r} holds lists or objects. Write one label for each row, or several joined by {JOINT!r}."
        for column in columns
        if column.is_nested and axis_role(column.name)
    ]


def _share(one: _Column, other: _Column) -> bool:
    """Return whether most labels of two columns occur in both."""
    return len(one.labels & other.labels) >= _SHARED * len(one.labels | other.labels)


def _pairs(columns: Sequence[_Column]) -> dict[int, int]:
    """Return the places of the actual and of the predicted 0/1 column of each label, of which there are several.

    One word of their names tells the two apart, as in gold_sport and model_sport: the first, or the last.
    """
    for pattern in (r"()([^\W_]+)([ _.-].+)", r"(.+[ _.-])([^\W_]+)()"):
        of: dict[str, dict[str, int]] = {}
        for place, column in enumerate(columns):
            if _say_themselves(column) and (match := re.fullmatch(pattern, column.name)):
                of.setdefault(match[1] + match[3], {})[match[2]] = place
        both = [words for words in of.values() if len(words) == 2]
        told = {tuple(sorted(words, key=_is_not_actual)) for words in both}
        if len(both) > 1 and len(told) == 1:
            actual, predicted = told.pop()
            if not _is_not_actual(actual) or axis_role(predicted) == "predicted":
                return {words[actual]: words[predicted] for words in both}
    return {}


def _is_not_actual(word: str) -> int:
    return ("actual", None, "predicted").index(axis_role(word))


# ── What to type ──


def _commands(columns: Sequence[_Column], roles: Sequence[str]) -> dict[str, list[str]]:
    """Return a command and its options for each question that the columns can answer."""
    of: dict[str, list[_Column]] = {}
    columns = _with_one_spelling(columns, roles)
    for column, role in zip(columns, roles, strict=True):
        of.setdefault(role, []).append(column)
    kind, _ = _kind(columns)
    if kind is not None and kind.question:
        return {kind.question: [kind.command], _PAGE: ["report"]}
    if "correct" in of:
        lacking = ["--drop-missing"] if of["correct"][0].missing else []
        is_of_items = kind is not None and "system" in of
        on_items = {"Which is better if they saw different items?": ["report", *lacking]} if is_of_items else {}
        return _outcome_commands(of) | on_items
    if "actual" not in of or not ({"predicted", "score"} & of.keys()):
        return {}
    if judged := _judged_commands(of):
        return judged
    of = _with_judge(of)
    wide, is_paired = of.get("predicted", []), len(of["actual"]) > 1
    systems = of.get("system", []) if len(wide) < 2 else []
    reading = _pair_options(columns) if is_paired else _of_one_label(of)
    reading += [word for column in systems[:1] for word in ("--system", column.name)]
    positive = _positive(of["actual"][0])
    several = bool(systems) or (len(wide) > 1 and not is_paired) or (not wide and len(of["score"]) > 1)
    alike = [] if is_paired else of.get("cluster", [])[:1]
    clustered = [word for column in alike for word in ("--cluster", column.name)]
    folds = [word for column in of.get("fold", [])[:1] for word in ("--fold", column.name)] if not clustered else []
    paired = clustered or (_paired(of) if systems else [])
    commands = {"How good is it?": ["summary", *reading, *positive, *paired]}
    if several:
        commands["Which is better?"] = ["compare", *reading, *positive, *paired]
    is_binary = bool(positive) or _say_themselves(of["actual"][0])
    joined = _is_joined(of["actual"][0])
    required = "auc>=0.8" if not wide else "f1>=0.8" if joined else "recall>=0.8" if is_binary else "accuracy>=0.8"
    asked = [*reading, *positive, *clustered, "--require", required]
    commands["Is it good enough?"] = ["check", *asked]
    # Of areas, clusters and judges check says how many more would settle it; plan says it of other labels.
    commands[_ENOUGH] = ["plan" if wide and not (clustered or of.get("judge")) else "check", *asked]
    commands[_PAGE] = ["report", *reading, *folds, *positive, *paired]
    if wide and is_binary and not (is_paired or clustered or joined):
        named = [word for column in systems[:1] for word in ("--system", column.name)]
        commands |= _of_probabilities(of, [*named, *positive, *paired])
        commands |= {} if several else _sliced_commands([*reading, *positive], of.get("group", []))
    return commands


def _of_probabilities(of: Mapping[str, Sequence[_Column]], more: Sequence[str]) -> dict[str, list[str]]:
    """Return a command on probabilities that stand beside predicted labels of all examples."""
    probabilities = [column for column in of.get("score", []) if column.is_proportion]
    if not probabilities or of.get("judge"):
        return {}
    reading = _of_one_label({"actual": of["actual"], "score": probabilities})
    return {"Can its probabilities be trusted?": ["summary", *reading, *more]}


def _paired(of: Mapping[str, Sequence[_Column]]) -> list[str]:
    """Return the option that names the ids of examples, if several rows have each: one of each system."""
    ids = [column for column in of.get("id", []) if column.distinct < column.rows]
    return [word for column in ids[:1] for word in ("--id", column.name)]


def _with_judge(of: dict[str, list[_Column]]) -> dict[str, list[_Column]]:
    """Return the columns by role, with a judge of what a system predicts if people have labelled only some examples."""
    predicted = of.get("predicted", [])
    judges = [column for column in predicted if of["actual"][0].missing and _JUDGE.search(column.name)]
    others = [column for column in predicted if column not in judges[:1]]
    return of | {"predicted": others, "judge": judges[:1]} if judges and others else of


def _in_python(columns: Sequence[_Column], roles: Sequence[str]) -> dict[str, str]:
    """Return what to call in Python for each question that no command answers."""
    kind, _ = _kind(columns)
    if kind is not None and kind.question:
        return {}
    named = {axis_role(column.name) for column in columns}
    asked = {}
    if "actual" not in named and "predicted" in named:
        asked["How many are positive, if nobody labelled them?"] = "bp.labels.prevalence"
        asked["Would more calls or more labels narrow that?"] = "bp.plan.prevalence"
    if "score" in roles and "actual" not in roles:
        asked["How good is it, if no labels have come yet?"] = "bp.curves.expected_metrics"
    if {"actual", "predicted"} <= {*roles} and not named & {"actual", "predicted"}:
        asked["How well do they agree, if none of them is the truth?"] = "bp.Ratings.from_table"
    groups = _names_first([column for column, role in zip(columns, roles, strict=True) if role == "group"])
    if groups and {"actual", "predicted"} <= set(roles):
        asked["What if the population has other shares of these groups?"] = (
            f"bp.posterior(…, strata={groups[0].name!r})"
        )
    return asked


def _sliced_commands(reading: Sequence[str], groups: Sequence[_Column]) -> dict[str, list[str]]:
    """Return a command for the first column of times, and for the first of other groups, of names before numbers."""
    times = [column for column in groups if are_times(sorted(column.values))]
    others = _names_first([column for column in groups if column not in times])
    asked = {_OVER_TIME: times[:1], _ALIKE: others[:1]}
    return {
        question: ["report", *reading, "--slice", column.name]
        for question, of_one in asked.items()
        for column in of_one
    }


def _names_first(groups: Sequence[_Column]) -> list[_Column]:
    """Return groups, those with names before those with numbers."""
    return sorted(groups, key=lambda column: column.numbers > 0)


def _pair_options(columns: Sequence[_Column]) -> list[str]:
    """Return the options that name the two columns of each of several labels."""
    return [
        word
        for actual, predicted in _pairs(columns).items()
        for word in ("--actual", columns[actual].name, "--predicted", columns[predicted].name)
    ]


def _of_one_label(of: Mapping[str, Sequence[_Column]]) -> list[str]:
    """Return the options that name the actual labels, and the predictions or scores of each system."""
    option = "predicted" if "predicted" in of else "score"
    (actual,) = of["actual"]
    # Joined labels are missing where a row has none.
    is_sample = actual.missing and not _is_joined(actual)
    judges = of.get("judge", [])
    return [
        *("--actual", actual.name),
        *(word for column in of[option] for word in (f"--{option}", column.name)),
        *(word for column in judges for word in ("--judge", column.name)),
        *(["--drop-missing"] if is_sample and not judges else []),
    ]


def _typed(
    path: Path, commands: Mapping[str, Sequence[str]], spelt: Sequence[str], read_so: Sequence[str]
) -> dict[str, str]:
    """Return commands as they are typed, with the options that merge spellings, where labels are read, and others."""
    return {
        question: shlex.join(
            ["bayesperf", command, str(path), *options, *(spelt if "--actual" in options else ()), *read_so]
        )
        for question, (command, *options) in commands.items()
    }


def _outcome_commands(of: Mapping[str, Sequence[_Column]]) -> dict[str, list[str]]:
    """Return a command for each question on rows that are right or wrong."""
    systems, questions = of.get("system", [])[:1], of.get("cluster", [])[:1]
    reading = ["--correct", of["correct"][0].name, *(word for each in systems for word in ("--system", each.name))]
    reading += ["--drop-missing"] if of["correct"][0].missing else []
    rows = of["correct"][0].rows
    again = [each.name for each in questions if rows > each.distinct * (systems[0].distinct if systems else 1)]
    clustered = [word for name in again for word in ("--cluster", name)]
    once = [word for each in questions for word in ("--id", each.name)] or _paired(of)
    paired = clustered or (once if systems else [])
    commands = {"How good is it?": ["summary", *reading, *paired]}
    if systems:
        commands["Which is better?"] = ["compare", *reading, *paired]
    asked = [*reading, *clustered, "--require", "pass_rate>=0.8"]
    commands |= {"Is it good enough?": ["check", *asked], _ENOUGH: ["check" if clustered else "plan", *asked]}
    commands[_PAGE] = ["report", *reading, *paired]
    return commands if systems or clustered else commands | _sliced_commands(reading, of.get("group", []))


def _judged_commands(of: Mapping[str, Sequence[_Column]]) -> dict[str, list[str]]:
    """Return a command for each question on answers that a judge calls right or wrong, and people some of them.

    None if people's verdicts are complete, or labels are not right and wrong. Yes and no, good and bad may be classes:
    good and bad are verdicts beside a column that is called as judges are.
    """
    people, judges, systems = of["actual"][0], of.get("predicted", []), of.get("system", [])[:1]
    words = {value.strip().lower() for value in people.values}
    is_judged = len(judges) == 1 and people.missing
    if not is_judged or not words <= RIGHT_OR_WRONG.keys() - {"yes", "no"}:
        return {}
    if words & _GOOD_OR_BAD and not _JUDGE.search(judges[0].name):
        return {}
    named = [word for each in systems for word in ("--system", each.name)]
    reading = ["--correct", people.name, "--judge", judges[0].name, *named]
    of_judge = ["--actual", people.name, "--predicted", judges[0].name, "--drop-missing", *_positive(people)]
    paired = _paired(of) if systems else []
    return {
        "How good is it?": ["summary", *reading, *paired],
        **({"Which is better?": ["compare", *reading, *paired]} if systems else {}),
        "Is it good enough?": (asked := ["check", *reading, "--require", "pass_rate>=0.8"]),
        _ENOUGH: asked,
        _PAGE: ["report", *reading, *paired],
        "How good is the judge?": ["summary", *of_judge],
    }


def _positive(actual: _Column) -> list[str]:
    """Return the option that names yes, or else the rarer of two labels, as positive, unless they say it themselves."""
    if len(actual.values) != 2 or _say_themselves(actual) or _is_joined(actual):
        return []
    return ["--pos-label", yes_of(actual.values) or list(actual.values)[-1]]


def _is_joined(actual: _Column) -> bool:
    """Return whether a row may have several labels, joined by a bar."""
    return any(JOINT in label for label in actual.values)


def _say_themselves(actual: _Column) -> bool:
    """Return whether labels say which is positive."""
    return actual.labels in _PLAIN
