"""Where pages may be written: not where no file can be, nor over what is read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from bayesperf.core.errors import FileFaultError, InputError
from bayesperf.files.sources import files_of


def refuse_unwritable(output: Path) -> None:
    """Refuse a file that cannot be written, before there is anything to write.

    Raises
    ------
    ValueError
        If it is a folder, or no file can be written where it is to be.
    """
    if output.is_dir():
        raise InputError(f"--output {output}", "it is a folder.", "Name a file in it.")
    if output.exists() and not output.is_file():
        return
    try:
        with tempfile.TemporaryFile(dir=output.resolve().parent):
            pass
    except OSError as error:
        raise InputError(f"--output {output}", f"cannot be written: {error.strerror}.") from None


def refuse_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write to a file that is read, however it is spelt or linked, or to one that is read of a folder.

    Raises
    ------
    ValueError
        If the output is one of the inputs.
    """
    if not output.exists():
        return
    for path in (file for named in inputs for file in _files(named)):
        if path.exists() and output.samefile(path):
            raise InputError(
                f"--output {output}", f"it is the file of predictions, {path}.", "Give the page a name of its own."
            )


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return [path]
    try:
        return files_of(path)
    except FileFaultError:
        # What is wrong with the folder is said when it is read.
        return []
