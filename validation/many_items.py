"""How often intervals cover under the approximation to the model `items`, with more items than are sampled.

Abilities and difficulties are normal, with standard deviations 0.7 and 1. Each system tries every item once or, where
`seen` is 0.3, three items of ten at random.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from bayesperf.core.arrays import Array
from bayesperf.data.outcomes import Outcomes
from validation.sampled import posterior_of
from validation.study import Study, interval_figures, table

FIGURES = ("ability", "difficulty", "extreme difficulty", "difference", "pass_rate", "ability_spread")
# Items whose true difficulty is further from the mean than this are extreme: most systems pass, or fail.
EXTREME = 1.5
SPREADS = {"ability": 0.7, "difficulty": 1.0}


def simulate(
    rng: np.random.Generator, *, systems: int, seen: float, items: int, draws: int, prob: float
) -> dict[str, Array]:
    """Return the mean outcomes (figure) of one table of attempts."""
    ability, difficulty = SPREADS["ability"] * rng.standard_normal(systems), rng.standard_normal(items)
    chance = expit(ability[:, None] - difficulty)
    attempts = (rng.random(chance.shape) < seen).astype(int)
    attempts[0, ~attempts.any(0)] = 1
    data = Outcomes.from_counts(right=rng.binomial(attempts, chance), n=attempts, dims=["model", "item"])
    drawn = posterior_of(data, "items", draws, rng, approximate=True)
    of_systems, of_items, rates = (drawn[name].values[0] for name in ("ability", "difficulty", "pass_rate"))
    first, second = np.triu_indices(systems, 1)
    # Abilities are about the mean of these systems, at which difficulties are.
    shift = ability.mean()
    extreme = abs(difficulty) > EXTREME
    spread = drawn["ability_spread"].values[0][:, None]
    found = {
        "ability": (of_systems, ability - shift),
        "difficulty": (of_items, difficulty - shift),
        "extreme difficulty": (of_items[:, extreme], difficulty[extreme] - shift),
        "difference": (rates[:, first] - rates[:, second], chance.mean(1)[first] - chance.mean(1)[second]),
        "pass_rate": (rates, chance.mean(1)),
        "ability_spread": (spread, np.array([SPREADS["ability"]])),
    }
    ends = [(1 - prob) / 2, (1 + prob) / 2]
    figures = [interval_figures(*np.quantile(found[name][0], ends, axis=0), found[name][1]) for name in FIGURES]
    # Among few items none may be extreme.
    return {
        name: np.array([each[name].mean() if each[name].size else np.nan for each in figures]) for name in figures[0]
    }


STUDY = Study(
    grid={"systems": (5, 20), "seen": (1.0, 0.3)},
    simulate=simulate,
    rows={"figure": list(FIGURES)},
    settings={"items": 500, "draws": 2000, "prob": 0.95},
)
# Some ten minutes of one processor.
CASES = [({}, 100, {"random_seed": 1})]
TABLES = {"many_items": lambda jobs: table(STUDY, CASES, jobs, name="many_items")}
