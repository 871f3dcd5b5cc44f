"""Models compiled before the first fit, into the folder where PyTensor keeps what it compiled."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.labels.ratings import Ratings
from bayesperf.sampling import nuts
from bayesperf.sampling.backend import compiled
from bayesperf.sampling.fitting import built_model
from bayesperf.sampling.interrupts import interruptible
from bayesperf.sampling.model_data import prepared, resolve_model

# What is compiled depends on the number of dims, and on whether a dim has a single element, not on how many others.
SIZE = 3


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
    first, *others = EXAMPLES[definition.DATA](groups)
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


# ── Examples ──


def _counts(groups: list[str]) -> list[ConfusionMatrix]:
    """Return counts of two and of three classes, then the same of several systems."""
    return [
        ConfusionMatrix.from_table(np.full([*[SIZE] * len(dims), k, k], 5), dims={dim: range(SIZE) for dim in dims})
        for dims, k in itertools.product((groups, ["model", *groups]), (2, 3))
    ]


def _paired_counts(_: Any) -> list[ConfusionMatrix]:
    return [ConfusionMatrix.from_predictions(y, {"a": y, "b": y}) for y in (np.arange(6) % k for k in (2, 3))]


def _transitions(_: Any) -> list[tuple[Any, Any]]:
    return [(np.arange(20) // 2 % 2, np.arange(20) // 3 % 2)]


def _fold_scores(_: Any) -> list[xr.DataArray]:
    scores = np.random.default_rng(0).random((SIZE, 2, SIZE))
    return [xr.DataArray(scores, dims=["dataset", "model", "fold"])]


def _scores_of_two_classes(_: Any) -> list[tuple[Any, Any]]:
    return [(np.arange(20) % 2, np.random.default_rng(0).random(20))]


def _probabilities(_: Any) -> list[tuple[Any, Any]]:
    return [(np.arange(20) % 2, np.random.default_rng(0).uniform(0.1, 0.9, 20))]


def _ratings(_: Any) -> list[Ratings]:
    """Return ratings by three raters of two and of three classes, then the same of several populations."""
    tables = [(k, population) for population in (None, "population") for k in (2, 3)]
    return [
        Ratings.from_table(
            pd.DataFrame(
                {rater: np.arange(6 * SIZE) % k for rater in "abc"} | {"population": np.arange(6 * SIZE) % SIZE}
            ).drop(columns=["population"][: population is None]),
            population=population,
        )
        for k, population in tables
    ]


def _judged_pairs(_: Any) -> list[pd.DataFrame]:
    """Return judgements with ties of three systems, then the same by two judges, and on repeated prompts."""
    rows = [(a, b, winner) for a, b in itertools.permutations("xyz", 2) for winner in (a, b, "tie")]
    frame = pd.DataFrame(rows, columns=["a", "b", "winner"])
    prompts, judges = np.arange(len(frame)) // 2, np.arange(len(frame)) % 2
    return [frame[frame["winner"] != "tie"], frame, frame.assign(judge=judges), frame.assign(prompt=prompts)]


def _attempts_at_items(_: Any) -> list[Outcomes]:
    right = np.arange(SIZE * SIZE).reshape(SIZE, SIZE) % 2
    return [Outcomes.from_counts(right=right, n=1, dims=["model", "item"])]


def _reads(_: Any) -> list[pd.DataFrame]:
    """Return reads of the same cases by three readers, then the same in two modalities."""
    rows = list(itertools.product("xyz", range(6), "mn"))
    frame = pd.DataFrame(rows, columns=["reader", "case", "modality"])
    frame = frame.assign(truth=frame["case"] % 2, read=np.arange(len(frame)) // 3 % 2)
    return [frame[frame["modality"] == "m"].drop(columns="modality"), frame]


# By the kind of data that a model's file declares as DATA: examples, given the dims of groups that the model takes.
EXAMPLES: dict[str, Callable[[list[str]], Sequence[Any]]] = {
    "counts": _counts,
    "paired counts": _paired_counts,
    "transitions": _transitions,
    "fold scores": _fold_scores,
    "scores of two classes": _scores_of_two_classes,
    "probabilities": _probabilities,
    "ratings": _ratings,
    "judged pairs": _judged_pairs,
    "attempts at items": _attempts_at_items,
    "reads": _reads,
}
# By the kind of an option that is no tuple of values, those to compile; others need data of their own.
VALUES = {"positive number": (2.0,), "repeats of folds": (SIZE,), "two raters": (("a", "b"),)}
