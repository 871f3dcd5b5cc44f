from importlib import resources

import numpy as np
import pandas as pd
import pytest

from bayesperf import datasets
from tests.datasets import make

COLUMNS = ["example", "fold", "model", "actual", "predicted", "score"]
# What each data set promises: examples, labels, models.
PROMISED = {
    "breast_cancer": (
        569,
        ["benign", "malignant"],
        ["logistic_regression", "naive_bayes", "decision_tree"],
    ),
    "digits": (1797, list(range(10)), ["logistic_regression", "nearest_neighbors"]),
}


@pytest.fixture(params=PROMISED)
def name(request):
    return request.param


@pytest.fixture
def frame(name):
    return datasets.load(name)


def test_names_are_those_shipped_and_made():
    assert datasets.names() == sorted([*PROMISED, "anaesthetists"])
    assert sorted(PROMISED) == sorted(make.DATASETS)


def test_anaesthetists_are_those_printed():
    """45 patients, seven answers each; the first observer's are three. Rows of patients 1, 2, 36 and 45 as printed."""
    frame = datasets.load("anaesthetists")
    assert frame.columns.tolist() == ["patient", "observer", "grade"]
    assert frame.groupby("patient")["observer"].apply(list).map(tuple).unique().tolist() == [(1, 1, 1, 2, 3, 4, 5)]
    grades = frame.groupby("patient")["grade"].apply(list)
    assert grades.index.tolist() == list(range(1, 46))
    assert grades[[1, 2, 36, 45]].tolist() == [[1] * 7, [3, 3, 3, 4, 3, 3, 4], [4, 3, 3, 4, 3, 4, 3], [2] * 7]


def test_shipped_files_are_small():
    folder = resources.files("bayesperf.datasets")
    sizes = [len(folder.joinpath(f"{name}.csv").read_bytes()) for name in datasets.names()]
    assert sum(sizes) < 500_000


def test_columns_labels_and_models(name, frame):
    examples, labels, models = PROMISED[name]
    assert frame.columns.tolist() == COLUMNS
    assert not frame.isna().any(axis=None)
    assert sorted(frame["actual"].unique().tolist()) == labels
    assert set(frame["predicted"]) <= set(labels)
    assert frame["model"].unique().tolist() == models
    assert len(frame) == examples * len(models)


def test_every_example_stands_once_under_each_model(name, frame):
    examples, _, _ = PROMISED[name]
    for _, rows in frame.groupby("model"):
        assert rows["example"].tolist() == list(range(examples))


def test_models_share_folds_and_actual_labels(frame):
    assert (frame.groupby("example")[["fold", "actual"]].nunique() == 1).all(axis=None)


def test_folds_are_ten_and_stratified(frame):
    once = frame.drop_duplicates("example")
    counts = pd.crosstab(once["fold"], once["actual"])
    assert counts.index.tolist() == list(range(10))
    # As even as whole examples allow: no class differs by more than one between two folds.
    assert (counts.max() - counts.min() <= 1).all()


def test_scores_are_probabilities_to_four_decimals(frame):
    assert frame["score"].between(0, 1).all()
    np.testing.assert_allclose(frame["score"], frame["score"].round(4), rtol=0, atol=1e-15)


def test_binary_prediction_is_positive_where_the_score_is_at_least_a_half():
    frame = datasets.load("breast_cancer")
    pd.testing.assert_series_equal(frame["score"] >= 0.5, frame["predicted"] == "malignant", check_names=False)


def test_score_of_the_predicted_digit_is_the_greatest_of_ten():
    assert (datasets.load("digits")["score"] >= 0.1).all()


def test_models_are_good_but_not_perfect(frame):
    accuracy = (frame["actual"] == frame["predicted"]).groupby(frame["model"]).mean()
    assert accuracy.between(0.9, 0.99).all()


# Both are made by the same function; twenty trainings on images of digits take long.
@pytest.mark.parametrize("name", ["breast_cancer", pytest.param("digits", marks=pytest.mark.slow)])
def test_make_reproduces_the_shipped_file(name):
    made, frame = make.DATASETS[name](), datasets.load(name)
    labels = [column for column in COLUMNS if column != "score"]
    pd.testing.assert_frame_equal(made[labels], frame[labels], check_dtype=False)
    np.testing.assert_allclose(made["score"], frame["score"], rtol=0, atol=1e-3)


@pytest.mark.parametrize("unknown", ["iris", "digits.csv", "../digits", "", None, ["digits"]])
def test_unknown_name_is_refused_with_the_known_ones(unknown):
    with pytest.raises(ValueError, match="name must be one of 'anaesthetists', 'breast_cancer', 'digits'; it is"):
        datasets.load(unknown)
