"""Data of a fit, read by kind into the labelled arrays that the model files take."""

from __future__ import annotations

import difflib
import hashlib
import threading
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import logit

from bayesperf import models
from bayesperf.core import checks
from bayesperf.core.arrays import Booleans
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.classifier_scores import Scores, by_class, labelled_scores
from bayesperf.data.count_arrays import CELL_DIMS, refuse_uncounted_cells
from bayesperf.data.cross_validation import FOLD, REPEAT, folds_of_all_repeats, repeated_dim
from bayesperf.data.judged_pairs import judged_pairs
from bayesperf.data.label_encoding import encode, positive_label
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes, matrix_of_right
from bayesperf.data.reads import binary_reads
from bayesperf.data.response_patterns import of_two_systems
from bayesperf.distributions.logistic_line import MANY, grouped
from bayesperf.labels.ratings import Ratings
from bayesperf.labels.ratings import model_data as counts_of_patterns
from bayesperf.sampling.model_options import Options, check_options, mapping
from bayesperf.sequences.chain import label_sequences, samples_by_sequence, transitions_by_sequence

# Settings of PyTensor's have no value until they are read, and two threads may not do that at once.
_first_reading = threading.Lock()
# Names that a fit gives to its own dims and variables, whatever the model.
RESERVED = ("cell", "example", "cells_median", "cells_group", "cells_new")
# Dims of data that were arranged by the positive class when they were read: by class, and by what happened.
ARRANGED = {"positive", "column"}


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
        kind = checks.one_of(f"DATA of the model {model!r}", definition.DATA, tuple(READERS))
        values = READERS[kind](data, model, options, pos_label)
        if "repeats" in getattr(definition, "OPTIONS", {}) and repeated_dim(values) == REPEAT and FOLD in values.dims:
            repeats = options.get("repeats")
            values, options["repeats"] = folds_of_all_repeats(values, FOLD, repeats, "options['repeats']")
        check_options(model, definition, options, values)
        if taken := [dim for dim in values.dims if dim in (*RESERVED, *getattr(definition, "DIMS", ()))]:
            raise InputError("data", f"{taken[0]!r} is a dim that the models use for their own; rename that dim.")
    else:
        values = data if isinstance(data, xr.DataArray) else _counts(data, model, options, pos_label)
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


# ── Kinds of data ──


