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
from bayesperf.curves import ExpectedPerformanceCurve, epc
from bayesperf.curves.bands import KINDS, band_of_marginal
from bayesperf.curves.expected_performance import criteria
from bayesperf.metrics.registry import Metric, single_valued
from bayesperf.studies.run import run

# What draws the bands.
_BANDS: dict[str, dict[str, Any]] = {
    "posterior": {},
    "haldane": {"prior": "haldane"},
    "bootstrap": {"method": "bootstrap"},
    "both": {"resample": "both"},
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
    Bands by "posterior" (of a flat prior), "haldane" (of none) and "bootstrap" should cover the metric that scores of
    these distributions have at the thresholds chosen. Of the band that draws the development set too, "both_another" is
    how often it covers the metric at the thresholds that another development set chooses, and "both_mean" its mean over
    development sets.

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
        How many.
    prob : float
        Probability of the bands.
    random_seed, n_jobs, progressbar, folder
        As in every study: the figures depend on the seed only; with `folder` an interrupted study goes on where it
        stopped.

    Returns
    -------
    xarray.Dataset
        ``coverage`` and mean ``width`` of pointwise bands over (analysis, n, alpha), ``whole_coverage`` of simultaneous
        ones, of the whole curve, over (analysis, n), and ``mean`` true performance over (n, alpha); with their
        standard errors ``coverage_mcse``, ``width_mcse``, ``whole_coverage_mcse``, ``mean_mcse``. Settings are in
        ``attrs``.

    Examples
    --------
    >>> from bayesperf import studies
    >>> study = studies.expected_performance(50, alphas=[0.3, 0.5], draws=200, simulations=20)
    >>> ratio = study["width"].sel(analysis="both_mean") / study["width"].sel(analysis="posterior")
    >>> bool((ratio > 1).all())
    True
    """
    sizes = [checks.count("n", size, least=2) for size in np.atleast_1d(n).tolist()]
    grid = criteria.grid(np.arange(1, 20) / 20 if alphas is None else alphas)
    checks.one_of("criterion", criterion, criteria.CRITERIA)
    found = single_valued(metric, [0, 1], 1)
    separation = checks.number("separation", separation)
    settings = {"n": sizes, "separation": separation, "criterion": criterion, "metric": found.name,
                "alphas": grid.tolist(), "draws": checks.count("draws", draws, least=2),
                "simulations": checks.count("simulations", simulations), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Any]:
        bands, true = [], []
        for size in sizes:
            y = np.repeat([0, 1], size)
            dev, test = ((y, rng.normal(separation * y)) for _ in range(2))
            options: dict[str, Any] = {"criterion": criterion, "metric": found, "alphas": grid, "draws": draws}
            seed = int(rng.integers(2**63))
            curves = [epc(dev, test, **options, **own, random_seed=seed) for own in _BANDS.values()]
            marginals = [curve.posterior[found] for curve in curves]
            bands.append([[band_of_marginal(marginal, prob, kind).values for kind in KINDS] for marginal in marginals])
            true.append(_true(curves[0], separation))
        return {"bands": np.array(bands), "true": np.array(true)}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    return _summary(results, settings, sizes, grid)


def _true(curve: ExpectedPerformanceCurve, separation: float) -> Array:
    """Return the metric (a,) that normal scores have at the thresholds of a curve, if classes are equally frequent."""
    negative, positive = ((ndtr(shift - curve.thresholds[0]), ndtr(curve.thresholds[0] - shift))
                          for shift in (0.0, separation))  # fmt: skip
    cells = np.stack([np.stack(row[::-1], -1) for row in (negative, positive)], -2)
    return curve.metric.evaluate(cells, 1)


def _summary(results: Mapping[str, Array], settings: dict[str, Any], sizes: list[int], grid: Array) -> xr.Dataset:
    """Return coverages and widths of bands (simulation, n, band, kind, alpha, 2)."""
    true, (lower, upper) = results["true"], np.moveaxis(results["bands"], -1, 0)
    places = {name: i for i, name in enumerate(_BANDS)}
    rows = {name: (place, true) for name, place in places.items() if name != "both"}
    rows["both_another"] = places["both"], np.roll(true, 1, axis=0)
    rows["both_mean"] = places["both"], np.broadcast_to(true.mean(0), true.shape)
    bounds = [(lower[:, :, place], upper[:, :, place], target[:, :, None]) for place, target in rows.values()]
    covered = np.stack([(low <= target) & (target <= high) for low, high, target in bounds], 1)
    width = np.stack([high - low for low, high, _ in bounds], 1)
    each = {
        "coverage": (("analysis", "n", "alpha"), covered[..., 0, :]),
        "width": (("analysis", "n", "alpha"), width[..., 0, :]),
        "whole_coverage": (("analysis", "n"), covered[..., 1, :].all(-1)),
        "mean": (("n", "alpha"), true),
    }
    variables = {name: (dims, values.mean(0)) for name, (dims, values) in each.items()}
    variables |= {f"{name}_mcse": (dims, values.std(0) / np.sqrt(len(values))) for name, (dims, values) in each.items()}
    return xr.Dataset(variables, {"analysis": list(rows), "n": sizes, "alpha": grid}, settings)
