"""How often intervals of pass@k cover, of questions that are not all of the model's kind.

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
from bayesperf.groups.groups_model import DISPERSION
from bayesperf.groups.pooling import pool
from validation.study import Study, outcomes, table

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
    questions: Sequence[str],
    k: Sequence[int],
    n_attempts: int,
    draws: int,
    prob: float,
) -> dict[str, Array]:
    """Return the outcomes (interval, of, questions, k) of n questions of each kind, asked so many times."""
    rates = np.stack([_rates(kind, n_questions, rng) for kind in questions])
    passed = rng.binomial(n_attempts, rates)
    anew = [[pass_probability(kind, each) for each in k] for kind in questions]
    these = np.stack([(1 - (1 - rates) ** each).mean(1) for each in k], -1)
    cm = ConfusionMatrix.from_counts(tp=passed, fn=n_attempts - passed, fp=0, tn=0, dims=["kind", "question"])
    options = {"draws": draws, "random_seed": int(rng.integers(2**31))}
    bounds = np.full((len(INTERVALS), 2, len(questions), len(k), 2), np.nan)
    for of_interval, arguments in zip(bounds, INTERVALS.values(), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (PriorWarning, DependenceWarning))
            pooled = pool(cm, "question", "clusters", **arguments, **options)
        limits = np.stack([pooled.pass_at_k(each).eti(prob).values for each in k], 1)
        limits = np.moveaxis(limits.reshape(len(questions), len(k), -1, 2), 2, 0)
        of_interval[: len(limits)] = limits
    return outcomes(bounds[..., 0], bounds[..., 1], np.array([anew, these]))


def _rates(kind: str, n: int, rng: np.random.Generator) -> Array:
    """Return the probability of passing of n questions."""
    population = QUESTIONS[kind]
    return rng.beta(*population, n) if isinstance(population, tuple) else rng.choice(population, n)


def pass_probability(kind: str, k: int) -> float:
    """Return the probability that one of k attempts at a new question passes."""
    population = QUESTIONS[kind]
    if isinstance(population, tuple):
        a, b = population
        return float(1 - np.prod([(b + i) / (a + b + i) for i in range(k)]))
    return float(np.mean(1 - (1 - np.array(population)) ** k))


STUDY = Study(
    grid={"n_questions": (50, 100)},
    simulate=simulate,
    rows={"interval": list(INTERVALS), "of": list(TARGETS), "questions": "questions", "k": "k"},
    settings={"questions": tuple(QUESTIONS), "k": (1, 3, 5), "n_attempts": 5, "draws": 1000, "prob": 0.95},
)
# Some three minutes of one processor.
CASES = [({}, 300, {"k": (1, 2, 3, 5), "draws": 500, "random_seed": 1})]
TABLES = {"attempts": lambda jobs: table(STUDY, CASES, jobs, name="attempts")}
