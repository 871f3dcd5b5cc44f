"""Posteriors of any counts, under any prior, have figures that are finite or said to be undefined."""

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
    prevalences,
    priors,
    properties,
    unchanged,
    within,
)


def of_case(data, classes=(2, 3, 5), some=False):
    """Return a matrix and its posterior, under any prior and design, at any prevalence."""
    cm = data.draw(matrices(classes, some=some))
    prior = data.draw(priors(len(cm.labels)))
    design = data.draw(st.sampled_from(["joint", "by_actual"]))
    p = data.draw(st.none() | prevalences(len(cm.labels)))
    with unchanged(cm, prior, p):
        post = bp.posterior(cm, prior, design, random_seed=data.draw(SEEDS), draws=500)
        return cm, post if p is None else post.at_prevalence(p)


@properties(15)
@given(data=st.data())
def test_any_metric(data):
    cm, post = of_case(data)
    name, prob = data.draw(metrics(len(cm.labels))), data.draw(PROBS)
    with unchanged(cm, post), or_refused():
        marginal = post[name]
        check_marginal(marginal, prob)
        within(marginal.joint_draws(20), marginal.bounds, undefined=1)
        observed = post.observed_score(name)
        within(observed, marginal.bounds, undefined=1, infinite=True)


@pytest.mark.slow
@properties(3)
@given(data=st.data())
def test_summaries_and_what_follows_from_a_posterior(data):
    cm, post = of_case(data, some=True)
    kind, prob = data.draw(st.sampled_from(["hdi", "eti"])), data.draw(PROBS)
    n = data.draw(st.sampled_from([None, 1, 2, 100]))
    with unchanged(cm, post), or_refused():
        check_table(post.summary(ci_prob=prob, ci_kind=kind))
        check_table(post.update(cm).summary(ci_prob=prob, ci_kind=kind))
        # Of a single example most metrics are undefined.
        check_table(post.predict(n, draws=50).summary(ci_prob=prob, ci_kind=kind))


@pytest.mark.slow
@properties(4)
@given(data=st.data())
def test_joint_requirements_and_ranks(data):
    cm = data.draw(matrices(leading=(0,)))
    prior = data.draw(priors(len(cm.labels), dirichlet=True))
    post = bp.posterior(cm, prior, draws=500)
    bounds = {"accuracy": data.draw(st.floats(0, 1)), "fpr_macro": data.draw(st.floats(0, 1))}
    with unchanged(cm, prior, post, bounds):
        joint = post.prob_joint(bounds)
        ranks = post.ranks("recall_per_class")
    within(joint, (0, 1))
    within(joint.attrs["mcse"], (0, 1))
    np.testing.assert_allclose(ranks.sum("rank"), 1)
    within(ranks, (0, 1))


@pytest.mark.slow
@properties(3)
@given(matrices(classes=(2, 3), leading=(0,)))
def test_sensitivity_to_the_prior(cm):
    with unchanged(cm):
        table = bp.prior.sensitivity(cm, "accuracy")
    ordered(table[["ci_lower", "ci_upper"]].values, (0, 1))
