"""Compiled models are kept by name, shapes, options and priors, and given other data."""

from collections import OrderedDict

import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf.sampling import backend, nuts
from bayesperf.sampling.backend import compilation_key
from bayesperf.sampling.model_data import prepared
from tests.shared.counts import pair_of
from tests.shared.fits import (
    CASES,
    SCORES,
    SITES,
    SIX_SITES,
    SYSTEMS,
    VIDEO,
    Compiled,
    built,
    built_with_key,
    fitted,
    shared_recall,
    slow,
    table,
    without_nuts,
)
from tests.shared.models import DENSITIES, PREFERRED

RNG = np.random.default_rng(3)
OF_TWO_CLASSES = (np.repeat([0, 1], [14, 9]), RNG.normal(size=23))
OF_PROBABILITIES = (OF_TWO_CLASSES[0], RNG.uniform(0.1, 0.9, 23))
RATINGS = bp.Ratings.from_table(RNG.integers(0, 2, (40, 3)))
OWN_CASES = CASES | {
    "binormal_roc": ("binormal_roc", OF_TWO_CLASSES, {}),
    "recalibration": ("recalibration", OF_PROBABILITIES, {}),
    "recalibration, groups": ("recalibration", OF_PROBABILITIES, {"by": {"site": np.arange(23) % 3}}),
    "raters": ("raters", RATINGS, {}),
    "raters, pooled": ("raters", RATINGS, {"pooled": True}),
    "raters, dependent": ("raters", RATINGS, {"dependent": (0, 1)}),
    "preferences": ("preferences", PREFERRED, {"order": True, "covariates": ("length",)}),
}
WITH_OWN = {model for model, *_ in OWN_CASES.values()}
# Of other models, such as one that was just added, the first case of their densities.
OF_OTHERS = {model: (model, data, options) for model, data, options, *_ in reversed(DENSITIES.values())}
ALL_CASES = OWN_CASES | {model: case for model, case in OF_OTHERS.items() if model not in WITH_OWN}


def other_data(case):
    """Return the model, data and options of a case, the data of the same shape with other values and labels.

    Patterns of answers are no dim of parameters: there is one fewer of them.
    """
    model, data, options = ALL_CASES[case]
    if model == "paired":
        return model, pair_of([0, 1, 1], [1, 1, 0], [0, 1, 1]), options
    if isinstance(data, bp.ConfusionMatrix):
        counts = data.counts + np.arange(data.counts.size).reshape(data.counts.shape)
        labels = {dim: [f"other {label}" for label in counts[dim].values] for dim in data.dims}
        if "covariates" in options:
            covariates = (options["covariates"] * 3).assign_coords(site=labels["site"])
            options = {**options, "covariates": covariates}
        if "calls" in options:
            options = {**options, "calls": options["calls"] + 3}
        return model, bp.ConfusionMatrix(counts.assign_coords(labels), data.pos_label), options
    if isinstance(data, bp.Ratings):
        patterns = data.patterns.assign(
            counts=data.counts + np.arange(data.counts.size),
            answers=data.patterns["answers"].copy(data=data.patterns["answers"].values[::-1]),
        )
        return model, bp.Ratings(patterns.assign_coords(rating=[3, 5]).isel(pattern=slice(1, None))), options
    if model == "items":
        return model, bp.Outcomes(data.counts[:, ::-1].assign_coords(item=data.counts["item"])), options
    if model == "readers":
        return model, data.assign(read=1 - data["read"]), options
    if model == "preferences":
        return model, data.assign(a=data["b"], b=data["a"]), options
    if model == "binormal_roc":
        return model, (data[0], 3 * data[1] ** 2), options
    if model == "recalibration":
        return model, (data[0], data[1] ** 2), options
    if isinstance(data, tuple):
        return model, data[::-1], options
    return model, data * 2 + 0.01 * np.arange(data.size).reshape(data.shape), options


# ── The key ──


@pytest.mark.slow
@pytest.mark.parametrize("case", ALL_CASES)
def test_models_of_other_data_have_the_same_key(case):
    _, key = built_with_key(*ALL_CASES[case])
    assert key is not None
    assert hash(key) == hash(built_with_key(*ALL_CASES[case])[1])
    assert built_with_key(*other_data(case))[1] == key


