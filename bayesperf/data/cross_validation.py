"""Cross-validation: a classifier's predictions for the folds that it was not fitted on, and the folds themselves.

Repeated cross-validation tests each example once in each repeat. Its counts have a dim ``repeat`` besides ``fold``, and
a mark that says so; counts of random splits, which share examples by chance, have the mark at ``fold``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Codes
from bayesperf.core.errors import InputError
from bayesperf.core.words import plural
from bayesperf.data.axis_names import FOLD, REPEAT
from bayesperf.data.count_arrays import CELL_DIMS, repeated_dim


class HeldOutPredictions(NamedTuple):
    """Actual and predicted labels of the held-out examples, fold after fold."""

    # Labels, (n,).
    y_true: Any
    # Labels predicted by one system, or by several, (n,).
    y_pred: NDArray[Any] | dict[str, NDArray[Any]]
    # The position of each example, (n,).
    example: Codes
    # The fold of each, and the repeat if there are several.
    by: Mapping[str, Codes]
    # The dim along which examples are held out again.
    again: str | None


def held_out_predictions(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
    cv: Any,
    groups: Any,
    n_jobs: int | None,
) -> HeldOutPredictions:
    """Fit one scikit-learn classifier, or a mapping, on every fold's training part and predict the held-out part."""
    try:
        from sklearn.base import clone, is_classifier
        from sklearn.model_selection import check_cv
    except ImportError:
        raise ImportError("from_cross_validation needs scikit-learn: pip install scikit-learn") from None
    from joblib import Parallel, delayed

    systems = estimator if isinstance(estimator, Mapping) else {"": estimator}

    def predict(system: Any, train: Codes, test: Codes) -> Any:
        return clone(system).fit(take(X, train), take(y, train)).predict(take(X, test))

    classifier = all(map(is_classifier, systems.values()))
    splits = list(check_cv(cv, y, classifier=classifier).split(X, y, groups))
    fits = (delayed(predict)(system, *split) for system in systems.values() for split in splits)
    predictions = Parallel(n_jobs=n_jobs)(fits)
    each = range(0, len(predictions), len(splits))
    y_pred = {name: np.concatenate(predictions[i : i + len(splits)]) for name, i in zip(systems, each, strict=True)}
    tests = [np.asarray(test) for _, test in splits]
    by, again = _dims_of_folds(tests)
    example = np.concatenate(tests)
    predicted = y_pred if systems is estimator else y_pred[""]
    return HeldOutPredictions(take(y, example), predicted, example, by, again)


