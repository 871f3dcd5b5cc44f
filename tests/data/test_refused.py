"""What confusion matrices refuse, and what they say of it."""

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from sklearn.naive_bayes import GaussianNB

import bayesperf as bp
from tests.shared.counts import CM, pair_of

DAY = datetime.date(2020, 1, 1)
GOOD = {"tp": 1, "fn": 2, "fp": 3, "tn": 4}
CUBE = np.ones((2, 2, 2), int)
MANY = np.arange(40_000)
HIDDEN = [False, True]


def predictions(y_true, y_pred=(0, 1), **options):
    return lambda: CM.from_predictions(y_true, y_pred, **options)


def counts(**cells):
    return lambda: CM.from_counts(**(GOOD | cells))


def of_table(values, **options):
    return lambda: CM.from_table(values, **options)


def of_frame(index, columns):
    return of_table(pd.DataFrame(1, index=index, columns=columns))


def scores(y_true, y_score, thresholds=0.5, **options):
    return lambda: CM.from_scores(y_true, y_score, thresholds=thresholds, **options)


def pairs(y_pred_a, y_pred_b, **options):
    return lambda: pair_of([0, 1], y_pred_a, y_pred_b, **options)


def validation(y):
    X = np.ones((len(y), 1))
    return lambda: CM.from_cross_validation(GaussianNB(), X, np.array(y), cv=2)


def folded(method, **indexers):
    return lambda: getattr(CM.from_table(CUBE, dims=["fold"]), method)(**indexers)


def series(values, dim="m", coords=None):
    return xr.DataArray(values, {dim: coords} if coords else None, [dim])


def labelled(actual, predicted, **options):
    coords = {"actual": actual, "predicted": predicted}
    return of_table(xr.DataArray([[1, 2], [3, 4]], coords, list(coords)), **options)


