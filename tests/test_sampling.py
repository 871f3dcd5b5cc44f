"""`fit`: draws against closed forms and quadrature, the tree and what is recorded in it, priors, options, warnings.

One model is compiled and sampled here (`rates_fit`), and others by the tests marked slow. All else takes
``method="exact"``, or draws of the prior in place of the sampler's.
"""

import functools
import json
import warnings
from collections import OrderedDict
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import arviz as az
import matplotlib as mpl
import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from arviz_stats.base import array_stats
from scipy import special, stats

import bayesperf as bp
from bayesperf import _compiled, _fit_data, _fit_tree, _nuts, sampling
from bayesperf._tables import CELL_DIMS
from bayesperf.models import _parts

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("interpreted")

HEADLINE = ["accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f1", "matthews_corrcoef"]
LEVELS = np.array([0.025, 0.25, 0.5, 0.75, 0.975])
GOLDEN = json.loads((Path(__file__).parent / "golden" / "pooling.json").read_text(encoding="utf-8"))["cases"]


def table(values, labels=None, pos_label=None, **dims):
    cm = bp.ConfusionMatrix.from_table(np.array(values), labels=labels, dims=dims)
    return cm if pos_label is None else bp.ConfusionMatrix(cm.counts, pos_label)


BINARY = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
SYSTEMS = table([[[20, 4], [3, 30]], [[7, 0], [1, 5]]], ["no", "yes"], "no", model=["A", "B"])
THREE = table([[9, 1, 0], [2, 7, 3], [0, 0, 11]], list("abc"))
SITES = table([[[9, 1], [2, 6]], [[4, 0], [0, 0]], [[3, 3], [1, 8]]], ["no", "yes"], "yes", site=[2, 3, 5])
SIX_SITES = bp.ConfusionMatrix(
    xr.concat([SITES.counts, SITES.counts + 1], "site", join="override").assign_coords(site=range(6)), "yes"
)
THREE_SITES = table([[[9, 1, 0], [2, 7, 3], [0, 0, 1]], [[2, 2, 1], [0, 4, 0], [1, 0, 6]]], list("abc"), fold=[0, 1])
RNG = np.random.default_rng(0)
Y_TRUE, Y_PRED = (np.repeat(RNG.integers(0, 2, 30), 3), np.repeat(RNG.integers(0, 2, 45), 2))
VIDEO = np.repeat(["u", "v", "w"], [40, 30, 20])
PAIRED = bp.PairedConfusionMatrix.from_predictions(
    RNG.integers(0, 2, 60), RNG.integers(0, 2, 60), RNG.integers(0, 2, 60), names=("new", "old")
)
SCORES = xr.DataArray(
    RNG.normal(0.8, 0.03, (4, 2, 6)).round(3),
    {"dataset": list("abcd"), "model": ["one", "other"]}, ("dataset", "model", "fold"),
)  # fmt: skip
YEAR = xr.DataArray([[-1.0], [0.5], [2.0]], {"site": [2, 3, 5], "covariate": ["year"]}, ("site", "covariate"))

# One case a way of building a model: model, data, options.
CASES = {
    "multinomial": ("multinomial", SYSTEMS, {}),
    "multinomial of three classes": ("multinomial", THREE, {}),
    "rates": ("rates", SYSTEMS, {}),
    "rates by actual": ("rates", SYSTEMS, {"design": "by_actual"}),
    "groups": ("groups", SITES, {}),
    "groups, clusters": ("groups", SITES, {"groups": "clusters"}),
    "groups by actual": ("groups", SITES, {"design": "by_actual"}),
    "groups of three classes": ("groups", THREE_SITES, {}),
    "groups, repeated": ("groups", SITES, {"repeats": 3}),
    "groups_logit": ("groups_logit", SITES, {}),
    "groups_logit, LKJ": ("groups_logit", SITES, {"lkj": 2.0}),
    "groups_logit, covariates": ("groups_logit", SITES, {"covariates": YEAR}),
    "markov": ("markov", (Y_TRUE, Y_PRED), {"by": {"video": VIDEO}}),
    "markov, varying": ("markov", (Y_TRUE, Y_PRED), {"by": {"video": VIDEO}, "sequences": "varying"}),
    "paired": ("paired", PAIRED, {}),
    "datasets": ("datasets", SCORES, {}),
}
EXACT = ["multinomial", "multinomial of three classes", "rates", "rates by actual", "markov", "paired"]


def exact(data, model="multinomial", priors=None, **settings):
    return bp.fit(data, model, priors, method="exact", **{"random_seed": 1, **settings})


def built(model, data, options=None, priors=None):
    counts, chosen = _fit_data.prepared(data, model, options)
    return sampling.built_model(model, counts, priors, chosen)


# ── Draws against a reference ──


def error(values):
    """Monte Carlo standard error of the mean of values (chain, draw)."""
    return float(array_stats.mcse(np.asarray(values, float), chain_axis=0, draw_axis=1))


def of_scipy(distribution, *dims):
    """Return the figures of a frozen distribution whose parameters have dims."""
    mean = xr.DataArray(distribution.mean(), dims=dims)
    quantiles = np.stack([distribution.ppf(level) for level in LEVELS], -1)
    return SimpleNamespace(mean=mean, sd=distribution.std(), quantiles=quantiles, draws=np.inf)


def of_marginal(marginal, draws=np.inf):
    quantiles = marginal.ppf(LEVELS).transpose(..., "q").values
    return SimpleNamespace(mean=marginal.mean(), sd=marginal.sd().values, quantiles=quantiles, draws=draws)


def agrees(draws, reference):
    """Check mean, spread and quantiles of draws (chain, draw, …) within five Monte Carlo errors."""
    expected = np.ravel(reference.mean), np.ravel(reference.sd), np.reshape(reference.quantiles, (-1, len(LEVELS)))
    ordered = draws.transpose("chain", "draw", *reference.mean.dims)
    flat = ordered.values.reshape(*ordered.shape[:2], -1)
    assert flat.shape[-1] == len(expected[0])
    for i, (mean, sd, quantiles) in enumerate(zip(*expected, strict=True)):
        x = flat[..., i]
        compared = [("mean", x, mean), ("variance", (x - mean) ** 2, sd**2)]
        # Next to a bound of rates digits decide.
        inner = (abs(quantiles) > 1e-9) & (abs(quantiles - 1) > 1e-9)
        compared += [(p, x <= quantile, p) for p, quantile in zip(LEVELS[inner], quantiles[inner], strict=True)]
        for name, values, figure in compared:
            scale = np.hypot(error(values), np.std(values) / np.sqrt(reference.draws))
            assert scale > 0, (draws.name, i, name)
            assert np.mean(values) == pytest.approx(figure, abs=5 * scale), (draws.name, i, name)


def differs(draws, reference):
    with pytest.raises(AssertionError):
        agrees(draws, reference)


def test_the_comparison_sees_a_small_difference():
    draws = xr.DataArray(np.random.default_rng(0).beta(41, 11, (4, 1000)), dims=("chain", "draw"), name="recall")
    agrees(draws, of_scipy(stats.beta(41, 11)))
    differs(draws, of_scipy(stats.beta(41.5, 10.5)))
    differs(draws, of_scipy(stats.beta(41 / 1.3, 11 / 1.3)))


# ── Exact draws ──


@pytest.fixture
def alone(monkeypatch):
    """Let a fit be of the posterior, with nothing simulated beside it."""
    monkeypatch.setattr(sampling, "_prior", lambda *_: {})
    monkeypatch.setattr(sampling, "_around", lambda *_: ({}, ""))


@pytest.mark.parametrize(
    ("data", "model", "options", "reference", "metrics"),
    [
        (BINARY, "multinomial", {}, {"prior": "flat"}, ["accuracy", "precision", "recall", "f1"]),
        (SYSTEMS, "multinomial", {}, {"prior": "flat"}, ["accuracy", "precision", "recall", "specificity"]),
        (THREE, "multinomial", {}, {"prior": "perks"}, ["accuracy", "recall_per_class", "f1_per_class"]),
        (SYSTEMS, "rates", {}, {"prior": "flat"}, ["accuracy", "precision", "recall", "specificity", "prevalence"]),
        (SYSTEMS, "rates", {"design": "by_actual"}, {"design": "by_actual"}, ["recall", "balanced_accuracy"]),
    ],
)
def test_exact_draws_are_of_the_closed_form(data, model, options, reference, metrics, alone):
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


def moves():
    """Return g, z, and those before, of the samples that have one before in their video."""
    later = np.flatnonzero(VIDEO[1:] == VIDEO[:-1]) + 1
    return Y_TRUE[later], Y_PRED[later], Y_TRUE[later - 1], Y_PRED[later - 1]


