"""Draws of a model's posterior for a simulation: what `bayesperf.fit` samples, without all that it adds.

A fit takes a few seconds for the prior, for predictions and for log densities, which no coverage needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.distributions.draws import Draws
from bayesperf.sampling import nuts
from bayesperf.sampling.backend import compilation_key
from bayesperf.sampling.fitting import built_model, direct_draws
from bayesperf.sampling.model_data import BuiltModel, prepared, resolve_model

CHAINS = 2


def posterior_of(data: Any, name: str, draws: int, rng: np.random.Generator, approximate: bool = False) -> xr.Dataset:
    """Return draws of the posterior of a model without options, or near it, with the variables that it recovers."""
    model = resolve_model(name)
    counts, options = prepared(data, name, None)
    built = built_model(name, counts, None, options)
    if approximate:
        whole = BuiltModel(name, model, counts, None, options, built)
        drawn = direct_draws(whole, "approximate", (1, draws), int(rng.integers(2**31)))
        return drawn.assign(model.recover(drawn, counts, rng, **options))
    sizes = {"draws": draws, "tune": draws, "chains": CHAINS}
    key = compilation_key(name, built, counts, options, None)
    accept = nuts.target_accept(model)
    with nuts.quiet():
        _, groups = nuts.sample(built, sizes, int(rng.integers(2**31)), key=key, target_accept=accept)
    drawn = groups["posterior"]
    return drawn.assign(model.recover(drawn, counts, rng, **options))


def hdi(drawn: Array, prob: float) -> Array:
    """Return the highest-density intervals (…, 2) of rates, or of their differences, from draws (n, …)."""
    flat = drawn.reshape(len(drawn), -1).T[:, None]
    intervals = Draws.of("rate", flat, (-1.0, 1.0), False).interval(prob, "hdi")
    return intervals.reshape(*drawn.shape[1:], 2)
