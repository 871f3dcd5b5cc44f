"""What the tests of several files share."""

from contextlib import nullcontext

import pytest


@pytest.fixture
def interpreted(request):
    """Let PyMC simulate without compiling, which takes longer than a few draws; slow tests go the users' way."""
    import pytensor

    as_users = request.node.get_closest_marker("slow") or "rates_fit" in request.fixturenames
    with nullcontext() if as_users else pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield
