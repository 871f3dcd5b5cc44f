"""Plans from any evidence are whole numbers whose target is met, or say that it is out of reach."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesperf as bp
from tests.properties._cases import matrices, or_refused, ordered, priors, properties, unchanged, within

TRIALS = st.tuples(st.integers(0, 300), st.integers(0, 300)).map(lambda pair: (min(pair), max(1, *pair)))
METRICS = st.sampled_from(["recall", "fpr", "precision", "accuracy", "error_rate", "f1", "jaccard"])
QUESTIONS = st.sampled_from(["meet", "settle"])


def check_plan(make, *inputs):
    with unchanged(*inputs), or_refused():
        try:
            plan = make()
        except bp.plan.UnreachableError as error:
            within(error.limit, (0, 1))
            return
        most = np.inf if plan.aim == "width" else 1
        assert plan.reached >= plan.target if plan.aim == "assurance" else plan.reached <= plan.target
        within(plan.reached, (0, most))
        within(plan.curve([0, plan.n, 2 * plan.n]), (0, most))
        assert repr(plan)


@properties(5)
@given(TRIALS, METRICS, st.floats(0.05, 0.95), st.floats(0.55, 0.99), st.floats(0.1, 0.95), QUESTIONS)
def test_sample_size(evidence, metric, requirement, confidence, assurance, question):
    def make():
        return bp.plan.sample_size(requirement, confidence, assurance, metric, evidence=evidence, question=question)

    if metric not in ("accuracy", "error_rate"):
        check_plan(make, evidence)


@pytest.mark.slow
@properties(8)
@given(TRIALS, TRIALS, st.floats(-0.3, 0.3), st.floats(0.55, 0.99), st.floats(0.1, 0.9), QUESTIONS)
def test_comparison(a, b, margin, confidence, assurance, question):
    def make():
        return bp.plan.comparison(
            a, b, "recall", margin=margin, confidence=confidence, assurance=assurance, question=question
        )

    check_plan(make, a, b)


@pytest.mark.slow
@properties(5)
@given(TRIALS, st.floats(0.02, 0.9), st.floats(0.5, 0.99), st.none() | st.floats(0.1, 0.9))
def test_precision(evidence, width, confidence, assurance):
    check_plan(lambda: bp.plan.interval_width(width, confidence, evidence=evidence, assurance=assurance), evidence)


@properties(5)
@given(data=st.data(), requirement=st.floats(0.05, 0.95), kind=st.sampled_from(["hdi", "eti"]))
def test_monitor(data, requirement, kind):
    cm = data.draw(matrices(classes=(2,), dim="step", leading=(4,)))
    with unchanged(cm):
        watched = bp.monitor(cm, requirement, prior=data.draw(priors(2, dirichlet=True)), ci_kind=kind)
    within(watched.dataset["prob_met"], (0, 1))
    within(watched.dataset["mean"], (0, 1))
    ordered(watched.dataset["interval"], (0, 1))
