"""Differences and ratios against integrals of our own, over another variable and in another coordinate."""

import mpmath
import numpy as np
import pytest
from scipy import special

from bayesperf import metrics
from bayesperf.distributions.beta import Beta, TransformedBeta
from bayesperf.distributions.differences import difference, discordant, ratio
from bayesperf.distributions.draws import Draws
from bayesperf.metrics.exact_forms import micro_jaccard, micro_rest

# Parameters of X and of Y.
PAIRS = {
    "a few examples": (3.5, 3.5, 10.5, 5.5),
    "no examples, little prior": (0.25, 0.25, 0.25, 0.25),
    "thousands": (900, 100, 880, 120),
    "a million against three": (1e6, 3, 3, 1e6),
    "near 0": (0.25, 1e6, 3, 1e6),
    "all right": (30.25, 0.25, 20.25, 0.25),
    "at opposite ends": (1e4, 0.5, 0.5, 1e4),
    "narrow and wide": (5e5, 5e5, 0.25, 0.25),
    "wide and skewed": (0.5, 0.25, 80, 0.25),
}
each_pair = pytest.mark.parametrize("parameters", PAIRS.values(), ids=PAIRS)
_NODE, _WEIGHT = np.polynomial.legendre.leggauss(24)
_LEVELS = np.array([1e-13, 1e-9, 1e-6, 1e-3, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999])


def beta(a, b):
    return Beta(np.array([[float(a)]]), np.array([[float(b)]]))


def one(values):
    """Return the row of a distribution of one."""
    return np.asarray(values)[0]


def cdf_of(a, b, x, rest):
    """P(X ≤ x) for X ~ Beta(a, b), given both x and 1 − x, of which the smaller has its digits."""
    inside = np.where(
        x < 0.5,
        special.betainc(a, b, np.clip(x, 0, 1)),
        special.betaincc(b, a, np.clip(rest, 0, 1)),
    )
    return np.where(x <= 0, 0.0, np.where(rest <= 0, 1.0, inside))


def expect(a, b, function, bends=(), breaks=()):
    """E[function(W, 1 − W)], W ~ Beta(a, b): Gauss–Legendre over logit W, in pieces.

    `bends` are where the function bends, `breaks` where it is singular: there pieces get shorter and shorter.
    """
    mode, scale = np.log(a / b), min(1, np.sqrt(1 / a + 1 / b))
    ends = mode - 45 / a - 10 * scale, mode + 45 / b + 10 * scale
    within = mode + scale * np.concatenate([np.arange(-30, 31, 3), np.arange(-5, 5, 0.5)])
    steps = 10.0 ** np.arange(-15, 1, 0.5)
    near = [point + steps * sign for point in breaks for sign in (-1, 1)]
    edges = np.concatenate([within, np.linspace(*ends, 25), np.ravel(bends), np.ravel(breaks), np.ravel(near)])
    edges = np.unique(np.clip(edges, *ends))
    half = np.diff(edges)[:, None] / 2
    y = edges[:-1, None] + half * (1 + _NODE)
    log_density = -a * np.logaddexp(0, -y) - b * np.logaddexp(0, y)
    # The normaliser from mpmath: SciPy's loses ten digits at a million.
    weight = half * _WEIGHT * np.exp(log_density - float(mpmath.log(mpmath.beta(a, b))))
    return float((weight * function(special.expit(y), special.expit(-y))).sum())


def logits(points):
    """Return the logits of the points (w, 1 − w) that are in (0, 1)."""
    return [np.log(w / rest) for w, rest in points if w > 0 and rest > 0]


def quantiles(a, b):
    """Return (x, 1 − x) at many levels, each from its nearer end."""
    low, high = special.betaincinv(a, b, _LEVELS), special.betaincinv(b, a, _LEVELS)
    return [*zip(low, 1 - low, strict=True), *zip(1 - high, high, strict=True)]


def cdf_of_difference(a, b, c, d, t):
    bends = logits([(x - t, rest + t) for x, rest in quantiles(a, b)])
    breaks = logits([(-t, 1 + t), (1 - t, t)])
    return expect(c, d, lambda w, rest: cdf_of(a, b, t + w, rest - t), bends, breaks)


def pdf_of_difference(*parameters, t):
    """The slope of our own integral: the density's is singular where X has much mass at an end."""
    step = 1e-5 * difference(beta(*parameters[:2]), beta(*parameters[2:])).mean_sd()[1][0]
    return (cdf_of_difference(*parameters, t + step) - cdf_of_difference(*parameters, t - step)) / (2 * step)


