"""Ctrl-C, which ends a fit although what it calls may forget interrupts; modules that a fit loads, each as a whole."""

from __future__ import annotations

import _thread
import gc
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any

# Seconds after which an interrupt is sent again.
AGAIN = 0.2


@contextmanager
def interruptible() -> Iterator[None]:
    """Let KeyboardInterrupt be what an interrupt ends in, and send the interrupt again until it is.

    PyMC catches KeyboardInterrupt and returns the draws until then. A compiler in C that calls Python cannot pass on
    what is raised there; as it may work for a second, this is where most interrupts arrive. A handler other than
    Python's own is left in place, and so are threads other than the main one, which has the signals.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield
        return
    pressed, ended = [False], threading.Event()

    def handler(*_: Any) -> None:
        pressed[0] = True
        raise KeyboardInterrupt

    # The handler takes no lock, not even that of starting a thread: what it interrupts may hold it.
    repeating = threading.Thread(target=_repeat, args=(pressed, ended), daemon=True)
    repeating.start()
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    except Exception:
        # Where an interrupt was forgotten, what it cut short is missing later.
        if not pressed[0]:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
        ended.set()
        repeating.join()
    if pressed[0]:
        raise KeyboardInterrupt


def load(*modules: str) -> None:
    """Import modules, each as a whole: where an import is cut short, a later one does not mend what is missing."""
    for module in modules:
        with postponed(), nullcontext() if module in sys.modules else uncollected(lasting=True):
            import_module(module)


@contextmanager
def uncollected(lasting: bool = False) -> Iterator[None]:
    """Look for no garbage meanwhile. What lasts, as modules do, counts as looked through from then on.

    Looking takes a sixth of the time of loading. What a graph leaves is found afterwards at once; looked for while the
    graph is there, it would be taken for what lasts, so that soon all that Python holds would be looked through.
    """
    before, frozen = gc.isenabled(), gc.get_freeze_count()
    gc.disable()
    try:
        yield
    finally:
        if lasting and not frozen:
            gc.freeze()
            gc.unfreeze()
        if before:
            gc.enable()


@contextmanager
def postponed() -> Iterator[None]:
    """Let an interrupt wait for the end of what it must not cut short."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    seen: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *signalled: seen.append(signalled))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if seen:
        before(*seen[0])


def _repeat(pressed: Sequence[bool], ended: threading.Event) -> None:
    """Interrupt the main thread again and again, once it has been interrupted, until it has ended."""
    while not ended.wait(AGAIN):
        if pressed[0]:
            _thread.interrupt_main()
