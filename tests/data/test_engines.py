"""Counting where the data are: one table of totals from the same data in every engine, or the same error."""

import os
import signal
import subprocess
import sys
import threading
from datetime import date
from decimal import Decimal

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.io.plugins import register_io_source

import bayesperf as bp
from tests.shared.engines import ENGINES, IGNORE_DASK, dask_frame, duckdb_relation, spark_frame
from tests.shared.sources import ROOT

pytestmark = pytest.mark.filterwarnings(IGNORE_DASK)
from_frame = bp.ConfusionMatrix.from_frame

# Spark takes seconds to start, and half a second to count anything.
SLOW = {"pyspark": pytest.mark.slow}


@pytest.fixture(params=[pytest.param(name, marks=SLOW.get(name, ())) for name in ENGINES])
def engine(request):
    return ENGINES[request.param]


def counted(frame, by=()):
    """Return the labels, the coordinates of leading dims with their types, and the counts."""
    cm = from_frame(frame, actual="y", predicted="p", by=by)
    coords = [(dim, cm.counts[dim].dtype, cm.counts[dim].values.tolist()) for dim in cm.dims]
    return list(map(repr, cm.labels)), coords, cm.counts.values.tolist()


# ── The same totals ──────────────────────────────────────────────────────────────────────────────

# Columns, the labels they hold, and the counts, by hand.
TOTALS = {
    "strings": ({"y": ["a", "b", "b"], "p": ["a", "b", "a"]}, ["a", "b"], [[1, 0], [1, 1]]),
    "not ASCII": (
        {"y": ["é", "日本", "😀", "é"], "p": ["é", "😀", "日本", "日本"]},
        ["é", "日本", "😀"],
        [[1, 1, 0], [0, 0, 1], [0, 1, 0]],
    ),
    "an empty string": ({"y": ["", "a", "a"], "p": ["a", "", "a"]}, ["", "a"], [[0, 1], [1, 1]]),
    "booleans": ({"y": [True, False, True], "p": [True, True, False]}, [False, True], [[0, 1], [1, 1]]),
    "booleans and numbers": ({"y": [True, False, True], "p": [2, 1, 0]}, [0, 1, 2], [[0, 1, 0], [1, 0, 1], [0, 0, 0]]),
    "integers as floats": ({"y": [2.0, -1.0, 2.0], "p": [2, 2, -1]}, [-1, 2], [[0, 1], [1, 1]]),
    "a negative zero": ({"y": [0.0, -0.0, 1.0], "p": [1, 1, 0]}, [0, 1], [[0, 2], [1, 0]]),
    "small integers": ({"y": pa.array([1, 0], pa.int8()), "p": pa.array([0, 1], pa.int16())}, [0, 1], [[0, 1], [1, 0]]),
    "beyond the whole floats": ({"y": [2**53 + 1, 2**53], "p": [2**53, 2**53]}, [2**53, 2**53 + 1], [[1, 0], [1, 0]]),
    "names that differ by case": ({"Y": ["x", "x"], "y": ["a", "b"], "p": ["b", "b"]}, ["a", "b"], [[0, 1], [0, 1]]),
}


@pytest.mark.few
@pytest.mark.parametrize("case", TOTALS)
def test_totals_are_those_worked_by_hand(engine, case):
    if case == "names that differ by case" and engine in (ENGINES["duckdb"], ENGINES["ibis"]):
        pytest.skip("DuckDB has no two columns whose names differ by case.")
    columns, labels, counts = TOTALS[case]
    assert counted(engine(pa.table(columns))) == (list(map(repr, labels)), [], counts)


# Columns of groups, and the coordinates they become.
GROUPS = {
    "strings": (["v", "u", "v"], ["u", "v"], np.dtype("<U1")),
    "booleans": ([True, False, True], [False, True], np.dtype(bool)),
    "integers": ([3, -1, 3], [-1, 3], np.dtype(int)),
    "integers as floats": ([3.0, -1.0, 3.0], [-1, 3], np.dtype(int)),
    "fractions": ([0.5, 0.25, 0.5], [0.25, 0.5], np.dtype(float)),
}


