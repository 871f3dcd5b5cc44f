"""Helpers for labelled counts: coordinates, the positive class, and the log-likelihood of single examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

# The log-likelihood of single examples is left out if it has more values than this (80 MB).
MOST_VALUES = 10_000_000


def coords(data: xr.DataArray) -> dict[str, Any]:
    """Return the coordinates of labelled data in the form that `pymc.Model` takes."""
    return {str(dim): data[dim].values for dim in data.dims}


def positive(data: xr.DataArray) -> int:
    """Return the position of the positive class, given by the attribute ``pos_label`` of binary counts."""
    labels = data["actual"].values.tolist()
    if len(labels) != 2:
        raise ValueError(f"data: this model is of two classes; there are {len(labels)}. See the model 'groups'.")
    if "pos_label" not in data.attrs:
        raise ValueError(
            f"data: which of the labels {labels} is the positive class? Name it, as pos_label={labels[-1]!r}."
        )
    return int(labels.index(data.attrs["pos_label"]))


def per_example(probabilities: xr.DataArray, counts: xr.DataArray) -> xr.DataArray | None:
    """Return the log-likelihood of each example, (chain, draw, example), from the probability of each kind of example.

    Examples of the same kind have the same likelihood, which is repeated as often as the kind was observed. The result
    is None if there are more than `MOST_VALUES` values.
    """
    kinds = [dim for dim in probabilities.dims if dim not in ("chain", "draw")]
    seen = counts.transpose(*kinds).values.ravel()
    if seen.sum() * probabilities.sizes["chain"] * probabilities.sizes["draw"] > MOST_VALUES:
        return None
    ordered = probabilities.transpose("chain", "draw", *kinds)
    flat = np.repeat(ordered.values.reshape(*ordered.shape[:2], -1), seen, axis=-1)
    return xr.DataArray(np.log(flat), dims=("chain", "draw", "example"))
