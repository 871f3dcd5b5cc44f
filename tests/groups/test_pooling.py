"""Pooling over groups, against adaptive integration, closed forms and figures by others."""

import warnings
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import mpmath
import numpy as np
import pytest
import xarray as xr
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf.distributions import beta_binomial
from bayesperf.distributions.tabulated import Tabulated
from tests.shared.golden import golden

mpl.use("Agg")

GOLDEN = golden("pooling")["cases"]
LEVELS = np.array([[0.025, 0.25, 0.5, 0.9, 0.975]])

FOLDS = [[18, 17, 18, 19, 18], [20] * 5]
SITES = [[38, 30, 20, 34, 26], [40] * 5]
# Successes, trials, and the Beta of ρ.
CASES = {
    "folds": (*FOLDS, (1, 24)),
    "sites": (*SITES, (1, 9)),
    "all right": ([20] * 5, [20] * 5, (1, 24)),
    "all wrong": ([0] * 5, [20] * 5, (1, 24)),
    "all or nothing": ([0, 20, 0, 20, 20], [20] * 5, (1, 9)),
    "one group": ([15], [20], (1, 24)),
    "empty groups": ([15, 0, 3, 0], [20, 0, 5, 0], (1, 24)),
    "two examples": ([1, 0], [1, 1], (1, 1)),
    "unequal": ([3, 40, 500, 4000], [3, 50, 600, 5000], (2, 30)),
    "many groups": ([*range(4)] * 75, [3] * 300, (1, 9)),
    "large, equal": ([90_000] * 10, [100_000] * 10, (1, 24)),
}


def posterior(successes, trials, dispersion, **options):
    return beta_binomial.posterior(np.array([successes], float), np.array([trials], float), dispersion, **options)


def matrix(right, trials, other=10, **dims):
    """Binary matrices whose recall row is given; of the other class, `other` are right and one wrong, a group."""
    right, trials = np.array(right), np.array(trials)
    cells = np.stack([np.full_like(right, other), np.ones_like(right), trials - right, right], -1)
    return bp.ConfusionMatrix.from_table(cells.reshape(*right.shape, 2, 2), dims=dims or ["fold"])


def quiet_pool(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.errors.PriorWarning)
        return bp.pool(*args, **options)


FOLDS_MATRIX = matrix(*FOLDS)
POOLED = quiet_pool(FOLDS_MATRIX)


# ── The posterior of p and ρ ──


def adaptive(successes, trials, dispersion, functions, cuts):
    """E[f(p, ρ)] on each piece of p between cuts, (functions, pieces): adaptive over ρ, dyadic Gauss rules over p."""
    pairs, times = np.unique(np.stack([successes, trials]).astype(float), axis=1, return_counts=True)
    (k, n), times = pairs[..., None], times[:, None]
    right, wrong = 1 + (times * k).sum(), 1 + (times * (n - k)).sum()

    def rising(x, count):
        """Log of x(x + 1)…(x + count − 1)/x^count."""
        exact = special.gammaln(x + count) - special.gammaln(x) - count * np.log(x)
        series = count * (count - 1) / (2 * x) - count * (count - 1) * (2 * count - 1) / (12 * x * x)
        return np.where(x > 1e4 * (1 + count), series, exact)

    centre, width = special.logit(cuts[len(cuts) // 2]), np.sqrt(1 / right + 1 / wrong)
    steps = width / 2 * 2.0 ** np.arange(np.ceil(np.log2(80 / width)))
    cuts = special.logit(cuts)
    edges = np.unique([*(centre - steps), *(centre + steps), *cuts])
    node, weight = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges)[:, None] / 2
    logit_p = (edges[:-1, None] + half * (1 + node)).ravel()
    p, q = special.expit(logit_p), special.expit(-logit_p)
    binomial = right * special.log_expit(logit_p) + wrong * special.log_expit(-logit_p)
    lengths = (half * weight).ravel()
    piece = np.searchsorted(cuts, logit_p)

    def log_density(logit_rho):
        kappa = np.exp(-logit_rho)
        excess = (times * (rising(kappa * p, k) + rising(kappa * q, n - k) - rising(kappa, n))).sum(0)
        prior = dispersion[0] * special.log_expit(logit_rho) + dispersion[1] * special.log_expit(-logit_rho)
        return binomial + excess + prior

    peak = max(log_density(z).max() for z in np.linspace(-40, 8, 200))

    def given(logit_rho):
        mass = np.exp(log_density(logit_rho) - peak) * lengths
        values = [mass * np.broadcast_to(f(p, special.expit(logit_rho)), p.shape) for f in functions]
        return np.stack([np.bincount(piece, value, len(cuts) + 1) for value in values])

    breaks = [-45, -30, -20, -15, -12, -10, -8, -6, -5, -4, -3, -2, -1, 0, 2, 8, 25]
    return sum(integrate.quad_vec(given, *ends, epsrel=1e-7, limit=9)[0] for ends in pairwise(breaks))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CASES)
def test_posterior_agrees_with_adaptive_integration(name):
    case = CASES[name]
    model = posterior(*case)
    functions = [lambda p, rho: 1, lambda p, rho: p, lambda p, rho: rho, lambda p, rho: p * rho]
    found = adaptive(*case, functions, model.mean.ppf(LEVELS)[0])
    one, p, rho, product = found / found[0].sum()
    np.testing.assert_allclose(one.cumsum()[:-1], LEVELS[0], atol=3e-7)
    (mean,), (sd,) = model.mean.mean_sd()
    (rho_mean,), (rho_sd,) = model.dispersion.mean_sd()
    assert mean == pytest.approx(p.sum(), abs=1e-5 * sd)
    assert rho_mean == pytest.approx(rho.sum(), rel=1e-5)
    # Variances of differences from the means keep their digits where p hardly varies.
    functions = [lambda p, rho: 1, lambda p, rho: (p - mean) ** 2, lambda p, rho: (rho - rho_mean) ** 2]
    found = adaptive(*case, functions, [mean]).sum(1)
    np.testing.assert_allclose(np.sqrt(found[1:] / found[0]), [sd, rho_sd], rtol=1e-4)
    axes = zip((model.mean_axis, model.dispersion_axis), model.log_density.shape[1:], strict=True)
    nodes = [special.expit(axis.nodes(count)[0][0]) for axis, count in axes]
    assert np.einsum("ij,i,j", model.weights[0], *nodes) == pytest.approx(product.sum(), rel=1e-5)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"].removeprefix("ref_kfold_betabinomial_"))
