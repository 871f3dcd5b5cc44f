"""Ratings: the labels that several raters gave the same items, as counts of their patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.saving import Saved
from bayesperf.core.words import listed
from bayesperf.data.frames import count_rows
from bayesperf.data.label_encoding import (
    Column,
    check_labels,
    codes_for_labels,
    encode,
    encode_ids,
    merge_labels,
    positive_label,
    warn_of_lookalikes,
)
from bayesperf.data.totals import refuse_missing_rows
from bayesperf.labels.rater_agreement import (
    LEVELS,
    intraclass,
    linearised,
    posterior_of_agreement,
    values_compared,
)
from bayesperf.posteriors.marginal import Marginal

# So many numbers of answers (items × raters × classes) are counted at most, a gigabyte.
MOST_ANSWERS = 250_000_000
_MISSING = "·"
_MOST_SHOWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class Ratings(Saved):
    """Labels that raters gave to items with unknown actual classes, as counts of patterns.

    A pattern says how often each rater gave each rating to an item; an item may lack answers, or have several from one
    rater. Immutable. Make one with `from_frame` or `from_table`; `bayesperf.fit` accepts it for the model ``raters``.

    Parameters
    ----------
    patterns : xarray.Dataset
        ``counts`` (population, pattern), or (pattern): number of items with a pattern. ``answers`` (pattern, rater,
        rating): how often a rater gave a rating. ``known`` (pattern): the position of the actual class, −1 if it is
        unknown.
    pos_label : label, optional
        The positive one of two classes.
    items : xarray.Dataset, optional
        ``pattern`` (item), the position of each item's pattern, and with populations ``population`` (item).
    """

    patterns: xr.Dataset
    pos_label: Any = None
    items: xr.Dataset | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "pos_label", positive_label(self.labels, self.pos_label))

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: Any,
        *,
        item: str,
        rater: str,
        rating: str,
        population: str | None = None,
        actual: str | None = None,
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
    ) -> Ratings:
        """Count a frame with a row for each answer; equal answers of a rater to an item are counted in its engine.

        Parameters
        ----------
        frame : native frame
            As in `ConfusionMatrix.from_frame`: pandas, Polars, PyArrow, DuckDB, Dask, …
        item, rater, rating : str
            Columns of the item, the rater, and the answer. An item that a rater did not rate has no row for it; an item
            rated several times has several.
        population : str, optional
            Column of populations, which may differ in prevalence.
        actual : str, optional
            Column of actual classes, missing if unknown.
        labels : sequence, optional
            All classes, in order; by default the classes that occur.
        pos_label : label, optional
            The positive one of two classes.

        Raises
        ------
        TypeError, ValueError
            If a column is absent, contains something that is not a label, or has missing values; if the rows of an item
            disagree on its population or its actual class.

        Examples
        --------
        >>> import bayesperf as bp
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"image": [1, 1, 2, 2, 3], "by": ["ann", "bob", "ann", "bob", "ann"],
        ...                       "says": ["cat", "cat", "dog", "cat", "dog"]})
        >>> bp.Ratings.from_frame(frame, item="image", rater="by", rating="says")
        <bayesperf.Ratings: 3 items, 2 raters, 2 classes, 3 patterns, 5 answers>
                   items
        ann bob
        cat cat        1
        dog cat        1
        dog ·          1
        """
        roles = {"item": item, "rater": rater, "rating": rating, "population": population, "actual": actual}
        columns = [name for name in roles.values() if name is not None]
        values, rows = count_rows(frame, columns)
        refuse_missing_rows(values, rows, [name for name in columns if name != actual])
        ids = encode_ids(values[item], f"column {item!r}")
        raters = encode(values[rater], f"column {rater!r}", fractions=True)
        given = encode(values[rating], f"column {rating!r}")
        truth = _KnownColumn.of(values, actual)
        classes = _classes([(f"column {rating!r}", given), *truth.columns.items()], labels)
        answered = codes_for_labels(given, classes, f"column {rating!r}")
        known = _one_each(ids, truth.codes(classes), item, actual)
        by_population = None
        if population is not None:
            column = encode(values[population], f"column {population!r}", fractions=True)
            by_population = column._replace(codes=_one_each(ids, column.codes, item, population))
        answers = _Answers(ids.codes, raters.codes, answered, rows)
        of_items = _Items(known, by_population, np.ones(len(ids.labels), np.int64), ids.labels)
        return cls(*_counted(answers, of_items, raters.labels, classes, pos_label))

    @classmethod
    @checked
    def from_table(
        cls,
        table: Any,
        *,
        population: str | None = None,
        actual: str | None = None,
        counts: str | None = None,
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
    ) -> Ratings:
        """Count a table with a row for each item, or each pattern, and a column for each rater.

        Parameters
        ----------
        table : array-like or frame
            Answers, items × raters; missing ones are None or NaN. Columns of the same name are repeats of one rater.
            The index of a pandas frame has the ids of the items.
        population, actual : str, optional
            Columns of the frame, as in `from_frame`.
        counts : str, optional
            Column of the frame with the number of items with the pattern in its row; without it a row is an item.
        labels, pos_label
            As in `from_frame`.

        Raises
        ------
        TypeError, ValueError
            As in `from_frame`; or if the counts are not whole numbers.

        Examples
        --------
        Two tests of tuberculosis in two populations (Hui & Walter 1980):

        >>> import bayesperf as bp
        >>> import pandas as pd
        >>> table = pd.DataFrame({"site": ["south"] * 4 + ["north"] * 4, "mantoux": list("++--") * 2,
        ...                       "tine": list("+-+-") * 2, "n": [14, 4, 9, 528, 887, 31, 37, 367]})
        >>> print(repr(bp.Ratings.from_table(table, population="site", counts="n", pos_label="+")).splitlines()[0])
        <bayesperf.Ratings: 1877 items, 2 raters, 2 classes, 2 populations, 4 patterns, 3754 answers>
        """
        frame = _frame(table)
        special = [name for name in (population, actual, counts) if name is not None]
        if absent := [name for name in special if name not in list(frame.columns)]:
            raise InputError(
                "table", f"has no column {absent[0]!r}; its columns are {listed(list(frame.columns), 12)}."
            )
        by_rater = {place: frame.iloc[:, place] for place, name in enumerate(frame.columns) if name not in special}
        present = {place: np.flatnonzero(~np.asarray(pd.isna(column))) for place, column in by_rater.items()}
        names = {place: f"column {column.name!r}" for place, column in by_rater.items()}
        encoded = {
            place: encode(column.iloc[present[place]].to_numpy(), names[place])
            for place, column in by_rater.items()
            if len(present[place])
        }
        if not encoded:
            raise InputError("table", "holds no answers: it needs a row an item, and a column a rater.")
        truth = _KnownColumn.of(frame, actual)
        classes = _classes(
            [*((names[place], column) for place, column in encoded.items()), *truth.columns.items()], labels
        )
        raters = list(dict.fromkeys(column.name for column in by_rater.values()))
        parts = [
            (present[place], np.full(len(present[place]), raters.index(by_rater[place].name)),
             codes_for_labels(column, classes, names[place]))
            for place, column in encoded.items()
        ]  # fmt: skip
        item, by, answered = (np.concatenate(part) for part in zip(*parts, strict=True))
        answers = _Answers(item, by, answered, None)
        by_population = None
        if population is not None:
            by_population = encode(frame[population].to_numpy(), f"column {population!r}", fractions=True)
        if counts is None:
            of_items = _Items(
                truth.codes(classes), by_population, np.ones(len(frame), np.int64), frame.index.to_numpy()
            )
        else:
            items = checks.whole_numbers(f"column {counts!r}", frame[counts].to_numpy()).astype(np.int64)
            of_items = _Items(truth.codes(classes), by_population, items, None)
        return cls(*_counted(answers, of_items, np.array(raters), classes, pos_label))

    def agreement(
        self,
        coefficient: str = "krippendorff_alpha",
        level: str = "nominal",
        *,
        groups: Mapping[Any, Sequence[Any]] | None = None,
        new_raters: bool = False,
        draws: int = 4000,
        random_seed: Any = 0,
    ) -> Marginal:
        """Return the posterior of how far the raters agree, by the Bayesian bootstrap of items.

        Agreement is not accuracy: raters who make the same mistakes agree. The model ``raters`` of `bayesperf.fit` is
        about accuracy.

        Parameters
        ----------
        coefficient : str
            "krippendorff_alpha"; "percent_agreement"; "cohen_kappa" (more than two raters: Conger's); "fleiss_kappa"
            (two raters: Scott's pi); "gwet_ac" (AC1, or AC2 if `level` is not "nominal"); "brennan_prediger"; or an
            intraclass correlation of a single rater: "icc_one_way" (1,1), "icc_agreement" (2,1), "icc_consistency"
            (3,1). Missing answers are allowed in all of them.
        level : {"nominal", "ordinal", "interval", "ratio"}
            How far different answers agree: not at all; by the number of answers between them (in alpha,
            Krippendorff's; in the others, Gwet's ordinal weights); by the square of their distance; or by the square of
            their distance over their sum. Intraclass correlations take the answers as numbers.
        groups : mapping of str to sequence of raters, optional
            Groups of raters, such as two codebooks, along the dim ``raters``. They answered about the same items, so
            `bayesperf.compare` with ``dim="raters"`` is paired.
        new_raters : bool
            Whether the raters are a sample, too: their weights are drawn with those of the items. Needs three raters.
        draws : int
            Number of draws.
        random_seed : int or numpy.random.Generator
            Seed of the draws.

        Returns
        -------
        Marginal
            Over ``raters`` and ``population``, where there are several; its observed score is the coefficient itself.

        Raises
        ------
        ValueError
            If fewer than three items have two answers, a rater answered an item twice, or `level` needs numbers.

        Warns
        -----
        DependenceWarning
            If fewer than 20 items have two answers.

        Notes
        -----
        Half an unseen item on which two raters disagree is added to each draw (not to intraclass correlations), so
        that perfect agreement leaves an interval with width. docs/coverage.md shows how often intervals cover.

        References
        ----------
        Gwet (2014), Handbook of inter-rater reliability; Krippendorff (2019), Content analysis; Shrout & Fleiss (1979).

        Examples
        --------
        >>> import bayesperf as bp
        >>> table = {"ann": [1, 2, 3, 1, 2, 3] * 5, "bob": [1, 2, 3, 1, 2, 2] * 5, "cem": [1, 2, 3, 1, 3, 3] * 5}
        >>> alpha = bp.Ratings.from_table(table).agreement("krippendorff_alpha", "ordinal")
        >>> print(alpha.in_words())
        Krippendorff's alpha is 0.807 (95 % HDI 0.640–0.945; observed 0.835).
        """
        return posterior_of_agreement(
            self,
            coefficient,
            level,
            groups,
            new_raters,
            checks.count("draws", draws, least=2),
            checks.seed(random_seed),
        )

    @checked
    def agreement_intervals(self, level: str = "nominal", confidence: float = 0.95) -> pd.DataFrame:
        """Return confidence intervals of the coefficients of agreement by linearisation, for a reviewer.

        Parameters
        ----------
        level : {"nominal", "ordinal", "interval", "ratio"}
            As in `agreement`.
        confidence : float
            Confidence of the intervals, which have Student's t with `df` and end at the coefficient's bounds.

        Returns
        -------
        pandas.DataFrame
            A row for each coefficient (and population): ``coefficient, estimate, se, df, ci_lower, ci_upper``.

        Raises
        ------
        ValueError
            If fewer than two items have several answers, or all answers are the same.

        Warns
        -----
        UserWarning
            If an interval has no width.

        Notes
        -----
        With complete answers the standard errors are Gwet's (2014), which the R package irrCAC prints (from a table of
        two raters it divides by n instead of n − 1). If an item has a single answer, its standard errors are larger,
        because it takes the agreement about that item for 0. For alpha it has another formula, which differs by some 3
        %. Perfect agreement has no standard error; `agreement` leaves a width.

        Examples
        --------
        >>> import bayesperf as bp
        >>> table = {"ann": [1, 2, 3, 1, 2, 3] * 5, "bob": [1, 2, 3, 1, 2, 2] * 5}
        >>> intervals = bp.Ratings.from_table(table).agreement_intervals().set_index("coefficient")
        >>> intervals.loc["cohen_kappa", ["estimate", "se"]].round(3).tolist()
        [0.75, 0.099]
        """
        checks.one_of("level", level, LEVELS)
        of_rows = partial(linearised, labels=self.labels, level=level)
        return self._table_of_intervals(of_rows, confidence)

    @checked
    def intraclass_intervals(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return the six intraclass correlations of Shrout & Fleiss (1979), with intervals by F tests, for a reviewer.

        Parameters
        ----------
        confidence : float
            Confidence of the intervals.

        Returns
        -------
        pandas.DataFrame
            A row for each ``coefficient`` and number of ``raters`` whose mean is used, 1 or all: ``estimate, ci_lower,
            ci_upper``, and the F test of no agreement, ``f, df1, df2, p_value``.

        Raises
        ------
        ValueError
            If answers are missing or not numbers, if items do not differ on average, or raters all see the same
            differences between items.

        Examples
        --------
        >>> import bayesperf as bp
        >>> scores = [(9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7)]
        >>> bp.Ratings.from_table(scores).intraclass_intervals()["estimate"].round(2).tolist()
        [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
        """
        values = values_compared("icc_agreement", "interval", self.labels)
        return self._table_of_intervals(partial(intraclass, values=np.asarray(values)), confidence)

    def _table_of_intervals(self, of_rows: Callable[..., list[dict[str, Any]]], confidence: float) -> pd.DataFrame:
        """Return the rows of each population."""
        counts = self.counts.transpose(..., "pattern")
        places = [{}] if counts.ndim == 1 else [{"population": name} for name in counts["population"].values.tolist()]
        given = self.patterns["answers"].values
        level = checks.probability("confidence", confidence)
        rows = [
            place | row
            for place, sizes in zip(places, np.atleast_2d(counts.values), strict=True)
            for row in of_rows(given, sizes, confidence=level)
        ]
        table = pd.DataFrame(rows)
        table.attrs["confidence"] = confidence
        return table

    @property
    def counts(self) -> xr.DataArray:
        """Number of items with each pattern, (population, pattern), or (pattern)."""
        return self.patterns["counts"]

    @property
    def raters(self) -> list[Any]:
        """The raters."""
        raters: list[Any] = self.patterns["rater"].values.tolist()
        return raters

    @property
    def labels(self) -> list[Any]:
        """The K class labels."""
        labels: list[Any] = self.patterns["rating"].values.tolist()
        return labels

    def __repr__(self) -> str:
        counts = self.counts
        parts = [_many(int(counts.sum()), "item"), _many(len(self.raters), "rater"), f"{len(self.labels)} classes"]
        if "population" in counts.dims:
            parts.append(_many(counts.sizes["population"], "population"))
        answers = int((counts * self.patterns["answers"].sum(["rater", "rating"])).sum())
        parts += [_many(counts.sizes["pattern"], "pattern"), _many(answers, "answer")]
        known = int(counts.where(self.patterns["known"] >= 0, 0).sum())
        parts += [f"{known} of known class"] if known else []
        return f"<bayesperf.Ratings: {', '.join(parts)}>\n{self._table()}"

    def _table(self) -> str:
        """Return the patterns as a table; if there are many, the most frequent ones."""
        counts = self.counts.transpose("pattern", ...)
        of_rater = np.array(_pattern_texts(self.patterns["answers"].values, self.labels), object)
        index = pd.MultiIndex.from_arrays(list(of_rater.T), names=[str(name) for name in self.raters])
        columns = counts["population"].to_index() if "population" in counts.dims else ["items"]
        frame = pd.DataFrame(counts.values.reshape(len(index), -1), index, columns)
        if len(frame) <= _MOST_SHOWN:
            return frame.to_string(sparsify=False)
        order = np.argsort(-frame.sum(axis=1).to_numpy(), kind="stable")[:_MOST_SHOWN]
        return f"{frame.iloc[order].to_string(sparsify=False)}\n… and {len(frame) - _MOST_SHOWN} patterns more"


# ── Counting ──


class _Answers(NamedTuple):
    """A row for each answer: its item, rater, class, and count."""

    item: Codes
    rater: Codes
    rating: Codes
    rows: Counts | None


class _Items(NamedTuple):
    """The facts about each item: its class or −1, its population, its weight, and ids if it has one."""

    known: Codes
    population: Column | None
    weights: Counts
    ids: NDArray[Any] | None


class _KnownColumn(NamedTuple):
    """A column of actual classes, some of which are missing."""

    present: NDArray[np.bool_]
    columns: dict[str, Column]

    @classmethod
    def of(cls, values: Any, name: str | None) -> _KnownColumn:
        """Return the column with a name, or one in which all are missing."""
        if name is None:
            return cls(np.zeros(1, bool), {})
        array = np.asarray(values[name])
        present = ~np.asarray(pd.isna(array))
        return cls(present, {f"column {name!r}": encode(array[present], f"column {name!r}")} if present.any() else {})

    def codes(self, classes: NDArray[Any]) -> Codes:
        """Return the positions of the actual classes, −1 if they are missing."""
        codes = np.full(len(self.present), -1)
        for name, column in self.columns.items():
            codes[self.present] = codes_for_labels(column, classes, name)
        return codes


def _counted(
    answers: _Answers, items: _Items, raters: NDArray[Any], classes: NDArray[Any], pos_label: Any
) -> tuple[xr.Dataset, Any, xr.Dataset | None]:
    """Return the fields of `Ratings`: patterns, the positive class, and the pattern of each item that has an id."""
    number, shape = len(items.weights), (len(raters), len(classes))
    size = number * shape[0] * shape[1]
    if size > MOST_ANSWERS:
        raise InputError(
            "",
            f"{number} items × {shape[0]} raters × {shape[1]} classes are {size} numbers, more than {MOST_ANSWERS}.",
            "Give a part of the items, or of the raters.",
        )
    flat = np.ravel_multi_index((answers.item, answers.rater, answers.rating), (number, *shape))
    table = np.bincount(flat, answers.rows, minlength=size).astype(np.int32).reshape(number, -1)
    known = np.broadcast_to(items.known, number)
    # With the sign turned, patterns are in the order of the classes, and no answer comes last.
    rows, of_item = np.unique(np.column_stack([known, -table]).astype(np.int32), axis=0, return_inverse=True)
    of_item = of_item.ravel()
    populations = items.population
    places = (of_item,) if populations is None else (populations.codes, of_item)
    lengths = (len(rows),) if populations is None else (len(populations.labels), len(rows))
    counts = np.bincount(np.ravel_multi_index(places, lengths), items.weights, minlength=int(np.prod(lengths)))
    coords = {"rater": raters, "rating": classes} | ({} if populations is None else {"population": populations.labels})
    dims = ("pattern",) if populations is None else ("population", "pattern")
    patterns = xr.Dataset(
        {
            "counts": (dims, counts.astype(np.int64).reshape(lengths)),
            "answers": (("pattern", "rater", "rating"), -rows[:, 1:].reshape(-1, *shape)),
            "known": ("pattern", rows[:, 0]),
        },
        coords,
    )
    if items.ids is None:
        return patterns, pos_label, None
    own = {"pattern": ("item", of_item)} | ({} if populations is None else {"population": ("item", populations.codes)})
    return patterns, pos_label, xr.Dataset(own, {"item": items.ids})


def _pattern_texts(answers: NDArray[Any], labels: Sequence[Any]) -> list[list[str]]:
    """Return each rater's answers in each pattern, as text."""
    columns = []
    for rater in range(answers.shape[1]):
        distinct, place = np.unique(answers[:, rater], axis=0, return_inverse=True)
        texts = [
            "/".join(str(label) for label, times in zip(labels, row, strict=True) for _ in range(times)) or _MISSING
            for row in distinct
        ]
        columns.append([texts[at] for at in place.ravel()])
    return [list(row) for row in zip(*columns, strict=True)]


def model_data(ratings: Ratings) -> xr.DataArray:
    """Return the counts as the model ``raters`` expects them, with the patterns in coordinates and attributes."""
    patterns = ratings.patterns
    texts = _pattern_texts(patterns["answers"].values, ratings.labels)
    known = [f" ({ratings.labels[place]})" if place >= 0 else "" for place in patterns["known"].values]
    names = [" ".join(row) + of_known for row, of_known in zip(texts, known, strict=True)]
    attrs = {
        "answers": patterns["answers"].values,
        "known": patterns["known"].values,
        "raters": ratings.raters,
        "labels": ratings.labels,
    } | ({} if ratings.pos_label is None else {"pos_label": ratings.pos_label})
    return ratings.counts.assign_coords(pattern=names).assign_attrs(attrs)


# ── Columns ──


def _frame(table: Any) -> pd.DataFrame:
    """Return a table of any kind as a pandas frame."""
    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, np.ndarray | list | tuple | Mapping):
        return pd.DataFrame(table)
    try:
        eager = nw.from_native(table, eager_only=True)
    except TypeError:
        raise InputTypeError(
            "table",
            f"is {type(table).__name__}: give an array or a pandas, Polars or PyArrow frame of "
            "items × raters; of a row an answer, Ratings.from_frame takes any engine.",
        ) from None
    return pd.DataFrame({name: pd.Series(eager[name].to_list(), dtype=object) for name in eager.columns})


def _classes(named: Sequence[tuple[str, Column]], labels: Iterable[Any] | None) -> NDArray[Any]:
    """Return all classes, in order, of columns with their names; several may have one name."""
    names, columns = zip(*named, strict=True)
    classes = merge_labels(columns, names) if labels is None else check_labels(labels)
    if len(classes) < 2:
        raise InputError(
            "labels", f"only one label occurs ({listed(classes.tolist())}).", "Name all of them, in `labels`."
        )
    warn_of_lookalikes(classes, " and ".join(dict.fromkeys(names)))
    return classes


def _one_each(ids: Column, codes: Codes, item: str, name: str | None) -> Codes:
    """Return the code of each item, which must be the same in all of its rows."""
    codes = np.broadcast_to(codes, len(ids.codes))
    of_each = np.full(len(ids.labels), -1)
    of_each[ids.codes] = codes
    if (differ := np.flatnonzero(of_each[ids.codes] != codes)).size:
        raise InputError(
            "column", f"{name!r} differs between rows of {item} {ids.labels[ids.codes[differ[0]]]!r}: an item has one."
        )
    return of_each


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
