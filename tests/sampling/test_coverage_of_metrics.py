"""Coverage of metrics: over data sets of a model's own prior, it is nominal, whatever the metric is computed from.

Ranks of parameters, which simulation-based calibration looks at, say nothing of how metrics combine them, as rates of
one group with the prevalence of another population. Data sets and metrics are made here by NumPy alone.
"""

import warnings

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import expit
from scipy.stats import norm

import bayesperf as bp
from bayesperf import models
from tests.shared.models import long_run

DRAWS = 1000
# Standard errors: about 150 comparisons are made in this file, of which one is beyond 3 errors by chance in every third
# run, and beyond 4 in every hundredth (Bonferroni).
ERRORS = 4
METRICS = {
    "precision": lambda tn, fp, fn, tp: tp / (tp + fp),
    "f1": lambda tn, fp, fn, tp: 2 * tp / (2 * tp + fp + fn),
    "recall": lambda tn, fp, fn, tp: tp / (tp + fn),
    "accuracy": lambda tn, fp, fn, tp: tp + tn,
}


def metric(name, cells):
    """A metric of cells (…, 2, 2) that sum to 1, labels 0 and 1."""
    return METRICS[name](*np.moveaxis(cells.reshape(*cells.shape[:-2], 4), -1, 0))


def is_nominal(truth, draws):
    """Check how often intervals of draws (data set, …, draw, 2, 2) hold the truth (data set, …, 2, 2)."""
    for name in METRICS:
        true, drawn = metric(name, truth), metric(name, draws)
        for prob in (0.5, 0.9):
            lower, upper = np.quantile(drawn, [(1 - prob) / 2, (1 + prob) / 2], axis=-1)
            held = ((lower <= true) & (true <= upper)).reshape(len(true), -1).mean(1)
            # Matrices of one data set, as its groups, are not independent.
            deviation = held.std() if true.ndim > 1 else np.sqrt(prob * (1 - prob))
            assert held.mean() == pytest.approx(prob, abs=ERRORS * deviation / np.sqrt(len(held))), (name, prob)


def cells_of(prevalence, recall, specificity):
    """Cells (…, 2, 2)."""
    rows = [[(1 - prevalence) * specificity, (1 - prevalence) * (1 - specificity)],
            [prevalence * (1 - recall), prevalence * recall]]  # fmt: skip
    return np.moveaxis(np.array(np.broadcast_arrays(*rows[0], *rows[1])), 0, -1).reshape(*np.shape(recall), 2, 2)


def counts_of(cells, n, rng):
    return rng.multinomial(n, cells.reshape(*cells.shape[:-2], 4)).reshape(cells.shape)


