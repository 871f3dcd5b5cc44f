"""Writing files whole: beside what is there, and then in its place."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from pathlib import Path


def write_whole(path: Path, content: str | bytes | memoryview) -> None:
    """Write a text or bytes to a file, which is the old one until all of it is written.

    A symbolic link stays one: the file that it leads to is replaced. A file that is replaced hands on its mode.

    Raises
    ------
    OSError
        If it cannot be written; what was there before is as it was.
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
