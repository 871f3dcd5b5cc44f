"""`fit`: exact draws against closed forms, the tree and what is recorded in it.

Nothing is sampled here: all takes ``method="exact"``, or draws of the prior in place of the sampler's.
"""

import functools
import json
from importlib.metadata import version

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf.models import building
from bayesperf.posteriors.arviz_trees import observed_table
from bayesperf.sampling.model_data import fingerprint, prepared
from tests.shared.fits import (
    BINARY,
    CASES,
    ONE_OF_EACH_MODEL,
    PAIRED,
    SITES,
    SYSTEMS,
    THREE,
    VIDEO,
    Y_PRED,
    Y_TRUE,
    YEAR,
    agrees,
    differs,
    error,
    exact,
    fitted,
    of_marginal,
    of_scipy,
    sites_called,
    slow,
)

HEADLINE = ["accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f1", "matthews_corrcoef"]
EXACT = [
    "multinomial", "multinomial of three classes", "rates", "rates by actual", "markov", "paired", "groups",
    "groups by actual", "classes, three",
]  # fmt: skip


def test_the_comparison_sees_a_small_difference():
    draws = xr.DataArray(np.random.default_rng(0).beta(41, 11, (4, 1000)), dims=("chain", "draw"), name="recall")
    agrees(draws, of_scipy(stats.beta(41, 11)))
    differs(draws, of_scipy(stats.beta(41.5, 10.5)))
    differs(draws, of_scipy(stats.beta(41 / 1.3, 11 / 1.3)))


# ── Exact draws ──


@pytest.mark.few
@pytest.mark.parametrize(
    ("data", "model", "options", "reference", "metrics"),
    [
        (BINARY, "multinomial", {}, {}, ["accuracy", "precision", "recall", "f1"]),
        (SYSTEMS, "multinomial", {}, {}, ["accuracy", "precision", "recall", "specificity"]),
        (THREE, "multinomial", {}, {"prior": "perks"}, ["accuracy", "recall_per_class", "f1_per_class"]),
        (SYSTEMS, "rates", {}, {}, ["accuracy", "precision", "recall", "specificity", "prevalence"]),
        (SYSTEMS, "rates", {"design": "by_actual"}, {"design": "by_actual"}, ["recall", "balanced_accuracy"]),
    ],
)
def test_exact_draws_are_of_the_closed_form(data, model, options, reference, metrics, alone):
    """Each by its default prior, unless one is named: that of a fit is that of `bayesperf.posterior`."""
    tree = exact(data, model, options=options, metrics=metrics)
    post = bp.posterior(data, **reference)
    for name in metrics:
        assert post[name].method in ("exact", "quadrature")
        agrees(tree["posterior"][name], of_marginal(post[name]))


def test_chosen_class_totals_say_nothing_of_prevalence(alone):
    tree = exact(SYSTEMS, "rates", {"prevalence": pm.Beta.dist(3, 9)}, options={"design": "by_actual"})
    agrees(tree["posterior"]["prevalence"], of_scipy(stats.beta([3, 3], 9), "model"))
    other = exact(SYSTEMS, "rates", {"prevalence": pm.Beta.dist(3, 9)})
    # The positive class is "no": 24 of 57, and 7 of 13.
    agrees(other["posterior"]["prevalence"], of_scipy(stats.beta([27, 10], [42, 15]), "model"))
    unknown = bp.Posterior.from_datatree(exact(SYSTEMS, "rates", options={"design": "by_actual"}, draws=10))
    with pytest.raises(ValueError, match="'accuracy' depends on prevalence, about which these data say nothing"):
        unknown["accuracy"]


