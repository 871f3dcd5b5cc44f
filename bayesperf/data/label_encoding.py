"""Label encoding: columns of labels and of ids, checked and turned into integer codes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence, Set
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesperf.core.arrays import Codes, decoded
from bayesperf.core.errors import InputError, InputTypeError, LabelWarning, warn
from bayesperf.core.words import listed
from bayesperf.data.axis_names import in_calendar

# Integer labels that span less than this are indexed by value; others are hashed.
_DIRECT_SPAN = 1_000_000


class HasPositive:
    """Base class of objects with `labels` and `pos_label`."""

    @cached_property
    def positive(self: Any) -> int | None:
        """Position of the positive class among the labels."""
        return None if self.pos_label is None else self.labels.index(self.pos_label)


class Column(NamedTuple):
    """An encoded column: ``labels[codes]`` are its values; ``declared`` if the input fixed the set of labels itself.

    The codes of whole numbers from 0 may be the caller's own array. What keeps them copies them.
    """

    codes: Codes
    labels: NDArray[Any]
    declared: bool = False


def encode(values: Any, name: str, *, fractions: bool = False) -> Column:
    """Check and encode one column of labels; refuse it if it is empty, or has missing values or mixed kinds.

    Labels are strings, integers, whole floats or booleans, in a list, NumPy array, pandas, Polars or PyArrow column. A
    pandas categorical fixes the labels and their order, observed or not. Fractional floats may name a group, but never
    a class.
    """
    values = _as_categorical(values)
    if isinstance(values, pd.Categorical):
        codes = _refuse_missing(np.asarray(values.codes, dtype=np.intp), name)
        return Column(codes, _as_label_array(np.asarray(values.categories), name, fractions), declared=True)
    if isinstance(values, pd.Series) and isinstance(values.dtype, pd.StringDtype) and len(values):
        return _encode_objects(values, name, fractions)
    array = _one_dimensional(values, name)
    if array.dtype.kind == "f":
        _refuse_missing(np.where(np.isnan(array), -1, 0), name)
    if array.dtype.kind in "OT":
        return _encode_objects(array.astype(object), name, fractions)
    array = _as_label_array(array, name, fractions)
    if array.dtype.kind == "U":
        return _encode_strings(array)
    if array.dtype.kind in "bi":
        low, high = int(array.min()), int(array.max())
        if high - low < _DIRECT_SPAN:
            codes = array.astype(np.intp, copy=False)
            # Whole numbers from 0 are their own codes: to copy them would take longer than to count them.
            return _between(codes - low if low else codes, np.arange(low, high + 1).astype(array.dtype))
    codes, labels = pd.factorize(array, sort=True)
    return Column(codes.astype(np.intp, copy=False), labels)


def encode_levels(values: Any, name: str) -> Column:
    """Encode a column whose values become the levels of a leading dim: sorted, or months and weekdays by the calendar.

    A pandas categorical fixes another order.
    """
    column = encode(values, name, fractions=True)
    levels = column.labels.tolist()
    order = [] if column.declared else in_calendar(levels)
    if not order:
        return column
    place = np.array([order.index(level) for level in levels])
    return Column(place[column.codes], np.array(order))


def merge_labels(columns: Sequence[Column], names: Sequence[str]) -> NDArray[Any]:
    """Return the labels of several columns together: declared labels first, in their order, then the others, sorted."""
    kinds = {"strings" if column.labels.dtype.kind == "U" else "numbers": name
             for column, name in zip(columns, names, strict=True)}  # fmt: skip
    if len(kinds) > 1:
        raise InputTypeError(
            f"{kinds['strings']}",
            f"holds strings and {kinds['numbers']} holds numbers: the labels of both must be of one kind.",
            "Convert one of them.",
        )
    declared = [label for column in columns if column.declared for label in column.labels.tolist()]
    rest = sorted({label for column in columns if not column.declared for label in column.labels.tolist()})
    merged = list(dict.fromkeys([*declared, *rest]))
    if any(not isinstance(label, bool) for label in merged):
        merged = [int(label) if isinstance(label, bool) else label for label in merged]
    return np.array(merged)


def codes_for_labels(column: Column, labels: NDArray[Any], name: str) -> Codes:
    """Return the codes of a column as positions in another list of labels."""
    position = {label: index for index, label in enumerate(labels.tolist())}
    unknown = [code for code, label in enumerate(column.labels.tolist()) if label not in position]
    if unknown and np.isin(unknown, column.codes).any():
        observed = np.bincount(column.codes, minlength=len(column.labels)) > 0
        names = [label for label in column.labels[observed].tolist() if label not in position]
        raise InputError(
            name, f"holds {listed(names)}, not among the labels {labels.tolist()}.", "Add them to `labels`."
        )
    lookup = np.array([position.get(label, -1) for label in column.labels.tolist()], dtype=np.intp)
    return column.codes if np.array_equal(lookup, np.arange(len(lookup))) else lookup[column.codes]


def warn_of_lookalikes(labels: NDArray[Any], name: str) -> None:
    """Warn about labels that differ only by blanks or invisible characters."""
    if labels.dtype.kind != "U":
        return
    seen: dict[str, str] = {}
    pairs = [
        (first, label) for label in labels.tolist() if (first := seen.setdefault(_visible_text(label), label)) != label
    ]
    if pairs:
        (first, label), more = pairs[0], f" (and {len(pairs) - 1} more)" if len(pairs) > 1 else ""
        warn(
            LabelWarning,
            "BP501",
            f"{name}: {first!r} and {label!r} differ by blanks only, and count as two{more}. If they are one, strip "
            "the blanks before counting.",
        )


def _visible_text(label: str) -> str:
    """Return a text without blanks and format characters, with its accents in one form."""
    shown = unicodedata.normalize("NFC", label)
    return "".join(char for char in shown if not char.isspace() and unicodedata.category(char) != "Cf")


def check_labels(labels: Iterable[Any], fractions: bool = False) -> NDArray[Any]:
    """Return the caller's labels as an array: at least two, all different, of one kind."""
    if isinstance(labels, str | Set) or not isinstance(labels, Iterable):
        raise InputTypeError("labels", f"must be a sequence of them, in their order; it is {type(labels).__name__}.")
    column = encode(labels if isinstance(labels, np.ndarray) else list(labels), "labels", fractions=fractions)
    if len(column.labels) != len(column.codes):
        raise InputError("labels", "every label must be named once.")
    if len(column.codes) < 2:
        raise InputError("labels", "name at least two.")
    return column.labels[column.codes]


