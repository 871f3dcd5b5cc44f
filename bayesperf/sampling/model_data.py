"""Data of a fit, read by kind into the labelled arrays that the model files take."""

from __future__ import annotations

import difflib
import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf import models
from bayesperf.core import checks
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.axis_names import FOLD, REPEAT
from bayesperf.data.count_arrays import repeated_dim
from bayesperf.data.cross_validation import folds_of_all_repeats
from bayesperf.data.label_encoding import positive_label
from bayesperf.sampling.data_kinds import DATA_KINDS
from bayesperf.sampling.model_options import Options, check_options, mapping

if TYPE_CHECKING:
    import pymc as pm

# Settings of PyTensor's have no value until they are read, and two threads may not do that at once.
_first_reading = threading.Lock()
# Names that a fit gives to its own dims and variables, whatever the model.
RESERVED = ("cell", "example", "cells_median", "cells_group", "cells_new")
# Dims of data that were arranged by the positive class when they were read: by class, and by what happened.
ARRANGED = {"positive", "column"}


@dataclass(frozen=True, eq=False)
class BuiltModel:
    """A PyMC model, and what it was built from."""

    # The model as it was named.
    name: Any
    # Its file, or the caller's own function.
    definition: Any
    # The data, as `prepared` returns them.
    counts: xr.DataArray
    # The caller's own priors.
    priors: Mapping[str, Any] | None
    # The checked options.
    options: Mapping[str, Any]
    model: pm.Model

    def fact(self, name: str, default: Any = None) -> Any:
        """Return what the model's file declares under a name."""
        return getattr(self.definition, name, default)


def named(model: Any) -> Any:
    """Return the name of a built-in model that is given as its module; anything else as it is."""
    name = model.__name__.rpartition(".")[2] if isinstance(model, ModuleType) else ""
    return name if name in models.names() and getattr(models, name) is model else model


def resolve_model(model: Any) -> ModuleType | Callable[..., Any]:
    """Return the module of a built-in model; the caller's own function or module as it is."""
    if callable(model):
        function: Callable[..., Any] = model
        return function
    if isinstance(model, ModuleType):
        _check_compilation_folder()
        return _own_module(model)
    if hasattr(model, "free_RVs"):
        raise InputTypeError(
            "model",
            "is a pymc.Model, which has its data already.",
            "Sample it, as pm.sample(model=model), and read the tree with bayesperf.Posterior.from_datatree; or give "
            "the function (data, priors) that returns it.",
        )
    if not isinstance(model, str) or model not in models.names():
        near = difflib.get_close_matches(str(model), models.names(), 1)
        raise InputError(
            "model",
            f"must be one of {', '.join(models.names())}, a function (data, priors) -> pymc.Model, or an edited copy "
            f"of a model's file, imported; it is {model!r}.{f' Did you mean {near[0]!r}?' if near else ''}",
        )
    _check_compilation_folder()
    module: ModuleType = getattr(models, model)
    return module


def _own_module(module: ModuleType) -> ModuleType:
    """Return a module of the caller's own; refuse one that is no model."""
    if absent := [name for name in ("DATA", "PRIORS", "build") if not hasattr(module, name)]:
        raise InputTypeError(
            "model",
            f"is the module {module.__name__!r}, which has no {absent[0]}.",
            "Import an edited copy of one of the files of bayesperf.models.",
        )
    return module


def name_in_words(model: Any) -> str:
    """Return the name of a model: built-in, a function or a module."""
    return model if isinstance(model, str) else getattr(model, "__name__", repr(model))


def _check_compilation_folder() -> None:
    """Refuse a folder that cannot be written, without which PyTensor computes nothing, as the place for its files."""
    import pytensor

    try:
        with _first_reading:
            str(pytensor.config.compiledir)  # PyTensor makes the folder when it is first asked for it.
    except (ValueError, OSError) as error:
        raise OSError(
            f"PyMC has no place for what it compiles: {error} Name a folder that can be written in the environment, as "
            "PYTENSOR_FLAGS=base_compiledir=/a/folder."
        ) from None


def prepared(
    data: Any, model: Any, options: Mapping[str, Any] | None, pos_label: Any = None
) -> tuple[xr.DataArray, Options]:
    """Return the data as a labelled array, facts such as the positive class in its attributes, and checked options."""
    definition = resolve_model(model)
    options = mapping("options", options, "{'groups': 'clusters'}")
    if isinstance(definition, ModuleType):
        model = name_in_words(model)
        kind = checks.one_of(f"DATA of the model {model!r}", definition.DATA, tuple(DATA_KINDS))
        values = DATA_KINDS[kind].read(data, model, options, pos_label)
        if "repeats" in getattr(definition, "OPTIONS", {}) and repeated_dim(values) == REPEAT and FOLD in values.dims:
            repeats = options.get("repeats")
            values, options["repeats"] = folds_of_all_repeats(values, FOLD, repeats, "options['repeats']")
        check_options(model, definition, options, values)
        if taken := [dim for dim in values.dims if dim in (*RESERVED, *getattr(definition, "DIMS", ()))]:
            raise InputError("data", f"{taken[0]!r} is a dim that the models use for their own; rename that dim.")
    else:
        values = data if isinstance(data, xr.DataArray) else DATA_KINDS["counts"].read(data, model, options, pos_label)
    if pos_label is not None and not ARRANGED.intersection(values.dims):
        values = values.assign_attrs(pos_label=_checked_positive(pos_label, values))
    # ArviZ takes the coordinate of a system or site that was selected for a dim, and stops at it.
    values = values.drop_vars([name for name, coord in values.coords.items() if not coord.dims])
    if values.dtype.kind in "iu" and values.sum() > np.iinfo(np.int32).max:
        raise InputError(
            "data",
            f"{int(values.sum())} examples are more than PyMC counts in its 32 bits, {np.iinfo(np.int32).max}.",
            "Ask the closed form (bayesperf.posterior, bayesperf.pool), for which so many are no burden.",
        )
    return values, options


def fingerprint(data: xr.DataArray) -> str:
    """Return a hash of the values, dims and coordinates of data."""
    content = hashlib.sha256(repr((data.dims, data.shape)).encode())
    content.update(np.ascontiguousarray(data.values).tobytes())
    content.update(repr({str(dim): data[dim].values.tolist() for dim in data.dims}).encode())
    return content.hexdigest()[:16]


def _checked_positive(pos_label: Any, values: xr.DataArray) -> Any:
    """Return the positive class of the caller; refuse one that is none of the data's labels."""
    labels = values["actual"].values.tolist() if "actual" in values.dims else values.attrs.get("labels")
    if labels is None:
        raise InputError("pos_label", "these data have no classes.", "Call `fit` without `pos_label`.")
    return positive_label(list(labels), pos_label)
