"""Scores counted in bins: the counts of every engine are those of the scores, parts add up, bad input is named."""

from functools import partial

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesperf as bp

from_counts = bp.curves.BinnedScores.from_counts
from_frame = partial(bp.curves.BinnedScores.from_frame, actual="y", score="s")

# Engines, from a mapping of names to lists.
ENGINES = {
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda c: pd.DataFrame(c).convert_dtypes(),
    "pandas on pyarrow": lambda c: pd.DataFrame(c).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda c: pl.DataFrame(c, strict=False),
    "polars, lazy": lambda c: pl.LazyFrame(c, strict=False),
    "pyarrow": pa.table,
    "duckdb": lambda c: duckdb.sql("select * from columns", connection=connected(pa.table(c))),
}


def connected(table):
    connection = duckdb.connect()
    connection.register("columns", table)
    return connection


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]


def columns(size=500, seed=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=size)
    # Many at edges of a hundred bins, both outer ones among them, and next to edges.
    s = np.clip(np.round(rng.normal(0.4 + 0.2 * y, 0.3), 2), 0, 1)
    return y, np.where(rng.random(size) < 0.2, np.nextafter(s, 0.5), s)


def assert_same(binned, expected):
    np.testing.assert_array_equal(binned.edges, expected.edges)
    for name in ("values", "positives", "negatives"):
        np.testing.assert_array_equal(getattr(binned, name), getattr(expected, name))


def counted(y, s, edges):
    return from_counts(
        positives=np.histogram(s[y == 1], edges)[0], negatives=np.histogram(s[y == 0], edges)[0], edges=edges
    )


# ── Counting in frames ──


@pytest.mark.few
@pytest.mark.parametrize("bins", [1, 3, 10, 100, 1000])
def test_every_engine_counts_equal_bins_as_numpy_does(engine, bins):
    y, s = columns()
    binned = from_frame(engine({"y": y.tolist(), "s": s.tolist()}), bins=bins)
    np.testing.assert_allclose(binned.edges, np.linspace(0, 1, bins + 1), rtol=0, atol=1e-15)
    assert_same(binned, counted(y, s, binned.edges))
    assert binned.class_totals == (int((y == 0).sum()), int((y == 1).sum()))


@pytest.mark.few
@pytest.mark.parametrize("edges", [[0, 1], [0, 0.29, 1], [-np.inf, 0.1, 0.11, 0.5, 0.9, np.inf]])
def test_every_engine_counts_bins_of_given_edges_as_comparison_does(engine, edges):
    y, s = columns()
    binned = from_frame(engine({"y": y.tolist(), "s": s.tolist()}), bins=edges)
    last = len(edges) - 2
    place = np.minimum(np.searchsorted(edges, s, side="right") - 1, last)
    expected = [np.bincount(place[y == label], minlength=last + 1) for label in (1, 0)]
    assert_same(binned, from_counts(positives=expected[0], negatives=expected[1], edges=edges))


@pytest.mark.parametrize("limits", [(-3, 7), (0.1, 0.7), (1e6, 1e6 + 1), (-1e-3, 1e-3)])
def test_scores_at_edges_are_in_the_bin_above(limits):
    edges = bp.curves.BinnedScores.from_frame(
        pd.DataFrame({"y": [0, 1], "s": limits}), actual="y", score="s", bins=77, limits=limits
    ).edges
    # Every edge, and the numbers next to it on both sides.
    s = np.concatenate([edges, np.nextafter(edges, np.inf)[:-1], np.nextafter(edges, -np.inf)[1:]])
    y = np.ones(len(s), int)
    for frame in (pd.DataFrame({"y": y, "s": s}), pl.DataFrame({"y": y, "s": s})):
        binned = from_frame(frame, bins=77, limits=limits)
        assert_same(binned, counted(y, s, edges))
        # Called positive from an edge upwards: no score on the wrong side.
        called = (s >= edges[:-1, None]).sum(1)
        np.testing.assert_array_equal(binned.called(edges[:-1])[1], called)


@pytest.mark.few
def test_whole_numbers_infinite_scores_and_named_classes(engine):
    frame = engine({"y": ["ham", "spam", "spam", "ham"], "s": [1, 5, 3, 1]})
    binned = from_frame(frame, bins=[1, 2, 3, 5], pos_label="spam")
    assert (binned.positives.tolist(), binned.negatives.tolist()) == ([0, 0, 2], [2, 0, 0])
    binned = from_frame(engine({"y": [True, False], "s": [np.inf, -np.inf]}), bins=[-np.inf, 0, np.inf])
    assert (binned.positives.tolist(), binned.negatives.tolist()) == ([0, 1], [1, 0])