@pytest.mark.slow
@pytest.mark.parametrize(("data", "model"), [(SYSTEMS, "rates"), (SITES, "groups")])
def test_chosen_class_totals_give_no_metric_that_depends_on_prevalence(data, model, alone):
    by_actual = functools.partial(exact, data, model, options={"design": "by_actual"}, draws=50)
    tree = by_actual()
    found = {str(name).removesuffix("_group").removesuffix("_new") for name in tree["posterior"].data_vars}
    assert found.isdisjoint({"accuracy", "precision", "npv", "f1", "matthews_corrcoef", "f1_macro", "cohen_kappa"})
    words = r"metric 'accuracy' depends on prevalence, about which these data say nothing \(design by_actual"
    with pytest.raises(ValueError, match=words):
        by_actual(metrics=["accuracy"])
    post = bp.Posterior.from_datatree(tree)
    with pytest.raises(ValueError, match=words):
        post["accuracy"]
    with pytest.raises(ValueError, match=r"draws: the data \(design by_actual\) do not say how common"):
        post.joint_draws(10)
    equal = post.at_prevalence(0.5)
    np.testing.assert_allclose(equal["accuracy"].mean(), equal["balanced_accuracy"].mean(), rtol=1e-9)
    # A prior of one's own is a prevalence.
    prior = pm.Beta.dist(20, 20) if model == "rates" else pm.Dirichlet.dist([20.0, 20.0])
    own = by_actual(priors={"prevalence": prior})
    assert "accuracy" in own["posterior"]
    assert bp.Posterior.from_datatree(own)["accuracy"].mean().notnull().all()


def moves():
    """Return g, z, and those before, of the samples that have one before in their video."""
    later = np.flatnonzero(VIDEO[1:] == VIDEO[:-1]) + 1
    return Y_TRUE[later], Y_PRED[later], Y_TRUE[later - 1], Y_PRED[later - 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("priors", "a", "b", "chain"),
    [(None, 0.5, 0.5, {}), ({"stay": pm.Beta.dist(8, 2)}, 8, 2, {}), (None, 0.5, 0.5, {"chain": "z_prev"})],
)
def test_exact_draws_of_a_chain(priors, a, b, chain, alone):
    tree = exact((Y_TRUE, Y_PRED), "markov", priors, options={"by": {"video": VIDEO}} | chain)
    g, z, h, j = moves()
    stayed, left = ([((h == i) & ((g == i) == same)).sum() for i in (0, 1)] for same in (True, False))
    agrees(tree["posterior"]["stay"], of_scipy(stats.beta(a + np.array(stayed), b + np.array(left)), "actual"))
    seen = np.zeros((2, 2, 2, 2))
    np.add.at(seen, (z, g, h, j), 1)
    if chain:
        seen = seen.sum(2)
    dims = ("actual", *(() if chain else ("actual_before",)), "predicted_before")
    agrees(tree["posterior"]["predict_second"], of_scipy(stats.beta(0.5 + seen[1], 0.5 + seen[0]), *dims))
    if priors is None:
        post = bp.sequences.posterior(Y_TRUE, Y_PRED, by={"video": VIDEO}, prior=0.5, draws=100_000, **chain)
        for name in ("recall", "precision", "accuracy", "mcc"):
            canonical = bp.metrics.get(name).name
            agrees(tree["posterior"][canonical], of_marginal(post[name], draws=100_000))


def test_exact_draws_of_two_systems_on_the_same_examples(alone):
    tree = exact(PAIRED, "paired", draws=4000)
    post = bp.posterior(PAIRED)
    assert tree["posterior"]["model"].values.tolist() == ["new", "old"]
    for name in ("accuracy", "recall", "precision"):
        agrees(tree["posterior"][name], of_marginal(post[name]))
    # Whether one is more accurate depends on the discordant cells only.
    counts = PAIRED.patterns.table().values
    new_only = sum(counts[i, i, 1 - i] for i in (0, 1)) + 0.5
    old_only = sum(counts[i, 1 - i, i] for i in (0, 1)) + 0.5
    accuracy = tree["posterior"]["accuracy"]
    greater = accuracy.sel(model="new") > accuracy.sel(model="old")
    expected = stats.beta(new_only, old_only).sf(0.5)
    assert 0.02 < expected < 0.98
    assert greater.mean().item() == pytest.approx(expected, abs=5 * error(greater.values))


