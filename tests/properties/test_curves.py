"""Curves of any scores, tied, separated or infinite, stay in the unit square."""

import numpy as np
import polars as pl
import pymc  # noqa: F401  # which "binormal" loads, and which changes the recursion limit that Hypothesis watches
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import bayesperf as bp
from bayesperf.curves.roc.threshold_curve import CONFIDENCE_INTERVALS
from tests.properties._cases import (
    SEEDS,
    check_marginal,
    labelled_scores,
    or_refused,
    ordered,
    properties,
    unchanged,
    within,
)

CURVES = st.sampled_from([bp.roc_curve, bp.precision_recall_curve, bp.curves.det_curve])


@properties(8)
# A threshold of inf is kept for "nothing is called positive", so curves refuse such scores.
@given(labelled_scores(ends=(-np.inf,)), CURVES, st.sampled_from(["bayesian_bootstrap", "beta"]), SEEDS)
def test_curves(case, make, method, seed):
    y, score = case
    with unchanged(y, score):
        curve = make(y, score, method=method, draws=50, random_seed=seed)
        band = curve.band()
        for variable in band.values():
            ordered(variable.transpose(..., "ci_bound"), (0, 1))
        for variable in curve.dataset.values():
            within(variable, (0, 1), undefined=1)
        if make is bp.roc_curve:
            check_marginal(curve.partial_area(0.1, 0.4))
            point = curve.operating_point(fpr=0.2)
            within(point["recall"].mean(), (0, 1))


@pytest.mark.slow
@properties(13)
@given(
    labelled_scores(ends=(-np.inf,)),
    CURVES,
    st.sampled_from(CONFIDENCE_INTERVALS),
    st.sampled_from([0.01, 0.5, 0.95, 1 - 1e-9]),
)
def test_confidence_bands_hold_the_curve_and_each_other(case, make, method, prob):
    y, score = case
    with unchanged(y, score):
        curve = make(y, score, draws=10)
        band, wider = curve.band(prob, method=method), curve.band(1 - (1 - prob) / 2, method=method)
        for name, limits in band.items():
            ordered(limits, (0, 1))
            lower, upper = limits.values.T
            observed = curve.dataset[name].values
            assert (lower <= observed + 1e-9).all()
            assert (observed - 1e-9 <= upper).all()
            assert (wider[name].values[:, 0] <= lower + 1e-9).all()
            assert (upper - 1e-9 <= wider[name].values[:, 1]).all()


@pytest.mark.slow
@properties(8)
@given(labelled_scores(ends=(-np.inf, np.inf)), SEEDS)
def test_areas(case, seed):
    y, score = case
    with unchanged(y, score):
        check_marginal(bp.roc_auc(y, score, draws=300, random_seed=seed))
        check_marginal(bp.roc_auc(y, score, method="pairs"))
        check_marginal(bp.curves.weighted_score("average_precision", y, score, draws=300, random_seed=seed))


@pytest.mark.slow
@properties(8)
@given(labelled_scores(least=2), st.integers(1, 9), SEEDS)
def test_binned_scores(case, bins, seed):
    y, score = case
    frame = pl.DataFrame({"y": y, "score": score})
    limits = np.min(score), np.max(score)
    # Bins too narrow for different edges are refused.
    assume(limits[1] - limits[0] > 1e-12 * np.abs(limits).max())
    with unchanged(frame), or_refused():
        binned = bp.curves.BinnedScores.from_frame(frame, actual="y", score="score", bins=bins, limits=limits)
        assert binned.class_totals == (int((y == 0).sum()), int(y.sum()))
        check_marginal(bp.roc_auc(binned, draws=300, random_seed=seed))
        check_marginal(bp.curves.weighted_score("average_precision", binned, draws=300, random_seed=seed))
        ordered(bp.roc_curve(binned, draws=50, random_seed=seed).band()["recall"].transpose(..., "ci_bound"), (0, 1))
        areas = [bp.roc_auc(*data, method="delong").mean().item() for data in ((y, score), (binned,))]
        assert abs(areas[0] - areas[1]) <= binned.binning_error + 1e-12


@properties(8)
@given(labelled_scores(least=2), st.sampled_from([("delong", None), ("delong", "logit"), ("binormal", None)]))
def test_areas_by_assumption(case, kind):
    y, score = case
    method, transform = kind
    with unchanged(y, score), or_refused():
        check_marginal(bp.roc_auc(y, score, method=method, transform=transform, draws=300))


@pytest.mark.slow
@properties(8)
@given(labelled_scores(least=2, systems=2), st.sampled_from(["bayesian_bootstrap", "delong"]))
def test_comparison_of_areas(case, method):
    y, a, b = case
    with unchanged(y, a, b):
        comparison = bp.compare(bp.roc_auc(y, {"a": a, "b": b}, method=method, draws=300))
        check_marginal(comparison.difference)
        within(comparison.prob_greater, (0, 1))
        check_marginal(bp.compare(bp.roc_auc(y, {"a": a, "b": b}, fpr=(0.1, 0.4), draws=100)).difference)
        check_marginal(
            bp.compare(bp.curves.weighted_score("average_precision", y, {"a": a, "b": b}, draws=100)).difference
        )
        curves = bp.roc_curve(y, {"a": a, "b": b}, draws=50)
        ordered(curves.band()["recall"].transpose(..., "ci_bound"), (0, 1))
        check_marginal(bp.compare(curves.operating_point(fpr=0.2)["recall"]).difference)
        sides = (bp.roc_auc(y, score, method=method, draws=300) for score in (a, b))
        check_marginal(bp.compare(*sides, independent=True).difference)


@pytest.mark.slow
@properties(15)
@given(st.floats(0, 1), st.integers(1, 10**6), st.integers(1, 10**6))
def test_areas_of_reports(area, positives, negatives):
    check_marginal(bp.curves.auc_from_summary(area, positives, negatives))
    # By the other the ends have no width, and are warned of.
    check_marginal(bp.curves.auc_from_summary(np.clip(area, 1e-6, 1 - 1e-6), positives, negatives, "hanley_mcneil"))


@pytest.mark.slow
@properties(8)
@given(
    labelled_scores(systems=2),
    labelled_scores(),
    st.sampled_from(["far_frr", "precision_recall", "far", "frr"]),
    st.sampled_from(["hter", "f1", "mcc"]),
    st.sampled_from(["bayesian_bootstrap", "bootstrap"]),
)
def test_expected_performance(test, dev, criterion, metric, method):
    y, a, b = test
    # The same examples are refused: a threshold must be chosen on others.
    assume(not any(np.array_equal(dev, (y, score)) for score in (a, b) if len(y) == len(dev[0])))
    with unchanged(*dev, *test), or_refused():
        curves = [
            bp.curves.epc(
                dev, (y, score), criterion=criterion, metric=metric, alphas=[0.0, 0.4, 1.0], method=method, draws=60
            )
            for score in (a, b)
        ]
        bounds = bp.metrics.get(metric).bounds
        for curve in curves:
            within(curve.dataset[bp.metrics.get(metric).name], bounds, undefined=1)
            ordered(curve.band()[bp.metrics.get(metric).name], bounds, undefined=1)
            within(bp.curves.equal_error_threshold(*dev), (-np.inf, np.inf))
        both = bp.curves.epc((dev[0], dict.fromkeys("ab", dev[1])), (y, {"a": a, "b": b}), criterion=criterion,
                             metric=metric, alphas=[0.0, 0.4, 1.0], method=method, draws=60)  # fmt: skip
        check_marginal(both.contrast().difference)