def encode_ids(values: Any, name: str) -> Column:
    """Encode a column of ids of any hashable kind, numbered in order of appearance."""
    # As objects: NumPy would turn a list of tuples into a two-dimensional array.
    ids = np.fromiter(values, object, len(values)) if isinstance(values, list | tuple) else values
    ids = _one_dimensional(ids, name)
    try:
        codes, uniques = pd.factorize(ids)
    except TypeError as error:
        raise InputTypeError(name, f"every id must be hashable ({error}).") from None
    return Column(_refuse_missing(codes, name), np.asarray(uniques))


def positive_label(labels: list[Any], pos_label: Any) -> Any:
    """Return the positive label of a binary problem: the named one, or else 1 of {0, 1} or {-1, 1}, or else None."""
    if pos_label is None:
        return labels[labels.index(1)] if len(labels) == 2 and set(labels) in ({0, 1}, {-1, 1}) else None
    if np.ndim(pos_label) or pos_label not in labels:
        raise InputError("pos_label", f"{pos_label!r} is not among the labels {labels}.")
    if len(labels) > 2:
        raise InputError(
            "pos_label", f"is for two classes; there are {len(labels)}.", "Remove `pos_label`; see one_vs_rest()."
        )
    return labels[labels.index(pos_label)]


def missing_positive_label(labels: list[Any]) -> ValueError:
    """Return the error that asks for the positive one of two labels."""
    return InputError("pos_label", f"which of the labels {labels} is the positive class?", "Name it, in `pos_label`.")


def _as_categorical(values: Any) -> Any:
    """Return a column that declares its labels (pandas categorical, Polars Enum) as a pandas Categorical."""
    if isinstance(getattr(values, "dtype", None), pd.CategoricalDtype):
        return pd.Categorical(values)
    categories = getattr(getattr(values, "dtype", None), "categories", None)
    if categories is not None and type(values.dtype).__name__ == "Enum":
        return pd.Categorical(values.to_list(), categories=categories.to_list())
    return values


def _one_dimensional(values: Any, name: str) -> NDArray[Any]:
    """Return a column as a one-dimensional array, not empty."""
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise InputTypeError(name, f"must be a sequence of labels, one an example; it is {type(values).__name__}.")
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        _refuse_missing(np.where(np.ma.getmaskarray(values), -1, 0), name)
    try:
        # A list is read as objects: NumPy would silently turn [0, "a"] into strings.
        array = np.asarray(decoded(values), dtype=object if isinstance(values, list | tuple) else None)
    except ValueError:
        raise InputError(name, "must be one-dimensional: it holds sequences of unequal length.") from None
    except Exception as error:  # The type is unknown: it is the error of the library whose column it is.
        raise InputTypeError(name, f"a {type(values).__name__} cannot be read as labels ({error}).") from error
    if array.ndim != 1:
        raise InputError(
            name,
            f"must be one-dimensional, one label an example; its shape is {array.shape}.",
            "If examples have several labels, both y_true and y_pred must be arrays of 0 and 1, a column a label.",
        )
    if array.size == 0:
        raise InputError(name, "is empty: there is nothing to count.")
    return array


