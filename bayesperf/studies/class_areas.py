"""How often intervals for areas under ROC curves of several classes cover."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import softmax

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes
from bayesperf.curves.areas.areas_of_classes import ClassAreas
from bayesperf.studies.interval_statistics import interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

AREAS = tuple((kind, average) for kind in ("ovr", "ovo") for average in ("macro", "weighted"))


def class_areas(
    n: ArrayLike = (100, 200, 500),
    separation: ArrayLike = (1.0, 3.0),
    *,
    classes: int = 5,
    population: int = 1_000_000,
    simulations: int = 500,
    draws: int = 2000,
    prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of intervals of the average areas of several classes.

    Log-odds of an example are standard normal, by `separation` greater for its own class; its probabilities are their
    softmax. Classes are of unequal frequency, from K + 1 to 2 in proportion.

    Parameters
    ----------
    n : array-like (k,) of int
        Numbers of examples.
    separation : array-like (m,)
        By how much the log-odds of the own class are greater.
    classes : int
        How many.
    population : int
        Number of examples whose areas are the truth.
    simulations : int
        Number of data sets; in each every class has an example.
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
        ``width`` over (area, n, separation), each with its Monte Carlo standard error; the ``truth``. The areas are
        "ovr_macro", "ovr_weighted", "ovo_macro" and "ovo_weighted". The settings are in ``attrs``.

    Notes
    -----
    Intervals are equal-tailed.

    Examples
    --------
    >>> from bayesperf import studies
    >>> study = studies.class_areas([60], [1.0], classes=3, population=20_000, simulations=20, draws=200)
    >>> study["coverage"].sel(area="ovo_macro").item() > 0.7
    True
    """
    grid: dict[str, list[Any]] = {
        "n": [checks.count("n", size, least=2 * classes) for size in np.atleast_1d(n).tolist()],
        "separation": [checks.number("separation", apart) for apart in np.atleast_1d(separation).tolist()],
    }
    settings: dict[str, Any] = {**grid, "classes": checks.count("classes", classes, least=2),
                "population": checks.count("population", population, least=10 * classes),
                "simulations": checks.count("simulations", simulations, least=2),
                "draws": checks.count("draws", draws, least=2), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip
    rng = np.random.default_rng(settings["random_seed"])
    truth = np.stack([
        [area.observed()[0] for area in _areas(*_examples(population, classes, apart, rng))]
        for apart in grid["separation"]
    ], 1)  # fmt: skip
    places = list(product(*grid.values()))
    shape = [len(AREAS), *map(len, grid.values())]

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        intervals = np.stack([_intervals(size, classes, apart, draws, prob, rng) for size, apart in places], 1)
        lower, upper = np.moveaxis(intervals.reshape(*shape, 2), -1, 0)
        return interval_outcomes(lower, upper, truth[:, None])

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    coords = {"area": ["_".join(names) for names in AREAS], **grid}
    variables = {name: (tuple(coords), values) for name, values in monte_carlo_means(results).items()}
    return xr.Dataset(variables | {"truth": (("area", "separation"), truth)}, coords, {**settings, "ci_kind": "eti"})


def _examples(n: int, classes: int, separation: float, rng: np.random.Generator) -> tuple[Codes, Array]:
    """Return the classes (n,) of examples and their probabilities (n, K); every class has an example."""
    weights = np.arange(classes + 1, 1, -1.0)
    codes = rng.choice(classes, n, p=weights / weights.sum())
    if len(np.unique(codes)) < classes:
        return _examples(n, classes, separation, rng)
    return codes, softmax(rng.normal(size=(n, classes)) + separation * np.eye(classes)[codes], axis=1)


def _areas(codes: Codes, probabilities: Array) -> list[ClassAreas]:
    """Return each of `AREAS` of examples."""
    labels = list(range(probabilities.shape[1]))
    return [ClassAreas(codes, labels, probabilities[None], kind, average, None) for kind, average in AREAS]


def _intervals(n: int, classes: int, separation: float, draws: int, prob: float, rng: np.random.Generator) -> Array:
    """Return the interval of each of `AREAS`, (area, 2), by a data set."""
    drawn = [area.drawn(draws, rng, progressbar=False)[0] for area in _areas(*_examples(n, classes, separation, rng))]
    return np.asarray(np.quantile(np.stack(drawn), [(1 - prob) / 2, (1 + prob) / 2], axis=-1).T)