@pytest.mark.few
@pytest.mark.parametrize("case", GROUPS)
def test_groups_become_coordinates(engine, case):
    column, coordinates, dtype = GROUPS[case]
    frame = engine(pa.table({"y": [0, 1, 1], "p": [0, 1, 0], "site": column}))
    assert counted(frame, "site") == (["0", "1"], [("site", dtype, coordinates)], [[[0, 0], [0, 1]], [[1, 0], [1, 0]]])


# Three at a time: of the actual class, of the predicted one, and of the groups.
NAMES = [("a b", "a.b", "a`b"), ('a"b', "a'b", "é"), ("COUNT", "Rows", "KEY_0"), ("column_1", "n", "len")]
NAMES += [("key_0", "key_1", "key_2"), ("index", "literal", "count"), ("rows", "key_0", "key_1")]


@pytest.mark.few
@pytest.mark.parametrize("names", NAMES, ids=" ".join)
def test_no_name_of_a_column_is_a_clash(engine, names):
    y, p, group = names
    frame = engine(pa.table({p: ["a", "b", "b"], "other.one": [1, 2, 3], y: ["a", "a", "b"], group: ["u", "v", "v"]}))
    cm = from_frame(frame, actual=y, predicted=p, by=group)
    assert cm.dims == (group,)
    assert cm.counts.values.tolist() == [[[1, 0], [0, 0]], [[0, 1], [0, 1]]]


