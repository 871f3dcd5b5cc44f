"""Scores of two classes, in order, and probabilities of several classes: the data behind every curve and area."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans, Codes, Counts, decoded
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held
from bayesperf.core.words import listed
from bayesperf.data.clusters import cluster_column
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.label_encoding import Column, codes_for_labels, encode, missing_positive_label, positive_label


class BinaryLabels(NamedTuple):
    """Which examples are positive (n,), the two labels in order, and the positive one of them."""

    is_positive: Booleans
    labels: tuple[Any, Any]
    pos_label: Any


@dataclass(frozen=True, eq=False)
class Scores(Held):
    """Scores of the examples of each class, ascending; a threshold calls scores at or above it positive.

    Attributes
    ----------
    positive, negative : ndarray (n,)
        Scores, infinite ones included. Neither is empty.
    labels : tuple of two
        The classes, in order.
    pos_label : label
        The positive one of them.
    """

    positive: Array
    negative: Array
    labels: tuple[Any, Any] = (0, 1)
    pos_label: Any = 1

    @classmethod
    def of(cls, y_true: Any, y_score: ArrayLike, pos_label: Any = None, name: str = "y_score") -> Scores:
        """Return checked scores from labels (n,) and scores (n,).

        Raises
        ------
        ValueError
            If there are not two classes, or it is unclear which is positive; if scores are missing or too few.
        """
        actual = binary_labels(y_true, pos_label)
        score = _one_each(actual.is_positive, y_score, name)
        return cls(np.sort(score[actual.is_positive]), np.sort(score[~actual.is_positive]), *actual[1:])

    @cached_property
    def thresholds(self) -> Array:
        """The distinct scores in descending order: the thresholds at which the positive calls change."""
        return np.unique(np.concatenate([self.positive, self.negative]))[::-1]

    @property
    def class_totals(self) -> tuple[int, int]:
        """Numbers of negatives and of positives."""
        return len(self.negative), len(self.positive)

    @property
    def separated(self) -> bool:
        """Whether all scores of one class are above all of the other."""
        return bool(self.positive[0] > self.negative[-1] or self.positive[-1] < self.negative[0])

    def called(self, thresholds: ArrayLike) -> tuple[Counts, Counts]:
        """Return the numbers of negatives and of positives that are called positive at each threshold."""
        cuts = np.asarray(thresholds, dtype=float)
        false, true = (len(s) - np.searchsorted(s, cuts, side="left") for s in (self.negative, self.positive))
        return false, true

    def counts(self, thresholds: ArrayLike) -> xr.DataArray:
        """Return the confusion matrices (threshold, actual, predicted) at different thresholds, in the order given."""
        cuts = checks.vector("thresholds", thresholds)
        if len(np.unique(cuts)) != len(cuts):
            raise InputError("thresholds", "must all be different.")
        false, true = self.called(cuts)
        cells = np.array([[len(self.negative) - false, false], [len(self.positive) - true, true]])
        if self.labels[0] == self.pos_label:
            cells = cells[::-1, ::-1]
        coords = {"threshold": cuts.tolist()} | {dim: list(self.labels) for dim in CELL_DIMS}
        return xr.DataArray(np.moveaxis(cells, -1, 0), coords, ("threshold", *CELL_DIMS))


def binary_labels(y_true: Any, pos_label: Any) -> BinaryLabels:
    """Return checked labels (n,) of two classes; the positive class is the named one, or 1 of {0, 1} and {-1, 1}."""
    column = encode(y_true, "y_true")
    labels = column.labels.tolist()
    if len(labels) != 2:
        raise InputError("y_true", f"must hold two classes; it holds {listed(labels)}.")
    positive = positive_label(labels, pos_label)
    if positive is None:
        raise missing_positive_label(labels)
    return BinaryLabels(np.asarray(column.codes == labels.index(positive)), tuple(labels), positive)


def positives(y_true: Any, pos_label: Any = None) -> Booleans:
    """Return which labels (n,) are positive."""
    return binary_labels(y_true, pos_label).is_positive


def labelled_scores(
    y_true: Any, y_score: ArrayLike, pos_label: Any = None, name: str = "y_score"
) -> tuple[Booleans, Array]:
    """Return which examples (n,) are positive, and all scores (n,), checked."""
    is_positive = positives(y_true, pos_label)
    return is_positive, _one_each(is_positive, y_score, name)


def _one_each(is_positive: Booleans, y_score: ArrayLike, name: str) -> Array:
    """Return checked scores, one for each label (n,)."""
    score = checks.vector(name, y_score)
    checks.equal_lengths({"y_true": len(is_positive), name: len(score)})
    # −0 and 0 are one score, and seeds see the bytes of scores.
    return score + 0.0


def clusters_of(cluster: Any, examples: int, name: str) -> Codes:
    """Return the cluster of each example, numbered from 0; errors use the given word for examples.

    Clusters are ids, or a mapping of names to ids; the first ones contain the others.
    """
    codes = cluster_column(cluster).codes
    checks.equal_lengths({name: examples, "cluster": len(codes)})
    if codes.max() == 0:
        raise InputError(
            "cluster",
            "there is only one, and nothing to resample.",
            "Call it without `cluster`, or give the ids of more.",
        )
    return codes


def by_class(scores: Scores) -> xr.DataArray:
    """Return scores along a dim ``positive``, which says whether the example is positive."""
    values = np.concatenate([scores.negative, scores.positive])
    if np.isinf(values).any():
        raise InputError("y_score", "has infinite values, and a normal distribution has none: clip them.")
    if min(len(scores.positive), len(scores.negative)) < 2:
        raise InputError("y_score", "one score says nothing of the spread of its class; give two of either, or more.")
    if np.ptp(scores.positive) == np.ptp(scores.negative) == 0:
        raise InputError("y_score", "does not vary within either class, so there is no distribution to fit.")
    return xr.DataArray(values, {"positive": np.arange(len(values)) >= len(scores.negative)}, ["positive"])


# ── Probabilities of several classes, a column a class ──

# Tolerance of the sum of an example's probabilities, which should be 1.
_ROUNDING = 1e-3


class ClassProbabilities(NamedTuple):
    """Probabilities of classes."""

    # The class of each example, (n,).
    codes: Codes
    # The classes, (K,).
    labels: list[Any]
    # Probabilities for each example, which sum to 1, (n, K).
    probabilities: Array

    @classmethod
    def of(cls, y_true: Any, y_prob: Any, labels: Sequence[Any] | None, name: str = "y_prob") -> Self:
        """Return checked labels (n,), and probabilities (n, K), a data frame or a mapping of classes to columns.

        `labels` are the classes in the order of the columns; by default the keys of a frame or mapping, else sorted.
        """
        if isinstance(y_prob, Mapping | pd.DataFrame):
            labels = list(y_prob.keys()) if labels is None else labels
            y_prob = np.column_stack([np.asarray(decoded(y_prob[key])) for key in y_prob.keys()])  # noqa: SIM118
        columns, actual = np.asarray(y_prob), encode(y_true, "y_true")
        if columns.ndim != 2:
            raise InputError(name, f"must have a column for each class, (n, K); its shape is {columns.shape}.")
        names = _sorted_labels(actual) if labels is None else np.asarray(labels)
        if len(names) != columns.shape[1] or len(set(names.tolist())) != len(names):
            raise InputError(
                "labels",
                f"must name the {columns.shape[1]} columns of {name}, each once; they are {names.tolist()}.",
                "Give labels, in the order of the columns.",
            )
        codes = codes_for_labels(actual, names, "y_true")
        checks.equal_lengths({"y_true": len(codes), name: len(columns)})
        values = checks.probabilities(name, checks.vector(name, columns.ravel())).reshape(columns.shape)
        off = np.abs(values.sum(1) - 1)
        if off.max() > _ROUNDING:
            raise InputError(
                name,
                f"the probabilities of all classes must add up to 1; those of example {off.argmax()} "
                f"add up to {values[off.argmax()].sum():g}.",
                "Of labels that do not exclude each other give a column at a time.",
            )
        return cls(codes.copy(), names.tolist(), values)


def has_columns(y_prob: Any) -> bool:
    """Return whether there is a column for each class."""
    return isinstance(y_prob, Mapping | pd.DataFrame) or (y_prob is not None and np.ndim(y_prob) == 2)


def _sorted_labels(actual: Column) -> Any:
    """Return the labels in scikit-learn's order of columns, if they have no other order."""
    if actual.declared and actual.labels.tolist() != sorted(actual.labels.tolist()):
        raise InputError(
            "labels",
            f"y_true declares the order {actual.labels.tolist()}, and scikit-learn has columns in "
            f"the order {sorted(actual.labels.tolist())}.",
            "Give labels, in the order of the columns.",
        )
    return actual.labels
