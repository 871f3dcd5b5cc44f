"""Data and options of a fit, checked, as the model files take them."""

from __future__ import annotations

import difflib
import hashlib
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf import models
from bayesperf.core import checks as _checks
from bayesperf.counts import labels as _labels
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.counts.paired import PairedConfusionMatrix
from bayesperf.counts.tables import CELL_DIMS
from bayesperf.sequences import chain as _chains

if TYPE_CHECKING:
    from bayesperf.counts.scores import Scores

Options = dict[str, Any]
# What the models add to the dims and, once sampled, to the variables.
_OWN_DIMS = ("cell", "rate", "covariate", "example", "cells_group", "cells_new")


def model_of(model: Any) -> ModuleType | Callable[..., Any]:
    """Return the module of a built-in model, or a user's own function."""
    if callable(model):
        function: Callable[..., Any] = model
        return function
    if not isinstance(model, str) or model not in models.names():
        near = difflib.get_close_matches(str(model), models.names(), 1)
        raise ValueError(
            f"model must be one of {', '.join(models.names())}, or a function (data, priors) -> pymc.Model; it is "
            f"{model!r}.{f' Did you mean {near[0]!r}?' if near else ''}"
        )
    module: ModuleType = getattr(models, model)
    return module


def mapping(name: str, value: Any, example: str) -> dict[str, Any]:
    """Return an argument that goes by names as a new dict."""
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping, as {example}; it is {type(value).__name__}.")
    return dict(value or {})


def prepared(data: Any, model: Any, options: Mapping[str, Any] | None) -> tuple[xr.DataArray, Options]:
    """Return labelled data with their facts as attributes, and the options of the model."""
    model_of(model)
    options = mapping("options", options, "{'groups': 'clusters'}")
    match model:
        case "markov":
            values = _transitions(data, options.pop("by", None), options.pop("pos_label", None))
        case "paired":
            values = _joint(data)
        case "datasets":
            values = _scores(data)
        case "binormal_roc":
            values = _of_two_classes(data, options.pop("pos_label", None))
        case _:
            values = _counts(data, plain=callable(model))
    if not callable(model):
        _check_options(model, options, values)
        if taken := [dim for dim in values.dims if dim in _OWN_DIMS]:
            raise ValueError(f"data: {taken[0]!r} is a dim that the models use for their own; rename that dim.")
    if values.dtype.kind in "iu" and values.sum() > np.iinfo(np.int32).max:
        raise ValueError(
            f"data: {int(values.sum())} examples are more than PyMC counts in its 32 bits, {np.iinfo(np.int32).max}. "
            "Ask the closed form (bayesperf.posterior, bayesperf.pool), for which so many are no burden."
        )
    return values, options


def _counts(data: Any, plain: bool) -> xr.DataArray:
    """Return counts; a function of the user's own may take any DataArray."""
    if isinstance(data, xr.DataArray):
        if plain:
            return data
        data = ConfusionMatrix(data, data.attrs.get("pos_label"))
    if not isinstance(data, ConfusionMatrix):
        raise TypeError(f"data must be a ConfusionMatrix; it is {type(data).__name__}.")
    known = {} if data.pos_label is None else {"pos_label": data.pos_label}
    return data.counts.assign_attrs(known)


def _joint(data: Any) -> xr.DataArray:
    if not isinstance(data, PairedConfusionMatrix):
        raise TypeError(
            f"data of the model 'paired' must be a PairedConfusionMatrix; it is {type(data).__name__}. Make one with "
            "PairedConfusionMatrix.from_predictions(y_true, y_pred_a, y_pred_b)."
        )
    known = {} if data.pos_label is None else {"pos_label": data.pos_label}
    return data.counts.assign_attrs(known, names=list(data.names))


def _transitions(data: Any, by: Any, pos_label: Any) -> xr.DataArray:
    """Return how often what followed what, (sequence, actual_before, predicted_before, actual, predicted)."""
    if not isinstance(data, tuple) or len(data) != 2:
        raise TypeError("data of the model 'markov' must be a pair (y_true, y_pred); sequence ids go to options['by'].")
    series = _chains.label_sequences(*data, by, None, pos_label)
    labels = series.cm.labels
    by = by if isinstance(by, Mapping) else {"sequence": np.zeros(len(series.states), int) if by is None else by}
    ((name, ids),) = by.items()
    before = {"actual_before": labels, "predicted_before": labels}
    if name in before:
        raise ValueError(f"options['by']: {name!r} is a dim that the model uses for its own; rename that dim.")
    coords = {name: _labels.encode(ids, "by", fractions=True).labels} | before | dict.fromkeys(CELL_DIMS, labels)
    known = {} if series.cm.pos_label is None else {"pos_label": series.cm.pos_label}
    return xr.DataArray(_chains.transitions_by_sequence(series), coords, list(coords), name="counts", attrs=known)


def _scores(data: Any) -> xr.DataArray:
    wanted = {"dataset", "model", "fold"}
    if not isinstance(data, xr.DataArray) or set(data.dims) != wanted:
        raise TypeError("data of the model 'datasets' must be a DataArray of scores with dims dataset, model and fold.")
    if data.sizes["model"] != 2:
        raise ValueError(f"data: the model compares two systems; dim model has {data.sizes['model']}. Select two.")
    if data.sizes["fold"] < 2:
        raise ValueError("data: one fold says nothing of the scatter of scores; give at least two.")
    if not np.isfinite(data).all():
        raise ValueError("data has missing or infinite scores. Drop those data sets.")
    scatter = (data.isel(model=0) - data.isel(model=1)).std("fold")
    if (scatter == 0).any():
        name = data["dataset"].values[int(np.argmin(scatter.values))]
        raise ValueError(
            f"data: at dataset {name!s} all folds differ by the same, so their scatter is no distribution."
        )
    return data.transpose("dataset", "model", "fold")


