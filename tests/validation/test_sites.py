"""Coverage of intervals over sites."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from bayesperf.distributions.beta_binomial import posterior
from validation import agreement, sites
from validation.sites import new_group_quantiles

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


@pytest.mark.slow
def test_pooled_counts_claim_too_much_and_a_model_of_sites_does_not():
    study = sites.sites(simulations=200, random_seed=1)
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


@pytest.mark.slow
def test_coverage_of_the_full_study():
    check_coverage(sites.sites())


def test_truth_and_settings():
    study = sites.sites([3], 20, base_rate=0.7, logit_sd=0.8, simulations=10, groups="random", prob=0.8, random_seed=4)
    expected = {"n_groups": [3], "group_size": 20, "base_rate": 0.7, "logit_sd": 0.8, "simulations": 10,
                "groups": "random", "prob": 0.8, "random_seed": 4, "ci_kind": "eti"}  # fmt: skip
    assert expected.items() <= study.attrs.items()
    mean = integrate.quad(lambda z: special.expit(special.logit(0.7) + 0.8 * z) * stats.norm.pdf(z), -12, 12)[0]
    assert study.attrs["true"] == pytest.approx(mean, abs=1e-9)


def test_intervals_are_those_of_the_models():
    study = sites.sites([4], 15, base_rate=0.7, logit_sd=0.8, simulations=5, prob=0.8, random_seed=9)
    rngs = [np.random.default_rng([9, index]) for index in range(5)]
    counts = np.array([rng.binomial(15, special.expit(rng.normal(special.logit(0.7), 0.8, 4))) for rng in rngs])
    k = counts.sum(1)
    ends = stats.beta(1 + k, 61 - k).ppf(np.array([[0.1], [0.9]]))
    width = study["width"].sel(interval="pooled_beta", target="mean", n_groups=4).item()
    assert width == pytest.approx(np.diff(ends, axis=0).mean(), rel=1e-9)
    true = study.attrs["true"]
    covered = ((ends[0] <= true) & (true <= ends[1])).mean()
    assert study["coverage"].sel(interval="pooled_beta", target="mean", n_groups=4) == covered
    inside = np.diff(stats.norm.cdf((special.logit(ends) - special.logit(0.7)) / 0.8), axis=0)
    found = study["coverage"].sel(interval="pooled_beta", target="new_site", n_groups=4)
    assert found == pytest.approx(inside.mean(), rel=1e-9)
    models = posterior(counts.astype(float), np.full((5, 4), 15.0), (1, 9))
    width = np.diff(models.mean.ppf(np.array([[0.1, 0.9]]))).mean()
    assert study["width"].sel(interval="pool", target="mean", n_groups=4) == pytest.approx(width, abs=1e-6)


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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_groups": [0]}, "n_groups must be a whole number of at least 1"),
        ({"n_groups": 2.5}, "n_groups must be a whole number"),
        ({"n_groups": []}, "n_groups must name a number of sites, or several; it is empty"),
        ({"group_size": 0}, "group_size must be a whole number of at least 1"),
        ({"base_rate": 1}, "base_rate must be a number between 0 and 1"),
        ({"logit_sd": 0}, "logit_sd must be above 0 and finite; it is 0"),
        ({"logit_sd": np.inf}, "logit_sd must be above 0 and finite"),
        ({"simulations": 1}, "simulations must be a whole number of at least 2"),
        ({"groups": "fixed"}, "groups must be one of 'random', 'clusters'"),
        ({"prob": 0}, "prob must be a number between 0 and 1"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        sites.sites(**options)


# ── The model of sites, sampled ──


@pytest.mark.slow
def test_agreement_of_the_sampler_with_quadrature():
    study = agreement.agreement(5, 40, simulations=3, draws=1000, random_seed=2, progressbar=False)
    assert study["nuts"].dims == ("simulation", "target", "figure")
    assert study["target"].values.tolist() == ["mean", "new_group", "dispersion"]
    assert (abs(study["nuts"] - study["pool"]) < 5 * study["mcse"]).all()
    width = study["pool"].sel(figure="q97.5") - study["pool"].sel(figure="q2.5")
    assert (study["mcse"] < 0.05 * width).all()  # so that agreement within 5 errors says something


def test_bad_arguments_of_agreement():
    with pytest.raises(ValueError, match="groups must be one of 'random', 'clusters'; it is 'fixed'"):
        agreement.agreement(groups="fixed")
