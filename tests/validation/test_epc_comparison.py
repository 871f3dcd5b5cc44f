"""False and true differences of models and of thresholds along expected performance curves."""

import numpy as np
import pytest

from validation.epc_comparison import STUDY
from validation.study import run

pytestmark = pytest.mark.slow


def test_models_that_are_alike_are_seldom_found_to_differ():
    """At most .06, to three standard errors, at each α and, by the simultaneous band, at any; thresholds often."""
    study = run(STUDY, 100, n=60, alphas=[0, 0.05, 0.5, 0.95, 1], draws=400)
    models, thresholds = (study.sel(question=of) for of in ("models", "thresholds"))
    most = 0.06 + 3 * np.sqrt(0.06 * 0.94 / 100)
    assert (models["claims"].sel(band="pointwise") < most).all()
    assert (models["any_claim"].sel(band="simultaneous") < most).all()
    assert (models["coverage"].sel(band="pointwise") > 1 - most).all()
    assert (thresholds["any_claim"] > 0.5).all()
