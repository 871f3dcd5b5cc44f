"""Scores counted in bins: the number of positives and negatives in each bin, which is all that a curve needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.saving import Saved
from bayesperf.core.words import listed
from bayesperf.data.classifier_scores import Scores
from bayesperf.data.frames import count_rows
from bayesperf.data.label_encoding import encode, missing_positive_label, positive_label
from bayesperf.data.totals import refuse_missing_rows

# Numbers of no bin: of scores that are missing, and that are outside the edges.
MISSING, OUTSIDE = -1, -2
# From scores to the number of the bin of each.
BinNumber = Callable[[nw.Expr], nw.Expr]


def checked_edges(name: str, edges: ArrayLike) -> Array:
    """Return checked edges of one bin or more, ascending."""
    array = checks.vector(name, edges)
    # Infinite edges have no difference.
    if len(array) < 2 or (array[1:] <= array[:-1]).any():
        raise InputError(name, f"must be two numbers or more that ascend; they are {listed(array.tolist())}.")
    return array


def bins_of(bins: int | ArrayLike, limits: Sequence[float] | None) -> tuple[Array, BinNumber]:
    """Return the edges of bins (B + 1,), given or of equal width, and a function that numbers scores by bin."""
    if np.ndim(bins):
        if limits is not None:
            raise InputTypeError("limits", "edges have their own.", "Give edges without `limits`.")
        edges = checked_edges("bins", bins)
        return edges, partial(_number, edges, _by_comparison(edges))
    number = checks.count("bins", bins)
    outer = checked_edges("limits", (0.0, 1.0) if limits is None else limits)
    if len(outer) != 2 or not np.isfinite(outer).all():
        raise InputError("limits", f"must be two finite numbers, low and high; they are {listed(outer.tolist())}.")
    low, high = outer.tolist()
    width = (high - low) / number
    # As the engine computes them, so that a score at an edge is in the bin above.
    edges = low + np.arange(number + 1) * width
    edges[-1] = high
    return checked_edges(f"edges of {number} bins", edges), partial(_number, edges, _by_division(low, width, number))


def _number(edges: Array, number_inside: BinNumber, score: nw.Expr) -> nw.Expr:
    """Return the number of each score's bin, MISSING or OUTSIDE."""
    score = score.cast(nw.Float64)
    low, high = edges[[0, -1]].tolist()
    inside = nw.when((score >= low) & (score <= high))
    number = inside.then(number_inside(score)).otherwise(nw.lit(float(OUTSIDE)))
    missing = score.is_null() | score.is_nan()
    return nw.when(missing).then(nw.lit(float(MISSING))).otherwise(number).cast(nw.Int64)


def _by_division(low: float, width: float, number: int) -> BinNumber:
    """Number bins of equal width; where rounding puts a score one bin off, a comparison with the edges corrects it."""

    def number_of(score: nw.Expr) -> nw.Expr:
        near = ((score - low) / width).floor()
        mended = (
            nw.when(score < low + near * width)
            .then(near - 1)
            .otherwise(nw.when(score >= low + (near + 1) * width).then(near + 1).otherwise(near))
        )
        # The last bin has its upper edge.
        return mended.clip(0, number - 1)

    return number_of


def _by_comparison(edges: Array) -> BinNumber:
    """Number bins by the number of inner edges that a score reaches."""

    def number_of(score: nw.Expr) -> nw.Expr:
        reached = [(score >= edge).cast(nw.Int32) for edge in edges[1:-1].tolist()]
        # In pairs: engines limit how deep an expression may be.
        while len(reached) > 1:
            reached = [sum(reached[i + 1 : i + 2], reached[i]) for i in range(0, len(reached), 2)]
        return reached[0].cast(nw.Float64) if reached else nw.lit(0.0)

    return number_of


