"""How often intervals for a binomial rate cover it: a finite sum, so no simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import stats

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.studies.methods import OF_RATES, chosen, of_rate
from bayesperf.studies.run import each

# Probabilities held at once.
_BLOCK = 2_000_000


def rate_coverage(
    n: ArrayLike = 100,
    methods: Sequence[str] | None = None,
    p: ArrayLike | None = None,
    confidence: float = 0.95,
    *,
    n_jobs: int | None = None,
) -> xr.Dataset:
    """Return the exact coverage and mean width of intervals for a rate: of accuracy, recall, precision, specificity.

    Of n trials with success probability p, k succeed with the binomial probability, and an interval I(k) covers with
    the sum of those probabilities over all k whose interval holds p.

    Parameters
    ----------
    n : int or array-like of int
        Trials. Several add a dim.
    methods : sequence of str, optional
        "wald", "wilson", "agresti_coull", "agresti_coull_add2", "clopper_pearson", "jeffreys" (those of
        `bayesperf.intervals.proportion`), and the posterior's highest-density and equal-tailed intervals "flat_hdi",
        "flat_eti", "jeffreys_hdi", "jeffreys_eti". By default all.
    p : array-like (k,), optional
        Rates in [0, 1]; by default .001, .002, …, .999.
    confidence : float
        Nominal coverage.
    n_jobs : int, optional
        How many of several n at once (joblib).

    Returns
    -------
    xarray.Dataset
        ``coverage`` and mean ``width`` over (method, p), or (method, n, p) for several n. The settings are in
        ``attrs``. (Select a method as ``.sel({"method": "wilson"})``: by keyword, xarray takes it for another thing.)

    Raises
    ------
    ValueError
        If there is no such method, or a rate is outside [0, 1].

    Notes
    -----
    Coverage is not smooth in p: it jumps wherever p enters or leaves an interval (Brown, Cai & DasGupta 2001,
    Statistical Science 16). "jeffreys" is "jeffreys_eti" under its frequentist name.

    Examples
    --------
    >>> from bayesperf import studies
    >>> study = studies.rate_coverage(50, ["wald", "wilson"], p=[0.02, 0.5])
    >>> study["coverage"].values.round(3)
    array([[0.635, 0.935], [0.922, 0.935]])
    """
    sizes = [checks.count("n", size) for size in np.atleast_1d(n).tolist()]
    rates = np.arange(1, 1000) / 1000 if p is None else checks.vector("p", p)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise ValueError(f"p must be rates in [0, 1]; it holds {rates[(rates < 0) | (rates > 1)][0]}.")
    names = chosen(methods, OF_RATES)
    settings = {"n": sizes, "methods": names, "confidence": checks.probability("confidence", confidence)}
    figures = np.stack(each(_exact, ((size, names, rates, confidence) for size in sizes), n_jobs), 1)
    dims = ("method", "n", "p")
    variables = {"coverage": (dims, figures[..., 0]), "width": (dims, figures[..., 1])}
    study = xr.Dataset(variables, {"method": names, "n": sizes, "p": rates}, settings)
    return study if np.ndim(n) else study.isel(n=0)


def _exact(n: int, names: Sequence[str], rates: Array, confidence: float) -> Array:
    """Return coverage and mean width, (method, p, 2)."""
    k = np.arange(n + 1)
    ends = np.stack([of_rate(name, k, n, confidence) for name in names])
    found = np.empty((len(names), len(rates), 2))
    step = max(_BLOCK // (n + 1), 1)
    for start in range(0, len(rates), step):
        block = slice(start, start + step)
        probability = np.asarray(stats.binom.pmf(k, n, rates[block, None]))
        found[:, block, 1] = (ends[..., 1] - ends[..., 0]) @ probability.T
        for i, (lower, upper) in enumerate(np.moveaxis(ends, -1, 1)):
            inside = (lower <= rates[block, None]) & (rates[block, None] <= upper)
            found[i, block, 0] = (probability * inside).sum(-1)
    return found
