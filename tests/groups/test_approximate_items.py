"""The approximation to the model `items`: against weighted draws of the prior, dense matrices and the sampler."""

import numpy as np
import pymc as pm
import pytest
from scipy import linalg, special

import bayesperf as bp
from bayesperf.groups import approximate_items
from bayesperf.groups.approximate_items import Crossed, Normal
from bayesperf.sampling import fitting
from tests.shared.models import ANSWERED

HALVES = np.array([0, 0, 1, 1])
SPREADS = ("ability_spread", "difficulty_spread", "set_spread")


def crossed_of(passed, attempts, place=None):
    passed = np.array(passed, float)
    place = np.zeros(passed.shape[1], int) if place is None else place
    attempts = np.broadcast_to(np.asarray(attempts, float), passed.shape)
    return Crossed(passed, attempts, place, np.array([0.0, 1.0]), np.ones(2 + bool(place.any())))


def simulated(systems, items, seed=1):
    rng = np.random.default_rng(seed)
    chance = special.expit(rng.normal(0, 0.7, (systems, 1)) - rng.normal(0, 1, items))
    return rng.binomial(1, chance)


def anywhere(crossed):
    """Return a distribution from which Newton's method can start."""
    size = sum(crossed.passed.shape) + crossed.design.shape[1]
    return Normal(np.zeros(size), np.zeros(crossed.passed.shape))


TINY = {
    "all seen": ([[4, 3, 2, 4], [1, 1, 0, 3], [2, 3, 1, 3]], 4, None),
    "two sets": ([[3, 2, 1, 0], [4, 2, 0, 0]], [[4, 4, 4, 4], [4, 4, 0, 0]], HALVES),
}


@pytest.mark.parametrize("case", TINY)
def test_moments_are_those_of_weighted_draws_of_the_prior(case):
    """The posterior of a few attempts, where a normal distribution is at its worst, by importance sampling."""
    rng, n = np.random.default_rng(5), 400_000
    crossed = crossed_of(*TINY[case])
    scales = abs(rng.standard_normal((len(crossed.scales), n, 1)))
    deviations = [rng.standard_normal((n, size)) for size in crossed.sizes]
    ability, shift, *sets = [s * (z - z.mean(1, keepdims=True)) for s, z in zip(scales, deviations, strict=True)]
    location = rng.logistic(size=(n, 1))
    difficulty = location + shift + (sets[0][:, crossed.place] if sets else 0)
    logit = ability[..., None] - difficulty[:, None]
    log_weight = (crossed.passed * logit + crossed.attempts * special.log_expit(-logit)).sum((1, 2))
    weight = special.softmax(log_weight)
    expected = np.hstack([ability, difficulty, location, *sets, *scales])
    spreads, values = approximate_items._drawn(crossed, np.random.default_rng(0), 100_000)
    found = np.hstack([values, spreads])

    mean, sd = weight @ expected, np.sqrt(weight @ (expected - weight @ expected) ** 2)
    error = 4 * np.sqrt((weight**2).sum())
    assert abs((found.mean(0) - mean) / sd).max() < 0.05 + error
    assert abs(found.std(0) / sd - 1).max() < 0.06 + error


@pytest.mark.parametrize("shape", [(3, 5), (5, 3)])
def test_matrices_in_parts_are_the_dense_ones(shape):
    """Whichever of systems and items is the long part; deviations sum to 0 in a basis of the vectors that do."""
    systems, items = shape
    place = np.arange(items) % 2
    crossed = crossed_of(simulated(*shape), 1, place)
    rng, spreads, curvature = np.random.default_rng(2), np.array([0.7, 1.1, 0.4]), 0.3
    weight = rng.uniform(0.1, 0.3, shape)
    found = crossed.precision(weight, spreads, curvature)

    size = systems + items + 3
    ability, difficulty, means = np.split(np.eye(size), [systems, systems + items])
    cells = (ability[:, None] - difficulty).reshape(-1, size)
    shift = difficulty - crossed.design @ means
    terms = [(cells, weight.ravel()), (ability, 1 / 0.7**2), (shift, 1 / 1.1**2), (means[1:], 1 / 0.4**2)]
    dense = sum((rows.T * w) @ rows for rows, w in terms) + curvature * np.outer(means[0], means[0])
    basis = linalg.null_space(np.array([ability.sum(0), shift.sum(0), means[1:].sum(0)]))
    inside = np.linalg.inv(basis.T @ dense @ basis)
    covariance = basis @ inside @ basis.T
    marginal, of_cells = found.variances(*shape)
    np.testing.assert_allclose(marginal, np.diag(covariance), atol=1e-10)
    np.testing.assert_allclose(of_cells.ravel(), ((cells @ covariance) * cells).sum(1))
    np.testing.assert_allclose(found.conditioned(found.solve(np.eye(size))), covariance, atol=1e-10)
    drawn = found.draw(np.random.default_rng(1), 200_000)
    np.testing.assert_allclose(np.cov(drawn), covariance, atol=5 * np.diag(covariance).max() * np.sqrt(2 / 200_000))

    other = crossed.precision(weight, np.array([0.7, 2.0, 0.4]), curvature).log_determinant()
    terms[2] = shift, 1 / 2.0**2
    dense = sum((rows.T * w) @ rows for rows, w in terms) + curvature * np.outer(means[0], means[0])
    expected = np.linalg.slogdet(inside)[1] + np.linalg.slogdet(basis.T @ dense @ basis)[1]
    assert found.log_determinant() - other == pytest.approx(expected)