def _counts(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return counts (…, actual, predicted)."""
    if isinstance(data, xr.DataArray):
        data = ConfusionMatrix(data, data.attrs.get("pos_label") if pos_label is None else pos_label)
    if isinstance(data, Outcomes) and model == "slices":
        if (asked := options.setdefault("outcome", "accuracy")) != "accuracy":
            raise InputError(
                "options['outcome']",
                f"right or wrong outcomes have one rate, 'accuracy'; it is {asked!r}.",
                "Remove it.",
            )
        data = matrix_of_right(data)
    _refuse_outcomes(data, model)
    if not isinstance(data, ConfusionMatrix):
        raise InputTypeError(
            "data",
            f"must be a ConfusionMatrix; it is {type(data).__name__}.",
            "Count a frame by ConfusionMatrix.from_frame(frame, actual=…, predicted=…, by=…, pos_label=…).",
        )
    refuse_uncounted_cells(data.counts, "data")
    return data.counts.assign_attrs(_positive(data.pos_label))


# What answers of outcomes as a model of classes does of matrices.
_OF_OUTCOMES = {
    "groups": "bayesperf.pool(outcomes, dim) is that model, by quadrature.",
    "paired": "bayesperf.compare(outcomes) compares them on the same examples, exactly for two of right and wrong.",
}


def _refuse_outcomes(data: Any, model: Any) -> None:
    """Refuse outcomes for a model of classes; without the row of their class its cells would be taken for others."""
    if isinstance(data, Outcomes):
        usual = "bayesperf.posterior(outcomes) has their posterior in closed form; groups are bayesperf.pool's."
        raise InputTypeError(
            "data",
            f"the model {model!r} is of predictions of classes, and outcomes have none.",
            _OF_OUTCOMES.get(model, usual) if isinstance(model, str) else usual,
        )


def _paired_counts(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return joint counts (actual, predicted_a, predicted_b)."""
    _refuse_outcomes(data, model)
    patterns = of_two_systems(data, "data")
    return patterns.table().assign_attrs(_positive(patterns.pos_label), names=list(patterns.names))


def _transitions(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return counts of transitions (sequence, actual_before, predicted_before, actual, predicted).

    The attribute ``samples`` has the counts of all samples (sequence, actual, predicted), the first ones included. The
    option ``by`` is removed: it belongs to the data, not to the model.
    """
    by = options.pop("by", None)
    if not isinstance(data, tuple) or len(data) != 2:
        raise InputTypeError(
            "data", f"must be a pair (y_true, y_pred) for the model {model!r}; sequence ids go to options['by']."
        )
    series = label_sequences(*data, by, None, pos_label)
    by = by if isinstance(by, Mapping) else {"sequence": np.zeros(len(series.states), int) if by is None else by}
    ((name, ids),) = by.items()
    of_step = dict.fromkeys(("actual_before", "predicted_before", *CELL_DIMS), series.cm.labels)
    if name in of_step:
        raise InputError("options['by']", f"{name!r} is a dim that the model uses for its own; rename that dim.")
    sequences = {name: encode(ids, "by", fractions=True).labels}
    coords, seen = sequences | of_step, sequences | dict.fromkeys(CELL_DIMS, series.cm.labels)
    facts = _positive(series.cm.pos_label) | {"samples": xr.DataArray(samples_by_sequence(series), seen, list(seen))}
    return xr.DataArray(transitions_by_sequence(series), coords, list(coords), name="counts", attrs=facts)


def _fold_scores(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return scores (dataset, model, fold) of two systems."""
    if not isinstance(data, xr.DataArray) or set(data.dims) != {"dataset", "model", "fold"}:
        raise InputTypeError(
            "data", f"must be a DataArray of scores with dims dataset, model and fold for the model {model!r}."
        )
    if data.sizes["model"] != 2:
        raise InputError("data", f"the model compares two systems; dim model has {data.sizes['model']}.", "Select two.")
    if data.sizes["fold"] < 2:
        raise InputError("data", "one fold says nothing of the scatter of scores; give at least two.")
    if not np.isfinite(data).all():
        raise InputError("data", "has missing or infinite scores.", "Drop those data sets.")
    if (equal := without_scatter(data)).any():
        name = data["dataset"].values[np.argmax(equal)]
        raise InputError(
            "data", f"at dataset {name!s} all folds differ by the same, so their scatter is no distribution."
        )
    return data.transpose("dataset", "model", "fold")


def without_scatter(scores: xr.DataArray) -> Booleans:
    """Return in which data sets two systems differ by the same in all folds, but for rounding."""
    apart = scores.isel(model=0, drop=True) - scores.isel(model=1, drop=True)
    spread = apart.max("fold") - apart.min("fold")
    return np.asarray(spread <= 1e-12 * abs(scores).max(["model", "fold"]))


def _scores_of_two_classes(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return scores along a dim ``positive``."""
    if not isinstance(data, tuple) or len(data) != 2:
        raise InputTypeError(
            "data",
            f"must be a pair (y_true, y_score) for the model {model!r}; the positive class goes to pos_label.",
        )
    return by_class(Scores.of(*data, pos_label))


def _probabilities(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return a row (case, column) for the examples of a group with the same log-odds, of many with similar ones.

    The option ``by``, which belongs to the data, is removed.
    """
    by = options.pop("by", None)
    if not isinstance(data, tuple) or len(data) != 2:
        raise InputTypeError(
            "data",
            f"must be a pair (y_true, y_prob) for the model {model!r}; ids of groups go to "
            "options['by'], the positive class to pos_label.",
        )
    happened, probability = labelled_scores(*data, pos_label, "y_prob")
    checks.probabilities("y_prob", probability)
    checks.none_certain("y_prob", int(((probability == 0) | (probability == 1)).sum()))
    attrs, group = _groups(by, len(happened))
    examples = pd.DataFrame({"log_odds": logit(probability), "positives": happened, "group": group})
    alike = examples["log_odds"].rename("alike")
    if len(examples.drop_duplicates(["group", "log_odds"])) > MANY:
        size = examples.groupby("group")["group"].transform("size")
        alike = pd.Series(grouped(alike.to_numpy(float), size.to_numpy(float)))
    rows = examples.groupby(["group", alike]).agg(
        log_odds=("log_odds", "mean"), positives=("positives", "sum"), examples=("positives", "size")
    )
    table = rows.reset_index("group").astype(float)
    coords = {"case": np.arange(len(table)), "column": table.columns.tolist()}
    return xr.DataArray(table.to_numpy(), coords, ["case", "column"], attrs=attrs)


def _groups(by: Any, examples: int) -> tuple[dict[str, Any], Any]:
    """Return the dim and the labels of groups, as attributes, and the group of each example; without groups 0."""
    if by is None:
        return {}, 0
    by = by if isinstance(by, Mapping) else {"group": by}
    if len(by) != 1:
        raise InputError("by", f"give one column of ids of groups, as {{'site': ids}}; it has {len(by)}.")
    ((dim, ids),) = by.items()
    if dim in ("case", "column", "parameter", "chain", "draw"):
        raise InputError("by", f"{dim!r} is a dim that the model uses for its own; rename that column.")
    column = encode(ids, "by", fractions=True)
    checks.equal_lengths({"y_true": examples, "by": len(column.codes)})
    seen, group = np.unique(column.codes, return_inverse=True)
    if len(seen) < 2:
        raise InputError(
            "by", f"there is one {dim}, and nothing that groups could have in common.", "Fit without `by`."
        )
    return {"dim": str(dim), "groups": column.labels[seen].tolist()}, group


def _ratings(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return counts of patterns (…, pattern), with what the patterns are in the attributes."""
    if not isinstance(data, Ratings):
        raise InputTypeError(
            "data",
            f"must be Ratings for the model {model!r}; it is {type(data).__name__}.",
            "Make them with Ratings.from_frame(frame, item=…, rater=…, rating=…) or Ratings.from_table(table).",
        )
    return counts_of_patterns(data)


def _judged_pairs(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return counts (comparison, outcome) of a frame; the option ``covariates``, which belongs to it, is removed."""
    covariates = options.pop("covariates", ())
    if isinstance(covariates, str | Mapping | pd.DataFrame):
        given = repr(covariates) if isinstance(covariates, str) else type(covariates).__name__
        raise InputTypeError(
            "options['covariates']",
            f"must be a sequence of names, as ['length']; it is {given}.",
            "The frame has the values: of ['length'] in columns length_a and length_b.",
        )
    return judged_pairs(data, tuple(covariates))


def _reads(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return whether reads are right (modality, reader, case), with the truth of the cases in the attributes."""
    return binary_reads(data, pos_label)


def _attempts_at_items(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return counts (system, item, outcome) of wrong and right attempts, the items last but one."""
    if not isinstance(data, Outcomes) or len(data.labels) > 2 or len(data.dims) != 2 or "item" not in data.dims:
        raise InputTypeError(
            "data",
            f"must be Outcomes of right and wrong over systems and items for the model {model!r}.",
            "Count them by Outcomes.from_frame(frame, correct='passed', by=['model', 'item']).",
        )
    counts = data.counts.transpose(..., "item", "outcome").drop_attrs()
    if min(counts.shape[:2]) < 2:
        raise InputError("data", f"two systems and two items are the least; there are {dict(counts.sizes)}.")
    for dim in counts.dims[:2]:
        if unseen := (counts.sum([other for other in counts.dims if other != dim]) == 0).values.nonzero()[0].size:
            raise InputError("data", f"{unseen} of {dim} have no attempt.", "Drop them: nothing is known of them.")
    return counts


def _checked_positive(pos_label: Any, values: xr.DataArray) -> Any:
    """Return the positive class of the caller; refuse one that is none of the data's labels."""
    labels = values["actual"].values.tolist() if "actual" in values.dims else values.attrs.get("labels")
    if labels is None:
        raise InputError("pos_label", "these data have no classes.", "Call `fit` without `pos_label`.")
    return positive_label(list(labels), pos_label)


def _positive(pos_label: Any) -> dict[str, Any]:
    """Return the attribute that names the positive class, if there is one."""
    return {} if pos_label is None else {"pos_label": pos_label}


# Each DATA that a model's file may declare, and the reader of such data. Options that belong to the data are removed.
READERS: dict[str, Callable[[Any, Any, Options, Any], xr.DataArray]] = {
    "counts": _counts,
    "paired counts": _paired_counts,
    "transitions": _transitions,
    "fold scores": _fold_scores,
    "scores of two classes": _scores_of_two_classes,
    "probabilities": _probabilities,
    "ratings": _ratings,
    "judged pairs": _judged_pairs,
    "reads": _reads,
    "attempts at items": _attempts_at_items,
}
