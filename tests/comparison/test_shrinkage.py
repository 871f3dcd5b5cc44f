"""Systems that share a population: against integrals over its mean and spread, and by simulated truth."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf.comparison.shrinkage import (
    Families,
    Population,
    even_covariance,
    exact_moments,
    from_stabilised,
    stabilised,
)
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


def test_families_are_as_an_integral_over_their_share():
    """Over mean, spread and share of the spread between families, by the normals as they are written down."""
    codes, n = np.array([0, 1, 0]), 100_000
    same = np.equal.outer(codes, codes)
    mu, tau, share = np.linspace(-4, 7, 111), (np.arange(60) + 0.5) / 60 * 3.5, (np.arange(16) + 0.5) / 16
    total, weighted = 0.0, np.zeros(3)
    for of_families in share:
        spread = (1 - of_families) * np.eye(3) + of_families * same
        for t in tau:
            covariance = COVARIANCE + t**2 * spread
            inverse = np.linalg.inv(covariance)
            residual = ESTIMATES - mu[:, None]
            density = np.exp(-0.5 * np.einsum("mi,ij,mj->m", residual, inverse, residual))
            density *= stats.halfnorm.pdf(t) / np.sqrt(np.linalg.det(covariance))
            total += density.sum()
            weighted += density @ (mu[:, None] + residual @ inverse @ (t**2 * spread))
    draws = Families.of(codes).draws(ESTIMATES, COVARIANCE, n, np.random.default_rng(0))
    # The grid of 60 steps of .06 is off by less than .003.
    np.testing.assert_allclose(draws.mean(0), weighted / total, atol=4 * draws.std(0).max() / np.sqrt(n) + 3e-3)


def test_even_covariances_are_means_of_pairs_and_expect_the_same_sum_of_squares():
    rng, codes = np.random.default_rng(0), np.array([0, 0, 1, 1, 1, 0])
    root = 1 + 0.1 * rng.standard_normal((6, 6))
    draws = rng.multivariate_normal(np.zeros(6), root @ root.T + np.eye(6), 4000)
    found, same = np.cov(draws.T), np.equal.outer(codes, codes) & ~np.eye(6, dtype=bool)
    centring = np.eye(6) - 1 / 6
    assert np.trace(centring @ even_covariance(draws)) == pytest.approx(np.trace(centring @ found))
    even = even_covariance(draws, codes)
    np.testing.assert_allclose(np.diag(even), np.diag(found))
    np.testing.assert_allclose(even[same], found[same].mean())
    np.testing.assert_allclose(even[0, 2:5], found[np.not_equal.outer(codes, codes)].mean())
    np.testing.assert_allclose(even_covariance(draws[:, :2]), found[:2, :2])


def test_the_mean_is_among_the_estimates_however_the_errors_go_together():
    """A shared error that is greater for greater estimates moves the mean out of them: Peelle's puzzle."""
    estimates, loading = np.array([1.0, 1.5]), np.array([0.1, 0.15])
    covariance = np.outer(loading, loading) * 4 + np.diag([0.01, 0.0225])
    draws = np.random.default_rng(0).multivariate_normal(estimates, covariance, 50_000)
    for given, inside in [(covariance, False), (even_covariance(draws), True)]:
        weights = np.linalg.solve(given, [1, 1])
        assert (1 <= weights @ estimates / weights.sum() <= 1.5) == inside


@pytest.mark.parametrize("share", [0.1, 0.8])
def test_powers_of_the_matrix_of_families_are_those_of_its_eigenvectors(share):
    codes = np.array([0, 1, 0, 2, 1, 0])
    matrix = (1 - share) * np.eye(6) + share * np.equal.outer(codes, codes)
    values, vectors = np.linalg.eigh(matrix)
    x, families = np.random.default_rng(0).standard_normal((4, 6)), Families.of(codes)
    for exponent in (-0.5, 0.5, 1):
        expected = x @ (vectors * values**exponent @ vectors.T)
        np.testing.assert_allclose(families.power(share, exponent, x), expected, atol=1e-12)
    assert families.log_determinant(share) == pytest.approx(np.log(values).sum(), abs=1e-12)


def test_families_of_independent_systems_share_what_is_known():
    """A system of which nearly nothing is known is as its family is, not as all are."""
    estimates, variances = np.array([0.9, 1.0, 1.1, 2.0, 2.1, 1.5]), np.array([1e-3] * 5 + [10.0])
    families = Families.of(np.array([0, 0, 0, 1, 1, 1]))
    draws = families.draws(estimates, variances, 20_000, np.random.default_rng(0))
    alone = Population.of(estimates, variances).draws(20_000, np.random.default_rng(0))
    assert 1.8 < np.median(draws[:, 5]) < 2.2
    assert 1.2 < np.median(alone[:, 5]) < 1.7


# ── The scale ──


def test_moments_are_integrals_over_the_beta_distribution():
    a, b = np.array([[160.5, 40.5], [0.5, 200.5], [0.5, 0.5], [3, 2], [5000, 30]]).T
    mean, variance = exact_moments(Beta(a[:, None], b[:, None]))

    def angle(x):
        return 2 * np.arcsin(np.sqrt(x))

    for i in range(len(a)):
        each = stats.beta(a[i], b[i])
        ends = each.ppf([1e-14, 0.5, 1 - 1e-14])
        pieces = [(ends[0], ends[1]), (ends[1], ends[2])]
        expected = [
            sum(
                integrate.quad(lambda x, k=k, d=each: angle(x) ** k * d.pdf(x), *piece, limit=400)[0]
                for piece in pieces
            )
            for k in (1, 2)
        ]
        # Gauss and Hermite's rule is worst for the density at both ends, of half a pseudo-example each.
        assert mean[i] == pytest.approx(expected[0], rel=2e-4)
        assert variance[i] == pytest.approx(expected[1] - expected[0] ** 2, rel=2e-2)


