"""How often intervals over sites cover: those of the pooled counts, and those of a model of the sites."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.distributions.beta_binomial import BetaBinomial, posterior
from bayesperf.pooling.pool import DISPERSION
from bayesperf.studies.interval_statistics import OUTCOMES, interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

# Halvings of the interval that brackets a quantile.
_HALVINGS = 24


def sites(
    n_groups: ArrayLike = (5, 10),
    group_size: int = 40,
    base_rate: float = 0.8,
    logit_sd: float = 0.5,
    simulations: int = 2000,
    *,
    groups: Literal["random", "clusters"] = "clusters",
    prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of intervals for a rate that differs between sites.

    The logit of a site's recall is normal about that of `base_rate`; each simulation draws sites and their counts.
    There are two targets: the mean recall of the population of sites, and the recall of a new site. The intervals are
    those of `bayesperf.pool` (of its mean and of its new group), and those of the Beta posterior of the summed counts
    under a flat prior, as if all sites had one rate.

    Parameters
    ----------
    n_groups : array-like (k,)
        Numbers of sites.
    group_size : int
        Positive examples of a site.
    base_rate : float
        Recall of the median site.
    logit_sd : float
        Standard deviation of the logit between sites.
    simulations : int
        Number of data sets for each number of sites.
    groups : {"random", "clusters"}
        As in `bayesperf.pool`.
    prob : float
        Probability of the intervals.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``coverage``, how often the target lies below and above the interval (``lower_miss``, ``upper_miss``), and mean
        ``width`` over (interval, target, n_groups), interval "pool" or "pooled_beta", target "mean" or "new_site", each
        with its Monte Carlo standard error (``coverage_mcse``, …). The settings and the ``true`` mean are in ``attrs``.

    Notes
    -----
    Intervals are equal-tailed, from the quadrature behind `bayesperf.pool` and not from its draws. For a new site, each
    simulation contributes the probability that its recall is inside (below, above).

    Examples
    --------
    >>> from validation.sites import sites
    >>> study = sites([5], simulations=50)
    >>> study["coverage"].sel(target="mean", n_groups=5).values
    array([0.98, 0.76])
    """
    sizes = [checks.count("n_groups", size) for size in np.atleast_1d(n_groups)]
    if not sizes:
        raise InputError("n_groups", "must name a number of sites, or several; it is empty.")
    spread = checks.number("logit_sd", logit_sd)
    if not 0 < spread < np.inf:
        raise InputError("logit_sd", f"must be above 0 and finite; it is {logit_sd!r}.")
    settings = {"n_groups": sizes, "group_size": checks.count("group_size", group_size),
                "base_rate": checks.probability("base_rate", base_rate), "logit_sd": spread,
                "simulations": checks.count("simulations", simulations, least=2),
                "groups": checks.one_of("groups", groups, tuple(DISPERSION)),
                "prob": checks.probability("prob", prob), "random_seed": checks.seed(random_seed)}  # fmt: skip
    centre, levels = special.logit(base_rate), np.array([[(1 - prob) / 2, (1 + prob) / 2]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    true = (special.expit(centre + spread * nodes) * weights).sum() / weights.sum()

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        counts = [rng.binomial(group_size, special.expit(rng.normal(centre, spread, size))) for size in sizes]
        return {"intervals": np.stack([_intervals(k, group_size, DISPERSION[groups], levels) for k in counts], -1)}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    # (simulation, interval, target, n_groups)
    lower, upper = np.moveaxis(results["intervals"], 3, 0)
    of_mean, of_new_site = interval_outcomes(lower, upper, true), _new_site_outcomes(lower, upper, centre, spread)
    means = monte_carlo_means(
        {name: np.stack([of_mean[name][:, :, 0], of_new_site[name][:, :, 1]], 2) for name in OUTCOMES}
    )
    coords = {"interval": ["pool", "pooled_beta"], "target": ["mean", "new_site"], "n_groups": sizes}
    attrs = {**settings, "true": float(true), "ci_kind": "eti"}
    return xr.Dataset({name: (tuple(coords), values) for name, values in means.items()}, coords, attrs)


def _new_site_outcomes(lower: Array, upper: Array, centre: float, spread: float) -> dict[str, Array]:
    """Return the probabilities of each of `OUTCOMES` for the recall of a new site, and the width."""
    below_lower, below_upper = (special.ndtr((special.logit(bound) - centre) / spread) for bound in (lower, upper))
    probabilities = below_upper - below_lower, below_lower, 1 - below_upper
    return dict(zip(OUTCOMES, (*probabilities, upper - lower), strict=True))


def _intervals(successes: NDArray[np.integer], size: int, dispersion: tuple[float, float], levels: Array) -> Array:
    """Return each interval for each target, (interval, target, 2), from the successes of each site."""
    model = posterior(successes[None].astype(float), np.full((1, len(successes)), float(size)), dispersion)
    right, trials = successes.sum(), size * len(successes)
    pooled = special.betaincinv(1 + right, 1 + trials - right, levels)
    return np.stack([model.mean.ppf(levels), new_group_quantiles(model, levels), pooled, pooled]).reshape(2, 2, 2)


def new_group_quantiles(model: BetaBinomial, levels: Array) -> Array:
    """Return quantiles of a new group's rate by bisection; its cdf is E[I_x(κp, κ(1 − p))] over every second node."""
    _, of_p, of_rho = model.log_density.shape
    logit_p, logit_rho = model.mean_axis.nodes(of_p)[0][:, ::2], model.dispersion_axis.nodes(of_rho)[0][:, ::2]
    kappa = np.exp(-logit_rho)[:, None, :]
    a, b = (kappa * special.expit(sign * logit_p)[:, :, None] for sign in (1, -1))
    weights = model.weights[:, ::2, ::2] / model.weights[:, ::2, ::2].sum((1, 2), keepdims=True)
    low, high = np.zeros((len(weights), levels.size)), np.ones((len(weights), levels.size))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        cdf = [(weights * special.betainc(a, b, x[:, None, None])).sum((1, 2)) for x in middle.T]
        below = np.stack(cdf, 1) < levels
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2
