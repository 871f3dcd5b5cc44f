"""What a user asks for: one table of options, of which a row is a field of `Settings`.

A row holds an option's default, help and commands, and why it does not go with others or without them. The command line
makes its options and its refusals of these rows, so that an option is added by a row and by what reads it.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from bayesperf.data.axis_names import FOLD, LABEL, MODEL

# The column that tells the rows of several files apart.
FILE = "file"
# The columns of labels and scores of systems that are each a column of a file, one below the other; and the number of
# the row.
STACKED = {"actual": "actual", "predicted": "predicted", "score": "score"}
ROW = "row"
# The column of predicted labels that stand beside those which a threshold makes.
BESIDE = "--predicted"

# The endings of pages.
PAGES = (".html", ".htm", ".md", ".json")


class Option(NamedTuple):
    """A row of the table of options."""

    # What the option says, in a sentence.
    help: str
    # The commands that have it, separated by blanks.
    commands: str
    # How it is typed, the usual way first; if empty, as the field is called.
    flags: tuple[str, ...] = ()
    # Fields of options that it does not go with, or without, and why. A need holds in commands that have the other; of
    # two that are joined by "|" one is enough.
    against: Mapping[str, str] = {}
    needs: Mapping[str, str] = {}
    # Whether commas separate several values.
    has_entries: bool = False
    # Function of a value that returns what is wrong with it, or nothing.
    fault: Callable[[Any], str] | None = None


def _option(default: Any, help_: str, commands: str, *flags: str, **more: Any) -> Any:
    """Return a field that is an option."""
    return field(default=default, metadata={"option": Option(help_, commands, flags, **more)})


def _must_be(said: str, holds: Callable[[Any], bool]) -> Callable[[Any], str]:
    """Return a function of a value that says what is wrong with it, unless it is as it must be."""

    def fault(value: Any) -> str:
        shown = f"{value:g}" if isinstance(value, float) else repr(value)
        return "" if holds(value) else f"must be {said}; it is {shown}."

    return fault


_PROBABILITY = _must_be("a number between 0 and 1, both excluded", lambda value: 0 < value < 1)
_CONFIDENCE = _must_be("above 0.5 and below 1", lambda value: 0.5 < value < 1)
_MARGIN = _must_be("in [0, 1)", lambda value: 0 <= value < 1)
_POSITIVE = _must_be("at least 1", lambda value: value >= 1)
_NOT_NEGATIVE = _must_be("at least 0", lambda value: 0 <= value < float("inf"))
_DECIMAL = _must_be("'.' or ','", (".", ",").__contains__)
_ERROR = _must_be("mae or rmse", ("mae", "rmse").__contains__)
_FORMAT = _must_be("text, markdown or json", ("text", "markdown", "json").__contains__)


def no_page(path: Path) -> str:
    """Return what is wrong with the name of a page: its ending says the format, and one without an ending is HTML."""
    return "" if path.suffix.lower() in ("", *PAGES) else f"must end in .html, .md or .json; it is {path.name!r}."


def _no_encoding(value: str) -> str:
    try:
        codecs.lookup(value)
    except LookupError:
        return f"there is no encoding {value!r}."
    return ""


_SHOW = "summary compare report"
_READ = f"{_SHOW} plan check"
_EVERY_LABEL = "its figures need the actual label of every row"
_INDEPENDENT = "its figures take examples to be independent"
_ONE_SYSTEM = "it checks one system whose examples are independent"
_NO_CLASSES = "outcomes have no classes"
_OF_CLASSES = dict.fromkeys(
    ("actuals", "predictions", "scores", "threshold", "split", "fold_column", "labels", "pos_label", "map",
     "prevalence"),
    _NO_CLASSES,
)  # fmt: skip
_OF_NUMBERS = dict.fromkeys(
    ("scores", "threshold", "split", "fold_column", "slices", "judges", "labels", "pos_label", "map", "verified_only",
     "correct", "grade", "metrics", "require", "prior", "top"),
    "numbers have no classes, and their mean is what is shown",
)  # fmt: skip
_ONE = dict.fromkeys(("by", "system_column", "fold_column", "judges", "baseline"), _ONE_SYSTEM)


@dataclass(frozen=True)
class Settings:
    """The options of the command line, a field each, and what becomes of columns when systems are put below each other.

    Of a file with a column for each system, `predictions` and `scores` are these columns, in the same order, and
    `predicted` and `score` what they become one below the other. Of `clusters` within clusters the first are the outer.
    """

    # What columns are.
    actuals: tuple[str, ...] = _option(
        (), "Column of actual labels [actual]. Repeated: one 0/1 column per label, each with its --predicted.",
        _READ, "--actual",
    )  # fmt: skip
    predictions: tuple[str, ...] = _option(
        (), "Column of predicted labels [predicted]. Repeated: each is a system, paired by row.", _READ, "--predicted"
    )
    scores: tuple[str, ...] = _option(
        (), "Column of scores, greater for the positive class. Repeated: one for each system.", _READ, "--score",
        against={"judges": _EVERY_LABEL, "clusters": f"{_INDEPENDENT}; in Python roc_auc(..., cluster=) does not"},
    )  # fmt: skip
    correct: str | None = _option(
        None, "Column that says whether a row is right (true or false, 1 or 0), in place of labels.", _READ,
        against=_OF_CLASSES | {"grade": "rows are right or wrong, or graded"},
    )  # fmt: skip
    grade: str | None = _option(None, "Column of grades, like 1 to 5, in place of labels.", _READ, against=_OF_CLASSES)
    answer: str | None = _option(
        None, "Column of the answers that attempts give, for their majority vote; those that pass are one answer.",
        _SHOW,
        needs={
            "correct": "only some answers pass",
            "clusters": "the majority is of the attempts at a question, whose column it names",
        },
    )  # fmt: skip
    credit: str | None = _option(
        None, "Column of credit, such as 0 to 1, whose mean is shown, in place of labels.", "summary compare",
        against=_OF_NUMBERS | dict.fromkeys(("actuals", "predictions"), "credit is not predicted"),
    )  # fmt: skip
    error: str | None = _option(
        None, "mae or rmse: --actual and --predicted hold numbers, whose mean error is shown.", "summary compare",
        fault=_ERROR, against=_OF_NUMBERS | {"credit": "credit is not predicted"},
    )  # fmt: skip
    bounds: tuple[str, ...] = _option(
        (), "Smallest and largest number that can occur, such as 0,1: intervals allow for those not seen.",
        "summary compare", has_entries=True, needs={"credit|error": "it is the range of numbers"},
    )  # fmt: skip
    threshold: float | None = _option(
        None, "Predictions are positive where --score is at least this; --predicted may stand beside.", _READ,
        needs={"scores": "it makes predictions of scores"},
    )  # fmt: skip
    split: str | None = _option(
        None, "Column that is 'test' in test rows; other rows choose the thresholds.", "summary report",
        needs={"scores": "thresholds are chosen on scores"},
        against={"judges": _EVERY_LABEL, "clusters": _INDEPENDENT},
    )  # fmt: skip
    system_column: str | None = _option(None, "Column that tells systems apart.", _READ, "--system")
    fold_column: str | None = _option(
        None, "Column of folds of cross-validation, which are pooled.", _READ, "--fold",
        against={
            "judges": "folds of which some examples are verified are not pooled",
            "clusters": "folds are pooled as independent ones",
        },
    )  # fmt: skip
    by: tuple[str, ...] = _option((), "Column of other groups to tell apart. Repeatable.", _READ)
    slices: tuple[str, ...] = _option(
        (), "Column to look for failures by, such as a site; several give their combinations.", "summary report",
        "--slice", against={"judges": _EVERY_LABEL, "clusters": _INDEPENDENT},
    )  # fmt: skip
    clusters: tuple[str, ...] = _option(
        (), "Column of clusters, such as patients, whose examples are alike. Repeatable, outer first.",
        f"{_SHOW} check", "--cluster",
    )  # fmt: skip
    id: str | None = _option(
        None, "Column that says which rows are the same example.", f"{_SHOW} check",
        needs={"against|baseline": "it matches the rows of two versions"},
    )  # fmt: skip
    judges: tuple[str, ...] = _option(
        (), "Column of a cheaper judge's labels, or scores, of every example; --actual, or --correct, is empty where "
        "unknown. Repeatable.", f"{_SHOW} check", "--judge",
    )  # fmt: skip
    verified_only: bool = _option(
        False, "Use only rows whose --actual, or --correct, is filled in, and no judge.", f"{_SHOW} check"
    )
    parts: bool = _option(
        False, "Files are parts of one data set, not told apart.", "summary compare report plan",
    )  # fmt: skip
    baseline: str | None = _option(
        None, "The system that the others are compared with: each difference is of another and this one.",
        f"{_SHOW} check", against={"top": "the baseline may not be among the best"},
    )  # fmt: skip
    # What they hold, and how it is written.
    map: tuple[str, ...] = _option(
        (), "Read a label as another, such as 'Yes=yes', or as missing, such as 'NA='. Repeatable.", _READ
    )
    decimal: str | None = _option(
        None, "Decimal mark of scores, '.' or ','. [as the file shows]", _READ, fault=_DECIMAL
    )
    encoding: str | None = _option(
        None,
        "Encoding of text, such as cp1252. [UTF-8, or another that the file shows]",
        f"{_READ} rank look",
        fault=_no_encoding,
    )
    labels: tuple[str, ...] = _option(
        (), "All classes, in order, comma-separated or repeated. [those that occur]", _READ, has_entries=True
    )
    pos_label: str | None = _option(None, "The positive class of a binary problem.", _READ)
    drop_missing: bool = _option(False, "Remove rows with missing values; with --id, whole examples.", _READ)
    # What is asked.
    metrics: tuple[str, ...] = _option(
        (), "Metrics, comma-separated or repeated. [the usual ones; for check accuracy]", f"{_SHOW} check", "--metric",
        "--metrics", has_entries=True, needs={"against|baseline": "it is what another version is compared by"},
    )  # fmt: skip
    require: tuple[str, ...] = _option(
        (), "A requirement, such as 'recall>=0.8'. Repeatable.", "summary report plan check"
    )
    confidence: float = _option(0.95, "Probability that shows a requirement met.", "plan check", fault=_CONFIDENCE)
    rope: float = _option(
        0.0, "Differences up to this, on the metric's scale, do not matter.", "compare report", fault=_NOT_NEGATIVE
    )
    ci_prob: float = _option(0.95, "Probability of the intervals.", f"{_SHOW} rank", fault=_PROBABILITY)
    prior: str | None = _option(
        None,
        "flat, jeffreys, perks, haldane or shared. [jeffreys; for 3 or more classes shared, for plans perks]",
        _READ,
    )
    top: int | None = _option(
        None, "Show only this many systems, the best by the first metric.", _SHOW, fault=_POSITIVE,
        against={"judges": _EVERY_LABEL, "clusters": _INDEPENDENT},
    )  # fmt: skip
    all: bool = _option(False, "Print all pairs, not only the best systems' or those of --baseline.", "compare")
    seed: int = _option(0, "Seed of Monte Carlo figures.", f"{_SHOW} check rank")
    order: bool = _option(False, "Estimate the advantage of the answer in the first column, shown first.", "rank")
    # Gates and plans.
    against: Path | None = _option(
        None, "File of the previous version: the new one must not be worse by --metric.", "check", against=_ONE
    )
    no_worse_by: float | None = _option(
        None, "How much worse than --against, or the --baseline, it may be. [0]", "check", fault=_MARGIN,
        needs={"against|baseline": "it is a margin between two versions"},
    )  # fmt: skip
    state: Path | None = _option(
        None, "File in which runs on new examples add up, valid however often you look.", "check",
        against=dict.fromkeys(("fold_column", "judges", "clusters"), _ONE_SYSTEM),
    )  # fmt: skip
    evidence: str | None = _option(None, "Successes and trials of the metric so far, such as 4/5. [0/0]", "plan")
    assurance: float = _option(0.8, "Probability that the new examples will show it.", "plan", fault=_PROBABILITY)
    question: str = _option("meet", "meet: show that it is met; settle: that it is or is not.", "plan")
    look_every: int | None = _option(None, "Plan for a look after every N trials, with a confidence sequence.", "plan")
    prevalence: float | None = _option(None, "Proportion of positives among the new examples.", "plan")
    # What is written.
    title: str | None = _option(None, "Title of the page.", "report")
    output: Path | None = _option(
        None, "Where to write the page: .html, .md or .json. [report.html, bayesperf-demo.html]", "report demo",
        "--output", "-o",
    )  # fmt: skip
    json: bool = _option(False, "Print JSON instead of tables.", f"{_SHOW} plan")
    format: str = _option("text", "text, markdown or json.", "check rank", fault=_FORMAT)

    actual: str = "actual"
    predicted: str = "predicted"
    score: str | None = None
    # The columns of predicted labels that stand beside those which a threshold makes.
    beside: tuple[str, ...] = ()
    # Whether no column holds predicted labels, and no threshold makes them: scores are judged by their order.
    scores_alone: bool = False
    # The labels of rows that have several of them, joined in one column.
    joined: tuple[str, ...] = ()

    @property
    def of_outcomes(self) -> bool:
        """Whether rows are right or wrong, or graded, and no labels are predicted."""
        return self.correct is not None or self.grade is not None

    @property
    def of_numbers(self) -> bool:
        """Whether columns hold numbers of which the mean is asked: credit, or errors."""
        return self.credit is not None or self.error is not None

    @property
    def calls(self) -> bool:
        """Whether predicted labels are made of scores: by a threshold, or all positive where scores stand alone."""
        return self.threshold is not None or self.scores_alone

    @property
    def system(self) -> str | None:
        """The column that tells systems apart: the first of `by` other than the folds."""
        return next((name for name in self.by if name != FOLD), None)

    @property
    def of_posterior(self) -> dict[str, Any]:
        """The prior and the seed, by the names that functions which make posteriors have for them."""
        return {"prior": self.prior, "random_seed": self.seed}

    @property
    def cluster(self) -> str | None:
        """The column of the clusters that are independent of each other."""
        return self.clusters[0] if self.clusters else None

    @property
    def judge(self) -> str | None:
        """The first of the judges."""
        return self.judges[0] if self.judges else None

    @property
    def stacked_by(self) -> str | None:
        """The column that tells apart what has a column each in a file: systems, or the labels of a row."""
        return None if not self.systems else LABEL if self.actuals else MODEL

    @property
    def in_order(self) -> dict[str, tuple[str, ...]]:
        """The systems and labels that stand in the order in which they are named, by the column that has them."""
        stacked = {self.stacked_by: self.actuals or self.systems} if self.stacked_by else {}
        return stacked | ({LABEL: self.joined} if self.joined else {})

    @property
    def systems(self) -> tuple[str, ...]:
        """The columns of a file that are a system each."""
        return self.predictions or self.scores


# The rows of the table, by field.
OPTIONS: Mapping[str, Option] = {
    each.name: each.metadata["option"] for each in fields(Settings) if "option" in each.metadata
}
DEFAULTS: Mapping[str, Any] = {each.name: each.default for each in fields(Settings)}


def given_options(settings: Settings) -> list[str]:
    """Return the options that are not at their defaults, by their fields."""
    return [name for name in OPTIONS if getattr(settings, name) != DEFAULTS[name]]


def flags_of(name: str) -> tuple[str, ...]:
    """Return how an option is typed, by its field, the usual way first."""
    return OPTIONS[name].flags or (f"--{name.replace('_', '-')}",)
