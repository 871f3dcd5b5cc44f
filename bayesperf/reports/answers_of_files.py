"""The answers of files that hold no predictions: studies of a test, reads, attempts at items, votes, and ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from bayesperf.comparison.comparing import compare
from bayesperf.core.errors import InputError
from bayesperf.core.words import enumerated, printable
from bayesperf.curves.areas.areas_of_readers import reader_areas
from bayesperf.curves.roc.summary_curve import summary_roc
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.files.option_table import Settings
from bayesperf.files.reading_kinds import FileOfKind
from bayesperf.groups.accuracy_over_studies import MetaAnalysis, meta_analysis
from bayesperf.labels.ratings import Ratings
from bayesperf.plan.next_outcomes import best_system, next_items
from bayesperf.posteriors.posterior import Posterior
from bayesperf.reports.answers import Answers, Part
from bayesperf.reports.judged_systems import judged_systems

# How right and wrong are written.
_RIGHT = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
_RATES = ("recall", "specificity")
# So many items are shown of those that tell most; with fewer studies than these none is left out.
_ITEMS, _FEWEST = 10, 3
# More items that are planned for, in multiples of those there are.
_TIMES = (1, 3)


def answers_of_file(read: FileOfKind, settings: Settings) -> Answers:
    """Return the answers of the rows of a file of a kind."""
    _refuse_missing(read)
    title, parts_of = ANSWERED[read.kind]
    said, parts = parts_of(read, settings)
    text = " ".join([said, read.columns_read, *map(printable, read.notes)])
    return Answers(parts, settings.ci_prob, settings.rope, settings.title or title, text)


def _refuse_missing(read: FileOfKind) -> None:
    for role, column in read.columns.items():
        if missing := int(read.frame[role].isna().sum()):
            s = "s" if missing > 1 else ""
            raise InputError(f"column {column!r}", f"has {missing:,} missing value{s}.", "Remove such rows.")


type _Found = tuple[str, dict[str, Sequence[Part]]]


def _of_pairs(read: FileOfKind, settings: Settings) -> _Found:
    found = judged_systems(read, settings)
    return found.read, found.parts


# ── Studies of a test ──


def _of_studies(read: FileOfKind, settings: Settings) -> _Found:
    """Return the answers for each test of the studies, and the comparison if there are two."""
    frame = read.frame if "study" in read.frame else read.frame.assign(study=range(1, len(read.frame) + 1))
    cells = {name: _whole_numbers(read, name) for name in ("tp", "fn", "fp", "tn")}
    tests = (
        {"": frame} if "test" not in frame else {str(test): rows for test, rows in frame.groupby("test", sort=False)}
    )
    parts: dict[str, Sequence[Part]] = {}
    found: dict[str, MetaAnalysis] = {}
    for test, rows in tests.items():
        if twice := rows["study"][rows["study"].duplicated()].tolist():
            raise InputError("column 'study'", f"has {twice[0]!r} twice.", "A row must be one study of a test.")
        counts = {name: column.loc[rows.index].tolist() for name, column in cells.items()}
        matrix = ConfusionMatrix.from_counts(**counts, dims={"study": rows["study"].tolist()})
        found[test] = meta_analysis(matrix, random_seed=settings.seed)
        parts |= _of_test(found[test], f": {test}" if len(tests) > 1 else "", settings.ci_prob)
    if len(found) == 2:
        first, second = (each.median_group for each in found.values())
        compared = [compare(first, second, rate, rope=settings.rope) for rate in _RATES]
        parts[f"Which test is better, {' or '.join(found)}?"] = compared
    return f"{len(frame):,} studies, with {sum(map(sum, cells.values())):,} cases.", parts


def _of_test(studies: MetaAnalysis, which: str, ci_prob: float) -> dict[str, Sequence[Part]]:
    """Return the answers for one test."""
    names = studies.counts["study"].values.tolist()
    parts: dict[str, Sequence[Part]] = {
        f"How good is the test{which}?": [studies],
        f"What if its threshold were another{which}?": [summary_roc(studies)],
    }
    if len(names) < _FEWEST or "none" in names:
        return parts
    return parts | {f"Does one study decide{which}?": [studies.without_each(ci_prob)]}


def _whole_numbers(read: FileOfKind, role: str) -> pd.Series[int]:
    """Return a column of counts; refuse other values."""
    values = pd.to_numeric(read.frame[role], errors="coerce")
    wrong = ~((values >= 0) & (values % 1 == 0))
    if wrong.any():
        held = read.frame[role][wrong].iloc[0]
        raise InputError(f"column {read.columns[role]!r}", f"holds {held!r}.", "Write whole numbers of cases.")
    return values.astype(int)


# ── Readers of the same cases ──


def _of_scored_reads(read: FileOfKind, settings: Settings) -> _Found:
    frame = _typed(read.frame)
    study = reader_areas(frame, pos_label=_label(frame, settings), random_seed=settings.seed, progressbar=False)
    parts: dict[str, Sequence[Part]] = {"How well do readers tell the cases apart?": [study]}
    if study.scores.sizes["modality"] > 1:
        parts["What does the analysis of variance say?"] = [study.obuchowski_rockette(settings.ci_prob)]
    return _reads(frame), parts


def _of_reads(read: FileOfKind, settings: Settings) -> _Found:
    from bayesperf.sampling.fitting import fit

    frame = _typed(read.frame)
    positive = _label(frame, settings)
    tree = fit(frame, "readers", pos_label=positive, random_seed=settings.seed, progressbar=False)
    average = Posterior.from_datatree(tree)
    parts: dict[str, Sequence[Part]] = {}
    if "modality" in frame and frame["modality"].nunique() > 1:
        parts["Which way of reading is better?"] = [
            compare(average, metric=rate, dim="modality", rope=settings.rope) for rate in _RATES
        ]
    return _reads(frame), parts | {
        "How good is the average reader?": [average],
        "How good is a new reader?": [Posterior.from_datatree(tree, part="new_group")],
        "How good is each reader?": [Posterior.from_datatree(tree, part="by_group")],
    }


def _reads(frame: pd.DataFrame) -> str:
    numbers = [f"{frame[role].nunique():,} {words}" for role, words in _OF_READS.items() if role in frame]
    return f"{len(frame):,} reads: {enumerated(numbers)}."


_OF_READS = {"reader": "readers", "case": "cases", "modality": "ways of reading"}


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of text in which columns of numbers are numbers."""
    numbers = {str(name): pd.to_numeric(frame[name], errors="coerce") for name in frame}
    whole = {name: column for name, column in numbers.items() if (column.notna() | frame[name].isna()).all()}
    return frame.assign(**whole)


