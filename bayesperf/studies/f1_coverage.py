"""How often intervals for F1 cover it: a finite sum over all matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.metrics.registry import get
from bayesperf.studies.methods import BAYESIAN, BY_SHARE, METHODS, Effort, chosen
from bayesperf.studies.run import each

# Those that need no draws.
_KNOWN = (*BAYESIAN, *BY_SHARE)
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
        those of a proportion, of the Jaccard index J and carried over to F1 = 2J/(1 + J): "wald", "wilson",
        "clopper_pearson". None: all of them.
    precision, recall : array-like
        The system's, above 0 and at most 1. Those that no system has at this prevalence (it would call more negatives
        positive than there are) are left out: NaN.
    prevalence : float
        Share of positives.
    design : {"joint", "by_actual"}
        Whether test sets are of n examples as they come, or of so many of each class.
    confidence : float
        Nominal coverage.
    n_jobs : int, optional
        How many pairs of precision and recall at once (joblib).

    Returns
    -------
    xarray.Dataset
        ``coverage`` and mean ``width`` over (method, precision, recall), and the true ``f1``. The settings are in
        ``attrs``.

    Raises
    ------
    ValueError
        If there is no such method, or a class would not have a whole number of examples in design "by_actual".

    Notes
    -----
    F1 and its intervals depend on the true positives and on the number of errors on positives, FN + FP, alone, so that
    a sum over these two numbers is exact.

    Examples
    --------
    >>> from bayesperf import studies
    >>> study = studies.f1_coverage(200, ["flat_eti"], [0.4, 0.9], [0.5, 0.9])
    >>> study["coverage"].values.round(3)
    array([[[0.95 ,   nan], [0.951, 0.946]]])
    """
    checks.count("n", n)
    names = chosen(methods, _KNOWN)
    axes = {name: _shares(name, values) for name, values in {"precision": precision, "recall": recall}.items()}
    share = checks.probability("prevalence", prevalence)
    checks.one_of("design", design, ("joint", "by_actual"))
    if design == "by_actual" and not np.isclose(n * share, round(n * share), rtol=0, atol=1e-9):
        raise ValueError(f"prevalence: {n} × {share} positives is no whole number, and design 'by_actual' fixes it.")
    settings = {"n": n, "methods": names, "prevalence": share, "design": design,
                "confidence": checks.probability("confidence", confidence)}  # fmt: skip
    p, r = np.meshgrid(*axes.values(), indexing="ij")
    true = 2 * p * r / (p + r)
    positives = round(n * share)
    hits, errors = _outcomes(n, positives, design)
    ends = _intervals(names, hits, errors, n, confidence)
    found = np.full((2, len(names), *p.shape), np.nan)
    # Of all examples: false positives as a share of the negatives.
    fpr = share * r * (1 - p) / p / (1 - share)
    possible = fpr <= 1 + 1e-12

    def at(fpr: float, recall: float, true: float) -> Array:
        """Return coverage and mean width, (2, method)."""
        if design == "joint":
            probability = _joint(hits, errors, n, share, fpr, recall)
        else:
            probability = _by_actual(hits, errors, n, positives, fpr, recall)
        covered = (ends[..., 0] <= true) & (true <= ends[..., 1])
        return np.array([covered @ probability, (ends[..., 1] - ends[..., 0]) @ probability])

    systems = zip(np.minimum(fpr[possible], 1).tolist(), r[possible].tolist(), true[possible].tolist(), strict=True)
    if possible.any():
        found[:, :, possible] = np.stack(each(at, systems, n_jobs), -1)
    dims = ("method", *axes)
    variables = {"coverage": (dims, found[0]), "width": (dims, found[1]), "f1": (tuple(axes), true)}
    return xr.Dataset(variables, {"method": names, **axes}, settings)


def _shares(name: str, values: ArrayLike) -> Array:
    found = checks.vector(name, values)
    if not ((found > 0) & (found <= 1)).all():
        raise ValueError(f"{name} must be above 0 and at most 1; it holds {found[(found <= 0) | (found > 1)][0]}.")
    return found


def _outcomes(n: int, positives: int, design: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return every number of true positives, with every number of errors on positives, that a test set can have."""
    hits, errors = np.indices((n + 1, n + 1)).reshape(2, -1)
    if design == "joint":
        possible = hits + errors <= n
    else:
        possible = (hits <= positives) & (errors >= positives - hits) & (errors <= n - hits)
    return hits[possible], errors[possible]


def _intervals(
    names: Sequence[str], hits: NDArray[np.intp], errors: NDArray[np.intp], n: int, confidence: float
) -> Array:
    """Return the intervals of each method and outcome, (method, outcome, 2)."""
    cm = ConfusionMatrix.from_counts(tp=hits, fn=errors, fp=0, tn=n - hits - errors)
    effort = Effort(draws=2, n_resamples=1, random_seed=0)
    return np.stack([METHODS[name](cm, get("f1"), confidence, effort) for name in names])


def _joint(
    hits: NDArray[np.intp], errors: NDArray[np.intp], n: int, prevalence: float, fpr: float, recall: float
) -> Array:
    hit, error = prevalence * recall, prevalence * (1 - recall) + (1 - prevalence) * fpr
    shares = np.array([hit, error, max(1 - hit - error, 0.0)])
    outcomes = np.stack([hits, errors, n - hits - errors], -1)
    return np.asarray(stats.multinomial.pmf(outcomes, n, shares / shares.sum()))


def _by_actual(
    hits: NDArray[np.intp], errors: NDArray[np.intp], n: int, positives: int, fpr: float, recall: float
) -> Array:
    false_alarms = errors - (positives - hits)
    of_hits = stats.binom.pmf(hits, positives, recall)
    return np.asarray(of_hits * stats.binom.pmf(false_alarms, n - positives, fpr))
