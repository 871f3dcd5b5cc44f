"""Scores of two systems in the folds of several data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.words import enumerated


def fold_scores(scores: Any, name: str, dim: str = "dataset") -> xr.DataArray:
    """Return scores with dims dataset, model (two systems) and fold; refuse those that leave no scatter to model.

    `name` is what the caller's argument is called, and `dim` the dim of its data sets.
    """
    wanted = (dim, "model", "fold")
    if not isinstance(scores, xr.DataArray) or set(scores.dims) != set(wanted) or scores.dtype.kind not in "iuf":
        actual = f"{type(scores).__name__} of dims {getattr(scores, 'dims', 'none')}"
        raise InputTypeError(name, f"must be a DataArray of numbers with dims {enumerated(wanted)}; it is a {actual}.")
    if scores.sizes["model"] != 2:
        raise InputError(name, f"two systems are compared; dim model has {scores.sizes['model']}.", "Select two.")
    if scores.sizes["fold"] < 2:
        raise InputError(name, "one fold says nothing of the scatter of scores.", "Ask signed_rank_test.")
    scores = scores.transpose(*wanted)
    missing = ~np.isfinite(scores.values).all((1, 2))
    apart = np.diff(scores.values, axis=1)[:, 0]
    alike = np.ptp(apart, axis=1) <= 1e-12 * abs(scores.values).max((1, 2))
    if missing.any():
        raise InputError(name, f"{dim} {_first(scores, dim, missing)} has missing or infinite scores.", "Drop it.")
    if alike.any():
        raise InputError(
            name,
            f"at {dim} {_first(scores, dim, alike)} all folds differ by the same, which leaves no scatter to model.",
            "Ask signed_rank_test of mean scores, which takes such data sets.",
        )
    checked: xr.DataArray = scores.rename({dim: "dataset"})
    return checked


def _first(scores: xr.DataArray, dim: str, where: np.ndarray[Any, Any]) -> str:
    return str(scores[dim].values[np.argmax(where)])