def test_posterior_agrees_with_figures_by_others(case):
    dispersion = (1, 9) if case["id"].endswith("1_9") else (1, 24)
    expected = case["outputs"]
    pooled = quiet_pool(matrix(case["inputs"]["successes"], case["inputs"]["n"]), dispersion=dispersion)
    recall = pooled.mean["recall"]
    # Their grid is good to 2e-5. An order statistic of stratified draws is within a stratum of the quantile.
    assert recall.mean().item() == pytest.approx(expected["p_mean"], abs=2e-5)
    assert recall.sd().item() == pytest.approx(expected["p_sd"], abs=2e-5)
    model = posterior(case["inputs"]["successes"], case["inputs"]["n"], dispersion)
    ends = np.array([[0.025, 0.975]])
    np.testing.assert_allclose(model.mean.ppf(ends)[0], expected["p_ci95"], atol=2e-5)
    stratum = 1e-4 / model.mean.pdf(model.mean.ppf(ends))[0]
    assert np.all(np.abs(recall.eti(0.95).values - expected["p_ci95"]) < stratum)
    assert pooled.dispersion.mean().sel(actual=1).item() == pytest.approx(expected["rho_mean"], abs=2e-5)


@pytest.mark.parametrize("count", [0, 1, 2, 17, 1000, 10**7, 10**9])
def test_rising_factorials_keep_their_digits(count):
    x = np.array([[1e-12, 1e-3, 0.7, 9.99, 10.01, 345.6, 1e5, 1e9, 1e16]])
    found = beta_binomial.DistinctCounts.of(np.array([[float(count)]])).log_rising_ratio(x)[0]
    with mpmath.workdps(60):
        expected = [
            mpmath.loggamma(mpmath.mpf(v) + count) - mpmath.loggamma(v) - count * mpmath.log(v) for v in x[0].tolist()
        ]
    np.testing.assert_allclose(found, np.array(expected, float), rtol=1e-14, atol=2e-14 + 4e-16 * count)


def test_equal_counts_are_counted_once():
    distinct = beta_binomial.DistinctCounts.of(np.array([[3.0, 0, 3, 7], [1, 1, 1, 1]]))
    assert distinct.counts.tolist() == [[0, 3, 7], [1, 0, 0]]
    assert distinct.frequency.tolist() == [[1, 2, 1], [4, 0, 0]]


def test_nodes_are_added_where_they_do_not_suffice():
    # Nearly perfect, so that p is narrow, and ρ next to 0 or about 0.01, which makes it wide.
    trials = np.full(10, 1_005_076)
    wrong = np.array([25, 88, 88, 58, 49, 74, 92, 83, 84, 80])
    found = posterior(trials - wrong, trials, (1, 9), mean=(2.0, 2.0))
    assert found.log_density.shape[1] > 65
    assert found.resolution_error() < 1e-3
    assert posterior(*FOLDS, (1, 24)).log_density.shape[1] == 65


@pytest.mark.slow
def test_joint_draws_have_the_law_of_the_quadrature():
    model, n = posterior(*SITES, (1, 9)), 100_000
    rng = np.random.default_rng(1)
    logit_p = model.draws_of_mean(n, [rng])
    logit_rho = model.draws_of_dispersion(logit_p, [rng])
    p, rho = special.expit(logit_p[0]), special.expit(logit_rho[0])
    functions = {
        "p": lambda p, rho: p,
        "ρ": lambda p, rho: rho,
        "pρ": lambda p, rho: p * rho,
        "p²ρ": lambda p, rho: p**2 * rho,
        "log ρ": lambda p, rho: np.log(rho),
        "p log ρ": lambda p, rho: p * np.log(rho),
    }
    one, *expected = adaptive(*SITES, (1, 9), [lambda p, rho: 1, *functions.values()], [0.7]).sum(1)
    for (name, function), value in zip(functions.items(), expected, strict=True):
        drawn = function(p, rho)
        assert drawn.mean() == pytest.approx(value / one, abs=4 * drawn.std() / np.sqrt(n)), name
    # Figures of p alone are those of the quadrature, to a stratum.
    quantiles = model.mean.ppf(LEVELS)
    assert np.all(np.abs(np.quantile(p, LEVELS[0]) - quantiles[0]) * model.mean.pdf(quantiles)[0] < 1 / n)


# ── Distributions by table ──


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(3, 5), (1, 24), (0.5, 0.5), (1, 1e6), (400, 2), (2e5, 3e5)])
def test_a_tabulated_beta_is_that_beta(a, b):
    exact = stats.beta(a, b)
    middle, width = np.log(a / b), min(np.sqrt(1 / a + 1 / b), 1)
    table = Tabulated.beta(np.array([[float(a)]]), np.array([[float(b)]]))
    q = np.array([[1e-4, 0.01, 0.3, 0.5, 0.9, 0.99, 0.9999]])
    x = exact.ppf(q)
    np.testing.assert_allclose(table.cdf(x), q, atol=5e-7)
    np.testing.assert_allclose(table.sf(x), 1 - q, atol=5e-7)
    np.testing.assert_allclose(table.ppf(q), x, rtol=1e-4, atol=1e-6 * exact.std())
    np.testing.assert_allclose(table.logpdf(x), exact.logpdf(x), atol=2e-3)
    np.testing.assert_allclose(table.cdf(table.ppf(q)), q, atol=1e-12)
    (mean,), (sd,) = table.mean_sd()
    assert (mean, sd) == pytest.approx((exact.mean(), exact.std()), rel=1e-8)
    expected = bp.posterior(bp.ConfusionMatrix.from_counts(tp=0, fn=0, fp=0, tn=0), bp.prior.rate(a, b))["recall"]
    np.testing.assert_allclose(table.hdi(0.9), [expected.hdi(0.9)], atol=1e-4 * exact.std())
    other = stats.beta(a, 2 * b)
    crossing = special.expit
    shared = integrate.quad(
        lambda t: min(exact.pdf(crossing(t)), other.pdf(crossing(t))) * crossing(t) * crossing(-t),
        middle - 40 / a - 40 * width, middle + 40 * width, points=[middle - 1, middle, middle + 1], limit=500,
    )[0]  # fmt: skip
    assert table.overlap(other) == pytest.approx(shared, abs=1e-4)


