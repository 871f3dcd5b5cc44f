"""What the model files share: coordinates, priors by name, and the log-likelihood of single examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pymc.distributions.shape_utils import change_dist_size

# Log-likelihoods of single examples are left out beyond this many values (80 MB).
_LARGEST = 10_000_000

Prior = Any
Random = Callable[[str, Sequence[str]], Any]


def coords(data: xr.DataArray) -> dict[str, Any]:
    """Return the coordinates of labelled data, as `pymc.Model` takes them."""
    return {str(dim): data[dim].values for dim in data.dims}


def positive(data: xr.DataArray) -> int:
    """Return the position of the positive class, the attribute ``pos_label`` of binary counts."""
    labels = data["actual"].values.tolist()
    if len(labels) != 2:
        raise ValueError(f"data: this model is of two classes; there are {len(labels)}. See the model 'groups'.")
    if "pos_label" not in data.attrs:
        raise ValueError(
            f"data: which of the labels {labels} is the positive class? Name it, as pos_label={labels[-1]!r}."
        )
    return int(labels.index(data.attrs["pos_label"]))


def chosen(
    defaults: Mapping[str, Prior],
    priors: Mapping[str, Prior] | None,
    classes: int = 2,
    unused: Mapping[str, str] | None = None,
) -> Random:
    """Return ``random(name, dims)``, which adds a variable to the model in context, with the prior of that name.

    Parameters
    ----------
    defaults : mapping
        Unnamed distributions, or functions from the number of classes to one.
    priors : mapping, optional
        Those to take instead: unnamed PyMC distributions (``pm.Beta.dist(9, 1)``), PreliZ distributions, or objects
        with ``create_variable(name)``. One of a single quantity is repeated, independently, along the dims.
    classes : int
        Number of classes.
    unused : mapping, optional
        Names that the options leave out of the model, each with the option that has it.

    Raises
    ------
    ValueError
        If there is no prior of a name, nothing has it, or it has the wrong shape or support.
    """
    given, idle = dict(priors or {}), dict(unused or {})
    if unknown := [name for name in given if name not in defaults]:
        raise ValueError(f"priors: this model has no {unknown[0]!r}; it has {', '.join(map(repr, defaults))}.")
    if useless := [name for name in given if name in idle]:
        raise ValueError(f"priors: {useless[0]!r} is of no use without {idle[useless[0]]}.")

    def random(name: str, dims: Sequence[str]) -> Any:
        default = defaults[name](classes) if callable(defaults[name]) else defaults[name]
        model = pm.modelcontext(None)
        shape = tuple(len(model.coords[dim]) for dim in dims)
        if name not in given:
            return model.register_rv(_sized(name, default, shape, dims), name, dims=dims)
        prior = given[name]
        if hasattr(prior, "create_variable"):
            variable = prior.create_variable(name)
            _check_shape(name, _shape(variable), shape, dims)
            _check_support(name, variable, default)
            return variable
        prior = prior.to_pymc() if hasattr(prior, "to_pymc") else prior
        if getattr(prior, "owner", None) is None or not hasattr(prior.owner.op, "ndim_supp"):
            raise ValueError(
                f"priors: {name!r} must be an unnamed PyMC distribution, as pm.Beta.dist(9, 1), a PreliZ distribution, "
                f"or an object with create_variable(name); it is {prior!r}."
            )
        _check_support(name, prior, default)
        return model.register_rv(_sized(name, prior, shape, dims), name, dims=dims)

    return random


def _shape(distribution: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in distribution.shape.eval())


def _sized(name: str, distribution: Any, shape: tuple[int, ...], dims: Sequence[str]) -> Any:
    """Return a distribution of the shape wanted; a single one is repeated."""
    core = distribution.owner.op.ndim_supp
    own, batch = _shape(distribution), shape[: len(shape) - core]
    _check_shape(name, own if len(own) > core else (*batch, *own), shape, dims)
    return change_dist_size(distribution, batch)


def _check_shape(name: str, own: tuple[int, ...], shape: tuple[int, ...], dims: Sequence[str]) -> None:
    if own != shape:
        raise ValueError(f"priors: {name!r} has shape {own}; its dims {tuple(dims)} have {shape}.")


def _check_support(name: str, prior: Any, default: Any) -> None:
    """Refuse a prior that can give values which the default one cannot."""
    draws = np.asarray(pm.draw(prior, 500, random_seed=0))
    together = default.owner.op.ndim_supp
    if prior.owner.op.ndim_supp != together:
        kind = "shares that sum to 1, as of pm.Dirichlet.dist" if together else "single quantities"
        raise ValueError(f"priors: {name!r} has the wrong support: it must be of {kind}.")
    wrong = "it is discrete, and the quantity is continuous."
    if draws.dtype.kind == "f":
        size = draws.shape[: draws.ndim - together]
        if together and draws.shape[draws.ndim - together :] != _shape(default):
            return  # of another length: the check of the shape says so
        possible = np.isfinite(pm.logp(change_dist_size(default, size), draws).eval())
        if possible.all():
            return
        wrong = f"it can be {_short(draws[~possible][0])}, which {name} cannot."
    raise ValueError(f"priors: {name!r} has the wrong support: {wrong}")


def _short(value: Any) -> str:
    return np.array2string(np.asarray(value), precision=4)


def concentration(dispersion: Any) -> Any:
    """Return κ = 1/ρ − 1.

    Below 1e-8 groups are alike, and differences of log-gamma functions of a κ beyond 1e8 lose their digits: a sampler
    that strays there finds densities that are too high, and stays.
    """
    return 1 / pm.math.maximum(dispersion, 1e-8) - 1


def per_example(shares: xr.DataArray, counts: xr.DataArray) -> xr.DataArray | None:
    """Return the log-likelihood of each example, (chain, draw, example), from the probability of each kind of them.

    Examples of a kind are alike, so each kind's column is repeated as often as it was seen. None if that is too many.
    """
    kinds = [dim for dim in shares.dims if dim not in ("chain", "draw")]
    seen = counts.transpose(*kinds).values.ravel()
    if seen.sum() * shares.sizes["chain"] * shares.sizes["draw"] > _LARGEST:
        return None
    ordered = shares.transpose("chain", "draw", *kinds)
    flat = np.repeat(ordered.values.reshape(*ordered.shape[:2], -1), seen, axis=-1)
    return xr.DataArray(np.log(flat), dims=("chain", "draw", "example"))


def conjugate(name: str, prior: Any, kind: str) -> np.ndarray:
    """Return the parameters of a prior of a kind (of a Gamma shape and scale), last axis; refuse any other."""
    prior = prior.to_pymc() if hasattr(prior, "to_pymc") else prior
    operation: Any = getattr(getattr(prior, "owner", None), "op", None)
    if getattr(operation, "name", None) != kind:
        raise ValueError(f"priors: method='exact' needs a {kind.capitalize()} prior of {name!r}. Use method='mcmc'.")
    parameters = [np.asarray(parameter.eval(), float) for parameter in operation.dist_params(prior.owner)]
    return np.stack(np.broadcast_arrays(*parameters), -1) if kind != "dirichlet" else parameters[0]


def gamma_shares(rng: np.random.Generator, concentration: np.ndarray) -> np.ndarray:
    """Return draws of Dirichlets along the last axis; a share of tiny concentration is small, never a 0 of 0."""
    gamma = np.maximum(rng.standard_gamma(concentration), np.finfo(float).tiny)
    return np.asarray(gamma / gamma.sum(-1, keepdims=True))
