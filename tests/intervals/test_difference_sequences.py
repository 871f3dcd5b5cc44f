"""Sequences of differences: exact probabilities that a difference is ever outside, and figures by hand."""

import numpy as np
import pytest
import xarray as xr

from bayesperf.core.errors import InputError
from bayesperf.intervals import confidence_sequence, difference_sequence, paired_sequence


def ever_outside_paired(only_a, only_b, looks, confidence):
    """Return the probability that the interval after one example or another does not hold the difference.

    The distribution over (only a, only b) so far is carried from example to example, without the runs that left.
    """
    running, left, true = np.zeros((looks + 2, looks + 2)), 0.0, only_a - only_b
    running[0, 0] = 1.0
    a, b = np.meshgrid(np.arange(looks + 2), np.arange(looks + 2), indexing="ij")
    for n in range(1, looks + 1):
        more = running * (1 - only_a - only_b)
        more[1:] += running[:-1] * only_a
        more[:, 1:] += running[:, :-1] * only_b
        there = a + b <= n
        limits = np.tile([-1.0, 1.0], (*a.shape, 1))
        limits[there] = paired_sequence(a[there], b[there], n, confidence=confidence)
        outside = (limits[..., 0] > true) | (limits[..., 1] < true)
        left += more[outside].sum()
        running = np.where(outside, 0, more)
    return left


def ever_outside_independent(rate_a, rate_b, looks, confidence):
    """Return the same for one example of each of two systems a look."""
    running, left, true = np.zeros((looks + 2, looks + 2)), 0.0, rate_a - rate_b
    running[0, 0] = 1.0
    a, b = np.meshgrid(np.arange(looks + 2), np.arange(looks + 2), indexing="ij")
    for n in range(1, looks + 1):
        first = running * (1 - rate_a)
        first[1:] += running[:-1] * rate_a
        more = first * (1 - rate_b)
        more[:, 1:] += first[:, :-1] * rate_b
        limits = difference_sequence(np.minimum(a, n), n, np.minimum(b, n), n, confidence=confidence)
        outside = (limits[..., 0] > true) | (limits[..., 1] < true)
        left += more[outside].sum()
        running = np.where(outside, 0, more)
    return left


@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.25, 0.05)])
def test_paired_sequences_hold_the_difference_at_all_looks(rates):
    left = ever_outside_paired(*rates, 60, 0.8)
    assert 0 < left <= 0.2


@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.9, 0.6)])
def test_independent_sequences_hold_the_difference_at_all_looks(rates):
    left = ever_outside_independent(*rates, 60, 0.8)
    assert 0 < left <= 0.2


def test_the_sign_is_decided_by_the_discordant_pairs_alone():
    """As McNemar's test: whether the interval is above 0 does not depend on the number of concordant pairs."""
    only_a, only_b = np.arange(5, 40), 4
    above = [paired_sequence(only_a, only_b, n)[:, 0] > 0 for n in (50, 5000)]
    by_share = confidence_sequence(only_a, only_a + only_b, confidence=0.975)[:, 0] > 0.5
    assert (above[0] == by_share).all()
    assert (above[1] == by_share).all()
    assert 0 < by_share.sum() < len(by_share)


def test_limits_are_those_of_both_parts():
    share = confidence_sequence(20, 100, confidence=0.95)
    won = 2 * confidence_sequence(15, 20, confidence=0.95) - 1
    low, high = paired_sequence(15, 5, 100, confidence=0.9)
    assert low == pytest.approx(min(share[0] * won[0], share[1] * won[0]))
    assert high == pytest.approx(share[1] * won[1])
    a, b = confidence_sequence([45, 30], 50, confidence=0.95)
    np.testing.assert_allclose(difference_sequence(45, 50, 30, 50, confidence=0.9), [a[0] - b[1], a[1] - b[0]])


def test_turning_the_systems_turns_the_interval():
    np.testing.assert_allclose(paired_sequence(9, 2, 30), -paired_sequence(2, 9, 30)[::-1])
    np.testing.assert_allclose(difference_sequence(9, 30, 2, 20), -difference_sequence(2, 20, 9, 30)[::-1])


def test_labels_are_kept():
    looks = xr.DataArray([10, 20], {"look": [1, 2]}, ["look"])
    assert paired_sequence(looks // 2, looks // 5, looks).dims == ("look", "ci_bound")
    assert difference_sequence(looks, looks, 0, looks).dims == ("look", "ci_bound")


def test_refused():
    with pytest.raises(InputError, match="only_a and only_b: together exceed the trials"):
        paired_sequence(6, 6, 10)
    with pytest.raises(InputError, match="only_b"):
        paired_sequence(1, -1, 10)
    with pytest.raises(InputError, match="successes_a"):
        difference_sequence(11, 10, 1, 10)
    with pytest.raises(InputError, match="confidence"):
        difference_sequence(1, 10, 1, 10, confidence=1)
