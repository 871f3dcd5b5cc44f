"""Systems that share a population: against integrals over its mean and spread, and by simulated truth."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf.comparison.shrinkage import Population, Families, exact_moments, from_stabilised, stabilised
from bayesperf.distributions.beta import Beta

ESTIMATES = np.array([1.1, 1.9, 1.4])
COVARIANCE = np.array([[0.09, 0.05, 0.02], [0.05, 0.16, 0.01], [0.02, 0.01, 0.04]])


def likelihood(mu, tau, covariance=COVARIANCE):
    """Return p(θ̂ | μ, τ) p(τ), and E[θ | μ, τ, θ̂], by the normals as they are written down."""
    total = covariance + tau**2 * np.eye(3)
    density = stats.multivariate_normal(np.full(3, mu), total).pdf(ESTIMATES) * stats.halfnorm.pdf(tau)
    return density, mu + tau**2 * np.linalg.solve(total, ESTIMATES - mu)


@pytest.mark.parametrize("covariance", [COVARIANCE, np.diag(np.diag(COVARIANCE))])
def test_the_density_of_the_spread_is_an_integral_over_the_mean(covariance):
    tau = np.array([0.01, 0.1, 0.4, 1.5])
    expected = [
        integrate.quad(lambda mu, t=t: likelihood(mu, t, covariance)[0], -12, 15, epsabs=0, limit=200)[0] for t in tau
    ]
    for given in [covariance, np.diag(covariance)][: 1 + (covariance[0, 1] == 0)]:
        found = Population.of(ESTIMATES, given).log_density(tau)
        np.testing.assert_allclose(np.diff(found), np.diff(np.log(expected)), atol=1e-7)


def test_draws_have_the_means_of_an_integral_over_mean_and_spread():
    mu, tau = np.linspace(-5, 8, 401), (np.arange(400) + 0.5) / 400 * 5
    grid = [[likelihood(m, t) for m in mu[::4]] for t in tau[::4]]
    density = np.array([[cell[0] for cell in row] for row in grid])
    means = np.array([[cell[1] for cell in row] for row in grid])
    expected = np.tensordot(density, means, 2) / density.sum()
    n = 100_000
    draws = Population.of(ESTIMATES, COVARIANCE).draws(n, np.random.default_rng(0))
    # The grid of 100 steps of .05 is off by less than .002.
    np.testing.assert_allclose(draws.mean(0), expected, atol=4 * draws.std(0).max() / np.sqrt(n) + 2e-3)


def test_nothing_is_shrunk_where_all_is_known():
    draws = Population.of(ESTIMATES, np.full(3, 1e-8)).draws(1000, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(0), ESTIMATES, atol=1e-4)


def test_moments_of_logits_are_those_of_the_beta_distribution():
    a, b = np.array([[160.5, 40.5], [0.5, 200.5], [0.5, 0.5], [3, 2], [5000, 30]]).T
    mean, variance = exact_moments(Beta(a[:, None], b[:, None]))
    np.testing.assert_allclose(mean, special.digamma(a) - special.digamma(b), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(variance, special.polygamma(1, a) + special.polygamma(1, b), rtol=2e-5)


def test_moments_of_draws_are_about_those_of_the_distribution():
    rng, a, b, n = np.random.default_rng(0), np.array([30.5, 8.5]), np.array([10.5, 2.5]), 40_000
    draws = rng.beta(a, b, (n, 2))
    expected = special.polygamma(1, a) + special.polygamma(1, b)
    mean, variance = drawn_moments(draws, (0.0, 1.0), True)
    np.testing.assert_allclose(mean, special.digamma(a) - special.digamma(b), atol=4 * np.sqrt(expected.max() / n))
    np.testing.assert_allclose(variance, expected, rtol=0.05)
    covariance = drawn_moments(draws, (0.0, 1.0), False)[1]
    np.testing.assert_allclose(np.diag(covariance), variance)
    assert abs(covariance[0, 1]) < 4 * np.sqrt(np.prod(expected) / n)


def shrunk_draws(draws, bounds, rng):
    return from_free(Population.of(*drawn_moments(draws, bounds, True)).draws(len(draws), rng), bounds)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0), (0.0, np.inf), (-np.inf, np.inf)])
def test_shrunk_draws_are_within_the_bounds(bounds):
    rng = np.random.default_rng(0)
    draws = rng.beta([8, 9, 5, 7], [2, 1.5, 5, 3], (4000, 4))
    shrunk = shrunk_draws(draws, bounds, rng)
    assert shrunk.shape == draws.shape
    assert (shrunk >= bounds[0]).all()
    assert (shrunk <= bounds[1]).all()
    assert np.ptp(shrunk.mean(0)) < np.ptp(draws.mean(0))


# ── Comparisons ──


def systems(right, n=200):
    right = np.asarray(right)
    names = [f"s{i}" for i in range(len(right))]
    return bp.posterior(bp.ConfusionMatrix.from_counts(tp=right, fn=n - right, fp=0, tn=0, dims={"model": names}))


def test_all_figures_follow_the_shrunk_systems():
    post = systems([150, 160, 164, 171])
    plain, found = (bp.compare(post, metric="recall", independent=True, shrink=shrink) for shrink in (False, True))
    assert plain.shrunk is None
    means = found.shrunk.mean()
    assert means.dims == ("model",)
    assert np.ptp(means.values) < np.ptp(post["recall"].mean().values)
    draws = found.shrunk.distribution.values[:, 0]
    best = np.bincount(draws.argmax(0), minlength=4) / draws.shape[1]
    np.testing.assert_allclose(found.prob_best, best, atol=1e-12)
    assert found.prob_best.max() < plain.prob_best.max()
    loss = np.maximum(draws[3] - draws[0], 0).mean()
    assert found.expected_loss.sel(model="s0", model_other="s3").item() == pytest.approx(loss, rel=1e-6)
    assert found.summary()["mean"].iloc[0] == pytest.approx((draws[0] - draws[1]).mean(), rel=1e-6)
    assert "note" not in found.prob_best.attrs
    assert found.in_words().endswith(
        "All systems are drawn towards their mean, so that the best owes less to its luck."
    )


def test_systems_on_the_same_examples_and_of_two_sorts(tmp_path):
    frame = bp.datasets.load("breast_cancer")
    cm = bp.ConfusionMatrix.from_predictions(
        frame["actual"], frame["predicted"], pos_label="malignant", by={"model": frame["model"]},
        example=frame["example"],
    )  # fmt: skip
    found = bp.compare(cm, metric="f1", shrink=True, draws=2000)
    plain = bp.compare(cm, metric="f1", draws=2000)
    # Their estimates are far more precise than they differ.
    assert (np.abs(found.difference.mean()) < np.abs(plain.difference.mean())).all()
    np.testing.assert_allclose(found.difference.mean(), plain.difference.mean(), atol=0.01)
    found.save(tmp_path / "found.nc")
    np.testing.assert_array_equal(bp.load(tmp_path / "found.nc").prob_best, found.prob_best)


def test_systems_of_which_some_predictions_are_verified():
    rng, n = np.random.default_rng(0), 300
    truth = rng.integers(2, size=n)
    predicted = {
        name: np.where(rng.random(n) < error, 1 - truth, truth)
        for name, error in zip("abc", (0.1, 0.2, 0.25), strict=True)
    }
    post = bp.verification.posterior(np.where(np.arange(n) % 3 == 0, truth, np.nan), predicted, draws=1000)
    plain, found = (bp.compare(post, metric="accuracy", shrink=shrink, draws=1000) for shrink in (False, True))
    assert plain.in_words().startswith("On accuracy a is ")
    assert "judged afresh a would be about 0.0" in plain.in_words()
    means = plain.systems.make().mean()
    np.testing.assert_allclose(means, post["accuracy"].mean(), atol=1e-12)
    assert np.ptp(found.shrunk.mean().values) < np.ptp(means.values)


def test_where_there_is_nothing_to_shrink_it_is_refused():
    post = systems([150, 160])
    for arguments in ({"b": "majority"}, {"b": post}):
        with pytest.raises(TypeError, match=r"shrink: it is of systems along a dim \('model'\)"):
            bp.compare(post, metric="recall", shrink=True, **arguments)