def cells_of_fit(cm, model, method="exact", **options):
    """Cells of a fit to many systems at once, (system, …, draw, K, K), by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = bp.fit(cm, model, method=method, options=options, draws=DRAWS, chains=1, random_seed=2)
    cells = {name: tree["posterior"][name].isel(chain=0) for name in tree["posterior"] if name.startswith("cells")}
    return {name: of.transpose("model", ..., "draw", "actual", "predicted").values for name, of in cells.items()}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["multinomial", "rates"])
def test_models_of_a_table(model):
    rng, n = np.random.default_rng(1), 200
    if model == "multinomial":
        truth = rng.dirichlet(np.full(4, 0.5), n).reshape(n, 2, 2)
    else:
        truth = cells_of(rng.random(n), *rng.beta(0.5, 0.5, (2, n)))
    cm = bp.ConfusionMatrix.from_table(counts_of(truth, 15, rng), dims={"model": range(n)})
    is_nominal(truth, cells_of_fit(cm, model)["cells"])


@pytest.mark.slow
def test_paired_systems():
    rng, n = np.random.default_rng(2), 400
    shares = rng.dirichlet(np.full(8, 0.5), n)
    counts = rng.multinomial(25, shares).reshape(n, 2, 2, 2)
    dims = ("actual", "predicted_new", "predicted_old")
    draws = [
        models.paired.exact(xr.DataArray(c, dims=dims), None, [rng], (1, DRAWS))["cells"].values[0] for c in counts
    ]
    joint = shares.reshape(n, 2, 2, 2)
    truth = np.stack([joint.sum(3), joint.sum(2)], 1)
    is_nominal(truth, np.moveaxis(draws, 2, 1))


@pytest.mark.slow
def test_chains():
    rng, n, length = np.random.default_rng(3), 200, 40
    stay, predict_second = rng.beta(0.5, 0.5, (n, 2)), rng.beta(0.5, 0.5, (n, 2, 2, 2))
    truth = np.array([long_run(*parameters) for parameters in zip(stay, predict_second, strict=True)])
    dims = ("sequence", "actual_before", "predicted_before", "actual", "predicted")
    labels = {dim: [0, 1] for dim in dims[1:]}
    draws = []
    for stays, seconds in zip(stay, predict_second, strict=True):
        counts, g, z = np.zeros((1, 2, 2, 2, 2), int), 0, 0
        for _ in range(length):
            before, g = (g, z), g if rng.random() < stays[g] else 1 - g
            z = int(rng.random() < seconds[g, before[0], z])
            counts[0, *before, g, z] += 1
        data = xr.DataArray(counts, labels, dims)
        draws.append(models.markov.exact(data, None, [rng], (1, DRAWS))["cells"].values[0])
    is_nominal(truth, np.array(draws))


def one_class(cells):
    """Cells (…, 2, 2) of the last of three classes and the others together."""
    both = np.stack([cells[..., :2, :].sum(-2), cells[..., 2, :]], -2)
    return np.stack([both[..., :2].sum(-1), both[..., 2]], -1)


def dirichlets(rng, concentration):
    """A draw for each row of parameters, by Gamma variables."""
    draws = rng.gamma(concentration)
    return draws / draws.sum(-1, keepdims=True)


def three_class_counts(cells, n, rng):
    return rng.multinomial(n, cells.reshape(*cells.shape[:-2], 9)).reshape(cells.shape)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "clusters"])
def test_groups(kind):
    """The population's, the groups' and a new one's, whose prevalence is that of the kind of groups."""
    rng, n, groups = np.random.default_rng(4), 150, 6
    p, prevalence = rng.random((n, 1, 2)), rng.random((n, 1))
    kappa = 1 / rng.beta(1, {"random": 24, "clusters": 9}[kind], (n, 1, 2)) - 1
    right = rng.beta(kappa * p, kappa * (1 - p), (n, groups + 1, 2))
    shares = np.broadcast_to(prevalence, (n, groups + 1))
    if kind == "clusters":
        kappa = 1 / rng.beta(1, 3, (n, 1)) - 1
        shares = rng.beta(kappa * prevalence, kappa * (1 - prevalence), (n, groups + 1))
    every = cells_of(shares, right[..., 1], right[..., 0])
    counts = counts_of(every[:, :-1], 25, rng)
    cm = bp.ConfusionMatrix.from_table(counts, dims={"model": range(n), "site": range(groups)})
    found = cells_of_fit(cm, "groups", dim="site", groups=kind)
    is_nominal(cells_of(prevalence[:, 0], p[:, 0, 1], p[:, 0, 0]), found["cells"])
    is_nominal(every[:, :-1], found["cells_group"])
    is_nominal(every[:, -1], found["cells_new"])


@pytest.mark.slow
def test_groups_of_three_classes():
    rng, n, groups = np.random.default_rng(5), 60, 6
    rates, prevalence = rng.dirichlet(np.full(3, 2 / 3), (n, 1, 3)), rng.dirichlet(np.ones(3), (n, 1))
    kappa, kappa_of_prevalence = 1 / rng.beta(1, 9, (n, 1, 3, 1)) - 1, 1 / rng.beta(1, 3, (n, 1, 1)) - 1
    of_groups = dirichlets(rng, np.broadcast_to(kappa * rates, (n, groups + 1, 3, 3)))
    shares = dirichlets(rng, np.broadcast_to(kappa_of_prevalence * prevalence, (n, groups + 1, 3)))
    every = shares[..., None] * of_groups
    counts = three_class_counts(every[:, :-1], 30, rng)
    cm = bp.ConfusionMatrix.from_table(counts, labels=[0, 1, 2], dims={"model": range(n), "site": range(groups)})
    found = cells_of_fit(cm, "groups", "mcmc", dim="site", groups="clusters")
    is_nominal(one_class((prevalence[..., None] * rates)[:, 0]), one_class(found["cells"]))
    is_nominal(one_class(every[:, :-1]), one_class(found["cells_group"]))
    is_nominal(one_class(every[:, -1]), one_class(found["cells_new"]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "clusters"])
