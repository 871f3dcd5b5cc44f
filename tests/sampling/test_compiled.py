"""Models of one structure are compiled once, whatever their data."""

from collections import OrderedDict

import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf.sampling import compiled as _compiled
from tests.shared.fits import CASES, SCORES, SITES, SIX_SITES, SYSTEMS, VIDEO, Compiled, built, fitted, table

pytestmark = pytest.mark.usefixtures("interpreted")


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
