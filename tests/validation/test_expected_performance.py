"""Coverage of the bands of expected performance curves."""

import numpy as np
import pytest

from validation.expected_performance import STUDY
from validation.study import run

pytestmark = pytest.mark.slow


def check_coverage(study, prob=0.95):
    """Between 0.05 and 0.95 bands at given thresholds cover as often as they say, to 4 standard errors and 0.01."""
    error = np.sqrt(prob * (1 - prob) / study.attrs["simulations"])
    own = study["coverage"].sel(analysis=["posterior", "haldane", "bootstrap"])
    # At one n the values of α share their data: all are as far off as one.
    assert (np.abs(own.mean("alpha") - prob) < 4 * error + 0.01).all()
    assert (own > prob - 4 * error - 0.03).all()


def test_bands_cover():
    check_coverage(run(STUDY, 60, n=50, alphas=[0.1, 0.5, 0.9], draws=300))


def test_bands_cover_everywhere():
    study = run(STUDY, 100, draws=400)
    check_coverage(study)
    assert (study["whole_coverage"].sel(analysis="posterior") > 0.9).all()
    # Drawing the development set too widens bands, and more so where few examples decide.
    ratio = study["width"].sel(analysis="both_mean") / study["width"].sel(analysis="posterior")
    assert (ratio > 1).all()
    assert (ratio.sel(alpha=0.05) > ratio.sel(alpha=0.5)).all()
