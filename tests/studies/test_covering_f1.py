"""Exact coverage of intervals for F1."""

import numpy as np
import pytest
import xarray as xr

import bayesperf as bp
from bayesperf import studies


def peers_error(rate, exact):
    # Others simulated, to three digits; how often is not said: at least 1,000 times, by their standard errors.
    return 4 * np.sqrt(exact * (1 - exact) / 1000) + 5e-4


@pytest.mark.parametrize(("design", "figures"), [("joint", {0.5: 0.952, 0.9: 0.943}),
                                                 ("by_actual", {0.5: 0.970, 0.9: 0.956})])  # fmt: skip
def test_figures_of_others(design, figures):
    # 100 positives and 100 negatives, flat prior, equal-tailed.
    for rate, found in figures.items():
        exact = studies.f1_coverage(200, ["flat_eti"], [rate], [rate], design=design)["coverage"].item()
        assert exact == pytest.approx(found, abs=peers_error(found, exact))


@pytest.mark.slow
@pytest.mark.parametrize("design", ["joint", "by_actual"])
def test_coverage_and_width_are_what_a_simulation_finds(design):
    n, prevalence, p, r, simulations = 40, 0.3, 0.7, 0.85, 20_000
    methods = ["flat_hdi", "jeffreys_eti", "wilson"]
    study = studies.f1_coverage(n, methods, [p], [r], prevalence=prevalence, design=design, confidence=0.9)
    fpr = prevalence * r * (1 - p) / p / (1 - prevalence)
    rng = np.random.default_rng(3)
    positives = rng.binomial(n, prevalence, simulations) if design == "joint" else np.full(simulations, 12)
    tp, fp = rng.binomial(positives, r), rng.binomial(n - positives, fpr)
    cm = bp.ConfusionMatrix.from_counts(tp=tp, fn=positives - tp, fp=fp, tn=n - positives - fp)
    ends = {
        "flat_hdi": bp.posterior(cm, "flat")["f1"].hdi(0.9).values,
        "jeffreys_eti": bp.posterior(cm, "jeffreys")["f1"].eti(0.9).values,
        "wilson": bp.intervals.wilson_f1(cm, 0.9).values,
    }
    true = 2 * p * r / (p + r)
    assert study["f1"].item() == pytest.approx(true)
    for method, (lower, upper) in {name: values.T for name, values in ends.items()}.items():
        exact = study.sel(interval=method).squeeze()
        rate = exact["coverage"].item()
        assert ((lower <= true) & (true <= upper)).mean() == pytest.approx(
            rate, abs=4 * np.sqrt(rate * (1 - rate) / simulations)
        )
        error = 4 * (upper - lower).std() / np.sqrt(simulations)
        assert (upper - lower).mean() == pytest.approx(exact["width"].item(), abs=error)


def test_with_one_example_the_sum_can_be_done_by_hand():
    # F1 is ½ of precision ½ and recall ½. The one example is a hit with probability ¼, an error on a positive with ½.
    study = studies.f1_coverage(1, ["flat_eti"], [0.5], [0.5])
    outcomes = bp.ConfusionMatrix.from_counts(tp=[1, 0, 0], fn=[0, 1, 0], fp=0, tn=[0, 0, 1])
    lower, upper = bp.posterior(outcomes, "flat")["f1"].eti(0.95).values.T
    inside = (lower <= 0.5) & (upper >= 0.5)
    assert study["coverage"].item() == pytest.approx([0.25, 0.5, 0.25] @ inside)
    assert study["width"].item() == pytest.approx([0.25, 0.5, 0.25] @ (upper - lower))


def test_impossible_systems_are_left_out():
    # Of half positives, all found: at a precision below ½ there would be more false alarms than negatives.
    study = studies.f1_coverage(20, ["wilson"], [0.4, 0.5, 0.6], [1.0])
    assert np.isnan(study["coverage"].values.ravel()).tolist() == [True, False, False]
    perfect = studies.f1_coverage(20, ["wilson"], [1.0], [1.0])
    assert perfect["f1"].item() == 1
    assert perfect["coverage"].item() == pytest.approx(1)


@pytest.mark.slow
def test_the_figure_of_the_thesis():
    # Fig. 6 as it is described: coverage is usually as wanted, and deteriorates where precision and recall near their
    # bounds.
    study = studies.f1_coverage(100, ["flat_eti"], np.arange(1, 20) / 20, np.arange(1, 20) / 20)["coverage"]
    middle = study.sel(precision=slice(0.3, 0.7), recall=slice(0.3, 0.7))
    corner = study.sel(precision=0.95, recall=0.95)
    assert abs(middle - 0.95).max() < 0.01
    assert corner.item() < 0.93


def test_dims_and_settings():
    study = studies.f1_coverage(10, ["perks_hdi"], [0.5, 0.6], [0.2, 0.3, 0.4], prevalence=0.2, confidence=0.8)
    assert study["coverage"].dims == ("interval", "precision", "recall")
    assert study.attrs == {"n": 10, "methods": ["perks_hdi"], "prevalence": 0.2, "design": "joint", "confidence": 0.8}


def test_by_default_of_no_name_all_methods_are_taken():
    names = studies.f1_coverage(10, None, [0.5], [0.2])["interval"].values.tolist()
    assert names[:2] == ["flat_hdi", "flat_eti"]
    assert sorted(names[6:]) == ["clopper_pearson", "wald", "wilson"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n must be a whole number of at least 1"),
        ({"methods": ["delta"]}, "methods must be one of 'flat_hdi'"),
        ({"precision": [0.0]}, "precision must be above 0 and at most 1; it holds 0.0"),
        ({"recall": [1.2]}, "recall must be above 0 and at most 1; it holds 1.2"),
        ({"prevalence": 1}, "prevalence must be a number between 0 and 1"),
        ({"design": "fixed"}, "design must be one of 'joint', 'by_actual'"),
        ({"n": 25, "design": "by_actual"}, "prevalence: 25 × 0.5 positives is no whole number"),
        ({"confidence": 0}, "confidence must be a number between 0 and 1"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        studies.f1_coverage(**options)


def test_jobs_change_no_figure():
    options = {"methods": ["flat_eti", "wilson"], "precision": [0.4, 0.9], "recall": [0.5, 0.9]}
    xr.testing.assert_identical(studies.f1_coverage(30, **options, n_jobs=2), studies.f1_coverage(30, **options))
    rates = [10, 20], ["wilson"], [0.1, 0.5]
    xr.testing.assert_identical(studies.rate_coverage(*rates, n_jobs=2), studies.rate_coverage(*rates))


def test_where_no_system_is_nothing_is_covered():
    assert studies.f1_coverage(10, ["wilson"], [0.1], [0.9])["coverage"].isnull().all()
