"""Matrices of any counts add up, have scores inside the bounds, and leave what they were made of as it was."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import bayesperf as bp
from tests.properties._cases import COUNTS, labelled_scores, matrices, metrics, properties, unchanged, within
from tests.shared.counts import pair_of

THRESHOLDS = st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, np.inf]), min_size=1, unique=True)
LABELS = st.sampled_from([[0, 1], ["no", "yes"], [False, True], ["a", "b", "c"], [-1, 1], list(range(5))])


@st.composite
def predictions(draw):
    """Labels, actual and predicted classes, and what they are grouped by."""
    labels, n = draw(LABELS), draw(st.integers(1, 30))
    y_true, y_pred = (draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n)) for _ in "tp")
    by = draw(st.lists(st.sampled_from(["u", "v"]), min_size=n, max_size=n))
    return labels, y_true, y_pred, by


@pytest.mark.slow
@properties(30)
@given(data=st.data())
def test_score(data):
    cm = data.draw(matrices())
    name = data.draw(metrics(len(cm.labels)))
    with unchanged(cm):
        score = bp.score(cm, name)
    within(score, bp.metrics.get(name).bounds, undefined=1, infinite=True)


@properties(15)
@given(st.lists(COUNTS, min_size=4, max_size=4), st.sampled_from([None, "vector", "labelled"]))
def test_from_counts(cells, form):
    values = {
        None: cells,
        "vector": [np.array([cell, 0]) for cell in cells],
        "labelled": [xr.DataArray([cell, 1], {"site": ["x", "y"]}, ["site"]) for cell in cells],
    }[form]
    arguments = dict(zip(("tp", "fn", "fp", "tn"), values, strict=True))
    with unchanged(arguments):
        cm = bp.ConfusionMatrix.from_counts(**arguments)
    assert cm.total.values.flat[0] == sum(cells)


@properties(15)
@given(predictions())
def test_from_predictions_and_frames(case):
    labels, y_true, y_pred, by = case
    frame = pd.DataFrame({"actual": y_true, "predicted": y_pred, "group": by})
    options = {"labels": labels, "pos_label": labels[-1] if len(labels) == 2 else None}
    with unchanged(y_true, y_pred, by, frame):
        cm = bp.ConfusionMatrix.from_predictions(y_true, y_pred, by={"group": by}, **options)
        counted = bp.ConfusionMatrix.from_frame(frame, actual="actual", predicted="predicted", by="group", **options)
        pair = pair_of(y_true, y_pred, y_true, **options)
    assert counted.counts.equals(cm.counts)
    assert cm.total.sum() == len(y_true)
    assert cm.sum("group").counts.equals(pair.sel(model="a").counts.drop_vars("model"))


@pytest.mark.slow
@properties(15)
@given(data=st.data())
def test_tables_and_parts_of_matrices(data):
    cm = data.draw(matrices(leading=(2,)))
    table = cm.counts.values.copy()
    with unchanged(cm, table):
        again = bp.ConfusionMatrix.from_table(table, labels=cm.labels, pos_label=cm.pos_label, dims=["model"])
        assert again.counts.equals(cm.counts)
        assert cm.sum("model").total == cm.total.sum()
        assert (cm.isel(model=1).counts.values == table[1]).all()
        rest = cm.one_vs_rest()
        assert (rest.total == cm.total).all()
        assert cm.__repr__()
        assert cm._repr_html_()


@properties(15)
@given(labelled_scores(ends=(-np.inf, np.inf)), THRESHOLDS)
def test_from_scores(case, thresholds):
    y, score = case
    with unchanged(y, score, thresholds):
        cm = bp.ConfusionMatrix.from_scores(y, score, thresholds=thresholds)
    assert (cm.total == len(y)).all()
