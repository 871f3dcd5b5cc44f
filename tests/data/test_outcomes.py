"""Outcomes: right or wrong, or grades, counted from columns, frames of every engine and numbers."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bayesperf as bp
from tests.shared.engines import ENGINES, IGNORE_DASK

pytestmark = pytest.mark.filterwarnings(IGNORE_DASK)
Outcomes = bp.Outcomes

# Two systems, four questions, two attempts at each.
ROWS = {
    "model": ["a", "b"] * 8,
    "question": [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4],
    "attempt": [1, 1, 2, 2] * 4,
    "passed": [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1],
    "stars": [5, 1, 4, 5, 2, 1, 5, 2, 4, 4, 5, 5, 1, 2, 1, 4],
}
FRAME = pd.DataFrame(ROWS).assign(example=lambda f: f["question"] * 10 + f["attempt"])


@pytest.mark.few
@pytest.mark.parametrize("engine", [pytest.param(n, marks=[pytest.mark.slow] * (n == "pyspark")) for n in ENGINES])
def test_every_engine_counts_what_columns_count(engine):
    frame = ENGINES[engine](pa.Table.from_pandas(FRAME.assign(passed=FRAME["passed"].astype(bool))))
    by = {"by": "model", "example": "example", "cluster": "question"}
    found = Outcomes.from_frame(frame, correct="passed", **by)
    columns = {"by": {"model": FRAME["model"]}, "example": FRAME["example"], "cluster": {"question": FRAME["question"]}}
    expected = Outcomes.from_correct(FRAME["passed"], **columns)
    assert found.counts.identical(expected.counts)
    assert found.counts.values.tolist() == [[3, 5], [4, 4]]
    assert found.patterns.margins().equals(expected.patterns.margins())
    np.testing.assert_array_equal(found.clusters.table.toarray(), expected.clusters.table.toarray())
    graded = Outcomes.from_frame(frame, grade="stars", scale=range(1, 6), by="model")
    assert graded.counts.values.tolist() == [[2, 1, 0, 2, 3], [2, 2, 0, 2, 2]]


def test_a_column_a_system_is_a_row_a_system():
    wide = FRAME.pivot(index="example", columns="model", values="stars")
    columns = Outcomes.from_grades({"a": wide["a"], "b": wide["b"]}, scale=range(1, 6))
    frame = Outcomes.from_frame(wide, grade=["a", "b"], scale=range(1, 6))
    rows = Outcomes.from_grades(
        FRAME["stars"], scale=range(1, 6), by={"model": FRAME["model"]}, example=FRAME["example"]
    )
    assert columns.counts.equals(rows.counts)
    assert frame.counts.equals(rows.counts)
    assert columns.patterns.names == frame.patterns.names == rows.patterns.names == ("a", "b")
    np.testing.assert_array_equal(columns.patterns.counts, rows.patterns.counts)


@pytest.mark.parametrize(
    ("grades", "scale", "values", "counts"),
    [
        ([5, 2, 2], None, [2, 3, 4, 5], [2, 0, 0, 1]),
        ([0.5, 1, 0.5], None, [0.5, 1], [2, 1]),
        ([2.0, 1.0], [3, 1, 2], [1, 2, 3], [1, 1, 0]),
        ([1e22, 1], [1, 1e22], [1, 1e22], [1, 1]),
        (["good", "poor"], {"poor": 0, "fair": 0.5, "good": 1}, [0, 0.5, 1], [1, 0, 1]),
        (pd.Categorical(["b"], categories=["a", "b"]), {"b": 2, "a": 1}, [1, 2], [0, 1]),
    ],
)
def test_scales(grades, scale, values, counts):
    found = Outcomes.from_grades(grades, scale=scale)
    assert found.grades.tolist() == values
    assert found.counts.values.tolist() == counts


def test_words_have_a_worth_in_matched_rows_too():
    verdicts = ["win", "tie", "loss", "win", "win", "win", "tie", "win"]
    frame = pd.DataFrame({"model": ["a", "b"] * 4, "question": [1, 1, 2, 2, 3, 3, 4, 4], "verdict": verdicts})
    scale = {"loss": 0, "tie": 0.5, "win": 1}
    found = Outcomes.from_frame(frame, grade="verdict", scale=scale, by="model", example="question")
    assert found.counts.values.tolist() == [[1, 1, 2], [0, 1, 3]]
    assert found.patterns.margins().values[:, 0].tolist() == found.counts.values.tolist()


def test_sums_and_selections_keep_what_belongs_together(tmp_path):
    by = {"by": {"model": FRAME["model"], "attempt": FRAME["attempt"]}, "example": FRAME["example"]}
    outcomes = Outcomes.from_correct(FRAME["passed"], **by)
    assert outcomes.dims == ("model", "attempt")
    assert outcomes.total.values.tolist() == [[4, 4], [4, 4]]
    summed = outcomes.sum("attempt")
    assert summed.counts.values.tolist() == [[3, 5], [4, 4]]
    assert summed.patterns.counts.sum() == 8
    one = outcomes.sel(model="a")
    assert isinstance(one, Outcomes)
    assert one.patterns is None
    assert "same_examples" not in one.counts.attrs
    clustered = Outcomes.from_correct(FRAME["passed"], by={"model": FRAME["model"]}, cluster=FRAME["question"])
    assert clustered.isel(model=1).clusters.table.toarray().tolist() == [[1, 1], [2, 0], [0, 2], [1, 1]]
    clustered.save(tmp_path / "outcomes.nc")
    loaded = bp.load(tmp_path / "outcomes.nc")
    assert loaded.counts.identical(clustered.counts)
    assert loaded.clusters.size == 4
    assert repr(one).startswith("<bayesperf.Outcomes: 8 examples, attempt: 2>")
    assert "<td>5</td>" in summed._repr_html_()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Outcomes.from_correct(["C", "I"]), r"must say by true and false.*holds 'C', 'I'.*correct == 'C'"),
        (lambda: Outcomes.from_correct([1, None]), "1 missing value"),
        (lambda: Outcomes.from_correct([]), "empty"),
        (lambda: Outcomes.from_correct([1, 0], by={"model": ["a"]}), "length"),
        (lambda: Outcomes.from_correct({"a": [1, 0]}), "two systems or more"),
        (lambda: Outcomes.from_correct([1, 0], by={"outcome": [1, 2]}), "'outcome' is a name that results use"),
        (lambda: Outcomes.from_grades([1, 6], scale=range(1, 6)), r"holds 6, not on the scale \[1, 2, 3, 4, 5\]"),
        (lambda: Outcomes.from_grades(["a", "b"]), "grades are words"),
        (lambda: Outcomes.from_grades(np.random.default_rng(0).random(200)), "200 different values, which is no scale"),
        (lambda: Outcomes.from_grades([1, 2], scale={1: 0, 2: 0}), "all of different worth"),
        (lambda: Outcomes.from_grades([1, 2], scale=[1, np.inf]), "finite"),
        (lambda: Outcomes.from_grades([1, 2], scale=5), "scale must be a sequence or a mapping of grades; it is 5"),
        (lambda: Outcomes.from_frame(FRAME, correct=[]), "correct: name a column"),
        (lambda: Outcomes.from_counts(right=5, n=4), "greater than n"),
        (lambda: Outcomes.from_counts(right=-1, n=4), "right"),
        (lambda: Outcomes.from_frame(FRAME), "name a column of right and wrong"),
        (lambda: Outcomes.from_frame(FRAME, correct="passed", scale=[0, 1]), "scale applies to grades"),
        (lambda: Outcomes.from_frame(FRAME, correct="stars"), "must say by true and false"),
        (lambda: Outcomes.from_frame(FRAME, correct="passes"), "no column 'passes'"),
        (lambda: Outcomes.from_frame(FRAME[:0], correct="passed"), "no rows"),
        (lambda: Outcomes.from_correct(ROWS["passed"], by={"model": ROWS["model"]}, example=ROWS["question"]), "twice"),
        (lambda: Outcomes(bp.ConfusionMatrix.from_counts(tp=1, fn=1, fp=1, tn=1).counts), "must be a DataArray"),
    ],
)  # fmt: skip
def test_bad_input(made, message):
    with pytest.raises((ValueError, TypeError), match=message):
        made()
