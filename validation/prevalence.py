"""How often intervals of a prevalence cover that is known from calls with errors alone."""

from collections.abc import Sequence

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.labels.prevalence_of_calls import prevalence
from validation.study import Study, interval_figures, table

INTERVALS = ("hdi", "eti")
# Recall, specificity, and the numbers of positives and negatives by which they are known.
CALIBRATIONS = {"40 + 40": (0.85, 0.9, 40, 40), "200 + 400": (0.85, 0.98, 200, 400), "30 + 100": (0.8, 0.95, 30, 100)}


def simulate(
    rng: np.random.Generator, *, prevalence_: float, n: int, calibration: Sequence[str], prior: str, prob: float
) -> dict[str, Array]:
    """Return the outcomes (interval, calibration) of calls of n examples."""
    bounds = np.empty((len(INTERVALS), len(calibration), 2))
    for place, name in enumerate(calibration):
        recall, specificity, positives, negatives = CALIBRATIONS[name]
        found, right = rng.binomial(positives, recall), rng.binomial(negatives, specificity)
        called = rng.binomial(n, prevalence_ * recall + (1 - prevalence_) * (1 - specificity))
        errors = {
            "recall": (found + 0.5, positives - found + 0.5),
            "specificity": (right + 0.5, negatives - right + 0.5),
        }
        marginal = prevalence(called, errors, n=n, prior=prior)
        bounds[:, place] = [marginal.interval(prob, kind).values for kind in INTERVALS]
    return interval_figures(bounds[..., 0], bounds[..., 1], prevalence_)


STUDY = Study(
    grid={"prevalence_": (0.005, 0.02, 0.1, 0.5)},
    simulate=simulate,
    rows={"interval": list(INTERVALS), "calibration": "calibration"},
    settings={"n": 1000, "calibration": tuple(CALIBRATIONS), "prior": "jeffreys", "prob": 0.95},
)
# A quarter of an hour of one processor.
CASES = [
    ({"prior": prior}, simulations, {"prior": prior, "random_seed": 1})
    for prior, simulations in (("jeffreys", 400), ("flat", 200))
]
TABLES = {"prevalence": lambda jobs: table(STUDY, CASES, jobs, name="prevalence")}
