"""PyMC models of confusion matrices, one file a model, to read, copy and change.

`names` lists the models and `table` says what each is of and which data it takes. A model is a file of this folder
whose name has no leading underscore. Its docstring has the story and the mathematics with their source. It defines

``PRIORS``
    The default priors, by name.
``build(data, priors, **options)``
    Returns a `pymc.Model` with labelled dims, all that depends on the values of the data in `pymc.Data`, and a variable
    ``cells`` (…, actual, predicted) if it is of a confusion matrix.
``DATA``
    What `bayesperf.fit` takes for this model: ``"counts"``, ``"paired counts"``, ``"transitions"``, ``"fold scores"``
    or ``"scores of two classes"``.

and, where they apply,

``OPTIONS``
    How `bayesperf.fit` checks the options of ``build``, by name: a tuple of the allowed values, or one of ``"dim of
    groups"``, ``"covariates of groups"``, ``"repeats of folds"``, ``"positive number"`` and ``"probability"``.
``DIMS``
    Dims that the model adds, by which no dim of the data may be called.
``ESTIMAND``
    What a posterior of the cells is of; ``{dim}`` stands for the option of that name.
``REFUSAL``
    Why the cells cannot predict new examples.
``TARGET_ACCEPT``
    The acceptance rate that NUTS aims at.
``recover(posterior, data, rng, **options)``
    Draws what was integrated out of the model.
``log_likelihood(posterior, data, **options)``
    Returns the log-likelihood of the units of cross-validation.
``exact(data, priors, rngs, size, **options)``
    Draws from the posterior where it has a closed form, each matrix by a generator of its own.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["names", "table"]


def names() -> list[str]:
    """Return the names of the models.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.models.names()
    ['binormal_roc', 'datasets', 'groups', 'groups_logit', 'markov', 'multinomial', 'paired', 'rates']
    """
    return sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))


def table() -> pd.DataFrame:
    """Return every model with the data it takes, its options, and the first line of its documentation, a row each."""
    import inspect

    import pandas as pd

    modules = {name: import_module(f"{__name__}.{name}") for name in names()}
    rows = [
        {
            "name": name,
            "data": module.DATA,
            "options": ", ".join(list(inspect.signature(module.build).parameters)[2:]),
            "exact": hasattr(module, "exact"),
            "description": (module.__doc__ or "").partition("\n")[0],
        }
        for name, module in modules.items()
    ]
    return pd.DataFrame(rows)


def __getattr__(name: str) -> ModuleType:
    """Import a model's file when it is first used, because PyMC is imported with it."""
    if name in names():
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*names(), *__all__]
