"""How often intervals of mean credit cover, its range declared or not, in populations with and without rare values.

Credit is from 0 to 1. A second system has that of the first, but for a fifth of the examples, where it has none.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bayesperf.comparison.comparing import compare
from bayesperf.core.arrays import Array
from bayesperf.curves.areas.weighted_scores import weighted_score
from validation.study import Study, interval_figures, table

# Draws of n examples, and the mean of all.
POPULATIONS: Mapping[str, tuple[Callable[[np.random.Generator, int], Array], float]] = {
    "even": (lambda rng, n: rng.beta(5, 5, n), 0.5),
    "low": (lambda rng, n: rng.beta(2, 38, n), 0.05),
    "skewed": (lambda rng, n: rng.beta(0.5, 6, n), 0.5 / 6.5),
    "mostly none": (lambda rng, n: (rng.random(n) < 0.3) * rng.beta(2, 2, n), 0.15),
    "mostly full": (lambda rng, n: 1 - (rng.random(n) < 0.1) * rng.beta(2, 2, n), 0.95),
    "two points": (lambda rng, n: (rng.random(n) < 0.9).astype(float), 0.9),
}
RANGES = {"declared": (0.0, 1.0), "not declared": None}
TARGETS = ("mean", "difference")
INTERVALS = ("hdi", "eti")
FAILS = 0.2


def simulate(
    rng: np.random.Generator, *, n: int, population: Sequence[str], draws: int, prob: float
) -> dict[str, Array]:
    """Return the outcomes (range, target, interval, population) of n examples of each population."""
    seed = int(rng.integers(2**31))
    bounds = np.empty((len(RANGES), len(TARGETS), len(INTERVALS), len(population), 2))
    means = np.array([POPULATIONS[name][1] for name in population])
    for place, name in enumerate(population):
        credit = POPULATIONS[name][0](rng, n)
        systems = {"first": credit, "second": credit * (rng.random(n) >= FAILS)}
        for of_range, declared in zip(bounds, RANGES.values(), strict=True):
            both = weighted_score("mean", systems, bounds=declared, draws=draws, random_seed=seed)
            for of_target, found in zip(
                of_range, (both.sel(model="first"), compare(both).difference.isel(pair=0)), strict=True
            ):
                of_target[:, place] = [found.interval(prob, kind).values for kind in INTERVALS]
    return interval_figures(bounds[..., 0], bounds[..., 1], np.stack([means, FAILS * means])[:, None])


STUDY = Study(
    grid={"n": (10, 30, 100, 1000)},
    simulate=simulate,
    rows={"range": list(RANGES), "target": list(TARGETS), "interval": list(INTERVALS), "population": "population"},
    settings={"population": tuple(POPULATIONS), "draws": 2000, "prob": 0.95},
)
# Some ten minutes of one processor.
CASES = [({}, 400, {"random_seed": 1})]
TABLES = {"credit": lambda jobs: table(STUDY, CASES, jobs, name="credit")}
