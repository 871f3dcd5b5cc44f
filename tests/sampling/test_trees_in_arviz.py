"""Every function of ArviZ that an analyst calls takes every tree that the package makes, of those that look alike one.

Draws of the prior take the place of NUTS, whose trees are no different.
"""

import functools
import inspect
import itertools
import re
import tempfile
import warnings
from pathlib import Path

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayesperf as bp
from bayesperf.posteriors.sources.stored_draws import StoredDraws
from bayesperf.posteriors.tree_attributes import ATTRIBUTES, LEFT_OUT
from tests.shared.fits import BINARY, CASES, PAIRED, SITES, SYSTEMS, THREE, Y_PRED, Y_TRUE, shared_recall
from tests.shared.models import DENSITIES, SYSTEMS_AND_SITES
from tests.shared.sources import ROOT

SLOW = pytest.mark.slow
PAGE = (ROOT / "docs/explain/trees.md").read_text("utf-8")


# ── Trees ──


def table_of_ones_own(data, priors):
    """All cells of a table at once, as a first model of one's own is often written."""
    with pm.Model(coords={dim: data[dim].values for dim in data.dims}) as model:
        shares = pm.Dirichlet("shares", np.full(4, 2.0))
        pm.Multinomial("table", data.values.sum(), shares, observed=data.values.ravel())
        pm.Deterministic("cells", shares.reshape((2, 2)), dims=["actual", "predicted"])
    return model


def fit(model, data, options=None, **settings):
    def make():
        return bp.fit(
            data, model, options=options, draws=100, tune=300, chains=4, random_seed=1, progressbar=False, **settings
        )

    return make


def drawn(make):
    """Return a maker of the tree of a posterior."""

    def tree():
        post = make()
        return post.to_datatree(**({} if isinstance(post.source, StoredDraws) else {"draws": 100}))

    return tree


RNG = np.random.default_rng(1)
TRUTH = RNG.integers(0, 2, 120)
SAID = {"a": RNG.integers(0, 2, 120), "b": np.where(RNG.random(120) < 0.8, TRUTH, 1 - TRUTH)}
PARTLY = np.where(np.arange(120) < 60, TRUTH, np.nan)
ONE_PATIENT_IN_FOUR = {"patient": np.repeat(np.arange(30), 4)}


def of_sites(answer):
    return drawn(lambda: getattr(bp.pool(SITES, "site", "clusters", draws=400), answer))


def of_sites_of_a_system():
    return bp.pool(SYSTEMS_AND_SITES.sel(model="A"), "site", "clusters", draws=400).mean


def of_patients():
    cm = bp.ConfusionMatrix.from_predictions(TRUTH, SAID, cluster=ONE_PATIENT_IN_FOUR)
    return bp.pool(cm, draws=400).mean


QUICK = {
    "exact, of a system that was selected": fit("rates", SYSTEMS.sel(model="A"), method="exact"),
    "exact, groups of a system": fit(
        "groups", SYSTEMS_AND_SITES.sel(model="A"), {"dim": "site", "groups": "clusters"}, method="exact"
    ),
}
FITS = QUICK | {
    **{f"fit of {case}": fit(*arguments, method="mcmc") for case, arguments in CASES.items()},
    **{
        f"fit of {case}": fit(model, data, options, method="mcmc")
        for case, (model, data, options, *_) in DENSITIES.items()
        if case not in CASES
    },
    "fit of one's own model": fit(shared_recall, SYSTEMS, priors={"recall": (2, 2)}),
    "fit of one's own table": fit(table_of_ones_own, BINARY),
}
POSTERIORS = {
    "posterior": drawn(lambda: bp.posterior(SYSTEMS)),
    "posterior of one system": drawn(lambda: bp.posterior(SYSTEMS.sel(model="A"))),
    "posterior of classes": drawn(lambda: bp.posterior(THREE)),
    "posterior at a prevalence": drawn(lambda: bp.posterior(BINARY, design="by_actual").at_prevalence(0.2)),
    "prediction": drawn(lambda: bp.posterior(BINARY).predict(100, draws=400)),
    "posterior of the same examples": drawn(lambda: bp.posterior(PAIRED)),
    "pooled, mean": of_sites("mean"),
    "pooled, groups": of_sites("by_group"),
    "pooled, new group": of_sites("new_group"),
    "pooled, of a system": drawn(of_sites_of_a_system),
    "pooled clusters": drawn(of_patients),
    "sequence": drawn(lambda: bp.sequences.posterior(Y_TRUE, Y_PRED)),
    "verified": drawn(lambda: bp.labels.verify(PARTLY, SAID)),
    "noisy labels": drawn(lambda: bp.labels.noise(bp.ConfusionMatrix.from_predictions(TRUTH, SAID["b"]), 0.1)),
}
TREES = FITS | POSTERIORS


