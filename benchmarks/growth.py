"""How the CPU time of the main calls grows with what they are given: a part of `peers.py`."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import numpy as np
from budgets import in_turns
from peer_rows import cells_of_matrices, labels_of, scored, tabulated

import bayesperf as bp

# Makes the work of a size.
Sized = Callable[[int], Callable[[], object]]


class Growth(NamedTuple):
    """A call and the sizes that it is measured at."""

    call: str
    of: str
    sizes: tuple[int, ...]
    sized: Sized


def counting(n: int) -> Callable[[], object]:
    labels = labels_of(n)
    return lambda: bp.ConfusionMatrix.from_predictions(*labels)


def counting_strings(n: int) -> Callable[[], object]:
    names = np.array(["benign", "malignant"])
    labels = [names[codes] for codes in labels_of(n)]
    return lambda: bp.ConfusionMatrix.from_predictions(*labels)


def counting_classes(classes: int) -> Callable[[], object]:
    labels = labels_of(1_000_000, classes)
    return lambda: bp.ConfusionMatrix.from_predictions(*labels)


def delong(n: int) -> Callable[[], object]:
    scores = scored(n)
    return lambda: bp.roc_auc(*scores, method="delong").eti()


def bayesian_bootstrap(n: int) -> Callable[[], object]:
    scores = scored(n)
    return lambda: bp.roc_auc(*scores, draws=500).eti()


def band(n: int) -> Callable[[], object]:
    scores = scored(n)
    return lambda: bp.roc_curve(*scores, draws=500).band()


def of_classes(classes: int) -> bp.ConfusionMatrix:
    return bp.ConfusionMatrix.from_table(tabulated(*labels_of(200 * classes, classes)))


def shared_prior(classes: int) -> Callable[[], object]:
    cm = of_classes(classes)
    return lambda: bp.posterior(cm).summary(["accuracy", "f1_macro"])


def macro(classes: int) -> Callable[[], object]:
    cm = of_classes(classes)
    return lambda: bp.posterior(cm, "jeffreys").summary(["accuracy", "f1_macro"])


def delta_of_macro(classes: int) -> Callable[[], object]:
    cm = of_classes(classes)
    return lambda: bp.intervals.delta(cm, "f1_macro")


def matrices(n: int) -> Callable[[], object]:
    cm = bp.ConfusionMatrix.from_counts(**cells_of_matrices(n))
    return lambda: bp.posterior(cm).summary(["precision", "recall", "f1"])


def systems(n: int) -> Callable[[], object]:
    post = bp.posterior(bp.ConfusionMatrix.from_counts(**cells_of_matrices(n), dims=["model"]))

    def compared() -> None:
        comparison = bp.compare(post, metric="f1", rope=0.01)
        comparison.prob_greater, comparison.prob_rope, comparison.prob_best  # noqa: B018

    return compared


def systems_on_one_set(n: int) -> Callable[[], object]:
    rows = 1_000
    y_true, _ = labels_of(rows)
    y_pred = np.concatenate([labels_of(rows, right=0.7 + 0.2 * k / n)[1] for k in range(n)])
    model, example = np.repeat(np.arange(n), rows), np.tile(np.arange(rows), n)
    cm = bp.ConfusionMatrix.from_predictions(np.tile(y_true, n), y_pred, by={"model": model}, example=example)
    return lambda: bp.compare(cm, metric="f1").prob_greater


def draws(n: int) -> Callable[[], object]:
    cm = of_classes(5)
    return lambda: bp.posterior(cm, "jeffreys", draws=n).summary(["f1_macro"])


def resamples(n: int) -> Callable[[], object]:
    cm = of_classes(5)
    return lambda: bp.intervals.bootstrap(cm, "f1_macro", n_resamples=n, random_seed=0)


def pooled_folds(n: int) -> Callable[[], object]:
    cm = bp.ConfusionMatrix.from_counts(**cells_of_matrices(n), dims=["fold"])
    return lambda: bp.pool(cm).mean["recall"].eti()


def averaged_folds(n: int) -> Callable[[], object]:
    post = bp.posterior(bp.ConfusionMatrix.from_counts(**cells_of_matrices(n), dims=["fold"]), "haldane")
    return lambda: bp.folds.average(post, "f1", repeats=1).eti()


def splits(n: int) -> Callable[[], object]:
    a, b = np.random.default_rng(0).normal([[0.82], [0.80]], 0.03, (2, n))
    return lambda: bp.folds.correlated_ttest(a, b, test_fraction=0.1, rope=0.01).prob_rope


def data_sets(n: int) -> Callable[[], object]:
    a, b = np.random.default_rng(0).normal([[0.82], [0.80]], 0.03, (2, n))
    return lambda: bp.folds.signed_rank_test(a, b, rope=0.01)


def frames(n: int) -> Callable[[], object]:
    simulated = bp.sequences.simulate(n, persistence=0.9)
    labels = simulated["actual"], simulated["predicted"]
    return lambda: bp.sequences.posterior(*labels)["recall"].eti()


ROWS = [
    Growth("`ConfusionMatrix.from_predictions`, integers", "rows", (100_000, 1_000_000, 10_000_000), counting),
    Growth("`ConfusionMatrix.from_predictions`, strings", "rows", (30_000, 300_000, 3_000_000), counting_strings),
    Growth("`ConfusionMatrix.from_predictions`, 10⁶ rows", "classes", (2, 20, 200), counting_classes),
    Growth('`roc_auc(method="delong")`', "rows", (10_000, 100_000, 1_000_000), delong),
    Growth("`roc_auc`, 500 draws", "rows", (1_000, 3_000, 10_000), bayesian_bootstrap),
    Growth("`roc_auc`, 500 draws, in bins", "rows", (20_000, 100_000, 500_000), bayesian_bootstrap),
    Growth("`roc_curve(...).band()`, 500 draws", "rows", (1_000, 10_000, 100_000), band),
    Growth("`posterior(cm).summary`, the default prior", "classes", (5, 10, 20), shared_prior),
    Growth('`posterior(cm, "jeffreys").summary`', "classes", (5, 15, 45), macro),
    Growth("`intervals.delta` of macro F1", "classes", (10, 30, 90), delta_of_macro),
    Growth("`posterior(cm).summary` of three metrics", "matrices", (100, 1_000, 10_000), matrices),
    Growth("`compare` of F1: P(a > b), rope, best", "systems", (5, 20, 80), systems),
    Growth("`compare` of F1 on the same 1,000 examples", "systems", (2, 8, 32), systems_on_one_set),
    Growth("`posterior(draws=).summary` of macro F1", "draws", (10_000, 100_000, 1_000_000), draws),
    Growth("`intervals.bootstrap` of macro F1", "resamples", (1_000, 10_000, 100_000), resamples),
    Growth("`pool(cm).mean`", "folds", (5, 20, 80), pooled_folds),
    Growth("`bayesperf.folds.average` of F1", "folds", (5, 20, 80), averaged_folds),
    Growth("`correlated_ttest`", "folds", (10, 100, 1_000), splits),
    Growth("`signed_rank_test`", "data sets", (10, 40, 160), data_sets),
    Growth("`sequences.posterior`", "rows", (1_000, 10_000, 100_000), frames),
]


def measured(row: Growth) -> list[float]:
    """Return the median CPU time at each size, in seconds."""
    works = [row.sized(size) for size in row.sizes]
    for work in works:
        work()
    return in_turns(*works, repeats=3, choose=median, clock=time.process_time)


def exponent(sizes: tuple[int, ...], times: list[float]) -> float:
    """Return the slope of log time over log size between the last two sizes, where fixed costs matter less."""
    return float(np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2]))