@pytest.mark.slow
def test_exact_draws_under_priors_of_ones_own(alone):
    given = {"recall": pm.Beta.dist([9, 2], [1, 5]), "specificity": pm.Beta.dist(30, 3)}
    tree = exact(SYSTEMS, "rates", given)
    agrees(tree["posterior"]["recall"], of_scipy(stats.beta([29, 9], [5, 5]), "model"))
    agrees(tree["posterior"]["specificity"], of_scipy(stats.beta([60, 35], [6, 4]), "model"))
    assert json.loads(tree["posterior"].attrs["priors"]) == {
        "prevalence": "Beta(1, 1)", "recall": "Beta(9 2, 1 5)", "specificity": "Beta(30, 3)",
    }  # fmt: skip
    alpha = np.array([[1, 2], [3, 4]])
    shares = exact(BINARY, "multinomial", {"shares": pm.Dirichlet.dist(alpha.ravel())})["posterior"]
    agrees(shares["recall"], of_marginal(bp.posterior(BINARY, bp.prior.dirichlet(alpha))["recall"]))
    weights = np.arange(1, 9) / 2
    joint = exact(PAIRED, "paired", {"shares": pm.Dirichlet.dist(weights)})["posterior"]["shares"]
    omega = weights + PAIRED.patterns.table().values.ravel()
    agrees(joint, of_scipy(stats.beta(omega, omega.sum() - omega), "cell"))


def test_exact_draws_are_independent_and_converge_by_themselves(alone):
    """So that few of them, or one chain, are no cause for a warning."""
    tree = exact(BINARY, "rates", draws=3, chains=1)
    assert tree["posterior"].attrs["independent_draws"] == 1
    assert dict(tree["posterior"]["recall"].sizes) == {"chain": 1, "draw": 3}
    recall = exact(BINARY, "rates", draws=5000, chains=2)["posterior"]["recall"].values
    for lagged in ((recall[:, 1:], recall[:, :-1]), (recall[0], recall[1])):
        assert abs(np.corrcoef(np.ravel(lagged[0]), np.ravel(lagged[1]))[0, 1]) < 5 / np.sqrt(5000)


# ── The tree ──


GROUPS = {
    "posterior",
    "prior",
    "prior_predictive",
    "posterior_predictive",
    "observed_data",
    "log_likelihood",
    "log_prior",
}
CELLS = {
    "multinomial": {"cells": ("model",)}, "multinomial of three classes": {"cells": ()},
    "rates": {"cells": ("model",)}, "rates by actual": {"cells": ("model",)}, "classes, three": {"cells": ()},
    "groups_logit": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups_logit, LKJ": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups_logit, covariates": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups, clusters": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups by actual": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups, repeated": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups of three classes": {"cells": (), "cells_group": ("fold",), "cells_new": ()},
    "meta_analysis": {"cells": (), "cells_median": (), "cells_group": ("site",), "cells_new": ()},
    "meta_analysis, covariates": {"cells": (), "cells_median": (), "cells_group": ("site",), "cells_new": ()},
    "prevalence": {"cells": ()}, "prevalence, pooled": {"cells": ("month",)}, "slices": {"cells": ("site",)},
    "markov": {"cells": ()}, "markov, varying": {"cells": (), "cells_group": ("video",), "cells_new": ()},
    "paired": {"cells": ("model",)}, "datasets": {},
}  # fmt: skip
# What is left out to find how well the model predicts.
UNITS = {
    "multinomial": {"example": 70}, "multinomial of three classes": {"example": 33}, "rates": {"example": 70},
    "rates by actual": {"example": 70}, "classes, three": {"actual": 3},
    "groups": {"site": 3}, "groups, clusters": {"site": 3},
    "groups by actual": {"site": 3}, "groups of three classes": {"fold": 2}, "groups_logit": {"site": 3},
    "groups_logit, LKJ": {"site": 3}, "groups_logit, covariates": {"site": 3}, "slices": {"site": 3},
    "meta_analysis": {"site": 3}, "meta_analysis, covariates": {"site": 3},
    "prevalence": {"example": 142}, "prevalence, pooled": {"example": 172}, "markov": {"example": 87},
    "markov, varying": {"video": 3}, "paired": {"example": 60}, "datasets": {"dataset": 4},
}  # fmt: skip


