"""Classes that share a prior: how well each is recognised, and which classes errors fall into.

Setting. A matrix of many classes has few examples of each. The other classes say what to expect of a class: how good
the system is on average, how much the classes differ, and which classes are popular among its errors.

Model. Of N examples, n_i are of class i, of which x_i are predicted right and the rest, e_i·, as other classes:

    n   ~ Multinomial(N, π)                        class totals
    x_i ~ Binomial(n_i, r_i)                       right predictions of class i
    r_i ~ Beta(κm, κ(1 − m))                       recall of class i, of mean m
    e_i ~ Multinomial(n_i − x_i, q_i)              errors of class i, over the other classes
    q_i ~ Dirichlet(g_j/(1 − g_i), j ≠ i)          their shares, centred on the popularity g among errors
    π   ~ Dirichlet(1, …), m ~ U(0, 1), ρ = 1/(1 + κ) ~ Beta(1, 3), g ~ Dirichlet(1, …)

The recalls and the shares of errors are integrated out, x_i ~ BetaBinomial and e_i ~ DirichletMultinomial, so that no
funnel is left for the sampler; the cells are then drawn by conjugacy (`recover`): the model itself has none.

`bayesperf.posterior` draws from the same posterior independently, m and ρ by quadrature and g by importance resampling
(`bayesperf.prior.shared`, the default for more than two classes). Use this model with other priors, or as a start for
your own.

Source: the row-wise form of Mosimann (1962), Biometrika 49, with classes in the place of groups. The prior of ρ was
chosen for the coverage of the intervals, over 3 to 30 classes of 5 to 100 examples (`bayesperf.studies.many_classes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import gammaln

from ._counts import coords
from ._dirichlet import DirichletMultinomial, concentration, dirichlet_draws
from ._priors import prior_variables

DATA = "counts"
OPTIONS = {"design": ("joint", "by_actual")}
DIMS = ("outcome", "other")
EXACT = "posteriors.shared_classes:draws"
TARGET_ACCEPT = 0.9
PRIORS = {
    "mean_recall": pm.Beta.dist(1, 1),
    "dispersion": pm.Beta.dist(1, 3),
    "popularity": lambda classes: pm.Dirichlet.dist(np.ones(classes)),
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
        dispersion = variable("dispersion", systems)
        popularity = variable("popularity", [*systems, "predicted"])
        prevalence = variable("prevalence", [*systems, "actual"])

        mean = pm.math.stack([mean_recall, 1 - mean_recall], axis=-1)[..., None, :]
        kappa = concentration(dispersion)[..., None]
        outcomes = np.stack([right, tables.sum(-1) - right], -1)
        observe("outcomes", outcomes, [*systems, "actual", "outcome"], DirichletMultinomial,
                concentration=kappa, mean=mean)  # fmt: skip
        spread = popularity[..., others]
        observe("errors", errors, [*systems, "actual", "other"], DirichletMultinomial,
                concentration=np.ones(right.shape), mean=spread / spread.sum(axis=-1, keepdims=True))  # fmt: skip
        if design == "joint":
            observe("totals", tables.sum(-1), [*systems, "actual"], pm.Multinomial, p=prevalence)
    return model


def other_classes(classes: int) -> np.ndarray:
    """Return the positions of the other classes of each class, (K, K − 1)."""
    return np.array([[j for j in range(classes) if j != i] for i in range(classes)])


def observe(name: str, values: np.ndarray, dims: list[str], distribution: Any, **parameters: Any) -> None:
    """Add the likelihood of counts given their totals along the last dim."""
    observed = pm.Data(f"{name}_data", values, dims=dims)
    distribution(name, n=observed.sum(-1), **parameters, observed=observed, dims=dims)


def recover(posterior: xr.Dataset, data: xr.DataArray, rng: np.random.Generator, **_: Any) -> dict[str, xr.DataArray]:
    """Draw what was integrated out, the recall of each class and the shares of its errors, and return the cells."""
    outcomes = _dirichlet(rng, outcome_weights(posterior) + outcomes_of(data), "outcome")
    other = 1 - same_class(data)
    errors = _dirichlet(rng, error_weights(posterior, data) + data * other, "predicted") * other
    right, wrong = (outcomes.sel(outcome=outcome, drop=True) for outcome in ("right", "wrong"))
    cells = posterior["prevalence"] * (right * (1 - other) + wrong * errors / errors.sum("predicted"))
    return {"cells": cells.transpose("chain", "draw", *data.dims[:-2], "actual", "predicted")}


def log_likelihood(posterior: xr.Dataset, data: xr.DataArray, **_: Any) -> xr.DataArray:
    """Return the log-likelihood of each class's predictions given its total, for leave-one-class-out."""
    outcomes = _log_row(outcome_weights(posterior), outcomes_of(data), "outcome")
    errors = _log_row(error_weights(posterior, data), data * (1 - same_class(data)), "predicted")
    return (outcomes + errors).transpose("chain", "draw", *data.dims[:-2], "actual")


def same_class(data: xr.DataArray) -> xr.DataArray:
    """Return 1 where the predicted class is the actual one, else 0."""
    labels = {dim: data[dim].values for dim in ("actual", "predicted")}
    return xr.DataArray(np.eye(data.sizes["actual"], dtype=int), labels, ("actual", "predicted"))


def outcomes_of(data: xr.DataArray) -> xr.DataArray:
    """Return the numbers of right and of wrong predictions of each class, (…, outcome)."""
    right = (data * same_class(data)).sum("predicted")
    return xr.concat([right, data.sum("predicted") - right], "outcome").assign_coords(outcome=["right", "wrong"])


def outcome_weights(posterior: xr.Dataset) -> xr.DataArray:
    """Return κm and κ(1 − m), (…, outcome)."""
    kappa, mean = 1 / posterior["dispersion"].clip(min=1e-8) - 1, posterior["mean_recall"]
    return xr.concat([kappa * mean, kappa * (1 - mean)], "outcome").assign_coords(outcome=["right", "wrong"])


def error_weights(posterior: xr.Dataset, data: xr.DataArray) -> xr.DataArray:
    """Return g_j/(1 − g_i) for j ≠ i, and 0 for j = i, (…, actual, predicted)."""
    popularity = posterior["popularity"] * (1 - same_class(data))
    return popularity / popularity.sum("predicted")


def _dirichlet(rng: np.random.Generator, weights: xr.DataArray, dim: str) -> xr.DataArray:
    ordered = weights.transpose(..., dim)
    return ordered.copy(data=dirichlet_draws(rng, ordered.values))


def _log_row(weights: xr.DataArray, counts: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the log-probability of Dirichlet–multinomial counts given their sum; a weight of 0 has no count."""
    weights, counts = xr.broadcast(weights, counts)
    seen = weights.where(counts > 0, 1.0)
    cells = _gammaln(seen + counts) - _gammaln(seen) - _gammaln(counts + 1.0)
    kappa, total = weights.sum(dim), counts.sum(dim)
    row: xr.DataArray = cells.sum(dim) + _gammaln(kappa) + _gammaln(total + 1.0) - _gammaln(kappa + total)
    return row


def _gammaln(values: xr.DataArray) -> xr.DataArray:
    return values.copy(data=gammaln(values.values))