def test_a_table_at_and_beyond_the_bounds():
    table = posterior(*FOLDS, (1, 24)).dispersion
    assert table.cdf(np.array([[-1.0, 0, 1, 2]])).tolist() == [[0, 0, 1, 1]]
    assert table.ppf(np.array([[0.0, 1]])).tolist() == [[0, 1]]
    assert table.logpdf(np.array([[-1.0, 2]])).tolist() == [[-np.inf, -np.inf]]
    # The density of ρ is finite at 0, and there what it is next to it.
    assert table.pdf(np.array([[0.0]])).item() == pytest.approx(table.pdf(np.array([[1e-7]])).item(), rel=1e-3)


# ── Limits ──


def test_without_dispersion_it_is_one_rate():
    pooled = quiet_pool(FOLDS_MATRIX, dispersion=(1, 1e6))
    k, n = np.sum(FOLDS, 1)
    exact = stats.beta(1 + k, 1 + n - k)
    recall = pooled.mean["recall"]
    assert recall.mean().item() == pytest.approx(exact.mean(), abs=1e-4)
    assert recall.sd().item() == pytest.approx(exact.std(), abs=1e-4)
    np.testing.assert_allclose(recall.ppf([0.025, 0.5, 0.975]), exact.ppf([0.025, 0.5, 0.975]), atol=1e-4)
    # Then groups and a new one have the mean's rate.
    error = 5 * exact.std() / 100
    for answer in (pooled.by_group, pooled.new_group):
        np.testing.assert_allclose(answer["recall"].mean(), exact.mean(), atol=error)
        np.testing.assert_allclose(answer["recall"].sd(), exact.std(), rtol=0.05)


def test_groups_are_drawn_together():
    cm = matrix(*SITES)
    pooled = quiet_pool(cm, groups="clusters")
    observed, found = bp.score(cm, "recall"), pooled.by_group["recall"].mean()
    mean = pooled.mean["recall"].mean()
    assert np.all(np.abs(found - mean) < np.abs(observed - mean))
    assert np.all((found - mean) * (observed - mean) > 0)
    assert pooled.by_group["recall"].sd().mean() < bp.posterior(cm)["recall"].sd().mean()
    assert pooled.new_group["recall"].sd() > 1.5 * pooled.mean["recall"].sd()


def test_groups_and_a_new_one_have_their_exact_moments():
    k, n = np.array(SITES)
    pooled = quiet_pool(matrix(*SITES), groups="clusters", draws=40_000)

    def moments(f):
        def first(p, rho):
            kappa = 1 / rho - 1
            return (kappa * p + k[f]) / (kappa + n[f])

        return first, lambda p, rho: first(p, rho) * (first(p, rho) * (1 / rho - 1 + n[f]) + 1) / (1 / rho + n[f])

    functions = [function for f in range(5) for function in moments(f)]
    functions += [lambda p, rho: p, lambda p, rho: p * p + p * (1 - p) * rho]
    one, *expected = adaptive(*SITES, (1, 9), [lambda p, rho: 1, *functions], [0.7]).sum(1)
    first, second = np.reshape(expected, (-1, 2)).T / one
    sd = np.sqrt(second - first**2)
    for found, mean, spread in (
        (pooled.by_group["recall"], first[:5], sd[:5]),
        (pooled.new_group["recall"], first[5], sd[5]),
    ):
        np.testing.assert_allclose(found.mean() / mean, 1, atol=4 * sd.max() / 200 / first.min())
        # The standard error of a variance, for tails up to those of a normal.
        np.testing.assert_allclose(found.sd() / spread, 1, atol=4 / np.sqrt(2 * 40_000))


def test_one_group_and_an_empty_one():
    one = matrix([15], [20])
    with pytest.warns(bp.errors.PriorWarning, match="the data say nothing of the dispersion between folds"):
        alone = bp.pool(one)
    said = alone.in_words("recall")
    assert said.startswith("Over all folds like this one, mean recall is ")
    assert " At this fold, recall is " in said
    with_empty = bp.ConfusionMatrix.from_table(
        np.concatenate([one.counts.values, np.zeros((1, 2, 2), int)]), dims=["fold"]
    )
    pooled = quiet_pool(with_empty)
    np.testing.assert_allclose(pooled.mean["recall"].eti(), alone.mean["recall"].eti(), atol=1e-6)
    assert pooled.dispersion.mean().values == pytest.approx(alone.dispersion.mean().values, rel=1e-6)
    # A group without examples is as a new one.
    empty, new = pooled.by_group["recall"], pooled.new_group["recall"]
    error = 5 * new.sd().item() * np.sqrt(2 / 10_000)
    assert empty.mean().values[1] == pytest.approx(new.mean().item(), abs=error)
    np.testing.assert_allclose(empty.eti().values[1], new.eti(), atol=0.02)
    assert not pooled.model.dispersion_ratio["defined"].any()
    assert (pooled.model.dispersion_ratio == 1).all()


def test_repeats_add_nothing():
    once = quiet_pool(FOLDS_MATRIX)
    cells = np.concatenate([FOLDS_MATRIX.counts.values] * 4)
    four = bp.ConfusionMatrix.from_table(cells, dims=["fold"])
    repeated = quiet_pool(four, repeats=4)
    for name in ("recall", "specificity", "prevalence"):
        np.testing.assert_allclose(repeated.mean[name].eti(), once.mean[name].eti(), atol=1e-9)
    np.testing.assert_allclose(repeated.dispersion.eti(), once.dispersion.eti(), atol=1e-9)
    assert quiet_pool(four).mean["recall"].sd() < 0.7 * once.mean["recall"].sd()
    assert "examples weigh 1/4" in repeated.mean.summary().attrs["prior"]


