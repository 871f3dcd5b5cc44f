"""What the tests of several files share."""

import zlib
from collections import OrderedDict
from contextlib import nullcontext

import numpy as np
import pytest
import xarray as xr

pytest.register_assert_rewrite("tests.shared.fits")


def pytest_addoption(parser):
    parser.addoption("--share", metavar="I/N", help="run one of N parts of the tests, whole files at a time")


def pytest_collection_modifyitems(config, items):
    """Leave out the tests of other shares; a file's tests stay together, because they share what they compile."""
    if share := config.getoption("--share"):
        part, parts = (int(number) for number in share.split("/"))
        if not 1 <= part <= parts:
            raise pytest.UsageError(f"--share must be I/N with I from 1 to N; it is {share}.")
        others = [item for item in items if share_of(item.path.name, parts) != part]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]


def share_of(file, parts):
    """Return which of so many shares, from 1 on, the tests of a file are in."""
    return zlib.crc32(file.encode()) % parts + 1


@pytest.fixture
def interpreted(request):
    """Let PyMC simulate without compiling, which takes longer than a few draws; slow tests go the users' way."""
    import pytensor

    as_users = request.node.get_closest_marker("slow") or "rates_fit" in request.fixturenames
    with nullcontext() if as_users else pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


@pytest.fixture
def alone(monkeypatch):
    """Let a fit be of the posterior, with nothing simulated beside it."""
    monkeypatch.setattr("bayesperf.sampling.fit._prior", lambda *_: {})
    monkeypatch.setattr("bayesperf.sampling.fit._around", lambda *_: ({}, ""))


@pytest.fixture
def sampler(monkeypatch):
    """Let nutpie draw from the prior; return what it was called with."""
    import pymc as pm

    from tests.shared.fits import Compiled

    calls = []

    def sample(compiled, *, draws, chains, **options):
        calls.append({"draws": draws, "chains": chains, **options})
        names = [v.name for v in [*compiled.model.free_RVs, *compiled.model.deterministics]]
        drawn = pm.sample_prior_predictive(
            draws * chains,
            model=compiled.model,
            var_names=names,
            random_seed=options["seed"],
            compile_kwargs={"mode": "FAST_COMPILE"},
        )["prior"].to_dataset()
        drawn = drawn.drop_vars(["chain", "draw"])
        shaped = {
            name: (("chain", *v.dims[1:]), v.values.reshape(chains, draws, *v.shape[2:])) for name, v in drawn.items()
        }
        stats = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((chains, draws), bool))})
        posterior = xr.Dataset(shaped, drawn.coords)
        return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats})

    monkeypatch.setattr("nutpie.compile_pymc_model", Compiled)
    monkeypatch.setattr("nutpie.sample", sample)
    monkeypatch.setattr("bayesperf.sampling.compiled._kept", OrderedDict())
    # A few draws of the prior are no cause for a warning.
    monkeypatch.setattr("bayesperf.sampling.nuts.warn", lambda *_: None)
    return calls
