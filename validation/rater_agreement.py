"""How often intervals of agreement between raters cover, for coefficients that differ in what chance is."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from bayesperf.core.arrays import Array
from bayesperf.labels.ratings import Ratings
from validation.study import Study, interval_figures, table

COEFFICIENTS = ("percent_agreement", "cohen_kappa", "fleiss_kappa", "gwet_ac", "krippendorff_alpha")
INTERVALS = ("hdi", "eti")
# How frequent the true classes are, how often a rater is right, and the number of raters. Errors fall evenly.
POPULATIONS: Mapping[str, tuple[Sequence[float], float, int]] = {
    "three raters, 0.9": ((0.6, 0.3, 0.1), 0.9, 3),
    "three raters, 0.7": ((0.6, 0.3, 0.1), 0.7, 3),
    "two raters, 0.95": ((0.8, 0.2), 0.95, 2),
    "one class of 5 %": ((0.95, 0.05), 0.97, 2),
    "nearly perfect": ((0.5, 0.5), 0.995, 2),
}
# So many items that a coefficient of them is that of the population.
_MANY = 10**9


def simulate(
    rng: np.random.Generator, *, n: int, population: Sequence[str], draws: int, prob: float
) -> dict[str, Array]:
    """Return the outcomes (interval, coefficient, population) of n items rated in each population."""
    bounds = np.empty((len(INTERVALS), len(COEFFICIENTS), len(population), 2))
    true = np.empty(bounds.shape[1:3])
    for j, name in enumerate(population):
        patterns, shares = patterns_of(*POPULATIONS[name])
        seen = ratings_of(patterns, rng.multinomial(n, shares), len(POPULATIONS[name][0]))
        everything = ratings_of(patterns, np.round(_MANY * shares).astype(np.int64), len(POPULATIONS[name][0]))
        seed = int(rng.integers(2**31))
        for i, coefficient in enumerate(COEFFICIENTS):
            marginal = seen.agreement(coefficient, draws=draws, random_seed=seed)
            bounds[:, i, j] = [marginal.interval(prob, kind).values for kind in INTERVALS]
            true[i, j] = everything.agreement(coefficient, draws=2).observed.item()
    return interval_figures(bounds[..., 0], bounds[..., 1], true)


def patterns_of(classes: Sequence[float], right: float, raters: int) -> tuple[Array, Array]:
    """Return all patterns of answers (P, raters) and how frequent each is (P,)."""
    k = len(classes)
    says = np.full((k, k), (1 - right) / (k - 1))
    np.fill_diagonal(says, right)
    patterns = np.array(list(product(range(k), repeat=raters)))
    return patterns, np.asarray(classes) @ says[:, patterns].prod(-1)


def ratings_of(patterns: Array, counts: Array, classes: int) -> Ratings:
    """Return the ratings of so many items of each pattern."""
    frame: Any = pd.DataFrame(patterns).assign(n=counts)
    return Ratings.from_table(frame, counts="n", labels=range(classes))


STUDY = Study(
    grid={"n": (10, 30, 100)},
    simulate=simulate,
    rows={"interval": list(INTERVALS), "coefficient": list(COEFFICIENTS), "population": "population"},
    settings={"population": tuple(POPULATIONS), "draws": 1000, "prob": 0.95},
)
# Some five minutes of one processor.
CASES = [({}, 400, {"random_seed": 1})]
TABLES = {"rater_agreement": lambda jobs: table(STUDY, CASES, jobs, name="rater_agreement")}