@pytest.mark.parametrize("place", [None, HALVES])
def test_slopes_are_those_of_the_log_density(place):
    """A system's passes are an item's failures, so that the table on its side has the same density."""
    crossed = crossed_of(simulated(3, 4), 1, place)
    start, step = anywhere(crossed), 1e-3
    u = np.array([0.5, -0.3, 0.1])[: len(crossed.scales)]
    found = crossed.closest(u, start)[0]
    for place_of, of_one in enumerate(step * np.eye(len(u))):
        low, high = (crossed.closest(u + sign * of_one, start)[0].log_density for sign in (-1, 1))
        slope = found.slope[place_of] * crossed.spreads(u)[1][place_of]
        assert (high - low) / (2 * step) == pytest.approx(slope, abs=0.01)
    if place is None:
        aside = crossed_of(1 - crossed.passed.T, 1)
        mirrored = aside.closest(u[::-1], anywhere(aside))[0]
        assert mirrored.log_density == pytest.approx(found.log_density, abs=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("priors", [None, {"location": pm.Logistic.dist(1, 2), "set_spread": pm.HalfNormal.dist(0.5)}])
def test_the_tree_is_that_of_the_sampler(priors, sampler):
    """The same variables over the same dims; abilities and difficulties are what the model makes of the rest."""
    settings = {"random_seed": 1, "draws": 50, "priors": priors}
    tree, sampled = (bp.fit(ANSWERED, "items", method=how, **settings) for how in ("approximate", "mcmc"))
    assert len(sampler) == 1
    assert set(tree.children) == set(sampled.children) - {"sample_stats"}
    for name, group in tree.children.items():
        shapes = ({key: dict(each[key].sizes) for key in each.data_vars} for each in (group, sampled[name]))
        assert next(shapes) == next(shapes)
    post = tree["posterior"].to_dataset()
    model = bp.models.build(ANSWERED, "items", priors)
    free = post[[variable.name for variable in model.free_RVs]]
    computed = pm.compute_deterministics(free, model=model, progressbar=False, compile_kwargs={"mode": "FAST_COMPILE"})
    for name, values in computed.data_vars.items():
        np.testing.assert_allclose(post[name].transpose(*values.dims), values, atol=1e-12)
    attrs = post.attrs
    assert (attrs["method"], attrs["sampler"], attrs["independent_draws"]) == ("approximate", "approximate", 1)
    assert attrs["prior"].endswith("; the posterior is approximated by normal distributions")
    assert "approximated" not in sampled["posterior"].attrs["prior"]
    assert bp.compare(tree, metric="pass_rate").names == ("x", "y")


@pytest.mark.parametrize("passed", [np.ones((3, 8)), np.zeros((2, 2)), np.eye(2, 300), np.tile([[1], [0]], 50)])
def test_extreme_tables(passed):
    crossed = crossed_of(passed, 1)
    spreads, values = approximate_items._drawn(crossed, np.random.default_rng(0), 1000)
    assert np.isfinite(spreads).all()
    assert (spreads > 0).all()
    assert abs(values).max() < 30


def test_predictions_of_too_many_cells_are_left_out(monkeypatch):
    monkeypatch.setattr(fitting, "_MOST_PREDICTED", 6 * 2 * 50)
    settings = {"method": "approximate", "draws": 50, "random_seed": 1}
    tree = bp.fit(ANSWERED, "items", **settings)
    assert tree.attrs["left_out"] == (
        "posterior_predictive: draws × counts are more than 5 · 10⁸ values; sample fewer draws"
    )
    monkeypatch.setattr(fitting, "_MOST_PREDICTED", 6 * 2 * 50 - 1)
    without = bp.fit(ANSWERED, "items", **settings)
    assert without.attrs["left_out"].startswith("prior_predictive, posterior_predictive: draws")
    assert set(tree.children) - set(without.children) == {"prior_predictive"}
    assert without["posterior"].equals(tree["posterior"])


@pytest.mark.slow
def test_moments_are_those_of_the_sampler():
    """100 items and 10 systems, of which each has seen about three quarters."""
    rng = np.random.default_rng(4)
    attempts = rng.binomial(2, 0.5, (10, 100))
    right = rng.binomial(attempts, special.expit(rng.normal(0, 0.7, (10, 1)) - rng.normal(0, 1, 100)))
    seen = attempts.any(0)
    data = bp.Outcomes.from_counts(right=right[:, seen], n=attempts[:, seen], dims=["model", "item"])
    settings = {"draws": 2000, "random_seed": 1}
    near, sampled = (bp.fit(data, "items", method=how, **settings)["posterior"] for how in ("approximate", "mcmc"))
    for name in ("ability", "difficulty", "location", "pass_rate", "pass_rate_new", *SPREADS[:2]):
        sd = sampled[name].std(["chain", "draw"])
        ess = sampled[name].to_dataset().azstats.ess()[name]
        error = 4.5 * np.sqrt(1 / ess + 1 / 8000)
        assert (
            abs(near[name].mean(["chain", "draw"]) - sampled[name].mean(["chain", "draw"])) / sd < 0.05 + error
        ).all()
        assert (abs(near[name].std(["chain", "draw"]) / sd - 1) < 0.05 + error).all()
