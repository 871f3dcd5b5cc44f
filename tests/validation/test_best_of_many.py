"""The study of the best of many systems, against simulations made by hand; and the figures that it is known for."""

import numpy as np
import pytest
from scipy import special, stats

import bayesperf as bp
from validation import best_of_many
from validation.study import run

pytestmark = pytest.mark.slow

FOUR = {"systems": 4, "spread": [0.0, 0.5], "examples": 30, "accuracy": 0.7, "draws": 200}


@pytest.fixture
def drawn(monkeypatch):
    """Return which examples each system got right, the true accuracies and what came of it, of each simulation."""
    seen, original = [], best_of_many._outcomes

    def noted(right, truth, *arguments):
        seen.append((right, truth, original(right, truth, *arguments)))
        return seen[-1][-1]

    monkeypatch.setattr(best_of_many, "_outcomes", noted)
    return seen


@pytest.mark.parametrize("paired", [False, True])
def test_three_simulations_by_hand(drawn, paired):
    study = run(best_of_many.STUDY, 3, **FOUR, paired=paired)
    bias, covered = [], []
    for right, truth, _ in drawn:
        a, b = right.sum(-1) + 0.5, (~right).sum(-1) + 0.5
        best = (a / (a + b)).argmax()
        low, high = stats.beta(a[best], b[best]).ppf([0.025, 0.975])
        covered.append(low <= truth[best] <= high)
        bias.append(a[best] / (a[best] + b[best]) - truth[best])
    alone = study.sel(analysis="alone")
    np.testing.assert_allclose(alone["bias"], np.reshape(bias, (3, 2)).mean(0))
    np.testing.assert_allclose(alone["coverage"], np.reshape(covered, (3, 2)).mean(0))
    np.testing.assert_allclose(alone["bias_mcse"], np.reshape(bias, (3, 2)).std(0) / np.sqrt(3))
    assert (drawn[0][1] == pytest.approx(0.7)) & (np.ptp(drawn[1][1]) > 0)
    assert (study["bias"].sel(analysis="shrunk") < alone["bias"]).all()


@pytest.mark.parametrize("paired", [False, True])
def test_the_shrunk_best_is_that_of_compare(drawn, paired):
    run(best_of_many.STUDY, 2, systems=3, spread=[0.3], examples=40, paired=paired, draws=500)
    for right, truth, found in drawn:
        actual, predicted, model = np.ones(right.size, int), right.ravel().astype(int), np.repeat(range(3), 40)
        options = {"labels": [0, 1], "by": {"model": model}}
        if paired:
            options["example"] = np.tile(range(40), 3)
        cm = bp.ConfusionMatrix.from_predictions(actual, predicted, **options)
        apart = {} if paired else {"independent": True}
        compared = bp.compare(cm if paired else bp.posterior(cm), metric="recall", draws=500, shrink=True, **apart)
        best = compared.shrunk.mean().values.argmax()
        low, high = compared.shrunk.eti().values[best]
        assert found["width"][1] == pytest.approx(high - low)
        assert found["bias"][1] == pytest.approx(compared.shrunk.mean().values[best] - truth[best])


@pytest.mark.parametrize("paired", [False, True])
def test_systems_err_together_only_on_the_same_examples(drawn, paired):
    n = 20_000
    run(best_of_many.STUDY, 2, systems=3, spread=[0.4], examples=n, paired=paired, difficulty=0.6, draws=10)
    for right, truth, _ in drawn:
        np.testing.assert_allclose(right.mean(-1), truth, atol=5 * 0.5 / np.sqrt(n))
        limits = special.ndtri(truth[:2])
        both = stats.multivariate_normal(cov=[[1, 0.6 * paired], [0.6 * paired, 1]]).cdf(limits)
        assert (right[0] & right[1]).mean() == pytest.approx(both, abs=5 * 0.5 / np.sqrt(n))


def test_populations_are_what_they_are_called(drawn):
    options = {"systems": 400, "spread": [0.1], "examples": 20, "draws": 10}
    run(best_of_many.STUDY, 2, **options, population=(100, -1.4))
    run(best_of_many.STUDY, 2, **options, population="heavy_tails")
    logits = np.array([special.logit(truth) for _, truth, _ in drawn]) - special.logit(0.8)
    np.testing.assert_allclose(logits[:2, :100].mean(1), -1.4, atol=4 * 0.1 / np.sqrt(100))
    np.testing.assert_allclose(logits[:2, 100:].mean(1), 0, atol=4 * 0.1 / np.sqrt(300))
    # Of Student's t 1 in 8 is beyond 2.5 times the scale (.065 on each side), of a normal 1 in 80.
    assert (abs(logits[2:]) > 0.25).mean() == pytest.approx(2 * stats.t(2).sf(2.5), abs=4 * np.sqrt(0.13 * 0.87 / 800))


def test_what_is_said_of_being_the_best_is_counted_and_ties_are_shared(drawn):
    study = run(best_of_many.STUDY, 3, **FOUR)
    assert (study["is_best"].sel(spread=0) == 0.25).all()
    best = [found["is_best"] for _, truth, found in drawn if np.ptp(truth) > 0]
    np.testing.assert_allclose(study["is_best"].sel(spread=0.5), np.mean(best, 0))
    assert set(np.ravel(best)) <= {0.0, 1.0}
    assert (study["prob_best"] > 0.25).all()


def of_best_alone(systems, spread, n=200, accuracy=0.8, prob=0.95):
    """Return coverage and bias of the best of systems judged apart, by enumeration of its right answers."""
    right = np.arange(n + 1)
    a, b = right + 0.5, n - right + 0.5
    low, high = stats.beta(a, b).ppf(np.array([[1 - prob, 1 + prob]]).T / 2)
    # The logits at the middles of 4,000 steps of equal probability.
    logits = special.logit(accuracy) + spread * special.ndtri((np.arange(4000) + 0.5) / 4000)
    truth = special.expit(logits)[:, None]
    joint = stats.binom(n, truth).pmf(right) / 4000
    each = joint.sum(0)
    best = np.diff(np.concatenate([[0], np.cumsum(each) ** systems])) / each
    inside = (low <= truth) & (truth <= high)
    return (best * joint * inside).sum(), (best * joint * (a / (a + b) - truth)).sum()


def test_of_many_systems_the_shrunk_best_covers():
    """By itself as enumerated, shrunk as in a simulation made apart from this package."""
    study = run(best_of_many.STUDY, 150, draws=1000)
    alone, shrunk = (study.sel(analysis=analysis) for analysis in best_of_many.ANALYSES)
    coverage, bias = np.transpose([of_best_alone(50, spread) for spread in study["spread"].values])
    error = np.sqrt(coverage * (1 - coverage) / 150)
    np.testing.assert_array_less(abs(alone["coverage"] - coverage), 4 * error)
    np.testing.assert_array_less(abs(alone["bias"] - bias), 4 * alone["bias_mcse"])
    expected = np.array([1.0, 0.95, 0.95])
    np.testing.assert_array_less(abs(shrunk["coverage"] - expected), 4 * np.sqrt(0.95 * 0.05 / 150))
    np.testing.assert_array_less(abs(shrunk["bias"]), alone["bias"] / 4 + 2 * shrunk["bias_mcse"])
