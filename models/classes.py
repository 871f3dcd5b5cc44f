"""Classes that share a prior: how well each is recognised, and which classes errors fall into.

Setting. A matrix of many classes has few examples of each. The other classes say what to expect of a class: how good
the system is on average, whether it is worse where a class is rare, how much the classes differ, which classes are
popular among its errors, and whether errors of a class clump, that is, fall into one or two others.

Model. Of N examples, n_i are of class i, of which x_i are predicted right and the rest, e_i·, as other classes:

    n   ~ Multinomial(N, π)                        class totals
    x_i ~ Binomial(n_i, r_i)                       right predictions of class i
    r_i ~ Beta(κm_i, κ(1 − m_i))                   recall of class i, of mean m_i
    logit m_i = logit m + βs_i                     s_i is log(n_i + 1), less its mean
    e_i ~ Multinomial(n_i − x_i, q_i)              errors of class i, over the other classes
    q_i ~ Dirichlet(ηg_j/(1 − g_i), j ≠ i)         their shares, centred on the popularity g among errors
    π   ~ Dirichlet(1, …), m ~ U(0, 1), β ~ Normal(0, 1), ρ = 1/(1 + κ) ~ Beta(1, 3)
    g   ~ Dirichlet(0.4, …), clumping 1/(1 + η) ~ U(0, 1)

The recalls and the shares of errors are integrated out, x_i ~ BetaBinomial and e_i ~ DirichletMultinomial, so that no
funnel is left for the sampler; the cells are then drawn by conjugacy (`recover`): the model itself has none. Where all
classes are equally large, every s_i is 0, and β stays at its prior.

`bayesperf.posterior` draws from the same posterior independently, by importance resampling (`bayesperf.prior.shared`,
the default for more than two classes). Use this model with other priors, or as a start for your own.

Source: the row-wise form of Mosimann (1962), Biometrika 49, with classes in the place of groups. The priors were chosen
for the coverage of the intervals, over 3 to 40 classes of 5 to 100 examples (``validation/many_classes.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from bayesperf.models.building import (
    DirichletMultinomial,
    concentration,
    coords,
    dirichlet_rows,
    log_rows,
    prior_variables,
)

DATA = "counts"
OPTIONS = {"design": ("joint", "by_actual")}
DIMS = ("outcome", "other")
EXACT = "posteriors.shared_classes:draws"
TARGET_ACCEPT = 0.9
PRIORS = {
    "mean_recall": pm.Beta.dist(1, 1),
    "slope": pm.Normal.dist(0, 1),
    "dispersion": pm.Beta.dist(1, 3),
    "popularity": lambda classes: pm.Dirichlet.dist(np.full(classes, 0.4)),
    "clumping": pm.Beta.dist(1, 1),
    "prevalence": lambda classes: pm.Dirichlet.dist(np.ones(classes)),
}


def build(data: xr.DataArray, priors: Mapping[str, Any] | None = None, *, design: str = "joint") -> pm.Model:
    """Return the model of counts (…, actual, predicted); each matrix along the leading dims has its own parameters.

    Parameters
    ----------
    data : xarray.DataArray
        Counts.
    priors : mapping, optional
        Priors that replace those of `PRIORS`, by name.
    design : {"joint", "by_actual"}
        Whether the data are informative about prevalence ("joint"), or the class totals were fixed ("by_actual").
    """
    counts = data.transpose(..., "actual", "predicted")
    systems = [str(d) for d in counts.dims[:-2]]
    classes = counts.sizes["actual"]
    others = other_classes(classes)
    tables = counts.values
    right = np.einsum("...ii->...i", tables)
    errors = np.take_along_axis(tables, np.broadcast_to(others, (*tables.shape[:-1], classes - 1)), -1)
    of_dims = coords(counts) | {"outcome": ["right", "wrong"], "other": np.arange(classes - 1)}
    variable = prior_variables(PRIORS, priors, classes)
    with pm.Model(coords=of_dims) as model:
        mean_recall = variable("mean_recall", systems)
        slope = variable("slope", systems)
        dispersion = variable("dispersion", systems)
        popularity = variable("popularity", [*systems, "predicted"])
        clumping = variable("clumping", systems)
        prevalence = variable("prevalence", [*systems, "actual"])
        of_class = np.ones(classes)

        outcomes = np.stack([right, tables.sum(-1) - right], -1)
        outcomes = pm.Data("outcomes_data", outcomes, dims=[*systems, "actual", "outcome"])
        log_sizes = pm.math.log(outcomes.sum(-1) + 1.0)
        log_sizes -= log_sizes.mean(-1, keepdims=True)
        mean = pm.math.invlogit(pm.math.logit(mean_recall)[..., None] + slope[..., None] * log_sizes)
        observe("outcomes", outcomes, DirichletMultinomial, [*systems, "actual", "outcome"],
                concentration=concentration(dispersion)[..., None] * of_class,
                mean=pm.math.stack([mean, 1 - mean], axis=-1))  # fmt: skip
        errors = pm.Data("errors_data", errors, dims=[*systems, "actual", "other"])
        spread = popularity[..., others]
        observe("errors", errors, DirichletMultinomial, [*systems, "actual", "other"],
                concentration=concentration(clumping)[..., None] * of_class,
                mean=spread / spread.sum(axis=-1, keepdims=True))  # fmt: skip
        if design == "joint":
            totals = pm.Data("totals_data", tables.sum(-1), dims=[*systems, "actual"])
            observe("totals", totals, pm.Multinomial, [*systems, "actual"], p=prevalence)
    return model


def other_classes(classes: int) -> np.ndarray:
    """Return the positions of the other classes of each class, (K, K − 1)."""
    return np.array([[j for j in range(classes) if j != i] for i in range(classes)])


def observe(name: str, counts: Any, distribution: Any, dims: list[str], **parameters: Any) -> None:
    """Add the likelihood of counts given their totals along the last dim."""
    distribution(name, n=counts.sum(-1), **parameters, observed=counts, dims=dims)


def recover(posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, **_: Any) -> dict[str, xr.DataArray]:
    """Draw what was integrated out, the recall of each class and the shares of its errors, and return the cells."""
    outcomes = dirichlet_rows(rng, outcome_weights(posterior, data) + outcomes_of(data), "outcome")
    other = 1 - same_class(data)
    errors = dirichlet_rows(rng, error_weights(posterior, data) + data * other, "predicted") * other
    right, wrong = (outcomes.sel(outcome=outcome, drop=True) for outcome in ("right", "wrong"))
    cells = posterior["prevalence"] * (right * (1 - other) + wrong * errors / errors.sum("predicted"))
    return {"cells": cells.transpose("chain", "draw", *data.dims[:-2], "actual", "predicted")}


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray, **_: Any) -> xr.DataArray:
    """Return the log-likelihood of each class's predictions given its total, for leave-one-class-out."""
    outcomes = log_rows(outcome_weights(posterior, data), outcomes_of(data), "outcome")
    errors = log_rows(error_weights(posterior, data), data * (1 - same_class(data)), "predicted")
    return (outcomes + errors).transpose("chain", "draw", *data.dims[:-2], "actual")


