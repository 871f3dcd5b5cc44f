"""How often intervals of the areas of several classes cover, and of their averages.

Log-odds of an example are standard normal, by `separation` greater for its own class; its probabilities are their
softmax. Classes are of unequal frequency, from K + 1 to 2 in proportion. The truth is the area of a `population` of
examples; "ovr_each" is the mean over classes of what each area against the rest has. Intervals are equal-tailed.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from bayesperf.core.arrays import Array, Codes
from bayesperf.curves.areas.areas_of_classes import ClassAreas
from bayesperf.studies.running import OUTCOMES
from validation.study import Study, interval_figures, means, table

AREAS = (*((kind, average) for kind in ("ovr", "ovo") for average in ("macro", "weighted")), ("ovr", None))


def simulate(
    rng: np.random.Generator,
    *,
    n: Sequence[int],
    separation: Sequence[float],
    classes: int,
    population: int,
    draws: int,
    prob: float,
) -> dict[str, Array]:
    """Return the outcomes (area, n, separation) of a data set of each size and separation."""
    truth = true_areas(tuple(separation), classes, population)
    found = [[_outcomes(_examples(size, classes, apart, rng), true, draws, prob, rng)
              for apart, true in zip(separation, truth, strict=True)] for size in n]  # fmt: skip
    return {name: np.moveaxis([[each[name] for each in row] for row in found], -1, 0) for name in OUTCOMES}


@cache
def true_areas(separation: tuple[float, ...], classes: int, population: int) -> list[list[Any]]:
    """Return each of `AREAS` of a population at each separation."""
    rng = np.random.default_rng(0)
    return [
        [area.observed()[0] for area in _areas(*_examples(population, classes, apart, rng))] for apart in separation
    ]


def reduce(results: Mapping[str, Array], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the means, and the truth."""
    truth = true_areas(tuple(settings["separation"]), settings["classes"], settings["population"])
    true = [[np.mean(of_area) for of_area in of_areas] for of_areas in truth]
    return means(results, settings) | {"truth": (("separation", "area"), true)}


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
        found.append(interval_figures(lower, upper, np.asarray(true)))
    return {name: np.array([np.mean(each[name]) for each in found]) for name in OUTCOMES}


STUDY = Study(
    grid={},
    simulate=simulate,
    reduce=reduce,
    rows={"area": [f"{kind}_{average or 'each'}" for kind, average in AREAS], "n": "n", "separation": "separation"},
    settings={
        "n": (100, 200, 500),
        "separation": (1.0, 3.0),
        "classes": 5,
        "population": 1_000_000,
        "draws": 2000,
        "prob": 0.95,
    },
)
CASES = [({}, 300, {"n": (100,), "separation": (1.0, 2.0, 3.0)}), ({}, 200, {"n": (200,), "separation": (2.0, 3.0)})]
TABLES = {"class_areas": lambda jobs: table(STUDY, CASES, jobs, name="class_areas")}
