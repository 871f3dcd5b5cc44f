"""Judged pairs: which of two systems won, counted over the rows of a frame that are alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from bayesperf.core import checks
from bayesperf.core.arrays import Codes, Counts
from bayesperf.core.errors import IdentifiabilityWarning, InputError, warn
from bayesperf.core.words import enumerated, listed
from bayesperf.data.frames import count_rows, engine_errors, lazy_frame
from bayesperf.data.label_encoding import encode, merge_labels
from bayesperf.data.totals import refuse_missing_rows

OUTCOMES = ("a", "b", "tie")
# How a winner is written other than by its name; in the columns of logs, too.
WINNERS = {
    "a": "a", "model_a": "a", "left": "a", "first": "a",
    "b": "b", "model_b": "b", "right": "b", "second": "b",
    "tie": "tie", "draw": "tie", "both": "tie", "neither": "tie", "tie (bothbad)": "tie", "both_bad": "tie",
}  # fmt: skip


def judged_pairs(frame: Any, covariates: Sequence[str] = ()) -> xr.DataArray:
    """Return the counts (comparison, outcome) of the rows of a frame, with what the model ``preferences`` needs.

    Parameters
    ----------
    frame : native frame
        A row for each judgement, in any engine: columns ``a`` and ``b``, the names of the systems, ``a`` the one that
        was shown first; ``winner``, the name of one of them, "a", "b" or "tie"; and perhaps ``prompt``, ``judge``, and
        ``count``, how many judgements the row stands for.
    covariates : sequence of str
        What may distract judges: of ``length`` there are two columns of numbers, ``length_a`` and ``length_b``.

    Warns
    -----
    IdentifiabilityWarning
        If some systems have not been compared with the others, not even by way of third ones.
    """
    by, counted = ([name for name in names if name in _columns(frame)] for names in (("prompt", "judge"), ("count",)))
    numbers = [*(f"{name}_{side}" for name in covariates for side in ("a", "b")), *counted]
    values, rows = count_rows(frame, ["a", "b", "winner", *by, *numbers], dict.fromkeys(numbers, lambda column: column))
    refuse_missing_rows(values, rows, values)
    if counted:
        rows = rows * checks.whole_numbers("column 'count'", np.asarray(values["count"])).astype(np.int64)
    models, (first, second) = _models(values)
    facts = {
        "first": first,
        "second": second,
        **_clusters(values, rows, models),
        **_differences(values, rows, covariates),
    }
    places = {name: of for name, of in facts.items() if isinstance(of, np.ndarray)}
    # Rows that differ in the winner alone are one comparison.
    table = np.column_stack([of.reshape(len(rows), -1) for of in places.values()])
    kept, of_row = np.unique(table, axis=0, return_index=True, return_inverse=True)[1:]
    counts = np.zeros((len(kept), len(OUTCOMES)), np.int64)
    np.add.at(counts, (of_row.ravel(), _outcomes(values)), rows)
    counts = counts if counts[:, -1].any() else counts[:, :-1]
    facts |= {name: of[kept] for name, of in places.items()} | {"models": models}
    _warn_of_unconnected(facts["first"], facts["second"], models)
    sides = zip(facts["first"], facts["second"], strict=True)
    labels = [f"{place + 1}: {models[a]}, {models[b]}" for place, (a, b) in enumerate(sides)]
    coords = {"comparison": labels, "outcome": list(OUTCOMES[: counts.shape[1]])}
    return xr.DataArray(counts, coords, ("comparison", "outcome"), name="counts", attrs=facts)


def _columns(frame: Any) -> list[str]:
    """Return the names of the columns of a frame of any engine."""
    with engine_errors():
        return lazy_frame(frame, []).collect_schema().names()


def _models(values: Any) -> tuple[list[Any], tuple[Codes, Codes]]:
    """Return the names of the systems, and the positions of the first and the second of each row."""
    columns = [encode(values[side], f"column {side!r}", fractions=True) for side in ("a", "b")]
    labels = merge_labels(columns, ["column 'a'", "column 'b'"])
    first, second = (np.searchsorted(labels, column.labels)[column.codes] for column in columns)
    if (same := first == second).any():
        raise InputError(
            "frame", f"in a row {labels[first[same]].tolist()[0]!r} meets itself.", "Remove rows of one system."
        )
    seen, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    return labels[seen].tolist(), (places[: len(first)], places[len(first) :])


def _outcomes(values: Any) -> Codes:
    """Return the position of the outcome of each row among `OUTCOMES`."""
    columns = [[str(value) for value in np.asarray(values[name])] for name in ("a", "b", "winner")]
    said = [
        "a" if winner == a else "b" if winner == b else WINNERS.get(winner.lower(), winner)
        for a, b, winner in zip(*columns, strict=True)
    ]
    if unknown := sorted({outcome for outcome in said if outcome not in OUTCOMES}):
        raise InputError(
            "column",
            f"'winner' holds {listed(unknown, 3)}, which is neither of the two systems of its row, nor 'tie'.",
            "Write the name of the winner, or 'a', 'b' or 'tie'.",
        )
    return np.array([OUTCOMES.index(outcome) for outcome in said])


def _clusters(values: Any, rows: Counts, models: Sequence[Any]) -> dict[str, Any]:
    """Return judges, if there are several, and the answers of systems to prompts, if prompts were judged repeatedly."""
    facts: dict[str, Any] = {}
    if "judge" in values:
        judges = encode(values["judge"], "column 'judge'", fractions=True)
        seen, places = np.unique(judges.codes, return_inverse=True)
        facts |= {"judges": judges.labels[seen].tolist(), "judged_by": places} if len(seen) > 1 else {}
    if "prompt" in values:
        prompts = encode(values["prompt"], "column 'prompt'", fractions=True)
        if (np.bincount(prompts.codes, rows) > 1).any():
            _, sides = _models(values)
            both = np.concatenate([prompts.codes * len(models) + side for side in sides])
            answers, places = np.unique(both, return_inverse=True)
            facts |= dict(zip(("first_answer", "second_answer"), np.split(places, 2), strict=True))
            facts["answers"] = [
                f"{models[answer % len(models)]}, {prompts.labels[answer // len(models)]}" for answer in answers
            ]
    return facts


def _differences(values: Any, rows: Counts, covariates: Sequence[str]) -> dict[str, Any]:
    """Return the differences of covariates, first less second, in standard deviations."""
    if not covariates:
        return {}
    first, second = (
        np.column_stack([np.asarray(values[f"{name}_{side}"], float) for name in covariates]) for side in ("a", "b")
    )
    apart = first - second
    scale = np.sqrt(np.average(apart**2, axis=0, weights=rows))
    if not np.isfinite(scale).all() or not scale.all():
        raise InputError("covariates", "must hold finite numbers that differ between the systems.")
    return {"covariates": list(covariates), "difference": apart / scale}


def _warn_of_unconnected(first: Codes, second: Codes, models: Sequence[Any]) -> None:
    """Warn of systems that no chain of comparisons connects with the others."""
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(len(models),) * 2)
    number, group = connected_components(graph, directed=False)
    if number > 1:
        names: NDArray[Any] = np.array([str(name) for name in models])
        groups = "; ".join(enumerated(names[group == place].tolist(), 5) for place in range(number))
        warn(
            IdentifiabilityWarning,
            "BP406",
            f"Systems fall into {number} groups that were never compared with each other: {groups}. Between groups "
            "only the prior tells which is stronger. Compare one system of each group with one of another.",
        )
