"""How often intervals of the model `readers` cover: several readers call the same cases, with two modalities.

A read is right with a probability whose logit has a mean of 1.5 and 2.1 for positive and 1.2 and 1.2 for negative
cases, a normal deviation of the reader with the standard deviation `between`, half of it for each reader and modality,
and one of the case with the standard deviation 1. The deviations of readers at recall and specificity have the
correlation −0.4. Where tails are *heavy*, deviations of readers are Student t with three degrees of freedom and the
same standard deviation, which the model cannot express.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

from bayesperf.core.arrays import Array
from validation.sampled import hdi, posterior_of
from validation.study import Study, interval_figures, table

TARGETS = ("recall of the average reader", "difference of recall", "recall of a new reader", "recall of each reader")
MEANS, OF_CASE, CORRELATION, FREEDOM = np.array([[1.5, 1.2], [2.1, 1.2]]), 1.0, -0.4, 3
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


def simulate(
    rng: np.random.Generator, *, n_readers: int, between: float, readers: str, cases: int, draws: int, prob: float
) -> dict[str, Array]:
    """Return the outcomes of each target for one study of `cases` cases of each class."""
    logits = MEANS[:, None] + between * _deviations(rng, n_readers + 1, readers)
    truth = np.repeat([1, 0], cases)
    right = expit(logits[:, :-1, 1 - truth] + OF_CASE * rng.standard_normal(2 * cases))
    places = list(product("AB", range(n_readers), range(2 * cases)))
    frame = pd.DataFrame(places, columns=["modality", "reader", "case"])
    is_right = rng.random(right.shape) < right
    frame = frame.assign(truth=truth[frame["case"]], read=np.where(is_right, truth, 1 - truth).ravel())
    found = posterior_of(frame, "readers", draws, rng)
    average, new, each = (_recall(found[name]) for name in ("cells", "cells_new", "cells_group"))
    single = np.stack([average[:, 0], average[:, 0] - average[:, 1], new[:, 0]], -1)
    bounds, own = hdi(single, prob), hdi(each[:, 0], prob)
    of_readers = _over_cases(logits[..., 0])
    everyone = _average(between, readers)
    true = np.array([everyone[0], everyone[0] - everyone[1], of_readers[0, -1]])
    of_average, of_each = interval_figures(*bounds.T, true), interval_figures(*own.T, of_readers[0, :-1])
    return {name: np.append(of_average[name], of_each[name].mean()) for name in of_average}


def _recall(cells: xr.DataArray) -> Array:
    """Return draws of recall (draw, modality, …): a half of the cells are of positive cases."""
    right = 2 * cells.sel(actual=1, predicted=1).transpose("chain", "draw", "modality", ...).values
    return np.asarray(right.reshape(-1, *right.shape[2:]))


def _deviations(rng: np.random.Generator, n: int, readers: str) -> Array:
    """Return the deviations (modality, reader, rate), in units of the standard deviation between readers."""
    root = np.linalg.cholesky([[1, CORRELATION], [CORRELATION, 1]])
    scale = np.sqrt(rng.chisquare(FREEDOM, (n, 1))) if readers == "heavy" else 1.0
    of_reader = rng.standard_normal((n, 2)) @ root.T / scale
    return np.asarray(of_reader + 0.5 * rng.standard_normal((2, n, 2)))


def _over_cases(logits: Array) -> Array:
    """Return the mean of the probability over cases."""
    return np.asarray(expit(logits[..., None] + OF_CASE * NODES) @ WEIGHTS / WEIGHTS.sum())


@cache
def _average(between: float, readers: str) -> Array:
    """Return the recall of the average reader with each modality, from a fixed sample of readers."""
    deviations = _deviations(np.random.default_rng(0), 100_000, readers)[..., 0] * between
    return np.array([_over_cases(MEANS[place, 0] + deviations[place]).mean() for place in range(2)])


STUDY = Study(
    grid={"n_readers": (4, 6, 10)},
    simulate=simulate,
    rows={"target": list(TARGETS)},
    settings={"readers": "normal", "between": 0.6, "cases": 30, "draws": 400, "prob": 0.95},
)
CASES = [({"readers": name}, 40, {"readers": name, "random_seed": 1}) for name in ("normal", "heavy")]
TABLES = {"binary_reads": lambda jobs: table(STUDY, CASES, jobs, name="binary_reads")}
