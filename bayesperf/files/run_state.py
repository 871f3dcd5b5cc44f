"""The file in which runs of a gate add up: the counts of each run, as JSON that can be kept in a repository."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core.errors import InputError
from bayesperf.core.saving import write_whole
from bayesperf.core.words import listed
from bayesperf.data.counted import Counted

_FORMAT = "bayesperf runs 1"
# The dim of the runs.
RUN = "run"


def with_run(state: Path, counts: Counted, files: Sequence[Path]) -> dict[str, Any]:
    """Return what a state holds once the counts of these files are one run more; the state's file stays as it is.

    Raises
    ------
    ValueError
        If the file is no state, its classes or systems are others, or a run of the same files is in it: counted again
        they would pass for new examples.
    """
    labels, positive = [str(label) for label in counts.labels], str(counts.pos_label)
    systems = [str(name) for dim in counts.dims for name in counts.counts[dim].values]
    first = {"format": _FORMAT, "labels": labels, "positive": positive, "systems": systems, "runs": []}
    held = _read(state) if state.exists() else first
    if (held["labels"], held["positive"]) != (labels, positive):
        raise InputError(
            f"--state {state}",
            f"its classes are {', '.join(held['labels'])} (positive: {held['positive']}), and those of the files "
            f"{', '.join(labels)} (positive: {positive}).",
            "Name the classes by --labels and --pos-label, or begin another state.",
        )
    if (before := held.get("systems", [])) != systems:
        raise InputError(
            f"--state {state}",
            f"its runs are of {listed(before) or 'one system without a name'}, and the files are of "
            f"{listed(systems) or 'one'}.",
            "Check the same systems, or begin another state.",
        )
    seen = {digest: number for number, run in enumerate(held["runs"], 1) for digest in run["sha256"]}
    of_this_run: list[str] = []
    for file in _each(files):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        if digest in seen or digest in of_this_run:
            where = f"is in run {seen[digest]} of it" if digest in seen else "is given twice"
            raise InputError(
                f"--state {state}",
                f"what {file} holds {where}, and is no new example.",
                "Check other files, or check these without --state.",
            )
        of_this_run.append(digest)
    return {**held, "runs": [*held["runs"], {"sha256": of_this_run, "counts": counts.counts.values.tolist()}]}


def counts_of_runs(held: dict[str, Any], counts: Counted) -> Counted:
    """Return the counts of all runs of a state, with a leading dim ``run`` and the classes of the given counts."""
    tables = np.array([run["counts"] for run in held["runs"]])
    return counts.holding(xr.DataArray(tables, counts.counts.coords, (RUN, *counts.counts.dims)))


def differences_of_runs(held: dict[str, Any], name: str, numbers: Sequence[int], state: Path) -> NDArray[np.int64]:
    """Add the numbers behind a named difference to the last run; return those of all runs (run, number).

    Raises
    ------
    ValueError
        If an earlier run has no such numbers, or others: the same examples then, and other ones now.
    """
    held["runs"][-1].setdefault("against", {})[name] = [int(number) for number in numbers]
    found = [run.get("against", {}).get(name) for run in held["runs"]]
    if any(not isinstance(each, list) or len(each) != len(numbers) for each in found):
        raise InputError(
            f"--state {state}",
            f"not all of its runs compared {name}, on the same examples or on other ones.",
            "Begin another state.",
        )
    return np.array(found, np.int64)


def write(state: Path, held: dict[str, Any]) -> None:
    """Write a state, whole: what was there before stays if it cannot be written."""
    write_whole(state, json.dumps(held, indent=1) + "\n")


def _read(state: Path) -> dict[str, Any]:
    try:
        held: dict[str, Any] = json.loads(state.read_text("utf-8"))
        sound = held["format"] == _FORMAT and all({"sha256", "counts"} <= run.keys() for run in held["runs"])
        sound = sound and all(
            isinstance(held[name], expected) for name, expected in (("labels", list), ("positive", str))
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise InputError(
            f"--state {state}", "is no file that check has written.", "Name another; it is made by the first run."
        )
    return held


def _each(paths: Sequence[Path]) -> list[Path]:
    """Return the files, those of folders included."""
    found = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    return [file for file in found if file.is_file()]
