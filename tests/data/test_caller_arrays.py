"""Answers are made of the values that columns had when they were given."""

import numpy as np
import xarray as xr

import bayesperf as bp


def test_folds_may_change_after_a_curve_is_made():
    y, fold, scores = np.tile([0, 1], 30), np.repeat([0, 1, 2], 20), np.random.default_rng(0).random(60)
    expected, curve = (bp.curves.epc(test=(y, scores), folds=ids, draws=200) for ids in (fold.copy(), fold))
    fold[:] = 0
    assert curve.summary().equals(expected.summary())


def test_counts_may_change_after_a_matrix_is_made_of_them():
    own = np.array([[5, 1], [2, 4]])
    shown = own.view()
    shown.setflags(write=False)
    labels = {"actual": [0, 1], "predicted": [0, 1]}
    cm = bp.ConfusionMatrix(xr.DataArray(shown, labels, list(labels), name="counts"))
    own[:] = 0
    assert cm.total.item() == 12
