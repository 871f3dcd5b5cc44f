"""The one-dimensional posteriors against independent computation: adaptive integration, draws, direct minimisation."""

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, optimize, special, stats

import bayesperf as bp
from bayesperf import metrics
from bayesperf.distributions.beta import Beta, TransformedBeta
from bayesperf.distributions.draws import Draws, DrawsBesidePairs, DrawsOfPairs
from bayesperf.metrics.exact_forms import IncreasingFunction, TwoProportions

QUADRATURE = [name for name in [*metrics.names(), "f2", "f0.5"] if isinstance(metrics.get(name).exact, TwoProportions)]
# (tp, fn, fp, tn): small, balanced, perfect, nothing found, large and skewed, a tiny class, few negatives.
TABLES = [
    (3, 2, 1, 4),
    (65, 15, 35, 30),
    (10, 0, 0, 10),
    (0, 5, 5, 100),
    (5, 1, 3000, 100_000),
    (100_000, 100, 3, 5),
]


def posterior(table, prior="flat", **options):
    tp, fn, fp, tn = table
    return bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=fp, tn=tn), prior, **options)


def adaptive_cdf(distribution, t):
    """P(metric ≤ t) by adaptive integration over the logit of the outer Beta."""
    inner, outer, form = distribution.inner, distribution.outer, distribution.form
    (a, b), (c, d) = ((float(beta.a[0, 0]), float(beta.b[0, 0])) for beta in (inner, outer))
    share = special.betainc if form.increasing else special.betaincc

    def integrand(y):
        w, rest = special.expit(y), special.expit(-y)
        below = share(a, b, np.clip(form.inner_at(t, w, rest), 0, 1))
        return below * np.exp(c * np.log(w) + d * np.log(rest) - special.betaln(c, d))

    mode, scale = np.log(c / d), min(1, np.sqrt(1 / c + 1 / d))
    low, high = mode - 45 / c - 10 * scale, mode + 45 / d + 10 * scale
    points = list(mode + scale * np.array([-8, -4, -2, -1, 0, 1, 2, 4, 8]))
    if form.outer_at:
        x = special.betaincinv(a, b, [1e-12, 1e-6, 0.01, 0.5, 0.99, 1 - 1e-6, 1 - 1e-12])
        points += list(special.logit(np.clip(form.outer_at(t, x, 1 - x), 1e-250, 1 - 1e-16)))
    inside = sorted(p for p in points if low < p < high)
    return integrate.quad(integrand, low, high, points=inside, limit=2000, epsabs=1e-11, epsrel=1e-11)[0]


