"""How often intervals for areas under ROC curves cover, of examples that come in clusters."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import ndtri

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes
from bayesperf.curves.areas.auc import bootstrapped
from bayesperf.curves.areas.delong import Placements
from bayesperf.distributions.normal import Normal
from bayesperf.studies.interval_statistics import OUTCOMES, interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

INTERVALS = ("clusters", "obuchowski", "independent", "delong")
TARGETS = ("area", "difference")


def clustered_areas(
    n_groups: ArrayLike = (20, 50, 200),
    correlation: ArrayLike = (0.1, 0.5),
    *,
    auc: tuple[float, float] = (0.8, 0.75),
    prevalence: float = 0.3,
    label_correlation: float = 0.3,
    group_size: int = 8,
    simulations: int = 500,
    draws: int = 2000,
    prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of intervals of an area, and of the difference of two, of clustered examples.

    Scores of both systems are normal in either class, of variance 1, of which the cluster has a share; what a cluster
    adds to scores, and the noise within clusters, is half common to both systems. Each cluster has a prevalence of its
    own, from a Beta distribution. Clusters are of unequal sizes, 1 + Poisson(λ) with λ exponential.

    Parameters
    ----------
    n_groups : array-like (k,) of int
        Numbers of clusters, at least 3.
    correlation : array-like (m,)
        The correlation of scores of a class within clusters, in (0, 1).
    auc : (float, float)
        True areas of the two systems, of pairs of different clusters.
    prevalence : float
        Share of positives.
    label_correlation : float
        The correlation of labels within clusters, in (0, 1).
    group_size : int
        Mean number of examples of a cluster.
    simulations : int
        Number of data sets.
    draws : int
        Draws behind the intervals.
    prob : float
        Probability of the intervals.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`).

    Returns
    -------
    xarray.Dataset
        ``coverage``, how often the truth lies below and above the interval (``lower_miss``, ``upper_miss``), and mean
        ``width`` over (interval, target, n_groups, correlation), each with its Monte Carlo standard error. Intervals
        are those of `bayesperf.roc_auc` with clusters ("clusters", "obuchowski") and without ("independent", "delong");
        the target is the "area" of the first system, or the "difference". The settings are in ``attrs``.

    Notes
    -----
    Intervals are equal-tailed.

    Examples
    --------
    >>> from validation.clustered_areas import clustered_areas
    >>> study = clustered_areas([50], [0.5], simulations=40, draws=400, progressbar=False)
    >>> width = study["width"].sel(target="area")
    >>> (width.sel(interval="clusters") > 1.3 * width.sel(interval="independent")).all().item()
    True
    """
    grid: dict[str, list[Any]] = {
        "n_groups": [checks.count("n_groups", n, least=3) for n in np.atleast_1d(n_groups).tolist()],
        "correlation": [checks.probability("correlation", rho) for rho in np.atleast_1d(correlation).tolist()],
    }
    settings: dict[str, Any] = {**grid, "auc": [checks.probability("auc", area) for area in auc],
                "prevalence": checks.probability("prevalence", prevalence),
                "label_correlation": checks.probability("label_correlation", label_correlation),
                "group_size": checks.count("group_size", group_size, least=2),
                "simulations": checks.count("simulations", simulations, least=2),
                "draws": checks.count("draws", draws, least=2), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip
    truth = np.array([auc[0], auc[0] - auc[1]])
    places = list(product(*grid.values()))
    shape = [len(INTERVALS), len(TARGETS), *map(len, grid.values())]

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        found = []
        for groups, rho in places:
            data = clustered_scores(groups, rho, auc, prevalence, label_correlation, group_size, rng)
            intervals = _intervals(*data, draws, prob, rng)
            found.append(interval_outcomes(intervals[..., 0], intervals[..., 1], truth))
        return {name: np.stack([each[name] for each in found], -1).reshape(shape) for name in OUTCOMES}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    coords = {"interval": list(INTERVALS), "target": list(TARGETS), **grid}
    variables = {name: (tuple(coords), values) for name, values in monte_carlo_means(results).items()}
    return xr.Dataset(variables, coords, {**settings, "ci_kind": "eti"})


def clustered_scores(
    n_groups: int,
    correlation: float,
    auc: tuple[float, float],
    prevalence: float,
    label_correlation: float,
    group_size: int,
    rng: np.random.Generator,
) -> tuple[Array, Array, Codes]:
    """Return scores of positives (2, n) and negatives (2, m), and the clusters of both, of a data set.

    Each class is in two clusters or more.
    """
    sizes = 1 + rng.poisson(rng.exponential(group_size - 1, n_groups))
    cluster = np.repeat(np.arange(n_groups), sizes)
    kappa = 1 / label_correlation - 1
    rates = rng.beta(kappa * prevalence, kappa * (1 - prevalence), n_groups)
    positive = rng.random(len(cluster)) < rates[cluster]
    if any(len(np.unique(cluster[members])) < 2 for members in (positive, ~positive)):
        return clustered_scores(n_groups, correlation, auc, prevalence, label_correlation, group_size, rng)
    within, between = (rng.normal(size=(3, size)) for size in (len(cluster), n_groups))
    scores = np.sqrt(2) * ndtri(np.array(auc))[:, None] * positive
    for share, parts in ((1 - correlation, within), (correlation, between[:, cluster])):
        scores += np.sqrt(share / 2) * (parts[:2] + parts[2])
    return scores[:, positive], scores[:, ~positive], np.concatenate([cluster[positive], cluster[~positive]])


def _intervals(
    positive: Array, negative: Array, cluster: Codes, draws: int, prob: float, rng: np.random.Generator
) -> Array:
    """Return the intervals of each of `INTERVALS` and target, (interval, target, 2)."""
    levels = np.array([[(1 - prob) / 2, (1 + prob) / 2]])
    found = []
    for codes in (np.unique(cluster, return_inverse=True)[1], None):
        first, second = bootstrapped(positive, negative, codes, draws, rng, progressbar=False).values[:, 0]
        drawn = np.quantile(np.stack([first, first - second]), levels[0], axis=-1).T
        placements = Placements.of(positive, negative, codes)
        of_pair = placements.difference(np.array([0]), np.array([1]))
        mean, sd = np.append(placements.mean[:1], of_pair.mean), np.append(placements.sd[:1], of_pair.sd)
        normal = Normal(mean[:, None], sd[:, None], (-1.0, 1.0)).ppf(np.repeat(levels, 2, 0))
        found += [drawn, np.stack([normal[0].clip(0, 1), normal[1]])]
    return np.stack(found)
