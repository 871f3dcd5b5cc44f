"""Models compiled before the first fit, into the folder where PyTensor keeps what it compiled."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.sampling import nuts
from bayesperf.sampling.backend import compiled
from bayesperf.sampling.data_kinds import DATA_KINDS, SIZE
from bayesperf.sampling.fitting import built_model
from bayesperf.sampling.interrupts import interruptible
from bayesperf.sampling.model_data import prepared, resolve_model

# By the kind of an option that is no tuple of values, those to compile; others need data of their own.
VALUES = {"positive number": (2.0,), "repeats of folds": (SIZE,), "two raters": (("a", "b"),)}


def precompile(model: str) -> None:
    """Compile what sampled fits of a built-in model would: of two and three classes, of systems, with its options.

    Fits of other numbers of folds and examples compile nothing more. The first fit with other priors, or with another
    number of classes or systems, compiles the outermost of its functions.
    """
    definition: Any = resolve_model(model)
    with interruptible(), nuts.quiet():
        for i, (data, options) in enumerate(_examples(definition)):
            counts, settings = prepared(data, model, options)
            try:
                built = built_model(model, counts, None, settings)
            except ValueError:
                if i == 0:
                    raise
                continue  # A model of two classes refuses three.
            compiled(built)


def folder() -> Path:
    """Return where PyTensor keeps what it compiled; PYTENSOR_FLAGS=base_compiledir=… is another place."""
    import pytensor

    return Path(pytensor.config.base_compiledir)


def _examples(definition: Any) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield data and options of small fits, the default ones first, then one option at a time."""
    declared = getattr(definition, "OPTIONS", {})
    dim = {"dim": "fold"} if "dim of groups" in declared.values() else {}
    groups = ["fold"] if dim or "dims of slices" in declared.values() else []
    first, *others = DATA_KINDS[definition.DATA].examples(groups)
    parameters = inspect.signature(definition.build).parameters
    always = dim | _calls(declared, first)
    yield first, always
    for name, kind in declared.items():
        for value in kind if isinstance(kind, tuple) else VALUES.get(kind, ()):
            if value != parameters[name].default:
                yield first, always | {name: value}
    for data in others:
        yield data, dim | _calls(declared, data)


def _calls(declared: Mapping[str, Any], data: Any) -> dict[str, xr.DataArray]:
    """Return the option of predictions without labels, by classes of the data, of a model that takes one."""
    labels = list(getattr(data, "labels", ()))
    calls = xr.DataArray(np.full((SIZE, len(labels)), 5), {"predicted": labels}, ["part", "predicted"])
    return {name: calls for name, kind in declared.items() if kind == "counts of predictions"}