def cdf_of_ratio(a, b, c, d, t):
    bends = logits([(x / t, 1 - x / t) for x, _ in quantiles(a, b)])
    breaks = logits([(1 / t, 1 - 1 / t)])
    return expect(c, d, lambda w, rest: cdf_of(a, b, t * w, 1 - t * w if t != 1 else rest), bends, breaks)


# ── Differences of independent shares ──


@pytest.mark.few
@each_pair
@pytest.mark.parametrize("swapped", [False, True])
def test_distribution_function(parameters, swapped):
    a, b, c, d = (*parameters[2:], *parameters[:2]) if swapped else parameters
    found = difference(beta(a, b), beta(c, d))
    points = np.concatenate([one(found.ppf(np.array([[0.001, 0.025, 0.3, 0.9, 0.999]]))), [0, 1e-9, -1e-9, 0.05]])
    # Within rounding of ±1 there is no point to integrate to.
    points = points[np.abs(points) < 1 - 1e-9]
    expected = [cdf_of_difference(a, b, c, d, t) for t in points]
    np.testing.assert_allclose(one(found.cdf(points[None])), expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(one(found.sf(points[None])), 1 - np.array(expected), rtol=0, atol=1e-8)


def test_distribution_function_of_any_parameters():
    rng = np.random.default_rng(0)
    weights = [0.25, 0.5, 1, 1.5, 3, 4.9, 5.1, 30, 1e3, 1e6]
    every = rng.choice(weights, (60, 4))
    every[::3, 2:] = every[::3, :2]
    first, second = (Beta(every[:, [i]], every[:, [i + 1]]) for i in (0, 2))
    found = difference(first, second)
    mean, sd = found.mean_sd()
    points = np.column_stack([0 * mean, mean - 2 * sd, mean + 0.3 * sd])
    cdf = found.cdf(points)
    for row, parameters in enumerate(every):
        for column in range(3):
            if abs(points[row, column]) < 1 - 1e-9:
                expected = cdf_of_difference(*parameters, points[row, column])
                assert cdf[row, column] == pytest.approx(expected, rel=0, abs=1e-8), (parameters, column)


@pytest.mark.few
@each_pair
def test_density(parameters):
    found = difference(beta(*parameters[:2]), beta(*parameters[2:]))
    points = one(found.ppf(np.array([[0.05, 0.4, 0.8]])))
    points = points[np.abs(points) < 1 - 1e-9]
    expected = [pdf_of_difference(*parameters, t=t) for t in points]
    np.testing.assert_allclose(one(found.pdf(points[None])), expected, rtol=3e-4)


@pytest.mark.few
@each_pair
def test_quantiles_and_their_levels(parameters):
    levels = np.array([[0.01, 0.2, 0.5, 0.975]])
    points = one(difference(beta(*parameters[:2]), beta(*parameters[2:])).ppf(levels))
    inside = np.abs(points) < 1 - 1e-9
    found = [cdf_of_difference(*parameters, t) for t in points[inside]]
    # Points are found to 1e-13, which among a million is 1e-7 of a standard deviation.
    np.testing.assert_allclose(found, levels[0, inside], rtol=0, atol=1e-7)


@pytest.mark.few
@pytest.mark.parametrize("prob", [0.5, 0.95])
@pytest.mark.parametrize(
    "name",
    ["a few examples", "thousands", "a million against three", "near 0", "all right"],
)
def test_highest_density_interval(name, prob):
    parameters = PAIRS[name]
    low, high = one(difference(beta(*parameters[:2]), beta(*parameters[2:])).hdi(prob))
    mass = cdf_of_difference(*parameters, high) - cdf_of_difference(*parameters, low)
    assert mass == pytest.approx(prob, abs=1e-7)
    # These have one mode, so the shortest interval is that with equal densities at its ends.
    assert pdf_of_difference(*parameters, t=low) == pytest.approx(pdf_of_difference(*parameters, t=high), rel=1e-3)


def moments(a, b):
    a, b = mpmath.mpf(a), mpmath.mpf(b)
    return a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))


@each_pair
def test_moments(parameters):
    (first, variance), (second, other) = moments(*parameters[:2]), moments(*parameters[2:])
    mean, sd = difference(beta(*parameters[:2]), beta(*parameters[2:])).mean_sd()
    assert mean[0] == pytest.approx(float(first - second), rel=1e-12, abs=1e-15)
    assert sd[0] == pytest.approx(float(mpmath.sqrt(variance + other)), rel=1e-12)


