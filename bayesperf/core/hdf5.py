"""Reading HDF5 files from any source: everything is requested by name, and checked before it is read.

`Saved.save` writes plain numbers, each array in one piece: no array is larger than the file that holds it. Arrays that
are compressed, chunked, never written, in another file or of another type are therefore refused, whatever size they
claim. No filter and no plugin of HDF5 runs, only the named arrays are read, and the size of the file bounds the memory.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.errors import FileFaultError

if TYPE_CHECKING:
    import h5py

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