@pytest.mark.slow
def test_repeats_that_the_splitter_knows():
    """The dims repeat and fold are pooled together, so that each example weighs once; nobody has to say it."""
    cells = np.stack([FOLDS_MATRIX.counts.values + shift for shift in range(3)])
    known = bp.ConfusionMatrix.from_table(cells, dims=["repeat", "fold"])
    known = bp.ConfusionMatrix(known.counts.assign_attrs(repeats="repeat"))
    flat = bp.ConfusionMatrix.from_table(cells.reshape(-1, 2, 2), dims=["fold"])
    found, expected = quiet_pool(known), quiet_pool(flat, repeats=3)
    for name in ("mean", "by_group", "new_group"):
        xr.testing.assert_identical(getattr(found, name)["recall"].eti(), getattr(expected, name)["recall"].eti())
    assert (found.model.repeats, repr(found)) == (
        3,
        "<bayesperf.groups.Pooled: 15 folds of 3 repeats, one prevalence, ρ ~ Beta(1, 24)>",
    )
    total = FOLDS_MATRIX.counts.values.sum() + 4 * 5
    assert found.in_words().endswith(f" {total:,} examples, each judged once in each of 3 repeats.")
    # As systems of their own, and in another order of dims.
    both = xr.concat([known.counts, known.counts], "model").transpose("fold", "model", "repeat", ...)
    of_both = quiet_pool(bp.ConfusionMatrix(both)).mean["recall"]
    np.testing.assert_allclose(of_both.eti().isel(model=0), found.mean["recall"].eti(), atol=0.01)
    with pytest.raises(
        ValueError, match=r"repeats: the counts have 3 repeats along 'repeat'; it is 2\. They are known: call without"
    ):
        bp.pool(known, repeats=2)
    with pytest.raises(ValueError, match="dim: each of 3 repeats is of the same examples"):
        bp.pool(known, "repeat")


def test_order_of_groups_does_not_matter():
    order = [3, 0, 4, 1, 2]
    turned = quiet_pool(FOLDS_MATRIX.isel(fold=order))
    np.testing.assert_allclose(turned.mean["recall"].eti(), POOLED.mean["recall"].eti(), atol=1e-9)
    np.testing.assert_allclose(turned.dispersion.mean(), POOLED.dispersion.mean(), rtol=1e-9)
    np.testing.assert_allclose(turned.model.dispersion_ratio, POOLED.model.dispersion_ratio, rtol=1e-12)
    found, expected = (pooled.by_group["recall"] for pooled in (turned, POOLED))
    assert found.mean()["fold"].values.tolist() == order
    error = 5 * expected.sd().max().item() * np.sqrt(2 / 10_000)
    np.testing.assert_allclose(found.mean(), expected.mean().isel(fold=order), atol=error)


@pytest.mark.slow
def test_systems_are_pooled_each_on_its_own():
    rng = np.random.default_rng(5)
    right = rng.binomial(30, 0.8, (3, 2, 6))
    cm = matrix(right, np.full_like(right, 30), model=["a", "b", "c"], site=[0, 1], fold=list(range(6)))
    together = quiet_pool(cm)
    assert together.mean["f1"].mean().dims == ("model", "site")
    assert together.by_group["f1"].mean().dims == ("model", "site", "fold")
    assert together.dispersion.mean().dims == together.model.overlap.dims == ("model", "site", "actual")
    alone = quiet_pool(cm.sel(model="b", site=1))
    # The same random numbers; nodes differ by what others in the block need.
    for name in ("mean", "by_group", "new_group"):
        found = getattr(together, name).joint_draws(10_000).sel(model="b", site=1)
        change = np.abs(found - getattr(alone, name).joint_draws(10_000))
        assert float(change.quantile(0.99)) < 1e-4, name
    np.testing.assert_allclose(together.dispersion.eti().sel(model="b", site=1), alone.dispersion.eti(), atol=1e-6)
    swapped = quiet_pool(bp.ConfusionMatrix(cm.counts.transpose("fold", "model", "site", ...)))
    np.testing.assert_allclose(swapped.mean["f1"].mean(), together.mean["f1"].mean(), atol=1e-12)


def test_seeds():
    same, other = quiet_pool(FOLDS_MATRIX, random_seed=0), quiet_pool(FOLDS_MATRIX, random_seed=1)
    for name in ("mean", "by_group", "new_group"):
        first, again, another = (getattr(pooled, name).source.cells.values for pooled in (POOLED, same, other))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, another)
    np.testing.assert_allclose(other.mean["recall"].hdi(), POOLED.mean["recall"].hdi(), atol=1e-9)
    generator = quiet_pool(FOLDS_MATRIX, random_seed=np.random.default_rng(3))
    assert generator.model.random_seed == int(np.random.default_rng(3).integers(2**63))
    few = POOLED.dispersion.joint_draws(5, random_seed=2)
    assert few.dims == ("actual", "draw")
    assert np.array_equal(few, POOLED.dispersion.joint_draws(5, random_seed=2))
    assert POOLED.model.dispersion_prior.joint_draws(7).sizes == {"draw": 7}


@pytest.mark.slow
def test_huge_counts_and_perfect_ones():
    right = np.full(10, 90_000)
    pooled = quiet_pool(matrix(right, right + 10_000, other=10**9))
    recall = pooled.mean["recall"]
    exact = stats.beta(900_001, 100_001)
    # Equal groups show less than binomial variation; dispersion widens the mean by what its prior still allows.
    assert recall.mean().item() == pytest.approx(0.9, abs=1e-5)
    assert exact.std() < recall.sd().item() < 1.3 * exact.std()
    for answer in (pooled.by_group, pooled.new_group):
        assert np.isfinite(answer.source.cells).all()
    perfect = quiet_pool(matrix([10**5] * 10, [10**5] * 10))
    assert perfect.mean["recall"].ppf(0.05) > 0.99
    for answer in (perfect.mean, perfect.by_group, perfect.new_group):
        assert not answer["precision"].undefined().any()


def test_cells_that_would_round_to_nothing_do_not():
    # ρ near 1: rates of groups are 0 or 1 but for rounding.
    pooled = quiet_pool(matrix([0, 20, 0, 20], [20] * 4, other=0), dispersion=(500, 0.05))
    for answer in (pooled.mean, pooled.by_group, pooled.new_group):
        assert (answer.source.cells > 0).all()
        assert not answer["recall"].undefined().any()


# ── Prevalence ──


POSITIVES, NEGATIVES = np.array([10, 40, 20, 30]), np.array([50, 20, 40, 30])


