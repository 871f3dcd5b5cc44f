"""How often intervals of readers' areas under ROC curves cover, by the crossed bootstrap and by analysis of variance.

Each reader scores the same cases with two modalities: a score is the class times the reader's separation, plus an
effect of the case (standard deviation 0.7) and noise. Separations are 1.3 and 1.6 on average, with a standard deviation
`between` readers, and half of it between the two modalities of a reader.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from bayesperf.comparison.comparing import compare
from bayesperf.core.arrays import Array
from bayesperf.curves.areas.areas_of_readers import reader_areas
from validation.study import Study, interval_figures, table

TARGETS = (
    "average reader",
    "difference",
    "these readers",
    "new reader",
    "average reader, Obuchowski–Rockette",
    "difference, Obuchowski–Rockette",
)
_SEPARATIONS, _OF_CASE = np.array([1.3, 1.6]), 0.7


def simulate(
    rng: np.random.Generator, *, n_readers: int, between: float, cases: int, draws: int, prob: float
) -> dict[str, Array]:
    """Return the outcomes of each target for one study of `cases` cases of each class."""
    reader = between * rng.standard_normal((1, n_readers + 1)) + between / 2 * rng.standard_normal((2, n_readers + 1))
    separations = _SEPARATIONS[:, None] + reader
    truth = np.repeat([0, 1], cases)
    case = _OF_CASE * rng.standard_normal(2 * cases)
    scores = truth * separations[:, :-1, None] + case + rng.standard_normal((2, n_readers, 2 * cases))
    places = list(product("AB", range(n_readers), range(2 * cases)))
    frame = pd.DataFrame(places, columns=["modality", "reader", "case"])
    frame = frame.assign(truth=truth[frame["case"]], score=scores.ravel())
    study = reader_areas(frame, draws=draws, random_seed=rng, progressbar=False)
    noise = 2 * (_OF_CASE**2 + 1)
    areas = stats.norm.cdf(separations / np.sqrt(noise))
    average = stats.norm.cdf(_SEPARATIONS / np.sqrt(noise + 1.25 * between**2))
    table = study.obuchowski_rockette(prob)
    difference: Any = compare(study.average_reader, dim="modality").difference
    bounds = [
        study.average_reader.sel(modality="A").hdi(prob).values,
        difference.hdi(prob).values.ravel(),
        study.these_readers.sel(modality="A").hdi(prob).values,
        study.new_reader.sel(modality="A").hdi(prob).values,
        *table.iloc[[0, 2]][["ci_lower", "ci_upper"]].to_numpy(),
    ]
    apart = average[0] - average[1]
    true = [average[0], apart, areas[0, :-1].mean(), areas[0, -1], average[0], apart]
    return interval_figures(*np.array(bounds).T, np.array(true))


STUDY = Study(
    grid={"n_readers": (4, 6, 10), "between": (0.05, 0.4)},
    simulate=simulate,
    rows={"target": list(TARGETS)},
    settings={"cases": 40, "draws": 1000, "prob": 0.95},
)
# Some four minutes of one processor.
TABLES = {
    "crossed_bootstrap": lambda jobs: table(STUDY, [({}, 200, {"random_seed": 1})], jobs, name="crossed_bootstrap")
}
