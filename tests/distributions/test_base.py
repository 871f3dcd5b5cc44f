"""What every kind of distribution does alike: some of its members taken, draws, defaults of the base class."""

import numpy as np
import pytest
from scipy import optimize, special, stats

import bayesperf as bp
from bayesperf.distributions.area_by_score import AreaByScore
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.beta import Beta
from bayesperf.distributions.differences import IndependentContrast, difference, discordant, ratio
from bayesperf.distributions.draws import (
    Draws,
    DrawsBesidePairs,
    DrawsOfKnownMoments,
    DrawsOfPairs,
    DrawsWithoutMoments,
    Sampled,
)
from bayesperf.distributions.normal import JointNormal, LogitNormal, Normal, StudentT
from bayesperf.distributions.normal_scores import RoughlyKnown
from bayesperf.distributions.tabulated import Tabulated
from bayesperf.posteriors.paired_systems import DrawsOfPatterns

A, B = np.array([[2.0], [5.0], [0.7]]), np.array([[3.0], [1.5], [4.0]])
FIRST, SECOND = Beta(A, B), Beta(B, A)
COUNTS = bp.ConfusionMatrix.from_counts(tp=[8, 3, 1], fn=[2, 3, 5], fp=[4, 1, 3], tn=[10, 2, 1])
SPIKES = bp.ConfusionMatrix.from_counts(tp=[0, 40, 0], fn=[50, 0, 3], fp=[0, 30, 0], tn=[50, 0, 40])
KINDS = {
    "beta": FIRST,
    "increasing function": bp.posterior(COUNTS)["f1"].distribution,
    "function of two betas": bp.posterior(COUNTS)["informedness"].distribution,
    "rates at a prevalence": bp.posterior(COUNTS, "flat").at_prevalence(0.2)["mcc"].distribution,
    "mixture over the prevalence": bp.posterior(COUNTS, "flat")["mcc"].distribution,
    "spike inside": bp.posterior(SPIKES, "jeffreys")["balanced_accuracy"].distribution,
    "spike of a difference": difference(Beta(A / 20, B * 9), Beta(A / 20, B * 9)),
    "difference": difference(FIRST, SECOND),
    "ratio": ratio(FIRST, SECOND),
    "discordant": discordant(*np.array([[3.0, 2.0, 1.0], [1.0, 4.0, 2.0], [9.0, 5.0, 3.0]])),
    "tabulated": Tabulated.beta(A, B),
    "normal": Normal(A - 3, B),
    "logit-normal": LogitNormal(A - 3, B),
    "area by a score test": AreaByScore(*np.array([[[0.8], [0.5], [0.3]], [[40], [1], [9]], [[30], [1], [5]]], float)),
    "student-t": StudentT.of(A - 3, B, [[3], [4], [5]]),
    "predicted proportion": bp.posterior(COUNTS, "flat").predict(12)["recall"].distribution,
    "draws": Draws(np.random.default_rng(0).normal(size=(3, 2, 500)), (-np.inf, np.inf)),
    "draws of pairs": DrawsOfPairs(
        tuple(np.random.default_rng(1).normal(size=(2, 3, 2, 500))),
        (np.array([0, 0, 1]), np.array([1, 2, 2])),
        np.subtract,
        (-np.inf, np.inf),
    ),
}
# Their distribution functions have steps.
DISCRETE = {"draws", "draws of pairs", "predicted proportion"}
X = np.array([[-0.3, 0.1, 0.6]])


def shortest_width(ppf, prob):
    """The width of the shortest interval of a probability, by direct minimisation over the tail below it."""

    def width(tail):
        return np.diff(ppf(np.array([[tail, tail + prob]]))[0])[0]

    grid = np.linspace(0, 1 - prob, 101)
    widths = ppf((grid + prob)[None])[0] - ppf(grid[None])[0]
    best = int(np.argmin(widths))
    around = grid[max(best - 1, 0)], grid[min(best + 1, 100)]
    return min(
        widths[best], optimize.minimize_scalar(width, bounds=around, method="bounded", options={"xatol": 1e-9}).fun
    )


SLOW = {"mixture over the prevalence", "spike of a difference"}
CONTINUOUS = [
    pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in KINDS if name not in DISCRETE
]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_hdi_is_the_shortest_interval_of_its_probability(name):
    whole, prob = KINDS[name], 0.8
    hdi, eti = whole.hdi(prob), whole.eti(prob)
    np.testing.assert_allclose(np.diff(whole.cdf(hdi))[:, 0], prob, atol=1e-7)
    np.testing.assert_allclose(np.diff(whole.cdf(eti))[:, 0], prob, atol=1e-7)
    assert np.all(np.diff(hdi) <= np.diff(eti) * (1 + 1e-9))
    for i in range(3):
        assert np.diff(hdi[i])[0] == pytest.approx(shortest_width(whole.take(slice(i, i + 1)).ppf, prob), rel=1e-6)