@pytest.mark.parametrize("n", [1e8, 1e10])
def test_large_counts_are_normal(n):
    first, second = beta(0.4 * n, 0.6 * n), beta(0.41 * n, 0.59 * n)
    found = difference(first, second)
    sd = np.sqrt((0.4 * 0.6 + 0.41 * 0.59) / n)
    z = np.array([-3, -1, 0, 0.5, 2])
    np.testing.assert_allclose(one(found.cdf(-0.01 + sd * z[None])), special.ndtr(z), atol=2 / np.sqrt(n))
    np.testing.assert_allclose(one(found.hdi(0.95)), -0.01 + sd * 1.959964 * np.array([-1, 1]), atol=1e-3 * sd)
    assert ratio(first, second).mean_sd()[0][0] == pytest.approx(0.4 / 0.41, rel=1e-6)


@each_pair
def test_turned_round(parameters):
    found, turned = (
        difference(beta(*one_), beta(*other))
        for one_, other in ((parameters[:2], parameters[2:]), (parameters[2:], parameters[:2]))
    )
    points = np.array([[-0.3, -1e-3, 0, 1e-12, 0.02, 0.5]])
    np.testing.assert_allclose(found.cdf(points), turned.sf(-points), rtol=0, atol=1e-8)


@pytest.mark.parametrize("classes", [3, 10, 100])
def test_a_copy_without_an_error_is_a_tie(classes):
    # Recall and F1 of a class always got right, with one pseudo-example in all K² cells: within 1e-16 of 1 is a tenth
    # of the probability, and more.
    found, form = 1 / classes**2, metrics.get("f1").exact
    recall = beta(50 + found, found * (classes - 1))
    f1 = TransformedBeta(beta(50 + found, 2 * found * (classes - 1)), form.forward, form.inverse)
    for quantity in (recall, f1):
        assert difference(quantity, quantity).cdf(np.zeros((1, 1)))[0, 0] == pytest.approx(0.5, abs=1e-6)
        assert ratio(quantity, quantity).cdf(np.ones((1, 1)))[0, 0] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.slow
def test_many_at_once_are_as_one_by_one():
    every = np.array(list(PAIRS.values()), dtype=float)
    first, second = (Beta(every[:, [i]], every[:, [i + 1]]) for i in (0, 2))
    t = np.array([[-0.1, 0.0, 0.2]])
    for kind, points in ((difference, t), (ratio, 1 + t)):
        together = kind(first, second)
        for row, parameters in enumerate(PAIRS.values()):
            alone = kind(beta(*parameters[:2]), beta(*parameters[2:]))
            np.testing.assert_allclose(together.cdf(points)[row], one(alone.cdf(points)), rtol=0, atol=1e-8)
            np.testing.assert_allclose(together.take(np.array([row])).sf(points)[0], one(alone.sf(points)), atol=1e-8)
    np.testing.assert_allclose(
        difference(first, second).shortfall(),
        [difference(beta(*p[:2]), beta(*p[2:])).shortfall()[0] for p in PAIRS.values()],
        rtol=1e-12,
    )


# ── Increasing functions of shares ──

# Value and 1 − value of a share x with 1 − x = rest, and the share and its complement back from these.
FUNCTIONS = {
    "f1": (
        metrics.get("f1").exact,
        lambda x, rest: (2 * x / (1 + x), rest / (2 - rest)),
        lambda t, rest: (t / (2 - t), 2 * rest / (1 + rest)),
    ),
    "micro jaccard": (
        micro_jaccard(5),
        lambda x, rest: (x / (2 - x), 2 * rest / (1 + rest)),
        lambda t, rest: (2 * t / (1 + t), rest / (2 - rest)),
    ),
    "micro specificity": (
        micro_rest(5),
        lambda x, rest: (0.75 + x / 4, rest / 4),
        lambda t, rest: (4 * t - 3, 4 * rest),
    ),
}


def transformed(form, a, b):
    return TransformedBeta(beta(a, b), form.forward, form.inverse)


