"""Net benefit over thresholds, the strategies that it is compared with, and what it would be worth to know more."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array, Booleans
from bayesperf.curves.decisions.placed_examples import PSEUDO_EXAMPLES, called_at
from bayesperf.curves.scored_systems import DIM
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


def value_of_the_truth(strategies: xr.DataArray) -> xr.DataArray:
    """Return E[max] − max E over ``strategy``, given draws of what each is worth, over ``strategy`` and ``draw``."""
    return strategies.max("strategy").mean("draw") - strategies.mean("draw").max("strategy")


def value_of_examples(called: Array, draws: xr.Dataset, n: int, rng: np.random.Generator) -> xr.DataArray:
    """Return the expected value of n more examples, over ``threshold``, of one system.

    Cells are Dirichlet, so that their posterior means, given n more examples with counts c, are those of counts and
    pseudo-examples together. In the examples drawn here the best strategy is that of the greatest mean.
    """
    shape = draws["recall"].shape
    probs = np.stack([draws[name].values.reshape(-1, *shape[-2:]) for name in ("fpr", "recall")], axis=1)
    prevalence = draws["prevalence"].values.reshape(-1, 1, shape[-1])
    of_class = np.concatenate([1 - prevalence, prevalence], axis=1)[:, :, None]
    whole = np.concatenate([np.ones_like(probs[:, :, :1]), probs, np.zeros_like(probs[:, :, :1])], axis=2)
    of_places = of_class * -np.diff(whole, axis=2)
    flat = np.moveaxis(of_places, 3, 1).reshape(len(of_places), shape[-1], -1)
    new = rng.multinomial(n, flat / flat.sum(-1, keepdims=True)).reshape(*flat.shape[:2], 2, -1)
    totals = np.moveaxis(new.sum(-1, keepdims=True), 1, -1)
    together = np.concatenate([totals, np.moveaxis(called_at(new), 1, -1)], axis=2) + called[..., None]
    weights = together + PSEUDO_EXAMPLES * (1 + (np.arange(together.shape[2]) == 0))[:, None]
    rates = weights[:, :, 1:] / weights[:, :, :1]
    positives = weights[:, 1, 0] / weights[:, :, 0].sum(1)
    means = draws[["fpr", "recall", "prevalence"]].copy(data={
        "fpr": rates[:, 0].reshape(shape),
        "recall": rates[:, 1].reshape(shape),
        "prevalence": positives.reshape(draws["prevalence"].shape),
    })  # fmt: skip
    return value_of_the_truth(strategies_of(with_net_benefit(means)))
