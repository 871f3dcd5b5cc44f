"""What it would be worth to know more: all there is to know, or so many more examples."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.curves.decisions.net_benefit import strategies_of, with_net_benefit
from bayesperf.curves.decisions.placed_examples import called_at
from bayesperf.curves.decisions.rate_draws import PSEUDO_EXAMPLES


def value_of_the_truth(strategies: xr.DataArray) -> xr.DataArray:
    """Return E[max] − max E over ``strategy``, given draws of what each is worth, over ``strategy`` and ``draw``."""
    return strategies.max("strategy").mean("draw") - strategies.mean("draw").max("strategy")


def value_of_examples(called: Array, draws: xr.Dataset, n: int, rng: np.random.Generator) -> xr.DataArray:
    """Return the expected value of n more examples, over ``threshold``, of one system.

    Parameters
    ----------
    called : ndarray (groups, 2, T + 1)
        How many negatives and positives are called positive at each threshold, after how many there are.
    draws : xarray.Dataset
        Draws of ``prevalence``, ``fpr`` and ``recall`` from the posterior, over ``draw``.
    n : int
        Number of examples.
    rng : numpy.random.Generator
        Their stream.

    Notes
    -----
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
