"""Systems tested on the same examples: what is counted, and what selection and sums leave of it."""

import datetime
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesperf as bp
from tests.shared.counts import pair_of
from tests.shared.joint import (
    ACTUAL,
    CM,
    FOLDS,
    FOLDS_ACTUAL,
    FOLDS_PREDICTED,
    NEW,
    OLD,
    TWO,
    judged,
    rows,
    systems_like,
)

quick = settings(max_examples=40, deadline=None, derandomize=True)


# ── Which rows are the same example ───────────────────────────────────────────────────────────────────────────────────


def test_outcomes_by_hand():
    cm = judged(ACTUAL, {"old": OLD, "new": NEW})
    patterns = cm.patterns
    assert (patterns.dim, patterns.names, patterns.labels, patterns.pos_label) == ("model", ("new", "old"), [0, 1], 1)
    found = zip(patterns.actual, *patterns.predicted.T, patterns.counts.values, strict=True)
    assert [tuple(map(int, row)) for row in found] == [(0, 1, 0, 1), (1, 0, 0, 1), (1, 1, 0, 1), (1, 1, 1, 1)]
    assert cm.counts.attrs == {"same_examples": "model"}
    xr.testing.assert_equal(patterns.margins(), cm.counts)


def test_counts_are_what_they_are_without_the_ids():
    rows = {"y_true": ACTUAL * 2, "y_pred": OLD + NEW, "by": {"model": ["old"] * 4 + ["new"] * 4}}
    plain, paired = CM.from_predictions(**rows), CM.from_predictions(**rows, example=[1, 2, 3, 4] * 2)
    xr.testing.assert_equal(plain.counts, paired.counts)
    assert plain.patterns is None
    assert "same_examples" not in plain.counts.attrs
    assert "same_examples" not in paired.total.attrs
    for metric in ("recall", "mcc"):
        first, second = (bp.posterior(cm)[metric].joint_draws(50) for cm in (plain, paired))
        np.testing.assert_array_equal(first.values, second.values)
    assert bp.posterior(paired).observed.attrs == {"same_examples": "model"}


def test_a_column_for_each_system_is_the_same_as_a_row_for_each():
    wide = CM.from_predictions(FOLDS_ACTUAL, FOLDS_PREDICTED, by={"fold": np.arange(90) % 3, "site": np.arange(90) % 2})
    xr.testing.assert_identical(wide.counts, FOLDS.counts)
    xr.testing.assert_identical(wide.patterns.counts, FOLDS.patterns.counts)
    np.testing.assert_array_equal(wide.patterns.predicted, FOLDS.patterns.predicted)
    assert wide.patterns.names == FOLDS.patterns.names


@pytest.mark.parametrize(
    ("predicted", "options", "words"),
    [
        ({"a": NEW}, {}, "y_pred: name two systems or more"),
        ({"a": NEW, "b": OLD}, {"example": [1, 2, 3, 4]}, "y_pred: .* no example: a row is one"),
        ({"a": NEW, "b": OLD[:3]}, {}, r"unequal length: y_true 4, y_pred\['a'\] 4, y_pred\['b'\] 3"),
        ({"a": NEW, "b": [1, None, 0, 0]}, {}, r"y_pred\['b'\] has 1 missing value"),
        ({"a": NEW, "b": OLD}, {"by": {"model": ACTUAL}}, "'model'"),
    ],
)
def test_columns_of_systems_that_cannot_be_counted(predicted, options, words):
    with pytest.raises(ValueError, match=words):
        CM.from_predictions(ACTUAL, predicted, **options)


IDS = {
    "ints": [7, 8, 9, 3],
    "floats": [0.5, 1.5, 2.5, 3.5],
    "strings": ["a", "b", "c", "d"],
    "tuples": [(1, "a"), (1, "b"), (2, "a"), (2, "b")],
    "dates": [datetime.date(2020, 1, day) for day in range(1, 5)],
    "mixed": [1, "1", (1,), None.__class__],
    "array": np.array(["2020", "2021", "2022", "2023"], "M8[Y]"),
    "pandas": pd.Series([1, 2, 3, 4], index=list("wxyz"), dtype="Int64"),
    "categorical": pd.Categorical(["d", "c", "b", "a"], categories=list("abcdef")),
    "polars": pl.Series(["a", "b", "c", "d"]),
    "pyarrow": pa.array([1, 2, 3, 4]),
    "range": range(4),
}


