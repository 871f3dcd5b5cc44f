"""Priors of `fit`, of PyMC and other packages, and models of one's own."""

import functools
import json

import numpy as np
import preliz as pz
import pymc as pm
import pytest
import xarray as xr
from scipy import special, stats

import bayesperf as bp
from bayesperf.models.building import EXAMPLES
from bayesperf.sampling.backend import INTERPRETED
from bayesperf.sampling.fit_tree import priors_in_words
from tests.shared.fits import (
    BINARY,
    SCORES,
    SITES,
    SYSTEMS,
    THREE,
    THREE_SITES,
    Y_PRED,
    Y_TRUE,
    agrees,
    built,
    built_with_key,
    error,
    exact,
    of_scipy,
    shared_recall,
)

# ── Priors ──


SCORED = (np.tile([0, 1], 20), np.random.default_rng(1).normal(size=40))
PROBABLE = (np.tile([0, 1], 20), np.random.default_rng(1).uniform(0.1, 0.9, 40))
JUDGED = bp.Ratings.from_table(np.random.default_rng(1).integers(0, 2, (60, 3)))
BELIEF = pz.maxent(pz.Beta(), 0.75, 0.95, 0.9, plot=False)
# Every model whose priors are of single quantities: the name of one of them, a prior of PreliZ, what PyMC calls it, and
# the dims of the variable.
OF_PRELIZ = [
    ("rates", SYSTEMS, {}, "recall", pz.Beta(9, 1), "Beta(9, 1)", "model"),
    ("rates", SYSTEMS, {}, "specificity", BELIEF, f"Beta({BELIEF.alpha:g}, {BELIEF.beta:g})", "model"),
    ("classes", THREE, {}, "mean_recall", pz.LogitNormal(1, 0.5), "LogitNormal(1, 0.5)", None),
    ("groups", SITES, {}, "dispersion", pz.Truncated(pz.Beta(1, 9), 0.0, 0.5), "TruncatedBeta", "actual"),
    ("groups_logit", SITES, {}, "spread", pz.HalfNormal(0.2), "HalfNormal(0, 0.2)", "varying_rate"),
    ("slices", SITES, {}, "location", pz.Normal(1, 2), "Normal(1, 2)", "rate"),
    ("markov", (Y_TRUE, Y_PRED), {}, "stay", pz.Beta(4, 2), "Beta(4, 2)", "actual"),
    ("datasets", SCORES, {}, "center", pz.Normal(1, 2), "Normal(1, 2)", None),
    ("binormal_roc", SCORED, {}, "offset", pz.Normal(1, 2), "Normal(1, 2)", "actual"),
    ("recalibration", PROBABLE, {}, "slope", pz.Normal(1, 0.5), "Normal(1, 0.5)", None),
    ("raters", JUDGED, {"pooled": True}, "spread", pz.HalfNormal(0.5), "HalfNormal(0, 0.5)", "actual"),
]  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize(("model", "data", "options", "name", "prior", "words", "dims"), OF_PRELIZ)
def test_priors_of_preliz(model, data, options, name, prior, words, dims):
    made = built(model, data, options, {name: prior})
    assert priors_in_words(made)[name].startswith(words)
    drawn = pm.draw(made[name], 2000, random_seed=1, mode=INTERPRETED)
    np.testing.assert_allclose(drawn.mean(0), prior.mean(), atol=5 * prior.std() / np.sqrt(2000))


@pytest.mark.slow
def test_priors_without_a_closed_form_are_sampled():
    """The posterior is that of quadrature, under the density that SciPy has of the prior."""
    priors = {"recall": pz.Truncated(pz.Beta(9, 1), 0.2, 0.85), "specificity": pz.LogitNormal(1, 0.5)}
    found = bp.fit(BINARY, "rates", priors, random_seed=1)["posterior"]
    rate = (np.arange(20_000) + 0.5) / 20_000
    recall = stats.binom.pmf(40, 50, rate) * stats.beta(9, 1).pdf(rate) * ((rate > 0.2) & (rate < 0.85))
    logits = np.log(rate / (1 - rate))
    specificity = stats.binom.pmf(45, 50, rate) * stats.norm(1, 0.5).pdf(logits) / (rate * (1 - rate))
    for name, density in (("recall", recall), ("specificity", specificity)):
        mean = np.average(rate, weights=density)
        assert found[name].mean() == pytest.approx(mean, abs=5 * error(found[name].values))


@pytest.mark.slow
def test_priors_of_preliz_are_sampled(sampler, alone):
    expected = of_scipy(stats.beta([12, 12], 12), "model")
    for prior in (pz.Beta(12, 12), pm.Beta.dist(12, 12, shape=2)):
        tree = bp.fit(SYSTEMS, "rates", {"recall": prior}, method="mcmc", draws=500, random_seed=3)
        agrees(tree["posterior"]["recall"], expected)  # what is sampled here is the prior
        recall = tree["posterior"]["recall"].values
        assert abs(np.corrcoef(recall[..., 0].ravel(), recall[..., 1].ravel())[0, 1]) < 5 / np.sqrt(2000)
        assert "recall ~ Beta(12, 12)" in tree["posterior"].attrs["prior"]
        assert "specificity ~ Beta(0.5, 0.5)" in tree["posterior"].attrs["prior"]
    agrees(exact(SYSTEMS, "rates", {"recall": pz.Beta(12, 12)})["posterior"]["recall"],
           of_scipy(stats.beta([32, 19], [16, 12]), "model"))  # fmt: skip


