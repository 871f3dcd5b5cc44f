"""Exact coverage of intervals for rates."""

import sys
from itertools import product

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf import studies
from bayesperf.metrics.exact_forms import RECALL, Proportion
from bayesperf.studies.interval_methods import OF_RATES, rate_intervals

Z = stats.norm.ppf(0.975)


def by_hand(method, k, n):
    """Return the interval of k successes in n trials as books have it."""
    p = k / n
    if method == "wald":
        half = Z * np.sqrt(p * (1 - p) / n)
        return max(p - half, 0), min(p + half, 1)
    if method == "wilson":
        centre, half = p + Z**2 / 2 / n, Z * np.sqrt(p * (1 - p) / n + Z**2 / 4 / n**2)
        return (centre - half) / (1 + Z**2 / n), (centre + half) / (1 + Z**2 / n)
    if method == "clopper_pearson":
        return (stats.beta.ppf(0.025, k, n - k + 1) if k else 0), (stats.beta.ppf(0.975, k + 1, n - k) if k < n else 1)
    weight = {"flat_eti": 1, "jeffreys_eti": 0.5}[method]
    return tuple(stats.beta.ppf([0.025, 0.975], k + weight, n - k + weight))


@pytest.mark.parametrize("method", ["wald", "wilson", "clopper_pearson", "flat_eti", "jeffreys_eti"])
def test_coverage_and_width_are_the_sums(method):
    n, rates = 17, [0.0, 0.03, 0.5, 0.812, 1.0]
    study = studies.rate_coverage(n, [method], rates).sel(interval=method)
    ends = np.array([by_hand(method, k, n) for k in range(n + 1)])
    for p in rates:
        # Rounding must not decide at the ends of [0, 1], where intervals end too.
        inside = (ends[:, 0] <= p + 1e-15) & (p - 1e-15 <= ends[:, 1])
        probability = stats.binom.pmf(np.arange(n + 1), n, p)
        assert study["coverage"].sel(p=p).item() == pytest.approx(probability @ inside, abs=1e-12)
        assert study["width"].sel(p=p).item() == pytest.approx(probability @ np.diff(ends)[:, 0], abs=1e-10)


def test_coverage_is_what_a_simulation_finds():
    n, rates, simulations = 30, np.array([0.02, 0.3, 0.9]), 200_000
    study = studies.rate_coverage(n, p=rates)
    k = np.random.default_rng(0).binomial(n, rates, (simulations, 3))
    for method in OF_RATES:
        ends = rate_intervals(method, RECALL, np.arange(n + 1), n, 0.95)
        covered = ((ends[k, 0] <= rates) & (rates <= ends[k, 1])).mean(0)
        exact = study["coverage"].sel(interval=method).values
        assert np.all(np.abs(covered - exact) <= 4 * np.sqrt(exact * (1 - exact) / simulations) + 1e-12), method


@pytest.mark.parametrize(("prior", "weight"), [("flat", 1.0), ("jeffreys", 0.5)])
@pytest.mark.parametrize("kind", ["hdi", "eti"])
@pytest.mark.parametrize("n", [1, 12])
@pytest.mark.parametrize(("metric", "cells"), [("recall", (1, 1)), ("accuracy", (2, 2)), ("jaccard", (1, 2))])
def test_a_posterior_covers_exactly_on_average_over_its_prior(prior, weight, kind, n, metric, cells):
    # Whatever the kind of interval. Between two ends of intervals coverage is a polynomial.
    name = f"{prior}_{kind}"
    ends = rate_intervals(name, bp.metrics.get(metric).exact_form(2), np.arange(n + 1), n, 0.95)
    # The Jeffreys density has poles, and none in u where p = sin²(πu/2).
    edges = 2 / np.pi * np.arcsin(np.sqrt(np.unique(np.r_[0, ends.ravel(), 1])))
    nodes, weights = np.polynomial.legendre.leggauss(16)
    u = edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2
    p = np.sin(np.pi * u / 2) ** 2
    density = stats.beta.pdf(p, weight * cells[0], weight * cells[1]) * np.pi * np.sqrt(p * (1 - p))
    coverage = studies.rate_coverage(n, [name], p.ravel(), metric=metric)["coverage"].values.reshape(p.shape)
    average = (coverage * density * weights / 2).sum(1) @ np.diff(edges)
    assert average == pytest.approx(0.95, abs=1e-9)


