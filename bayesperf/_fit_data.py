"""Data and options of a fit, checked, as the model files take them."""

from __future__ import annotations

import difflib
import hashlib
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import xarray as xr

from bayesperf import _chains, _checks, _labels, models
from bayesperf._tables import CELL_DIMS
from bayesperf.counts import ConfusionMatrix
from bayesperf.paired import PairedConfusionMatrix

Options = dict[str, Any]


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


def prepared(data: Any, model: Any, options: Mapping[str, Any] | None) -> tuple[xr.DataArray, Options]:
    """Return labelled data with their facts as attributes, and the options of the model."""
    model_of(model)
    options = dict(options or {})
    match model:
        case "markov":
            values = _transitions(data, options.pop("by", None), options.pop("pos_label", None))
        case "paired":
            values = _joint(data)
        case "datasets":
            values = _scores(data)
        case _:
            values = _counts(data, plain=callable(model))
    if not callable(model):
        _check_options(model, options, values)
        if taken := [dim for dim in values.dims if dim in ("cell", "rate", "covariate", "example")]:
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
    series = _chains.read(*data, by, None, pos_label)
    labels = series.cm.labels
    by = by if isinstance(by, Mapping) else {"sequence": np.zeros(len(series.states), int) if by is None else by}
    ((name, ids),) = by.items()
    before = {"actual_before": labels, "predicted_before": labels}
    coords = {name: _labels.encode(ids, "by", fractions=True).labels} | before | dict.fromkeys(CELL_DIMS, labels)
    known = {} if series.cm.pos_label is None else {"pos_label": series.cm.pos_label}
    return xr.DataArray(_chains.steps(series), coords, list(coords), name="counts", attrs=known)


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
