"""How data come in: kinds of columns, leading dims, and that matrices stay as they are and show themselves."""

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

from tests.shared.counts import CM, pair_of, table

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


def test_selection_of_no_coordinate_is_xarrays_own_error(folds):
    with pytest.raises(KeyError, match="fold"):
        folds.sel(fold="z")


# ── Immutability and display ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "made",
    [CM.from_counts(tp=1, fn=2, fp=3, tn=4), pair_of([0, 1], [0, 1], [1, 1])],
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


def test_text_escapes_what_would_steer_a_terminal():
    cm = CM.from_predictions(["\x1b[31mcat", "dog\u202e"], ["\x1b[31mcat", "dog\u202e"])
    text = repr(cm)
    assert text.replace("\n", "").isprintable()
    assert r"\x1b[31mcat" in text
    assert r"dog\u202e" in text
    assert "\x1b" not in repr(CM.from_predictions([0, 1], [0, 1], by={"\x1b[2J": ["a", "b"]}))


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
