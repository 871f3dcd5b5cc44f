"""PyMC models of confusion matrices, one file per model, to read, copy and change.

`names` lists the models, `table` describes each model and the data that it takes, and `build` returns a model of data.
A model is a file in this folder. Copy it to a folder of your own, edit it, import it, and give the module to
`bayesperf.fit` in place of a name. What the files have in common is in `bayesperf.models.building`, the only part of
bayesperf that they import. The docstring of a file describes the setting and the mathematics, with their source. It
defines

``PRIORS``
    The default priors, by name.
``build(data, priors, **options)``
    Returns a `pymc.Model` with labelled dims, in which everything that depends on the values of the data is
    `pymc.Data`, and which has a variable ``cells`` (…, actual, predicted) if it models a confusion matrix.
``DATA``
    The kind of data that `bayesperf.fit` takes for this model: ``"counts"``; ``"paired counts"``, a `ConfusionMatrix`
    of two systems on the same examples; ``"transitions"``, a pair ``(y_true, y_pred)`` in the order of time;
    ``"fold scores"``, a DataArray (dataset, model, fold); ``"scores of two classes"`` or ``"probabilities"``, a pair
    ``(y_true, y_score)``; ``"ratings"``, `Ratings`; ``"judged pairs"``, a frame with columns ``a``, ``b``, ``winner``
    and, if there are any, ``prompt`` and ``judge``; ``"attempts at items"``, `Outcomes` over systems and a dim
    ``item``; or ``"reads"``, a frame with columns ``reader``, ``case``, ``truth``, ``read`` and, if there are several,
    ``modality``. Ids of sequences, or of groups of probabilities, are the option ``by``; numbers that may distract
    judges the option ``covariates``: of ``["length"]`` a frame has columns ``length_a`` and ``length_b``.

and, where they apply,

``OPTIONS``
    How `bayesperf.fit` checks the options of ``build``, by name: a tuple of the allowed values, or one of ``"dim of
    groups"`` (by default the only leading dim, else ``fold``), ``"dims of slices"``, ``"ordered dims"``,
    ``"interactions of dims"``, ``"covariates of groups"``, ``"references of groups"``, ``"counts of predictions"``,
    ``"repeats of folds"``, ``"positive number"``, ``"probability"``, ``"rater"`` and ``"two raters"``.
``DIMS``
    Dims that the model adds; no dim of the data may have one of these names.
``DESIGN``
    ``"by_actual"`` if the data never say how common the classes are; if that differs from fit to fit, the option
    ``design`` says so.
``DIM``
    The dim of groups, if it is no option.
``ESTIMAND``
    What the cells describe: a key of `bayesperf.posteriors.quantity.SCOPES`, such as ``mean``, or the line below a
    table in words of your own, such as ``Posterior of the metric of a typical {dim}``, where ``{dim}`` is the option.
``QUANTITIES``
    Facts about variables that are answers: whether ``greater_is_better``, and their ``bounds``.
    `Marginal.from_datatree` and `bayesperf.compare` take such variables by name.
``REFUSAL``
    Why the cells can neither predict new examples nor be taken to another prevalence.
``NO_PREDICTION``
    Why they can be taken to another prevalence only.
``TARGET_ACCEPT``
    The target acceptance rate of NUTS.
``recover(posterior, data, rng, **options)``
    Draws the variables that the model lacks: ``cells_group`` (each group) and ``cells_new`` (a new one), parameters
    that were integrated out, and ``cells`` if need be.
``log_likelihood(posterior, data, **options)``
    Returns the log-likelihood of each unit to leave out. A group that is left out has no effect of its own yet:
    integrate the effect out, as `groups_logit` does.
``facts(data, **options)``
    Returns numbers to add to the attributes of the posterior. If ``parameters`` and ``degrees_of_freedom`` are among
    them, a fit warns of what the data do not settle.
``POTENTIAL``
    Why a likelihood that is a `pymc.Potential` has no predictions and no log-likelihood.
``exact(data, priors, rngs, size, **options)``
    Draws from the posterior, using a separate generator for each matrix. It raises NotImplementedError if the posterior
    has no closed form under these priors and options.
``EXACT``
    In place of `exact`: where bayesperf has such a function, as ``"groups.group_draws:draws"``. It receives the
    parameters of the priors, which must be of the same families as the defaults. It does not apply to a copy.
``approximate`` and ``APPROXIMATE``
    The same for draws from an approximation to the posterior, which ``method="approximate"`` asks for.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["build", "names", "table"]

# Options that are of the data rather than of a model's `build`, by the kind of data.
OPTIONS_OF_DATA = {"transitions": ["by"], "probabilities": ["by"], "judged pairs": ["covariates"]}


def names() -> list[str]:
    """Return the names of the models.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.models.names()
    ['binormal_roc', 'classes', ..., 'slices']
    """
    modules = (module.name for module in iter_modules(__path__))
    return sorted(name for name in modules if name != "building" and not name.startswith("_"))


def table() -> pd.DataFrame:
    """Return a table of all models: their data, the names of their priors, their options, and a line about each."""
    import inspect

    import pandas as pd

    modules = {name: import_module(f"{__name__}.{name}") for name in names()}
    rows = [
        {
            "name": name,
            "data": module.DATA,
            "priors": ", ".join(module.PRIORS),
            "options": ", ".join(
                [*list(inspect.signature(module.build).parameters)[2:], *OPTIONS_OF_DATA.get(module.DATA, [])]
            ),
            "exact": hasattr(module, "exact") or hasattr(module, "EXACT"),
            "description": (module.__doc__ or "").partition("\n")[0],
        }
        for name, module in modules.items()
    ]
    return pd.DataFrame(rows)


def __getattr__(name: str) -> Any:
    """Import a model on first use, because importing it imports PyMC; `build`, which knows of data, is lent."""
    if name == "build":
        return import_module("bayesperf.sampling.fitting").build
    if name in (*names(), "building"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*names(), *__all__, "building"]
