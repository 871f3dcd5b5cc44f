"""How often intervals for a binomial rate cover it: a finite sum, so no simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import stats

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.metrics.exact_forms import Proportion
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import get
from bayesperf.studies.interval_methods import RateFunction, rate_intervals, rate_methods
from bayesperf.studies.running import OUTCOMES, interval_outcomes, parallel_map

# Largest number of probabilities in memory at once.
_BLOCK = 2_000_000


def rate_coverage(
    n: ArrayLike = 100,
    methods: Sequence[str | RateFunction] | None = None,
    p: ArrayLike | None = None,
    confidence: float = 0.95,
    *,
    metric: str | Metric = "recall",
    n_jobs: int | None = None,
) -> xr.Dataset:
    """Return the exact coverage and mean width of intervals for a rate of two classes, such as recall or accuracy.

    Among n trials with success probability p, k succeed with the binomial probability. The coverage of an interval I(k)
    is the sum of those probabilities over all k whose interval contains p.

    Parameters
    ----------
    n : int or array-like of int
        Number of trials. Several add a dim.
    methods : sequence of str or callable, optional
        "wald", "wilson", "agresti_coull", "agresti_coull_add2", "clopper_pearson", "jeffreys" (as in
        `bayesperf.intervals.proportion`), and the posterior's highest-density and equal-tailed intervals "flat_hdi",
        "flat_eti", "jeffreys_hdi", "jeffreys_eti". By default all of these. A weight λ in the name, such as
        "beta_0.3_hdi" or "beta_2_eti", means the posterior under a prior Beta(λ, λ) on the rate itself, whatever the
        metric. Your own interval is a function ``(k, n, confidence) -> (lower, upper)`` of k successes in n trials,
        called once for each k and named by its ``__name__``.
    p : array-like (k,), optional
        Rates in [0, 1]; by default .001, .002, …, .999.
    confidence : float
        Nominal coverage.
    metric : str or Metric
        The rate, a proportion of examples, which decides the weight that a prior of the whole matrix has in it. Recall,
        precision and specificity compare one cell with one other: flat cells make each Beta(1, 1), Jeffreys' Beta(½,
        ½). Accuracy compares two cells with two: Beta(2, 2) and Beta(1, 1). The frequentist intervals are the same for
        all.
    n_jobs : int, optional
        Number of values of `n` computed in parallel (joblib).

    Returns
    -------
    xarray.Dataset
        ``coverage``, the probabilities that p lies below and above the interval (``lower_miss``, ``upper_miss``), and
        mean ``width`` over (interval, p), or (interval, n, p) for several n. The settings are in ``attrs``.

    Raises
    ------
    ValueError
        If there is no such interval, a function returns none, a rate is outside [0, 1], or the metric is not a
        proportion.

    Notes
    -----
    Coverage is not smooth in p: it jumps wherever p enters or leaves an interval (Brown, Cai & DasGupta 2001,
    Statistical Science 16). For recall, precision and specificity "jeffreys" is another name of "jeffreys_eti".
    Accuracy is why two classes have Jeffreys' prior by default: under flat cells its Beta(2, 2) cannot reach 1.

    Examples
    --------
    >>> from bayesperf import studies
    >>> study = studies.rate_coverage(50, ["wald", "wilson"], p=[0.02, 0.5])
    >>> study["coverage"].values.round(3)
    array([[0.635, 0.935], [0.922, 0.935]])
    >>> of_accuracy = studies.rate_coverage(20, ["flat_hdi", "jeffreys_hdi"], p=[0.998], metric="accuracy")
    >>> of_accuracy["coverage"].values.round(3)
    array([[0.   ], [0.961]])
    >>> def rule_of_three(k, n, confidence):
    ...     return (0, -np.log(1 - confidence) / n) if k == 0 else (0, 1)
    >>> own = studies.rate_coverage(50, [rule_of_three, "beta_0.3_hdi"], p=[0.1])
    >>> own["interval"].values.tolist(), own["coverage"].values.round(3).ravel()
    (['rule_of_three', 'beta_0.3_hdi'], array([0.995, 0.957]))
    """
    sizes = [checks.count("n", size) for size in np.atleast_1d(n).tolist()]
    rates = np.arange(1, 1000) / 1000 if p is None else checks.vector("p", p)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise InputError("p", f"must be rates in [0, 1]; it holds {rates[(rates < 0) | (rates > 1)][0]}.")
    intervals, metric = rate_methods(methods), get(metric)
    proportion = metric.exact_form(2)
    if not isinstance(proportion, Proportion) or metric.needs == "ordered" or metric.average is not None:
        raise InputError("metric", f"{metric.name} is not a proportion of examples, as recall and accuracy are.")
    settings = {"n": sizes, "methods": list(intervals), "confidence": checks.probability("confidence", confidence),
                "metric": metric.name}  # fmt: skip
    figures = parallel_map(_exact, ((size, intervals, proportion, rates, confidence) for size in sizes), n_jobs)
    dims = ("interval", "n", "p")
    variables = {name: (dims, np.stack([of_size[name] for of_size in figures], 1)) for name in OUTCOMES}
    study = xr.Dataset(variables, {"interval": list(intervals), "n": sizes, "p": rates}, settings)
    return study if np.ndim(n) else study.isel(n=0)


def _exact(
    n: int, methods: Mapping[str, str | RateFunction], proportion: Proportion, rates: Array, confidence: float
) -> dict[str, Array]:
    """Return the average of each of `OUTCOMES`, (interval, p)."""
    k = np.arange(n + 1)
    bounds = np.stack([rate_intervals(method, proportion, k, n, confidence) for method in methods.values()])
    figures = {name: np.empty((len(methods), len(rates))) for name in OUTCOMES}
    step = max(_BLOCK // (n + 1), 1)
    for start in range(0, len(rates), step):
        block = slice(start, start + step)
        probability = np.asarray(stats.binom.pmf(k, n, rates[block, None]))
        figures["width"][:, block] = np.diff(bounds)[..., 0] @ probability.T
        for i, (lower, upper) in enumerate(np.moveaxis(bounds, -1, 1)):
            outcomes = interval_outcomes(lower, upper, rates[block, None])
            for name in ("coverage", "lower_miss", "upper_miss"):
                figures[name][i, block] = (probability * outcomes[name]).sum(-1)
    return figures
