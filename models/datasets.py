"""Cross-validated scores of two systems on several data sets, and the prediction for the next data set.

For data set i, d_if is the score of the first system minus the score of the second in fold f of n. Folds share training
examples, so their differences are correlated, with a given ρ: the fraction of examples tested in a fold.

    d_i ~ Normal(δ_i, σ_i² [(1 − ρ) I + ρ 11ᵀ])
    δ_i ~ StudentT(ν, δ_0, σ_0)              data sets differ, some of them strongly

The mean and the scatter of each data set's folds are sufficient statistics. A Student-t distribution is a normal
distribution with a random precision; the normal part is integrated out, so that sampling is efficient whether data sets
differ by much or by little:

    w_i       ~ Gamma(ν/2, ν/2)
    mean_i    ~ Normal(δ_0, √(σ_0²/w_i + e_i²)),    e_i² = σ_i² (1 + (n − 1) ρ)/n
    scatter_i ~ σ_i² (1 − ρ) χ²_{n−1}

The differences δ_i are then drawn by conjugacy, between the population mean and the mean of the data set (`recover`).

All quantities are in units of the typical standard deviation within a data set, so that the priors are suitable for
scores from 0 to 1 as well as for percentages; `average`, `spread_of_datasets`, `difference` and `next_difference` are
in the units of the scores. The model has no cells, because the data are scores of any metric.

The priors are proper and wide. Those of the source are uniform: over ±max|d| for δ_0, and up to 1000 standard
deviations for σ_0, about which two or three data sets contain almost no information; they can be specified by name.

Source: Corani, Benavoli, Demšar, Mangili & Zaffalon (2017), Machine Learning 106, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pymc.logprob.transforms import Transform
from scipy.stats import gamma, loggamma, norm

from bayesperf.models.building import prior_variables

DATA = "fold scores"
OPTIONS = {"test_fraction": "probability"}
PRIORS = {
    "center": pm.Normal.dist(0, 5),
    "spread": pm.HalfStudentT.dist(3, 2.5),
    "noise": pm.LogNormal.dist(0, 1),
    # The source has hyperpriors on both parameters; Gamma(1.5, 0.055) is near their centre.
    "tail": pm.Gamma.dist(1.5, 0.05),
}


class _Standardised(Transform):  # type: ignore[misc]
    """The transform √α log w of a weight w ~ Gamma(α, α).

    Its standard deviation is about 1 for every α, which avoids a funnel.
    """

    name = "standardised"

    def forward(self, value: Any, rng: Any, size: Any, alpha: Any, scale: Any) -> Any:
        return pm.math.log(value) * pm.math.sqrt(alpha)

    def backward(self, value: Any, rng: Any, size: Any, alpha: Any, scale: Any) -> Any:
        return pm.math.exp(value / pm.math.sqrt(alpha))

    def log_jac_det(self, value: Any, rng: Any, size: Any, alpha: Any, scale: Any) -> Any:
        return value / pm.math.sqrt(alpha) - pm.math.log(alpha) / 2


def build(
    data: xr.DataArray, priors: Mapping[str, Any] | None = None, *, test_fraction: float | None = None
) -> pm.Model:
    """Return the model of scores.

    Parameters
    ----------
    data : xarray.DataArray
        Scores with dims ``dataset``, ``model`` (of size two) and ``fold``.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name.
    test_fraction : float, optional
        Fraction of a data set's examples that each fold tests; by default 1/(number of folds). For repeated
        cross-validation with k folds it is 1/k.
    """
    correlation, of_mean, degrees = _folds(data, test_fraction)
    unit, mean, squares = _sufficient(data)
    variable = prior_variables(PRIORS, priors)
    with pm.Model(coords={"dataset": data["dataset"].values}) as model:
        center, spread, tail = (variable(name, []) for name in ("center", "spread", "tail"))
        noise = variable("noise", ["dataset"])
        half = (1 + tail) / 2
        weight = pm.Gamma("weight", alpha=half, beta=half, dims="dataset", default_transform=_Standardised())

        means = pm.Data("mean_data", mean.values, dims="dataset")
        sigma = pm.math.sqrt(spread**2 / weight + of_mean * noise**2)
        pm.Normal("mean", mu=center, sigma=sigma, observed=means, dims="dataset")
        scatter = pm.Data("scatter_data", squares.values, dims="dataset")
        beta = 1 / (2 * noise**2 * (1 - correlation))
        pm.Gamma("scatter", alpha=degrees / 2, beta=beta, observed=scatter, dims="dataset")

        scale = pm.Data("unit", unit)
        pm.Deterministic("average", scale * center)
        pm.Deterministic("spread_of_datasets", scale * spread)
    return model


def _folds(data: xr.DataArray, test_fraction: float | None) -> tuple[float, float, int]:
    """Return ρ, the variance of the mean over folds relative to a fold's, and the degrees of freedom of the scatter."""
    n = data.sizes["fold"]
    correlation = 1 / n if test_fraction is None else test_fraction
    return correlation, (1 + (n - 1) * correlation) / n, n - 1


