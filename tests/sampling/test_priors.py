"""Priors of `fit`, of PyMC and other packages, and models of one's own."""

import functools
import json

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf.sampling.backend import INTERPRETED
from bayesperf.sampling.fit_tree import priors_in_words
from tests.shared.fits import (
    BINARY,
    SCORES,
    SITES,
    SYSTEMS,
    Y_PRED,
    Y_TRUE,
    agrees,
    built,
    exact,
    of_scipy,
    shared_recall,
)

# ── Priors ──


class Halves:
    """As PreliZ's distributions."""

    def to_pymc(self):
        return pm.Beta.dist(12, 12)


class Made:
    """As the priors of pymc_extras."""

    def __init__(self, *dims):
        self.dims = dims

    def create_variable(self, name):
        return pm.Beta(name, 12, 12, dims=self.dims)


def test_priors_of_other_packages(sampler, alone):
    expected = of_scipy(stats.beta([12, 12], 12), "model")
    for prior in (Halves(), Made("model"), pm.Beta.dist(12, 12, shape=2)):
        tree = bp.fit(SYSTEMS, "rates", {"recall": prior}, method="mcmc", draws=500, random_seed=3)
        agrees(tree["posterior"]["recall"], expected)  # what is sampled here is the prior
        recall = tree["posterior"]["recall"].values
        assert abs(np.corrcoef(recall[..., 0].ravel(), recall[..., 1].ravel())[0, 1]) < 5 / np.sqrt(2000)
        assert "recall ~ Beta(12, 12)" in tree["posterior"].attrs["prior"]
        assert "specificity ~ Beta(0.5, 0.5)" in tree["posterior"].attrs["prior"]
    agrees(exact(SYSTEMS, "rates", {"recall": Halves()})["posterior"]["recall"],
           of_scipy(stats.beta([32, 19], [16, 12]), "model"))  # fmt: skip


def test_priors_that_are_no_beta():
    model = built(
        "rates", SYSTEMS, priors={"recall": pm.Uniform.dist(0.5, 0.9), "specificity": pm.Kumaraswamy.dist(2, 3)}
    )
    assert priors_in_words(model) == {
        "prevalence": "Beta(1, 1)", "recall": "Uniform(0.5, 0.9)", "specificity": "Kumaraswamy(2, 3)",
    }  # fmt: skip
    # One share a row, in the order of the dims.
    rows = built("groups", SITES, priors={"rates": pm.Dirichlet.dist([[8.0, 2.0], [1.0, 9.0]])})
    drawn = pm.draw(rows["rates"], 4000, random_seed=1, mode=INTERPRETED)
    np.testing.assert_allclose(drawn.mean(0), [[0.8, 0.2], [0.1, 0.9]], atol=5 * 0.4 / np.sqrt(12 * 4000))


def test_hyperpriors(sampler, alone):
    """A variable may bring others with it."""

    class Learnt:
        def create_variable(self, name):
            weight = pm.Gamma(f"{name}_weight", 20, 1)
            return pm.Beta(name, weight, 1, dims="model")

    tree = bp.fit(SYSTEMS, "rates", {"recall": Learnt()}, draws=500, random_seed=3)
    weight = tree["posterior"]["recall_weight"]
    agrees(weight, of_scipy(stats.gamma(20)))
    agrees(tree["posterior"]["recall"] ** weight, of_scipy(stats.uniform([0, 0], 1), "model"))
    words = json.loads(tree["posterior"].attrs["priors"])
    assert words["recall_weight"] == "Gamma(20, 1)"
    assert words["recall"].startswith("Beta(")


