"""Saving objects to files, and loading them again: NetCDF, or Zarr where it is installed.

A file holds a recipe (`bayesperf.core.recipes`), not the state of an object: what the object was made of (counts,
prior, design, seed, options) and by which function. So what is exact comes back exact, what is drawn has the same
draws, and only what *is* draws, such as a fit, holds draws. Files are never unpickled.

The root has the facts as attributes, and the variable ``recipe``, text in JSON; the group ``arrays`` has the arrays
that the recipe names. `FORMAT` is raised when files of before can no longer be read as they are; `UPDATES` then says
how.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core.recipes import Call, Recipe, Remembered, call_of, made_of, recipe_of

FORMAT = 1
# From a recipe of a format to one of the next, by the number of the format.
UPDATES: Mapping[int, Callable[[Recipe], Recipe]] = {}
_ENGINES = {".nc": "h5netcdf", ".zarr": "zarr"}
# What a call says of an argument that is an object or an array, and the longest that it says of another.
_MOST_CHARACTERS = 60


class Saved(Remembered):
    """Base class of what can be saved."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this to a file, from which `bayesperf.load` makes the same again.

        What it was made of is written (counts, prior, seed and options), so that exact results stay exact, and draws
        are drawn again from the same seed. Draws are written where there is nothing else, as of a fit. The file is
        written beside `path` and then moved there: a file of that name is replaced, but never by half of another.

        Parameters
        ----------
        path : str or os.PathLike
            Where: ``.nc`` (NetCDF), or ``.zarr`` (Zarr, if the package zarr is installed).

        Raises
        ------
        TypeError
            If it was made with something that no file can hold: a function of your own, as a metric or a prior.
        ValueError
            If `path` ends in anything else.
        OSError
            If nothing can be written there.

        Examples
        --------
        >>> import bayesperf as bp
        >>> post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=5), "flat")
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     post.save(pathlib.Path(folder, "recall.nc"))
        ...     loaded = bp.load(pathlib.Path(folder, "recall.nc"))
        >>> loaded["recall"].mean().item() == 5 / 7
        True
        """
        write(self, path)


# ── Writing ──


def write(thing: Saved, path: str | os.PathLike[str]) -> None:
    """Write an object to a file; see `Saved.save`."""
    target, engine = _checked_path("save", path)
    recipe = recipe_of(thing)
    tree = _tree(recipe, _facts(thing, recipe))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"save: there is no folder {str(target.parent)!r}. Make it first.")
    if target.exists() and not (_is_zarr(target) if engine == "zarr" else target.is_file()):
        raise FileExistsError(f"save: {str(target)!r} is there already and is not a file to be replaced. Name another.")
    partial = target.with_name(f".{target.stem}.{uuid.uuid4().hex}{target.suffix}")
    try:
        if engine == "zarr":
            tree.to_zarr(partial, mode="w", consolidated=False)
        else:
            tree.to_netcdf(partial, engine="h5netcdf")
        _move(partial, target)
    finally:
        _remove(partial)


def _facts(thing: Saved, recipe: Recipe) -> dict[str, Any]:
    """Return what the attributes of a file say, for people and for `load`."""
    call = call_of(thing)
    prior = next((text for name in ("prior_text", "basis") if (text := getattr(thing, name, None))), None)
    seed = call.arguments.get("random_seed", getattr(thing, "random_seed", None))
    facts = {
        "kind": type(thing).__name__,
        "prior": call.arguments.get("prior") if prior is None else prior,
        "random_seed": seed,
        "call": _call_in_words(call),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "bayesperf_version": version("bayesperf"),
        "bayesperf_format": FORMAT,
        "checksum": _checksum(recipe),
    }
    shown = {name: fact if isinstance(fact, int) else _short(fact) for name, fact in facts.items() if fact is not None}
    return shown | {"call": facts["call"], "checksum": facts["checksum"]}


def _call_in_words(call: Call) -> str:
    arguments = ", ".join(f"{name}={_short(value, repr)}" for name, value in call.arguments.items())
    return f"{call.name}({arguments})"


def _short(value: Any, to_text: Callable[[Any], str] = str) -> str:
    """Return a value in a few characters: a text, or what it is."""
    if isinstance(value, np.ndarray | xr.DataArray):
        return f"<{value.dtype} {value.shape}>"
    if isinstance(value, str | int | float | None):
        return to_text(value)
    text = to_text(value)
    return text if len(text) <= _MOST_CHARACTERS and "\n" not in text else f"<{type(value).__name__}>"


def _tree(recipe: Recipe, facts: Mapping[str, Any]) -> xr.DataTree:
    """Return a recipe as a tree that NetCDF and Zarr can hold."""
    text = np.frombuffer(_text(recipe), dtype=np.uint8)
    arrays = {
        name: xr.Variable([f"{name}_{axis}" for axis in range(array.ndim)], array)
        for name, array in recipe.arrays.items()
    }
    root = xr.Dataset({"recipe": ("character", text, {"encoding": "UTF-8"})}, attrs=dict(facts))
    return xr.DataTree.from_dict({"/": root, "/arrays": xr.Dataset(arrays)})


def _text(recipe: Recipe) -> bytes:
    # Lone surrogates, which a text may hold and UTF-8 may not, are escaped.
    return json.dumps(recipe.parts, ensure_ascii=True, separators=(",", ":")).encode()


def _checksum(recipe: Recipe) -> str:
    digest = hashlib.blake2b(_text(recipe), digest_size=16)
    for name, array in sorted(recipe.arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _move(partial: Path, target: Path) -> None:
    """Move what is written to its place. A folder cannot replace another at once: the old one is put aside first."""
    if not target.is_dir():
        partial.replace(target)
        return
    aside = partial.with_suffix(".replaced")
    target.replace(aside)
    try:
        partial.replace(target)
    except BaseException:
        aside.replace(target)
        raise
    _remove(aside)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_zarr(path: Path) -> bool:
    return (path / "zarr.json").is_file() or (path / ".zgroup").is_file()


def _checked_path(verb: str, path: Any) -> tuple[Path, str]:
    """Return a path and the engine for its suffix."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise TypeError(f"path must be a str or os.PathLike; it is {path!r}.")
    target = Path(path)
    if target.suffix not in _ENGINES:
        raise ValueError(f"{verb}: the name of the file must end in .nc (NetCDF) or .zarr (Zarr); it is {str(path)!r}.")
    engine = _ENGINES[target.suffix]
    if engine == "zarr" and find_spec("zarr") is None:
        raise ImportError(f"{verb}: .zarr needs the package zarr: pip install zarr. Or take .nc.")
    return target, engine


