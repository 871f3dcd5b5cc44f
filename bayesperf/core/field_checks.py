"""Files from any source: their contents are checked, names, types, depth and sizes, before any object is made.

`save` checks what it writes, too, so its files pass.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.errors import FileFaultError
from bayesperf.core.fields import KIND, TIMES, Contents, HeldError, room_for_texts

if TYPE_CHECKING:
    import h5py

# How deep lists and objects of JSON may stand in each other; a tree of datasets in a tuple in a mapping has 15.
MOST_DEPTH = 100
_DTYPE = re.compile(r"[<>|=]?[?biufcmMOSUTV]\d{0,10}(\[\d{0,9}[a-zA-Zμ]{1,7}\])?")
# Kinds of what plain JSON has no word for: the fields of each, and their types.
_FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "object": {"part": int},
    "array": {"name": str, "order": list, "dtype": str},
    "values": {"values": list, "shape": list, "dtype": str},
    "tuple": {"values": list},
    "mapping": {"values": list},
    "scalar": {"of": dict},
    "categorical": {"ordered": bool, "codes": dict, "categories": dict},
    "time": {"of": str, "text": str},
    "slice": {"values": list},
    "DataArray": {"variable": dict, "coords": list, "name": (str, int, float, dict, type(None))},
    "Dataset": {"variables": list, "coords": list, "attrs": dict},
    "DataTree": {"groups": list},
}
_VARIABLE: dict[str, type | tuple[type, ...]] = {"dims": list, "values": dict, "attrs": dict}


def array_names(parts: Any) -> list[str]:
    """Return the names of the arrays that parts refer to.

    Raises
    ------
    HeldError
        If it is too deep, or one is not a name.
    """
    names = [value["name"] for value in _values(parts) if isinstance(value, dict) and value.get(KIND) == "array"]
    for name in names:
        if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
            raise HeldError(f"{name!r:.60} is not the name of an array")
    return list(dict.fromkeys(names))


def check_contents(contents: Contents) -> None:
    """Refuse contents that no object has.

    Raises
    ------
    HeldError
        If it names something that does not exist, is too deep, asks for too much, or does not have the form of a
        contents.
    """
    if not isinstance(contents.parts, list) or not contents.parts:
        raise HeldError("it has no parts")
    for place, part in enumerate(contents.parts):
        _check_part(part)
        for value in _values(part["fields"].values()):
            if isinstance(value, dict):
                _check_fields(value)
                if check := _CHECKS.get(str(value.get(KIND))):
                    check(value, contents.arrays, place)


def _values(parts: Any) -> Iterator[Any]:
    """Yield all nested values, without recursion."""
    waiting = [(part, 1) for part in parts]
    while waiting:
        value, depth = waiting.pop()
        if depth > MOST_DEPTH:
            raise HeldError(f"its parts stand in each other more than {MOST_DEPTH} deep")
        yield value
        if isinstance(value, dict | list):
            waiting += [(each, depth + 1) for each in (value.values() if isinstance(value, dict) else value)]


def _check_part(part: Any) -> None:
    """Check that a part has the name and the fields of an object."""
    if not isinstance(part, dict) or part.keys() != {"class", "fields"} or not isinstance(part["fields"], dict):
        raise HeldError("a part of it is not an object")
    if not isinstance(part["class"], str):
        raise HeldError(f"{part['class']!r:.60} is not the name of a class")


def _check_fields(value: Mapping[str, Any]) -> None:
    """Check the fields of a value and their types."""
    kind = value.get(KIND, "variable")
    fields = _FIELDS.get(kind) if isinstance(kind, str) and KIND in value else _VARIABLE
    if fields is None:
        raise HeldError(f"there is no {kind!r:.60} in this format")
    if value.keys() - {KIND} != fields.keys() or any(not isinstance(value[key], of) for key, of in fields.items()):
        raise HeldError(f"a {kind!r:.60} in it does not have the fields {', '.join(fields)}")


def _check_object(value: Mapping[str, Any], _: Mapping[str, NDArray[Any]], place: int) -> None:
    if not 0 <= value["part"] < place:
        raise HeldError(f"part {place} needs part {value['part']}, which is not before it")


def _check_array(value: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], _: int) -> None:
    name, dtype = value["name"], _dtype(value["dtype"])
    if name not in arrays:
        raise HeldError(f"there is no array {name!r:.60}")
    stored = arrays[name]
    if dtype.kind not in "biufmM" or dtype.itemsize != stored.dtype.itemsize:
        raise HeldError(f"array {name!r} holds {stored.dtype}, which is no {dtype}")
    if dtype.kind == "b" and (stored.view(np.uint8) > 1).any():
        raise HeldError(f"array {name!r} holds other values than true and false")
    if sorted(map(repr, value["order"])) != sorted(map(repr, range(stored.ndim))):
        raise HeldError(f"array {name!r} has {stored.ndim} axes, and not {value['order']!r:.60}")


def _check_values(value: Mapping[str, Any], _: Mapping[str, NDArray[Any]], __: int) -> None:
    values, shape, dtype = value["values"], value["shape"], _dtype(value["dtype"])
    if any(type(length) is not int or length < 0 for length in shape) or math.prod(shape) != len(values):
        raise HeldError(f"{len(values)} values do not have the shape {shape!r:.60}")
    if values and dtype.kind not in "OUT":
        raise HeldError(f"values of {dtype} must be an array")
    if dtype.kind == "U" and dtype.itemsize * len(values) > room_for_texts(values):
        raise HeldError(f"{len(values)} texts are said to be {dtype}, which is far longer than they are")


def _check_time(value: Mapping[str, Any], _: Mapping[str, NDArray[Any]], __: int) -> None:
    if value["of"] not in TIMES:
        raise HeldError(f"there is no {value['of']!r:.60} in this format")


def _check_tree(value: Mapping[str, Any], _: Mapping[str, NDArray[Any]], __: int) -> None:
    for group in value["groups"]:
        if not isinstance(group, list) or len(group) != 2 or not isinstance(group[0], str):
            raise HeldError("a group of a tree has no path")
        if group[0].count("/") > MOST_DEPTH:
            raise HeldError(f"its groups stand in each other more than {MOST_DEPTH} deep")


def _dtype(name: str) -> np.dtype[Any]:
    """Return the type of an array; compound types are refused."""
    if not _DTYPE.fullmatch(name):
        raise HeldError(f"{name!r:.60} is not the type of an array")
    try:
        return np.dtype(name)
    except (TypeError, ValueError, OverflowError) as error:
        raise HeldError(f"{name!r:.60} is not the type of an array") from error


_CHECKS = {
    "object": _check_object, "array": _check_array, "values": _check_values, "time": _check_time,
    "DataTree": _check_tree,
}  # fmt: skip


# ── Reading HDF5: everything is requested by name, and checked before it is read ──

# `Saved.save` writes plain numbers, each array in one piece: no array is larger than the file that holds it. Arrays
# that are compressed, chunked, never written, in another file or of another type are therefore refused, whatever size
# they claim. No filter and no plugin of HDF5 runs, only the named arrays are read, and the size of the file bounds the
# memory.

# The longest text of an attribute that is read.
_MOST_CHARACTERS = 10_000


def facts_in(file: h5py.File, names: Collection[str]) -> dict[str, str | int]:
    """Return those of the named attributes of the root that exist: texts and whole numbers; refuse other types."""
    import h5py

    facts: dict[str, str | int] = {}
    for name in names:
        if not h5py.h5a.exists(file.id, name.encode()):
            continue
        attribute = h5py.h5a.open(file.id, name.encode())
        is_one = attribute.get_space().get_simple_extent_npoints() == 1
        kind = attribute.get_type().get_class()
        if not is_one or kind not in (h5py.h5t.STRING, h5py.h5t.INTEGER):
            raise FileFaultError(f"is damaged: its attribute {name!r} is neither a text nor a whole number.")
        if attribute.get_storage_size() > _MOST_CHARACTERS:
            raise FileFaultError(f"is damaged: its attribute {name!r} is too long.")
        value = np.ravel(file.attrs[name])[0]
        facts[name] = int(value) if kind == h5py.h5t.INTEGER else _text(value)
    return facts


def _text(value: Any) -> str:
    return (value.decode(errors="replace") if isinstance(value, bytes) else str(value))[:_MOST_CHARACTERS]


def member(group: h5py.Group, name: str) -> Any:
    """Return a group's member by name; refuse a name that is absent, or a soft or external link."""
    import h5py

    if not group.id.links.exists(name.encode()):
        raise FileFaultError(f"is damaged: there is no {name!r} in it.")
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise FileFaultError(f"is refused: {name!r} in it is a link to another place or file.")
    return group[name]


