"""Compiled functions called by their address: what they return and raise, and that they are not compiled again."""

import ctypes
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba import types
from nutpie import compile_pymc

from bayesperf.sampling import nutpie_functions as linked


@numba.njit
def root(*arguments):
    value, shift = arguments
    if value[0] < 0:
        raise ValueError("negative")
    return value.sum(), np.sqrt(value) + shift


@pytest.fixture(scope="module")
def called():
    return linked.called_by_address(root)


def test_it_returns_what_the_function_returns(called):
    value, shift = np.array([4.0, 9.0, 2.0]), np.array([[1.0], [3.0]])
    for of, by in ((value, shift), (value.astype(np.float32), shift), (value[:1], shift[:1] * 2)):
        expected_sum, expected = of.sum(), np.sqrt(of) + by
        found_sum, found = called(of, by)
        assert found_sum == pytest.approx(expected_sum)
        np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_it_raises_what_the_function_raises(called):
    @numba.njit
    def caught(value):
        try:
            return called(value, value)[0]
        except Exception:
            return -1.0

    assert caught(np.ones(2)) == 2
    assert caught(-np.ones(2)) == -1
    with pytest.raises(ValueError, match="negative"):
        called(-np.ones(2), np.ones(2))


@pytest.mark.parametrize(("inner", "contains"), [(root, True), (linked.called_by_address(root), False)])
def test_the_caller_does_not_contain_the_function(inner, contains):
    @numba.njit
    def caller(value):
        return inner(value, value)[0]

    caller.compile((types.float64[::1],))
    (assembly,) = caller.inspect_asm().values()
    assert ("sqrt" in assembly) is contains


# Data of a density: their kinds and dims are those that models have.
DATA = {
    "scale": np.array(0.5),
    "counts": np.arange(6).reshape(2, 3),
    "block": np.arange(8.0).reshape(2, 2, 2),
    "kept": np.array([True, False]),
}
NUTPIE = SimpleNamespace(**{name: getattr(compile_pymc, name) for name in ("_make_c_logp_func", "_make_c_expand_func")})


@numba.njit
def density(*arguments):
    point, scale, counts, block, kept = arguments
    if point[0] < 0:
        raise ValueError("negative")
    whole = counts.sum() * scale[()] + block[1, 0, 1] * kept[0]
    return np.asarray(np.log(point[0]) + whole), np.sqrt(point[::-1]) * whole


@numba.njit
def expanded(*arguments):
    point, scale, counts, _, _ = arguments
    if point[0] < 0:
        raise ValueError("negative")
    return (np.append(point, counts[:, 2] * scale[()]),)


@numba.njit
def lone(*arguments):
    (point,) = arguments
    return np.asarray(point[0] ** 2), 2 * point


class Variable:
    """As much of a shared variable as nutpie looks at."""

    def __init__(self, value):
        self.ndim = value.ndim


def handed_over(values):
    """Return values as nutpie hands them to a C function."""
    return compile_pymc.make_user_data({Variable(value): name for name, value in values.items()}, values)


def c_function(name, inner, *sizes):
    """Return a C function of the data, as compiled while densities are called by address."""
    with linked.by_address():
        function, signature = getattr(compile_pymc, name)(*sizes, inner, handed_over(DATA), list(DATA), DATA)
    return function, numba.cfunc(signature)(function)


def address(array):
    return array.ctypes.data_as(ctypes.c_void_p)


@pytest.fixture(scope="module")
def made():
    return c_function("_make_c_logp_func", density, 2)


@pytest.fixture
def c_density(made):
    _, compiled = made
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[ctypes.c_void_p] * 4)(compiled.address)

    def called(point, values=DATA, size=2):
        gradient, value = np.zeros(2), np.zeros(())
        code = call(size, *map(address, (np.asarray(point), gradient, value, handed_over(values))))
        return code, float(value), gradient

    return called


def test_a_density_is_that_of_the_data_handed_over(c_density):
    """The sum of the counts is 15, so that the data give 15 · 0.5 + 5; others of the same dims are read anew."""
    code, value, gradient = c_density([4.0, 9.0])
    assert (code, value) == (0, pytest.approx(np.log(4) + 12.5))
    np.testing.assert_allclose(gradient, [37.5, 25])
    more = DATA | {"counts": np.full((4, 1), 10), "kept": np.array([False])}
    code, value, gradient = c_density([1.0, 4.0], more)
    assert (code, value) == (0, pytest.approx(20))
    np.testing.assert_allclose(gradient, [40, 20])


def test_a_density_says_what_is_wrong_by_nutpies_codes(c_density):
    assert c_density([4.0, 9.0], size=3)[0] == -1
    assert c_density([-1.0, 9.0])[0] == 1
    assert c_density([4.0, -9.0])[0] == 3
    assert c_density([0.0, 9.0])[0] == 4


def test_a_c_function_contains_no_density(made):
    function, compiled = made
    assert function.__module__ == linked.__name__
    assert "sqrt" not in compiled.inspect_llvm()


def test_what_follows_from_a_point():
    _, compiled = c_function("_make_c_expand_func", expanded, 2, 4)
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint64, *[ctypes.c_void_p] * 3)(compiled.address)
    values, data = np.zeros(4), handed_over(DATA)

    def called(point, size=2, n_expanded=4):
        return call(size, n_expanded, *map(address, (np.asarray(point), values, data)))

    assert called([4.0, 9.0]) == 0
    np.testing.assert_array_equal(values, [4, 9, 1, 2.5])
    assert called([4.0, 9.0], size=3) == called([4.0, 9.0], n_expanded=5) == -1
    assert called([-1.0, 9.0]) == -2


def test_a_density_without_data():
    with linked.by_address():
        function, signature = compile_pymc._make_c_logp_func(1, lone, handed_over({}), [], {})
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[ctypes.c_void_p] * 4)(
        numba.cfunc(signature)(function).address
    )
    gradient, value = np.zeros(1), np.zeros(())
    assert call(1, *map(address, (np.array([3.0]), gradient, value, handed_over({})))) == 0
    assert (float(value), *gradient) == (9, 6)


def test_nutpies_own_are_put_back():
    def are_nutpies():
        return all(getattr(compile_pymc, name) is function for name, function in vars(NUTPIE).items())

    with linked.by_address():
        assert not are_nutpies()
    assert are_nutpies()
    with pytest.raises(KeyError), linked.by_address():
        raise KeyError
    assert are_nutpies()


@pytest.mark.parametrize("changed", ["signature", "record"])
def test_a_nutpie_that_calls_otherwise_is_left_alone(monkeypatch, changed):
    def theirs(*arguments):
        return "theirs", NUTPIE._make_c_logp_func(*arguments)[1] if changed == "record" else types.int64()

    data = handed_over(DATA)
    if changed == "record":
        parts = data.dtype["shared"]
        data = data.view([("shared", [(name.replace("data", "address"), parts[name]) for name in parts.names])])
    monkeypatch.setattr(compile_pymc, "_make_c_logp_func", theirs)
    with linked.by_address():
        function, _ = compile_pymc._make_c_logp_func(2, density, data, list(DATA), DATA)
    assert function == "theirs"


def test_a_nutpie_without_some_of_these_functions_is_left_alone(monkeypatch):
    module = SimpleNamespace(_make_c_logp_func=NUTPIE._make_c_logp_func)
    monkeypatch.setattr("nutpie.compile_pymc", module)
    with linked.by_address():
        assert vars(module) == {"_make_c_logp_func": NUTPIE._make_c_logp_func}
    assert vars(module) == {"_make_c_logp_func": NUTPIE._make_c_logp_func}
