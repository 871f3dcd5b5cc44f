"""Intervals of rates and of their differences, against closed forms in 40 digits and the tests they invert."""

from statistics import NormalDist

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

import bayesperf as bp
from bayesperf.core.errors import InputError
from bayesperf.intervals import proportion, proportion_difference
from bayesperf.intervals.proportions import METHODS
from tests.shared.golden import cases, golden

GOLDEN = golden("intervals")
# What the golden tables call what is clipped to [0, 1], as ours are.
CLIPPED = {"wald": "wald_clipped", "agresti_coull": "agresti_coull_clipped"}
WITHOUT_ADD2 = [method for method in METHODS if method != "agresti_coull_add2"]
without_warning = pytest.mark.filterwarnings("ignore:method='wald'")


def test_the_table_is_whole():
    assert len(GOLDEN["cases"]) == 65


# ── One rate ──


@without_warning
@cases("intervals", "prop_")
def test_golden(case):
    k, n, reference = case["inputs"]["k"], case["inputs"]["n"], case["reference"]
    if "alpha" in case["inputs"]:
        found = proportion(k, n, confidence=1 - case["inputs"]["alpha"], method="clopper_pearson")
        assert found == pytest.approx(reference["clopper_pearson"], rel=1e-8, abs=0)
    elif "intervals" in reference:
        for method in WITHOUT_ADD2:
            found = proportion(k, n, confidence=case["inputs"]["confidence_level"], method=method)
            assert found == pytest.approx(reference["intervals"][CLIPPED.get(method, method)], abs=1e-12), method
    else:  # One-sided bounds at 95 % are those of the two-sided interval at 90 %.
        for method, short in {"wilson": "wilson", "clopper_pearson": "cp"}.items():
            lower, upper = proportion(k, n, confidence=0.9, method=method)
            assert lower == pytest.approx(reference[f"{short}_lower_bound"][0], abs=1e-12)
            assert upper == pytest.approx(reference[f"{short}_upper_bound"][1], abs=1e-12)


@without_warning
@cases("intervals", "binary_rates")
def test_golden_rates_of_a_matrix(case):
    for figures in case["reference"]["metrics"].values():
        for method in WITHOUT_ADD2:
            found = proportion(figures["k"], figures["n"], method=method)
            name = method if method in figures else CLIPPED[method]
            assert found == pytest.approx(figures[name], abs=1e-12)


def test_jeffreys_excludes_a_rate_of_0_where_brown_cai_and_dasgupta_let_it_in():
    (case,) = [case for case in GOLDEN["cases"] if case["id"] == "prop_0_1_95"]
    plain, theirs = (case["reference"]["intervals"][name] for name in ("jeffreys", "jeffreys_bcd"))
    found = proportion(0, 1, method="jeffreys")
    assert found == pytest.approx(plain, abs=1e-12)
    assert found[0] > theirs[0] == 0
    assert found[1] == pytest.approx(theirs[1], abs=1e-12)


COUNTS = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
LEVELS = st.floats(0.5, 0.999)


@pytest.mark.slow
@given(COUNTS, LEVELS)
def test_wilson_inverts_the_score_test(counts, confidence):
    k, n = counts
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    for limit in proportion(k, n, confidence=confidence):
        if 0 < limit < 1:
            assert abs(k / n - limit) == pytest.approx(z * np.sqrt(limit * (1 - limit) / n), rel=1e-9)
        else:
            assert limit == k / n


@pytest.mark.slow
@given(COUNTS, LEVELS)
def test_clopper_pearson_inverts_the_exact_test(counts, confidence):
    k, n = counts
    lower, upper = proportion(k, n, confidence=confidence, method="clopper_pearson")
    tail = (1 - confidence) / 2
    assert stats.binom.sf(k - 1, n, lower) == pytest.approx(tail if k else 1, rel=1e-6)
    assert stats.binom.cdf(k, n, upper) == pytest.approx(tail if k < n else 1, rel=1e-6)