# A mistake: the call that makes it, and what its message says of the argument and the way out.
ONE = r"has 1 missing value \(first at position 1\)\. Drop those examples, or name"
VALUE_ERRORS = {
    # Missing labels
    "missing, list": (predictions([0, None]), f"y_true {ONE}"),
    "missing, float": (predictions([0, 1], [1, np.nan]), f"y_pred {ONE}"),
    "missing, array": (predictions(np.array([0, np.nan])), f"y_true {ONE}"),
    "missing, objects": (predictions(np.array(["a", None])), f"y_true {ONE}"),
    "missing, pd.NA": (predictions(["a", pd.NA]), f"y_true {ONE}"),
    "missing, str": (predictions(pd.Series(["a", None])), f"y_true {ONE}"),
    "missing, Int64": (predictions(pd.Series([1, None], dtype="Int64")), f"y_true {ONE}"),
    "missing, boolean": (predictions(pd.Series([1, None], dtype="boolean")), f"y_true {ONE}"),
    "missing, category": (predictions(pd.Series([1, None], dtype="category")), f"y_true {ONE}"),
    "missing, polars": (predictions(pl.Series([1, None])), f"y_true {ONE}"),
    "missing, pyarrow": (predictions(pa.array([1, None])), f"y_true {ONE}"),
    "missing, masked": (predictions(np.ma.array([0, 1], mask=HIDDEN)), f"y_true {ONE}"),
    "missing, all": (predictions([None] * 2), "y_true has 2 missing values"),
    "missing, key": (predictions([0, 1], by={"f": ["a", None]}), rf"by\['f'\] {ONE}"),
    "missing, labels": (predictions([0, 1], labels=[0, 1, None]), "labels has 1 missing"),
    # Lengths and shapes
    "unequal": (predictions([0, 1, 1]), "unequal length: y_true 3, y_pred 2"),
    "unequal key": (predictions([0, 1], by={"f": [0]}), "unequal length.*f 1"),
    "empty": (predictions([], []), "y_true is empty"),
    "multilabel": (predictions(np.eye(2, dtype=int)), r"y_true .*\(2, 2\).*several labels, both y_true and y_pred"),
    "multilabel, shapes": (predictions(np.eye(3), np.eye(2)), r"shapes are \(3, 3\) and \(2, 2\)"),
    "multilabel, scores": (predictions(np.eye(2), np.full((2, 2), 0.3)), "y_pred has several columns.*it holds 0.3"),
    "multilabel, missing": (predictions(np.full((2, 2), np.nan), np.eye(2)), "y_true has several columns.*holds nan"),
    "multilabel, names": (predictions(np.eye(2), np.eye(2), labels=["a", "b", "c"]), "labels: 3 given for 2 columns"),
    "multilabel, positive": (predictions(np.eye(2), np.eye(2), pos_label=1), "pos_label is for one label an example"),
    "multilabel, ids": (predictions(np.eye(2), np.eye(2), example=[1, 2]), "example is for one label an example"),
    "multilabel, by": (predictions(np.eye(2), np.eye(2), by={"fold": [1]}), "y_true 2, fold 1"),
    "multilabel, dim": (predictions(np.eye(2), np.eye(2), by={"label": [1, 2]}), "'label'"),
    "multilabel, empty": (predictions(np.ones((0, 2)), np.ones((0, 2))), "y_true is empty"),
    "multilabel, frames": (
        predictions(pd.DataFrame(np.eye(2), columns=["a", "b"]), pd.DataFrame(np.eye(2), columns=["b", "a"])),
        "y_true and y_pred differ in their columns: 'a', 'b', and 'b', 'a'",
    ),
    "one column": (predictions(pd.DataFrame({"y": [0, 1]})), "y_true must be one-dimensional"),
    # Labels
    "scores": (predictions([0, 1], [0.2, 0.7]), r"y_pred holds \[0.2\].*from_scores"),
    "infinite": (predictions([0, np.inf]), r"y_true holds \[inf\]"),
    "unsigned too great": (predictions(np.array([0, 2**63], np.uint64)), "y_true .*64"),
    "too great": (predictions([0, 2**70]), "y_true .*64"),
    "too great a float": (predictions([0, 2.0**60]), "y_true holds"),
    "one label only": (predictions([1, 1], [1, 1]), r"only one label .*\(1\).*`labels`"),
    "unknown label": (predictions([0, 2], labels=[0, 1]), "y_true holds 2.* Add .* to `labels`"),
    "labels twice": (predictions([0, 1], labels=[0, 1, 1]), "labels: every .* once"),
    "one of labels": (predictions([1, 1], [1, 1], labels=[1]), "labels: name at least two"),
    # The positive class
    "unknown positive": (predictions([0, 1], pos_label=7), r"pos_label: 7 .* labels \[0, 1\]"),
    "text as positive": (predictions([0, 1], pos_label="1"), r"pos_label: '1' .* \[0, 1\]"),
    "lists": (predictions([[0], [1, 2]]), "y_true is ragged"),
    "positive of three": (predictions([0, 2], pos_label=1), r"pos_label .* 3\. .*see one_vs_rest"),
    # Weights and leading dims
    "weights": (predictions([0, 1], sample_weight=[1, 2]), "sample_weight is not supported"),
    "dim chain": (predictions([0, 1], by={"chain": [0, 1]}), "'chain' .* rename that dim"),
    "dim draw": (predictions([0, 1], by={"draw": [0, 1]}), "'draw' .* rename that dim"),
    "dim x": (predictions([0, 1], by={"x": [0, 1]}), "'x' .* rename that dim"),
    "dim q": (predictions([0, 1], by={"q": [0, 1]}), "'q' .* rename that dim"),
    "dim ci_bound": (predictions([0, 1], by={"ci_bound": [0, 1]}), "'ci_bound' .* rename that dim"),
    "dim metric": (predictions([0, 1], by={"metric": [0, 1]}), "'metric' .* rename that dim"),
    "dim actual": (predictions([0, 1], by={"actual": [0, 1]}), "'actual'"),
    "dim predicted": (predictions([0, 1], by={"predicted": [0, 1]}), "'predicted'"),
    "too many groups": (predictions(MANY, MANY, by={"f": MANY}), "by: .* 40000 × 40000 × 40000"),
    # No argument is blamed that was not given.
    "too many classes": (predictions(MANY, MANY), "^(?!by).* 40000 × 40000"),
    "ids for labels": (
        predictions(MANY, MANY % 2),
        "y_true, y_pred: .* more than memory holds. 40,000 different labels",
    ),
    "many groups": (
        predictions([0, 1] * 2**15, [0, 1] * 2**15, by={name: np.arange(2**16) for name in "fg"}),
        "fewer gr",
    ),
    # Counts
    "negative": (counts(tp=-1), "tp holds -1, which is negative"),
    "fractional": (counts(fn=0.5), "fn holds 0.5, which is fractional: .* not shares"),
    "missing count": (counts(fp=np.nan), "fp holds nan, which is missing"),
    "masked count": (counts(fp=np.ma.array([1, 2], mask=HIDDEN)), "fp holds nan, which is missing"),
    "infinite count": (counts(tn=[1, np.inf]), "tn holds inf, which is .*infinite"),
    "too great a count": (counts(tp=2**63), "tp"),
    "no axes to name": (counts(dims=["fold"]), "dims: 1 names for 0 axes of tp, fn, fp and tn"),
    "too few names": (counts(tp=[[1, 2]], dims=["fold"]), r"dims: 1 names for 2 axes of .* shape is \(1, 2\)"),
    "coordinates of counts": (counts(tp=[1, 2], dims={"fold": [1]}), "dims: 1 coordinates of 'fold' for an axis of 2"),
    "reserved name": (counts(tp=[1, 2], dims=["actual"]), "dims: 'actual' is a name that results use"),
    "reserved column": (counts(tp=[1, 2], dims=["mode"]), "dims: 'mode' is a name that results use"),
    "reserved column of pool": (counts(tp=[1, 2], dims=["answer"]), "dims: 'answer' is a name that results use"),
    "sizes": (counts(tp=[1, 2], fn=[1, 2, 3]), "tp, fn, fp and tn do not broadcast"),
    "coordinates": (
        counts(tp=series([1, 2], coords=[0, 1]), fn=series([1, 2], coords=[1, 0])),
        "tp, fn, fp and tn do not broadcast.*'m'",
    ),
    "cells as dims": (counts(tp=series([1, 2], "actual")), "actual"),
    # Tables
    "not square": (of_table([[1, 2, 3], [4, 5, 6]]), r"table must be square.*\(2, 3\)"),
    "one-dimensional": (of_table([1, 2]), r"table must have shape \(..., K, K\), rows actual"),
    "ragged": (of_table([[1, 2], [3]]), "table"),
    "one class": (of_table([[1]]), "table must be square with at least two classes"),
    "no class": (of_table(np.ones((0, 0))), "table must be square with at least two classes"),
    "shares": (of_table([[0.9, 0.1], [0.2, 0.8]]), "counts holds 0.9, which is fractional"),
    "negative cell": (of_table([[1, 2], [3, -4]]), "counts holds -4, which is negative"),
    "missing cell": (of_table([[1, 2], [3, np.nan]]), "counts holds nan, which is missing"),
    "masked cell": (of_table(np.ma.array([[1, 2], [3, 4]], mask=[HIDDEN] * 2)), "missing"),
    "too few labels": (of_table(np.eye(3), labels=[0, 1]), "labels: 2 given for .* 3 classes"),
    "positive of K": (of_table(np.eye(3), pos_label=1), "pos_label is for two classes"),
    "too many dims": (of_table(CUBE, dims=["a", "b"]), "dims: 2 names for 1 leading axes"),
    "dim of cells": (of_table(CUBE, dims=["actual"]), "'actual'"),
    "dims twice": (of_table(CUBE[..., None] * [1, 1], dims=["a", "a"]), "'a'"),
    "coordinates of dims": (of_table(CUBE, dims={"fold": [1]}), "fold"),
    "coordinates twice": (of_table(CUBE, dims={"fold": [1, 1]}), "'fold' .* once"),
    "no coordinates": (of_table(CUBE[:0], dims=["fold"]), "'fold' must have coordinates"),
    "no dims": (lambda: CM([[1, 2], [3, 4]]), "counts must be a DataArray with dims actual"),
    "labels differ": (labelled([0, 1], [1, 0]), "labels of actual along predicted, in the same order"),
    "labels differ, named": (labelled([0, 1], [1, 0], labels=[0, 1]), "in the same order"),
    "frame differs": (of_frame([0, 1], [0, 2]), "table: the index .* the columns .* same"),
    "frame repeats": (of_frame([0, 0], [0, 0]), "table: the index .* the columns"),
    "frame is wide": (of_frame([0, 1], [0, 1, 1]), "table: the index .* the columns"),
    # Scores
    "three classes": (scores([0, 1, 2], [0, 0, 1]), "y_true must hold two classes.* 0, 1, 2"),
    "one class scored": (scores([1, 1], [0, 0]), "y_true must hold two classes; it holds 1"),
    "which is positive": (scores(["a", "b"], [0, 1]), "positive class.*`pos_label`"),
    "positive unknown": (scores([0, 1], [0, 1], pos_label=2), "pos_label: 2 .*labels"),
    "score missing": (scores([0, 1], [0, np.nan]), "y_score has 1 missing value.*Drop"),
    "score null": (scores([0, 1], pl.Series([0.5, None])), "y_score has 1 missing value"),
    "score masked": (scores([0, 1], np.ma.array([0.2, 0.7], mask=HIDDEN)), "y_score has 1 missing"),
    "scores unequal": (scores([0, 1], [0]), "unequal length: y_true 2, y_score 1"),
    "score matrix": (scores([0, 1], np.ones((2, 2))), r"y_score must be one-d.*\(2, 2\)"),
    "thresholds twice": (scores([0, 1], [0, 1], [1, 1]), "thresholds must all be different"),
    "threshold missing": (scores([0, 1], [0, 1], [1, np.nan]), "thresholds has 1 missing"),
    "no threshold": (scores([0, 1], [0, 1], []), "thresholds must be .*not empty"),
    "threshold matrix": (scores([0, 1], [0, 1], [[1]]), "thresholds must be one-dimensional"),
    # Leading dims
    "sum of no dim": (folded("sum", dim="model"), r"'model' .*they are \['fold'\]"),
    "sum of cells": (folded("sum", dim="actual"), "'actual' is not a leading dim"),
    "select no dim": (folded("sel", model=0), r"'model' .*they are \['fold'\]"),
    "select cells": (folded("sel", actual=0), "'actual' is not a leading dim"),
    "select cells by place": (folded("isel", predicted=0), "'predicted' is not a leading"),
    "label is taken": (lambda: CM.from_table(CUBE, dims=["label"]).one_vs_rest(), "label"),
    # Pairs
    "pair unequal": (pairs([0, 1], [0]), r"unequal length: .*y_pred\['b'\] 1"),
    "pair missing": (pairs([0, 1], [0, None]), rf"y_pred\['b'\] {ONE}"),
    # Cross-validation
    "missing class": (validation(["a", "b", "a", None]), "y has 1 missing value"),
}
TYPE_ERRORS = {
    "scalar string": (predictions("ab"), "y_true must be a sequence of labels.*it is str"),
    "scalar": (predictions(1), "y_true must be a sequence of labels.*it is int"),
    "generator": (predictions(i for i in (0, 1)), "y_true must be a sequence.*generator"),
    "list as positive": (predictions([0, 1], pos_label=[1]), "pos_label must be a single value"),
    "array as positive": (predictions([0, 1], pos_label=np.ones(2)), "pos_label must be a single value"),
    "dicts": (predictions([{}, {}]), "y_true holds.*not dict"),
    "tuples": (predictions([(0, 1), (1,)]), "y_true .*tuple.* all strings or all numbers"),
    "bytes": (predictions([b"a", b"b"]), "y_true .*bytes.* all strings or all numbers"),
    "mixed": (predictions([0, "a"]), "y_true .*numbers, strings.* must be all strings or all"),
    "mixed columns": (predictions(["a", "b"]), "y_true holds strings and y_pred holds numbers"),
    "mixed labels": (predictions([0, 1], labels=[0, "a"]), "labels holds .*numbers, strings"),
    "mixed pair": (pairs([0, 1], ["a", "b"]), r"y_pred\['b'\] holds strings and .* holds numbers"),
    "complex": (predictions(np.array([0, 1j])), "y_true holds complex128: labels must be"),
    "dates": (predictions([DAY, DAY]), "y_true holds .*date"),
    "datetimes": (predictions(np.array(["2020"], "M8[Y]"), [1]), "y_true holds datetime64"),
    "dates as keys": (predictions([0, 1], by={"f": [DAY, DAY]}), r"by\['f'\] holds .*date"),
    "number of labels": (predictions([0, 1], labels=2), "labels must be a sequence.* it is int"),
    "text as labels": (predictions(["a", "b"], labels="ab"), "labels must be a sequence.* is str"),
    "by a list": (predictions([0, 1], by=[0, 1]), "by"),
    "by a name": (predictions([0, 1], by="fold"), "by"),
    "by a number": (predictions([0, 1], by={1: [0, 1]}), "named by strings; 1 is int"),
    # A set has no order, and labels have one.
    "set of labels": (predictions([0, 1], labels={0, 1}), "labels must be a sequence.* it is set"),
    "text": (counts(tp="1"), "tp must hold whole numbers"),
    "none": (counts(tp=None), "tp must hold whole numbers"),
    "boolean": (counts(tp=True), "tp must hold whole numbers; it holds bool"),
    "text cells": (of_table([["a", "b"], ["c", "d"]]), "counts must hold whole numbers"),
    "text frame": (of_table(pd.DataFrame([["a", "b"]] * 2)), "counts must hold whole numbers"),
    "boolean cells": (of_table([[True, False]] * 2), "counts must hold whole numbers"),
    "boolean frame": (of_table(pd.DataFrame([[True, False]] * 2)), "must hold whole numbers"),
    "scores of text": (scores([0, 1], ["a", "b"]), "y_score must be numbers"),
    "threshold of text": (scores([0, 1], [0, 1], "a"), "thresholds must be numbers"),
}
BAD_INPUT = [
    pytest.param(call, error, message, id=mistake)
    for error, mistakes in {ValueError: VALUE_ERRORS, TypeError: TYPE_ERRORS}.items()
    for mistake, (call, message) in mistakes.items()
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_INPUT)
def test_bad_input_is_refused_in_words_of_our_own(call, error, message):
    with pytest.raises(error, match=message) as refusal:
        call()
    # Not from a package underneath, which does not know the argument.
    assert refusal.traceback[-1].path.is_relative_to(Path(bp.__file__).parent)


def test_averages_over_classes_of_several_labels_are_refused_with_what_is_meant():
    with pytest.raises(ValueError, match=r"'f1_macro' averages over classes.* average_labels\(y_true, y_pred, 'f1'\)"):
        bp.posterior(np.eye(2), np.eye(2))["f1_macro"]


def test_cross_validation_takes_a_positive_label():
    from sklearn.dummy import DummyClassifier

    y = np.array(["n", "y"] * 10)
    cm = CM.from_cross_validation(DummyClassifier(), np.zeros((20, 1)), y, cv=2, pos_label="y")
    assert cm.pos_label == "y"
    assert cm.dims == ("fold",)
