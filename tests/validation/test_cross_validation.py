"""Coverage of repeated cross-validation of a learner."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from validation import cross_validation


@pytest.mark.slow
def test_repeats_cover_as_one_does_and_not_as_new_examples():
    study = cross_validation.cross_validation([100], ["accuracy"], simulations=40, draws=300, random_seed=2)
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
    study = cross_validation.cross_validation([40], ["accuracy", "recall"], estimator=learner, simulations=3, draws=200)
    assert (study["coverage"].sel(metric="accuracy") == 1).all()
    # Its recall is 0, below any interval.
    assert (study["lower_miss"].sel(metric="recall") == 1).all()
    assert study["coverage"].dims == ("interval", "target", "metric", "n")
    assert np.isfinite(study["width"]).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 10, "folds": 5}, "n: each of 5 folds needs an example of each class; it is 10"),
        ({"n": []}, "n and metrics must name one"),
        ({"repeats": 1}, "repeats must be a whole number of at least 2"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        cross_validation.cross_validation(**options)