TREES = [case for case in CASES if case not in ("groups, clusters", "groups by actual")]


@pytest.mark.slow
@pytest.mark.parametrize("case", [case if case in ONE_OF_EACH_MODEL else slow(case) for case in TREES])
def test_tree_of_every_model(case, sampler):
    _, data, _ = CASES[case]
    tree = fitted(case)
    expected = GROUPS | {"sample_stats"}
    if case == "groups, repeated":
        expected -= {"posterior_predictive", "prior_predictive", "observed_data", "log_likelihood"}
        assert tree.attrs["left_out"] == (
            "posterior_predictive, log_likelihood: a power likelihood (repeats > 1) cannot be simulated from, and its "
            "examples are no units to leave out"
        )
    else:
        assert "left_out" not in tree.attrs
        units = tree["log_likelihood"]["counts"]
        assert dict(units.sizes) == {"chain": 4, "draw": 100} | UNITS[case]
        assert np.isfinite(units).all()
    assert expected <= set(tree.children)
    posterior, prior = tree["posterior"].to_dataset(), tree["prior"].to_dataset()
    labels = {"model": ["A", "B"] if data is SYSTEMS else ["new", "old"], "site": [2, 3, 5], "fold": [0, 1],
              "video": ["u", "v", "w"], "month": ["May", "June"]}  # fmt: skip
    of_classes = ["accuracy", "balanced_accuracy", "precision_macro", "recall_macro", "f1_macro", "matthews_corrcoef"]
    headline = of_classes if "three" in case else HEADLINE
    if "by actual" in case or "meta_analysis" in case:
        headline = ["balanced_accuracy", "recall", "specificity"]
    for name, leading in CELLS[case].items():
        for drawn, chains in ((posterior, 4), (prior, 1)):
            cells = drawn[name].transpose("chain", "draw", *leading, "actual", "predicted")
            assert cells.shape[:2] == (chains, 100)
            np.testing.assert_allclose(cells.sum(["actual", "predicted"]), 1, rtol=1e-6)
            for dim in leading:
                assert cells[dim].values.tolist() == labels[dim]
            for metric in headline:
                of_cells = drawn[metric + name.removeprefix("cells")]
                assert set(of_cells.dims) == {"chain", "draw", *leading}
    assert set(CELLS[case]) == {name for name in posterior if name.startswith("cells")}
    assert posterior["chain"].values.tolist() == [0, 1, 2, 3]
    if isinstance(data, bp.ConfusionMatrix) and data.patterns is None:
        xr.testing.assert_equal(observed_table(tree), data.counts)
    if CELLS[case]:
        summary = bp.Posterior.from_datatree(tree).summary(headline[:1])
        assert (summary["method"] == "draws").all()
        assert summary["mean"].iloc[0] == pytest.approx(posterior[headline[0]].mean(["chain", "draw"]).values.flat[0])
    else:
        with pytest.raises(ValueError, match="tree has no variable 'cells' in a group 'posterior'"):
            bp.Posterior.from_datatree(tree)


@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore:Estimated shape parameter")  # of rare cells, with few draws
@pytest.mark.parametrize("case", [case if case in ONE_OF_EACH_MODEL else slow(case) for case in EXACT])
def test_exact_tree(case):
    model, data, options = CASES[case]
    tree = exact(data, model, options=options, draws=200)
    assert set(tree.children) >= GROUPS
    assert "sample_stats" not in tree.children
    assert dict(tree["log_likelihood"]["counts"].sizes) == {"chain": 4, "draw": 200} | UNITS[case]
    assert np.isfinite(az.loo(tree).elpd)


