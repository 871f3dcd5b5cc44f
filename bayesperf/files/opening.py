"""Opening of files: the requested columns exist, and nothing slow is imported yet."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from bayesperf.files.option_table import FILE, Settings
from bayesperf.files.roles import asked_columns
from bayesperf.files.sources import open_sources

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from bayesperf.files.formats import DataFile

# Memory of DuckDB, which keeps on disk what does not fit: in MB for each thread, and at least.
_MEMORY, _LEAST_MEMORY = 128, 512


class Opened(NamedTuple):
    """Files that are open, by a connection that reads them."""

    connection: DuckDBPyConnection
    sources: list[DataFile]


class _Late:
    """A connection that is made when something is first asked of it."""

    def __init__(self, connect: Callable[[], DuckDBPyConnection]) -> None:
        self._connect = connect

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connect(), name)


@contextmanager
def connected_late() -> Iterator[DuckDBPyConnection]:
    """Return a connection that takes its time only if it is needed: the columns of CSV files are known without."""
    import duckdb

    with ExitStack() as stack:
        yield cast("DuckDBPyConnection", _Late(cache(lambda: stack.enter_context(duckdb.connect()))))


@contextmanager
def opened(paths: Sequence[Path], settings: Settings) -> Iterator[Opened]:
    """Open files, and folders of them; refuse unreadable files, and files without the columns in the settings.

    A column ``file`` identifies several files if settings name it; else they are parts of one data set.
    """
    import duckdb

    apart = len(paths) > 1 and FILE in settings.by
    with tempfile.TemporaryDirectory(prefix="bayesperf-") as folder:
        memory = max(_LEAST_MEMORY, _MEMORY * (os.cpu_count() or 1))
        config: dict[str, Any] = {"temp_directory": folder, "memory_limit": f"{memory}MB"}
        with duckdb.connect(config=config | {"autoinstall_known_extensions": False}) as connection:
            asked = asked_columns(settings)
            yield Opened(connection, open_sources(connection, paths, Path(folder), asked, apart, settings.encoding))
