"""Validation and differences of the scores of two systems, paired by fold or by data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.axis_names import REPEAT


class Differences(NamedTuple):
    """Differences between the scores of a and b (n,), and the number of decimals to which they are accurate.

    Differences are rounded to 14 digits of the greatest score, so that 0.81 − 0.80 is 0.01 and inside a rope of 0.01.
    """

    values: Array
    decimals: int


def differences(scores_a: Any, scores_b: Any) -> Differences:
    """Return the differences between paired scores; there must be at least two."""
    a, b = (_scores(name, scores) for name, scores in {"scores_a": scores_a, "scores_b": scores_b}.items())
    if len(a) != len(b):
        raise InputError(
            "scores_b", f"has {len(b)} scores and scores_a {len(a)}: they must be of the same, in one order."
        )
    labels_a, labels_b = _labels(scores_a), _labels(scores_b)
    if labels_a is not None and labels_b is not None and not labels_a.equals(labels_b):
        raise InputError("scores_b", "is labelled otherwise than scores_a: put both in the same order, or give arrays.")
    greatest = float(max(np.abs(a).max(), np.abs(b).max()))
    decimals = 14 - min(max(math.ceil(math.log10(greatest)), -280), 280) if greatest else 14
    return Differences(np.round(a - b, decimals), decimals)


def system_names(names: Sequence[Any] | None, scores_a: Any, scores_b: Any) -> tuple[Any, Any]:
    """Return the given names, else those that two systems have where they were selected, else "a" and "b"."""
    if names is not None:
        return checks.two_names(names)
    if isinstance(scores_a, xr.DataArray) and isinstance(scores_b, xr.DataArray):
        both = [(coord, scores_b.coords[dim]) for dim, coord in scores_a.coords.items() if dim in scores_b.coords]
        for a, b in both:
            if not a.dims and not b.dims and a.item() != b.item():
                return a.item(), b.item()
    return "a", "b"


def over_folds(scores: Any) -> Any:
    """Return scores with all folds along one dim if they have the dims repeat and fold; else return them unchanged."""
    if not isinstance(scores, xr.DataArray) or not {REPEAT, "fold"} <= set(scores.dims):
        return scores
    stacked = scores.stack(split=(REPEAT, "fold"))
    labels = [f"{repeat}, {fold}" for repeat, fold in stacked.indexes["split"]]
    return stacked.drop_vars(["split", REPEAT, "fold"]).assign_coords(split=labels).rename(split="fold")


def _scores(name: str, scores: Any) -> Array:
    values = np.asarray(scores)
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        shown = f"a DataArray with dims {scores.dims}" if isinstance(scores, xr.DataArray) else repr(scores)
        raise InputTypeError(name, f"must be a one-dimensional array of numbers; it is {shown}.")
    if len(values) < 2:
        raise InputError(name, f"must hold at least two scores; there is {len(values) or 'none'}.")
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        raise InputError(name, f"has a missing or infinite score, {values[at]} at position {at}.", "Drop it from both.")
    return values.astype(float)


def _labels(scores: Any) -> pd.Index[Any] | None:
    if isinstance(scores, pd.Series):
        return scores.index
    return scores.indexes.get(scores.dims[0]) if isinstance(scores, xr.DataArray) else None
