"""Simulation-based calibration: right posteriors pass, and wrong ones fail.

Where nothing is said of slow tests, NUTS is replaced by draws of the exact posterior, or of a wrong one.
"""

from importlib import import_module

import matplotlib as mpl
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayesperf as bp
from bayesperf import models, plots, studies
from bayesperf.sampling.fit_tree import priors_in_words
from bayesperf.studies import calibrating_samplers
from benchmarks.simulation_based_calibration import CASES
from tests.shared.fits import Compiled, without_nuts

mpl.use("Agg")
# The package's attribute of that name is the function.
module = import_module("bayesperf.studies.calibrating_samplers")

CM = bp.ConfusionMatrix.from_counts(tp=[30, 5], fn=[3, 1], fp=[4, 0], tn=[20, 7])


# ── The study, of draws that are not a sampler's ──


BETAS = {"prevalence": (1, 1), "recall": (0.5, 0.5), "specificity": (0.5, 0.5)}


class Sampler:
    """Draws of the model `rates`, as the sampler's; `weight` is how often it counts the data."""

    def __init__(self):
        self.weight, self.betas, self.calls, self.data, self.compilations = 1.0, BETAS, [], [], 0
        self.interrupted_at = None

    def compile(self, model):
        self.compilations += 1
        expected = {name: "Beta({}, {})".format(*self.betas[name]) for name in BETAS}
        assert priors_in_words(model) == expected, "the model is not that of these priors"
        return Compiled.of(model)

    def sample(self, compiled, settings, seed, progressbar=False):
        self.calls.append({**settings, "seed": seed, "progressbar": progressbar})
        self.data.append(compiled.data)
        if len(self.calls) == self.interrupted_at:
            raise KeyboardInterrupt
        rng, drawn = np.random.default_rng(seed), {}
        draws, chains = settings["draws"], settings["chains"]
        for name, outcome in models.building.OUTCOMES.items():
            a, b = self.betas[name]
            won, n = compiled.data[f"{outcome}_data"], compiled.data[f"{outcome}_trials"]
            drawn[name] = rng.beta(a + self.weight * won, b + self.weight * (n - won), (chains, draws, *won.shape))
        drawn["cells"] = models.building.cells_of_rates(drawn, 1)
        dims = {name: ("chain", "draw", "dim_0", "actual", "predicted")[: v.ndim] for name, v in drawn.items()}
        posterior = xr.Dataset({name: (dims[name], value) for name, value in drawn.items()})
        flags = xr.Dataset({"diverging": (("chain", "draw"), np.arange(chains * draws).reshape(chains, draws) < 2)})
        return {"posterior": posterior, "sample_stats": flags}


@pytest.fixture
def sampler(monkeypatch):
    instead = Sampler()
    without_nuts(monkeypatch, instead.sample, instead.compile)
    monkeypatch.setattr(module, "_workers", {}, raising=False)
    return instead


def study_of(simulations=200, **settings):
    return studies.simulation_based_calibration(
        "rates", CM, simulations=simulations, **{"draws": 200, "chains": 2, "thin": 1, **settings}
    )


@pytest.mark.slow
def test_exact_draws_pass(sampler):
    study = study_of(150, thin=2)
    assert study.attrs["passed"] == 1
    assert study["pit"].sizes == {"simulation": 150, "parameter": 14}
    names = ["prevalence[0]", "prevalence[1]", "recall[0]", "recall[1]", "specificity[0]", "specificity[1]"]
    assert sorted(study["parameter"].values[:6]) == names
    assert study["parameter"].values[6] == "cells[0, 0, 0]"
    assert ((study["pit"] >= 0) & (study["pit"] <= 1)).all()
    np.testing.assert_allclose(study["p_value"], calibrating_samplers.p_values(study["pit"].values.T))
    assert (study["diverging"] == 2).all()
    expected = {"model": "rates", "simulations": 150, "prob": 0.99, "draws": 200, "tune": 500, "chains": 2, "thin": 2,
                "target_accept": 0.95, "random_seed": 0}  # fmt: skip
    assert expected.items() <= study.attrs.items()
    assert {"tune": 500, "target_accept": 0.95, "progressbar": False}.items() <= sampler.calls[0].items()
    assert len({call["seed"] for call in sampler.calls}) == 150
    assert sampler.compilations == 1


@pytest.mark.slow
@pytest.mark.parametrize("weight", [2.0, pytest.param(0.4, marks=pytest.mark.slow)])
def test_a_sampler_that_counts_the_data_otherwise_fails(sampler, weight):
    """Twice: its posteriors are too narrow; less than half: too wide."""
    sampler.weight = weight
    study = study_of(400)
    assert study.attrs["passed"] == 0
    assert study["p_value"].sel(parameter="prevalence[0]") < 1e-3
    spread = study["pit"].sel(parameter="prevalence[0]").std().item()
    assert (spread > np.sqrt(1 / 12)) == (weight > 1)


