"""How data come in: every constructor against tables made by hand, brute force and scikit-learn."""

import datetime
from collections import Counter
from dataclasses import FrozenInstanceError
from itertools import product
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB

import bayesperf as bp

CM = bp.ConfusionMatrix
PairedCM = bp.PairedConfusionMatrix


def table(cm):
    return cm.counts.values.tolist()


def brute_force(*columns):
    """Count tuples of labels, one lookup a cell: columns come as (values, labels)."""
    count = Counter(zip(*(values for values, _ in columns), strict=True))
    cells = [count[key] for key in product(*(labels for _, labels in columns))]
    return np.reshape(cells, [len(labels) for _, labels in columns]).tolist()


# ── Kinds of columns ─────────────────────────────────────────────────────────────────────────

TRUE, PREDICTED = [0, 1, 1, 0, 1], [0, 1, 0, 1, 1]
COUNTED = [[1, 1], [1, 2]]
VALUES = {
    "ints": (0, 1),
    "minus and plus one": (-1, 1),
    "far apart": (0, 2**40),
    "bools": (False, True),
    "strings": ("no", "yes"),
}
COLUMNS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "object array": lambda values: np.array(values, dtype=object),
    "pandas": pd.Series,
    "pandas, index of its own": lambda values: pd.Series(values, index=range(10, 15)),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow in chunks": lambda values: pa.chunked_array([values[:2], values[2:]]),
    "unmasked masked array": np.ma.array,
}
INFERRED = {"ints": 1, "minus and plus one": 1, "far apart": None, "bools": True, "strings": None}
DTYPES = {
    "int8": ("ints", lambda values: np.array(values, dtype=np.int8)),
    "uint8": ("ints", lambda values: np.array(values, dtype=np.uint8)),
    "uint64": ("ints", lambda values: np.array(values, dtype=np.uint64)),
    "whole floats": ("ints", lambda values: np.array(values, dtype=float)),
    "list of whole floats": ("ints", lambda values: [float(value) for value in values]),
    "pandas Int64": ("ints", lambda values: pd.Series(values, dtype="Int64")),
    "pandas int64[pyarrow]": ("ints", lambda values: pd.Series(values, dtype="int64[pyarrow]")),
    "pandas boolean": ("bools", lambda values: pd.Series(values, dtype="boolean")),
    "pandas object": ("strings", lambda values: pd.Series(values, dtype=object)),
    "pandas string": ("strings", lambda values: pd.Series(values, dtype="string")),
    "NumPy's StringDType": (
        "strings",
        lambda values: np.array(values, dtype=np.dtypes.StringDType()),
    ),
    "polars Categorical": ("strings", lambda values: pl.Series(values, dtype=pl.Categorical)),
    "pyarrow dictionary": ("strings", lambda values: pa.array(values).dictionary_encode()),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("kind", VALUES)
def test_any_column_of_any_kind_gives_the_same_counts(kind, column):
    y_true, y_pred = ([VALUES[kind][code] for code in codes] for codes in (TRUE, PREDICTED))
    cm = CM.from_predictions(COLUMNS[column](y_true), y_pred)
    assert table(cm) == COUNTED
    assert cm.labels == list(VALUES[kind])
    assert [type(label) for label in cm.labels] == [type(label) for label in VALUES[kind]]
    assert cm.pos_label == INFERRED[kind]
    assert cm.counts.dtype == np.int64
    assert cm.counts.dims == ("actual", "predicted")


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_dtype_gives_the_same_counts(dtype):
    kind, column = DTYPES[dtype]
    y_true, y_pred = ([VALUES[kind][code] for code in codes] for codes in (TRUE, PREDICTED))
    for cm in (
        CM.from_predictions(column(y_true), y_pred),
        CM.from_predictions(y_true, column(y_pred)),
    ):
        assert table(cm) == COUNTED
        assert cm.labels == list(VALUES[kind])


@pytest.mark.parametrize("mixed", [[False, True, True, False, True], [0, True, 1, False, 1.0]])
@pytest.mark.parametrize("column", [list, lambda values: np.array(values, dtype=object)])
def test_booleans_count_as_the_numbers_they_equal(mixed, column):
    for cm in (
        CM.from_predictions(column(mixed), PREDICTED),
        CM.from_predictions(TRUE, [bool(value) for value in PREDICTED]),
    ):
        assert table(cm) == COUNTED
        assert cm.labels == [0, 1]
        assert cm.pos_label == 1


def test_rare_strings_late_in_a_long_column_are_counted():
    y_true = np.array(["b"] * 20_000 + ["a", "bb", "c"])
    cm = CM.from_predictions(y_true, np.repeat("b", len(y_true)))
    assert cm.labels == ["a", "b", "bb", "c"]
    assert cm.counts.sel(predicted="b").values.tolist() == [1, 20_000, 1, 1]


def test_labels_are_sorted_and_numbers_sort_as_numbers():
    assert CM.from_predictions([10, 9, 2], [9, 9, 2]).labels == [2, 9, 10]
    assert CM.from_predictions(["10", "9", "2"], ["9", "9", "2"]).labels == ["10", "2", "9"]


def test_a_label_that_appears_only_in_predictions_has_an_empty_row():
    cm = CM.from_predictions(["a", "b", "b"], ["a", "b", "z"])
    assert cm.labels == ["a", "b", "z"]
    assert table(cm) == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]


