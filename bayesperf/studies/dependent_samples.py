"""How often intervals cover if samples depend on each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesperf import sequences
from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.sequences.simulation import chain_with_rates
from bayesperf.studies.running import interval_outcomes, monte_carlo_means, run

# Options of `bayesperf.sequences.posterior` that make each model: the default chain, and the narrower one.
MODELS: dict[str, dict[str, Any]] = {"independent": {"order": 0}, "markov": {}, "markov, z_prev": {"chain": "z_prev"}}
# How long errors persist where the study says nothing else; by default they persist as the labels do.
ERRORS = {"chain": None, "runs": 0.9, "scenes": 0.99}
# In easy scenes the rates are nearer to 1 by this part of their distance from it, and in hard ones farther by it.
_CONTRAST = 0.8


def dependence(
    persistence: ArrayLike = (0.5, 0.8, 0.9, 0.95),
    n: int = 500,
    *,
    errors: Literal["chain", "runs", "scenes"] = "chain",
    error_persistence: float | None = None,
    prevalence: float = 0.5,
    recall: float = 0.75,
    specificity: float = 0.75,
    metric: str | Metric = "recall",
    simulations: int = 2_000,
    ci_prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of intervals for a metric of dependent samples, as the labels' persistence grows.

    Each simulation is one sequence at each persistence. Its equal-tailed intervals, from the posterior for independent
    samples and from those for two chains, should cover the long-run metric with frequency `ci_prob`.

    Parameters
    ----------
    persistence : array-like (k,)
        Persistence of the actual labels, as in `bayesperf.sequences.simulate`; 0.5 is independence.
    n : int
        Samples in a sequence.
    errors : {"chain", "runs", "scenes"}
        How errors persist. "chain": a prediction follows the previous one, as in `bayesperf.sequences.simulate`.
        "runs": whether a prediction is right follows whether the previous one was, whatever the labels are. "scenes":
        easy and hard scenes follow each other, with higher or lower recall and specificity; neither chain can express
        them.
    error_persistence : float, optional
        Persistence of the predictions, of being right, or of the scenes, on the same scale. By default the labels'
        persistence, 0.9 and 0.99.
    prevalence, recall, specificity : float
        Long-run rates.
    metric : str or Metric
        Any metric of a matrix of two classes.
    simulations : int
        Number of sequences at each persistence.
    ci_prob : float
        Probability of the intervals.
    random_seed, n_jobs, progressbar, folder
        As in every study: see `bayesperf.studies`.

    Returns
    -------
    xarray.Dataset
        ``coverage``, how often the metric lies below and above the interval (``lower_miss``, ``upper_miss``), and mean
        ``width`` over (model, persistence), each with its Monte Carlo standard error (``coverage_mcse``, …). The models
        are "independent"; "markov", the chain of `bayesperf.sequences.posterior`; and "markov, z_prev", which omits the
        previous actual label. The settings and the metric's ``true`` value are in ``attrs``.

    Raises
    ------
    ValueError
        If no chain has these rates at some persistence.

    Notes
    -----
    In "runs" and "scenes" the errors do not depend on the labels. A hidden chain of zeros and ones has the persistence
    (1 + λ)/2, λ its autocorrelation at lag 1. In scenes it is easy for half of the time, and the rates are
    r ± 0.8 min(r, 1 − r).

    Examples
    --------
    >>> from bayesperf import studies
    >>> study = studies.dependence([0.5, 0.9], n=200, simulations=25)
    >>> study["coverage"].sel(model="independent").values
    array([1. , 0.6])
    """
    grid = checks.vector("persistence", persistence).tolist()
    resolved = single_valued(metric, [0, 1], 1)
    rates: dict[str, Any] = {"prevalence": prevalence, "recall": recall, "specificity": specificity}
    lasting = ERRORS[checks.one_of("errors", errors, tuple(ERRORS))] if error_persistence is None else error_persistence
    lasts = [p if lasting is None else lasting for p in grid]
    if errors != "chain" and checks.probability("error_persistence", lasts[0]) < 0.5:
        raise InputError("error_persistence", f"must be at least 0.5 for errors={errors!r}; it is {lasting}.")
    # Refuse what no chain has before the simulations. Errors apart from the labels leave only the labels to check.
    for p, of_errors in zip(grid, lasts, strict=True):
        chain_with_rates(p, of_errors if errors == "chain" else 0.5, **rates)
    table = np.outer([1 - prevalence, prevalence], [1, 1]) * [[specificity, 1 - specificity], [1 - recall, recall]]
    true = resolved.evaluate(table, 1).item()
    settings = {"persistence": grid, "n": checks.count("n", n, least=2), "errors": errors,
                "error_persistence": lasts, **rates, "metric": resolved.name,
                "simulations": checks.count("simulations", simulations), "prob": checks.probability("ci_prob", ci_prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, NDArray[np.float64]]:
        samples = (_sequence(n, *both, errors, rates, rng) for both in zip(grid, lasts, strict=True))
        return {"intervals": np.array([_intervals(*pair, resolved, ci_prob, rng) for pair in samples])}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    lower, upper = np.moveaxis(results["intervals"], -1, 0)
    means = monte_carlo_means(interval_outcomes(lower, upper, true))
    return xr.Dataset(
        {name: (("model", "persistence"), values.T) for name, values in means.items()},
        {"model": list(MODELS), "persistence": grid},
        {**settings, "true": true, "ci_kind": "eti"},
    )


def _sequence(
    n: int, persistence: float, lasting: float, errors: str, rates: Mapping[str, Any], rng: np.random.Generator
) -> tuple[Codes, Codes]:
    """Return the actual and predicted labels (n,) of one simulated sequence."""
    if errors == "chain":
        options = {"persistence": persistence, "error_persistence": lasting, **rates}
        frame = sequences.simulate(n, **options, random_seed=rng)
        return frame["actual"].to_numpy(), frame["predicted"].to_numpy()
    of_labels, of_errors, chances = rng.random((3, n))
    actual = _hidden_chain(rates["prevalence"], persistence, of_labels)
    of_classes = [rates["specificity"], rates["recall"]]
    if errors == "runs":
        # The same uniform numbers drive both classes, so that equal rates are one chain.
        right = np.stack([_hidden_chain(rate, lasting, of_errors) for rate in of_classes])[actual, np.arange(n)]
    else:
        sign, rate = 2 * _hidden_chain(0.5, lasting, of_errors) - 1, np.take(of_classes, actual)
        right = chances < rate + sign * _CONTRAST * np.minimum(rate, 1 - rate)
    return actual, np.where(right, actual, 1 - actual)


def _hidden_chain(mean: float, persistence: float, uniforms: Array) -> Codes:
    """Return a stationary chain (n,) of zeros and ones with a mean and a persistence, driven by uniform numbers."""
    memory = 2 * persistence - 1
    rise, stay = mean * (1 - memory), mean + (1 - mean) * memory
    states, state = [], uniforms[0] < mean
    for each in uniforms[1:].tolist():
        states.append(state)
        state = each < (stay if state else rise)
    return np.array([*states, state], dtype=np.intp)


def _intervals(
    actual: Codes, predicted: Codes, metric: Metric, ci_prob: float, rng: np.random.Generator
) -> list[Array]:
    """Return the interval of each model for one sequence."""
    posteriors = (
        sequences.posterior(actual, predicted, **options, labels=[0, 1], random_seed=rng) for options in MODELS.values()
    )
    return [posterior[metric].eti(ci_prob).values for posterior in posteriors]