def test_a_part_may_hold_one_class():
    zeros, ones = ({"y": [label] * 3, "s": [0.1, 0.6, 0.7]} for label in (0, 1))
    assert from_frame(pd.DataFrame(ones), bins=2).positives.tolist() == [1, 2]
    both = from_frame(pd.DataFrame(zeros), bins=2) + from_frame(pd.DataFrame(ones), bins=2)
    assert bp.roc_auc(both, method="delong").mean() == 0.5
    named = pd.DataFrame({"y": ["no"] * 3, "s": [0.1, 0.6, 0.7]})
    assert from_frame(named, bins=2, pos_label="yes").negatives.tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"column 'y' holds 'no' alone\. Name the positive class"):
        from_frame(named, bins=2)


# ── Thresholds ──


def test_thresholds_within_a_bin_are_refused():
    binned = from_counts(positives=[1, 2], negatives=[4, 3], edges=[0, 0.5, 1])
    false, true = binned.called([np.inf, 1.1, 0.5, 0, -1])
    assert (true.tolist(), false.tolist()) == ([0, 0, 2, 3, 3], [0, 0, 3, 7, 7])
    assert bp.roc_curve(binned).at(0.5)["recall"] == 2 / 3
    for threshold in (0.7, 1):
        with pytest.raises(ValueError, match=f"thresholds: {threshold} is within a bin"):
            bp.roc_curve(binned).at(threshold)
    # Between scores that tie there is no bin.
    assert from_counts(positives=[1, 2], negatives=[4, 3], values=[0, 0.5]).called(0.2)[1] == 2


# ── Merging ──


@pytest.mark.few
def test_counts_of_parts_add_up(engine):
    y, s = columns()
    frames = [{"y": y[part].tolist(), "s": s[part].tolist()} for part in np.split(np.arange(500), [120, 300])]
    parts = [from_frame(engine(frame), bins=20) for frame in frames]
    assert_same(sum(parts), from_frame(engine({"y": y.tolist(), "s": s.tolist()}), bins=20))
    assert_same(parts[0] + parts[1], parts[1] + parts[0])


def test_values_of_parts_are_united():
    merged = from_counts(positives=[1, 2], negatives=[3, 4], values=[1, 3]) + from_counts(
        positives=[5, 6], negatives=[7, 8], values=[2, 3]
    )
    assert_same(merged, from_counts(positives=[1, 5, 8], negatives=[3, 7, 12], values=[1, 2, 3]))


def test_counts_of_different_bins_do_not_add():
    a, b = (
        from_counts(positives=[1, 2], negatives=[3, 4], edges=[0, 0.5, 1]),
        from_counts(positives=[1, 2], negatives=[3, 4], edges=[0, 0.4, 1]),
    )
    for other in (b, from_counts(positives=[1, 2], negatives=[3, 4], values=[0, 0.5])):
        with pytest.raises(ValueError, match=r"counts of different bins cannot be added: .*Count in the same"):
            a + other
    with pytest.raises(TypeError):
        a + 1


# ── Refused ──


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, -2], [3, 4]), ValueError, "positives holds -2, which is negative"),
        (([1, 2], [3, 0.5]), ValueError, "negatives holds 0.5, which is fractional"),
        (([1, np.nan], [3, 4]), ValueError, "positives holds nan, which is missing"),
        (([1, 2, 3], [3, 4]), ValueError, "columns of unequal length: bins 2, positives 3, negatives 2"),
        (([[1, 2]], [3, 4]), ValueError, r"positives must be one-dimensional, .*its shape is \(1, 2\)"),
        ((["a", "b"], [3, 4]), TypeError, "positives must hold whole numbers"),
    ],
)
def test_bad_counts_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        from_counts(positives=arguments[0], negatives=arguments[1], edges=[0, 0.5, 1])


