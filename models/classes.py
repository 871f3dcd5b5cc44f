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
chosen for the coverage of the intervals, over 3 to 30 classes of 5 to 100 examples (`bayesperf.studies.classes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

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
    classes = data.sizes["actual"]
    labels = {dim: data[dim].values for dim in ("actual", "predicted")}
    same = xr.DataArray(np.eye(classes), labels, ("actual", "predicted"))
    right, total = (data * same).sum("predicted"), data.sum("predicted")
    kappa = 1 / posterior["dispersion"].clip(min=1e-8) - 1
    mean = posterior["mean_recall"]
    outcomes = xr.concat([kappa * mean + right, kappa * (1 - mean) + total - right], "outcome")
    outcomes = _dirichlet(rng, outcomes, "outcome")
    spread = posterior["popularity"].assign_coords(predicted=labels["predicted"]) * (1 - same)
    weights = spread / spread.sum("predicted") + data * (1 - same)
    errors = _dirichlet(rng, weights, "predicted") * (1 - same)
    rows = outcomes.isel(outcome=0) * same + outcomes.isel(outcome=1) * errors / errors.sum("predicted")
    cells = posterior["prevalence"].assign_coords(actual=labels["actual"]) * rows
    return {"cells": cells.transpose("chain", "draw", *data.dims[:-2], "actual", "predicted").drop_vars(labels)}


def _dirichlet(rng: np.random.Generator, weights: xr.DataArray, dim: str) -> xr.DataArray:
    ordered = weights.transpose(..., dim)
    return ordered.copy(data=dirichlet_draws(rng, ordered.values))
