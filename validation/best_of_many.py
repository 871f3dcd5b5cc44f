"""How well the best of many systems is known: how often its interval covers, and how far its mean is off.

Each simulation draws systems from a population, and judges each on examples of one class. The best is the one of
greatest mean, once with each system by itself ("alone"), and once with all drawn towards those like them by
``compare(..., shrink=True)`` ("shrunk"). ``bias`` is by how much the posterior mean of the best exceeds its accuracy
on average; ``prob_best`` the probability that is said of its being the best, and ``is_best`` how often it is (one of
several that are equally good as one over their number). Intervals are equal-tailed.

Gelman, Hill & Yajima (2012), Why we (usually) don't have to worry about multiple comparisons, Journal of Research on
Educational Effectiveness 5.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayesperf.comparison.comparing import compare
from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import DependenceWarning, PriorWarning
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.groups.pooling import pool
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.ranks import joint_draws
from validation.study import Study, interval_figures, table

ANALYSES = ("alone", "shrunk")


def simulate(
    rng: np.random.Generator,
    *,
    spread: Sequence[float],
    systems: int,
    examples: int,
    accuracy: float,
    population: str | tuple[int, float],
    paired: bool,
    difficulty: float,
    clusters: int | None,
    draws: int,
    prob: float,
) -> dict[str, Array]:
    """Return the figures (analysis, spread) of the best of so many systems.

    All spreads have the same systems and examples, but for their scale. On the same examples (`paired`) half of the
    difficulty is a cluster's, if they come in clusters.
    """
    number, shift = (0, 0.0) if isinstance(population, str) else population
    cluster = None if clusters is None else np.arange(examples) % clusters
    deviates = rng.standard_t(2, systems) if population == "heavy_tails" else rng.standard_normal(systems)
    logits = special.logit(accuracy) + np.reshape(spread, (-1, 1)) * deviates
    logits[:, :number] += shift
    truth = special.expit(logits)
    hard = rng.standard_normal(examples)
    if cluster is not None:
        hard = np.sqrt(0.5) * (hard + rng.standard_normal(examples)[cluster])
    hard *= np.sqrt(difficulty if paired else 0)
    own = np.sqrt(1 - difficulty if paired else 1) * rng.standard_normal((systems, examples))
    found = [_outcomes(own + hard < special.ndtri(each)[:, None], each, paired, cluster, draws, prob) for each in truth]
    return {name: np.stack([of_spread[name] for of_spread in found], -1) for name in found[0]}


def _outcomes(
    right: NDArray[np.bool_], truth: Array, paired: bool, cluster: Codes | None, draws: int, prob: float
) -> dict[str, Array]:
    """Return what comes of the best system by each analysis, given which examples (m, n) each got right."""
    settings: dict[str, Any] = {"metric": "recall", "draws": draws, "shrink": True}
    tp = right.sum(-1)
    counts = ConfusionMatrix.from_counts(tp=tp, fn=right.shape[1] - tp, fp=0, tn=0, dims=["model"])
    alone = posterior(counts)
    if not paired:
        compared = compare(alone, independent=True, **settings)
    else:
        labelled = np.ones(right.shape[1], int), dict(enumerate(right.astype(int)))
        cm = ConfusionMatrix.from_predictions(*labelled, labels=[0, 1], cluster=cluster)
        if cluster is None:
            compared = compare(cm, **settings)
        else:
            with warnings.catch_warnings():
                # All examples are of one class, and there may be few clusters.
                warnings.simplefilter("ignore", (PriorWarning, DependenceWarning))
                alone = pool(cm, draws=draws).mean
            compared = compare(alone, **settings)
    assert compared.shrunk is not None
    assert compared.systems is not None
    shrunk = compared.shrunk
    by_analysis = (alone["recall"], compared.systems.joint_draws()), (shrunk, joint_draws(shrunk, "model", draws))
    found = [_of_best(each, joint, truth, prob) for each, joint in by_analysis]
    return {name: np.array([of_one[name] for of_one in found]) for name in found[0]}


def _of_best(each: Marginal, draws: xr.DataArray, truth: Array, prob: float) -> dict[str, Any]:
    mean, greatest = each.mean().values, truth == truth.max()
    best = int(mean.argmax())
    low, high = each.isel(model=best).eti(prob).values
    figures = {
        "bias": mean[best] - truth[best],
        "prob_best": (draws.argmax("model") == best).mean().item(),
        "is_best": greatest[best] / greatest.sum(),
    }
    return {**interval_figures(low, high, truth[best]), **figures}


STUDY = Study(
    grid={},
    simulate=simulate,
    rows={"analysis": list(ANALYSES), "spread": "spread"},
    settings={
        # Standard deviations of the logits of the true accuracies, or the scale where tails are heavy.
        "spread": (0.0, 0.1, 0.3),
        "systems": 50,
        "examples": 200,
        # That of the mean logit.
        "accuracy": 0.8,
        # Of logits: "normal", "heavy_tails" (Student's t of two degrees of freedom), or normal, but of so many systems
        # shifted by so much.
        "population": "normal",
        # Whether all systems are tested on the same examples, and then how their errors correlate and cluster.
        "paired": False,
        "difficulty": 0.5,
        "clusters": None,
        "draws": 2000,
        "prob": 0.95,
    },
)

BROKEN, BETTER = -1.4, 1.4
SETTINGS: dict[str, dict[str, Any]] = {
    "50 alike": {"spread": [0, 0.1, 0.3]},
    "1 of 50 broken": {"population": (1, BROKEN)},
    "3 of 50 broken": {"population": (3, BROKEN)},
    "5 of 50 broken": {"population": (5, BROKEN)},
    "10 of 50 broken, 50 examples": {"population": (10, BROKEN), "examples": 50},
    "1 of 20 broken": {"systems": 20, "population": (1, BROKEN)},
    "19 near .90, one at .50, 100 examples": {
        "systems": 20, "examples": 100, "accuracy": 0.9, "population": (1, -2.2)
    },
    "1 of 5 broken": {"systems": 5, "population": (1, BROKEN)},
    "two groups of 25": {"spread": [0.1, 0.3], "population": (25, -1.0)},
    "1 of 20 better by 0.6": {"systems": 20, "population": (1, 0.6)},
    "1 of 20 better by 1": {"systems": 20, "population": (1, 1.0)},
    "1 of 20 better by 1.4": {"systems": 20, "population": (1, BETTER)},
    "heavy tails": {"spread": [0.1, 0.3], "population": "heavy_tails"},
    "3": {"systems": 3},
    "5": {"systems": 5},
    "200": {"systems": 200},
    "50 alike, same examples": {"paired": True},
    "3 of 50 broken, same examples": {"paired": True, "population": (3, BROKEN)},
    "50 alike, same examples, accuracy .95": {"paired": True, "accuracy": 0.95},
    "50 alike, same examples in 40 clusters": {"paired": True, "clusters": 40},
}  # fmt: skip
# Some ten minutes of one processor.
_ALL = {"spread": 0.1, "draws": 1000, "random_seed": 7}
CASES = [
    ({"systems": setting}, 100 if "clusters" in changes else 200, _ALL | changes)
    for setting, changes in SETTINGS.items()
]
COLUMNS = ("coverage", "coverage_mcse", "bias", "prob_best", "is_best")
# A few simulations, which notebook 13 shows.
FIFTY = [({}, 40, {"spread": (0.0, 0.1, 0.3), "paired": True, "draws": 1000})]
TABLES = {
    "best_of_many": lambda jobs: table(STUDY, CASES, jobs, name="best_of_many", columns=COLUMNS),
    "best_of_fifty": lambda jobs: table(STUDY, FIFTY, jobs, name="best_of_fifty", columns=(*COLUMNS, "width")),
}
