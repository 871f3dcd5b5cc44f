"""How often intervals cover where samples depend on each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesperf import sequences
from bayesperf.core import checks
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.sequences.simulate import chain_with_rates
from bayesperf.studies.interval_statistics import interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

# The order of the Markov chain that each model assumes.
ORDERS = {"independent": 0, "markov": 1}


def dependence(
    persistence: ArrayLike = (0.5, 0.8, 0.9, 0.95),
    n: int = 500,
    *,
    prevalence: float = 0.5,
    recall: float = 0.75,
    specificity: float = 0.75,
    metric: str | Metric = "recall",
    simulations: int = 2_000,
    prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of intervals for a metric of a chain, as its persistence grows.

    Each simulation is one sequence of `bayesperf.sequences.simulate` at each persistence. Its equal-tailed intervals,
    by the posterior of independent samples and by that of a chain, should cover the long-run metric with frequency
    `prob`.

    Parameters
    ----------
    persistence : array-like (k,)
        Of the actual labels and of the predictions' errors alike; 0.5 is independence.
    n : int
        Samples in a sequence.
    prevalence, recall, specificity : float
        Long-run rates.
    metric : str or Metric
        Any metric of a matrix of two classes.
    simulations : int
        Number of sequences at each persistence.
    prob : float
        Probability of the intervals.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``coverage``, how often the metric lies below and above the interval (``lower_miss``, ``upper_miss``), and mean
        ``width`` over (model, persistence), model "independent" or "markov", each with its Monte Carlo standard error
        (``coverage_mcse``, …). The settings and the metric's ``true`` value are in ``attrs``.

    Raises
    ------
    ValueError
        If no chain has these rates at some persistence.

    Examples
    --------
    >>> from bayesperf import studies
    >>> study = studies.dependence([0.5, 0.9], n=200, simulations=25)
    >>> study["coverage"].sel(model="independent").values
    array([1.  , 0.68])
    """
    grid = checks.vector("persistence", persistence).tolist()
    resolved = single_valued(metric, [0, 1], 1)
    rates: dict[str, Any] = {"prevalence": prevalence, "recall": recall, "specificity": specificity}
    chains = [chain_with_rates(p, p, **rates) for p in grid]
    # All chains have the same long-run cells.
    true = resolved.evaluate(chains[0].stationary_cells(), 1).item()
    settings = {"persistence": grid, "n": checks.count("n", n, least=2), **rates, "metric": resolved.name,
                "simulations": checks.count("simulations", simulations), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, NDArray[np.float64]]:
        return {"intervals": np.array([_intervals(p, n, rates, resolved, prob, rng) for p in grid])}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    lower, upper = np.moveaxis(results["intervals"], -1, 0)
    means = monte_carlo_means(interval_outcomes(lower, upper, true))
    return xr.Dataset(
        {name: (("model", "persistence"), values.T) for name, values in means.items()},
        {"model": list(ORDERS), "persistence": grid},
        {**settings, "true": true, "ci_kind": "eti"},
    )


def _intervals(
    persistence: float, n: int, rates: Mapping[str, Any], metric: Metric, prob: float, rng: np.random.Generator
) -> list[NDArray[np.float64]]:
    """Return the interval of each model for one simulated sequence."""
    frame = sequences.simulate(n, persistence=persistence, **rates, random_seed=rng)
    posteriors = (
        sequences.posterior(frame["actual"], frame["predicted"], order=order, labels=[0, 1], random_seed=rng)
        for order in ORDERS.values()
    )
    return [posterior[metric].eti(prob).values for posterior in posteriors]
