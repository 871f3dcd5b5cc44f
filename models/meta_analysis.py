"""Studies of a test whose recall and specificity differ: the meta-analysis of diagnostic accuracy.

Setting. Several studies report a table of two classes for the same test or classifier. Studies differ by more than
chance: in their patients, their threshold, the way the test is read. A study with a lower threshold has more recall and
less specificity, so the two vary together.

Model. Study i has P_i positive and N_i negative examples, of which TP_i and TN_i were called right:

    TP_i ~ Binomial(P_i, expit a_i)
    TN_i ~ Binomial(N_i, expit b_i)
    (a_i, b_i) ~ Normal(μ + x_i·β, Σ)             Σ has the standard deviations τ and the correlation ρ
    μ ~ Logistic(0, 1)                            location: uniform on the rate of the median study
    τ ~ HalfNormal(1)                             spread of studies, on the logit scale
    ρ ~ Uniform(−1, 1)                            correlation; it is negative if studies differ in their thresholds
    β ~ Normal(0, 1)                              coefficient of covariates, which should be centred

Tests in the same studies (`paired`). Each test t has parameters of its own, but the deviations of the tests in one
study are alike. For each rate, ω is the share of their variance that belongs to the study:

    z_it = √ω s_i + √(1 − ω) e_it                 s, e ~ Normal(0, 1)
    ω ~ Uniform(0, 1)                             shared; 0 if tests in one study have nothing in common

The sampled parameters are standard normal deviations z_i, with a_i = μ₁ + τ₁ z_i1 and b_i = μ₂ + τ₂ (ρ z_i1 +
√(1 − ρ²) z_i2). How many positive and negative examples a study has is its design, so prevalence is not known.

Two studies may be called typical. The median study (``cells_median``) has the rates expit μ, the summary point of the
literature. The mean over studies (``cells``) has the rates E expit(μ + τ z), which are nearer to ½. ``cells_group`` are
the studies themselves, and ``cells_new`` a new study; all at covariates 0 except the studies themselves.

Source: Reitsma et al. (2005), Journal of Clinical Epidemiology 58, with the binomial likelihood of Chu & Cole (2006),
Journal of Clinical Epidemiology 59. Without covariates it is the HSROC model of Rutter & Gatsonis (2001) in other
parameters (Harbord et al. 2007, Biostatistics 8).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from bayesperf.models.building import (
    cells_over_groups,
    coords,
    correlated_second,
    log_likelihood_of_groups,
    outcomes_of_rates,
    positive,
    variables_with_rates,
)

DATA = "counts"
OPTIONS = {"dim": "dim of groups", "covariates": "covariates of groups", "paired": (False, True)}
DIMS = ("rate", "covariate")
ESTIMAND = "mean"
DESIGN = "by_actual"
# Without covariates, of unpaired tests.
EXACT = "groups.study_integrals:draws"
PRIORS = {
    "location": pm.Logistic.dist(0, 1),
    "spread": pm.HalfNormal.dist(1),
    "correlation": pm.Uniform.dist(-1, 1),
    "coefficient": pm.Normal.dist(0, 1),
    "shared": pm.Uniform.dist(0, 1),
}
RATES = {"recall": "true_positives", "specificity": "true_negatives"}


def build(
    data: xr.DataArray,
    priors: Mapping[str, Any] | None = None,
    *,
    dim: str = "study",
    covariates: xr.DataArray | None = None,
    paired: bool = False,
) -> pm.Model:
    """Return the model of binary counts (…, study, actual, predicted).

    Parameters
    ----------
    data : xarray.DataArray
        Counts; the attribute ``pos_label`` is the positive class. Other dims are tests.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name. ``recall`` and ``specificity`` are understood as well, as those
        of the median study: their logits are the ``location``.
    dim : str
        The dim of the studies.
    covariates : xarray.DataArray, optional
        Covariates with dims `dim` and ``covariate``. `bayesperf.fit` takes a DataFrame with a row for each study, a
        mapping of names to values by study or in the order of the studies, or an array in their order, as well.
    paired : bool
        Whether the tests were tried in the same studies; else they are independent.
    """
    counts = data.transpose(..., dim, "actual", "predicted")
    tests = [str(d) for d in counts.dims[:-3]]
    successes, trials = outcomes_of_rates(counts)
    labels = coords(counts) | {"rate": list(RATES)}
    if paired and not tests:
        raise ValueError("options['paired']: there is one test. Count tests along a dim of their own.")
    unused = {} if paired else {"shared": "options={'paired': True}"}
    if covariates is not None:
        covariates = covariates.sel({dim: counts[dim].values}).transpose(dim, "covariate")
        labels["covariate"] = covariates["covariate"].values
    else:
        unused["coefficient"] = "options={'covariates': ...}"
    variable = variables_with_rates(PRIORS, priors, counts, list(RATES), unused)
    with pm.Model(coords=labels) as model:
        location, spread = (variable(name, [*tests, "rate"]) for name in ("location", "spread"))
        correlation = variable("correlation", tests)[..., None]
        z = pm.Normal("own_deviation" if paired else "deviation", dims=[*tests, dim, "rate"])
        if paired:
            of_study = pm.Normal("study_deviation", dims=[dim, "rate"])
            both = _alike(of_study, z, variable("shared", ["rate"]))
            z = pm.Deterministic("deviation", both, dims=[*tests, dim, "rate"])
        deviations = [z[..., 0], correlated_second(z[..., 0], z[..., 1], correlation)]
        shift = [0.0, 0.0]
        if covariates is not None:
            coefficient = variable("coefficient", [*tests, "rate", "covariate"])
            x = pm.Data("covariates", covariates.values, dims=[dim, "covariate"])
            shift = [(coefficient[..., i, None, :] * x).sum(-1) for i in range(2)]
        for i, (rate, outcome) in enumerate(RATES.items()):
            n = pm.Data(f"{outcome}_trials", trials[rate].values, dims=[*tests, dim])
            observed = pm.Data(f"{outcome}_data", successes[rate].values, dims=[*tests, dim])
            logit = location[..., i, None] + shift[i] + spread[..., i, None] * deviations[i]
            pm.Binomial(outcome, n=n, logit_p=logit, observed=observed, dims=[*tests, dim])
    return model


def recover(
    posterior: xr.Dataset,
    data: xr.DataArray,
    rng: np.random.Generator,
    *,
    dim: str = "study",
    covariates: xr.DataArray | None = None,
    paired: bool = False,
) -> dict[str, xr.DataArray]:
    """Return the cells of the mean over studies, of the median study and of each study, and draw those of a new one."""
    shift, location = _shift(posterior, data, dim, covariates), posterior["location"]
    new = location.copy(data=rng.standard_normal(location.shape))
    if paired:
        of_study = posterior["shared"].copy(data=rng.standard_normal(posterior["shared"].shape))
        new = _alike(of_study, new, posterior["shared"]).transpose(*location.dims)
    return cells_over_groups(posterior, data["actual"].values.tolist(), positive(data), new, shift)


def log_likelihood(
    posterior: xr.Dataset, data: xr.DataArray, *, dim: str = "study", covariates: xr.DataArray | None = None,
    paired: bool = False,
) -> xr.DataArray | str:  # fmt: skip
    """Return the log-likelihood of each study, its deviations integrated out, for leave-one-study-out; or why not."""
    if paired:
        return "the deviations of paired tests are integrated out in no closed form"
    location = posterior["location"] + _shift(posterior, data, dim, covariates)
    return log_likelihood_of_groups(
        outcomes_of_rates(data), location, posterior["spread"], posterior["correlation"], dim
    )


def _alike(of_study: Any, own: Any, shared: Any) -> Any:
    """Return the deviations of tests that share a part of their variance, arrays or tensors."""
    return shared**0.5 * of_study + (1 - shared) ** 0.5 * own


def _shift(
    posterior: xr.Dataset, data: xr.DataArray, dim: str, covariates: xr.DataArray | None
) -> xr.DataArray | float:
    """Return x·β of each study and rate; 0 without covariates."""
    if covariates is None:
        return 0.0
    shift: xr.DataArray = (posterior["coefficient"] * covariates.sel({dim: data[dim].values})).sum("covariate")
    return shift
