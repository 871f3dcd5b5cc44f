"""How well the figure of the best of many systems covers, as it is and with all drawn towards those like them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayesperf.comparison.compare import compare
from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError
from bayesperf.core.warnings import DependenceWarning, PriorWarning
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.pooling.pool import pool
from bayesperf.posteriors.dirichlet import posterior
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.ranks import joint_draws
from bayesperf.studies.interval_statistics import interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

ANALYSES = ("alone", "shrunk")


def best_of_many(
    systems: int = 50,
    spread: ArrayLike = (0.0, 0.1, 0.3),
    examples: int = 200,
    accuracy: float = 0.8,
    population: str | tuple[int, float] = "normal",
    *,
    paired: bool = False,
    difficulty: float = 0.5,
    clusters: int | None = None,
    simulations: int = 300,
    draws: int = 2000,
    prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage, width and bias of the interval of whichever of many systems looks best.

    Each simulation draws systems from a population, and judges each on examples of one class. The best is the one of
    greatest mean, once with each system by itself, and once with all drawn towards those like them by
    ``compare(..., shrink=True)``.

    Parameters
    ----------
    systems : int
        Number of systems.
    spread : array-like (k,)
        Standard deviation of the logits of the true accuracies; of 0 all systems are equally good. Where tails are
        heavy, the scale.
    examples : int
        Examples by which each system is judged.
    accuracy : float
        That of the mean logit.
    population : {"normal", "heavy_tails"} or tuple (number, shift)
        What the logits are: normal; Student's t of two degrees of freedom; or normal, but of so many systems shifted
        by so much. ``(3, -1.4)`` breaks three systems, ``(1, 1.4)`` makes one better than the others.
    paired : bool
        Whether all systems are judged on the same examples, or each on its own.
    difficulty : float
        Correlation of the systems on the same examples, by how hard an example is for all of them: of the normal
        variables that fall below a threshold where a system is right.
    clusters : int, optional
        Number of clusters that the same examples come in, for ``paired=True``: half of the difficulty is a cluster's,
        and by itself a system has the posterior of ``pool(method="bayesian_bootstrap")``.
    simulations : int
        Number of sets of systems for each spread.
    draws : int
        Draws behind the figures.
    prob : float
        Probability of the intervals.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        Of the best one, ``coverage``, how often its accuracy lies below and above the interval (``lower_miss``,
        ``upper_miss``), mean ``width``, and ``bias``, by how much the posterior mean exceeds the accuracy on average;
        ``prob_best``, the probability that is said of its being the best, and ``is_best``, how often it is (one of
        several that are equally good as one over their number); over (analysis, spread), analysis "alone" or "shrunk",
        each with its Monte Carlo standard error (``coverage_mcse``, …). The settings are in ``attrs``.

    Notes
    -----
    Intervals are equal-tailed. Gelman, Hill & Yajima (2012), Why we (usually) don't have to worry about multiple
    comparisons, Journal of Research on Educational Effectiveness 5.

    Examples
    --------
    >>> from validation.best_of_many import best_of_many
    >>> study = best_of_many(20, [0.1], simulations=20)
    >>> bias = study["bias"].sel(spread=0.1)
    >>> bool(abs(bias.sel(analysis="shrunk")) < bias.sel(analysis="alone") / 2)
    True
    """
    spreads = checks.vector("spread", spread)
    if (spreads < 0).any():
        raise InputError("spread", "must not be negative: it is a standard deviation.", f"It is {spread!r}.")
    systems = checks.count("systems", systems, least=3)
    shifted, shift = _shifted(population, systems)
    settings = {"systems": systems, "spread": spreads.tolist(),
                "examples": checks.count("examples", examples), "accuracy": checks.probability("accuracy", accuracy),
                "population": population if isinstance(population, str) else " shifted by ".join(map(str, population)),
                "paired": bool(paired), "difficulty": checks.probability("difficulty", difficulty),
                "clusters": 0 if clusters is None else checks.count("clusters", clusters, least=3),
                "simulations": checks.count("simulations", simulations, least=2),
                "draws": checks.count("draws", draws, least=2), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip
    if clusters is not None and not paired:
        raise InputError("clusters", "they are of systems judged on the same examples.", "Take paired=True.")
    cluster = None if clusters is None else np.arange(examples) % clusters

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        # All spreads have the same systems and examples, but for their scale.
        deviates = rng.standard_t(2, systems) if population == "heavy_tails" else rng.standard_normal(systems)
        logits = special.logit(accuracy) + spreads[:, None] * deviates
        logits[:, :shifted] += shift
        truth = special.expit(logits)
        hard = rng.standard_normal(examples)
        if cluster is not None:
            hard = np.sqrt(0.5) * (hard + rng.standard_normal(examples)[cluster])
        hard *= np.sqrt(difficulty if paired else 0)
        own = np.sqrt(1 - difficulty if paired else 1) * rng.standard_normal((systems, examples))
        found = [
            _outcomes(own + hard < special.ndtri(each)[:, None], each, paired, cluster, draws, prob) for each in truth
        ]
        return {name: np.stack([of_spread[name] for of_spread in found], -1) for name in found[0]}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    coords = {"analysis": list(ANALYSES), "spread": spreads}
    variables = {name: (tuple(coords), values) for name, values in monte_carlo_means(results).items()}
    return xr.Dataset(variables, coords, {**settings, "paired": int(paired), "ci_kind": "eti"})


def _shifted(population: str | tuple[int, float], systems: int) -> tuple[int, float]:
    """Return how many systems of a population are shifted, and by how much."""
    if isinstance(population, str):
        checks.one_of("population", population, ("normal", "heavy_tails"))
        return 0, 0.0
    if not isinstance(population, tuple) or len(population) != 2:
        raise InputError("population", f"must be a name, or how many systems are shifted, and how far: {population!r}.")
    number, shift = checks.count("population", population[0]), checks.number("population", population[1])
    if number >= systems:
        raise InputError("population", f"{number} of {systems} systems are shifted.", "Leave one where it is.")
    return number, shift


def _outcomes(
    right: NDArray[np.bool_], truth: Array, paired: bool, cluster: Codes | None, draws: int, prob: float
) -> dict[str, Array]:
    """Return what comes of the best system by each analysis, given which examples (m, n) each got right."""
    settings: dict[str, Any] = {"metric": "recall", "draws": draws, "shrink": True}
    tp = right.sum(-1)
    counts = ConfusionMatrix.from_counts(tp=tp, fn=right.shape[1] - tp, fp=0, tn=0, dims=["model"])
    alone = posterior(counts)
    if not paired:
        compared = compare(alone, independent=True, **settings)
    else:
        labelled = np.ones(right.shape[1], int), dict(enumerate(right.astype(int)))
        cm = ConfusionMatrix.from_predictions(*labelled, labels=[0, 1], cluster=cluster)
        if cluster is None:
            compared = compare(cm, **settings)
        else:
            with warnings.catch_warnings():
                # All examples are of one class, and there may be few clusters.
                warnings.simplefilter("ignore", (PriorWarning, DependenceWarning))
                alone = pool(cm, draws=draws).mean
            compared = compare(alone, **settings)
    assert compared.shrunk is not None
    assert compared.systems is not None
    shrunk = compared.shrunk
    by_analysis = (alone["recall"], compared.systems.draws()), (shrunk, joint_draws(shrunk, "model", draws))
    outcomes = [_of_best(each, joint, truth, prob) for each, joint in by_analysis]
    return {name: np.array([of_one[name] for of_one in outcomes]) for name in outcomes[0]}


def _of_best(each: Marginal, draws: xr.DataArray, truth: Array, prob: float) -> dict[str, Any]:
    mean, greatest = each.mean().values, truth == truth.max()
    best = int(mean.argmax())
    low, high = each.isel(model=best).eti(prob).values
    figures = {
        "bias": mean[best] - truth[best],
        "prob_best": (draws.argmax("model") == best).mean().item(),
        "is_best": greatest[best] / greatest.sum(),
    }
    return {**interval_outcomes(low, high, truth[best]), **figures}