@pytest.mark.parametrize("metric", ["recall", "accuracy", "npv", "fpr", "jaccard"])
@pytest.mark.parametrize("prior", ["flat", "jeffreys"])
def test_the_intervals_are_those_of_the_posterior_of_the_matrix(metric, prior):
    n, form = 9, bp.metrics.get(metric).exact_form(2)
    assert isinstance(form, Proportion)
    cells = {"correct": "tp", "wrong": "fn"}
    success, failure = (cells.get(names[0], names[0]) for names in (form.success, form.failure))
    k = np.arange(n + 1)
    cm = bp.ConfusionMatrix.from_counts(
        **(dict.fromkeys(("tp", "fn", "fp", "tn"), 0 * k) | {success: k, failure: n - k})
    )
    for kind in ("hdi", "eti"):
        expected = bp.posterior(cm, prior)[metric].interval(0.9, kind)
        np.testing.assert_allclose(rate_intervals(f"{prior}_{kind}", form, k, n, 0.9), expected, atol=1e-12)


def test_flat_cells_miss_a_high_accuracy_and_jeffreys_do_not():
    """Flat cells give accuracy Beta(2, 2) and Jeffreys' Beta(1, 1); rates of one cell Beta(1, 1) and Beta(½, ½)."""
    high, sizes = np.arange(700, 1000) / 1000, (20, 50, 100, 200, 300)
    methods = ["flat_hdi", "flat_eti", "jeffreys_hdi"]
    accuracy = studies.rate_coverage(sizes, methods, high, metric="accuracy")["coverage"]
    worst = accuracy.min("p")
    np.testing.assert_allclose(worst.sel(interval="flat_hdi"), [0, 0.740, 0.740, 0.819, 0.741], atol=5e-4)
    assert worst.sel(interval="flat_eti", n=300).item() == pytest.approx(0.548, abs=5e-4)
    ours = accuracy.sel(interval="jeffreys_hdi")
    assert ours.min() > 0.90
    assert ours.sel(n=20).mean().item() == pytest.approx(0.957, abs=5e-4)
    assert abs(ours.mean("p") - 0.95).max() < 0.008
    recall = studies.rate_coverage(sizes, methods, metric="recall")["coverage"].sel(interval="jeffreys_hdi")
    assert recall.min().item() == pytest.approx(0.841, abs=5e-4)
    assert abs(recall.mean("p") - 0.945).max() < 0.01
    # With all of 20 right, accuracy is Beta(22, 2) under flat cells, whose density is 0 at 1: no interval reaches .998.
    assert accuracy.sel(interval="flat_hdi", n=20, p=slice(0.998, 1)).max() == 0
    lower, upper = rate_intervals("flat_hdi", bp.metrics.get("accuracy").exact_form(2), np.array([20]), 20, 0.95)[0]
    assert np.diff(stats.beta(22, 2).cdf([lower, upper])).item() == pytest.approx(0.95, abs=1e-9)
    assert stats.beta(22, 2).pdf(lower) == pytest.approx(stats.beta(22, 2).pdf(upper), rel=1e-6)
    assert upper < 0.998


def plus_four(k, n, confidence):
    """A function of one's own: Agresti & Coull's with two added on each side, not clipped."""
    centre = (k + 2) / (n + 4)
    half = stats.norm.ppf((1 + confidence) / 2) * np.sqrt(centre * (1 - centre) / (n + 4))
    return centre - half, centre + half


