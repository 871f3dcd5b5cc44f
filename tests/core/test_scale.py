"""What memory would not hold, or what would take minutes, is refused in words before the work, with what to do."""

import numpy as np
import pytest

import bayesperf as bp

CLASSES = bp.ConfusionMatrix.from_table(np.eye(2000, dtype=int))
CLUSTERED = bp.ConfusionMatrix.from_predictions(range(2000), range(2000), cluster=np.arange(2000) % 5)
SITES = bp.ConfusionMatrix.from_counts(tp=[3] * 20_000, fn=1, fp=1, tn=5, dims=["site"])
TRUTH = np.arange(12_000) % 2
SCORES = dict.fromkeys(range(1000), np.arange(12_000.0))

REFUSED = {
    "cells of a flat prior": (
        lambda: bp.posterior(CLASSES, "flat").summary(),
        r"^draws: under the prior flat .* 2,500 draws of all 4,000,000 cells would take minutes\. Use prior='shared'",
    ),
    "stored cells": (
        lambda: bp.posterior(CLASSES).joint_draws(1000),
        r"^draws: 1,000 draws of 4,000,000 cells would take 64 GB of memory\. Ask for metrics",
    ),
    "wrong labels": (
        lambda: bp.labels.noise(CLASSES, 0.05),
        r"^draws: 10,000 draws of the cells of 2,000 classes would take 640 GB of memory\. Merge rare classes",
    ),
    "groups": (
        lambda: bp.pool(SITES, "site", "clusters").by_group,
        r"^draws: 10,000 draws of the cells of 20,000 sites would take 19 GB of memory\. Give at most 1,118 `draws`",
    ),
    "slices": (
        lambda: bp.slices(SITES),
        r"^draws: 4,000 draws of the rates of 20,000 slices would take 13 GB of memory\. Give at most 671 `draws`",
    ),
    "areas of systems": (
        lambda: bp.roc_auc(TRUTH, SCORES),
        r"^draws: 10,000 draws of 1,000 areas, of 12,000 examples, would take minutes\. Give at most 8,064 `draws`",
    ),
    "parts of curves of systems": (
        lambda: bp.roc_auc(TRUTH, SCORES, fpr=(0, 0.1)),
        r"^draws: 10,000 draws of 1,000 areas, of 12,000 examples, would take minutes\. Give at most 241 `draws`",
    ),
    "areas of very many systems": (
        lambda: bp.roc_auc(TRUTH[:100], {name: scores[:100] for name, scores in SCORES.items()}, draws=200_000),
        r"^draws: 200,000 draws of the areas of 1,000 systems would take 3 GB of memory\. Give at most 134,217 `draws`",
    ),
    "clusters": (
        lambda: bp.pool(CLUSTERED),
        r"^draws: 5,000 draws of 4,000,000 cells would take 320 GB of memory\. Merge rare classes",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_before_the_work(case):
    work, message = REFUSED[case]
    with pytest.raises(bp.InputError, match=message):
        work()