DECLARED = ["low", "mid", "high", "top"]
CATEGORICALS = {
    "pandas categorical": lambda values: pd.Categorical(values, DECLARED),
    "pandas series": lambda values: pd.Series(pd.Categorical(values, DECLARED)),
    "pandas index": lambda values: pd.CategoricalIndex(values, DECLARED),
    "polars Enum": lambda values: pl.Series(values, dtype=pl.Enum(DECLARED)),
}


@pytest.mark.parametrize("column", CATEGORICALS)
def test_a_categorical_declares_the_labels_and_their_order(column):
    y_true = CATEGORICALS[column](["mid", "high", "low", "low"])
    cm = CM.from_predictions(y_true, ["low", "high", "low", "mid"])
    assert cm.labels == DECLARED
    assert table(cm) == [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_what_one_categorical_does_not_declare_comes_after():
    one = pd.Categorical(["b", "a"], ["b", "a"])
    other = pd.Categorical(["b", "d"], ["d", "b", "c"])
    assert CM.from_predictions(one, other).labels == ["b", "a", "d", "c"]
    assert CM.from_predictions(one, ["c", "B"]).labels == ["b", "a", "B", "c"]


def test_a_categorical_of_numbers_keeps_its_order():
    cm = CM.from_predictions(pd.Categorical([2, 1], [3, 2, 1]), [1, 1])
    assert cm.labels == [3, 2, 1]
    assert table(cm) == [[0, 0, 0], [0, 0, 1], [0, 0, 1]]


@pytest.mark.parametrize("column", [list, tuple, np.array, pd.Index, pd.Categorical, iter])
def test_labels_named_by_the_caller_decide(column):
    cm = CM.from_predictions(["a", "b"], ["b", "b"], labels=column(["c", "b", "a"]))
    assert cm.labels == ["c", "b", "a"]
    assert table(cm) == [[0, 0, 0], [0, 1, 0], [0, 1, 0]]


def test_labels_may_name_what_never_occurs_and_leave_out_what_never_does():
    assert table(CM.from_predictions([1, 1], [1, 1], labels=[0, 1])) == [[0, 0], [0, 2]]
    declared = pd.Categorical(["b", "a"], ["c", "a", "b"])
    assert table(CM.from_predictions(declared, ["b", "b"], labels=["a", "b"])) == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("labels", "named", "expected"),
    [
        ([0, 1], None, 1),
        ([-1, 1], None, 1),
        ([False, True], None, True),
        ([0, 2], None, None),
        ([1, 2], None, None),
        (["no", "yes"], None, None),
        ([0, 1, 2], None, None),
        ([0, 1], 0, 0),
        ([-1, 1], np.int64(-1), -1),
        (["no", "yes"], "no", "no"),
    ],
)
def test_the_positive_class_is_named_or_implied(labels, named, expected):
    size = len(labels)
    cm = CM.from_table(np.ones((size, size), int), labels=labels, pos_label=named)
    assert cm.pos_label == expected
    assert type(cm.pos_label) is type(expected)


# ── Leading dims ─────────────────────────────────────────────────────────────────────────────


def test_by_adds_dims_in_their_order_and_zeros_for_what_never_occurs():
    by = {"model": ["x", "x", "y"], "fold": [2, 1, 2]}
    cm = CM.from_predictions([0, 1, 1], [0, 0, 1], by=by)
    assert cm.dims == ("model", "fold")
    assert cm.counts.dims == ("model", "fold", "actual", "predicted")
    assert table(cm.sel(model="x", fold=1)) == [[0, 0], [1, 0]]
    assert table(cm.sel(model="x", fold=2)) == [[1, 0], [0, 0]]
    assert table(cm.sel(model="y", fold=1)) == [[0, 0], [0, 0]]
    assert table(cm.sel(model="y", fold=2)) == [[0, 0], [0, 1]]
    assert cm.total.to_dict()["data"] == [[1, 1], [0, 1]]


@pytest.mark.parametrize(
    ("keys", "coordinate"),
    [
        (["b", "a"], ["a", "b"]),
        ([3, 1], [1, 3]),
        ([0.5, 0.25], [0.25, 0.5]),
        ([True, False], [False, True]),
        (pd.Categorical(["y", "x"], ["z", "y", "x"]), ["z", "y", "x"]),
        (pl.Series(["b", "a"]), ["a", "b"]),
    ],
)
def test_keys_of_many_kinds_become_coordinates(keys, coordinate):
    cm = CM.from_predictions([0, 1], [0, 1], by={"site": keys})
    assert cm.counts["site"].values.tolist() == coordinate
    expected = [1 if key in list(keys) else 0 for key in coordinate]
    assert cm.total.values.tolist() == expected


