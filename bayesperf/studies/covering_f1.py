"""How often intervals for F1 cover it: a finite sum over all matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.registry import get
from bayesperf.studies.interval_methods import BAYESIAN, METHODS, OF_PROPORTIONS, MonteCarlo, interval_names
from bayesperf.studies.running import OUTCOMES, interval_outcomes, parallel_map

# The intervals for F1 that need no simulation.
_EXACT = (*BAYESIAN, *OF_PROPORTIONS)
_GRID = np.arange(1, 20) / 20


def f1_coverage(
    n: int = 100,
    methods: Sequence[str] | None = ("flat_hdi", "flat_eti", "jeffreys_hdi", "jeffreys_eti", "wilson"),
    precision: ArrayLike = _GRID,
    recall: ArrayLike = _GRID,
    *,
    prevalence: float = 0.5,
    design: str = "joint",
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> xr.Dataset:
    """Return the exact coverage and mean width of intervals for F1, over precision and recall.

    Parameters
    ----------
    n : int
        Examples in a test set.
    methods : sequence of str
        Intervals of the posterior: "flat_hdi", "flat_eti", "jeffreys_hdi", "jeffreys_eti", "perks_hdi", "perks_eti";
        intervals for a proportion, applied to the Jaccard index J and mapped to F1 = 2J/(1 + J): "wald", "wilson",
        "clopper_pearson". None: all of them.
    precision, recall : array-like
        The system's precision and recall, above 0 and at most 1. Pairs that no system has at this prevalence (it would
        call more negatives positive than there are) are omitted: NaN.
    prevalence : float
        Proportion of positives.
    design : {"joint", "by_actual"}
        Whether the numbers of positives and negatives in a test set are random ("joint") or fixed ("by_actual").
    confidence : float
        Nominal coverage.
    n_jobs : int, optional
        Number of pairs of precision and recall computed in parallel (joblib).

    Returns
    -------
    xarray.Dataset
        ``coverage``, the probabilities that F1 lies below and above the interval (``lower_miss``, ``upper_miss``), and
        mean ``width`` over (interval, precision, recall), and the true ``f1``. The settings are in ``attrs``.

    Raises
    ------
    ValueError
        If there is no such interval, or a class would not have a whole number of examples in design "by_actual".

    Notes
    -----
    F1 and its intervals depend only on the number of true positives and the number of errors, FN + FP, so a sum over
    these two numbers is exact.

    Examples
    --------
    >>> from bayesperf import studies
    >>> study = studies.f1_coverage(200, ["flat_eti"], [0.4, 0.9], [0.5, 0.9])
    >>> study["coverage"].values.round(3)
    array([[[0.95 ,   nan], [0.951, 0.946]]])
    """
    checks.count("n", n)
    names = interval_names(methods, _EXACT)
    axes = {name: _rates(name, values) for name, values in {"precision": precision, "recall": recall}.items()}
    prevalence = checks.probability("prevalence", prevalence)
    checks.one_of("design", design, ("joint", "by_actual"))
    positives = round(n * prevalence)
    if design == "by_actual" and not np.isclose(n * prevalence, positives, rtol=0, atol=1e-9):
        raise InputError(
            "prevalence", f"{n} × {prevalence} positives is no whole number, and design 'by_actual' fixes it."
        )
    settings = {"n": n, "methods": names, "prevalence": prevalence, "design": design,
                "confidence": checks.probability("confidence", confidence)}  # fmt: skip
    p, r = np.meshgrid(*axes.values(), indexing="ij")
    true = 2 * p * r / (p + r)
    hits, errors = _outcomes(n, positives, design)
    lower, upper = np.moveaxis(_intervals(names, hits, errors, n, confidence), -1, 0)
    fpr = prevalence * r * (1 - p) / p / (1 - prevalence)
    possible = fpr <= 1 + 1e-12

    def figures_of(fpr: float, recall: float, true: float) -> Array:
        """Return the average of each of `OUTCOMES`, (4, interval)."""
        if design == "joint":
            probability = _joint(hits, errors, n, prevalence, fpr, recall)
        else:
            probability = _by_actual(hits, errors, n, positives, fpr, recall)
        return np.array([outcome @ probability for outcome in interval_outcomes(lower, upper, true).values()])

    figures = np.full((4, len(names), *p.shape), np.nan)
    systems = zip(np.minimum(fpr[possible], 1).tolist(), r[possible].tolist(), true[possible].tolist(), strict=True)
    if possible.any():
        figures[:, :, possible] = np.stack(parallel_map(figures_of, systems, n_jobs), -1)
    dims = ("interval", *axes)
    variables = {name: (dims, values) for name, values in zip(OUTCOMES, figures, strict=True)}
    return xr.Dataset(variables | {"f1": (tuple(axes), true)}, {"interval": names, **axes}, settings)


def _rates(name: str, values: ArrayLike) -> Array:
    rates = checks.vector(name, values)
    if not ((rates > 0) & (rates <= 1)).all():
        raise InputError(name, f"must be above 0 and at most 1; it holds {rates[(rates <= 0) | (rates > 1)][0]}.")
    return rates


def _outcomes(n: int, positives: int, design: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return all pairs of numbers of true positives and of errors that a test set can have."""
    hits, errors = np.indices((n + 1, n + 1)).reshape(2, -1)
    if design == "joint":
        possible = hits + errors <= n
    else:
        possible = (hits <= positives) & (errors >= positives - hits) & (errors <= n - hits)
    return hits[possible], errors[possible]


def _intervals(
    names: Sequence[str], hits: NDArray[np.intp], errors: NDArray[np.intp], n: int, confidence: float
) -> Array:
    """Return each interval for each outcome, (interval, outcome, 2)."""
    cm = ConfusionMatrix.from_counts(tp=hits, fn=errors, fp=0, tn=n - hits - errors)
    unused = MonteCarlo(draws=2, n_resamples=1, random_seed=0)
    return np.stack([METHODS[name](cm, get("f1"), confidence, unused) for name in names])


def _joint(
    hits: NDArray[np.intp], errors: NDArray[np.intp], n: int, prevalence: float, fpr: float, recall: float
) -> Array:
    """Return the probability of each outcome in test sets with random numbers of positives."""
    hit, error = prevalence * recall, prevalence * (1 - recall) + (1 - prevalence) * fpr
    cells = np.array([hit, error, max(1 - hit - error, 0.0)])
    outcomes = np.stack([hits, errors, n - hits - errors], -1)
    return np.asarray(stats.multinomial.pmf(outcomes, n, cells / cells.sum()))


def _by_actual(
    hits: NDArray[np.intp], errors: NDArray[np.intp], n: int, positives: int, fpr: float, recall: float
) -> Array:
    """Return the probability of each outcome in test sets with a fixed number of positives."""
    false_alarms = errors - (positives - hits)
    probability_of_hits = stats.binom.pmf(hits, positives, recall)
    return np.asarray(probability_of_hits * stats.binom.pmf(false_alarms, n - positives, fpr))