def sites_of(positives, negatives, recall=1, fpr=0):
    """Binary matrices of sites, in which these shares of the positives and of the negatives are called positive."""
    tp, fp = (np.rint(share * n).astype(int) for share, n in ((recall, positives), (fpr, negatives)))
    cells = {"tp": tp, "fn": positives - tp, "fp": fp, "tn": negatives - fp}
    site = {"site": np.arange(len(positives))}
    return bp.ConfusionMatrix.from_counts(**{name: xr.DataArray(n, site, ("site",)) for name, n in cells.items()})


def test_folds_share_the_prevalence_of_the_population():
    pooled = quiet_pool(sites_of(POSITIVES, NEGATIVES), "site")
    exact = stats.beta(1 + POSITIVES.sum(), 1 + NEGATIVES.sum())
    prevalence = pooled.mean["prevalence"]
    np.testing.assert_allclose(prevalence.ppf([0.1, 0.5, 0.9]), exact.ppf([0.1, 0.5, 0.9]), atol=1e-4)
    for of_folds in (
        pooled.by_group["prevalence"].joint_draws(10).isel(site=2),
        pooled.new_group["prevalence"].joint_draws(10),
    ):
        np.testing.assert_allclose(of_folds, prevalence.joint_draws(10), rtol=1e-12)
    # Recall is that of the model of rows, whatever the prevalence.
    assert pooled.mean["accuracy"].sd() < pooled.mean["recall"].sd()


@pytest.mark.slow
def test_clusters_have_a_prevalence_each():
    """Its moments, by integration over its mean and its dispersion."""
    pooled = quiet_pool(sites_of(POSITIVES, NEGATIVES), "site", "clusters", draws=40_000)
    k, n = POSITIVES, POSITIVES + NEGATIVES

    def moments(successes, trials):
        """E[π_f] and E[π_f²] of Beta(κp + k, κ(1 − p) + n − k)."""

        def first(p, rho):
            kappa = 1 / rho - 1
            return (kappa * p + successes) / (kappa + trials)

        return first, lambda p, rho: first(p, rho) * (first(p, rho) * (1 / rho - 1 + trials) + 1) / (1 / rho + trials)

    functions = [lambda p, rho: p, lambda p, rho: p**2]
    functions += [f for case in ((0, 0), *zip(k, n, strict=True)) for f in moments(*case)]
    one, *expected = adaptive(k, n, (1, 3), [lambda p, rho: 1, *functions], [0.4]).sum(1)
    first, second = np.reshape(expected, (-1, 2)).T / one
    sd = np.sqrt(second - first**2)
    found = [pooled.mean["prevalence"], pooled.new_group["prevalence"], pooled.by_group["prevalence"]]
    np.testing.assert_allclose(np.hstack([m.mean() for m in found]), first, atol=4 * sd.max() / 200)
    # The standard error of a variance, for tails up to those of a normal.
    np.testing.assert_allclose(np.hstack([m.sd() for m in found]) / sd, 1, atol=4 / np.sqrt(2 * 40_000))
    # Prevalence varies independently of the rates.
    draws = pooled.by_group.joint_draws(10_000)
    recall = (draws / draws.sum("predicted")).sel(actual=1, predicted=1).isel(site=0)
    correlation = stats.spearmanr(draws.sum("predicted").sel(actual=1).isel(site=0), recall).statistic
    assert abs(correlation) < 5 / 100


PREVALENCES = np.array([0.02, 0.05, 0.1, 0.5, 0.8, 0.9])
POSITIVES_OF_SIX = np.rint(5000 * PREVALENCES).astype(int)
# Recall .9 and fpr .1 at each: precision is .9π/(.9π + .1(1 − π)).
SIX_SITES = sites_of(POSITIVES_OF_SIX, 5000 - POSITIVES_OF_SIX, 0.9, 0.1)
PRECISION_OF_SIX = np.array([0.155, 0.321, 0.5, 0.9, 0.973, 0.988])


@pytest.mark.slow
def test_precision_of_sites_follows_their_prevalence():
    pooled = quiet_pool(SIX_SITES, "site", "clusters")
    tree = bp.fit(SIX_SITES, "groups", options={"groups": "clusters"}, method="exact", draws=2500, random_seed=1)
    fitted = tree["posterior"]["precision_group"]
    found = pooled.by_group["precision"]
    for mean, sd in ((found.mean(), found.sd()), (fitted.mean(("chain", "draw")), fitted.std(("chain", "draw")))):
        # Its error by the delta method, of recall, fpr and prevalence observed; rates are shrunk by less than that.
        odds = np.sqrt(
            0.1 / 0.9 / POSITIVES_OF_SIX + 0.9 / 0.1 / (5000 - POSITIVES_OF_SIX)
            + 1 / POSITIVES_OF_SIX + 1 / (5000 - POSITIVES_OF_SIX)
        )  # fmt: skip
        error = PRECISION_OF_SIX * (1 - PRECISION_OF_SIX) * odds
        assert np.all(np.abs(mean - PRECISION_OF_SIX) < error / 4 + 0.0005)
        assert np.all(sd < 1.1 * error)
    # Two times 10,000 draws; of the mean those of one are stratified.
    for name, answer in (("", pooled.mean), ("_group", pooled.by_group), ("_new", pooled.new_group)):
        for metric in ("precision", "f1", "recall"):
            drawn = tree["posterior"][f"{metric}{name}"].mean(("chain", "draw")).values
            mean, sd = answer[metric].mean().values, answer[metric].sd().values
            np.testing.assert_allclose((drawn - mean) / sd, 0, atol=5 * np.sqrt(2) / 100)


