"""Scores that the tests of several files look at."""

import numpy as np
import pytest

import bayesperf as bp

CURVES = (bp.roc_curve, bp.precision_recall_curve, bp.curves.det_curve)


def normal_scores(positives, negatives, separation=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [positives, negatives])
    order = rng.permutation(len(y))
    return y[order], rng.normal(separation * y)[order]


DATA = {
    "continuous": normal_scores(40, 60),
    "tied": (lambda y, s: (y, np.round(s)))(*normal_scores(40, 60, seed=1)),
    "constant": (np.array([0, 1, 1, 0, 1]), np.full(5, 0.3)),
    "separated": (np.array([1, 0, 1, 0]), np.array([3.0, 1.0, 2.0, 0.0])),
    "reversed": (np.array([1, 0, 1, 0]), np.array([0.0, 2.0, 1.0, 3.0])),
    "two": (np.array([0, 1]), np.array([0.2, 0.1])),
}
every_data = pytest.mark.parametrize("data", DATA.values(), ids=list(DATA))
