"""Coverage of the bands of expected performance curves."""

import numpy as np
import pytest
from scipy import stats

from bayesperf.curves import epc
from validation import expected_performance

ROWS = ["posterior", "haldane", "bootstrap", "both_another", "both_mean"]


def check_coverage(study, prob=0.95):
    """Between 0.05 and 0.95 bands at given thresholds cover as often as they say, to 4 standard errors and 0.01."""
    error = np.sqrt(prob * (1 - prob) / study.attrs["simulations"])
    own = study["coverage"].sel(analysis=["posterior", "haldane", "bootstrap"])
    # At one n the values of α share their data: all are as far off as one.
    assert (np.abs(own.mean("alpha") - prob) < 4 * error + 0.01).all()
    assert (own > prob - 4 * error - 0.03).all()


@pytest.mark.slow
def test_bands_cover():
    check_coverage(expected_performance.expected_performance(50, alphas=[0.1, 0.5, 0.9], draws=300, simulations=60))


@pytest.mark.slow
def test_bands_cover_everywhere():
    study = expected_performance.expected_performance(draws=400, simulations=100)
    check_coverage(study)
    assert (study["whole_coverage"].sel(analysis="posterior") > 0.9).all()
    # Drawing the development set too widens bands, and more so where few examples decide.
    ratio = study["width"].sel(analysis="both_mean") / study["width"].sel(analysis="posterior")
    assert (ratio > 1).all()
    assert (ratio.sel(alpha=0.05) > ratio.sel(alpha=0.5)).all()


def test_figures_are_of_the_simulations_described():
    alphas, metric = [0.2, 0.7], "f1"
    settings = {"separation": 1.5, "criterion": "precision_recall"}
    study = expected_performance.expected_performance(
        [20, 40], **settings, metric=metric, alphas=alphas, draws=50, simulations=3, prob=0.8, random_seed=5
    )
    options = {"posterior": {"prior": "flat"}, "haldane": {"prior": "haldane"}, "bootstrap": {"method": "bootstrap"},
               "both": {"prior": "flat", "resample": "both"}}  # fmt: skip
    bands, whole, true = (np.empty((3, 2, *shape)) for shape in ((4, 2, 2), (4, 2, 2), (2,)))
    for index in range(3):
        rng = np.random.default_rng([5, index])
        for i, n in enumerate((20, 40)):
            y = np.repeat([0, 1], n)
            dev, test = ((y, rng.normal(1.5 * y)) for _ in range(2))
            seed = int(rng.integers(2**63))
            for j, own in enumerate(options.values()):
                curve = epc(dev, test, criterion="precision_recall", metric=metric, alphas=alphas, draws=50, **own,
                            random_seed=seed)  # fmt: skip
                bands[index, i, j], whole[index, i, j] = (
                    curve.band(0.8, kind)[metric] for kind in ("pointwise", "simultaneous")
                )
            cut = curve.dataset["threshold"].values
            recall, far = stats.norm.sf(cut, 1.5), stats.norm.sf(cut)
            true[index, i] = 2 * recall / (1 + recall + far)
    targets = [true, true, true, np.roll(true, 1, 0), np.broadcast_to(true.mean(0), true.shape)]
    assert study["analysis"].values.tolist() == ROWS
    for row, target in enumerate(targets):
        low, high = np.moveaxis(bands[:, :, min(row, 3)], -1, 0)
        covered = (low <= target) & (target <= high)
        at = study.isel(analysis=row)
        np.testing.assert_allclose(at["coverage"], covered.mean(0))
        np.testing.assert_allclose(at["coverage_mcse"], covered.std(0) / np.sqrt(3))
        np.testing.assert_allclose(at["width"], (high - low).mean(0))
        np.testing.assert_allclose(at["width_mcse"], (high - low).std(0) / np.sqrt(3))
        low, high = np.moveaxis(whole[:, :, min(row, 3)], -1, 0)
        inside = ((low <= target) & (target <= high)).all(-1)
        np.testing.assert_allclose(at["whole_coverage"], inside.mean(0))
        np.testing.assert_allclose(at["whole_coverage_mcse"], inside.std(0) / np.sqrt(3))
    np.testing.assert_allclose(study["mean"], true.mean(0))
    np.testing.assert_allclose(study["mean_mcse"], true.std(0) / np.sqrt(3))
    expected = {"n": [20, 40], **settings, "metric": "f1", "alphas": alphas, "draws": 50, "simulations": 3, "prob": 0.8}
    assert expected.items() <= study.attrs.items()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 1}, "n must be a whole number of at least 2"),
        ({"n": 20.5}, "n must be a whole number of at least 2"),
        ({"alphas": [0.5, 0.2]}, "alphas must ascend"),
        ({"criterion": "eer"}, "criterion must be one of"),
        ({"metric": "recall_per_class"}, "has a value a class"),
        ({"draws": 1}, "draws must be a whole number of at least 2"),
        ({"prob": 95}, "prob must be a number between 0 and 1"),
        ({"simulations": 0}, "simulations must be a whole number of at least 1"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        expected_performance.expected_performance(**options)