@pytest.mark.slow
def test_metrics_of_groups_are_of_their_cells(sampler):
    posterior = fitted("groups", metrics=["recall", "fpr"])["posterior"]
    for suffix in ("", "_group", "_new"):
        cells = posterior[f"cells{suffix}"]
        hit, alarm = cells.sel(actual="yes", predicted="yes"), cells.sel(actual="no", predicted="yes")
        of_yes, of_no = (cells.sel(actual=label).sum("predicted") for label in ("yes", "no"))
        np.testing.assert_allclose(
            posterior[f"recall{suffix}"], (hit / of_yes).transpose(*posterior[f"recall{suffix}"].dims)
        )
        np.testing.assert_allclose(
            posterior[f"fpr{suffix}"], (alarm / of_no).transpose(*posterior[f"fpr{suffix}"].dims)
        )
    assert "accuracy" not in posterior


@pytest.mark.slow
def test_the_dim_of_groups_need_not_be_the_last(sampler):
    counts = xr.concat([SITES.counts, SITES.counts + 1], "model").assign_coords(model=["A", "B"])
    cm = bp.ConfusionMatrix(counts.transpose("site", "model", "actual", "predicted"), "yes")
    settings = {"options": {"dim": "site"}, "method": "mcmc", "draws": 20, "random_seed": 1}
    posterior = bp.fit(cm, "groups", **settings)["posterior"]
    assert posterior["recall"].dims == ("chain", "draw", "model")
    assert posterior["cells_group"].dims == ("chain", "draw", "model", "site", "actual", "predicted")
    logit = bp.fit(cm, "groups_logit", **settings)["posterior"]
    assert set(logit["recall_group"].dims) == {"chain", "draw", "model", "site"}


@pytest.mark.slow
def test_predictions_are_of_the_posterior():
    tree = exact(BINARY, "rates", draws=1500)
    drawn = tree["posterior_predictive"]
    for name, n, a, b in (
        ("positives", 100, 51, 51),
        ("true_positives", 50, 40.5, 10.5),
        ("true_negatives", 50, 45.5, 5.5),
    ):
        x, expected = drawn[name].values[..., 0], stats.betabinom(n, a, b)
        assert x.mean() == pytest.approx(expected.mean(), abs=5 * error(x))
        assert x.var() == pytest.approx(expected.var(), abs=5 * error((x - expected.mean()) ** 2))
    of_prior = tree["prior_predictive"]["positives"].values
    counted = np.bincount(of_prior.ravel(), minlength=101)
    assert stats.chisquare(counted).pvalue > 1e-6  # Beta(1, 1): each number of 0, …, 100 alike often


@pytest.mark.slow
def test_predicted_tables_have_the_dims_of_the_observed_ones():
    tree = exact(SYSTEMS, draws=1000)
    for group in ("prior_predictive", "posterior_predictive"):
        drawn = tree[group]["counts"]
        assert drawn.dims == ("chain", "draw", "model", "actual", "predicted")
        assert (drawn.sum(["actual", "predicted"]).values == [57, 13]).all()
        assert drawn["actual"].values.tolist() == ["no", "yes"]
    mean = (
        (SYSTEMS.counts + 0.5)
        / (SYSTEMS.counts + 0.5).sum(["actual", "predicted"])
        * xr.DataArray([57, 13], dims="model")
    )
    for place in np.ndindex(2, 2, 2):
        x = tree["posterior_predictive"]["counts"].values[..., *place]
        assert x.mean() == pytest.approx(mean.values[place], abs=5 * error(x))


