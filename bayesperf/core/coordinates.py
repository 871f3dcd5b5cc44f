"""Coordinates that results share, made once: making them anew takes longer than many of the results themselves."""

from __future__ import annotations

import xarray as xr

# The last dim of intervals.
CI_BOUND = xr.Coordinates({"ci_bound": ["lower", "upper"]})
