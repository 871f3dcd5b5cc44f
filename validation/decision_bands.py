"""How often the bands of decision curves cover the whole curve, and each of its points."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans
from bayesperf.core.errors import InputError
from bayesperf.curves.bands import KINDS
from bayesperf.curves.decisions.curve import decision_curve
from bayesperf.curves.decisions.decision_data import EVEN, checked_thresholds
from bayesperf.studies.interval_statistics import interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

# Points at which the distribution of risks is integrated, in standard deviations.
_NODES = np.linspace(-9, 9, 40_001)
_WEIGHTS = np.diff(ndtr(np.r_[-np.inf, (_NODES[1:] + _NODES[:-1]) / 2, np.inf]))


def decision_bands(
    prevalence: ArrayLike = (0.05, 0.3),
    n: ArrayLike = (100, 1000),
    simulations: int = 1000,
    *,
    spread: float = 1.5,
    slope: float = 1.0,
    thresholds: ArrayLike | None = None,
    prob: float = 0.95,
    draws: int = 4000,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of the bands of decision curves.

    True risks are logit-normal: logits Normal(μ, spread²), μ such that their mean is the prevalence; the system says
    risks whose logits are `slope` times the true ones, so that it is calibrated with a slope of 1 and overconfident
    with more. A simultaneous band should hold the whole true curve over the thresholds with frequency `prob`, a
    pointwise one each of its points.

    Parameters
    ----------
    prevalence : array-like (k,)
        Shares of positives.
    n : array-like (l,)
        Numbers of examples. Data sets of one class are drawn again.
    simulations : int
        Number of data sets of each prevalence and number of examples.
    spread : float
        Standard deviation of the logits of risks.
    slope : float
        By what the system multiplies the logits.
    thresholds : array-like (T,), optional
        As of `bayesperf.decision_curve`.
    prob : float
        Probability of the bands.
    draws : int
        Curves drawn for a band.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``coverage`` of whole curves, and the mean ``width`` along the curve, over (kind, prevalence, n);
        ``coverage_at`` of single points, over ``threshold`` too; each with its Monte Carlo standard error
        (``coverage_mcse``, …); and the true ``net_benefit`` over (prevalence, threshold). The settings are in
        ``attrs``.

    Raises
    ------
    ValueError
        If a prevalence is not between 0 and 1, there are fewer than two examples, or spread or slope are not positive.

    Notes
    -----
    Of 400 data sets each (slope 1, spread 1.5, prevalences .02, .1 and .3; slope 2, spread 1, prevalences .1 and .5)
    95 % simultaneous bands covered, in percent:

    ====================== ======= ========= ==========
    slope, prevalence      n = 100 n = 1,000 n = 10,000
    ====================== ======= ========= ==========
    1, .02                 98.8    96.3      92.0
    1, .1                  94.5    94.0      92.7
    1, .3                  92.2    93.5      94.5
    2, .1                  96.5    93.2      92.0
    2, .5                  94.0    95.8      94.3
    ====================== ======= ========= ==========

    with a Monte Carlo error of about 1.3. Where they miss, few examples have probabilities that high.

    Examples
    --------
    >>> from validation.decision_bands import decision_bands
    >>> study = decision_bands([0.3], [100], simulations=20, draws=400)
    >>> study["coverage_at"].sel(kind="pointwise").mean().round(2).item()
    0.97
    """
    shares = [checks.probability("prevalence", value) for value in checks.vector("prevalence", prevalence).tolist()]
    sizes = [checks.count("n", size, least=2) for size in np.atleast_1d(n).tolist()]
    sd, factor = (_positive(name, value) for name, value in {"spread": spread, "slope": slope}.items())
    cuts = EVEN if thresholds is None else checked_thresholds(thresholds)
    settings = {"prevalence": shares, "n": sizes, "simulations": checks.count("simulations", simulations),
                "spread": sd, "slope": factor, "thresholds": cuts.tolist(), "prob": checks.probability("prob", prob),
                "draws": checks.count("draws", draws, least=2),
                "random_seed": checks.seed(random_seed)}  # fmt: skip
    means = [brentq(lambda mean, share=share: _prevalence(mean, sd) - share, -40, 40) for share in shares]
    true = np.stack([_net_benefit(mean, sd, factor, cuts) for mean in means])

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Array]:
        bounds = np.empty((len(KINDS), len(means), len(sizes), len(cuts), 2))
        for i, mean in enumerate(means):
            for j, size in enumerate(sizes):
                actual, logits = _examples(mean, sd, size, rng)
                curve = decision_curve(actual, expit(factor * logits), thresholds=cuts, draws=draws, random_seed=rng)
                bounds[:, i, j] = [curve.band(prob, kind)["net_benefit"] for kind in KINDS]
        return {"bands": bounds}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    lower, upper = np.moveaxis(results["bands"], -1, 0)
    of_points = interval_outcomes(lower, upper, true[:, None])
    whole = {"coverage": of_points["coverage"].all(-1), "width": of_points["width"].mean(-1)}
    found = monte_carlo_means(whole, np.isfinite(upper).all(-1))
    found |= monte_carlo_means({"coverage_at": of_points["coverage"]}, np.isfinite(upper))
    coords = {"kind": list(KINDS), "prevalence": shares, "n": sizes, "threshold": cuts}
    variables = {name: (tuple(coords)[: values.ndim], values) for name, values in found.items()}
    return xr.Dataset(variables | {"net_benefit": (("prevalence", "threshold"), true)}, coords, settings)


def _positive(name: str, value: Any) -> float:
    if not 0 < checks.number(name, value) < np.inf:
        raise InputError(name, f"must be above 0 and finite; it is {value!r}.")
    return float(value)


def _prevalence(mean: float, spread: float) -> float:
    return float(expit(mean + spread * _NODES) @ _WEIGHTS)


def _examples(mean: float, spread: float, n: int, rng: np.random.Generator) -> tuple[Booleans, Array]:
    """Return labels of both classes, and the logits of their risks, (n,) each."""
    while True:
        logits = rng.normal(mean, spread, n)
        actual = rng.random(n) < expit(logits)
        if actual.any() and not actual.all():
            return actual, logits


def _net_benefit(mean: float, spread: float, slope: float, thresholds: Array) -> Array:
    """Return the true net benefit at thresholds."""
    from_node = np.searchsorted(_NODES, (logit(thresholds) / slope - mean) / spread)
    of_positives = expit(mean + spread * _NODES) * _WEIGHTS
    above = [np.r_[0, weights[::-1].cumsum()][::-1][from_node] for weights in (of_positives, _WEIGHTS - of_positives)]
    return np.asarray(above[0] - above[1] * thresholds / (1 - thresholds))
