"""How often intervals of win rates, of ranks and of the next comparison cover, from votes on pairs of systems."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from bayesperf.core.arrays import Array
from bayesperf.posteriors.marginal import Marginal
from bayesperf.sampling.fitting import fit
from validation.study import Study, interval_figures, table

FIGURES = ("win_rate", "beats", "rank")
TIE = 0.5
# Strengths of the systems, and how far each pair departs from them: with any, the model is wrong.
SCENARIOS: Mapping[str, tuple[str, float]] = {
    "strengths differ": ("normal", 0.0),
    "nearly equal": ("equal", 0.0),
    "one far ahead": ("outlier", 0.0),
    "pairs differ": ("normal", 0.4),
}


def simulate(
    rng: np.random.Generator, *, votes: int, scenario: str, systems: int, draws: int, prob: float
) -> dict[str, Array]:
    """Return the mean outcomes (figure) of so many votes on each pair of systems, in random order."""
    kind, by_pair = SCENARIOS[scenario]
    strength = {"normal": 0.7, "equal": 0.05, "outlier": 0.2}[kind] * rng.standard_normal(systems)
    strength[0] += 2.0 * (kind == "outlier")
    apart = strength[:, None] - strength
    apart += np.triu(own := by_pair * rng.standard_normal(apart.shape), 1) - np.triu(own, 1).T
    shares = np.stack([np.exp(apart / 2), np.exp(-apart / 2), np.full_like(apart, TIE)])
    shares /= shares.sum(0)
    rows = []
    for a, b in combinations(range(systems), 2):
        seen = zip(("a", "b", "tie"), rng.multinomial(votes, shares[:, a, b]), strict=True)
        rows += [(a, b, winner) for winner, number in seen for _ in range(number)]
    seed = int(rng.integers(2**31))
    frame = pd.DataFrame(rows, columns=["a", "b", "winner"])
    tree = fit(frame, "preferences", draws=draws, tune=draws, chains=2, random_seed=seed, progressbar=False)
    others = ~np.eye(systems, dtype=bool)
    score = shares[0] + shares[2] / 2
    rate = np.array([row[keep].mean() for row, keep in zip(score, others, strict=True)])
    found = {name: Marginal.from_datatree(tree, name).hdi(prob).values for name in ("win_rate", "beats")}
    found["rank"] = ranks(tree["posterior"]["win_rate"].values.reshape(-1, systems), prob)
    true = {"win_rate": rate, "beats": shares[0], "rank": (-rate).argsort().argsort() + 1.0}
    figures = [interval_figures(found[name][..., 0], found[name][..., 1], true[name]) for name in FIGURES]
    return {
        name: np.array([each[name][others if each[name].ndim == 2 else ...].mean() for each in figures])
        for name in figures[0]
    }


def ranks(rates: Array, prob: float) -> Array:
    """Return the smallest central intervals of ranks (system, 2) that hold at least a probability."""
    ranks = (-rates).argsort(-1).argsort(-1) + 1.0
    ends = [(1 - prob) / 2, (1 + prob) / 2]
    return np.quantile(ranks, ends, axis=0, method="inverted_cdf").T


STUDY = Study(
    grid={"votes": (4, 20)},
    simulate=simulate,
    rows={"figure": list(FIGURES)},
    settings={"scenario": "strengths differ", "systems": 6, "draws": 500, "prob": 0.95},
)
# Some three minutes of one processor.
CASES = [({"scenario": name}, 20, {"scenario": name, "random_seed": 1}) for name in SCENARIOS]
TABLES = {"preferences": lambda jobs: table(STUDY, CASES, jobs, name="preferences")}
