"""Coverage of the bands of ROC curves."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from statsmodels.stats.proportion import proportion_confint

from validation.bands import STUDY
from validation.study import run

pytestmark = pytest.mark.slow


def test_simultaneous_bands_hold_whole_curves():
    study = run(STUDY, 40, auc=[0.8, 0.95], n=50, draws=400)
    coverage = study["coverage"].sel(n=50, interval="bayesian_bootstrap")
    error = np.sqrt(0.95 * 0.05 / 40)
    assert (coverage.sel(kind="simultaneous") > 0.95 - 3 * error).all()
    # A pointwise band holds each point as often as it says, and the whole curve less often.
    assert (coverage.sel(kind="pointwise") < coverage.sel(kind="simultaneous")).all()
    assert study["coverage_at"].sel(kind="pointwise").mean().item() == pytest.approx(0.95, abs=3 * error)


def test_bands_hold_at_every_area_and_size():
    study = run(STUDY, 50)
    assert (study["coverage"].sel(kind="simultaneous") > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 50)).all()


def test_binormal_bands_hold_where_they_suppose_what_is():
    study = run(STUDY, 60, auc=0.8, n=100, methods=["bayesian_bootstrap", "binormal"], spread=1.4)
    coverage = study["coverage"].sel(kind="simultaneous", auc=0.8, n=100)
    assert (coverage > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 60)).all()
    widths = study["width"].sel(kind="simultaneous", auc=0.8, n=100).values
    assert widths[1] < 0.8 * widths[0]


def test_intervals_at_thresholds_make_a_band_through_the_corners_of_their_boxes():
    """Against a walk along the corners, with limits by statsmodels."""
    methods = {"wilson": "wilson", "clopper_pearson": "beta", "agresti_coull": "agresti_coull"}
    study = run(STUDY, 2, auc=0.8, n=9, methods=list(methods), low=0.2, high=0.8, prob=0.9, random_seed=3)
    mean, grid = np.sqrt(2) * ndtri(0.8), np.linspace(0.2, 0.8, 121)
    held = np.empty((len(methods), 2, 121), bool)
    for index in range(2):
        rng = np.random.default_rng([3, index])
        positive, negative = rng.normal(mean, 1, 9), rng.normal(0, 1, 9)
        thresholds = np.sort(np.r_[positive, negative, np.inf])[::-1]
        tp, fp = ((scores >= thresholds[:, None]).sum(-1) for scores in (positive, negative))
        for i, peer in enumerate(methods.values()):
            (low_recall, high_recall), (low_fpr, high_fpr) = (proportion_confint(k, 9, 0.1, peer) for k in (tp, fp))
            lower, upper = on_corners(high_fpr, low_recall, grid), on_corners(low_fpr, high_recall, grid)
            true = ndtr(mean + ndtri(grid))
            held[i, index] = (lower <= true) & (true <= upper)
    at = {"auc": 0, "n": 0, "kind": 0}
    np.testing.assert_array_equal(study["coverage_at"].isel(at), held.mean(1))
    np.testing.assert_array_equal(study["coverage"].isel(at), held.all(-1).mean(1))
    assert study["coverage"].sel(kind="simultaneous").isnull().all()
    assert study["coverage_at"].sel(kind="simultaneous").isnull().all()


def on_corners(x, y, grid):
    """Return the height of a rising path over a grid, level beyond its ends."""
    heights = np.empty(len(grid))
    for i, at in enumerate(grid):
        right = int((x <= at).sum())
        if right in (0, len(x)):
            heights[i] = y[max(right - 1, 0)]
        else:
            part = (at - x[right - 1]) / (x[right] - x[right - 1])
            heights[i] = y[right - 1] + part * (y[right] - y[right - 1])
    return heights
