"""Counting inside data frames: every engine gives the matrix that the plain columns give."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import bayesperf as bp
from tests.shared.engines import IGNORE_DASK, dask_frame, duckdb_relation, ibis_table

pytestmark = pytest.mark.filterwarnings(IGNORE_DASK)
from_frame = bp.ConfusionMatrix.from_frame
from_predictions = bp.ConfusionMatrix.from_predictions

# Engines, from a mapping of names to lists.
ENGINES = {
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda c: pd.DataFrame(c).convert_dtypes(),
    "pandas on pyarrow": lambda c: pd.DataFrame(c).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, shuffled": lambda c: pd.DataFrame(c).sample(frac=1, random_state=1),
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "duckdb": lambda c: duckdb_relation(pa.table(c)),
    "dask": lambda c: dask_frame(pa.table(c)),
    "ibis": lambda c: ibis_table(pa.table(c)),
}
KINDS = {"ints": [0, 1, 2], "strings": ["a", "b", "c"], "bools": [False, True]}


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]


def columns_of(kind, size=60):
    rng = np.random.default_rng(5)
    chosen = {
        "actual": KINDS[kind],
        "predicted": KINDS[kind],
        "model": ["x", "y"],
        "fold": [3, 1, 2],
    }
    return {name: rng.choice(values, size).tolist() for name, values in chosen.items()}


def assert_same(cm, expected):
    xr.testing.assert_identical(cm.counts, expected.counts)
    assert cm.pos_label == expected.pos_label
    assert list(map(type, cm.labels)) == list(map(type, expected.labels))


@pytest.mark.few
@pytest.mark.parametrize(("kind", "by"), [("ints", ()), ("strings", ["fold", "model"]), ("bools", "model")])
def test_every_engine_gives_the_matrix_of_the_columns(engine, kind, by):
    columns = columns_of(kind)
    cm = from_frame(engine(columns), actual="actual", predicted="predicted", by=by)
    keys = {key: columns[key] for key in ([by] if isinstance(by, str) else by)}
    assert_same(cm, from_predictions(columns["actual"], columns["predicted"], by=keys))
    assert cm.total.sum().item() == 60


@pytest.mark.few
def test_labels_and_positive_class_are_passed_on(engine):
    columns = {"y": ["b", "a"], "p": ["b", "b"]}
    named = {"labels": ["c", "b", "a"]}
    cm = from_frame(engine(columns), actual="y", predicted="p", **named)
    assert_same(cm, from_predictions(columns["y"], columns["p"], **named))
    assert from_frame(engine(columns), actual="y", predicted="p", pos_label="a").pos_label == "a"


@pytest.mark.few
def test_the_two_columns_may_hold_different_labels(engine):
    columns = {"y": ["a", "b"], "p": ["b", "z"]}
    cm = from_frame(engine(columns), actual="y", predicted="p")
    assert cm.labels == ["a", "b", "z"]
    assert cm.counts.values.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


def test_booleans_meet_numbers(engine):
    cm = from_frame(engine({"y": [True, False], "p": [1, 1]}), actual="y", predicted="p")
    assert (cm.labels, cm.pos_label) == ([0, 1], 1)
    assert cm.counts.values.tolist() == [[0, 1], [0, 1]]


def test_other_columns_are_never_read():
    def boom(column):
        raise AssertionError("this column was read")

    frame = pl.LazyFrame({"y": [0, 1], "p": [1, 1]}).with_columns(
        other=pl.col("y").map_batches(boom, return_dtype=pl.Int64)
    )
    cm = from_frame(frame, actual="y", predicted="p")
    assert cm.counts.values.tolist() == [[0, 1], [0, 1]]


def test_the_frame_is_left_as_it_was():
    frame = pd.DataFrame({"y": [0, 1], "p": [1, 1]}, index=[7, 8])
    copy = frame.copy()
    from_frame(frame, actual="y", predicted="p")
    pd.testing.assert_frame_equal(frame, copy)


# ── Categoricals ─────────────────────────────────────────────────────────────────────────────────

DECLARED = ["low", "mid", "high"]
PREDICTED = ["low", "mid", "low"]


@pytest.mark.parametrize(
    ("engine", "dtype"),
    [
        (pd.DataFrame, lambda values: pd.Categorical(values, DECLARED)),
        (pl.DataFrame, lambda values: pl.Series(values, dtype=pl.Enum(DECLARED))),
        (pl.LazyFrame, lambda values: pl.Series(values, dtype=pl.Enum(DECLARED))),
    ],
    ids=["pandas", "polars", "polars, lazy"],
)
def test_a_categorical_declares_labels_observed_or_not(engine, dtype):
    frame = engine({"y": dtype(["mid", "mid", "low"]), "p": PREDICTED, "f": dtype(["low"] * 3)})
    cm = from_frame(frame, actual="y", predicted="p", by="f")
    assert cm.labels == DECLARED
    assert cm.counts["f"].values.tolist() == DECLARED
    assert cm.counts.sel(f="low").values.tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 0]]
    assert cm.total.values.tolist() == [3, 0, 0]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"y": pl.Series(["mid", "mid", "low"], dtype=pl.Categorical), "p": PREDICTED}),
        pa.table({"y": pa.array(["mid", "mid", "low"]).dictionary_encode(), "p": PREDICTED}),
    ],
    ids=["polars", "pyarrow"],
)
def test_a_dictionary_of_strings_is_strings(frame):
    cm = from_frame(frame, actual="y", predicted="p")
    assert_same(cm, from_predictions(["mid", "mid", "low"], PREDICTED))


# ── Bad input ────────────────────────────────────────────────────────────────────────────────────

FRAME = {"y": ["a", "b", "b", "b"], "p": ["a", "a", "b", "b"], "f": [1, 1, 2, 2]}
GOOD = {"actual": "y", "predicted": "p"}
# A mistake: the columns and arguments that make it, and what the message says of it.
BAD_INPUT = {
    "no actual": (FRAME, {"actual": "z"}, r"no column 'z'.*columns are 'y', 'p', 'f'\."),
    "no predicted": (FRAME, {"predicted": "z"}, r"no column 'z'.*columns are 'y', 'p', 'f'\."),
    "no key": (FRAME, {"by": ["f", "z"]}, r"no column 'z'.*columns are 'y', 'p', 'f'\."),
    "no key of that name": (FRAME, {"by": "fold"}, "no column 'fold'"),
    "one column twice": (FRAME, {"predicted": "y"}, "every role .* a column of its own"),
    "key is the label": (FRAME, {"by": "y"}, "every role .* a column of its own"),
    "key twice": (FRAME, {"by": ["f", "f"]}, "every role .* a column of its own"),
    "unknown label": (FRAME, {"labels": ["a", "c"]}, "column 'y' holds 'b'.* Add .* to `labels`"),
    "unknown positive": (FRAME, {"pos_label": "c"}, "pos_label: 'c' is not among the labels"),
    "reserved key": (FRAME | {"draw": [1, 1, 2, 2]}, {"by": "draw"}, "'draw' .*rename that dim"),
    "key is a cell": (FRAME | {"actual": [1, 1, 2, 2]}, {"by": "actual"}, "'actual'"),
}


@pytest.mark.parametrize("mistake", BAD_INPUT)
def test_bad_input_is_refused_in_words(mistake):
    columns, arguments, message = BAD_INPUT[mistake]
    with pytest.raises(ValueError, match=message):
        from_frame(pd.DataFrame(columns), **(GOOD | arguments))


def test_missing_values_are_counted_by_rows_not_by_groups():
    frame = pd.DataFrame({"y": ["a", "b", None, None, None], "p": ["a", "b", "a", "a", "a"]})
    with pytest.raises(ValueError, match="column 'y' has 3 missing values"):
        from_frame(frame, **GOOD)


@pytest.mark.parametrize("frame", [None, 3, "frame.csv", FRAME, [FRAME], np.ones((2, 2))])
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(TypeError, match=f"frame is {type(frame).__name__}: give a pandas"):
        from_frame(frame, **GOOD)


def test_a_column_is_no_frame():
    with pytest.raises(TypeError, match="frame is Series"):
        from_frame(pd.Series([0, 1]), **GOOD)


def test_months_and_weekdays_stand_in_the_order_of_the_calendar_and_other_levels_are_sorted():
    orders = {
        "month": (["Apr", "Jan", "Dec", "Jan"], ["Jan", "Apr", "Dec"]),
        "day": (["Sunday", "Monday", "Thursday", "Monday"], ["Monday", "Thursday", "Sunday"]),
        "name": (["May", "April", "Ann", "May"], ["Ann", "April", "May"]),
    }
    right = [True, False, True, True]
    for dim, (values, expected) in orders.items():
        frame = pd.DataFrame({"actual": [1, 0, 1, 0], "predicted": [1, 1, 1, 0], dim: values})
        cm = bp.ConfusionMatrix.from_frame(frame, actual="actual", predicted="predicted", by=dim)
        outcomes = bp.Outcomes.from_correct(right, by={dim: values})
        assert cm.counts[dim].values.tolist() == outcomes.counts[dim].values.tolist() == expected
        assert cm.counts.sum(["actual", "predicted"]).values.tolist() == [values.count(level) for level in expected]
        of_right = [sum(r for r, v in zip(right, values, strict=True) if v == level) for level in expected]
        assert outcomes.counts.sel(outcome=1).values.tolist() == of_right
    declared = pd.Categorical(["Apr", "Jan"], ["Apr", "Jan"])
    assert bp.Outcomes.from_correct([1, 0], by={"month": declared}).counts["month"].values.tolist() == ["Apr", "Jan"]
