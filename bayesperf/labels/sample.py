"""Samples with some verified examples: counts by the labels of judge and systems, and by the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Booleans, Codes, Counts, decoded
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.saving import Saved
from bayesperf.data.count_arrays import check_dims, check_size
from bayesperf.data.cross_tabulation import EncodedColumns, count_combinations, encode_columns
from bayesperf.data.frames import count_rows, refuse_missing_rows
from bayesperf.data.label_encoding import Column, HasPositive, encode, positive_label
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.response_patterns import ResponsePatterns, distinct_patterns
from bayesperf.labels.voter_cells import Strata

# The dim of the systems, if they have names; and of a system without one, which no leading dim is called.
MODEL, ALONE = "model", "system without a name"


@dataclass(frozen=True, eq=False, repr=False)
class VerifiedSample(Saved, HasPositive):
    """Numbers of examples by the labels of the judge and the systems, and the true classes of the verified ones.

    Immutable. Make one with `from_predictions` or `from_frame`. A stratum holds the examples with the same labels from
    the judge and every system, and the same level of `strata`.

    Attributes
    ----------
    counts : xarray.DataArray
        Numbers of examples, (…, stratum).
    verified : xarray.DataArray
        Numbers of verified examples, (…, stratum, actual).
    votes : numpy.ndarray (stratum, V)
        The labels of the judge, if there is one, and of each system for the examples of a stratum, as positions in
        `labels`.
    levels : numpy.ndarray (stratum,)
        The level of `strata` for the examples of a stratum; zeros if there are no levels.
    systems : tuple
        Names of the systems along the dim ``model``; empty if there is one, without a name.
    has_judge : bool
        Whether the first vote is a judge's.
    pos_label : label or None
        The positive class.
    rows : numpy.ndarray (n,), optional
        The stratum of each example whose truth is unknown, and −1 for the others; if examples were given one by one,
        without `by`.

    Examples
    --------
    >>> from bayesperf import labels
    >>> labels.VerifiedSample.from_predictions([1, None, 0, None], [1, 1, 0, 0], judge=[1, 1, 0, 1])
    <bayesperf.VerifiedSample: 4 examples in 3 strata, 2 verified; 2 classes, with a judge>
    """

    counts: xr.DataArray
    verified: xr.DataArray
    votes: Codes
    levels: Codes
    systems: tuple[Any, ...]
    has_judge: bool
    pos_label: Any = None
    rows: Codes | None = None

    @classmethod
    @checked
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        judge: Any = None,
        strata: Any = None,
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
        by: Mapping[str, Any] | None = None,
    ) -> VerifiedSample:
        """Count examples given one by one.

        Parameters
        ----------
        y_true : array-like (n,)
            True labels; None, NaN or NA if unknown.
        y_pred : array-like (n,) or mapping
            Predicted labels; a mapping from names of systems to their columns becomes the dim ``model``.
        judge : array-like (n,), optional
            Labels for every example from a cheaper source than the truth.
        strata : array-like (n,), optional
            A property that decided which examples to verify, or that predicts how often systems err: a bin of the
            score, a source.
        labels, pos_label, by
            As in `ConfusionMatrix.from_predictions`.

        Raises
        ------
        TypeError, ValueError
            If no example is verified, and as in `ConfusionMatrix.from_predictions`.
        """
        y_true = decoded(y_true)
        known = ~_missing(y_true)
        columns, systems = _predicted_columns(y_pred)
        if judge is not None:
            columns = {"judge": encode(judge, "judge")} | columns
        checks.equal_lengths({"y_true": len(known)} | {name: len(column.codes) for name, column in columns.items()})
        truth = _truth(y_true, known, "y_true")
        level = None if strata is None else encode(strata, "strata", fractions=True)
        by = {} if by is None else by
        encoded = encode_columns({"y_true": truth} | columns, by, labels, ("actual", *columns))
        return cls._counted(encoded, level, known, systems, judge is not None, pos_label)

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: Any,
        *,
        actual: str,
        predicted: str | Sequence[str],
        judge: str | None = None,
        strata: str | None = None,
        by: str | Sequence[str] = (),
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
    ) -> VerifiedSample:
        """Count in a data frame; the group-by runs in the frame's own engine, which returns only counts.

        Parameters
        ----------
        frame : native frame
            As in `ConfusionMatrix.from_frame`, one row per example.
        actual : str
            Column of the true labels, missing if unknown.
        predicted : str or sequence of str
            Column of the predicted labels, or one for each system.
        judge, strata : str, optional
            Columns with the arguments of these names in `from_predictions`.
        by, labels, pos_label
            As in `ConfusionMatrix.from_frame`.

        Raises
        ------
        TypeError, ValueError
            As in `from_predictions` and `ConfusionMatrix.from_frame`.

        Examples
        --------
        >>> import duckdb
        >>> from bayesperf import labels
        >>> relation = duckdb.sql("SELECT CASE WHEN i % 50 = 0 THEN i % 4 // 2 END AS truth, i % 4 // 2 AS judge, "
        ...                       "i % 3 % 2 AS predicted FROM range(60_000) AS rows(i)")
        >>> labels.VerifiedSample.from_frame(relation, actual="truth", predicted="predicted", judge="judge")
        <bayesperf.VerifiedSample: 60000 examples in 4 strata, 1200 verified; 2 classes, with a judge>
        """
        keys = [by] if isinstance(by, str) else list(by)
        systems = [predicted] if isinstance(predicted, str) else list(predicted)
        values, rows = count_rows(frame, [actual, *filter(None, [judge]), *systems, *filter(None, [strata]), *keys])
        return cls.from_totals(
            values, rows, actual=actual, predicted=predicted, judge=judge, strata=strata, by=keys, labels=labels,
            pos_label=pos_label,
        )  # fmt: skip

    @classmethod
    @checked
    def from_totals(
        cls,
        values: Mapping[str, Any],
        rows: Counts,
        *,
        actual: str,
        predicted: str | Sequence[str],
        judge: str | None = None,
        strata: str | None = None,
        by: Sequence[str] = (),
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
    ) -> VerifiedSample:
        """Count columns whose entries stand for `rows` examples each; see `from_frame`."""
        keys, systems = list(by), [predicted] if isinstance(predicted, str) else list(predicted)
        judges, levels = [[] if name is None else [name] for name in (judge, strata)]
        refuse_missing_rows(values, rows, [*judges, *systems, *levels, *keys])
        known, named = ~_missing(values[actual]), {name: f"column {name!r}" for name in (actual, *judges, *systems)}
        columns = {named[name]: encode(values[name], named[name]) for name in (*judges, *systems)}
        truth = {named[actual]: _truth(values[actual], known, named[actual])}
        leading = {name: values[name] for name in keys}
        encoded = encode_columns(truth | columns, leading, labels, ("actual", *columns))
        level = encode(values[strata], f"column {strata!r}", fractions=True) if strata is not None else None
        names = () if isinstance(predicted, str) else tuple(systems)
        return cls._counted(encoded, level, known, names, judge is not None, pos_label, rows)

    @classmethod
    def _counted(
        cls,
        columns: EncodedColumns,
        level: Column | None,
        known: Booleans,
        systems: tuple[Any, ...],
        has_judge: bool,
        pos_label: Any,
        weights: Counts | None = None,
    ) -> VerifiedSample:
        """Count encoded columns; the first column of class labels is the truth, if known."""
        actual, *votes = columns.cells.values()
        classes = columns.classes.tolist()
        levels = np.zeros(len(actual), int) if level is None else level.codes
        checks.equal_lengths({"y_true": len(actual), "strata": len(levels)})
        check_dims([*columns.leading, *([MODEL] if systems else [])], ("stratum",))
        by_voter = np.stack(votes, 1)
        first, stratum = distinct_patterns(levels, by_voter, len(classes))
        coords = {name: column.labels for name, column in columns.leading.items()}
        shape = (*(len(values) for values in coords.values()), len(first))
        check_size("by", (*shape, len(classes)), len(classes))
        places = [*(column.codes for column in columns.leading.values()), stratum]
        of_known = [codes[known] for codes in (*places, actual)]
        counts = count_combinations(places, shape, weights)
        verified = count_combinations(of_known, (*shape, len(classes)), None if weights is None else weights[known])
        dims = (*coords, "stratum")
        return cls(
            counts=xr.DataArray(counts, coords, dims),
            verified=xr.DataArray(verified, coords | {"actual": classes}, (*dims, "actual")),
            votes=by_voter[first],
            levels=levels[first],
            systems=systems,
            has_judge=has_judge,
            pos_label=positive_label(classes, pos_label),
            rows=None if weights is not None or coords else np.where(known, -1, stratum),
        )

    @property
    def labels(self) -> list[Any]:
        """The K class labels."""
        labels: list[Any] = self.verified["actual"].values.tolist()
        return labels

    @property
    def is_complete(self) -> bool:
        """Whether every example is verified."""
        return bool((self.counts == self.verified.sum("actual")).all())

    @property
    def positions(self) -> range:
        """The systems' votes."""
        return range(int(self.has_judge), self.votes.shape[1])

    def voters(self) -> list[Any]:
        """Return the names of the votes: ``judge``, and ``predicted`` or the names of the systems."""
        return [*(["judge"] if self.has_judge else []), *(self.systems or ["predicted"])]

    def strata_of(self, votes: Sequence[int]) -> list[Strata]:
        """Return the strata by some of the votes alone, for each element of the leading dims."""
        chosen = self.votes[:, list(votes)]
        first, which = distinct_patterns(self.levels, chosen, len(self.labels))
        counts = self.counts.values.reshape(-1, len(which))
        verified = self.verified.values.reshape(len(counts), len(which), -1)
        merged = np.zeros((len(counts), len(first), 1 + verified.shape[-1]), np.int64)
        rows: Any = (slice(None), which)
        np.add.at(merged, rows, np.concatenate([counts[..., None], verified], -1))
        return [Strata(chosen[first], each[:, 0], each[:, 1:], self.levels[first]) for each in merged]

    def table(self) -> pd.DataFrame:
        """Return a row for each stratum: its name, its number of examples, and its verified examples by true class."""
        labels = np.asarray(self.labels)
        named = dict(zip(self.voters(), labels[self.votes].T, strict=True))
        if self.levels.any():
            named = {"level": self.levels} | named
        figures = xr.Dataset({"examples": self.counts, "verified": self.verified.sum("actual")})
        of_truth = {f"truth {label}": self.verified.sel(actual=label, drop=True) for label in self.labels}
        figures = figures.assign(of_truth)
        table = figures.to_dataframe(dim_order=self.counts.dims).reset_index()
        for name, values in reversed(named.items()):
            table.insert(len(self.counts.dims), name, values[table["stratum"]])
        return table.drop(columns="stratum")

    def verified_only(self) -> ConfusionMatrix:
        """Return the confusion matrix of the verified examples.

        It represents all examples if the verified ones were chosen at random from all; not if strata had quotas.
        """
        leading = self.counts.isel(stratum=0, drop=True)
        strata, actual = np.nonzero(self.verified.values.any(tuple(range(leading.ndim))))
        predicted = self.votes[:, list(self.positions)][strata]
        first, pattern = distinct_patterns(actual, predicted, len(self.labels))
        counts = np.zeros((*leading.shape, len(first)), np.int64)
        place: Any = (..., pattern)
        np.add.at(counts, place, self.verified.values[..., strata, actual])
        patterns = ResponsePatterns(
            xr.DataArray(counts, leading.coords, (*leading.dims, "pattern")), actual[first], predicted[first],
            self.systems or (0,), MODEL if self.systems else ALONE, self.labels, self.pos_label,
        )  # fmt: skip
        margins = patterns.margins()
        if self.systems:
            return ConfusionMatrix(margins, self.pos_label, patterns)
        return ConfusionMatrix(margins.isel({ALONE: 0}, drop=True), self.pos_label)

    def __repr__(self) -> str:
        n, known = int(self.counts.sum()), int(self.verified.sum())
        systems = f", {len(self.systems)} systems" if self.systems else ""
        judge = ", with a judge" if self.has_judge else ""
        return (
            f"<bayesperf.VerifiedSample: {n} examples in {len(self.votes)} strata, {known} verified; "
            f"{len(self.labels)} classes{systems}{judge}>"
        )


