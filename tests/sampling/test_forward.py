"""Prior, predictions and log densities that are computed for all draws together, against PyMC's one by one."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

from bayesperf.sampling import forward
from bayesperf.sampling.backend import INTERPRETED
from bayesperf.sampling.nuts import quiet
from tests.shared.fits import CASES, SYSTEMS, built, slow
from tests.shared.models import OF_TWO_CLASSES

ALL = CASES | {"binormal_roc": ("binormal_roc", OF_TWO_CLASSES, {})}
# Different kinds of variables; the other models are slow.
SOON = ("rates", "groups of three classes", "groups_logit, covariates", "markov, varying", "datasets")
DRAWN = [case if case in SOON else slow(case) for case in ALL]
# Where the likelihood is a potential, nothing is predicted.
PREDICTED = [case if case in SOON else slow(case) for case in ALL if case != "groups, repeated"]
DRAWS = 1000
BY_PYMC = {"compile_kwargs": {"mode": INTERPRETED}}


@pytest.fixture
def left_to_pymc(monkeypatch):
    """Return the names of the functions of PyMC that are called to draw."""
    called = []

    def noted(name):
        original = getattr(pm, name)

        def function(*args, **settings):
            called.append(name)
            return original(*args, **settings)

        return function

    for name in ("sample_prior_predictive", "sample_posterior_predictive"):
        monkeypatch.setattr(pm, name, noted(name))
    return called


def flat(*groups):
    """Return all numbers of a draw as a row, (draw, number)."""
    stacked = [group.stack(sample=("chain", "draw")).transpose("sample", ...) for group in groups]
    return np.hstack([draws.values.reshape(draws.sizes["sample"], -1) for group in stacked for draws in group.values()])


def alike(found, expected):
    """Check two samples of rows: the quartiles of each number, and how each pair of numbers is related by rank.

    Both hold for distributions without moments. A difference is five of its standard errors at most.
    """
    n = len(found)
    assert found.shape == expected.shape
    both = np.concatenate([found, expected])
    for level in (0.25, 0.5, 0.75):
        quantile = np.quantile(both, level, axis=0)
        for below in (both <= quantile, both < quantile):
            share = below.mean(0)
            error = np.sqrt(2 * share * (1 - share) / n)
            assert (abs(below[:n].mean(0) - below[n:].mean(0)) <= 5 * error + 1e-12).all()
    varies = np.ptp(both, axis=0) > 0
    ranks = [stats.rankdata(sample[:, varies], axis=0) for sample in (found, expected)]
    correlation, other = (np.corrcoef(rank, rowvar=False) for rank in ranks)
    # A correlation of ranks has a standard error of 1/√n where there is none, and less where there is much.
    assert abs(correlation - other).max() < 5 * np.sqrt(2 / n)


def of_pymc(model, draws=DRAWS):
    with quiet():
        tree = pm.sample_prior_predictive(draws, model=model, random_seed=7, **BY_PYMC)
    return {name: tree[name].to_dataset() for name in ("prior", "prior_predictive") if name in tree}


def in_order(groups, like):
    return [groups[name][list(like[name].data_vars)] for name in like if like[name].data_vars]


@pytest.mark.few
@pytest.mark.parametrize("case", DRAWN)
def test_prior_and_its_predictions(case):
    model = built(*ALL[case])
    with quiet():
        found = forward.prior_draws(model, DRAWS, 1)
    expected = of_pymc(model)
    for name, group in expected.items():
        for variable, draws in group.items():
            assert found[name][variable].dims == draws.dims, variable
            assert found[name][variable].dtype.kind == draws.dtype.kind, variable
    alike(flat(*in_order(found, expected)), flat(*in_order(expected, expected)))
    np.testing.assert_array_equal(found["prior"]["draw"], np.arange(DRAWS))
    with quiet():
        again, other = (forward.prior_draws(model, DRAWS, seed)["prior"] for seed in (1, 2))
    xr.testing.assert_identical(again.drop_attrs(), found["prior"].drop_attrs())
    assert not any(other[name].equals(again[name]) for name in again)


# The parameters that PyMC is given are those that it is to take.
@pytest.mark.few
@pytest.mark.filterwarnings("ignore:The following trace variables were implicitly frozen")
@pytest.mark.parametrize("case", PREDICTED)
def test_predictions(case):
    """Those of a draw are of its own parameters."""
    model = built(*ALL[case])
    prior = of_pymc(model)["prior"]
    halves = prior.isel(chain=0, drop=True).coarsen(draw=DRAWS // 2).construct(draw=("chain", "draw"))
    posterior = halves.assign_coords(chain=[0, 1], draw=np.arange(DRAWS // 2))
    found = forward.predictions(model, posterior, 1)
    tree = xr.DataTree.from_dict({"posterior": posterior})
    with quiet():
        expected = pm.sample_posterior_predictive(tree, model=model, random_seed=8, progressbar=False, **BY_PYMC)
    expected = expected["posterior_predictive"].to_dataset()
    assert set(found.data_vars) == set(expected.data_vars)
    for name, draws in expected.items():
        assert found[name].dims == draws.dims
    free = posterior[[rv.name for rv in model.free_RVs]]
    alike(flat(free, found[list(expected.data_vars)]), flat(free, expected))


@pytest.mark.few
@pytest.mark.parametrize("case", DRAWN)
def test_log_densities(case):
    model = built(*ALL[case])
    prior = of_pymc(model, 6)["prior"]
    found = forward.log_densities(model, model.free_RVs, prior)
    tree = xr.DataTree.from_dict({"posterior": prior})
    with quiet():
        pm.stats.compute_log_prior(tree, model=model, progressbar=False, compile_kwargs={"mode": INTERPRETED})
    expected = tree["log_prior"].to_dataset()
    assert set(found.data_vars) == set(expected.data_vars)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name].transpose(*values.dims), values, rtol=1e-6, err_msg=name)
    if model.observed_RVs:
        found = forward.log_densities(model, model.observed_RVs, prior)
        compute = {"model": model, "progressbar": False, "extend_inferencedata": False}
        with quiet():
            expected = pm.compute_log_likelihood(tree, compile_kwargs={"mode": INTERPRETED}, **compute)
        for name in found:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-6, err_msg=name)


# ── Models that are left to PyMC ──


def coins(prior, dims="coin", coords=None, length=None):
    """Return a model of two coins with this prior."""
    with pm.Model(coords=coords) as model:
        if length:
            model.add_coord("coin", length=length)
        share = prior()
        pm.Binomial("hits", 8, share, observed=pm.Data("seen", np.array([2, 7])), dims=dims)
        pm.Deterministic("double", 2 * share)
    return model


LABELS, GUMBEL = {"coin": ["a", "b"]}, stats.gumbel_r(0.2, 0.4)
# The model, and the distribution function of the share.
LEFT = {
    "symbolic": (
        lambda: coins(lambda: pm.Truncated("share", pm.Gumbel.dist(0.2, 0.4), 0, 1, dims="coin"), coords=LABELS),
        lambda s: (GUMBEL.cdf(s) - GUMBEL.cdf(0)) / (GUMBEL.cdf(1) - GUMBEL.cdf(0)),
    ),
    "half Student": (
        lambda: coins(lambda: 1 / (1 + pm.HalfStudentT("share", 3, 2, dims="coin")), coords=LABELS),
        lambda s: 2 * stats.t(3, scale=2).cdf(s) - 1,
    ),
    "without dims": (lambda: coins(lambda: pm.Beta("share", 3, 5, shape=2), None), stats.beta(3, 5).cdf),
    "dims without labels": (lambda: coins(lambda: pm.Beta("share", 3, 5, dims="coin"), length=2), stats.beta(3, 5).cdf),
    # Given the weight w, share^w is uniform: P(share < s) = E[s^w] = (1 − log s)^−20.
    "a parameter drawn as well": (
        lambda: coins(lambda: pm.Beta("share", pm.Gamma.dist(20, 1, shape=2), 1, dims="coin"), coords=LABELS),
        lambda s: (1 - np.log(s)) ** -20.0,
    ),
}


def white(hits, share):
    """Check that counts of eight are binomial: standardised, their mean is 0 and their variance 1."""
    residual = (hits - 8 * share) / np.sqrt(8 * share * (1 - share))
    assert abs(residual.mean()) < 5 / np.sqrt(residual.size)
    assert abs((residual**2).mean() - 1) < 5 * (residual**2).std() / np.sqrt(residual.size)


def test_each_example_of_a_table_has_the_log_of_its_share():
    with pm.Model() as model:
        pm.Multinomial("counts", 4, pm.Dirichlet("p", np.ones(3)), observed=[1, 0, 3])
    shares = np.random.default_rng(0).dirichlet(np.ones(3), (2, 5))
    posterior = xr.Dataset({"p": (("chain", "draw", "share"), shares)}, {"chain": [0, 1], "draw": range(5)})
    found, too_many = forward.log_likelihoods(model, posterior)
    assert not too_many
    np.testing.assert_allclose(found["counts"], np.log(shares[..., [0, 2, 2, 2]]))


@pytest.mark.few(1)
@pytest.mark.parametrize("case", LEFT)
def test_models_left_to_pymc(case, left_to_pymc):
    make, distribution = LEFT[case]
    groups = forward.prior_draws(make(), DRAWS, 1)
    assert left_to_pymc == ["sample_prior_predictive"]
    drawn, hits = groups["prior"]["share"].values[0], groups["prior_predictive"]["hits"].values[0]
    assert drawn.shape == hits.shape == (DRAWS, 2)
    for coin in drawn.T:
        assert stats.kstest(distribution(coin), "uniform").pvalue > 1e-6
    share = groups["prior"]["double"].values[0] / 2
    possible = (share > 0.01) & (share < 0.99)
    white(hits[possible], share[possible])


def test_predictions_left_to_pymc(left_to_pymc):
    model = LEFT["without dims"][0]()
    share = np.linspace(0.1, 0.9, 600).reshape(2, 300, 1) * np.ones(2)
    coords = {"chain": [0, 1], "draw": np.arange(300)}
    posterior = xr.Dataset({"share": (("chain", "draw", "share_dim_0"), share)}, coords)
    hits = forward.predictions(model, posterior, 1)["hits"].values
    assert left_to_pymc == ["sample_posterior_predictive"]
    white(hits, share)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["rates", "groups", "groups_logit", "paired"])
def test_the_built_in_models_are_drawn_together(case, left_to_pymc):
    prior = forward.prior_draws(built(*ALL[case]), 20, 1)["prior"]
    forward.predictions(built(*ALL[case]), prior, 1)
    assert not left_to_pymc


@pytest.mark.slow
def test_priors_of_one_object_are_independent():
    prior = pm.Beta.dist(2, 2)
    model = built("rates", SYSTEMS, priors={"recall": prior, "specificity": prior})
    drawn = forward.prior_draws(model, 5000, 1)["prior"]
    numbers = flat(drawn[["prevalence", "recall", "specificity"]])
    correlation = np.corrcoef(numbers, rowvar=False) - np.eye(6)
    assert abs(correlation).max() < 5 / np.sqrt(5000)
