"""What is known along a curve by draws: marginals, and bands of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.curves.bands import simultaneous
from bayesperf.distributions.draws import Draws
from bayesperf.posteriors.marginal import Marginal

KINDS = ("pointwise", "simultaneous")


def marginal_of(
    name: str, values: Array, leading: xr.DataArray, bounds: tuple[float, float], estimand: str, random_seed: int
) -> Marginal:
    """Return the marginal of independent draws (…, n) over leading dims."""
    flat = values.reshape(-1, 1, values.shape[-1])

    def sample(n: int, seed: Any) -> Array:
        rng = np.random.default_rng(random_seed if seed is None else checks.seed(seed))
        return flat[:, 0, rng.choice(flat.shape[-1], n, replace=n > flat.shape[-1])]

    return Marginal(name, Draws.of(name, flat, bounds), xr.zeros_like(leading, dtype=float), sample, estimand)


def along(marginal: Marginal) -> Array:
    """Return the draws of a marginal over one dim, (m, n)."""
    distribution = marginal.distribution
    assert isinstance(distribution, Draws)
    return distribution.values[:, 0]


def band(marginal: Marginal, ci_prob: float, kind: str) -> xr.DataArray:
    """Return the equal-tailed band of a marginal over one dim, with last dim ``ci_bound``.

    A simultaneous band is of the draws in which the curve is defined everywhere.
    """
    checks.one_of("kind", kind, KINDS)
    found = marginal.eti(ci_prob)
    if kind == "simultaneous":
        curves = along(marginal).T
        whole = curves[~np.isnan(curves).any(1)]
        if not len(whole):
            raise ValueError(f"kind: in no draw is {marginal.name} defined along the whole curve. Take 'pointwise'.")
        found = found.copy(data=simultaneous(whole, ci_prob))
    return found.assign_attrs(kind=kind)
