"""Priors of recall, specificity and prevalence for models of two classes that have other parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from bayesperf.models._counts import positive
from bayesperf.models._priors import conjugate_parameters

RATES = ("prevalence", "recall", "specificity")


def given_rates(
    priors: Mapping[str, Any] | None, counts: xr.DataArray, own: str, example: str, rates: Sequence[str] = RATES
) -> dict[str, Any]:
    """Return the priors of rates among those given.

    Parameters
    ----------
    priors : mapping, optional
        Priors by name.
    counts : xarray.DataArray
        Counts (…, actual, predicted).
    own, example : str
        The model's own parameter in place of the rates, and a prior of it.
    rates : sequence of str
        The rates that the model is not written in.

    Raises
    ------
    ValueError
        If there are more than two classes, or a prior of the model's own parameter is given as well.
    """
    given = {name: prior for name, prior in (priors or {}).items() if name in rates}
    for name in given:
        if (classes := counts.sizes["actual"]) != 2:
            raise ValueError(
                f"priors: {name!r} is a rate of two classes, and there are {classes}. Name the parameter of this "
                f"model, as priors={{{own!r}: {example}}}."
            )
        if own in (priors or {}):
            raise ValueError(f"priors: {name!r} and {own!r} are priors of the same quantity. Leave one of them out.")
    return given


def beta_parameters(prior: Any) -> np.ndarray | None:
    """Return the parameters (…, 2) of a Beta prior; None of a prior of another family."""
    try:
        return conjugate_parameters("", prior, "beta")
    except NotImplementedError:
        return None


def dirichlet_of_classes(share: np.ndarray, positive: int) -> Any:
    """Return the Dirichlet (…, actual) in which the share of the positive class has a Beta of parameters (…, 2)."""
    return pm.Dirichlet.dist(share if positive == 0 else share[..., ::-1])


def dirichlet_of_rows(recall: np.ndarray, specificity: np.ndarray, positive: int) -> Any:
    """Return the Dirichlets (…, actual, predicted) in which both rates have Betas of parameters (…, 2)."""
    correct = np.broadcast_arrays(recall, specificity)
    rows = [of_class if label == 0 else of_class[..., ::-1]
            for label, of_class in enumerate(correct if positive == 0 else correct[::-1])]  # fmt: skip
    return pm.Dirichlet.dist(np.stack(rows, -2))


def in_rows(priors: Mapping[str, Any] | None, counts: xr.DataArray) -> dict[str, Any]:
    """Return priors in which Betas of rates are the Dirichlets ``rates`` of the rows and ``prevalence`` of the classes.

    Rates of another family stay what they are. One that is not given is uniform, as it is in the flat Dirichlet.
    """
    example = "pm.Dirichlet.dist([9.0, 1.0, 1.0])"
    given = given_rates(priors, counts, "rates", example, ("recall", "specificity"))
    own = {name: prior for name, prior in (priors or {}).items() if name not in given}
    flat = np.ones(2)
    if counts.sizes["actual"] == 2 and (share := beta_parameters(own.get("prevalence"))) is not None:
        own["prevalence"] = dirichlet_of_classes(share, positive(counts))
    betas = [beta_parameters(given[name]) if name in given else flat for name in ("recall", "specificity")]
    if not given or any(beta is None for beta in betas):
        return own | given
    return own | {"rates": dirichlet_of_rows(*betas, positive(counts))}


def rows(rates: Mapping[str, Any], positive: int) -> Any:
    """Return the rows (…, actual, predicted) for a recall and a specificity, which are arrays or tensors."""
    is_positive, same = np.eye(2)[positive], np.eye(2)
    recall, specificity = (rates[name][..., None] for name in ("recall", "specificity"))
    correct = (recall * is_positive + specificity * (1 - is_positive))[..., None]
    return correct * same + (1 - correct) * (1 - same)
