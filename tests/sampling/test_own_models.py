"""Models of one's own: with potentials, without a likelihood, and where sampling starts."""

import functools

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp
from bayesperf.sampling import backend, model_data, nuts
from tests.shared.fits import BINARY, SITES, agrees, built, exact, of_scipy, without_nuts

TABLE = ["actual", "predicted"]


def recall_alone(likelihood=True, cells=True, potential="", limit=None, parts=2):
    """Return a model of recall, 40 hits of 50, with some of its parts."""

    def build(data, priors):
        with pm.Model(coords={dim: data[dim].values for dim in TABLE}) as model:
            recall = pm.Beta("sensitivity", 1, 1)
            if likelihood:
                pm.Binomial("hits", 50, recall, observed=40)
            if limit is not None:
                pm.Uniform("delay", 0, limit * recall, observed=1.0)
            if potential:
                pm.Potential(potential, 9 * pm.math.log(recall))
            if cells:
                table = pm.math.stack([0.5, 0.5, 1 - recall, recall]).reshape((2, 2)) / parts
                pm.Deterministic("cells", table, dims=TABLE)
        return model

    return build


# ── Potentials ──


@pytest.mark.slow
def test_observed_variables_beside_a_potential_are_predicted(sampler):
    tree = bp.fit(BINARY, recall_alone(potential="opinion"), draws=20, chains=2, random_seed=1)
    for group in ("posterior_predictive", "prior_predictive", "log_likelihood"):
        assert list(tree[group].data_vars) == ["hits"], group
    drawn = tree["posterior"]["sensitivity"]
    expected = stats.binom.logpmf(40, 50, drawn)
    np.testing.assert_allclose(tree["log_likelihood"]["hits"].values.reshape(expected.shape), expected)
    assert tree.attrs["left_out"] == (
        "prior, prior_predictive, log_prior: drawn and computed without pm.Potential 'opinion', a term of the log "
        "density that cannot be simulated from"
    )
    assert tree["posterior"].attrs["prior"] == "sensitivity ~ Beta(1, 1), times exp(opinion)"
    assert bp.Posterior.from_datatree(tree).summary(["recall"]).attrs["prior"].endswith("times exp(opinion)")


@pytest.mark.slow
def test_a_likelihood_that_is_a_potential_has_no_predictions(sampler):
    tree = bp.fit(BINARY, recall_alone(likelihood=False, potential="hits"), draws=20, chains=2, random_seed=1)
    assert {"posterior_predictive", "prior_predictive", "log_likelihood"}.isdisjoint(tree.children)
    assert tree.attrs["left_out"].startswith(
        "posterior_predictive, log_likelihood: the likelihood is pm.Potential 'hits'"
    )


@pytest.mark.slow
def test_a_potential_is_of_the_posterior():
    """r⁹ times Beta(1, 1) is Beta(10, 1)."""
    tree = bp.fit(BINARY, recall_alone(potential="opinion"), random_seed=1, progressbar=False)
    agrees(tree["posterior"]["sensitivity"], of_scipy(stats.beta(50, 11)))


# ── What is refused ──


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (recall_alone(likelihood=False), "model has no observed variable, so that the data say nothing"),
        (recall_alone(cells=False), r"model has no variable 'cells'.*Add it, as pm\.Deterministic\('cells'"),
        (recall_alone(parts=1), r"its variable 'cells' must be .* in a draw of the prior they sum to 2, and the smal"),
    ],
)
def test_a_model_without_likelihood_or_cells(model, words):
    with pytest.raises(bp.InputError, match=words):
        bp.fit(BINARY, model)


def test_a_model_with_its_data_is_to_be_sampled_by_hand():
    with pytest.raises(TypeError, match=r"which has its data already\. Sample it, as pm\.sample\(model=model\)"):
        bp.fit(BINARY, bp.models.build(BINARY, "rates"))


IMPOSSIBLE = r"model: its density is 0 or unknown where sampling starts: the log density of 'delay' is -inf\."


