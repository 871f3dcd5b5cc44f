"""Priors by name: variables with default or user-defined priors, and the parameters of conjugate priors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
from pymc.distributions.shape_utils import change_dist_size
from pytensor.graph.traversal import ancestors

# PyTensor's mode that compiles nothing: priors are looked at once.
INTERPRETED = "FAST_COMPILE"
# A prior of each family, as an example in an error.
EXAMPLES = {
    "dirichlet": "pm.Dirichlet.dist(…)",
    "gamma": "pm.Gamma.dist(2, 1)",
    "logistic": "pm.Logistic.dist(0, 1)",
    "normal": "pm.Normal.dist(0, 1)",
}
Prior = Any
AddVariable = Callable[[str, Sequence[str]], Any]


def prior_variables(
    defaults: Mapping[str, Prior],
    priors: Mapping[str, Prior] | None,
    classes: int = 2,
    unused: Mapping[str, str] | None = None,
) -> AddVariable:
    """Return a function ``variable(name, dims)`` that adds a variable with the prior of that name to a model.

    Parameters
    ----------
    defaults : mapping
        Default priors: unnamed distributions, or functions of the number of classes that return one.
    priors : mapping, optional
        Priors to use instead: unnamed PyMC distributions (``pm.Beta.dist(9, 1)``), PreliZ distributions, or objects
        with ``create_variable(name)``. A prior of fewer dims is repeated, independently, along the first ones.
    classes : int
        Number of classes.
    unused : mapping, optional
        Names of variables that are not in the model, each with the option that would add it.

    Raises
    ------
    ValueError
        If the model has no variable of the name of a prior, or a prior has the wrong shape or support.
    """
    instead, absent = {name: of_pymc(prior) for name, prior in (priors or {}).items()}, dict(unused or {})
    if unknown := [name for name in instead if name not in defaults]:
        name, default = next(iter(defaults.items()))
        family = (default(classes) if callable(default) else default).owner.op
        example = EXAMPLES.get(getattr(family, "name", None) or "", "pm.Beta.dist(9, 1)")
        raise ValueError(
            f"priors: this model has no {unknown[0]!r}; it has {', '.join(map(repr, defaults))}. "
            f"Write priors={{{name!r}: {example}}}."
        )
    if useless := [name for name in instead if name in absent]:
        raise ValueError(f"priors: {useless[0]!r} is of no use without {absent[useless[0]]}.")

    def variable(name: str, dims: Sequence[str]) -> Any:
        default = defaults[name](classes) if callable(defaults[name]) else defaults[name]
        model = pm.modelcontext(None)
        shape = tuple(len(model.coords[dim]) for dim in dims)
        if name not in instead:
            return model.register_rv(_sized(name, default, shape, dims), name, dims=dims)
        prior = instead[name]
        if hasattr(prior, "create_variable"):
            created = prior.create_variable(name)
            _check_shape(name, _shape(created), shape, dims)
            _check_support(name, created, default)
            return created
        if getattr(prior, "owner", None) is None or not hasattr(prior.owner.op, "ndim_supp"):
            raise ValueError(
                f"priors: {name!r} must be an unnamed PyMC distribution, as pm.Beta.dist(9, 1), a PreliZ distribution, "
                f"or an object with create_variable(name); it is {prior!r}."
            )
        _check_support(name, prior, default)
        return model.register_rv(_sized(name, prior, shape, dims), name, dims=dims)

    return variable


def of_pymc(prior: Prior) -> Prior:
    """Return a distribution of PreliZ as one of PyMC, anything else as it is; to be called outside of a model.

    Inside of one PreliZ adds a variable to it, for which it wants a name.
    """
    return prior.to_pymc() if hasattr(prior, "to_pymc") else prior


def _shape(distribution: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in distribution.shape.eval(mode=INTERPRETED))


def _sized(name: str, distribution: Any, shape: tuple[int, ...], dims: Sequence[str]) -> Any:
    """Return a distribution in the shape of the dims, repeated along those that it has not, which are the first."""
    core = distribution.owner.op.ndim_supp
    own, batch = _shape(distribution), shape[: len(shape) - core]
    _check_shape(name, (*shape[: max(0, len(shape) - len(own))], *own), shape, dims)
    return change_dist_size(distribution, batch)


def _check_shape(name: str, own: tuple[int, ...], shape: tuple[int, ...], dims: Sequence[str]) -> None:
    if own != shape:
        raise ValueError(f"priors: {name!r} has shape {own}; its dims {tuple(dims)} have {shape}.")


def _check_support(name: str, prior: Any, default: Any) -> None:
    """Raise if a prior has values that are impossible under the default prior."""
    draws = np.asarray(pm.draw(prior, 500, random_seed=0, mode=INTERPRETED))
    core = default.owner.op.ndim_supp
    # A created variable may be a function of others, of which PyMC knows no support: the draws tell.
    if getattr(prior.owner.op, "ndim_supp", core) != core:
        kind = "shares that sum to 1, as of pm.Dirichlet.dist" if core else "single quantities"
        raise ValueError(f"priors: {name!r} has the wrong support: it must be of {kind}.")
    wrong = "it is discrete, and the quantity is continuous."
    if draws.dtype.kind == "f":
        size = draws.shape[: draws.ndim - core]
        if core and draws.shape[draws.ndim - core :] != _shape(default):
            return  # Its length is wrong, which the check of the shape reports.
        possible = np.isfinite(pm.logp(change_dist_size(default, size), draws).eval(mode=INTERPRETED))
        if possible.all():
            return
        impossible = np.array2string(np.asarray(draws[~possible][0]), precision=4)
        wrong = f"it can be {impossible}, which {name} cannot."
    raise ValueError(f"priors: {name!r} has the wrong support: {wrong}")


def _is_random(parameter: Any) -> bool:
    """Whether a parameter depends on a distribution of its own."""
    return any(hasattr(variable.owner.op, "ndim_supp") for variable in ancestors([parameter]) if variable.owner)


def conjugate_parameters(name: str, prior: Any, family: str) -> np.ndarray:
    """Return the parameters of a prior along the last axis; raise NotImplementedError if it is of another family.

    The parameters of a Gamma distribution are its shape and scale.
    """
    prior = of_pymc(prior)
    operation: Any = getattr(getattr(prior, "owner", None), "op", None)
    if getattr(operation, "name", None) != family or any(map(_is_random, operation.dist_params(prior.owner))):
        raise NotImplementedError(
            f"priors: method='exact' needs a {family.capitalize()} prior of {name!r}. Use method='mcmc'."
        )
    parameters = [
        np.asarray(parameter.eval(mode=INTERPRETED), float) for parameter in operation.dist_params(prior.owner)
    ]
    return np.stack(np.broadcast_arrays(*parameters), -1) if family != "dirichlet" else parameters[0]