@pytest.mark.slow
def test_the_prior_is_drawn_too():
    tree = exact(BINARY, "rates", {"recall": pm.Beta.dist(9, 1)}, draws=1000)
    agrees(tree["prior"]["recall"], of_scipy(stats.beta(9, 1)))
    agrees(tree["prior"]["prevalence"], of_scipy(stats.beta(1, 1)))
    agrees(tree["prior"]["specificity"], of_scipy(stats.beta(0.5, 0.5)))
    agrees(exact(BINARY, draws=1000)["prior"]["accuracy"], of_scipy(stats.beta(1, 1)))


@pytest.mark.slow
def test_log_prior():
    tree = exact(BINARY, "rates", {"recall": pm.Beta.dist(9, 1)}, draws=50)
    for name, prior in (("specificity", stats.beta(0.5, 0.5)), ("recall", stats.beta(9, 1))):
        np.testing.assert_allclose(tree["log_prior"][name], prior.logpdf(tree["posterior"][name]), atol=1e-5)


@pytest.mark.slow
def test_log_likelihood_sums_to_that_of_the_table():
    tree = exact(THREE, draws=50)
    shares = tree["posterior"]["shares"].values
    constant = stats.multinomial.logpmf(THREE.counts.values.ravel(), 33, np.full(9, 1 / 9)) + 33 * np.log(9)
    expected = stats.multinomial.logpmf(THREE.counts.values.ravel(), 33, shares) - constant
    np.testing.assert_allclose(tree["log_likelihood"]["counts"].sum("example"), expected, rtol=1e-9)


@pytest.mark.slow
def test_rates_and_cells_are_the_same_model_to_loo():
    """Under their default priors: Jeffreys' Dirichlet."""
    trees = {"rates": exact(BINARY, "rates", draws=1500), "multinomial": exact(BINARY, draws=1500)}
    elpd = [az.loo(tree).elpd for tree in trees.values()]
    # An example left out has the predictive probability of its cell's other examples and half a pseudo-example.
    counts = np.array([40, 10, 5, 45])
    expected = (counts * np.log((counts - 1 + 0.5) / (99 + 2))).sum()
    np.testing.assert_allclose(elpd, expected, atol=0.1)
    ranked = az.compare(trees)
    assert abs(ranked["elpd_diff"]).max() < 0.2


@pytest.mark.slow
def test_too_large_a_log_likelihood_is_left_out(monkeypatch):
    tree = exact(bp.ConfusionMatrix.from_counts(tp=9_000, fn=1_000, fp=1, tn=0), draws=250)
    assert "log_likelihood" not in tree.children
    assert tree.attrs["left_out"] == "log_likelihood: draws × examples are more than 10⁷ values; sample fewer draws"
    assert building.MOST_VALUES == 10**7
    monkeypatch.setattr(building, "MOST_VALUES", 1000)
    assert exact(BINARY, draws=5, chains=2)["log_likelihood"]["counts"].size == 1000
    assert "log_likelihood" not in exact(BINARY, "rates", draws=11, chains=1).children


@pytest.mark.few(1)
@pytest.mark.parametrize("case", ["multinomial of three classes", "groups", slow("paired"), slow("markov, varying")])
def test_round_trip(case, sampler, tmp_path):
    tree = exact(*CASES[case][1::-1], draws=30) if case in EXACT else fitted(case, draws=30)
    tree.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "fit.nc", engine="h5netcdf") as stored:
        assert set(stored.children) == set(tree.children)
        for name, group in tree.children.items():
            xr.testing.assert_allclose(stored[name].to_dataset(), group.to_dataset())
        before, after = bp.Posterior.from_datatree(tree), bp.Posterior.from_datatree(stored)
        assert after.pos_label == before.pos_label
        assert after.prior_text == before.prior_text
        assert after.summary().equals(before.summary())


# ── What is recorded ──


