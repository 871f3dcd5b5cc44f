"""Scores of random labels against scikit-learn: every binary metric, of two classes and averaged over many."""

import numpy as np
import pytest
import sklearn.metrics as sk

import bayesperf as bp
from tests.shared.metrics import BINARY_NAMES

# ── Each metric by functions of scikit-learn, of labels 0 and 1 ──


def precision(y, p):
    return sk.precision_score(y, p)


def recall(y, p):
    return sk.recall_score(y, p)


def npv(y, p):
    return sk.precision_score(y, p, pos_label=0)


def specificity(y, p):
    return sk.recall_score(y, p, pos_label=0)


def fpr(y, p):
    return sk.roc_curve(y, p)[0][1]


def likelihood_ratios(y, p):
    return sk.class_likelihood_ratios(y, p)


PEERS = {
    "precision": precision,
    "recall": recall,
    "specificity": specificity,
    "npv": npv,
    "fpr": fpr,
    "fnr": lambda y, p: 1 - recall(y, p),
    "fdr": lambda y, p: 1 - precision(y, p),
    "false_omission_rate": lambda y, p: 1 - npv(y, p),
    "prevalence": lambda y, p: sk.accuracy_score(y, np.ones_like(y)),
    "selection_rate": lambda y, p: sk.accuracy_score(p, np.ones_like(p)),
    "jaccard": sk.jaccard_score,
    "f1": sk.f1_score,
    "f2": lambda y, p: sk.fbeta_score(y, p, beta=2),
    "f0.5": lambda y, p: sk.fbeta_score(y, p, beta=0.5),
    "fowlkes_mallows": lambda y, p: np.sqrt(precision(y, p) * recall(y, p)),
    "half_total_error_rate": lambda y, p: 1 - sk.balanced_accuracy_score(y, p),
    "informedness": lambda y, p: sk.balanced_accuracy_score(y, p, adjusted=True),
    "geometric_mean": lambda y, p: np.sqrt(recall(y, p) * specificity(y, p)),
    "positive_likelihood_ratio": lambda y, p: likelihood_ratios(y, p)[0],
    "negative_likelihood_ratio": lambda y, p: likelihood_ratios(y, p)[1],
    "diagnostic_odds_ratio": lambda y, p: np.divide(*likelihood_ratios(y, p)),
    "prevalence_threshold": lambda y, p: 1 / (1 + np.sqrt(recall(y, p) / fpr(y, p))),
    "markedness": lambda y, p: precision(y, p) + npv(y, p) - 1,
    "p4": lambda y, p: 4 / sum(1 / rate(y, p) for rate in (precision, recall, specificity, npv)),
}
CLASSES = np.array(["cat", "cow", "dog", "hen", "pig"])


def random_labels(seed, n, classes):
    """Return labels of unequal frequencies, and predictions that are right more often than not."""
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, n, p=rng.dirichlet(np.full(classes, 5)))
    return y, np.where(rng.random(n) < 0.6, y, rng.integers(classes, size=n))


def test_every_binary_metric_has_a_peer():
    assert set(PEERS) == set(BINARY_NAMES)


@pytest.mark.few
@pytest.mark.parametrize("name", PEERS)
def test_two_classes_of_any_name_and_order(name):
    for seed in range(3):
        y, p = random_labels(seed, 200, 2)
        # The positive class comes first.
        names = np.array(["sound", "ill"])
        cm = bp.ConfusionMatrix.from_predictions(names[y], names[p], pos_label="ill")
        assert bp.score(cm, name).item() == pytest.approx(PEERS[name](y, p), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", PEERS)
def test_averages_are_of_each_class_against_the_rest(name):
    y, p = random_labels(1, 400, 5)
    fold = np.arange(400) % 2
    cm = bp.ConfusionMatrix.from_predictions(CLASSES[y], CLASSES[p], by={"fold": fold})
    for i in (0, 1):
        of_fold = fold == i
        actual, predicted = (labels[of_fold, None] == np.arange(5) for labels in (y, p))
        each = [PEERS[name](*columns) for columns in zip(actual.T.astype(int), predicted.T.astype(int), strict=True)]
        expected = {
            "per_class": each,
            "macro": np.mean(each),
            "weighted": np.average(each, weights=actual.sum(0)),
            "micro": PEERS[name](actual.ravel().astype(int), predicted.ravel().astype(int)),
        }
        for average, value in expected.items():
            found = bp.score(cm.sel(fold=i), f"{name}_{average}")
            np.testing.assert_allclose(found, value, rtol=1e-12, err_msg=average)


def test_metrics_of_all_classes_at_once_and_named_in_any_order():
    y, p = random_labels(2, 300, 5)
    cm = bp.ConfusionMatrix.from_predictions(CLASSES[y], CLASSES[p], labels=["pig", "cat", "hen", "dog", "cow"])
    peers = {
        "accuracy": sk.accuracy_score,
        "balanced_accuracy": sk.balanced_accuracy_score,
        "matthews_corrcoef": sk.matthews_corrcoef,
        "cohen_kappa": sk.cohen_kappa_score,
    }
    for name, peer in peers.items():
        assert bp.score(cm, name).item() == pytest.approx(peer(y, p), rel=1e-12), name