@pytest.mark.parametrize(("priors", "a", "b"), [(None, 0.5, 0.5), ({"stay": pm.Beta.dist(8, 2)}, 8, 2)])
def test_exact_draws_of_a_chain(priors, a, b, alone):
    tree = exact((Y_TRUE, Y_PRED), "markov", priors, options={"by": {"video": VIDEO}})
    g, z, h, j = moves()
    stayed, left = ([((h == i) & ((g == i) == same)).sum() for i in (0, 1)] for same in (True, False))
    agrees(tree["posterior"]["stay"], of_scipy(stats.beta(a + np.array(stayed), b + np.array(left)), "actual"))
    seen = [[[((g == i) & (j == k) & (z == v)).sum() for k in (0, 1)] for i in (0, 1)] for v in (0, 1)]
    second = of_scipy(stats.beta(0.5 + np.array(seen[1]), 0.5 + np.array(seen[0])), "actual", "predicted_before")
    agrees(tree["posterior"]["predict_second"], second)
    if priors is None:
        post = bp.sequences.posterior(Y_TRUE, Y_PRED, by={"video": VIDEO}, prior=0.5, draws=100_000)
        for name in ("recall", "precision", "accuracy", "mcc"):
            canonical = bp.metrics.get(name).name
            agrees(tree["posterior"][canonical], of_marginal(post[name], draws=100_000))


def test_exact_draws_of_two_systems_on_the_same_examples(alone):
    tree = exact(PAIRED, "paired", draws=4000)
    post = bp.posterior(PAIRED.margins(), "flat")
    assert tree["posterior"]["model"].values.tolist() == ["new", "old"]
    for name in ("accuracy", "recall", "precision"):
        agrees(tree["posterior"][name], of_marginal(post[name]))
    # Whether one is more accurate depends on the discordant cells only.
    counts = PAIRED.counts.values
    new_only = sum(counts[i, i, 1 - i] for i in (0, 1)) + 1
    old_only = sum(counts[i, 1 - i, i] for i in (0, 1)) + 1
    accuracy = tree["posterior"]["accuracy"]
    greater = accuracy.sel(model="new") > accuracy.sel(model="old")
    expected = stats.beta(new_only, old_only).sf(0.5)
    assert 0.02 < expected < 0.98
    assert greater.mean().item() == pytest.approx(expected, abs=5 * error(greater.values))


def test_exact_draws_under_priors_of_ones_own(alone):
    given = {"recall": pm.Beta.dist([9, 2], [1, 5]), "specificity": pm.Beta.dist(30, 3)}
    tree = exact(SYSTEMS, "rates", given)
    agrees(tree["posterior"]["recall"], of_scipy(stats.beta([29, 9], [5, 5]), "model"))
    agrees(tree["posterior"]["specificity"], of_scipy(stats.beta([60, 35], [6, 4]), "model"))
    assert json.loads(tree["posterior"].attrs["priors"]) == {
        "prevalence": "Beta(2, 2)", "recall": "Beta(9 2, 1 5)", "specificity": "Beta(30, 3)",
    }  # fmt: skip
    alpha = np.array([[1, 2], [3, 4]])
    shares = exact(BINARY, "multinomial", {"shares": pm.Dirichlet.dist(alpha.ravel())})["posterior"]
    agrees(shares["recall"], of_marginal(bp.posterior(BINARY, bp.prior.dirichlet(alpha))["recall"]))
    weights = np.arange(1, 9) / 2
    joint = exact(PAIRED, "paired", {"shares": pm.Dirichlet.dist(weights)})["posterior"]["shares"]
    omega = weights + PAIRED.counts.values.ravel()
    agrees(joint, of_scipy(stats.beta(omega, omega.sum() - omega), "cell"))


def test_exact_draws_are_independent_and_converge_by_themselves(alone):
    """So that few of them, or one chain, are no cause for a warning."""
    tree = exact(BINARY, "rates", draws=3, chains=1)
    assert tree["posterior"].attrs["independent_draws"] == 1
    assert dict(tree["posterior"]["recall"].sizes) == {"chain": 1, "draw": 3}
    recall = exact(BINARY, "rates", draws=5000, chains=2)["posterior"]["recall"].values
    for lagged in ((recall[:, 1:], recall[:, :-1]), (recall[0], recall[1])):
        assert abs(np.corrcoef(np.ravel(lagged[0]), np.ravel(lagged[1]))[0, 1]) < 5 / np.sqrt(5000)


# ── Draws of the prior in place of a sampler's ──


class Compiled:
    """A compiled model that only remembers what it is of."""

    def __init__(self, model, data=None):
        self.model = model
        self.data = {variable.name: variable.get_value() for variable in model.data_vars} | (data or {})

    @property
    def shared_var_keys(self):
        return self.model.data_vars

    def with_data(self, **data):
        return Compiled(self.model, self.data | data)


@pytest.fixture
def sampler(monkeypatch):
    """Let nutpie draw from the prior; return what it was called with."""
    calls = []

    def sample(compiled, *, draws, chains, **options):
        calls.append({"draws": draws, "chains": chains, **options})
        names = [v.name for v in [*compiled.model.free_RVs, *compiled.model.deterministics]]
        drawn = pm.sample_prior_predictive(
            draws * chains,
            model=compiled.model,
            var_names=names,
            random_seed=options["seed"],
            compile_kwargs={"mode": "FAST_COMPILE"},
        )["prior"].to_dataset()
        drawn = drawn.drop_vars(["chain", "draw"])
        shaped = {
            name: (("chain", *v.dims[1:]), v.values.reshape(chains, draws, *v.shape[2:])) for name, v in drawn.items()
        }
        stats = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((chains, draws), bool))})
        posterior = xr.Dataset(shaped, drawn.coords)
        return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats})

    monkeypatch.setattr("nutpie.compile_pymc_model", Compiled)
    monkeypatch.setattr("nutpie.sample", sample)
    monkeypatch.setattr(_compiled, "_compiled", OrderedDict())
    # A few draws of the prior do for what follows them.
    monkeypatch.setattr(_nuts, "warn", lambda *_: None)
    return calls


def fitted(case, **settings):
    model, data, options = CASES[case]
    return bp.fit(data, model, options=options, **{"random_seed": 1, "draws": 100, "chains": 4, **settings})


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
    "rates": {"cells": ("model",)}, "rates by actual": {"cells": ("model",)},
    "groups_logit": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups_logit, LKJ": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups_logit, covariates": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups, clusters": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups by actual": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups, repeated": {"cells": (), "cells_group": ("site",), "cells_new": ()},
    "groups of three classes": {"cells": (), "cells_group": ("fold",), "cells_new": ()},
    "markov": {"cells": ()}, "markov, varying": {"cells": (), "cells_group": ("video",), "cells_new": ()},
    "paired": {"cells": ("model",)}, "datasets": {},
}  # fmt: skip
# What is left out to find how well the model predicts.
UNITS = {
    "multinomial": {"example": 70}, "multinomial of three classes": {"example": 33}, "rates": {"example": 70},
    "rates by actual": {"example": 70}, "groups": {"site": 3}, "groups, clusters": {"site": 3},
    "groups by actual": {"site": 3}, "groups of three classes": {"fold": 2}, "groups_logit": {"site": 3},
    "groups_logit, LKJ": {"site": 3}, "groups_logit, covariates": {"site": 3}, "markov": {"example": 87},
    "markov, varying": {"video": 3}, "paired": {"example": 60}, "datasets": {"dataset": 4},
}  # fmt: skip


@pytest.mark.parametrize("case", [case for case in CASES if case not in ("groups, clusters", "groups by actual")])
def test_tree_of_every_model(case, sampler):
    _, data, _ = CASES[case]
    tree = fitted(case)
    expected = GROUPS | {"sample_stats"}
    if case == "groups, repeated":
        expected -= {"posterior_predictive", "prior_predictive", "log_likelihood"}
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
              "video": ["u", "v", "w"]}  # fmt: skip
    of_classes = ["accuracy", "balanced_accuracy", "precision_macro", "recall_macro", "f1_macro", "matthews_corrcoef"]
    headline = of_classes if "three" in case else HEADLINE
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
    if isinstance(data, bp.ConfusionMatrix):
        xr.testing.assert_equal(tree["observed_data"]["counts"], data.counts)
    if CELLS[case]:
        summary = bp.Posterior.from_datatree(tree).summary(["accuracy"])
        assert (summary["method"] == "draws").all()
        assert summary["mean"].iloc[0] == pytest.approx(posterior["accuracy"].mean(["chain", "draw"]).values.flat[0])
    else:
        with pytest.raises(ValueError, match="tree has no variable 'cells' in a group 'posterior'"):
            bp.Posterior.from_datatree(tree)


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")  # of rare cells, with few draws
@pytest.mark.parametrize("case", EXACT)
def test_exact_tree(case):
    model, data, options = CASES[case]
    tree = exact(data, model, options=options, draws=200)
    assert set(tree.children) >= GROUPS
    assert "sample_stats" not in tree.children
    assert dict(tree["log_likelihood"]["counts"].sizes) == {"chain": 4, "draw": 200} | UNITS[case]
    assert np.isfinite(az.loo(tree).elpd)


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


