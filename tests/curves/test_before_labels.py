"""Metrics before labels come: against labels drawn one by one, moments by hand, and what drift does."""

import numpy as np
import pytest
from scipy import special, stats

import bayesperf as bp
from bayesperf.core.errors import IdentifiabilityWarning, InputError

RNG = np.random.default_rng(3)
LABELLED = RNG.beta(2, 3, 400)
TRUTH = RNG.random(400) < special.expit(-0.4 + 0.8 * special.logit(LABELLED))
LINE = bp.curves.recalibrate(TRUTH, LABELLED, draws=4000)
NEW = RNG.beta(2, 3, 500)


def test_cells_are_those_of_labels_drawn_one_by_one():
    post = bp.curves.expected_metrics(NEW, LINE, threshold=0.45)
    intercept, slope = (LINE[name].joint_draws(4000).values.ravel() for name in ("intercept", "slope"))
    positive = np.random.default_rng(8).random((4000, 500)) < special.expit(
        intercept[:, None] + slope[:, None] * special.logit(NEW)
    )
    called = NEW >= 0.45
    own = {
        "accuracy": (positive == called).mean(1),
        "recall": positive[:, called].sum(1) / positive.sum(1),
        "precision": positive[:, called].mean(1),
    }
    for metric, values in own.items():
        error = values.std() * np.sqrt(2 / 4000)
        assert post[metric].mean().item() == pytest.approx(values.mean(), abs=4 * error)
        assert post[metric].sd().item() == pytest.approx(values.std(), rel=0.06)


def test_the_line_is_a_part_of_the_doubt():
    """The variance of the precision is that of labels under one line, plus that of its mean over lines."""
    post = bp.curves.expected_metrics(NEW, LINE, threshold=0.45)
    called = NEW[NEW >= 0.45]
    risks = LINE.predict(called).distribution.values[:, 0]
    within, between = (risks * (1 - risks)).sum(0).mean() / len(called) ** 2, risks.mean(0).var()
    assert post["precision"].sd().item() ** 2 == pytest.approx(within + between, rel=0.06)
    assert between > 0.3 * within


def test_drift_of_the_scores():
    same = bp.curves.expected_metrics(NEW, LINE).source.drift().iloc[0]
    expected = stats.ks_2samp(LABELLED, NEW)
    assert same["largest_difference"] == pytest.approx(expected.statistic)
    assert same["tail"] == pytest.approx(expected.pvalue)
    assert same["prob_higher"] == pytest.approx(stats.mannwhitneyu(NEW, LABELLED).statistic / (400 * 500))
    moved = bp.curves.expected_metrics(np.clip(NEW + 0.15, 0, LABELLED.max()), LINE)
    assert moved.source.drift()["tail"].item() < 1e-6
    assert "of pairs, the new example has the higher one" in moved.in_words()
    assert "hold only while they mean the same" in moved.in_words()


def test_probabilities_beyond_the_labelled_ones_warn():
    far = np.concatenate([NEW, np.full(60, 0.9999)])
    with pytest.warns(IdentifiabilityWarning, match="BP407"):
        bp.curves.expected_metrics(far, LINE)


def test_all_or_none_called_positive():
    post = bp.curves.expected_metrics(NEW[NEW > 0.3], LINE, threshold=0.2)
    assert post["recall"].mean().item() == 1
    assert post["precision"].mean().item() == pytest.approx(LINE.predict(NEW[NEW > 0.3]).mean().mean().item(), abs=0.01)


def test_refused():
    with pytest.raises(TypeError, match="recalibration must come from recalibrate"):
        bp.curves.expected_metrics(NEW, TRUTH)
    with pytest.raises(InputError, match="whose log-odds are infinite"):
        bp.curves.expected_metrics([*[0.2] * 40, 1.0], LINE)
    with pytest.raises(InputError, match="before they have labels"):
        bp.curves.expected_metrics(NEW, LINE).predict(10)


def test_a_metric_that_no_label_can_show_and_probabilities_without_log_odds():
    rng = np.random.default_rng(0)
    y_prob = rng.uniform(size=200)
    line = bp.curves.recalibrate(rng.random(200) < y_prob, y_prob)
    post = bp.curves.expected_metrics(y_prob, line, threshold=0.9999)
    assert post["precision"].in_words().startswith("Precision is undefined (0/0).")
    with pytest.raises(ValueError, match="y_prob"):
        bp.curves.expected_metrics([0.0, 0.3], line)