@pytest.mark.parametrize("ids", IDS)
def test_ids_may_be_of_any_hashable_kind(ids):
    twice = np.fromiter([*IDS[ids], *IDS[ids]], dtype=object, count=8)
    columns = [twice, twice.tolist()]
    columns += [pd.concat([IDS[ids]] * 2)] if isinstance(IDS[ids], pd.Series) else []
    for example in columns:
        cm = CM.from_predictions(ACTUAL * 2, OLD + NEW, by={"system": ["old"] * 4 + ["new"] * 4}, example=example)
        assert cm.patterns.dim == "system"
        xr.testing.assert_equal(cm.patterns.counts, judged(ACTUAL, {"old": OLD, "new": NEW}).patterns.counts)


def test_the_dim_of_the_systems_is_model_or_the_only_one():
    assert judged(ACTUAL, {"a": OLD, "b": NEW}, fold=[0, 0, 1, 1]).patterns.dim == "model"
    by_year = CM.from_predictions(ACTUAL * 2, OLD + NEW, by={"year": [1] * 4 + [2] * 4}, example=[*range(4)] * 2)
    assert by_year.patterns.dim == "year"
    assert by_year.patterns.names == (1, 2)


ROWS = st.lists(st.tuples(*[st.sampled_from("abc")] * 4, st.sampled_from([10, 20])), min_size=1, max_size=30)


@pytest.mark.slow
@quick
@given(rows=ROWS, seed=st.integers(0, 99))
def test_margins_of_outcomes_are_the_counts_in_any_order_of_the_rows(rows, seed):
    actual, *predicted, fold = zip(*rows, strict=True)
    named = dict(zip("xyz", predicted, strict=True))
    cm = judged(actual, named, labels=list("abc"), fold=fold)
    xr.testing.assert_equal(cm.patterns.margins().transpose(*cm.counts.dims), cm.counts)
    of_fold = cm.patterns.counts.sel(fold=fold[0]).values
    kinds = zip(cm.patterns.actual, *cm.patterns.predicted.T, of_fold, strict=True)
    expected = Counter(tuple("abc".index(v) for v in row[:4]) for row in rows if row[4] == fold[0])
    assert {tuple(map(int, kind)): int(count) for *kind, count in kinds if count} == expected
    shuffled = judged(actual, named, labels=list("abc"), fold=fold, seed=seed).patterns
    xr.testing.assert_identical(shuffled.counts, cm.patterns.counts)
    np.testing.assert_array_equal(shuffled.predicted, cm.patterns.predicted)


def test_two_systems_have_a_table_of_their_outcomes():
    rng = np.random.default_rng(0)
    actual, predicted = systems_like(rng, 60, 3, 2)
    expected = np.zeros((3, 3, 3), int)
    np.add.at(expected, (actual, *predicted.values()), 1)
    cm = judged(actual, predicted)
    found = cm.patterns.table()
    assert found.dims == ("actual", "predicted_a", "predicted_b")
    np.testing.assert_array_equal(found, expected)
    again = bp.ConfusionMatrix.from_joint_counts(expected, names=["s0", "s1"])
    xr.testing.assert_identical(again.counts, cm.counts)
    xr.testing.assert_identical(again.patterns.counts, cm.patterns.counts)
    np.testing.assert_array_equal(again.patterns.predicted, cm.patterns.predicted)


def test_a_table_has_the_leading_dims():
    folds = FOLDS.sel(model=["s2", "s0"])
    whole = folds.patterns.table()
    for fold in folds.counts["fold"].values:
        np.testing.assert_array_equal(whole.sel(fold=fold), folds.sel(fold=fold).patterns.table())


def test_joint_counts_of_three_systems_with_labels():
    table = np.random.default_rng(5).integers(0, 5, (2, 2, 2, 2))
    cm = bp.ConfusionMatrix.from_joint_counts(table, names=list("xyz"), labels=["no", "yes"], pos_label="yes")
    np.testing.assert_array_equal(cm.sel(model="y").counts, table.sum((1, 3)))
    assert (cm.pos_label, cm.patterns.pos_label, cm.labels) == ("yes", "yes", ["no", "yes"])
    assert cm.counts.attrs == {"same_examples": "model"}


