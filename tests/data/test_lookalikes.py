"""Labels that look the same and are not."""

import warnings

import pandas as pd
import pytest

import bayesperf as bp
from tests.shared.counts import CM, PairedCM

ALIKE = {
    "a blank behind": ("cat", "cat "),
    "a blank before": (" cat", "cat"),
    "two blanks": ("black cat", "black  cat"),
    "a blank that does not break": ("black cat", "black\u00a0cat"),
    "no width": ("cat", "ca\u200bt"),
    "an accent in two forms": ("caf\u00e9", "cafe\u0301"),
}


@pytest.mark.parametrize(("first", "second"), ALIKE.values(), ids=ALIKE)
def test_labels_that_differ_by_blanks_only_are_said(first, second):
    labels = [first, second, "dog"]
    with pytest.warns(
        bp.errors.LabelWarning, match="^y_true and y_pred: .* differ by blanks only, and count as two"
    ) as caught:
        cm = CM.from_predictions(labels, labels)
    assert len(cm.labels) == 3
    assert caught[0].filename == __file__


@pytest.mark.parametrize("labels", [["Cat", "cat"], ["cat", "cats"], [1, 2], [True, False]])
def test_labels_that_differ_visibly_are_not(labels):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CM.from_predictions(labels, labels)


def test_systems_and_pairs_and_frames_are_looked_at_too():
    with pytest.warns(bp.errors.LabelWarning, match=r"^by\['model'\]: 'a' and 'a ' differ"):
        CM.from_predictions([0, 1], [0, 1], by={"model": ["a", "a "]})
    with pytest.warns(bp.errors.LabelWarning, match="^y_true and y_pred_a and y_pred_b: "):
        PairedCM.from_predictions(["a", "a "], ["a", "a"], ["a", "a"])
    frame = pd.DataFrame({"actual": ["a", "a ", "b"], "predicted": ["a", "b ", "b"]})
    with pytest.warns(
        bp.errors.LabelWarning, match=r"'a' and 'a ' differ by blanks only, and count as two \(and 1 more\)"
    ):
        CM.from_frame(frame, actual="actual", predicted="predicted")
