"""Scores of the examples of either class."""

import pytest

from bayesperf.data.classifier_scores import Scores


@pytest.mark.parametrize(
    ("positive", "negative", "separated"),
    [
        ([0.4, 0.9], [0.1, 0.3], True),
        ([0.1, 0.3], [0.4, 0.9], True),
        ([0.2, 0.9], [0.1, 0.3], False),
        ([0.1, 0.3], [0.2, 0.9], False),
        ([0.3, 0.9], [0.1, 0.3], False),
        ([0.1, 0.9], [0.2, 0.3], False),
    ],
)
def test_scores_are_separated_if_all_of_one_class_are_above_all_of_the_other(positive, negative, separated):
    found = Scores.of([1] * len(positive) + [0] * len(negative), positive + negative)
    assert found.separated is separated
