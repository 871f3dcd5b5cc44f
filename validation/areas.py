"""How often intervals for the area under the ROC curve cover, of normal scores.

Scores of negatives are Normal(0, 1), those of positives have the standard deviation `spread` and the mean that makes
the area `auc`. Where the scores of a data set separate the classes the log-odds of the area are infinite, and
"delong_logit" is as "delong": an interval of no width. docs/coverage.md has the table ``areas_near_one``.
"""

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array
from bayesperf.curves.areas.auc import AREAS
from bayesperf.data.classifier_scores import Scores
from validation.study import Study, interval_figures, table


def simulate(
    rng: np.random.Generator, *, auc: float, n: int, methods: list[str], spread: float, prob: float, draws: int
) -> dict[str, Array]:
    """Return the outcomes of equal-tailed intervals by each method, of n examples of either class."""
    mean = np.hypot(1, spread) * special.ndtri(auc)
    scores = Scores(np.sort(rng.normal(mean, spread, n)), np.sort(rng.normal(0, 1, n)))
    intervals = np.array([_interval(scores, name, prob, draws, rng) for name in methods])
    return interval_figures(*intervals.T, auc)


def _interval(scores: Scores, method: str, prob: float, draws: int, rng: np.random.Generator) -> Array:
    of_scores = AREAS["delong" if method == "delong_logit" and scores.separated else method]
    levels = np.array([[(1 - prob) / 2, (1 + prob) / 2]])
    return of_scores(scores, draws=draws, rng=rng, progressbar=False).ppf(levels)[0]


STUDY = Study(
    grid={"auc": (0.7, 0.8, 0.95), "n": (30, 100)},
    simulate=simulate,
    rows={"interval": "methods"},
    settings={
        "methods": ("bayesian_bootstrap", "delong", "delong_logit", "pairs"),
        "spread": 1.0,
        "prob": 0.95,
        "draws": 2000,
    },
)
# What notebooks 06 and the replication of credibility's user guide show.
METHODS = ("bayesian_bootstrap", "delong", "delong_logit", "binormal", "pairs")
_CASES = [({}, 300, {"auc": (0.8, 0.95), "methods": METHODS, "draws": 500})]
_OF_PAIRS = [({}, 500, {"auc": 0.8, "n": (30, 100, 300), "methods": ("pairs", "delong_logit", "bayesian_bootstrap")})]
_NEAR = [({}, 1000, {"auc": (0.7, 0.9, 0.95, 0.99), "n": (10, 30, 100), "draws": 1000, "methods": METHODS[:3]})]
TABLES = {
    "areas": lambda jobs: table(STUDY, _CASES, jobs, name="areas"),
    "areas_near_one": lambda jobs: table(STUDY, _NEAR, jobs, name="areas_near_one"),
    "areas_of_pairs": lambda jobs: table(STUDY, _OF_PAIRS, jobs, name="areas_of_pairs"),
}
