"""The places along leading dims: the systems."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayesperf.core.words import place_names


def place_of(leading: xr.DataArray) -> list[tuple[tuple[int, ...], str]]:
    """Return the position and the name of every place along leading dims."""
    return list(zip(np.ndindex(leading.shape), place_names(leading), strict=True))
