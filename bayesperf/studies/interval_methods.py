"""The intervals that studies compare, by name."""

from __future__ import annotations

import re
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
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.beta import Beta
from bayesperf.intervals.proportions import METHODS as FREQUENTIST_OF_PROPORTIONS
from bayesperf.metrics.arguments import ARGUMENTS
from bayesperf.metrics.exact_forms import IncreasingFunction, Proportion
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.posterior_of_counts import posterior
from bayesperf.posteriors.prior import IN_EVERY_CELL

KINDS = ("hdi", "eti")


def interval_names(methods: Sequence[str] | None, available: Sequence[str]) -> list[str]:
    """Return the names of the intervals to study: those listed, or all that are available."""
    if methods is None:
        return list(available)
    if isinstance(methods, str):
        raise InputTypeError(
            "methods", f"must be a sequence of names; it is the string {methods!r}.", f"Write [{methods!r}]."
        )
    names = [checks.one_of("methods", name, available) for name in methods]
    if not names or len(set(names)) < len(names):
        raise InputError("methods", f"must name at least one, and none twice; they are {list(methods)}.")
    return names


# ── Intervals for a rate ──

OF_RATES = (*FREQUENTIST_OF_PROPORTIONS, *(f"{prior}_{kind}" for prior, kind in product(("flat", "jeffreys"), KINDS)))


# The posterior's under a prior Beta(λ, λ) of the rate itself.
_OF_WEIGHT = re.compile(r"beta_(.+)_(?:hdi|eti)")
# From successes, trials and confidence to the lower and the upper limit.
RateFunction = Callable[[int, int, float], tuple[float, float]]


def rate_methods(methods: Sequence[str | RateFunction] | None) -> dict[str, str | RateFunction]:
    """Return the intervals for a rate by name: the listed ones, functions under their own names, or all available."""
    if methods is None or isinstance(methods, str):
        names = interval_names(methods, OF_RATES)
        return dict(zip(names, names, strict=True))
    called = [getattr(each, "__name__", repr(each)) if callable(each) else each for each in methods]
    own = [name for name, each in zip(called, methods, strict=True) if callable(each) or _weight(name)]
    return dict(zip(interval_names(called, [*OF_RATES, *own]), methods, strict=True))


def _weight(name: Any) -> float | None:
    """Return λ of a prior Beta(λ, λ) in the name of an interval, if there is one."""
    found = _OF_WEIGHT.fullmatch(str(name))
    if found is None:
        return None
    try:
        weight = float(found[1])
    except ValueError:
        raise InputError("methods", f"{name!r} must name a weight, as 'beta_0.3_hdi' does.") from None
    return checks.beta_weight(f"methods: the weight in {name!r}", weight)


def rate_intervals(
    method: str | RateFunction, proportion: Proportion, successes: NDArray[np.int64], trials: int, confidence: float
) -> Array:
    """Return the interval for a proportion of two classes at each number of successes, (k, 2)."""
    if callable(method):
        return np.array([_limits(method, k, trials, confidence) for k in successes.tolist()])
    if method in FREQUENTIST_OF_PROPORTIONS:
        return _proportion_intervals(successes, np.full_like(successes, trials), method, confidence)
    k, (prior, *_, kind) = successes.astype(float)[:, None], method.split("_")
    weight = _weight(method)
    on_each_side = [
        IN_EVERY_CELL[prior] * _number_of_cells(side) if weight is None else weight
        for side in (proportion.success, proportion.failure)
    ]
    beta = Beta(k + on_each_side[0], trials - k + on_each_side[1])
    tails = np.array([[(1 - confidence) / 2, (1 + confidence) / 2]])
    return beta.hdi(confidence) if kind == "hdi" else beta.ppf(tails)


def _limits(function: RateFunction, k: int, n: int, confidence: float) -> Array:
    """Return the limits that a function computes, (2,)."""
    limits = np.asarray(function(k, n, confidence))
    if limits.shape != (2,) or limits.dtype.kind not in "iuf" or not limits[0] <= limits[1]:
        raise InputError(
            "methods",
            f"a function (k, n, confidence) must return the lower and the upper limit; of ({k}, "
            f"{n}, {confidence:g}) it returned {limits.tolist()!r}.",
        )
    return limits.astype(float)


