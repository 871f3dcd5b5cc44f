"""Exact draws of the model `groups` of two classes, against a grid over each row's rate and dispersion."""

from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import interpolate, special, stats

import bayesperf as bp
from tests.shared.fits import LEVELS, SITES, SIX_SITES, agrees, differs, error, exact, of_scipy, table

DRAWS = {"draws": 2500, "chains": 4}
SYSTEMS = table(
    [[[[9, 1], [2, 6]], [[4, 0], [0, 0]], [[3, 3], [1, 8]]], [[[20, 2], [9, 1]], [[30, 1], [20, 5]], [[6, 0], [0, 9]]]],
    ["no", "yes"], "yes", model=["A", "B"], site=[2, 3, 5],
)  # fmt: skip
# None of them symmetric: (rates of the class "no", of "yes"), and so on.
PRIORS = {
    "rates": [[8.0, 2.0], [1.0, 3.0]], "dispersion": [[2.0, 10.0], [1.0, 30.0]], "prevalence": [3.0, 5.0],
}  # fmt: skip
PRIORS_OF_CLUSTERS = PRIORS | {"prevalence_dispersion": [2.0, 8.0]}
DEFAULTS = {"rates": [[1.0, 1.0]] * 2, "dispersion": [[1.0, 24.0]] * 2, "prevalence": [1.0, 1.0]}
CLUSTERS = DEFAULTS | {"dispersion": [[1.0, 9.0]] * 2, "prevalence_dispersion": [1.0, 3.0]}
KIND = {"groups": "clusters"}
# Data of one system, parameters of the priors, and options.
CASES = {
    "defaults": (SITES, DEFAULTS, {}),
    "clusters": (SITES, CLUSTERS, KIND),
    "priors": (SITES, PRIORS, {}),
    "priors of clusters": (SITES, PRIORS_OF_CLUSTERS, KIND),
    "repeats": (SIX_SITES, PRIORS, {"repeats": 3}),
    "repeats of clusters": (SIX_SITES, PRIORS_OF_CLUSTERS, KIND | {"repeats": 3}),
    "by actual": (SITES, PRIORS, {"design": "by_actual"}),
    "clusters by actual": (SITES, PRIORS_OF_CLUSTERS, KIND | {"design": "by_actual"}),
    "many of a few": (table([[[1900, 100], [40, 60]], [[1800, 200], [10, 90]]], site=[0, 1]), DEFAULTS, {}),
}


def pymc_priors(parameters, systems=()):
    """Return PyMC's priors, the same for each system; nothing for the defaults."""
    if parameters in (DEFAULTS, CLUSTERS):
        return None
    each = {name: np.broadcast_to(values, (*systems, *np.shape(values))) for name, values in parameters.items()}
    return {
        name: pm.Beta.dist(values[..., 0], values[..., 1]) if "dispersion" in name else pm.Dirichlet.dist(values)
        for name, values in each.items()
    }


def grid(successes, trials, mean, dispersion, power):
    """Return p and ρ on a grid over their logits, and the probability of each node."""
    logit_p, logit_rho = np.linspace(-16, 16, 801)[:, None], np.linspace(-22, 9, 401)
    log_p, log_q = special.log_expit(logit_p), special.log_expit(-logit_p)
    log_rho, log_rest = special.log_expit(logit_rho), special.log_expit(-logit_rho)
    # Logits have the densities of p and ρ times p(1 − p) and ρ(1 − ρ).
    log_density = mean[0] * log_p + mean[1] * log_q + dispersion[0] * log_rho + dispersion[1] * log_rest
    kappa = np.exp(-logit_rho)
    a, b = kappa * np.exp(log_p), kappa * np.exp(log_q)
    for k, n in zip(successes, trials, strict=True):
        log_density = log_density + power * (special.betaln(a + k, b + n - k) - special.betaln(a, b))
    mass = np.exp(log_density - log_density.max())
    return special.expit(logit_p), special.expit(logit_rho), mass / mass.sum()


def marginal(values, mass):
    """Return mean, standard deviation and quantiles, these by a spline through the nodes, which are equidistant."""
    mean = (values * mass).sum()
    logit = special.logit(values)
    finer = np.linspace(logit[0], logit[-1], 50_001)
    cumulative = interpolate.CubicSpline(logit, mass / (logit[1] - logit[0])).antiderivative()(finer)
    quantiles = special.expit(np.interp(LEVELS, cumulative, finer))
    return mean, np.sqrt(((values - mean) ** 2 * mass).sum()), quantiles


