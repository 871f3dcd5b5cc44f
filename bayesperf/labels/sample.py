"""Samples with some verified examples: counts by the labels of judge and systems, and by the truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Booleans, Codes, Counts, decoded
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.saving import Saved
from bayesperf.core.weights import tallied
from bayesperf.data.axis_names import MODEL
from bayesperf.data.clusters import ClusterColumn, Clusters, cluster_column, of_table
from bayesperf.data.count_arrays import check_dims, check_size
from bayesperf.data.cross_tabulation import EncodedColumns, count_combinations, encode_columns
from bayesperf.data.frames import column_names, count_rows
from bayesperf.data.label_encoding import Column, HasPositive, encode, positive_label
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.response_patterns import ResponsePatterns, distinct_patterns
from bayesperf.data.totals import refuse_missing_rows
from bayesperf.labels.judges import JUDGE, Judged, as_score, bin_names, distinct, in_bins, named_judges
from bayesperf.labels.voter_cells import Strata

# The dim of a system without a name, which no leading dim is called.
ALONE = "system without a name"


@dataclass(frozen=True, eq=False, repr=False)
class VerifiedSample(Saved, HasPositive):
    """Numbers of examples by the labels of the judge and the systems, and the true classes of the verified ones.

    Immutable. Make one with `from_predictions` or `from_frame`. A stratum holds the examples with the same labels from
    the judges and every system, and the same level of `strata`. A judge who gives all examples the same label,
    or repeats another judge, tells no examples apart and is left out.

    Attributes
    ----------
    counts : xarray.DataArray
        Numbers of examples, (…, stratum).
    verified : xarray.DataArray
        Numbers of verified examples, (…, stratum, actual).
    votes : numpy.ndarray (stratum, V)
        The labels of each judge and each system for the examples of a stratum, as positions in `labels`. If a judge
        gives a score, its vote is the bin of the score; a higher bin speaks for the second class.
    levels : numpy.ndarray (stratum,)
        The level of `strata` for the examples of a stratum; zeros if there are no levels.
    systems : tuple
        Names of the systems along the dim ``model``; empty for one system without a name.
    judges : tuple
        Names of the judges, whose votes come first; "judge" for one judge without a name.
    cuts, bins : tuple
        For each judge, the limits between the bins of its score, and how much each bin speaks for the second class;
        empty if it gives labels.
    pos_label : label or None
        The positive class.
    rows : numpy.ndarray (n,), optional
        The stratum of each example whose true class is unknown, and −1 for the others. Present if examples were given
        one by one, without `by`.
    clusters : Clusters, optional
        The clusters of the examples: their numbers of examples, and of verified ones by class, (…, stratum, 1 + K).

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
    judges: tuple[Any, ...] = ()
    cuts: tuple[tuple[float, ...], ...] = ()
    bins: tuple[tuple[float, ...], ...] = ()
    pos_label: Any = None
    rows: Codes | None = None
    clusters: Clusters | None = None

    @classmethod
    @checked
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any = None,
        *,
        judge: Any = None,
        strata: Any = None,
        cluster: Any = None,
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
        by: Mapping[str, Any] | None = None,
    ) -> VerifiedSample:
        """Count examples given one by one.

        Parameters
        ----------
        y_true : array-like (n,)
            True labels; None, NaN or NA if unknown.
        y_pred : array-like (n,) or mapping, optional
            Predicted labels; a mapping from names of systems to their columns becomes the dim ``model``. None if there
            are judges only.
        judge : array-like (n,) or mapping or frame or array (n, J), optional
            What a cheaper source than the truth says of every example, or several: labels, or a score.
        strata : array-like (n,), optional
            A property that decided which examples to verify, or that predicts how often systems err: a bin of the
            score, a source.
        cluster : array-like (n,) or mapping, optional
            The cluster of each example, as in `ConfusionMatrix.from_predictions`.
        labels, pos_label, by
            As in `ConfusionMatrix.from_predictions`.

        Raises
        ------
        TypeError, ValueError
            If no example is verified, and as in `ConfusionMatrix.from_predictions`.
        """
        y_true = decoded(y_true)
        known = ~_missing(y_true)
        predicted, systems = ({}, ()) if y_pred is None else _predicted_columns(y_pred)
        judges = named_judges(judge)
        columns = _Columns(
            truth=("y_true", _truth(y_true, known, "y_true")),
            known=known,
            predicted=predicted,
            judges={name: ("judge" if name == JUDGE else f"judge[{name!r}]", each) for name, each in judges.items()},
            systems=systems,
            level=None if strata is None else encode(strata, "strata", fractions=True),
            cluster=None if cluster is None else cluster_column(cluster),
            by={} if by is None else by,
            labels=None if labels is None else list(labels),
            pos_label=pos_label,
        )
        return cls._counted(columns)

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: Any,
        *,
        actual: str,
        predicted: str | Sequence[str],
        judge: str | Sequence[str] | None = None,
        strata: str | None = None,
        cluster: str | None = None,
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
        judge, strata, cluster : str, optional
            Columns with the arguments of these names in `from_predictions`; of several judges, one for each.
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
        options: dict[str, Any] = {"actual": actual, "predicted": predicted, "judge": judge, "strata": strata}
        keys = column_names(by)
        named = [name for each in (*options.values(), cluster) for name in column_names(each)]
        values, rows = count_rows(frame, [*named, *keys])
        return cls.from_totals(
            values, rows, **options, cluster=cluster, by=keys, labels=labels, pos_label=pos_label
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
        judge: str | Sequence[str] | None = None,
        strata: str | None = None,
        cluster: str | None = None,
        by: Sequence[str] = (),
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
    ) -> VerifiedSample:
        """Count columns whose entries stand for `rows` examples each; see `from_frame`."""
        systems, judges = column_names(predicted), column_names(judge)
        refuse_missing_rows(values, rows, [*judges, *systems, *column_names(strata), *column_names(cluster), *by])
        known, named = ~_missing(values[actual]), {name: f"column {name!r}" for name in (actual, *judges, *systems)}
        columns = _Columns(
            truth=(named[actual], _truth(values[actual], known, named[actual])),
            known=known,
            predicted={named[name]: encode(values[name], named[name]) for name in systems},
            judges={JUDGE if isinstance(judge, str) else name: (named[name], values[name]) for name in judges},
            systems=() if isinstance(predicted, str) else tuple(systems),
            level=None if strata is None else encode(values[strata], f"column {strata!r}", fractions=True),
            cluster=None if cluster is None else cluster_column({cluster: values[cluster]}),
            by={name: values[name] for name in by},
            labels=None if labels is None else list(labels),
            pos_label=pos_label,
            rows=rows,
        )
        return cls._counted(columns)

    @classmethod
    def _counted(cls, given: _Columns) -> VerifiedSample:
        columns, said = given.encoded()
        actual, *votes = columns.cells.values()
        known, systems, rows, classes = given.known, given.systems, given.rows, columns.classes.tolist()
        levels = np.zeros(len(actual), int) if given.level is None else given.level.codes
        clusters = np.zeros(len(actual), int) if given.cluster is None else given.cluster.codes
        checks.equal_lengths({"y_true": len(actual), "strata": len(levels), "cluster": len(clusters)})
        check_dims([*columns.leading, *([MODEL] if systems else [])], ("stratum",))
        by_voter = np.stack([*(each.codes for each in said.values()), *votes[len(votes) - len(given.predicted) :]], 1)
        first, stratum = distinct_patterns(levels, by_voter, max(len(classes), int(by_voter.max()) + 1))
        coords = {name: column.labels for name, column in columns.leading.items()}
        shape = (*(len(values) for values in coords.values()), len(first))
        check_size("by", (*shape, len(classes)), len(classes))
        places = [*(column.codes for column in columns.leading.values()), stratum]
        of_known = [codes[known] for codes in (*places, actual)]
        counts = count_combinations(places, shape, rows)
        verified = count_combinations(of_known, (*shape, len(classes)), None if rows is None else rows[known])
        dims = (*coords, "stratum")
        return cls(
            counts=xr.DataArray(counts, coords, dims),
            verified=xr.DataArray(verified, coords | {"actual": classes}, (*dims, "actual")),
            votes=by_voter[first],
            levels=levels[first],
            systems=systems,
            judges=tuple(said),
            cuts=tuple(each.cuts for each in said.values()),
            bins=tuple(each.bins for each in said.values()),
            pos_label=positive_label(classes, given.pos_label),
            rows=None if rows is not None or coords else np.where(known, -1, stratum),
            clusters=given.clusters(places, shape, actual, len(classes)),
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
    def verified_clusters(self) -> int:
        """The smallest number of clusters with verified examples, of any element of the leading dims."""
        if self.clusters is None:
            return 0
        matrices = self.counts.size // len(self.votes)
        is_verified = self.clusters.cell % (1 + len(self.labels)) > 0
        matrix = self.clusters.cell[is_verified] // (self.clusters.cells // matrices)
        shape = matrices, self.clusters.size
        return int(tallied(matrix, self.clusters.cluster[is_verified], shape).sign().sum(1).min())

    @property
    def positions(self) -> range:
        """The systems' votes."""
        return range(len(self.judges), self.votes.shape[1])

    def voters(self) -> list[Any]:
        """Return the names of the votes: of the judges, and ``predicted`` or the names of the systems."""
        return [*self.judges, *(self.systems or ["predicted"] * len(self.positions))]

    def answers(self, vote: int) -> list[Any]:
        """Return what the codes of a vote stand for: the labels, or the bins of a score."""
        cuts = self.cuts[vote] if vote < len(self.judges) else ()
        return bin_names(cuts, self.positive == 0) if cuts else self.labels

    def strata_of(self, votes: Sequence[int]) -> list[Strata]:
        """Return the strata by some of the votes alone, for each element of the leading dims."""
        chosen = self.votes[:, list(votes)]
        first, which = distinct_patterns(self.levels, chosen, int(self.votes.max()) + 1)
        counts = self.counts.values.reshape(-1, len(which))
        verified = self.verified.values.reshape(len(counts), len(which), -1)
        into = tallied(which, np.arange(len(which)), (len(first), len(which)), int)
        merged = [into @ np.column_stack(of_one) for of_one in zip(counts, verified, strict=True)]
        bins = tuple(self.bins[vote] if vote < len(self.judges) else () for vote in votes)
        tables: list[csr_array | None] = [None] * len(counts)
        if self.clusters is not None:
            each = np.split(np.arange(self.clusters.cells), len(counts))
            tables = [moved(self.clusters.table[:, cells], which, len(first)) for cells in each]
        return [
            Strata(chosen[first], of_one[:, 0], of_one[:, 1:], self.levels[first], bins, table)
            for of_one, table in zip(merged, tables, strict=True)
        ]

    def table(self) -> pd.DataFrame:
        """Return a row for each stratum: its name, its number of examples, and its verified examples by true class."""
        named = {name: np.asarray(self.answers(vote))[self.votes[:, vote]] for vote, name in enumerate(self.voters())}
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
        # Without a system all examples are called alike: what is known is their true class.
        called = self.votes[:, list(self.positions)] if self.positions else 0 * self.votes[:, :1]
        predicted = called[strata]
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
        judge = f", with {len(self.judges)} judges" if len(self.judges) > 1 else ", with a judge" * len(self.judges)
        return (
            f"<bayesperf.VerifiedSample: {n} examples in {len(self.votes)} strata, {known} verified; "
            f"{len(self.labels)} classes{systems}{judge}>"
        )


def moved(table: csr_array, into: Codes, strata: int) -> csr_array:
    """Return a table (G, S (1 + K)) of clusters whose strata are moved into others."""
    slots = np.arange(table.shape[1] // len(into))
    place = (into[:, None] * len(slots) + slots).ravel()
    columns = table.shape[1], strata * len(slots)
    return csr_array(table @ tallied(np.arange(columns[0]), place, columns, np.int64))


class _Columns(NamedTuple):
    """Columns of examples, with the names used in errors: judges by their own names, the others encoded."""

    truth: tuple[str, Column]
    known: Booleans
    predicted: Mapping[str, Column]
    judges: Mapping[Any, tuple[str, Any]]
    systems: tuple[Any, ...]
    level: Column | None
    cluster: ClusterColumn | None
    by: Mapping[str, Any]
    labels: list[Any] | None
    pos_label: Any
    rows: Counts | None = None

    def encoded(self) -> tuple[EncodedColumns, dict[Any, Judged]]:
        """Encode all columns by common classes; return them, and what the judges say who tell examples apart."""
        judges, given = self.judges, self.labels
        found = {label for column in (self.truth[1], *self.predicted.values()) for label in column.labels.tolist()}
        scores = {name: as_score(values, found if given is None else given) for name, (_, values) in judges.items()}
        of_labels = {name: each for name, each in judges.items() if scores[name] is None}
        columns = dict([self.truth]) | {argument: encode(values, argument) for argument, values in of_labels.values()}
        columns |= self.predicted
        lengths = {judges[name][0]: len(score) for name, score in scores.items() if score is not None}
        checks.equal_lengths({name: len(column.codes) for name, column in columns.items()} | lengths)
        encoded = encode_columns(columns, self.by, given, ("actual", *[*columns][1:]))
        classes, said = encoded.classes.tolist(), {}
        for name, (argument, _) in judges.items():
            if (score := scores[name]) is None:
                said[name] = Judged(encoded.cells[argument])
            else:
                positive = positive_label(classes, self.pos_label)
                place = None if positive is None else classes.index(positive)
                said[name] = in_bins(argument, score, self.rows, classes, place)
        # Without a system someone must say something.
        return encoded, distinct(said) or dict([*said.items()][: not self.predicted])

    def clusters(self, places: Sequence[Codes], shape: tuple[int, ...], actual: Codes, classes: int) -> Clusters | None:
        """Count the examples of each cluster in each stratum, and the verified ones by their true class."""
        if self.cluster is None:
            return None
        slots, number = 1 + classes, np.ones(len(actual), np.int64) if self.rows is None else self.rows
        place = np.ravel_multi_index(places, shape) * slots
        cells = np.concatenate([place, (place + 1 + actual)[self.known]])
        clusters = np.append(self.cluster.codes, self.cluster.codes[self.known])
        entries = np.append(number, number[self.known]), (clusters, cells)
        return of_table(self.cluster.name, csr_array(entries, shape=(self.cluster.size, math.prod(shape) * slots)))


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