@pytest.mark.slow
def test_chosen_class_totals_say_nothing_of_prevalence():
    for kind in ("random", "clusters"):
        cm = sites_of(POSITIVES, NEGATIVES, 0.8, 0.1)
        pooled, joint = (quiet_pool(cm, "site", kind, design=design) for design in ("by_actual", "joint"))
        for name in ("mean", "by_group", "new_group"):
            answer, other = getattr(pooled, name), getattr(joint, name)
            for metric in ("recall", "specificity", "balanced_accuracy"):
                np.testing.assert_allclose(answer[metric].eti(), other[metric].eti(), rtol=1e-9)
            refused = (
                lambda answer=answer: answer["precision"], lambda answer=answer: answer.summary(["f1"]),
                lambda answer=answer: answer.prob_joint({"precision": 0.5}),
                lambda answer=answer: answer.joint_draws(10),
                lambda answer=answer: answer.predict(10), lambda answer=answer: answer.to_datatree(["recall"]),
                lambda answer=answer: bp.compare(answer, "majority", metric="accuracy"),
            )  # fmt: skip
            for ask in refused:
                with pytest.raises(ValueError, match=r"design by_actual.*at_prevalence\(p\)"):
                    ask()
            at = answer.at_prevalence(0.1)
            recall, fpr = (answer[metric].joint_draws(1000) for metric in ("recall", "fpr"))
            expected = 0.1 * recall / (0.1 * recall + 0.9 * fpr)
            np.testing.assert_allclose(at["precision"].joint_draws(1000), expected, rtol=1e-9)
            np.testing.assert_allclose(at["precision"].mean(), other.at_prevalence(0.1)["precision"].mean(), rtol=1e-9)
            assert at.predict(20)["precision"].sd().min() > 0
            assert at.prior_text.endswith("; prevalence 0.1")


@pytest.mark.slow
def test_what_chosen_class_totals_leave_to_be_shown():
    pooled = quiet_pool(sites_of(POSITIVES, NEGATIVES, 0.8, 0.1), "site", "clusters", design="by_actual")
    shown = set(pooled.summary()["metric"])
    assert {"recall", "specificity", "balanced_accuracy"} <= shown
    assert not {"precision", "f1", "accuracy"} & shown
    assert pooled.summary().attrs["prior"] == "mean rates ~ Beta(1, 1), dispersion ~ Beta(1, 9)"
    assert repr(pooled) == "<bayesperf.groups.Pooled: 4 sites, prevalence not known, ρ ~ Beta(1, 9)>"
    assert "<table" in pooled._repr_html_()
    assert pooled.plot("recall").axes
    with pytest.raises(ValueError, match="at_prevalence"):
        pooled.plot("precision")


def test_the_prior_of_clusters_names_that_of_their_prevalence():
    pooled = quiet_pool(sites_of(POSITIVES, NEGATIVES), "site", "clusters", dispersion=(1, 50))
    assert pooled.mean.prior_text == (
        "mean rates ~ Beta(1, 1), dispersion ~ Beta(1, 50), prevalence ~ Beta(1, 1), dispersion of prevalence ~ "
        "Beta(1, 3)"
    )
    assert repr(pooled) == "<bayesperf.groups.Pooled: 4 sites, a prevalence each, ρ ~ Beta(1, 50)>"


# ── Dispersion ──


def test_dispersion_ratio_is_pearsons():
    k, n = np.array(SITES)
    pooled = quiet_pool(matrix(*SITES))
    expected = stats.chi2_contingency([k, n - k], correction=False).statistic / 4
    assert pooled.model.dispersion_ratio.sel(actual=1).item() == pytest.approx(expected, rel=1e-12)
    assert pooled.model.dispersion_ratio["defined"].all()


@pytest.mark.parametrize("right", [20, 0])
def test_dispersion_ratio_of_groups_that_are_all_right_or_all_wrong(right):
    """Where all are, there is no variance to compare with, and the other class is as it would be; some count as any."""
    pooled = quiet_pool(matrix([right] * 5, [20] * 5))
    assert pooled.model.dispersion_ratio.sel(actual=1).item() == 1
    assert pooled.model.dispersion_ratio["defined"].values.tolist() == [True, False]
    k, n = np.array([right, right, right, 12, 17]), np.full(5, 20)
    pooled = quiet_pool(matrix(k, n))
    expected = stats.chi2_contingency([k, n - k], correction=False).statistic / 4
    assert pooled.model.dispersion_ratio.sel(actual=1).item() == pytest.approx(expected, rel=1e-12)
    assert pooled.model.dispersion_ratio["defined"].all()


def test_dispersion_is_a_marginal_with_its_prior():
    assert POOLED.dispersion.method == "quadrature"
    assert POOLED.dispersion.bounds == (0, 1)
    assert repr(POOLED.dispersion).startswith(
        "<bayesperf.Marginal: dispersion (quadrature), actual: 2>\nDispersion is "
    )
    prior = POOLED.model.dispersion_prior
    np.testing.assert_allclose(prior.eti(), stats.beta(1, 24).interval(0.95), rtol=1e-9)
    # Highest at 0, so the interval touches it.
    interval = POOLED.dispersion.hdi(0.9).values
    assert np.all(interval[:, 0] == 0)
    np.testing.assert_allclose(POOLED.dispersion.cdf(interval[1, 1]).values[1], 0.9, atol=1e-9)
    x = np.linspace(1e-6, 0.6, 20_001)
    density = POOLED.dispersion.pdf(x).values
    shared = integrate.trapezoid(np.minimum(density, stats.beta(1, 24).pdf(x)), x)
    np.testing.assert_allclose(POOLED.model.overlap, shared, atol=2e-4)
    assert POOLED.dispersion.plot().get_axes()


def test_few_small_groups_are_warned_of_once():
    cm = matrix([[3, 2], [3, 2]], [[3, 3], [3, 3]], site=["x", "y"], fold=[0, 1])
    with pytest.warns(bp.errors.PriorWarning) as caught:
        pooled = bp.pool(cm, groups="clusters")
    assert len(caught) == 1
    words = str(caught[0].message)
    assert "at site=x, actual=" in words
    assert "ρ ~ Beta(1, 9)" in words
    assert "dispersion=(a, b)" in words
    assert Path(caught[0].filename).name == Path(__file__).name
    assert (pooled.model.overlap > 0.95).sum() == 2
    assert "and 1 more" in words


@pytest.mark.slow
def test_folds_of_a_shipped_data_set_are_not_warned_of():
    frame = bp.datasets.load("breast_cancer")
    cm = bp.ConfusionMatrix.from_frame(
        frame, actual="actual", predicted="predicted", by=["model", "fold"], pos_label="malignant"
    )
    pooled = bp.pool(cm)
    assert pooled.new_group["recall"].mean().dims == ("model",)


# ── What is handed out ──


