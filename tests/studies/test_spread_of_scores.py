"""The spread of the posterior, the predictive distribution and the bootstrap."""

import numpy as np
import pytest
from scipy import stats

import bayesperf as bp
from bayesperf import studies

CM = bp.ConfusionMatrix.from_counts(tp=65, fn=15, fp=35, tn=30)


@pytest.mark.slow
def test_the_variances_of_accuracy_are_those_of_the_beta_binomial():
    study = studies.predictive_spread(CM, "accuracy", [1, 7], draws=200_000)
    n, p = study["n"].values, 95 / 145
    exact = {"predictive": 2 * p * (1 - p) / (n + 1), "posterior": p * (1 - p) / (n + 1), "bootstrap": p * (1 - p) / n}
    for name, variance in exact.items():
        # The relative error of a variance of so many nearly normal draws is √(2/draws).
        np.testing.assert_allclose(study["sd"].sel(distribution=name) ** 2, variance, rtol=4 * np.sqrt(2 / 200_000))
    np.testing.assert_allclose(study["variance_ratio"], 2 * n / (n + 1), rtol=8 * np.sqrt(1 / 200_000))


@pytest.mark.slow
def test_the_figure_of_the_source():
    # Fig. 3: the ranges shrink and so does their difference; their ratio stays √2 (.. 1.40 to 1.42).
    study = studies.predictive_spread(CM, "mcc", [1, 10, 100, 500], draws=100_000)
    np.testing.assert_allclose(study["iqr_ratio"], np.sqrt(2), atol=0.02)
    np.testing.assert_allclose(study["variance_ratio"], 2, atol=0.05)
    assert (study["iqr_difference"].diff("scale") < 0).all()
    assert study["iqr_difference"][0] > 20 * study["iqr_difference"][-1]
    # Right panel: the means of the two agree.
    gap = abs(study["mean"].sel(distribution="predictive") - study["mean"].sel(distribution="bootstrap"))
    error = study["sd"].sel(distribution="predictive") * np.sqrt(1.5 / 100_000)
    # Of a metric that is no mean they agree up to the order of 1/N, here 145 λ.
    assert (gap < 4 * error + 0.5 / study["n"]).all()


def test_a_prior_can_reverse_the_order():
    # A strong belief in hardly any errors: accuracy then varies less than the data alone have it.
    prior = bp.prior.dirichlet([[2000, 20], [20, 2000]])
    study = studies.predictive_spread(CM, "accuracy", [1], prior=prior, draws=50_000)
    assert study["variance_ratio"].item() < 0.5
    # Beta-binomial of 95 + 4000 right and 50 + 40 wrong against the binomial.
    a, b, n = 4095, 90, 145
    predictive = a * b / (a + b) ** 2 / n * (a + b + n) / (a + b + 1)
    bootstrap = 95 * 50 / 145**3
    assert study["variance_ratio"].item() == pytest.approx(predictive / bootstrap, rel=0.04)
    # The posterior, of so many, is nearly normal.
    posterior = study.sel(distribution="posterior")
    assert (posterior["iqr"] / posterior["sd"]).item() == pytest.approx(2 * stats.norm.ppf(0.75), rel=0.02)


def test_undefined_draws_are_counted_and_left_out():
    cm = bp.ConfusionMatrix.from_counts(tp=1, fn=1, fp=1, tn=7)
    study = studies.predictive_spread(cm, "precision", [1], draws=100_000)
    # Of 10 examples, each called positive with probability .2.
    share = 0.8**10
    assert study["undefined"].sel(distribution="bootstrap").item() == pytest.approx(
        share, abs=4 * np.sqrt(share * (1 - share) / 100_000)
    )
    assert study["undefined"].sel(distribution="posterior").item() == 0
    assert np.isfinite(study["sd"]).all()


def test_settings():
    options = {"metric": "f1", "scale": [2, 3], "prior": "flat", "draws": 500, "random_seed": 4}
    whole = studies.predictive_spread(CM, **options)
    assert whole.attrs["prior"] == "flat Dirichlet (1 in each of 4 cells, total weight 4)"
    assert whole["n"].values.tolist() == [290, 435]


@pytest.mark.parametrize(
    ("cm", "options", "words"),
    [
        ([[1, 2], [3, 4]], {}, "cm must be one ConfusionMatrix, without leading dims"),
        (bp.ConfusionMatrix.from_counts(tp=[1, 2], fn=1, fp=1, tn=1), {}, "cm must be one ConfusionMatrix"),
        (CM, {"metric": "recall_per_class"}, "has a value a class"),
        (CM, {"scale": [0.5]}, "scale must be a whole number of at least 1"),
        (CM, {"draws": 1}, "draws must be a whole number of at least 2"),
        (bp.ConfusionMatrix.from_counts(tp=3, fn=0, fp=1, tn=1), {}, "Use a proper prior"),
    ],
)
def test_bad_arguments(cm, options, words):
    with pytest.raises(ValueError, match=words):
        studies.predictive_spread(cm, **options)
