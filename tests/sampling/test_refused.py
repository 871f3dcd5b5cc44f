"""What `fit` refuses, and in which words."""

import functools

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import integrate, stats

import bayesperf as bp
from bayesperf import models
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.sampling import backend, nuts
from tests.shared.fits import (
    BINARY,
    NORMAL,
    SCORES,
    SITES,
    SYSTEMS,
    THREE,
    THREE_SITES,
    VIDEO,
    Y_PRED,
    Y_TRUE,
    error,
    exact,
    shared_recall,
    sites_called,
)
from tests.shared.models import ANSWERED, GRADED

# The same difference in three folds, whose standard deviation is not 0 in floats.
ALIKE = xr.DataArray(
    [[[0.1] * 3, [0.0] * 3]], {"dataset": ["a"], "model": ["new", "old"]}, ("dataset", "model", "fold")
)


def without_a_model(data, priors):
    return {"recall": pm.Beta.dist(1, 1)}


def with_cells(data, priors, dims=None):
    """Cells without names, or of another recall than the variable's."""
    with pm.Model(coords={"actual": data["actual"].values, "predicted": data["predicted"].values}) as model:
        recall = pm.Beta("recall", 1, 1)
        pm.Binomial("hits", 10, recall, observed=pm.Data("hits_data", 3))
        pm.Deterministic("cells", pm.math.stack([recall**2, 1 - recall**2, 0.5, 0.5]).reshape((2, 2)) / 2, dims=dims)
    return model


with_table = functools.partial(with_cells, dims=CELL_DIMS)
with_table.__name__ = "with_table"


def covariates(values, *dims, **coords):
    return {"options": {"covariates": xr.DataArray(values, coords, dims)}}