@functools.cache
def made(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so few draws
        return TREES[name]()


def test_the_page_has_the_table_of_attributes():
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.partition("## What the attributes say")[2], re.MULTILINE)
    assert dict(rows[: len(ATTRIBUTES)]) == ATTRIBUTES


# ── Functions ──


def shown(tree):
    """Return the name of a metric of a tree, or of a variable of it."""
    names = list(tree["posterior"].data_vars)
    return next((name for name in ("recall", "f1_macro", "balanced_accuracy", "auc") if name in names), names[0])


def of_a_variable(name):
    return lambda tree: getattr(az, name)(tree, var_names=[shown(tree)])


def of_all(name):
    return lambda tree: getattr(az, name)(tree)


def along_one_dim(name):
    """Plot the data of each variable along its last dim; that function takes no table."""

    def plot(tree):
        for variable, values in tree["observed_data"].data_vars.items():
            if name == "plot_ppc_rootogram" and values.dtype.kind == "f":
                continue  # It is of counts, as ArviZ says.
            at = {dim: values[dim].values[0] for dim in values.dims[:-1]}
            getattr(az, name)(tree, var_names=[variable], coords=at)

    return plot


def of_one_system(tree):
    """ArviZ has a use of its own for a dim called `model` here."""
    one = tree.sel(model=tree["posterior"]["model"].values[0], drop=True) if "model" in tree["posterior"].dims else tree
    return az.plot_convergence_dist(one, var_names=[shown(one)])


def to_a_file_and_back(tree):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree.nc"
        tree.to_netcdf(path, engine="h5netcdf")
        with xr.open_datatree(path, engine="h5netcdf") as read:
            for group in tree.children:
                xr.testing.assert_equal(read[group].to_dataset().load(), tree[group].to_dataset())


# Which groups a function is of, and how it is called.
DRAWS, PRIOR, PREDICTED, UNITS = "posterior", "prior", "posterior_predictive", "log_likelihood"
FUNCTIONS = {
    "summary": (DRAWS, of_all("summary")),
    **{
        name: (DRAWS, of_a_variable(name))
        for name in ("plot_trace", "plot_trace_dist", "plot_dist", "plot_forest", "plot_ridge", "plot_rank", "plot_ess",
                     "plot_mcse")
    },
    "plot_pair": (DRAWS, lambda tree: az.plot_pair(
        tree.isel({dim: 0 for dim in tree["posterior"].dims if dim not in ("chain", "draw")}, drop=True),
        var_names=list(tree["posterior"].data_vars)[-2:])),
    "plot_convergence_dist": (DRAWS, of_one_system),
    **{name: (DRAWS, of_all(name)) for name in ("extract", "hdi", "eti")},
    "to_netcdf": (DRAWS, to_a_file_and_back),
    "plot_prior_posterior": (PRIOR, of_a_variable("plot_prior_posterior")),
    "bayes_factor": (PRIOR, lambda tree: az.bayes_factor(
        tree, [shown(tree)], tree["posterior"][shown(tree)].median().item())),
    "plot_ppc_dist": (PREDICTED, of_all("plot_ppc_dist")),
    "plot_ppc_pit": (PREDICTED, along_one_dim("plot_ppc_pit")),
    "plot_ppc_rootogram": (PREDICTED, along_one_dim("plot_ppc_rootogram")),
    "loo": (UNITS, of_all("loo")),
    "plot_khat": (UNITS, lambda tree: az.plot_khat(az.loo(tree, pointwise=True))),
    "compare": (UNITS, lambda tree: az.compare({"one": tree, "again": tree})),
    "psense_summary": (UNITS, of_all("psense_summary")),
    "plot_psense_dist": (UNITS, of_a_variable("plot_psense_dist")),
}  # fmt: skip
# Of the data one by one, where the units to leave out are groups or single examples: the page says so.
LOO_PIT = ("loo_pit", "plot_loo_pit")


# Of the groups of all trees one of each look.
TRIED = {
    DRAWS: ["exact, of a system that was selected", "exact, groups of a system", "fit of groups of systems",
            "fit of datasets", "fit of recalibration", "fit of raters"],
    PREDICTED: ["exact, of a system that was selected", "exact, groups of a system", "fit of classes, three",
                "fit of datasets"],
    UNITS: ["exact, of a system that was selected", "fit of groups of systems"],
}  # fmt: skip
TRIED[PRIOR] = TRIED[DRAWS]
ONE_OF_EACH_GROUP = ("summary", "to_netcdf", "plot_prior_posterior", "plot_ppc_pit", "loo")


