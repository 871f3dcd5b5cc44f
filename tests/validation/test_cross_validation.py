"""Coverage of repeated cross-validation of a learner."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from validation.cross_validation import STUDY
from validation.study import run

pytestmark = pytest.mark.slow


def test_repeats_cover_as_one_does_and_not_as_new_examples():
    study = run(STUDY, 40, n=100, metrics=["accuracy"], draws=300, random_seed=2)
    covered = study["coverage"].sel(target="folds' models").squeeze()
    assert covered.sel(interval="repeats") > 0.88
    assert covered.sel(interval="as_new_examples") < 0.8
    width = study["width"].sel(target="folds' models").squeeze()
    repeats, one, as_new = (width.sel(interval=name).item() for name in ("repeats", "one_repeat", "as_new_examples"))
    assert repeats == pytest.approx(one, rel=0.1)
    assert as_new == pytest.approx(repeats / 5**0.5, rel=0.2)


def test_what_is_true_of_a_model_is_found_in_the_population():
    """A learner that always says no has the accuracy of the negatives' share, 0.6, in the data and in truth."""
    learner = DummyClassifier(strategy="constant", constant=0)
    study = run(STUDY, 3, n=40, estimator=learner, draws=200)
    assert (study["coverage"].sel(metric="accuracy") == 1).all()
    # Its recall is 0, below any interval.
    assert (study["lower_miss"].sel(metric="recall") == 1).all()
    assert study["coverage"].dims == ("interval", "target", "metric", "n")
    assert np.isfinite(study["width"]).all()
