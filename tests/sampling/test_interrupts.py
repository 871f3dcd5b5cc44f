"""Ctrl-C in each phase of a fit, by a signal to a process of its own."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from bayesperf.sampling.interrupts import interruptible, postponed, uncollected

# The requirement is two seconds; a machine that runs several tests at once is slower.
MOST_SECONDS = 10
# A process that no longer answers is ended, so that its test fails and the others go on.
PATIENCE = 240


@pytest.fixture(autouse=True)
def interrupts():
    """Python's own handler, also where a shell has started the tests in its background, which ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# A process that says when a phase of a fit has begun, waits there, and is then asked for another fit.
CHILD = """
import itertools
import sys
import time

import numpy as np
import bayesperf as bp
from bayesperf.sampling import backend, nuts
from bayesperf.sampling import fitting as fit

phase, cores = sys.argv[1], int(sys.argv[2])
CM = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)


def say():
    if waiting:
        print("begun", flush=True)


def slowly(module, name):
    whole = getattr(module, name)

    def announced(*arguments, **settings):
        say()
        while waiting:
            time.sleep(0.01)
        return whole(*arguments, **settings)

    setattr(module, name, announced)


def counted(*arguments):
    model = whole(*arguments)
    # Each number is given to one chain alone, whichever of the threads ask for it at the same time.
    density, calls = model.density, itertools.count(1)

    def slow(*point):
        call = next(calls)
        if waiting:
            time.sleep(0.005)
        if call == begun_after:
            say()
        return density(*point)

    return backend.replace(model, density=slow)


def go(**sizes):
    tree = bp.fit(CM, "rates", method="mcmc", chains=2, random_seed=1, progressbar=False, cores=cores, **sizes)
    return tree["posterior"]["cells"].values


undisturbed = go(draws=30, tune=60) if phase not in ("import", "compile") else None
waiting, begun_after, whole = True, 0, backend.compiled
sizes = {"draws": 30, "tune": 60}
if phase == "build":
    slowly(fit, "built_model")
elif phase == "import":
    say()
elif phase == "compile":
    run = backend._compile
    backend._compile = lambda *arguments: (say(), run(*arguments))[1]
elif phase == "predict":
    slowly(fit, "predictions")
else:
    backend.compiled, begun_after = counted, {"tune": 60, "draw": 300}[phase]
    sizes = {"draws": 100_000, "tune": 100_000 if phase == "tune" else 10}
try:
    go(**sizes)
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("finished", flush=True)
waiting = False
again = go(draws=30, tune=60)
if undisturbed is None:
    print("same", again.shape, flush=True)
else:
    print("same" if np.array_equal(again, undisturbed) else "other", again.shape, flush=True)
"""


def interrupted(phase, cores=1, delay=0.0, folder=None):
    """Send the signal when the phase has begun; return the seconds until the interrupt, and what is printed then."""
    flags = {"PYTENSOR_FLAGS": f"base_compiledir={folder}"} if folder else {}
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", CHILD, phase, str(cores)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | flags,
    )  # fmt: skip
    patience = threading.Timer(PATIENCE, child.kill)
    patience.start()
    try:
        assert child.stdout.readline() == "begun\n", child.stderr.read()
        time.sleep(delay)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        line = child.stdout.readline()
        seconds = time.monotonic() - start
        if delay and line == "finished\n":
            pytest.skip(f"this machine compiles and samples in {delay} s")
        rest, errors = child.communicate()
    finally:
        patience.cancel()
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()
    assert (line, child.returncode) == ("interrupted\n", 0), errors
    print(f"{phase}: interrupted after {seconds:.2f} s")
    return seconds, rest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("phase", "cores"),
    [
        ("draw", 2),
        *(pytest.param(*case, marks=pytest.mark.slow)
          for case in (("build", 1), ("tune", 1), ("tune", 2), ("draw", 1), ("predict", 1))),
    ],
)  # fmt: skip
def test_a_fit_is_interrupted_and_the_next_one_is_undisturbed(phase, cores):
    seconds, rest = interrupted(phase, cores)
    assert seconds < MOST_SECONDS
    assert rest == "same (2, 30, 2, 2)\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("phase", "delay"),
    [*(("import", delay) for delay in (0.01, 0.1, 0.5)), *(("compile", delay) for delay in (0.1, 0.2, 0.5, 1.0, 2.0))],
)
def test_a_first_fit_is_interrupted_and_the_next_one_is_whole(tmp_path, phase, delay):
    seconds, rest = interrupted(phase, delay=delay, folder=tmp_path)
    assert seconds < MOST_SECONDS
    assert rest == "same (2, 30, 2, 2)\n"


# ── Interrupts that are forgotten ──


def send():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        time.sleep(0)


@interruptible()
def forgetful(after=lambda: None):
    with contextlib.suppress(KeyboardInterrupt):
        send()
    after()


def fails():
    raise RuntimeError("what was interrupted is missing")


def goes_on():
    for _ in range(100 * MOST_SECONDS):
        time.sleep(0.01)
    raise AssertionError("nothing interrupted it")


@pytest.mark.parametrize("after", [goes_on, fails, lambda: None], ids=["goes on", "fails", "ends"])
def test_a_forgotten_interrupt_is_no_result_and_no_error(after):
    with pytest.raises(KeyboardInterrupt):
        forgetful(after)


def test_without_an_interrupt_nothing_is_changed():
    before = signal.getsignal(signal.SIGINT)
    with interruptible():
        pass
    with pytest.raises(RuntimeError, match="is missing"), interruptible():
        fails()
    assert signal.getsignal(signal.SIGINT) is before


def test_what_must_not_be_cut_short_is_not():
    done = []

    @postponed()
    def whole():
        send()
        done.append(1)

    with pytest.raises(KeyboardInterrupt):
        whole()
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_callers_own_stays():
    calls = []
    before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    try:
        with interruptible():
            send()
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == [1]


def test_other_threads_leave_signals_alone():
    seen = []

    def work():
        with interruptible():
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_garbage_is_looked_for_afterwards_as_before():
    with uncollected(lasting=True):
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_the_caller_has_frozen_stays_frozen():
    gc.freeze()
    try:
        with uncollected(lasting=True):
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
