"""Coverage of every kind of interval, side by side."""

from importlib import import_module

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf import studies
from bayesperf.studies.interval_methods import applicable

EVEN = studies.binary_cells(prevalence=0.5, recall=0.95, specificity=0.95)
OF_COUNTS = ["flat_hdi", "flat_eti", "jeffreys_hdi", "jeffreys_eti", "wald", "wilson", "clopper_pearson"]


def equal_classes(classes, accuracy):
    wrong = (1 - accuracy) / (classes - 1)
    return (accuracy * np.eye(classes) + wrong * (1 - np.eye(classes))) / classes


def close(study, method, exact, simulations, **others):
    error = np.sqrt(exact * (1 - exact) * (1 / study.attrs["simulations"] + 1 / simulations))
    found = study["coverage"].sel(interval=method, **others).item()
    assert found == pytest.approx(exact, abs=4 * error + 1e-3), (method, others)


def test_cells_of_two_classes():
    prevalence = xr.DataArray([0.1, 0.3], {"prevalence": [0.1, 0.3]}, "prevalence")
    cells = studies.binary_cells(prevalence=prevalence, recall=0.8, specificity=xr.DataArray([0.6, 0.7, 0.9], dims="s"))
    assert cells.dims == ("prevalence", "s", "actual", "predicted")
    np.testing.assert_allclose(cells.sum(("actual", "predicted")), 1)
    one = cells.sel(prevalence=0.3).isel(s=2)
    np.testing.assert_allclose(one, [[0.63, 0.07], [0.06, 0.24]])
    with pytest.raises(ValueError, match=r"recall must be in \[0, 1\]; it is 1.5"):
        studies.binary_cells(prevalence=0.5, recall=1.5, specificity=0.5)


@pytest.mark.slow
def test_accuracy_has_the_exact_coverage_of_its_rate():
    study = studies.coverage(EVEN, "accuracy", [20, 60], ["wald", "wilson", "clopper_pearson"], simulations=4000)
    for n in (20, 60):
        exact = studies.rate_coverage(n, ["wald", "wilson", "clopper_pearson"], [0.95])["coverage"].squeeze()
        for method in exact["interval"].values:
            close(study, method, exact.sel(interval=method).item(), np.inf, n=n)


def test_f1_has_its_exact_coverage_and_width():
    cells = studies.binary_cells(prevalence=0.3, recall=0.8, specificity=0.9)
    study = studies.coverage(cells, "f1", 40, OF_COUNTS, simulations=4000)
    precision = 0.24 / (0.24 + 0.07)
    exact = studies.f1_coverage(40, OF_COUNTS, [precision], [0.8], prevalence=0.3).squeeze()
    for method in OF_COUNTS:
        close(study, method, exact["coverage"].sel(interval=method).item(), np.inf)
    np.testing.assert_allclose(study["width"].squeeze(), exact["width"], rtol=0.02)
    assert study["true"].item() == pytest.approx(exact["f1"].item())


@pytest.mark.slow
def test_figures_of_others_for_f1():
    # 1,500 simulations each: prevalence .9, sensitivity .95, specificity .5; and F1 = .95 at even prevalence, n = 50.
    rare = studies.binary_cells(prevalence=0.9, recall=0.95, specificity=0.5)
    study = studies.coverage(rare, "f1", [50, 1000], ["delta", "delta_logit", "wilson"], simulations=1500)
    for n, figures in {50: (0.884, 0.949, 0.949), 1000: (0.951, 0.956, 0.956)}.items():
        for method, figure in zip(study["interval"].values, figures, strict=True):
            close(study, method, figure, 1500, n=n)
    even = studies.coverage(EVEN, "f1", 50, ["delta", "delta_logit", "wilson"], simulations=1500)
    for method, figure in zip(even["interval"].values, (0.905, 0.889, 0.959), strict=True):
        close(even, method, figure, 1500)


def test_figures_of_others_for_macro_f1():
    study = studies.coverage(equal_classes(3, 0.97), "f1_macro", 100, ["delta"], simulations=1500)
    close(study, "delta", 0.850, 1500)
    study = studies.coverage(equal_classes(10, 0.75), "f1_macro", 500, ["delta"], simulations=500)
    close(study, "delta", 0.951, 1500)