@pytest.mark.slow
def test_summary_tells_the_three_answers_apart():
    table = POOLED.summary(["recall", "f1"], ci_prob=0.9, ci_kind="eti")
    assert table.columns.tolist() == ["answer", "metric", "fold", "observed", "mean", "sd", "median", "ci_lower",
                                      "ci_upper", "method", "mcse", "mcse_interval"]  # fmt: skip
    cm = POOLED.model.cm
    scores = [bp.score(counts, name) for counts in (cm.sum("fold"), cm) for name in ("recall", "f1")]
    observed = [*map(float, scores[:2]), np.nan, np.nan, *scores[2].values, *scores[3].values]
    np.testing.assert_allclose(table["observed"], observed, rtol=1e-14)
    assert table["answer"].tolist() == ["mean"] * 2 + ["new group"] * 2 + ["group"] * 10
    assert table["fold"].tolist() == [""] * 4 + [0, 1, 2, 3, 4] * 2
    row = table[(table["answer"] == "group") & (table["metric"] == "f1") & (table["fold"] == 3)]
    expected = POOLED.by_group["f1"].eti(0.9).values[3]
    np.testing.assert_array_equal(row[["ci_lower", "ci_upper"]].values[0], expected)
    assert table.attrs == {
        "ci_prob": 0.9,
        "ci_kind": "eti",
        "estimand": "Metrics at the population mean, of a new fold and of each fold",
        "prior": "mean rates ~ Beta(1, 1), dispersion ~ Beta(1, 24), prevalence ~ Beta(1, 1)",
    }
    assert "90 % equal-tailed interval" in repr(table)
    assert {"recall", "f1", "accuracy"} <= set(POOLED.summary()["metric"])


def test_estimands():
    assert POOLED.mean["f1"].estimand == "Posterior of the metric at the population mean over folds"
    assert POOLED.by_group["f1"].estimand == "Posterior of each fold's own metric"
    assert POOLED.new_group["f1"].estimand == "Prediction of the metric of a new fold"


def test_text_and_html():
    assert repr(POOLED) == "<bayesperf.groups.Pooled: 5 folds, one prevalence, ρ ~ Beta(1, 24)>"
    html = POOLED._repr_html_()
    assert html.count("<table") == 1
    assert html.count("new group") > 1


def test_posteriors_predict_and_change_prevalence(tmp_path):
    new = POOLED.new_group
    predicted = new.predict(30)
    assert predicted.estimand == "Prediction of the metric in a new test set of 30 examples"
    assert predicted["recall"].sd() > new["recall"].sd()
    with pytest.raises(ValueError, match="this is a prediction already"):
        predicted.predict(30)
    moved = POOLED.mean.at_prevalence(0.01)
    assert moved["precision"].mean() < POOLED.mean["precision"].mean()
    np.testing.assert_allclose(moved["recall"].mean(), POOLED.mean["recall"].mean(), rtol=1e-12)
    with pytest.raises(ValueError, match="n: name the size of the new test set"):
        POOLED.new_group.predict()
    shares = POOLED.mean.predict(draws=10).source.cells * POOLED.model.cm.total.sum().item()
    np.testing.assert_allclose(shares, shares.round(), atol=1e-9)
    assert POOLED.by_group.predict()["recall"].mean().dims == ("fold",)
    again = bp.Posterior.from_datatree(POOLED.by_group.to_datatree(["f1"]))
    np.testing.assert_allclose(again["f1"].mean(), POOLED.by_group["f1"].mean())
    assert again.predict(20)["f1"].mean().dims == ("fold",)


def test_two_systems_share_no_draws():
    cm = matrix([FOLDS[0]] * 2, [FOLDS[1]] * 2, model=["a", "b"], fold=list(range(5)))
    draws = quiet_pool(cm).mean["recall"].joint_draws(10_000).values
    assert abs(np.corrcoef(draws)[0, 1]) < 5 / 100


def test_labels_need_no_positive_class():
    cm = bp.ConfusionMatrix.from_table(FOLDS_MATRIX.counts.values, labels=["cat", "dog"], dims=["fold"])
    pooled = quiet_pool(cm)
    assert pooled.mean["accuracy"].mean() > 0.8
    with pytest.raises(ValueError, match="positive"):
        pooled.mean["recall"]


# ── The figure ──


def test_shrinkage_figure_shows_the_model():
    figure = POOLED.plot("f1", ci_prob=0.9, ci_kind="eti")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "F1"
    assert " ".join(axes.get_ylabel().split()) == "fold (n: its examples, of both classes)"
    assert figure.get_suptitle() == "Means and 90 % equal-tailed intervals"
    assert [label.get_text() for label in axes.get_yticklabels()] == [*(f"{i} (n = 31)" for i in range(5)), "new fold"]
    groups, observed, new = axes.collections
    segments = np.array([segment[:, 0] for segment in groups.get_segments()])
    np.testing.assert_allclose(segments, POOLED.by_group["f1"].eti(0.9))
    np.testing.assert_allclose(observed.get_offsets()[:, 0], bp.score(FOLDS_MATRIX, "f1"))
    np.testing.assert_allclose(new.get_segments()[0][:, 0], POOLED.new_group["f1"].eti(0.9))
    mean, points, point = axes.lines
    assert mean.get_xdata()[0] == POOLED.mean["f1"].mean()
    np.testing.assert_allclose(points.get_xdata(), POOLED.by_group["f1"].mean())
    assert point.get_xdata()[0] == POOLED.new_group["f1"].mean()


@pytest.mark.slow
def test_shrinkage_figure_has_a_panel_a_system():
    right = np.array([FOLDS[0]] * 4)
    cm = matrix(right, np.full_like(right, 20), model=list("abcd"), fold=list(range(5)))
    figure = quiet_pool(cm).plot()
    shown = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title() for axes in shown] == [f"model {name}" for name in "abcd"]
    assert {axes.get_xlabel() for axes in shown} == {"recall"}
    with pytest.raises(ValueError, match="'recall_per_class' has a value a class"):
        POOLED.plot("recall_per_class")


