"""How often intervals over clusters cover, of metrics that depend on prevalence as of rates."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.warnings import PriorWarning
from bayesperf.counts.count_arrays import CELL_DIMS
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate
from bayesperf.metrics.registry import single_valued
from bayesperf.pooling.pool import pool
from bayesperf.studies.coverage import binary_cells
from bayesperf.studies.interval_statistics import OUTCOMES, interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

TARGETS = ("mean", "groups", "new_group")
# New clusters of a simulation, whose outcomes are averaged: those of a single one vary by chance.
_NEW = 50
_DIMS = ("dispersion", "prevalence_dispersion")


def clusters(
    dispersion: ArrayLike = (0.02, 0.1),
    prevalence_dispersion: ArrayLike = (0.05, 0.4),
    metrics: Sequence[str | Metric] = ("prevalence", "recall", "precision", "f1"),
    *,
    n_groups: int = 10,
    group_size: int = 100,
    prevalence: float = 0.3,
    recall: float = 0.85,
    specificity: float = 0.9,
    simulations: int = 500,
    draws: int = 2000,
    prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of the intervals of `bayesperf.pool` for metrics of clusters.

    Each cluster (site, subject, day) has a prevalence, a recall and a specificity of its own, each Beta(κp, κ(1 − p))
    about its mean p, κ = 1/ρ − 1. Each simulation draws clusters and their counts, and new clusters. There are three
    targets: the metric at the mean rates and the mean prevalence, that of each cluster observed, and that of a new one.

    Parameters
    ----------
    dispersion, prevalence_dispersion : array-like (k,) and (m,)
        The dispersion ρ of recall and specificity, and that of prevalence, in (0, 1).
    metrics : sequence of str or Metric
        Any with a single value.
    n_groups, group_size : int
        Clusters of a data set, and examples of a cluster.
    prevalence, recall, specificity : float
        Their means over the population of clusters.
    simulations : int
        Number of data sets.
    draws : int
        Draws behind the intervals.
    prob : float
        Probability of the intervals.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``coverage``, how often the target lies below and above the interval (``lower_miss``, ``upper_miss``), and mean
        ``width`` over (target, metric, dispersion, prevalence_dispersion), target "mean", "groups" (averaged over
        them) or "new_group", each with its Monte Carlo standard error (``coverage_mcse``, …). The settings are in
        ``attrs``.

    Notes
    -----
    Intervals are equal-tailed. Simulation-based calibration checks the parameters of a model, which may all be right
    while a metric combines them wrongly, as a site's rates with the prevalence of all sites. Its coverage tells.

    Examples
    --------
    >>> from validation.clusters import clusters
    >>> study = clusters([0.05], [0.3], ["precision"], simulations=5, draws=500)
    >>> study["coverage"].sel(target="groups").item() > 0.8
    True
    """
    spreads = {"dispersion": dispersion, "prevalence_dispersion": prevalence_dispersion}
    grid = {name: [checks.probability(name, x) for x in np.atleast_1d(of).tolist()] for name, of in spreads.items()}
    if empty := [name for name, of in grid.items() if not of]:
        raise InputError(f"{empty[0]}", "must name a dispersion, or several; it is empty.")
    wanted = [single_valued(metric, [0, 1], 1) for metric in metrics]
    means = {"prevalence": prevalence, "recall": recall, "specificity": specificity}
    means = {name: checks.probability(name, mean) for name, mean in means.items()}
    settings = {**grid, "metrics": [metric.name for metric in wanted], "n_groups": checks.count("n_groups", n_groups),
                "group_size": checks.count("group_size", group_size), **means,
                "simulations": checks.count("simulations", simulations, least=2),
                "draws": checks.count("draws", draws, least=2), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        cells = true_cells(grid, means, n_groups + _NEW, rng)
        seen = cells.isel(site=slice(n_groups))
        counts = rng.multinomial(group_size, seen.values.reshape(*seen.shape[:-2], 4)).reshape(seen.shape)
        cm = ConfusionMatrix(seen.copy(data=counts))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PriorWarning)
            pooled = pool(cm, "site", "clusters", draws=draws, random_seed=int(rng.integers(2**31)))
        centre = binary_cells(**means)
        true = {"mean": centre.expand_dims("site"), "groups": seen, "new_group": cells.isel(site=slice(n_groups, None))}
        found = [[_outcomes(getattr(pooled, name)[m], m, true[name], prob) for m in wanted] for name in TARGETS]
        return {name: np.array([[of_metric[name] for of_metric in row] for row in found]) for name in OUTCOMES}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    coords = {"target": list(TARGETS), "metric": settings["metrics"], **grid}
    variables = {name: (tuple(coords), values) for name, values in monte_carlo_means(results).items()}
    return xr.Dataset(variables, coords, {**settings, "ci_kind": "eti"})


def true_cells(
    grid: Mapping[str, list[float]], means: Mapping[str, float], n: int, rng: np.random.Generator
) -> xr.DataArray:
    """Return the cells of n clusters at each dispersion of rates and of prevalence."""
    shape = (*(len(of) for of in grid.values()), n)
    rates = {}
    for name, mean in means.items():
        rho = xr.DataArray(grid["prevalence_dispersion" if name == "prevalence" else "dispersion"])
        kappa = np.reshape(1 / rho.values - 1, (1, -1, 1) if name == "prevalence" else (-1, 1, 1))
        rates[name] = xr.DataArray(rng.beta(kappa * mean, kappa * (1 - mean), shape), grid, (*_DIMS, "site"))
    return binary_cells(**rates).assign_coords(site=np.arange(n))


def _outcomes(marginal: Any, metric: Metric, cells: xr.DataArray, prob: float) -> dict[str, Array]:
    """Return each of `OUTCOMES` for the metric of the true cells, averaged over sites, (dispersion, …)."""
    true = evaluate(metric, cells.transpose(..., *CELL_DIMS), 1).transpose(..., "site").values
    bounds = marginal.eti(prob).transpose(*_DIMS, ..., "ci_bound").values
    bounds = bounds if bounds.ndim == 4 else bounds[:, :, None]
    outcomes = interval_outcomes(bounds[..., 0], bounds[..., 1], true)
    return {name: np.asarray(values).mean(-1) for name, values in outcomes.items()}
