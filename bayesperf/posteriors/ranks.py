"""Ranks of systems or classes, counted in joint draws of a metric."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError
from bayesperf.distributions.draws import Draws, Sampled
from bayesperf.posteriors.marginal import Marginal


def joint_draws(marginal: Marginal, dim: str, draws: int) -> xr.DataArray:
    """Return joint draws of a metric of all systems, (…, draw, dim), or (…, chain, draw, dim) from a sampler."""
    distribution = marginal.distribution
    names: tuple[str, ...] = ("draw",)
    if not isinstance(distribution, Sampled):
        values = marginal.joint_draws(draws).values
    elif distribution.independent_draws:
        values = distribution.values.reshape(*marginal.leading.shape, -1)
    else:
        values = distribution.values.reshape(*marginal.leading.shape, *distribution.values.shape[1:])
        names = ("chain", "draw")
    labelled = xr.DataArray(rounded(values, marginal.bounds), marginal.leading.coords, (*marginal.dims, *names))
    return labelled.transpose(..., "draw", dim)


def rounded(values: Array, bounds: tuple[float, float]) -> Array:
    """Return draws rounded to 13 digits, because equal proportions of counts may differ in the last digits."""
    width = bounds[1] - bounds[0]
    if 0 < width < np.inf:
        return np.round(values, 13 - int(np.ceil(np.log10(width))))
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(mantissa, 13), exponent))


def largest_mcse(draws: Sampled, function: Callable[[Array], NDArray[Any]]) -> float:
    """Return the largest Monte Carlo error of the means of a function of draws."""
    return max(float(np.nanmax(_errors(part, function), initial=0)) for part in draws.blocks())


def _errors(draws: Sampled, function: Callable[[Array], NDArray[Any]]) -> Array:
    values = draws.values
    return Draws(np.where(np.isnan(values), np.nan, function(values)), (0, 1), draws.independent_draws).mcse()


def rank_probabilities(values: xr.DataArray, dim: str) -> xr.DataArray:
    """Return how often each system or class along `dim`, the last, has each rank in draws (…, [chain,] draw, dim)."""
    independent_draws, count = "chain" not in values.dims, values.sizes[dim]
    if independent_draws:
        values = values.expand_dims("chain", axis=-3)
    systems = np.arange(count)
    noise = np.random.default_rng(0).random(values.shape[-3:])
    probabilities, errors, undefined = [], [], []
    for draws in values.values.reshape(-1, *noise.shape):
        missing = np.isnan(draws).any(-1)
        if missing.all():
            raise InputError("ranks", "in no draw is the metric defined for every system.")
        # The systems in their order in each draw.
        order = _descending(draws, noise)
        cell = (order * count + systems)[~missing]
        probability = np.bincount(cell.ravel(), minlength=count**2).reshape(count, count) / len(cell)
        probabilities.append(probability)
        undefined.append(missing.mean())
        if independent_draws:
            errors.append(np.sqrt(probability * (1 - probability) / len(cell)).max())
        else:
            defined = Draws(np.where(missing, np.nan, 0.0)[None], (0, 1), independent_draws=False)
            rank = order.argsort(-1)
            of_place = [np.moveaxis(rank == place, -1, 0) for place in systems]
            errors += [largest_mcse(defined, partial(_given, indicator)) for indicator in of_place]
    result = values.isel(chain=0, draw=0, drop=True).expand_dims(rank=systems + 1, axis=-1)
    attrs = {"mcse": float(np.max(errors)), "undefined": float(np.max(undefined))}
    return result.copy(data=np.reshape(probabilities, result.shape)).assign_attrs(attrs).rename("ranks")


def _descending(values: Array, noise: Array) -> Codes:
    """Return the order of values (…, n) along the last axis, greatest first; noise breaks ties."""
    order = np.argsort(-values, axis=-1)
    tied = (np.diff(np.take_along_axis(values, order, -1)) == 0).any(-1)
    order[tied] = np.lexsort((noise[tied], -values[tied]), axis=-1)
    return order


def _given(indicator: NDArray[Any], _: Array) -> NDArray[Any]:
    return indicator
