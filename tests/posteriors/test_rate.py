"""Rates known by two numbers: against SciPy's Beta, the posteriors of matrices, and in plans and comparisons."""

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, stats

import bayesperf as bp


@pytest.mark.parametrize(
    ("prior", "weights"),
    [("jeffreys", (0.5, 0.5)), ("flat", (1, 1)), ("haldane", (0, 0)), (bp.prior.rate(3, 2), (3, 2)),
     (bp.prior.flat(), (1, 1))],
)  # fmt: skip
def test_is_a_beta(prior, weights):
    rate = bp.posterior_of_rate(9, 12, prior)
    expected = stats.beta(9 + weights[0], 3 + weights[1])
    assert rate.method == "exact"
    np.testing.assert_allclose(rate.eti(), expected.ppf([0.025, 0.975]), rtol=1e-10)
    assert rate.mean().item() == pytest.approx(expected.mean(), rel=1e-14)
    drawn = rate.joint_draws(4000, 1).values
    assert drawn.mean() == pytest.approx(expected.mean(), abs=4 * expected.std() / np.sqrt(4000))
    assert (rate.joint_draws(4000, 2).values != drawn).all()


@pytest.mark.parametrize("prior", ["jeffreys", "flat", bp.prior.rate(3, 2)])
@pytest.mark.parametrize("metric", ["recall", "fnr", "precision", "fpr", "sensitivity"])
def test_is_that_of_a_matrix(metric, prior):
    cm = bp.ConfusionMatrix.from_counts(tp=8, fn=3, fp=5, tn=7)
    of_trials = {"recall": (8, 11), "fnr": (3, 11), "precision": (8, 13), "fpr": (5, 12), "sensitivity": (8, 11)}
    rate, expected = bp.posterior_of_rate(*of_trials[metric], prior, metric=metric), bp.posterior(cm, prior)[metric]
    np.testing.assert_allclose(rate.eti(), expected.eti(), rtol=1e-12)
    assert rate.name == expected.name
    assert rate.quantity.greater_is_better == expected.quantity.greater_is_better
    assert bp.compare(rate, expected).metric == expected.name


def test_no_trials_leave_the_prior():
    np.testing.assert_allclose(bp.posterior_of_rate(0, 0).eti(), stats.beta(0.5, 0.5).ppf([0.025, 0.975]), rtol=1e-10)


def test_many_rates():
    rates = bp.posterior_of_rate([[1, 2, 3], [4, 5, 6]], [10, 20, 30], dims={"site": ["A", "B"], "year": [1, 2, 3]})
    assert rates.dims == ("site", "year")
    assert rates.mean().sel(site="B", year=2).item() == 5.5 / 21
    labelled = bp.posterior_of_rate(xr.DataArray([1, 2], {"site": ["A", "B"]}, ["site"]), 10)
    assert labelled.mean().sel(site="B").item() == 2.5 / 11
    # No two share random numbers, whether in one call or in two.
    first, second = bp.posterior_of_rate([4, 4], 10, dims=["site"]).joint_draws(2000).values
    third = bp.posterior_of_rate(4, 11).joint_draws(2000).values
    assert abs(np.corrcoef([first, second, third])[np.triu_indices(3, 1)]).max() < 4 / np.sqrt(2000)
    again = bp.posterior_of_rate([4, 4], 10, dims=["site"])
    np.testing.assert_array_equal(
        again.joint_draws(50), bp.posterior_of_rate([4, 4], 10, dims=["site"]).joint_draws(50)
    )


def test_compared_by_integration():
    comparison = bp.compare(bp.posterior_of_rate(45, 50), bp.posterior_of_rate(70, 90), rope=0.05)
    a, b = stats.beta(45.5, 5.5), stats.beta(70.5, 20.5)

    def beyond(distance):
        return integrate.quad(lambda x: a.pdf(x) * b.cdf(x - distance), 0, 1, epsabs=1e-11)[0]

    regions = 1 - beyond(-0.05), beyond(-0.05) - beyond(0.05), beyond(0.05)
    np.testing.assert_allclose(comparison.prob_rope, regions, atol=1e-8)
    with pytest.raises(ValueError, match="neither more nor less rate is better"):
        _ = comparison.prob_better
    with pytest.raises(ValueError, match="different metrics: 'recall' and 'rate'"):
        bp.compare(bp.posterior_of_rate(4, 5, metric="recall"), bp.posterior_of_rate(4, 5))


