"""How often intervals for areas under ROC curves of several classes cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from bayesperf.studies.interval_statistics import OUTCOMES, interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

AREAS = (*((kind, average) for kind in ("ovr", "ovo") for average in ("macro", "weighted")), ("ovr", None))


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
    """Return the coverage and width of intervals of the areas of several classes, and of their averages.

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
        "ovr_macro", "ovr_weighted", "ovo_macro", "ovo_weighted" and "ovr_each", the mean over classes of what each area
        against the rest has. The settings are in ``attrs``.

    Notes
    -----
    Intervals are equal-tailed.

    Examples
    --------
    >>> from validation.class_areas import class_areas
    >>> study = class_areas([60], [1.0], classes=3, population=20_000, simulations=20, draws=200)
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
    truth = {
        apart: [area.observed()[0] for area in _areas(*_examples(population, classes, apart, rng))]
        for apart in grid["separation"]
    }
    places = list(product(*grid.values()))
    shape = [len(AREAS), *map(len, grid.values())]

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        found = [_outcomes(_examples(n, classes, apart, rng), truth[apart], draws, prob, rng) for n, apart in places]
        return {name: np.stack([each[name] for each in found], -1).reshape(shape) for name in OUTCOMES}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    coords = {"area": [f"{kind}_{average or 'each'}" for kind, average in AREAS], **grid}
    variables = {name: (tuple(coords), values) for name, values in monte_carlo_means(results).items()}
    true = [[np.mean(of_area) for of_area in truth[apart]] for apart in grid["separation"]]
    return xr.Dataset(variables | {"truth": (("separation", "area"), true)}, coords, {**settings, "ci_kind": "eti"})


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


def _outcomes(
    examples: tuple[Codes, Array], truth: Sequence[ArrayLike], draws: int, prob: float, rng: np.random.Generator
) -> dict[str, Array]:
    """Return the outcomes of the intervals of each of `AREAS`, (area,), by a data set; means over classes of each."""
    found = []
    for area, true in zip(_areas(*examples), truth, strict=True):
        drawn = area.drawn(draws, rng, progressbar=False)[..., 0, :]
        lower, upper = np.quantile(drawn, [(1 - prob) / 2, (1 + prob) / 2], axis=-1)
        found.append(interval_outcomes(lower, upper, np.asarray(true)))
    return {name: np.array([np.mean(each[name]) for each in found]) for name in OUTCOMES}
