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
from bayesperf.pooling.beta_binomial import BetaBinomial, posterior
from bayesperf.pooling.pool import DISPERSION
from bayesperf.studies.run import run

# Data sets simulated at once.
_BATCH = 50
# Halvings of the bracket of a quantile.
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

    A site's logit of recall is normal about that of `base_rate`; each simulation draws sites and their counts. Two
    targets: the mean recall of the population of sites, and the recall of a new site. Two methods: `bayesperf.pool`
    (its mean and its new group), and the Beta of the summed counts under a flat prior, as if there were one rate.

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
        How many, of each number of sites.
    groups : {"random", "clusters"}
        As in `bayesperf.pool`.
    prob : float
        Probability of the intervals.
    random_seed, n_jobs, progressbar, folder
        As in every study: the figures depend on the seed only; with `folder` an interrupted study goes on where it
        stopped.

    Returns
    -------
    xarray.Dataset
        ``coverage`` and mean ``width`` over (method, target, n_groups), method "pool" or "pooled_beta", target "mean"
        or "new_site", with their standard errors ``coverage_mcse`` and ``width_mcse``. The settings and the ``true``
        mean are in ``attrs``. (Select a method as ``.sel({"method": "pool"})``: by keyword, xarray takes it for another
        thing.)

    Notes
    -----
    Intervals are equal-tailed, from the quadrature behind `bayesperf.pool` and not from its draws. Of a new site, each
    simulation contributes the probability that its recall is inside.

    Examples
    --------
    >>> from bayesperf import studies
    >>> study = studies.sites([5], simulations=50)
    >>> study["coverage"].sel(target="mean", n_groups=5).values
    array([0.96, 0.78])
    """
    sizes = [checks.count("n_groups", size) for size in np.atleast_1d(n_groups)]
    if not sizes:
        raise ValueError("n_groups must name a number of sites, or several; it is empty.")
    spread = checks.number("logit_sd", logit_sd)
    if not 0 < spread < np.inf:
        raise ValueError(f"logit_sd must be above 0 and finite; it is {logit_sd!r}.")
    settings = {"n_groups": sizes, "group_size": checks.count("group_size", group_size),
                "base_rate": checks.probability("base_rate", base_rate), "logit_sd": spread,
                "simulations": checks.count("simulations", simulations, least=2),
                "groups": checks.one_of("groups", groups, tuple(DISPERSION)),
                "prob": checks.probability("prob", prob), "random_seed": checks.seed(random_seed)}  # fmt: skip
    centre, levels = special.logit(base_rate), np.array([[(1 - prob) / 2, (1 + prob) / 2]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    true = (special.expit(centre + spread * nodes) * weights).sum() / weights.sum()

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        rates = [special.expit(rng.normal(centre, spread, (_BATCH, size))) for size in sizes]
        found = [rng.binomial(group_size, rate) for rate in rates]
        return {"intervals": np.stack([_intervals(k, group_size, DISPERSION[groups], levels) for k in found], -1)}

    results = run(simulate, -(-simulations // _BATCH), settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    # (simulation, method, target, bound, n_groups)
    intervals = results["intervals"].reshape(-1, 2, 2, 2, len(sizes))[:simulations]
    lower, upper = np.moveaxis(intervals, 3, 0)
    up_to_lower, up_to_upper = (special.ndtr((special.logit(bound) - centre) / spread) for bound in (lower, upper))
    of_the_mean, of_a_new_site = (lower <= true) & (true <= upper), up_to_upper - up_to_lower
    covered = np.stack([of_the_mean[:, :, 0], of_a_new_site[:, :, 1]], 2)
    variables = {}
    for name, values in {"coverage": covered, "width": upper - lower}.items():
        variables[name] = values.mean(0)
        variables[f"{name}_mcse"] = values.std(0, ddof=1) / np.sqrt(simulations)
    dims = ("method", "target", "n_groups")
    coords = {"method": ["pool", "pooled_beta"], "target": ["mean", "new_site"], "n_groups": sizes}
    attrs = {**settings, "true": float(true), "ci_kind": "eti"}
    return xr.Dataset({name: (dims, values) for name, values in variables.items()}, coords, attrs)


def _intervals(successes: NDArray[np.integer], size: int, dispersion: tuple[float, float], levels: Array) -> Array:
    """Return the intervals of every method and target, (data sets, 2, 2, 2)."""
    trials = np.full(successes.shape, size)
    model = posterior(successes.astype(float), trials.astype(float), dispersion)
    right, wrong = successes.sum(1), (trials - successes).sum(1)
    pooled = special.betaincinv(1 + right[:, None], 1 + wrong[:, None], levels)
    found = [model.mean.ppf(levels), _of_a_new_group(model, levels), pooled, pooled]
    return np.stack(found, 1).reshape(-1, 2, 2, 2)


def _of_a_new_group(model: BetaBinomial, levels: Array) -> Array:
    """Return quantiles of a new group's rate, of cdf E[I_x(κp, κ(1 − p))] over every second node, by bisection."""
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