def test_folds_may_have_labels_of_their_own():
    cm = CM.from_predictions(["a", "b", "c"], ["a", "b", "c"], by={"fold": [0, 0, 1]})
    assert table(cm.sel(fold=1)) == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]


@pytest.fixture
def folds():
    return CM.from_table(np.arange(27).reshape(3, 3, 3), dims={"fold": ["a", "b", "c"]})


def test_total_counts_examples_over_leading_dims(folds):
    assert folds.total.dims == ("fold",)
    assert folds.total.values.tolist() == [36, 117, 198]
    assert CM.from_counts(tp=1, fn=2, fp=3, tn=4).total.item() == 10


@pytest.mark.parametrize("dim", ["fold", ["fold"], ("fold",)])
def test_sum_pools_leading_dims(folds, dim):
    assert table(folds.sum(dim)) == [[27, 30, 33], [36, 39, 42], [45, 48, 51]]


def test_sum_over_one_of_two_dims_and_over_both():
    cm = CM.from_table(np.arange(24).reshape(2, 3, 2, 2), dims=["model", "fold"])
    assert cm.sum("model").dims == ("fold",)
    assert table(cm.sum("fold")) == [[[12, 15], [18, 21]], [[48, 51], [54, 57]]]
    assert table(cm.sum(["model", "fold"])) == [[60, 66], [72, 78]]


def test_sum_keeps_small_integers_from_overflowing():
    cm = CM.from_table(np.full((2, 2, 2), 200, dtype=np.uint8))
    assert table(cm.sum("dim_0")) == [[400, 400], [400, 400]]


def test_selection_by_label_and_by_position(folds):
    middle = [[9, 10, 11], [12, 13, 14], [15, 16, 17]]
    assert table(folds.sel(fold="b")) == table(folds.isel(fold=1)) == middle
    assert folds.sel(fold="b").dims == ()
    assert folds.sel(fold=["c", "b"]).counts["fold"].values.tolist() == ["c", "b"]
    assert table(folds.isel(fold=[-1, 1]))[1] == middle


def test_methods_keep_the_positive_class():
    cm = CM.from_predictions(list("abab"), list("aabb"), pos_label="a", by={"fold": [0, 0, 1, 1]})
    assert {m.pos_label for m in (cm.sum("fold"), cm.sel(fold=1), cm.isel(fold=0))} == {"a"}


def test_one_vs_rest_by_hand():
    cm = CM.from_table([[5, 1, 0], [2, 4, 3], [0, 6, 7]], labels=["x", "y", "z"]).one_vs_rest()
    assert cm.dims == ("label",)
    assert cm.counts["label"].values.tolist() == ["x", "y", "z"]
    assert (cm.labels, cm.pos_label) == ([0, 1], 1)
    # [[tn, fp], [fn, tp]]
    assert table(cm) == [[[20, 2], [1, 5]], [[12, 7], [5, 4]], [[12, 3], [6, 7]]]


def test_one_vs_rest_adds_its_dim_after_the_others(folds):
    rest = folds.one_vs_rest()
    assert rest.dims == ("fold", "label")
    assert rest.total.values.tolist() == [[36] * 3, [117] * 3, [198] * 3]
    for fold in "abc":
        assert table(rest.sel(fold=fold)) == table(folds.sel(fold=fold).one_vs_rest())


# ── from_counts ──────────────────────────────────────────────────────────────────────────────


def test_from_counts_puts_each_cell_in_its_place():
    cm = CM.from_counts(tp=1, fn=2, fp=3, tn=4)
    cells = {(a, p): cm.counts.sel(actual=a, predicted=p).item() for a in (0, 1) for p in (0, 1)}
    assert cells == {(1, 1): 1, (1, 0): 2, (0, 1): 3, (0, 0): 4}
    assert (cm.labels, cm.pos_label, cm.dims) == ([0, 1], 1, ())


def test_from_counts_broadcasts_arrays_and_scalars():
    cm = CM.from_counts(tp=[1, 2], fn=np.array([3, 4]), fp=5, tn=6.0)
    assert cm.dims == ("dim_0",)
    assert table(cm) == [[[6, 5], [3, 1]], [[6, 5], [4, 2]]]


def test_from_counts_broadcasts_dataarrays_by_name():
    tp = xr.DataArray([1, 2], {"model": ["x", "y"]}, ["model"])
    fn = xr.DataArray([3, 4, 5], {"fold": [7, 8, 9]}, ["fold"])
    cm = CM.from_counts(tp=tp, fn=fn, fp=tp, tn=6)
    assert set(cm.dims) == {"model", "fold"}
    for (x, model), (y, fold) in product(enumerate(["x", "y"]), enumerate([7, 8, 9])):
        assert table(cm.sel(model=model, fold=fold)) == [[6, x + 1], [y + 3, x + 1]]


