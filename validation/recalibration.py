"""How often the intervals of recalibrated probabilities cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans
from bayesperf.curves.reliability.probability_counts import ProbabilityCounts
from bayesperf.curves.reliability.recalibration import METHODS, recalibrate, too_few
from bayesperf.studies.interval_methods import interval_names
from bayesperf.studies.interval_statistics import interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run
from validation.reliability_bands import SYSTEMS

QUANTILES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
# Of so many probabilities of a system the quantiles are taken.
_PROBABILITIES = 100_000


def recalibration(
    systems: Sequence[str] = tuple(SYSTEMS),
    n: ArrayLike = (500, 1000, 10_000),
    methods: Sequence[str] = METHODS,
    simulations: int = 400,
    *,
    quantiles: ArrayLike = QUANTILES,
    prob: float = 0.95,
    draws: int = 1000,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of the intervals of `bayesperf.recalibrate` at fixed probabilities.

    Parameters
    ----------
    systems : sequence of str
        As of `reliability_bands`: "calibrated", "skewed", "overconfident" and "pure".
    n : array-like (k,)
        Numbers of examples.
    methods : sequence of str
        "logistic" or "isotonic".
    simulations : int
        Number of data sets of each system and number of examples.
    quantiles : array-like (q,)
        The fixed probabilities are these quantiles of those that the system gives.
    prob : float
        Probability of the equal-tailed intervals.
    draws : int
        Lines drawn for each.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``coverage`` and mean ``width`` over (interval, system, n, quantile), each with its Monte Carlo standard error
        (``coverage_mcse``, …), and the ``probability`` that each quantile is, over (system, quantile). NaN where there
        are too few examples for a method; coverage also where the frequency is 0 or 1, which no such interval reaches.
        The settings are in ``attrs``.

    Raises
    ------
    ValueError
        If there is no such system or method, or fewer than 2 examples.

    Examples
    --------
    >>> from validation.recalibration import recalibration
    >>> study = recalibration(["calibrated"], [100], ["logistic"], simulations=20, quantiles=[0.5])
    >>> study["coverage"].item()
    0.9
    """
    names = [checks.one_of("systems", name, SYSTEMS) for name in systems]
    sizes = [checks.count("n", size, least=2) for size in np.atleast_1d(n).tolist()]
    levels = [checks.probability("quantiles", level) for level in np.atleast_1d(quantiles).tolist()]
    intervals = interval_names(methods, METHODS)
    settings = {"systems": names, "n": sizes, "methods": intervals,
                "simulations": checks.count("simulations", simulations), "quantiles": levels,
                "prob": checks.probability("prob", prob), "draws": checks.count("draws", draws, least=4),
                "random_seed": checks.seed(random_seed)}  # fmt: skip
    given = np.random.default_rng
    fixed = {name: np.quantile(SYSTEMS[name].probabilities(given(0), _PROBABILITIES), levels) for name in names}

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        outcomes = np.full((len(intervals), len(names), len(sizes), len(levels), 2), np.nan)
        for i, name in enumerate(names):
            truth = SYSTEMS[name].frequency(fixed[name])
            for j, size in enumerate(sizes):
                probability = SYSTEMS[name].probabilities(rng, size)
                happened = rng.random(size) < SYSTEMS[name].frequency(probability)
                for k, method in enumerate(intervals):
                    bounds = _interval(happened, probability, method, draws, fixed[name], prob, checks.seed(rng))
                    if bounds is not None:
                        found = interval_outcomes(*bounds, truth)
                        within = (truth > 0) & (truth < 1)
                        outcomes[k, i, j] = np.stack([np.where(within, found["coverage"], np.nan), found["width"]], -1)
        return {"outcomes": outcomes}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    coverage, width = np.moveaxis(results["outcomes"], -1, 0)
    means = monte_carlo_means({"coverage": coverage}, np.isfinite(coverage))
    means |= monte_carlo_means({"width": width}, np.isfinite(width))
    coords = {"interval": intervals, "system": names, "n": sizes, "quantile": levels}
    variables = {name: (tuple(coords), mean) for name, mean in means.items()}
    return xr.Dataset(
        variables | {"probability": (("system", "quantile"), np.stack(list(fixed.values())))}, coords, settings
    )


def _interval(
    happened: Booleans, probability: Array, method: str, draws: int, at: Array, prob: float, seed: int
) -> tuple[Array, Array] | None:
    """Return the bounds of the intervals at probabilities, (k,) each; None if there are too few examples."""
    counts = ProbabilityCounts.of_outcomes(happened, probability)
    if not 0 < counts.positives.sum() < counts.total or (method == "isotonic" and too_few(counts)):
        return None
    learned = recalibrate(happened, probability, method=method, pos_label=True, draws=draws, random_seed=seed)
    lower, upper = learned.predict(at).eti(prob).values.T
    return lower, upper