@pytest.mark.slow
def test_totals_of_the_data_are_kept(sampler):
    """In every simulation there are as many examples as observed; positives vary."""
    study_of(30)
    for data in sampler.data:
        assert data["positives_trials"].tolist() == [57, 13]
        assert data["true_positives_trials"].tolist() == [33, 6]
        assert (data["true_positives_data"] <= [33, 6]).all()
    assert len({tuple(data["positives_data"]) for data in sampler.data}) > 20


@pytest.mark.slow
def test_ranks_are_among_every_nth_draw(sampler):
    """And spread over the gaps between them, so that they are uniform, not on a grid."""
    pit = study_of(50, thin=100)["pit"].values * 5
    assert len(np.unique(pit)) == pit.size
    counted = np.bincount(np.floor(pit).astype(int).ravel(), minlength=5)
    assert (counted > 50).all()


@pytest.mark.slow
def test_the_seed_and_the_number_of_jobs(sampler):
    one, two, other = study_of(20), study_of(20, n_jobs=1), study_of(20, random_seed=5)
    np.testing.assert_array_equal(one["pit"], two["pit"])
    assert not np.isin(one["pit"], other["pit"]).any()


@pytest.mark.slow
def test_an_interrupted_study_goes_on(sampler, tmp_path):
    whole = study_of(12)
    sampler.interrupted_at = 12 + 8
    with pytest.raises(KeyboardInterrupt):
        study_of(12, folder=tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 7
    before = len(sampler.calls)
    resumed = study_of(12, folder=tmp_path)
    assert len(sampler.calls) - before == 5
    xr.testing.assert_identical(resumed.drop_attrs(), whole.drop_attrs())
    again = study_of(12, folder=tmp_path)
    assert len(sampler.calls) - before == 5
    xr.testing.assert_identical(again.drop_attrs(), whole.drop_attrs())


OTHER = bp.ConfusionMatrix.from_counts(tp=[31, 5], fn=[3, 1], fp=[4, 0], tn=[20, 7])


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"draws": 300},
        {"thin": 2},
        {"random_seed": 1},
        {"confidence": 0.9},
        {"options": {"design": "by_actual"}},
        {"data": OTHER},
        {"priors": {"recall": pm.Beta.dist(9, 1)}},
        {"priors": {"recall": pm.Beta.dist(1, 1)}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_folder_is_of_one_study(sampler, tmp_path, change):
    arguments = {"model": "rates", "data": CM, "simulations": 5, "draws": 200, "priors": {"recall": pm.Beta.dist(2, 5)}}
    sampler.betas = BETAS | {"recall": (2, 5)}
    studies.simulation_based_calibration(**arguments, folder=tmp_path)
    with pytest.raises(
        ValueError, match=r"folder: .* holds a study with other settings\. Name another, or remove it\."
    ):
        studies.simulation_based_calibration(**arguments | change, folder=tmp_path)


@pytest.mark.slow
def test_priors_of_a_second_study_are_its_own(sampler):
    """In one process, under the same names."""
    for a, b in ((9, 1), (1, 9)):
        sampler.betas = BETAS | {"recall": (a, b)}
        # One seed in a hundred fails; this one does not.
        study = study_of(200, priors={"recall": pm.Beta.dist(a, b)}, random_seed=1)
        assert study.attrs["passed"] == 1


@pytest.mark.slow
def test_figure(sampler, monkeypatch):
    bands, labels = [], []

    def fill_between(_, x, low, high, *, label, **__):
        bands.append((x, low, high))
        labels.append(label)

    monkeypatch.setattr(mpl.axes.Axes, "fill_between", fill_between)
    for weight, passed in ((1.0, 1), (2.0, 0)):
        bands.clear()
        sampler.weight = weight
        study = study_of(80)
        assert study.attrs["passed"] == passed
        figure = plots.simulation_based_calibration(study)
        panels = [axes for axes in figure.axes if axes.get_title()]
        assert [axes.get_title() for axes in panels] == study["parameter"].values.tolist()
        inside = []
        for axes, (x, low, high) in zip(panels, bands, strict=True):
            pit = study["pit"].sel(parameter=axes.get_title()).values
            curve = axes.lines[0].get_ydata()
            np.testing.assert_allclose(curve, [(pit <= at).mean() - at for at in x], atol=1e-12)
            inside.append(((low - 1e-12 <= curve) & (curve <= high + 1e-12)).all())
        # A curve leaves its band where its p-value is too small, and there only.
        assert inside == (study["p_value"] >= 0.01 / 14).values.tolist()
        assert figure.get_suptitle() == "rates: ranks of 80 simulations"
    assert set(labels) == {"99 % simultaneous band (Bonferroni over 14 parameters)"}


# ── What is refused ──


def plain(data, priors):
    with pm.Model() as model:
        recall = pm.Beta("recall", 1, 1, shape=2)
        pm.Binomial("tp", 30, recall, observed=data.values[:, 1, 1])
    return model


SITES = bp.ConfusionMatrix.from_table([[[5, 1], [2, 4]]] * 4, dims=["site"])


@pytest.mark.parametrize(
    ("model", "data", "settings", "words"),
    [
        ("rate", CM, {}, "model must be one of binormal_roc, .*Did you mean 'rates'?"),
        (
            "groups",
            SITES,
            {"options": {"repeats": 2}},
            "model: it contains pm.Potential '.*', which cannot be simulated from",
        ),
        (plain, CM, {}, "model: the observed data of 'tp' must be pymc.Data, so that they can be changed"),
        ("rates", CM, {"confidence": 1}, "confidence must be a number between 0 and 1, both excluded; it is 1"),
        ("rates", CM, {"thin": 0}, "thin must be a whole number of at least 1; it is 0"),
        ("rates", CM, {"thin": 10, "draws": 10}, "thin must be less than draws, 10, so that there are .*; it is 10"),
        ("rates", CM, {"draws": 0}, "draws must be a whole number of at least 1; it is 0"),
        ("rates", CM, {"tune": 0.5}, "tune must be a whole number of at least 1; it is 0.5"),
        ("rates", CM, {"chains": 0}, "chains must be a whole number of at least 1; it is 0"),
        ("rates", CM, {"target_accept": 1}, "target_accept must be a number between 0 and 1, both excluded; it is 1"),
        ("rates", CM, {"simulations": 1}, "simulations must be a whole number of at least 2; it is 1"),
        ("rates", CM, {"priors": {"recal": pm.Beta.dist(1, 1)}}, "priors: this model has no 'recal'"),
        ("rates", CM, {"options": {"dim": "fold"}}, "options: the model 'rates' has no 'dim'"),
    ],
)
def test_what_is_refused(sampler, model, data, settings, words):
    with pytest.raises(ValueError, match=words):
        studies.simulation_based_calibration(model, data, **settings)


# ── The sampler ──


def counted_once(data, priors):
    """Hits of a number of positives, at one recall."""
    with pm.Model() as model:
        recall = pm.Beta("recall", 1, 1, shape=())
        pm.Binomial("hits", 40, recall, observed=pm.Data("hits_data", data.sum().item()))
    return model


def counted_twice(data, priors):
    """The same data in two terms of the likelihood, as if they were two test sets."""
    model = counted_once(data, priors)
    with model:
        pm.Binomial("hits_again", 40, model["recall"], observed=model["hits_data"])
    return model


@pytest.mark.slow
@pytest.mark.parametrize(("model", "passes"), [(counted_once, True), (counted_twice, False)])
def test_a_wrong_model_fails(model, passes):
    data = xr.DataArray([20], dims="set")
    study = studies.simulation_based_calibration(
        model, data, simulations=200, draws=200, tune=300, thin=4, progressbar=False
    )
    assert study.attrs["passed"] == passes
    assert study["parameter"].values.tolist() == ["recall"]
    if not passes:
        assert study["pit"].std().item() > np.sqrt(1 / 12)  # too sure of itself


@pytest.mark.slow
def test_models_of_one_name_are_not_mixed_up():
    """Functions defined in other functions often have the same name."""

    def renamed(function):
        def model(data, priors):
            return function(data, priors)

        return model

    data = xr.DataArray([20], dims="set")
    settings = {"simulations": 200, "draws": 200, "tune": 300, "thin": 4, "progressbar": False}
    passed = [
        studies.simulation_based_calibration(renamed(f), data, **settings).attrs["passed"]
        for f in (counted_once, counted_twice)
    ]
    assert passed == [1, 0]


# Of each model the first case, or a fuller one.
FULLER = ["groups_logit, LKJ, covariate", "markov, varying", "recalibration, groups", "preferences, judges, prompts"]
CHECKED = list({CASES[name][0]: name for name in [*reversed(CASES), *FULLER]}.values())


def test_every_model_is_checked():
    found = {model for model, *_ in CASES.values()}
    assert found == set(models.names()), "a case of CASES in benchmarks/simulation_based_calibration.py"


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_every_model_passes(name):
    model, data, options = CASES[name]
    study = studies.simulation_based_calibration(
        model, data, options=options, simulations=64, draws=400, tune=400, thin=8, progressbar=False
    )
    assert study.attrs["passed"] == 1
    # Of 800 draws a simulation; a prior's far corners are simulated, too.
    assert study["diverging"].sum() < 0.001 * 64 * 800


def test_the_band_allows_for_every_parameter():
    results = {"pit": np.random.default_rng(1).random((20, 4)), "diverging": np.zeros(20, int)}
    study = calibrating_samplers._summary(results, [*"abcd"], {"prob": 0.8})
    np.testing.assert_array_equal(study["band"], calibrating_samplers.band(20, 0.95))
