"""Options of a fit, checked as the model's file declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf import models
from bayesperf.core import checks
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.cross_validation import check_repeats, refuse_sum

Options = dict[str, Any]


def mapping(name: str, value: Any, example: str) -> dict[str, Any]:
    """Return a copy of an argument that must be a mapping or None."""
    if value is not None and not isinstance(value, Mapping):
        raise InputTypeError(name, f"must be a mapping, as {example}; it is {type(value).__name__}.")
    return dict(value or {})


def check_options(model: str, module: ModuleType, options: Options, data: xr.DataArray) -> None:
    """Refuse options that the model does not have or whose values are wrong; add the default dim of groups."""
    parameters = list(inspect.signature(module.build).parameters.values())[2:]
    defaults = {parameter.name: parameter.default for parameter in parameters}
    if unknown := [name for name in options if name not in defaults]:
        known = [*defaults, *models.OPTIONS_OF_DATA.get(module.DATA, [])]
        has = f"it has {', '.join(map(repr, known))}" if known else "it has none"
        raise InputError("options", f"the model {model!r} has no {unknown[0]!r}; {has}.")
    declared = getattr(module, "OPTIONS", {})
    if "dim of groups" in declared.values():
        leading = _leading(data)
        options.setdefault("dim", leading[0] if len(leading) == 1 else "fold")
    if "dims of slices" in declared.values():
        options.setdefault("dims", tuple(dim for dim in _leading(data) if dim != "model"))
    for name, kind in declared.items():
        if name not in options:
            continue
        if isinstance(kind, tuple):
            checks.one_of(f"options[{name!r}]", options[name], kind)
        elif options[name] is not None or defaults[name] is not None:
            check = CHECKS[checks.one_of(f"OPTIONS[{name!r}] of the model {model!r}", kind, tuple(CHECKS))]
            check(f"options[{name!r}]", options[name], data, options)


def _leading(data: xr.DataArray) -> list[str]:
    return [str(dim) for dim in data.dims[:-2]]


def _check_dim(name: str, dim: Any, data: xr.DataArray, options: Options) -> None:
    if dim not in (leading := _leading(data)):
        raise InputError(
            "options",
            f"there is no dim {dim!r} of groups; the leading dims are {leading}.",
            "Name it, as options={'dim': 'site'}.",
        )
    if options.get("repeats") is None:
        refuse_sum(data, [dim], name)


def _check_dims(name: str, dims: Any, data: xr.DataArray, options: Options) -> None:
    """Refuse dims that are not leading ones, or none; keep them as a tuple."""
    options["dims"] = chosen = _names(name, dims)
    if not chosen:
        raise InputError(name, "the data have no leading dims to be sliced by.", "Count them by some, as by='site'.")
    for dim in chosen:
        _check_dim(name, dim, data, options)


def _check_ordered(name: str, dims: Any, data: xr.DataArray, options: Options) -> None:
    """Refuse dims that are no dims of slices; keep them as a tuple."""
    options["ordered"] = ordered = _names(name, dims)
    if other := [dim for dim in ordered if dim not in options["dims"]]:
        raise InputError(name, f"{other[0]!r} is not among the dims {list(options['dims'])}.")


def _check_interactions(name: str, interactions: Any, data: xr.DataArray, options: Options) -> None:
    """Refuse what are not combinations of two or more dims of slices; keep them as tuples, in the order of the dims."""
    if isinstance(interactions, str) or not isinstance(interactions, Sequence):
        raise InputTypeError(
            name, f"must be a sequence of pairs of dims, as [('site', 'device')]; it is {interactions!r}."
        )
    terms = []
    for interaction in interactions:
        term = _names(name, interaction)
        if other := [dim for dim in term if dim not in options["dims"]]:
            raise InputError(name, f"{other[0]!r} is not among the dims {list(options['dims'])}.")
        if len(term) < 2:
            raise InputError(name, f"{list(term)} is one dim; an interaction is of two or more.")
        terms.append(tuple(dim for dim in options["dims"] if dim in term))
    if len(set(terms)) < len(terms):
        raise InputError(name, "an interaction is named twice.")
    options["interactions"] = tuple(terms)


def _names(name: str, dims: Any) -> tuple[str, ...]:
    """Return the names of dims as a tuple."""
    if isinstance(dims, str) or not isinstance(dims, Sequence) or not all(isinstance(dim, str) for dim in dims):
        raise InputTypeError(name, f"must be a sequence of names of dims, as ['site', 'device']; it has {dims!r}.")
    if len(set(dims)) < len(dims):
        raise InputError(name, f"a dim is named twice in {list(dims)}.")
    return tuple(dims)


def _check_repeats(name: str, repeats: Any, data: xr.DataArray, options: Options) -> None:
    check_repeats(name, checks.count(name, repeats), data.sizes[options["dim"]], options["dim"])


def _check_covariates(name: str, covariates: Any, data: xr.DataArray, options: Options) -> None:
    """Refuse covariates that are not one finite number for each group and covariate; keep them as a DataArray."""
    dim = options["dim"]
    options["covariates"] = covariates = _covariates(name, covariates, data[dim])
    if set(covariates.dims) != {dim, "covariate"}:
        raise InputError(name, f"must have dims {dim!r} and 'covariate'; it has {covariates.dims}.")
    if dim not in covariates.coords:
        raise InputError(name, f"must say of which {dim} each row is: give dim {dim!r} the labels of the data.")
    rows, groups = covariates[dim].values.tolist(), data[dim].values.tolist()
    if missing := [label for label in groups if label not in rows]:
        raise InputError(name, f"has no row for {dim} {missing[0]!r}.")
    if len(rows) > len(groups):
        raise InputError(name, f"has {len(rows)} rows for {len(groups)} of {dim}: select those of the data, once each.")
    if covariates.dtype.kind not in "iuf" or not np.isfinite(covariates).all():
        raise InputError(name, "must hold finite numbers.", "Fill in what is missing; code categories as 0 and 1.")


def _covariates(name: str, covariates: Any, groups: xr.DataArray) -> xr.DataArray:
    """Return covariates as a DataArray (group, covariate): by the labels of the groups, or else in their order."""
    dim = str(groups.name)
    if isinstance(covariates, xr.DataArray):
        return covariates
    if isinstance(covariates, Mapping):
        covariates = pd.DataFrame({column: _column(name, by, groups) for column, by in covariates.items()})
    elif not isinstance(covariates, pd.DataFrame):
        values = np.asarray(covariates)
        if values.ndim not in (1, 2) or len(values) != groups.size:
            raise InputTypeError(
                name,
                f"must have a value, or a row, for each of {groups.size} of {dim!r}; it has shape {values.shape}.",
                f"Give a DataFrame with a row a {dim}, a mapping of names to values, or an array.",
            )
        columns = [f"x{i}" for i in range(1 if values.ndim == 1 else values.shape[1])]
        covariates = pd.DataFrame(values.reshape(groups.size, -1), groups.values, columns)
    table = covariates.set_index(dim) if dim in covariates.columns else covariates
    if not table.index.is_unique:
        raise InputError(name, f"has two rows of one {dim}.", "Give one row for each.")
    coords = {dim: table.index.to_numpy(), "covariate": [str(column) for column in table.columns]}
    return xr.DataArray(table.to_numpy(), coords, (dim, "covariate"))


def _check_references(name: str, reference: Any, data: xr.DataArray, options: Options) -> None:
    """Refuse references that are not one name for each group; keep them as a DataArray along the dim of the groups."""
    groups = data[options["dim"]]
    one = np.ndim(reference) == 0 and not isinstance(reference, Mapping)
    column = _column(name, [reference] * groups.size if one else reference, groups)
    labels = groups.values.tolist()
    if missing := [label for label in labels if not isinstance(column.get(label), str)]:
        raise InputError(
            name,
            f"has no name for {groups.name} {missing[0]!r}.",
            "Give one name for all, or names by group, as {'north': 'culture', 'south': 'biopsy'}.",
        )
    used = [column[label] for label in labels]
    options["reference"] = xr.DataArray(used, {options["dim"]: groups.values}, [options["dim"]])


def _column(name: str, values: Any, groups: xr.DataArray) -> pd.Series:
    """Return one covariate: of a mapping or a Series by the labels of the groups, of a sequence in their order."""
    if isinstance(values, Mapping | pd.Series):
        return pd.Series(values)
    if len(values) != groups.size:
        raise InputError(name, f"has {len(values)} values for {groups.size} of {groups.name!r}.", "Give one for each.")
    return pd.Series(np.asarray(values), groups.values)


def _check_positive_number(name: str, value: Any, data: xr.DataArray, options: Options) -> None:
    if not 0 < checks.number(name, value) < np.inf:
        raise InputError(name, f"must be greater than 0; it is {value}.")


def _check_probability(name: str, value: Any, data: xr.DataArray, options: Options) -> None:
    checks.probability(name, value)


def _check_rater(name: str, rater: Any, data: xr.DataArray, options: Options) -> None:
    if rater not in data.attrs["raters"]:
        raise InputError(name, f"there is no rater {rater!r}; there are {', '.join(map(repr, data.attrs['raters']))}.")


def _check_two_raters(name: str, raters: Any, data: xr.DataArray, options: Options) -> None:
    if not isinstance(raters, tuple) or len(raters) != 2 or raters[0] == raters[1]:
        raise InputError(name, f"must be a pair of two different raters, as ('a', 'b'); it is {raters!r}.")
    for rater in raters:
        _check_rater(name, rater, data, options)


def _check_calls(name: str, calls: Any, data: xr.DataArray, options: Options) -> None:
    """Refuse what are not whole numbers by the predicted classes of the data; keep them in the order of the data."""
    if not isinstance(calls, xr.DataArray) or "predicted" not in calls.dims:
        raise InputTypeError(
            name,
            f"must be a DataArray with a dim 'predicted'; it is {type(calls).__name__}.",
            "Sum a matrix over the actual class, as cm.counts.sum('actual').",
        )
    labels = data["predicted"].values.tolist()
    if "predicted" not in calls.coords or sorted(map(str, calls["predicted"].values)) != sorted(map(str, labels)):
        raise InputError(name, f"its dim 'predicted' must have the classes of the data, {labels}.")
    checks.whole_numbers(name, calls.values)
    options["calls"] = calls.sel(predicted=labels).astype(int)


# What a model's file declares in OPTIONS, beside tuples of allowed values. The option of the dim is called "dim".
CHECKS: dict[str, Callable[[str, Any, xr.DataArray, Options], None]] = {
    "dim of groups": _check_dim,
    "dims of slices": _check_dims,
    "interactions of dims": _check_interactions,
    "ordered dims": _check_ordered,
    "repeats of folds": _check_repeats,
    "counts of predictions": _check_calls,
    "covariates of groups": _check_covariates,
    "references of groups": _check_references,
    "positive number": _check_positive_number,
    "probability": _check_probability,
    "rater": _check_rater,
    "two raters": _check_two_raters,
}