def _as_label_array(array: NDArray[Any], name: str, fractions: bool) -> NDArray[Any]:
    """Return labels as strings, booleans, int64 or (for groups) floats."""
    match array.dtype.kind:
        case "b" | "U":
            return array
        case "i":
            return array.astype(np.int64, copy=False)
        case "u":
            return array.astype(np.int64) if array.dtype.itemsize < 8 else _checked_unsigned(array, name)
        case "f":
            whole = np.isfinite(array) & (array == np.floor(array))
            if whole.all() and np.abs(array).max(initial=0) < 2**53:
                return array.astype(np.int64)
            if fractions and np.isfinite(array).all():
                return array
            raise InputError(
                name,
                f"holds {array[~whole][:1].tolist() or [array.max()]}: a class cannot be a fractional number.",
                "For scores, use `from_scores`.",
            )
        case "O" | "T":
            return _label_array(array.astype(object).tolist(), name, fractions)
        case _:
            raise InputTypeError(name, f"holds {array.dtype}: labels must be strings, whole numbers or booleans.")


def _checked_unsigned(array: NDArray[Any], name: str) -> NDArray[np.int64]:
    """Return 64-bit unsigned integers as signed ones, if they fit."""
    if array.size and array.max() > np.iinfo(np.int64).max:
        raise InputError(name, f"holds {array.max()}: whole numbers must fit 64 signed bits.")
    return array.astype(np.int64)


def _encode_objects(array: NDArray[Any] | pd.Series, name: str, fractions: bool) -> Column:
    """Encode Python objects by hashing, labels sorted."""
    try:
        codes, uniques = pd.factorize(array)
    except TypeError:
        bad = next(value for value in array if getattr(type(value), "__hash__", None) is None)
        raise InputTypeError(
            name, f"holds {bad!r}: labels must be strings, whole numbers or booleans, not {type(bad).__name__}."
        ) from None
    labels = _label_array(list(uniques), name, fractions) if len(uniques) else np.array([])
    _refuse_missing(codes, name)
    order = np.argsort(labels)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return Column(rank[codes], labels[order])


def _label_array(values: list[Any], name: str, fractions: bool) -> NDArray[Any]:
    """Return distinct Python labels as one array of one kind."""
    kinds = {"strings" if isinstance(v, str) else "numbers" if isinstance(v, int | float | np.number | np.bool_)
             else type(v).__name__ for v in values}  # fmt: skip
    if kinds == {"strings"}:
        return np.array([str(value) for value in values])
    if kinds == {"numbers"}:
        array = np.array(values)
        if array.dtype.kind == "O":
            raise InputError(name, f"holds {max(values, key=abs)}: whole numbers must fit 64 signed bits.")
        return _as_label_array(array, name, fractions)
    raise InputTypeError(
        name,
        f"holds labels of these kinds: {', '.join(sorted(kinds))}.",
        "They must be all strings or all numbers (whole, or booleans).",
    )


def _encode_strings(array: NDArray[np.str_]) -> Column:
    """Encode fixed-width strings by binary search among the labels of the first rows, or of all if some are missed."""
    for sample in (array[:10_000], array):
        labels = np.unique(sample)
        codes = np.minimum(np.searchsorted(labels, array), len(labels) - 1)
        if len(sample) == len(array) or np.array_equal(labels[codes], array):
            break
    return Column(codes, labels)


def _between(codes: NDArray[np.intp], labels: NDArray[Any]) -> Column:
    """Encode whole numbers, the smallest of which has code 0, with the labels that occur alone."""
    # The smallest and the largest occur.
    if len(labels) <= 2:
        return Column(codes, labels)
    observed = np.bincount(codes, minlength=len(labels)) > 0
    return Column(codes if observed.all() else (np.cumsum(observed) - 1)[codes], labels[observed])


def _refuse_missing(codes: NDArray[Any], name: str) -> NDArray[Any]:
    """Refuse missing values, which are coded -1."""
    missing = np.flatnonzero(codes < 0)
    if len(missing):
        raise InputError(
            name,
            f"has {len(missing)} missing value{'s' * (len(missing) > 1)} (first at position {missing[0]}).",
            "Drop those examples, or name the missing ones with a label of their own.",
        )
    return codes
