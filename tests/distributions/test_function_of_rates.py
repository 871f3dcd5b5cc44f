"""Metrics of two classes by quadrature over prevalence and rates, against other integrals of the metric itself."""

import numpy as np
import pytest
from scipy import special

import bayesperf as bp
from bayesperf import metrics
from bayesperf.distributions.quadrature import gauss_jacobi

JOINT = ["mcc", "cohen_kappa", "p4", "f1_macro", "precision_weighted"]
SHIFTED = ["accuracy", "error_rate", "precision", "npv", "fdr", "for", "jaccard", "f1", "f2", "fowlkes_mallows",
           "markedness", "jaccard_macro", *JOINT]  # fmt: skip
LEVELS = np.array([0.025, 0.3, 0.9])


def posterior(table, prior="flat", at=None):
    tp, fn, fp, tn = table
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=fp, tn=tn), prior)
    return post if at is None else post.at_prevalence(at)


def logit_nodes(a, b, nodes, reach=10):
    """Nodes and weights of the trapezoidal rule for the logit of a Beta, whose density is smooth and decays."""
    x = special.expit(np.linspace(-reach, reach, nodes))
    weight = x**a * (1 - x) ** b
    return x, weight / weight.sum()


def integrated_cdf(metric, table, t, prevalence, reach=10):
    """P(metric ≤ t) under a flat prior, integrated over two quantities, the third found by bisecting the metric.

    `prevalence` holds the parameters of a Beta, or one fixed value.
    """
    tp, fn, fp, tn = np.add(table, 1)
    # At a low prevalence the recall matters little, and its distribution function is steep in the specificity.
    fixed = np.ndim(prevalence) == 0
    p, p_weight = (np.array([prevalence]), np.ones(1)) if fixed else logit_nodes(*prevalence, 140)
    specificity, weight = logit_nodes(tn, fp, 8000 if fixed else 140, reach)
    p = p[:, None]
    low, high = np.zeros((len(p), len(specificity))), np.ones((len(p), len(specificity)))
    rises = metric.greater_is_better
    for _ in range(40):
        recall = (low + high) / 2
        cells = (
            (1 - p) * specificity + 0 * recall,
            (1 - p) * (1 - specificity) + 0 * recall,
            p * (1 - recall),
            p * recall,
        )
        value = metric.evaluate(np.stack(cells, -1).reshape(*recall.shape, 2, 2), 1)
        below = (value <= t) == rises
        low, high = np.where(below, recall, low), np.where(below, high, recall)
    share = special.betainc(tp, fn, high)
    return p_weight @ (share if rises else 1 - share) @ weight


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "at", "table"),
    [*((name, None, (4, 2, 3, 4)) for name in JOINT), *((name, 0.03, (45, 5, 10, 90)) for name in SHIFTED)],
)
def test_quadrature_agrees_with_bisection_of_the_metric(name, at, table):
    marginal = posterior(table, at=at)[name]
    assert marginal.method == "quadrature"
    points = marginal.ppf(LEVELS).values
    np.testing.assert_allclose(marginal.cdf(points), LEVELS, atol=1e-8)
    np.testing.assert_allclose(marginal.sf(points), 1 - LEVELS, atol=1e-8)
    prevalence = (table[0] + table[1] + 2, table[2] + table[3] + 2) if at is None else at
    expected = [integrated_cdf(metrics.get(name), table, t, prevalence) for t in points]
    np.testing.assert_allclose(LEVELS, expected, atol=1e-6)


@pytest.mark.parametrize(
    "table", [(0, 21, 24, 4), (0, 16, 17, 1), (0, 13, 1, 2), (700, 6, 20, 1500), (8, 900, 1100, 6)]
)
def test_p4_is_integrated_where_its_level_sets_bend(table):
    """The specificity at which P4 has a value hardly depends on the recall, or almost on it alone."""
    marginal = posterior(table, at=0.03)["p4"]
    points = marginal.ppf(LEVELS).values
    expected = [integrated_cdf(metrics.get("p4"), table, t, 0.03, reach=22) for t in points]
    np.testing.assert_allclose(LEVELS, expected, atol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["f1", "mcc"])
def test_a_prevalence_of_its_own_is_a_mixture_of_fixed_ones(name):
    marginal = posterior((45, 5, 10, 90), at=(3, 40))[name]
    points = marginal.ppf(LEVELS).values
    prevalences, weights = logit_nodes(3, 40, 121)
    inside = weights > 1e-10
    fixed = [posterior((45, 5, 10, 90), at=p)[name].cdf(points).values for p in prevalences[inside]]
    np.testing.assert_allclose(weights[inside] @ fixed, LEVELS, atol=1e-7)


@pytest.mark.parametrize("name", ["mcc", "cohen_kappa", "p4"])
def test_density_is_the_derivative_of_the_cdf(name):
    marginal = posterior((4, 1, 1, 4))[name]
    x = marginal.ppf([0.1, 0.4, 0.8]).values
    slope = (marginal.cdf(x + 1e-5).values - marginal.cdf(x - 1e-5).values) / 2e-5
    np.testing.assert_allclose(marginal.pdf(x), slope, rtol=1e-5)


def test_density_of_mcc_is_continuous_at_0():
    # There the roots that are its level sets vanish, whatever the rates; with 0 correct negatives the density of the
    # specificity is infinite, too.
    before, at, after = posterior((2, 0, 1, 0), "jeffreys")["mcc"].pdf([-1e-9, 0, 1e-9]).values
    np.testing.assert_allclose([before, after], at, rtol=1e-6)


