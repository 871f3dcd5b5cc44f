"""The intervals that studies of coverage set side by side, by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesperf import intervals
from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.distributions.beta import Beta
from bayesperf.intervals.proportion import METHODS as PROPORTIONS
from bayesperf.metrics.exact_forms import IncreasingFunction, Proportion
from bayesperf.metrics.metric import ARGUMENTS, Metric
from bayesperf.posteriors.dirichlet import posterior

KINDS = ("hdi", "eti")
# Pseudo-counts on either side of a rate.
_WEIGHTS = {"flat": 1.0, "jeffreys": 0.5}
OF_RATES = (*PROPORTIONS, *(f"{prior}_{kind}" for prior, kind in product(_WEIGHTS, KINDS)))


def chosen(methods: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """Return the methods named, by default all."""
    if methods is None:
        return list(known)
    if isinstance(methods, str):
        raise TypeError(f"methods must be a sequence of names; it is the string {methods!r}. Write [{methods!r}].")
    names = [checks.one_of("methods", name, known) for name in methods]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"methods must name at least one, and none twice; they are {list(methods)}.")
    return names


def mean(values: NDArray[Any], known: NDArray[np.bool_]) -> Array:
    """Return means over simulations (the first axis) of what is known; NaN where nothing is."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0).sum(0) / known.sum(0))


# ── Of a rate ──


def of_rate(method: str, successes: NDArray[np.int64], trials: int, confidence: float) -> Array:
    """Return the intervals of a rate (k, 2), of each number of successes (k,)."""
    if method in PROPORTIONS:
        return _proportion(successes, np.full_like(successes, trials), method, confidence)
    prior, kind = method.split("_")
    a = successes.astype(float)[:, None] + _WEIGHTS[prior]
    beta = Beta(a, trials + 2 * _WEIGHTS[prior] - a)
    tails = np.array([[(1 - confidence) / 2, (1 + confidence) / 2]])
    return beta.hdi(confidence) if kind == "hdi" else beta.ppf(tails)


def _proportion(successes: NDArray[Any], trials: NDArray[Any], method: str, confidence: float) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of no width: what that costs is what is studied
        return np.asarray(intervals.proportion(successes, trials, confidence=confidence, method=method))


# ── Of any metric ──


@dataclass(frozen=True)
class Effort:
    """What intervals by simulation take: draws of a posterior, resamples of a bootstrap, a seed."""

    draws: int
    n_resamples: int
    random_seed: int


Method = Callable[[ConfusionMatrix, Metric, float, Effort], Array]


def _posterior(
    cm: ConfusionMatrix, metric: Metric, confidence: float, effort: Effort, *, prior: str, kind: Any
) -> Array:
    after = posterior(cm, prior, draws=effort.draws, random_seed=effort.random_seed)
    return after[metric].interval(confidence, kind).values


def _by_share(cm: ConfusionMatrix, metric: Metric, confidence: float, _: Effort, *, method: str) -> Array:
    """Return the interval of the share that the metric is, or is an increasing function of."""
    form = metric.exact_form(len(cm.labels))
    assert isinstance(form, Proportion | IncreasingFunction)
    share = form if isinstance(form, Proportion) else form.proportion
    cells, position = cm.counts.values, 1 if cm.pos_label is None else cm.labels.index(cm.pos_label)
    successes, failures = (
        np.sum([ARGUMENTS[name](cells, position) for name in names], 0) for names in (share.success, share.failure)
    )
    limits = _proportion(successes, successes + failures, method, confidence)
    return limits if isinstance(form, Proportion) else np.asarray(form.forward(limits))


def _delta(cm: ConfusionMatrix, metric: Metric, confidence: float, _: Effort, *, transform: str | None = None) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(intervals.delta(cm, metric, confidence=confidence, transform=transform))


def _bootstrap(cm: ConfusionMatrix, metric: Metric, confidence: float, effort: Effort, *, method: str) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = intervals.bootstrap(
            cm, metric, confidence, method, effort.n_resamples, effort.random_seed, progressbar=False
        )
    return np.asarray(found)


BAYESIAN: dict[str, Method] = {
    f"{prior}_{kind}": partial(_posterior, prior=prior, kind=kind)
    for prior, kind in product(("flat", "jeffreys", "perks"), KINDS)
}
BY_SHARE: dict[str, Method] = {
    method: partial(_by_share, method=method) for method in ("wald", "wilson", "clopper_pearson")
}
METHODS: dict[str, Method] = {
    **BAYESIAN,
    **BY_SHARE,
    "delta": _delta,
    "delta_logit": partial(_delta, transform="logit"),
    "bootstrap_percentile": partial(_bootstrap, method="percentile"),
    "bootstrap_basic": partial(_bootstrap, method="basic"),
    "bootstrap_bca": partial(_bootstrap, method="bca"),
}


def applicable(metric: Metric, classes: int) -> list[str]:
    """Return the methods there are for a metric of so many classes."""
    is_share = isinstance(metric.exact_form(classes), Proportion | IncreasingFunction)
    has_odds = np.isfinite(metric.bounds).all()
    left_out = {*(() if is_share else BY_SHARE), *(() if has_odds else ("delta_logit",))}
    return [name for name in METHODS if name not in left_out]
