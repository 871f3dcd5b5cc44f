"""Two systems' cross-validated scores on several data sets, and what the next data set will show.

For data set i, d_if = score of the first system − score of the second in fold f of n. Folds share training examples, so
their differences are correlated, with a given ρ: the share of examples tested in a fold.

    d_i ~ Normal(δ_i, σ_i² [(1 − ρ) I + ρ 11ᵀ])
    δ_i ~ StudentT(ν, δ_0, σ_0)              data sets differ, some widely

The mean and the scatter of each data set's folds say all that the folds say:

    mean_i    ~ Normal(δ_i, σ_i √((1 + (n − 1) ρ)/n))
    scatter_i ~ σ_i² (1 − ρ) χ²_{n−1}

Everything is in units of the typical standard deviation within a data set, so that the priors suit a share as well as
a percentage; `average`, `spread_of_datasets`, `difference` and `next_difference` are in the units of the scores.
There are no cells: the data are scores of any metric.

The priors are proper and wide. The source's are uniform: over ±max|d| on δ_0 and up to 1000 standard deviations on σ_0,
where two or three data sets say almost nothing; they can be given by name.

Source: Corani, Benavoli, Demšar, Mangili & Zaffalon (2017), Machine Learning 106, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from scipy.stats import gamma, norm

from ._parts import chosen

# Smaller steps than those of other models: the population's tails are long.
TARGET_ACCEPT = 0.995
PRIORS = {
    "center": pm.Normal.dist(0, 5),
    "spread": pm.HalfStudentT.dist(3, 2.5),
    "noise": pm.LogNormal.dist(0, 1),
    # About the middle of the source's hyperpriors, Gamma(1.5, 0.055).
    "tail": pm.Gamma.dist(1.5, 0.05),
}


def build(
    data: xr.DataArray, priors: Mapping[str, Any] | None = None, *, test_fraction: float | None = None
) -> pm.Model:
    """Return the model of scores.

    Parameters
    ----------
    data : xarray.DataArray
        Scores, dims ``dataset``, ``model`` (two) and ``fold``.
    priors : mapping, optional
        Instead of `PRIORS`, by name.
    test_fraction : float, optional
        Share of a data set's examples that a fold tests; by default 1/(number of folds). For repeated cross-validation
        with k folds it is 1/k.
    """
    n = data.sizes["fold"]
    rho = 1 / n if test_fraction is None else test_fraction
    unit, mean, squares = _sufficient(data)
    random = chosen(PRIORS, priors)
    with pm.Model(coords={"dataset": data["dataset"].values}) as model:
        center, spread, tail = (random(name, []) for name in ("center", "spread", "tail"))
        noise = random("noise", ["dataset"])
        z = pm.StudentT("deviation", nu=1 + tail, mu=0, sigma=1, dims="dataset")
        difference = center + spread * z

        means = pm.Data("mean_data", mean.values, dims="dataset")
        error = noise * np.sqrt((1 + (n - 1) * rho) / n)
        pm.Normal("mean", mu=difference, sigma=error, observed=means, dims="dataset")
        scatter = pm.Data("scatter_data", squares.values, dims="dataset")
        pm.Gamma("scatter", alpha=(n - 1) / 2, beta=1 / (2 * noise**2 * (1 - rho)), observed=scatter, dims="dataset")

        scale = pm.Data("unit", unit)
        pm.Deterministic("average", scale * center)
        pm.Deterministic("spread_of_datasets", scale * spread)
        pm.Deterministic("difference", scale * difference, dims="dataset")
    return model


def _sufficient(data: xr.DataArray) -> tuple[float, xr.DataArray, xr.DataArray]:
    """Return the unit, and in it the mean and the scatter of each data set's differences."""
    differences = data.isel(model=0, drop=True) - data.isel(model=1, drop=True)
    unit = float(np.mean(differences.std("fold", ddof=1)))
    mean = (differences / unit).mean("fold")
    return unit, mean, ((differences / unit - mean) ** 2).sum("fold")


def recover(posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, **_: Any) -> dict[str, xr.DataArray]:
    """Draw ``next_difference``, that of a data set not yet seen."""
    deviation = posterior["average"].copy(data=rng.standard_t(1 + posterior["tail"].values))
    return {"next_difference": posterior["average"] + posterior["spread_of_datasets"] * deviation}


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray, *, test_fraction: float | None = None) -> xr.DataArray:
    """Return the log-likelihood of each data set's mean and scatter, in units of the typical deviation."""
    n = data.sizes["fold"]
    rho = 1 / n if test_fraction is None else test_fraction
    unit, mean, squares = _sufficient(data)
    noise = posterior["noise"]
    of_mean: xr.DataArray = xr.apply_ufunc(
        norm.logpdf, mean, posterior["difference"] / unit, noise * np.sqrt((1 + (n - 1) * rho) / n)
    )
    of_scatter: xr.DataArray = xr.apply_ufunc(gamma.logpdf, squares, (n - 1) / 2, 0, 2 * noise**2 * (1 - rho))
    total: xr.DataArray = of_mean + of_scatter
    return total.transpose("chain", "draw", "dataset")
