"""Kinds of data that models take: how each is read into a labelled array, and small examples of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import logit

from bayesperf.core import checks
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.classifier_scores import Scores, by_class, labelled_scores
from bayesperf.data.count_arrays import CELL_DIMS, refuse_uncounted_cells
from bayesperf.data.fold_scores import fold_scores
from bayesperf.data.judged_pairs import judged_pairs
from bayesperf.data.label_encoding import encode
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes, matrix_of_right
from bayesperf.data.reads import binary_reads
from bayesperf.data.response_patterns import of_two_systems
from bayesperf.distributions.logistic_line import MANY, grouped
from bayesperf.labels.ratings import Ratings
from bayesperf.labels.ratings import model_data as counts_of_patterns
from bayesperf.sampling.model_options import Options
from bayesperf.sequences.chain import label_sequences, samples_by_sequence, transitions_by_sequence

# What is compiled depends on the number of dims, and on whether a dim has a single element, not on how many others.
SIZE = 3


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


def _example_counts(groups: list[str]) -> list[ConfusionMatrix]:
    """Return counts of two and of three classes, then the same of several systems."""
    return [
        ConfusionMatrix.from_table(np.full([*[SIZE] * len(dims), k, k], 5), dims={dim: range(SIZE) for dim in dims})
        for dims, k in itertools.product((groups, ["model", *groups]), (2, 3))
    ]


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


def _example_paired_counts(_: Any) -> list[ConfusionMatrix]:
    return [ConfusionMatrix.from_predictions(y, {"a": y, "b": y}) for y in (np.arange(6) % k for k in (2, 3))]


def _pair(data: Any, model: Any, second: str, others: str) -> tuple[Any, Any]:
    """Return data that must be a pair; `others` says where what else belongs to them goes."""
    if not isinstance(data, tuple) or len(data) != 2:
        raise InputTypeError("data", f"must be a pair (y_true, {second}) for the model {model!r}; {others}.")
    return data


def _transitions(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return counts of transitions (sequence, actual_before, predicted_before, actual, predicted).

    The attribute ``samples`` has the counts of all samples (sequence, actual, predicted), the first ones included. The
    option ``by`` is removed: it belongs to the data, not to the model.
    """
    by = options.pop("by", None)
    series = label_sequences(*_pair(data, model, "y_pred", "sequence ids go to options['by']"), by, None, pos_label)
    by = by if isinstance(by, Mapping) else {"sequence": np.zeros(len(series.states), int) if by is None else by}
    ((name, ids),) = by.items()
    of_step = dict.fromkeys(("actual_before", "predicted_before", *CELL_DIMS), series.cm.labels)
    if name in of_step:
        raise InputError("options['by']", f"{name!r} is a dim that the model uses for its own; rename that dim.")
    sequences = {name: encode(ids, "by", fractions=True).labels}
    coords, seen = sequences | of_step, sequences | dict.fromkeys(CELL_DIMS, series.cm.labels)
    facts = _positive(series.cm.pos_label) | {"samples": xr.DataArray(samples_by_sequence(series), seen, list(seen))}
    return xr.DataArray(transitions_by_sequence(series), coords, list(coords), name="counts", attrs=facts)


