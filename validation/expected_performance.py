"""How often the bands of expected performance curves cover what thresholds chosen beforehand truly give."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import ndtr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.curves.bands import KINDS, band_of_marginal
from bayesperf.curves.expected_performance import criteria
from bayesperf.curves.expected_performance.curve import ExpectedPerformanceCurve
from bayesperf.curves.expected_performance.epc import epc
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.studies.interval_statistics import interval_outcomes, monte_carlo_means
from bayesperf.studies.run import run

# How the bands are drawn: the arguments of `bayesperf.epc`.
_BANDS: dict[str, dict[str, Any]] = {
    "posterior": {"prior": "flat"},
    "haldane": {"prior": "haldane"},
    "bootstrap": {"method": "bootstrap"},
    "both": {"prior": "flat", "resample": "both"},
}


def expected_performance(
    n: ArrayLike = (50, 500),
    *,
    separation: float = 2.0,
    criterion: str = "far_frr",
    metric: str | Metric = "hter",
    alphas: ArrayLike | None = None,
    draws: int = 1_000,
    simulations: int = 1_000,
    prob: float = 0.95,
    random_seed: Any = 0,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> xr.Dataset:
    """Return the coverage and width of bands around expected performance curves of normal scores.

    Each simulation draws a development and a test set: scores of negatives are N(0, 1), of positives N(separation, 1).
    Bands by "posterior" (with a flat prior), "haldane" (with none) and "bootstrap" should cover the metric that scores
    of these distributions have at the thresholds selected on the development set. For the band that resamples the
    development set too, "both_another" is about the metric at the thresholds selected on another development set, and
    "both_mean" about its mean over development sets.

    Parameters
    ----------
    n : array-like of int (k,)
        Examples of each class, in either set.
    separation : float
        Difference of the means.
    criterion, metric, draws
        As in `bayesperf.epc`.
    alphas : array-like (a,), optional
        By default 0.05, 0.10, …, 0.95.
    simulations : int
        Number of pairs of data sets for each `n`.
    prob : float
        Probability of the bands.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`): results depend on the seed alone, and a study with a `folder` can
        be interrupted, resumed and extended.

    Returns
    -------
    xarray.Dataset
        ``coverage``, how often the true metric lies below and above the band (``lower_miss``, ``upper_miss``), and mean
        ``width`` of pointwise bands over (analysis, n, alpha); ``whole_coverage`` of whole curves by simultaneous bands
        over (analysis, n); ``mean`` true performance over (n, alpha). Each has its Monte Carlo standard error
        (``coverage_mcse``, …). The settings are in ``attrs``.

    Examples
    --------
    >>> from validation.expected_performance import expected_performance
    >>> study = expected_performance(50, alphas=[0.3, 0.5], draws=200, simulations=20)
    >>> ratio = study["width"].sel(analysis="both_mean") / study["width"].sel(analysis="posterior")
    >>> bool((ratio > 1).all())
    True
    """
    sizes = [checks.count("n", size, least=2) for size in np.atleast_1d(n).tolist()]
    grid = criteria.grid(np.arange(1, 20) / 20 if alphas is None else alphas)
    checks.one_of("criterion", criterion, criteria.CRITERIA)
    resolved = single_valued(metric, [0, 1], 1)
    separation = checks.number("separation", separation)
    settings = {"n": sizes, "separation": separation, "criterion": criterion, "metric": resolved.name,
                "alphas": grid.tolist(), "draws": checks.count("draws", draws, least=2),
                "simulations": checks.count("simulations", simulations), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Any]:
        bands, true = [], []
        for size in sizes:
            y = np.repeat([0, 1], size)
            dev, test = ((y, rng.normal(separation * y)) for _ in range(2))
            options: dict[str, Any] = {"criterion": criterion, "metric": resolved, "alphas": grid, "draws": draws}
            seed = int(rng.integers(2**63))
            curves = [epc(dev, test, **options, **arguments, random_seed=seed) for arguments in _BANDS.values()]
            marginals = [curve.posterior[resolved] for curve in curves]
            bands.append([[band_of_marginal(marginal, prob, kind).values for kind in KINDS] for marginal in marginals])
            true.append(true_metric(curves[0], separation))
        return {"bands": np.array(bands), "true": np.array(true)}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    return _summary(results, settings, sizes, grid)


def true_metric(curve: ExpectedPerformanceCurve, separation: float) -> Array:
    """Return the metric (a,) of normal scores at the thresholds of a curve, with classes equally frequent."""
    negative, positive = ((ndtr(shift - curve.thresholds[0]), ndtr(curve.thresholds[0] - shift))
                          for shift in (0.0, separation))  # fmt: skip
    cells = np.stack([np.stack(row[::-1], -1) for row in (negative, positive)], -2)
    return curve.metric.evaluate(cells, 1)


def _summary(results: Mapping[str, Array], settings: dict[str, Any], sizes: list[int], grid: Array) -> xr.Dataset:
    """Return coverages and widths of bands (simulation, n, band, kind, alpha, 2)."""
    true, names = results["true"], list(_BANDS)
    # Each analysis is about a band and what it should cover, (simulation, n, alpha).
    analyses = {name: (name, true) for name in names if name != "both"}
    analyses["both_another"] = "both", np.roll(true, 1, axis=0)
    analyses["both_mean"] = "both", np.broadcast_to(true.mean(0), true.shape)
    bands = np.stack([results["bands"][:, :, names.index(name)] for name, _ in analyses.values()], 1)
    targets = np.stack([target for _, target in analyses.values()], 1)
    # (simulation, analysis, n, kind, alpha)
    outcomes = interval_outcomes(bands[..., 0], bands[..., 1], targets[..., None, :])
    pointwise, simultaneous = (KINDS.index(kind) for kind in ("pointwise", "simultaneous"))
    whole = outcomes["coverage"][..., simultaneous, :].all(-1)
    values = {name: outcome[..., pointwise, :] for name, outcome in outcomes.items()}
    means = monte_carlo_means(values | {"whole_coverage": whole, "mean": true})
    dims: dict[str, tuple[str, ...]] = dict.fromkeys(outcomes, ("analysis", "n", "alpha"))
    dims |= {"whole_coverage": ("analysis", "n"), "mean": ("n", "alpha")}
    variables = {name: (dims[name.removesuffix("_mcse")], mean) for name, mean in means.items()}
    return xr.Dataset(variables, {"analysis": list(analyses), "n": sizes, "alpha": grid}, settings)