def test_the_dim_of_groups_need_not_be_the_last(sampler):
    counts = xr.concat([SITES.counts, SITES.counts + 1], "model").assign_coords(model=["A", "B"])
    cm = bp.ConfusionMatrix(counts.transpose("site", "model", "actual", "predicted"), "yes")
    posterior = bp.fit(cm, "groups", options={"dim": "site"}, draws=20, random_seed=1)["posterior"]
    assert posterior["recall"].dims == ("chain", "draw", "model")
    assert posterior["cells_group"].dims == ("chain", "draw", "model", "site", "actual", "predicted")
    logit = bp.fit(cm, "groups_logit", options={"dim": "site"}, draws=20, random_seed=1)["posterior"]
    assert set(logit["recall_group"].dims) == {"chain", "draw", "model", "site"}


def test_predictions_are_of_the_posterior():
    tree = exact(BINARY, "rates", draws=1500)
    drawn = tree["posterior_predictive"]
    for name, n, a, b in (("positives", 100, 52, 52), ("true_positives", 50, 41, 11), ("true_negatives", 50, 46, 6)):
        x, expected = drawn[name].values, stats.betabinom(n, a, b)
        assert x.mean() == pytest.approx(expected.mean(), abs=5 * error(x))
        assert x.var() == pytest.approx(expected.var(), abs=5 * error((x - expected.mean()) ** 2))
    of_prior = tree["prior_predictive"]["true_positives"].values
    counted = np.bincount(of_prior.ravel(), minlength=51)
    assert stats.chisquare(counted).pvalue > 1e-6  # Beta(1, 1): each number of 0, …, 50 alike often


def test_predicted_tables_have_the_dims_of_the_observed_ones():
    tree = exact(SYSTEMS, draws=1000)
    for group in ("prior_predictive", "posterior_predictive"):
        drawn = tree[group]["counts"]
        assert drawn.dims == ("chain", "draw", "model", "actual", "predicted")
        assert (drawn.sum(["actual", "predicted"]).values == [57, 13]).all()
        assert drawn["actual"].values.tolist() == ["no", "yes"]
    mean = (
        (SYSTEMS.counts + 1) / (SYSTEMS.counts + 1).sum(["actual", "predicted"]) * xr.DataArray([57, 13], dims="model")
    )
    for place in np.ndindex(2, 2, 2):
        x = tree["posterior_predictive"]["counts"].values[..., *place]
        assert x.mean() == pytest.approx(mean.values[place], abs=5 * error(x))


def test_the_prior_is_drawn_too():
    tree = exact(BINARY, "rates", {"recall": pm.Beta.dist(9, 1)}, draws=1000)
    agrees(tree["prior"]["recall"], of_scipy(stats.beta(9, 1)))
    agrees(tree["prior"]["prevalence"], of_scipy(stats.beta(2, 2)))
    agrees(tree["prior"]["specificity"], of_scipy(stats.beta(1, 1)))
    agrees(exact(BINARY, draws=1000)["prior"]["accuracy"], of_scipy(stats.beta(2, 2)))


def test_log_prior():
    tree = exact(BINARY, "rates", {"recall": pm.Beta.dist(9, 1)}, draws=50)
    for name, prior in (("prevalence", stats.beta(2, 2)), ("recall", stats.beta(9, 1))):
        np.testing.assert_allclose(tree["log_prior"][name], prior.logpdf(tree["posterior"][name]), atol=1e-5)


def test_log_likelihood_sums_to_that_of_the_table():
    tree = exact(THREE, draws=50)
    shares = tree["posterior"]["shares"].values
    constant = stats.multinomial.logpmf(THREE.counts.values.ravel(), 33, np.full(9, 1 / 9)) + 33 * np.log(9)
    expected = stats.multinomial.logpmf(THREE.counts.values.ravel(), 33, shares) - constant
    np.testing.assert_allclose(tree["log_likelihood"]["counts"].sum("example"), expected, rtol=1e-9)


def test_rates_and_cells_are_the_same_model_to_loo():
    """Under their default priors: the flat Dirichlet."""
    trees = {"rates": exact(BINARY, "rates", draws=1500), "multinomial": exact(BINARY, draws=1500)}
    elpd = [az.loo(tree).elpd for tree in trees.values()]
    # Under a flat Dirichlet an example left out has predictive probability of its cell's other examples.
    counts = np.array([40, 10, 5, 45])
    expected = (counts * np.log((counts - 1 + 1) / (99 + 4))).sum()
    np.testing.assert_allclose(elpd, expected, atol=0.1)
    ranked = az.compare(trees)
    assert abs(ranked["elpd_diff"]).max() < 0.2


def test_too_large_a_log_likelihood_is_left_out(monkeypatch):
    tree = exact(bp.ConfusionMatrix.from_counts(tp=9_000, fn=1_000, fp=1, tn=0), draws=250)
    assert "log_likelihood" not in tree.children
    assert tree.attrs["left_out"] == "log_likelihood: draws × examples are more than 10⁷ values; sample fewer draws"
    assert _parts._LARGEST == 10**7
    monkeypatch.setattr(_parts, "_LARGEST", 1000)
    assert exact(BINARY, draws=5, chains=2)["log_likelihood"]["counts"].size == 1000
    assert "log_likelihood" not in exact(BINARY, "rates", draws=11, chains=1).children


@pytest.mark.parametrize("case", ["multinomial of three classes", "paired", "markov, varying", "groups"])
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
    words = {"prevalence": "Beta(2, 2)", "recall": "Beta(9, 1)", "specificity": "Beta(1, 1)"}
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


def test_attributes_of_a_sampler(sampler, alone):
    tree = fitted("groups, clusters", tune=17, draws=20)
    expected = {"model": "groups", "method": "mcmc", "sampler": "nutpie", "sampler_version": version("nutpie"),
                "independent_draws": 0, "tune": 17, "draws": 20, "chains": 4, "random_seed": 1}  # fmt: skip
    assert expected.items() <= tree["posterior"].attrs.items()
    assert json.loads(tree["posterior"].attrs["priors"])["dispersion"] == "Beta(1, 9)"
    assert "ρ" not in tree["posterior"].attrs["prior"]
    values = json.loads(fitted("groups_logit, covariates", draws=5)["posterior"].attrs["options"])["covariates"]
    assert values == YEAR.values.tolist()


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


def test_hash_of_the_data_and_of_nothing_else(alone):
    def recorded(*data_and_model, **settings):
        return exact(*data_and_model, draws=5, **settings)["posterior"].attrs["data_hash"]

    def fingerprint(counts, pos_label="no"):
        return _fit_data.fingerprint(_fit_data.prepared(bp.ConfusionMatrix(counts, pos_label), "rates", None)[0])

    counts = SYSTEMS.counts
    known = fingerprint(counts)
    assert recorded(SYSTEMS) == recorded(SYSTEMS, "rates", {"recall": pm.Beta.dist(2, 2)}, random_seed=8) == known
    assert fingerprint(counts.copy(deep=True)) == known
    changed = counts.copy(deep=True)
    changed[1, 0, 0] += 1
    others = [
        fingerprint(changed),
        fingerprint(counts.assign_coords(model=["A", "C"])),
        fingerprint(counts.assign_coords(actual=["n", "y"], predicted=["n", "y"]), "n"),
        fingerprint(counts.rename(model="system")),
        fingerprint(counts.isel(model=[1, 0])),
        fingerprint(counts.isel(model=[0])),
    ]
    assert len({known, *others}) == 7


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


def test_a_variable_that_is_the_metric_stays():
    tree = exact(SYSTEMS, "rates", metrics=["prevalence", "recall", "precision"], draws=50)
    for group in ("posterior", "prior"):
        cells = tree[group]["cells"]
        share = cells.sel(actual="no").sum("predicted")
        np.testing.assert_allclose(tree[group]["prevalence"], share, rtol=1e-9)
        np.testing.assert_allclose(tree[group]["recall"], cells.sel(actual="no", predicted="no") / share, rtol=1e-9)
    left_out = exact(sites_called("recall"), metrics=["accuracy"], draws=50)["posterior"]
    assert left_out["accuracy"].dims == ("chain", "draw", "recall")


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
        tree = bp.fit(SYSTEMS, "rates", {"recall": prior}, draws=500, random_seed=3)
        agrees(tree["posterior"]["recall"], expected)  # what is sampled here is the prior
        recall = tree["posterior"]["recall"].values
        assert abs(np.corrcoef(recall[..., 0].ravel(), recall[..., 1].ravel())[0, 1]) < 5 / np.sqrt(2000)
        assert "recall ~ Beta(12, 12)" in tree["posterior"].attrs["prior"]
        assert "specificity ~ Beta(1, 1)" in tree["posterior"].attrs["prior"]
    agrees(exact(SYSTEMS, "rates", {"recall": Halves()})["posterior"]["recall"],
           of_scipy(stats.beta([32, 19], [16, 12]), "model"))  # fmt: skip


