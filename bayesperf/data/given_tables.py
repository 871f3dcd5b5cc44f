"""Tables and reports in place of a matrix: accepted if they state what they hold, else an error names the call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core.arrays import Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.axis_names import axis_role
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.matrix import ConfusionMatrix

# The lines of scikit-learn's classification_report that are not about a class.
_AVERAGES = ("accuracy", "micro avg", "macro avg", "weighted avg", "samples avg")
_LINE = re.compile(r"^\s*(\S.*?)\s+(\d\.\d+)\s+(\d\.\d+)\s+(\d\.\d+)\s+(\d+)\s*$", re.MULTILINE)
# So many tables are tried at most.
_MOST_TABLES = 4_000_000
_ORIENTATION = "rows actual and columns predicted, as scikit-learn's confusion_matrix has them"


class Line(NamedTuple):
    """A report's line for a class: its figures, and its number of examples."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int


def matrix_of(given: Any, labels: Iterable[Any] | None = None, pos_label: Any = None) -> ConfusionMatrix:
    """Return the matrix of a table or report that states which counts it contains.

    Parameters
    ----------
    given : xarray.DataArray, pandas.DataFrame, str or mapping
        A table whose axes are named after their contents, or a ``classification_report`` for two classes, as text or
        dict.
    labels, pos_label
        As in `ConfusionMatrix.from_table`.

    Raises
    ------
    TypeError
        If it may be such a table but does not say so; the error names the call that accepts it.
    ValueError
        If a report fits no table of counts, or several.

    Examples
    --------
    >>> import pandas as pd
    >>> y_true, y_pred = pd.Series([1, 1, 0], name="y_true"), pd.Series([1, 0, 0], name="y_pred")
    >>> matrix_of(pd.crosstab(y_true, y_pred)).counts.values
    array([[1, 0], [1, 1]])
    """
    if isinstance(given, str | Mapping):
        lines, half_digit = _lines(given)
        names = _labels([line.label for line in lines])
        counts = xr.DataArray(_counts(lines, half_digit), dict.fromkeys(CELL_DIMS, names), CELL_DIMS)
        return ConfusionMatrix.from_table(counts, labels=labels, pos_label=pos_label)
    if isinstance(given, pd.DataFrame):
        _refuse_unnamed(given)
    elif not isinstance(given, xr.DataArray):
        shape = np.shape(given) if isinstance(given, np.ndarray | list | tuple) else ()
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise InputTypeError("cm", "must be a ConfusionMatrix, or actual and predicted labels.")
        raise InputTypeError(
            "cm",
            f"must be a ConfusionMatrix; it is a table of {shape[-2]} × {shape[-1]} without names.",
            f"If it has {_ORIENTATION}: posterior(ConfusionMatrix.from_table(table, labels=[...])).",
        )
    return ConfusionMatrix.from_table(given, labels=labels, pos_label=pos_label)


def _refuse_unnamed(table: pd.DataFrame) -> None:
    """Refuse a frame that is not a table of counts, judging by the names of its axes."""
    roles = [axis_role(axis.name) for axis in (table.index, table.columns)]
    if any(roles) and roles[0] != roles[1]:
        return
    if table.shape[0] == table.shape[1] and set(table.index) == set(table.columns):
        raise InputTypeError(
            "cm",
            "must be a ConfusionMatrix; the axes of this table do not say which are the actual labels.",
            f"If it has {_ORIENTATION}: posterior(ConfusionMatrix.from_table(table)).",
        )
    columns = {role: next((name for name in table if axis_role(name) == role), "…") for role in CELL_DIMS}
    raise InputTypeError(
        "cm",
        "must be a ConfusionMatrix, or actual and predicted labels.",
        "Of a frame with a row an example: posterior(ConfusionMatrix.from_frame(frame, "
        f"actual={columns['actual']!r}, predicted={columns['predicted']!r})).",
    )


# ── classification_report ──


def _lines(report: str | Mapping[str, Any]) -> tuple[list[Line], float]:
    """Return a report's figures for each class, and how far off they may be."""
    if isinstance(report, str):
        found = [Line(m[1], float(m[2]), float(m[3]), float(m[4]), int(m[5])) for m in _LINE.finditer(report)]
        averages = [name for name in _AVERAGES if re.search(rf"^\s*{name}\b", report, re.MULTILINE)]
        digits = min((len(m[3]) - 2 for m in _LINE.finditer(report)), default=2)
        half_digit = 0.5 * 10.0**-digits + 1e-9
    else:
        averages = [name for name in _AVERAGES if name in report]
        found = [Line(str(k), *(v.get(n, np.nan) for n in ("precision", "recall", "f1-score", "support")))
                 for k, v in report.items() if isinstance(v, Mapping)]  # fmt: skip
        half_digit = 1e-9
    lines = [line for line in found if line.label not in _AVERAGES]
    if not lines or not averages:
        raise InputTypeError(
            "cm",
            "must be a ConfusionMatrix, or actual and predicted labels; of text or a "
            "dict only scikit-learn's classification_report.",
        )
    if len(lines) != 2 or "accuracy" not in averages:
        raise InputError(
            "classification_report",
            f"that of {len(lines)} classes does not hold which were taken for which, or not all of them.",
            "Give the labels, as posterior(y_true, y_pred), or their counts, as "
            "posterior(ConfusionMatrix.from_table(confusion_matrix(y_true, y_pred))).",
        )
    return lines, half_digit


def _counts(lines: list[Line], half_digit: float) -> Counts:
    """Return the only table of counts with the figures of a report for two classes."""
    sizes = np.array([line.support for line in lines])
    if not (np.isfinite(sizes).all() and (sizes == np.floor(sizes)).all()):
        raise InputError("classification_report", "its support is no number of examples, as that of weighted ones.")
    n, m = sizes.astype(int).tolist()
    # The correct ones of either class that have its recall.
    hits = [_near(line.recall, size, half_digit) for line, size in zip(lines, (n, m), strict=True)]
    fits = None
    if len(hits[0]) * len(hits[1]) <= _MOST_TABLES:
        a, b = (x.ravel() for x in np.meshgrid(*hits, indexing="ij"))
        figures = [
            _share(a, a + m - b),
            _share(b, b + n - a),
            _share(2 * a, a + m - b + n),
            _share(2 * b, b + n - a + m),
        ]
        printed = [*(line.precision for line in lines), *(line.f1 for line in lines)]
        good = np.all([np.abs(x - y) <= half_digit for x, y in zip(figures, printed, strict=True)], axis=0)
        fits = [(int(i), int(j)) for i, j in zip(a[good], b[good], strict=True)]
    if fits is None or len(fits) != 1:
        number = "no table of counts has" if fits == [] else f"{len(fits) if fits else 'many'} tables of counts have"
        raise InputError(
            "classification_report",
            f"{number} its figures.",
            "Give it with output_dict=True; or the labels, as posterior(y_true, y_pred).",
        )
    ((i, j),) = fits
    return np.array([[i, n - i], [m - j, j]])


def _near(share: float, size: int, half_digit: float) -> Counts:
    """Return the counts that are about a given proportion of a number of examples."""
    low, high = np.ceil((share - half_digit) * size), np.floor((share + half_digit) * size)
    return np.arange(max(0, int(low)), min(size, int(high)) + 1)


def _share(part: Counts, whole: Counts) -> Any:
    """Return proportions as scikit-learn computes them, 0 for nothing."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _labels(texts: list[str]) -> list[Any]:
    """Return labels as numbers if all of them are."""
    return [int(text) for text in texts] if all(re.fullmatch(r"-?\d+", text) for text in texts) else texts