@pytest.mark.slow
def test_a_failed_start_names_the_variable(monkeypatch):
    def fails(*_):
        raise RuntimeError("All initialization points failed")

    without_nuts(monkeypatch, fails)
    with pytest.raises(bp.InputError, match=IMPOSSIBLE):
        bp.fit(BINARY, recall_alone(limit=1.5), random_seed=1)
    with pytest.raises(RuntimeError, match="All initialization points failed"):
        bp.fit(BINARY, recall_alone(limit=3), random_seed=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.ConvergenceWarning")  # At the limit transitions diverge.
@pytest.mark.parametrize("sampler", ["nutpie", "pymc"])
def test_a_start_that_fails(sampler):
    settings = {"random_seed": 1, "progressbar": False, "nuts_sampler": sampler}
    with pytest.raises(bp.InputError, match=IMPOSSIBLE):
        bp.fit(BINARY, recall_alone(limit=0.5), draws=20, tune=20, **settings)
    # Of a recall above 2/3 the delay is possible; the middle of the prior is below.
    started = bp.fit(BINARY, recall_alone(limit=1.5), initvals={"sensitivity": 0.95}, **settings)
    assert started["posterior"]["sensitivity"].min() > 2 / 3


# ── Settings of the sampler ──


@pytest.mark.slow
def test_initvals_are_where_sampling_starts(sampler, monkeypatch):
    starts = []
    monkeypatch.setattr(backend, "started", lambda ready, model, initvals: starts.append(initvals) or ready)
    bp.fit(BINARY, "rates", draws=20, random_seed=1, initvals={"recall": 0.9})
    assert starts == [{"recall": 0.9}]
    assert "initvals" not in sampler[0]
    model = built("rates", BINARY)
    names = [variable.name for variable in model.value_vars]
    at = dict(zip(names, backend._start(model, {"recall": 0.9}), strict=True))
    assert at["recall_logodds__"] == pytest.approx(np.log(9))
    assert at["specificity_logodds__"] == pytest.approx(0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("initvals", "kind", "words"),
    [
        ({"recal": 0.9}, ValueError, "initvals: the model has no free variable 'recal'; it has 'prevalence', 'recall'"),
        ([{"recall": 0.9}, {}], TypeError, r"initvals must be one mapping for all chains of nutpie\."),
    ],
)
def test_initvals_that_are_refused(initvals, kind, words, sampler):
    with pytest.raises(kind, match=words):
        bp.fit(BINARY, "rates", initvals=initvals)


@pytest.mark.parametrize("nuts_sampler", ["nutpie", "pymc", "numpyro", "blackjax"])
def test_settings_of_pymc_are_passed_on(nuts_sampler, monkeypatch):
    given = {}
    groups = {"posterior": xr.Dataset(), "sample_stats": xr.Dataset()}

    @functools.wraps(pm.sample)
    def sample(**settings):
        given.update(settings)
        return xr.DataTree.from_dict(groups)

    monkeypatch.setattr(pm, "sample", sample)
    monkeypatch.setattr(nuts, "version", lambda _: "1")
    own = {"compile_kwargs": {"mode": "JAX"}, "idata_kwargs": {"dims": {}}, "initvals": {"recall": 0.9}}
    nuts.sample(built("rates", BINARY), {"draws": 10}, 1, nuts_sampler=nuts_sampler, target_accept=0.9, **own)
    assert own.items() <= given.items()
    assert given["nuts_sampler"] == nuts_sampler


# ── The positive class ──


@pytest.mark.slow
def test_the_positive_class_is_an_argument():
    cats = bp.ConfusionMatrix.from_table([[45, 5], [10, 40]], labels=["cat", "dog"])
    with pytest.raises(ValueError, match="Name it, as pos_label='dog'"):
        bp.models.build(cats, "rates")
    recalls = [
        exact(data, "rates", pos_label=label, draws=500)["posterior"]["recall"]
        for data in (cats, cats.counts)
        for label in ("dog", "cat")
    ]
    agrees(recalls[0], of_scipy(stats.beta(40.5, 10.5)))
    agrees(recalls[1], of_scipy(stats.beta(45.5, 5.5)))
    assert recalls[0].equals(recalls[2])
    assert recalls[1].equals(recalls[3])
    assert bp.models.build(cats, "rates", None, {"design": "by_actual"}, pos_label="cat").name == ""


@pytest.mark.parametrize("model", ["rates", bp.models.rates], ids=["name", "module"])
def test_every_file_of_a_model_needs_a_folder_to_compile_in(model, monkeypatch):
    def refuse():
        raise OSError("no place")

    monkeypatch.setattr(model_data, "_check_compilation_folder", refuse)
    with pytest.raises(OSError, match="no place"):
        model_data.resolve_model(model)


@pytest.mark.parametrize(
    ("data", "model", "words"),
    [
        (BINARY, "rates", "pos_label: 'cow' is not among the labels"),
        (BINARY.counts, lambda data, priors: None, "pos_label: 'cow' is not among the labels"),
        (xr.DataArray(np.ones((2, 2))), lambda data, priors: None, "pos_label: these data have no classes"),
        (SITES, "groups", "pos_label: 'cow' is not among the labels"),
    ],
)
def test_a_positive_class_that_is_none(data, model, words):
    with pytest.raises(ValueError, match=words):
        bp.models.build(data, model, pos_label="cow")
