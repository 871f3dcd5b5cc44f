"""Saving objects to NetCDF files, and loading them again.

A file holds the fields of an object and of the objects in it (`bayesperf.core.fields`). An exact result therefore comes
back exact, a result drawn from a seed has the same draws, and stored draws, such as a fit's, are kept. Files are never
unpickled.

The root has the facts as attributes, and the variable ``contents``, text in JSON; the group ``arrays`` has the arrays
that the contents name. `FORMAT` increases when earlier files can no longer be read as they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core.arguments import checked
from bayesperf.core.errors import FileFaultError, InputError, InputTypeError
from bayesperf.core.field_checks import array_names, arrays_in, check_contents, facts_in, member
from bayesperf.core.fields import Contents, Held, HeldError, contents_of, made_of

if TYPE_CHECKING:
    import h5py

FORMAT = 7
# The longest text that a fact is.
_MOST_CHARACTERS = 200


class Saved(Held):
    """Base class of objects that can be saved."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the object to a file, from which `bayesperf.load` makes an equal one.

        The file holds its fields (counts, prior, seed, draws), so that exact results stay exact, and results drawn from
        a seed have the same draws again. The file is written beside `path` and then moved there: it replaces a file of
        that name, but never with half of a file. The file's mode is kept, and a symbolic link stays one.

        Parameters
        ----------
        path : str or os.PathLike
            Path of the file, ending in ``.nc`` (NetCDF).

        Raises
        ------
        TypeError
            If it contains something that no file can hold: a function of your own, such as a metric or a prior.
        ValueError
            If `path` has another ending, or the object asks for more draws than a file may ask for (10⁷).
        OSError
            If the path cannot be written.

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
    target = _checked_path("save", path)
    try:
        contents = contents_of(thing)
        check_contents(contents)
    except HeldError as error:
        raise InputError("save", f"{error}.") from error
    if not target.parent.is_dir():
        raise FileNotFoundError(f"save: there is no folder {str(target.parent)!r}. Make it first.")
    if target.exists() and not target.is_file():
        raise FileExistsError(f"save: {str(target)!r} is there already and is not a file to be replaced. Name another.")
    # In memory first: a disk that is full while HDF5 writes to it ends the process.
    written = _tree(contents, _facts(thing, contents)).to_netcdf(engine="h5netcdf")
    assert written is not None
    write_whole(target, written)


def _facts(thing: Saved, contents: Contents) -> dict[str, Any]:
    """Return the attributes of a file, for people and for `load`."""
    prior = next((text for name in ("prior_text", "basis", "prior") if (text := getattr(thing, name, None))), None)
    facts = {
        "kind": type(thing).__name__,
        "prior": None if prior is None else str(prior)[:_MOST_CHARACTERS],
        "random_seed": getattr(thing, "random_seed", None),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "bayesperf_version": version("bayesperf"),
        "bayesperf_format": FORMAT,
        "checksum": _checksum(contents),
    }
    return {name: fact for name, fact in facts.items() if isinstance(fact, str | int)}


def _tree(contents: Contents, facts: Mapping[str, Any]) -> xr.DataTree:
    """Return contents as a tree that NetCDF can hold."""
    text = np.frombuffer(_text(contents), dtype=np.uint8)
    arrays = {
        name: xr.Variable([f"{name}_{axis}" for axis in range(array.ndim)], array)
        for name, array in contents.arrays.items()
    }
    root = xr.Dataset({"contents": ("character", text, {"encoding": "UTF-8"})}, attrs=dict(facts))
    return xr.DataTree.from_dict({"/": root, "/arrays": xr.Dataset(arrays)})


def _text(contents: Contents) -> bytes:
    # Lone surrogates, which a text may hold and UTF-8 may not, are escaped.
    return json.dumps(contents.parts, ensure_ascii=True, separators=(",", ":")).encode()


