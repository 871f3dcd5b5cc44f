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

An imperfect reference (`reference`). Where the truth is the result of another test that errs as well, a study reports
how often the reference gave the result r and the test under study the result t. Given the true status, which nobody
saw, the two err independently; a share π_i of the examples of study i are positive:

    n_irt ~ Multinomial(n_i, π_i P(r | positive) P_i(t | positive) + (1 − π_i) P(r | negative) P_i(t | negative))
    P_i(test right) = expit a_i, expit b_i        of positive and of negative examples, as above
    P(reference right) ~ Beta(9, 1)               reference_rates: its recall and its specificity
    π_i ~ Uniform(0, 1)                           prevalence_group

Studies with the same label in `reference` share its rates. No data here can check the independence. It fails if both
tests miss the same cases, such as early or mild ones, or react to the same other disease, or if the reference is made
up of tests of which one is under study: then agreement in error passes for accuracy, and the test looks better than it
is. The examples must not have been chosen by the result of the reference. Its prior is part of the result: state where
it comes from.

The sampled parameters are standard normal deviations z_i, with a_i = μ₁ + τ₁ z_i1 and b_i = μ₂ + τ₂ (ρ z_i1 +
√(1 − ρ²) z_i2). How many positive and negative examples a study has is its design, so prevalence is not known.

Two studies may be called typical. The median study (``cells_median``) has the rates expit μ, the summary point of the
literature. The mean over studies (``cells``) has the rates E expit(μ + τ z), which are nearer to ½. ``cells_group`` are
the studies themselves, and ``cells_new`` a new study; all at covariates 0 except the studies themselves.

Source: Reitsma et al. (2005), Journal of Clinical Epidemiology 58, with the binomial likelihood of Chu & Cole (2006),
Journal of Clinical Epidemiology 59. Without covariates it is the HSROC model of Rutter & Gatsonis (2001) in other
parameters (Harbord et al. 2007, Biostatistics 8). Dendukuri et al. (2012), Biometrics 68, for an imperfect reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from bayesperf.models.building import (
    cells_of_rates,
    cells_over_groups,
    coords,
    correlated_second,
    log_likelihood_of_groups,
    outcomes_of_rates,
    positive,
    rows_of_rates,
    variables_with_rates,
)

DATA = "counts"
OPTIONS = {
    "dim": "dim of groups",
    "covariates": "covariates of groups",
    "paired": (False, True),
    "reference": "references of groups",
}
DIMS = ("rate", "covariate", "reference")
ESTIMAND = "mean"
DESIGN = "by_actual"
# Without covariates, of unpaired tests, with a perfect reference.
EXACT = "groups.study_integrals:draws"
PRIORS = {
    "location": pm.Logistic.dist(0, 1),
    "spread": pm.HalfNormal.dist(1),
    "correlation": pm.Uniform.dist(-1, 1),
    "coefficient": pm.Normal.dist(0, 1),
    "shared": pm.Uniform.dist(0, 1),
    "reference_rates": pm.Beta.dist(9, 1),
    "prevalence_group": pm.Uniform.dist(0, 1),
}
RATES = {"recall": "true_positives", "specificity": "true_negatives"}


def build(
    data: xr.DataArray,
    priors: Mapping[str, Any] | None = None,
    *,
    dim: str = "study",
    covariates: xr.DataArray | None = None,
    paired: bool = False,
    reference: xr.DataArray | None = None,
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
    reference : xarray.DataArray, optional
        The name of the reference of each study, along `dim`, if references err; the actual labels of the data are then
        what the reference said. `bayesperf.fit` takes one name for all studies, a mapping by study, or names in the
        order of the studies.
    """
    counts = data.transpose(..., dim, "actual", "predicted")
    tests = [str(d) for d in counts.dims[:-3]]
    labels = coords(counts) | {"rate": list(RATES)}
    if paired and not tests:
        raise ValueError("options['paired']: there is one test. Count tests along a dim of their own.")
    unused = {} if paired else {"shared": "options={'paired': True}"}
    if reference is None:
        unused |= dict.fromkeys(("reference_rates", "prevalence_group"), "options={'reference': ...}")
    else:
        used = reference.sel({dim: counts[dim].values}).values.tolist()
        labels |= {"reference": list(dict.fromkeys(used)), "cell": np.arange(4)}
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
        logits = [location[..., i, None] + shift[i] + spread[..., i, None] * deviations[i] for i in range(2)]
        if reference is None:
            _observe(counts, logits)
        else:
            _observe_with_errors(counts, logits, used, variable, [] if paired else tests)
    return model


def _observe(counts: xr.DataArray, logits: list[Any]) -> None:
    """Add the examples that were called right, of the positive and of the negative ones."""
    dims = [str(d) for d in counts.dims[:-2]]
    successes, trials = outcomes_of_rates(counts)
    for logit, (rate, outcome) in zip(logits, RATES.items(), strict=True):
        n = pm.Data(f"{outcome}_trials", trials[rate].values, dims=dims)
        observed = pm.Data(f"{outcome}_data", successes[rate].values, dims=dims)
        pm.Binomial(outcome, n=n, logit_p=logit, observed=observed, dims=dims)


def _observe_with_errors(
    counts: xr.DataArray, logits: list[Any], used: list[str], variable: Any, tests: list[str]
) -> None:
    """Add the examples by what the reference and the test said, with the true status summed out."""
    dims = [str(d) for d in counts.dims[:-2]]
    rates, names = variable("reference_rates", [*tests, "reference", "rate"]), list(dict.fromkeys(used))
    place, p = [names.index(name) for name in used], positive(counts)
    said = rows_of_rates({name: rates[..., i][..., place] for i, name in enumerate(RATES)}, p)
    tested = {name: pm.math.sigmoid(logit) for name, logit in zip(RATES, logits, strict=True)}
    table = cells_of_rates({"prevalence": variable("prevalence_group", [*tests, dims[-1]]), **tested}, p)
    shares = (said[..., :, None] * table[..., None, :]).sum(axis=-3)
    flat = counts.values.reshape(*counts.shape[:-2], -1)
    observed = pm.Data("counts_data", flat, dims=[*dims, "cell"])
    pm.Multinomial("counts", observed.sum(-1), shares.reshape(flat.shape), observed=observed, dims=[*dims, "cell"])


def recover(
    posterior: xr.Dataset,
    data: xr.DataArray,
    rng: np.random.Generator,
    *,
    dim: str = "study",
    covariates: xr.DataArray | None = None,
    paired: bool = False,
    **_: Any,
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
    paired: bool = False, reference: xr.DataArray | None = None,
) -> xr.DataArray | str:  # fmt: skip
    """Return the log-likelihood of each study, its deviations integrated out, for leave-one-study-out; or why not."""
    if paired or reference is not None:
        what = "paired tests" if paired else "studies with an imperfect reference"
        return f"the deviations of {what} are integrated out in no closed form"
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