def test_attributes(alone):
    settings = {"draws": 20, "chains": 3, "random_seed": 7}
    attrs = exact(BINARY, "rates", {"recall": pm.Beta.dist(9, 1)}, options={"design": "by_actual"}, **settings)[
        "posterior"
    ].attrs
    words = {"prevalence": "Beta(1, 1)", "recall": "Beta(9, 1)", "specificity": "Beta(0.5, 0.5)"}
    expected = {
        "model": "rates", "method": "exact", "sampler": "exact", "sampler_version": version("bayesperf"),
        "independent_draws": 1, "positive": 1, **settings,
        **{f"{package}_version": version(package) for package in ("bayesperf", "pymc", "arviz")},
        "prior": ", ".join(f"{name} ~ {prior}" for name, prior in words.items()),
    }  # fmt: skip
    assert expected.items() <= attrs.items()
    assert json.loads(attrs["priors"]) == words
    assert list(json.loads(attrs["options"])) == ["design"]
    assert "tune" not in attrs


@pytest.mark.slow
def test_attributes_of_a_sampler(sampler, alone):
    tree = fitted("groups, clusters", tune=17, draws=20)
    expected = {"model": "groups", "method": "mcmc", "sampler": "nutpie", "sampler_version": version("nutpie"),
                "independent_draws": 0, "tune": 17, "draws": 20, "chains": 4, "random_seed": 1}  # fmt: skip
    assert expected.items() <= tree["posterior"].attrs.items()
    assert json.loads(tree["posterior"].attrs["priors"])["dispersion"] == "Beta(1, 9)"
    assert "ρ" not in tree["posterior"].attrs["prior"]
    values = json.loads(fitted("groups_logit, covariates", draws=5)["posterior"].attrs["options"])["covariates"]
    assert values == YEAR.values.tolist()


@pytest.mark.slow
def test_what_the_cells_are_of(sampler, alone):
    single = "Posterior of the system's metric"
    expected = {"rates": single, "groups": "Posterior of the metric at the population mean over sites",
                "markov, varying": "Posterior of the system's long-run metric"}  # fmt: skip
    for case, estimand in expected.items():
        post = bp.Posterior.from_datatree(fitted(case, draws=50))
        assert post["recall"].estimand == estimand
        if "markov" in case:
            with pytest.raises(ValueError, match="samples of a sequence depend on each other"):
                post.predict(20)


@pytest.mark.slow
def test_hash_of_the_data_and_of_nothing_else(alone):
    def recorded(*data_and_model, **settings):
        return exact(*data_and_model, draws=5, **settings)["posterior"].attrs["data_hash"]

    def computed(counts, pos_label="no"):
        return fingerprint(prepared(bp.ConfusionMatrix(counts, pos_label), "rates", None)[0])

    counts = SYSTEMS.counts
    known = computed(counts)
    assert recorded(SYSTEMS) == recorded(SYSTEMS, "rates", {"recall": pm.Beta.dist(2, 2)}, random_seed=8) == known
    assert computed(counts.copy(deep=True)) == known
    changed = counts.copy(deep=True)
    changed[1, 0, 0] += 1
    others = [
        computed(changed),
        computed(counts.assign_coords(model=["A", "C"])),
        computed(counts.assign_coords(actual=["n", "y"], predicted=["n", "y"]), "n"),
        computed(counts.rename(model="system")),
        computed(counts.isel(model=[1, 0])),
        computed(counts.isel(model=[0])),
    ]
    assert len({known, *others}) == 7


@pytest.mark.slow
def test_seeds():
    def drawn(seed, **settings):
        tree = exact(BINARY, "rates", random_seed=seed, draws=30, **settings)
        return {
            group: tree[group].to_dataset().drop_attrs() for group in ("posterior", "prior", "posterior_predictive")
        }

    known, again, other = drawn(1), drawn(1, metrics=["mcc"]), drawn(2)
    for group in known:  # other metrics change no figure
        shared = list(set(known[group]) & set(again[group]))
        xr.testing.assert_identical(known[group][shared], again[group][shared])
        assert not any(known[group][name].equals(other[group][name]) for name in shared)
    one, two = (drawn(np.random.default_rng(5))["posterior"] for _ in range(2))
    xr.testing.assert_identical(one, two)


