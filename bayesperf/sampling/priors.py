"""Priors of a built model: their families and parameters, and in words."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pymc as pm


def constant_parameters(variable: Any) -> list[np.ndarray] | None:
    """Return the parameters of a random variable; None if some are not constant, or PyMC does not tell them."""
    from pymc.pytensorf import constant_fold

    family: Any = variable.owner.op
    # Truncated and other derived distributions may have no signature.
    if not hasattr(family, "dist_params") or getattr(family, "extended_signature", "") is None:
        return None
    folded = constant_fold(family.dist_params(variable.owner), raise_not_constant=False)
    constant = all(isinstance(value, np.ndarray | np.number) for value in folded)
    return [np.asarray(value) for value in folded] if constant else None


def has_named_family(variable: Any) -> bool:
    """Return whether the family of a random variable is a class of its module, not one made for a single variable."""
    family = type(variable.owner.op)
    return getattr(sys.modules.get(family.__module__), family.__name__, None) is family


def priors_in_words(model: pm.Model) -> dict[str, str]:
    """Return each prior in words."""
    return {variable.name: _in_words(variable) for variable in model.free_RVs}


def _in_words(variable: Any) -> str:
    from pymc.printing import str_for_dist

    parameters = constant_parameters(variable)
    printed = str(str_for_dist(variable, include_params=parameters is None)).partition(" ~ ")[2]
    if parameters is None:
        return printed
    distinct = [np.unique(value) if len(np.unique(value)) == 1 else np.ravel(value) for value in parameters]
    numbers = ", ".join(" ".join(f"{number:g}" for number in value) for value in distinct)
    return f"{printed}({numbers})"