def arrays_in(group: h5py.Group, names: Collection[str], size: int) -> dict[str, NDArray[Any]]:
    """Return the named arrays; refuse any that is not numbers in one piece, or if they exceed `size` bytes."""
    found = {name: member(group, name) for name in names}
    for name, dataset in found.items():
        _refuse_unplain(name, dataset)
        size -= dataset.nbytes
        if size < 0:
            raise FileFaultError(f"is refused: array {name!r} claims to be larger than the file that holds it.")
    return {name: np.asarray(dataset[...]) for name, dataset in found.items()}


def _refuse_unplain(name: str, dataset: Any) -> None:
    """Refuse everything except numbers that are stored in one piece."""
    import h5py

    if not isinstance(dataset, h5py.Dataset):
        raise FileFaultError(f"is refused: {name!r} in it is not an array.")
    if dataset.id.get_type().get_class() not in (h5py.h5t.INTEGER, h5py.h5t.FLOAT) or dataset.dtype.itemsize > 8:
        raise FileFaultError(f"is refused: array {name!r} does not hold numbers.")
    layout = dataset.id.get_create_plist()
    if layout.get_layout() not in (h5py.h5d.CONTIGUOUS, h5py.h5d.COMPACT) or layout.get_external_count():
        raise FileFaultError(
            f"is refused: array {name!r} is compressed, in chunks or in another file, as save writes none. If a "
            "program has rewritten the file, take the one that save wrote."
        )
    if dataset.id.get_storage_size() != dataset.nbytes:
        raise FileFaultError(f"is refused: array {name!r} claims {dataset.nbytes} bytes that were never written.")