@pytest.mark.few
@each_pair
@pytest.mark.parametrize(("form", "value", "back"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_of_shares(form, value, back, parameters):
    a, b, c, d = parameters
    found = difference(transformed(form, a, b), transformed(form, c, d))
    points = np.append(one(found.ppf(np.array([[0.025, 0.4, 0.975]]))), [0, 0.03])
    least = value(0.0, 1.0)[0]
    for t in points[np.abs(points) < (1 - least) * (1 - 1e-9)]:

        def below(w, rest, t=t):
            if t == 0:
                return cdf_of(a, b, w, rest)
            of_w, beyond = value(w, rest)
            return np.where(of_w + t <= least, 0.0, cdf_of(a, b, *back(np.minimum(of_w + t, 1), beyond - t)))

        bends = []
        for x, rest in [*quantiles(a, b), (1e-15, 1.0), (1.0, 1e-15)]:
            of_x, beyond = value(x, rest)
            if least < of_x - t < 1:
                bends += logits([back(of_x - t, beyond + t)])
        expected = expect(c, d, below, bends)
        assert found.cdf(np.array([[t]]))[0, 0] == pytest.approx(expected, rel=0, abs=1e-7), t


@pytest.mark.parametrize("parameters", [(3.5, 3.5, 10.5, 5.5), (0.25, 30, 5, 2), (900, 100, 880, 120)])
def test_moments_of_f1(parameters):
    form = metrics.get("f1").exact
    found = []
    for a, b in (parameters[:2], parameters[2:]):
        # E[J/(1 + J)] = 1 − ₂F₁(1, a; a + b; −1), and likewise for the square.
        series, second = mpmath.hyp2f1(1, a, a + b, -1), mpmath.hyp2f1(2, a, a + b, -1)
        found.append((2 * (1 - series), 4 * (1 - 2 * series + second)))
    mean = found[0][0] - found[1][0]
    variance = sum(square - first**2 for first, square in found)
    ours = difference(*(transformed(form, a, b) for a, b in (parameters[:2], parameters[2:]))).mean_sd()
    assert ours[0][0] == pytest.approx(float(mean), abs=1e-9)
    assert ours[1][0] == pytest.approx(float(mpmath.sqrt(variance)), rel=1e-6)


# ── Ratios ──


@pytest.mark.few
@each_pair
@pytest.mark.parametrize("swapped", [False, True])
def test_distribution_function_of_a_ratio(parameters, swapped):
    a, b, c, d = (*parameters[2:], *parameters[:2]) if swapped else parameters
    found = ratio(beta(a, b), beta(c, d))
    points = np.append(one(found.ppf(np.array([[0.025, 0.4, 0.975]]))), [0.9, 1.0])
    expected = [cdf_of_ratio(a, b, c, d, t) for t in points]
    np.testing.assert_allclose(one(found.cdf(points[None])), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("c", "d"), [(2.5, 4), (3, 1), (30, 0.25), (2.1, 1e6), (1e6, 1e5), (1e10, 1e10)])
def test_moments_of_a_ratio(c, d):
    # E[1/Y] = (c + d − 1)/(c − 1), E[1/Y²] = (c + d − 1)(c + d − 2)/((c − 1)(c − 2)).
    a, b, c, d = (mpmath.mpf(value) for value in (7, 3, c, d))
    mean = a / (a + b) * (c + d - 1) / (c - 1)
    square = a * (a + 1) / ((a + b) * (a + b + 1)) * (c + d - 1) * (c + d - 2) / ((c - 1) * (c - 2))
    found = ratio(beta(a, b), beta(c, d)).mean_sd()
    assert found[0][0] == pytest.approx(float(mean), rel=1e-9)
    assert found[1][0] == pytest.approx(float(mpmath.sqrt(square - mean**2)), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1.2, 3.0), (2.5, 0.5), (80.0, 20.0)])
@pytest.mark.parametrize("name", ["f1", "micro specificity"])
def test_moments_of_a_ratio_of_functions(name, shape):
    form, value, _ = FUNCTIONS[name]
    a, b = map(mpmath.mpf, shape)

    def moment(power):
        """E[Y^power]; 1/F1 is (1 + 1/J)/2, of which the moments are closed."""
        if name == "f1" and power < 0:
            inverse, square = (a + b - 1) / (a - 1), (a + b - 1) * (a + b - 2) / ((a - 1) * (a - 2))
            return (1 + inverse) / 2 if power == -1 else (1 + 2 * inverse + square) / 4

        def integrand(x):
            return value(x, 1 - x)[0] ** power * x ** (a - 1) * (1 - x) ** (b - 1) / mpmath.beta(a, b)

        return mpmath.quad(integrand, [0, 1e-6, 0.01, 0.5, 0.9, 1])

    mean, sd = (values[0] for values in ratio(transformed(form, *shape), transformed(form, *shape)).mean_sd())
    expected = moment(1) * moment(-1)
    assert mean == pytest.approx(float(expected), rel=1e-6)
    if name == "f1" and a < 2:
        assert np.isinf(sd)
    else:
        assert sd == pytest.approx(float(mpmath.sqrt(moment(2) * moment(-2) - expected**2)), rel=1e-5)


