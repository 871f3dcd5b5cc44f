"""Operating points of curves."""

import numpy as np
import pytest

import bayesperf as bp
from tests.shared.curves import DATA, every_data

TARGETS = [{"fpr": 0.1}, {"fpr": 0.5}, {"recall": 0.9}, {"recall": 0.35}, {"cost": (1, 5)}, {"cost": (2.0, 1, 0.02)}]
# Where both errors cost the same, several thresholds are as good: the lowest is taken.
TARGETS += [{"cost": (1, 1)}]


@pytest.mark.parametrize("target", TARGETS, ids=str)
@every_data
def test_observed_operating_point(data, target):
    """Every threshold is tried."""
    y, score = data
    tried = []
    for threshold in [np.inf, *np.unique(score)[::-1]]:
        fpr, recall = ((score[y == label] >= threshold).mean() for label in (0, 1))
        tried.append((threshold, fpr, recall))
    if "fpr" in target:
        expected = min(row for row in tried if row[1] <= target["fpr"])
    elif "recall" in target:
        expected = max(row for row in tried if row[2] >= target["recall"])
    else:
        of_fp, of_fn, *rest = target["cost"]
        share = rest[0] if rest else y.mean()
        costs = [(1 - share) * of_fp * fpr + share * of_fn * (1 - recall) for _, fpr, recall in tried]
        expected = min(row for row, cost in zip(tried, costs, strict=True) if cost <= min(costs) + 1e-12)
    point = bp.roc_curve(y, score, draws=10).operating_point(**target)
    found = [point[name].observed.item() for name in ("threshold", "fpr", "recall")]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_drawn_operating_points(target):
    """In every draw the rule holds, and for the next threshold it would not."""
    y, score = DATA["continuous"]
    curve = bp.roc_curve(y, score, draws=300)
    point = curve.operating_point(**target)
    values = {name: point[name].distribution.values.ravel() for name in ("threshold", "fpr", "recall")}
    fpr, recall = (np.concatenate(blocks) for blocks in zip(*curve._drawn_curves[0].rates(), strict=True))
    thresholds = [np.inf, *np.unique(score)[::-1]]
    share = np.random.default_rng([0, 1]).beta(40, 60, 300)
    for draw in range(300):
        at = thresholds.index(values["threshold"][draw])
        assert fpr[draw, at] == values["fpr"][draw]
        assert recall[draw, at] == values["recall"][draw]
        if "fpr" in target:
            assert fpr[draw, at] <= target["fpr"] < fpr[draw, at + 1]
        elif "recall" in target:
            assert recall[draw, at] >= target["recall"] > recall[draw, at - 1]
        else:
            of_fp, of_fn, *rest = target["cost"]
            pi = rest[0] if rest else share[draw]
            costs = (1 - pi) * of_fp * fpr[draw] + pi * of_fn * (1 - recall[draw])
            assert costs[at] == costs.min()


def test_threshold_of_a_false_positive_rate_is_a_quantile():
    """The threshold's distribution against that of the quantile in closed form: Beta order statistics.

    The lowest threshold with fpr ≤ t is at least a score if fpr just above it exceeds t.
    """
    negative = np.arange(1.0, 21)
    curve = bp.roc_curve(np.repeat([1, 0], [1, 20]), np.array([0.0, *negative]), draws=20_000)
    threshold = curve.operating_point(fpr=0.25)["threshold"]
    # Between the fifth and the sixth greatest the share above is at most ¼ if five and a half gaps of 21 are.
    gaps = np.random.default_rng(0).dirichlet(np.ones(21), 200_000)
    for k in (3, 5, 8):
        expected = (gaps[:, :k].sum(1) + gaps[:, k] / 2 <= 0.25).mean()
        found = (threshold.distribution.values <= 21 - k).mean()
        assert found == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 20_000) + 0.001)


def test_operating_point_shows_itself():
    y, score = DATA["separated"]
    curve = bp.roc_curve(y, score, draws=100)
    point = curve.operating_point(fpr=0.05)
    assert [marginal.observed.item() for marginal in point.values()] == [2.0, 0.0, 1.0]
    # Nothing may be called positive in draws in which even the greatest gap of the negatives is too likely.
    assert point["threshold"].eti(0.8).values[1] == np.inf
    assert point["fpr"].estimand == (
        "Bayesian bootstrap of the fpr, lowest threshold with fpr ≤ 0.05, by the examples that chose it"
    )
    assert repr(curve) == (
        "<bayesperf.curves.ThresholdCurve: roc by bayesian_bootstrap, 2 positives, 2 negatives>"
    )  # fmt: skip