def enumerated(ends, n, p):
    """Return coverage, misses below and above, and mean width by summing over every sequence of n trials."""
    found = np.zeros(4)
    for trials in product((0, 1), repeat=n):
        k = sum(trials)
        lower, upper = ends[k]
        found += p**k * (1 - p) ** (n - k) * np.array([lower <= p <= upper, p < lower, p > upper, upper - lower])
    return found


def shortest(k, n, weight, prob):
    """Return the highest-density interval of Beta(k + λ, n − k + λ), by a search over quantiles."""
    beta = stats.beta(k + weight, n - k + weight)
    tails = np.linspace(0, 1 - prob, 20_001)
    ends = beta.ppf([tails, tails + prob])
    return ends[:, np.argmin(ends[1] - ends[0])]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["recall", "accuracy"])
def test_functions_and_weights_of_ones_own_by_enumeration(metric):
    n, rates = 7, [0.1, 0.47, 0.8]
    by_k = {
        "plus_four": lambda k: plus_four(k, n, 0.9),
        "<lambda>": lambda k: (k / 14, 0.5 + k / 14),
        "beta_0.3_eti": lambda k: stats.beta.ppf([0.05, 0.95], k + 0.3, n - k + 0.3),
        "beta_2.5_hdi": lambda k: shortest(k, n, 2.5, 0.9),
    }
    methods = [plus_four, lambda k, n, _: (k / 14, 0.5 + k / 14), "beta_0.3_eti", "beta_2.5_hdi", "wilson"]
    study = studies.rate_coverage(n, methods, rates, 0.9, metric=metric)
    assert study["interval"].values.tolist() == [*by_k, "wilson"] == study.attrs["methods"]
    for name, limits in by_k.items():
        ends = [limits(k) for k in range(n + 1)]
        for p in rates:
            found = study.sel(interval=name, p=p)
            figures = [found[figure].item() for figure in ("coverage", "lower_miss", "upper_miss", "width")]
            np.testing.assert_allclose(figures, enumerated(ends, n, p), atol=1e-5)


def test_weights_of_a_rate_are_those_of_the_rate_prior():
    """Beta(λ, λ) on the rate is `prior.rate(λ, λ)`; of recall λ = ½ and 1 are Jeffreys' and the flat one."""
    names = ["beta_0.5_hdi", "jeffreys_hdi", "beta_1_eti", "flat_eti"]
    coverage = studies.rate_coverage(30, names)["coverage"].values
    np.testing.assert_array_equal(coverage[::2], coverage[1::2])
    k, n, form = np.arange(12), 11, bp.metrics.get("accuracy").exact_form(2)
    cm = bp.ConfusionMatrix.from_counts(tp=k, fn=n - k, fp=0 * k, tn=0 * k)
    expected = bp.posterior(cm, bp.prior.rate(0.2, 0.2))["accuracy"].hdi(0.8)
    np.testing.assert_allclose(rate_intervals("beta_0.2_hdi", form, k, n, 0.8), expected, atol=1e-12)


def test_a_function_is_called_for_several_sizes_in_parallel():
    one = studies.rate_coverage((3, 6), [plus_four], [0.3], n_jobs=1)
    xr.testing.assert_identical(studies.rate_coverage((3, 6), [plus_four], [0.3], n_jobs=2), one)


def test_published_figures():
    # Brown, Cai & DasGupta (2001), Statistical Science 16, section 2: Wald's coverage at p = .5, where n = 17 is lucky
    # and n = 18 and 40 are not, and at p = .005 (Table 2).
    figures = {(0.5, 17): 0.951, (0.5, 18): 0.904, (0.5, 40): 0.919, (0.005, 591): 0.945, (0.005, 592): 0.792,
               (0.005, 953): 0.948, (0.005, 954): 0.852, (0.005, 1279): 0.875}  # fmt: skip
    for (p, n), published in figures.items():
        found = studies.rate_coverage(n, ["wald"], [p])["coverage"].item()
        assert found == pytest.approx(published, abs=5.1e-4), (p, n)