@pytest.mark.parametrize(("c", "mean", "sd"), [(1, np.inf, np.inf), (0.5, np.inf, np.inf), (2, 1.4, np.inf)])
def test_moments_of_a_ratio_diverge(c, mean, sd):
    found = ratio(beta(7, 3), beta(c, 1)).mean_sd()
    assert (found[0][0], found[1][0]) == (pytest.approx(mean), sd)


# ── Shares of the same examples ──

WEIGHTS = {
    "a few": (4, 2, 10),
    "none yet": (1, 1, 2),
    "little prior": (0.25, 0.25, 0.5),
    "one side only": (12.25, 0.25, 80),
    "all discordant": (30, 20, 0.25),
    "hardly any": (0.25, 0.25, 1e6),
    "a million": (1e6, 1.001e6, 1e6),
    "a million and three": (3, 1, 1e6),
    "far apart": (1e4, 0.5, 3),
}
each_weight = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)


def dirichlet(weights):
    return discordant(*(np.array([float(weight)]) for weight in weights))


def cdf_of_discordant(a, b, c, t):
    """P(θ_1 − θ_2 ≤ t) by another factoring: θ_2 = V ~ Beta(b, a + c), θ_1 = (1 − V)U, U ~ Beta(a, c)."""

    def below(v, rest):
        return cdf_of(a, c, (t + v) / rest, (rest - v - t) / rest)

    bends = logits([((u - t) / (1 + u), (1 + t) / (1 + u)) for u, _ in quantiles(a, c)])
    return expect(b, a + c, below, bends + logits([(-t, 1 + t), ((1 - t) / 2, (1 + t) / 2)]))


@pytest.mark.few
@each_weight
def test_discordant_distribution_function(weights):
    found = dirichlet(weights)
    points = np.concatenate(
        [one(found.ppf(np.array([[0.01, 0.3, 0.95]]))), [0, 1e-9, -1e-9, 1e-3, -1e-3, 0.2, -0.2, 0.9, -0.9]]
    )
    points = points[np.abs(points) < 1 - 1e-9]
    expected = np.array([cdf_of_discordant(*weights, t) for t in points])
    np.testing.assert_allclose(one(found.cdf(points[None])), expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(one(found.sf(points[None])), 1 - expected, rtol=0, atol=1e-8)
    half = cdf_of(weights[0], weights[1], np.array(0.5), np.array(0.5))
    assert one(found.cdf(np.array([[0.0, 5e-324, -5e-324, -1e-300]]))) == pytest.approx(np.full(4, half), abs=1e-10)
    assert one(found.sf(np.array([[0.0, 5e-324, -5e-324, -1e-300]]))) == pytest.approx(np.full(4, 1 - half), abs=1e-10)


@pytest.mark.parametrize("name", ["a few", "none yet", "little prior", "one side only", "all discordant"])
def test_which_is_greater_is_one_beta_tail(name):
    weights = WEIGHTS[name]
    found, zero = dirichlet(weights), np.zeros((1, 1))
    below, above = (
        float(mpmath.betainc(*pair, 0, 0.5, regularized=True)) for pair in (weights[:2], weights[1::-1])
    )  # fmt: skip
    assert found.cdf(zero).item() == pytest.approx(below, rel=1e-11, abs=0)
    assert found.sf(zero).item() == pytest.approx(above, rel=1e-11, abs=0)
    # The same beside other points, which are integrated.
    np.testing.assert_array_equal(found.sf(np.array([[-0.1, 0.0, 0.2]]))[:, 1:2], found.sf(zero))


def test_which_is_greater_of_several_pairs():
    first, second, rest = np.array([[3.0, 12.5, 1.0], [1.0, 5.5, 4.0], [2.0, 9.0, 3.0]])
    found = discordant(first, second, rest)
    # P(B > 1/2) for B ~ Beta(3, 1), Beta(12.5, 5.5) and Beta(1, 4): 7/8, an incomplete beta function, 1/16.
    expected = [0.875, float(mpmath.betainc(5.5, 12.5, 0, 0.5, regularized=True)), 0.0625]
    np.testing.assert_allclose(found.sf(np.zeros((1, 1)))[:, 0], expected, rtol=1e-14)
    # Zeros may stand in some rows of a column only.
    points = np.array([[0.0], [0.1], [0.0]])
    np.testing.assert_allclose(found.cdf(points)[[0, 2], 0], [0.125, 0.9375], rtol=1e-14)
    assert found.cdf(points)[1, 0] == pytest.approx(cdf_of_discordant(12.5, 5.5, 9.0, 0.1), abs=1e-8)


@each_weight
def test_discordant_turned_round(weights):
    found, turned = dirichlet(weights), dirichlet((weights[1], weights[0], weights[2]))
    points = np.array([[-0.7, -1e-3, -1e-12, 0.0, 1e-6, 0.4]])
    np.testing.assert_allclose(found.cdf(points), turned.sf(-points), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.mean_sd(), np.multiply(turned.mean_sd(), [[-1], [1]]), rtol=1e-12)


@each_weight
def test_discordant_moments(weights):
    a, b, c = (mpmath.mpf(weight) for weight in weights)
    total = a + b + c
    mean = (a - b) / total
    square = (a * (a + 1) + b * (b + 1) - 2 * a * b) / (total * (total + 1))
    found = dirichlet(weights).mean_sd()
    assert found[0][0] == pytest.approx(float(mean), rel=1e-12, abs=1e-15)
    assert found[1][0] == pytest.approx(float(mpmath.sqrt(square - mean**2)), rel=1e-9)


@pytest.mark.parametrize("name", ["a few", "none yet", "a million", "one side only"])
def test_discordant_interval_and_density(name):
    weights = WEIGHTS[name]
    found = dirichlet(weights)
    low, high = one(found.hdi(0.9))
    mass = cdf_of_discordant(*weights, high) - cdf_of_discordant(*weights, low)
    assert mass == pytest.approx(0.9, abs=1e-7)
    step = 1e-4 * (high - low)
    slopes = [
        (cdf_of_discordant(*weights, t + step) - cdf_of_discordant(*weights, t - step)) / (2 * step)
        for t in (low, high)
    ]
    np.testing.assert_allclose(one(found.pdf(np.array([[low, high]]))), slopes, rtol=1e-3)
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-3)


