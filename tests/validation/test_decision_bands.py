"""Coverage of the bands of decision curves."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm

import bayesperf as bp
from validation import decision_bands


def test_bands_cover():
    study = decision_bands.decision_bands([0.3], [100], simulations=40, draws=1000, thresholds=[0.1, 0.3, 0.5, 0.7])
    coverage = study["coverage"].sel(prevalence=0.3, n=100)
    error = np.sqrt(0.95 * 0.05 / 40)
    assert coverage.sel(kind="simultaneous").item() > 0.95 - 3 * error
    assert coverage.sel(kind="pointwise") <= coverage.sel(kind="simultaneous")
    assert study["coverage_at"].sel(kind="pointwise").mean().item() == pytest.approx(0.95, abs=3 * error)


@pytest.mark.slow
def test_bands_cover_at_every_size():
    study = decision_bands.decision_bands([0.02, 0.1, 0.3], [100, 1000], simulations=40, draws=2000)
    error = np.sqrt(0.92 * 0.08 / 40)
    assert (study["coverage"].sel(kind="simultaneous") > 0.92 - 2.5 * error).all()
    assert (study["coverage_at"].sel(kind="pointwise").mean("threshold") > 0.93).all()


@pytest.mark.parametrize(("spread", "slope"), [(1.5, 1.0), (0.8, 2.0)])
def test_the_true_curve_by_integration(spread, slope):
    cuts = [0.05, 0.4, 0.8]
    study = decision_bands.decision_bands(
        [0.2], [20], simulations=1, draws=10, spread=spread, slope=slope, thresholds=cuts
    )
    # The mean logit, by which a share of .2 is positive, from the curve at a threshold that calls everything.
    low = decision_bands.decision_bands(
        [0.2], [20], simulations=1, draws=10, spread=spread, slope=slope, thresholds=[1e-9]
    )
    assert low["net_benefit"].item() == pytest.approx(0.2, abs=1e-6)
    mean = root_of_prevalence(0.2, spread)
    for t in cuts:
        start, odds = logit(t) / slope, t / (1 - t)
        worth, _ = quad(
            lambda x, odds=odds: (expit(x) - odds * (1 - expit(x))) * norm.pdf(x, mean, spread),
            start, mean + 12 * spread, epsabs=1e-10, limit=200,
        )  # fmt: skip
        assert study["net_benefit"].sel(threshold=t).item() == pytest.approx(worth, abs=2e-4)


def root_of_prevalence(share, spread):
    """Return the mean logit of a prevalence, by bisection."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        found, _ = quad(
            lambda x, m=middle: expit(x) * norm.pdf(x, m, spread), middle - 12 * spread, middle + 12 * spread
        )
        low, high = (middle, high) if found < share else (low, middle)
    return low


def test_figures_are_of_the_simulations_described():
    cuts = [0.2, 0.5]
    options = {"spread": 1.2, "slope": 1.5, "thresholds": cuts, "prob": 0.8, "draws": 60, "random_seed": 4}
    study = decision_bands.decision_bands([0.4], [30], simulations=3, **options)
    mean, true = root_of_prevalence(0.4, 1.2), study["net_benefit"].values[0]
    held, width = np.empty((2, 3, 2), bool), np.empty((2, 3))
    for index in range(3):
        rng = np.random.default_rng([4, index])
        logits = rng.normal(mean, 1.2, 30)
        actual = rng.random(30) < expit(logits)
        curve = bp.decision_curve(actual, expit(1.5 * logits), thresholds=cuts, draws=60, random_seed=rng)
        for i, kind in enumerate(("pointwise", "simultaneous")):
            lower, upper = curve.band(0.8, kind)["net_benefit"].values.T
            held[i, index], width[i, index] = (lower <= true) & (true <= upper), (upper - lower).mean()
    at = {"prevalence": 0, "n": 0}
    np.testing.assert_allclose(study["coverage"].isel(at), held.all(-1).mean(1))
    np.testing.assert_allclose(study["coverage_at"].isel(at), held.mean(1))
    np.testing.assert_allclose(study["width"].isel(at), width.mean(1), rtol=1e-6)
    assert study["coverage_at"].dims == ("kind", "prevalence", "n", "threshold")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prevalence": 1}, "prevalence must be a number between 0 and 1"),
        ({"n": 1}, "n must be a whole number of at least 2"),
        ({"spread": 0}, "spread must be above 0"),
        ({"slope": -1}, "slope must be above 0"),
        ({"thresholds": [0]}, "thresholds must be between 0 and 1"),
        ({"prob": 1}, "prob must be a number between 0 and 1"),
        ({"simulations": 0}, "simulations must be a whole number of at least 1"),
        ({"draws": 1}, "draws must be a whole number of at least 2"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        decision_bands.decision_bands(**options)