# ── Reading ──


def load(path: str | os.PathLike[str]) -> Any:
    """Make again what was saved: a posterior, a matrix, a comparison, a curve, a plan, whatever has a method ``save``.

    Parameters
    ----------
    path : str or os.PathLike
        A file written by ``save``: ``.nc`` or ``.zarr``.

    Returns
    -------
    object
        Of the kind that was saved, with the same figures. What was drawn is drawn again from the same seed, where it is
        not the draws that were saved.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it was not written by ``save``, is damaged, or is of a version of bayesperf that this one does not know.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import bayesperf as bp
    >>> old = bp.posterior(bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45))
    >>> new = bp.posterior(bp.ConfusionMatrix.from_counts(tp=44, fn=6, fp=5, tn=45))
    >>> comparison = bp.compare(new, old, "f1", independent=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     comparison.save(pathlib.Path(folder, "better.nc"))
    ...     loaded = bp.load(pathlib.Path(folder, "better.nc"))
    >>> bool(loaded.prob_greater == comparison.prob_greater)
    True
    """
    source, engine = _checked_path("load", path)
    if not source.exists():
        raise FileNotFoundError(f"load: there is no file {str(path)!r}.")
    tree = _opened(source, engine)
    facts = {str(name): fact for name, fact in tree.attrs.items()}
    if "bayesperf_format" not in facts:
        raise ValueError(f"load: {str(path)!r} was not written by bayesperf's save. {_advice(tree)}")
    _check_format(facts, str(path))
    damaged = f"load: {str(path)!r} is damaged: it does not hold what was written. Take a copy of it, or save it again."
    try:
        arrays = {str(name): array.values for name, array in tree["arrays"].data_vars.items()}
        recipe = Recipe(json.loads(tree.dataset["recipe"].values.astype(np.uint8).tobytes()), arrays)
        intact = _checksum(recipe) == facts["checksum"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(damaged) from error
    if not intact:
        raise ValueError(damaged)
    for number in range(int(facts["bayesperf_format"]), FORMAT):
        recipe = UPDATES[number](recipe)
    try:
        return made_of(recipe)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"load: the {facts.get('kind')} in {str(path)!r}, saved by bayesperf {facts.get('bayesperf_version')}, "
            f"cannot be made again by this version, {version('bayesperf')}: {error}"
        ) from error


def _opened(source: Path, engine: str) -> xr.DataTree:
    """Return all that a file holds, as it is stored."""
    options: dict[str, Any] = {"consolidated": False} if engine == "zarr" else {}
    try:
        with xr.open_datatree(source, engine=engine, decode_cf=False, **options) as tree:
            return tree.load()
    except PermissionError:
        raise
    except Exception as error:  # What the two formats raise of files that they cannot read is of any type.
        kind = {"h5netcdf": "NetCDF", "zarr": "Zarr"}[engine]
        raise ValueError(f"load: {str(source)!r} is damaged, or no {kind} file: {error}") from error


def _advice(tree: xr.DataTree) -> str:
    """Return what to do with a file of others."""
    if "posterior" in tree.children:
        return "It looks like draws in an ArviZ tree: Posterior.from_datatree(xarray.open_datatree(path)) reads those."
    return "Read it with xarray, and make the object from its arrays."


def _check_format(facts: Mapping[str, Any], path: str) -> None:
    """Refuse a file of a format that this version cannot read."""
    number, by = int(facts["bayesperf_format"]), facts.get("bayesperf_version")
    if number > FORMAT:
        raise ValueError(
            f"load: {path!r} is of format {number}, written by bayesperf {by}; this is bayesperf "
            f"{version('bayesperf')}, which reads formats up to {FORMAT}. Update bayesperf."
        )
    if any(each not in UPDATES for each in range(number, FORMAT)):
        raise ValueError(
            f"load: {path!r} is of format {number}, which is no longer read. Load it with bayesperf {by}, which wrote "
            "it, and make the object again from its figures."
        )
