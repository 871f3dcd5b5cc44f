"""Intervals of both rates at each threshold by itself, from the counts there: a curve's band by "beta" or "wilson"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from bayesperf import intervals
from bayesperf.core.arrays import Array
from bayesperf.curves.roc.curve_kinds import CurveKind
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.exact_forms import Proportion
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.posterior_of_counts import posterior

# Confidence intervals of a rate that have a width at the ends of a curve, too.
CONFIDENCE_INTERVALS = ("wilson", "clopper_pearson", "agresti_coull")


def intervals_at_thresholds(
    counts: Mapping[str, xr.DataArray], prior: str | priors.Prior | None, names: Sequence[str], prob: float
) -> xr.Dataset:
    """Return the equal-tailed intervals of rates over ``threshold``, of the four cells over ``threshold``."""
    rates = posterior(ConfusionMatrix.from_counts(**counts, dims=None), prior)
    return xr.Dataset({name: rates[name].eti(prob) for name in names})


def confidence_at_thresholds(
    counts: Mapping[str, xr.DataArray], curve_kind: CurveKind, prob: float, method: str
) -> xr.Dataset:
    """Return the confidence intervals of both rates over ``threshold``, by `bayesperf.intervals.proportion`.

    Without trials, as of precision where nothing is called positive, an interval is [0, 1].
    """
    limits = {}
    for metric in curve_kind.metrics:
        form = metric.exact_form(2)
        assert isinstance(form, Proportion)
        ((success,), (failure,)) = form.success, form.failure
        trials = counts[success] + counts[failure]
        limits[metric.name] = intervals.proportion(counts[success], trials, confidence=prob, method=method)
    return xr.Dataset(limits)


def edges(band: xr.Dataset, curve_kind: CurveKind) -> tuple[Array, Array]:
    """Return both coordinates (threshold, 2) of the edges of a band: through the worst limits, and through the best."""
    x, y = band[curve_kind.x].values, band[curve_kind.y].values
    # A false positive rate is worst at its upper limit.
    return (x[:, ::-1] if curve_kind.name == "roc" else x), y


def areas_under_edges(band: xr.Dataset, curve_kind: CurveKind) -> Array:
    """Return the areas under a ROC or precision–recall curve through the worst and through the best limits, (2,)."""
    x, y = edges(band, curve_kind)
    straight = curve_kind.name == "roc"
    width = np.diff(x, axis=0, prepend=0, append=1)
    before, after = np.concatenate([y[:1], y]), np.concatenate([y, y[-1:]])
    return np.asarray((width * ((before + after) / 2 if straight else after)).sum(0))
