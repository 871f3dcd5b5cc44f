"""An edited copy of a model's file takes the place of the model."""

import importlib.util
from pathlib import Path

import numpy as np
import pymc as pm
import pytest
from scipy import integrate, stats

import bayesperf as bp
from bayesperf import models
from bayesperf.sampling import backend
from tests.shared.fits import BINARY, CASES, SITES, built_with_key, error

FOLDER = Path(models.__file__).parent


@pytest.fixture
def edited(tmp_path):
    """Return a function that copies a model's file, replaces some text and imports the copy."""

    def copy(model, old="", new=""):
        text = (FOLDER / f"{model}.py").read_text(encoding="utf-8")
        assert old in text
        path = tmp_path / f"my_{model}.py"
        path.write_text(text.replace(old, new) if old else text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return copy


def variables(tree):
    return {name: {of: values.dims for of, values in group.data_vars.items()} for name, group in tree.children.items()}


def facts(tree):
    """Return the attributes of a fit, without what names the model and its priors."""
    own = ("model", "prior", "priors")
    return {name: value for name, value in tree["posterior"].attrs.items() if name not in own}


def test_a_copy_with_another_prior_is_drawn_exactly(edited):
    copy = edited("rates", '"recall": pm.Beta.dist(0.5, 0.5)', '"recall": pm.Beta.dist(9, 1)')
    settings = {"method": "exact", "draws": 1000, "random_seed": 1}
    tree, original = (bp.fit(BINARY, model, **settings) for model in (copy, "rates"))
    assert variables(tree) == variables(original)
    assert facts(tree) == facts(original)
    assert tree["posterior"].attrs["model"] == "my_rates"
    recall = tree["posterior"]["recall"].values.ravel()
    assert stats.kstest(recall, stats.beta(49, 11).cdf).pvalue > 1e-3
    again = bp.fit(BINARY, "rates", {"recall": pm.Beta.dist(9, 1)}, **settings)["posterior"]["recall"]
    np.testing.assert_array_equal(recall, again.values.ravel())


UNLIKE = {
    "asks for .*'dispersion'.*": lambda posterior, *_, **__: posterior["dispersion"],
    r"cannot be computed of draws of the model: .*no_such_verb.*": lambda posterior, *_, **__: posterior.no_such_verb(),
}


@pytest.mark.parametrize("words", UNLIKE)
@pytest.mark.parametrize("function", ["recover", "log_likelihood"])
def test_a_function_that_was_not_edited_with_the_model_is_named_before_sampling(function, words, edited, sampler):
    copy = edited("rates")
    setattr(copy, function, UNLIKE[words])
    with pytest.raises(bp.InputError, match=rf"model: its function '{function}' {words} or delete it\."):
        bp.fit(BINARY, copy, method="mcmc", draws=20, random_seed=1)
    assert sampler == []


@pytest.mark.slow
@pytest.mark.parametrize("case", ["groups, clusters", "groups_logit, covariates"])
def test_a_copy_is_sampled_with_all_that_the_original_has(case, edited, sampler):
    name, data, options = CASES[case]
    copy = edited(name)
    tree, original = (
        bp.fit(data, model, options=options, method="mcmc", draws=20, random_seed=1) for model in (copy, name)
    )
    assert variables(tree) == variables(original)
    assert facts(tree) == facts(original)
    assert {"cells_group", "cells_new"} <= set(tree["posterior"].data_vars)
    assert sampler[0] == sampler[1]


@pytest.mark.slow
def test_a_copy_with_another_prior_is_sampled_as_the_original_under_that_prior(edited):
    copy = edited("groups", '"random": pm.Beta.dist(1, 24)', '"random": pm.Beta.dist(2, 8)')
    settings = {"random_seed": 1, "progressbar": False}
    tree = bp.fit(SITES, copy, **settings)
    exact = bp.fit(SITES, "groups", {"dispersion": pm.Beta.dist(2, 8)}, method="exact", draws=2500, **settings)
    assert variables(tree).keys() - {"sample_stats"} == variables(exact).keys()
    for name in ("rates", "dispersion", "recall", "recall_group", "recall_new"):
        drawn, reference = tree["posterior"][name], exact["posterior"][name]
        axes = ("chain", "draw")
        spread = np.hypot(reference.std(axes) / 10, 1e-3)
        assert (abs(drawn.mean(axes) - reference.mean(axes)) < spread).all(), name
    for remark in ("estimand", "scope", "groups_dim", "options"):
        assert tree["posterior"].attrs[remark] == exact["posterior"].attrs[remark]
    said = [bp.Posterior.from_datatree(one).summary(["recall"]).attrs["prior"] for one in (tree, exact)]
    assert said[0] == said[1]
    assert "dispersion ~ Beta(2, 8)" in said[0]


@pytest.mark.slow
def test_a_copy_with_another_likelihood(edited):
    """Where half of the right answers are lost, recall is about twice the share of hits."""
    copy = edited("rates", "p=rates[rate], observed", "p=rates[rate] / 2, observed")
    data = bp.ConfusionMatrix.from_counts(tp=12, fn=38, fp=38, tn=12)
    tree = bp.fit(data, copy, random_seed=1, progressbar=False)
    density = lambda recall: stats.binom.pmf(12, 50, recall / 2) * stats.beta.pdf(recall, 0.5, 0.5)  # noqa: E731
    total, first = (integrate.quad(lambda r, k=k: r**k * density(r), 0, 1)[0] for k in (0, 1))
    recall = tree["posterior"]["recall"]
    assert recall.mean() == pytest.approx(first / total, abs=5 * error(recall))
    assert {"log_likelihood", "posterior_predictive"} <= set(tree.children)


@pytest.mark.slow
def test_the_closed_form_of_the_original_is_not_that_of_a_copy(edited, sampler):
    """Its likelihood may have been edited, and a prior of another family has other parameters."""
    copy = edited("groups", "pm.Beta.dist(1, 24)", "pm.Uniform.dist(0, 0.2)")
    assert bp.fit(SITES, copy, draws=20)["posterior"].attrs["method"] == "mcmc"
    assert bp.fit(BINARY, edited("rates"), draws=20)["posterior"].attrs["method"] == "mcmc"
    with pytest.raises(ValueError, match=r"'my_groups' is a copy.*Use method='mcmc'"):
        bp.fit(SITES, copy, method="exact", draws=20)


def test_a_copy_is_compiled_each_time(edited):
    assert built_with_key(edited("rates"), BINARY)[1] is None


@pytest.mark.slow
def test_the_module_of_a_model_is_the_model(sampler):
    by_module, by_name = (bp.fit(SITES, model, draws=20, random_seed=1) for model in (models.groups, "groups"))
    assert by_module["posterior"].attrs["method"] == "exact"
    assert by_module.identical(by_name)
    bp.fit(SITES, models.groups, method="mcmc", draws=20, random_seed=1)
    assert len(backend._kept) == 1


def test_a_module_that_is_no_model():
    with pytest.raises(TypeError, match=r"model is the module 'pathlib', which has no DATA\. Import an edited copy"):
        bp.fit(BINARY, importlib.import_module("pathlib"))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["rates", models.rates])
