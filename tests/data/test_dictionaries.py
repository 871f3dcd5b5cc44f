"""Dictionaries of PyArrow: what is missing in them, and chunks with different ones."""

import numpy as np
import pytest

import bayesperf as bp
from tests.shared.counts import CM

pa = pytest.importorskip("pyarrow")

N = 40
RNG = np.random.default_rng(0)
Y = RNG.choice(["a", "b"], N).tolist()
P = np.where(RNG.random(N) < 0.8, Y, "a").tolist()
SITE, SCORE, IDS = np.repeat(list("uvwx"), 10).tolist(), RNG.random(N).tolist(), [f"e{i}" for i in range(N)]
VERIFIED = bp.labels.VerifiedSample


def coded(values, missing=True):
    """Return a column of two chunks, each with a dictionary of its own, in which a value is missing."""
    values = [None if missing and place == 7 else value for place, value in enumerate(values)]
    return pa.chunked_array([pa.array(part).dictionary_encode() for part in (values[:25], values[25:])])


def frame(**columns):
    whole = {"actual": Y, "predicted": P, "site": SITE, "id": IDS}
    return pa.table({name: coded(values, missing=False) for name, values in whole.items()} | columns)


DOORS = {
    "y_true": lambda: CM.from_predictions(coded(Y), P),
    "y_pred": lambda: CM.from_predictions(Y, coded(P)),
    "by": lambda: CM.from_predictions(Y, P, by={"site": coded(SITE)}),
    "cluster": lambda: CM.from_predictions(Y, P, cluster={"site": coded(SITE)}),
    "example": lambda: CM.from_predictions(Y + Y, P + Y, by={"model": ["A"] * N + ["B"] * N}, example=coded(IDS + IDS)),
    "scores": lambda: bp.roc_auc(Y, coded(SCORE), pos_label="a"),
    "labels of scores": lambda: bp.roc_auc(coded(Y), SCORE, pos_label="a"),
    "probabilities of classes": lambda: bp.curves.calibration(
        Y, {"a": coded(SCORE), "b": (1 - np.array(SCORE)).tolist()}
    ),
    "by of a decision curve": lambda: bp.decision_curve(Y, SCORE, by={"site": coded(SITE)}, pos_label="a"),
    "judge": lambda: VERIFIED.from_predictions(Y, P, judge=coded(P)),
    "frame, actual": lambda: CM.from_frame(frame(actual=coded(Y)), actual="actual", predicted="predicted"),
    "frame, by": lambda: CM.from_frame(frame(site=coded(SITE)), actual="actual", predicted="predicted", by=["site"]),
    "frame, cluster": lambda: CM.from_frame(
        frame(site=coded(SITE)), actual="actual", predicted="predicted", cluster="site"
    ),
    "frame, scores": lambda: bp.curves.BinnedScores.from_frame(
        frame(score=coded(SCORE)), actual="actual", score="score", bins=5, pos_label="a"
    ),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_what_is_missing_is_missing(door):
    with pytest.raises(ValueError, match="1 missing value"):
        door()


def test_labels_that_nobody_verified_may_be_missing():
    assert VERIFIED.from_predictions(coded(Y), P, judge=P).verified.sum() == N - 1


def test_chunks_may_have_different_dictionaries():
    expected = CM.from_predictions(Y, P, by={"site": SITE})
    for cm in (
        CM.from_predictions(coded(Y, missing=False), coded(P, missing=False), by={"site": coded(SITE, missing=False)}),
        CM.from_frame(frame(), actual="actual", predicted="predicted", by=["site"]),
    ):
        assert cm.counts.equals(expected.counts)
