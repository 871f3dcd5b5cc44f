"""Exponentials and logarithms in plain arithmetic, as Numba compiles them, against those of mpmath."""

import mpmath
import numba
import numpy as np
import pytest

from bayesperf.sampling import elementary

RNG = np.random.default_rng(2)
POWERS = np.concatenate([RNG.uniform(-708, 709.4, 1000), RNG.uniform(-1, 1, 1000), 10 ** RNG.uniform(-300, -1, 200),
                         np.log(2) * (np.arange(-20, 21)[:, None] / 2 + [-1e-15, 0, 1e-15]).ravel()])  # fmt: skip
NUMBERS = np.concatenate([10 ** RNG.uniform(-307, 308, 1000), RNG.uniform(0.4, 2.5, 1000),
                          1 + RNG.choice([-1, 1], 200) * 10 ** RNG.uniform(-16, -1, 200)])  # fmt: skip
SMALL = np.concatenate([10 ** RNG.uniform(-300, 300, 1000), -(10 ** RNG.uniform(-300, -1e-3, 1000))])
CASES = {
    "exp": (POWERS, mpmath.exp), "log": (NUMBERS, mpmath.log), "log1p": (SMALL, mpmath.log1p)
}  # fmt: skip


def compiled(name):
    """Return a function of arrays that calls one of these in a loop, as a density does."""
    function = getattr(elementary, name)

    @numba.njit(error_model="numpy")
    def each(x):
        y = np.empty(x.size)
        for i in range(x.size):
            y[i] = function(x[i])
        return y

    return each


@pytest.mark.parametrize("name", CASES)
def test_within_two_units_in_the_last_place(name):
    points, exact = CASES[name]
    with mpmath.workdps(40):
        expected = [exact(mpmath.mpf(float(x))) for x in points]
        found = compiled(name)(points)
        off = [abs(mpmath.mpf(float(y)) - e) / np.spacing(abs(float(e))) for y, e in zip(found, expected, strict=True)]
    assert max(off) < 2


@pytest.mark.parametrize(
    ("name", "points", "expected"),
    [
        ("exp", [-np.inf, -800, 0, 709.5, np.inf, np.nan], [0, 0, 1, np.inf, np.inf, np.nan]),
        ("log", [0, -0.0, 1, np.inf, -1, -np.inf, np.nan], [-np.inf, -np.inf, 0, np.inf, np.nan, np.nan, np.nan]),
        ("log1p", [-1, 0, np.inf, -2, np.nan], [-np.inf, 0, np.inf, np.nan, np.nan]),
    ],
)
def test_at_the_ends(name, points, expected):
    np.testing.assert_array_equal(compiled(name)(np.array(points, float)), expected)
