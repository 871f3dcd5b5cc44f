"""Writing files whole: beside what is there, and then in its place."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a text to a file, which is the old one until all of it is written.

    Raises
    ------
    OSError
        If it cannot be written; what was there before is as it was.
    """
    if path.exists() and not path.is_file():
        # A terminal or a pipe: nothing is there before.
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        return
    # A link stays one.
    place = path.resolve()
    beside = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with beside.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
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


def refuse_unwritable(output: Path) -> None:
    """Refuse a file that cannot be written, before there is anything to write.

    Raises
    ------
    ValueError
        If it is a folder, or no file can be written where it is to be.
    """
    if output.is_dir():
        raise ValueError(f"--output {output}: it is a folder. Name a file in it.")
    if output.exists() and not output.is_file():
        return
    try:
        with tempfile.TemporaryFile(dir=output.resolve().parent):
            pass
    except OSError as error:
        raise ValueError(f"--output {output}: cannot be written: {error.strerror}.") from None


def refuse_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write to a file that is read, however it is spelt or linked.

    Raises
    ------
    ValueError
        If the output is one of the inputs.
    """
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise ValueError(
                f"--output {output}: it is the file of predictions, {path}. Give the page a name of its own."
            )
