"""How often intervals of F1, and of the difference of two systems, cover where examples come in clusters.

Each cluster has shares of the classes, and for each system rates, of its own: Dirichlet of dispersion ρ about the
population's. Clusters are of unequal sizes, 1 + Poisson(λ) with λ exponential. Two systems are tested on the same
examples; the second says what the first says of half of them. The target is the F1 of the first system (of more than
two classes the macro average), or the difference; the truth is that of the mean cells of the population. Intervals are
equal-tailed, of four kinds:

- "clusters": ``pool(method="bayesian_bootstrap")``;
- "cluster_bootstrap": percentiles of resamples of whole clusters, each the same for both systems. Undefined values
  (0/0) are left out, and data sets of which nothing is left do not count;
- "independent": the joint posterior of the systems, for which examples are independent;
- "groups", of two classes: the mean of ``pool(groups="clusters")``, the metric at the mean rates and prevalence of
  clusters. That is another question, where how large clusters are goes with what they are like; not here. Its systems
  are independent.
"""

import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np

from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import DependenceWarning, PriorWarning
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.groups.pooling import pool
from bayesperf.intervals.bootstrap_intervals import Units
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.posteriors.paired_systems import joint_posterior
from bayesperf.posteriors.posterior import Posterior
from validation.study import Study, interval_figures, table

METHODS = ("clusters", "cluster_bootstrap", "independent", "groups")
TARGETS = ("f1", "difference")
# Shares of right predictions of the two systems, and of the examples of which the second says what the first says.
_RIGHT, _SAME = (0.85, 0.75), 0.5


def simulate(
    rng: np.random.Generator,
    *,
    n_groups: int,
    dispersion: float,
    methods: Sequence[str],
    classes: int,
    group_size: int,
    draws: int,
    prob: float,
) -> dict[str, Array]:
    """Return the outcomes (interval, target) of a data set."""
    first, second = _metric(classes).evaluate(mean_cells(classes), 1).tolist()
    truth = np.array([first, first - second])
    data = clustered(n_groups, dispersion, classes, group_size, rng)
    return _outcomes(data, methods, classes, truth, draws, prob, int(rng.integers(2**31)))


def mean_cells(classes: int) -> Array:
    """Return the mean cells of the two systems in the population, (2, K, K)."""
    rates = _mean_rates(classes)
    rates[1] = _SAME * rates[0] + (1 - _SAME) * rates[1]
    return _shares(classes)[:, None] * rates


def _shares(classes: int) -> Array:
    """Return the shares of the classes in the population, the last of which is the rarest."""
    weights = np.arange(classes + 1, 1, -1.0)
    return weights / weights.sum()


def _mean_rates(classes: int) -> Array:
    """Return the mean rates of the predictions that each system makes by itself, (2, K, K)."""
    right = np.reshape(_RIGHT, (2, 1, 1))
    return np.where(np.eye(classes) > 0, right, (1 - right) / (classes - 1))


def clustered(
    n_groups: int, dispersion: float, classes: int, group_size: int, rng: np.random.Generator
) -> tuple[Codes, Codes, Codes]:
    """Return the cluster, the actual class and the predictions (2, n) of the examples of a data set."""
    kappa = 1 / dispersion - 1
    sizes = 1 + rng.poisson(rng.exponential(group_size - 1, n_groups))
    cluster = np.repeat(np.arange(n_groups), sizes)
    actual = _one_of_each(rng.dirichlet(kappa * _shares(classes), n_groups)[cluster], rng)
    predicted = []
    for rates in _mean_rates(classes):
        of_clusters = np.stack([rng.dirichlet(kappa * row, n_groups) for row in rates], 1)
        predicted.append(_one_of_each(of_clusters[cluster, actual], rng))
    same = rng.random(len(cluster)) < _SAME
    return cluster, actual, np.stack([predicted[0], np.where(same, *predicted)])


