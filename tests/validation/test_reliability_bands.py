"""Coverage of the bands of reliability curves."""

import numpy as np
import pytest
from scipy import special

import bayesperf as bp
from validation import reliability_bands
from validation.reliability_bands import SYSTEMS


def test_figures_are_of_the_simulations_described():
    study = reliability_bands.reliability_bands(["overconfident"], [40], simulations=3, bins=4, prob=0.8, random_seed=4)
    held, shares, width = (np.empty((2, 3)) for _ in range(3))
    for index in range(3):
        rng = np.random.default_rng([4, index])
        p = special.expit(rng.normal(0, 3, 40))
        true = special.expit(0.4 * special.logit(p))
        y = rng.random(40) < true
        bins = bp.reliability_curve(y, p, method="bins", bins=4)
        means = [true[group].mean() for group in np.array_split(np.argsort(p), 4)]
        for i, (curve, truth) in enumerate([(bins, means), (bp.reliability_curve(y, p), np.sort(true))]):
            lower, upper = curve.band(0.8)["frequency"].values.T
            inside = (lower <= truth) & (truth <= upper)
            held[i, index], shares[i, index], width[i, index] = inside.all(), inside.mean(), (upper - lower).mean()
    found = study.sel(kind="simultaneous", system="overconfident", n=40)
    for name, values in {"coverage": held, "coverage_at": shares, "width": width}.items():
        np.testing.assert_allclose(found[name], values.mean(1), rtol=1e-12)
        np.testing.assert_allclose(found[f"{name}_mcse"], values.std(1) / np.sqrt(3), rtol=1e-9, atol=1e-15)
    assert study["coverage"].sel(interval="isotonic", kind="pointwise").isnull().all()


@pytest.mark.slow
def test_bands_hold_whole_curves():
    study = reliability_bands.reliability_bands(n=[100, 1000], simulations=100)
    coverage = study["coverage"].sel(kind="simultaneous")
    assert (coverage.sel(interval="isotonic") > 0.95 - 2 * np.sqrt(0.95 * 0.05 / 100)).all()
    assert (coverage.sel(interval="bins") > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 100)).all()


@pytest.mark.slow
def test_lines_hold_where_they_suppose_what_is():
    study = reliability_bands.reliability_bands(["calibrated", "overconfident"], [100], ["logistic"], simulations=150)
    assert (study["coverage"].sel(kind="simultaneous") > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 150)).all()


def test_only_the_systems_there_are():
    assert set(SYSTEMS) == {"calibrated", "skewed", "overconfident", "pure"}
    with pytest.raises(ValueError, match="systems must be one of 'calibrated'"):
        reliability_bands.reliability_bands(["perfect"])
