"""Groups and new groups of a fit as posteriors, and the options of the model `groups_logit`."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf import models
from tests.shared.fits import SITES, SYSTEMS, YEAR, agrees, built, exact, of_marginal
from tests.shared.models import SYSTEMS_AND_SITES, compiled

ANSWERS = {"mean": "mean", "by_group": "by_group", "new_group": "new_group"}


# ── Parts of a tree ──


@pytest.fixture(scope="module")
def clusters():
    return exact(SITES, "groups", options={"groups": "clusters"}, draws=5000)


@pytest.mark.few(1)
@pytest.mark.parametrize("part", ANSWERS)
def test_a_part_of_a_fit_is_the_answer_of_pool(part, clusters):
    draws = 50_000
    expected = getattr(bp.pool(SITES, "site", "clusters", draws=draws), ANSWERS[part])
    post = bp.Posterior.from_datatree(clusters, part=part)
    assert (post.scope, post.dims, post.pos_label) == (expected.scope, expected.dims, expected.pos_label)
    for name in ("recall", "specificity", "precision", "f1"):
        assert post[name].quantity == expected[name].quantity
        agrees(clusters["posterior"][name + {"mean": "", "by_group": "_group", "new_group": "_new"}[part]],
               of_marginal(expected[name], draws))  # fmt: skip
        np.testing.assert_allclose(post[name].mean(), expected[name].mean(), atol=0.01)
        np.testing.assert_allclose(post[name].prob_above(0.7), expected[name].prob_above(0.7), atol=0.02)
        np.testing.assert_array_equal(post.observed_score(name), expected.observed_score(name))
    np.testing.assert_allclose(post.prob_joint({"recall": 0.6, "specificity": 0.6}),
                               expected.prob_joint({"recall": 0.6, "specificity": 0.6}), atol=0.02)  # fmt: skip
    np.testing.assert_array_equal(post.examples, expected.examples)
    assert post["recall"].in_words().partition(" is ")[0] == expected["recall"].in_words().partition(" is ")[0]


@pytest.mark.slow
@pytest.mark.parametrize("part", ANSWERS)
def test_parts_of_systems_compare_as_those_of_pool(part):
    """They are of the same test set, as far as their counts tell."""
    cm = bp.ConfusionMatrix(xr.concat([SITES.counts, SITES.counts], "model").assign_coords(model=["A", "B"]), "yes")
    tree = exact(cm, "groups", options={"dim": "site", "groups": "clusters"}, draws=500)
    pooled = getattr(bp.pool(cm, "site", "clusters", draws=2000), ANSWERS[part])
    for post in (bp.Posterior.from_datatree(tree, part=part), pooled):
        with pytest.warns(bp.errors.DependenceWarning, match="have the same number of examples in every class"):
            assert bp.compare(post, metric="recall", dim="model").difference.mean().values == pytest.approx(0, abs=0.05)


@pytest.mark.slow
def test_a_tree_without_groups_has_no_such_part():
    tree = exact(SYSTEMS, "rates", draws=50)
    with pytest.raises(ValueError, match="tree has no variable 'cells_new' in a group 'posterior'"):
        bp.Posterior.from_datatree(tree, part="new_group")
    with pytest.raises(ValueError, match="part must be one of 'mean', 'median_group', 'by_group', 'new_group'"):
        bp.Posterior.from_datatree(tree, part="groups")


# ── Covariates ──


@pytest.mark.few
@pytest.mark.parametrize(
    "covariates",
    [
        YEAR,
        {"year": [-1, 0.5, 2]},
        {"year": {5: 2, 2: -1, 3: 0.5}},
        {"year": pd.Series([0.5, 2, -1], [3, 5, 2])},
        pd.DataFrame({"year": [2, -1, 0.5]}, index=[5, 2, 3]),
        pd.DataFrame({"site": [3, 5, 2], "year": [0.5, 2, -1]}),
    ],
    ids=["DataArray", "sequence", "mapping", "Series", "DataFrame", "DataFrame with a column of sites"],
)
def test_covariates_are_given_as_people_have_them(covariates):
    model = built("groups_logit", SITES, {"covariates": covariates})
    assert model["covariates"].get_value().tolist() == [[-1], [0.5], [2]]
    assert list(model.coords["covariate"]) == ["year"]


def test_an_array_of_covariates_is_in_the_order_of_the_groups():
    model = built("groups_logit", SITES, {"covariates": np.arange(6).reshape(3, 2)})
    assert model["covariates"].get_value().tolist() == [[0, 1], [2, 3], [4, 5]]
    assert list(model.coords["covariate"]) == ["x0", "x1"]


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        ([1, 2], r"must have a value, or a row, for each of 3 of 'site'; it has shape \(2,\)"),
        ({"year": [1, 2]}, "has 2 values for 3 of 'site'"),
        ({"year": {2: 1, 3: 1}}, "has no row for site 5"),
        (pd.DataFrame({"site": [2, 2, 3, 5], "year": 1}), "has two rows of one site"),
        ({"kind": ["a", "b", "c"]}, "must hold finite numbers"),
    ],
)
def test_covariates_that_are_not_of_the_groups_are_refused(covariates, message):
    with pytest.raises((ValueError, TypeError), match=message):
        built("groups_logit", SITES, {"covariates": covariates})


# ── Repeats ──


def tiled(times):
    counts = xr.concat([SITES.counts] * times, "site").assign_coords(site=range(3 * times))
    return bp.ConfusionMatrix(counts, "yes")


def log_marginal(k, n, location, spread):
    """The log-likelihood of a group's counts, the deviation integrated out by adaptive quadrature."""

    def density(z):
        return np.exp(k * (location + spread * z) - n * np.logaddexp(0, location + spread * z)) * stats.norm.pdf(z)

    return np.log(integrate.quad(density, -12, 12, epsabs=0, epsrel=1e-10, points=[-2, 0, 2])[0])