def _example_transitions(_: Any) -> list[tuple[Any, Any]]:
    return [(np.arange(20) // 2 % 2, np.arange(20) // 3 % 2)]


def _fold_scores(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return scores (dataset, model, fold) of two systems."""
    return fold_scores(data, "data")


def _example_fold_scores(_: Any) -> list[xr.DataArray]:
    scores = np.random.default_rng(0).random((SIZE, 2, SIZE))
    return [xr.DataArray(scores, dims=["dataset", "model", "fold"])]


def _scores_of_two_classes(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return scores along a dim ``positive``."""
    return by_class(Scores.of(*_pair(data, model, "y_score", "the positive class goes to pos_label"), pos_label))


def _example_scores_of_two_classes(_: Any) -> list[tuple[Any, Any]]:
    return [(np.arange(20) % 2, np.random.default_rng(0).random(20))]


def _probabilities(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return a row (case, column) for the examples of a group with the same log-odds, of many with similar ones.

    The option ``by``, which belongs to the data, is removed.
    """
    by = options.pop("by", None)
    others = "ids of groups go to options['by'], the positive class to pos_label"
    happened, probability = labelled_scores(*_pair(data, model, "y_prob", others), pos_label, "y_prob")
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


def _example_probabilities(_: Any) -> list[tuple[Any, Any]]:
    return [(np.arange(20) % 2, np.random.default_rng(0).uniform(0.1, 0.9, 20))]


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


def _example_ratings(_: Any) -> list[Ratings]:
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


def _example_judged_pairs(_: Any) -> list[pd.DataFrame]:
    """Return judgements with ties of three systems, then the same by two judges, and on repeated prompts."""
    rows = [(a, b, winner) for a, b in itertools.permutations("xyz", 2) for winner in (a, b, "tie")]
    frame = pd.DataFrame(rows, columns=["a", "b", "winner"])
    prompts, judges = np.arange(len(frame)) // 2, np.arange(len(frame)) % 2
    return [frame[frame["winner"] != "tie"], frame, frame.assign(judge=judges), frame.assign(prompt=prompts)]


def _reads(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return whether reads are right (modality, reader, case), with the truth of the cases in the attributes."""
    return binary_reads(data, pos_label)


def _example_reads(_: Any) -> list[pd.DataFrame]:
    """Return reads of the same cases by three readers, then the same in two modalities."""
    rows = list(itertools.product("xyz", range(6), "mn"))
    frame = pd.DataFrame(rows, columns=["reader", "case", "modality"])
    frame = frame.assign(truth=frame["case"] % 2, read=np.arange(len(frame)) // 3 % 2)
    return [frame[frame["modality"] == "m"].drop(columns="modality"), frame]


def _attempts_at_items(data: Any, model: Any, options: Options, pos_label: Any) -> xr.DataArray:
    """Return counts (system, item, outcome) of wrong and right attempts, or of grades, the items last but one."""
    if not isinstance(data, Outcomes) or len(data.dims) != 2 or "item" not in data.dims:
        raise InputTypeError(
            "data",
            f"must be Outcomes over systems and items for the model {model!r}.",
            "Count them by Outcomes.from_frame(frame, correct='passed', by=['model', 'item']).",
        )
    counts = data.counts.transpose(..., "item", "outcome").drop_attrs()
    if min(counts.shape[:2]) < 2:
        raise InputError("data", f"two systems and two items are the least; there are {dict(counts.sizes)}.")
    for dim in counts.dims[:2]:
        if unseen := (counts.sum([other for other in counts.dims if other != dim]) == 0).values.nonzero()[0].size:
            raise InputError("data", f"{unseen} of {dim} have no attempt.", "Drop them: nothing is known of them.")
    return counts


def _example_attempts_at_items(_: Any) -> list[Outcomes]:
    right = np.arange(SIZE * SIZE).reshape(SIZE, SIZE) % 2
    return [Outcomes.from_counts(right=right, n=1, dims=["model", "item"])]


def _positive(pos_label: Any) -> dict[str, Any]:
    """Return the attribute that names the positive class, if there is one."""
    return {} if pos_label is None else {"pos_label": pos_label}


class DataKind(NamedTuple):
    """A kind of data that a model's file may declare as DATA."""

    # From data, the model's name, its options and the positive class to a labelled array; options that belong to the
    # data are removed.
    read: Callable[[Any, Any, Options, Any], xr.DataArray]
    # From the dims of groups that the model takes to small data, of which the model is compiled in advance.
    examples: Callable[[list[str]], Sequence[Any]]


DATA_KINDS = {
    "counts": DataKind(_counts, _example_counts),
    "paired counts": DataKind(_paired_counts, _example_paired_counts),
    "transitions": DataKind(_transitions, _example_transitions),
    "fold scores": DataKind(_fold_scores, _example_fold_scores),
    "scores of two classes": DataKind(_scores_of_two_classes, _example_scores_of_two_classes),
    "probabilities": DataKind(_probabilities, _example_probabilities),
    "ratings": DataKind(_ratings, _example_ratings),
    "judged pairs": DataKind(_judged_pairs, _example_judged_pairs),
    "reads": DataKind(_reads, _example_reads),
    "attempts at items": DataKind(_attempts_at_items, _example_attempts_at_items),
}
