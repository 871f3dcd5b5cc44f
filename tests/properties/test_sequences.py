"""Sequences of any labels, and of any dependence, have figures that are finite or refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesperf as bp
from tests.properties._cases import (
    SEEDS,
    check_marginal,
    check_table,
    or_refused,
    ordered,
    properties,
    unchanged,
    within,
)

CHAINS = st.sampled_from(["z_prev", "z_prev,g_prev"])
WEIGHTS = st.sampled_from([1e-3, 0.1, 0.5, 1.0, 100.0])


@st.composite
def sequences(draw):
    """Actual and predicted labels, in one sequence or two, single labels only among them."""
    n = draw(st.integers(4, 40))
    sides = [
        draw(st.lists(st.sampled_from([0, 0, 1][: draw(st.integers(2, 3))]), min_size=n, max_size=n)) for _ in "tp"
    ]
    by = draw(st.sampled_from([None, {"video": ["u"] * (n // 2) + ["v"] * (n - n // 2)}]))
    return np.array(sides[0]), np.array(sides[1]), by


@pytest.mark.slow
@properties(3)
@given(sequences(), CHAINS, WEIGHTS, st.sampled_from([0, 1]), SEEDS)
def test_posterior(case, chain, prior, order, seed):
    y_true, y_pred, by = case
    with unchanged(y_true, y_pred, {} if by is None else by):
        post = bp.sequences.posterior(
            y_true, y_pred, by, prior, order, chain=chain, labels=[0, 1], draws=200, random_seed=seed
        )
        for name in ("recall", "precision", "mcc"):
            check_marginal(post[name])
        check_table(post.predict(3, draws=50).summary())


@pytest.mark.slow
@properties(10)
@given(sequences(), CHAINS, WEIGHTS, SEEDS)
def test_dependence(case, chain, prior, seed):
    y_true, y_pred, by = case
    options = {"chain": chain, "labels": [0, 1]}
    with unchanged(y_true, y_pred):
        within(bp.sequences.design_effect(y_true, y_pred, "recall", by, prior, **options), (0, np.inf))
        factors = bp.sequences.bayes_factor(y_true, y_pred, by, prior, **options)
        assert np.isfinite(factors).all()
        checked = bp.sequences.check_independence(y_true, y_pred, by, "recall", prior, draws=100, **options)
        assert np.isfinite(checked["design_effect"])
        with or_refused():
            found = bp.sequences.autocorrelation(y_true, y_pred, by, [1], prior, draws=100, random_seed=seed, **options)
            assert all(np.isfinite(variable).all() for variable in found.values() if variable.dtype.kind == "f")


@properties(10)
@given(sequences(), st.sampled_from(["recall", "accuracy", "f1", "mcc"]), SEEDS)
def test_block_bootstrap(case, metric, seed):
    y_true, y_pred, by = case
    with unchanged(y_true, y_pred), or_refused():
        limits = bp.sequences.block_bootstrap(
            y_true, y_pred, metric, by=by, n_resamples=50, random_seed=seed, labels=[0, 1]
        )
        ordered(limits, bp.metrics.get(metric).bounds)
