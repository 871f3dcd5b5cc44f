"""How often intervals of repeated cross-validation cover, where a learner makes the folds' models."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.warnings import PriorWarning
from bayesperf.counts.cross_validation import REPEAT, folds_of_all_repeats, held_out_predictions, mark_repeats
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.pooling.pool import pool
from bayesperf.posteriors.posterior import Posterior
from bayesperf.studies.interval_statistics import OUTCOMES, interval_outcomes, monte_carlo_means
from bayesperf.studies.random_states import with_random_state
from bayesperf.studies.run import run

INTERVALS, TARGETS = ("repeats", "one_repeat", "as_new_examples"), ("folds' models", "refitted model")
# Features, their correlation within a class, and the share of the positive class.
_FEATURES, _CORRELATION, _PREVALENCE = 5, 0.5, 0.4
# Examples on which what is true of a model is found.
_POPULATION = 20_000


def cross_validation(
    n: ArrayLike = (50, 100, 200),
    metrics: Sequence[str | Metric] = ("accuracy", "recall"),
    *,
    estimator: Any = None,
    folds: int = 5,
    repeats: int = 5,
    separation: float = 2.0,
    simulations: int = 300,
    draws: int = 1000,
    prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of intervals from repeated cross-validation of a learner.

    Each simulation draws a data set of two classes, cross-validates the learner on it, and asks a population of 20,000
    examples how good its models are.

    Parameters
    ----------
    n : array-like (m,)
        Examples of a data set, two fifths of them positive.
    metrics : sequence of str or Metric
        Metrics with a single value.
    estimator : scikit-learn classifier, optional
        The learner; by default `GaussianNB`, which takes the features for independent, as they are not.
    folds, repeats : int
        How the data set is split (RepeatedStratifiedKFold).
    separation : float
        Distance of the classes' means along the first of five normal features, whose correlation is 0.5.
    simulations, draws : int
        Number of data sets, and of draws behind an interval.
    prob : float
        Probability of the intervals.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``coverage``, how often the target lies below and above the interval (``lower_miss``, ``upper_miss``), and mean
        ``width`` over (interval, target, metric, n), each with its Monte Carlo standard error (``coverage_mcse``, …).
        Intervals are of the mean by `bayesperf.pool`: of all "repeats" (examples weigh once), of the first alone
        ("one_repeat"), and of all repeats as if they were of new examples ("as_new_examples"). Targets are the mean
        over all "folds' models" and the "refitted model", of all examples. The settings are in ``attrs``.

    Raises
    ------
    ImportError
        If scikit-learn is not installed.

    Notes
    -----
    Intervals are equal-tailed.

    Examples
    --------
    >>> from validation.cross_validation import cross_validation
    >>> study = cross_validation([60], ["accuracy"], folds=3, repeats=4, simulations=4, draws=200)
    >>> width = study["width"].squeeze()
    >>> bool((width.sel(interval="as_new_examples") < 0.7 * width.sel(interval="repeats")).all())
    True
    """
    from sklearn.naive_bayes import GaussianNB

    learner = GaussianNB() if estimator is None else estimator
    sizes = [checks.count("n", size) for size in np.atleast_1d(n).tolist()]
    splits = {"folds": checks.count("folds", folds, least=2), "repeats": checks.count("repeats", repeats, least=2)}
    wanted = [single_valued(metric, [0, 1], 1) for metric in metrics]
    if not (sizes and wanted):
        raise InputError("n and metrics", "must name one, or several; one of them is empty.")
    if min(sizes) * min(_PREVALENCE, 1 - _PREVALENCE) < folds:
        raise InputError("n", f"each of {folds} folds needs an example of each class; it is {min(sizes)}.")
    settings = {"n": sizes, "metrics": [metric.name for metric in wanted], "estimator": repr(learner), **splits,
                "separation": checks.number("separation", separation),
                "simulations": checks.count("simulations", simulations, least=2),
                "draws": checks.count("draws", draws, least=2), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        found = [_outcomes(with_random_state(learner, rng), size, wanted, settings, rng) for size in sizes]
        return {name: np.stack([of[name] for of in found], -1) for name in OUTCOMES}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    coords = {"interval": list(INTERVALS), "target": list(TARGETS), "metric": settings["metrics"], "n": sizes}
    variables = {name: (tuple(coords), values) for name, values in monte_carlo_means(results).items()}
    return xr.Dataset(variables, coords, {**settings, "ci_kind": "eti"})


def _outcomes(
    learner: Any, size: int, metrics: Sequence[Metric], settings: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, Array]:
    """Return each of `OUTCOMES` of one data set, (interval, target, metric)."""
    tested, (of_folds, refitted) = _cross_validated(learner, size, settings, rng)
    true = np.array([[np.mean([m.evaluate(cells, 1) for cells in models]) for m in metrics]
                     for models in (of_folds, refitted)])  # fmt: skip
    seed = int(rng.integers(2**31))
    as_new = ConfusionMatrix(folds_of_all_repeats(tested.counts, "fold", None)[0])
    bounds = []
    for cm in (tested, tested.isel(**{REPEAT: 0}), as_new):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PriorWarning)
            mean: Posterior = pool(cm, draws=settings["draws"], random_seed=seed).mean
        bounds.append([marginal.eti(settings["prob"]).values for marginal in mean.several(metrics)])
    lower, upper = np.moveaxis(np.array(bounds)[:, None], -1, 0)
    return interval_outcomes(*np.broadcast_arrays(lower, upper, true))


def _cross_validated(
    learner: Any, size: int, settings: Mapping[str, Any], rng: np.random.Generator
) -> tuple[ConfusionMatrix, tuple[list[Array], list[Array]]]:
    """Return the counts of cross-validation, and the cells (2, 2) of each fold's model, and of that of all examples."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    positive = round(_PREVALENCE * size)
    y = np.concatenate([np.arange(size) < positive, np.arange(_POPULATION) < _PREVALENCE * _POPULATION]).astype(int)
    common, own = rng.standard_normal((len(y), 1)), rng.standard_normal((len(y), _FEATURES))
    features = np.sqrt(_CORRELATION) * common + np.sqrt(1 - _CORRELATION) * own
    features[:, 0] += settings["separation"] * y
    splitter = RepeatedStratifiedKFold(
        n_splits=settings["folds"], n_repeats=settings["repeats"], random_state=int(rng.integers(2**31))
    )
    population, everything = np.arange(size, len(y)), np.arange(size)
    splits = [*splitter.split(features[:size], y[:size]), (everything, everything[:0])]
    asked = [(train, np.concatenate([test, population])) for train, test in splits]
    held = held_out_predictions(learner, features, y, asked, None, None)
    each = np.split(held.y_pred, np.cumsum([len(rows) for _, rows in asked])[:-1])
    cells = [_table(y[population], predicted[-_POPULATION:]) / _POPULATION for predicted in each]
    tests = [_table(y[test], predicted[: len(test)]) for (_, test), predicted in zip(splits[:-1], each, strict=False)]
    shape = (settings["repeats"], settings["folds"], 2, 2)
    counts = xr.DataArray(np.reshape(tests, shape), dims=(REPEAT, "fold", "actual", "predicted"))
    counts = counts.assign_coords(actual=[0, 1], predicted=[0, 1])
    return ConfusionMatrix(mark_repeats(counts, REPEAT)), (cells[:-1], cells[-1:])


def _table(actual: Codes, predicted: Codes) -> Counts:
    """Return the counts of two classes, rows actual."""
    return np.bincount(2 * actual + predicted, minlength=4).reshape(2, 2)