def _sufficient(data: xr.DataArray) -> tuple[float, xr.DataArray, xr.DataArray]:
    """Return the unit, and the mean and the scatter of each data set's differences in that unit."""
    differences = data.isel(model=0, drop=True) - data.isel(model=1, drop=True)
    unit = float(np.mean(differences.std("fold", ddof=1)))
    mean = (differences / unit).mean("fold")
    return unit, mean, ((differences / unit - mean) ** 2).sum("fold")


def recover(
    posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, *, test_fraction: float | None = None
) -> dict[str, xr.DataArray]:
    """Draw the ``difference`` of each data set and the ``next_difference`` of a new one."""
    unit = posterior["spread_of_datasets"] / posterior["spread"]
    mean, variance = posterior["center"], posterior["spread"] ** 2 / posterior["weight"]
    if data.any():  # For draws from the prior all scores are 0, which means that nothing was observed.
        _, of_mean, _ = _folds(data, test_fraction)
        weight = variance / (variance + of_mean * posterior["noise"] ** 2)
        mean, variance = mean + weight * (_sufficient(data)[1] - mean), variance * (1 - weight)
    observed = variance.copy(data=rng.standard_normal(variance.shape))
    new = unit.copy(data=rng.standard_t(1 + posterior["tail"].values))
    return {
        "difference": unit * (mean + np.sqrt(variance) * observed),
        "next_difference": posterior["average"] + posterior["spread_of_datasets"] * new,
    }


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray, *, test_fraction: float | None = None) -> xr.DataArray:
    """Return the log-likelihood of each data set's mean and scatter, in units of the typical standard deviation.

    The difference and weight of a data set are integrated out, because they are unknown if it is left out. The weight
    is integrated by the trapezoidal rule, with points that are dense where the density of the standardised weight is
    steep.
    """
    correlation, of_mean, degrees = _folds(data, test_fraction)
    _, mean, squares = _sufficient(data)
    variance = posterior["noise"] ** 2
    half = (1 + posterior["tail"]) / 2

    def log_integrand(z: float) -> xr.DataArray:
        log_weight = np.sinh(z) / np.sqrt(half)
        sigma = np.sqrt(posterior["spread"] ** 2 * np.exp(-log_weight) + of_mean * variance)
        density: xr.DataArray = xr.apply_ufunc(loggamma.logpdf, log_weight + np.log(half), half)
        given_weight: xr.DataArray = xr.apply_ufunc(norm.logpdf, mean, posterior["center"], sigma)
        return given_weight + density + float(np.log(np.cosh(z)))

    points, step = np.linspace(-4.6, 3, 81, retstep=True)
    of_means = reduce(xr.ufuncs.logaddexp, map(log_integrand, points)) + np.log(step) - np.log(half) / 2
    of_scatter: xr.DataArray = xr.apply_ufunc(gamma.logpdf, squares, degrees / 2, 0, 2 * variance * (1 - correlation))
    total: xr.DataArray = of_means + of_scatter
    return total.transpose("chain", "draw", "dataset")
