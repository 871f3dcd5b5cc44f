"""How often intervals cover with many classes, by the prior: of each class, of the worst, of averages over classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf import prior as priors
from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.posteriors.dirichlet import posterior
from bayesperf.studies.interval_statistics import OUTCOMES, interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run_batches

# Simulations whose posteriors are computed at once; no result depends on it.
_BATCH = 10
# How common the classes are, how well they are recognised, and where their errors fall.
SIZES, RECALLS, ERRORS = ("equal", "tenfold", "zipf"), ("random", "falling", "step"), ("popular", "uniform", "clumped")
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


def many_classes(
    classes: int = 10,
    examples: ArrayLike = (5, 20, 100),
    prior: Sequence[str] = ("flat", "jeffreys", "perks", "shared"),
    simulations: int = 150,
    *,
    recall: tuple[float, float] = (0.85, 0.95),
    dispersion: tuple[float, float] = (0.05, 0.2),
    sizes: str = "equal",
    recalls: str = "random",
    errors: str = "popular",
    confidence: float = 0.95,
    draws: int = 2000,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of posterior intervals of systems that tell many classes apart.

    Each simulation draws a system and its test sets.

    Parameters
    ----------
    classes : int
        Number of classes, above 2.
    examples : int or array-like of int
        Examples in a test set for each class, on average.
    prior : sequence of str
        Names of the priors.
    simulations : int
        Number of systems.
    recall, dispersion : tuple of two float
        Ranges of the mean and of the dispersion of the recalls of a system's classes, which are uniform over them.
    sizes : {"equal", "tenfold", "zipf"}
        How common the classes are: equally, the most common ten times as common as the rarest, or in proportion to the
        inverse of their rank (Zipf's law).
    recalls : {"random", "falling", "step"}
        Whether the recalls are from a Beta distribution (of `recall` and `dispersion`), fall with the rank of a class
        in a straight line from .95 of the first to .45 of the last, or are .95 but .3 of the last two. With Zipf's law
        the last are the rarest.
    errors : {"popular", "uniform", "clumped"}
        Whether errors fall into some classes more than into others, are spread evenly, or those of each class fall into
        two others.
    confidence : float
        Nominal coverage.
    draws : int
        Draws of a posterior.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``coverage``, how often the metric lies below and above the equal-tailed interval (``lower_miss``,
        ``upper_miss``), and mean ``width`` over (prior, metric, examples), each with its Monte Carlo standard error
        (``coverage_mcse``, …). Metrics of a class are averaged over classes; "worst_recall" is the lowest recall, and
        "rarest_recall" that of the rarest class. The settings are in ``attrs``.

    Examples
    --------
    >>> from validation.many_classes import many_classes
    >>> study = many_classes(10, 5, ["perks", "shared"], simulations=10, draws=500)
    >>> study["coverage"].sel(metric="recall_per_class", examples=5).values
    array([0.97, 0.95])
    """
    examples = [checks.count("examples", size) for size in np.atleast_1d(examples).tolist()]
    names = [checks.one_of("prior", name, tuple(priors.PRESETS)) for name in prior]
    seed = checks.seed(random_seed)
    system: dict[str, Any] = {
        "classes": checks.count("classes", classes, least=3),
        "recall": _range("recall", recall),
        "dispersion": _range("dispersion", dispersion),
        "sizes": checks.one_of("sizes", sizes, SIZES),
        "recalls": checks.one_of("recalls", recalls, RECALLS),
        "errors": checks.one_of("errors", errors, ERRORS),
    }
    settings = {**system, "examples": examples, "prior": names,
                "simulations": checks.count("simulations", simulations, least=2),
                "confidence": checks.probability("confidence", confidence),
                "draws": checks.count("draws", draws, least=2), "random_seed": seed}  # fmt: skip

    def simulate(indices: Sequence[int], rngs: Sequence[np.random.Generator]) -> list[dict[str, Array]]:
        truths = np.stack([_system(rng, **system) for rng in rngs])
        tables = [[rng.multinomial(size * classes, truth.ravel()) for size in examples]
                  for rng, truth in zip(rngs, truths, strict=True)]  # fmt: skip
        keys = [f"{index} {size}" for index in indices for size in examples]
        cm = ConfusionMatrix.from_table(np.reshape(tables, (-1, classes, classes)), dims={"table": keys})
        by_prior = [_outcomes(cm, truths, name, confidence, draws, seed) for name in names]
        return [{name: np.stack([of_prior[name][i] for of_prior in by_prior]) for name in OUTCOMES}
                for i in range(len(truths))]  # fmt: skip

    results = run_batches(simulate, simulations, settings, _BATCH,
                          n_jobs=n_jobs, progressbar=progressbar, folder=folder)  # fmt: skip
    coords = {"prior": names, "metric": [*METRICS, RAREST], "examples": examples}
    means = monte_carlo_means({name: results[name] for name in OUTCOMES})
    return xr.Dataset({name: (tuple(coords), values) for name, values in means.items()}, coords,
                      {**settings, "ci_kind": "eti"})  # fmt: skip


def _range(name: str, ends: tuple[float, float]) -> list[float]:
    low, high = (checks.number(name, end) for end in ends)
    if not 0 <= low <= high < 1:
        raise InputError(name, f"must be (lowest, greatest), in order, from 0 to below 1; it is {ends!r}.")
    return [low, high]


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
    for metric, marginal in zip(METRICS.values(), post.marginals(list(METRICS.values())), strict=True):
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
