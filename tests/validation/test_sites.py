"""Coverage of intervals over sites."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from bayesperf.distributions.beta_binomial import posterior
from validation import agreement, sites
from validation.sites import new_group_quantiles, true_mean
from validation.study import run

pytestmark = pytest.mark.slow

# Coverage of 95 % intervals by others, 500 data sets of five sites of 40: mean and new site.
POOLED_BETA = {"mean": 0.78, "new_site": 0.40}


def check_coverage(study):
    pool, beta = study["coverage"].sel(interval="pool"), study["coverage"].sel(interval="pooled_beta")
    error = 4 * study["coverage_mcse"].sel(interval="pool")
    assert np.all(pool.sel(target="mean") > 0.92 - error.sel(target="mean"))
    assert np.all(pool.sel(target="mean") < 0.98 + error.sel(target="mean"))
    assert np.all(pool.sel(target="new_site") > 0.92)
    for target, rate in POOLED_BETA.items():
        error = np.sqrt(rate * (1 - rate) * (1 / 500 + 1 / study.attrs["simulations"]))
        assert beta.sel(target=target, n_groups=5).item() == pytest.approx(rate, abs=4 * error)


def test_pooled_counts_claim_too_much_and_a_model_of_sites_does_not():
    study = run(sites.STUDY, 200, random_seed=1)
    check_coverage(study)
    assert study["coverage"].dims == ("interval", "target", "n_groups")
    beta = study["width"].sel(interval="pooled_beta")
    np.testing.assert_array_equal(beta.sel(target="mean"), beta.sel(target="new_site"))
    # A binary figure's standard error, and the widths of an interval that halves its variance.
    rate = study["coverage"].sel(target="mean")
    error = study["coverage_mcse"].sel(target="mean")
    np.testing.assert_allclose(error, np.sqrt(rate * (1 - rate) / 200), rtol=1e-9)
    assert beta.sel(target="mean", n_groups=10) / beta.sel(target="mean", n_groups=5) == pytest.approx(
        0.5**0.5, abs=0.02
    )


def test_coverage_of_the_full_study():
    check_coverage(run(sites.STUDY, 2000))


def test_the_mean_of_the_population_by_integration():
    mean = integrate.quad(lambda z: special.expit(special.logit(0.7) + 0.8 * z) * stats.norm.pdf(z), -12, 12)[0]
    assert true_mean(0.7, 0.8) == pytest.approx(mean, abs=1e-9)


def test_quantiles_of_a_new_group_are_those_of_draws():
    model, n = posterior(np.array([[38.0, 30, 20, 34, 26]]), np.full((1, 5), 40.0), (1, 9)), 400_000
    rng = np.random.default_rng(2)
    logit_p = model.draws_of_mean(n, [rng])
    kappa = np.exp(-model.draws_of_dispersion(logit_p, [rng]))
    rate = rng.beta(kappa * special.expit(logit_p), kappa * special.expit(-logit_p))[0]
    levels = np.array([[0.025, 0.5, 0.975]])
    below = [(rate <= x).mean() for x in new_group_quantiles(model, levels)[0]]
    error = 4 * np.sqrt(levels[0] * (1 - levels[0]) / n)
    assert np.all(np.abs(below - levels[0]) < error)


# ── The model of sites, sampled ──


def test_agreement_of_the_sampler_with_quadrature():
    study = run(agreement.STUDY, 3, n_groups=5, draws=1000, random_seed=2)
    assert set(study["nuts"].dims) == {"simulation", "target", "figure"}
    assert study["target"].values.tolist() == ["mean", "new_group", "dispersion"]
    assert (abs(study["nuts"] - study["pool"]) < 5 * study["mcse"]).all()
    width = study["pool"].sel(figure="q97.5") - study["pool"].sel(figure="q2.5")
    assert (study["mcse"] < 0.05 * width).all()  # so that agreement within 5 errors says something