def reference(marginals, *dims):
    """Return the figures of marginals, as `agrees` takes them."""
    mean, sd, quantiles = (np.array(figure) for figure in zip(*marginals, strict=True))
    shape = () if not dims else mean.shape
    return SimpleNamespace(mean=xr.DataArray(mean.reshape(shape), dims=dims), sd=sd, quantiles=quantiles, draws=np.inf)


def grids(counts, parameters, repeats=1, design="joint", **_):
    """Return the grid of each row of a system (group, actual, predicted), and that of prevalence in clusters."""
    totals = counts.sum(-1)
    rows = [
        grid(counts[:, i, 0], totals[:, i], parameters["rates"][i], parameters["dispersion"][i], 1 / repeats)
        for i in (0, 1)
    ]
    if "prevalence_dispersion" not in parameters:
        return rows, None
    informed = totals if design == "joint" else 0 * totals
    priors = parameters["prevalence"], parameters["prevalence_dispersion"]
    return rows, grid(informed[:, 0], informed.sum(-1), *priors, 1 / repeats)


def agrees_with_grids(posterior, counts, parameters, options):
    """Check draws of one system: each parameter, and rates and dispersions together."""
    rows, prevalence = grids(counts, parameters, **options)
    pairs = [
        ((posterior["rates"].isel(actual=i, predicted=0), posterior["dispersion"].isel(actual=i)), row)
        for i, row in enumerate(rows)
    ]
    if prevalence:
        pairs.append(((posterior["prevalence"].isel(actual=0), posterior["prevalence_dispersion"]), prevalence))
    else:
        seen = counts.sum((0, 2)) * (options.get("design") != "by_actual") / options.get("repeats", 1)
        a, b = parameters["prevalence"] + seen
        agrees(posterior["prevalence"], of_scipy(stats.beta([a, b], [b, a]), "actual"))
    for (share, dispersion), (p, rho, mass) in pairs:
        agrees(share, reference([marginal(p[:, 0], mass.sum(1))]))
        agrees(dispersion, reference([marginal(rho, mass.sum(0))]))
        for function in JOINT:
            drawn = function(share, dispersion).transpose("chain", "draw").values
            assert drawn.mean() == pytest.approx((function(p, rho) * mass).sum(), abs=5 * error(drawn))


JOINT = [lambda p, rho: p * rho, lambda p, rho: special.logit(p) * np.log(rho), lambda p, rho: p**2 / (1 + 20 * rho)]


def test_the_grid_is_fine_enough():
    """Without groups it is the prior; of one group's single example, conjugate."""
    p, rho, mass = grid([], [], [1.5, 4.0], [2.0, 8.0], 1.0)
    for values, weights, (a, b) in ((p[:, 0], mass.sum(1), (1.5, 4)), (rho, mass.sum(0), (2, 8))):
        mean, sd, quantiles = marginal(values, weights)
        np.testing.assert_allclose([mean, sd], [stats.beta(a, b).mean(), stats.beta(a, b).std()], rtol=1e-9)
        np.testing.assert_allclose(quantiles, stats.beta(a, b).ppf(LEVELS), rtol=1e-5)
    p, rho, mass = grid([1], [1], [1.5, 4.0], [2.0, 8.0], 1.0)
    assert (p * mass).sum() == pytest.approx(2.5 / 6.5, rel=1e-9)


@pytest.fixture
def posterior_of(alone):
    def fit(case, data=None, **settings):
        cm, parameters, options = CASES[case]
        cm = cm if data is None else data
        priors = pymc_priors(parameters, [cm.counts.sizes[dim] for dim in cm.dims if dim == "model"])
        settings = {"method": "exact", "options": {"dim": "site", **options}, "random_seed": 1, **DRAWS, **settings}
        return bp.fit(cm, "groups", priors, **settings)["posterior"]

    return fit


@pytest.mark.few(1)
@pytest.mark.parametrize("case", CASES)
def test_draws_are_of_the_posterior(case, posterior_of):
    cm, parameters, options = CASES[case]
    posterior = posterior_of(case)
    counts = cm.counts.transpose("site", "actual", "predicted").values
    agrees_with_grids(posterior, counts, parameters, options)
    cells = posterior["prevalence"] * posterior["rates"]
    np.testing.assert_allclose(posterior["cells"].transpose(*cells.dims), cells, rtol=1e-12)
    np.testing.assert_allclose(posterior["rates"].sum("predicted"), 1)
    np.testing.assert_allclose(posterior["prevalence"].sum("actual"), 1)
    assert ("prevalence_dispersion" in posterior) == (options.get("groups") == "clusters")
    assert posterior.attrs["method"] == "exact"