PRIOR_ERRORS = [
    ("rates", SYSTEMS, {"recal": pm.Beta.dist(1, 1)}, "priors: this model has no 'recal'; it has 'prevalence', "
     "'recall', 'specificity'."),
    ("rates", SYSTEMS, {"recall": pm.Beta.dist(1, [1, 2, 3])}, "priors: 'recall' has shape (3,); its dims "
     "('model',) have (2,)."),
    ("rates", SYSTEMS, {"recall": pm.Normal.dist(0, 1)}, "priors: 'recall' has the wrong support: it can be "),
    ("rates", SYSTEMS, {"recall": pm.Uniform.dist(0, 2)}, "which recall cannot."),
    ("rates", SYSTEMS, {"recall": pm.Poisson.dist(3)}, "priors: 'recall' has the wrong support: it is discrete, "
     "and the quantity is continuous."),
    ("rates", SYSTEMS, {"recall": 0.3}, "priors: 'recall' must be an unnamed PyMC distribution, as pm.Beta.dist(9, "
     "1), a PreliZ distribution, or an object with create_variable(name); it is 0.3."),
    ("rates", SYSTEMS, {"recall": "flat"}, "it is 'flat'."),
    ("rates", SYSTEMS, {"recall": stats.beta(9, 1)}, "priors: 'recall' must be an unnamed PyMC distribution"),
    ("rates", SYSTEMS, {"recall": pm.math.sigmoid(pm.Normal.dist(0, 1))}, "must be an unnamed PyMC distribution"),
    ("rates", SYSTEMS, {"recall": Made()}, "priors: 'recall' has shape (); its dims ('model',) have (2,)."),
    ("multinomial", SYSTEMS, {"shares": pm.Dirichlet.dist(np.ones(3))}, "priors: 'shares' has shape (2, 3); its "
     "dims ('model', 'cell') have (2, 4)."),
    ("multinomial", BINARY, {"shares": pm.Uniform.dist(0, 1, shape=4)}, "priors: 'shares' has the wrong support"),
    ("multinomial", BINARY, {"shares": pm.Beta.dist(1, 1)}, "priors: 'shares' has the wrong support"),
    ("groups", SITES, {"rates": pm.Beta.dist(1, 1)}, "priors: 'rates' has the wrong support"),
    ("groups", SITES, {"dispersion": pm.HalfNormal.dist(1)}, "priors: 'dispersion' has the wrong support: it can "
     "be "),
    ("groups_logit", SITES, {"spread": pm.Normal.dist(0, 1)}, "which spread cannot."),
    ("groups_logit", SITES, {"coefficients": pm.Normal.dist(0, 1)}, "it has 'location', 'spread', 'coefficient'."),
    ("datasets", SCORES, {"noise": pm.Normal.dist(1, 1)}, "which noise cannot."),
    ("groups_logit", SITES, {"coefficient": pm.Normal.dist(0, 1)}, "priors: 'coefficient' is of no use without "
     "options={'covariates': ...}."),
    ("markov", (Y_TRUE, Y_PRED), {"stay_dispersion": pm.Beta.dist(1, 9)}, "priors: 'stay_dispersion' is of no use "
     "without options={'sequences': 'varying'}."),
]  # fmt: skip


@pytest.mark.parametrize(("model", "data", "priors", "words"), PRIOR_ERRORS)
def test_wrong_priors(model, data, priors, words, sampler):
    with pytest.raises(ValueError, match="priors: ") as raised:
        bp.fit(data, model, priors, draws=10)
    assert words in str(raised.value)
    assert not sampler


@pytest.mark.parametrize(
    ("data", "model", "priors", "words"),
    [
        (BINARY, "rates", {"recall": pm.Uniform.dist(0, 1)}, "a Beta prior of 'recall'"),
        (BINARY, "rates", {"prevalence": Made()}, "a Beta prior of 'prevalence'"),
        ((Y_TRUE, Y_PRED), "markov", {"stay": pm.Uniform.dist(0, 1)}, "a Beta prior of 'stay'"),
    ],
)
def test_the_closed_form_needs_conjugate_priors(data, model, priors, words):
    with pytest.raises(ValueError, match=r"priors: method='exact' needs .*\. Use method='mcmc'\.") as raised:
        exact(data, model, priors)
    assert words in str(raised.value)


# ── A model of one's own ──


def test_a_model_of_ones_own(sampler):
    tree = bp.fit(SYSTEMS, shared_recall, {"recall": (9, 2)}, options={"weight": 0.5}, draws=200, random_seed=2)
    posterior = tree["posterior"]
    assert posterior.attrs["model"] == "shared_recall"
    assert posterior.attrs["positive"] == 0
    assert json.loads(posterior.attrs["priors"]) == {"recall_of_all": "Beta(9, 2)"}
    np.testing.assert_allclose(posterior["recall"], posterior["recall_of_all"])
    np.testing.assert_allclose(posterior["cells"].sel(actual="yes", predicted="no"), 0.125)
    expected = stats.binom.logpmf([20, 7], [24, 7], posterior["recall_of_all"].values[..., None])
    found = tree["log_likelihood"]["hits"]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert bp.Posterior.from_datatree(tree).summary(["recall"])["mean"][0] == pytest.approx(9 / 11, abs=0.05)


def test_a_part_of_a_function_is_a_model(sampler):
    tree = bp.fit(SYSTEMS, functools.partial(shared_recall, weight=0.5), {"recall": (9, 2)}, draws=50, random_seed=2)
    assert "shared_recall" in tree["posterior"].attrs["model"]
    np.testing.assert_allclose(tree["posterior"]["cells"].sel(actual="yes", predicted="no"), 0.125)


def test_a_model_of_ones_own_takes_any_array(sampler):
    """Without cells there are no metrics."""

    def mean_of(data, priors):
        with pm.Model(coords={"day": data["day"].values}) as model:
            mu = pm.Normal("mu")
            pm.Normal("x", mu, 1, observed=pm.Data("x_data", data.values, dims="day"), dims="day")
        return model

    data = xr.DataArray([1.0, 2.0, 4.0], {"day": ["mon", "tue", "wed"]}, ("day",))
    tree = bp.fit(data, mean_of, draws=200, random_seed=2)
    assert set(tree["posterior"].data_vars) == {"mu"}
    assert tree["log_likelihood"]["x"].dims == ("chain", "draw", "day")
    assert tree["observed_data"]["x"].values.tolist() == [1, 2, 4]
