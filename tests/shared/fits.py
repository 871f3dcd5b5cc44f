"""Fits that the tests of several files look at, and how draws are held to a reference."""

from collections import OrderedDict
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from arviz_stats.base import array_stats

import bayesperf as bp
from bayesperf.sampling.backend import CompiledModel, compilation_key
from bayesperf.sampling.fitting import built_model
from bayesperf.sampling.forward import prior_draws
from bayesperf.sampling.model_data import prepared
from tests.shared.counts import pair_of

LEVELS = np.array([0.025, 0.25, 0.5, 0.75, 0.975])


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
PAIRED = pair_of(RNG.integers(0, 2, 60), RNG.integers(0, 2, 60), RNG.integers(0, 2, 60), names=("new", "old"))
SCORES = xr.DataArray(
    RNG.normal(0.8, 0.03, (4, 2, 6)).round(3),
    {"dataset": list("abcd"), "model": ["one", "other"]}, ("dataset", "model", "fold"),
)  # fmt: skip
YEAR = xr.DataArray([[-1.0], [0.5], [2.0]], {"site": [2, 3, 5], "covariate": ["year"]}, ("site", "covariate"))

CALLS = xr.DataArray(
    [[30, 12], [25, 5]], {"month": ["May", "June"], "predicted": BINARY.labels}, ("month", "predicted")
)

# One case a way of building a model: model, data, options.
CASES = {
    "multinomial": ("multinomial", SYSTEMS, {}),
    "multinomial of three classes": ("multinomial", THREE, {}),
    "rates": ("rates", SYSTEMS, {}),
    "rates by actual": ("rates", SYSTEMS, {"design": "by_actual"}),
    "classes, three": ("classes", THREE, {}),
    "groups": ("groups", SITES, {}),
    "groups, clusters": ("groups", SITES, {"groups": "clusters"}),
    "groups by actual": ("groups", SITES, {"design": "by_actual"}),
    "groups of three classes": ("groups", THREE_SITES, {}),
    "groups, repeated": ("groups", SITES, {"repeats": 3}),
    "groups_logit": ("groups_logit", SITES, {}),
    "groups_logit, LKJ": ("groups_logit", SITES, {"lkj": 2.0}),
    "groups_logit, covariates": ("groups_logit", SITES, {"covariates": YEAR}),
    "meta_analysis": ("meta_analysis", SITES, {}),
    "meta_analysis, covariates": ("meta_analysis", SITES, {"covariates": YEAR}),
    "prevalence": ("prevalence", BINARY, {"calls": CALLS.isel(month=0, drop=True)}),
    "prevalence, pooled": ("prevalence", BINARY, {"calls": CALLS, "pooled": True}),
    "slices": ("slices", SITES, {}),
    "markov": ("markov", (Y_TRUE, Y_PRED), {"by": {"video": VIDEO}}),
    "markov, varying": ("markov", (Y_TRUE, Y_PRED), {"by": {"video": VIDEO}, "sequences": "varying"}),
    "paired": ("paired", PAIRED, {}),
    "datasets": ("datasets", SCORES, {}),
}
# The fullest form of each; the same checks of the others are slow.
ONE_OF_EACH_MODEL = (
    "multinomial", "rates", "classes, three", "groups of three classes", "groups, repeated", "groups_logit, covariates",
    "meta_analysis, covariates", "prevalence, pooled", "slices", "markov, varying", "paired", "datasets",
    "binormal_roc",
)  # fmt: skip


def slow(case):
    return pytest.param(case, marks=pytest.mark.slow)


def exact(data, model="multinomial", priors=None, **settings):
    return bp.fit(data, model, priors, method="exact", **{"random_seed": 1, **settings})


def built(model, data, options=None, priors=None):
    counts, options = prepared(data, model, options)
    return built_model(model, counts, priors, options)


def built_with_key(model, data, options=None, priors=None):
    """Return a model, and the key under which its compiled form is kept."""
    counts, options = prepared(data, model, options)
    made = built_model(model, counts, priors, options)
    return made, compilation_key(model, made, counts, options, priors)


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
            if name == "variance":  # Where draws miss a tail, their own spread misses it as well.
                scale *= max(1, figure / np.mean(values))
            assert scale > 0, (draws.name, i, name)
            assert np.mean(values) == pytest.approx(figure, abs=5 * scale), (draws.name, i, name)


def differs(draws, reference):
    with pytest.raises(AssertionError):
        agrees(draws, reference)


# ── Other draws in place of a sampler's ──


@dataclass(frozen=True, eq=False)
class Compiled(CompiledModel):
    """A compiled model that only remembers what it is of."""

    model: pm.Model

    @classmethod
    def of(cls, model):
        data = {variable.name: variable.get_value() for variable in model.data_vars}
        return cls(density=None, before=None, variables=None, dims={}, start=np.empty(0), data=data, model=model)


def without_nuts(monkeypatch, sample, compile_model=Compiled.of):
    """Let functions take the place of NUTS, (compiled, settings, seed, progressbar) -> groups, and of the compiler."""
    monkeypatch.setattr("bayesperf.sampling.backend._compile", compile_model)
    monkeypatch.setattr("bayesperf.sampling.backend.sample_compiled", sample)
    monkeypatch.setattr("bayesperf.sampling.backend._kept", OrderedDict())


def groups_of_prior(model, chains, draws, seed):
    """Return what a sampler does, of draws of the prior."""
    prior = prior_draws(model, chains * draws, seed)["prior"]
    posterior = {
        name: (("chain", *drawn.dims[1:]), drawn.values.reshape(chains, draws, *drawn.shape[2:]))
        for name, drawn in prior.items()
    }
    flags = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((chains, draws), bool))})
    return {"posterior": xr.Dataset(posterior), "sample_stats": flags}


# Two normal variables of known means, which no model had to be compiled for.
NORMAL = CompiledModel(
    density=lambda point, mean: (-0.5 * ((point - mean) ** 2).sum(), mean - point),
    before=lambda mean: [mean],
    variables=lambda points, mean: [points, points.sum(-1)],
    dims={"x": ["axis"], "total": []},
    start=np.zeros(2),
    data={"mean": np.array([1.0, -2.0])},
)


def fitted(case, **settings):
    model, data, options = CASES[case]
    settings = {"random_seed": 1, "draws": 100, "chains": 4, **settings}
    return bp.fit(data, model, options=options, method="mcmc", **settings)


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


# ── Data of other names ──


def sites_called(name):
    return bp.ConfusionMatrix(SITES.counts.rename(site=name), "yes")