def test_on_the_scale_the_standard_error_does_not_depend_on_the_value():
    right = np.array([100, 150, 180])
    _, variance = exact_moments(Beta(right[:, None] + 0.5, 200.5 - right[:, None]))
    np.testing.assert_allclose(variance, 1 / 200, rtol=0.01)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0), (0.0, np.inf), (-np.inf, np.inf)])
def test_the_scale_has_an_inverse(bounds):
    x = np.array([0.05, 0.3, 0.95])
    np.testing.assert_allclose(from_stabilised(stabilised(x, bounds), bounds), x, atol=1e-12)
    if np.isfinite(bounds).all():
        np.testing.assert_allclose(from_stabilised(stabilised(np.array(bounds), bounds), bounds), bounds, atol=1e-12)


def shrunk_draws(draws, bounds, rng):
    values = stabilised(draws, bounds)
    return from_stabilised(Population.of(values.mean(0), values.var(0)).draws(len(draws), rng), bounds)


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


def test_families_are_named_for_every_system():
    post = systems([150, 160, 164, 171])
    settings = {"metric": "recall", "independent": True, "shrink": True}
    families = {"s0": "old", "s1": "new", "s2": "new", "s3": "old"}
    found = bp.compare(post, families=families, **settings)
    assert "mean of its family, and families towards that of all" in found.basis
    assert "families" in found.in_words()
    assert not np.allclose(found.shrunk.mean(), bp.compare(post, **settings).shrunk.mean(), atol=1e-3)
    for bad, words in [
        ({"s0": 1, "s1": 2}, "families: of system 's2' and 1 more the family is not given"),
        (families | {"s9": "old"}, "families: 's9' is no system"),
        (dict.fromkeys(families, "old"), "families: all systems are of 'old'"),
    ]:
        with pytest.raises(ValueError, match=words):
            bp.compare(post, families=bad, **settings)
    with pytest.raises(TypeError, match="families must map each system to its family; it is list"):
        bp.compare(post, families=["old", "new"], **settings)
    with pytest.raises(TypeError, match="families: they are what systems are drawn to"):
        bp.compare(post, metric="recall", independent=True, families=families)


def test_standings_are_of_the_joint_draws():
    post = systems([150, 171, 160, 164])
    for shrink in (False, True):
        found = bp.compare(post, metric="recall", independent=True, shrink=shrink)
        table = found.standings(0.9, "eti")
        assert table["model"].tolist() == ["s1", "s3", "s2", "s0"]
        np.testing.assert_allclose(table["observed"], [0.855, 0.82, 0.8, 0.75])
        draws = found.make_draws().sel(model=table["model"].values)
        ranks = stats.rankdata(-draws.values, axis=-1).mean(0)
        np.testing.assert_allclose(table["expected_rank"], ranks, atol=1e-9)
        np.testing.assert_allclose(table["expected_loss"], (draws.max("model") - draws).mean("draw"), atol=1e-12)
        np.testing.assert_allclose(table["prob_best"], found.prob_best.sel(model=table["model"].values))
        each = (found.shrunk or post["recall"]).sel(model=table["model"].values)
        np.testing.assert_allclose(table[["ci_lower", "ci_upper"]], each.eti(0.9))
        assert ("chosen for its luck" in repr(table)) is not shrink
    # An error is better the less there is of it.
    losses = bp.compare(post, metric="fnr", independent=True).standings()
    assert losses["model"].iloc[0] == "s1"
    assert (losses["expected_loss"] >= 0).all()
    with pytest.raises(ValueError, match="standings: they are of many systems' own metric"):
        bp.compare(systems([150]), systems([160]), "recall", independent=True).standings()


def test_settings_of_one_learner_are_not_taken_for_all_that_differs():
    """Two learners of accuracy .9 and .8, of twenty settings each, whose predictions hardly differ."""
    rng, n = np.random.default_rng(0), 400
    hard = rng.standard_normal(n)
    learners = [(hard + rng.standard_normal(n)) / np.sqrt(2) < special.ndtri(accuracy) for accuracy in (0.9, 0.8)]
    right = [learner ^ (rng.random(n) < 0.01) for learner in learners for _ in range(20)]
    cm = bp.ConfusionMatrix.from_predictions(np.ones(n, int), dict(enumerate(np.array(right, int))), labels=[0, 1])
    observed = np.mean(right, 1)
    shrunk = bp.compare(cm, metric="recall", shrink=True, draws=2000).shrunk.mean().values
    # With each covariance as it is, about half of the difference is left.
    between = shrunk[:20].mean() - shrunk[20:].mean()
    assert 0.85 < between / (observed[:20].mean() - observed[20:].mean()) < 1
    assert abs(shrunk.mean() - observed.mean()) < 0.004


def test_the_metric_of_clustered_systems_is_shrunk():
    rng = np.random.default_rng(0)
    actual = rng.integers(2, size=600)
    predicted = {i: actual ^ (rng.random(600) < 0.25) for i in range(8)}
    cm = bp.ConfusionMatrix.from_predictions(actual, predicted, cluster=rng.integers(60, size=600))
    post = bp.pool(cm).mean
    alone, found = (bp.compare(post, metric="f1", shrink=shrink) for shrink in (False, True))
    assert np.ptp(found.shrunk.mean().values) < np.ptp(post["f1"].mean().values)
    assert found.prob_best.max() < alone.prob_best.max()
