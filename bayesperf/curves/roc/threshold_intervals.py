"""Intervals of both rates at each threshold by itself, from the counts there: method "beta" of a curve's band."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from bayesperf import prior as priors
from bayesperf.core.arrays import Array
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.curves.bands import widened
from bayesperf.curves.roc.curve_kinds import CurveKind
from bayesperf.posteriors.dirichlet import posterior


def intervals_at_thresholds(
    counts: Mapping[str, xr.DataArray], prior: str | priors.Prior | None, points: xr.Dataset, prob: float
) -> xr.Dataset:
    """Return the equal-tailed intervals of both rates over ``threshold``, widened to hold the points of the curve.

    Parameters
    ----------
    counts : mapping
        The four cells over ``threshold``.
    prior : str or Prior, optional
        As in `bayesperf.posterior`.
    points : xarray.Dataset
        Both rates, as observed.
    prob : float
        Probability of each interval.
    """
    rates = posterior(ConfusionMatrix.from_counts(**counts, dims=None), prior)
    intervals = {str(name): rates[str(name)].eti(prob) for name in points}
    return xr.Dataset({
        name: interval.copy(data=widened(interval.values, points[name].values)) for name, interval in intervals.items()
    })  # fmt: skip


def areas_under_edges(band: xr.Dataset, curve_kind: CurveKind) -> Array:
    """Return the areas under a ROC or precision–recall curve through the worst and through the best limits, (2,)."""
    x, y = band[curve_kind.x].values, band[curve_kind.y].values
    straight = curve_kind.name == "roc"
    # A false positive rate is worst at its upper limit.
    x = x[:, ::-1] if straight else x
    width = np.diff(x, axis=0, prepend=0, append=1)
    before, after = np.concatenate([y[:1], y]), np.concatenate([y, y[-1:]])
    return np.asarray((width * ((before + after) / 2 if straight else after)).sum(0))