def _checksum(contents: Contents) -> str:
    digest = hashlib.blake2b(_text(contents), digest_size=16)
    for name, array in sorted(contents.arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _checked_path(verb: str, path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise InputTypeError("path", f"must be a str or os.PathLike; it is {path!r}.")
    if Path(path).suffix != ".nc":
        raise InputError(verb, "NetCDF is the format.", f"The name of the file must end in .nc; it is {str(path)!r}.")
    return Path(path)


# ── Reading ──


@checked
def load(path: str | os.PathLike[str]) -> Any:
    """Load a saved object: a posterior, a matrix, a comparison, a curve, a plan, anything with a method ``save``.

    Parameters
    ----------
    path : str or os.PathLike
        A file written by ``save``, ``.nc``.

    Returns
    -------
    object
        An object of the saved kind, with the same figures. Draws are stored, or drawn again from the same seed.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it was not written by ``save``, is damaged, or comes from a version of bayesperf that this one does not know.

    Notes
    -----
    A stranger's file runs no code: nothing is unpickled, no filter or plugin of HDF5 is loaded, and a file can only
    name classes of bayesperf that files may hold. Names, types, depth and sizes are checked first. Arrays are stored in
    one piece in our files, so an array that is compressed, chunked, or larger than the file is refused; a file may ask
    for at most 10⁷ draws. A large file takes memory in proportion to its size.

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
    source = _checked_path("load", path)
    if not source.exists():
        raise FileNotFoundError(f"load: there is no file {str(path)!r}.")
    try:
        facts, contents = _read(source)
        check_contents(contents)
    except PermissionError:
        raise
    except Exception as error:  # HDF5 and JSON raise errors of any type for files that they cannot read.
        raise InputError("load", f"{str(path)!r} {_fault(error)}") from error
    try:
        return made_of(contents)
    except ImportError:
        raise
    except Exception as error:  # Contents that nobody saved can ask anything of what makes objects.
        raise InputError(
            "load",
            f"the {facts.get('kind')} in {str(path)!r}, saved by bayesperf "
            f"{facts.get('bayesperf_version')}, cannot be made again by this version, "
            f"{version('bayesperf')}: {error or type(error).__name__}",
        ) from error


def _fault(error: Exception) -> str:
    """Return the fault of a file, from the error of reading it."""
    if isinstance(error, FileFaultError):
        return str(error)
    if isinstance(error, HeldError):
        return f"is refused: {error}. Save writes no such file."
    return f"is damaged, or no NetCDF file: {error or type(error).__name__}."


def _read(source: Path) -> tuple[dict[str, Any], Contents]:
    """Return a file's facts, and its contents."""
    import h5py

    if not source.is_file():
        raise FileFaultError("is not a file.")
    with h5py.File(source, "r") as file:
        facts = facts_in(file, ("kind", "bayesperf_version", "bayesperf_format", "checksum"))
        if "bayesperf_format" not in facts:
            raise FileFaultError(f"was not written by bayesperf's save. {_advice(file)}")
        _check_format(facts)
        size = source.stat().st_size
        text = arrays_in(file, ["contents"], size)["contents"]
        parts = json.loads(text.astype(np.uint8).tobytes())
        contents = Contents(parts, arrays_in(member(file, "arrays"), array_names(parts), size))
    if _checksum(contents) != facts.get("checksum"):
        raise FileFaultError("is damaged: it does not hold what was written. Take a copy of it, or save it again.")
    return facts, contents


def _advice(file: h5py.File) -> str:
    """Return advice on a file that others made."""
    if file.id.links.exists(b"posterior"):
        return "It looks like draws in an ArviZ tree: Posterior.from_datatree(xarray.open_datatree(path)) reads those."
    return "Read it with xarray, and make the object from its arrays."


def _check_format(facts: Mapping[str, Any]) -> None:
    """Refuse a file whose format this version cannot read."""
    number, by = facts["bayesperf_format"], facts.get("bayesperf_version")
    if not isinstance(number, int):
        raise FileFaultError("is damaged: the number of its format is a text.")
    if number > FORMAT:
        raise FileFaultError(
            f"is of format {number}, written by bayesperf {by}; this is bayesperf {version('bayesperf')}, which reads "
            f"formats up to {FORMAT}. Update bayesperf."
        )
    if number < FORMAT:
        raise FileFaultError(
            f"is of format {number}, which this version no longer reads. It was written by bayesperf {by}: load it "
            "there, and make the object again here from its figures."
        )


# ── Files that are whole, or not there ──


def write_whole(path: Path, content: str | bytes | memoryview) -> None:
    """Write text or bytes to a file; until all of it is written, or if that fails, the old file stays.

    A symbolic link stays one: the file that it leads to is replaced. The new file keeps the old file's mode.
    """
    # A name of a file that is no text, as bytes may be, is written with its escapes.
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        # A terminal or a pipe: nothing is there before.
        path.write_bytes(data)
        return
    place = path.resolve()
    # Short, for the name of the file may be as long as a name can be; and no other writer has the same.
    beside = place.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, beside)
        beside.replace(place)
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