@pytest.mark.slow
def test_the_comparison_sees_other_priors(posterior_of):
    counts = SITES.counts.values
    for case, others in OTHER_PRIORS.items():
        _, parameters, options = CASES[case]
        posterior = posterior_of(case)
        for name, other in others.items():
            with pytest.raises(AssertionError):
                agrees_with_grids(posterior, counts, parameters | {name: other}, options)
        with pytest.raises(AssertionError):
            agrees_with_grids(posterior, counts, parameters, options | {"repeats": 3})


OTHER_PRIORS = {
    "priors": {
        "rates": [[2.0, 8.0], [1.0, 3.0]], "dispersion": [[1.0, 30.0], [2.0, 10.0]], "prevalence": [5.0, 3.0],
    },
    "priors of clusters": {"prevalence": [5.0, 3.0], "prevalence_dispersion": [1.0, 8.0]},
}  # fmt: skip


@pytest.mark.slow
def test_each_system_has_its_own_posterior(posterior_of):
    """And its own draws, whatever other systems there are, and wherever the dim of groups is."""
    together, options = posterior_of("priors of clusters", SYSTEMS), CASES["priors of clusters"][2]
    for name in ("A", "B"):
        counts = SYSTEMS.counts.sel(model=name).values
        agrees_with_grids(together.sel(model=name), counts, PRIORS_OF_CLUSTERS, options)
    assert together["rates"].dims == ("chain", "draw", "model", "actual", "predicted")
    assert together["prevalence_dispersion"].dims == ("chain", "draw", "model")
    turned = bp.ConfusionMatrix(SYSTEMS.counts.isel(model=[1, 0]).transpose("site", "model", ...), "yes")
    for other in (SYSTEMS.sel(model=["B"]), turned):
        found = posterior_of("priors of clusters", other)
        for name in ("rates", "dispersion", "prevalence", "prevalence_dispersion", "cells"):
            np.testing.assert_array_equal(found[name].sel(model="B"), together[name].sel(model="B"), err_msg=name)


@pytest.mark.slow
def test_parameters_that_are_independent_are_drawn_so(posterior_of):
    """Rows, prevalence and systems; and the draws themselves, within a chain and between chains."""
    posterior = posterior_of("priors of clusters", SYSTEMS)
    rates = posterior["rates"].isel(predicted=0).transpose("chain", "draw", ...)
    numbers = [
        *rates.values.reshape(10_000, 4).T,
        *posterior["prevalence"].isel(actual=0).values.reshape(10_000, 2).T,
    ]
    correlation = stats.spearmanr(np.transpose(numbers)).statistic - np.eye(6)
    assert abs(correlation).max() < 5 / 100
    chains = [rates.values[..., 0, 0], posterior["dispersion"].values[..., 0, 0]]
    for drawn in chains:
        assert abs(stats.spearmanr(drawn[:, 1:].ravel(), drawn[:, :-1].ravel()).statistic) < 5 / 100
        assert abs(stats.spearmanr(drawn.T).statistic - np.eye(4)).max() < 5 / 50


@pytest.mark.slow
def test_priors_of_each_system(posterior_of):
    given = {"dispersion": pm.Beta.dist([[1.0, 2.0], [3.0, 4.0]], [[20.0, 30.0], [40.0, 50.0]])}
    tree = exact(SYSTEMS, "groups", given, options={"dim": "site"}, **DRAWS)
    for i, name in enumerate("AB"):
        dispersion = np.stack([[[1.0, 2.0], [3.0, 4.0]][i], [[20.0, 30.0], [40.0, 50.0]][i]], -1)
        counts = SYSTEMS.counts.sel(model=name).values
        agrees_with_grids(tree["posterior"].sel(model=name), counts, DEFAULTS | {"dispersion": dispersion}, {})


@pytest.mark.slow
def test_the_other_rates_are_seen_to_differ(posterior_of):
    draws = posterior_of("defaults")["rates"].isel(predicted=0)
    rows, _ = grids(SITES.counts.values, CLUSTERS)
    differs(draws, reference([marginal(p[:, 0], mass.sum(1)) for p, _, mass in rows], "actual"))


@pytest.mark.slow
@pytest.mark.parametrize("case", ["priors", "priors of clusters", "repeats", "by actual"])
def test_nuts_agrees(case, posterior_of):
    cm, parameters, options = CASES[case]
    posterior = posterior_of(case, method="mcmc", progressbar=False)
    assert posterior.attrs["method"] == "mcmc"
    agrees_with_grids(posterior, cm.counts.transpose("site", "actual", "predicted").values, parameters, options)
