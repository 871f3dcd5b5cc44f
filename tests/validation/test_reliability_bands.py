"""Coverage of the bands of reliability curves."""

import numpy as np
import pytest

from validation.reliability_bands import STUDY
from validation.study import run

pytestmark = pytest.mark.slow


def test_bands_hold_whole_curves():
    study = run(STUDY, 100, n=[100, 1000])
    coverage = study["coverage"].sel(kind="simultaneous")
    assert (coverage.sel(interval="isotonic") > 0.95 - 2 * np.sqrt(0.95 * 0.05 / 100)).all()
    assert (coverage.sel(interval="bins") > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 100)).all()


def test_lines_hold_where_they_suppose_what_is():
    study = run(STUDY, 150, system=["calibrated", "overconfident"], n=100, methods=["logistic"])
    assert (study["coverage"].sel(kind="simultaneous") > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 150)).all()
