"""The peak memory of a process, and of some work in it (Linux)."""

import ctypes
import gc
import re
from collections.abc import Callable
from pathlib import Path


def peak_bytes() -> int:
    """Return the most memory that this process has held. What `getrusage` says includes its parent's."""
    return _status("VmHWM")


def work_bytes(work: Callable[[], object]) -> int:
    """Return the most memory that some work, done before, takes beyond what the process holds without it."""
    gc.collect()
    # What was freed goes back to the system, so that taking it again counts.
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _status(name: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(re.findall(rf"{name}:\s*(\d+) kB", status)[0])
