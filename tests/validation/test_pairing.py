"""Coverage and width of paired and independent comparisons."""

import numpy as np
import pytest

from validation.pairing import STUDY, outcome_probabilities
from validation.study import run

pytestmark = pytest.mark.slow


def test_outcome_probabilities_have_the_margins_and_the_correlation():
    shares = outcome_probabilities(np.array([-0.1, 0.0, 0.5]), 0.85, 0.8)
    right = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    np.testing.assert_allclose(shares.sum(-1), 1)
    np.testing.assert_allclose(shares @ right, [[0.85, 0.8]] * 3)
    covariance = shares @ right.prod(-1) - 0.85 * 0.8
    np.testing.assert_allclose(covariance / np.sqrt(0.85 * 0.15 * 0.8 * 0.2), [-0.1, 0.0, 0.5], atol=1e-12)


def test_paired_intervals_cover_and_are_narrower_where_errors_correlate():
    study = run(STUDY, 100, correlation=[0.8])
    paired, independent = (study.sel(analysis=name, correlation=0.8) for name in ("paired", "independent"))
    assert paired["coverage"].item() == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 100))
    assert independent["width"].item() > 1.5 * paired["width"].item()
    # The independent interval is so wide that it hardly ever misses.
    assert independent["coverage"].item() > 0.98


def test_coverage_is_within_a_point_and_a_half():
    study = run(STUDY, 2_000)
    np.testing.assert_allclose(study["coverage"].sel(analysis="paired"), 0.95, atol=0.015)
    ratio = study["width"].sel(analysis="independent") / study["width"].sel(analysis="paired")
    assert ratio.sel(correlation=0.8).item() > 1.5
