"""How often intervals of repeated cross-validation cover, where a learner makes the folds' models.

Each simulation draws a data set of two classes, two fifths of it positive, cross-validates the learner on it, and asks
a population of 20,000 examples how good its models are. The learner, naive Bayes unless another is given, takes the
features for independent, as they are not. Intervals are equal-tailed, of the mean by `bayesperf.pool`: of all
"repeats" (examples weigh once), of the first alone ("one_repeat"), and of all repeats as if they were of new examples
("as_new_examples"). Targets are the mean over all "folds' models" and the "refitted model", of all examples.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB

from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import PriorWarning
from bayesperf.data.axis_names import REPEAT
from bayesperf.data.count_arrays import COUNTED_AGAIN, marked
from bayesperf.data.cross_validation import folds_of_all_repeats, held_out_predictions
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.groups.pooling import pool
from bayesperf.metrics.registry import single_valued
from bayesperf.posteriors.posterior import Posterior
from bayesperf.studies.running import with_random_state
from validation.study import Study, interval_figures, table

INTERVALS, TARGETS = ("repeats", "one_repeat", "as_new_examples"), ("folds' models", "refitted model")
# Features, their correlation within a class, and the share of the positive class.
_FEATURES, _CORRELATION, _PREVALENCE = 5, 0.5, 0.4
# Examples on which what is true of a model is found.
_POPULATION = 20_000


def simulate(
    rng: np.random.Generator,
    *,
    n: int,
    metrics: Sequence[str],
    estimator: Any,
    folds: int,
    repeats: int,
    separation: float,
    draws: int,
    prob: float,
) -> dict[str, Array]:
    """Return the outcomes (interval, target, metric) of one data set."""
    wanted = [single_valued(metric, [0, 1], 1) for metric in metrics]
    learner = with_random_state(estimator, rng)
    tested, models = _cross_validated(learner, n, (folds, repeats), separation, rng)
    true = np.array([[np.mean([m.evaluate(cells, 1) for cells in of]) for m in wanted] for of in models])
    seed = int(rng.integers(2**31))
    as_new = ConfusionMatrix(folds_of_all_repeats(tested.counts, "fold", None)[0])
    bounds = []
    for cm in (tested, tested.isel(**{REPEAT: 0}), as_new):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PriorWarning)
            mean: Posterior = pool(cm, draws=draws, random_seed=seed).mean
        bounds.append([marginal.eti(prob).values for marginal in mean.several(wanted)])
    lower, upper = np.moveaxis(np.array(bounds)[:, None], -1, 0)
    return interval_figures(*np.broadcast_arrays(lower, upper, true))


def _cross_validated(
    learner: Any, size: int, split: tuple[int, int], separation: float, rng: np.random.Generator
) -> tuple[ConfusionMatrix, tuple[list[Array], list[Array]]]:
    """Return the counts of cross-validation, and the cells (2, 2) of each fold's model, and of that of all examples.

    The classes' means are apart along the first of five normal features.
    """
    folds, repeats = split
    positive = round(_PREVALENCE * size)
    y = np.concatenate([np.arange(size) < positive, np.arange(_POPULATION) < _PREVALENCE * _POPULATION]).astype(int)
    common, own = rng.standard_normal((len(y), 1)), rng.standard_normal((len(y), _FEATURES))
    features = np.sqrt(_CORRELATION) * common + np.sqrt(1 - _CORRELATION) * own
    features[:, 0] += separation * y
    splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=int(rng.integers(2**31)))
    population, everything = np.arange(size, len(y)), np.arange(size)
    splits = [*splitter.split(features[:size], y[:size]), (everything, everything[:0])]
    asked = [(train, np.concatenate([test, population])) for train, test in splits]
    held = held_out_predictions(learner, features, y, asked, None, None)
    each = np.split(held.y_pred, np.cumsum([len(rows) for _, rows in asked])[:-1])
    cells = [_table(y[population], predicted[-_POPULATION:]) / _POPULATION for predicted in each]
    tests = [_table(y[test], predicted[: len(test)]) for (_, test), predicted in zip(splits[:-1], each, strict=False)]
    counts = xr.DataArray(np.reshape(tests, (repeats, folds, 2, 2)), dims=(REPEAT, "fold", "actual", "predicted"))
    counts = counts.assign_coords(actual=[0, 1], predicted=[0, 1])
    return ConfusionMatrix(marked(counts, COUNTED_AGAIN, REPEAT)), (cells[:-1], cells[-1:])


def _table(actual: Codes, predicted: Codes) -> Counts:
    """Return the counts of two classes, rows actual."""
    return np.bincount(2 * actual + predicted, minlength=4).reshape(2, 2)


STUDY = Study(
    grid={"n": (50, 100, 200)},
    simulate=simulate,
    rows={"interval": list(INTERVALS), "target": list(TARGETS), "metric": "metrics"},
    settings={
        "metrics": ("accuracy", "recall"),
        "estimator": GaussianNB(),
        "folds": 5,
        "repeats": 5,
        "separation": 2.0,
        "draws": 1000,
        "prob": 0.95,
    },
)
# Some five minutes of one processor.
CASES = [({}, 300, {"random_seed": 1})]
TABLES = {"cross_validation": lambda jobs: table(STUDY, CASES, jobs, name="cross_validation")}