def test_priors_that_are_no_beta():
    model = built(
        "rates", SYSTEMS, priors={"recall": pm.Uniform.dist(0.5, 0.9), "specificity": pm.Kumaraswamy.dist(2, 3)}
    )
    assert _fit_tree.priors_in_words(model) == {
        "prevalence": "Beta(2, 2)", "recall": "Uniform(0.5, 0.9)", "specificity": "Kumaraswamy(2, 3)",
    }  # fmt: skip
    # One share a row, in the order of the dims.
    rows = built("groups", SITES, priors={"rates": pm.Dirichlet.dist([[8.0, 2.0], [1.0, 9.0]])})
    drawn = pm.draw(rows["rates"], 4000, random_seed=1)
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


def shared_recall(data, priors, *, weight=1.0):
    """All systems have the same recall; a part of the table only is modelled."""
    positive = data["actual"].values.tolist().index(data.attrs["pos_label"])
    row = data.isel(actual=positive).values
    with pm.Model(coords={"actual": data["actual"].values, "predicted": data["predicted"].values}) as model:
        recall = pm.Beta("recall_of_all", *priors.get("recall", (1, 1)))
        n = pm.Data("n", row.sum(-1))
        pm.Binomial("hits", n, recall, observed=row[:, positive])
        cells = pm.math.stack([recall, 1 - recall, 0.5 * weight, 1 - 0.5 * weight]).reshape((2, 2)) / 2
        pm.Deterministic("cells", cells, dims=["actual", "predicted"])
    return model


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


# ── What is refused ──


def sites_called(name):
    return bp.ConfusionMatrix(SITES.counts.rename(site=name), "yes")


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
    (ValueError, BINARY, "multinomal", {}, f"model must be one of {', '.join(bp.models.names())}, or a "
     "function (data, priors) -> pymc.Model; it is 'multinomal'. Did you mean 'multinomial'?"),
    (ValueError, BINARY, 3, {}, "-> pymc.Model; it is 3."),
    (ValueError, BINARY, "rates", {"method": "vi"}, "method must be one of 'mcmc', 'exact'; it is 'vi'."),
    (ValueError, BINARY, "rates", {"draws": 0}, "draws must be a whole number of at least 1; it is 0."),
    (ValueError, BINARY, "rates", {"chains": 1.5}, "chains must be a whole number of at least 1; it is 1.5."),
    (TypeError, BINARY, "rates", {"method": "exact", "target_accept": 0.9, "cores": 1}, "method='exact' samples "
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
     "(). Leave it out: bayesperf.Posterior.from_datatree(tree)['recall'] is the metric."),
    (ValueError, SITES, "groups", {"metrics": ["recall", "prevalence"]}, "metrics: 'prevalence' is the name of another "
     "variable of the model, with dims ('actual',). Leave it out: bayesperf.Posterior.from_datatree(tree)"
     "['prevalence'] is the metric."),
    (ValueError, SCORES, "datasets", {"metrics": ["recall"]}, "metrics: the model has no variable 'cells' (…, actual, "
     "predicted) to compute them of."),
    (TypeError, BINARY, "rates", {"metrics": "recall"}, "metrics must be a sequence of names, as ['recall']; it is "
     "'recall'."),
    (ValueError, BINARY, "rates", {"nuts_sampler": "stan"}, "nuts_sampler must be one of 'nutpie', 'pymc', 'numpyro', "
     "'blackjax'; it is 'stan'."),
    (TypeError, BINARY, "rates", {"seed": 3}, "'seed' is not for the caller of a fit to set: say random_seed."),
    (TypeError, BINARY, "rates", {"progress_bar": False}, "'progress_bar' is not for the caller of a fit to set: say "
     "progressbar."),
    (TypeError, BINARY, "rates", {"save_warmup": True}, "'save_warmup' is not for the caller of a fit to set: the "
     "draws of tuning are not kept."),
    (TypeError, BINARY, "rates", {"nuts_sampler": "pymc", "target_acept": 0.9}, "'target_acept' is no argument of "
     "bayesperf.fit, nor a setting of its sampler, pymc."),
    (ValueError, BINARY, "rates", {"tune": 0}, "tune must be a whole number of at least 1; it is 0."),
    (ValueError, BINARY, "rates", {"random_seed": -1}, "random_seed must be a non-negative integer or a numpy "
     "Generator; it is -1."),
    (ValueError, SITES, "groups", {"method": "exact"}, "method='exact': the posterior of the model 'groups' has no "
     "closed form. Use method='mcmc'."),
    (ValueError, SYSTEMS, shared_recall, {"method": "exact"}, "the posterior of the model 'shared_recall' has no "
     "closed form"),
    (ValueError, BINARY, "rates", {"metrics": ["recal"]}, "no metric named 'recal': did you mean 'recall'?"),
    (ValueError, THREE, "multinomial", {"metrics": ["f1"]}, "f1"),
    (ValueError, THREE, "rates", {}, "data: this model is of two classes; there are 3. See the model 'groups'."),
    (ValueError, THREE_SITES, "groups_logit", {}, "data: this model is of two classes; there are 3."),
    (TypeError, [[1, 2], [3, 4]], "rates", {}, "data must be a ConfusionMatrix; it is list."),
    (TypeError, BINARY, "paired", {}, "data of the model 'paired' must be a PairedConfusionMatrix; it is "
     "ConfusionMatrix. Make one with PairedConfusionMatrix.from_predictions(y_true, y_pred_a, y_pred_b)."),
    (TypeError, PAIRED, "rates", {}, "data must be a ConfusionMatrix; it is PairedConfusionMatrix."),
    (TypeError, BINARY, "markov", {}, "data of the model 'markov' must be a pair (y_true, y_pred); sequence ids go "
     "to options['by']."),
    (ValueError, ([0, 1, 2], [0, 1, 2]), "markov", {}, "two"),
    (ValueError, (Y_TRUE, Y_PRED), "markov", {"options": {"by": {"actual_before": VIDEO}}}, "options['by']: "
     "'actual_before' is a dim that the model uses for its own; rename that dim."),
    (ValueError, (Y_TRUE, Y_PRED), "markov", {"options": {"by": {"stay": VIDEO}}}, "data: 'stay' is a variable of the "
     "model; rename that dim."),
    (TypeError, BINARY, "datasets", {}, "data of the model 'datasets' must be a DataArray of scores with dims "
     "dataset, model and fold."),
    (TypeError, SCORES.rename(fold="run"), "datasets", {}, "dims dataset, model and fold"),
    (ValueError, SCORES.isel(model=[0, 1, 1]), "datasets", {}, "data: the model compares two systems; dim model "
     "has 3. Select two."),
    (ValueError, SCORES.isel(fold=[0]), "datasets", {}, "data: one fold says nothing of the scatter of scores; "
     "give at least two."),
    (ValueError, SCORES.where(SCORES.max() != SCORES), "datasets", {}, "data has missing or infinite scores. Drop "
     "those data sets."),
    (ValueError, SCORES.where(SCORES["dataset"] != "c", 0.5), "datasets", {}, "data: at dataset c all folds differ "
     "by the same, so their scatter is no distribution."),
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
    (TypeError, SITES, "groups_logit", {"options": {"covariates": [1, 2, 3]}}, f"{OF_SITES} must be a DataArray "
     "('site', 'covariate'); it is list."),
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
    (ValueError, SITES, "groups_logit", covariates([["a"], ["b"], ["a"]], "site", "covariate", site=[2, 3, 5]),
     f"{OF_SITES} must hold finite numbers."),
    (ValueError, SITES, "groups", {"options": {"lkj": 1}}, "options: the model 'groups' has no 'lkj'; it has "
     "'dim', 'groups', 'repeats', 'design'."),
    (ValueError, BINARY, "multinomial", {"options": {"dim": "x"}}, "options: the model 'multinomial' has no 'dim'; "
     "it has none."),
    (ValueError, BINARY, "rates", {"options": {"design": "rows"}}, "options['design'] must be one of 'joint', "
     "'by_actual'"),
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
        bp.fit(data, model, **{"draws": 10, **settings})
    assert words in str(raised.value)
    assert not sampler


def test_settings_that_the_sampler_has_not():
    with pytest.raises(TypeError) as raised:
        _nuts.sample_compiled(None, {"target_acept": 0.9}, seed=1)
    assert str(raised.value) == (
        "'target_acept' is no argument of bayesperf.fit, nor a setting of its sampler, nutpie."
    )
    with pytest.raises(AttributeError):  # what else is wrong is said as it is
        _nuts.sample_compiled(None, {"target_accept": 0.9}, seed=1)
    _nuts.check({"nuts_sampler": "pymc", "target_accept": 0.9, "max_treedepth": 8, "cores": 1, "nuts": {}})


