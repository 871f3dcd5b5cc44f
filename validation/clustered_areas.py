"""How often intervals of an area, and of the difference of two, cover where examples come in clusters.

Scores of both systems are normal in either class, of variance 1, of which the cluster has the share `correlation`;
what a cluster adds to scores, and the noise within clusters, is half common to both systems. Each cluster has a
prevalence of its own, from a Beta distribution. Clusters are of unequal sizes, 1 + Poisson(λ) with λ exponential. The
truth is that of pairs of different clusters. Intervals are equal-tailed.
"""

import numpy as np
from scipy.special import ndtri

from bayesperf.core.arrays import Array, Codes
from bayesperf.curves.areas.bootstrapped_areas import bootstrapped
from bayesperf.curves.areas.delong import Placements
from bayesperf.distributions.normal import JointNormal
from validation.study import Study, interval_figures, table

# Those of `bayesperf.roc_auc` with clusters, and without.
INTERVALS = ("clusters", "obuchowski", "independent", "delong")


def simulate(
    rng: np.random.Generator,
    *,
    n_groups: int,
    correlation: float,
    auc: tuple[float, float],
    prevalence: float,
    label_correlation: float,
    group_size: int,
    draws: int,
    prob: float,
) -> dict[str, Array]:
    """Return the outcomes (interval, target) of a data set."""
    data = clustered_scores(n_groups, correlation, auc, prevalence, label_correlation, group_size, rng)
    intervals = _intervals(*data, draws, prob, rng)
    return interval_figures(intervals[..., 0], intervals[..., 1], np.array([auc[0], auc[0] - auc[1]]))


def clustered_scores(
    n_groups: int,
    correlation: float,
    auc: tuple[float, float],
    prevalence: float,
    label_correlation: float,
    group_size: int,
    rng: np.random.Generator,
) -> tuple[Array, Array, Codes]:
    """Return scores of positives (2, n) and negatives (2, m), and the clusters of both, of a data set.

    Each class is in two clusters or more.
    """
    sizes = 1 + rng.poisson(rng.exponential(group_size - 1, n_groups))
    cluster = np.repeat(np.arange(n_groups), sizes)
    kappa = 1 / label_correlation - 1
    rates = rng.beta(kappa * prevalence, kappa * (1 - prevalence), n_groups)
    positive = rng.random(len(cluster)) < rates[cluster]
    if any(len(np.unique(cluster[members])) < 2 for members in (positive, ~positive)):
        return clustered_scores(n_groups, correlation, auc, prevalence, label_correlation, group_size, rng)
    within, between = (rng.normal(size=(3, size)) for size in (len(cluster), n_groups))
    scores = np.sqrt(2) * ndtri(np.array(auc))[:, None] * positive
    for share, parts in ((1 - correlation, within), (correlation, between[:, cluster])):
        scores += np.sqrt(share / 2) * (parts[:2] + parts[2])
    return scores[:, positive], scores[:, ~positive], np.concatenate([cluster[positive], cluster[~positive]])


def _intervals(
    positive: Array, negative: Array, cluster: Codes, draws: int, prob: float, rng: np.random.Generator
) -> Array:
    """Return the intervals of each of `INTERVALS` and target, (interval, target, 2)."""
    levels = np.array([[(1 - prob) / 2, (1 + prob) / 2]])
    found = []
    for codes in (np.unique(cluster, return_inverse=True)[1], None):
        first, second = bootstrapped(positive, negative, codes, draws, rng, progressbar=False)
        drawn = np.quantile(np.stack([first, first - second]), levels[0], axis=-1).T
        placements = Placements.of(positive, negative, codes)
        areas = JointNormal.of(placements.mean, placements.covariance, (0.0, 1.0))
        difference = areas.contrast("difference", None, (-1.0, 1.0), (np.array([0]), np.array([1])))
        assert difference is not None
        found += [drawn, np.concatenate([areas.take(slice(1)).ppf(levels), difference.ppf(levels)])]
    return np.stack(found)


STUDY = Study(
    grid={"n_groups": (20, 50, 200), "correlation": (0.1, 0.5)},
    simulate=simulate,
    rows={"interval": list(INTERVALS), "target": ["area", "difference"]},
    settings={
        "auc": (0.8, 0.75),
        "prevalence": 0.3,
        "label_correlation": 0.3,
        "group_size": 8,
        "draws": 2000,
        "prob": 0.95,
    },
)
CASES = [
    ({"auc": auc[0]}, simulations, {"n_groups": (12, 20, 50), "auc": auc})
    for auc, simulations in (((0.8, 0.75), 400), ((0.95, 0.93), 200))
]
TABLES = {"clustered_areas": lambda jobs: table(STUDY, CASES, jobs, name="clustered_areas")}
