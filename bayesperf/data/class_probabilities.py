"""Labels of several classes, and the probabilities that a system gives to each: a column a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, decoded
from bayesperf.core.errors import InputError
from bayesperf.data.label_encoding import Column, codes_for_labels, encode

# By how much the probabilities of an example may miss a sum of 1.
_ROUNDING = 1e-3


class ClassProbabilities(NamedTuple):
    """Probabilities of classes.

    Attributes
    ----------
    codes : ndarray (n,)
        The class of each example.
    labels : list (K,)
        The classes.
    probabilities : ndarray (n, K)
        Those of each example, which sum to 1.
    """

    codes: Codes
    labels: list[Any]
    probabilities: Array

    @classmethod
    def of(cls, y_true: Any, y_prob: Any, labels: Sequence[Any] | None, name: str = "y_prob") -> Self:
        """Return labels and probabilities, checked.

        Parameters
        ----------
        y_true : array-like (n,)
            Labels.
        y_prob : array-like (n, K), data frame, or mapping of classes to columns
            Probabilities.
        labels : sequence (K,), optional
            The classes in the order of the columns; by default the keys of a frame or mapping, else sorted.
        name : str
            What the probabilities are called in errors.
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
        return cls(codes, names.tolist(), values)


def has_columns(y_prob: Any) -> bool:
    """Return whether there is a column for each class."""
    return isinstance(y_prob, Mapping | pd.DataFrame) or (y_prob is not None and np.ndim(y_prob) == 2)


def _sorted_labels(actual: Column) -> Any:
    """Return the labels in the order in which scikit-learn has its columns, if they are in no other."""
    if actual.declared and actual.labels.tolist() != sorted(actual.labels.tolist()):
        raise InputError(
            "labels",
            f"y_true declares the order {actual.labels.tolist()}, and scikit-learn has columns in "
            f"the order {sorted(actual.labels.tolist())}.",
            "Give labels, in the order of the columns.",
        )
    return actual.labels
