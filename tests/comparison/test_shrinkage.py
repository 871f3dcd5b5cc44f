"""Systems that share a population: against sums over who belongs to which component, and by simulated truth."""

from itertools import product

import numpy as np
import pytest
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf.comparison import shrinkage
from bayesperf.comparison.shrinkage import (
    Estimates,
    estimates_of_draws,
    exact_moments,
    from_stabilised,
    stabilised,
)
from bayesperf.distributions.beta import Beta

MEANS, VARIANCES = np.array([-0.25, 0.3, 0.1, -0.1]), np.array([0.02, 0.015, 0.03, 0.02])


def enumerated(estimates, components, concentration, spread):
    """Return means and P(θ_1 > θ_2) of systems, summed over all assignments and over a grid of standard deviations.

    Each term has the normals as they are written down, with all errors in one covariance and μ by least squares.
    """
    count, families = len(estimates.means), estimates.families
    families = np.zeros(count, int) if families is None else families
    errors = np.diag(estimates.variances) + estimates.common
    errors = errors + estimates.of_family * np.equal.outer(families, families)
    # Middles of steps of equal probability.
    steps = stats.halfnorm(scale=spread).ppf((np.arange(40) + 0.5) / 40)
    weight, mean, greater = 0.0, np.zeros(count), 0.0
    for places in product(range(components), repeat=count):
        used = np.unique(places)
        belongs = np.equal.outer(places, used).astype(float)
        tau = np.stack(np.meshgrid(*[steps] * len(used), indexing="ij"), -1).reshape(-1, len(used))
        spreads = np.einsum("gk,mk,nm->gmn", tau**2, belongs, np.eye(count))
        inverse = np.linalg.inv(errors + spreads)
        information = belongs.T @ inverse @ belongs
        mu = np.linalg.solve(information, belongs.T @ inverse @ estimates.means[:, None])
        residual = estimates.means[:, None] - belongs @ mu
        exponent = -0.5 * (residual.transpose(0, 2, 1) @ inverse @ residual)[:, 0, 0]
        determinants = np.linalg.slogdet(inverse)[1] - np.linalg.slogdet(information)[1]
        # A flat density of 1/π for each mean.
        constant = (2 * np.pi) ** (len(used) / 2) / np.pi ** len(used)
        density = np.exp(exponent + determinants / 2) * constant / len(tau)
        for family in np.unique(families):
            held = np.bincount(np.array(places)[families == family], minlength=components)
            density *= np.exp(special.gammaln(held + concentration / components).sum())
        gain = spreads @ inverse
        values = (belongs @ mu + gain @ residual)[..., 0]
        left = belongs - gain @ belongs
        covariance = spreads - gain @ spreads + left @ np.linalg.inv(information) @ left.transpose(0, 2, 1)
        sd = np.sqrt(covariance[:, 1, 1] + covariance[:, 2, 2] - 2 * covariance[:, 1, 2])
        weight += density.sum()
        mean += density @ values
        greater += density @ special.ndtr((values[:, 1] - values[:, 2]) / sd)
    return mean / weight, greater / weight


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimates",
    [
        Estimates(MEANS, VARIANCES),
        Estimates(MEANS, VARIANCES, common=0.01, of_family=0.02, families=np.array([0, 1, 1, 0])),
    ],
    ids=["apart", "families"],
)
def test_draws_are_those_of_a_sum_over_all_assignments(estimates, monkeypatch):
    components, concentration = 2, 1.0
    monkeypatch.setattr(shrinkage, "_COMPONENTS", components)
    monkeypatch.setattr(shrinkage, "_CONCENTRATION", concentration)
    monkeypatch.setattr(shrinkage, "_CELLS", 80)
    mean, greater = enumerated(estimates, components, concentration, shrinkage._SPREAD)
    monkeypatch.setattr(shrinkage, "_KEPT", (2000, 0))
    draws = estimates.draws(100_000, np.random.default_rng(0))
    # Standard errors by the chains, and what the grids are off by.
    by_chain = draws.reshape(50, -1, len(mean))
    error = by_chain.mean(1).std(0) / np.sqrt(50)
    np.testing.assert_allclose(draws.mean(0), mean, atol=4 * error.max() + 5e-4)
    found = (by_chain[..., 1] > by_chain[..., 2]).mean(1)
    assert found.mean() == pytest.approx(greater, abs=4 * found.std() / np.sqrt(50) + 1e-3)


def test_nothing_is_shrunk_where_all_is_known():
    draws = Estimates(MEANS, np.full(4, 1e-8)).draws(1000, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(0), MEANS, atol=1e-4)


@pytest.mark.slow
def test_what_all_share_moves_all():
    """An error of variance c common to all is that of every system and of no difference."""
    apart, together = (
        Estimates(MEANS, VARIANCES, common).draws(20_000, np.random.default_rng(0)) for common in (0.0, 0.04)
    )
    np.testing.assert_allclose(np.diff(apart), np.diff(together), atol=1e-12)
    np.testing.assert_allclose(together.var(0) - apart.var(0), 0.04, atol=0.003)