def test_more_examples_than_the_sampler_can_count():
    """PyMC keeps data in 32 bits."""
    billions = bp.ConfusionMatrix.from_counts(tp=3_000_000_000, fn=10, fp=5, tn=45)
    with pytest.raises(ValueError, match=r"data: .*2147483647"):
        exact(billions, "rates", draws=10)


# ── Compiled once ──


def other_data(data):
    """Return data of the same shape, with other values and labels."""
    if isinstance(data, bp.ConfusionMatrix):
        counts = data.counts + np.arange(data.counts.size).reshape(data.counts.shape)
        names = {dim: [f"other {label}" for label in counts[dim].values] for dim in data.dims}
        return bp.ConfusionMatrix(counts.assign_coords(names), data.pos_label)
    if isinstance(data, bp.PairedConfusionMatrix):
        return bp.PairedConfusionMatrix.from_predictions([0, 1, 1], [1, 1, 0], [0, 1, 1])
    if isinstance(data, tuple):
        return data[1], data[0]
    return data * 2 + 0.01 * np.arange(data.size).reshape(data.shape)


@pytest.mark.parametrize("case", CASES)
def test_models_of_other_data_share_a_compilation(case):
    model, data, options = CASES[case]
    known = _compiled.structure(built(model, data, options))
    assert hash(known) == hash(_compiled.structure(built(model, data, options)))
    if "covariates" in options:
        changed = other_data(data)
        covariates = (options["covariates"] * 3).assign_coords(site=changed.counts["site"].values)
        options = {**options, "covariates": covariates}
    assert _compiled.structure(built(model, other_data(data), options)) == known


def test_bounded_priors_share_a_compilation():
    """Their transforms are made anew with every model."""
    one, same, other = (
        _compiled.structure(built("rates", SYSTEMS, priors={"recall": pm.Uniform.dist(0.5, upper)}))
        for upper in (0.9, 0.9, 0.8)
    )
    assert one == same
    assert hash(one) == hash(same)
    assert one != other


def test_models_of_other_structure_do_not():
    structures = {case: _compiled.structure(built(*CASES[case])) for case in CASES}
    more = {
        "another shape": built("groups", SITES.isel(site=[0, 1])),
        "another prior": built("groups", SITES, None, {"dispersion": pm.Beta.dist(1, 25)}),
        "another kind of prior": built("groups", SITES, None, {"dispersion": pm.Uniform.dist(0, 1)}),
        "two repeats": built("groups", SIX_SITES, {"repeats": 2}),
        "three repeats": built("groups", SIX_SITES, {"repeats": 3}),
        "another LKJ": built("groups_logit", SITES, {"lkj": 3.0}),
        "the other label": built("rates", bp.ConfusionMatrix(SYSTEMS.counts, "yes")),
        "another dim": built("rates", bp.ConfusionMatrix(SYSTEMS.counts.rename(model="system"), "no")),
        "other folds": built("datasets", SCORES.isel(fold=slice(5))),
        "another share": built("datasets", SCORES, {"test_fraction": 0.3}),
    }
    for scale in (1.0, 2.0):  # a constant that is shared, one that is the model's own, one of a transform
        with pm.Model() as more[f"shared {scale}"]:
            pm.Normal("x", 0, pytensor.shared(np.array(scale), name="scale"))
        with pm.Model() as more[f"own {scale}"]:
            pm.Normal("x", 0, scale)
        with pm.Model() as more[f"transform {scale}"]:
            pm.Normal("x", 0, 1, default_transform=pm.distributions.transforms.Interval(0, scale))
    structures |= {name: _compiled.structure(model) for name, model in more.items()}
    assert len(set(structures.values())) == len(structures)


@pytest.mark.parametrize("case", ["groups", "groups_logit", "markov, varying", "datasets"])
def test_labels_are_of_the_data_not_of_the_compilation(case, sampler):
    """nutpie's compiled model has the labels it was compiled with."""
    model, data, options = CASES[case]
    if "by" in options:
        options = {**options, "by": {"video": np.char.add(VIDEO, " again")}}
    else:
        data = other_data(data) if model != "datasets" else data.assign_coords(dataset=list("efgh"))
    fitted(case, draws=20)
    tree = bp.fit(data, model, options=options, draws=20, random_seed=1)
    assert len(_compiled._compiled) == 1
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


@pytest.mark.parametrize("names", [["B", "A"], ["B", "C"], ["C", "D"]])
def test_systems_of_a_second_fit_are_not_taken_for_those_of_the_first(names, sampler):
    """What follows the sampling goes by the labels of these data, in another order or others altogether."""
    counts = xr.concat([SITES.counts, SITES.counts[:, ::-1, ::-1] + 3], "model", join="override")
    first = bp.ConfusionMatrix(counts.assign_coords(model=["A", "B"]), "yes")
    second = bp.ConfusionMatrix(counts.isel(model=[1, 0]).assign_coords(model=names), "yes")
    for cm in (first, second):
        tree = bp.fit(cm, "groups", options={"dim": "site"}, draws=20, random_seed=1)
    assert len(_compiled._compiled) == 1
    units, posterior = tree["log_likelihood"]["counts"], tree["posterior"]
    assert units["model"].values.tolist() == posterior["model"].values.tolist() == names
    kappa = 1 / posterior["dispersion"] - 1
    for name, site in ((name, site) for name in names for site in (2, 3, 5)):
        table = second.counts.sel(model=name, site=site).values
        a = (kappa * posterior["rates"]).sel(model=name).transpose("chain", "draw", "actual", "predicted").values
        expected = sum(stats.dirichlet_multinomial.logpmf(table[i], a[:, :, i], table[i].sum()) for i in (0, 1))
        np.testing.assert_allclose(units.sel(model=name, site=site), expected, rtol=1e-6)


def test_compilations_are_kept_and_given_the_data(monkeypatch):
    compilations = []

    def compile_model(model):
        compilations.append(model)
        return Compiled(model)

    monkeypatch.setattr("nutpie.compile_pymc_model", compile_model)
    monkeypatch.setattr(_compiled, "_compiled", OrderedDict())
    first = _compiled.compiled(built("rates", SYSTEMS))
    second = _compiled.compiled(built("rates", other_data(SYSTEMS)))
    assert len(compilations) == 1
    assert first.data["true_positives_data"].tolist() == [20, 7]
    assert second.data["true_positives_data"].tolist() == [20, 11]
    for n in range(2, 40):
        _compiled.compiled(built("multinomial", table([[[n, 1], [2, 3]]] * n, model=list(range(n)))))
    assert len(compilations) == 39
    assert len(_compiled._compiled) == _compiled._KEPT
    _compiled.compiled(built("multinomial", table([[[1, 1], [2, 3]]] * 39, model=list(range(39)))))
    assert len(compilations) == 39
    _compiled.compiled(built("rates", SYSTEMS))
    assert len(compilations) == 40


# ── The sampler's settings and warnings ──


def test_settings_of_the_sampler(sampler, alone):
    fitted("rates", draws=40, chains=4, tune=150)
    expected = {"draws": 40, "chains": 4, "tune": 150, "target_accept": 0.95, "progress_bar": False}
    assert expected.items() <= sampler[-1].items()
    fitted("rates", target_accept=0.99, cores=1)
    assert {"target_accept": 0.99, "cores": 1}.items() <= sampler[-1].items()
    seed = sampler[-1]["seed"]
    fitted("rates", random_seed=2)
    assert sampler[-1]["seed"] != seed
    fitted("rates", random_seed=1)
    assert sampler[-1]["seed"] == seed


ADVICE = "Raise tune and target_accept (0.99), or take a more informative prior."


def draws_of_rates(n=1000):
    rng = np.random.default_rng(4)
    return {
        "prevalence": rng.beta(52, 52, (4, n)),
        "recall": rng.beta(41, 11, (4, n)),
        "specificity": rng.beta(46, 6, (4, n)),
    }


def slowly(rng, shape, lag):
    """Return a standard normal sequence a chain, correlated over so many draws."""
    phi, x = np.exp(-1 / lag), np.empty(shape)
    x[:, 0] = rng.standard_normal(shape[0])
    for t in range(1, shape[1]):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1 - phi**2) * rng.standard_normal(shape[0])
    return x


def groups_of(draws, diverging=0):
    """Return what a sampler does, of these draws of the rates."""
    shape = draws["recall"].shape
    flags = (np.arange(np.prod(shape)) < diverging).reshape(shape)
    posterior = xr.Dataset({name: (("chain", "draw"), value) for name, value in draws.items()})
    return {"posterior": posterior, "sample_stats": xr.Dataset({"diverging": (("chain", "draw"), flags)})}