OF_SITES = "options['covariates']"
ERRORS = [
    (ValueError, BINARY, "multinomal", {}, f"model must be one of {', '.join(bp.models.names())}, a "
     "function (data, priors) -> pymc.Model, or an edited copy of a model's file, imported; it is 'multinomal'. Did "
     "you mean 'multinomial'?"),
    (ValueError, BINARY, 3, {}, "imported; it is 3."),
    (ValueError, BINARY, "rates", {"method": "vi"}, "method must be one of 'auto', 'mcmc', 'exact', "
     "'approximate'; it is 'vi'."),
    (ValueError, BINARY, "rates", {"draws": 0}, "draws must be a whole number of at least 1; it is 0."),
    (ValueError, BINARY, "rates", {"chains": 1.5}, "chains must be a whole number of at least 1; it is 1.5."),
    (TypeError, BINARY, "rates", {"method": "exact", "target_accept": 0.9, "cores": 1}, "method: 'exact' samples "
     "nothing, so it takes no target_accept, cores."),
    (ValueError, sites_called("cell"), "groups", {}, "data: 'cell' is a dim that the models use for their own; rename "
     "that dim."),
    (ValueError, sites_called("cells_new"), "groups", {}, "data: 'cells_new' is a dim that the models use for their "
     "own; rename that dim."),
    (ValueError, sites_called("totals"), "groups", {}, "data: 'totals' is a variable of the model; rename that dim."),
    (ValueError, sites_called("recall"), "rates", {}, "data: 'recall' is a variable of the model; rename that dim."),
    (ValueError, sites_called("recall"), "multinomial", {}, "data: 'recall' is a metric; rename that dim, or leave the "
     "metric out of metrics."),
    (TypeError, BINARY, "rates", {"priors": [pm.Beta.dist(1, 1)]}, "priors must be a mapping, as {'recall': "
     "pymc.Beta.dist(9, 1)}; it is list."),
    (TypeError, BINARY, "rates", {"priors": ""}, "priors must be a mapping, as {'recall': pymc.Beta.dist(9, 1)}; it is "
     "str."),
    (TypeError, SITES, "groups", {"options": "clusters"}, "options must be a mapping, as {'groups': 'clusters'}; it is "
     "str."),
    (TypeError, BINARY, without_a_model, {}, "model: the function must return a pymc.Model; it returned dict."),
    (ValueError, SYSTEMS, with_cells, {}, "model: its variable 'cells' must have dims (…, 'actual', 'predicted'); it "
     "has ()."),
    (ValueError, SYSTEMS, with_table, {}, "metrics: 'recall' is the name of another variable of the model, with dims "
     "(). Take it from metrics: bayesperf.Posterior.from_datatree(tree)['recall'] is the metric."),
    (ValueError, SITES, "groups", {"metrics": ["recall", "prevalence"]}, "metrics: 'prevalence' is the name of another "
     "variable of the model, with dims ('actual',). Take it from metrics: bayesperf.Posterior.from_datatree(tree)"
     "['prevalence'] is the metric."),
    (ValueError, SCORES, "datasets", {"metrics": ["recall"]}, "metrics: the model has no variable 'cells' (…, actual, "
     "predicted) to compute them of."),
    (TypeError, BINARY, "rates", {"metrics": "recall"}, "metrics must be a sequence of names, as ['recall']; it is "
     "'recall'."),
    (ValueError, BINARY, "rates", {"nuts_sampler": "stan"}, "nuts_sampler must be one of 'nutpie', 'pymc', 'numpyro', "
     "'blackjax'; it is 'stan'."),
    (TypeError, BINARY, "rates", {"seed": 3}, "seed is not for the caller of a fit to set: say random_seed."),
    (TypeError, BINARY, "rates", {"prior": {}}, "prior is not for the caller of a fit to set: say priors."),
    (TypeError, BINARY, "rates", {"progress_bar": False}, "progress_bar is not for the caller of a fit to set: say "
     "progressbar."),
    (TypeError, BINARY, "rates", {"save_warmup": True}, "save_warmup is not for the caller of a fit to set: the "
     "draws of tuning are not kept."),
    (TypeError, BINARY, "rates", {"nuts_sampler": "pymc", "target_acept": 0.9}, "target_acept is no argument of "
     "bayesperf.fit, nor a setting of its sampler, pymc."),
    (ValueError, BINARY, "rates", {"tune": 0}, "tune must be a whole number of at least 1; it is 0."),
    (ValueError, BINARY, "rates", {"random_seed": -1}, "random_seed must be a non-negative integer or a numpy "
     "Generator; it is -1."),
    (ValueError, SITES, "groups_logit", {"method": "exact"}, "method='exact': the posterior of the model "
     "'groups_logit' has no closed form. Use method='mcmc'."),
    (ValueError, THREE_SITES, "groups", {"method": "exact"}, "method='exact': groups of more than two classes have no "
     "exact form. Use method='mcmc'."),
    (ValueError, SYSTEMS, shared_recall, {"method": "exact"}, "the posterior of the model 'shared_recall' has no "
     "closed form"),
    (TypeError, BINARY, "rates", {"method": "approximate", "cores": 1}, "method: 'approximate' samples nothing, so it "
     "takes no cores."),
    (ValueError, BINARY, "rates", {"method": "approximate"}, "method='approximate': the posterior of the model 'rates' "
     "has no approximation. Use method='mcmc'."),
    (ValueError, ANSWERED, "items", {"method": "approximate", "options": {"discrimination": True}},
     "method='approximate': slopes of items have no approximation. Use method='mcmc'."),
    (ValueError, GRADED, "items", {"method": "approximate"}, "method='approximate': grades have no approximation. "
     "Use method='mcmc'."),
    (ValueError, ANSWERED, "items", {"method": "approximate", "priors": {"ability_spread": pm.Exponential.dist(1)}},
     "priors: method='approximate' needs a Halfnormal prior of 'ability_spread'. Use method='mcmc'."),
    (ValueError, BINARY, "rates", {"metrics": ["recal"]}, "no metric named 'recal': did you mean 'recall'?"),
    (ValueError, THREE, "multinomial", {"metrics": ["f1"]}, "f1"),
    (ValueError, THREE, "rates", {}, "data: this model is of two classes; there are 3. See the model 'groups'."),
    (ValueError, THREE_SITES, "groups_logit", {}, "data: this model is of two classes; there are 3."),
    (TypeError, [[1, 2], [3, 4]], "rates", {}, "data must be a ConfusionMatrix; it is list."),
    (TypeError, BINARY, "paired", {}, "data must be a ConfusionMatrix of two systems tested on the same examples; it "
     "is a ConfusionMatrix without their response patterns. Make one with ConfusionMatrix.from_predictions(y_true, "),
    (TypeError, BINARY, "markov", {}, "data must be a pair (y_true, y_pred) for the model 'markov'; sequence ids go "
     "to options['by']."),
    (ValueError, ([0, 1, 2], [0, 1, 2]), "markov", {}, "two"),
    (ValueError, (Y_TRUE, Y_PRED), "markov", {"options": {"by": {"actual_before": VIDEO}}}, "options['by']: "
     "'actual_before' is a dim that the model uses for its own; rename that dim."),
    (ValueError, sites_called("covariate"), "groups_logit", {}, "data: 'covariate' is a dim that the models use for "
     "their own; rename that dim."),
    (ValueError, (Y_TRUE, Y_PRED), "markov", {"options": {"by": {"stay": VIDEO}}}, "data: 'stay' is a variable of the "
     "model; rename that dim."),
    (TypeError, BINARY, "datasets", {}, "data must be a DataArray of numbers with dims dataset, "
     "model and fold; it is a ConfusionMatrix"),
    (TypeError, SCORES.rename(fold="run"), "datasets", {}, "dims dataset, model and fold"),
    (ValueError, SCORES.isel(model=[0, 1, 1]), "datasets", {}, "data: two systems are compared; dim model "
     "has 3. Select two."),
    (ValueError, SCORES.isel(fold=[0]), "datasets", {}, "data: one fold says nothing of the scatter of scores. "
     "Ask signed_rank_test."),
    (ValueError, SCORES.where(SCORES.max() != SCORES), "datasets", {}, "data: dataset d has missing or "
     "infinite scores. Drop it."),
    (ValueError, SCORES.where(SCORES["dataset"] != "c", 0.5), "datasets", {}, "data: at dataset c all folds differ "
     "by the same, which leaves no scatter to model."),
    (ValueError, ALIKE, "datasets", {}, "data: at dataset a all folds differ by the same"),
    (ValueError, BINARY, "groups", {}, "options: there is no dim 'fold' of groups; the leading dims are []. Name "
     "it, as options={'dim': 'site'}."),
    (ValueError, SITES, "groups", {"options": {"dim": "day"}}, "there is no dim 'day' of groups; the leading dims "
     "are ['site']"),
    (ValueError, SITES, "groups", {"options": {"groups": "folds"}}, "options['groups'] must be one of 'random', "
     "'clusters'; it is 'folds'."),
    (ValueError, SITES, "groups", {"options": {"repeats": 0}}, "options['repeats'] must be a whole number of at "
     "least 1"),
    (ValueError, SITES, "groups", {"options": {"repeats": 2}}, "options['repeats']: 2 repeats have as many folds each, "
     "and dim 'site' has 3. Leave out an unfinished repeat."),
    (TypeError, SITES, "groups_logit", {"options": {"covariates": [1, 2]}}, f"{OF_SITES} must have a value, or a "
     "row, for each of 3 of 'site'; it has shape (2,)."),
    (ValueError, SITES, "groups_logit", covariates([1, 2, 3], "site", site=[2, 3, 5]), f"{OF_SITES} must have dims "
     "'site' and 'covariate'; it has ('site',)."),
    (ValueError, SITES, "groups_logit", covariates([[1], [2], [3]], "site", "covariate"), f"{OF_SITES} must say of "
     "which site each row is: give dim 'site' the labels of the data."),
    (ValueError, SITES, "groups_logit", covariates([[1], [2], [3]], "site", "covariate", site=[2, 3, 4]), f"{OF_SITES} "
     "has no row for site 5."),
    (ValueError, SITES, "groups_logit", covariates([[1]] * 4, "site", "covariate", site=[2, 3, 4, 5]), f"{OF_SITES} "
     "has 4 rows for 3 of site: select those of the data, once each."),
    (ValueError, SITES, "groups_logit", covariates([[1], [2], [np.nan]], "site", "covariate", site=[2, 3, 5]),
     f"{OF_SITES} must hold finite numbers. Fill in what is missing; code categories as 0 and 1."),
    (ValueError, SITES, "meta_analysis", {"options": {"reference": ["culture", "biopsy"]}},
     "options['reference'] has 2 values for 3 of 'site'"),
    (ValueError, SITES, "meta_analysis", {"options": {"reference": {2: "culture", 3: "biopsy"}}},
     "options['reference'] has no name for site 5"),
    (ValueError, SITES, "meta_analysis", {"options": {"reference": True}},
     "options['reference'] has no name for site 2"),
    (ValueError, SITES, "groups_logit", covariates([["a"], ["b"], ["a"]], "site", "covariate", site=[2, 3, 5]),
     f"{OF_SITES} must hold finite numbers."),
    (ValueError, SITES, "groups", {"options": {"lkj": 1}}, "options: the model 'groups' has no 'lkj'; it has "
     "'dim', 'groups', 'repeats', 'design'."),
    (ValueError, BINARY, "multinomial", {"options": {"dim": "x"}}, "options: the model 'multinomial' has no 'dim'; "
     "it has none."),
    (ValueError, BINARY, "rates", {"options": {"design": "rows"}}, "options['design'] must be one of 'joint', "
     "'by_actual'"),
    (ValueError, SITES, "slices", {"options": {"dims": ["age"]}}, "there is no dim 'age'"),
    (TypeError, SITES, "slices", {"options": {"dims": "site"}}, "options['dims'] must be a sequence of names of dims, "
     "as ['site', 'device']; it has 'site'."),
    (ValueError, SITES, "slices", {"options": {"dims": ["site", "site"]}}, "options['dims']: a dim is named twice"),
    (ValueError, BINARY, "slices", {}, "the data have no leading dims to be sliced by."),
    (ValueError, SITES, "slices", {"options": {"ordered": ["age"]}}, "options['ordered']: 'age' is not among the dims "
     "['site']."),
    (ValueError, SITES, "slices", {"options": {"interactions": [["site"]]}}, "options['interactions']: ['site'] is one "
     "dim; an interaction is of two or more."),
    (ValueError, SITES, "slices", {"options": {"interactions": [["site", "age"]]}}, "'age' is not among the dims"),
    (TypeError, SITES, "slices", {"options": {"interactions": "site"}}, "options['interactions'] must be a sequence"),
    (ValueError, SITES, "slices", {"options": {"outcome": "f1"}}, "options['outcome'] must be one of 'rates', "
     "'accuracy'; it is 'f1'."),
    (ValueError, bp.Outcomes.from_counts(right=[1, 2], n=3, dims=["site"]), "slices", {"options": {"outcome": "rates"}},
     "options['outcome']: right or wrong outcomes have one rate, 'accuracy'; it is 'rates'. Remove it."),
    (ValueError, THREE_SITES, "slices", {}, "data: recall and specificity are of two classes; there are 3. Say "
     "options={'outcome': 'accuracy'}."),
    (ValueError, SITES, "groups_logit", {"options": {"lkj": 0}}, "options['lkj'] must be greater than 0; it is 0."),
    (TypeError, SITES, "groups_logit", {"options": {"lkj": "wide"}}, "options['lkj'] must be a number; it is "
     "'wide'."),
    (ValueError, SCORES, "datasets", {"options": {"test_fraction": 1}}, "options['test_fraction'] must be a number "
     "between 0 and 1, both excluded; it is 1."),
    (ValueError, (Y_TRUE, Y_PRED), "markov", {"options": {"sequences": "apart"}}, "options['sequences'] must be "
     "one of 'same', 'varying'; it is 'apart'."),
    (ValueError, (Y_TRUE, Y_PRED), "markov", {"options": {"sequences": "varying", "by": VIDEO}, "method": "exact"},
     "options: method='exact' is for sequences='same'. Use method='mcmc'."),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "data", "model", "settings", "words"), ERRORS)
