"""Running the simulations of a study in parallel, with progress, and so that they can be resumed and extended.

And what is counted in them: whether intervals cover a truth that is known, on which side they miss, and their width.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.saving import write_whole

Arrays = dict[str, NDArray[Any]]


def run(
    simulate: Callable[[Any, Any], Any],
    count: int,
    settings: Mapping[str, Any],
    batch_size: int | None = None,
    *,
    n_jobs: int | None = None,
    progressbar: bool = True,
    folder: str | Path | None = None,
) -> Arrays:
    """Run simulations 0, 1, …, count − 1 and stack their results: arrays by name, with a first axis of length `count`.

    `simulate(index, rng)` returns a mapping of arrays; with a `batch_size`, `simulate(indices, rngs)` yields one for
    each simulation of a batch, and none may depend on the others. Generators are keyed by seed and index, so the
    results do not depend on `n_jobs`, on the order in which simulations end, on interruptions, or on the number of
    later simulations. A folder stores the result of each simulation. A folder with results from other settings (plain
    values, including ``random_seed``) is refused; the number of ``simulations`` is not such a setting, so a folder can
    be extended.
    """
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend
    from rich.progress import track

    files = None if folder is None else _result_files(Path(folder), count, settings)
    results = {} if files is None else {i: _load(file) for i, file in enumerate(files) if file.exists()}
    missing = [index for index in range(count) if index not in results]
    size = batch_size or 1
    batches = [missing[start : start + size] for start in range(0, len(missing), size)]
    # Ray's backend returns all results at once: progress is shown, and files are written, at the end.
    as_completed = get_active_backend()[0].supports_return_generator
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered" if as_completed else "list")
    finished = parallel(delayed(_batch)(simulate, batch, settings["random_seed"], batch_size) for batch in batches)
    hidden = not (progressbar and sys.stderr.isatty())
    for batch in track(finished, "Simulating", total=len(batches), transient=True, disable=hidden):
        results |= batch
        if files is not None:
            for index, result in batch.items():
                _save(files[index], result)
    if files is not None:
        _check_alike(results, files)
    return {name: np.stack([results[index][name] for index in range(count)]) for name in results[0]}


def parallel_map(function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], n_jobs: int | None) -> list[Any]:
    """Return the values of a function at each tuple of arguments, in order."""
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=n_jobs)(delayed(function)(*values) for values in arguments))


def _batch(
    simulate: Callable[[Any, Any], Any], indices: Sequence[int], random_seed: int, batch_size: int | None
) -> dict[int, Arrays]:
    """Run some simulations; return the result of each."""
    rngs = [np.random.default_rng([random_seed, index]) for index in indices]
    results = map(simulate, indices, rngs) if batch_size is None else simulate(indices, rngs)
    return {
        index: {name: np.asarray(value) for name, value in result.items()}
        for index, result in zip(indices, results, strict=True)
    }


# ── The folder of a study ──


def _result_files(folder: Path, count: int, settings: Mapping[str, Any]) -> list[Path]:
    """Return the file of each simulation, in a folder that is new or holds the same study."""
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "settings.json"
    identity = {name: value for name, value in settings.items() if name != "simulations"}
    text = json.dumps({**identity, "bayesperf_version": version("bayesperf")}, indent=1, sort_keys=True, default=str)
    if not record.exists():
        if any(folder.glob("[0-9]*.npz")):
            raise InputError(
                "folder", f"{folder} holds results without their settings.json.", "Name another, or remove it."
            )
        _write(record, text)
    elif _read_settings(record) != json.loads(text):
        raise InputError("folder", f"{folder} holds a study with other settings.", "Name another, or remove it.")
    return [folder / f"{index:06d}.npz" for index in range(count)]


def _read_settings(record: Path) -> Any:
    try:
        return json.loads(record.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(
            "folder",
            f"{record} is damaged ({error}), so nobody can say which study the results beside it are of.",
            "Name another folder, or remove this one.",
        ) from error


def _save(path: Path, result: Arrays) -> None:
    file = BytesIO()
    np.savez(file, **result)  # type: ignore[arg-type]
    _write(path, file.getvalue())


def _write(path: Path, content: str | bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        reason = f"{error.strerror or error}; what was finished before is kept, and the same call continues from there"
        raise OSError(error.errno, reason, str(path)) from error


def _load(path: Path) -> Arrays:
    with path.open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as stored:
                return dict(stored)
        # Whatever the bytes make of a reader that trusts them: each damage has an exception of its own.
        except Exception as error:
            raise InputError("folder", _damaged(path, str(error) or type(error).__name__)) from error


def _check_alike(results: Mapping[int, Arrays], files: Sequence[Path]) -> None:
    """Refuse a file whose arrays have other names or shapes than in the other simulations."""
    shapes = {index: tuple((name, array.shape) for name, array in result.items()) for index, result in results.items()}
    usual = Counter(shapes.values()).most_common(1)[0][0]
    for index, of_simulation in shapes.items():
        if of_simulation != usual:
            raise InputError("folder", _damaged(files[index], f"it holds {of_simulation}, the others {usual}"))


def _damaged(path: Path, reason: object) -> str:
    return f"{path} is damaged ({reason}). Remove that file: its simulation is then run again."


def with_random_state(estimator: Any, rng: np.random.Generator) -> Any:
    """Set every ``random_state`` of an estimator and of its parts."""
    names = [name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")]
    return estimator.set_params(**{name: int(rng.integers(2**31)) for name in names})


# ── What intervals do where the truth is known ──

OUTCOMES = ("coverage", "lower_miss", "upper_miss", "width")


def interval_outcomes(lower: Array, upper: Array, true: Array | float) -> dict[str, NDArray[Any]]:
    """Return, under the names of `OUTCOMES`, whether intervals (bounds included) cover or miss the truth, and widths.

    ``lower_miss``: the truth lies below the lower bound; ``upper_miss``: above the upper one. An interval with NaN
    bounds neither covers nor misses.
    """
    return {
        "coverage": (lower <= true) & (true <= upper),
        "lower_miss": true < lower,
        "upper_miss": true > upper,
        "width": upper - lower,
    }


def monte_carlo_means(values: Mapping[str, NDArray[Any]], defined: NDArray[np.bool_] | None = None) -> dict[str, Array]:
    """Return means over simulations (simulation, …), and their Monte Carlo standard errors under the names ``*_mcse``.

    Simulations that are not `defined` do not count; without any the mean is NaN. The error is the standard deviation
    over simulations (divided by their number n, not n − 1) over √n: for a proportion p this is √(p(1 − p)/n).
    """
    means: dict[str, Array] = {}
    for name, of_simulations in values.items():
        counts = np.broadcast_to(True if defined is None else defined, of_simulations.shape)
        n = counts.sum(0)
        with np.errstate(invalid="ignore"):
            mean = np.where(counts, of_simulations, 0).sum(0) / n
            variance = np.where(counts, (of_simulations - mean) ** 2, 0).sum(0) / n
            means[name], means[f"{name}_mcse"] = mean, np.sqrt(variance) / np.sqrt(n)
    return means
