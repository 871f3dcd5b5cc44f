"""Outcomes of examples that have no class to predict: right or wrong, or a grade on a scale.

They are counted as labels are, over one last dim ``outcome``. For all computations with cells, outcomes are a table
with a single row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesperf.core import checks
from bayesperf.core.arguments import checked, refuse_unreadable
from bayesperf.core.arrays import Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.words import listed
from bayesperf.data.axis_names import MODEL
from bayesperf.data.clusters import Clusters, check_within, cluster_column, clusters_of_rows
from bayesperf.data.count_arrays import as_outcomes, as_table, check_dims, check_size, labelled_arrays
from bayesperf.data.counted import Counted
from bayesperf.data.cross_tabulation import EncodedColumns, count_combinations
from bayesperf.data.display import outcomes_html, outcomes_text
from bayesperf.data.label_encoding import Column, check_labels, encode, encode_levels
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.response_patterns import ResponsePatterns, of_columns, of_examples
from bayesperf.data.totals import refuse_missing_rows

# Right or wrong, as grades.
RIGHT = {0: 0, 1: 1}
# A scale without names is refused above this many grades, which are then scores.
_MOST_GRADES = 100

type Scale = Sequence[float] | Mapping[Any, float]


@dataclass(frozen=True, eq=False, repr=False)
class Outcomes(Counted):
    """Counts of the outcome of each example: right or wrong, or a grade on a scale, with any leading dims.

    Immutable. Make one with a constructor below: `from_correct`, `from_grades`, `from_counts`, `from_frame`.

    Parameters
    ----------
    counts : xarray.DataArray
        Non-negative whole numbers with dims ``(..., outcome)``, whose coordinates are the grades, in increasing order;
        0 and 1 are wrong and right.
    patterns : ResponsePatterns, optional
        The grades of several systems on the same examples. Constructors that know it supply it.
    clusters : Clusters, optional
        The outcomes of each cluster's examples, if they were counted with clusters (``cluster=``).

    Raises
    ------
    ValueError
        If the counts are negative, fractional or missing, or the grades are not numbers in increasing order.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.Outcomes.from_grades([5, 4, 4, 2, 5], scale=[1, 2, 3, 4, 5])
    <bayesperf.Outcomes: 5 examples>
    outcome  1  2  3  4  5
    counts   0  1  0  2  2
    """

    cell_dims: ClassVar[tuple[str, ...]] = ("outcome",)
    pos_label: ClassVar[None] = None  # type: ignore[misc]

    counts: xr.DataArray
    patterns: ResponsePatterns | None = None
    clusters: Clusters | None = None

    def __post_init__(self) -> None:
        refuse_unreadable({"counts": self.counts})
        counts = self._checked_counts()
        grades = counts["outcome"].values
        if grades.dtype.kind not in "ifb" or not (np.diff(grades.astype(float)) > 0).all():
            raise InputError("outcome", f"must hold grades as numbers, in increasing order; it is {grades.tolist()}.")
        object.__setattr__(self, "counts", counts)

    # ── Constructors ──

    @classmethod
    @checked
    def from_correct(
        cls, correct: Any, *, by: Mapping[str, Any] | None = None, example: Any = None, cluster: Any = None
    ) -> Outcomes:
        """Count right and wrong answers.

        Parameters
        ----------
        correct : array-like of shape (n,), or mapping of str to such
            Whether each example is right: booleans, or 0 and 1. A mapping holds a column for each system tested on the
            same examples: they become the dim ``model``.
        by : mapping of str to array-like of shape (n,), optional
            Columns that become leading dims, such as ``{"model": names}``.
        example : array-like of shape (n,), optional
            Ids of the examples, if the systems of the dim ``model`` have a row each for the same examples.
        cluster : array-like of shape (n,) or mapping of str to array-like, optional
            The question, document or person that each row belongs to, if it has several rows; for example
            ``{"question": ids}`` for several attempts at each question. See `ConfusionMatrix.from_predictions`.

        Raises
        ------
        ValueError
            If columns are empty, of unequal length, or have missing values, or `correct` contains anything but 0 and 1.

        Examples
        --------
        >>> import bayesperf as bp
        >>> outcomes = bp.Outcomes.from_correct([True, True, False, True])
        >>> bp.posterior(outcomes)["accuracy"].mean().round(2).item()
        0.7
        """
        return cls._of_rows(correct, "correct", RIGHT, by, example, cluster)

    @classmethod
    @checked
    def from_grades(
        cls,
        grades: Any,
        *,
        scale: Scale | None = None,
        by: Mapping[str, Any] | None = None,
        example: Any = None,
        cluster: Any = None,
    ) -> Outcomes:
        """Count grades on a scale.

        Parameters
        ----------
        grades : array-like of shape (n,), or mapping of str to such
            The grade of each example, or a column for each system.
        scale : sequence of numbers or mapping to numbers, optional
            All possible grades; or the value of each, such as ``{"poor": 0, "fair": 0.5, "good": 1}``. By default the
            grades that occur, and all whole numbers between the smallest and the largest of them.
        by, example, cluster
            As in `from_correct`.

        Raises
        ------
        ValueError
            If a grade is not on the scale, or columns are empty, of unequal length, or have missing values.

        Examples
        --------
        >>> import bayesperf as bp
        >>> verdicts = ["win", "tie", "win", "loss"]
        >>> outcomes = bp.Outcomes.from_grades(verdicts, scale={"loss": 0, "tie": 0.5, "win": 1})
        >>> bp.score(outcomes, "mean_grade").item()
        0.625
        """
        return cls._of_rows(grades, "grades", scale, by, example, cluster)

    @classmethod
    @checked
    def from_counts(
        cls, *, right: ArrayLike, n: ArrayLike, dims: Sequence[str] | Mapping[str, Sequence[Any]] | None = None
    ) -> Outcomes:
        """Return outcomes from the numbers of right ones and of all.

        Parameters
        ----------
        right, n : int or array-like or xarray.DataArray
            Number of right outcomes, and of all. They broadcast against each other.
        dims : sequence of str or mapping, optional
            Names of the axes of arrays, or a mapping of names to their coordinates.

        Raises
        ------
        ValueError
            If a number is negative, fractional or missing, or more outcomes are right than there are.

        Examples
        --------
        >>> import bayesperf as bp
        >>> outcomes = bp.Outcomes.from_counts(right=[45, 41], n=50, dims={"model": ["new", "old"]})
        >>> bp.score(outcomes, "pass_rate").values
        array([0.9 , 0.82])
        """
        given = {"right": right, "n": n}
        for name, value in given.items():
            checks.whole_numbers(name, xr.DataArray(value).values)
        right_, n_ = labelled_arrays(given, dims)
        if (right_ > n_).any():
            raise InputError("right", "is greater than n.", "Give the number of all outcomes as `n`.")
        counts = xr.concat([n_ - right_, right_], "outcome").transpose(..., "outcome")
        return cls(counts.assign_coords(outcome=[0, 1]))

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: Any,
        *,
        correct: str | Sequence[str] | None = None,
        grade: str | Sequence[str] | None = None,
        scale: Scale | None = None,
        by: str | Sequence[str] = (),
        example: str | None = None,
        cluster: str | Sequence[str] | None = None,
    ) -> Outcomes:
        """Count in a data frame; the group-by runs in the frame's own engine, which returns only counts.

        Parameters
        ----------
        frame : native frame
            One row per example, or per attempt, in any engine that `ConfusionMatrix.from_frame` supports.
        correct, grade : str or sequence of str
            One of the two: the column that says whether a row is right (booleans, or 0 and 1), or its grade. Several
            columns hold systems on the same examples, one row per example: they become the dim ``model``.
        scale
            As in `from_grades`.
        by : str or sequence of str
            Columns that become leading dims.
        example : str, optional
            Column of ids, if each system has its own row for every example.
        cluster : str or sequence of str, optional
            Column that says what each row belongs to, such as ``"question"``, if it has several rows.

        Raises
        ------
        TypeError
            If the frame or the type of a column is not supported.
        ValueError
            If a column is absent, named twice or has missing values, the frame has no rows, or its engine fails.

        Examples
        --------
        >>> import duckdb
        >>> import bayesperf as bp
        >>> runs = duckdb.sql("SELECT i % 3 = 0 AS passed, i % 20 AS question FROM range(60) AS rows(i)")
        >>> outcomes = bp.Outcomes.from_frame(runs, correct="passed", cluster="question")
        >>> outcomes.counts.values, outcomes.clusters.size
        (array([40, 20]), 20)
        """
        from bayesperf.data.frames import column_names, count_rows, lazy_frame
        from bayesperf.data.matched_rows import matched_columns

        if (correct is None) == (grade is None):
            raise InputTypeError("correct", "name a column of right and wrong, or one of grades, as `grade`.")
        if correct is not None and scale is not None:
            raise InputTypeError("scale", "applies to grades; right and wrong are 1 and 0.", "Remove `scale`.")
        keys, within, systems = (
            column_names(by),
            column_names(cluster),
            column_names(grade if correct is None else correct),
        )
        if not systems or (example is not None and len(systems) > 1):
            asked = "grade" if correct is None else "correct"
            raise InputError(asked, "name a column; or one for each system, and then no `example`.")
        lazy_frame(frame, [*systems, *keys, *within])
        values, rows = count_rows(frame, [*systems, *keys, *within[:1]])
        refuse_missing_rows(values, rows, values)
        kept = RIGHT if correct is not None else scale
        columns = encode_grades({name: values[name] for name in systems}, {name: values[name] for name in keys}, kept)
        clusters = None
        if within:
            clusters = clusters_of_rows(cluster_column({within[0]: values[within[0]]}), columns, rows)
        if len(systems) > 1:
            return cls._of_systems(of_columns(columns, MODEL, systems, None, rows), clusters)
        counts = count_grades(columns, rows)
        if example is None:
            return cls(counts, None, clusters)
        found = matched_columns(frame, [], systems[0], keys, example, counts, *within[:1])
        matched = encode_grades(found.predicted, found.facts, columns.classes.tolist() if kept is None else kept)
        return cls(counts, of_columns(matched, found.dim, found.systems, None, found.rows), clusters)

    @classmethod
    def _of_rows(
        cls, grades: Any, name: str, scale: Scale | None, by: Mapping[str, Any] | None, example: Any, cluster: Any
    ) -> Outcomes:
        of_clusters = None if cluster is None else cluster_column(cluster)
        named = grades if isinstance(grades, Mapping) else {name: grades}
        columns = encode_grades(named, {} if by is None else by, scale)
        clusters = None if of_clusters is None else clusters_of_rows(of_clusters, columns)
        if named is grades:
            if example is not None or len(named) < 2:
                raise InputError(name, "name two systems or more, with a column each, and then no example.")
            return cls._of_systems(of_columns(columns, MODEL, list(named), None), clusters)
        patterns = None if example is None else of_examples(columns, example, None)
        if example is not None and of_clusters is not None:
            check_within(of_clusters.codes, example)
        return cls(count_grades(columns), patterns, clusters)

    @classmethod
    def _of_systems(cls, patterns: ResponsePatterns, clusters: Clusters | None) -> Outcomes:
        return cls(as_outcomes(patterns.margins()), patterns, clusters)

    # ── What it holds ──

    @property
    def grades(self) -> NDArray[Any]:
        """The grades, in increasing order; 0 and 1 for wrong and right."""
        return np.asarray(self.counts["outcome"].values)

    @property
    def labels(self) -> list[Any]:
        """The grades as a list."""
        labels: list[Any] = self.grades.tolist()
        return labels

    @property
    def cells(self) -> xr.DataArray:
        """The counts as tables of one row (…, actual, predicted)."""
        return as_table(self.counts)

    def __repr__(self) -> str:
        return outcomes_text(self.counts)

    def _repr_html_(self) -> str:
        return outcomes_html(self.counts)


def matrix_of_right(outcomes: Outcomes) -> ConfusionMatrix:
    """Return right and wrong outcomes as true positives and false negatives; neither class is named as positive."""
    if len(outcomes.labels) > 2:
        raise InputError(
            "data",
            f"slices are of right and wrong; these outcomes have {len(outcomes.labels)} grades.",
            "Say which grades pass, as Outcomes.from_correct(grades >= 4, ...).",
        )
    wrong, right = (outcomes.counts.isel(outcome=place, drop=True).drop_attrs() for place in (0, 1))
    return ConfusionMatrix(ConfusionMatrix.from_counts(tp=right, fn=wrong, fp=0, tn=0).counts)


# ── Columns of grades ──


def encode_grades(columns: Mapping[str, Any], by: Mapping[str, Any], scale: Scale | None) -> EncodedColumns:
    """Encode columns of grades, one per system, as positions on a scale, together with the columns of leading dims."""
    check_dims(list(by), Outcomes.cell_dims)
    encoded = {str(name): encode(values, str(name), fractions=True) for name, values in columns.items()}
    leading = {name: encode_levels(values, f"by[{name!r}]") for name, values in by.items()}
    checks.equal_lengths({name: len(column.codes) for name, column in {**encoded, **leading}.items()})
    values, places = _on_scale(encoded, scale)
    codes = [_places(column, places, name) for name, column in encoded.items()]
    dims = ["predicted"] if len(codes) == 1 else [f"predicted_{i}" for i in range(len(codes))]
    cells = {"actual": np.zeros_like(codes[0]), **dict(zip(dims, codes, strict=True))}
    return EncodedColumns(leading, cells, values, ", ".join(encoded), graded=True)


def count_grades(columns: EncodedColumns, weights: Counts | None = None) -> xr.DataArray:
    """Count encoded grades, leading dims first; `weights` is the number of rows behind each entry."""
    coords = {name: column.labels for name, column in columns.leading.items()} | {"outcome": columns.classes}
    shape = tuple(len(labels) for labels in coords.values())
    check_size("by", shape)
    codes = [*[column.codes for column in columns.leading.values()], columns.cells["predicted"]]
    return xr.DataArray(count_combinations(codes, shape, weights), coords, list(coords))


def _on_scale(columns: Mapping[str, Column], scale: Scale | None) -> tuple[NDArray[Any], dict[Any, int]]:
    """Return the values of a scale in increasing order, and the place of each grade in the given order."""
    worth = _of_seen(columns) if scale is None else scale
    if not isinstance(worth, Mapping):
        try:
            worth = {grade: grade for grade in worth}
        except TypeError:
            raise InputTypeError("scale", f"must be a sequence or a mapping of grades; it is {scale!r}.") from None
    for value in worth.values():
        if not np.isfinite(checks.number("scale", value)):
            raise InputError("scale", f"must hold finite numbers; it holds {value!r}.")
    values = np.array(sorted(set(map(float, worth.values()))))
    if len(values) < max(2, len(worth)):
        raise InputError("scale", f"must hold at least two grades, all of different worth; it is {scale!r}.")
    place = {value: index for index, value in enumerate(values.tolist())}
    return check_labels(values, fractions=True), {grade: place[float(value)] for grade, value in worth.items()}


def _of_seen(columns: Mapping[str, Column]) -> list[float]:
    """Return the scale of the grades that occur, with all whole numbers between them."""
    seen = sorted({grade for column in columns.values() for grade in column.labels.tolist()})
    if any(isinstance(grade, str) for grade in seen):
        raise InputError(
            "scale",
            f"the grades are words ({listed(seen)}).",
            "Say what each is worth, as scale={'poor': 0, 'good': 1}.",
        )
    if all(float(grade).is_integer() for grade in seen) and seen[-1] - seen[0] < _MOST_GRADES:
        return list(range(int(seen[0]), int(seen[-1]) + 1))
    if len(seen) > _MOST_GRADES:
        raise InputError(
            "grades",
            f"hold {len(seen):,} different values, which is no scale.",
            "Name the grades, in `scale`; credit without a scale is curves.weighted_score('mean', grades)'s.",
        )
    return seen


def _places(column: Column, places: Mapping[Any, int], name: str) -> NDArray[np.intp]:
    """Return the place of each row's grade on the scale."""
    unknown = [label for label in column.labels.tolist() if label not in places]
    if unknown and places == RIGHT:
        raise InputError(
            name,
            f"must say by true and false, or by 1 and 0, what is right; it holds {listed(unknown)}.",
            f"Compare with what says so, as {name} == 'C'; or give grades, and their scale.",
        )
    if unknown:
        raise InputError(name, f"holds {listed(unknown)}, not on the scale {list(places)}.", "Add them to `scale`.")
    return np.array([places[label] for label in column.labels.tolist()], dtype=np.intp)[column.codes]