def test_groups_on_the_logit_scale(kind):
    rng, n, groups = np.random.default_rng(6), 60, 6
    location = rng.logistic(size=(n, 1, 3))
    spread = np.abs(rng.normal(0, {"random": 0.5, "clusters": 1.0}[kind], (n, 1, 3)))
    if kind == "random":
        spread[..., 0] = 0
    prevalence, recall, specificity = np.moveaxis(expit(location + spread * rng.normal(size=(n, groups + 1, 3))), -1, 0)
    every = cells_of(prevalence, recall, specificity)
    # The population's means, over many more groups than are fitted.
    means = expit(location + spread * norm.ppf((np.arange(2000) + 0.5) / 2000)[:, None]).mean(1)
    counts = counts_of(every[:, :-1], 25, rng)
    cm = bp.ConfusionMatrix.from_table(counts, dims={"model": range(n), "site": range(groups)})
    found = cells_of_fit(cm, "groups_logit", "mcmc", dim="site", groups=kind)
    is_nominal(cells_of(*means.T), found["cells"])
    is_nominal(every[:, :-1], found["cells_group"])
    is_nominal(every[:, -1], found["cells_new"])


@pytest.mark.slow
def test_classes_that_share_a_prior():
    rng, n = np.random.default_rng(7), 150
    kappa, mean = 1 / rng.beta(1, 3, (n, 1)) - 1, rng.random((n, 1))
    recall = rng.beta(np.broadcast_to(kappa * mean, (n, 3)), np.broadcast_to(kappa * (1 - mean), (n, 3)))
    popular, prevalence = rng.dirichlet(np.ones(3), n), rng.dirichlet(np.ones(3), n)
    other = popular[:, None, :] * (1 - np.eye(3))
    errors = dirichlets(rng, other / other.sum(-1, keepdims=True))
    truth = prevalence[..., None] * (recall[..., None] * np.eye(3) + (1 - recall)[..., None] * errors)
    cm = bp.ConfusionMatrix.from_table(three_class_counts(truth, 30, rng), labels=[0, 1, 2], dims={"model": range(n)})
    is_nominal(one_class(truth), one_class(cells_of_fit(cm, "classes")["cells"]))


@pytest.mark.slow
def test_chains_that_vary():
    """The population's, the sequences' and a new one's; the data sets are fitted one by one."""
    rng, n, sequences, length = np.random.default_rng(8), 40, 5, 40
    found = {"cells": [], "cells_group": [], "cells_new": []}
    truth = {name: [] for name in found}
    # Milder than the default, under which many data sets have one label alone.
    priors = {"stay": pm.Beta.dist(4, 2), "predict_second": pm.Beta.dist(2, 2)}
    videos = np.repeat(np.arange(sequences), length)
    for _ in range(n):
        stay, predict_second = rng.beta(4, 2, 2), rng.beta(2, 2, (2, 2, 2))
        kappa = 1 / rng.beta(1, 9, 2) - 1
        stays = np.clip(rng.beta(kappa * stay, kappa * (1 - stay), (sequences + 1, 2)), 1e-12, 1 - 1e-12)
        labels = np.array([chain(of_one, predict_second, length, rng) for of_one in stays[:-1]])
        actual, predicted = labels.reshape(-1, 2).T
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"sequences": "varying", "by": {"video": videos}}
            tree = bp.fit((actual, predicted), "markov", priors, options=options, draws=DRAWS, chains=1, random_seed=2)
        of_all = np.array([long_run(of_one, predict_second) for of_one in [stay, *stays]])
        for name, true in zip(found, (of_all[0], of_all[1:-1], of_all[-1]), strict=True):
            truth[name].append(true)
            cells = tree["posterior"][name].isel(chain=0).transpose(..., "draw", "actual", "predicted")
            found[name].append(cells.values)
    for name in found:
        is_nominal(np.array(truth[name]), np.array(found[name]))


def chain(stay, predict_second, length, rng):
    """Pairs of labels (length, 2); the first pair is drawn by a long run-in."""
    pairs, g, z = np.zeros((100 + length, 2), int), 0, 0
    for i in range(len(pairs)):
        before, g = g, g if rng.random() < stay[g] else 1 - g
        z = int(rng.random() < predict_second[g, before, z])
        pairs[i] = g, z
    return pairs[-length:]