def test_what_is_refused(kind, data, model, settings, words, sampler):
    with pytest.raises(kind) as raised:
        bp.fit(data, model, **{"method": "mcmc", "draws": 10, **settings})
    assert words in str(raised.value)
    assert not sampler


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"DATA": "tables"}, "DATA of the model 'rates' must be one of 'counts', 'paired counts', "),
        ({"DATA": None}, "DATA of the model 'rates' must be one of 'counts', "),
        ({"OPTIONS": {"design": "a word"}}, "OPTIONS['design'] of the model 'rates' must be one of 'dim of groups', "),
    ],
)
def test_a_file_that_declares_what_fit_does_not_know(declared, words, monkeypatch):
    for name, value in declared.items():
        monkeypatch.setattr(models.rates, name, value)
    with pytest.raises(ValueError, match="must be one of") as raised:
        bp.fit(BINARY, "rates", options={"design": "joint"}, draws=10)
    assert words in str(raised.value)


def test_settings_that_the_sampler_has_not():
    with pytest.raises(TypeError) as raised:
        backend.sample_compiled(NORMAL, {"target_acept": 0.9}, seed=1)
    assert str(raised.value) == ("target_acept is no argument of bayesperf.fit, nor a setting of its sampler, nutpie.")
    with pytest.raises(OverflowError):  # what else is wrong is said as it is
        backend.sample_compiled(NORMAL, {"tune": -1}, seed=1)
    nuts.check({"nuts_sampler": "pymc", "target_accept": 0.9, "max_treedepth": 8, "cores": 1, "nuts": {}})


