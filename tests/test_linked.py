"""Compiled functions called by their address: what they return and raise, and that they are not compiled again."""

from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba import types

from bayesperf import _linked


@numba.njit
def root(*arguments):
    value, shift = arguments
    if value[0] < 0:
        raise ValueError("negative")
    return value.sum(), np.sqrt(value) + shift


@pytest.fixture(scope="module")
def called():
    return _linked.called_by_address(root)


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


@pytest.mark.parametrize(("inner", "contains"), [(root, True), (_linked.called_by_address(root), False)])
def test_the_caller_does_not_contain_the_function(inner, contains):
    @numba.njit
    def caller(value):
        return inner(value, value)[0]

    caller.compile((types.float64[::1],))
    (assembly,) = caller.inspect_asm().values()
    assert ("sqrt" in assembly) is contains


@pytest.fixture
def nutpie(monkeypatch):
    """nutpie's module, of which only this is looked at: what wraps a function, and what compiling makes of it."""
    module = SimpleNamespace(make_extraction_fn=lambda function, *arguments: ("wrapped", function, *arguments))
    monkeypatch.setattr("nutpie.compile_pymc", module)
    return module


def test_functions_are_called_by_address_while_a_model_is_compiled(nutpie):
    before = nutpie.make_extraction_fn
    with _linked.by_address():
        kind, function, *arguments = nutpie.make_extraction_fn(root, "data", "keys")
    assert (kind, arguments) == ("wrapped", ["data", "keys"])
    assert function is not root
    assert function(np.ones(2), np.ones(1))[0] == 2
    assert nutpie.make_extraction_fn is before
    with pytest.raises(KeyError), _linked.by_address():
        raise KeyError
    assert nutpie.make_extraction_fn is before


def test_a_nutpie_that_works_otherwise_is_left_alone(nutpie):
    del nutpie.make_extraction_fn
    with _linked.by_address():
        assert not vars(nutpie)
    assert not vars(nutpie)