@pytest.mark.parametrize(
    ("counts", "options", "words"),
    [
        (np.ones((2, 2, 2)), {"names": ["a"]}, "names must be different names of two systems or more"),
        (np.ones((2, 2, 2)), {"names": ["a", "a"]}, "names must be different names"),
        (np.ones((2, 2, 2)), {"names": "ab"}, "names must be different names"),
        (np.ones((2, 2, 3)), {"names": ["a", "b"]}, "must be square"),
        (np.full((2, 2, 2), 0.5), {"names": ["a", "b"]}, "counts"),
        (np.ones((2, 2, 2)), {"names": ["a", "b"], "labels": [0, 1, 2]}, "labels 3, counts 2"),
        (np.ones((2, 2, 2)), {"names": ["a", "b"], "pos_label": 7}, "pos_label"),
    ],
)
def test_joint_counts_that_are_none_are_refused(counts, options, words):
    with pytest.raises(ValueError, match=words):
        bp.ConfusionMatrix.from_joint_counts(counts, **options)


def test_memory_grows_with_what_occurred():
    rng = np.random.default_rng(1)
    actual, predicted = systems_like(rng, 2000, 10, 30)
    patterns = judged(actual, predicted).patterns
    assert len(patterns.actual) <= 2000
    assert patterns.counts.sum() == 2000


# ── What selection, sums and classes against the rest leave of it ─────────────────────────────────────────────────────

STILL_PAIRED = {
    "some systems": lambda cm: cm.sel(model=["s3", "s1"]),
    "a slice of systems": lambda cm: cm.isel(model=slice(1, 3)),
    "one system of a list": lambda cm: cm.sel(model=["s2"]),
    "a fold": lambda cm: cm.sel(fold=1),
    "folds": lambda cm: cm.isel(fold=[2, 0], site=slice(None)),
    "a fold of some systems": lambda cm: cm.sel(fold=2, model=["s0", "s1"]),
    "sum over folds": lambda cm: cm.sum("fold"),
    "sum over both": lambda cm: cm.sum(["site", "fold"]),
    "each class": lambda cm: cm.one_vs_rest(),
    "a class": lambda cm: cm.one_vs_rest().sel(label=1).sum("site").isel(model=[0, 2]),
}


@pytest.mark.parametrize("step", STILL_PAIRED)
def test_outcomes_go_along(step):
    cm = STILL_PAIRED[step](FOLDS)
    assert cm.counts.attrs["same_examples"] == "model"
    margins = cm.patterns.margins().transpose(*cm.counts.dims)
    xr.testing.assert_equal(margins, cm.counts)
    assert cm.patterns.pos_label == cm.pos_label
    rows = np.column_stack([cm.patterns.actual, cm.patterns.predicted])
    assert np.unique(rows, axis=0).tolist() == rows.tolist()


def test_outcomes_of_some_systems_are_those_of_these_alone():
    rng = np.random.default_rng(3)
    actual, predicted = systems_like(rng, 50, 2, 4)
    some = judged(actual, predicted).sel(model=["s2", "s0"]).patterns
    alone = pair_of(actual, predicted["s2"], predicted["s0"], names=("s2", "s0")).patterns
    xr.testing.assert_equal(some.counts, alone.counts)
    np.testing.assert_array_equal(some.predicted, alone.predicted)


def test_a_class_against_the_rest_is_counted_as_such():
    rng = np.random.default_rng(4)
    actual, predicted = systems_like(rng, 60, 3, 2)
    rest = judged(actual, predicted).one_vs_rest().sel(label=2).patterns
    pair = pair_of(actual == 2, *(called == 2 for called in predicted.values()))
    seen = rest.counts.values > 0
    np.testing.assert_array_equal(rest.counts.values[seen], pair.patterns.counts.values)
    np.testing.assert_array_equal(rest.predicted[seen], pair.patterns.predicted)


