"""What more examples are worth to a decision, against data sets that are drawn and decided upon one by one."""

import numpy as np
import pytest

import bayesperf as bp
from bayesperf.core.words import chance

FRAME = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")[:80]
Y, PROB = FRAME["actual"] == "malignant", FRAME["score"]
T = 0.1


def plan(**options):
    return bp.plan.decision(Y, PROB, threshold=T, **options)


def value_by_brute_force(n, simulations, rng):
    """Return the mean gain of deciding after n more examples, and its standard error, without any code of the package.

    A state of the world is drawn from the posterior, a data set from it, and the strategy is taken that is the best by
    both together; what it gains is its true net benefit less that of the strategy that is the best as things stand.
    """
    called = PROB >= T
    counts = np.array([(Y & called).sum(), (Y & ~called).sum(), (~Y & called).sum(), (~Y & ~called).sum()]) + 0.5
    worth = np.array([[1, 0, -T / (1 - T), 0], [1, 1, -T / (1 - T), -T / (1 - T)], [0, 0, 0, 0]])
    now = (worth @ counts).argmax()
    gains = np.empty(simulations)
    for i in range(simulations):
        world = rng.dirichlet(counts)
        then = (worth @ (counts + rng.multinomial(n, world))).argmax()
        gains[i] = (worth[then] - worth[now]) @ world
    return gains.mean(), gains.std() / np.sqrt(simulations)


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 2000])
def test_value_by_brute_force(n):
    expected, error = value_by_brute_force(n, 40_000, np.random.default_rng(1))
    # The plan's own error is that of as many draws again, of a maximum that varies less than the gain of one state.
    found = plan(draws=40_000).curve(n).item()
    assert abs(found - expected) < 4 * np.sqrt(2) * error


@pytest.mark.slow
def test_so_many_bring_the_share():
    found = plan()
    perfect = found.limit
    assert abs(found.curve(found.n).item() / perfect - 0.9) < 0.05
    assert found.curve(found.n // 3).item() < 0.9 * perfect
    assert plan(share=0.5).n < found.n
    assert found.reached == found.curve(found.n).item()
    assert found.target == 0.9 * perfect


def test_nothing_to_gain():
    settled = bp.plan.decision(np.repeat([0, 1], 500), np.repeat([0.01, 0.99], 500), threshold=0.5, draws=500)
    assert settled.n == 0
    assert settled.model.best == "system"
    assert settled.in_words().endswith("More examples would not change that.")
    assert settled.limit == settled.reached == settled.curve(100).item() == 0


@pytest.mark.slow
def test_words_have_the_figures():
    found = plan()
    text = found.in_words()
    assert f"treating all is the best so far, with probability {chance(found.model.prob_best)}" in text
    assert f"about {found.n:,} more examples are expected to bring 90 % of that" in text.lower()
    assert f"{found.n} examples" in repr(found)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": 0}, "threshold"),
        ({"threshold": 0.1, "share": 1}, "share"),
        ({"threshold": 0.1, "draws": 1}, "draws"),
    ],
)
def test_what_cannot_be_planned_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        bp.plan.decision(Y, PROB, **options)
