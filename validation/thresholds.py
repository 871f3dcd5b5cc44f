"""What chosen thresholds are said to do, beside what they do: with the optimism of their choice, and without.

Scores are Normal(0, 1) of negatives and Normal(distance, 1) of positives, and a share `prevalence` is positive on
average; a data set of one class is drawn again. The truth is that of the threshold that was chosen. Figures are of the
data sets in which a threshold was found: "apparent" by the examples that chose it, "corrected" less their optimism.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr

from bayesperf.core.arrays import Array
from bayesperf.curves.decisions.choosing import ChosenThreshold, choose_threshold
from bayesperf.curves.decisions.rules import ThresholdRequirement, requirements_of
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.posteriors.posterior_of_counts import posterior
from validation.study import Study, interval_figures, means, table

# The true shares tp, fn, fp and tn.
TrueCells = tuple[Array, Array, Array, Array]


def simulate(
    rng: np.random.Generator,
    *,
    n: int,
    metrics: Sequence[str],
    chosen_by: Mapping[str, Any],
    requirements: Mapping[str, float] | None,
    prevalence: float,
    distance: float,
    prob: float,
    draws: int,
) -> dict[str, Array]:
    """Return bias, coverage and width (judged, metric) of n examples, and whether the threshold is as required."""
    wanted = [get(name) for name in metrics]
    examples = _examples(n, prevalence, distance, rng)
    figures, met = np.full((2, len(wanted), 4), np.nan), np.nan
    try:
        chosen = choose_threshold(*examples, **chosen_by, requirements=requirements, draws=draws, random_seed=rng)
    except ValueError:
        # Without requirements there always is one.
        if requirements is None:
            raise
    else:
        cells = _true_cells(chosen.threshold, prevalence, distance)
        met = float(all(_is_met(each, cells) for each in requirements_of(requirements)))
        figures = _figures(chosen, wanted, cells, prob)
    mean, lower, upper, true = np.moveaxis(figures, -1, 0)
    found = interval_figures(lower, upper, true)
    return {"bias": mean - true, "coverage": found["coverage"], "width": found["width"], "met": np.array(met)}


def reduce(results: Mapping[str, Array], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the means; how often a threshold was found, and how often one that in truth is not as required."""
    met = results["met"]
    shares = means({"found": ~np.isnan(met), "not_met": met == 0}, settings)
    return means({name: values for name, values in results.items() if name != "met"}, settings) | shares


def _figures(chosen: ChosenThreshold, metrics: Sequence[Metric], cells: TrueCells, prob: float) -> Array:
    """Return mean, limits and truth of each metric, with the optimism of the choice and without, (2, metrics, 4)."""
    posts = posterior(chosen.apparent, "jeffreys"), chosen.posterior
    return np.array([
        [[marginal.mean(), *marginal.eti(prob).values, metric.of_binary(*cells)]
         for metric, marginal in zip(metrics, post.several(metrics), strict=True)]
        for post in posts
    ], float)  # fmt: skip


def _is_met(requirement: ThresholdRequirement, cells: TrueCells) -> bool:
    """Return whether a requirement is met in truth."""
    value = float(requirement.metric.of_binary(*cells))
    return requirement.metric.better * (value - requirement.bound) >= 0


def _examples(n: int, prevalence: float, distance: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return labels of both classes, and their scores."""
    while True:
        actual = (rng.random(n) < prevalence).astype(float)
        if 0 < actual.sum() < n:
            return actual, rng.normal(distance * actual)


def _true_cells(threshold: float, prevalence: float, distance: float) -> TrueCells:
    """Return the true shares tp, fn, fp and tn at a threshold."""
    recall, fpr = np.asarray(ndtr(distance - threshold)), np.asarray(ndtr(-threshold))
    return prevalence * recall, prevalence * (1 - recall), (1 - prevalence) * fpr, (1 - prevalence) * (1 - fpr)


STUDY = Study(
    grid={"n": (50, 100, 200, 1000)},
    simulate=simulate,
    reduce=reduce,
    rows={"judged": ["apparent", "corrected"], "metric": "metrics"},
    settings={
        "metrics": ("recall", "specificity", "precision", "f1"),
        # The arguments of `bayesperf.choose_threshold`.
        "chosen_by": {"best": "f1"},
        "requirements": None,
        "prevalence": 0.3,
        "distance": 1.5,
        "prob": 0.95,
        "draws": 1000,
    },
)
_BY_COST = {"chosen_by": {"cost": (1, 3)}, "metrics": ("recall", "specificity")}
CASES = [
    ({"chosen_for": label}, simulations, changes | {"n": n})
    for label, changes in (("best F1", {"metrics": ("f1", "recall", "accuracy")}), ("a miss costs three", _BY_COST))
    for simulations, n in ((400, (50, 100, 200)), (200, 1000))
] + [
    (
        {"chosen_for": f"{required} of {bound}, best {best}"},
        400,
        {
            "n": 200,
            "metrics": ("recall", "precision"),
            "chosen_by": {"best": best},
            "requirements": {required: bound},
            "distance": distance,
        },
    )
    for required, bound, best, distance in (("recall", 0.9, "precision", 1.5), ("precision", 0.8, "recall", 2.0))
]
COLUMNS = ("bias", "bias_mcse", "coverage", "coverage_mcse", "width")
TABLES = {"thresholds": lambda jobs: table(STUDY, CASES, jobs, name="thresholds", columns=COLUMNS)}