def _number_of_cells(names: Sequence[str]) -> int:
    """Return how many of the four cells these arguments of a metric sum."""
    return int(sum(ARGUMENTS[name](np.ones((2, 2)), 1) for name in names))


def _proportion_intervals(successes: NDArray[Any], trials: NDArray[Any], method: str, confidence: float) -> Array:
    with warnings.catch_warnings():
        # A warning says that an interval has no width: the study counts these.
        warnings.simplefilter("ignore")
        return np.asarray(intervals.proportion(successes, trials, confidence=confidence, method=method))


# ── Intervals for any metric ──


@dataclass(frozen=True)
class MonteCarlo:
    """Settings of intervals that need simulation: draws of a posterior, resamples of a bootstrap, and a seed."""

    draws: int
    n_resamples: int
    random_seed: int


# Matrices, metric and confidence to intervals (…, 2).
IntervalMethod = Callable[[ConfusionMatrix, Metric, float, MonteCarlo], Array]


def _credible(
    cm: ConfusionMatrix, metric: Metric, confidence: float, simulation: MonteCarlo, *, prior: str, kind: Any
) -> Array:
    result = posterior(cm, prior, draws=simulation.draws, random_seed=simulation.random_seed)
    return result[metric].interval(confidence, kind).values


def _of_proportion(cm: ConfusionMatrix, metric: Metric, confidence: float, _: MonteCarlo, *, method: str) -> Array:
    """Return the interval of the proportion that the metric equals, or is an increasing function of."""
    form = metric.exact_form(len(cm.labels))
    assert isinstance(form, Proportion | IncreasingFunction)
    proportion = form if isinstance(form, Proportion) else form.proportion
    cells, position = cm.counts.values, 1 if cm.positive is None else cm.positive
    successes, failures = (
        np.sum([ARGUMENTS[name](cells, position) for name in names], 0)
        for names in (proportion.success, proportion.failure)
    )
    limits = _proportion_intervals(successes, successes + failures, method, confidence)
    return limits if isinstance(form, Proportion) else np.asarray(form.forward(limits))


def _delta(
    cm: ConfusionMatrix, metric: Metric, confidence: float, _: MonteCarlo, *, transform: str | None = None
) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(intervals.delta(cm, metric, confidence=confidence, transform=transform))


def _bootstrap(cm: ConfusionMatrix, metric: Metric, confidence: float, simulation: MonteCarlo, *, method: str) -> Array:
    resamples, seed = simulation.n_resamples, simulation.random_seed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(intervals.bootstrap(cm, metric, confidence, method, resamples, seed, progressbar=False))


BAYESIAN: dict[str, IntervalMethod] = {
    f"{prior}_{kind}": partial(_credible, prior=prior, kind=kind)
    for prior, kind in product(("flat", "jeffreys", "perks"), KINDS)
}
OF_PROPORTIONS: dict[str, IntervalMethod] = {
    method: partial(_of_proportion, method=method) for method in ("wald", "wilson", "clopper_pearson")
}
METHODS: dict[str, IntervalMethod] = {
    **BAYESIAN,
    **OF_PROPORTIONS,
    "delta": _delta,
    "delta_logit": partial(_delta, transform="logit"),
    "bootstrap_percentile": partial(_bootstrap, method="percentile"),
    "bootstrap_basic": partial(_bootstrap, method="basic"),
    "bootstrap_bca": partial(_bootstrap, method="bca"),
}


def applicable(metric: Metric, classes: int) -> list[str]:
    """Return the names of the intervals available for a metric, given the number of classes."""
    is_proportion = isinstance(metric.exact_form(classes), Proportion | IncreasingFunction)
    has_odds = np.isfinite(metric.bounds).all()
    unavailable = {*(() if is_proportion else OF_PROPORTIONS), *(() if has_odds else ("delta_logit",))}
    return [name for name in METHODS if name not in unavailable]