def test_the_figure_of_the_thesis():
    # Fig. 5, n = 100, as it is described: Clopper–Pearson never below 95 %; the other four near 95 % between .35 and
    # .65 and erratic near 0 and 1.
    methods = ["wilson", "clopper_pearson", "agresti_coull_add2", "flat_eti", "jeffreys_eti"]
    coverage = studies.rate_coverage(100, methods)["coverage"]
    assert (coverage.sel(interval="clopper_pearson") >= 0.95).all()
    others = coverage.drop_sel(interval="clopper_pearson")
    middle, ends = others.sel(p=slice(0.35, 0.65)), others.sel(p=slice(0.001, 0.02))
    assert abs(middle - 0.95).max() < 0.02
    assert (np.ptp(ends.values, axis=1) > 2 * np.ptp(middle.values, axis=1)).all()


def test_dims_and_settings():
    study = studies.rate_coverage((5, 9), ["wald", "flat_hdi"], [0.1, 0.2, 0.3], confidence=0.8)
    assert study["coverage"].dims == ("interval", "n", "p")
    assert study.attrs == {"n": [5, 9], "methods": ["wald", "flat_hdi"], "confidence": 0.8, "metric": "recall"}
    one = studies.rate_coverage(9, ["wald", "flat_hdi"], [0.1, 0.2, 0.3], confidence=0.8)
    assert one["width"].dims == ("interval", "p")
    xr.testing.assert_equal(one, study.sel(n=9))


def test_many_trials_are_summed_in_parts(monkeypatch):
    whole = studies.rate_coverage(40, ["wilson"])
    monkeypatch.setattr(sys.modules["bayesperf.studies.covering_rates"], "_BLOCK", 300)
    xr.testing.assert_allclose(studies.rate_coverage(40, ["wilson"]), whole, rtol=1e-13)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n must be a whole number of at least 1"),
        ({"n": 2.5}, "n must be a whole number of at least 1"),
        ({"methods": ["wald", "score"]}, "methods must be one of 'wilson', 'wald'"),
        ({"methods": []}, "methods must name at least one, and none twice"),
        ({"methods": ["wald", "wald"]}, "methods must name at least one, and none twice"),
        ({"methods": "wald"}, "methods must be a sequence of names; it is the string 'wald'. Write \\['wald'\\]"),
        (
            {"methods": [lambda k, n, c: k / n]},
            "must return the lower and the upper limit; of \\(0, 100, 0.95\\) it ret",
        ),
        ({"methods": [lambda k, n, c: (np.nan, 1)]}, "must return the lower and the upper limit"),
        ({"methods": [lambda k, n, c: (0.6, 0.5)]}, "it returned \\[0.6, 0.5\\]"),
        ({"methods": [lambda k, n, c: (0, 1), lambda k, n, c: (0, 1)]}, "none twice"),
        ({"methods": ["beta_0_hdi"]}, "methods: the weight in 'beta_0_hdi' must be greater than 0 and finite"),
        ({"methods": ["beta_x_hdi"]}, "methods: 'beta_x_hdi' must name a weight, as 'beta_0.3_hdi' does"),
        ({"p": [0.5, 1.1]}, "p must be rates in \\[0, 1\\]; it holds 1.1"),
        ({"p": ["a"]}, "p must be numbers"),
        ({"metric": "f1"}, "metric: f1 is not a proportion of examples, as recall and accuracy are"),
        ({"metric": "off_by_one"}, "metric: off_by_one is not a proportion"),
        ({"metric": "recall_macro"}, "metric: recall_macro is not a proportion"),
        ({"confidence": 95}, "confidence must be a number between 0 and 1"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        studies.rate_coverage(**options)
