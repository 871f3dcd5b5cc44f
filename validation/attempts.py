"""How often intervals of pass@k cover, of questions that are not all of the model's kind."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.warnings import DependenceWarning, PriorWarning
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.pooling.pool import DISPERSION, pool
from bayesperf.studies.interval_statistics import OUTCOMES, interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

# Kinds of questions: probabilities that an attempt passes, as equal shares of the questions; a pair (a, b) is a Beta.
QUESTIONS: Mapping[str, Any] = {
    "beta": (0.3, 0.3),
    "easy or hard": [0.05, 0.05, 0.05, 0.9, 0.9],
    "half impossible": [0.0, 0.5],
    "equal": [0.4],
}
# The arguments of `pool`, and what the answer is of.
METHODS: Mapping[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "model": ({}, ("a new question", "these questions")),
    "model, as of sites": ({"dispersion": DISPERSION["clusters"]}, ("a new question", "these questions")),
    "bootstrap": ({"method": "bayesian_bootstrap"}, ("a new question",)),
}
_ROWS = [(name, of) for name, (_, answers) in METHODS.items() for of in answers]


def attempts(
    k: ArrayLike = (1, 3, 5),
    n_questions: ArrayLike = (50, 100),
    questions: Sequence[str] = tuple(QUESTIONS),
    *,
    n_attempts: int = 5,
    simulations: int = 300,
    draws: int = 1000,
    prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of intervals for the probability that one of k attempts passes.

    Each simulation draws questions, each with a probability that an attempt passes, and their attempts.

    Parameters
    ----------
    k : array-like (k,)
        Numbers of attempts of which one is to pass, at most `n_attempts`.
    n_questions : array-like (m,)
        Numbers of questions.
    questions : sequence of str
        Kinds of questions. Only "beta", Beta(0.3, 0.3), is of the model's family; "easy or hard" passes with 0.05 or
        (two fifths) 0.9, "half impossible" with 0 or 0.5, "equal" always with 0.4.
    n_attempts : int
        Attempts of each question.
    simulations, draws : int
        Number of data sets, and of draws behind an interval.
    prob : float
        Probability of the intervals.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``coverage``, how often the target lies below and above the interval (``lower_miss``, ``upper_miss``), and mean
        ``width`` over (row, questions, n_questions, k), each with its Monte Carlo standard error (``coverage_mcse``,
        …). A row is an ``interval`` ("model", "model, as of sites", with the dispersion of sites, or "bootstrap"), and
        what it is ``of`` ("a new question" or "these questions"). The settings are in ``attrs``.

    Notes
    -----
    Intervals are equal-tailed. The bootstrap answers on new questions alone.

    Examples
    --------
    >>> from validation.attempts import attempts
    >>> study = attempts([2], [50], ["beta"], simulations=10, draws=200)
    >>> study["coverage"].isel(row=0).item() > 0.7
    True
    """
    tries = checks.count("n_attempts", n_attempts)
    settings: dict[str, Any] = {"k": _counts("k", k), "n_questions": _counts("n_questions", n_questions),
                "questions": [checks.one_of("questions", kind, tuple(QUESTIONS)) for kind in questions],
                "n_attempts": tries, "simulations": checks.count("simulations", simulations, least=2),
                "draws": checks.count("draws", draws, least=2), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip
    if not settings["questions"]:
        raise InputError("questions", "must name a kind, or several; it is empty.")
    if max(settings["k"]) > tries:
        raise InputError("k", f"must be at most n_attempts, {tries}; it is {max(settings['k'])}.")

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        found = [_outcomes(n, settings, rng) for n in settings["n_questions"]]
        return {name: np.stack([of[name] for of in found]) for name in OUTCOMES}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    interval, of = zip(*_ROWS, strict=True)
    dims = ("n_questions", "row", "questions", "k")
    coords = {name: settings[name] for name in dims if name != "row"}
    means = {name: (dims, values) for name, values in monte_carlo_means(results).items()}
    table = xr.Dataset(means, coords, {**settings, "ci_kind": "eti"})
    return table.assign_coords(interval=("row", list(interval)), of=("row", list(of))).transpose("row", ...)


def _counts(name: str, values: ArrayLike) -> list[int]:
    counts = [checks.count(name, value) for value in np.atleast_1d(values).tolist()]
    if not counts:
        raise InputError(name, "must name a number, or several; it is empty.")
    return counts


def _outcomes(n: int, settings: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Array]:
    """Return each of `OUTCOMES` of one data set of n questions of each kind, (row, questions, k)."""
    kinds, k, tries = settings["questions"], settings["k"], settings["n_attempts"]
    rates = np.stack([_rates(kind, n, rng) for kind in kinds])
    passed = rng.binomial(tries, rates)
    true = {
        "a new question": [[pass_probability(kind, each) for each in k] for kind in kinds],
        "these questions": np.stack([(1 - (1 - rates) ** each).mean(1) for each in k], -1),
    }
    cm = ConfusionMatrix.from_counts(tp=passed, fn=tries - passed, fp=0, tn=0, dims=["kind", "question"])
    options = {"draws": settings["draws"], "random_seed": int(rng.integers(2**31))}
    bounds = []
    for arguments, answers in METHODS.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (PriorWarning, DependenceWarning))
            pooled = pool(cm, "question", "clusters", **arguments, **options)
        limits = np.stack([pooled.pass_at_k(each).eti(settings["prob"]).values for each in k], 1)
        bounds += [*np.moveaxis(limits.reshape(len(kinds), len(k), len(answers), 2), 2, 0)]
    lower, upper = np.moveaxis(np.array(bounds), -1, 0)
    return interval_outcomes(lower, upper, np.array([true[of] for _, of in _ROWS]))


def _rates(kind: str, n: int, rng: np.random.Generator) -> Array:
    """Return the probability of passing of n questions."""
    population = QUESTIONS[kind]
    if isinstance(population, tuple):
        a, b = population
        return rng.beta(a, b, n)
    return rng.choice(population, n)


def pass_probability(kind: str, k: int) -> float:
    """Return the probability that one of k attempts at a new question passes."""
    population = QUESTIONS[kind]
    if isinstance(population, tuple):
        a, b = population
        return float(1 - np.prod([(b + i) / (a + b + i) for i in range(k)]))
    return float(np.mean(1 - (1 - np.array(population)) ** k))
