"""How often intervals for the area under the ROC curve cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.counts.classifier_scores import Scores
from bayesperf.curves.areas.auc import AREAS
from bayesperf.studies.interval_methods import interval_names
from bayesperf.studies.interval_statistics import interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run


def areas(
    auc: ArrayLike = (0.7, 0.8, 0.95),
    n: ArrayLike = (30, 100),
    methods: Sequence[str] = ("bayesian_bootstrap", "delong", "delong_logit", "pairs"),
    simulations: int = 2000,
    *,
    spread: float = 1.0,
    prob: float = 0.95,
    draws: int = 2000,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of intervals for the area under the ROC curve.

    Scores are normal in either class: of negatives Normal(0, 1), of positives of the standard deviation `spread` and
    the mean that makes the area `auc`. The intervals are the equal-tailed ones of the methods of
    `bayesperf.roc_auc`; each should cover that area with frequency `prob`.

    Parameters
    ----------
    auc : array-like (k,)
        True areas.
    n : array-like (l,)
        Numbers of examples of either class.
    methods : sequence of str
        "bayesian_bootstrap", "delong", "delong_logit" (``transform="logit"``), "binormal", "pairs".
    simulations : int
        Number of data sets of each area and number of examples.
    spread : float
        Standard deviation of the positives' scores.
    prob : float
        Probability of the intervals.
    draws : int
        Number of draws of the methods that draw.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``coverage``, how often the area lies below and above the interval (``lower_miss``, ``upper_miss``), and mean
        ``width`` over (interval, auc, n), each with its Monte Carlo standard error (``coverage_mcse``, …). The settings
        are in ``attrs``.

    Raises
    ------
    ValueError
        If an area is not between 0 and 1, a class has fewer than two examples, or there is no such method.

    Notes
    -----
    Where the scores separate the classes the log-odds of the area are infinite, and "delong_logit" is as "delong": an
    interval of no width.

    Examples
    --------
    >>> from validation.areas import areas
    >>> study = areas([0.8], [30], ["delong", "pairs"], simulations=200)
    >>> study["coverage"].sel(auc=0.8, n=30).values
    array([0.94 , 0.345])
    """
    true = [checks.probability("auc", value) for value in checks.vector("auc", auc).tolist()]
    sizes = [checks.count("n", size, least=2) for size in np.atleast_1d(n).tolist()]
    names = interval_names(methods, tuple(AREAS))
    sd = checks.number("spread", spread)
    if not 0 < sd < np.inf:
        raise InputError("spread", f"must be above 0 and finite; it is {spread!r}.")
    settings = {"auc": true, "n": sizes, "methods": names, "simulations": checks.count("simulations", simulations),
                "spread": sd, "prob": checks.probability("prob", prob),
                "draws": checks.count("draws", draws, least=2),
                "random_seed": checks.seed(random_seed)}  # fmt: skip
    levels = np.array([[(1 - prob) / 2, (1 + prob) / 2]])

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        intervals = np.empty((len(names), len(true), len(sizes), 2))
        for i, area in enumerate(true):
            mean = np.hypot(1, sd) * special.ndtri(area)
            for j, size in enumerate(sizes):
                scores = Scores(np.sort(rng.normal(mean, sd, size)), np.sort(rng.normal(0, 1, size)))
                intervals[:, i, j] = [_interval(scores, name, levels, draws, rng) for name in names]
        return {"intervals": intervals}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    lower, upper = np.moveaxis(results["intervals"], -1, 0)
    means = monte_carlo_means(interval_outcomes(lower, upper, np.array(true)[:, None]))
    coords = {"interval": names, "auc": true, "n": sizes}
    attrs = {**settings, "ci_kind": "eti"}
    return xr.Dataset({name: (tuple(coords), values) for name, values in means.items()}, coords, attrs)


def _interval(scores: Scores, method: str, levels: Array, draws: int, rng: np.random.Generator) -> Array:
    of_scores = AREAS["delong" if method == "delong_logit" and scores.separated else method]
    interval: Array = of_scores(scores, draws=draws, rng=rng, progressbar=False).ppf(levels)[0]
    return interval