def test_hdi_of_draws_is_hardly_wider_than_the_shortest():
    for prob in (0.5, 0.95):
        hdi = KINDS["draws"].hdi(prob)
        inside = round(prob * 1000)
        for interval, values in zip(hdi, np.sort(KINDS["draws"].values.reshape(3, -1)), strict=True):
            assert np.sum((values >= interval[0]) & (values <= interval[1])) == inside
            shortest = np.min(values[inside - 1 :] - values[: 1001 - inside])
            assert shortest <= np.diff(interval)[0] <= 1.02 * shortest


def test_every_kind_is_here():
    def kinds(base):
        return {base, *(kind for sub in base.__subclasses__() for kind in kinds(sub))}

    concrete = {kind for kind in kinds(Distribution) if kind.__module__.startswith("bayesperf")}
    # Draws of systems that know their contrasts, and areas that are jointly normal, are told with comparisons; those of
    # known moments with strata, those without moments with studies.
    concrete -= {DrawsBesidePairs, DrawsOfKnownMoments, DrawsOfPatterns, DrawsWithoutMoments, JointNormal}
    # Differences and ratios are contrasts; a contrast alone is neither. Rough knowledge and draws are of several kinds.
    assert concrete - {Distribution, IndependentContrast, RoughlyKnown, Sampled} == {
        type(distribution) for distribution in KINDS.values()
    }


@pytest.mark.few
@pytest.mark.parametrize("name", KINDS)
def test_some_of_them_are_what_they_were(name):
    whole, index = KINDS[name], np.array([2, 0])
    part = whole.take(index)
    assert type(part) is type(whole)
    assert part.size == 2
    figures_of = (
        lambda d: d.mean_sd()[0], lambda d: d.mean_sd()[1], lambda d: d.mcse(), lambda d: d.mcse_interval(0.9, "hdi"),
        lambda d: d.shortfall(),
    )  # fmt: skip
    for figures in figures_of:
        np.testing.assert_allclose(figures(part), figures(whole)[index], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(part.cdf(X), whole.cdf(X)[index], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(part.eti(0.9), whole.eti(0.9)[index], rtol=1e-9, atol=1e-12)


@pytest.mark.few
@pytest.mark.parametrize("name", CONTINUOUS)
def test_draws_have_the_distribution(name):
    distribution = KINDS[name]
    draws = distribution.resample(200, np.random.default_rng(5))
    assert draws.shape == (3, 200)
    for i in range(3):
        one = distribution.take(slice(i, i + 1))
        assert stats.kstest(draws[i], lambda x, one=one: one.cdf(x[None])[0]).pvalue > 1e-3


def test_draws_are_drawn_from_together():
    drawn = KINDS["draws"].resample(50, np.random.default_rng(1))
    flat = KINDS["draws"].values.reshape(3, -1)
    columns = [np.flatnonzero(flat[0] == value)[0] for value in drawn[0]]
    np.testing.assert_array_equal(drawn, flat[:, columns])
    assert len(set(columns)) == 50
    assert KINDS["draws"].resample(2000, np.random.default_rng(1)).shape == (3, 2000)


def test_the_default_shortfall_is_an_integral_over_both_betas():
    """Of R + S − 1: given S it is E[max(c − R, 0)] with c = 1 − S, which is c F(c; a, b) − E[R] F(c; a + 1, b)."""
    distribution = KINDS["function of two betas"]
    for i, shortfall in enumerate(distribution.shortfall()):
        (a, b), (c, d) = ((beta.a[i, 0], beta.b[i, 0]) for beta in (distribution.inner, distribution.outer))

        def given(s, a=a, b=b):
            return (1 - s) * special.betainc(a, b, 1 - s) - a / (a + b) * special.betainc(a + 1, b, 1 - s)

        expected = stats.beta(c, d).expect(given)
        assert shortfall == pytest.approx(expected, rel=1e-6)


def test_the_default_shortfall_of_what_is_never_negative_is_nothing():
    for name in ("beta", "increasing function", "ratio", "tabulated", "logit-normal"):
        np.testing.assert_array_equal(KINDS[name].shortfall(), 0)


def test_the_distribution_function_of_draws_counts_equal_ones():
    draws = Draws(np.array([[[0.0, 1.0, 1.0, 3.0]]]), (-np.inf, np.inf))
    expected = [0.0, 0.25, 0.25, 0.75, 0.75, 1.0]
    np.testing.assert_array_equal(draws.cdf(np.array([[-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]]))[0], expected)
    np.testing.assert_array_equal([draws.cdf(np.array([[x]])).item() for x in (-1, 0, 0.5, 1, 2, 3)], expected)


@pytest.mark.parametrize("prob", [0.5, 0.9])
def test_of_intervals_of_equal_length_the_middle_one_is_taken(prob):
    flat = Beta(np.ones((1, 1)), np.ones((1, 1)))
    np.testing.assert_allclose(flat.hdi(prob)[0], [(1 - prob) / 2, (1 + prob) / 2], rtol=1e-9)
