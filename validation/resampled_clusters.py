"""How often intervals over examples that come in clusters cover: by the Bayesian bootstrap, and by other methods."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.warnings import DependenceWarning, PriorWarning
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.intervals.resampling import Units
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.pooling.pool import pool
from bayesperf.posteriors.joint_systems import joint_posterior
from bayesperf.posteriors.posterior import Posterior
from bayesperf.studies.interval_methods import interval_names
from bayesperf.studies.interval_statistics import OUTCOMES, interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

METHODS = ("clusters", "cluster_bootstrap", "independent", "groups")
TARGETS = ("f1", "difference")
# Shares of right predictions of the two systems, and of the examples of which the second says what the first says.
_RIGHT, _SAME = (0.85, 0.75), 0.5


def resampled_clusters(
    n_groups: ArrayLike = (10, 20, 50, 200),
    dispersion: ArrayLike = (0.02, 0.1, 0.3),
    methods: Sequence[str] | None = None,
    *,
    classes: int = 2,
    group_size: int = 16,
    simulations: int = 500,
    draws: int = 2000,
    prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of intervals of F1, and of the difference of two systems, of clustered examples.

    Each cluster has shares of the classes, and for each system rates, of its own: Dirichlet of dispersion ρ about the
    population's. Clusters are of unequal sizes, 1 + Poisson(λ) with λ exponential. Two systems are judged on the same
    examples; the second says what the first says of half of them.

    Parameters
    ----------
    n_groups : array-like (k,) of int
        Numbers of clusters, at least 3.
    dispersion : array-like (m,)
        The dispersion ρ of shares and rates, in (0, 1).
    methods : sequence of str, optional
        Kinds of intervals, of those below; by default all.
    classes : int
        How many. Of more than two, F1 is the macro average.
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
        ``width`` over (interval, target, n_groups, dispersion), each with its Monte Carlo standard error. The target is
        "f1" of the first system, or the "difference". The settings are in ``attrs``.

    Notes
    -----
    Intervals are equal-tailed. The truth is that of the mean cells of the population. There are four kinds:

    - "clusters": ``pool(method="bayesian_bootstrap")``;
    - "cluster_bootstrap": percentiles of resamples of whole clusters, each the same for both systems. Undefined values
      (0/0) are left out, and data sets of which nothing is left do not count;
    - "independent": the joint posterior of the systems, for which examples are independent;
    - "groups", of two classes: the mean of ``pool(groups="clusters")``, the metric at the mean rates and prevalence of
      clusters. That is another question, where how large clusters are goes with what they are like; not here. Its
      systems are independent.

    Examples
    --------
    >>> from validation.resampled_clusters import resampled_clusters
    >>> study = resampled_clusters([30], [0.05], simulations=5, draws=500, progressbar=False)
    >>> study["coverage"].sel(interval="clusters").mean().item() > 0.6
    True
    """
    grid: dict[str, list[Any]] = {
        "n_groups": [checks.count("n_groups", n, least=3) for n in np.atleast_1d(n_groups).tolist()],
        "dispersion": [checks.probability("dispersion", rho) for rho in np.atleast_1d(dispersion).tolist()],
    }
    if empty := [name for name, of in grid.items() if not of]:
        raise InputError(f"{empty[0]}", "must name one, or several; it is empty.")
    settings: dict[str, Any] = {**grid, "classes": checks.count("classes", classes, least=2),
                "group_size": checks.count("group_size", group_size, least=2),
                "methods": interval_names(methods, _methods(classes)),
                "simulations": checks.count("simulations", simulations, least=2),
                "draws": checks.count("draws", draws, least=2), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip
    first, second = _metric(classes).evaluate(mean_cells(classes), 1).tolist()
    truth = np.array([first, first - second])
    places = list(product(grid["n_groups"], grid["dispersion"]))
    shape = [len(settings["methods"]), len(TARGETS), *map(len, grid.values())]

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        found = [
            _outcomes(
                clustered(n, rho, classes, group_size, rng),
                settings["methods"],
                classes,
                truth,
                draws,
                prob,
                int(rng.integers(2**31)),
            )
            for n, rho in places
        ]
        return {name: np.stack([each[name] for each in found], -1).reshape(shape) for name in OUTCOMES}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    has_one = np.isfinite(results["width"])
    coords = {"interval": settings["methods"], "target": list(TARGETS), **grid}
    variables = {name: (tuple(coords), values) for name, values in monte_carlo_means(results, has_one).items()}
    return xr.Dataset(variables, coords, {**settings, "ci_kind": "eti"})


def mean_cells(classes: int) -> Array:
    """Return the mean cells of the two systems in the population, (2, K, K)."""
    rates = _mean_rates(classes)
    rates[1] = _SAME * rates[0] + (1 - _SAME) * rates[1]
    return _shares(classes)[:, None] * rates


def _shares(classes: int) -> Array:
    """Return the shares of the classes in the population, the last of which is the rarest."""
    weights = np.arange(classes + 1, 1, -1.0)
    return weights / weights.sum()


def _mean_rates(classes: int) -> Array:
    """Return the mean rates of the predictions that each system makes by itself, (2, K, K)."""
    right = np.reshape(_RIGHT, (2, 1, 1))
    return np.where(np.eye(classes) > 0, right, (1 - right) / (classes - 1))


def clustered(
    n_groups: int, dispersion: float, classes: int, group_size: int, rng: np.random.Generator
) -> tuple[Codes, Codes, Codes]:
    """Return the cluster, the actual class and the predictions (2, n) of the examples of a data set."""
    kappa = 1 / dispersion - 1
    sizes = 1 + rng.poisson(rng.exponential(group_size - 1, n_groups))
    cluster = np.repeat(np.arange(n_groups), sizes)
    actual = _one_of_each(rng.dirichlet(kappa * _shares(classes), n_groups)[cluster], rng)
    predicted = []
    for rates in _mean_rates(classes):
        of_clusters = np.stack([rng.dirichlet(kappa * row, n_groups) for row in rates], 1)
        predicted.append(_one_of_each(of_clusters[cluster, actual], rng))
    same = rng.random(len(cluster)) < _SAME
    return cluster, actual, np.stack([predicted[0], np.where(same, *predicted)])


def _one_of_each(probabilities: Array, rng: np.random.Generator) -> Codes:
    """Return a draw of one of the classes for each row of probabilities."""
    return np.asarray((rng.random((len(probabilities), 1)) > probabilities.cumsum(1)[:, :-1]).sum(1))


def _outcomes(
    data: tuple[Codes, Codes, Codes],
    methods: Sequence[str],
    classes: int,
    truth: Array,
    draws: int,
    prob: float,
    seed: int,
) -> dict[str, Array]:
    """Return each of `OUTCOMES`, (interval, target)."""
    cluster, actual, (first, second) = data
    predicted = {"first": first, "second": second}
    cm = ConfusionMatrix.from_predictions(actual, predicted, labels=range(classes), cluster=cluster)
    with warnings.catch_warnings():
        # Few clusters and empty cells are what is studied.
        warnings.simplefilter("ignore", (PriorWarning, DependenceWarning))
        of_each = np.stack([_VALUES[method](cm, draws, seed) for method in methods])
    targets = np.stack([of_each[:, 0], of_each[:, 0] - of_each[:, 1]], 1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN")
        lower, upper = np.nanquantile(targets, [(1 - prob) / 2, (1 + prob) / 2], axis=-1)
    return interval_outcomes(lower, upper, truth)


# ── Values of F1 of both systems, (2, draw) ──


def _by_weights(cm: ConfusionMatrix, draws: int, seed: int) -> Array:
    return _values(pool(cm, draws=draws, random_seed=seed).mean)


def _by_resampling(cm: ConfusionMatrix, draws: int, seed: int) -> Array:
    tables = _tables(cm).reshape(-1, cm.counts.size)
    units = Units(np.ones((1, len(tables)), int), cm.counts.shape, tables)
    return units.resample(partial(_metric(len(cm.labels)).evaluate, positive=1), draws, np.random.default_rng(seed)).T


def _of_independent_examples(cm: ConfusionMatrix, draws: int, seed: int) -> Array:
    assert cm.outcomes is not None
    return _values(joint_posterior(cm.outcomes, None, draws, seed))


def _by_model(cm: ConfusionMatrix, draws: int, seed: int) -> Array:
    clusters = ConfusionMatrix.from_table(_tables(cm), dims=["cluster", "model"])
    return _values(pool(clusters, "cluster", "clusters", draws=draws, random_seed=seed).mean)


_VALUES = dict(zip(METHODS, (_by_weights, _by_resampling, _of_independent_examples, _by_model), strict=True))


def _methods(classes: int) -> list[str]:
    """Return the methods that there are for so many classes: the model of `pool` is of two."""
    return [method for method in METHODS if classes == 2 or method != "groups"]


def _tables(cm: ConfusionMatrix) -> Counts:
    """Return the counts of the clusters, (cluster, model, actual, predicted)."""
    assert cm.clusters is not None
    return cm.clusters.table.toarray().reshape(-1, *cm.counts.shape)


def _values(post: Posterior) -> Array:
    cells = post.cells_by_chain().values[:, 0]
    return _metric(cells.shape[-1]).evaluate(cells, 1)


def _metric(classes: int) -> Metric:
    return get("f1" if classes == 2 else "f1_macro")
