"""How often intervals cover: all intervals of this package, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.data.count_arrays import CELL_DIMS, check_dims, table_to_counts
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.studies.interval_methods import METHODS, MonteCarlo, applicable, interval_names
from bayesperf.studies.running import interval_outcomes, monte_carlo_means, run

# Simulations whose intervals are computed at once; no result depends on it.
_BATCH = 250


def binary_cells(*, prevalence: ArrayLike, recall: ArrayLike, specificity: ArrayLike) -> xr.DataArray:
    """Return the true cells of binary systems, as `coverage` takes them.

    Parameters
    ----------
    prevalence, recall, specificity : float or xarray.DataArray
        In [0, 1]. They broadcast by dim.

    Returns
    -------
    xarray.DataArray
        Probabilities (…, actual, predicted) with labels 0 and 1; 1 is positive.

    Examples
    --------
    >>> from bayesperf import studies
    >>> studies.binary_cells(prevalence=0.1, recall=0.8, specificity=0.95).values.round(3)
    array([[0.855, 0.045], [0.02 , 0.08 ]])
    """
    rates = {"prevalence": prevalence, "recall": recall, "specificity": specificity}
    for name, values in rates.items():
        if not ((np.asarray(values, float) >= 0) & (np.asarray(values, float) <= 1)).all():
            raise InputError(name, f"must be in [0, 1]; it is {values!r}.")
    positive, hit, correct_rejection = (xr.DataArray(values) for values in rates.values())
    rows = [
        [(1 - positive) * correct_rejection, (1 - positive) * (1 - correct_rejection)],
        [positive * (1 - hit), positive * hit],
    ]
    cells = xr.concat([xr.concat(xr.broadcast(*row), "predicted") for row in rows], "actual")
    return cells.transpose(..., *CELL_DIMS).assign_coords(actual=[0, 1], predicted=[0, 1]).rename("cells")


def coverage(
    cells: ArrayLike | xr.DataArray,
    metric: str | Metric = "f1",
    n: ArrayLike = (50, 200),
    methods: Sequence[str] | None = None,
    *,
    confidence: float = 0.95,
    simulations: int = 2000,
    draws: int = 2000,
    n_resamples: int = 999,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and mean width of intervals for a metric of systems with known true cells.

    Parameters
    ----------
    cells : array-like (…, K, K) or xarray.DataArray
        Probabilities of the cells, rows actual; each matrix sums to 1. With leading dims, several systems. With two
        classes the second is positive; `binary_cells` makes such cells.
    metric : str or Metric
        Any metric with a single value.
    n : int or array-like of int
        Examples in a test set.
    methods : sequence of str, optional
        Highest-density and equal-tailed intervals of posteriors, "flat_hdi", "flat_eti", "jeffreys_hdi",
        "jeffreys_eti", "perks_hdi", "perks_eti"; for a rate, or a function of one (F1 of the Jaccard index), also
        "wald", "wilson", "clopper_pearson"; "delta", and "delta_logit" if the metric is bounded; the bootstrap's
        "bootstrap_percentile", "bootstrap_basic", "bootstrap_bca". By default all that are available for the metric.
    confidence : float
        Nominal coverage.
    simulations : int
        Number of test sets for each system and size.
    draws, n_resamples : int
        Draws of a posterior without a closed form, and resamples of a bootstrap.
    random_seed, n_jobs, progressbar, folder
        As in every study: see `bayesperf.studies`.

    Returns
    -------
    xarray.Dataset
        ``coverage``, how often the metric lies below and above the interval (``lower_miss``, ``upper_miss``), mean
        ``width`` and the proportion of intervals of ``no_width`` over (interval, n, …); the proportion of test sets in
        which the metric is ``undefined``, which are omitted for all intervals alike. Each has its Monte Carlo standard
        error (``coverage_mcse``, …). The metric's ``true`` values are over the leading dims. The settings are in
        ``attrs``.

    Raises
    ------
    ValueError
        If the cells are not probabilities, or the metric has no such interval.

    Notes
    -----
    Test sets have random numbers of their own. An interval that needs simulation depends on its test set and on the
    seed, so that equal test sets have equal intervals.

    Examples
    --------
    >>> from bayesperf import studies
    >>> cells = studies.binary_cells(prevalence=0.5, recall=0.95, specificity=0.95)
    >>> study = studies.coverage(cells, "f1", 50, ["flat_hdi", "delta"], simulations=500)
    >>> study["coverage"].round(2).values.ravel()
    array([0.95, 0.92])
    """
    systems = _probabilities(cells)
    classes = systems.sizes["actual"]
    resolved = single_valued(metric, systems["actual"].values.tolist(), 1)
    names = interval_names(methods, applicable(resolved, classes))
    sizes = [checks.count("n", size) for size in np.atleast_1d(n).tolist()]
    seed = checks.seed(random_seed)
    simulation = MonteCarlo(checks.count("draws", draws, least=2), checks.count("n_resamples", n_resamples), seed)
    settings = {"metric": resolved.name, "n": sizes, "methods": names, "cells": systems.values.ravel().tolist(),
                "confidence": checks.probability("confidence", confidence),
                "simulations": checks.count("simulations", simulations, least=2), "draws": draws,
                "n_resamples": n_resamples, "random_seed": seed}  # fmt: skip
    flat = systems.values.reshape(-1, classes**2)

    def simulate(_: Sequence[int], rngs: Sequence[np.random.Generator]) -> list[dict[str, Array]]:
        counts = np.stack([[rng.multinomial(size, flat) for size in sizes] for rng in rngs])
        tables = counts.reshape(-1, classes, classes)
        intervals = _intervals(tables, resolved, names, confidence, simulation)
        return [{"intervals": of_one} for of_one in intervals.reshape(*counts.shape[:-1], -1, 2)]

    results = run(simulate, simulations, settings, _BATCH, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    return _summary(results["intervals"], resolved.evaluate(systems.values, 1), systems, names, sizes, settings)


def _probabilities(cells: ArrayLike | xr.DataArray) -> xr.DataArray:
    """Return cells (…, actual, predicted) as floats, with coordinates along every dim."""
    table = table_to_counts(cells, None, "cells")
    table = table.transpose(..., *CELL_DIMS).astype(float)
    check_dims(table.dims[:-2])
    values = table.values
    if values.shape[-1] != values.shape[-2] or values.shape[-1] < 2:
        raise InputError("cells", f"must be square with at least two classes; their shape is {values.shape}.")
    if not ((values >= 0).all() and np.allclose(values.sum((-2, -1)), 1, rtol=0, atol=1e-9)):
        raise InputError("cells", "must be probabilities: not negative, and of each matrix summing to 1.")
    return table.assign_coords({dim: np.arange(size) for dim, size in table.sizes.items() if dim not in table.coords})


def _intervals(
    tables: NDArray[np.integer], metric: Metric, names: Sequence[str], confidence: float, simulation: MonteCarlo
) -> Array:
    """Return the intervals of tables, (table, interval, 2); NaN where the metric is undefined.

    Equal tables have equal intervals, so that each is computed once. Random numbers are keyed by coordinates and
    counts; the coordinate of a table is its counts, not its position, which would depend on the other tables.
    """
    distinct, position = np.unique(tables, axis=0, return_inverse=True)
    intervals = np.full((len(distinct), len(names), 2), np.nan)
    defined = np.isfinite(metric.evaluate(distinct, 1))
    if defined.any():
        keys = [" ".join(map(str, table)) for table in distinct[defined].reshape(-1, distinct[0].size).tolist()]
        cm = ConfusionMatrix.from_table(distinct[defined], dims={"table": keys})
        for i, name in enumerate(names):
            intervals[defined, i] = METHODS[name](cm, metric, confidence, simulation)
    return intervals[position]


def _summary(
    intervals: Array, true: Array, systems: xr.DataArray, names: list[str], sizes: list[int], settings: dict[str, Any]
) -> xr.Dataset:
    """Return coverages and widths of intervals (simulation, n, system, interval, 2)."""
    lower, upper = np.moveaxis(intervals, (-1, 3), (0, 2))
    defined = np.isfinite(lower).any(1, keepdims=True)
    outcomes = {**interval_outcomes(lower, upper, true.ravel()), "no_width": upper == lower}
    means = monte_carlo_means(outcomes, defined) | monte_carlo_means({"undefined": ~defined[:, 0]})
    leading = systems.dims[:-2]
    dims = ("interval", "n", *leading)
    shape = len(names), len(sizes), *systems.shape[:-2]
    variables = {
        name: (dims, values.reshape(shape)) if values.ndim == 3 else (dims[1:], values.reshape(shape[1:]))
        for name, values in means.items()
    }
    variables["true"] = leading, true
    coords = {name: value for name, value in systems.coords.items() if set(value.dims) <= set(leading)}
    return xr.Dataset(variables, {"interval": names, "n": sizes, **coords}, settings)
