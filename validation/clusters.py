"""How often intervals over clusters cover, of metrics that depend on prevalence as of rates.

Each cluster (site, subject, day) has a prevalence, a recall and a specificity of its own, each Beta(κp, κ(1 − p))
about its mean p, κ = 1/ρ − 1. Each simulation draws clusters and their counts, and new clusters. There are three
targets: the metric at the mean rates and the mean prevalence, that of each cluster observed, and that of a new one.
Intervals are equal-tailed, of `bayesperf.pool`.

Simulation-based calibration checks the parameters of a model, which may all be right while a metric combines them
wrongly, as a site's rates with the prevalence of all sites. Its coverage tells.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.core.errors import PriorWarning
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.groups.pooling import pool
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate
from bayesperf.metrics.registry import single_valued
from bayesperf.studies.covering import binary_cells
from bayesperf.studies.running import OUTCOMES
from validation.study import Study, interval_figures, table

# What is said of, and where `Pooled` has it.
TARGETS = {"mean": "mean", "groups": "by_group", "new_group": "new_group"}
# New clusters of a simulation, whose outcomes are averaged: those of a single one vary by chance.
_NEW = 50
_DIMS = ("dispersion", "prevalence_dispersion")


def simulate(
    rng: np.random.Generator,
    *,
    dispersion: Sequence[float],
    prevalence_dispersion: Sequence[float],
    metrics: Sequence[str],
    n_groups: int,
    group_size: int,
    prevalence: float,
    recall: float,
    specificity: float,
    draws: int,
    prob: float,
) -> dict[str, Array]:
    """Return the outcomes (target, metric, dispersion, prevalence_dispersion) of a data set at each dispersion."""
    grid = {"dispersion": list(dispersion), "prevalence_dispersion": list(prevalence_dispersion)}
    means = {"prevalence": prevalence, "recall": recall, "specificity": specificity}
    wanted = [single_valued(metric, [0, 1], 1) for metric in metrics]
    cells = true_cells(grid, means, n_groups + _NEW, rng)
    seen = cells.isel(site=slice(n_groups))
    counts = rng.multinomial(group_size, seen.values.reshape(*seen.shape[:-2], 4)).reshape(seen.shape)
    cm = ConfusionMatrix(seen.copy(data=counts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PriorWarning)
        pooled = pool(cm, "site", "clusters", draws=draws, random_seed=int(rng.integers(2**31)))
    centre = binary_cells(**means)
    true = {"mean": centre.expand_dims("site"), "groups": seen, "new_group": cells.isel(site=slice(n_groups, None))}
    found = [[_outcomes(getattr(pooled, of)[m], m, true[name], prob) for m in wanted] for name, of in TARGETS.items()]
    return {name: np.array([[of_metric[name] for of_metric in row] for row in found]) for name in OUTCOMES}


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
    """Return the outcomes for the metric of the true cells, averaged over sites, (dispersion, …)."""
    true = evaluate(metric, cells.transpose(..., *CELL_DIMS), 1).transpose(..., "site").values
    bounds = marginal.eti(prob).transpose(*_DIMS, ..., "ci_bound").values
    bounds = bounds if bounds.ndim == 4 else bounds[:, :, None]
    found = interval_figures(*np.broadcast_arrays(bounds[..., 0], bounds[..., 1], true))
    return {name: values.mean(-1) for name, values in found.items()}


STUDY = Study(
    grid={},
    simulate=simulate,
    rows={"target": list(TARGETS), "metric": "metrics", **{dim: dim for dim in _DIMS}},
    settings={
        "dispersion": (0.02, 0.1),
        "prevalence_dispersion": (0.05, 0.4),
        "metrics": ("prevalence", "recall", "precision", "f1"),
        "n_groups": 10,
        "group_size": 100,
        "prevalence": 0.3,
        "recall": 0.85,
        "specificity": 0.9,
        "draws": 2000,
        "prob": 0.95,
    },
)
CASES = [({}, 500, {})]
TABLES = {"pooled_clusters": lambda jobs: table(STUDY, CASES, jobs, name="pooled_clusters")}
