"""Readers who call the same cases positive or negative, with one modality or several.

Setting. Several readers (people, or systems) read the same cases, alone or with help, and call each positive or
negative. The truth of each case is known. Some readers are better than others, some cases are harder, and a way of
reading (a modality) may help some readers more than others. Reads may be missing.

Model. Reader j is right about case i of class t, with modality m, with probability

    logit P(right) = μ_mt + τ_t r_jt + υ_t u_mjt + σ_t c_i      r, u, c ~ Normal(0, 1)

    μ = λ √(1 + 0.346 (τ² + υ² + σ²))
    λ ~ Logistic(0, 1)       location: about the logit of the average reader's rate, which is thus uniform
    τ ~ HalfNormal(1)        reader_spread; (r_j,recall, r_j,specificity) have the correlation ρ
    υ ~ HalfNormal(0.5)      interaction_spread of readers and modalities; not in the model of one modality
    σ ~ HalfNormal(1.5)      case_spread: cases differ more than readers
    ρ ~ Uniform(−1, 1)       correlation; it is negative if readers differ in their thresholds

The rates of the average reader, on all cases like these, are integrals over readers and cases: expit of a normal with
the variance τ² + υ² + σ² about μ (``cells``). Such an integral is about expit λ (Zeger, Liang & Albert 1988, Biometrics
44). A prior of μ itself would draw the rates towards ½ the more, the more cases differ. ``cells_group`` are each
reader's own rates, on all cases like these, and ``cells_new`` those of a new reader. How many cases of each class there
are is a decision, so prevalence is not known.

Missing reads are ignorable if which reads are missing does not depend on what would have been said, given the case.

Source: Baayen, Davidson & Bates (2008), Journal of Memory and Language 59, for crossed effects; Obuchowski & Rockette
(1995), Communications in Statistics 24, for the components.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from bayesperf.models.building import (
    LogitBinomial,
    coords,
    correlated,
    correlated_second,
    mean_rate,
    prior_variables,
    tables_of_rates,
)

DATA = "reads"
DIMS = ("rate",)
RATES = ["recall", "specificity"]
# (16 √3/(15 π))², by which a logistic function is about that of a normal.
ATTENUATION = 0.346
ESTIMAND = "mean"
DIM = "reader"
DESIGN = "by_actual"
NO_PREDICTION = "a new set of cases has reads of the same readers; the cells are those of all cases like these."
PRIORS = {
    "location": pm.Logistic.dist(0, 1),
    "reader_spread": pm.HalfNormal.dist(1),
    "interaction_spread": pm.HalfNormal.dist(0.5),
    "case_spread": pm.HalfNormal.dist(1.5),
    "correlation": pm.Uniform.dist(-1, 1),
}


def build(data: xr.DataArray, priors: Mapping[str, Any] | None = None) -> pm.Model:
    """Return the model of reads.

    Parameters
    ----------
    data : xarray.DataArray
        Whether reads are right, 1, wrong, 0, or missing, −1, (modality, reader, case). The attribute ``truth`` (case,)
        is 1 for positive cases, ``labels`` are the names of the classes and ``pos_label`` the positive one.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name.
    """
    several = data.sizes["modality"] > 1
    unused = {} if several else {"interaction_spread": "several modalities"}
    variable = prior_variables(PRIORS, priors, unused=unused)
    labels = coords(data) | {"rate": RATES, "actual": data.attrs["labels"], "predicted": data.attrs["labels"]}
    with pm.Model(coords=labels) as model:
        rate = pm.Data("rate_of_case", 1 - np.asarray(data.attrs["truth"]), dims="case")
        reader, of_case = (variable(name, ["rate"]) for name in ("reader_spread", "case_spread"))
        effects, variance = reader * deviations(variable("correlation", [])), reader**2 + of_case**2
        if several:
            interaction = variable("interaction_spread", ["rate"])
            effects = effects + interaction * pm.Normal("interaction_deviation", dims=["modality", "reader", "rate"])
            variance = variance + interaction**2
        middle = variable("location", ["modality", "rate"]) * pm.math.sqrt(1 + ATTENUATION * variance)
        logit = middle[:, None] + effects
        case = of_case[rate] * pm.Normal("case_deviation", dims="case")
        seen = pm.Data("reads", (data >= 0).astype(int).values, dims=list(data.dims))
        right = pm.Data("right_data", data.clip(min=0).values, dims=list(data.dims))
        LogitBinomial("right", n=seen, logit=logit[..., rate] + case, observed=right, dims=list(data.dims))
    return model


def deviations(correlation: Any) -> Any:
    """Return the standardised deviations of readers (reader, rate), which are correlated between the rates."""
    z = pm.Normal("reader_deviation", dims=["reader", "rate"])
    return pm.math.stack([z[:, 0], correlated_second(z[:, 0], z[:, 1], correlation)], axis=-1)


def recover(posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, **_: Any) -> dict[str, xr.DataArray]:
    """Return the cells of the average reader and of each reader, and draw those of a new reader."""
    own, location, every = _of_readers(posterior)
    reader, case = posterior["reader_spread"], posterior["case_spread"]
    interaction = posterior.get("interaction_spread", xr.zeros_like(reader))
    z, r = posterior["reader_deviation"], posterior["correlation"]
    fresh = correlated(xr.zeros_like(z.isel(reader=0, drop=True)) + rng.standard_normal(z.isel(reader=0).shape), r)
    new = location + reader * fresh + interaction * location.copy(data=rng.standard_normal(location.shape))
    rates = {"cells": mean_rate(location, every), "cells_group": mean_rate(own, case),
             "cells_new": mean_rate(new, case)}  # fmt: skip
    labels = data.attrs["labels"]
    positive = labels.index(data.attrs["pos_label"])
    order = ("chain", "draw", "modality", "reader", "rate")
    return {
        name: tables_of_rates(values.transpose(*(d for d in order if d in values.dims)), labels, positive)
        for name, values in rates.items()
    }


def _of_readers(posterior: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Return the logits of each reader and of the average one at a case of no deviation, and the spread about them."""
    reader, case = posterior["reader_spread"], posterior["case_spread"]
    interaction = posterior.get("interaction_spread", xr.zeros_like(reader))
    every = (reader**2 + interaction**2 + case**2) ** 0.5
    average = posterior["location"] * (1 + ATTENUATION * every**2) ** 0.5
    own = average + reader * correlated(posterior["reader_deviation"], posterior["correlation"])
    if "interaction_deviation" in posterior:
        own = own + interaction * posterior["interaction_deviation"]
    return own, average, every


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray) -> xr.DataArray:
    """Return the log-likelihood of each read. A missing one has none: it is no unit to leave out."""
    of_case = xr.DataArray(1 - np.asarray(data.attrs["truth"]), dims="case")
    case = posterior["case_spread"].isel(rate=of_case) * posterior["case_deviation"]
    logit = _of_readers(posterior)[0].isel(rate=of_case) + case
    sign = xr.DataArray(np.where(data == 1, 1, -1), data.coords, data.dims)
    of_reads = (sign * logit).transpose("chain", "draw", *data.dims).values[..., data.values >= 0]
    return xr.DataArray(-np.logaddexp(0, -of_reads), dims=("chain", "draw", "read"))