def test_from_counts_takes_cells_selected_from_one_array():
    # Each selection carries a coordinate of its own, which is none of the matrix.
    cells = xr.DataArray(
        [[1, 2, 3, 4], [5, 6, 7, 8]],
        {"model": ["x", "y"], "cell": ["tp", "fn", "fp", "tn"]},
        ["model", "cell"],
    )
    cm = CM.from_counts(**{name: cells.sel(cell=name) for name in ("tp", "fn", "fp", "tn")})
    assert table(cm) == [[[4, 3], [2, 1]], [[8, 7], [6, 5]]]
    assert set(cm.counts.coords) == {"model", "actual", "predicted"}


def test_from_counts_keeps_the_coordinates_that_all_cells_share():
    cells = {name: xr.DataArray(1, {"model": "x"}) for name in ("tp", "fn", "fp", "tn")}
    assert CM.from_counts(**cells).counts["model"].item() == "x"


# ── from_table ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "values", [[[1, 2], [3, 4]], np.array([[1, 2], [3, 4]], np.uint8), np.array([[1.0, 2], [3, 4]])]
)
def test_from_table_takes_arrays(values):
    cm = CM.from_table(values)
    assert table(cm) == [[1, 2], [3, 4]]
    assert cm.labels == [0, 1]


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        (None, {"dim_0": [0, 1], "dim_1": [0, 1, 2]}),
        (["model", "fold"], {"model": [0, 1], "fold": [0, 1, 2]}),
        (
            {"model": ["x", "y"], "fold": [7, 8, 9]},
            {"model": ["x", "y"], "fold": [7, 8, 9]},
        ),
    ],
)
def test_from_table_names_the_leading_axes(dims, expected):
    cm = CM.from_table(np.arange(24).reshape(2, 3, 2, 2), dims=dims)
    assert cm.dims == tuple(expected)
    assert {dim: cm.counts[dim].values.tolist() for dim in cm.dims} == expected
    assert table(cm)[1][2] == [[20, 21], [22, 23]]


def test_from_table_takes_the_axes_of_a_dataarray_by_name():
    by_name = xr.DataArray(
        np.arange(12).reshape(2, 3, 2),
        {"actual": ["a", "b"], "fold": [7, 8, 9], "predicted": ["a", "b"]},
        ["predicted", "fold", "actual"],
    )
    cm = CM.from_table(by_name)
    assert cm.counts.dims == ("fold", "actual", "predicted")
    assert table(cm.sel(fold=8)) == [[2, 8], [3, 9]]


def test_from_table_names_the_labels_of_a_bare_dataarray():
    bare = xr.DataArray([[1, 2], [3, 4]], dims=["actual", "predicted"])
    assert CM.from_table(bare, labels=["a", "b"], pos_label="b").labels == ["a", "b"]


def test_whole_floats_on_a_dataarray_are_whole_numbers():
    cm = CM(xr.DataArray([[1, 2], [3, 4]], {"actual": [0.0, 1.0], "predicted": [0.0, 1.0]}))
    assert [repr(label) for label in cm.labels] == ["0", "1"]
    assert cm.counts["predicted"].dtype == np.int64


@pytest.mark.parametrize(
    "named",
    [
        pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["a", "b"]),
        xr.DataArray([[1, 2], [3, 4]], {"actual": ["a", "b"], "predicted": ["a", "b"]}),
    ],
    ids=["frame", "dataarray"],
)
def test_labels_put_a_table_that_names_its_own_in_order(named):
    cm = CM.from_table(named, labels=["b", "a"])
    assert cm.labels == ["b", "a"]
    assert table(cm) == [[4, 3], [2, 1]]
    with pytest.raises(ValueError, match="labels"):
        CM.from_table(named, labels=["b", "c"])


def test_from_table_takes_the_columns_of_a_dataframe_by_name():
    frame = pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["b", "a"])
    assert table(CM.from_table(frame)) == [[2, 1], [4, 3]]


@pytest.mark.parametrize(
    ("y_true", "y_pred"),
    [
        (list("abba"), list("abab")),
        ([0, 1, 1, 2], [2, 1, 0, 2]),
        ([True, False, True], [True, False, False]),
        (pd.Categorical(list("abb"), ["b", "a"]), pd.Categorical(list("aab"), ["b", "a"])),
    ],
    ids=["strings", "ints", "bools", "categoricals"],
)
def test_from_table_of_a_cross_tabulation_is_from_predictions(y_true, y_pred):
    crossed = pd.crosstab(pd.Series(y_true, name="actual"), pd.Series(y_pred, name="predicted"))
    expected = CM.from_predictions(y_true, y_pred)
    xr.testing.assert_identical(CM.from_table(crossed).counts, expected.counts)


def test_from_table_takes_a_nullable_dataframe():
    assert table(CM.from_table(pd.DataFrame([[1, 2], [3, 4]], dtype="Int64"))) == [[1, 2], [3, 4]]


# ── from_scores ──────────────────────────────────────────────────────────────────────────────