def of_partition(location, spread):
    """The density of three sites once, whose prevalence is one, and whose other rates vary."""
    density = stats.logistic.logpdf(location).sum() + stats.halfnorm.logpdf(spread, scale=0.5).sum()
    for (tn, fp), (fn, tp) in SITES.counts.values:
        density += (tp + fn) * np.log(special.expit(location[0])) + (tn + fp) * np.log(special.expit(-location[0]))
        density += log_marginal(tp, tp + fn, location[1], spread[0]) + log_marginal(tn, tn + fp, location[2], spread[1])
    return density


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [2, 5])
def test_repeats_of_one_partition_say_as_much_as_the_partition(repeats):
    at = compiled(built("groups_logit", tiled(repeats), {"repeats": repeats}))
    for location, spread in (([0.1, 0.5, 1.0], [0.3, 0.8]), ([-1, 2.5, -2], [2.0, 0.05]), ([0, 0, 4], [0.6, 1.5])):
        point = {"location": np.array(location, float), "spread": np.array(spread)}
        assert at(**point)[0] == pytest.approx(of_partition(**point), abs=1e-4)


@pytest.mark.slow
def test_rates_of_groups_come_back():
    """Their mean is that of the density of the deviation, given their counts and the parameters."""
    location, spread = np.array([0.2, 0.5, 1.0]), np.array([0.7, 0.4])
    n = 20_000
    draws = {"location": (("chain", "draw", "rate"), np.broadcast_to(location, (1, n, 3))),
             "spread": (("chain", "draw", "varying_rate"), np.broadcast_to(spread, (1, n, 2))),
             "cells": (("chain", "draw", "actual", "predicted"), np.full((1, n, 2, 2), 0.25))}  # fmt: skip
    coords = {"rate": models.groups_logit.RATES, "varying_rate": models.groups_logit.RATES[1:]}
    data = SITES.counts.assign_attrs(pos_label="yes")
    settings = {"dim": "site", "repeats": 2}
    drawn = models.groups_logit.recover(xr.Dataset(draws, coords), data, np.random.default_rng(0), **settings)
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    rate = special.expit(location[1] + spread[0] * z)
    for site, ((_, _), (fn, tp)) in enumerate(SITES.counts.values):
        density = weight * stats.binom.pmf(tp, tp + fn, rate)
        mean = (density * rate).sum() / density.sum()
        found = drawn["rates_group"][0, :, site, 1].values
        assert found.mean() == pytest.approx(mean, abs=5 * found.std() / n**0.5)
        sd = ((density * rate**2).sum() / density.sum() - mean**2) ** 0.5
        assert found.std() == pytest.approx(sd, rel=5 / n**0.5 + 2e-3)
    assert drawn["cells_group"].dims == ("chain", "draw", "site", "actual", "predicted")


@pytest.mark.slow
def test_repeats_of_a_splitter_are_an_option_of_groups_logit(sampler):
    counts = xr.concat([SITES.counts.rename(site="fold")] * 2, "repeat").transpose("repeat", "fold", ...)
    cm = bp.ConfusionMatrix(counts.assign_attrs(repeats="repeat"), "yes")
    tree = bp.fit(cm, "groups_logit", draws=50, chains=2, random_seed=1, progressbar=False)
    assert "a power likelihood" in tree.attrs["left_out"]
    assert tree["posterior"]["cells_group"].sizes["fold"] == 6
    np.testing.assert_array_equal(bp.Posterior.from_datatree(tree).observed, SITES.sum("site").counts)
    with pytest.raises(ValueError, match="options: 'lkj' does not go with 'repeats'"):
        bp.models.build(cm, "groups_logit", options={"lkj": 2.0})


@pytest.mark.slow
def test_a_fit_of_repeats_agrees_with_one_of_the_partition():
    settings = {"model": "groups_logit", "random_seed": 1, "draws": 2000, "progressbar": False}
    repeated = bp.fit(tiled(2), options={"repeats": 2}, **settings)["posterior"]
    once = bp.fit(SITES, **settings)["posterior"]
    for name in ("recall", "specificity", "recall_new", "spread"):
        found, expected = repeated[name], once[name]
        np.testing.assert_allclose(found.mean(["chain", "draw"]), expected.mean(["chain", "draw"]), atol=0.015)
        np.testing.assert_allclose(found.std(["chain", "draw"]), expected.std(["chain", "draw"]), rtol=0.1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.PriorWarning")  # of so few sites
def test_parts_of_a_sampled_fit_are_answers_of_pool():
    cm = SYSTEMS_AND_SITES.sel(model="B")
    tree = bp.fit(cm, "groups", options={"groups": "clusters"}, method="mcmc", random_seed=1, progressbar=False)
    pooled = bp.pool(cm, "site", "clusters", draws=50_000)
    for part, answer in ANSWERS.items():
        found, expected = bp.Posterior.from_datatree(tree, part=part), getattr(pooled, answer)
        for name in ("recall", "precision"):
            error = found.summary(name)["mcse"].max()
            np.testing.assert_allclose(found[name].mean(), expected[name].mean(), atol=5 * error)
