"""The first fits of a model on a machine: what is shown meanwhile, and threads that compile at once."""

import os
import pty
import subprocess
import sys

import pytest

from bayesperf.sampling.nuts import announced

ANNOUNCED = b"Compiling (once on this machine)"

TWICE = """
import sys

import bayesperf as bp

cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
for n in (1, 2):
    bp.fit(cm, "rates", method="mcmc", draws=50, tune=60, random_seed=1, progressbar=sys.argv[1] == "shown")
    print("fit", n, file=sys.stderr, flush=True)
"""

THREADS = """
import sys
import threading

import numpy as np
import bayesperf as bp

CM = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
draws, errors = {}, []
together = threading.Barrier(2)


def fit(name):
    tree = bp.fit(CM, "rates", method="mcmc", draws=50, tune=60, random_seed=1, progressbar=False)
    draws[name] = tree["posterior"]["cells"].values


def at_once(name):
    together.wait()
    try:
        fit(name)
    except BaseException as error:
        errors.append(repr(error))


threads = [threading.Thread(target=at_once, args=[name]) for name in ("one", "other")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
fit("alone")
print(errors, [bool(np.array_equal(draws[name], draws["alone"])) for name in ("one", "other") if name in draws])
"""


def on_a_terminal(*arguments):
    """Run two fits of a model with a terminal as standard error; return what it shows."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([sys.executable, "-W", "ignore", "-c", TWICE, *arguments], stderr=theirs,
                             env=os.environ | {"TERM": "xterm", "COLUMNS": "100"})  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 10_000):
            shown += part
    except OSError:  # Linux ends the reading so when the other side is closed.
        pass
    os.close(ours)
    assert child.wait() == 0, shown
    return shown


def test_a_notebook_is_told_once(capsys):
    with announced("Compiling", shown=True):
        pass
    assert capsys.readouterr() == ("Compiling …\n", "")


@pytest.mark.slow
def test_a_terminal_shows_first_that_a_model_is_compiled_and_only_once():
    first, again = on_a_terminal("shown").split(b"fit 1")
    assert ANNOUNCED in first[: first.index(b"Compiling") + len(ANNOUNCED)]
    assert b"Sampl" not in first[: first.index(ANNOUNCED)]
    assert b"Compiling" not in again
    assert b"fit 2" in again


@pytest.mark.slow
def test_no_progress_is_shown_where_none_is_wanted():
    assert on_a_terminal("hidden").split() == b"fit 1 fit 2".split()


@pytest.mark.slow
def test_no_progress_is_shown_where_there_is_no_terminal():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", TWICE, "shown"], capture_output=True, check=True)
    assert (done.stdout, done.stderr.split()) == (b"", b"fit 1 fit 2".split())


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["one", "another"])
def test_threads_that_compile_at_once_draw_the_same(tmp_path, folder):
    flags = {"PYTENSOR_FLAGS": f"base_compiledir={tmp_path / folder}"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", THREADS], capture_output=True, text=True, env=os.environ | flags,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("[] [True, True]\n", 0), done.stderr
