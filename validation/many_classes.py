"""How often intervals cover with many classes, by the prior: of each class, of the worst, of averages over classes.

Each simulation draws a system and its test sets. Metrics of a class are averaged over classes; "worst_recall" is the
lowest recall, and "rarest_recall" that of the rarest class. Intervals are equal-tailed.

A system is told by how common its classes are (`sizes`): equally, the most common ten times as common as the rarest
("tenfold"), or in proportion to the inverse of their rank ("zipf"); by its `recalls`: from a Beta distribution whose
mean and dispersion are uniform over ranges ("random"), falling with the rank in a straight line from .95 to .45
("falling"), or .95 but .3 of the last two ("step"); and by where its `errors` fall: into some classes more than into
others ("popular"), evenly ("uniform"), or those of each class into two others ("clumped").
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.studies.running import OUTCOMES, interval_outcomes
from validation.study import Study, table

# Simulations whose posteriors are computed at once; no result depends on it.
_BATCH = 10
# The recalls of the most common and of the rarest class where they fall, and of most and of two where those are broken.
_FALLING, _STEP = (0.95, 0.45), (0.95, 0.3)
# The shares of the errors of a class in the two that it is taken for, where errors clump.
_CLUMPS = (0.7, 0.3)


def worst_recall(cells: Array) -> Array:
    """Return the lowest recall of a class."""
    return np.asarray((np.einsum("...ii->...i", cells) / cells.sum(-1)).min(-1))


# The recall of the class that is rarest in truth.
RAREST = "rarest_recall"
METRICS: dict[str, Metric] = {
    name: get(name)
    for name in ("accuracy", "recall_per_class", "precision_per_class", "f1_per_class", "recall_macro",
                 "precision_macro", "f1_macro", "cohen_kappa", "matthews_corrcoef")
} | {"worst_recall": Metric("worst_recall", worst_recall, needs="classes")}  # fmt: skip


def simulate(
    rngs: Mapping[int, np.random.Generator],
    *,
    examples: Sequence[int],
    prior: Sequence[str],
    draws: int,
    posterior_seed: int,
    prob: float,
    **system: Any,
) -> list[dict[str, Array]]:
    """Return the outcomes (prior, metric, examples) of several systems, tested on so many examples a class."""
    classes, examples = system["classes"], np.atleast_1d(examples).tolist()
    truths = np.stack([_system(rng, **system) for rng in rngs.values()])
    tables = [[rng.multinomial(size * classes, truth.ravel()) for size in examples]
              for rng, truth in zip(rngs.values(), truths, strict=True)]  # fmt: skip
    keys = [f"{index} {size}" for index in rngs for size in examples]
    cm = ConfusionMatrix.from_table(np.reshape(tables, (-1, classes, classes)), dims={"table": keys})
    by_prior = [_outcomes(cm, truths, name, prob, draws, posterior_seed) for name in prior]
    return [{name: np.stack([of_prior[name][i] for of_prior in by_prior]) for name in OUTCOMES}
            for i in range(len(truths))]  # fmt: skip


def _system(
    rng: np.random.Generator,
    *,
    classes: int,
    recall: Sequence[float],
    dispersion: Sequence[float],
    sizes: str,
    recalls: str,
    errors: str,
) -> Array:
    """Return the cells of a system, (K, K)."""
    mean, rho = (rng.uniform(low, high) for low, high in (recall, dispersion))
    if recalls == "falling":
        right = np.linspace(*_FALLING, classes)
    elif recalls == "step":
        right = np.where(np.arange(classes) < classes - 2, *_STEP)
    else:
        right = (
            np.full(classes, mean) if rho == 0 else rng.beta(mean * (1 / rho - 1), (1 - mean) * (1 / rho - 1), classes)
        )
    shares = np.ones(classes)
    if sizes == "tenfold":
        shares = rng.permutation(np.geomspace(1, 10, classes))
    elif sizes == "zipf":
        shares /= np.arange(1, classes + 1)
    cells = np.diag(right) + (1 - right)[:, None] * _spread(rng, classes, errors)
    return np.asarray(cells * shares[:, None] / shares.sum())


def _spread(rng: np.random.Generator, classes: int, errors: str) -> Array:
    """Return where the errors of each class fall, (K, K), with zeros on the diagonal."""
    popularity = rng.dirichlet(np.full(classes, 0.5))
    spread = np.zeros((classes, classes))
    for i in range(classes):
        others = np.delete(np.arange(classes), i)
        if errors == "popular":
            weights = classes * popularity[others] / popularity[others].sum()
            spread[i, others] = rng.dirichlet(np.maximum(weights, 1e-3))
        elif errors == "uniform":
            spread[i, others] = 1 / (classes - 1)
        else:
            spread[i, rng.choice(others, 2, replace=False)] = _CLUMPS
    return spread


def _outcomes(
    cm: ConfusionMatrix, truths: Array, prior: str, confidence: float, draws: int, seed: int
) -> Mapping[str, Array]:
    """Return each of `OUTCOMES` under a prior, (simulation, metric, examples), averaged over classes."""
    post = posterior(cm, prior, draws=draws, random_seed=seed)
    outcomes: dict[str, list[Array]] = {name: [] for name in OUTCOMES}
    of_rarest: dict[str, Array] = {}
    for metric, marginal in zip(METRICS.values(), post.several(list(METRICS.values())), strict=True):
        true = metric.evaluate(truths)
        intervals = marginal.eti(confidence).values.reshape(len(truths), -1, *true.shape[1:], 2)
        of_metric = interval_outcomes(intervals[..., 0], intervals[..., 1], true[:, None])
        for name, values in of_metric.items():
            outcomes[name].append(values.reshape(*values.shape[:2], -1).mean(-1))
            if metric.name == "recall_per_class":
                of_rarest[name] = values[np.arange(len(values)), :, truths.sum(-1).argmin(-1)]
    for name in OUTCOMES:
        outcomes[name].append(of_rarest[name])
    return {name: np.stack(values, 1) for name, values in outcomes.items()}


STUDY = Study(
    grid={},
    simulate=simulate,
    rows={"prior": "prior", "metric": [*METRICS, RAREST], "examples": "examples"},
    settings={
        "classes": 10,
        "examples": (5, 20, 100),
        "prior": ("flat", "jeffreys", "perks", "shared"),
        # Ranges of the mean and of the dispersion of recalls that are random.
        "recall": (0.85, 0.95),
        "dispersion": (0.05, 0.2),
        "sizes": "equal",
        "recalls": "random",
        "errors": "popular",
        "draws": 2000,
        "posterior_seed": 0,
        "prob": 0.95,
    },
    batch=_BATCH,
)
# Systems simulated for each number of classes.
SYSTEMS = {10: 200, 40: 100}
_ALL = {"examples": 20, "prior": ["shared"], "sizes": "zipf", "draws": 1000}
CASES = [
    (
        {"classes": classes, "recalls": recalls, "errors": errors},
        SYSTEMS[classes],
        _ALL | {"classes": classes, "recalls": recalls, "errors": errors},
    )
    for classes, recalls, errors in product(SYSTEMS, ("falling", "step", "random"), ("popular", "uniform", "clumped"))
]
TABLES = {"many_classes": lambda jobs: table(STUDY, CASES, jobs, name="many_classes")}