# ── Bad input ──


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dim": "site"}, r"dim: 'site' is not a leading dim; they are \['fold'\]"),
        ({"groups": "fixed"}, "groups must be one of 'random', 'clusters'; it is 'fixed'"),
        ({"design": "rows"}, "design must be one of 'joint', 'by_actual'; it is 'rows'"),
        ({"repeats": 0}, "repeats must be a whole number of at least 1; it is 0"),
        ({"repeats": 2.5}, "repeats must be a whole number"),
        ({"repeats": 2}, "repeats: 2 repeats have as many folds each, and dim 'fold' has 5. Leave out an unfinished"),
        ({"dispersion": (0, 1)}, "dispersion must be greater than 0 and finite, as a weight of a Beta is; it is 0"),
        ({"dispersion": (1, np.inf)}, "dispersion must be"),
        ({"dispersion": 0.1}, "dispersion must be"),
        ({"dispersion": (1, 2, 3)}, "dispersion must be"),
        ({"dispersion": "random"}, "dispersion must be"),
        ({"draws": 1}, "draws must be a whole number of at least 2; it is 1"),
        ({"random_seed": -1}, "random_seed must be a non-negative integer"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        bp.pool(FOLDS_MATRIX, **options)


def test_bad_matrices():
    with pytest.raises(TypeError, match="cm must be a ConfusionMatrix or Outcomes; it is ndarray"):
        bp.pool(FOLDS_MATRIX.counts.values)
    three = bp.ConfusionMatrix.from_table(np.ones((4, 3, 3), int), dims=["fold"])
    with pytest.raises(ValueError, match=r"there are 3\. Use fit\(cm, model='groups'\).*one_vs_rest\(\)"):
        bp.pool(three)
    assert quiet_pool(three.one_vs_rest()).mean["recall"].mean().dims == ("label",)
    with pytest.raises(ValueError, match=r"'fold' is not a leading dim; they are \[\]"):
        bp.pool(FOLDS_MATRIX.sum("fold"))


# ── Several attempts ──


def attempts(passed, times):
    """Return a matrix of questions, each asked so many times."""
    passed, times = np.asarray(passed), np.broadcast_to(times, np.shape(passed))
    dims = ["question"] if passed.ndim == 1 else ["model", "question"]
    return bp.ConfusionMatrix.from_counts(tp=passed, fn=times - passed, fp=0, tn=0, dims=dims)


PASSED = [0, 0, 1, 4, 3, 4, 0, 2]


@pytest.mark.slow
@pytest.mark.parametrize("given", [None, (1, 9)])
def test_pass_at_k_is_an_integral_over_mean_and_dispersion(given):
    """Questions have a flat dispersion, which is not that of sites, unless another is given."""
    p, rho = (np.linspace(0, 1, 401)[1:-1] for _ in range(2))
    kappa = 1 / rho[:, None] - 1
    a, b = kappa * p, kappa * (1 - p)
    whole = special.betaln(a, b)
    of_passed = {s: special.betaln(a + s, b + 4 - s) for s in set(PASSED)}
    density = stats.beta.pdf(rho, *(given or (1, 1)))[:, None] * np.exp(sum(of_passed[s] - whole for s in PASSED))
    density /= density.sum()
    pooled = bp.pool(attempts(PASSED, 4), "question", "clusters", draws=20_000, dispersion=given)
    for k in (1, 4):
        new = 1 - np.exp(special.betaln(a, b + k) - whole)
        groups = {s: 1 - np.exp(special.betaln(a + s, b + 4 - s + k) - of_passed[s]) for s in of_passed}
        expected = [(density * value).sum() for value in (new, np.mean([groups[s] for s in PASSED], 0))]
        spread = np.sqrt((density * (new - expected[0]) ** 2).sum())
        found = pooled.pass_at_k(k)
        np.testing.assert_allclose(found.mean(), expected, atol=4 * spread / np.sqrt(20_000) + 1e-4)
        assert found.sd().values[0] == pytest.approx(spread, rel=0.04)


@pytest.mark.slow
def test_pass_at_k_beside_the_unbiased_estimate():
    found = bp.pool(attempts([PASSED, PASSED[::-1]], 4), "question", "clusters").pass_at_k(2)
    assert found.dims == ("model", "of")
    assert found.leading["of"].values.tolist() == ["a new question", "these questions"]
    expected = np.mean([1 - special.comb(4 - s, 2) / special.comb(4, 2) for s in PASSED])
    np.testing.assert_allclose(found.observed, np.full((2, 2), expected), rtol=1e-12)
    assert "for A and a new question" not in found.in_words()
    with pytest.raises(ValueError, match="k must be"):
        bp.pool(attempts(PASSED, 4), "question", "clusters").pass_at_k(0)


@pytest.mark.parametrize("method", ["model", "bayesian_bootstrap"])
@pytest.mark.filterwarnings(
    "ignore::bayesperf.core.errors.PriorWarning", "ignore::bayesperf.core.errors.DependenceWarning"
)
def test_more_attempts_than_were_made_are_refused(method):
    few = bp.pool(attempts(PASSED, [4] * 7 + [2]), "question", "clusters", method=method)
    few.pass_at_k(2)
    words = (
        r"k: it is 3, and 1 of 8 questions have fewer attempts, the fewest 2\. 3 attempts of every question are needed"
    )
    with pytest.raises(ValueError, match=words + ": make more, leave those questions out, or ask for k=2"):
        few.pass_at_k(3)
    with pytest.raises(ValueError, match=r"k: it is 20, and 8 of 8 .*: make more, or ask for k=4\."):
        bp.pool(attempts(PASSED, 4), "question", "clusters", method=method).pass_at_k(20)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.PriorWarning")
@pytest.mark.parametrize("population", [(0.3, 0.3), [0.05, 0.05, 0.05, 0.9, 0.9]], ids=["beta", "easy or hard"])
def test_pass_at_k_covers_questions_that_are_not_like_sites(population):
    """With the dispersion of sites the intervals are too narrow; see `validation/tables/attempts.csv`."""
    rng, sets, n, k = np.random.default_rng(5), 400, 50, 5
    if isinstance(population, tuple):
        rates, (a, b) = rng.beta(*population, (sets, n)), population
        truth = 1 - np.exp(special.betaln(a, b + k) - special.betaln(a, b))
    else:
        rates, truth = rng.choice(population, (sets, n)), np.mean(1 - (1 - np.array(population)) ** k)
    pooled = bp.pool(attempts(rng.binomial(5, rates), 5), "question", "clusters", draws=1000)
    low, high = np.moveaxis(pooled.pass_at_k(k).eti(0.95).sel(of="a new question").values, -1, 0)
    assert 0.91 < ((low <= truth) & (truth <= high)).mean() < 0.985


def test_a_class_without_examples_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bp.pool(attempts(PASSED * 4, 4), "question", "clusters")