def _predicted_columns(y_pred: Any) -> tuple[dict[str, Column], tuple[Any, ...]]:
    """Return the columns of predictions, and the names of systems if there are several."""
    if not isinstance(y_pred, Mapping):
        return {"y_pred": encode(y_pred, "y_pred")}, ()
    if not y_pred:
        raise InputError("y_pred", "name one system or more, with a column each.")
    return {f"y_pred[{name!r}]": encode(column, f"y_pred[{name!r}]") for name, column in y_pred.items()}, tuple(y_pred)


def _missing(values: Any) -> Booleans:
    """Whether each of some labels is missing."""
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise InputTypeError(
            "y_true",
            f"must be a sequence of labels, one an example; it is {type(values).__name__}.",
            "Give the column of labels or grades, with None for the examples that nobody verified.",
        )
    array = np.asarray(values, dtype=object) if isinstance(values, list | tuple) else np.asarray(values)
    if array.ndim != 1:
        raise InputError("y_true", f"must be one-dimensional, one label an example; its shape is {array.shape}.")
    return np.asarray(pd.isna(array) | np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else pd.isna(array))


def _truth(values: Any, known: Booleans, name: str) -> Column:
    """Encode true labels that are known; the other codes mean nothing."""
    if not known.any():
        raise InputError(
            name,
            "no example is verified, and a judge alone cannot say how good it is.",
            "Verify some, or take what several raters say of the same examples (bayesperf.Ratings).",
        )
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, pd.CategoricalDtype):
        column = encode(pd.Categorical(values)[known], name)
    else:
        column = encode(cast(NDArray[Any], np.asarray(values, dtype=object))[known].tolist(), name)
    codes = np.zeros(len(known), np.intp)
    codes[known] = column.codes
    return column._replace(codes=codes)
