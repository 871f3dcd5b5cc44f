"""Confidence intervals of any counts are in order and inside the bounds, or refused as undefined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesperf as bp
from bayesperf.intervals.proportions import METHODS, METHODS_OF_DIFFERENCES
from tests.properties._cases import COUNTS, SEEDS, matrices, metrics, or_refused, ordered, properties, unchanged

CONFIDENCE = st.sampled_from([0.01, 0.5, 0.95, 1 - 1e-9])
TRIALS = st.tuples(COUNTS, COUNTS).map(lambda pair: (min(pair), max(1, *pair)))


@properties(20)
@given(st.lists(TRIALS, min_size=1, max_size=4), st.sampled_from(sorted(METHODS)), CONFIDENCE)
def test_proportion(pairs, method, confidence):
    k, n = np.array(pairs).T
    with unchanged(k, n):
        limits = bp.intervals.proportion(k, n, confidence=confidence, method=method)
    ordered(limits, (0, 1))


@properties(30)
@given(TRIALS, TRIALS, st.sampled_from(sorted(METHODS_OF_DIFFERENCES)), CONFIDENCE)
def test_proportion_difference(a, b, method, confidence):
    with unchanged(a, b):
        limits = bp.intervals.proportion_difference(*a, *b, confidence=confidence, method=method)
    ordered(limits, (-1, 1))


def of_metric(data, interval):
    """Check an interval of any metric of any matrix that has examples."""
    cm = data.draw(matrices(some=True))
    metric = bp.metrics.get(data.draw(metrics(len(cm.labels))))
    with unchanged(cm), or_refused():
        ordered(interval(cm, metric), metric.bounds)


@pytest.mark.slow
@properties(30)
@given(data=st.data(), confidence=CONFIDENCE, design=st.sampled_from(["joint", "by_actual"]))
def test_delta(data, confidence, design):
    def interval(cm, metric):
        low, high = metric.bounds
        transforms = [None, *["logit"] * bool(np.isfinite([low, high]).all()), *["log"] * (low == 0)]
        transform = data.draw(st.sampled_from(transforms))
        return bp.intervals.delta(cm, metric, confidence, transform, design=design)

    of_metric(data, interval)


@pytest.mark.slow
@properties(20)
@given(data=st.data(), confidence=CONFIDENCE, design=st.sampled_from(["joint", "by_actual"]), seed=SEEDS)
def test_bootstrap(data, confidence, design, seed):
    def interval(cm, metric):
        method = data.draw(st.sampled_from(["percentile", "basic", "bca"]))
        return bp.intervals.bootstrap(cm, metric, confidence, method, 50, seed, design=design)

    of_metric(data, interval)


@properties(15)
@given(data=st.data(), confidence=CONFIDENCE)
def test_wilson_f1(data, confidence):
    cm = data.draw(matrices(classes=(2,)))
    with unchanged(cm), or_refused():
        ordered(bp.intervals.wilson_f1(cm, confidence), (0, 1))
