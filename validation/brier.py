"""How often intervals of the Brier score, and of a difference of two, cover for calibrated and miscalibrated systems.

The second system has half the log-odds of the first.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from scipy import special

from bayesperf.comparison.comparing import compare
from bayesperf.core.arrays import Array
from bayesperf.curves.areas.weighted_scores import weighted_score
from validation.study import Study, interval_figures, table

Examples = tuple[Array, Array]


def _sharp(wrong: float) -> Callable[[np.random.Generator, int], Examples]:
    """Return a sampler of labels and of probabilities of 0.02 and 0.98, of which so many are wrong."""

    def draw(rng: np.random.Generator, n: int) -> Examples:
        y = rng.random(n) < 0.5
        return y, np.where(y ^ (rng.random(n) < wrong), 0.98, 0.02)

    return draw


def _beta(a: float, b: float, slope: float = 1.0) -> Callable[[np.random.Generator, int], Examples]:
    """Return a sampler of labels with Beta probabilities, whose log-odds the system multiplies."""

    def draw(rng: np.random.Generator, n: int) -> Examples:
        true = rng.beta(a, b, n).clip(1e-9, 1 - 1e-9)
        return rng.random(n) < true, special.expit(slope * special.logit(true))

    return draw


POPULATIONS: Mapping[str, Callable[[np.random.Generator, int], Examples]] = {
    "sharp, 5 % wrong": _sharp(0.05),
    "sharp, 1 % wrong": _sharp(0.01),
    "calibrated": _beta(1, 1),
    "rare": _beta(0.5, 3),
    "overconfident": _beta(0.5, 0.5, 2.0),
}
TARGETS = ("score", "difference")
INTERVALS = ("hdi", "eti")
# Examples by which the truth is known to about 0.0003.
_MANY = 1_000_000


def _systems(probability: Array) -> dict[str, Array]:
    return {"first": probability, "second": special.expit(special.logit(probability) / 2)}


@cache
def truths(name: str) -> Array:
    """Return the Brier score of the first system, and its difference from the second."""
    y, probability = POPULATIONS[name](np.random.default_rng(0), _MANY)
    first, second = (np.mean((p - y) ** 2) for p in _systems(probability).values())
    return np.array([first, first - second])


def simulate(
    rng: np.random.Generator, *, n: int, population: Sequence[str], draws: int, prob: float
) -> dict[str, Array]:
    """Return the outcomes (target, interval, population) of n examples of each population, of both classes."""
    seed = int(rng.integers(2**31))
    bounds = np.empty((len(TARGETS), len(INTERVALS), len(population), 2))
    for place, name in enumerate(population):
        y, probability = POPULATIONS[name](rng, n)
        while y.all() or not y.any():
            y, probability = POPULATIONS[name](rng, n)
        both = weighted_score("brier", y, _systems(probability), draws=draws, random_seed=seed)
        for of_target, found in zip(
            bounds, (both.sel(model="first"), compare(both).difference.isel(pair=0)), strict=True
        ):
            of_target[:, place] = [found.interval(prob, kind).values for kind in INTERVALS]
    return interval_figures(
        bounds[..., 0], bounds[..., 1], np.stack([truths(name) for name in population], -1)[:, None]
    )


STUDY = Study(
    grid={"n": (10, 30, 100, 300)},
    simulate=simulate,
    rows={"target": list(TARGETS), "interval": list(INTERVALS), "population": "population"},
    settings={"population": tuple(POPULATIONS), "draws": 2000, "prob": 0.95},
)
# Some ten minutes of one processor.
CASES = [({}, 200, {"random_seed": 1})]
TABLES = {"brier": lambda jobs: table(STUDY, CASES, jobs, name="brier")}
