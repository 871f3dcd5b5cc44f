"""Predictions made on the way to counts: by thresholds on a score, and by a classifier on the folds it did not see."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesperf.counts import tables
from bayesperf.counts.labels import encode, listed
from bayesperf.counts.tables import CELL_DIMS


def at_thresholds(y_true: Any, y_score: ArrayLike, thresholds: ArrayLike, pos_label: Any) -> xr.DataArray:
    """Return counts (threshold, actual, predicted) of calling positive what scores at least the threshold."""
    column = encode(y_true, "y_true")
    labels = column.labels.tolist()
    if len(labels) != 2:
        raise ValueError(f"y_true must hold two classes; it holds {listed(labels)}.")
    positive = tables.positive(labels, pos_label)
    if positive is None:
        raise ValueError(tables.ask_for_positive(labels))
    score = tables.numbers(y_score, "y_score")
    if len(score) != len(column.codes):
        raise ValueError(tables.unequal({"y_true": len(column.codes), "y_score": len(score)}))
    cuts = tables.numbers(thresholds, "thresholds")
    if len(np.unique(cuts)) != len(cuts):
        raise ValueError("thresholds must all be different.")
    counts = np.empty((len(cuts), 2, 2), dtype=np.int64)
    called = labels.index(positive)
    for actual in range(2):
        ordered = np.sort(score[column.codes == actual])
        counts[:, actual, 1 - called] = np.searchsorted(ordered, cuts, side="left")
        counts[:, actual, called] = len(ordered) - counts[:, actual, 1 - called]
    coords = {"threshold": cuts.tolist()} | dict.fromkeys(CELL_DIMS, column.labels)
    return xr.DataArray(counts, coords, ("threshold", *CELL_DIMS))


class HeldOut(NamedTuple):
    """What was predicted for the examples of every fold, fold after fold."""

    y_true: Any
    y_pred: NDArray[Any]
    fold: NDArray[np.intp]


def held_out(estimator: Any, X: Any, y: Any, cv: Any, groups: Any, n_jobs: int | None) -> HeldOut:  # noqa: N803
    """Fit a scikit-learn classifier on every fold's training part and predict the rest."""
    try:
        from sklearn.base import clone, is_classifier
        from sklearn.model_selection import check_cv
        from sklearn.utils import _safe_indexing as take
    except ImportError:
        raise ImportError("from_cross_validation needs scikit-learn: pip install scikit-learn") from None
    from joblib import Parallel, delayed

    def predict(train: NDArray[np.intp], test: NDArray[np.intp]) -> Any:
        return clone(estimator).fit(take(X, train), take(y, train)).predict(take(X, test))

    splits = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, groups))
    predictions = Parallel(n_jobs=n_jobs)(delayed(predict)(train, test) for train, test in splits)
    fold = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    return HeldOut(take(y, np.concatenate([test for _, test in splits])), np.concatenate(predictions), fold)
