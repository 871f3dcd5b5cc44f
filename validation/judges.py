"""How often intervals cover beside several judges, a judge's score, and judges of examples in clusters.

Some of the examples are verified by chance. The intervals, of a system of two classes, are "judges",
`bayesperf.labels.verify`; "verified_only", the same of the verified examples alone; and, of accuracy, which is a mean,
"prediction_powered" (Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023, Science 382, 669–674; with the weight of
PPI++, Angelopoulos, Duchi & Zrnic 2023, arXiv:2311.01453).

Each of `judges` is right with this probability. A part `copied` of what they say is what one source says, which is
right for 85 %, and this part of the system's errors is repeated. A judge's score is normal, with a mean that is higher
by `separation` in positive examples. In clusters of ten, prevalence and all probabilities of being right have the
correlation `likeness`.
"""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from bayesperf.core.arrays import Array, Booleans, Codes
from bayesperf.core.weights import tallied
from bayesperf.labels.sample import VerifiedSample
from bayesperf.labels.verifying import Verified
from validation.study import Study, interval_figures, table

INTERVALS, METRICS = ("judges", "verified_only", "prediction_powered"), ("accuracy", "f1")
PREVALENCE, RECALL, SPECIFICITY, SOURCE, CLUSTER = 0.3, 0.85, 0.9, 0.85, 10


def simulate(
    rng: np.random.Generator,
    *,
    verified: int,
    examples: int,
    judges: Sequence[float],
    copied: float,
    separation: float,
    likeness: float,
    draws: int,
    prob: float,
) -> dict[str, Array]:
    """Return the outcomes (interval, metric) of a sample of which so many examples are verified."""
    seed, cluster = int(rng.integers(2**31)), np.arange(examples) // CLUSTER

    def drawn(rate: float) -> Booleans:
        """Draw whether something is so in each example, alike in a cluster."""
        weight = 1 / likeness - 1 if likeness else np.inf
        rates = rng.beta(rate * weight, (1 - rate) * weight, cluster.max() + 1)[cluster] if likeness else rate
        return np.asarray(rng.random(examples) < rates)

    truth = drawn(PREVALENCE).astype(int)
    right, source = np.where(truth == 1, drawn(RECALL), drawn(SPECIFICITY)), drawn(SOURCE)
    said: dict[str, Array] = {}
    for place, rate in enumerate(judges):
        is_right = np.where(rng.random(examples) < copied, source, drawn(rate))
        is_right &= right | (rng.random(examples) >= copied)
        said[f"judge {place}"] = np.where(is_right, truth, 1 - truth)
    if separation:
        said["score"] = rng.normal(separation * truth)
    system, known = np.where(right, truth, 1 - truth), rng.permutation(examples) < verified
    ids = cluster if likeness else None
    whole = VerifiedSample.from_predictions(
        np.where(known, truth, np.nan), system, judge=said, cluster=ids, labels=[0, 1]
    )
    alone = VerifiedSample.from_predictions(
        truth[known], system[known], cluster=None if ids is None else ids[known], labels=[0, 1]
    )
    posts = [Verified.of(sample, None, draws, seed).posterior for sample in (whole, alone)]
    limits = np.full((len(INTERVALS), len(METRICS), 2), np.nan)
    limits[:2] = [[post[metric].eti(prob).values for metric in METRICS] for post in posts]
    belief = np.mean([_belief(values, system) for values in said.values()], axis=0)
    limits[2, 0] = prediction_powered(right, belief, known, cluster if likeness else np.arange(examples), prob)
    return interval_figures(limits[..., 0], limits[..., 1], _true())


def _true() -> Array:
    """Return the true accuracy and F1."""
    tp, fp = PREVALENCE * RECALL, (1 - PREVALENCE) * (1 - SPECIFICITY)
    fn = PREVALENCE - tp
    return np.array([1 - fn - fp, 2 * tp / (2 * tp + fn + fp)])


def _belief(said: Array, system: Codes) -> Array:
    """Return how far a judge takes the system to be right: by its label, or by the rank of its score."""
    positive = said if np.isin(said, [0, 1]).all() else stats.rankdata(said) / len(said)
    return np.where(system == 1, positive, 1 - positive)


def prediction_powered(right: Booleans, belief: Array, known: Booleans, cluster: Codes, prob: float) -> Array:
    """Return the prediction-powered interval of a mean, with the variance of sums over clusters."""
    n, rest = known.sum(), (~known).sum()
    weight = np.cov(right[known], belief[known])[0, 1] / (1 + n / rest) / max(belief.var(), 1e-12)
    parts = (right - weight * belief)[known].mean(), weight * belief[~known].mean()
    away = np.where(known, (right - weight * belief - parts[0]) / n, (weight * belief - parts[1]) / rest)
    sums = tallied(np.zeros(len(away), int), cluster, (1, cluster.max() + 1)).toarray()[0] > 0
    of_cluster = np.bincount(cluster, away)[sums]
    half = stats.norm.isf((1 - prob) / 2) * np.sqrt((of_cluster**2).sum())
    return np.clip(sum(parts) + half * np.array([-1, 1]), 0, 1)


STUDY = Study(
    grid={"verified": (30, 100, 300)},
    simulate=simulate,
    rows={"interval": list(INTERVALS), "metric": list(METRICS)},
    settings={
        "examples": 2000,
        "judges": (0.9,),
        "copied": 0.0,
        "separation": 0.0,
        "likeness": 0.0,
        "draws": 1000,
        "prob": 0.95,
    },
)
THREE = {"judges": (0.9, 0.8, 0.7)}
SETTINGS = {
    "one judge, right for 90 %": {},
    "three judges, 90, 80 and 70 %": THREE,
    "the three, half copied": THREE | {"copied": 0.5},
    "five judges, 70 %": {"judges": (0.7,) * 5},
    "a score, area .90": {"judges": (), "separation": 1.8},
    "a score, area .71": {"judges": (), "separation": 0.8},
    "a score and the three": THREE | {"separation": 1.8},
    "clusters, one judge": {"likeness": 0.1},
    "clusters, the three": THREE | {"likeness": 0.1},
    "clusters, a score": {"judges": (), "separation": 1.8, "likeness": 0.1},
}
CASES = [({"setting": name}, 200, changes | {"random_seed": 3}) for name, changes in SETTINGS.items()]
TABLES = {"judges": lambda jobs: table(STUDY, CASES, jobs, name="judges")}
