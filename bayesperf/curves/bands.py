"""Bands of drawn curves: between quantiles at every place, or between ranks that hold whole curves."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.curves.curve_marginals import draws_along
from bayesperf.distributions.rank_envelopes import rank_envelope
from bayesperf.posteriors.marginal import Marginal


def pointwise(curves: Array, prob: float) -> Array:
    """Return the equal-tailed intervals of curves (draws, k) at each place, (k, 2)."""
    return np.quantile(curves, [(1 - prob) / 2, (1 + prob) / 2], axis=0).T


def simultaneous(curves: Array, prob: float) -> Array:
    """Return the rank envelope that wholly holds at least a share `prob` of curves (draws, k), (k, 2)."""
    return rank_envelope(curves, outside=int(np.floor((1 - prob) * len(curves) + 1e-9)))


BANDS = {"pointwise": pointwise, "simultaneous": simultaneous}
KINDS = tuple(BANDS)


def widened(bounds: Array, observed: Array) -> Array:
    """Return intervals (k, 2) widened, where need be, to hold the observed values (k,)."""
    return np.stack([np.minimum(bounds[:, 0], observed), np.maximum(bounds[:, 1], observed)], axis=-1)


def band_of_marginal(marginal: Marginal, ci_prob: float, kind: str) -> xr.DataArray:
    """Return the equal-tailed band of a marginal over one dim, with last dim ``ci_bound``.

    A simultaneous band is made of the draws in which the curve is defined everywhere.
    """
    checks.one_of("kind", kind, KINDS)
    if (marginal.undefined() == 1).any():
        raise InputError("metric", f"{marginal.name!r} is undefined (0/0) in every draw at some point of the curve.")
    band = marginal.eti(ci_prob)
    if kind == "simultaneous":
        curves = draws_along(marginal).T
        whole = curves[~np.isnan(curves).any(1)]
        if not len(whole):
            raise InputError(
                "kind", f"in no draw is {marginal.name} defined along the whole curve.", "Take 'pointwise'."
            )
        band = band.copy(data=simultaneous(whole, ci_prob))
    return band.assign_attrs(kind=kind)
