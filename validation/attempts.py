"""How often intervals of pass@k and pass^k cover, of questions that are not all of the model's kind.

Each simulation draws questions, each with a probability that an attempt passes, and their attempts. Only the questions
"beta", Beta(0.3, 0.3), are of the model's family. Intervals are equal-tailed; the bootstrap answers on new questions
alone.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.core.errors import DependenceWarning, PriorWarning
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.groups.group_quadrature import DISPERSION
from bayesperf.groups.pooling import pool
from validation.study import Study, interval_figures, table

# Kinds of questions: probabilities that an attempt passes, as equal shares of the questions; a pair (a, b) is a Beta.
QUESTIONS: Mapping[str, Any] = {
    "beta": (0.3, 0.3),
    "easy or hard": [0.05, 0.05, 0.05, 0.9, 0.9],
    "half impossible": [0.0, 0.5],
    "equal": [0.4],
}
# The arguments of `pool`.
INTERVALS: Mapping[str, dict[str, Any]] = {
    "model": {},
    "model, as of sites": {"dispersion": DISPERSION["clusters"]},
    "bootstrap": {"method": "bayesian_bootstrap"},
}
TARGETS = ("a new question", "these questions")


def simulate(
    rng: np.random.Generator,
    *,
    n_questions: int,
    interval: Sequence[str],
    questions: Sequence[str],
    k: Sequence[int],
    n_attempts: int,
    every: bool,
    draws: int,
    prob: float,
) -> dict[str, Array]:
    """Return the outcomes (interval, of, questions, k) of n questions of each kind, asked so many times.

    They are of the probability that one of k attempts passes, or `every` one.
    """
    rates = np.stack([_rates(kind, n_questions, rng) for kind in questions])
    passed = rng.binomial(n_attempts, rates)
    anew = [[pass_probability(kind, each, every) for each in k] for kind in questions]
    these = np.stack([_passes(rates, each, every).mean(1) for each in k], -1)
    cm = ConfusionMatrix.from_counts(tp=passed, fn=n_attempts - passed, fp=0, tn=0, dims=["kind", "question"])
    options = {"draws": draws, "random_seed": int(rng.integers(2**31))}
    bounds = np.full((len(interval), 2, len(questions), len(k), 2), np.nan)
    for of_interval, arguments in zip(bounds, map(INTERVALS.__getitem__, interval), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (PriorWarning, DependenceWarning))
            pooled = pool(cm, "question", "clusters", **arguments, **options)
        passing = pooled.pass_hat_k if every else pooled.pass_at_k
        limits = np.stack([passing(each).eti(prob).values for each in k], 1)
        limits = np.moveaxis(limits.reshape(len(questions), len(k), -1, 2), 2, 0)
        of_interval[: len(limits)] = limits
    return interval_figures(bounds[..., 0], bounds[..., 1], np.array([anew, these]))


def _rates(kind: str, n: int, rng: np.random.Generator) -> Array:
    """Return the probability of passing of n questions."""
    population = QUESTIONS[kind]
    return rng.beta(*population, n) if isinstance(population, tuple) else rng.choice(population, n)


def _passes(rates: Array, k: int, every: bool) -> Array:
    return rates**k if every else 1 - (1 - rates) ** k


def pass_probability(kind: str, k: int, every: bool = False) -> float:
    """Return the probability that one of k attempts at a new question passes, or `every` one."""
    population = QUESTIONS[kind]
    if isinstance(population, tuple):
        a, b = population if every else population[::-1]
        all_alike = float(np.prod([(a + i) / (a + b + i) for i in range(k)]))
        return all_alike if every else 1 - all_alike
    return float(np.mean(_passes(np.array(population), k, every)))


STUDY = Study(
    grid={"n_questions": (50, 100)},
    simulate=simulate,
    rows={"interval": "interval", "of": list(TARGETS), "questions": "questions", "k": "k"},
    settings={"interval": tuple(INTERVALS), "questions": tuple(QUESTIONS), "k": (1, 3, 5), "n_attempts": 5,
              "every": False, "draws": 1000, "prob": 0.95},
)  # fmt: skip
# Some three minutes of one processor; and six, of which the models take five.
CASES = [({}, 300, {"k": (1, 2, 3, 5), "draws": 500, "random_seed": 1})]
ALL = {
    "n_questions": (20, 50, 100, 200), "k": (1, 2, 4), "n_attempts": 4, "every": True, "draws": 500, "random_seed": 2,
}  # fmt: skip
ALL_PASS = [
    ({}, 120, {"interval": ("model", "model, as of sites"), **ALL}),
    ({}, 400, {"interval": ("bootstrap",), **ALL}),
]
TABLES = {
    "attempts": lambda jobs: table(STUDY, CASES, jobs, name="attempts"),
    "all_attempts": lambda jobs: table(STUDY, ALL_PASS, jobs, name="all_attempts"),
}
