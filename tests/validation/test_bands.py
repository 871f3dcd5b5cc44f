"""Coverage of the bands of ROC curves."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from statsmodels.stats.proportion import proportion_confint

import bayesperf as bp
from validation import bands


def test_simultaneous_bands_hold_whole_curves():
    study = bands.bands([0.8, 0.95], [50], simulations=40, draws=400)
    coverage = study["coverage"].sel(n=50, interval="bayesian_bootstrap")
    error = np.sqrt(0.95 * 0.05 / 40)
    assert (coverage.sel(kind="simultaneous") > 0.95 - 3 * error).all()
    # A pointwise band holds each point as often as it says, and the whole curve less often.
    assert (coverage.sel(kind="pointwise") < coverage.sel(kind="simultaneous")).all()
    assert study["coverage_at"].sel(kind="pointwise").mean().item() == pytest.approx(0.95, abs=3 * error)


@pytest.mark.slow
def test_bands_hold_at_every_area_and_size():
    study = bands.bands((0.7, 0.8, 0.95), (50, 500), simulations=50)
    assert (study["coverage"].sel(kind="simultaneous") > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 50)).all()


@pytest.mark.slow
def test_binormal_bands_hold_where_they_suppose_what_is():
    study = bands.bands([0.8], [100], ["bayesian_bootstrap", "binormal"], simulations=60, spread=1.4)
    coverage = study["coverage"].sel(kind="simultaneous", auc=0.8, n=100)
    assert (coverage > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 60)).all()
    widths = study["width"].sel(kind="simultaneous", auc=0.8, n=100).values
    assert widths[1] < 0.8 * widths[0]


def test_figures_are_of_the_simulations_described():
    study = bands.bands([0.75], [12], simulations=3, low=0.2, high=0.6, spread=1.5, prob=0.8, draws=60, random_seed=4)
    mean = np.sqrt(1 + 1.5**2) * ndtri(0.75)
    grid = np.linspace(0.2, 0.6, 81)
    true = ndtr((mean + ndtri(grid)) / 1.5)
    # The area of these normal scores, to be sure of the mean.
    assert np.trapezoid(ndtr((mean + ndtri(np.linspace(0, 1, 20001)[1:-1])) / 1.5), dx=1 / 20000) == pytest.approx(
        0.75, abs=1e-3
    )
    held, width = np.empty((2, 3, 81), bool), np.empty((2, 3))
    for index in range(3):
        rng = np.random.default_rng([4, index])
        score = np.concatenate([np.sort(rng.normal(mean, 1.5, 12)), np.sort(rng.normal(0, 1, 12))])
        curve = bp.roc_curve(np.repeat([1, 0], 12), score, draws=60, random_seed=rng)
        for i, kind in enumerate(("pointwise", "simultaneous")):
            lower, upper = curve.band(0.8, kind)["recall"].values[40:121].T
            held[i, index], width[i, index] = (lower <= true) & (true <= upper), (upper - lower).mean()
    where = {"interval": 0, "auc": 0, "n": 0}
    np.testing.assert_allclose(study["coverage"].isel(where), held.all(-1).mean(1))
    np.testing.assert_allclose(study["coverage_mcse"].isel(where), held.all(-1).std(1) / np.sqrt(3))
    np.testing.assert_allclose(study["coverage_at"].isel(where), held.mean(1))
    np.testing.assert_allclose(study["width"].isel(where), width.mean(1), rtol=1e-12)
    np.testing.assert_allclose(study["width_mcse"].isel(where), width.std(1) / np.sqrt(3), rtol=1e-9)
    np.testing.assert_allclose(study["fpr"], grid)
    assert study["coverage"].dims == ("interval", "kind", "auc", "n")
    expected = {"auc": [0.75], "n": [12], "low": 0.2, "high": 0.6, "spread": 1.5, "prob": 0.8, "draws": 60,
                "simulations": 3, "random_seed": 4}  # fmt: skip
    assert expected.items() <= study.attrs.items()


def test_intervals_at_thresholds_make_a_band_through_the_corners_of_their_boxes():
    """Against a walk along the corners, with limits by statsmodels."""
    methods = {"wilson": "wilson", "clopper_pearson": "beta", "agresti_coull": "agresti_coull"}
    study = bands.bands([0.8], [9], list(methods), simulations=2, low=0.2, high=0.8, prob=0.9, random_seed=3)
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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"auc": 1}, "auc must be a number between 0 and 1"),
        ({"auc": []}, "auc must be one-dimensional and not empty"),
        ({"n": 1}, "n must be a whole number of at least 2"),
        ({"methods": ["wald"]}, "methods must be one of 'bayesian_bootstrap', 'binormal', 'beta', 'wilson'"),
        ({"spread": 0}, "spread must be above 0"),
        ({"low": 0.5, "high": 0.5}, "low and high must be false positive rates"),
        ({"low": -0.1}, "low and high must be false positive rates"),
        ({"prob": 1}, "prob must be a number between 0 and 1"),
        ({"simulations": 0}, "simulations must be a whole number of at least 1"),
        ({"draws": 1}, "draws must be a whole number of at least 2"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        bands.bands(**options)
