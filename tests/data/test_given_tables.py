"""What is given to `posterior` in place of a matrix."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.metrics import classification_report, confusion_matrix

import bayesperf as bp
from tests.shared.counts import CM

RNG = np.random.default_rng(0)
Y_TRUE = pd.Series(RNG.choice(["ham", "spam"], 80), name="y_true")
Y_PRED = Y_TRUE.where(RNG.random(80) < 0.8, "ham").rename("y_pred")
COUNTS = confusion_matrix(Y_TRUE, Y_PRED)
TAKEN = {
    "crosstab": pd.crosstab(Y_TRUE, Y_PRED),
    "crosstab the other way round": pd.crosstab(Y_PRED, Y_TRUE),
    "DataArray": xr.DataArray(pd.crosstab(Y_TRUE, Y_PRED)),
    "report": classification_report(Y_TRUE, Y_PRED),
    "report of more digits": classification_report(Y_TRUE, Y_PRED, digits=4),
    "report as a dict": classification_report(Y_TRUE, Y_PRED, output_dict=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("given", TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize("prior", [None, "flat"])
def test_what_says_its_counts_is_taken(given, prior):
    post = bp.posterior(given, prior, pos_label="spam")
    expected = bp.posterior(CM.from_predictions(Y_TRUE, Y_PRED, pos_label="spam"), prior)
    assert post.summary().equals(expected.summary())
    other_order = bp.posterior(given, prior=prior, labels=["spam", "ham"])
    assert other_order.observed.values.tolist() == COUNTS[::-1, ::-1].tolist()
    assert other_order.labels == ["spam", "ham"]


@pytest.mark.few
@pytest.mark.parametrize("seed", range(30))
def test_the_counts_of_a_report_are_those_of_its_labels_or_none(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 150))
    y_true, y_pred = (np.append(rng.integers(0, 2, n), [0, 1]) for _ in range(2))
    of_dict = bp.posterior(classification_report(y_true, y_pred, output_dict=True))
    assert of_dict.observed.values.tolist() == confusion_matrix(y_true, y_pred).tolist()
    assert of_dict.pos_label == 1
    try:
        of_text = bp.posterior(classification_report(y_true, y_pred))
    except ValueError as error:
        assert "tables of counts have its figures" in str(error)  # noqa: PT017
    else:
        assert of_text.observed.equals(of_dict.observed)


def test_a_class_that_nobody_called_is_read():
    y_true, y_pred = [0, 0, 1], [0, 0, 0]
    report = classification_report(y_true, y_pred, zero_division=0)
    assert bp.posterior(report).observed.values.tolist() == [[2, 0], [1, 0]]


MANY = RNG.integers(0, 2, 100_000)
THREE = [0, 1, 2, 1]
REFUSED = {
    "array": (COUNTS, TypeError, r"table of 2 × 2 without names. .*posterior\(ConfusionMatrix\.from_table\(table, lab"),
    "lists": (COUNTS.tolist(), TypeError, r"ConfusionMatrix\.from_table\(table"),
    "frame without names": (pd.DataFrame(COUNTS), TypeError, r"which are the actual .*ConfusionMatrix\.from_table\("),
    "crosstab without names": (pd.crosstab(Y_TRUE.to_numpy(), Y_PRED.to_numpy()), TypeError, r"from_table\(table\)"),
    "frame of predictions": (
        pd.DataFrame({"id": 1, "truth": Y_TRUE, "pred": Y_PRED}), TypeError,
        r"from_frame\(frame, actual='truth', predicted='pred'\)",
    ),
    "DataArray without names": (xr.DataArray(COUNTS), ValueError, r"rename\(\{'dim_0': 'actual'"),
    "margins": (pd.crosstab(Y_TRUE, Y_PRED, margins=True), ValueError, "margins"),
    "report of three": (classification_report(THREE, THREE), ValueError, r"3 classes .*confusion_matrix\(y_true, y_p"),
    "report of some labels": (
        classification_report(THREE, THREE, labels=[0, 1]), ValueError, "or not all",
    ),
    "rounded report": (classification_report(MANY, MANY[::-1]), ValueError, "tables of counts have"),
    "false report": (classification_report(Y_TRUE, Y_PRED).replace("0.", "0.0", 1), ValueError, "no table of counts"),
    "weighted report": (
        classification_report(Y_TRUE, Y_PRED, sample_weight=np.full(80, 0.3), output_dict=True), ValueError, "weighted",
    ),
    "other text": ("ham", TypeError, "classification_report"),
    "other dict": ({"tp": 1}, TypeError, "classification_report"),
    "labels alone": (Y_TRUE, TypeError, "cm must be a ConfusionMatrix, or actual and predicted labels"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_is_answered_with_what_takes_it(given, error, words):
    with pytest.raises(error, match=words):
        bp.posterior(given)


def test_dims_are_those_of_the_counts():
    with pytest.raises(TypeError, match="by: the counts have dims of their own"):
        bp.posterior(pd.crosstab(Y_TRUE, Y_PRED), by={"fold": [1]})