SCORES = st.one_of(st.integers(-3, 3).map(float), st.sampled_from([-np.inf, np.inf, 0.5]))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    examples=st.lists(st.tuples(st.booleans(), SCORES), min_size=1, max_size=30),
    thresholds=st.lists(SCORES, min_size=1, max_size=8, unique=True),
    positive=st.sampled_from(["a", "b"]),
)
def test_from_scores_is_thresholding_and_counting(examples, thresholds, positive):
    examples = [*examples, (False, 0.0), (True, 0.0)]
    y_true = ["a" if is_a else "b" for is_a, _ in examples]
    negative = {"a": "b", "b": "a"}[positive]
    cm = CM.from_scores(y_true, [s for _, s in examples], thresholds=thresholds, pos_label=positive)
    assert cm.counts["threshold"].values.tolist() == thresholds
    assert (cm.dims, cm.labels, cm.pos_label) == (("threshold",), ["a", "b"], positive)
    for threshold in thresholds:
        y_pred = [positive if score >= threshold else negative for _, score in examples]
        expected = brute_force((y_true, "ab"), (y_pred, "ab"))
        assert table(cm.sel(threshold=threshold)) == expected


@pytest.mark.parametrize("column", [np.array, pd.Series, pl.Series, tuple])
def test_from_scores_takes_any_column(column):
    cm = CM.from_scores([0, 1, 1], column([0.2, 0.5, 0.7]), thresholds=0.5)
    assert table(cm) == [[[1, 0], [0, 2]]]


@pytest.mark.parametrize("labels", [[-1, 1], [False, True]])
def test_from_scores_infers_the_positive_class(labels):
    assert table(CM.from_scores(labels, [0.1, 0.2], thresholds=[0.15])) == [[[1, 0], [0, 1]]]


# ── from_cross_validation ────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, 90)
    return rng.normal(size=(90, 2)) + y[:, None], np.array(["a", "b", "c"])[y]


def per_fold(y, predicted, splits):
    return [confusion_matrix(y[test], predicted[test], labels=np.unique(y)) for _, test in splits]


@pytest.mark.parametrize("cv", [3, StratifiedKFold(4, shuffle=True, random_state=1)])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_from_cross_validation_is_cross_val_predict_fold_by_fold(blobs, cv, n_jobs):
    X, y = blobs
    splits = list((StratifiedKFold(cv) if cv == 3 else cv).split(X, y))
    expected = per_fold(y, cross_val_predict(GaussianNB(), X, y, cv=splits), splits)
    with joblib.parallel_config(backend="threading"):
        cm = CM.from_cross_validation(GaussianNB(), X, y, cv=cv, n_jobs=n_jobs)
    np.testing.assert_array_equal(cm.counts.values, expected)
    assert cm.counts["fold"].values.tolist() == list(range(len(splits)))
    assert cm.labels == ["a", "b", "c"]


def test_from_cross_validation_makes_ten_stratified_folds_by_default(blobs):
    cm = CM.from_cross_validation(GaussianNB(), *blobs)
    splits = list(StratifiedKFold(10).split(*blobs))
    assert cm.counts.sizes["fold"] == 10
    held_out = [[np.sum(blobs[1][test] == label) for label in "abc"] for _, test in splits]
    assert cm.counts.sum("predicted").values.tolist() == held_out


def test_from_cross_validation_passes_groups_to_the_splitter(blobs):
    X, y = blobs
    groups = np.arange(90) % 7
    splits = list(GroupKFold(3).split(X, y, groups))
    expected = per_fold(y, cross_val_predict(GaussianNB(), X, y, cv=splits), splits)
    cm = CM.from_cross_validation(GaussianNB(), X, y, cv=GroupKFold(3), groups=groups)
    np.testing.assert_array_equal(cm.counts.values, expected)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda X, y: (pd.DataFrame(X, index=range(5, 95)), pd.Series(y, index=range(5, 95))),
        lambda X, y: (X.tolist(), y.tolist()),
        lambda X, y: (pl.DataFrame(X), pl.Series(y)),
    ],
    ids=["pandas", "lists", "polars"],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_from_cross_validation_takes_frames_and_lists(blobs, wrap):
    of_arrays = CM.from_cross_validation(GaussianNB(), *blobs, cv=3)
    assert table(CM.from_cross_validation(GaussianNB(), *wrap(*blobs), cv=3)) == table(of_arrays)


class Counting(ClassifierMixin, BaseEstimator):
    """Predicts the first class; refuses to be fitted twice."""

    def fit(self, X, y):
        assert not hasattr(self, "classes_")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[0], len(X))


def test_from_cross_validation_clones_the_estimator_for_every_fold(blobs):
    estimator = Counting()
    cm = CM.from_cross_validation(estimator, *blobs, cv=3)
    assert not hasattr(estimator, "classes_")
    assert cm.counts.sum(["fold", "actual"]).values.tolist() == [90, 0, 0]


