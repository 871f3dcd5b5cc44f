"""Hierarchical priors of pymc-extras, if it is installed: its releases hold PyMC back, so that tests do not need it."""

import json
import warnings

import pytest
from scipy import stats

import bayesperf as bp
from bayesperf.sampling.fit_tree import priors_in_words
from tests.sampling.test_priors import OF_PRELIZ
from tests.shared.fits import BINARY, SYSTEMS, agrees, built, exact, of_scipy

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its own imports
    Prior = pytest.importorskip("pymc_extras.prior").Prior


@pytest.mark.slow
@pytest.mark.parametrize(("model", "data", "options", "name", "prior", "words", "dims"), OF_PRELIZ)
def test_hierarchical_priors_of_pymc_extras(model, data, options, name, prior, words, dims):
    """A prior of any family whose parameter has one in turn; the model then has both variables."""
    family, parameter = str(prior).partition("(")[0], {"Beta": "alpha", "HalfNormal": "sigma"}
    if family not in parameter:
        family = "Normal" if family == "Normal" else "Beta"
    weight = Prior("Gamma", alpha=20, beta=4)
    given = {"Normal": {"mu": Prior("Normal"), "sigma": weight}, "Beta": {"alpha": weight, "beta": 2},
             "HalfNormal": {"sigma": weight}}[family]  # fmt: skip
    made = built(model, data, options, {name: Prior(family, dims=dims, **given)})
    assert {f"{name}_{parameter}" for parameter, each in given.items() if isinstance(each, Prior)} <= set(
        priors_in_words(made)
    )


@pytest.mark.slow
def test_hyperpriors(sampler, alone):
    """A variable may bring others with it."""

    learnt = Prior("Beta", alpha=Prior("Gamma", alpha=20, beta=1), beta=1, dims="model")
    tree = bp.fit(SYSTEMS, "rates", {"recall": learnt}, draws=500, random_seed=3)
    weight = tree["posterior"]["recall_alpha"]
    agrees(weight, of_scipy(stats.gamma(20)))
    agrees(tree["posterior"]["recall"] ** weight, of_scipy(stats.uniform([0, 0], 1), "model"))
    words = json.loads(tree["posterior"].attrs["priors"])
    assert words["recall_alpha"] == "Gamma(20, 1)"
    assert words["recall"].startswith("Beta(")


@pytest.mark.slow
def test_they_are_sampled_or_refused_as_others_are(sampler, alone):
    prior = Prior("Beta", alpha=12, beta=12, dims="model")
    tree = bp.fit(SYSTEMS, "rates", {"recall": prior}, method="mcmc", draws=500, random_seed=3)
    agrees(tree["posterior"]["recall"], of_scipy(stats.beta([12, 12], 12), "model"))
    with pytest.raises(ValueError, match=r"priors: 'recall' has shape \(\); its dims \('model',\) have \(2,\)\."):
        bp.fit(SYSTEMS, "rates", {"recall": Prior("Beta", alpha=1, beta=1)}, draws=10)
    with pytest.raises(ValueError, match="a Beta prior of 'prevalence'"):
        exact(BINARY, "rates", {"prevalence": Prior("Beta", alpha=1, beta=1)})
