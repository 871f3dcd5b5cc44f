"""Arguments of public functions: an unreadable argument is refused at the door, by its name.

Objects of other libraries raise their own errors when they are read, shown or compared, deep inside and without the
name of the argument: a tensor on a device, a frame whose file is gone, an array of unknown size.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core.errors import InputError, InputTypeError

# Arguments of one value, in whatever function they are.
_SINGLE = frozenset({
    "average", "best", "ci_kind", "ci_prob", "confidence", "criterion", "design", "dim", "draws", "greater_is_better",
    "independent", "method", "multi_class", "per_class", "pos_label", "progressbar", "question",
    "random_seed", "repeats", "resample", "rope", "shrink", "standardized", "test_fraction", "title", "transform",
})  # fmt: skip
# Arguments that are handed on to an estimator of another library, as they are.
_HANDED_ON = frozenset({"estimator", "X"})
# Those whose readers say themselves what is wrong; the columns of a table may be raters, of whom two have one name.
_OWN_WORDS = frozenset({"table", "tree"})
# Single values, which can be read.
_PLAIN = frozenset({type(None), str, bool, int, float})
# Whose objects can be read, shown and compared.
_KNOWN = frozenset({"builtins", "numpy", "pandas", "xarray", "bayesperf"})


def checked[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Return a decorator of a function that refuses unreadable arguments; see `refuse_unreadable`."""
    names = list(inspect.signature(function).parameters)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        # Arguments that do not fit are the function's own error.
        refuse_unreadable({**dict(zip(names, args, strict=False)), **kwargs})
        return function(*args, **kwargs)

    return call


def refuse_unreadable(arguments: Mapping[str, Any]) -> None:
    """Refuse arguments, given by name, that no function can read.

    That is: several values in place of one, a Dataset, a missing or ragged value, two columns with one name, an object
    that cannot be shown, or pandas columns of the same rows in different orders.
    """
    for name, value in arguments.items():
        if type(value) in _PLAIN or (type(value) is np.ndarray and name not in _SINGLE):
            continue
        if name in _SINGLE and _has_several(value):
            raise InputTypeError(name, f"must be a single value; it is {_kind(value)}.")
        if name not in _HANDED_ON:
            _refuse(name, value)
    _refuse_reordered(arguments)


def _has_several(value: Any) -> bool:
    """Return whether a value is an array, a frame, a list or another collection."""
    is_collection = hasattr(type(value), "__len__") or hasattr(type(value), "columns")
    is_single = isinstance(value, str | bytes) or (isinstance(value, np.ndarray | xr.DataArray) and value.ndim == 0)
    return is_collection and not is_single


def _length(value: Any) -> int:
    """Return the length of a list or an array; −1 for anything else."""
    return len(value) if isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim) else -1


def _refuse(name: str, value: Any) -> None:
    """Refuse an unreadable value, or a collection whose first value is unreadable."""
    if value is pd.NA:
        raise InputError(name, "is missing: it is pandas.NA.", "Give a value.")
    if isinstance(value, xr.Dataset) and name not in _OWN_WORDS:
        raise InputTypeError(name, "is a Dataset, which holds several arrays.", "Give one of them, as dataset['name'].")
    if isinstance(value, pd.DataFrame) and not value.columns.is_unique and name not in _OWN_WORDS:
        twice = value.columns[value.columns.duplicated()].tolist()[0]
        raise InputError(name, f"has two columns called {twice!r}.", "Rename one.")
    if isinstance(value, list) and len(set(map(_length, value))) > 1:
        raise InputError(name, "is ragged: it holds lists of unequal length.", "Give each the same length.")
    if isinstance(value, Mapping | list | tuple):
        for each in list(value.values() if isinstance(value, Mapping) else value[:1]):
            _refuse(name, each)
    elif type(value).__module__.split(".")[0] not in _KNOWN:
        try:
            _read(value)
        except Exception as error:  # The type is unknown: it is another library's error.
            said = next(iter(str(error).splitlines()), "")
            raise InputTypeError(name, f"{_kind(value)} that cannot be read ({said}).", "Give plain values.") from error


def _refuse_reordered(arguments: Mapping[str, Any]) -> None:
    """Refuse pandas columns whose indices have the same entries in different orders: position says what goes together.

    After a merge or a sort it would pair the prediction of one example with the truth of another.
    """
    indices = {
        f"{name}[{key!r}]" if isinstance(value, Mapping) else name: column.index
        for name, value in arguments.items()
        for key, column in (value.items() if isinstance(value, Mapping) else [(name, value)])
        if isinstance(column, pd.Series | pd.DataFrame)
    }
    for name, index in indices.items():
        first = next(iter(indices.values()))
        if not index.equals(first) and _has_same_entries(index, first):
            raise InputError(
                name,
                "has the same index as another column, in another order, and rows are paired by position.",
                "Put both in one order, as b.loc[a.index]; or, if the positions are right, call .to_numpy() on both.",
            )


def _has_same_entries(index: pd.Index, other: pd.Index) -> bool:
    """Return whether two indices have the same entries, each once."""
    return len(index) == len(other) and index.is_unique and other.is_unique and bool(index.isin(other).all())


def _read(value: Any) -> None:
    """Read just enough of a value to show whether it can be read."""
    of = type(value)
    if hasattr(of, "collect_schema"):
        value.collect_schema()
    elif hasattr(of, "columns"):
        list(value.columns)
    elif any(length != length for length in getattr(value, "shape", ())):
        raise ValueError("the sizes of its chunks are not known: call compute_chunk_sizes()")
    elif hasattr(of, "__array__"):
        # Dask would compute all that the array is made of.
        if of.__module__.split(".")[0] != "dask":
            np.asarray(value[:1] if getattr(value, "ndim", 1) else value)
    elif not hasattr(of, "__len__"):
        repr(value)
        _ = value == 0


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
