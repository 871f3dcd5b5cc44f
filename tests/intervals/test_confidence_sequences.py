"""Confidence sequences against integration of the mixture, exact enumeration of runs, and closed forms."""

from itertools import product

import mpmath as mp
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from bayesperf.intervals import confidence_sequence, proportion

COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
WEIGHTS = st.tuples(st.floats(0.1, 20), st.floats(0.1, 20))


def ratio(p, k, n, prior):
    """Return the likelihood averaged over the Beta, by integration, over that at p."""
    mixture = stats.beta(*prior)
    average, _ = integrate.quad(lambda q: q**k * (1 - q) ** (n - k) * mixture.pdf(q), 0, 1, epsabs=0, epsrel=1e-11)
    return average / (p**k * (1 - p) ** (n - k))


@pytest.mark.few
@pytest.mark.parametrize("prior", [(1, 1), (2.5, 1.5), (8, 3)])
@pytest.mark.parametrize(("k", "n"), [(1, 2), (3, 10), (9, 10), (30, 40)])
def test_at_its_limits_the_martingale_is_one_over_alpha(k, n, prior):
    for limit in confidence_sequence(k, n, confidence=0.9, prior=prior):
        assert ratio(limit, k, n, prior) == pytest.approx(10, rel=1e-8)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_without_failures_or_successes_there_is_a_closed_form(confidence):
    # pⁿ = α/(n + 1): the average of qⁿ over the uniform is 1/(n + 1).
    n = np.array([1, 10, 10**6])
    expected = ((1 - confidence) / (n + 1)) ** (1 / n)
    np.testing.assert_allclose(confidence_sequence(n, n, confidence=confidence)[:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(confidence_sequence(0, n, confidence=confidence)[:, 1], 1 - expected, rtol=1e-9)
    assert confidence_sequence(n, n)[:, 1].tolist() == [1, 1, 1]
    assert confidence_sequence(0, n)[:, 0].tolist() == [0, 0, 0]


@pytest.mark.parametrize(("k", "n"), [(1, 10**6), (10**6 - 1, 10**6), (499_999, 10**6), (3 * 10**8, 10**9)])
def test_many_trials_in_forty_digits(k, n):
    found = confidence_sequence(k, n)
    with mp.workdps(40):
        bound = mp.log(mp.mpf("0.05")) + mp.loggamma(k + 1) + mp.loggamma(n - k + 1) - mp.loggamma(n + 2)
        for limit, side in zip(found, (1, -1), strict=True):
            low, high = (mp.mpf(10) ** -30, mp.mpf(k) / n) if side == 1 else (mp.mpf(k) / n, 1 - mp.mpf(10) ** -30)
            for _ in range(120):
                middle = (low + high) / 2
                inside = k * mp.log(middle) + (n - k) * mp.log1p(-middle) > bound
                low, high = (low, middle) if inside == (side == 1) else (middle, high)
            assert abs(limit - float(middle)) < 1e-6 * (found[1] - found[0])


def missed_at_some_look(p, looks, limits):
    """Return the probability that the interval after one trial or another does not hold p.

    Runs of which every interval held it go on.
    """
    running, missed = np.ones(1), 0.0
    for n in range(1, looks + 1):
        running = np.convolve(running, [1 - p, p])
        lower, upper = limits(np.arange(n + 1), n)
        out = (p < lower) | (p > upper)
        missed += running[out].sum()
        running[out] = 0
    return missed


@pytest.mark.slow
@pytest.mark.parametrize("prior", [(1, 1), (0.5, 0.5), (20, 2)])
def test_all_looks_hold_the_rate_at_once(prior):
    levels = {0.95: 400, 0.5: 100}
    for confidence, looks in levels.items():
        tables = {n: confidence_sequence(np.arange(n + 1), n, confidence=confidence, prior=prior).T
                  for n in range(1, looks + 1)}  # fmt: skip
        for p in (0.01, 0.1, 0.3, 0.5, 0.7, 0.95, 0.999):
            assert missed_at_some_look(p, looks, lambda k, n, tables=tables: tables[n]) <= 1 - confidence
    # An interval for one look does not.
    wilson = missed_at_some_look(0.5, 400, lambda k, n: proportion(k, n).T)
    assert wilson > 0.3


def test_every_run_of_twelve_trials():
    # The same by writing down all 4,096 of them.
    p, runs = 0.3, np.array(list(product([0, 1], repeat=12)))
    limits = confidence_sequence(runs.cumsum(1), np.arange(1, 13), confidence=0.6)
    out = ((p < limits[..., 0]) | (p > limits[..., 1])).any(1)
    share = (p ** runs.sum(1) * (1 - p) ** (12 - runs.sum(1)))[out].sum()
    by_looks = missed_at_some_look(p, 12, lambda k, n: confidence_sequence(k, n, confidence=0.6).T)
    assert 0 < share <= 0.4
    assert share == pytest.approx(by_looks, abs=1e-12)


@pytest.mark.slow
@given(COUNTS, st.floats(0.01, 0.9999), WEIGHTS)
def test_limits_hold_the_observed_rate_and_are_mirrored(counts, confidence, prior):
    k, n = counts
    lower, upper = confidence_sequence(k, n, confidence=confidence, prior=prior)
    assert 0 <= lower <= k / n <= upper <= 1
    mirrored = confidence_sequence(n - k, n, confidence=confidence, prior=prior[::-1])
    assert [1 - upper, 1 - lower] == pytest.approx(mirrored, abs=1e-12)


@pytest.mark.slow
@given(COUNTS, st.floats(0.01, 0.99), WEIGHTS)
def test_rates_inside_are_those_whose_density_has_not_sunk_far(counts, confidence, prior):
    # The dual: p is inside while its posterior density is above the share α of its prior density.
    k, n = counts
    lower, upper = confidence_sequence(k, n, confidence=confidence, prior=prior)
    p = np.linspace(0.001, 0.999, 333)
    p = p[(np.abs(p - lower) > 1e-9) & (np.abs(p - upper) > 1e-9)]
    sunk = stats.beta(prior[0] + k, prior[1] + n - k).logpdf(p) - stats.beta(*prior).logpdf(p)
    np.testing.assert_array_equal((lower < p) & (p < upper), sunk > np.log1p(-confidence))


def test_without_trials_it_is_the_whole():
    assert confidence_sequence(0, 0).tolist() == [0, 1]
    assert confidence_sequence([0, 0], [0, 4], prior=(30, 0.1))[0].tolist() == [0, 1]


def test_a_root_below_all_numbers_is_0():
    # Nearly all successes, which the Beta gave hardly any probability.
    lower, upper = confidence_sequence(999_999, 1_000_000, prior=(1e-3, 1e3))
    assert 0 < lower < 0.999999 < upper == 1


def test_arrays_and_labels():
    looks = xr.DataArray([3, 9], {"model": ["a", "b"]}, ["model"])
    found = confidence_sequence(looks, xr.DataArray([10, 20, 30], dims="step"), confidence=0.9, prior=(2, 1))
    assert found.dims == ("model", "step", "ci_bound")
    assert found.attrs == {"confidence": 0.9, "prior": [2, 1]}
    alone = confidence_sequence(9, 20, confidence=0.9, prior=(2, 1))
    np.testing.assert_allclose(found.sel(model="b").isel(step=1), alone, rtol=1e-14)
    assert confidence_sequence([[1], [2]], [5, 6, 7]).shape == (2, 3, 2)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((5, 4), {}, "successes must not exceed trials; there are 5 of 4"),
        ((-1, 4), {}, "successes holds -1, which is negative"),
        ((1.5, 4), {}, "successes holds 1.5, which is fractional"),
        ((1, np.nan), {}, "trials holds nan, which is missing"),
        (([1, 2], [3, 4, 5]), {}, "successes, trials do not broadcast"),
        ((1, 4), {"confidence": 95}, "confidence must be a number between 0 and 1, both excluded; it is 95"),
        ((1, 4), {"prior": (0, 1)}, "prior must be greater than 0 and finite"),
        ((1, 4), {"prior": 1}, r"prior must be the two weights of a Beta, such as \(1, 1\); it is 1"),
    ],
)
def test_errors(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        confidence_sequence(*arguments, **options)
