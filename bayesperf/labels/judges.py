"""What judges say of the examples: labels, or a score, whose bins tell examples apart as labels do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, Counts, decoded
from bayesperf.core.errors import InputError
from bayesperf.data.label_encoding import missing_positive_label

# The name of a judge without one, and into how many bins a score is cut.
JUDGE, BINS = "judge", 6


class Judged(NamedTuple):
    """What a judge says of each example, as a class or the bin of a score.

    Of a score these are the limits between bins, and how much each bin speaks for the second class: from 0 to 1, in
    proportion to the median score in it.
    """

    codes: Codes
    cuts: tuple[float, ...] = ()
    bins: tuple[float, ...] = ()


def named_judges(judge: Any) -> dict[Any, Any]:
    """Return what each judge says, by name: of one, of a mapping, or of the columns of a frame or an array."""
    if judge is None:
        return {}
    if isinstance(judge, Mapping):
        found = dict(judge)
    elif isinstance(frame := nw.from_native(judge, eager_only=True, pass_through=True), nw.DataFrame):
        found = {name: frame[name].to_native() for name in frame.columns}
    elif getattr(judge, "ndim", 1) == 2:
        found = {f"{JUDGE} {place}": column for place, column in enumerate(np.asarray(judge).T, 1)}
    else:
        return {JUDGE: judge}
    if not found:
        raise InputError(JUDGE, "name one judge or more, with a column each.")
    return found


def as_score(values: Any, classes: Iterable[Any]) -> Array | None:
    """Return numbers as a score, NaN where they are missing; None if they are labels.

    Numbers are labels if all of them are among the classes, or if they are whole and there are not two classes.
    """
    column, classes = pd.Series(decoded(values)).infer_objects(), list(classes)
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return None
    numbers = column.to_numpy(float, na_value=np.nan)
    there = numbers[~np.isnan(numbers)]
    numeric = [each for each in classes if not isinstance(each, str)]
    if np.isin(there, numeric).all() or ((there % 1 == 0).all() and len(classes) != 2):
        return None
    return numbers


def in_bins(name: str, score: Array, rows: Counts | None, classes: list[Any], positive: int | None) -> Judged:
    """Return the bins of a score, equally full, or one for each value if these are few; of two bins, a class.

    Scores in [0, 1] may be probabilities: ½ is a limit, too.
    """
    score = checks.vector(name, score)
    if len(classes) != 2:
        raise InputError(
            name,
            f"holds a score, which speaks for one of two classes; there are {len(classes)}: {classes}.",
            "Give the judge's labels, or bins of the score in `strata`.",
        )
    if positive is None:
        raise missing_positive_label(classes)
    values, which = np.unique(score, return_inverse=True)
    shares = np.bincount(which, rows) / (len(score) if rows is None else rows.sum())
    cuts = _cuts(values, shares)
    codes = np.searchsorted(cuts, values, side="right")
    codes = codes if positive else len(cuts) - codes
    if len(cuts) < 2:
        return Judged(codes[which])
    medians = np.array([_median(values[codes == code], shares[codes == code]) for code in range(len(cuts) + 1)])
    speaks = (medians - medians[0]) / (medians[-1] - medians[0])
    return Judged(codes[which], tuple(cuts.tolist()), tuple(speaks.tolist()))


def _cuts(values: Array, shares: Array) -> Array:
    """Return the limits between bins of values in order; a bin begins with its lower limit."""
    if len(values) <= BINS:
        return values[1:]
    cuts = values[np.searchsorted(shares.cumsum(), np.arange(1, BINS) / BINS, side="right")]
    in_half = [0.5] if 0 <= values[0] < 0.5 <= values[-1] <= 1 else []
    return np.setdiff1d([*cuts, *in_half], values[0])


def _median(values: Array, shares: Array) -> float:
    return float(values[np.searchsorted(shares.cumsum(), shares.sum() / 2)])


def distinct(judges: Mapping[Any, Judged]) -> dict[Any, Judged]:
    """Return the judges who tell examples apart, and not as another one does."""
    kept: dict[Any, Judged] = {}
    for name, judge in judges.items():
        if np.ptp(judge.codes) and not any(np.array_equal(judge.codes, other.codes) for other in kept.values()):
            kept[name] = judge
    return kept


def bin_names(cuts: tuple[float, ...], is_turned: bool) -> list[str]:
    """Return the names of the bins of a score, in the order of their codes."""
    limits = [f"{cut:.3g}" for cut in cuts]
    names = [f"below {limits[0]}", *map("{} to {}".format, limits, limits[1:]), f"from {limits[-1]}"]
    return names[::-1] if is_turned else names
