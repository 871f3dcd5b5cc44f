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

Each deviation d of r, u, c is sampled as √(1 + I s²) d − s (S − I m)/√(1 + I s²), which is about standard normal a
posteriori, whatever its spread s and the location are: I is the information that its reads hold, as at a rate of 0.8,
S how many more of them are right than of all reads of the class, and m what else is in their logit, less the logit of
that share. For specificity m has the part of d that is known from recall, ρ r_recall. ``reader_effect`` (τ r + υ u) and
``case_effect`` (σ c) are the effects themselves.

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
    OddsBinomial,
    Softplus,
    coords,
    correlated,
    mean_rate,
    odds_of,
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
# The information of a read, as at a rate of 0.8.
INFORMATION = 0.16
# The unit in which a spread is sampled (`Softplus`), over the standard error of one deviation's effect.
UNIT = 0.5
# At 0.95 a fit takes up to twice as long, for no more effective draws per second; at 0.8 transitions diverge at times.
TARGET_ACCEPT = 0.85


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
    modalities, readers, cases = (data.sizes[dim] for dim in ("modality", "reader", "case"))
    several = modalities > 1
    unused = {} if several else {"interaction_spread": "several modalities"}
    variable = prior_variables(PRIORS, priors, unused=unused)
    labels = coords(data) | {"rate": RATES, "actual": data.attrs["labels"], "predicted": data.attrs["labels"]}
    seen, right, of_rate = (data >= 0).astype(int), data.clip(min=0), 1 - np.asarray(data.attrs["truth"])
    reads, of_readers = by_rate(seen, of_rate), ["modality", "reader"]
    share = ((by_rate(right, of_rate).sum(of_readers) + 1) / (reads.sum(of_readers) + 2)).values
    surplus = right - seen * share[of_rate]
    told = by_rate(surplus, of_rate)
    with pm.Model(coords=labels) as model:
        rate = pm.Data("rate_of_case", of_rate, dims="case")
        average = pm.Data("logit_of_right", np.log(share / (1 - share)), dims="rate")
        reader = variable("reader_spread", ["rate"], default_transform=scale(modalities * cases / 2))
        of_case = variable("case_spread", ["rate"], default_transform=scale(modalities * readers))
        correlation, variance = variable("correlation", []), reader**2 + of_case**2
        if several:
            interaction = variable("interaction_spread", ["rate"], default_transform=scale(cases / 2))
            variance = variance + interaction**2
        middle = variable("location", ["modality", "rate"]) * pm.math.sqrt(1 + ATTENUATION * variance)
        mean = middle.mean(axis=0) - average
        effect = correlated_effects(reader, correlation, reads.sum("modality"), told.sum("modality"), mean)
        if several:
            mean = middle[:, None] + effect - average
            effect = effect + interaction * deviations("interaction", interaction, reads, told, mean)
        effect = pm.Deterministic("reader_effect", effect, dims=reads.dims[not several :])
        of_reader = middle[:, None] + effect
        mean, spread = of_class(of_reader.mean(axis=(0, 1)) - average, rate), of_class(of_case, rate)
        case = spread * deviations("case", spread, seen.sum(of_readers), surplus.sum(of_readers), mean)
        case = pm.Deterministic("case_effect", case, dims="case")
        n = pm.Data("reads", seen.values, dims=data.dims)
        observed = pm.Data("right_data", right.values, dims=data.dims)
        odds = of_class(odds_of(of_reader), rate) * odds_of(case)
        logit = of_class(of_reader, rate) + case
        OddsBinomial("right", n=n, logit=logit, odds=odds, observed=observed, dims=data.dims)
    return model


def by_rate(values: xr.DataArray, of_rate: np.ndarray) -> xr.DataArray:
    """Return sums over the cases of each class, (modality, reader, rate)."""
    return xr.concat([values[..., of_rate == i].sum("case") for i in range(2)], "rate").transpose(..., "rate")


def of_class(values: Any, rate: Any) -> Any:
    """Return for each case, (…, case), the value of its class's rate, of (…, rate); to pick them would take longer."""
    return pm.math.switch(rate, values[..., 1:], values[..., :1])


def scale(reads: float) -> Softplus:
    """Return how a spread is sampled of deviations that have so many reads each."""
    return Softplus(UNIT / float(np.sqrt(INFORMATION * reads)))


def deviations(name: str, spread: Any, reads: xr.DataArray, told: xr.DataArray, mean: Any) -> Any:
    """Return standard normal deviations, sampled in units that suit few reads and many, from where the reads point.

    Parameters
    ----------
    name : str
        What deviates.
    spread : tensor
        The standard deviation of their effects.
    reads : xarray.DataArray
        The number of reads that tell of each.
    told : xarray.DataArray
        How many more of these reads are right than of all.
    mean : tensor
        What is added to their effects, less the logit of the share of all reads that are right: reads tell of the sum.
    """
    known = pm.Data(f"{name}_information", INFORMATION * reads.values, dims=reads.dims)
    width = pm.math.sqrt(1 + known * spread**2)
    surplus = pm.Data(f"{name}_surplus", told.values, dims=told.dims)
    middle = spread * (known * mean - surplus) / width
    return (pm.Normal(f"{name}_deviation", middle, width, dims=reads.dims) - middle) / width


def correlated_effects(spread: Any, correlation: Any, reads: xr.DataArray, told: xr.DataArray, mean: Any) -> Any:
    """Return effects (reader, rate) that are correlated between the rates."""
    (first, second), (told_first, told_second) = ([of.isel(rate=i) for i in range(2)] for of in (reads, told))
    of_first = deviations(RATES[0], spread[0], first, told_first, mean[0])
    known, rest = spread[1] * correlation * of_first, spread[1] * pm.math.sqrt(1 - correlation**2)
    of_second = known + rest * deviations(RATES[1], rest, second, told_second, mean[1] + known)
    return pm.math.stack([spread[0] * of_first, of_second], axis=-1)


def recover(posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, **_: Any) -> dict[str, xr.DataArray]:
    """Return the cells of the average reader and of each reader, and draw those of a new reader."""
    own, location, every = _of_readers(posterior)
    reader, case = posterior["reader_spread"], posterior["case_spread"]
    interaction = posterior.get("interaction_spread", xr.zeros_like(reader))
    fresh = correlated(reader.copy(data=rng.standard_normal(reader.shape)), posterior["correlation"])
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
    return average + posterior["reader_effect"], average, every


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray) -> xr.DataArray:
    """Return the log-likelihood of each read. A missing one has none: it is no unit to leave out."""
    of_case = xr.DataArray(1 - np.asarray(data.attrs["truth"]), dims="case")
    logit = _of_readers(posterior)[0].isel(rate=of_case) + posterior["case_effect"]
    sign = xr.DataArray(np.where(data == 1, 1, -1), data.coords, data.dims)
    of_reads = (sign * logit).transpose("chain", "draw", *data.dims).values[..., data.values >= 0]
    return xr.DataArray(-np.logaddexp(0, -of_reads), dims=("chain", "draw", "read"))