@pytest.mark.slow
@pytest.mark.parametrize("rate", [bp.posterior_of_rate(40, 50), bp.posterior_of_rate(40, 50, metric="recall")])
def test_plans_start_from_a_rate(rate):
    options = {"metric": "recall", "prevalence": 0.2}
    plan = bp.plan.sample_size(0.7, evidence=rate, **options)
    expected = bp.plan.sample_size(0.7, evidence=(40, 50), **options)
    assert (plan.n, plan.examples) == (expected.n, expected.examples)
    assert "the rate given" in plan.basis
    assert bp.plan.interval_width(0.1, metric="recall", evidence=rate).n == bp.plan.interval_width(
        0.1, metric="recall", evidence=(40, 50)
    ).n  # fmt: skip
    sides = bp.posterior_of_rate(40, 50), bp.posterior_of_rate(35, 50)
    compared = bp.plan.comparison(*sides, metric="recall", assurance=0.7)
    assert compared.n == bp.plan.comparison((40, 50), (35, 50), metric="recall", assurance=0.7).n


def test_plans_for_errors_start_from_the_rate_of_errors():
    plan = bp.plan.sample_size(0.3, metric="fnr", evidence=bp.posterior_of_rate(10, 50, metric="fnr"))
    assert plan.n == bp.plan.sample_size(0.3, metric="fnr", evidence=(10, 50)).n


@pytest.mark.parametrize(
    ("evidence", "metric", "prior", "error", "words"),
    [
        (bp.posterior_of_rate(4, 5), "f1", None, ValueError, "evidence: a plan can start from a rate that is a Beta"),
        (
            bp.posterior_of_rate(4, 5, metric="recall"),
            "fpr",
            None,
            ValueError,
            "evidence is of recall, and the plan for",
        ),
        (bp.posterior_of_rate([4, 5], 9, dims=["site"]), "recall", None, ValueError, "leading dims"),
        (bp.posterior_of_rate(4, 5), "recall", "flat", TypeError, "prior: evidence is a posterior"),
        (bp.roc_auc([0, 0, 1, 1], [1, 3, 2, 4]), "recall", None, ValueError, "evidence is of roc_auc"),
        ("4 of 5", "recall", None, TypeError, "evidence must be a ConfusionMatrix, a rate"),
    ],
)
def test_plans_refuse(evidence, metric, prior, error, words):
    with pytest.raises(error, match=words):
        bp.plan.sample_size(0.5, metric=metric, evidence=evidence, prior=prior)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((6, 5), {}, ValueError, "successes must not exceed trials; there are 6 of 5"),
        ((-1, 5), {}, ValueError, "successes holds -1, which is negative"),
        ((0.5, 5), {}, ValueError, "successes holds 0.5, which is fractional"),
        (("4", 5), {}, TypeError, "successes must hold whole numbers"),
        ((0, 5, "haldane"), {}, ValueError, "prior: under 'haldane' a rate without a success"),
        ((1, 5, "perks"), {}, ValueError, "prior must be one of 'jeffreys', 'flat', 'haldane', or"),
        ((1, 5, bp.prior.shared()), {}, ValueError, "it is 'shared'"),
        ((1, 5), {"metric": "f1"}, ValueError, "metric: f1 is not a proportion of trials"),
        ((1, 5), {"metric": "recal"}, ValueError, "recal"),
        (([1, 2], [3, 4, 5]), {}, ValueError, "successes and trials do not broadcast"),
        (
            ([1, 2], 5),
            {"dims": "site"},
            TypeError,
            r"dims must be a sequence or a mapping of names, as dims=\['site'\]",
        ),
    ],
)
def test_bad_arguments(arguments, options, error, words):
    with pytest.raises(error, match=words):
        bp.posterior_of_rate(*arguments, **options)
