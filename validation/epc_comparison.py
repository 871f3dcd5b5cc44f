"""How often two systems are found to differ along their expected performance curves, whether they do or not.

Each simulation draws a development and a test set, on which both systems score the same examples: scores of negatives
are N(0, 1), of positives N(separation, 1), and those of the two systems may correlate within a class. Of systems with
the same separation every difference that is found between the models is a false one. The true difference is, for
"thresholds", that at the thresholds chosen; for "models" its mean over development sets, 0 for systems of the same
separation and else that of the simulations.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.curves.curve import KINDS
from bayesperf.curves.expected_performance.performance_curve import QUESTIONS, epc
from validation.expected_performance import true_metric
from validation.study import Study, interval_figures, means, table


def simulate(
    rng: np.random.Generator,
    *,
    n: int,
    separations: tuple[float, float],
    correlation: float,
    criterion: str,
    metric: str,
    alphas: Sequence[float],
    draws: int,
    prob: float,
) -> dict[str, Array]:
    """Return bands (question, kind, alpha, 2) of the difference, n examples of either class, and the truth (alpha,)."""
    dev, test = (_scores(rng, n, separations, correlation) for _ in range(2))
    curve = epc(dev, test, criterion=criterion, metric=metric, alphas=alphas, draws=draws, progressbar=False,
                random_seed=int(rng.integers(2**63)))  # fmt: skip
    bands = [[curve.difference(ci_prob=prob, kind=kind, question=of)["interval"].values for kind in KINDS]
             for of in QUESTIONS]  # fmt: skip
    first, second = (true_metric(one, shift) for one, shift in zip(curve.each().values(), separations, strict=True))
    return {"bands": np.array(bands), "true": first - second}


def _scores(
    rng: np.random.Generator, size: int, separations: Sequence[float], correlation: float
) -> tuple[Array, dict[str, Array]]:
    """Return the labels and both systems' scores of a data set."""
    y = np.repeat([0, 1], size)
    noise = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], 2 * size).T
    return y, {name: shift * y + each for name, shift, each in zip("ab", separations, noise, strict=True)}


def reduce(results: Mapping[str, Array], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return how often bands leave out 0, at each α and at any, how often they cover the truth, and their width."""
    # (simulation, n, question, kind, alpha)
    lower, upper = np.moveaxis(results["bands"], -1, 0)
    first, second = settings["separations"]
    of_thresholds = results["true"]
    of_models = np.broadcast_to(0 if first == second else of_thresholds.mean(0), of_thresholds.shape)
    truth = np.stack([of_models if of == "models" else of_thresholds for of in QUESTIONS], 2)[:, :, :, None]
    claims, found = (lower > 0) | (upper < 0), interval_figures(lower, upper, truth)
    values = {
        "claims": claims,
        "coverage": found["coverage"],
        "width": found["width"],
        "any_claim": claims.any(-1),
        "whole_coverage": found["coverage"].min(-1),
    }
    difference = means({"difference": of_thresholds}, settings)
    return means(values, settings) | {name: (("n", "alpha"), mean) for name, mean in difference.items()}


STUDY = Study(
    grid={"n": (100, 500)},
    simulate=simulate,
    reduce=reduce,
    rows={"question": list(QUESTIONS), "band": list(KINDS), "alpha": "alphas"},
    settings={
        "separations": (1.5, 1.5),
        "correlation": 0.0,
        "criterion": "far_frr",
        "metric": "hter",
        "alphas": tuple(np.arange(21) / 20),
        "draws": 1000,
        "prob": 0.95,
    },
)
# What the replication of the paper on expected performance curves shows.
CASES = [({}, 60, {"n": 100, "separations": (2.0, 2.0), "alphas": (0.05, 0.25, 0.5, 0.75, 0.95), "draws": 300})]
COLUMNS = ("claims", "claims_mcse", "coverage", "coverage_mcse", "width")
TABLES = {"epc_comparison": lambda jobs: table(STUDY, CASES, jobs, name="epc_comparison", columns=COLUMNS)}
