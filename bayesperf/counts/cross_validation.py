"""Cross-validation: predictions of a classifier for the folds that it was not fitted on, and which folds these are."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesperf.core.arrays import Codes


class HeldOutPredictions(NamedTuple):
    """Actual and predicted labels of the held-out examples, fold after fold, and the fold of each."""

    y_true: Any
    y_pred: NDArray[Any]
    fold: Codes


def held_out_predictions(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
    cv: Any,
    groups: Any,
    n_jobs: int | None,
) -> HeldOutPredictions:
    """Fit a scikit-learn classifier on every fold's training part and predict the held-out part."""
    try:
        from sklearn.base import clone, is_classifier
        from sklearn.model_selection import check_cv
    except ImportError:
        raise ImportError("from_cross_validation needs scikit-learn: pip install scikit-learn") from None
    from joblib import Parallel, delayed

    def predict(train: Codes, test: Codes) -> Any:
        return clone(estimator).fit(take(X, train), take(y, train)).predict(take(X, test))

    splits = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, groups))
    predictions = Parallel(n_jobs=n_jobs)(delayed(predict)(train, test) for train, test in splits)
    fold = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    y_true = take(y, np.concatenate([test for _, test in splits]))
    return HeldOutPredictions(y_true, np.concatenate(predictions), fold)


def fold_of_each(y: Any, cv: Any, groups: Any) -> Codes:
    """Return in which fold each example is tested, by what ``cross_val_predict`` was given.

    Raises
    ------
    ValueError
        If folds are drawn anew each time, or do not test each example once.
    """
    try:
        from sklearn.model_selection import check_cv
    except ImportError:
        raise ImportError("from_cross_val_predict needs scikit-learn: pip install scikit-learn") from None
    count = len(y) if not hasattr(y, "shape") else y.shape[0]
    splitter = check_cv(cv, y, classifier=True)
    folds, again = ([test for _, test in splitter.split(np.zeros((count, 1)), y, groups)] for _ in range(2))
    if not all(map(np.array_equal, folds, again)):
        raise ValueError("cv draws other folds each time, which are not those of y_pred. Give it a random_state.")
    tested = np.concatenate(folds)
    if not np.array_equal(np.sort(tested), np.arange(count)):
        raise ValueError(f"cv must test each of the {count} examples once; it tests {len(tested)}, or other ones.")
    fold = np.empty(count, dtype=np.intp)
    fold[tested] = np.repeat(np.arange(len(folds)), [len(test) for test in folds])
    return fold


def take(values: Any, rows: Codes) -> Any:
    """Return some rows, by position, of an array, a data frame or series, or a list, as the same kind."""
    frame = nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.DataFrame | nw.Series):
        return frame[rows].to_native()
    return values[rows] if hasattr(values, "shape") else [values[row] for row in rows]