@pytest.mark.slow
def test_other_models_have_other_keys():
    keys = {case: built_with_key(*ALL_CASES[case])[1] for case in ALL_CASES}
    more = {
        "another shape": ("groups", SITES.isel(site=[0, 1])),
        "another prior": ("groups", SITES, None, {"dispersion": pm.Beta.dist(1, 25)}),
        "another kind of prior": ("groups", SITES, None, {"dispersion": pm.Uniform.dist(0, 1)}),
        "two repeats": ("groups", SIX_SITES, {"repeats": 2}),
        "another LKJ": ("groups_logit", SITES, {"lkj": 3.0}),
        "the other label": ("rates", bp.ConfusionMatrix(SYSTEMS.counts, "yes")),
        "another dim": ("rates", bp.ConfusionMatrix(SYSTEMS.counts.rename(model="system"), "no")),
        "other folds": ("datasets", SCORES.isel(fold=slice(5))),
        "another fraction": ("datasets", SCORES, {"test_fraction": 0.3}),
        "other types of data": ("datasets", SCORES.astype("float32")),
    }
    keys |= {name: built_with_key(*arguments)[1] for name, arguments in more.items()}
    keys.pop("other types of data")  # its statistics are in double precision all the same
    assert None not in keys.values()
    assert len(set(keys.values())) == len(keys)


def key_of_recall(prior):
    return built_with_key("rates", SYSTEMS, priors={"recall": prior})[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prior", "others"),
    [
        (lambda: pm.Beta.dist(9, 1), [lambda: pm.Beta.dist(9, 2), lambda: pm.Kumaraswamy.dist(9, 1)]),
        (lambda: pm.Uniform.dist(0.5, 0.9), [lambda: pm.Uniform.dist(0.5, 0.8)]),
        (lambda: pm.Beta.dist([1, 2], 1), [lambda: pm.Beta.dist([2, 1], 1)]),
        (
            lambda: pm.Truncated.dist(pm.Exponential.dist(1), 0, 1),
            [lambda: pm.Truncated.dist(pm.Gumbel.dist(0, 1), 0, 1), lambda: pm.Truncated.dist(pm.Normal.dist(), 0, 1)],
        ),
    ],
    ids=["Beta", "Uniform", "Beta of two", "Truncated"],
)
def test_priors_are_told_apart_by_family_and_parameters(prior, others):
    key = key_of_recall(prior())
    assert key == key_of_recall(prior())
    for other in others:
        assert key is None or key != key_of_recall(other())


class Made:
    def create_variable(self, name):
        return pm.Beta(name, 12, 12, dims="model")


@pytest.mark.slow
@pytest.mark.parametrize(
    "prior",
    [
        Made(),
        pm.Beta.dist(pm.Gamma.dist(20, 1), 1),
        pm.Mixture.dist([0.5, 0.5], [pm.Beta.dist(1, 1), pm.Beta.dist(9, 1)]),
        pm.CustomDist.dist(2.0, dist=lambda a, size: pm.Beta.dist(a, 1, size=size), class_name="Beta"),
    ],
    ids=["makes its variable", "random parameter", "mixture", "custom"],
)
def test_priors_that_cannot_be_named(prior):
    assert key_of_recall(prior) is None


def test_a_model_of_ones_own_has_no_key():
    """Two functions of one name may build different models."""
    assert built_with_key(shared_recall, SYSTEMS)[1] is None


def test_options_that_cannot_be_told_apart():
    counts, _ = prepared(SYSTEMS, "rates", None)
    model = built("rates", SYSTEMS)
    assert compilation_key("rates", model, counts, {"option": object()}, None) is None
    keys = [compilation_key("rates", model, counts, {"option": value}, None) for value in (1, 2, "1", None)]
    assert len({*keys, None}) == 5


@pytest.mark.parametrize("as_shared", [False, True])
def test_data_that_a_model_file_has_as_constants_are_part_of_the_key(as_shared):
    """So that a file that forgets `pymc.Data` is slow, not wrong."""

    def key(counts, observed):
        with pm.Model() as model:
            shares = pm.Dirichlet("shares", np.ones(4))
            weight = pytensor.shared(np.array(counts), name="weight") if as_shared else np.array(counts)
            pm.Potential("counts", (weight * pm.math.log(shares)).sum())
            pm.Multinomial("seen", 3, shares, observed=pm.Data("seen_data", np.array(observed)))
        data, _ = prepared(SYSTEMS, "multinomial", None)
        return compilation_key("multinomial", model, data, {}, None)

    assert key([1.0, 2, 3, 4], [1, 2, 0, 0]) == key([1.0, 2, 3, 4], [0, 1, 1, 1])
    assert key([1.0, 2, 3, 4], [1, 2, 0, 0]) != key([1.0, 2, 3, 5], [1, 2, 0, 0])


# ── What is kept ──


@pytest.fixture
def compilations(monkeypatch):
    """Return the models that were compiled."""
    models = []

    def compile_model(model):
        models.append(model)
        return Compiled.of(model)

    without_nuts(monkeypatch, None, compile_model)
    return models