def _label(frame: pd.DataFrame, settings: Settings) -> str | float | None:
    """Return the positive class as the column of the truth holds it."""
    wanted = settings.pos_label
    return next((value for value in frame["truth"].unique().tolist() if str(value) == wanted), wanted)


# ── Attempts at items ──


def _of_attempts(read: FileOfKind, settings: Settings) -> _Found:
    from bayesperf.sampling.fitting import fit

    frame = read.frame
    right = frame["correct"].str.lower().map(_RIGHT)
    if (wrong := right.isna()).any():
        held = frame["correct"][wrong].iloc[0]
        raise InputError(f"column {read.columns['correct']!r}", f"holds {held!r}.", "Write 1 and 0, or true and false.")
    outcomes = Outcomes.from_correct(right.astype(bool), by={"model": frame["system"], "item": frame["item"]})
    tree = fit(outcomes, "items", random_seed=settings.seed, progressbar=False)
    systems, items = outcomes.counts.shape[:2]
    ranking, facts = compare(tree, metric="pass_rate", rope=settings.rope), tree["posterior"].attrs
    parts: dict[str, Sequence[Part]] = {
        "Which system is best on the same items?": [ranking, ranking.standings(settings.ci_prob)],
        "Which items tell most?": [next_items(tree, _ITEMS)],
        "How many more items would show the best?": [best_system(tree, [n * items for n in _TIMES])],
    }
    said = (
        f"{len(frame):,} attempts of {systems:,} systems at {items:,} items, of which no system passed "
        f"{facts['passed_by_none']:,} and every system passed {facts['passed_by_all']:,}."
    )
    return said, parts


# ── Raters of the same items ──


def _of_ratings(read: FileOfKind, settings: Settings) -> _Found:
    """Return the agreement beyond chance, of classes or of numbers on a scale, and without regard to chance."""
    frame = _typed(read.frame)
    ratings = Ratings.from_frame(frame, item="item", rater="rater", rating="rating")
    is_scale = frame["rating"].dtype.kind in "iuf" and frame["rating"].nunique() > 2
    alpha = ratings.agreement(
        "krippendorff_alpha", level="ordinal" if is_scale else "nominal", random_seed=settings.seed
    )
    percent = ratings.agreement("percent_agreement", random_seed=settings.seed)
    taken = " Numbers are taken as grades in order: 1 and 2 disagree less than 1 and 4." if is_scale else ""
    said = (
        f"{len(frame):,} ratings of {frame['item'].nunique():,} items by {frame['rater'].nunique():,} raters.{taken} "
        "Agreement is not accuracy: raters who make the same mistake agree."
    )
    return said, {
        "How well do the raters agree, beyond chance?": [alpha],
        "How often do two raters agree?": [percent],
    }


# The title of the page of a kind, and the function that returns what was read, and the answers by their questions.
ANSWERED: Mapping[str, tuple[str, Callable[[FileOfKind, Settings], _Found]]] = {
    "judged pairs": ("Systems preferred by judges", _of_pairs),
    "studies": ("Studies of a test", _of_studies),
    "scored reads": ("Readers of the same cases", _of_scored_reads),
    "reads": ("Readers of the same cases", _of_reads),
    "attempts": ("Systems and items", _of_attempts),
    "ratings": ("Raters of the same items", _of_ratings),
}
