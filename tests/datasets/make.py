"""How the shipped predictions were made: ``python -m tests.datasets.make`` writes them anew.

Needs scikit-learn. Every example is predicted by models that were trained on the nine folds it is
not in.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

SEED = 0


def breast_cancer() -> pd.DataFrame:
    """Return predictions of malignant tumours; the score is the probability of ``"malignant"``."""
    source = load_breast_cancer()
    models = {
        "logistic_regression": _logistic_regression(),
        "naive_bayes": GaussianNB(),
        # Leaves of several examples give scores other than 0 and 1; of nine, none of exactly 1/2.
        "decision_tree": DecisionTreeClassifier(min_samples_leaf=9, random_state=SEED),
    }
    labels = source.target_names[source.target]
    return _out_of_fold(source.data, labels, models, positive="malignant")


def digits() -> pd.DataFrame:
    """Return predictions of handwritten digits; the score is that of the predicted digit."""
    features, labels = load_digits(return_X_y=True)
    models = {
        "logistic_regression": _logistic_regression(),
        "nearest_neighbors": KNeighborsClassifier(weights="distance"),
    }
    return _out_of_fold(features, labels, models)


DATASETS: dict[str, Callable[[], pd.DataFrame]] = {"breast_cancer": breast_cancer, "digits": digits}


def _logistic_regression() -> Any:
    # With the default solver and tolerance, scores depend by up to 0.25 on where the solver stops.
    return make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cg", tol=1e-8))


def _out_of_fold(
    features: NDArray[np.float64],
    labels: NDArray[Any],
    models: dict[str, Any],
    positive: str | None = None,
) -> pd.DataFrame:
    """Return a row for each example and model, in the columns that `bayesperf.datasets.load` describes.

    The score is the probability of the positive label, or else of the predicted one.
    """
    folds = StratifiedKFold(n_splits=10, shuffle=True, random_state=SEED)
    fold = np.empty(len(labels), dtype=int)
    for number, (_, held_out) in enumerate(folds.split(features, labels)):
        fold[held_out] = number
    classes = np.unique(labels)
    parts = []
    for name, model in models.items():
        probabilities = cross_val_predict(model, features, labels, cv=folds, method="predict_proba")
        score = probabilities.max(1) if positive is None else probabilities[:, classes == positive][:, 0]
        columns = {
            "example": np.arange(len(labels)),
            "fold": fold,
            "model": name,
            "actual": labels,
            "predicted": classes[probabilities.argmax(1)],
            "score": score.round(4),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


if __name__ == "__main__":
    for dataset, make in DATASETS.items():
        make().to_csv(files("bayesperf.datasets") / f"{dataset}.csv", index=False, lineterminator="\n")
