"""Comparisons of any two systems have probabilities that add up and differences inside the bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesperf as bp
from tests.properties._cases import (
    PROBS,
    SEEDS,
    check_marginal,
    check_table,
    matrices,
    metrics,
    or_refused,
    ordered,
    priors,
    properties,
    unchanged,
    within,
)
from tests.shared.counts import pair_of


def check_comparison(comparison, prob=0.95):
    check_marginal(comparison.difference, prob)
    undefined = comparison.difference.undefined().values
    if not np.all(undefined < 1):
        return
    within(comparison.prob_greater, (0, 1))
    within(comparison.prob_rope, (0, 1))
    np.testing.assert_allclose(comparison.prob_rope.sum("rope"), 1, atol=1e-9)
    if comparison.quantity.greater_is_better is not None:
        within(comparison.expected_loss, (0, np.inf))
        np.testing.assert_allclose(comparison.ranks.sum("rank"), 1, atol=1e-9)
        within(comparison.prob_best, (0, 1))
    check_table(comparison.summary(prob))


@pytest.mark.slow
@properties(3)
@given(data=st.data())
def test_systems_judged_on_different_examples(data):
    a = data.draw(matrices(leading=(0,)))
    b = data.draw(matrices(classes=(len(a.labels),), leading=(0,)))
    sides = [bp.posterior(cm, data.draw(priors(len(a.labels))), draws=300) for cm in (a, b)]
    name, rope = data.draw(metrics(len(a.labels))), data.draw(st.sampled_from([0.0, 0.01, 0.5]))
    with unchanged(*sides), or_refused():
        comparison = bp.compare(*sides, name, rope=rope, draws=300, independent=True)
        check_comparison(comparison, data.draw(PROBS))


@pytest.mark.slow
@properties(5)
@given(data=st.data())
def test_several_systems_and_rules(data):
    cm = data.draw(matrices(leading=(3,)))
    post = bp.posterior(cm, data.draw(priors(len(cm.labels), dirichlet=True)), draws=300)
    rule = data.draw(st.sampled_from([None, "chance", "majority"]))
    metric = data.draw(st.sampled_from(["accuracy", "balanced_accuracy", "mcc", "f1_macro"]))
    with unchanged(post), or_refused():
        check_comparison(bp.compare(post, rule, metric, draws=300))


@properties(6)
@given(data=st.data(), seed=SEEDS)
def test_systems_judged_on_the_same_examples(data, seed):
    classes = data.draw(st.sampled_from([2, 3]))
    n = data.draw(st.integers(1, 40))
    rng = np.random.default_rng(seed)
    y, a, b = rng.integers(0, data.draw(st.integers(1, classes)), (3, n))
    pair = pair_of(y, a, b, labels=range(classes), pos_label=1 if classes == 2 else None)
    metric = bp.metrics.get(data.draw(metrics(classes)))
    prior = data.draw(priors(classes, dirichlet=True))
    with unchanged(pair, prior):
        if metric.average != "per_class":
            with or_refused():
                check_comparison(bp.compare(pair, metric=metric, prior=prior, draws=300))
        with or_refused():
            low, high = metric.bounds
            ordered(bp.intervals.delta(pair, metric, contrast="difference"), (low - high, high - low))


@properties(4)
@given(data=st.data())
def test_predictions(data):
    a, b = (data.draw(matrices(classes=(2,), leading=(0,), some=True)) for _ in "ab")
    sides = [bp.posterior(cm, data.draw(priors(2, dirichlet=True))) for cm in (a, b)]
    metric = data.draw(metrics(2))
    with unchanged(*sides), or_refused():
        n = data.draw(st.integers(1, 5))
        check_comparison(bp.compare(*(side.predict(n, 60) for side in sides), metric))


@properties(5)
@given(st.lists(st.integers(-3, 3), min_size=3, max_size=12), st.sampled_from([1e-9, 0.01, 1.0]), SEEDS)
def test_scores_of_folds_and_data_sets(steps, unit, seed):
    a = np.array(steps) * unit
    b = a[::-1].copy()
    with unchanged(a, b):
        comparison = bp.folds.correlated_ttest(a, b, test_fraction=0.1, rope=unit)
        within(comparison.prob_rope, (0, 1))
        ordered(comparison.difference.eti(), comparison.difference.bounds)
        for test in (bp.folds.sign_test, bp.folds.signed_rank_test):
            result = test(a, b, rope=unit, draws=200, random_seed=seed)
            within(result.prob_largest, (0, 1))
            within(result.prob_rope, (0, 1))


@properties(4)
@given(data=st.data())
def test_average_over_folds(data):
    cm = data.draw(matrices(dim="fold", leading=(3,)))
    post = bp.posterior(cm, data.draw(priors(len(cm.labels), dirichlet=True)), draws=300)
    with unchanged(post):
        marginal = bp.folds.average(post, data.draw(st.sampled_from(["accuracy", "recall_macro", "mcc"])))
        check_marginal(marginal)