@pytest.mark.slow
def test_a_unit_that_is_small_beside_the_estimates_changes_nothing():
    """On a scale without ends, as of costs, thousands are shrunk as units are."""
    wide = Estimates(MEANS * 1e3, VARIANCES * 1e6).draws(20_000, np.random.default_rng(0)) / 1e3
    wider = Estimates(MEANS * 1e6, VARIANCES * 1e12).draws(20_000, np.random.default_rng(0)) / 1e6
    np.testing.assert_allclose(wide, wider, rtol=1e-9)
    assert np.ptp(wide.mean(0)) < np.ptp(MEANS)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
def test_a_few_systems_are_drawn_in_a_little(count):
    means = np.array([2.0, 2.2, 2.1])[:count]
    draws = Estimates(means, np.full(count, 0.005)).draws(10_000, np.random.default_rng(0))
    assert 0.3 * np.ptp(means) < np.ptp(draws.mean(0)) < np.ptp(means)
    assert (np.sqrt(0.005) * 0.6 < draws.std(0)).all()
    assert (draws.std(0) < np.sqrt(0.005) * 1.2).all()
    alike = Estimates(np.full(count, 2.0), np.zeros(count), 0.004).draws(10_000, np.random.default_rng(0))
    np.testing.assert_allclose(alike.mean(0), 2.0, atol=0.003)


def test_covariances_are_means_of_pairs_and_expect_the_same_sum_of_squares():
    rng, codes = np.random.default_rng(0), np.array([0, 0, 1, 1, 1, 0])
    root = 1 + 0.1 * rng.standard_normal((6, 6))
    draws = rng.multivariate_normal(np.zeros(6), root @ root.T + np.eye(6), 4000)
    found, same = np.cov(draws.T), np.equal.outer(codes, codes) & ~np.eye(6, dtype=bool)
    even = estimates_of_draws(draws)
    np.testing.assert_allclose(even.means, draws.mean(0))
    centring = np.eye(6) - 1 / 6
    assert centring.diagonal() @ even.variances == pytest.approx(np.trace(centring @ found))
    np.testing.assert_allclose(even.variances + even.common, np.diag(found), rtol=0.02)
    # Known by three units, variances tell nothing of each other.
    few = estimates_of_draws(draws, 3)
    np.testing.assert_allclose(few.variances + few.common, np.diag(found).mean())
    families = estimates_of_draws(draws, families=codes)
    assert families.common == pytest.approx(found[np.not_equal.outer(codes, codes)].mean())
    assert families.common + families.of_family == pytest.approx(found[same].mean())
    np.testing.assert_allclose(families.variances + families.common + families.of_family, np.diag(found), rtol=0.02)


@pytest.mark.slow
def test_the_systems_stay_among_the_estimates_however_the_errors_go_together():
    """A shared error that is greater for greater estimates would move their mean out of them: Peelle's puzzle."""
    estimates, loading = np.array([1.0, 1.5]), np.array([0.1, 0.15])
    covariance = np.outer(loading, loading) * 4 + np.diag([0.01, 0.0225])
    weights = np.linalg.solve(covariance, [1, 1])
    assert not 1 <= weights @ estimates / weights.sum() <= 1.5
    draws = np.random.default_rng(0).multivariate_normal(estimates, covariance, 50_000)
    shrunk = estimates_of_draws(draws).draws(20_000, np.random.default_rng(0)).mean(0)
    assert 1 < shrunk[0] < shrunk[1] < 1.5


@pytest.mark.slow
def test_families_of_independent_systems_share_what_is_known():
    """A system of which nearly nothing is known is as its family is, not as all are."""
    estimates, variances = np.array([0.9, 1.0, 1.1, 2.0, 2.1, 1.5]), np.array([1e-3] * 5 + [10.0])
    codes = np.array([0, 0, 0, 1, 1, 1])
    draws = Estimates(estimates, variances, families=codes).draws(20_000, np.random.default_rng(0))
    alone = Estimates(estimates, variances).draws(20_000, np.random.default_rng(0))
    assert 1.8 < np.median(draws[:, 5]) < 2.2
    assert 1.0 < np.median(alone[:, 5]) < 1.8


# ── The scale ──


@pytest.mark.slow
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
    return from_stabilised(Estimates(values.mean(0), values.var(0)).draws(len(draws), rng), bounds)


@pytest.mark.slow
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


@pytest.mark.slow
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
        "All systems are drawn towards those like them, so that the best owes less to luck."
    )


@pytest.mark.slow
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


