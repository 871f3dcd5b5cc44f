"""Checks of arguments: what they return, and what their errors say."""

import numpy as np
import pytest

import bayesperf as bp
from bayesperf.core import checks


def test_checked_values_are_returned_as_plain_types():
    assert type(checks.probability("p", np.float32(0.5))) is float
    assert type(checks.number("x", 2)) is float
    assert type(checks.count("n", np.int64(3))) is int
    assert type(checks.seed(np.int64(3))) is int
    assert type(checks.rope(0)) is float
    assert checks.two_names(["a", "b"]) == ("a", "b")
    np.testing.assert_array_equal(checks.vector("x", 2), [2.0])
    np.testing.assert_array_equal(checks.vector("x", [True, False]), [1.0, 0.0])
    np.testing.assert_array_equal(checks.whole_numbers("n", np.array([0.0, 3.0])), [0, 3])
    assert checks.equal_lengths({"a": 2, "b": 2}) is None


def test_a_class_that_ends_in_s_has_an_article_unless_it_is_plural():
    for kind, asked in ((bp.ConfusionMatrix, "a ConfusionMatrix"), (bp.Outcomes, "Outcomes"),
                        (bp.groups.MetaAnalysis, "a MetaAnalysis")):  # fmt: skip
        with pytest.raises(TypeError, match=f"^x must be {asked}; it is int"):
            checks.instance("x", 1, kind)


def test_a_generator_supplies_the_seed_it_would_draw():
    assert checks.seed(np.random.default_rng(5)) == np.random.default_rng(5).integers(2**63)


BAD = {
    "certain": (lambda: checks.probability("p", 1), ValueError, "^p must be a number between 0 and 1, both excluded"),
    "text": (lambda: checks.number("x", "1"), TypeError, "^x must be a number; it is '1'"),
    "boolean": (lambda: checks.number("x", True), TypeError, "^x must be a number"),
    "option": (lambda: checks.one_of("kind", "c", ("a", "b")), ValueError, "^kind must be one of 'a', 'b'; it is 'c'"),
    "too few": (lambda: checks.count("draws", 1, least=2), ValueError, "^draws must be a whole number of at least 2"),
    "negative draws": (lambda: checks.count("n", -1), ValueError, "^n must be a whole number of at least 1; it is -1"),
    "negative seed": (lambda: checks.seed(-1), ValueError, "^random_seed must be a non-negative integer or a numpy"),
    "boolean seed": (lambda: checks.seed(True), ValueError, "^random_seed must be"),
    "negative rope": (lambda: checks.rope(-1), ValueError, "^rope must be the half-width .* at least 0; it is -1"),
    "infinite rope": (lambda: checks.rope(np.inf), ValueError, "^rope must be the half-width"),
    "a text of two": (lambda: checks.two_names("ab"), ValueError, "^names must be two, of a and of b; they are 'ab'"),
    "missing": (lambda: checks.vector("x", [1, np.nan, np.nan]), ValueError, "^x has 2 missing values. Drop"),
    "masked": (
        lambda: checks.vector("x", np.ma.array([1, 2], mask=[0, 1])),
        ValueError,
        "^x has 1 missing value. Drop",
    ),
    "table": (lambda: checks.vector("x", [[1]]), ValueError, r"^x must be one-dimensional and not empty; .* \(1, 1\)"),
    "strings": (lambda: checks.vector("x", ["a"]), TypeError, "^x must be numbers; it holds <U1"),
    "half": (lambda: checks.whole_numbers("n", np.array([0.5])), ValueError, "^n holds 0.5, which is fractional"),
    "below 0": (lambda: checks.whole_numbers("n", np.array([-1])), ValueError, "^n holds -1, which is negative"),
    "words": (lambda: checks.whole_numbers("n", np.array(["1"])), TypeError, "^n must hold whole numbers"),
    "lengths": (
        lambda: checks.equal_lengths({"a": 2, "b": 3}),
        ValueError,
        "^columns of unequal length: a 2, b 3.$",
    ),
}


@pytest.mark.parametrize("mistake", BAD)
def test_errors_name_the_argument(mistake):
    call, error, message = BAD[mistake]
    with pytest.raises(error, match=message):
        call()