@pytest.mark.parametrize(
    "step",
    [
        lambda cm: cm.sel(model="s1"),
        lambda cm: cm.isel(model=0, fold=1),
        lambda cm: cm.sum("model"),
        lambda cm: cm.sum(["fold", "model"]),
        lambda cm: cm.isel(model=xr.DataArray([0, 1], dims="point"), fold=xr.DataArray([0, 1], dims="point")),
    ],
)
def test_one_system_is_no_longer_paired(step):
    cm = step(FOLDS)
    assert cm.patterns is None
    assert "same_examples" not in cm.counts.attrs


def test_systems_of_different_folds_are_not_paired():
    crossed = FOLDS.isel(model=[0, 1], fold=xr.DataArray([0, 1], dims="model"))
    assert crossed.patterns is None
    assert "same_examples" not in crossed.counts.attrs


def test_the_mark_alone_survives_what_keeps_its_dim():
    marked = CM(FOLDS.counts)
    assert marked.patterns is None
    assert marked.sum("fold").one_vs_rest().counts.attrs == {"same_examples": "model"}
    assert marked.sel(model="s0").counts.attrs == {}
    assert FOLDS.counts.attrs == {"same_examples": "model"}


def test_outcomes_cannot_be_changed_and_can_be_stored():
    for array in (FOLDS.patterns.counts.values, FOLDS.patterns.actual, FOLDS.patterns.predicted):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    again = pickle.loads(pickle.dumps(FOLDS))
    xr.testing.assert_identical(again.patterns.counts, FOLDS.patterns.counts)


# ── Bad input ─────────────────────────────────────────────────────────────────────────────────────────────────────────
FOUR = ["a", "b", "c", "d"]


BAD = {
    "no systems": (
        lambda: CM.from_predictions(ACTUAL, OLD, example=FOUR),
        ValueError,
        r"^example: name the systems .* by=\{'model': names\}",
    ),
    "which dim": (rows(FOUR * 2, system=TWO, fold=[1] * 8), ValueError, "example: which of the dims 'system', 'fold'"),
    "length": (rows(FOUR), ValueError, "unequal length: y_true 8, example 4"),
    "missing id": (rows([*FOUR, *FOUR[:3], None]), ValueError, r"example has 1 missing value \(first at position 7"),
    "missing number": (rows([1, 2, 3, np.nan] * 2), ValueError, "example has 2 missing values"),
    "unhashable": (rows([[1]] * 8), TypeError, "example: every id must be hashable .*list"),
    "no sequence": (rows(5), TypeError, "example must be a sequence"),
    "twice": (
        rows(["a", "b", "c", "a"] * 2),
        ValueError,
        r"example: 'a' occurs twice for model 'old' \(and 1 more such row\).*leave out example and count with cluster=",
    ),
    "not for one": (
        rows([*FOUR, "a", "b", "c", "e"]),
        ValueError,
        "tested on the same examples; missing are 'd' for model 'new', 'e' for model 'old'. Drop those",
    ),
    "not for many": (
        rows([*FOUR, *"efgh"]),
        ValueError,
        r"missing are 'a' for model 'new', 'b' for .*, 'c' for model 'new' \(and 5 more judgements\)",
    ),
    "other actual class": (
        rows(FOUR * 2, [*ACTUAL, 1, 0, 0, 0]),
        ValueError,
        r"y_true: example 'b' is 0 for model 'new' and 1 for model 'old' \(and 1 more such example\)\. Rows of one",
    ),
    "other fold": (
        rows(FOUR * 2, model=TWO, fold=["x", "y", "x", "y", "x", "y", "x", "x"]),
        ValueError,
        r"by\['fold'\]: example 'd' is 'x' for model 'new' and 'y' for model 'old'\. Rows",
    ),
    "dim pattern": (rows(FOUR * 2, model=TWO, pattern=[1] * 8), ValueError, "'pattern' .* rename that dim"),
    "a system not met": (
        rows(FOUR * 2, model=pd.Categorical(TWO, categories=["old", "new", "next"])),
        ValueError,
        r"missing are 'a' for model 'next', .* \(and 1 more judgement\)",
    ),
}


@pytest.mark.parametrize("mistake", BAD)
def test_rows_that_do_not_match_are_refused(mistake):
    call, error, message = BAD[mistake]
    with pytest.raises(error, match=message):
        call()