def test_fits_of_other_data_are_independent_under_the_same_seed(alone):
    one, two = (exact(bp.ConfusionMatrix.from_counts(tp=tp, fn=10, fp=5, tn=45), draws=5000) for tp in (40, 41))
    drawn = [tree["posterior"]["recall"].values.ravel() for tree in (one, two)]
    assert abs(np.corrcoef(drawn)[0, 1]) < 5 / np.sqrt(drawn[0].size)


def test_the_sampler_has_another_seed_for_other_data(sampler, alone):
    for tp in (40, 41):
        cm = bp.ConfusionMatrix.from_counts(tp=tp, fn=10, fp=5, tn=45)
        bp.fit(cm, "rates", method="mcmc", draws=2, random_seed=1)
    first, other = (call["seed"] for call in sampler)
    assert first != other


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shares", "recall"])
def test_another_system_changes_no_exact_draws(name, alone):
    """Nor does the order; and systems share no random numbers."""
    model = "multinomial" if name == "shares" else "rates"
    both = exact(SYSTEMS, model, draws=20)["posterior"][name]
    for order in ([1], [1, 0]):
        others = bp.ConfusionMatrix(SYSTEMS.counts.isel(model=order), "no")
        found = exact(others, model, draws=20)["posterior"][name]
        np.testing.assert_array_equal(found.sel(model="B"), both.sel(model="B"))
    twice = bp.ConfusionMatrix(SYSTEMS.counts.isel(model=[0, 0]).assign_coords(model=["A", "C"]), "no")
    drawn = exact(twice, model, draws=2000)["posterior"]["recall"].transpose("model", ...).values.reshape(2, -1)
    assert abs(np.corrcoef(drawn)[0, 1]) < 5 / np.sqrt(drawn.shape[1])


@pytest.mark.slow
def test_a_seed_not_given_is_recorded(alone):
    tree, other = (bp.fit(BINARY, "rates", method="exact", draws=30) for _ in range(2))
    seeds = [found["posterior"].attrs["random_seed"] for found in (tree, other)]
    assert seeds[0] != seeds[1]
    again = exact(BINARY, "rates", random_seed=seeds[0], draws=30)
    xr.testing.assert_equal(again["posterior"].to_dataset(), tree["posterior"].to_dataset())


def test_metrics_asked_for(alone):
    posterior = exact(SYSTEMS, metrics=["tpr", "f1_macro", "recall_per_class"], draws=10)["posterior"]
    assert set(posterior.data_vars) == {"shares", "cells", "recall", "f1_macro", "recall_per_class"}
    assert posterior["recall_per_class"].dims == ("chain", "draw", "model", "label")
    assert posterior["label"].values.tolist() == ["no", "yes"]
    np.testing.assert_allclose(posterior["recall_per_class"].sel(label="no"), posterior["recall"])
    assert set(exact(THREE, metrics=[], draws=10)["posterior"].data_vars) == {"shares", "cells"}


@pytest.mark.slow
def test_a_variable_that_is_the_metric_stays():
    tree = exact(SYSTEMS, "rates", metrics=["prevalence", "recall", "precision"], draws=50)
    for group in ("posterior", "prior"):
        cells = tree[group]["cells"]
        share = cells.sel(actual="no").sum("predicted")
        np.testing.assert_allclose(tree[group]["prevalence"], share, rtol=1e-9)
        np.testing.assert_allclose(tree[group]["recall"], cells.sel(actual="no", predicted="no") / share, rtol=1e-9)
    left_out = exact(sites_called("recall"), metrics=["accuracy"], draws=50)["posterior"]
    assert left_out["accuracy"].dims == ("chain", "draw", "recall")