def _one_of_each(probabilities: Array, rng: np.random.Generator) -> Codes:
    """Return a draw of one of the classes for each row of probabilities."""
    return np.asarray((rng.random((len(probabilities), 1)) > probabilities.cumsum(1)[:, :-1]).sum(1))


def _outcomes(
    data: tuple[Codes, Codes, Codes],
    methods: Sequence[str],
    classes: int,
    truth: Array,
    draws: int,
    prob: float,
    seed: int,
) -> dict[str, Array]:
    """Return the outcomes (interval, target)."""
    cluster, actual, (first, second) = data
    predicted = {"first": first, "second": second}
    cm = ConfusionMatrix.from_predictions(actual, predicted, labels=range(classes), cluster=cluster)
    with warnings.catch_warnings():
        # Few clusters and empty cells are what is studied.
        warnings.simplefilter("ignore", (PriorWarning, DependenceWarning))
        of_each = np.stack([_VALUES[method](cm, draws, seed) for method in methods])
    targets = np.stack([of_each[:, 0], of_each[:, 0] - of_each[:, 1]], 1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN")
        lower, upper = np.nanquantile(targets, [(1 - prob) / 2, (1 + prob) / 2], axis=-1)
    return interval_figures(lower, upper, truth)


# ── Values of F1 of both systems, (2, draw) ──


def _by_weights(cm: ConfusionMatrix, draws: int, seed: int) -> Array:
    return _values(pool(cm, draws=draws, random_seed=seed).mean)


def _by_resampling(cm: ConfusionMatrix, draws: int, seed: int) -> Array:
    tables = _tables(cm).reshape(-1, cm.counts.size)
    units = Units(np.ones((1, len(tables)), int), cm.counts.shape, tables)
    return units.resample(partial(_metric(len(cm.labels)).evaluate, positive=1), draws, np.random.default_rng(seed)).T


def _of_independent_examples(cm: ConfusionMatrix, draws: int, seed: int) -> Array:
    assert cm.patterns is not None
    return _values(joint_posterior(cm.patterns, None, draws, seed))


def _by_model(cm: ConfusionMatrix, draws: int, seed: int) -> Array:
    clusters = ConfusionMatrix.from_table(_tables(cm), dims=["cluster", "model"])
    return _values(pool(clusters, "cluster", "clusters", draws=draws, random_seed=seed).mean)


_VALUES = dict(zip(METHODS, (_by_weights, _by_resampling, _of_independent_examples, _by_model), strict=True))


def _tables(cm: ConfusionMatrix) -> Counts:
    """Return the counts of the clusters, (cluster, model, actual, predicted)."""
    assert cm.clusters is not None
    return cm.clusters.table.toarray().reshape(-1, *cm.counts.shape)


def _values(post: Posterior) -> Array:
    cells = post.cells_by_chain().values[:, 0]
    return _metric(cells.shape[-1]).evaluate(cells, 1)


def _metric(classes: int) -> Metric:
    return get("f1" if classes == 2 else "f1_macro")


STUDY = Study(
    grid={"n_groups": (10, 20, 50, 200), "dispersion": (0.02, 0.1, 0.3)},
    simulate=simulate,
    rows={"interval": "methods", "target": list(TARGETS)},
    settings={"methods": METHODS, "classes": 2, "group_size": 16, "draws": 2000, "prob": 0.95},
)
# Some ten minutes of one processor; the model of `pool` takes longest, and there is one of two classes only.
_ON = {"n_groups": (10, 20, 50, 200, 500), "dispersion": (0.01, 0.1, 0.3), "draws": 1000, "random_seed": 1}
CASES = [
    ({"classes": classes}, simulations, _ON | {"methods": methods, "classes": classes})
    for classes, methods, simulations in ((2, METHODS[:3], 400), (2, METHODS[3:], 100), (5, METHODS[:3], 400))
]
TABLES = {"clusters": lambda jobs: table(STUDY, CASES, jobs, name="clusters")}