# ── Pairs ────────────────────────────────────────────────────────────────────────────────────


def test_pairs_by_hand():
    pair = PairedCM.from_predictions([1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 1], names=("old", "new"))
    assert pair.counts.dims == ("actual", "predicted_a", "predicted_b")
    assert pair.counts.values.tolist() == [[[0, 1], [0, 0]], [[1, 1], [0, 1]]]
    assert (pair.labels, pair.pos_label, pair.names) == ([0, 1], 1, ("old", "new"))
    margins = pair.margins()
    assert margins.dims == ("model",)
    assert margins.pos_label == 1
    assert table(margins.sel(model="old")) == [[1, 0], [2, 1]]
    assert table(margins.sel(model="new")) == [[0, 1], [1, 2]]


def test_margins_of_pairs_are_the_unpaired_matrices():
    rng = np.random.default_rng(3)
    y_true, y_a, y_b = rng.choice(list("abcd"), (3, 200))
    by_model = CM.from_predictions(
        np.tile(y_true, 2), np.concatenate([y_a, y_b]), by={"model": np.repeat(["x", "y"], 200)}
    )
    margins = PairedCM.from_predictions(y_true, y_a, y_b, names=("x", "y")).margins()
    np.testing.assert_array_equal(margins.counts.values, by_model.counts.values)
    assert margins.counts["model"].values.tolist() == ["x", "y"]
    assert margins.labels == by_model.labels


def test_margins_of_pairs_answer_like_the_unpaired_matrices():
    # A metric without a closed form asks most of the coordinates: draws are keyed by them.
    y_true, y_a, y_b = [0, 1, 1, 0, 1], [0, 1, 0, 0, 1], [1, 1, 1, 0, 1]
    by_model = CM.from_predictions(y_true * 2, y_a + y_b, by={"model": ["x"] * 5 + ["y"] * 5})
    margins = PairedCM.from_predictions(y_true, y_a, y_b, names=("x", "y")).margins()
    mean, expected = (bp.posterior(cm)["mcc"].mean().values for cm in (margins, by_model))
    np.testing.assert_allclose(mean, expected, atol=0.02)


def test_labels_of_pairs_are_those_of_all_three_columns_or_named():
    assert PairedCM.from_predictions(["a"], ["b"], ["c"]).labels == ["a", "b", "c"]
    named = PairedCM.from_predictions(["a"], ["b"], ["b"], labels=["b", "a"], pos_label="a")
    assert (named.labels, named.pos_label) == (["b", "a"], "a")
    assert (named.margins().labels, named.margins().pos_label) == (["b", "a"], "a")
    assert named.counts.values.tolist() == [[[0, 0], [0, 0]], [[1, 0], [0, 0]]]


# ── Against scikit-learn, and properties ─────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_scikit_learn(seed, kind):
    rng = np.random.default_rng(seed)
    names = np.arange(2 + 3 * seed).astype(kind)
    y_true, y_pred = rng.choice(names, (2, 300))
    cm = CM.from_predictions(y_true, y_pred)
    np.testing.assert_array_equal(cm.counts.values, confusion_matrix(y_true, y_pred))
    assert cm.labels == np.unique([y_true, y_pred]).tolist()


LABELS = ["a", "b", "c"]
EXAMPLES = st.lists(st.tuples(*[st.sampled_from(LABELS)] * 3), min_size=1, max_size=40)
quick = settings(max_examples=60, deadline=None, derandomize=True)


def count(examples, labels=LABELS):
    y_true, y_pred, _ = zip(*examples, strict=True)
    return CM.from_predictions(y_true, y_pred, labels=labels)


@quick
@given(examples=EXAMPLES, data=st.data())
def test_order_of_examples_does_not_matter(examples, data):
    assert table(count(data.draw(st.permutations(examples)))) == table(count(examples))


@quick
@given(examples=EXAMPLES, labels=st.permutations(LABELS))
def test_order_of_labels_moves_the_counts_along(examples, labels):
    moved = count(examples, labels).counts.sel(actual=LABELS, predicted=LABELS)
    assert moved.values.tolist() == table(count(examples))


@quick
@given(first=EXAMPLES, second=EXAMPLES)
def test_counts_add_up(first, second):
    together = count(first + second).counts
    xr.testing.assert_identical(together, (count(first).counts + count(second).counts))


@quick
@given(examples=EXAMPLES)
def test_cells_and_margins_are_counted_one_by_one(examples):
    y_true, y_pred, y_other = zip(*examples, strict=True)
    cm = count(examples)
    assert table(cm) == brute_force((y_true, LABELS), (y_pred, LABELS))
    assert cm.counts.sum("predicted").values.tolist() == brute_force((y_true, LABELS))
    assert cm.counts.sum("actual").values.tolist() == brute_force((y_pred, LABELS))
    assert cm.total.item() == len(examples)
    pair = PairedCM.from_predictions(y_true, y_pred, y_other, labels=LABELS)
    expected = brute_force((y_true, LABELS), (y_pred, LABELS), (y_other, LABELS))
    assert pair.counts.values.tolist() == expected
    assert table(pair.margins().sel(model="a")) == table(cm)


