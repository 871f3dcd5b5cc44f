"""Counts from estimators, cross-validation and predictions of several labels, as scikit-learn hands them over."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, multilabel_confusion_matrix
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import bayesperf as bp

CM = bp.ConfusionMatrix
X, NUMBERS = make_classification(240, n_classes=3, n_informative=5, flip_y=0.2, random_state=0)
Y = np.array(["cat", "dog", "eel"])[NUMBERS]
MANY_X, MANY_Y = make_multilabel_classification(80, n_features=8, n_classes=4, length=10, random_state=1)
MANY_PRED = MultiOutputClassifier(GaussianNB()).fit(MANY_X, MANY_Y).predict(MANY_X)
NAMES = ["a", "b", "c", "d"]


# ── Estimators ──


def test_a_pipeline_with_text_labels():
    train, test, of_train, of_test = train_test_split(X, Y, random_state=0)
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(train, of_train)
    cm = CM.from_estimator(fitted, test, of_test)
    assert cm.labels == ["cat", "dog", "eel"]
    np.testing.assert_array_equal(cm.counts, confusion_matrix(of_test, fitted.predict(test)))


def test_classes_that_the_test_set_lacks_are_among_the_labels():
    fitted = GaussianNB().fit(X, Y)
    cm = CM.from_estimator(fitted, X[Y == "dog"], Y[Y == "dog"])
    assert cm.labels == ["cat", "dog", "eel"]
    assert cm.total == (Y == "dog").sum()
    two = GaussianNB().fit(X[Y != "eel"], Y[Y != "eel"])
    assert CM.from_estimator(two, X, Y).labels == ["cat", "dog", "eel"]
    assert CM.from_estimator(two, X[Y == "dog"], Y[Y == "dog"], pos_label="dog").pos_label == "dog"


def test_leading_dims_and_labels_are_those_asked_for():
    cm = CM.from_estimator(GaussianNB().fit(X, Y), X, Y, labels=["eel", "dog", "cat"], by={"site": np.arange(240) % 2})
    assert cm.labels == ["eel", "dog", "cat"]
    assert cm.dims == ("site",)


def test_what_cannot_predict_is_refused():
    with pytest.raises(TypeError, match="estimator must be a fitted classifier, with predict; it is StandardScaler"):
        CM.from_estimator(StandardScaler(), X, Y)


# ── cross_val_predict ──


@pytest.mark.parametrize(
    "cv",
    [
        None,
        4,
        KFold(3),
        StratifiedKFold(3, shuffle=True, random_state=1),
        GroupKFold(4),
        [(np.arange(200), np.arange(200, 240)), (np.arange(200, 240), np.arange(200))],
    ],
)
def test_folds_of_cross_val_predict_are_those_of_a_cross_validation(cv):
    groups = np.arange(240) % 8 if isinstance(cv, GroupKFold) else None
    predicted = cross_val_predict(GaussianNB(), X, Y, cv=cv, groups=groups)
    cm = CM.from_cross_val_predict(Y, predicted, cv=cv, groups=groups)
    direct = CM.from_cross_validation(GaussianNB(), X, Y, cv=5 if cv is None else cv, groups=groups)
    np.testing.assert_array_equal(cm.counts, direct.counts)
    assert cm.dims == ("fold",)


def test_folds_that_are_drawn_anew_or_overlap_are_refused():
    with pytest.raises(
        ValueError, match=r"cv must make the folds of y_pred; it draws other folds each time.* random_state"
    ):
        CM.from_cross_val_predict(Y, Y, cv=KFold(3, shuffle=True))
    with pytest.raises(ValueError, match="cv must test each of the 240 examples once"):
        CM.from_cross_val_predict(Y, Y, cv=ShuffleSplit(3, random_state=0))


def test_probabilities_of_cross_val_predict_are_refused():
    chances = cross_val_predict(GaussianNB(), X, Y, method="predict_proba")
    with pytest.raises(ValueError, match=r"y_pred must be one-dimensional.*\(240, 3\)"):
        CM.from_cross_val_predict(Y, chances)


# ── Several labels an example ──


@pytest.mark.parametrize(
    "kind",
    [np.asarray, sparse.csr_array, lambda y: y.astype(bool), lambda y: y.astype(float),
     lambda y: pd.DataFrame(y, columns=NAMES), lambda y: pl.DataFrame(y, schema=NAMES)],
)  # fmt: skip
def test_several_labels_are_a_matrix_each(kind):
    cm = CM.from_predictions(kind(MANY_Y), kind(MANY_PRED), labels=NAMES)
    assert (cm.dims, cm.labels, cm.pos_label) == (("label",), [0, 1], 1)
    assert cm.counts["label"].values.tolist() == NAMES
    np.testing.assert_array_equal(cm.counts, multilabel_confusion_matrix(MANY_Y, MANY_PRED))


def test_labels_are_named_by_the_columns_in_their_order():
    frame = pd.DataFrame(MANY_Y, columns=NAMES[::-1])
    assert CM.from_predictions(frame, MANY_PRED).counts["label"].values.tolist() == NAMES[::-1]
    assert CM.from_predictions(MANY_Y, MANY_PRED).counts["label"].values.tolist() == [0, 1, 2, 3]


def test_several_labels_by_fold():
    fold = np.repeat(["x", "y"], 40)
    cm = CM.from_predictions(MANY_Y, MANY_PRED, by={"fold": fold})
    assert cm.dims == ("fold", "label")
    for name in "xy":
        at = fold == name
        np.testing.assert_array_equal(cm.sel(fold=name).counts, multilabel_confusion_matrix(MANY_Y[at], MANY_PRED[at]))
    assert cm.counts.attrs == {"same_examples": "label"}


def test_estimators_of_several_labels():
    tree = DecisionTreeClassifier(max_depth=2).fit(MANY_X, MANY_Y)
    cm = CM.from_estimator(tree, MANY_X, MANY_Y)
    np.testing.assert_array_equal(cm.counts, multilabel_confusion_matrix(MANY_Y, tree.predict(MANY_X)))
    folds = CM.from_cross_validation(tree, MANY_X, MANY_Y, cv=3)
    predicted = cross_val_predict(tree, MANY_X, MANY_Y, cv=3)
    assert folds.dims == ("fold", "label")
    np.testing.assert_array_equal(CM.from_cross_val_predict(MANY_Y, predicted, cv=3).total, folds.total)