def with_a_coin(data, priors):
    """A model with a discrete variable, of which NUTS has no gradient."""
    with pm.Model(coords={dim: data[dim].values for dim in CELL_DIMS}) as model:
        heads, lift = pm.Bernoulli("heads", 0.5), pm.Beta("lift", 1, 1)
        pm.Binomial("hits", 10, 0.2 + 0.6 * heads * lift, observed=pm.Data("hits_data", 5))
        pm.Deterministic("cells", pm.math.stack([lift, 1 - lift, 0, 0]).reshape((2, 2)), dims=CELL_DIMS)
    return model


def test_a_discrete_variable(alone):
    with pytest.raises(ValueError, match="model: 'heads' is discrete") as raised:
        bp.fit(BINARY, with_a_coin, draws=10, random_seed=1)
    assert str(raised.value) == (
        "model: 'heads' is discrete, and NUTS samples what is continuous. Sum it out of the model, or say "
        "nuts_sampler='pymc', which samples it by steps of its own."
    )


@pytest.mark.slow
def test_the_sampler_of_discrete_variables():
    tree = bp.fit(BINARY, with_a_coin, draws=2000, random_seed=1, nuts_sampler="pymc", progressbar=False, cores=1)
    heads = integrate.quad(lambda lift: stats.binom.pmf(5, 10, 0.2 + 0.6 * lift), 0, 1)[0]
    tails = stats.binom.pmf(5, 10, 0.2)
    values = tree["posterior"]["heads"].values
    assert values.mean() == pytest.approx(heads / (heads + tails), abs=5 * error(values))


def test_more_examples_than_the_sampler_can_count():
    """PyMC keeps data in 32 bits."""
    billions = bp.ConfusionMatrix.from_counts(tp=3_000_000_000, fn=10, fp=5, tn=45)
    with pytest.raises(ValueError, match=r"data: .*2147483647"):
        exact(billions, "rates", draws=10)
