"""Counts of partly verified samples: what is missing, engines, and what is refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bayesperf as bp
from bayesperf.labels import VerifiedSample
from tests.shared.engines import ENGINES, IGNORE_DASK

TRUTH = [1, None, 0, None, 1, 0, None, 1]
JUDGE = [1, 1, 0, 0, 0, 0, 1, 1]
OLD = [1, 0, 0, 0, 1, 1, 1, 1]
NEW = [1, 1, 0, 0, 1, 0, 1, 0]


def table_of(sample):
    return sample.table().to_dict("list")


def test_strata_and_their_verified_examples():
    sample = VerifiedSample.from_predictions(TRUTH, OLD, judge=JUDGE)
    assert table_of(sample) == {
        "judge": [0, 0, 1, 1],
        "predicted": [0, 1, 0, 1],
        "examples": [2, 2, 1, 3],
        "verified": [1, 2, 0, 2],
        "truth 0": [1, 1, 0, 0],
        "truth 1": [0, 1, 0, 2],
    }
    np.testing.assert_array_equal(sample.rows, [-1, 2, -1, 0, -1, -1, 3, -1])
    assert not sample.is_complete
    np.testing.assert_array_equal(sample.verified_only().counts, [[1, 1], [0, 3]])


@pytest.mark.parametrize(
    "missing",
    [
        np.array([np.nan if t is None else t for t in TRUTH]),
        pd.array(TRUTH, dtype="Int64"),
        pd.Series(TRUTH, dtype=object),
        pd.Categorical(TRUTH, categories=[0, 1]),
        np.ma.masked_array([t or 0 for t in TRUTH], [t is None for t in TRUTH]),
        pytest.param("polars", id="polars"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_all_ways_to_say_that_nobody_looked(missing):
    if isinstance(missing, str):
        missing = pytest.importorskip("polars").Series(TRUTH)
    assert table_of(VerifiedSample.from_predictions(missing, OLD)) == table_of(
        VerifiedSample.from_predictions(TRUTH, OLD)
    )


def test_texts_with_gaps_are_labels():
    sample = VerifiedSample.from_predictions(["b", None, "a"], ["b", "a", "a"], pos_label="b")
    assert (sample.labels, sample.pos_label) == (["a", "b"], "b")


def test_systems_levels_and_leading_dims():
    site = ["x"] * 4 + ["y"] * 4
    sample = VerifiedSample.from_predictions(TRUTH, {"old": OLD, "new": NEW}, judge=JUDGE, by={"site": site})
    assert sample.counts.dims == ("site", "stratum")
    cm = sample.verified_only()
    assert cm.dims == ("site", "model")
    known = [i for i, t in enumerate(TRUTH) if t is not None and site[i] == "y"]
    expected = bp.ConfusionMatrix.from_predictions(*([values[i] for i in known] for values in (TRUTH, NEW)))
    np.testing.assert_array_equal(cm.sel(site="y", model="new").counts, expected.counts)
    verified = [np.array(values)[[t is not None for t in TRUTH]] for values in (TRUTH, OLD, NEW, site)]
    whole = bp.ConfusionMatrix.from_predictions(
        verified[0].tolist(), dict(zip(("old", "new"), verified[1:3], strict=True)), by={"site": verified[3]}
    )
    np.testing.assert_array_equal(cm.patterns.actual, whole.patterns.actual)
    np.testing.assert_array_equal(cm.patterns.predicted, whole.patterns.predicted)
    np.testing.assert_array_equal(cm.patterns.counts, whole.patterns.counts)
    by_level = VerifiedSample.from_predictions(TRUTH, OLD, strata=site)
    assert table_of(by_level)["level"] == [0, 0, 1]
    # Merged over the level, the strata are those of the system alone.
    (strata,) = VerifiedSample.from_predictions(TRUTH, {"old": OLD, "new": NEW}).strata_of([0])
    np.testing.assert_array_equal(strata.counts, [3, 5])
    np.testing.assert_array_equal(strata.verified, [[1, 0], [1, 3]])
    np.testing.assert_array_equal(strata.levels, [0, 0])


@pytest.mark.slow
@pytest.mark.filterwarnings(IGNORE_DASK)
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "pyspark"])
def test_frames_of_every_engine(engine):
    frame = pd.DataFrame({"truth": TRUTH, "judge": JUDGE, "old": OLD, "new": NEW, "part": ["x", "y"] * 4})
    frame["truth"] = frame["truth"].map({1: "yes", 0: "no"}, na_action="ignore")
    frame[["judge", "old", "new"]] = frame[["judge", "old", "new"]].replace({1: "yes", 0: "no"}).astype(object)
    roles = {"actual": "truth", "judge": "judge", "predicted": ["old", "new"], "strata": "part"}
    ours = VerifiedSample.from_predictions(
        frame["truth"], {"old": frame["old"], "new": frame["new"]}, judge=frame["judge"], strata=frame["part"]
    )
    counted = VerifiedSample.from_frame(ENGINES[engine](pa.Table.from_pandas(frame)), **roles)
    assert table_of(counted) == table_of(ours)
    assert counted.rows is None


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"y_true": [None] * 8}, ValueError, "no example is verified"),
        ({"y_true": TRUTH[:3]}, ValueError, "y_true"),
        ({"judge": [1, None] * 4}, ValueError, "judge has 4 missing values"),
        ({"y_pred": [1, None] * 4}, ValueError, "y_pred has 4 missing values"),
        ({"strata": ["a", None] * 4}, ValueError, "strata has 4 missing values"),
        ({"strata": ["a"]}, ValueError, "strata"),
        ({"y_true": "yes"}, TypeError, "y_true must be a sequence .*, with None for the examples that nobody verified"),
        ({"y_true": np.ones((8, 2))}, ValueError, "one-dimensional"),
        ({"judge": ["1"] * 8}, TypeError, "strings"),
        ({"y_pred": {}}, ValueError, "name one system or more"),
        ({"by": {"stratum": list("abababab")}}, ValueError, "stratum"),
    ],
)
def test_refusals(change, error, says):
    given = {"y_true": TRUTH, "y_pred": OLD, "judge": JUDGE} | change
    with pytest.raises(error, match=says):
        VerifiedSample.from_predictions(given.pop("y_true"), given.pop("y_pred"), **given)


def test_frames_without_rows_or_with_gaps_elsewhere_are_refused():
    frame = pd.DataFrame({"truth": TRUTH, "old": OLD, "judge": [*JUDGE[:-1], None]})
    with pytest.raises(ValueError, match="no rows"):
        VerifiedSample.from_frame(frame[:0], actual="truth", predicted="old")
    with pytest.raises(ValueError, match="column 'judge' has 1 missing value"):
        VerifiedSample.from_frame(frame, actual="truth", predicted="old", judge="judge")