@pytest.mark.few
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("table", [TABLES[1], TABLES[3], TABLES[4]])
@pytest.mark.parametrize("name", QUADRATURE)
def test_quadrature_agrees_with_adaptive_integration(name, table):
    marginal = posterior(table, "jeffreys")[name]
    points = marginal.ppf([0.025, 0.9]).values
    expected = [adaptive_cdf(marginal.distribution, t) for t in points]
    np.testing.assert_allclose(marginal.cdf(points), expected, atol=1e-7, rtol=0)
    np.testing.assert_allclose(marginal.sf(points), 1 - np.array(expected), atol=1e-7, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_quadrature_agrees_with_draws(table):
    n = 4_000_000
    marginals = {name: posterior(table)[name] for name in QUADRATURE}
    rng = np.random.default_rng(20)
    tp, fn, fp, tn = rng.standard_gamma(np.array(table) + 1.0, (n, 4)).T
    for name, marginal in marginals.items():
        draws = metrics.get(name).of_binary(tp, fn, fp, tn)
        levels = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
        observed = [(draws <= x).mean() for x in marginal.ppf(levels).values]
        error = np.sqrt(levels * (1 - levels) / n)
        assert np.all(np.abs(observed - levels) < 5 * error), name
        if np.isfinite(marginal.sd().item()):
            assert abs(draws.mean() - marginal.mean().item()) < 5 * marginal.sd().item() / np.sqrt(n), name


@pytest.mark.few
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", ["f2", "balanced_accuracy", "fowlkes_mallows", "positive_likelihood_ratio"])
def test_density_is_the_derivative_of_the_cdf(name, table):
    marginal = posterior(table)[name]
    x = marginal.ppf([0.1, 0.4, 0.8]).values
    step = 1e-4 * marginal.eti().diff("ci_bound").item()
    slope = (marginal.cdf(x + step).values - marginal.cdf(x - step).values) / (2 * step)
    np.testing.assert_allclose(marginal.pdf(x), slope, rtol=1e-4)


@pytest.mark.parametrize(("a", "b"), [(0.1, 0.1), (0.5, 1e4), (1, 1), (3, 7), (1e5, 0.5), (80, 1)])
def test_moments_of_f1_agree_with_the_hypergeometric_series(a, b):
    form = metrics.get("f1").exact
    mean, sd = TransformedBeta(Beta(np.array([[a]]), np.array([[b]])), form.forward, form.inverse).mean_sd()
    # E[J/(1 + J)] = 1 − ₂F₁(1, a; a + b; −1), and a derivative of it for the square.
    import mpmath

    expected = 2 * (1 - mpmath.hyp2f1(1, a, a + b, -1))
    square = 4 * (1 - 2 * mpmath.hyp2f1(1, a, a + b, -1) + mpmath.hyp2f1(2, a, a + b, -1))
    assert mean[0] == pytest.approx(float(expected), abs=1e-9)
    assert sd[0] == pytest.approx(float(mpmath.sqrt(square - expected**2)), rel=1e-5)


@pytest.mark.few
@pytest.mark.parametrize("table", [TABLES[0], TABLES[4]])
@pytest.mark.parametrize(
    "name",
    ["f0.5", "fowlkes_mallows", "balanced_accuracy", "markedness", "geometric_mean"],
)
def test_moments_of_two_betas_agree_with_the_integral_of_their_cdf(name, table):
    marginal = posterior(table)[name]
    low, high = marginal.bounds
    middle = marginal.ppf([1e-9, 0.001, 0.5, 0.999, 1 - 1e-9]).values

    def above(t):
        return marginal.sf(t.ravel()).values.reshape(t.shape)

    def integral(function, *edges):
        edges = np.unique([low, *edges, high])
        return integrate.tanhsinh(function, edges[:-1], edges[1:], rtol=1e-9, atol=1e-12).integral.sum()

    mean = low + integral(above, *middle)
    assert marginal.mean().item() == pytest.approx(mean, abs=1e-7)
    variance = integral(lambda t: 2 * (t - mean) * (above(t) - (t < mean)), *middle, mean)
    assert marginal.sd().item() == pytest.approx(np.sqrt(variance), rel=1e-5)


@pytest.mark.parametrize("table", TABLES)
def test_moments_of_mixtures_over_the_prevalence_are_those_of_a_beta(table):
    tp, fn, fp, tn = np.array(table) + 0.5
    marginal = posterior(table, "jeffreys", design="by_actual").at_prevalence((tp + fn, fp + tn))["accuracy"]
    # These weights make the cells a Dirichlet, and so the accuracy a Beta.
    expected = stats.beta(tp + tn, fn + fp)
    assert marginal.method == "quadrature"
    assert marginal.mean().item() == pytest.approx(expected.mean(), abs=1e-8 * expected.std())
    assert marginal.sd().item() == pytest.approx(expected.std(), rel=1e-8)


def test_moments_of_ratios_are_closed_and_diverge_where_they_should():
    a, b, c, d = 4, 3, 6, 2  # recall ~ Beta(4, 3), specificity ~ Beta(6, 2): E[1/fpr] = 7/1, E[1/fpr²] diverges
    ratio = posterior((a - 1, b - 1, d - 1, c - 1))["positive_likelihood_ratio"]
    assert ratio.mean().item() == pytest.approx(4 / 7 * 7)
    assert np.isinf(ratio.sd().item())
    assert np.isinf(posterior((3, 2, 0, 5))["positive_likelihood_ratio"].mean().item())
    assert np.isfinite(posterior((3, 2, 0, 5))["positive_likelihood_ratio"].median().item())
    assert posterior((3, 2, 9, 5))["negative_likelihood_ratio"].mean().item() == pytest.approx(3 / 7 * 15 / 5)


@pytest.mark.few
@pytest.mark.parametrize("name", [*QUADRATURE, "recall", "f1"])
@pytest.mark.parametrize("millions", [1, 10_000])
def test_large_counts_meet_the_delta_method(name, millions):
    shares = np.array([0.40, 0.10, 0.05, 0.45])
    total = millions * 1_000_000
    marginal = posterior(tuple((shares * total).astype(int).tolist()))[name]
    metric = metrics.get(name)
    gradient = np.imag([metric.of_binary(*(shares + 1e-20j * unit)) for unit in np.eye(4)]) / 1e-20
    sd = np.sqrt((shares * gradient**2).sum() - (shares @ gradient) ** 2) / np.sqrt(total)
    assert marginal.mean().item() == pytest.approx(
        metric.of_binary(*shares), abs=0.01 * sd + 10 / total * np.abs(gradient).max()
    )
    assert marginal.sd().item() == pytest.approx(sd, rel=1e-3)
    for interval in (marginal.hdi(), marginal.eti()):
        assert interval.diff("ci_bound").item() == pytest.approx(2 * 1.959964 * sd, rel=1e-3)


def shortest(ppf, prob):
    """The shortest interval holding prob, by direct minimisation of its width over the lower tail mass."""

    def width(tail):
        return np.diff(ppf(np.array([tail, tail + prob])))[0]

    grid = np.linspace(0, 1 - prob, 51)
    best = int(np.argmin(ppf(grid + prob) - ppf(grid)))
    tail = grid[best]
    if 0 < best < 50:
        bracket = (grid[best - 1], grid[best + 1])
        tail = optimize.minimize_scalar(width, bounds=bracket, method="bounded", options={"xatol": 1e-11}).x
    return ppf(np.array([tail, tail + prob]))


@pytest.mark.parametrize("prob", [0.5, 0.99])
@pytest.mark.parametrize(
    ("a", "b"), [(5, 2), (40, 40), (1.001, 9), (1e5, 2e3), (2, 1.0001), (0.5, 8), (8, 0.5), (1, 4)]
)
def test_hdi_of_a_beta_is_the_shortest_interval(a, b, prob):
    beta = Beta(np.array([[float(a)]]), np.array([[float(b)]]))
    # The minimum is flat: where the width changes by 1e-16, the ends move by the root of that.
    np.testing.assert_allclose(beta.hdi(prob)[0], shortest(stats.beta(a, b).ppf, prob), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("table", [(5, 2, 1, 8), (0, 5, 5, 20), (30, 0, 0, 30)])
@pytest.mark.parametrize("name", ["f1", "balanced_accuracy", "f2"])
def test_hdi_on_the_metrics_own_scale_is_the_shortest_interval(name, table):
    marginal = posterior(table)[name]
    np.testing.assert_allclose(marginal.hdi(0.8), shortest(lambda q: marginal.ppf(q).values, 0.8), atol=1e-6)


@pytest.mark.few
@pytest.mark.parametrize("name", ["recall", "f1", *QUADRATURE])
def test_intervals_hold_their_probability(name):
    tables = xr.DataArray(TABLES, dims=("table", "cell"))
    marginal = posterior(tables.transpose("cell", "table"), "jeffreys")[name]
    hdi, eti = marginal.hdi(0.95), marginal.eti(0.95)
    for interval in (hdi, eti):
        mass = np.diff(marginal.distribution.cdf(interval.values))
        np.testing.assert_allclose(mass, 0.95, rtol=0, atol=1e-9)
    assert (hdi.diff("ci_bound") <= eti.diff("ci_bound") * (1 + 1e-9)).all()


@pytest.mark.parametrize(("a", "b"), [(0.25, 0.25), (0.5, 40), (13.5, 0.5)])
def test_quantiles_and_their_distances_from_1_belong_together_in_far_tails(a, b):
    beta = Beta(np.array([[a]]), np.array([[b]]))
    tail = np.array([[[1e-30, 1e-20, 1e-9, 0.1, 0.4]]])
    for u, rest in ((tail, 1 - tail), (1 - tail, tail)):
        x, rest_x = beta.quantiles(u, rest)
        np.testing.assert_allclose(x + rest_x, 1, rtol=1e-12)
        # The one of the smaller tail is inverted.
        near, first, second = (x, a, b) if u is tail else (rest_x, b, a)
        np.testing.assert_allclose(special.betainc(first, second, near), tail, rtol=1e-11)


def test_hdi_at_the_bounds():
    def hdi(a, b, prob=0.9):
        return Beta(np.array([[a]]), np.array([[b]])).hdi(prob)[0]

    np.testing.assert_allclose(hdi(1.0, 1.0), [0.05, 0.95], atol=1e-12)  # flat: central
    np.testing.assert_allclose(hdi(1.0, 3.0), [0, 1 - 0.1 ** (1 / 3)], atol=1e-12)  # falling: from 0
    np.testing.assert_allclose(hdi(3.0, 1.0), [0.1 ** (1 / 3), 1], atol=1e-12)  # rising: to 1
    np.testing.assert_allclose(hdi(0.5, 0.5), [0, np.sin(0.45 * np.pi) ** 2], atol=1e-12)  # U-shaped, a tie: the lower
    assert hdi(0.5, 0.4)[1] == 1  # U-shaped, more at 1


@pytest.mark.slow
def test_many_hdis_at_once_are_those_one_by_one():
    rng = np.random.default_rng(3)
    counts = np.concatenate([rng.integers(0, 4, (50, 2)), rng.integers(0, 2000, (50, 2))]) + rng.choice(
        [0.25, 0.5, 1], (100, 1)
    )
    together = Beta(counts[:, :1], counts[:, 1:]).hdi(0.95)
    single = [Beta(row[None, :1], row[None, 1:]).hdi(0.95)[0] for row in counts]
    np.testing.assert_allclose(together, single, atol=1e-12)


@pytest.mark.parametrize("name", ["f1", "jaccard_micro", "specificity_micro", "fpr_micro"])
def test_transforms_are_the_change_of_variable(name):
    cm = bp.ConfusionMatrix.from_table([[9, 1, 0], [2, 7, 3], [0, 1, 9]] if "_" in name else [[9, 1], [2, 7]])
    marginal = bp.posterior(cm, "perks")[name]
    base = marginal.distribution.base
    form = metrics.get(name).exact_form(len(cm.labels))
    assert isinstance(form, IncreasingFunction)
    rng = np.random.default_rng(11)
    n = 400_000
    draws = form.forward(rng.beta(base.a[0, 0], base.b[0, 0], n))
    assert marginal.mean().item() == pytest.approx(draws.mean(), abs=5 * draws.std() / np.sqrt(n))
    assert marginal.sd().item() == pytest.approx(draws.std(), rel=5 / np.sqrt(n))
    levels = np.array([0.1, 0.5, 0.9])
    observed = [(draws <= x).mean() for x in marginal.ppf(levels).values]
    np.testing.assert_allclose(observed, levels, atol=5 * np.sqrt(0.25 / n))
    area = integrate.quad(lambda x: marginal.pdf(x).item(), *marginal.bounds, limit=200)[0]
    assert area == pytest.approx(1, abs=1e-7)


def test_draws_describe_the_defined_ones_and_count_the_others():
    values = np.array([[[0.1, 0.2, np.nan, 0.4, 0.3]], [[1.0, 2.0, 3.0, 4.0, 5.0]]])
    draws = Draws(values, (0.0, 5.0))
    mean, sd = draws.mean_sd()
    np.testing.assert_allclose(mean, [0.25, 3])
    np.testing.assert_allclose(sd, [np.std([0.1, 0.2, 0.4, 0.3], ddof=1), np.sqrt(2.5)])
    # Draws that are all defined have their moments all at once.
    np.testing.assert_allclose(draws.take([1]).mean_sd()[1], np.sqrt(2.5))
    np.testing.assert_allclose(draws.undefined(), [0.2, 0])
    np.testing.assert_allclose(draws.cdf(np.array([[0.2]])), [[0.5], [0]])
    np.testing.assert_allclose(draws.mcse(), sd / np.sqrt([4, 5]))
    with pytest.raises(ValueError, match="'f1' is undefined"):
        Draws.of("f1", np.full((1, 1, 3), np.nan), (0.0, 1.0))


def test_hdi_of_draws_is_hardly_wider_than_the_shortest_window_and_has_no_bias():
    n, inside = 4000, 3800
    expected = Beta(np.array([[5.0]]), np.array([[2.0]])).hdi(0.95)[0]
    errors = []
    for values in np.sort(np.random.default_rng(5).beta(5, 2, (60, n))):
        found = Draws(values[None, None, :], (0.0, 1.0)).hdi(0.95)[0]
        assert np.sum((values >= found[0]) & (values <= found[1])) == inside
        shortest = np.min(values[inside - 1 :] - values[: n - inside + 1])
        assert shortest <= np.diff(found)[0] <= 1.02 * shortest
        errors.append(found - expected)
    assert np.all(np.abs(np.mean(errors, 0)) < 4 * np.std(errors, 0) / np.sqrt(len(errors)))


def test_autocorrelated_draws_have_a_larger_monte_carlo_error():
    rng = np.random.default_rng(8)
    noise = rng.normal(size=(1, 4, 2000))
    chain = np.zeros_like(noise)
    for t in range(1, noise.shape[-1]):
        chain[..., t] = 0.9 * chain[..., t - 1] + noise[..., t]
    dependent, independent = (Draws(chain, (-np.inf, np.inf), kind).mcse()[0] for kind in (False, True))
    # An AR(1) chain of coefficient .9 has (1 + .9)/(1 − .9) = 19 times fewer effective draws.
    assert dependent / independent == pytest.approx(np.sqrt(19), rel=0.25)


def test_the_error_of_an_interval_is_that_of_its_worse_end():
    values = np.random.default_rng(0).standard_exponential(4000)
    ends = np.quantile(values.reshape(10, 400), [0.025, 0.975], axis=1)
    expected = ends.std(1, ddof=1) / np.sqrt(10)
    assert expected[1] > 10 * expected[0]
    assert Draws(values[None, None], (0.0, np.inf)).mcse_interval(0.95, "eti") == pytest.approx(expected[1])


def test_draws_of_pairs_are_turned_with_their_systems():
    values, first, second = np.random.default_rng(0).random((3, 3, 1, 5))
    taken = DrawsBesidePairs(values, (0.0, 1.0), pairs=(first, second)).take(np.array([2, 0]))
    np.testing.assert_array_equal(taken.values, values[[2, 0]])
    # The pairs are 0 and 1, 0 and 2, 1 and 2.
    difference = taken.contrast("difference", np.subtract, (-1.0, 1.0), (np.array([0]), np.array([1])))
    np.testing.assert_array_equal(difference.values, (second - first)[[1]])


def test_quantiles_of_a_beta_that_scipy_misses():
    u = np.array([[1e-100, 1e-50, 1e-20, 1e-6]])
    beta = Beta(np.array([[1.001]]), np.array([[0.001]]))
    np.testing.assert_allclose(beta.cdf(beta.ppf(u)), u, rtol=1e-9)


def test_metric_of_tiny_cells_has_probabilities_everywhere():
    cm = bp.ConfusionMatrix.from_table([[0, 1], [5, 2]])
    error = bp.posterior(cm, bp.prior.dirichlet(0.001))["half_total_error_rate"]
    cdf = error.cdf([0.1, 0.3, 0.5, 0.7]).values
    fnr, fpr = stats.beta(5.001, 2.001), stats.beta(1.001, 0.001)
    draws = (fnr.rvs(100_000, random_state=1) + fpr.rvs(100_000, random_state=2)) / 2
    expected = np.mean(draws[:, None] <= [0.1, 0.3, 0.5, 0.7], 0)
    np.testing.assert_allclose(cdf, expected, atol=5 * np.sqrt(0.25 / 100_000))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["positive_likelihood_ratio", "diagnostic_odds_ratio"])
def test_intervals_of_ratios_of_tiny_cells_warn_of_nothing(metric):
    post = bp.posterior(bp.ConfusionMatrix.from_table([[0, 2], [5, 0]]), bp.prior.dirichlet(1e-12))
    lower, upper = post[metric].hdi().values
    assert lower <= upper


@pytest.mark.slow
def test_ends_that_meet_warn_of_nothing():
    table = [[[6, 12], [0, 10**9]], [[2, 1], [10**9, 3]], [[0, 10**6], [15, 0]], [[15, 11], [1, 2]]]
    cm = bp.ConfusionMatrix.from_table(np.cumsum(table, 0), dims=["step"])
    for prior in ("flat", "perks", bp.prior.dirichlet(1e-12), bp.prior.dirichlet(1e6)):
        assert (bp.posterior(cm, prior)["recall"].hdi().diff("ci_bound") >= 0).all()


def test_shortest_interval_of_draws_is_no_wider_than_the_central_one():
    draws = Draws(np.random.default_rng(0).random((200, 1, 500)), (0.0, 1.0))
    for prob in (0.5, 0.95):
        assert (np.diff(draws.hdi(prob)) <= np.diff(draws.eti(prob))).all()


def test_deviation_of_huge_draws_is_infinite():
    _, sd = Draws(np.array([[[1.0, 1e200]]]), (0.0, np.inf)).mean_sd()
    assert np.isinf(sd).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "true"), [(stats.gamma(2), (0.04236, 4.76517)), (stats.beta(20, 3), (0.73481, 0.98335))], ids=["γ", "β"]
)
def test_hdi_of_many_draws_of_a_skewed_distribution_has_hardly_a_bias(law, true):
    """By more than .45 % of the width, as of a parabola through the widths, the lower limits were too low."""
    np.testing.assert_allclose(np.diff(law.cdf(true)), 0.95, atol=1e-4)
    np.testing.assert_allclose(*law.logpdf(true), atol=1e-3)
    rng = np.random.default_rng(1)
    drawn = (Draws(law.rvs((1, 1, 40_000), random_state=rng), law.support()) for _ in range(60))
    error = np.array([draws.hdi(0.95)[0, 0] for draws in drawn]) - true[0]
    assert abs(error.mean()) < 0.0035 * (true[1] - true[0])


def test_draws_of_pairs_are_those_of_all_pairs_at_once():
    systems = np.random.default_rng(3).normal(size=(2, 12, 1, 500))
    systems[1, 4, 0, 7] = np.nan
    rows = np.triu_indices(12, 1)
    pairs = DrawsOfPairs((systems[0], systems[1]), rows, np.subtract, (-np.inf, np.inf))
    whole = Draws(systems[0][rows[0]] - systems[1][rows[1]], (-np.inf, np.inf))
    assert (pairs.size, len(list(pairs.blocks()))) == (66, 2)
    np.testing.assert_array_equal(np.concatenate([part.values for part in pairs.blocks()]), whole.values)
    np.testing.assert_array_equal(pairs.take(slice(5, 9)).hdi(0.9), whole.hdi(0.9)[5:9])
    np.testing.assert_array_equal(pairs.undefined(), whole.undefined())
    never = np.full_like(systems[0], np.nan)
    with pytest.raises(ValueError, match="undefined"):
        DrawsOfPairs((never, systems[1]), rows, np.subtract, (-1, 1)).checked("metric")