def test_a_model_of_data_is_built(model):
    built = bp.models.build(BINARY, model, {"recall": pm.Beta.dist(9, 1)}, options={"design": "by_actual"})
    assert isinstance(built, pm.Model)
    assert {rv.name for rv in built.free_RVs} == {"prevalence", "recall", "specificity"}
    assert {rv.name for rv in built.observed_RVs} == {"true_positives", "true_negatives"}
    at = {"prevalence": 0.5, "recall": 0.8, "specificity": 0.7}
    logp = built.compile_logp(mode=backend.INTERPRETED, jacobian=False)
    start = built.initial_point()
    point = {name: np.log(at[name.split("_")[0]] / (1 - at[name.split("_")[0]])) * np.ones_like(value)
             for name, value in start.items()}  # fmt: skip
    expected = stats.binom.logpmf([40, 45], 50, [0.8, 0.7]).sum() + stats.beta.logpdf(0.8, 9, 1)
    expected += stats.beta.logpdf(0.5, 1, 1) + stats.beta.logpdf(0.7, 0.5, 0.5)
    assert logp(point) == pytest.approx(expected)


def test_data_are_refused_as_by_a_fit():
    with pytest.raises(TypeError, match="data must be a ConfusionMatrix"):
        bp.models.build([[1, 2], [3, 4]])
