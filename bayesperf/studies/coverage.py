"""How often intervals cover: every kind that this package has, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.counts.count_arrays import CELL_DIMS, check_dims, table_to_counts
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.studies.methods import METHODS, Effort, applicable, chosen, mean
from bayesperf.studies.run import run

# Simulations at once.
_BATCH = 250


def binary_cells(*, prevalence: ArrayLike, recall: ArrayLike, specificity: ArrayLike) -> xr.DataArray:
    """Return the true cells of systems of two classes: a setting of `coverage`.

    Parameters
    ----------
    prevalence, recall, specificity : float or xarray.DataArray
        In [0, 1]. They broadcast by dim.

    Returns
    -------
    xarray.DataArray
        Probabilities (…, actual, predicted), labels 0 and 1, of which 1 is positive.

    Examples
    --------
    >>> from bayesperf import studies
    >>> studies.binary_cells(prevalence=0.1, recall=0.8, specificity=0.95).values.round(3)
    array([[0.855, 0.045], [0.02 , 0.08 ]])
    """
    given = {"prevalence": prevalence, "recall": recall, "specificity": specificity}
    for name, values in given.items():
        if not ((np.asarray(values, float) >= 0) & (np.asarray(values, float) <= 1)).all():
            raise ValueError(f"{name} must be in [0, 1]; it is {values!r}.")
    share, hit, rest = (xr.DataArray(values) for values in given.values())
    rows = [[(1 - share) * rest, (1 - share) * (1 - rest)], [share * (1 - hit), share * hit]]
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
    """Return the coverage and mean width of intervals for a metric of systems whose true cells are known.

    Parameters
    ----------
    cells : array-like (…, K, K) or xarray.DataArray
        Probabilities of the cells, rows actual; each matrix sums to 1. With leading dims, several systems. Of two
        classes the second is the positive one; `binary_cells` makes them.
    metric : str or Metric
        Any metric with a single value.
    n : int or array-like of int
        Examples in a test set.
    methods : sequence of str, optional
        Highest-density and equal-tailed intervals of posteriors, "flat_hdi", "flat_eti", "jeffreys_hdi",
        "jeffreys_eti", "perks_hdi", "perks_eti"; of a rate, or of a function of one (F1 of the Jaccard index), also
        "wald", "wilson", "clopper_pearson"; "delta", and "delta_logit" if the metric is bounded; the bootstrap's
        "bootstrap_percentile", "bootstrap_basic", "bootstrap_bca". By default all that there are for the metric.
    confidence : float
        Nominal coverage.
    simulations : int
        Test sets of each system and size.
    draws, n_resamples : int
        Of a posterior that has no closed form, and of a bootstrap.
    random_seed, n_jobs, progressbar, folder
        As in every study: the figures depend on the seed only; with `folder` an interrupted study goes on where it
        stopped.

    Returns
    -------
    xarray.Dataset
        ``coverage`` with its standard error ``coverage_mcse``, mean ``width`` and the share of intervals of
        ``no_width`` over (method, n, …); ``true`` values of the metric, and the share of test sets in which it is
        ``undefined``, which are left out for every method alike. The settings are in ``attrs``. (Select a method as
        ``.sel({"method": "delta"})``: by keyword, xarray takes it for another thing.)

    Raises
    ------
    ValueError
        If the cells are no probabilities, or a method is not to be had for the metric.

    Examples
    --------
    >>> from bayesperf import studies
    >>> cells = studies.binary_cells(prevalence=0.5, recall=0.95, specificity=0.95)
    >>> study = studies.coverage(cells, "f1", 50, ["flat_hdi", "delta"], simulations=500)
    >>> study["coverage"].round(2).values.ravel()
    array([0.94, 0.91])
    """
    systems = _probabilities(cells)
    classes = systems.sizes["actual"]
    found = single_valued(metric, systems["actual"].values.tolist(), 1)
    names = chosen(methods, applicable(found, classes))
    sizes = [checks.count("n", size) for size in np.atleast_1d(n).tolist()]
    effort = Effort(checks.count("draws", draws, least=2), checks.count("n_resamples", n_resamples), 0)
    settings = {"metric": found.name, "n": sizes, "methods": names, "cells": systems.values.ravel().tolist(),
                "confidence": checks.probability("confidence", confidence),
                "simulations": checks.count("simulations", simulations, least=2), "draws": draws,
                "n_resamples": n_resamples, "random_seed": checks.seed(random_seed)}  # fmt: skip
    flat = systems.values.reshape(-1, classes**2)
    batch = min(_BATCH, simulations)

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        seen = np.stack([rng.multinomial(size, flat, (batch, len(flat))) for size in sizes], 1)
        seeded = Effort(effort.draws, effort.n_resamples, checks.seed(rng))
        tables = seen.reshape(-1, classes, classes)
        return {"intervals": _intervals(tables, found, names, confidence, seeded).reshape(*seen.shape[:-1], -1, 2)}

    results = run(simulate, -(-simulations // batch), settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    # (simulation, n, system, method, bound)
    intervals = results["intervals"].reshape(-1, *results["intervals"].shape[2:])[:simulations]
    return _summary(intervals, found.evaluate(systems.values, 1), systems, names, sizes, settings)


def _probabilities(cells: ArrayLike | xr.DataArray) -> xr.DataArray:
    """Return cells (…, actual, predicted) as floats, every dim with coordinates."""
    table = table_to_counts(cells, None)
    if not set(CELL_DIMS) <= set(table.dims):
        raise ValueError(f"cells must have dims actual and predicted; they are {table.dims}.")
    table = table.transpose(..., *CELL_DIMS).astype(float)
    check_dims(table.dims[:-2])
    values = table.values
    if values.shape[-1] != values.shape[-2] or values.shape[-1] < 2:
        raise ValueError(f"cells must be square with at least two classes; their shape is {values.shape}.")
    if not ((values >= 0).all() and np.allclose(values.sum((-2, -1)), 1, rtol=0, atol=1e-9)):
        raise ValueError("cells must be probabilities: not negative, and of each matrix summing to 1.")
    return table.assign_coords({dim: np.arange(size) for dim, size in table.sizes.items() if dim not in table.coords})


def _intervals(
    tables: NDArray[np.integer], metric: Metric, names: Sequence[str], confidence: float, effort: Effort
) -> Array:
    """Return the intervals of tables, (table, method, 2); NaN where the metric is undefined.

    Equal tables have equal intervals, so that each is computed once.
    """
    distinct, place = np.unique(tables, axis=0, return_inverse=True)
    found = np.full((len(distinct), len(names), 2), np.nan)
    defined = np.isfinite(metric.evaluate(distinct, 1))
    if defined.any():
        cm = ConfusionMatrix.from_table(distinct[defined], dims=["table"])
        for i, name in enumerate(names):
            found[defined, i] = METHODS[name](cm, metric, confidence, effort)
    return found[place]


def _summary(
    intervals: Array, true: Array, systems: xr.DataArray, names: list[str], sizes: list[int], settings: dict[str, Any]
) -> xr.Dataset:
    """Return coverages and widths of intervals (simulation, n, system, method, 2)."""
    lower, upper = np.moveaxis(intervals, (-1, 3), (0, 2))
    known = np.isfinite(lower).any(1, keepdims=True)
    covered = (lower <= true.ravel()) & (true.ravel() <= upper)
    leading = systems.dims[:-2]
    dims, shape = ("method", "n", *leading), systems.shape[:-2]
    rate = mean(covered, known)
    figures = {
        "coverage": rate,
        "coverage_mcse": np.sqrt(rate * (1 - rate) / np.maximum(known.sum(0), 1)),
        "width": mean(upper - lower, known),
        "no_width": mean(upper == lower, known),
    }
    variables = {name: (dims, values.reshape(len(names), len(sizes), *shape)) for name, values in figures.items()}
    variables["undefined"] = dims[1:], 1 - known.mean(0).reshape(len(sizes), *shape)
    variables["true"] = leading, true
    coords = {name: value for name, value in systems.coords.items() if set(value.dims) <= set(leading)}
    return xr.Dataset(variables, {"method": names, "n": sizes, **coords}, settings)