@quick
@given(examples=EXAMPLES)
def test_leading_dims_split_the_counts(examples):
    y_true, y_pred, site = zip(*examples, strict=True)
    cm = CM.from_predictions(y_true, y_pred, labels=LABELS, by={"site": site})
    sites = sorted(set(site))
    expected = brute_force((site, sites), (y_true, LABELS), (y_pred, LABELS))
    assert (table(cm), cm.counts["site"].values.tolist()) == (expected, sites)
    assert table(cm.sum("site")) == table(count(examples))


@quick
@given(examples=EXAMPLES)
def test_one_vs_rest_counts_each_class_against_the_rest(examples):
    rest = count(examples).one_vs_rest()
    for label in LABELS:
        y_true, y_pred = ([e[i] == label for e in examples] for i in (0, 1))
        expected = brute_force((y_true, (False, True)), (y_pred, (False, True)))
        assert table(rest.sel(label=label)) == expected


# ── Immutability and display ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "made",
    [CM.from_counts(tp=1, fn=2, fp=3, tn=4), PairedCM.from_predictions([0, 1], [0, 1], [1, 1])],
)
def test_a_matrix_cannot_be_changed(made):
    for change in ({"counts": made.counts}, {"pos_label": 0}, {"new": 1}):
        (name, value), *_ = change.items()
        with pytest.raises(FrozenInstanceError):
            setattr(made, name, value)
    with pytest.raises(ValueError, match="read-only"):
        made.counts.values[0, 0] = 9
    with pytest.raises(ValueError, match="read-only"):
        made.counts[0, 0] = 9
    made.labels.append("new")
    assert made.labels == [0, 1]


def test_a_matrix_does_not_follow_the_array_it_was_made_from():
    source = xr.DataArray([[1, 2], [3, 4]], dims=["actual", "predicted"])
    cm = CM.from_table(source)
    source[0, 0] = 99
    assert table(cm) == [[1, 2], [3, 4]]
    source = np.array([[1, 2], [3, 4]])
    cm = CM.from_table(source)
    source[0, 0] = 99
    assert table(cm) == [[1, 2], [3, 4]]


def test_text_shows_the_table_and_what_is_positive():
    text = repr(CM.from_table([[11, 12], [13, 14]], labels=["cat", "dog"], pos_label="dog"))
    for part in (
        "50 examples",
        "positive 'dog'",
        "actual",
        "predicted",
        "cat",
        "11",
        "12",
        "13",
        "14",
    ):
        assert part in text
    text = repr(CM.from_table(np.ones((5, 3, 3), int), dims=["fold"]))
    assert "45 examples" in text
    assert "fold: 5" in text
    assert "3 classes" in text


EVIL = "<script>alert('x')</script>"


@pytest.mark.parametrize(
    "cm",
    [
        CM.from_table([[1, 2], [3, 4]], labels=[EVIL, "b"], pos_label=EVIL),
        CM.from_predictions([0, 1], [0, 1], by={EVIL: [EVIL, "b"]}),
    ],
    ids=["labels", "dims"],
)
def test_html_escapes_what_users_wrote(cm):
    html = cm._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_html_shows_cells_and_totals():
    html = CM.from_table([[11, 12], [13, 15]])._repr_html_()
    for number in (11, 12, 13, 15, 23, 28, 24, 27, 51):
        assert f">{number}<" in html


@pytest.mark.parametrize("dim", ["fold", "matrix", "actual_", "0"])
def test_html_shows_the_first_of_many(dim):
    html = CM.from_table(np.ones((9, 2, 2), int), dims=[dim])._repr_html_()
    assert html.count("<table>") == 6
    assert "3 more" in html
    assert f"{dim} 5" in html