def test_undefined_test_sets_are_counted_and_left_out_for_all_alike():
    cells = studies.binary_cells(prevalence=0.1, recall=0.9, specificity=0.9)
    study = studies.coverage(cells, "recall", 20, ["flat_eti", "wald"], simulations=4000)
    share = 0.9**20
    error = 4 * np.sqrt(share * (1 - share) / 4000)
    assert study["undefined"].item() == pytest.approx(share, abs=error)
    # Wald's interval of all or of no positives has no width, and covers nothing.
    positives = np.arange(1, 21)
    seen = stats.binom.pmf(positives, 20, 0.1)
    of_one_kind = seen @ (0.9**positives + 0.1**positives) / seen.sum()
    found = study.sel(interval="wald")
    assert found["no_width"].item() == pytest.approx(of_one_kind, abs=4 * np.sqrt(0.25 / 4000))
    assert found["coverage"].item() <= 1 - found["no_width"].item()
    m, k = (axis.ravel() for axis in np.meshgrid(positives, np.arange(21), indexing="ij"))
    m, k = m[k <= m], k[k <= m]
    lower, upper = (stats.beta.ppf(tail, k + 1, m - k + 1) for tail in (0.025, 0.975))
    exact = (seen[m - 1] / seen.sum() * stats.binom.pmf(k, m, 0.9))[(lower <= 0.9) & (upper >= 0.9)].sum()
    close(study, "flat_eti", exact, np.inf)


@pytest.mark.slow
def test_every_method_there_is_for_a_metric():
    study = studies.coverage(EVEN, "mcc", 60, simulations=10, draws=300, n_resamples=200)
    assert study["interval"].values.tolist() == [
        "flat_hdi", "flat_eti", "jeffreys_hdi", "jeffreys_eti", "perks_hdi", "perks_eti", "delta", "delta_logit",
        "bootstrap_percentile", "bootstrap_basic", "bootstrap_bca",
    ]  # fmt: skip
    assert (study["coverage"] > 0.6).all()
    assert study["true"].item() == pytest.approx(0.9)
    ratio = studies.coverage(EVEN, "lr+", 60, ["flat_eti"], simulations=5)
    assert "delta_logit" not in applicable(bp.metrics.get("lr+"), 2)
    assert ratio["true"].item() == pytest.approx(19)


def test_intervals_are_those_of_the_package():
    cells = studies.binary_cells(prevalence=0.4, recall=0.8, specificity=0.7)
    methods = ["flat_eti", "jeffreys_hdi", "delta", "delta_logit", "wilson"]
    study = studies.coverage(cells, "f1", 30, methods, simulations=6, random_seed=5)
    rngs = [np.random.default_rng([5, index]) for index in range(6)]
    tables = np.array([rng.multinomial(30, cells.values.ravel()) for rng in rngs]).reshape(-1, 2, 2)
    cm = bp.ConfusionMatrix.from_table(tables)
    flat, jeffreys = (bp.posterior(cm, prior)["f1"] for prior in ("flat", "jeffreys"))
    ends = [flat.eti(), jeffreys.hdi(), bp.intervals.delta(cm, "f1"),
            bp.intervals.delta(cm, "f1", transform="logit"), bp.intervals.wilson_f1(cm)]  # fmt: skip
    widths = [end.diff("ci_bound").mean().item() for end in ends]
    np.testing.assert_allclose(study["width"].squeeze(), widths, rtol=1e-9)


@pytest.mark.slow
def test_dims_and_settings_whatever_is_computed_at_once(monkeypatch):
    cells = studies.binary_cells(prevalence=0.5, recall=xr.DataArray([0.7, 0.9], dims="r"), specificity=0.8)
    options = {"metric": "mcc", "n": (10, 20), "methods": ["flat_hdi", "bootstrap_bca"], "simulations": 7, "draws": 50,
               "n_resamples": 40, "random_seed": 2}  # fmt: skip
    whole = studies.coverage(cells, **options)
    assert whole["coverage"].dims == ("interval", "n", "r")
    assert whole["undefined"].dims == ("n", "r")
    expected = {"metric": "matthews_corrcoef", "n": [10, 20], "confidence": 0.95, "simulations": 7, "draws": 50}
    assert expected.items() <= whole.attrs.items()
    monkeypatch.setattr(import_module("bayesperf.studies.covering"), "_BATCH", 3)
    xr.testing.assert_identical(studies.coverage(cells, **options), whole)


@pytest.mark.parametrize(
    ("cells", "options", "words"),
    [
        ([[0.5, 0.1], [0.1, 0.1]], {}, "cells must be probabilities: not negative, and of each matrix summing to 1"),
        ([[1.1, -0.1], [0, 0]], {}, "cells must be probabilities"),
        ([[0.5, 0.5]], {}, "cells must be square with at least two classes"),
        (xr.DataArray(EVEN.values, dims=("a", "b")), {}, "cells: which of its dims 'a', 'b' is of the actual labels"),
        (EVEN, {"metric": "recall_per_class"}, "has a value a class"),
        (EVEN, {"metric": "mcc", "methods": ["wilson"]}, "methods must be one of 'flat_hdi'"),
        (EVEN, {"n": 0}, "n must be a whole number of at least 1"),
        (EVEN, {"confidence": 1}, "confidence must be a number between 0 and 1"),
        (EVEN, {"simulations": 1}, "simulations must be a whole number of at least 2"),
    ],
)
def test_bad_arguments(cells, options, words):
    with pytest.raises(ValueError, match=words):
        studies.coverage(cells, **options)
