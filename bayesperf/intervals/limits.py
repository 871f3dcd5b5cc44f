"""Common parts of all confidence intervals: the normal quantile, the labels, the warning about zero width."""

from __future__ import annotations

from typing import Any

import xarray as xr
from scipy.special import ndtri

from bayesperf.core import checks
from bayesperf.core.arrays import CI_BOUND, Array
from bayesperf.core.errors import warn

# What to do instead, for a metric.
ADVICE = "take bayesperf.intervals.proportion of a rate, wilson_f1, or bayesperf.posterior(cm)."


def normal_quantile(confidence: Any) -> float:
    """Return z such that a standard normal variable is between −z and z with probability `confidence`."""
    return float(ndtri((1 + checks.probability("confidence", confidence)) / 2))


def limits_over(
    limits: Array, leading: xr.DataArray, name: str | None, standard_error: Array | None = None, **facts: Any
) -> xr.DataArray:
    """Return limits (…, 2) labelled with some leading dims and the last dim ``ci_bound``.

    The standard error (…), if given, becomes a coordinate.
    """
    coords = leading.coords | CI_BOUND.coords
    if standard_error is not None:
        coords |= xr.Coordinates({"standard_error": (leading.dims, standard_error)}, indexes={})
    return xr.DataArray(limits, coords, (*leading.dims, "ci_bound"), name=name, attrs=facts)


def warn_of_no_width(limits: Array, what: str, advice: str) -> None:
    """Warn where limits (…, 2) coincide, which does not mean certainty."""
    empty = limits[..., 0] == limits[..., 1]
    if empty.any():
        which = f"{empty.sum()} of {empty.size} intervals have" if empty.size > 1 else "the interval has"
        warn(UserWarning, "BP701", f"{what}: {which} no width. That is no certainty: {advice}")
