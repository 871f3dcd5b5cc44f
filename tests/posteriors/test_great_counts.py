"""Figures of counts as great as they may be, against the normal limit and simulation; more are refused."""

import numpy as np
import pytest
from scipy.special import ndtr

import bayesperf as bp
from tests.shared.counts import CM

CELLS = ("tn", "fp", "fn", "tp")
SAMPLE = bp.labels.VerifiedSample.from_predictions([0, 1, None, 1], [0, 1, 1, 0], judge=[0, 1, 1, 1])


def counted(*cells):
    return CM.from_counts(**dict(zip(CELLS, map(int, cells), strict=True)))


@pytest.mark.parametrize("metric", ["accuracy", "precision", "f1", "jaccard", "informedness"])
def test_figures_of_the_most_examples_are_normal(metric):
    shares = np.array([0.45, 0.05, 0.1, 0.4])
    marginal = bp.posterior(counted(*shares * 10**12))[metric]
    # The delta method, by finite differences: the posterior of 10¹² examples is normal to 1e-6.
    value = lambda tn, fp, fn, tp: {  # noqa: E731
        "accuracy": tn + tp, "precision": tp / (tp + fp), "f1": 2 * tp / (2 * tp + fp + fn),
        "jaccard": tp / (tp + fp + fn), "informedness": tp / (tp + fn) - fp / (fp + tn),
    }[metric]  # fmt: skip
    step = 1e-6
    slopes = np.array([(value(*(shares + e)) - value(*(shares - e))) / (2 * step) for e in step * np.eye(4)])
    sd = np.sqrt((shares @ slopes**2 - (shares @ slopes) ** 2) / 10**12)
    below, above = (np.array([marginal.median().item(), *marginal.hdi().values]) - value(*shares))[[1, 2]] / sd
    assert ndtr(above) - ndtr(below) == pytest.approx(0.95, abs=2e-4)
    assert (marginal.median().item() - value(*shares)) / sd == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("metric", ["p4", "cohen_kappa"])
def test_where_the_prevalence_alone_is_uncertain_figures_are_right(metric):
    cells = np.array([10**11, 10**11, 4, 10**6])
    marginal = bp.posterior(counted(*cells))[metric]
    drawn = np.random.default_rng(1).gamma(cells + 0.5, size=(200_000, 4))
    tn, fp, fn, tp = (drawn / drawn.sum(1, keepdims=True)).T
    if metric == "p4":
        values = 4 * tp * tn / (4 * tp * tn + (tp + tn) * (fp + fn))
    else:
        values = 2 * (tp * tn - fp * fn) / ((tp + fp) * (fp + tn) + (tp + fn) * (fn + tn))
    levels = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.975])
    reached = np.mean(values[:, None] <= marginal.ppf(levels).values, 0)
    # Errors of simulation, of these draws and of those that the distribution has.
    error = 4 * np.sqrt(levels * (1 - levels) * (1 / 200_000 + 1 / 10_000))
    assert (np.abs(reached - levels) < error).all()


@pytest.mark.parametrize(("cells", "words"), [
    ((10**15, 0, 0, 10**15), "which is more than 1e[+]12"),
    ((10**12, 1, 0, 10**12), "^counts have a matrix that adds up to 2e[+]12"),
])  # fmt: skip
def test_more_are_refused(cells, words):
    with pytest.raises(ValueError, match=words):
        counted(*cells)


@pytest.mark.parametrize("draw", [
    lambda n: bp.roc_auc([0, 1, 0, 1], [0.1, 0.7, 0.8, 0.9], draws=n),
    lambda n: bp.fit(counted(5, 2, 1, 7), draws=n),
    lambda n: bp.posterior(counted(5, 2, 1, 7)).predict(10, draws=n),
    lambda n: bp.labels.verify(SAMPLE, draws=n),
])  # fmt: skip
def test_draws_that_never_end_are_refused(draw):
    with pytest.raises(ValueError, match=r"^draws must be at most 10,000,000"):
        draw(2**70)
