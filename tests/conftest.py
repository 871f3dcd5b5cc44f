"""What the tests of several files share."""

import subprocess
import sys
from collections import defaultdict

import pytest

pytest.register_assert_rewrite("tests.shared.fits")


def pytest_addoption(parser):
    parser.addoption("--share", metavar="I/N", help="run one of N parts of the tests, whole files at a time")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave to the slow tests what `make test` does without, and leave out the tests of other shares."""
    cases = defaultdict(list)
    for item in items:
        if few := item.get_closest_marker("few"):
            cases[item.nodeid.split("[")[0], *few.args].append(item)
    for (_, *number), of_one_test in cases.items():
        last = len(of_one_test) - 1
        kept = range(*number) if number else (0, (last + 1) // 2, last)
        for place, item in enumerate(of_one_test):
            if place not in kept:
                item.add_marker("slow")
    if share := config.getoption("--share"):
        part, parts = (int(number) for number in share.split("/"))
        if not 1 <= part <= parts:
            raise pytest.UsageError(f"--share must be I/N with I from 1 to N; it is {share}.")
        share_of = shares(items, parts)
        others = [item for item in items if share_of[item.path] != part]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if share_of[item.path] == part]


def shares(items, parts):
    """Return which of so many shares, from 1 on, each file is in: a part of every room's slow tests is in each.

    A file's tests stay together, because they share what they compile.
    """
    slow = sorted({item.path for item in items if item.get_closest_marker("slow")})
    rest = {item.path for item in items}.difference(slow)
    return dict.fromkeys(rest, 1) | {path: place % parts + 1 for place, path in enumerate(slow)}


@pytest.fixture
def alone(monkeypatch):
    """Let a fit be of the posterior, with nothing simulated beside it."""
    monkeypatch.setattr("bayesperf.sampling.fitting._prior", lambda *_: {})
    monkeypatch.setattr("bayesperf.sampling.fitting._other_groups", lambda *_: ({}, ""))


@pytest.fixture
def sampler(monkeypatch):
    """Let draws of the prior take the place of NUTS, and compile nothing; return the settings of each sampling."""
    from tests.shared.fits import groups_of_prior, without_nuts

    calls = []

    def sample(compiled, settings, seed, progressbar=False):
        calls.append({**settings, "seed": seed, "progressbar": progressbar})
        return groups_of_prior(compiled.model, settings["chains"], settings["draws"], seed)

    without_nuts(monkeypatch, sample)
    # A few draws of the prior are no cause for a warning.
    monkeypatch.setattr("bayesperf.sampling.nuts.warn_of_convergence", lambda *_: None)
    return calls


@pytest.fixture
def shell(monkeypatch, capsys, tmp_path):
    """Run the command line in this process, which is quicker than in one of its own, and return what it ended with."""
    from bayesperf.cli import commands

    def run(*arguments, cwd=tmp_path, columns=100):
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["bayesperf", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as stopped:
            commands.main()
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, stopped.value.code, printed.out, printed.err)

    return run