@pytest.mark.slow
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


# ── Rates, in models of other parameters ──

RATES = {"recall": (9, 1), "specificity": (2, 5)}
BY_RATE = ["rates", "multinomial", "groups", "groups_logit"]
OF_OTHER_FAMILIES = {"recall": pm.Uniform.dist(0.5, 0.9), "specificity": pz.LogitNormal(1, 0.5)}


def cells_of_groups_alike(model, priors):
    """Return draws of a model's cells under priors of rates, where groups do not differ."""
    data = SITES if model.startswith("groups") else BINARY
    alike = {"groups": {"dispersion": pm.Beta.dist(1, 1e7)}, "groups_logit": {"spread": pm.HalfNormal.dist(1e-6)}}
    made = built(model, data, priors={**priors, **alike.get(model, {})})
    return pm.draw(made["cells"], 4000, random_seed=1, mode=INTERPRETED)


@pytest.mark.few(1)
@pytest.mark.parametrize("model", BY_RATE)
@pytest.mark.parametrize("own", [{name: pm.Beta.dist(*ab) for name, ab in RATES.items()}, OF_OTHER_FAMILIES],
                         ids=["Beta", "other families"])  # fmt: skip
def test_priors_of_rates_are_understood_by_every_model_of_two_classes(model, own):
    priors = {**own, "prevalence": pm.Beta.dist(4, 8)}
    cells = cells_of_groups_alike(model, priors)
    found = {"prevalence": cells[:, 1].sum(-1), "recall": cells[:, 1, 1] / cells[:, 1].sum(-1),
             "specificity": cells[:, 0, 0] / cells[:, 0].sum(-1)}  # fmt: skip
    reference = {"recall": stats.beta(9, 1), "specificity": stats.beta(2, 5), "prevalence": stats.beta(4, 8)}
    if own is OF_OTHER_FAMILIES:
        reference |= {"recall": stats.uniform(0.5, 0.4), "specificity": None}
    for name, drawn in found.items():
        logits, expected = np.log(drawn / (1 - drawn)), reference[name]
        test = stats.kstest(logits, stats.norm(1, 0.5).cdf) if expected is None else stats.kstest(drawn, expected.cdf)
        assert test.pvalue > 1e-4, name


@pytest.mark.slow
@pytest.mark.parametrize("model", ["rates", "multinomial", "groups"])
def test_posteriors_under_priors_of_rates_are_their_betas(model):
    """Against the conjugate posteriors; the groups are held to be alike."""
    data, alike = (SITES, {"dispersion": pm.Beta.dist(1, 1e6)}) if model == "groups" else (BINARY, {})
    (tn, fp), (fn, tp) = data.counts.sum(list(data.dims)).values.tolist()
    priors = {"recall": pz.Beta(9, 1), "specificity": pm.Beta.dist(2, 5), "prevalence": pm.Beta.dist(4, 8), **alike}
    cells = exact(data, model, priors, draws=4000)["posterior"]["cells"]
    share = cells.sum("predicted")
    of_yes, of_no = ({"actual": i, "predicted": i} for i in (1, 0))
    agrees(cells.isel(of_yes, drop=True) / share.isel(actual=1, drop=True), of_scipy(stats.beta(9 + tp, 1 + fn)))
    agrees(cells.isel(of_no, drop=True) / share.isel(actual=0, drop=True), of_scipy(stats.beta(2 + tn, 5 + fp)))
    agrees(share.isel(actual=1, drop=True), of_scipy(stats.beta(4 + tp + fn, 8 + tn + fp)))


def test_a_prior_of_a_typical_group_is_not_called_that_of_the_mean():
    made = built("groups_logit", SITES, priors={"recall": pm.Beta.dist(9, 1)})
    assert priors_in_words(made)["typical_recall"] == "Beta(9, 1)"
    assert "recall" not in made.named_vars
    assert made.named_vars_to_dims["location"] == ["rate"]


def test_a_prior_of_a_rate_of_the_median_study_is_that_of_its_logit():
    made = built(
        "meta_analysis", SITES, {"dim": "site"}, {"specificity": pz.Beta(9, 1), "spread": pm.HalfNormal.dist(2)}
    )
    location = pm.draw(made["location"], 4000, random_seed=1, mode=INTERPRETED)
    for logit, expected in zip(location.T, [stats.beta(1, 1), stats.beta(9, 1)], strict=True):
        assert stats.kstest(special.expit(logit), expected.cdf).pvalue > 1e-4
    assert {"typical_recall", "typical_specificity", "spread"} <= {variable.name for variable in made.free_RVs}


