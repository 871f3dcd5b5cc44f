"""The posterior of a rate that is known only from two numbers, its successes and its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf import metrics
from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.random_streams import streams
from bayesperf.data.count_arrays import labelled_arrays
from bayesperf.distributions.beta import Beta
from bayesperf.intervals.proportions import check_counts
from bayesperf.metrics.exact_forms import Proportion
from bayesperf.posteriors.marginal import Marginal, Origin
from bayesperf.posteriors.prior import IN_EVERY_CELL, Prior
from bayesperf.posteriors.quantity import Quantity

__all__ = ["posterior_of_rate"]

RATE = "rate"


@checked
def posterior_of_rate(
    successes: ArrayLike | xr.DataArray,
    trials: ArrayLike | xr.DataArray,
    prior: str | Prior = "jeffreys",
    *,
    metric: str = RATE,
    dims: Sequence[str] | Mapping[str, Sequence[Any]] | None = None,
    random_seed: Any = 0,
) -> Marginal:
    """Return the posterior of a rate from its numbers of successes and trials, without a confusion matrix.

    Parameters
    ----------
    successes, trials : int, array-like or xarray.DataArray
        Whole numbers that broadcast against each other.
    prior : {"jeffreys", "flat", "haldane"} or Prior
        Beta(½, ½), Beta(1, 1) or none, on the rate itself; or ``bp.prior.rate(a, b)``.
    metric : str
        Name of the rate, such as "recall": a metric that is a proportion of the trials. Its direction is then known,
        and you can compare it with that metric of a posterior. By default it is a "rate" without a better direction.
    dims : sequence of str or mapping, optional
        Names of the axes of arrays, or a mapping of names to their coordinates.
    random_seed : int or numpy.random.Generator
        Seed of its draws.

    Returns
    -------
    Marginal
        Beta(successes + a, trials − successes + b), over the leading dims.

    Raises
    ------
    ValueError
        If there are more successes than trials, either is not a whole number, the metric is not a proportion of trials,
        or Haldane's prior meets no success or no failure.

    Notes
    -----
    ``bp.prior.rate(a, b)`` describes rates whose greater values are better; for others, such as "fpr", the prior is
    Beta(b, a), as in `bayesperf.posterior`. A prior of the cells may give a posterior of the matrix another Beta: under
    Jeffreys' prior of the cells, accuracy has the prior Beta(1, 1).

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.posterior_of_rate(9, 10).eti().values.round(3)
    array([0.619, 0.989])
    >>> sites = bp.posterior_of_rate([9, 40], [10, 50], metric="recall", dims={"site": ["north", "south"]})
    >>> sites.mean().sel(site="south").round(3).item()
    0.794
    >>> bp.compare(bp.posterior_of_rate(45, 50), bp.posterior_of_rate(70, 90)).prob_greater.round(3).item()
    0.968
    """
    wanted = None if metric == RATE else metrics.get(metric)
    if wanted is not None and not isinstance(wanted.exact_form(2), Proportion):
        raise InputError("metric", f"{wanted.name} is not a proportion of trials.")
    counts = {"successes": successes, "trials": trials}
    for name, value in counts.items():
        checks.whole_numbers(name, xr.DataArray(value).values)
    of_successes, of_trials = labelled_arrays(counts, dims)
    k, n = (np.asarray(part, float).reshape(-1, 1) for part in (of_successes, of_trials))
    check_counts(k, n, "successes", "trials")
    a, b = weights_of_rate(prior)[:: 1 if wanted is None else wanted.better]
    distribution = Beta(k + a, n - k + b)
    if not (distribution.a.all() and distribution.b.all()):
        raise InputError(
            "prior",
            "under 'haldane' a rate without a success, or without a failure, has no posterior.",
            "Take 'jeffreys'.",
        )
    leading = xr.zeros_like(of_successes, dtype=float)
    origin = RateOrigin(distribution, leading, checks.seed(random_seed))
    quantity = Quantity(RATE, bounds=(0.0, 1.0)) if wanted is None else Quantity.of(wanted)
    return Marginal(quantity, distribution, leading, origin, score=_observed(of_successes, of_trials))


def _observed(successes: xr.DataArray, trials: xr.DataArray) -> xr.DataArray:
    """Return the observed rate; NaN without trials."""
    return (successes / trials.where(trials > 0)).assign_coords(trials=trials)


def weights_of_rate(prior: str | Prior) -> tuple[float, float]:
    """Return a and b of the Beta prior of a rate."""
    if isinstance(prior, Prior) and prior.rates:
        return prior.rates
    name = prior.name if isinstance(prior, Prior) else prior
    if name not in IN_EVERY_CELL:
        raise InputError(
            "prior",
            f"must be one of {', '.join(map(repr, IN_EVERY_CELL))}, or bp.prior.rate(a, b), of the rate "
            f"itself; it is {name!r}.",
        )
    return IN_EVERY_CELL[name], IN_EVERY_CELL[name]


@dataclass(frozen=True, eq=False)
class RateOrigin(Origin):
    """Rates with separate random streams."""

    distribution: Beta
    leading: xr.DataArray
    random_seed: int

    def sampled(self, draws: int, random_seed: int | None) -> Array:
        seed = self.random_seed if random_seed is None else random_seed
        weights = np.hstack([self.distribution.a, self.distribution.b])
        each = zip(weights, streams(seed, RATE, self.leading, weights), strict=True)
        return np.stack([rng.beta(a, b, draws) for (a, b), rng in each])