def warned(call):
    """Return the convergence warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [warning for warning in caught if warning.category is bp.ConvergenceWarning]


@functools.cache
def three_rates():
    return built("rates", BINARY)


def messages(draws, diverging=0):
    """Return what is said of these draws."""
    return [str(warning.message) for warning in warned(lambda: _nuts.warn(groups_of(draws, diverging), three_rates()))]


def test_a_fit_warns_where_it_was_called(monkeypatch, alone):
    draws = draws_of_rates(200)
    groups = groups_of(draws, diverging=3)
    p, r, s = (draws[name] for name in ("prevalence", "recall", "specificity"))
    cells = np.stack([(1 - p) * s, (1 - p) * (1 - s), p * (1 - r), p * r], -1).reshape(*p.shape, 2, 2)
    groups["posterior"]["cells"] = ("chain", "draw", "actual", "predicted"), cells
    monkeypatch.setattr("nutpie.compile_pymc_model", Compiled)
    monkeypatch.setattr("nutpie.sample", lambda *_, **__: xr.DataTree.from_dict(groups))
    monkeypatch.setattr(_compiled, "_compiled", OrderedDict())
    found = warned(lambda: bp.fit(BINARY, "rates", random_seed=1))
    assert [str(warning.message) for warning in found] == [
        f"3 transitions diverged: the draws leave out part of the posterior. {ADVICE}"
    ]
    assert found[0].filename == __file__


def test_good_draws_are_no_cause_for_a_warning():
    assert messages(draws_of_rates()) == []


@pytest.mark.parametrize("worst", ["recall", "specificity"])
def test_chains_that_disagree(worst):
    draws = draws_of_rates()
    draws["prevalence"][0] += 0.05
    draws[worst][2] -= 0.2
    value = array_stats.rhat(draws[worst], chain_axis=0, draw_axis=1)
    assert value > 1.01
    assert messages(draws)[0] == f"R̂ of {worst} is {value:.3f} (more than 1.01): the chains disagree. {ADVICE}"


def test_a_single_chain_has_none_to_disagree_with():
    draws = {name: values.reshape(1, -1) for name, values in draws_of_rates().items()}
    assert not [text for text in messages(draws) if "disagree" in text]


def test_chains_that_are_stuck():
    draws = draws_of_rates()
    draws["recall"][:] = np.array([[0.5], [0.6], [0.7], [0.8]])
    assert messages(draws)[0].startswith("R̂ of recall is ")


@pytest.mark.parametrize("worst", ["recall", "prevalence"])
@pytest.mark.parametrize("kind", ["bulk", "tail"])
def test_few_effective_draws(worst, kind):
    rng = np.random.default_rng(6)
    draws = draws_of_rates(2000)
    if kind == "bulk":
        z = slowly(rng, (4, 2000), 20)
    else:  # tails come in runs, and the middle does not
        z = rng.standard_normal((4, 2000)) * np.exp(1.5 * slowly(rng, (4, 2000), 100))
    draws[worst] = special.expit(0.5 * z)
    labelled = xr.DataArray(draws[worst], dims=("chain", "draw"))
    n, other = (labelled.azstats.ess(method=name).item() for name in (kind, "bulk"))
    assert n < 400
    assert kind == "bulk" or other > 400
    assert messages(draws)[-1] == (
        f"The effective sample size ({kind}) of {worst} is {n:.0f} (less than 400): its figures are rough. Raise draws."
    )


def test_everything_wrong_at_once():
    draws = draws_of_rates()
    draws["recall"] = special.expit(slowly(np.random.default_rng(1), (4, 1000), 300))
    assert [message.split()[0] for message in messages(draws, diverging=1)] == ["1", "R̂", "The"]


# ── Sampled: groups ──

FOLDS = bp.ConfusionMatrix.from_frame(
    bp.datasets.load("breast_cancer"),
    actual="actual",
    predicted="predicted",
    by=["model", "fold"],
    pos_label="malignant",
)


@pytest.fixture(scope="session")
def groups_fit():
    """Three models × ten folds. Compiling it for the first time takes two minutes."""
    return bp.fit(FOLDS, "groups", options={"dim": "fold"}, random_seed=1, progressbar=False)


def pooled(cm, groups="random", draws=100_000, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.PriorWarning)
        return bp.pool(cm, cm.dims[-1], groups, draws=draws, **settings)


def agrees_with_quadrature(tree, cm, groups="random", metrics=("recall", "specificity", "precision", "f1")):
    draws = 100_000
    pool = pooled(cm, groups, draws)
    posterior = tree["posterior"]
    assert tree["sample_stats"]["diverging"].sum() == 0
    for name in metrics:
        agrees(posterior[name], of_marginal(pool.mean[name], draws))
        agrees(posterior[f"{name}_new"], of_marginal(pool.new_group[name], draws))
        agrees(posterior[f"{name}_group"], of_marginal(pool.groups[name], draws))
    agrees(posterior["dispersion"], of_marginal(pool.dispersion))


@pytest.mark.slow
def test_groups_agree_with_quadrature(groups_fit):
    agrees_with_quadrature(groups_fit, FOLDS)


@pytest.mark.slow
def test_groups_in_arviz(groups_fit, tmp_path):
    summary = az.summary(groups_fit, var_names=["recall", "recall_new"])
    assert summary.shape[0] == 6
    assert (summary["r_hat"].astype(float) <= 1.01).all()
    figure = az.plot_forest(groups_fit, var_names=["recall"]).viz["figure"].item()
    assert "recall" in {text.get_text() for text in figure.findobj(mpl.text.Text)}
    mpl.pyplot.close("all")
    found = az.loo(groups_fit)
    assert found.n_data_points == 30
    assert found.pareto_k is None or (found.pareto_k < 0.7).all()
    assert len(az.compare({"one": groups_fit, "again": groups_fit})) == 2
    shown = bp.Posterior.from_datatree(groups_fit).summary(["recall"])
    np.testing.assert_allclose(shown["mean"], groups_fit["posterior"]["recall"].mean(["chain", "draw"]))
    assert shown["model"].tolist() == ["decision_tree", "logistic_regression", "naive_bayes"]
    assert (shown["mcse"] > 0).all()
    groups_fit.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    assert groups_fit["posterior"].attrs["sampler"] == "nutpie"


@pytest.mark.slow
def test_a_second_fit_of_groups_is_not_compiled_again(groups_fit, monkeypatch):
    import nutpie

    compilations = []
    monkeypatch.setattr(nutpie, "compile_pymc_model", lambda *_, **__: compilations.append(1))
    counts = (FOLDS.counts * 2).assign_coords(model=["x", "y", "z"], fold=np.arange(10) + 100)
    doubled = bp.ConfusionMatrix(counts, "malignant")
    tree = bp.fit(doubled, "groups", options={"dim": "fold"}, random_seed=2, draws=500, progressbar=False)
    assert not compilations
    assert tree["posterior"]["model"].values.tolist() == ["x", "y", "z"]
    assert tree["posterior"]["recall_group"]["fold"].values.tolist() == counts["fold"].values.tolist()
    agrees_with_quadrature(tree, doubled, metrics=["recall"])
    differs(tree["posterior"]["recall"], of_marginal(pooled(FOLDS).mean["recall"], 100_000))


# ── Sampled: rates ──

PRECISE = {"specificity": pm.Beta.dist(9, 1)}


@pytest.fixture(scope="session")
def rates_fit():
    return bp.fit(BINARY, "rates", PRECISE, random_seed=1, progressbar=False)


def test_rates_agree_with_the_closed_form(rates_fit):
    posterior = rates_fit["posterior"]
    agrees(posterior["prevalence"], of_scipy(stats.beta(52, 52)))
    agrees(posterior["recall"], of_scipy(stats.beta(41, 11)))
    agrees(posterior["specificity"], of_scipy(stats.beta(54, 6)))
    assert rates_fit["sample_stats"]["diverging"].sum() == 0
    assert not any("message" in name for name in rates_fit["sample_stats"])
    differs(posterior["specificity"], of_scipy(stats.beta(46, 6)))
    for package in ("nutpie", "pymc"):
        assert version(package) in posterior.attrs.values()
    loo = az.loo(rates_fit)
    assert loo.n_data_points == 100
    ranked = az.compare({"precise": rates_fit, "flat": exact(BINARY, "rates")})
    assert set(ranked.index) == {"precise", "flat"}


def test_rates_in_arviz(rates_fit, tmp_path):
    summary = az.summary(rates_fit, var_names=["recall", "f1"])
    assert (summary["r_hat"].astype(float) <= 1.01).all()
    figure = az.plot_forest(rates_fit, var_names=["recall"]).viz["figure"].item()
    assert "recall" in {text.get_text() for text in figure.findobj(mpl.text.Text)}
    mpl.pyplot.close("all")
    shown = bp.Posterior.from_datatree(rates_fit).summary(["recall"])
    np.testing.assert_allclose(shown["mean"], rates_fit["posterior"]["recall"].mean().item())
    assert (shown["mcse"] > 0).all()
    rates_fit.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    assert rates_fit["posterior"].attrs["sampler"] == "nutpie"


def test_a_second_fit_is_not_compiled_again(rates_fit, monkeypatch):
    monkeypatch.setattr("nutpie.compile_pymc_model", None)
    tree = bp.fit(bp.ConfusionMatrix.from_counts(tp=8, fn=2, fp=30, tn=60), "rates", PRECISE, random_seed=2,
                  progressbar=False)  # fmt: skip
    agrees(tree["posterior"]["recall"], of_scipy(stats.beta(9, 3)))
    agrees(tree["posterior"]["specificity"], of_scipy(stats.beta(69, 31)))
    differs(rates_fit["posterior"]["recall"], of_scipy(stats.beta(9, 3)))


def test_the_seed_is_the_samplers(rates_fit):
    again = bp.fit(BINARY, "rates", PRECISE, random_seed=1, progressbar=False)
    for group in ("posterior", "prior", "posterior_predictive", "sample_stats"):
        found, known = (tree[group].to_dataset().drop_attrs() for tree in (again, rates_fit))
        xr.testing.assert_identical(found, known)
    other = bp.fit(BINARY, "rates", PRECISE, random_seed=2, progressbar=False)
    assert not other["posterior"]["recall"].equals(rates_fit["posterior"]["recall"])
    agrees(other["posterior"]["recall"], of_scipy(stats.beta(41, 11)))


# ── Sampled: slow ──


def sampled(data, model, priors=None, **settings):
    tree = bp.fit(data, model, priors, random_seed=1, progressbar=False, **settings)
    assert tree["sample_stats"]["diverging"].sum() == 0
    return tree


SMALL, LARGE = [[3, 0], [1, 2]], [[20_000, 800], [1_500, 40_000]]


@pytest.mark.slow
@pytest.mark.parametrize("counts", [SMALL, LARGE, np.zeros((2, 2), int)], ids=["small", "large", "none"])
@pytest.mark.parametrize("model", ["multinomial", "rates"])
def test_mcmc_of_a_table(model, counts):
    tree = sampled(table(counts), model)
    post = bp.posterior(table(counts), "flat")
    for name in ("accuracy", "precision", "recall", "specificity", "f1"):
        agrees(tree["posterior"][name], of_marginal(post[name]))


@pytest.mark.slow
def test_mcmc_of_several_tables_of_three_classes():
    cm = table([[[9, 1, 0], [2, 7, 3], [0, 0, 0]], [[0, 0, 0], [0, 400, 20], [1, 0, 600]]], model=["A", "B"])
    names = ["accuracy", "precision_per_class"]
    tree = sampled(cm, "multinomial", {"shares": pm.Dirichlet.dist(np.full(9, 0.5))}, metrics=names)
    for name in names:
        agrees(tree["posterior"][name], of_marginal(bp.posterior(cm, "jeffreys")[name]))


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, 20_000])
def test_mcmc_of_a_chain(n):
    frames = bp.sequences.simulate(n, persistence=0.9, random_seed=3)
    g, z = frames["actual"].to_numpy(), frames["predicted"].to_numpy()
    if n == 12:  # actual 1 from prediction 0, and 0 from 1, never occur
        g, z = np.repeat([0, 1, 0], [3, 5, 4]), np.repeat([0, 1, 0], [2, 6, 4])
    tree = sampled((g, z), "markov")
    same = exact((g, z), "markov", draws=20_000)
    for name in ("recall", "precision", "stay", "predict_second"):
        drawn = same["posterior"][name].stack(sample=("chain", "draw"))
        reference = SimpleNamespace(
            mean=drawn.mean("sample"), sd=drawn.std("sample").values, draws=80_000,
            quantiles=drawn.quantile(LEVELS, "sample").transpose(..., "quantile").values,
        )  # fmt: skip
        agrees(tree["posterior"][name], reference)


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, 5_000])
def test_mcmc_of_two_systems_on_the_same_examples(n):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, n)
    a, b = (np.where(rng.random(n) < share, y, 1 - y) for share in (0.9, 0.8))
    paired = bp.PairedConfusionMatrix.from_predictions(y, a, b, labels=[0, 1])
    tree = sampled(paired, "paired")
    post = bp.posterior(paired.margins(), "flat")
    for name in ("accuracy", "recall", "precision"):
        agrees(tree["posterior"][name], of_marginal(post[name]))
    difference = tree["posterior"]["accuracy"].isel(model=0) - tree["posterior"]["accuracy"].isel(model=1)
    first = ((a == y) & (b != y)).sum() + 1
    second = ((a != y) & (b == y)).sum() + 1
    total = n + 4
    sd = np.sqrt((first + second - (first - second) ** 2 / total) / total / (total + 1))
    assert difference.mean().item() == pytest.approx((first - second) / total, abs=5 * error(difference.values))
    square = (difference.values - (first - second) / total) ** 2
    assert square.mean() == pytest.approx(sd**2, abs=5 * error(square))


def folds(right, negatives=20):
    """Return folds of 20 positives each (or as many as given) and as many negatives, nearly all right."""
    right = np.array(right)
    positives, tp = (np.full(len(right), 20), right) if right.ndim == 1 else right.T  # else of so many, so many
    wrong = np.arange(len(tp)) % 2
    cells = np.stack([negatives - wrong, wrong, positives - tp, tp], -1).reshape(-1, 2, 2)
    return table(cells, fold=list(range(len(tp))))


EDGES = {
    "all right": table([[[20, 0], [0, 20]]] * 5, fold=list(range(5))),
    "all right, many": table([[[1000, 0], [0, 1000]]] * 5, fold=list(range(5))),
    "all wrong": table([[[0, 20], [20, 0]]] * 5, fold=list(range(5))),
    "nothing": table([[[0, 0], [0, 0]]] * 5, fold=list(range(5))),
    "a fold without positives": folds([[10, 9], [10, 10], [0, 0], [10, 7], [10, 10]]),
    "one fold": folds([15]),
    "no positives": folds([[0, 0]] * 5),
    "very different": folds([20, 2, 19, 1, 10]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("edge", EDGES)
def test_groups_at_the_edges(edge):
    tree = bp.fit(EDGES[edge], "groups", random_seed=1, progressbar=False)
    agrees_with_quadrature(tree, EDGES[edge], metrics=["recall", "specificity"])


@pytest.mark.slow
def test_clusters_agree_with_quadrature():
    cm = folds([20, 12, 19, 9, 16])
    tree = sampled(cm, "groups", options={"groups": "clusters"})
    agrees_with_quadrature(tree, cm, "clusters")


@pytest.mark.slow
def test_repeated_folds_agree_with_quadrature():
    cm = folds([18, 17, 18, 19, 18, 19, 17, 18, 18, 18])
    tree = sampled(cm, "groups", options={"repeats": 2})
    pool = pooled(cm, repeats=2)
    for name in ("recall", "specificity", "precision"):
        agrees(tree["posterior"][name], of_marginal(pool.mean[name], 100_000))
    agrees(tree["posterior"]["dispersion"], of_marginal(pool.dispersion))


@pytest.mark.slow
def test_groups_of_a_class_never_seen():
    cm = table(
        [[[9, 1, 0], [2, 7, 0], [0, 0, 0]], [[5, 5, 0], [0, 8, 1], [0, 0, 0]]] * 2, list("abc"), fold=list(range(4))
    )
    posterior = sampled(cm, "groups")["posterior"]
    # Of a class never seen there is the prior.
    unseen = posterior["rates"].sel(actual="c")
    agrees(unseen, of_scipy(stats.beta([2 / 3] * 3, 4 / 3), "predicted"))
    agrees(posterior["dispersion"].sel(actual="c"), of_scipy(stats.beta(1, 24)))
    agrees(posterior["prevalence"], of_scipy(stats.beta([42, 38, 2], [40, 44, 80]), "actual"))


@pytest.mark.slow
@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_golden_folds(case):
    successes, n = (np.array(case["inputs"][name]) for name in ("successes", "n"))
    kind = "clusters" if "Beta(1,9)" in case["inputs"]["model"] else "random"
    cm = table(np.stack([n, 0 * n, n - successes, successes], -1).reshape(-1, 2, 2), fold=list(range(len(n))))
    posterior = sampled(cm, "groups", options={"groups": kind}, draws=2000)["posterior"]
    recall = posterior["rates"].sel(actual=1, predicted=1)
    expected = case["outputs"]
    values = recall.values
    assert values.mean() == pytest.approx(expected["p_mean"], abs=5 * error(values))
    square = (values - expected["p_mean"]) ** 2
    assert square.mean() == pytest.approx(expected["p_sd"] ** 2, abs=5 * error(square))
    for level, bound in zip((0.025, 0.975), expected["p_ci95"], strict=True):
        assert (values <= bound).mean() == pytest.approx(level, abs=5 * error(values <= bound))
    rho = posterior["dispersion"].sel(actual=1).values
    assert rho.mean() == pytest.approx(expected["rho_mean"], abs=5 * error(rho))


# Of another implementation of the model of data sets, under the source's priors: means over its five seeds, and the
# standard deviation of one. Differences of scores (data set, fold) in units of 1e-4; a rope of 0.01.
HIERARCHICAL = {
    "differences": [
        [32, 346, 141, 284, 386, 296, 448, 92, 337, 173],
        [9, 53, 93, 149, -34, 275, 210, -91, 363, 425],
        [375, 170, 37, 356, 137, 381, 230, 344, 252, 304],
        [326, 592, 343, 384, 607, 122, 133, 470, 148, 616],
        [225, 175, 575, 509, 567, 423, 157, 573, 247, 407],
        [145, -20, 95, 141, 58, -163, 47, 201, -101, -21],
    ],
    "average": (0.0235936, 6.8e-05), "sd": (0.0079261, 1.3e-4), "spread": (0.0129607, 1.3e-4), "nu": (25.482, 0.30),
    "next": [(0.0416277, 0.0010), (0.1398751, 0.0019), (0.8184972, 0.0027)],
    "outside": [(0.0019625, 0.0006), (0.961625, 0.0018)],
}  # fmt: skip


class LearntTail:
    """The source's: Gamma(a, b) with uniform a and b."""

    def create_variable(self, name):
        return pm.Gamma(name, pm.Uniform(f"{name}_a", 1, 2), pm.Uniform(f"{name}_b", 0.01, 0.1))


