"""Answers are made of the values that columns had when they were given."""

import numpy as np

import bayesperf as bp


def test_folds_may_change_after_a_curve_is_made():
    y, fold, scores = np.tile([0, 1], 30), np.repeat([0, 1, 2], 20), np.random.default_rng(0).random(60)
    expected, curve = (bp.curves.epc(test=(y, scores), folds=ids, draws=200) for ids in (fold.copy(), fold))
    fold[:] = 0
    assert curve.summary().equals(expected.summary())
