"""Requirements, and the scorer of scikit-learn that says how probably one is met."""

import pickle

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesperf as bp
from bayesperf.posteriors.requirement import Requirement

X, CODES = make_classification(200, flip_y=0.2, random_state=0)
Y = np.array(["no", "yes"])[CODES]
FOLDS = StratifiedKFold(4)


def test_a_requirement_is_read_with_or_without_the_bound_itself():
    assert Requirement.parse("recall > 0.8") == Requirement.parse("recall>=.8") == Requirement("recall", 0.8, True)
    assert Requirement.parse("fpr<0.1") == Requirement.parse("far <= 0.1") == Requirement("fpr", 0.1, False)


def test_the_score_of_a_fold_is_the_tail_of_its_beta():
    scores = cross_val_score(GaussianNB(), X, Y, cv=FOLDS, scoring=bp.metrics.scorer("recall >= 0.75", pos_label="yes"))
    expected = []
    for train, test in FOLDS.split(X, Y):
        predicted = GaussianNB().fit(X[train], Y[train]).predict(X[test])
        positives = Y[test] == "yes"
        found = (predicted[positives] == "yes").sum()
        expected.append(beta.sf(0.75, found + 0.5, positives.sum() - found + 0.5))
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


def test_it_is_below_a_bound_where_less_is_better():
    fitted = GaussianNB().fit(X, CODES)
    false, negatives = fitted.predict(X)[CODES == 0].sum(), (CODES == 0).sum()
    score = bp.metrics.scorer("fpr <= 0.2", prior="flat")(fitted, X, CODES)
    assert type(score) is float
    assert score == pytest.approx(beta.cdf(0.2, false + 1, negatives - false + 1), rel=1e-9)


def test_searches_choose_by_it_in_several_processes():
    scorer = bp.metrics.scorer("f1 > 0.7", pos_label="yes")
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    grid = {"logisticregression__C": [1e-6, 1.0]}
    search = GridSearchCV(pipeline, grid, scoring=scorer, cv=3, n_jobs=2, error_score="raise").fit(X, Y)
    assert search.best_params_ == {"logisticregression__C": 1.0}
    assert search.score(X, Y) == scorer(search, X, Y)
    assert clone(search).scoring.args == scorer.args
    several = {"recall": bp.metrics.scorer("recall >= 0.7", pos_label="yes"), "accuracy": "accuracy"}
    scored = cross_validate(pipeline, X, Y, scoring=several, cv=3)
    assert set(scored) >= {"test_recall", "test_accuracy"}


def test_it_can_be_pickled():
    scorer = bp.metrics.scorer("mcc >= 0.3", prior=bp.prior.dirichlet([[2, 1], [1, 2]]))
    fitted = GaussianNB().fit(X, CODES)
    assert pickle.loads(pickle.dumps(scorer))(fitted, X, CODES) == scorer(fitted, X, CODES)


@pytest.mark.slow
def test_of_many_classes():
    X, y = make_classification(150, n_classes=3, n_informative=4, random_state=2)
    scores = cross_val_score(
        GaussianNB(), X, y, cv=2, scoring=bp.metrics.scorer("f1_macro >= 0.6"), error_score="raise"
    )
    assert ((scores > 0) & (scores < 1)).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("recall 0.8",), ValueError, "requirement 'recall 0.8' is not of the form recall>=0.8"),
        (("recall <= 0.8",), ValueError, "greater is better: use >="),
        (("fpr > 0.8",), ValueError, "smaller is better: use <="),
        (("recall >= 80",), ValueError, "recall lies between 0 and 1"),
        ((0.8,), TypeError, "requirement must be text, as 'recall >= 0.8'; it is float"),
    ],
)
def test_what_cannot_be_scored_is_refused_at_once(arguments, error, message):
    with pytest.raises(error, match=message):
        bp.metrics.scorer(*arguments)


def test_a_prior_is_checked_at_once():
    with pytest.raises(ValueError, match="prior must be one of"):
        bp.metrics.scorer("recall >= 0.8", prior="jeffrey")


def test_several_labels_have_no_single_score():
    labels = np.column_stack([CODES, 1 - CODES])
    with pytest.raises(ValueError, match="a scorer has one value"):
        bp.metrics.scorer("recall >= 0.8")(LogisticLike(), X, labels)


class LogisticLike:
    def predict(self, X):
        return np.ones((len(X), 2), int)