@pytest.mark.slow
def test_golden_data_sets():
    expected = HIERARCHICAL
    d = np.array(expected["differences"]) / 1e4
    coords = {"dataset": [f"d{i}" for i in range(len(d))], "model": ["one", "other"]}
    scores = xr.DataArray(np.stack([d, 0 * d], 1), coords, ("dataset", "model", "fold"))
    unit = np.std(d, axis=1, ddof=1).mean()
    priors = {
        "center": pm.Uniform.dist(-abs(d).max() / unit, abs(d).max() / unit),
        "spread": pm.Uniform.dist(0, 1000 * np.std(d.mean(1), ddof=1) / unit),
        "noise": pm.Uniform.dist(0, 1000),
        "tail": LearntTail(),
    }
    posterior = sampled(scores, "datasets", priors, draws=4000, tune=2000, target_accept=0.99)["posterior"]

    def close(values, figure):
        mean, sd = figure
        assert np.mean(values) == pytest.approx(mean, abs=5 * np.hypot(error(values), sd / np.sqrt(5)))

    average, following = posterior["average"].values, posterior["next_difference"].values
    close(average, expected["average"])
    sd, seeds = expected["sd"]
    close((average - expected["average"][0]) ** 2, (sd**2, 2 * sd * seeds))
    regions = [following < -0.01, abs(following) <= 0.01, following > 0.01]
    for values, figure in zip(regions, expected["next"], strict=True):
        close(values, figure)
    for values, figure in zip([average < -0.01, average > 0.01], expected["outside"], strict=True):
        close(values, figure)
    # Medians: half of the draws are below, but for what the other's error is worth in probability.
    for values, (median, seeds) in ((posterior["spread_of_datasets"].values, expected["spread"]),
                                    (1 + posterior["tail"].values, expected["nu"])):  # fmt: skip
        below, near = values <= median, abs(values - median) <= 5 * seeds / np.sqrt(5)
        assert below.mean() == pytest.approx(0.5, abs=5 * error(below) + near.mean())


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.002, 0.05])
def test_many_data_sets_sample_well(spread):
    """Of differences that are small beside those of folds, and large: a warning of the sampler would be raised."""
    rng = np.random.default_rng(0)
    population = 0.01 + spread * rng.standard_t(3, 54)
    noise = 0.02 * (np.sqrt(0.9) * rng.standard_normal((54, 10)) + np.sqrt(0.1) * rng.standard_normal((54, 1)))
    scores = xr.DataArray(
        np.stack([0.8 + population[:, None] + noise, np.full((54, 10), 0.8)], 1),
        {"dataset": np.arange(54), "model": ["one", "other"]}, ("dataset", "model", "fold"),
    )  # fmt: skip
    posterior = sampled(scores, "datasets")["posterior"]
    assert array_stats.ess(posterior["spread"].values) > 800
    below = (posterior["difference"] < xr.DataArray(population, dims="dataset")).mean(("chain", "draw"))
    # Fewer than 45 of 54 intervals of 95 % hold the truth three times in ten thousand.
    assert (abs(below - 0.5) < 0.475).sum() >= 45


