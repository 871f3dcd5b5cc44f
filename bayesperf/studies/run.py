"""Running the simulations of a study: in parallel, with progress, and resumable."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Result = dict[str, NDArray[Any]]


def run(
    simulate: Callable[[int, np.random.Generator], Mapping[str, Any]],
    count: int,
    settings: Mapping[str, Any],
    *,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> Result:
    """Run simulations 0, 1, …, count − 1 and stack what they return.

    Parameters
    ----------
    simulate : callable (index, Generator) -> mapping of arrays
        One simulation. Its generator is keyed by seed and index, so the figures do not depend on `n_jobs`, on the order
        in which simulations end, or on how often the study was interrupted.
    count : int
        How many.
    settings : mapping
        What the study is of: plain values, ``random_seed`` among them. A folder that holds the results of other
        settings is refused.
    n_jobs : int, optional
        Simulations at once (joblib).
    progressbar : bool
        Shown on a terminal only.
    folder : path, optional
        Where to keep each simulation as it ends.

    Returns
    -------
    dict of arrays
        Each with a first axis of length `count`.
    """
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend
    from rich.progress import track

    files = None if folder is None else _files(Path(folder), count, settings)
    results = {} if files is None else {i: _load(file) for i, file in enumerate(files) if file.exists()}

    def one(index: int) -> tuple[int, Result]:
        found = simulate(index, np.random.default_rng([settings["random_seed"], index]))
        return index, {name: np.asarray(value) for name, value in found.items()}

    left = [index for index in range(count) if index not in results]
    # Of Ray's backend results come all at once: progress is shown, and files are written, at the end.
    as_they_end = get_active_backend()[0].supports_return_generator
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered" if as_they_end else "list")
    finished = parallel(delayed(one)(index) for index in left)
    shown = progressbar and sys.stderr.isatty()
    for index, result in track(finished, "Simulating", total=len(left), transient=True, disable=not shown):
        results[index] = result
        if files is not None:
            _save(files[index], result)
    return {name: np.stack([results[index][name] for index in range(count)]) for name in results[0]}


def each(function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], n_jobs: int | None) -> list[Any]:
    """Return what a function gives for each of its arguments, in their order: parts of an exact study."""
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=n_jobs)(delayed(function)(*one) for one in arguments))


def _files(folder: Path, count: int, settings: Mapping[str, Any]) -> list[Path]:
    """Return a file a simulation, of a folder that is new or holds the same study."""
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "settings.json"
    text = json.dumps({**settings, "bayesperf_version": version("bayesperf")}, indent=1, sort_keys=True, default=str)
    if record.exists() and record.read_text(encoding="utf-8") != text:
        raise ValueError(f"folder: {folder} holds a study with other settings. Name another, or remove it.")
    record.write_text(text, encoding="utf-8")
    return [folder / f"{index:06d}.npz" for index in range(count)]


def _save(file: Path, result: Result) -> None:
    """Write a file whole or not at all, whenever the study is interrupted."""
    unfinished = file.with_suffix(".unfinished.npz")
    np.savez(unfinished, **result)  # type: ignore[arg-type]
    unfinished.replace(file)


def _load(file: Path) -> Result:
    with np.load(file, allow_pickle=False) as stored:
        return dict(stored)