@pytest.mark.slow
def test_compilations_are_kept_and_given_the_data(compilations):
    first = backend.compiled(*built_with_key("rates", SYSTEMS))
    second = backend.compiled(*built_with_key(*other_data("rates")))
    assert len(compilations) == 1
    assert first.data["true_positives_data"].tolist() == [20, 7]
    assert second.data["true_positives_data"].tolist() == [20, 11]

    def of_systems(n, count):
        return built_with_key("multinomial", table([[[count, 1], [2, 3]]] * n, model=list(range(n))))

    for n in range(2, 40):
        backend.compiled(*of_systems(n, n))
    assert len(compilations) == 39
    assert len(backend._kept) == backend.MOST_KEPT
    backend.compiled(*of_systems(39, 1))
    assert len(compilations) == 39
    backend.compiled(*built_with_key("rates", SYSTEMS))
    assert len(compilations) == 40


def test_a_model_without_a_key_is_compiled_each_time(compilations):
    for _ in range(2):
        found = backend.compiled(*built_with_key(shared_recall, SYSTEMS))
        assert found.data["n"].tolist() == [24, 7]
    assert len(compilations) == 2
    assert not backend._kept


@pytest.mark.slow
@pytest.mark.parametrize("case", ["groups", slow("groups_logit"), slow("markov, varying"), slow("datasets")])
def test_labels_are_of_the_data_not_of_the_compilation(case, sampler):
    model, data, options = CASES[case]
    if "by" in options:
        options = {**options, "by": {"video": np.char.add(VIDEO, " again")}}
    else:
        data = other_data(case)[1] if model != "datasets" else data.assign_coords(dataset=list("efgh"))
    fitted(case, draws=20)
    tree = bp.fit(data, model, options=options, method="mcmc", draws=20, random_seed=1)
    assert len(backend._kept) == 1
    name = {"groups": "cells_group", "groups_logit": "deviation", "datasets": "difference"}.get(model, "cells_group")
    dim = {"datasets": "dataset", "markov": "video"}.get(model, "site")
    labels = {
        "site": ["other 2", "other 3", "other 5"],
        "video": ["u again", "v again", "w again"],
        "dataset": list("efgh"),
    }
    for group in ("posterior", "prior"):
        assert tree[group][name][dim].values.tolist() == labels[dim]
    assert tree["log_likelihood"]["counts"][dim].values.tolist() == labels[dim]


@pytest.mark.slow
@pytest.mark.parametrize("systems", [["B", "A"], slow(["B", "C"]), slow(["C", "D"])])
def test_systems_of_a_second_fit_are_not_taken_for_those_of_the_first(systems, sampler):
    """What follows the sampling goes by the labels of these data, in another order or others altogether."""
    counts = xr.concat([SITES.counts, SITES.counts[:, ::-1, ::-1] + 3], "model", join="override")
    first = bp.ConfusionMatrix(counts.assign_coords(model=["A", "B"]), "yes")
    second = bp.ConfusionMatrix(counts.isel(model=[1, 0]).assign_coords(model=systems), "yes")
    for cm in (first, second):
        tree = bp.fit(cm, "groups", options={"dim": "site"}, method="mcmc", draws=20, random_seed=1)
    assert len(backend._kept) == 1
    units, posterior = tree["log_likelihood"]["counts"], tree["posterior"]
    assert units["model"].values.tolist() == posterior["model"].values.tolist() == systems
    kappa = 1 / posterior["dispersion"] - 1
    for name, site in ((name, site) for name in systems for site in (2, 3, 5)):
        rows = second.counts.sel(model=name, site=site).values
        a = (kappa * posterior["rates"]).sel(model=name).transpose("chain", "draw", "actual", "predicted").values
        expected = sum(stats.dirichlet_multinomial.logpmf(rows[i], a[:, :, i], rows[i].sum()) for i in (0, 1))
        np.testing.assert_allclose(units.sel(model=name, site=site), expected, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("case", ALL_CASES)
def test_draws_of_a_kept_model_are_those_of_one_compiled_for_the_data(case, monkeypatch):
    sizes = {"draws": 20, "tune": 30, "chains": 2}

    def draws(arguments):
        model, key = built_with_key(*arguments)
        with nuts.quiet():
            return nuts.sample(model, sizes, seed=1, key=key)[1]["posterior"]

    # The first compilation on a machine may round differently.
    monkeypatch.setattr(backend, "_kept", OrderedDict())
    draws(ALL_CASES[case])
    monkeypatch.setattr(backend, "_kept", OrderedDict())
    of_other_data = draws(other_data(case))
    kept = draws(ALL_CASES[case])
    assert len(backend._kept) == 1
    monkeypatch.setattr(backend, "_kept", OrderedDict())
    fresh = draws(ALL_CASES[case])
    for name, values in fresh.data_vars.items():
        np.testing.assert_allclose(kept[name], values, rtol=1e-6, err_msg=name)
    assert any(not np.allclose(of_other_data[name], fresh[name]) for name in fresh.data_vars)