def look(tree, group):
    """Return what ArviZ sees of a group: variables that are single numbers, rows or tables, and their types."""
    variables = tree[group].data_vars.values()
    return {(min(len({*values.dims} - {"chain", "draw"}), 2), values.dtype.kind) for values in variables}


@pytest.fixture(autouse=True)
def of_few_draws(sampler):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    plt.close("all")


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        (TRIED[DRAWS][0], ONE_OF_EACH_GROUP),
        *(pytest.param(name, FUNCTIONS, marks=SLOW) for name in dict.fromkeys(itertools.chain(*TRIED.values()))),
    ],
)
def test_arviz_takes_the_tree(name, functions):
    for function in functions:
        group, call = FUNCTIONS[function]
        if name not in TRIED[group]:
            continue
        try:
            call(made(name))
        except Exception as error:
            error.add_note(f"Function: {function}")
            raise
        plt.close("all")


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=SLOW) for name in [*POSTERIORS, *FITS] if name not in QUICK)]
)
def test_every_tree_looks_as_one_that_is_tried_and_has_units_to_leave_out(name):
    tree = made(name)
    assert set(tree["posterior"].attrs) <= set(ATTRIBUTES)
    assert set(tree.attrs) <= {LEFT_OUT}
    assert [coord for group in tree.children for coord in tree[group].coords.values() if not coord.dims] == []
    for group, tried in TRIED.items():
        if group in tree.children:
            assert any(look(tree, group) == look(made(one), group) for one in tried), group
        else:  # Posteriors have draws, and a power of a likelihood predicts nothing.
            assert name in POSTERIORS or group in tree.attrs["left_out"] or group == PRIOR
    # A unit whose likelihood is always the same looks like any other.
    if UNITS in tree.children:
        az.loo(tree)
    if PREDICTED in tree.children:
        observed, predicted = tree["observed_data"].data_vars, tree[PREDICTED].data_vars
        assert set(observed) == set(predicted)
        for variable, values in observed.items():
            assert values.dims
            assert set(predicted[variable].dims) == {"chain", "draw", *values.dims}


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_loo_pit_has_no_data_of_the_units_and_the_page_says_so(name):
    for function in LOO_PIT:
        assert f"`{function}`" in PAGE
        with pytest.raises((KeyError, ValueError)):
            getattr(az, function)(made(name))


@pytest.mark.slow
def test_loo_pit_of_a_model_of_ones_own_whose_data_are_its_units(sampler):
    tree = fit(shared_recall, SYSTEMS, method="mcmc")()
    assert az.loo_pit(tree)["hits"].sizes == {"hits_dim_0": 2}


def test_the_page_has_every_function():
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert {*FUNCTIONS, *LOO_PIT} <= named
    assert all(inspect.isfunction(getattr(az, name)) for name in {*FUNCTIONS, *LOO_PIT} - {"to_netcdf"})


@pytest.mark.slow
def test_a_table_of_ones_own_is_left_out_example_by_example(sampler):
    """Its share is the likelihood of each example of a cell, whose log-likelihoods sum to that of the table."""
    tree = fit(table_of_ones_own, BINARY, method="mcmc")()
    units, shares = tree["log_likelihood"]["table"], tree["posterior"]["shares"]
    expected = np.repeat(np.log(shares.values), BINARY.counts.values.ravel(), axis=-1)
    np.testing.assert_allclose(units, expected)
    assert az.loo(tree).n_data_points == 100


def test_the_table_of_a_model_that_observes_parts_of_it_is_beside_them():
    tree = made("exact, of a system that was selected")
    xr.testing.assert_equal(tree["constant_data"]["counts"], SYSTEMS.sel(model="A").counts.drop_vars("model"))
    post = bp.Posterior.from_datatree(tree)
    assert post.observed_score("recall").item() == bp.score(SYSTEMS.sel(model="A"), "recall").item()


def test_independent_draws_are_dealt_to_equal_chains():
    tree = made("pooled, mean")
    assert tree["posterior"].sizes["chain"] == 4
    back = bp.Posterior.from_datatree(tree)["recall"]
    assert back.mean().item() == pytest.approx(tree["posterior"]["recall"].mean().item(), abs=1e-15)
