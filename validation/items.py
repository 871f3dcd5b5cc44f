"""How often intervals of pass rates, of their differences and of ranks cover where systems saw different items.

Abilities and difficulties are normal, with standard deviations 0.7 and 1. The items are two sets of equal size. Half of
the systems saw both sets or, where items are seen unevenly, only the harder one, which is `SHIFT` harder on average.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import expit

from bayesperf.core.arrays import Array
from bayesperf.data.outcomes import Outcomes
from validation.preferences import ranks
from validation.sampled import hdi, posterior_of
from validation.study import Study, interval_figures, table

FIGURES = ("pass_rate", "difference", "rank")
SHIFT = 1.0
# What half of the systems saw, and the standard deviation of the logarithms of the items' slopes: with any, the model
# is wrong.
SCENARIOS: Mapping[str, tuple[str, float]] = {
    "all seen": ("all", 0.0),
    "half at random": ("random", 0.0),
    "only the harder set": ("harder", 0.0),
    "only the harder set, slopes differ": ("harder", 0.5),
}


def simulate(
    rng: np.random.Generator, *, items: int, scenario: str, systems: int, draws: int, prob: float
) -> dict[str, Array]:
    """Return the mean outcomes (figure) of one attempt of each system at each item that it saw."""
    seen, slopes = SCENARIOS[scenario]
    harder = np.arange(items) >= items // 2
    difficulty = rng.standard_normal(items) + SHIFT * (harder - 0.5)
    slope = np.exp(slopes * rng.standard_normal(items))
    chance = expit(slope * (0.7 * rng.standard_normal(systems)[:, None] - difficulty))
    attempts = np.ones((systems, items), int)
    if seen != "all":
        part = harder if seen == "harder" else rng.random((systems // 2, items)) < 0.5
        attempts[: systems // 2] = part
    right = rng.binomial(attempts, chance)
    data = Outcomes.from_counts(right=right, n=attempts, dims=["model", "item"])
    found = posterior_of(data, "items", draws, rng)
    drawn = found["pass_rate"].transpose("chain", "draw", "model").values.reshape(-1, systems)
    first, second = np.triu_indices(systems, 1)
    bounds = {
        "pass_rate": hdi(drawn, prob),
        "difference": hdi(drawn[:, first] - drawn[:, second], prob),
        "rank": ranks(drawn, prob),
    }
    rate = chance.mean(1)
    true = {"pass_rate": rate, "difference": rate[first] - rate[second], "rank": (-rate).argsort().argsort() + 1.0}
    figures = [interval_figures(*bounds[name].T, true[name]) for name in FIGURES]
    return {name: np.array([each[name].mean() for each in figures]) for name in figures[0]}


STUDY = Study(
    grid={"items": (20, 60)},
    simulate=simulate,
    rows={"figure": list(FIGURES)},
    settings={"scenario": "all seen", "systems": 6, "draws": 500, "prob": 0.95},
)
CASES = [({"scenario": name}, 100, {"scenario": name, "random_seed": 1}) for name in SCENARIOS]
TABLES = {"items": lambda jobs: table(STUDY, CASES, jobs, name="items")}