# ── Bad input ────────────────────────────────────────────────────────────────────────────────

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
    return lambda: PairedCM.from_predictions([0, 1], y_pred_a, y_pred_b, **options)


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
    "pairs of two folds": (
        lambda: PairedCM(
            xr.DataArray(np.ones((2, 2, 2, 2), int), dims=["fold", "actual", "predicted_a", "predicted_b"])
        ),
        r"counts must have no dims but actual, predicted_a, predicted_b; it has 'fold'. .* by=, example=\)",
    ),
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
    "multilabel": (predictions(np.eye(2, dtype=int)), r"y_true .*\(2, 2\).*multilabel.*each"),
    "one column": (predictions(pd.DataFrame({"y": [0, 1]})), "y_true must be one-dimensional"),
    # Labels
    "scores": (predictions([0, 1], [0.2, 0.7]), r"y_pred holds \[0.2\].*from_scores"),
    "infinite": (predictions([0, np.inf]), r"y_true holds \[inf\]"),
    "unsigned too great": (predictions(np.array([0, 2**63], np.uint64)), "y_true .*64"),
    "too great": (predictions([0, 2**70]), "y_true .*64"),
    "too great a float": (predictions([0, 2.0**60]), "y_true holds"),
    "one label only": (predictions([1, 1], [1, 1]), r"only one label .*\(1\).*labels=\["),
    "unknown label": (predictions([0, 2], labels=[0, 1]), "y_true holds 2.* add .* to labels"),
    "labels twice": (predictions([0, 1], labels=[0, 1, 1]), "labels: every .* once"),
    "one of labels": (predictions([1, 1], [1, 1], labels=[1]), "labels: name at least two"),
    # The positive class
    "unknown positive": (predictions([0, 1], pos_label=7), r"pos_label=7 .* labels \[0, 1\]"),
    "text as positive": (predictions([0, 1], pos_label="1"), r"pos_label='1' .* \[0, 1\]"),
    "list as positive": (predictions([0, 1], pos_label=[1]), r"pos_label=\[1\] is not"),
    "array as positive": (predictions([0, 1], pos_label=np.ones(2)), "pos_label="),
    "positive of three": (predictions([0, 2], pos_label=1), r"pos_label .* 3\. See one_vs_rest"),
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
    # Counts
    "negative": (counts(tp=-1), "tp holds -1, which is negative"),
    "fractional": (counts(fn=0.5), "fn holds 0.5, which is fractional: .* not shares"),
    "missing count": (counts(fp=np.nan), "fp holds nan, which is missing"),
    "masked count": (counts(fp=np.ma.array([1, 2], mask=HIDDEN)), "fp holds nan, which is missing"),
    "infinite count": (counts(tn=[1, np.inf]), "tn holds inf, which is .*infinite"),
    "too great a count": (counts(tp=2**63), "tp"),
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
    "labels differ": (labelled([0, 1], [1, 0]), "predicted differ .*another order"),
    "labels differ, named": (labelled([0, 1], [1, 0], labels=[0, 1]), "differ"),
    "frame differs": (of_frame([0, 1], [0, 2]), "table: the index .* the columns .* same"),
    "frame repeats": (of_frame([0, 0], [0, 0]), "table: the index .* the columns"),
    "frame is wide": (of_frame([0, 1], [0, 1, 1]), "table: the index .* the columns"),
    # Scores
    "three classes": (scores([0, 1, 2], [0, 0, 1]), "y_true must hold two classes.* 0, 1, 2"),
    "one class scored": (scores([1, 1], [0, 0]), "y_true must hold two classes; it holds 1"),
    "which is positive": (scores(["a", "b"], [0, 1]), "positive class.* pos_label='b'"),
    "positive unknown": (scores([0, 1], [0, 1], pos_label=2), "pos_label=2 .*labels"),
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
    "pair unequal": (pairs([0, 1], [0]), "unequal length: .*y_pred_b 1"),
    "pair missing": (pairs([0, 1], [0, None]), f"y_pred_b {ONE}"),
    "namesakes": (pairs([0, 1], [0, 1], names=("x", "x")), "names must be two different.*'x'"),
    "three names": (pairs([0, 1], [0, 1], names=("x", "y", "z")), "names must be two"),
    # Cross-validation
    "missing class": (validation(["a", "b", "a", None]), "y has 1 missing value"),
}
TYPE_ERRORS = {
    "scalar string": (predictions("ab"), "y_true must be a sequence of labels.*it is str"),
    "scalar": (predictions(1), "y_true must be a sequence of labels.*it is int"),
    "generator": (predictions(i for i in (0, 1)), "y_true must be a sequence.*generator"),
    "lists": (predictions([[0], [1, 2]]), "y_true holds.*not list"),
    "dicts": (predictions([{}, {}]), "y_true holds.*not dict"),
    "tuples": (predictions([(0, 1), (1,)]), "y_true .*tuple.* all strings or all numbers"),
    "bytes": (predictions([b"a", b"b"]), "y_true .*bytes.* all strings or all numbers"),
    "mixed": (predictions([0, "a"]), "y_true .*numbers, strings.* must be all strings or all"),
    "mixed columns": (predictions(["a", "b"]), "y_true holds strings and y_pred holds numbers"),
    "mixed labels": (predictions([0, 1], labels=[0, "a"]), "labels holds .*numbers, strings"),
    "mixed pair": (pairs([0, 1], ["a", "b"]), "y_pred_b holds strings and .* holds numbers"),
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
    "text as names": (pairs([0, 1], [0, 1], names="ab"), "names"),
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


def test_selection_of_no_coordinate_is_xarrays_own_error(folds):
    with pytest.raises(KeyError, match="fold"):
        folds.sel(fold="z")


def test_cross_validation_takes_a_positive_label():
    from sklearn.dummy import DummyClassifier

    y = np.array(["n", "y"] * 10)
    cm = CM.from_cross_validation(DummyClassifier(), np.zeros((20, 1)), y, cv=2, pos_label="y")
    assert cm.pos_label == "y"
    assert cm.dims == ("fold",)