@dataclass(frozen=True, eq=False, repr=False)
class BinnedScores(Saved):
    """Numbers of positives and negatives with a score in each bin; pass it in place of ``y_true, y_score``.

    `bayesperf.roc_curve`, `precision_recall_curve`, `det_curve`, `roc_auc` and `weighted_score` ("average_precision")
    accept it. Bayesian bootstrap weights, Dirichlet(1) for examples, are Dirichlet(counts) for bins, so only the counts
    are needed, and addition merges the counts of parts of the data: ``first + second``, ``sum(parts)``.

    Made by `from_counts` and `from_frame`.

    Attributes
    ----------
    values : ndarray (B,)
        The threshold at which a bin is called positive, ascending: its lower edge, or its score.
    positives, negatives : ndarray (B,)
        Number of examples of each class in each bin.
    edges : ndarray (B + 1,) or None
        The edges of the bins. Each bin excludes its upper edge, except the last. None if scores are the `values`
        themselves, with ties.

    Notes
    -----
    Between bins, a curve of the bins equals the curve of the scores: its points belong to the thresholds at the edges.
    Within a bin the order of positives and negatives is lost and counts half in the area; `binning_error` is the bound
    of this error. Average precision uses the precision at the lower edge for the whole bin and so is mostly too low:
    for normal scores with an AUC of .8 by about .6 of `binning_error`, which was .013 with 100 bins from -6 to 7 and
    .0013 with 1,000.

    Draws of the area are exact for up to 1,024 non-empty bins; with more, neighbouring bins share a weight, which omits
    less than a thousandth of the variance.

    Examples
    --------
    >>> import bayesperf as bp
    >>> binned = bp.curves.BinnedScores.from_counts(positives=[1, 2, 7], negatives=[8, 3, 1], edges=[0, 0.3, 0.6, 1])
    >>> bp.roc_curve(binned).dataset["recall"].values
    array([0. , 0.7, 0.9, 1. ])
    >>> auc = bp.roc_auc(binned)
    >>> auc.mean().round(2).item(), auc.eti().values.round(2), round(binned.binning_error, 2)
    (0.83, array([0.64, 0.95]), 0.09)
    """

    values: Array
    positives: Counts
    negatives: Counts
    edges: Array | None

    @classmethod
    @checked
    def from_counts(
        cls,
        *,
        positives: ArrayLike,
        negatives: ArrayLike,
        edges: ArrayLike | None = None,
        values: ArrayLike | None = None,
    ) -> BinnedScores:
        """Make it from counts.

        Parameters
        ----------
        positives, negatives : array-like (B,)
            Numbers of positives and of negatives in each bin.
        edges : array-like (B + 1,), optional
            Edges of the bins, ascending; the outer ones may be infinite. A score at an inner edge is in the bin above.
        values : array-like (B,), optional
            Instead of edges: the scores themselves, ascending, if only these occur (such as ratings from 1 to 5).

        Raises
        ------
        TypeError
            If both or neither of `edges` and `values` are given, or counts are not numbers.
        ValueError
            If counts are negative or fractional, or their number is not the number of bins; if edges or values are
            missing or do not ascend.

        Examples
        --------
        >>> import bayesperf as bp
        >>> bp.curves.BinnedScores.from_counts(positives=[0, 1, 5], negatives=[6, 2, 1], values=[1, 2, 3])
        <bayesperf.curves.BinnedScores: 3 values from 1 to 3, 6 positives, 9 negatives>
        """
        if (edges is None) == (values is None):
            raise InputTypeError("", "give either edges=, the edges of the bins, or values=, the scores that occur.")
        true, false = _whole_numbers("positives", positives), _whole_numbers("negatives", negatives)
        limits = None if edges is None else checked_edges("edges", edges)
        places = _checked_values(values) if limits is None else limits[:-1]
        checks.equal_lengths({"bins": len(places), "positives": len(true), "negatives": len(false)})
        return cls(places, true, false, limits)

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: Any,
        *,
        actual: str,
        score: str,
        bins: int | ArrayLike,
        limits: Sequence[float] | None = None,
        pos_label: Any = None,
    ) -> BinnedScores:
        """Count in a data frame: one pass of the frame's own engine, which returns only counts of bins.

        Parameters
        ----------
        frame : pandas, Polars or PyArrow frame, DuckDB relation, or any other that Narwhals supports
            Eager or lazy, one row per example.
        actual, score : str
            The columns of labels and of scores.
        bins : int or array-like (B + 1,)
            Number of bins of equal width (the time does not depend on it); or edges, each of which costs a comparison
            per row. Every score must be between the outer edges.
        limits : (low, high), optional
            Outer edges of bins of equal width; by default 0 and 1, as for probabilities.
        pos_label : label, optional
            The positive class; inferred for {0, 1}, {-1, 1} and {False, True}. A part of the data may contain only one
            class.

        Raises
        ------
        TypeError
            If scores are not numbers, or `limits` are given together with edges.
        ValueError
            If scores are missing or outside the limits; if there are more than two classes, or it is unclear which is
            positive; as `ConfusionMatrix.from_frame`.

        Examples
        --------
        >>> import bayesperf as bp
        >>> frame = bp.datasets.load("breast_cancer")
        >>> frame = frame[frame["model"] == "logistic_regression"]
        >>> binned = bp.curves.BinnedScores.from_frame(frame, actual="actual", score="score", bins=100,
        ...                                              pos_label="malignant")
        >>> binned
        <bayesperf.curves.BinnedScores: 100 bins from 0 to 1, 212 positives, 357 negatives>
        >>> bp.roc_auc(binned, method="delong").mean().round(3).item(), round(binned.binning_error, 4)
        (0.994, 0.0018)
        """
        edges, number_of = bins_of(bins, limits)
        columns, rows = count_rows(frame, [actual, score], {score: number_of})
        refuse_missing_rows(columns, rows, [actual])
        numbers = np.asarray(columns[score], np.int64)
        _refuse_unbinned(score, numbers, rows, edges)
        labels = encode(columns[actual], f"column {actual!r}")
        positive = labels.labels[labels.codes] == _positive(labels.labels.tolist(), actual, pos_label)
        counts = np.zeros((2, len(edges) - 1), np.int64)
        np.add.at(counts, (positive.astype(np.intp), numbers), rows)
        return cls(edges[:-1], counts[1], counts[0], edges)

    # ── Merging ──

    def __add__(self, other: BinnedScores) -> BinnedScores:
        """Return the sum of the counts, for the same bins or for the scores themselves."""
        if not isinstance(other, BinnedScores):
            return NotImplemented
        if self.edges is not None and other.edges is not None and np.array_equal(self.edges, other.edges):
            positives, negatives = self.positives + other.positives, self.negatives + other.negatives
            return BinnedScores(self.values, positives, negatives, self.edges)
        if self.edges is not None or other.edges is not None:
            raise InputError(
                "", f"counts of different bins cannot be added: {self!r} and {other!r}.", "Count in the same."
            )
        values, place = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        positives, negatives = np.zeros((2, len(values)), np.int64)
        np.add.at(positives, place, np.concatenate([self.positives, other.positives]))
        np.add.at(negatives, place, np.concatenate([self.negatives, other.negatives]))
        return BinnedScores(values, positives, negatives, None)

    def __radd__(self, other: Any) -> BinnedScores:
        """Return these counts added to the 0 with which `sum` starts."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def coarsened(self, parts: int) -> BinnedScores:
        """Return the counts of fewer bins: neighbours are merged until they hold 1 in `parts` of either class.

        Parameters
        ----------
        parts : int
            Minimum number of parts that each class is divided into; a bin larger than a part stays separate.

        Examples
        --------
        >>> import bayesperf as bp
        >>> counts = {"positives": [0, 1, 1, 2], "negatives": [2, 1, 1, 0]}
        >>> values = bp.curves.BinnedScores.from_counts(**counts, values=[1, 2, 3, 4])
        >>> values.coarsened(2).positives
        array([0, 2, 2])
        """
        number = checks.count("parts", parts)
        below = np.stack([np.cumsum(of_class) - of_class for of_class in (self.positives, self.negatives)])
        totals = np.maximum(below[:, -1:] + np.stack([self.positives, self.negatives])[:, -1:], 1)
        first = np.flatnonzero(np.diff(below * number // totals, prepend=-1).any(0))
        if len(first) == len(self.values):
            return self
        last = np.inf if self.edges is None else self.edges[-1]
        true, false = (np.add.reduceat(of_class, first) for of_class in (self.positives, self.negatives))
        return BinnedScores(self.values[first], true, false, np.append(self.values[first], last))

    # ── What curves and areas ask ──

    @property
    def class_totals(self) -> tuple[int, int]:
        """Numbers of negatives and of positives."""
        return int(self.negatives.sum()), int(self.positives.sum())

    @property
    def binning_error(self) -> float:
        """Bound of the difference between this area under the ROC curve and the area of the scores themselves.

        ½ Σ p n/(P N) over bins with p of the P positives and n of the N negatives: half of the pairs that share a bin,
        if all of them had the same order. The observed area differs by no more, nor does the mean of its posterior with
        "bayesian_bootstrap". It is 0 for `values`, where ties are ties.

        Raises
        ------
        ValueError
            If there is only one class.
        """
        if self.edges is None:
            return 0.0
        negatives, positives = self.class_totals
        if not negatives or not positives:
            raise InputError("binning_error", f"needs both classes; it is of {self!r}.")
        return float((self.positives / positives) @ (self.negatives / negatives) / 2)

    @cached_property
    def counts(self) -> Counts:
        """Numbers of positives and negatives with each score that occurs, ascending, (2, V)."""
        both = np.stack([self.positives, self.negatives])
        return both[:, both.any(0)]

    @cached_property
    def thresholds(self) -> Array:
        """The values of non-empty bins, in descending order."""
        return self.values[(self.positives + self.negatives) > 0][::-1]

    @property
    def separated(self) -> bool:
        """Whether all positives are in higher bins than all negatives, or all in lower ones."""
        positive, negative = np.flatnonzero(self.positives), np.flatnonzero(self.negatives)
        return bool(positive[0] > negative[-1] or positive[-1] < negative[0])

    def called(self, thresholds: ArrayLike) -> tuple[Counts, Counts]:
        """Return the numbers of negatives and of positives that are called positive at each threshold.

        Raises
        ------
        ValueError
            If a threshold is within a bin.
        """
        cuts = np.asarray(thresholds, float)
        if self.edges is not None:
            # The last bin has its upper edge, and does not tell what scores are on it.
            known = np.isin(cuts, self.values) | (cuts < self.edges[0]) | (cuts > self.edges[-1]) | np.isinf(cuts)
            if not known.all():
                raise InputError(
                    "thresholds",
                    f"{cuts[~known].flat[0]:g} is within a bin, which does not tell what it calls positive.",
                    "Give lower edges of bins.",
                )
        first = np.searchsorted(self.values, cuts, side="left")
        false, true = (np.append(counts[::-1].cumsum()[::-1], 0)[first] for counts in (self.negatives, self.positives))
        return false, true

    def __repr__(self) -> str:
        negatives, positives = self.class_totals
        what, ends = ("values", self.values) if self.edges is None else ("bins", self.edges)
        return (
            f"<bayesperf.curves.BinnedScores: {len(self.values)} {what} from {ends[0]:g} to {ends[-1]:g}, "
            f"{positives} positives, {negatives} negatives>"
        )


def scores_of(y_true: Any, y_score: ArrayLike | None, pos_label: Any) -> Scores | BinnedScores:
    """Return checked scores from labels (n,) and scores (n,), or checked binned scores in their place."""
    if not isinstance(y_true, BinnedScores):
        if y_score is None:
            raise InputTypeError(
                "y_score", "give the scores of the labels, or BinnedScores alone in the place of both."
            )
        return Scores.of(y_true, y_score, pos_label)
    refuse_beside_bins(y_score=y_score, pos_label=pos_label)
    if not all(y_true.class_totals):
        raise InputError("y_true", f"must hold two classes; it is {y_true!r}.")
    return y_true


def refuse_beside_bins(**given: Any) -> None:
    """Refuse arguments that are for single examples."""
    checks.none_given("BinnedScores hold classes and scores of their own, and no examples.", **given)


def _whole_numbers(name: str, counts: ArrayLike) -> Counts:
    """Return the counts of a class, checked."""
    array = np.asarray(counts)
    if array.ndim != 1:
        raise InputError(name, f"must be one-dimensional, a number for each bin; its shape is {array.shape}.")
    return checks.whole_numbers(name, array).astype(np.int64)


def _checked_values(values: ArrayLike | None) -> Array:
    """Return scores that ascend; inf cannot be a threshold."""
    array = checks.vector("values", values)  # type: ignore[arg-type]
    if (np.diff(array) <= 0).any() or array[-1] == np.inf:
        raise InputError("values", f"must ascend, each once, below inf; they are {listed(array.tolist())}.")
    return array


def _refuse_unbinned(score: str, numbers: Counts, rows: Counts, edges: Array) -> None:
    """Refuse scores that are in no bin."""
    missing, outside = rows[numbers == MISSING].sum(), rows[(numbers < 0) & (numbers != MISSING)].sum()
    if missing:
        raise InputError(
            "column", f"{score!r} has {missing} missing value{'s' * bool(missing > 1)}.", "Drop those rows."
        )
    if outside:
        raise InputError(
            "column",
            f"{score!r} has {outside} value{'s' * bool(outside > 1)} outside the limits of the "
            f"bins, {edges[0]:g} to {edges[-1]:g}.",
            "Give limits (or edges) that hold all; outer edges may be -inf and inf.",
        )


def _positive(labels: list[Any], actual: str, pos_label: Any) -> Any:
    """Return the positive one of two labels, or of one if a part of the data has no other."""
    if len(labels) > 2:
        raise InputError("column", f"{actual!r} must hold two classes; it holds {listed(labels)}.")
    if len(labels) == 1:
        if pos_label is None and labels[0] not in (-1, 0, 1):
            raise InputError(
                "column", f"{actual!r} holds {labels[0]!r} alone.", "Name the positive class, in `pos_label`."
            )
        return 1 if pos_label is None else pos_label
    positive = positive_label(labels, pos_label)
    if positive is None:
        raise missing_positive_label(labels)
    return positive