@pytest.mark.slow
def test_the_units_of_scores_are_theirs_and_compiled_once():
    """Percentages are shares times a hundred, and a second fit takes the compilation of the first."""
    shares = sampled(SCORES, "datasets")["posterior"]
    percent = sampled(SCORES * 100, "datasets")["posterior"]
    for name in ("average", "spread_of_datasets", "difference", "next_difference"):
        np.testing.assert_allclose(percent[name].std(), 100 * shares[name].std(), rtol=0.5)
    mean = [float(d["average"].mean()) for d in (shares, percent)]
    errors = [error(d["average"]) for d in (shares, percent)]
    assert 100 * mean[0] == pytest.approx(mean[1], abs=5 * np.hypot(100 * errors[0], errors[1]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", ["groups_logit", "groups_logit, LKJ", "groups_logit, covariates", "markov, varying", "datasets"]
)
def test_models_without_a_closed_form_sample_well(case):
    model, data, options = CASES[case]
    tree = sampled(data, model, options=options)
    assert {"posterior", "log_likelihood", "sample_stats"} <= set(tree.children)


def logit_reference(successes, trials, scale):
    """Return E[p], E[p²], E[τ] and P(τ ≤ median of the prior), by a grid over μ and τ and Gauss–Hermite over groups."""
    mu, tau = np.linspace(-9, 9, 361)[:, None], (np.arange(300) + 0.5) / 300 * 5 * scale
    node, weight = np.polynomial.hermite_e.hermegauss(61)
    rate = special.expit(mu[..., None] + tau[:, None] * node)
    log_posterior = stats.logistic.logpdf(mu) + stats.halfnorm.logpdf(tau, scale=scale)
    for k, n in zip(successes, trials, strict=True):
        likelihood = (stats.binom.pmf(k, n, rate) * weight).sum(-1)
        with np.errstate(divide="ignore"):
            log_posterior = log_posterior + np.log(likelihood)
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    mean = (rate * weight).sum(-1) / weight.sum()
    return (posterior * mean).sum(), (posterior * mean**2).sum(), (posterior * tau).sum()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "clusters"])
def test_logit_groups_agree_with_a_grid(kind):
    cm = folds([20, 12, 19, 9, 16])
    posterior = sampled(cm, "groups_logit", options={"groups": kind}, draws=2000)["posterior"]
    scale = {"random": 0.5, "clusters": 1.0}[kind]
    cells = cm.counts.values
    for i, rate in ((1, "recall"), (0, "specificity")):
        mean, square, spread = logit_reference(cells[:, i, i], cells[:, i].sum(-1), scale)
        drawn, tau = posterior["rates"].sel(rate=rate).values, posterior["spread"].sel(rate=rate).values
        assert drawn.mean() == pytest.approx(mean, abs=5 * error(drawn))
        assert (drawn**2).mean() == pytest.approx(square, abs=5 * error(drawn**2))
        assert tau.mean() == pytest.approx(spread, abs=5 * error(tau) + 1e-4)
        name = posterior[rate]
        np.testing.assert_allclose(name, drawn, rtol=1e-9)


@pytest.mark.slow
def test_another_sampler():
    tree = bp.fit(BINARY, "rates", random_seed=1, nuts_sampler="pymc", progressbar=False, cores=1)
    attrs = tree["posterior"].attrs
    assert (attrs["sampler"], attrs["sampler_version"]) == ("pymc", version("pymc"))
    assert tree["sample_stats"]["diverging"].sum() == 0
    agrees(tree["posterior"]["recall"], of_scipy(stats.beta(41, 11)))
    again = bp.fit(BINARY, "rates", random_seed=1, nuts_sampler="pymc", progressbar=False, cores=1)
    assert again["posterior"]["recall"].equals(tree["posterior"]["recall"])


@pytest.mark.slow
def test_a_sampled_model_of_ones_own():
    tree = bp.fit(SYSTEMS, shared_recall, {"recall": (9, 2)}, random_seed=2, progressbar=False)
    assert az.loo(tree, var_name="hits").n_data_points == 2
    agrees(tree["posterior"]["recall"], of_scipy(stats.beta(36, 6)))