@pytest.mark.few
def test_a_hundred_thousand_groups(engine):
    rows = np.arange(300_000)
    frame = engine(pa.table({"y": rows // 100_000 % 2, "p": rows % 2, "patient": rows % 100_000}))
    cm = from_frame(frame, actual="y", predicted="p", by="patient")
    # Patient i is met as class 0, 1, 0, and called i % 2 each time.
    expected = np.zeros((100_000, 2, 2), int)
    expected[np.arange(100_000), :, np.arange(100_000) % 2] = [2, 1]
    np.testing.assert_array_equal(cm.counts["patient"], np.arange(100_000))
    np.testing.assert_array_equal(cm.counts, expected)


DECLARED = ["low", "mid", "high"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "frame",
    [
        lambda y, p: pd.DataFrame({"y": pd.Categorical(y, DECLARED), "p": p}),
        lambda y, p: pl.LazyFrame({"y": pl.Series(y, dtype=pl.Enum(DECLARED)), "p": p}),
        lambda y, p: dask_frame(pa.table({"y": y, "p": p})).astype({"y": pd.CategoricalDtype(DECLARED)}),
        lambda y, p: duckdb_relation(pa.table({"y": y, "p": p})).select(f"y::ENUM{tuple(DECLARED)} AS y, p"),
    ],
    ids=["pandas", "polars", "dask", "duckdb"],
)
def test_types_that_list_their_values_declare_labels(frame):
    cm = from_frame(frame(["mid", "mid", "low"], ["low", "mid", "low"]), actual="y", predicted="p")
    assert cm.labels == DECLARED
    assert cm.counts.values.tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 0]]


# ── Systems on the same examples ──────────────────────────────────────────────────────────────────

# Five examples, by a row each and a column a system: the same by a row for each system, shuffled.
WIDE = {
    "y": ["a", "b", "b", "a", "b"],
    "old": ["a", "a", "b", "b", "b"],
    "new": ["a", "b", "b", "b", "a"],
    "site": [1, 1, 2, 2, 2],
}
ORDER = [7, 2, 9, 4, 0, 5, 3, 8, 1, 6]
LONG = {
    "y": WIDE["y"] * 2,
    "p": WIDE["old"] + WIDE["new"],
    "system": ["old"] * 5 + ["new"] * 5,
    "site": WIDE["site"] * 2,
    "id": [f"e{i}" for i in range(5)] * 2,
}
LONG = {name: [column[i] for i in ORDER] for name, column in LONG.items()}
# How often each (actual, old, new) occurs at each site.
OUTCOMES = {
    1: {("a", "a", "a"): 1, ("b", "a", "b"): 1},
    2: {("b", "b", "b"): 1, ("a", "b", "b"): 1, ("b", "b", "a"): 1},
}


def outcomes_of(cm):
    """Return how often each outcome occurs, by the labels of the actual class and of the systems old and new."""
    outcomes = cm.patterns
    columns = [outcomes.names.index(name) for name in ("old", "new")]
    names = [
        (outcomes.labels[actual], *(outcomes.labels[calls[i]] for i in columns))
        for actual, calls in zip(outcomes.actual, outcomes.predicted, strict=True)
    ]
    counts = outcomes.counts
    return {
        site: {name: int(n) for name, n in zip(names, counts.sel(site=site).values, strict=True) if n}
        for site in counts["site"].values.tolist()
    }


@pytest.mark.few
def test_a_column_a_system_and_a_row_a_system_give_the_same_outcomes(engine):
    wide = from_frame(engine(pa.table(WIDE)), actual="y", predicted=["old", "new"], by="site")
    rows = pa.table(LONG).rename_columns(["y", "p", "model", "site", "id"])
    long = from_frame(engine(rows), actual="y", predicted="p", by=["site", "model"], example="id")
    for cm in (wide, long):
        assert cm.dims == ("site", "model")
        assert cm.counts.attrs == {"same_examples": "model"}
        assert outcomes_of(cm) == OUTCOMES
    assert wide.sel(model="new", site=2).counts.values.tolist() == [[0, 1], [1, 1]]
    assert wide.counts.sel(model=["new", "old"]).equals(long.counts)


# What is done to the rows of LONG, and the words it is refused in.
UNMATCHED = {
    "an example twice": (
        {"id": ["e0"] * 10},
        "5 rows of 1 different examples.*count with cluster='id'",
    ),
    "no id": ({"id": [None, *LONG["id"][1:]]}, "example: column 'id' has 1 missing value for system 'new'"),
    "other examples": ({"id": ["e9", *LONG["id"][1:]]}, "system 'new' was tested on 5, of which all were on 4"),
    "another truth": (
        {"y": ["ab"["ab".index(LONG["y"][0]) - 1], *LONG["y"][1:]]},
        "column 'y' differs between system 'new' and 'old' for 1 example. Rows of one example must agree",
    ),
}


@pytest.mark.few
@pytest.mark.parametrize("case", UNMATCHED)
def test_rows_that_do_not_match_are_refused_in_the_same_words(engine, case):
    changed, words = UNMATCHED[case]
    with pytest.raises(ValueError, match=words):
        from_frame(engine(pa.table(LONG | changed)), actual="y", predicted="p", by="system", example="id")


# ── The same errors ──────────────────────────────────────────────────────────────────────────────

DAYS = [date(2020, 1, 1), date(2020, 1, 2)]
REFUSED = {
    "a missing string": ({"y": ["a", None, "b"], "p": ["a", "b", "a"]}, "column 'y' has 1 missing value"),
    "a missing integer": ({"y": [1, 0, 0], "p": [None, None, 0]}, "column 'p' has 2 missing values"),
    "a missing boolean": ({"y": [True, None], "p": [True, False]}, "column 'y' has 1 missing value"),
    "not a number": ({"y": [0.0, float("nan")], "p": [1, 0]}, "column 'y' has 1 missing value"),
    "a missing group": ({"y": [0, 1], "p": [0, 1], "by": ["u", None]}, "column 'by' has 1 missing value"),
    "nothing but missing values": ({"y": [0, 1], "p": pa.array([None, None], pa.string())}, "column 'p' has 2 missing"),
    "strings and numbers": ({"y": ["a", "b"], "p": [0, 1]}, "column 'y' holds strings and column 'p' holds numbers"),
    "scores": ({"y": [0, 1], "p": [0.25, 0.75]}, "column 'p' holds .* fractional number.*from_scores"),
    "infinity": ({"y": [0.0, float("inf")], "p": [1, 0]}, "column 'y' holds .inf.*fractional number"),
    "dates": ({"y": DAYS, "p": DAYS}, "column 'y' holds .* must be (all )?strings"),
    "groups of dates": ({"y": [0, 1], "p": [0, 1], "by": DAYS}, "'by'.* holds .* must be (all )?strings"),
    "decimals": ({"y": [Decimal(0), Decimal(1)], "p": [0, 1]}, "column 'y' holds .* must be (all )?strings"),
    "bytes": ({"y": [b"a", b"b"], "p": ["a", "b"]}, "column 'y' holds .* must be (all )?strings"),
    "lists": ({"y": [[0], [1]], "p": [0, 1]}, "(column 'y' holds|unhashable) .* must be strings"),
    "no rows": ({"y": pa.array([], pa.string()), "p": pa.array([], pa.string())}, "frame has no rows"),
    "no such column": ({"y": [0, 1], "q": [0, 1]}, "frame has no column 'p'; its columns are 'y', 'q'"),
}
TYPE_ERRORS = {"strings and numbers", "dates", "groups of dates", "decimals", "bytes", "lists"}


@pytest.mark.few
@pytest.mark.parametrize("case", REFUSED)
def test_every_engine_is_refused_in_the_same_words(engine, case):
    columns, words = REFUSED[case]
    with pytest.raises(TypeError if case in TYPE_ERRORS else ValueError, match=words):
        counted(engine(pa.table(columns)), [name for name in columns if name == "by"])


def test_what_an_engine_says_comes_in_one_line():
    connection = duckdb.connect()
    relation = connection.sql("SELECT error('broken' || chr(10) || 'in detail')::INT AS y, 1 AS p")
    with pytest.raises(ValueError, match=r"frame: its engine could not count the rows: .*broken$"):
        counted(relation)


# ── Where the work is done ───────────────────────────────────────────────────────────────────────


@pytest.mark.few
def test_only_totals_come_back(engine, monkeypatch):
    fetched = []
    collect = nw.LazyFrame.collect

    def watched(frame, *arguments, **options):
        result = collect(frame, *arguments, **options)
        fetched.append(len(result))
        return result

    monkeypatch.setattr(nw.LazyFrame, "collect", watched)
    rows = np.arange(50_000)
    counted(engine(pa.table({"y": rows % 2, "p": rows % 3 % 2, "fold": rows % 5, "id": rows})), "fold")
    assert fetched == [2 * 2 * 5]


def test_polars_counts_while_it_reads():
    """The engine that holds all rows at once would read the last of them before it counts the first."""
    events = []

    def batches(_columns, _predicate, _rows, _size):
        for start in range(0, 1_000_000, 10_000):
            events.append("read")
            rows = np.arange(start, start + 10_000)
            yield pl.DataFrame({"y": rows % 2, "p": rows % 3 % 2})

    def counting(batch):
        events.append("counted")
        return batch

    source = register_io_source(batches, schema={"y": pl.Int64, "p": pl.Int64})
    frame = source.with_columns(pl.col("y").map_batches(counting, pl.Int64, is_elementwise=True))
    assert np.sum(counted(frame)[2]) == 1_000_000
    assert events.count("read") == 100
    assert "read" in events[events.index("counted") :]


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
import duckdb
import bayesperf as bp
relation = duckdb.sql("SELECT ['a', 'b'][1 + i % 2] AS y, ['a', 'b'][1 + i % 3 % 2] AS p FROM range(6) AS rows(i)")
assert bp.ConfusionMatrix.from_frame(relation, actual="y", predicted="p").counts.values.tolist() == [[2, 1], [2, 1]]
"""


@pytest.mark.slow
def test_duckdb_is_counted_without_pyarrow():
    subprocess.run([sys.executable, "-c", WITHOUT_PYARROW], check=True, cwd=ROOT)


@pytest.mark.slow
def test_spark_reads_back_names_of_fields_and_columns_apart():
    frame = spark_frame(pa.table({"y": [{"z": 1}, {"z": 2}], "y.z": [0, 1], "p": [1, 1]}))
    cm = from_frame(frame, actual="y.z", predicted="p")
    assert cm.counts.values.tolist() == [[0, 1], [0, 1]]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
def test_an_interrupt_while_duckdb_counts_is_one():
    numbers = "SELECT range % 2 AS y, range % 3 % 2 AS p FROM range(1_000_000_000)"

    # Processes of parallel tests ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        with duckdb.connect() as connection, pytest.raises(KeyboardInterrupt):
            from_frame(connection.sql(numbers), actual="y", predicted="p")
    finally:
        signal.signal(signal.SIGINT, before)
