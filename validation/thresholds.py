"""What chosen thresholds are said to do, beside what they do: with the optimism of their choice, and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import ndtr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.curves.chosen_thresholds.requirements import ThresholdRequirement, requirements_of
from bayesperf.curves.chosen_thresholds.threshold import ChosenThreshold, choose_threshold
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.posteriors.dirichlet import posterior
from bayesperf.studies.interval_statistics import interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

JUDGED = ("apparent", "corrected")
# The true shares tp, fn, fp and tn.
TrueCells = tuple[Array, Array, Array, Array]


def thresholds(
    n: ArrayLike = (50, 100, 200, 1000),
    metrics: tuple[str, ...] = ("recall", "specificity", "precision", "f1"),
    simulations: int = 1000,
    *,
    best: str | None = "f1",
    cost: tuple[float, float] | None = None,
    requirements: Mapping[str | Metric, float] | None = None,
    confidence: float = 0.95,
    prevalence: float = 0.3,
    distance: float = 1.5,
    prob: float = 0.95,
    draws: int = 1000,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the bias and the coverage of metrics at thresholds that were chosen on the same examples.

    Scores are Normal(0, 1) of negatives and Normal(distance, 1) of positives, and a share `prevalence` is positive on
    average. The truth is that of the threshold that was chosen.

    Parameters
    ----------
    n : array-like (l,)
        Numbers of examples.
    metrics : tuple of str
        What is judged.
    simulations : int
        Number of data sets of each size; a data set of one class is drawn again.
    best, cost, requirements, confidence
        How the threshold is chosen, as in `bayesperf.choose_threshold`.
    prevalence, distance : float
        Share of positives, and distance of the means of the scores of either class.
    prob : float
        Probability of the intervals, which are equal-tailed.
    draws : int
        Of the posterior.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``bias`` (posterior mean less truth), ``coverage`` and ``width`` over (judged, metric, n), of the data sets in
        which a threshold was found; ``judged`` is "apparent", by the examples that chose, or "corrected", less their
        optimism. ``found`` and ``not_met`` over n: how often a threshold met the requirements, and how often it was
        found and in truth does not meet them. Each has its Monte Carlo standard error (``bias_mcse``, …). The settings
        are in ``attrs``.

    Raises
    ------
    TypeError, ValueError
        As `bayesperf.choose_threshold`.

    Examples
    --------
    >>> from validation.thresholds import thresholds
    >>> study = thresholds([50], ("f1",), simulations=20, draws=100)
    >>> bool(study["bias"].sel(judged="apparent").squeeze() > study["bias"].sel(judged="corrected").squeeze())
    True
    """
    sizes = [checks.count("n", size, least=2) for size in np.atleast_1d(n).tolist()]
    wanted, required = [get(name) for name in metrics], requirements_of(requirements)
    share, apart = checks.probability("prevalence", prevalence), checks.number("distance", distance)
    settings = {"n": sizes, "metrics": [metric.name for metric in wanted],
                "simulations": checks.count("simulations", simulations), "best": str(best), "cost": str(cost),
                "requirements": str(requirements), "confidence": checks.probability("confidence", confidence),
                "prevalence": share, "distance": apart, "prob": checks.probability("prob", prob),
                "draws": checks.count("draws", draws, least=2),
                "random_seed": checks.seed(random_seed)}  # fmt: skip
    options: dict[str, Any] = {"best": best, "cost": cost, "confidence": confidence}
    # Whatever would be refused of all data sets is refused here, and not taken for one without such a threshold.
    choose_threshold([0, 1] * 500, [0.0, 9.0] * 500, **options, draws=2)

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        figures = np.full((len(JUDGED), len(wanted), len(sizes), 4), np.nan)
        met = np.full(len(sizes), np.nan)
        for j, size in enumerate(sizes):
            examples = _examples(size, share, apart, rng)
            try:
                chosen = choose_threshold(*examples, **options, requirements=requirements, draws=draws, random_seed=rng)
            except ValueError:
                continue
            cells = _true_cells(chosen.threshold, share, apart)
            met[j] = all(_is_met(each, cells) for each in required)
            figures[:, :, j] = _figures(chosen, wanted, cells, prob)
        return {"figures": figures, "met": met}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    return _outcomes(results["figures"], results["met"], settings)


def _outcomes(figures: Array, met: Array, settings: Mapping[str, Any]) -> xr.Dataset:
    """Return what came of all simulations, given `_figures`, and whether requirements were met: NaN if not found."""
    mean, lower, upper, true = np.moveaxis(figures, -1, 0)
    outcomes = interval_outcomes(lower, upper, true)
    values = {"bias": mean - true, "coverage": outcomes["coverage"], "width": outcomes["width"]}
    means = monte_carlo_means(values, np.isfinite(true))
    of_sizes = monte_carlo_means({"found": ~np.isnan(met), "not_met": met == 0})
    coords = {"judged": list(JUDGED), "metric": settings["metrics"], "n": settings["n"]}
    variables = {name: (tuple(coords), array) for name, array in means.items()}
    return xr.Dataset(variables | {name: ("n", array) for name, array in of_sizes.items()}, coords, settings)


def _figures(chosen: ChosenThreshold, metrics: Sequence[Metric], cells: TrueCells, prob: float) -> Array:
    """Return mean, limits and truth of each metric, with the optimism of the choice and without, (2, metrics, 4)."""
    posts = posterior(chosen.apparent, "jeffreys"), chosen.posterior
    return np.array([
        [[marginal.mean(), *marginal.eti(prob).values, metric.of_binary(*cells)]
         for metric, marginal in zip(metrics, post.several(metrics), strict=True)]
        for post in posts
    ], float)  # fmt: skip


def _is_met(requirement: ThresholdRequirement, cells: TrueCells) -> bool:
    """Return whether a requirement is met in truth."""
    value = float(requirement.metric.of_binary(*cells))
    return value >= requirement.bound if requirement.metric.greater_is_better else value <= requirement.bound


def _examples(n: int, prevalence: float, distance: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return labels of both classes, and their scores."""
    while True:
        actual = (rng.random(n) < prevalence).astype(float)
        if 0 < actual.sum() < n:
            return actual, rng.normal(distance * actual)


def _true_cells(threshold: float, prevalence: float, distance: float) -> TrueCells:
    """Return the true shares tp, fn, fp and tn at a threshold."""
    recall, fpr = np.asarray(ndtr(distance - threshold)), np.asarray(ndtr(-threshold))
    return prevalence * recall, prevalence * (1 - recall), (1 - prevalence) * fpr, (1 - prevalence) * (1 - fpr)