@pytest.mark.slow
def test_systems_of_which_some_predictions_are_verified():
    rng, n = np.random.default_rng(0), 300
    truth = rng.integers(2, size=n)
    predicted = {
        name: np.where(rng.random(n) < error, 1 - truth, truth)
        for name, error in zip("abc", (0.1, 0.2, 0.25), strict=True)
    }
    post = bp.labels.verify(np.where(np.arange(n) % 3 == 0, truth, np.nan), predicted, draws=1000)
    plain, found = (bp.compare(post, metric="accuracy", shrink=shrink, draws=1000) for shrink in (False, True))
    assert plain.in_words().startswith("On accuracy, a is ")
    assert "expect a to score about 0.0" in plain.in_words()
    means = plain.systems.each.mean()
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
    assert "each drawn towards those like it, first of all in its family" in found.basis
    assert "first of all in their family" in found.in_words()
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


@pytest.mark.slow
def test_standings_are_of_the_joint_draws():
    post = systems([150, 171, 160, 164])
    for shrink in (False, True):
        found = bp.compare(post, metric="recall", independent=True, shrink=shrink)
        table = found.standings(0.9, "eti")
        assert table["model"].tolist() == ["s1", "s3", "s2", "s0"]
        np.testing.assert_allclose(table["observed"], [0.855, 0.82, 0.8, 0.75])
        draws = found.joint_draws().sel(model=table["model"].values)
        ranks = stats.rankdata(-draws.values, axis=-1).mean(0)
        np.testing.assert_allclose(table["expected_rank"], ranks, atol=1e-9)
        np.testing.assert_allclose(table["expected_loss"], (draws.max("model") - draws).mean("draw"), atol=1e-12)
        np.testing.assert_allclose(table["prob_best"], found.prob_best.sel(model=table["model"].values))
        each = (found.shrunk or post["recall"]).sel(model=table["model"].values)
        np.testing.assert_allclose(table[["ci_lower", "ci_upper"]], each.eti(0.9))
        assert ("partly lucky" in repr(table)) is not shrink
    # An error is better the less there is of it.
    losses = bp.compare(post, metric="fnr", independent=True).standings()
    assert losses["model"].iloc[0] == "s1"
    assert (losses["expected_loss"] >= 0).all()
    with pytest.raises(ValueError, match="standings: they are of many systems' own metric"):
        bp.compare(systems([150]), systems([160]), "recall", independent=True).standings()


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_metric_of_clustered_systems_is_shrunk():
    rng = np.random.default_rng(0)
    actual = rng.integers(2, size=600)
    predicted = {i: actual ^ (rng.random(600) < 0.25) for i in range(8)}
    cm = bp.ConfusionMatrix.from_predictions(actual, predicted, cluster=rng.integers(60, size=600))
    post = bp.pool(cm).mean
    alone, found = (bp.compare(post, metric="f1", shrink=shrink) for shrink in (False, True))
    assert np.ptp(found.shrunk.mean().values) < np.ptp(post["f1"].mean().values)
    assert found.prob_best.max() < alone.prob_best.max()


# ── Populations that are not one normal ──


def one_broken(simulations, seed=11):
    """Yield the true accuracies and posterior of 19 systems of about .90 and one of .50, judged by 100 examples."""
    rng = np.random.default_rng(seed)
    for _ in range(simulations):
        logits = special.logit(0.9) + 0.1 * rng.standard_normal(20)
        truth = special.expit(np.append(logits[1:], 0.0))
        yield truth, systems(rng.binomial(100, truth), 100)


@pytest.mark.slow
def test_one_broken_system_does_not_undo_the_others():
    covered, excess, said = [], [], []
    for truth, post in one_broken(30):
        found = bp.compare(post, metric="recall", independent=True, shrink=True, draws=1000)
        mean = found.shrunk.mean().values
        best = mean.argmax()
        low, high = found.shrunk.isel(model=best).eti().values
        covered.append(low <= truth[best] <= high)
        excess.append(mean[best] - truth[best])
        said.append(found.prob_best.values[best] - (truth[best] == truth.max()))
    # Of one normal coverage is .72, the mean .034 too high, and P(best) .21 more than it is.
    assert np.mean(covered) > 0.82
    assert abs(np.mean(excess)) < 0.02
    assert np.mean(said) < 0.17


@pytest.mark.slow
def test_the_sentence_says_what_the_shrunk_posterior_says_and_by_about_how_much_the_best_is_worse():
    said, true = [], []
    for truth, post in one_broken(12):
        plain = bp.compare(post, metric="recall", independent=True, draws=1000)
        best = int(plain.prob_best.values.argmax())
        shrunk = bp.compare(post, metric="recall", independent=True, draws=1000, shrink=True).shrunk
        mean = post["recall"].mean().values[best]
        said.append(mean - shrunk.mean().values[best])
        true.append(mean - truth[best])
        assert f"expect s{best} to score about {said[-1]:.3f} below its mean." in plain.in_words()
    # Of one normal it is a fifth.
    assert 0.5 * np.mean(true) < np.mean(said) < 1.2 * np.mean(true)
