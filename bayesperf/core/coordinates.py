"""Coordinates of results, and arrays with those of others.

A copy of an array shares its coordinates. An array made anew copies them, which takes longer than many of the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array


def coordinate(dim: str, values: Sequence[Any] | Array) -> xr.DataArray:
    """Return an array of coordinates along a dim."""
    along = np.asarray(values)
    return xr.DataArray(along, {dim: along}, [dim], name=dim)


# The last dim of intervals.
CI_BOUND = coordinate("ci_bound", ["lower", "upper"])


def labelled(
    values: Array,
    leading: xr.DataArray,
    last: xr.DataArray | None = None,
    name: str | None = None,
    attrs: Mapping[Any, Any] | None = None,
) -> xr.DataArray:
    """Return values as an array with the dims and coordinates of another and, after these, those of a last one."""
    if last is not None and (leading.ndim or len(leading.coords)):
        return xr.DataArray(values, leading.coords | last.coords, (*leading.dims, *last.dims), name, attrs)
    array = (leading if last is None else last).copy(deep=False, data=values)
    array.name, array.attrs = name, dict(attrs or {})
    return array