def test_add_two_successes_and_two_failures():
    # 5 of 24: 0.208333 ± 1.959964 · √(0.208333 · 0.791667/24) = 0.208333 ± 0.162477, worked by hand.
    assert proportion(3, 20, method="agresti_coull_add2") == pytest.approx([0.045856, 0.370811], abs=1e-6)


@pytest.mark.slow
@without_warning
@given(COUNTS, LEVELS, st.sampled_from(list(METHODS)))
def test_limits_are_inside_and_in_order_and_mirrored(counts, confidence, method):
    k, n = counts
    lower, upper = proportion(k, n, confidence=confidence, method=method)
    assert 0 <= lower <= upper <= 1
    if method not in ("jeffreys", "agresti_coull_add2"):  # These are around a rate pulled towards a half.
        assert lower <= k / n <= upper
    mirrored = proportion(n - k, n, confidence=confidence, method=method)
    assert [1 - upper, 1 - lower] == pytest.approx(mirrored, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_without_trials_the_interval_is_the_whole(method):
    assert proportion([0, 3], [0, 9], method=method)[0].tolist() == [0, 1]


def test_arrays_broadcast():
    found = proportion([[1], [2]], [5, 6, 7])
    assert found.shape == (2, 3, 2)
    assert found[1, 2].tolist() == proportion(2, 7).tolist()


def test_labels_stay():
    successes = xr.DataArray([3, 4], {"model": ["a", "b"]}, ["model"])
    trials = xr.DataArray([5, 6, 7], {"site": [1, 2, 3]}, ["site"])
    found = proportion(successes, trials, confidence=0.9, method="jeffreys")
    assert found.dims == ("model", "site", "ci_bound")
    assert found["ci_bound"].values.tolist() == ["lower", "upper"]
    assert found.attrs == {"confidence": 0.9, "method": "jeffreys"}
    alone = proportion(4, 7, confidence=0.9, method="jeffreys")
    assert found.sel(model="b", site=3).values.tolist() == alone.tolist()
    assert proportion(successes, 9).sel(model="a").values.tolist() == proportion(3, 9).tolist()


@pytest.mark.parametrize("k", [0, 10])
def test_an_interval_without_width_warns(k):
    with pytest.warns(UserWarning, match="method='wald': the interval has no width. That is no certainty"):
        assert proportion(k, 10, method="wald").tolist() == [k / 10] * 2
    with pytest.warns(UserWarning, match="1 of 2 intervals have no width"):
        proportion([k, 5], 10, method="wald")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((5, 4), {}, "successes must not exceed trials; there are 5 of 4"),
        (([1, 7, 2], [5, 6, 7]), {}, "there are 7 of 6"),
        ((-1, 4), {}, "successes holds -1, which is negative"),
        ((1.5, 4), {}, "successes holds 1.5, which is fractional"),
        ((1, np.nan), {}, "trials holds nan, which is missing"),
        (([1, 2], [3, 4, 5]), {}, "successes, trials do not broadcast"),
        ((1, 4), {"method": "exact"}, "method must be one of 'wilson', 'wald'"),
        ((1, 4), {"confidence": 95}, "confidence must be a number between 0 and 1, both excluded; it is 95"),
    ],
)
def test_errors(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        proportion(*arguments, **options)


def test_labels_that_differ_are_refused():
    successes, trials = (xr.DataArray([1, 2], {"model": names}, ["model"]) for names in (["a", "b"], ["a", "c"]))
    with pytest.raises(ValueError, match="successes, trials do not broadcast"):
        proportion(successes, trials)


# ── The difference of two rates ──

REFERENCES = {
    "newcombe": "newcombe",
    "miettinen_nurminen": "score_mn_diff",
    "agresti_caffo": "agresti_caffo",
    "wald": "wald",
}


def counts_of(case):
    return [case["inputs"][name] for name in ("count1", "nobs1", "count2", "nobs2")]


@without_warning
@cases("intervals", "two_prop")
def test_golden_difference(case):
    for method, name in REFERENCES.items():
        found = proportion_difference(*counts_of(case), method=method)
        assert found == pytest.approx(case["reference"][name], abs=1e-12), method


@cases("intervals", "two_prop")
def test_the_score_interval_is_not_that_of_statsmodels(case):
    # Its cubic for the restricted rates has count·difference where trials·difference belongs: its limits are off by
    # up to .01, and for many tables there are none.
    found = proportion_difference(*counts_of(case), method="miettinen_nurminen")
    for peer in case.get("peers", []):
        assert np.abs(found - peer["result"]).max() > 1e-4


def test_published_figures():
    # Newcombe (1998), table II, (a): 56/70 against 48/80.
    found = proportion_difference(56, 70, 48, 80)
    assert found == pytest.approx([0.0524, 0.3339], abs=5e-5)
    assert proportion_difference(56, 70, 48, 80, method="miettinen_nurminen") == pytest.approx(
        [0.0528, 0.3382], abs=5e-5
    )


def restricted_likelihood(delta, k_a, n_a, k_b, n_b):
    """Return rate b of greatest likelihood if rate a is b + delta, found by search."""
    bounds = max(0, -delta) + 1e-12, min(1, 1 - delta) - 1e-12

    def deviance(b):
        return -stats.binom.logpmf(k_a, n_a, b + delta) - stats.binom.logpmf(k_b, n_b, b)

    return optimize.minimize_scalar(deviance, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x


@pytest.mark.parametrize("counts", [(3, 11, 7, 29), (12, 13, 5, 40), (40, 90, 33, 80)])
def test_miettinen_nurminen_inverts_the_score_test(counts):
    k_a, n_a, k_b, n_b = counts
    z = NormalDist().inv_cdf(0.975)
    for limit in proportion_difference(*counts, method="miettinen_nurminen"):
        b = restricted_likelihood(limit, *counts)
        a, total = b + limit, n_a + n_b
        error = np.sqrt((a * (1 - a) / n_a + b * (1 - b) / n_b) * total / (total - 1))
        assert abs(k_a / n_a - k_b / n_b - limit) == pytest.approx(z * error, rel=1e-6)


@pytest.mark.slow
@without_warning
@given(COUNTS, COUNTS, st.sampled_from(list(REFERENCES)))
def test_differences_are_inside_and_turn_sign(a, b, method):
    lower, upper = proportion_difference(*a, *b, method=method)
    assert -1 <= lower <= upper <= 1
    assert [-upper, -lower] == pytest.approx(proportion_difference(*b, *a, method=method), abs=1e-9)


@pytest.mark.parametrize("method", REFERENCES)
def test_without_trials_of_one_the_difference_may_be_any(method):
    found = proportion_difference([0, 3, 3], [0, 9, 9], [4, 0, 4], [9, 0, 9], method=method)
    assert found[:2].tolist() == [[-1, 1], [-1, 1]]
    assert found[2, 0] > -1


def test_differences_keep_labels_and_refuse():
    successes = xr.DataArray([3, 4], {"site": ["a", "b"]}, ["site"])
    found = proportion_difference(successes, 9, 2, 8)
    assert found.dims == ("site", "ci_bound")
    assert found.sel(site="b").values.tolist() == proportion_difference(4, 9, 2, 8).tolist()
    with pytest.raises(ValueError, match="successes_b must not exceed trials_b; there are 9 of 8"):
        proportion_difference(1, 2, 9, 8)
    with pytest.raises(ValueError, match="method must be one of 'newcombe'"):
        proportion_difference(1, 2, 3, 8, method="score")
    with pytest.warns(UserWarning, match="method='wald': the interval has no width"):
        proportion_difference(0, 5, 0, 8, method="wald")


# ── F1 by Wilson's interval of the Jaccard index ──


def matrix_of(name):
    return bp.ConfusionMatrix.from_table(GOLDEN["datasets"][name]["confusion_matrix_rows_true"])


@cases("intervals", "f1_binary")
def test_golden_wilson_f1(case):
    found = bp.intervals.wilson_f1(matrix_of(case["inputs"]["dataset"]))
    if "wilson_indirect_ci" in case["reference"]:
        assert found.values == pytest.approx(case["reference"]["wilson_indirect_ci"], abs=1e-12)
    else:  # All right: 12 of 12 on the Jaccard index, whose lower limit is n/(n + z²).
        jaccard = 12 / (12 + NormalDist().inv_cdf(0.975) ** 2)
        assert found.values == pytest.approx([2 * jaccard / (1 + jaccard), 1], abs=1e-12)


def test_wilson_f1_of_many_and_of_nothing():
    cm = bp.ConfusionMatrix.from_counts(tp=[7, 0, 0], fn=[3, 0, 4], fp=[2, 0, 1], tn=[8, 9, 5])
    found = bp.intervals.wilson_f1(cm, 0.9)
    assert found.dims == ("dim_0", "ci_bound")
    assert found.values[1].tolist() == [0, 1]
    assert found.values[2, 0] == 0
    assert found.values[0].tolist() == bp.intervals.wilson_f1(cm.isel(dim_0=0), 0.9).values.tolist()


def test_wilson_f1_of_the_positive_class():
    cm = bp.ConfusionMatrix.from_table([[7, 3], [2, 8]], labels=["yes", "no"], pos_label="yes")
    same = bp.ConfusionMatrix.from_counts(tp=7, fn=3, fp=2, tn=8)
    assert bp.intervals.wilson_f1(cm).values.tolist() == bp.intervals.wilson_f1(same).values.tolist()


def test_wilson_f1_refuses():
    with pytest.raises(ValueError, match="metric 'f1' is binary and there are 3 classes"):
        bp.intervals.wilson_f1(bp.ConfusionMatrix.from_table(np.eye(3, dtype=int)))
    with pytest.raises(TypeError, match="cm must be a ConfusionMatrix; it is list"):
        bp.intervals.wilson_f1([[1, 2], [3, 4]])


# ── A prevalence by calls that err ──


def test_prevalence_is_as_lang_and_reiczigel_print_it():
    """Their third example as the R package asht quotes it: 6 % of 11,862 positive, 8 of 10 and 12 of 12 right."""
    errors = bp.ConfusionMatrix.from_counts(tp=8, fn=2, fp=0, tn=12)
    limits = bp.intervals.prevalence([712, 0], errors, n=11_862)
    np.testing.assert_allclose(limits[0], [0, 0.147], atol=5e-4)
    assert (limits >= 0).all()


def test_prevalence_of_large_samples_is_that_of_the_delta_method():
    tp, p, tn, q, y, n = 8e6, 1e7, 9e6, 1e7, 3e6, 1e7
    errors = bp.ConfusionMatrix.from_counts(tp=int(tp), fn=int(p - tp), fp=int(q - tn), tn=int(tn))
    rates, trials = np.array([y / n, tp / p, tn / q]), np.array([n, p, q])

    def ratio(x):
        return (x[0] + x[2] - 1) / (x[1] + x[2] - 1)

    slopes = np.array([(ratio(rates + step) - ratio(rates - step)) / 2e-6 for step in 1e-6 * np.eye(3)])
    half = 1.959964 * np.sqrt((slopes**2 * rates * (1 - rates) / trials).sum())
    found = bp.intervals.prevalence(int(y), errors, n=int(n))
    np.testing.assert_allclose(found, [ratio(rates) - half, ratio(rates) + half], atol=1e-6)


def test_prevalence_refuses_errors_that_say_nothing():
    useless = bp.ConfusionMatrix.from_counts(tp=1, fn=9, fp=5, tn=5)
    with pytest.raises(InputError, match="calls no better than chance"):
        bp.intervals.prevalence(5, useless, n=10)
    with pytest.raises(InputError, match="must be of two classes, without leading dims"):
        bp.intervals.prevalence(5, bp.ConfusionMatrix.from_table(np.eye(3, dtype=int)), n=10)
    with pytest.raises(TypeError, match="errors must be a ConfusionMatrix; it is Outcomes"):
        bp.intervals.prevalence(5, bp.Outcomes.from_counts(right=3, n=5), n=10)
