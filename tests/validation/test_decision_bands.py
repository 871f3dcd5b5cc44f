"""Coverage of the bands of decision curves."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm

from validation.decision_bands import STUDY, mean_logit, net_benefit
from validation.study import run

pytestmark = pytest.mark.slow


def test_bands_cover():
    study = run(STUDY, 40, prevalence=0.3, n=100, draws=1000, thresholds=[0.1, 0.3, 0.5, 0.7])
    coverage = study["coverage"].sel(prevalence=0.3, n=100)
    error = np.sqrt(0.95 * 0.05 / 40)
    assert coverage.sel(kind="simultaneous").item() > 0.95 - 3 * error
    assert coverage.sel(kind="pointwise") <= coverage.sel(kind="simultaneous")
    assert study["coverage_at"].sel(kind="pointwise").mean().item() == pytest.approx(0.95, abs=3 * error)


def test_bands_cover_at_every_size():
    study = run(STUDY, 40, prevalence=[0.02, 0.1, 0.3], draws=2000)
    error = np.sqrt(0.92 * 0.08 / 40)
    assert (study["coverage"].sel(kind="simultaneous") > 0.92 - 2.5 * error).all()
    assert (study["coverage_at"].sel(kind="pointwise").mean("threshold") > 0.93).all()


@pytest.mark.parametrize(("spread", "slope"), [(1.5, 1.0), (0.8, 2.0)])
def test_the_true_curve_by_integration(spread, slope):
    cuts = [0.05, 0.4, 0.8]
    found = net_benefit(0.2, spread, slope, np.array(cuts))
    mean = root_of_prevalence(0.2, spread)
    assert mean_logit(0.2, spread) == pytest.approx(mean, abs=1e-6)
    for t, value in zip(cuts, found, strict=True):
        start, odds = logit(t) / slope, t / (1 - t)
        worth, _ = quad(
            lambda x, odds=odds: (expit(x) - odds * (1 - expit(x))) * norm.pdf(x, mean, spread),
            start, mean + 12 * spread, epsabs=1e-10, limit=200,
        )  # fmt: skip
        assert value == pytest.approx(worth, abs=2e-4)


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