@pytest.mark.slow
def test_models_that_differ_by_the_family_of_a_rate_are_compiled_apart():
    for model in ("multinomial", "groups", "groups_logit"):
        data = BINARY if model == "multinomial" else SITES
        families = pm.Uniform.dist(0.25, 0.5), pm.Kumaraswamy.dist(0.25, 0.5)
        keys = [built_with_key(model, data, priors={"recall": family})[1] for family in families]
        assert None in keys or len(set(keys)) == 2


def test_a_random_parameter_is_no_number_of_a_closed_form():
    random = pm.Beta.dist(pm.Gamma.dist(20, 1), 1)
    with pytest.raises(ValueError, match="method='exact' needs a Beta prior of 'recall'"):
        exact(BINARY, "rates", {"recall": random})


class Unbounded:
    def create_variable(self, name):
        return pm.Normal(name, dims="model")


PRIOR_ERRORS = [
    ("multinomial", THREE, {"recall": pm.Beta.dist(9, 1)}, "'recall' is a rate of two classes, and there are 3. Name "
     "the parameter of this model, as priors={'shares': pm.Dirichlet.dist(np.ones(9))}."),
    ("groups", THREE_SITES, {"recall": pm.Beta.dist(9, 1)}, "as priors={'rates': pm.Dirichlet.dist([9.0, 1.0, 1.0])}."),
    ("groups", SITES, {"recall": pm.Beta.dist(9, 1), "rates": pm.Dirichlet.dist([1.0, 1.0])}, "'recall' and 'rates' "
     "are priors of the same quantity. Leave one of them out."),
    ("slices", SITES, {"recall": pm.Beta.dist(9, 1)}, "priors: this model has no 'recall'; it has 'location', "
     "'spread'. Write for example priors={'location': pm.Logistic.dist(0, 1)}."),
    ("rates", SYSTEMS, {"recal": pm.Beta.dist(1, 1)}, "priors: this model has no 'recal'; it has 'prevalence', "
     "'recall', 'specificity'."),
    ("rates", SYSTEMS, {"recall": pm.Beta.dist(1, [1, 2, 3])}, "priors: 'recall' has shape (3,); its dims "
     "('model',) have (2,)."),
    ("rates", SYSTEMS, {"recall": pm.Normal.dist(0, 1)}, "priors: 'recall' has the wrong support: it can be "),
    ("rates", SYSTEMS, {"recall": Unbounded()}, "priors: 'recall' has the wrong support: it can be "),
    ("rates", SYSTEMS, {"recall": pm.Uniform.dist(0, 2)}, "which recall cannot."),
    ("rates", SYSTEMS, {"recall": pm.Poisson.dist(3)}, "priors: 'recall' has the wrong support: it is discrete, "
     "and the quantity is continuous."),
    ("rates", SYSTEMS, {"recall": 0.3}, "priors: 'recall' must be an unnamed PyMC distribution, as pm.Beta.dist(9, "
     "1), a PreliZ distribution, or an object with create_variable(name); it is 0.3."),
    ("rates", SYSTEMS, {"recall": "flat"}, "it is 'flat'."),
    ("rates", SYSTEMS, {"recall": pz.Beta()}, "a Beta of PreliZ has no parameters yet. Give them, as pz.Beta(…)"),
    ("rates", SYSTEMS, {"recall": stats.beta(9, 1)}, "priors: 'recall' must be an unnamed PyMC distribution"),
    ("rates", SYSTEMS, {"recall": pm.math.sigmoid(pm.Normal.dist(0, 1))}, "must be an unnamed PyMC distribution"),
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


@pytest.mark.parametrize("name", bp.models.names())
def test_the_example_in_an_error_is_of_the_family_of_the_prior(name):
    prior = next(iter(getattr(bp.models, name).PRIORS.values()))
    family = (prior(2) if callable(prior) else prior).owner.op.name
    assert EXAMPLES.get(family, "pm.Beta.dist(9, 1)").lower().startswith(f"pm.{family}.dist(")


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
        ((Y_TRUE, Y_PRED), "markov", {"stay": pm.Uniform.dist(0, 1)}, "a Beta prior of 'stay'"),
    ],
)
def test_the_closed_form_needs_conjugate_priors(data, model, priors, words):
    with pytest.raises(ValueError, match=r"priors: method='exact' needs .*\. Use method='mcmc'\.") as raised:
        exact(data, model, priors)
    assert words in str(raised.value)


# ── A model of one's own ──


@pytest.mark.slow
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
    post = bp.Posterior.from_datatree(tree)
    assert post.summary(["recall"])["mean"][0] == pytest.approx(9 / 11, abs=0.05)
    assert post.estimand == "Posterior of the metric over models, as the model defines it"
    # Its cells have no dim of systems: what was observed is the table of all of them.
    np.testing.assert_array_equal(post.observed, SYSTEMS.sum("model").counts)
    assert "The model says how examples depend on each other." in bp.report(tree).markdown


@pytest.mark.slow
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