def same_class(data: xr.DataArray) -> xr.DataArray:
    """Return 1 where the predicted class is the actual one, else 0."""
    labels = {dim: data[dim].values for dim in ("actual", "predicted")}
    return xr.DataArray(np.eye(data.sizes["actual"], dtype=int), labels, ("actual", "predicted"))


def outcomes_of(data: xr.DataArray) -> xr.DataArray:
    """Return the numbers of right and of wrong predictions of each class, (…, outcome)."""
    right = (data * same_class(data)).sum("predicted")
    return xr.concat([right, data.sum("predicted") - right], "outcome").assign_coords(outcome=["right", "wrong"])


def outcome_weights(posterior: xr.Dataset, data: xr.DataArray) -> xr.DataArray:
    """Return κm_i and κ(1 − m_i), (…, actual, outcome)."""
    log_sizes: xr.DataArray = np.log1p(data.sum("predicted"))  # type: ignore[assignment]
    logit = _logit(posterior["mean_recall"]) + posterior["slope"] * (log_sizes - log_sizes.mean("actual"))
    kappa = concentration(posterior["dispersion"])
    weights = [kappa / (1 + np.exp(sign * logit)) for sign in (-1, 1)]
    shares: xr.DataArray = xr.concat(weights, "outcome").assign_coords(outcome=["right", "wrong"])
    return shares


def error_weights(posterior: xr.Dataset, data: xr.DataArray) -> xr.DataArray:
    """Return ηg_j/(1 − g_i) for j ≠ i, and 0 for j = i, (…, actual, predicted)."""
    popularity = posterior["popularity"] * (1 - same_class(data))
    weights: xr.DataArray = concentration(posterior["clumping"]) * popularity / popularity.sum("predicted")
    return weights


def _logit(share: xr.DataArray) -> xr.DataArray:
    logit: xr.DataArray = np.log(share) - np.log1p(-share)  # type: ignore[assignment]
    return logit