def _of_two_classes(data: Any, pos_label: Any) -> xr.DataArray:
    # What is under curves/ builds on fits in turn.
    from bayesperf.counts.scores import Scores

    if not isinstance(data, tuple) or len(data) != 2:
        raise TypeError(
            "data of the model 'binormal_roc' must be a pair (y_true, y_score); the positive class goes to "
            "options['pos_label']."
        )
    return by_class(Scores.of(*data, pos_label))


def by_class(scores: Scores) -> xr.DataArray:
    """Return scores along a dim ``positive``, labelled by whether the example is of the positive class."""
    values = np.concatenate([scores.negative, scores.positive])
    if np.isinf(values).any():
        raise ValueError("y_score has infinite values, and a normal distribution has none: clip them.")
    if min(len(scores.positive), len(scores.negative)) < 2:
        raise ValueError("y_score: one score says nothing of the spread of its class; give two of either, or more.")
    if np.ptp(scores.positive) == np.ptp(scores.negative) == 0:
        raise ValueError("y_score does not vary within either class, so there is no distribution to fit.")
    return xr.DataArray(values, {"positive": np.arange(len(values)) >= len(scores.negative)}, ["positive"])


def _check_options(model: str, options: Options, data: xr.DataArray) -> None:
    """Refuse options that the model does not have, or with wrong values; supply the dim of the groups."""
    known = list(inspect.signature(getattr(models, model).build).parameters)[2:]
    if unknown := [name for name in options if name not in known]:
        has = f"it has {', '.join(map(repr, known))}" if known else "it has none"
        raise ValueError(f"options: the model {model!r} has no {unknown[0]!r}; {has}.")
    leading = [str(dim) for dim in data.dims[:-2]]
    if "dim" in known:
        options.setdefault("dim", leading[0] if len(leading) == 1 else "fold")
        if options["dim"] not in leading:
            raise ValueError(
                f"options: there is no dim {options['dim']!r} of groups; the leading dims are {leading}. Name it, as "
                "options={'dim': 'site'}."
            )
    for name, value in options.items():
        _CHECKS.get(name, lambda value: value)(value)
    if "dim" in known and data.sizes[options["dim"]] % options.get("repeats", 1):
        raise ValueError(
            f"options['repeats']: {options['repeats']} repeats have as many folds each, and dim {options['dim']!r} has "
            f"{data.sizes[options['dim']]}. Leave out an unfinished repeat."
        )
    if options.get("covariates") is not None:
        _check_covariates(options["covariates"], data[options["dim"]])


def _check_covariates(covariates: Any, groups: xr.DataArray) -> None:
    """Refuse covariates that are not finite numbers, one a group and covariate."""
    dim, name = groups.dims[0], "options['covariates']"
    if not isinstance(covariates, xr.DataArray):
        raise TypeError(f"{name} must be a DataArray ({dim!r}, 'covariate'); it is {type(covariates).__name__}.")
    if set(covariates.dims) != {dim, "covariate"}:
        raise ValueError(f"{name} must have dims {dim!r} and 'covariate'; it has {covariates.dims}.")
    if dim not in covariates.coords:
        raise ValueError(f"{name} must say of which {dim} each row is: give dim {dim!r} the labels of the data.")
    given, wanted = covariates[dim].values.tolist(), groups.values.tolist()
    if missing := [label for label in wanted if label not in given]:
        raise ValueError(f"{name} has no row for {dim} {missing[0]!r}.")
    if len(given) > len(wanted):
        raise ValueError(
            f"{name} has {len(given)} rows for {len(wanted)} of {dim}: select those of the data, once each."
        )
    if covariates.dtype.kind not in "iuf" or not np.isfinite(covariates).all():
        raise ValueError(f"{name} must hold finite numbers. Fill in what is missing; code categories as 0 and 1.")


def _positive_number(name: str) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        if value is not None and not 0 < _checks.number(f"options[{name!r}]", value) < np.inf:
            raise ValueError(f"options[{name!r}] must be greater than 0; it is {value}.")

    return check


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "groups": lambda value: _checks.one_of("options['groups']", value, ("random", "clusters")),
    "design": lambda value: _checks.one_of("options['design']", value, ("joint", "by_actual")),
    "sequences": lambda value: _checks.one_of("options['sequences']", value, ("same", "varying")),
    "repeats": lambda value: _checks.count("options['repeats']", value),
    "lkj": _positive_number("lkj"),
    "test_fraction": lambda value: value is None or _checks.probability("options['test_fraction']", value),
}


def fingerprint(data: xr.DataArray) -> str:
    """Return a hash of values, dims and coordinates: what the figures are of."""
    content = hashlib.sha256(repr((data.dims, data.shape)).encode())
    content.update(np.ascontiguousarray(data.values).tobytes())
    content.update(repr({str(dim): data[dim].values.tolist() for dim in data.dims}).encode())
    return content.hexdigest()[:16]