@pytest.mark.slow
def test_mcc_of_ten_examples():
    """The interval of [[4, 1], [1, 4]] under a flat prior, of which 10,000 draws give [−.018, .831]."""
    lower, upper = posterior((4, 1, 1, 4))["mcc"].hdi().values
    metric, prevalence = metrics.get("mcc"), (7, 7)

    def mass(low, high):
        return integrated_cdf(metric, (4, 1, 1, 4), high, prevalence) - integrated_cdf(
            metric, (4, 1, 1, 4), low, prevalence
        )

    assert mass(lower, upper) == pytest.approx(0.95, abs=1e-5)
    assert mass(lower - 0.005, lower + 0.005) == pytest.approx(mass(upper - 0.005, upper + 0.005), rel=1e-2)
    assert (lower, upper) == pytest.approx((-0.0120, 0.8393), abs=5e-5)


def test_cost_is_integrated_if_errors_cost_more():
    cm = bp.ConfusionMatrix.from_counts(tp=4, fn=2, fp=3, tn=4)
    cost = metrics.cost([[0, 1], [5, -1]])
    marginal = bp.posterior(cm, "flat")[cost]
    assert marginal.method == "quadrature"
    weights = np.array([5.0, 3.0, 4.0, 5.0]) / 17
    assert marginal.mean().item() == pytest.approx(weights @ [-1, 5, 1, 0], abs=1e-9)
    assert bp.posterior(cm, "flat")[metrics.cost([[0, 1], [0, 1]])].method == "draws"


def test_a_prior_of_tiny_cells_is_drawn_from():
    assert posterior((4, 1, 0, 4), bp.prior.dirichlet(0.01))["mcc"].method == "draws"
    assert posterior((4, 1, 2, 4), "haldane")["mcc"].method == "quadrature"


@pytest.mark.slow
@pytest.mark.parametrize("table", [(4, 1, 1, 4), (10, 0, 0, 10), (0, 50, 0, 50), (0, 5, 5, 100), (5, 1, 3000, 100_000)])
@pytest.mark.parametrize("prior", ["jeffreys", "perks"])
def test_quadrature_agrees_with_ten_million_draws(table, prior):
    n, alpha = 10_000_000, {"jeffreys": 0.5, "perks": 0.25}[prior]
    rng = np.random.default_rng(21)
    marginals = {name: posterior(table, prior)[name] for name in ("mcc", "cohen_kappa", "p4")}
    points = {name: marginal.ppf(LEVELS).values for name, marginal in marginals.items()}
    below = dict.fromkeys(marginals, 0)
    for _ in range(10):
        cells = rng.standard_gamma(np.array(table) + alpha, (n // 10, 4)).T
        for name, x in points.items():
            below[name] = below[name] + (metrics.get(name).of_binary(*cells)[:, None] <= x).sum(0)
    for name, count in below.items():
        assert np.all(np.abs(count / n - LEVELS) < 5 * np.sqrt(LEVELS * (1 - LEVELS) / n)), name


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (3, 1), (0.3, 7), (1e3, 0.1), (1e9, 1e15)])
def test_gauss_jacobi_is_exact_for_moments(a, b):
    x, rest, weights = gauss_jacobi(np.array([[a]]), np.array([[b]]), 12)
    np.testing.assert_allclose(x + rest, 1, rtol=1e-15)
    mean, variance = a / (a + b), a * b / (a + b) ** 2 / (a + b + 1)
    assert weights.sum() == pytest.approx(1, rel=1e-12)
    assert (weights * x).sum() == pytest.approx(mean, rel=1e-12)
    assert (weights * rest).sum() == pytest.approx(b / (a + b), rel=1e-12)
    assert (weights * (x - mean) ** 2).sum() == pytest.approx(variance, rel=1e-9)
    if b < 1e9:
        assert (weights * x**9).sum() == pytest.approx(
            np.exp(special.betaln(a + 9, b) - special.betaln(a, b)), rel=1e-9
        )


@pytest.mark.parametrize("metric", ["mcc", "cohen_kappa"])
def test_a_class_that_hardly_occurs_among_very_many(metric):
    """One positive among 20,001: the distribution at each prevalence bends sharply, and few of them make stairs."""
    cells = np.random.default_rng(0).standard_gamma([0.5, 1.5, 10_000.5, 10_000.5], (200_000, 4))
    tp, fn, fp, tn = cells.T / cells.sum(1)
    drawn = {
        "mcc": (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
        "cohen_kappa": 2 * (tp * tn - fn * fp) / ((tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)),
    }[metric]
    found = posterior((0, 1, 10_000, 10_000), "jeffreys")[metric]
    levels = np.array([0.025, 0.25, 0.5, 0.75, 0.975])
    # The stairs between 96 nodes are this high; with 24 they were 0.02, and the interval held 0.94.
    np.testing.assert_allclose((drawn[:, None] <= found.ppf(levels).values).mean(0), levels, rtol=0, atol=0.008)
    # The shortest interval of kappa takes twenty times as long.
    low, high = (found.hdi() if metric == "mcc" else found.eti()).values
    assert ((low <= drawn) & (drawn <= high)).mean() == pytest.approx(0.95, abs=0.003)


def test_points_that_are_computed_in_several_blocks():
    """A tiny cell takes most nodes, and level sets that bend four times as many."""
    cdf = bp.posterior(bp.ConfusionMatrix.from_counts(tp=0, fn=0, fp=20, tn=100))["p4"].cdf
    points = np.linspace(0.01, 0.3, 3)
    assert cdf(points).values.tolist() == [cdf(point).item() for point in points]
