"""Marginals of scores: those that are known by independent draws, and what they are said to be of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.distributions.draws import Draws
from bayesperf.posteriors.marginal import Marginal, Origin
from bayesperf.posteriors.quantity import Quantity

# The dim of systems that were judged on the same examples.
DIM = "model"


@dataclass(frozen=True, eq=False)
class DrawnFrom(Origin):
    """Stored draws (m, n), taken without replacement as long as there are enough of them."""

    # The draws, (m, n).
    values: Array
    # Seed, if none is given.
    random_seed: int

    def sampled(self, n: int, random_seed: int | None) -> Array:
        rng = np.random.default_rng(self.random_seed if random_seed is None else checks.seed(random_seed))
        available = self.values.shape[-1]
        return self.values[:, rng.choice(available, n, replace=n > available)]


def marginal_of_draws(
    quantity: Quantity,
    values: Array,
    leading: xr.DataArray,
    random_seed: int,
    inference: str | None = None,
    examples: xr.DataArray | None = None,
    score: xr.DataArray | None = None,
    joint: bool = False,
) -> Marginal:
    """Return the marginal of independent draws (…, n) over leading dims."""
    flat = values.reshape(-1, values.shape[-1])
    distribution = Draws.of(quantity.metric, flat[:, None], quantity.bounds)
    leading, origin = xr.zeros_like(leading, dtype=float), DrawnFrom(flat, random_seed)
    return Marginal(quantity, distribution, leading, origin, inference, examples=examples, score=score, joint=joint)


def examples_of(class_totals: Sequence[int]) -> xr.DataArray:
    """Return numbers of examples of every class as those of a test set."""
    return xr.DataArray(np.asarray(class_totals), dims="actual")


def systems_of(y_score: Any) -> dict[Any, Any] | None:
    """Return the scores of each system by its name, or None if they are those of one system alone."""
    if not isinstance(y_score, Mapping | pd.DataFrame):
        return None
    if not len(y_score.keys()):
        raise InputError("y_score", "must map names of systems to their scores; it is empty.")
    return dict(y_score.items())


def over_systems(names: Iterable[Any]) -> xr.DataArray:
    """Return an array of zeros along the dim of the systems."""
    coordinate = list(names)
    return xr.DataArray(np.zeros(len(coordinate)), {DIM: coordinate}, [DIM])


def draws_along(marginal: Marginal) -> Array:
    """Return the draws of a marginal over one dim, (m, n)."""
    distribution = marginal.distribution
    assert isinstance(distribution, Draws)
    return distribution.values[:, 0]
