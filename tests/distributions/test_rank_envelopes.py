"""The rank envelope, against every rank tried in turn."""

import numpy as np
import pytest

from bayesperf.distributions.draws import rank_envelope


def outside(curves, lower, upper):
    return (~((curves >= lower) & (curves <= upper)).all(1)).sum()


@pytest.mark.parametrize("allowed", [0, 3, 20, 59])
@pytest.mark.parametrize("decimals", [10, 0])
def test_it_is_the_narrowest_that_leaves_no_more_outside(allowed, decimals):
    curves = np.random.default_rng(0).normal(size=(120, 5)).cumsum(1).round(decimals)
    ordered = np.sort(curves, axis=0)
    ranks = [r for r in range(60) if outside(curves, ordered[r], ordered[-1 - r]) <= allowed]
    expected = np.stack([ordered[max(ranks)], ordered[-1 - max(ranks)]], -1)
    np.testing.assert_array_equal(rank_envelope(curves, allowed), expected)


def test_ties_may_be_ranked_in_the_order_of_the_draws():
    curves = np.random.default_rng(1).normal(size=(500, 4)).cumsum(1)
    np.testing.assert_array_equal(rank_envelope(curves, 25), rank_envelope(curves, 25, ties="ordered"))
    tied = curves.round()
    inside, ordered = rank_envelope(tied, 25), rank_envelope(tied, 25, ties="ordered")
    assert (ordered[:, 0] <= inside[:, 0]).all()
    assert (ordered[:, 1] >= inside[:, 1]).all()
    assert (ordered != inside).any()
    assert outside(tied, *ordered.T) <= outside(tied, *inside.T) <= 25
