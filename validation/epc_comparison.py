"""How often two systems are found to differ along their expected performance curves, whether they do or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.curves.bands import KINDS
from bayesperf.curves.expected_performance import criteria
from bayesperf.curves.expected_performance.comparison import QUESTIONS, epc_compare
from bayesperf.curves.expected_performance.epc import epc
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.studies.interval_statistics import monte_carlo_means
from bayesperf.studies.run import run
from validation.expected_performance import true_metric


def epc_comparison(
    n: ArrayLike = (100, 500),
    *,
    separations: Sequence[float] = (1.5, 1.5),
    correlation: float = 0.0,
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
    """Return how often two systems of normal scores are found to differ, by each question of `bayesperf.epc_compare`.

    Each simulation draws a development and a test set, on which both systems score the same examples: scores of
    negatives are N(0, 1), of positives N(separation, 1). Of systems with the same separation every difference that is
    found between the models is a false one.

    Parameters
    ----------
    n : array-like of int (k,)
        Examples of each class, in either set.
    separations : (float, float)
        Difference of the means, of either system.
    correlation : float
        Of the two systems' scores within a class.
    criterion, metric
        As in `bayesperf.epc`.
    alphas : array-like (a,), optional
        By default 0, 0.05, …, 1.
    draws : int
        Of each comparison.
    simulations : int
        Number of pairs of data sets for each `n`.
    prob : float
        Probability of the bands.
    random_seed, n_jobs, progressbar, folder
        As in every study (see `bayesperf.studies`).

    Returns
    -------
    xarray.Dataset
        Over (question, band, n, alpha): ``claims``, how often the band of the difference leaves out 0; ``coverage`` of
        the true difference, and mean ``width``. Over (question, band, n): ``any_claim``, how often it leaves out 0 at
        any α, and ``whole_coverage``, how often it covers the true difference at every α. The true difference is, for
        "thresholds", that at the thresholds chosen; for "models" its mean over development sets, 0 for systems of the
        same separation and else that of the simulations: ``difference`` over (n, alpha). Each has its Monte Carlo
        standard error (``claims_mcse``, …). The settings are in ``attrs``.

    Examples
    --------
    >>> from validation.epc_comparison import epc_comparison
    >>> study = epc_comparison(50, alphas=[0.05, 0.95], draws=200, simulations=20)
    >>> claims = study["claims"].sel(band="pointwise").mean("alpha")
    >>> bool((claims.sel(question="models") < claims.sel(question="thresholds")).all())
    True
    """
    sizes = [checks.count("n", size, least=2) for size in np.atleast_1d(n).tolist()]
    grid = criteria.grid(np.arange(21) / 20 if alphas is None else alphas)
    chosen = criteria.criterion_of(checks.one_of("criterion", criterion, criteria.CRITERIA))
    resolved = single_valued(metric, [0, 1], 1)
    shifts = checks.vector("separations", separations)
    if len(shifts) != 2:
        raise InputError("separations", f"must be two, of either system; they are {separations!r}.")
    if not -1 <= checks.number("correlation", correlation) <= 1:
        raise InputError("correlation", f"must be between -1 and 1; it is {correlation}.")
    settings = {"n": sizes, "separations": shifts.tolist(), "correlation": correlation, "criterion": chosen.name,
                "metric": resolved.name, "alphas": grid.tolist(), "draws": checks.count("draws", draws, least=2),
                "simulations": checks.count("simulations", simulations), "prob": checks.probability("prob", prob),
                "random_seed": checks.seed(random_seed)}  # fmt: skip

    def simulate(_: int, rng: np.random.Generator) -> Mapping[str, Any]:
        bands, true = [], []
        for size in sizes:
            sets = [_scores(rng, size, shifts, correlation) for _ in range(2)]
            curves = [epc(dev, test, criterion=criterion, metric=resolved, alphas=grid, progressbar=False)
                      for dev, test in zip(*sets, strict=True)]  # fmt: skip
            seed = int(rng.integers(2**63))
            compared = [epc_compare(*curves, question=of, draws=draws, random_seed=seed) for of in QUESTIONS]
            bands.append([[c.band(prob, kind)[resolved.name].values for kind in KINDS] for c in compared])
            true.append(np.subtract(*(true_metric(curve, shift) for curve, shift in zip(curves, shifts, strict=True))))
        return {"bands": np.array(bands), "true": np.array(true)}

    results = run(simulate, simulations, settings, n_jobs=n_jobs, progressbar=progressbar, folder=folder)
    return _summary(results, settings, sizes, grid)


def _scores(rng: np.random.Generator, size: int, shifts: Array, correlation: float) -> list[tuple[Any, Array]]:
    """Return the labels and both systems' scores of a data set."""
    y = np.repeat([0, 1], size)
    noise = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], 2 * size).T
    return [(y, shift * y + of_system) for shift, of_system in zip(shifts, noise, strict=True)]


def _summary(results: Mapping[str, Array], settings: dict[str, Any], sizes: list[int], grid: Array) -> xr.Dataset:
    """Return shares of bands (simulation, n, question, kind, alpha, 2) that leave out 0, and that cover the truth."""
    lower, upper = np.moveaxis(results["bands"], (-1, 1), (0, 4))
    alike = settings["separations"][0] == settings["separations"][1]
    mean = np.zeros_like(results["true"]) if alike else np.broadcast_to(results["true"].mean(0), results["true"].shape)
    # (simulation, question, 1, n, alpha)
    truth = np.stack([mean if of == "models" else results["true"] for of in QUESTIONS], 1)[:, :, None]
    claims, coverage = (lower > 0) | (upper < 0), (lower <= truth) & (truth <= upper)
    values = {"claims": claims, "coverage": coverage, "width": upper - lower, "any_claim": claims.any(-1),
              "whole_coverage": coverage.all(-1), "difference": results["true"]}  # fmt: skip
    means = monte_carlo_means(values)
    over = ("question", "band", "n", "alpha")
    dims: dict[str, tuple[str, ...]] = dict.fromkeys(("claims", "coverage", "width"), over)
    dims |= {"any_claim": over[:-1], "whole_coverage": over[:-1], "difference": over[2:]}
    variables = {name: (dims[name.removesuffix("_mcse")], value) for name, value in means.items()}
    coords = {"question": list(QUESTIONS), "band": list(KINDS), "n": sizes, "alpha": grid}
    return xr.Dataset(variables, coords, settings)