def _dims_of_folds(tests: Sequence[Codes]) -> tuple[dict[str, Codes], str | None]:
    """Return the fold of each held-out example, the repeat if there are several, and the dim along which they recur.

    There are r repeats if r runs of folds each hold out every example once.
    """
    fold = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
    examples, times = np.unique(np.concatenate(tests), return_counts=True)
    repeats = int(times.max())
    if repeats == 1:
        return {FOLD: fold}, None
    size, rest = divmod(len(tests), repeats)
    runs = [np.unique(np.concatenate(tests[i : i + size])) for i in range(0, len(tests), size)]
    if rest or times.min() < repeats or any(len(run) < len(examples) for run in runs):
        return {FOLD: fold}, FOLD
    return {REPEAT: fold // size, FOLD: fold % size}, REPEAT


def fold_of_each(y: Any, cv: Any, groups: Any) -> Codes:
    """Return the fold that tests each example, from the arguments of ``cross_val_predict``."""
    try:
        from sklearn.model_selection import check_cv
    except ImportError:
        raise ImportError("from_cross_val_predict needs scikit-learn: pip install scikit-learn") from None
    count = len(y) if not hasattr(y, "shape") else y.shape[0]
    splitter = check_cv(cv, y, classifier=True)
    folds, again = ([test for _, test in splitter.split(np.zeros((count, 1)), y, groups)] for _ in range(2))
    if not all(map(np.array_equal, folds, again)):
        raise InputError(
            "cv", "must make the folds of y_pred; it draws other folds each time.", "Give it a random_state."
        )
    tested = np.concatenate(folds)
    if not np.array_equal(np.sort(tested), np.arange(count)):
        raise InputError("cv", f"must test each of the {count} examples once; it tests {len(tested)}, or other ones.")
    fold = np.empty(count, dtype=np.intp)
    fold[tested] = np.repeat(np.arange(len(folds)), [len(test) for test in folds])
    return fold


# ── Counts of examples that were judged several times ─────────────────────────────────────────────────────────────────


def refuse_sum(counts: xr.DataArray, dims: Sequence[Hashable], name: str = "dim") -> None:
    """Refuse a sum over a dim along which examples are counted again."""
    again = repeated_dim(counts)
    if again is None or again not in dims:
        return
    size = counts.sizes[again]
    if again == REPEAT:
        raise InputError(
            name,
            f"each of {size} repeats is of the same examples, and together they count each example {size} times.",
            "Take bp.pool(cm), or of more than two classes bp.fit(cm, model='groups'), in which "
            f"it weighs 1/{size}; or one of them, cm.isel({REPEAT}=0).",
        )
    raise InputError(
        name,
        f"the {size} {plural(str(again))} share examples, as random splits do, and together they count an "
        "example as often as it was tested.",
        "Take bp.pool(cm, repeats=…), with their number times the fraction that each tests.",
    )


def folds_of_all_repeats(
    counts: xr.DataArray, dim: str, repeats: int | None, name: str = "repeats"
) -> tuple[xr.DataArray, int]:
    """Return counts with the folds of all repeats along one dim, and the number of repeats.

    A number of repeats is refused if it differs from the counts' own or does not divide the folds, or if it is missing
    although folds share examples.
    """
    again = repeated_dim(counts)
    if again == REPEAT and dim == FOLD:
        size = counts.sizes[REPEAT]
        if repeats is not None and repeats != size:
            raise InputError(
                name,
                f"the counts have {size} repeats along {REPEAT!r}; it is {repeats!r}.",
                "They are known: call without `repeats`.",
            )
        together = counts.drop_vars([REPEAT, FOLD]).stack(all=(REPEAT, FOLD), create_index=False).rename(all=FOLD)
        return together.assign_coords({FOLD: np.arange(together.sizes[FOLD])}).transpose(..., *CELL_DIMS), size
    if again == dim and (repeats is None or dim == REPEAT):
        refuse_sum(counts, [dim])
    repeats = checks.count(name, 1 if repeats is None else repeats)
    check_repeats(name, repeats, counts.sizes[dim], dim)
    return counts, repeats


def check_repeats(name: str, repeats: int, folds: int, dim: str) -> None:
    """Refuse a number of repeats that does not divide the number of folds."""
    if folds % repeats:
        raise InputError(
            name,
            f"{repeats} repeats have as many folds each, and dim {dim!r} has {folds}.",
            "Leave out an unfinished repeat.",
        )


def mean_of_repeats(counts: xr.DataArray) -> xr.DataArray:
    """Return the mean of counts over repeats, all folds together, as whole examples of each class.

    The examples of a class that remain after rounding down go to the cells that lost most.
    """
    mean = counts.sum([REPEAT, FOLD]).transpose(..., *CELL_DIMS) / counts.sizes[REPEAT]
    whole = np.floor(mean.values)
    left = np.rint(mean.values.sum(-1) - whole.sum(-1))
    rank = np.argsort(np.argsort(-(mean.values - whole), -1, kind="stable"), -1)
    return mean.copy(data=(whole + (rank < left[..., None])).astype(np.int64))


def take(values: Any, rows: Codes) -> Any:
    """Return some rows, by position, of an array, a data frame or series, or a list, as the same kind."""
    import narwhals as nw

    frame = nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.DataFrame | nw.Series):
        return frame[rows].to_native()
    return values[rows] if hasattr(values, "shape") else [values[row] for row in rows]