@pytest.mark.parametrize(
    ("places", "error", "message"),
    [
        ({"edges": [0, 1, 0.5]}, ValueError, r"edges must be two numbers or more that ascend; they are 0.0, 1.0, 0.5"),
        ({"edges": [0, 0.5, 0.5]}, ValueError, "edges must be two numbers or more that ascend"),
        ({"edges": [0]}, ValueError, "edges must be two numbers or more"),
        ({"edges": [0, np.nan, 1]}, ValueError, "edges has 1 missing value"),
        ({"values": [1, 0]}, ValueError, "values must ascend, each once, below inf; they are 1.0, 0.0"),
        ({"values": [0, np.inf]}, ValueError, "values must ascend, each once, below inf"),
        ({}, TypeError, "give either edges=, the edges of the bins, or values="),
        ({"edges": [0, 0.5, 1], "values": [0, 1]}, TypeError, "give either edges="),
    ],
)
def test_bad_edges_are_named(places, error, message):
    with pytest.raises(error, match=message):
        from_counts(positives=[1, 2], negatives=[3, 4], **places)


@pytest.mark.slow
def test_missing_scores_and_labels_are_named(engine):
    with pytest.raises(ValueError, match=r"column 's' has 2 missing values. Drop those rows"):
        from_frame(engine({"y": [0, 1, 1], "s": [0.1, None, None]}), bins=2)
    with pytest.raises(ValueError, match=r"column 'y' has 1 missing value. Drop those rows"):
        from_frame(engine({"y": [0, 1, None], "s": [0.1, 0.2, 0.3]}), bins=2)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda c: ENGINES["duckdb"](c)])
def test_nan_is_missing(make):
    for bins in (2, [0, 0.3, 1]):
        with pytest.raises(ValueError, match="column 's' has 1 missing value"):
            from_frame(make({"y": [0, 1], "s": [0.1, float("nan")]}), bins=bins)


@pytest.mark.few
def test_scores_outside_the_limits_are_named(engine):
    frame = engine({"y": [0, 1, 1], "s": [0.1, -0.2, 1.5]})
    for bins in (2, [0, 0.3, 1]):
        with pytest.raises(ValueError, match=r"column 's' has 2 values outside the limits of the bins, 0 to 1. Give"):
            from_frame(frame, bins=bins)
    with pytest.raises(ValueError, match="1 value outside the limits of the bins, -1 to 1"):
        from_frame(frame, bins=2, limits=(-1, 1))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bins": 0}, ValueError, "bins must be a whole number of at least 1; it is 0"),
        ({"bins": [1, 0]}, ValueError, "bins must be two numbers or more that ascend"),
        ({"bins": 2, "limits": (1, 0)}, ValueError, "limits must be two numbers or more that ascend"),
        ({"bins": 2, "limits": (0, 1, 2)}, ValueError, "limits must be two finite numbers, low and high"),
        ({"bins": 2, "limits": (0, np.inf)}, ValueError, "limits must be two finite numbers"),
        ({"bins": 10, "limits": (1, 1 + 1e-15)}, ValueError, "edges of 10 bins must be two numbers or more that"),
        ({"bins": [0, 1], "limits": (0, 1)}, TypeError, "limits: edges have their own"),
        ({"bins": 2, "score": "t"}, ValueError, "frame has no column 't'; its columns are 'y', 's'"),
        ({"bins": 2, "score": "y"}, ValueError, "needs a column of its own"),
        ({"bins": 2, "actual": "s", "score": "y"}, ValueError, "column 's' holds"),
        ({"bins": 2, "pos_label": 7}, ValueError, "pos_label: 7 is not among the labels"),
    ],
)
def test_bad_options_are_named(options, error, message):
    with pytest.raises(error, match=message):
        from_frame(pd.DataFrame({"y": [0, 1], "s": [0.1, 0.2]}), **options)


def test_bad_columns_are_named():
    with pytest.raises(TypeError, match=r"column 's' must hold numbers; it holds String"):
        from_frame(pl.DataFrame({"y": [0, 1], "s": ["a", "b"]}), bins=2)
    with pytest.raises(ValueError, match="column 'y' must hold two classes; it holds 0, 1, 2"):
        from_frame(pd.DataFrame({"y": [0, 1, 2], "s": [0.1, 0.2, 0.3]}), bins=2)
    with pytest.raises(ValueError, match=r"which of the labels .* is the positive class"):
        from_frame(pd.DataFrame({"y": ["a", "b"], "s": [0.1, 0.2]}), bins=2)
    with pytest.raises(ValueError, match="frame has no rows"):
        from_frame(pd.DataFrame({"y": [0, 1], "s": [0.1, 0.2]}).iloc[:0], bins=2)
