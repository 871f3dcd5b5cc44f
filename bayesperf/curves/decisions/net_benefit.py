"""Net benefit over thresholds, of rates that are observed or drawn, and the strategies that it is compared with."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array, Booleans
from bayesperf.curves.curve_marginals import DIM
from bayesperf.metrics.formulas import NetBenefit

# Names of strategies: calling every example positive, none, or following the only system.
TREAT_ALL, TREAT_NONE, SYSTEM = "treat_all", "treat_none", "system"


def with_net_benefit(rates: xr.Dataset) -> xr.Dataset:
    """Return ``prevalence``, ``fpr`` and ``recall`` over thresholds with the net benefits that they make."""
    positives = rates["prevalence"]
    negatives, threshold = 1 - positives, rates["threshold"]
    formula = NetBenefit(threshold / (1 - threshold))
    tp, fp = positives * rates["recall"], negatives * rates["fpr"]
    net_benefit = formula(tp, positives - tp, fp, negatives - fp)
    treat_all = formula(positives, 0, negatives, 0)
    return rates.assign(
        net_benefit=net_benefit.transpose(*rates["recall"].dims),
        treat_all=treat_all.transpose(..., *(dim for dim in ("threshold", "draw") if dim in treat_all.dims)),
        standardised_net_benefit=(net_benefit / positives).transpose(*rates["recall"].dims),
    )


def strategies_of(net_benefits: xr.Dataset) -> xr.DataArray:
    """Return the net benefit of each system, of treating all and of treating none, along ``strategy``."""
    systems, treat_all = net_benefits["net_benefit"], net_benefits["treat_all"]
    of_systems = systems.rename({DIM: "strategy"}) if DIM in systems.dims else systems.expand_dims(strategy=[SYSTEM])
    others = {TREAT_ALL: treat_all, TREAT_NONE: xr.zeros_like(treat_all)}
    return xr.concat([of_systems, *(each.expand_dims(strategy=[name]) for name, each in others.items())], "strategy")


def spans(thresholds: Array, flags: Booleans) -> list[tuple[float, float]]:
    """Return the first and the last threshold of each run of neighbours that have a flag."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False)).reshape(-1, 2)
    return [(float(thresholds[first]), float(thresholds[after - 1])) for first, after in edges]
