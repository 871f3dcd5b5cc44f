"""How often the intervals of recalibrated probabilities cover, at fixed probabilities.

Systems are those of `validation.reliability_bands`; the fixed probabilities are quantiles of those that a system
gives. Coverage and width are NaN where there are too few examples for a method; coverage also where the frequency is 0
or 1, which no such interval reaches. Intervals are equal-tailed.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans
from bayesperf.curves.reliability.frequencies import ProbabilityCounts
from bayesperf.curves.reliability.recalibration import METHODS, recalibrate, too_few
from validation.reliability_bands import SYSTEMS
from validation.study import Study, interval_figures, means, table

QUANTILES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
# Of so many probabilities of a system the quantiles are taken.
_PROBABILITIES = 100_000


def simulate(
    rng: np.random.Generator,
    *,
    system: str,
    n: int,
    methods: Sequence[str],
    quantiles: Sequence[float],
    prob: float,
    draws: int,
) -> dict[str, Array]:
    """Return coverage and width (interval, quantile) of n examples of a system."""
    fixed = fixed_probabilities(system, tuple(quantiles))
    truth = SYSTEMS[system].frequency(fixed)
    probability = SYSTEMS[system].probabilities(rng, n)
    happened = rng.random(n) < SYSTEMS[system].frequency(probability)
    bounds = [_interval(happened, probability, method, draws, fixed, prob, checks.seed(rng)) for method in methods]
    found = interval_figures(*np.moveaxis(bounds, -1, 0), truth)
    return {"coverage": np.where((truth > 0) & (truth < 1), found["coverage"], np.nan), "width": found["width"]}


@cache
def fixed_probabilities(system: str, quantiles: tuple[float, ...]) -> Array:
    """Return quantiles of the probabilities that a system gives."""
    return np.quantile(SYSTEMS[system].probabilities(np.random.default_rng(0), _PROBABILITIES), quantiles)


def reduce(results: Mapping[str, Array], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the means, and the probability that each quantile is."""
    fixed = [fixed_probabilities(name, tuple(settings["quantiles"])) for name in settings["system"]]
    return means(results, settings) | {"probability": (("system", "quantile"), fixed)}


def _interval(
    happened: Booleans, probability: Array, method: str, draws: int, at: Array, prob: float, seed: int
) -> Array:
    """Return the bounds of the intervals at probabilities, (k, 2); NaN if there are too few examples."""
    counts = ProbabilityCounts.of_outcomes(happened, probability)
    if not 0 < counts.positives.sum() < counts.total or (method == "isotonic" and too_few(counts)):
        return np.full((len(at), 2), np.nan)
    learned = recalibrate(happened, probability, method=method, pos_label=True, draws=draws, random_seed=seed)
    return learned.predict(at).eti(prob).values


STUDY = Study(
    grid={"system": tuple(SYSTEMS), "n": (500, 1000, 10_000)},
    simulate=simulate,
    reduce=reduce,
    rows={"interval": "methods", "quantile": "quantiles"},
    settings={"methods": METHODS, "quantiles": QUANTILES, "prob": 0.95, "draws": 1000},
)
CASES = [({}, 400, {})]
COLUMNS = ("probability", "coverage", "coverage_mcse", "width")
TABLES = {"recalibration": lambda jobs: table(STUDY, CASES, jobs, name="recalibration", columns=COLUMNS)}
