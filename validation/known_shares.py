"""How often intervals of a population's metrics cover whose strata differ, and were sampled in other proportions."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from bayesperf.core.arrays import Array
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.known_shares import posterior_of_strata
from validation.study import Study, interval_figures, table

METRICS = ("accuracy", "recall", "precision", "f1")
# Lowest and highest recall, specificity and prevalence of the strata.
POPULATIONS = {
    "good": ((0.8, 0.95), (0.9, 0.99), (0.3, 0.6)),
    "mixed": ((0.5, 0.95), (0.6, 0.99), (0.1, 0.6)),
    "rare": ((0.6, 0.9), (0.95, 0.99), (0.05, 0.15)),
}


def cells_of(population: str, strata: int) -> Array:
    """Return the cells (stratum, actual, predicted) of a population."""
    recall, specificity, prevalence = (np.linspace(*ends, strata) for ends in POPULATIONS[population])
    # Strata that are good at one rate are not good at the others.
    prevalence = np.roll(prevalence, strata // 2)
    of_class = [(1 - prevalence)[:, None] * np.stack([specificity, 1 - specificity], -1),
                prevalence[:, None] * np.stack([1 - recall, recall], -1)]  # fmt: skip
    return np.stack(of_class, 1)


def mixes(strata: int, n: int) -> dict[str, tuple[Array, Array]]:
    """Return the share of each stratum, up to a factor, and how many of it are tested."""
    others = np.ones(strata - 1)
    return {
        "three to one": (np.linspace(3, 1, strata), np.full(strata, n)),
        "one dominates": (np.r_[9 * (strata - 1), others], np.r_[n, 10 * others]),
        "one tested by few": (np.ones(strata), np.r_[n, 1000 * others]),
    }


def simulate(
    rng: np.random.Generator, *, strata: int, n: int, mix: str, population: str, prior: str, metrics: Sequence[str],
    draws: int, prob: float,
) -> dict[str, Array]:  # fmt: skip
    """Return the outcomes (interval, metric) of a test set in which the first stratum has n examples."""
    cells, (share, tested) = cells_of(population, strata), mixes(strata, n)[mix]
    share = share / share.sum()
    counts = rng.multinomial(tested.astype(int), cells.reshape(strata, 4)).reshape(strata, 2, 2)
    names = [f"stratum {i}" for i in range(strata)]
    coords = {"stratum": names, "actual": [0, 1], "predicted": [0, 1]}
    cm = ConfusionMatrix(xr.DataArray(counts, coords, list(coords)), 1)
    named = {"spread": None, "evenly": priors.dirichlet(2 / (4 * strata)), "jeffreys": priors.jeffreys()}
    post = posterior_of_strata(cm, "stratum", dict(zip(names, share, strict=True)), prior=named[prior], draws=draws)
    (tn, fp), (fn, tp) = np.tensordot(share, cells, 1)
    true = {
        "accuracy": tp + tn, "recall": tp / (tp + fn), "precision": tp / (tp + fp), "f1": 2 * tp / (2 * tp + fp + fn),
    }  # fmt: skip
    bounds = np.array([[post[m].interval(prob, kind).values for m in metrics] for kind in ("hdi", "eti")])
    return interval_figures(bounds[..., 0], bounds[..., 1], np.array([true[m] for m in metrics]))


STUDY = Study(
    grid={"population": tuple(POPULATIONS), "n": (5, 10, 30)},
    simulate=simulate,
    rows={"interval": ["hdi", "eti"], "metric": "metrics"},
    settings={"strata": 4, "mix": "three to one", "prior": "spread", "metrics": METRICS, "draws": 2000, "prob": 0.95},
)
# A quarter of an hour of one processor.
CASES = [
    (case := {"mix": mix, "strata": strata, "prior": prior}, 200, case | {"random_seed": 1})
    for mix, strata, prior in (
        ("one dominates", 20, "spread"),
        ("one tested by few", 20, "spread"),
        ("three to one", 20, "spread"),
        ("three to one", 4, "evenly"),
        ("three to one", 20, "evenly"),
        ("three to one", 4, "jeffreys"),
        ("three to one", 20, "jeffreys"),
    )
]
TABLES = {"known_shares": lambda jobs: table(STUDY, CASES, jobs, name="known_shares")}