# ── What is lost on average ──


def expected_shortfall(a, b, c, d):
    """E[max(Y − X, 0)] over Y, of the partial mean of X below it; near 1 in terms of 1 − X and 1 − Y."""

    def given(w, rest):
        low = w * special.betainc(a, b, w) - a / (a + b) * special.betainc(a + 1, b, w)
        high = b / (a + b) * special.betaincc(b + 1, a, rest) - rest * special.betaincc(b, a, rest)
        return np.where(w < 0.5, low, high)

    return expect(c, d, given, logits(quantiles(a, b)))


@each_pair
@pytest.mark.parametrize("swapped", [False, True])
def test_shortfall(parameters, swapped):
    parameters = (*parameters[2:], *parameters[:2]) if swapped else parameters
    found = difference(beta(*parameters[:2]), beta(*parameters[2:])).shortfall()[0]
    assert found == pytest.approx(expected_shortfall(*parameters), rel=1e-6, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [(3.5, 3.5, 10.5, 5.5), (900, 100, 880, 120), (1, 1, 1, 1)])
def test_shortfall_of_f1_agrees_with_draws(parameters):
    form = metrics.get("f1").exact
    rng = np.random.default_rng(1)
    first, second = (form.forward(rng.beta(a, b, 1_000_000)) for a, b in (parameters[:2], parameters[2:]))
    lost = np.maximum(second - first, 0)
    found = difference(transformed(form, *parameters[:2]), transformed(form, *parameters[2:])).shortfall()[0]
    assert found == pytest.approx(lost.mean(), abs=4 * lost.std() / 1000)


@each_weight
def test_shortfall_of_discordant(weights):
    """Of the factoring above: E[max(V − (1 − V)U, 0)], with the partial mean of U below V/(1 − V)."""
    a, b, c = weights

    def given(v, rest):
        edge, beyond = v / rest, (rest - v) / rest
        return v * cdf_of(a, c, edge, beyond) - rest * a / (a + c) * cdf_of(a + 1, c, edge, beyond)

    bends = logits([(u / (1 + u), 1 / (1 + u)) for u, _ in quantiles(a, c)])
    expected = expect(b, a + c, given, bends, [0.0])
    assert dirichlet(weights).shortfall()[0] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_shortfall_of_draws():
    values = np.array([[[1.0, -2.0, np.nan, 0.0, -0.5]]])
    assert Draws(values, (-2, 2)).shortfall() == pytest.approx([2.5 / 4])
