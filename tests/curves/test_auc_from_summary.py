"""Areas from reports: against the formulas in high precision, other ways to solve them, published figures, coverage."""

import mpmath
import numpy as np
import pytest
import xarray as xr
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf.core.errors import DependenceWarning

CASES = [(0.893, 51, 58), (0.7, 15, 100), (0.5, 2, 3), (0.97, 400, 30), (0.1, 20, 20)]


def hanley_mcneil(area, positive, negative):
    """The standard error by the two probabilities as the authors write them."""
    a = mpmath.mpf(area)
    q1, q2 = a / (2 - a), 2 * a**2 / (1 + a)
    return mpmath.sqrt(
        (a * (1 - a) + (positive - 1) * (q1 - a**2) + (negative - 1) * (q2 - a**2)) / (positive * negative)
    )


def newcombe_limit(area, positive, negative, z):
    """The limit on the side of the sign of z, by bisection: where the observed area is z standard errors away."""
    half = mpmath.mpf(positive + negative) / 2

    def away(a):
        q1, q2 = a / (2 - a), 2 * a**2 / (1 + a)
        variance = (a * (1 - a) + (half - 1) * (q1 - a**2) + (half - 1) * (q2 - a**2)) / (positive * negative)
        return (a - area) - z * mpmath.sqrt(variance)

    low, high = (mpmath.mpf(area), mpmath.mpf(1)) if z > 0 else (mpmath.mpf(0), mpmath.mpf(area))
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if away(middle) < 0 else (low, middle)
    return float(low)


def newcombe_by_roots(area, positive, negative, z):
    """Both limits as roots of the polynomial (A − area)² n m (2 + u) = z² u (2 + u + k(1 + 2u)), u = A(1 − A)."""
    a, k = np.polynomial.Polynomial([0, 1]), (positive + negative) / 2 - 1
    u = a * (1 - a)
    equation = (a - area) ** 2 * positive * negative * (2 + u) - z**2 * u * (2 + u + k * (1 + 2 * u))
    roots = equation.roots()
    return np.sort([r.real for r in roots if abs(r.imag) < 1e-9 and 0 < r.real < 1])


@pytest.mark.parametrize("case", CASES)
def test_hanley_mcneil_in_high_precision(case):
    area = bp.curves.auc_from_summary(*case, method="hanley_mcneil")
    assert area.mean().item() == case[0]
    assert area.sd().item() == pytest.approx(float(hanley_mcneil(*case)), rel=1e-12)


def test_the_example_of_hanley_and_mcneil():
    # 51 abnormal and 58 normal images, an area of .893 with a standard error of .032: Radiology 143, 29–36.
    assert bp.curves.auc_from_summary(0.893, 51, 58, "hanley_mcneil").sd().item() == pytest.approx(0.032, abs=1e-3)


@pytest.mark.few
@pytest.mark.parametrize("prob", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("case", CASES)
def test_newcombe_in_high_precision_and_by_the_roots_of_a_polynomial(case, prob):
    z = stats.norm.ppf((1 + prob) / 2)
    limits = bp.curves.auc_from_summary(*case).eti(prob).values
    np.testing.assert_allclose(limits, [newcombe_limit(*case, sign * z) for sign in (-1, 1)], rtol=1e-10)
    np.testing.assert_allclose(limits, newcombe_by_roots(*case, z), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_distribution_hangs_together(case):
    area = bp.curves.auc_from_summary(*case)
    x = np.linspace(0.02, 0.98, 25)
    inside = integrate.quad_vec(lambda t: area.pdf(t).item(), 0, 1, epsabs=1e-10, points=[case[0]], limit=500)[0]
    assert inside == pytest.approx(1, abs=1e-6)
    step = 1e-6
    slope = (area.cdf(x + step).values - area.cdf(x - step).values) / (2 * step)
    np.testing.assert_allclose(area.pdf(x), slope, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(area.cdf(area.ppf([0.01, 0.3, 0.9]).values), [0.01, 0.3, 0.9], atol=1e-12)
    np.testing.assert_allclose(area.cdf(x) + area.sf(x), 1, atol=1e-12)
    mean = integrate.quad(lambda t: area.sf(t).item(), 0, 1, epsabs=1e-11, points=[case[0]], limit=500)[0]
    square = integrate.quad(lambda t: 2 * t * area.sf(t).item(), 0, 1, epsabs=1e-11, points=[case[0]], limit=500)[0]
    assert area.mean().item() == pytest.approx(mean, abs=1e-8)
    assert area.sd().item() == pytest.approx(np.sqrt(square - mean**2), rel=1e-6)
    assert area.median().item() == pytest.approx(case[0], abs=1e-12)
    mirrored = bp.curves.auc_from_summary(1 - case[0], case[2], case[1])
    np.testing.assert_allclose(mirrored.eti(), 1 - area.eti().values[::-1], atol=1e-12)
    np.testing.assert_allclose(area.cdf([-0.1, 0, 1, 1.1]), [0, 0, 1, 1])


def test_areas_at_the_ends_have_a_width():
    area = bp.curves.auc_from_summary([1.0, 0.0], 12, 30, dims=["end"])
    (lower, one), (zero, upper) = area.eti().values
    assert (one, zero) == (1, 0)
    assert lower == pytest.approx(newcombe_limit(1, 12, 30, -stats.norm.ppf(0.975)), rel=1e-9)
    assert upper == pytest.approx(1 - lower, abs=1e-12)
    assert area.prob_above(0.999999).values[0] == pytest.approx(0.5, abs=0.01)
    low, high = area.hdi().isel(end=0).values
    assert high == 1
    assert area.prob_above(low).values[0] == pytest.approx(0.95, abs=1e-9)
    assert 0.5 < area.mean().values[0] < 1
    drawn = area.joint_draws(4000, 1).values
    np.testing.assert_allclose(drawn.mean(1), area.mean(), atol=4 * area.sd().values.max() / np.sqrt(4000))


def test_pairs_claim_too_much():
    with pytest.warns(DependenceWarning, match="method='newcombe'"):
        area = bp.curves.auc_from_summary(0.8, 50, 40, method="pairs")
    np.testing.assert_allclose(area.eti(), stats.beta(1 + 1600, 1 + 400).ppf([0.025, 0.975]), rtol=1e-10)
    with pytest.warns(UserWarning, match="variance of 0"):
        assert bp.curves.auc_from_summary(1, 5, 6, method="hanley_mcneil").sd().item() == 0


def test_reports_with_labels():
    sizes = xr.DataArray([40, 100], {"study": ["A", "B"]}, ["study"])
    area = bp.curves.auc_from_summary(0.8, sizes, 2 * sizes)
    assert area.dims == ("study",)
    alone = [bp.curves.auc_from_summary(0.8, n, 2 * n).eti().values for n in (40, 100)]
    np.testing.assert_allclose(area.eti().values, alone, rtol=1e-12)
    named = bp.curves.auc_from_summary([0.8, 0.8], [40, 100], [80, 200], dims={"study": ["A", "B"]})
    xr.testing.assert_equal(named.eti(), area.eti())
    # Reports share no random numbers.
    first, second = named.joint_draws(2000).values
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(2000)


def test_compared_with_an_area_of_scores():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [70, 50])
    ours, theirs = bp.roc_auc(y, rng.normal(size=120) + 2 * y), bp.curves.auc_from_summary(0.75, 80, 90)
    comparison = bp.compare(ours, theirs, rope=0.02)
    assert comparison.prob_better.item() > 0.9
    sd = np.hypot(ours.sd(), theirs.sd()).item()
    assert comparison.difference.sd().item() == pytest.approx(sd, rel=4 / np.sqrt(2 * 10_000))
    of_reports = [bp.curves.auc_from_summary(a, 80, n, "hanley_mcneil") for a, n in ((0.9, 70), (0.8, 90))]
    difference = bp.compare(*of_reports).difference
    assert difference.method == "normal"
    assert difference.sd().item() == pytest.approx(np.hypot(of_reports[0].sd(), of_reports[1].sd()).item(), rel=1e-12)
    with pytest.warns(DependenceWarning):
        bp.compare(bp.curves.auc_from_summary(0.9, 50, 70), ours)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((1.2, 5, 5), {}, ValueError, r"auc must be in \[0, 1\]; it holds 1.2"),
        ((np.nan, 5, 5), {}, ValueError, r"auc must be in \[0, 1\]; it holds nan"),
        (("0.8", 5, 5), {}, TypeError, "auc must be numbers"),
        ((0.8, 0, 5), {}, ValueError, "n_pos must be at least 1"),
        ((0.8, 5, 2.5), {}, ValueError, "n_neg holds 2.5, which is fractional"),
        ((0.8, 5, 5), {"method": "delong"}, ValueError, "method must be one of 'newcombe', 'hanley_mcneil', 'pairs'"),
        (([0.8, 0.9], 5, 5), {"dims": ["a", "b"]}, ValueError, "dims: 2 names for 1 axes of auc, n_pos and n_neg"),
        (([0.8, 0.9], [1, 2, 3], 5), {}, ValueError, "auc, n_pos and n_neg do not broadcast"),
        ((0.8, 5, 5), {"random_seed": -1}, ValueError, "random_seed must be"),
    ],
)
def test_bad_arguments(arguments, options, error, words):
    with pytest.raises(error, match=words):
        bp.curves.auc_from_summary(*arguments, **options)


def test_intervals_cover_as_the_documentation_says():
    rng, n, m, true, simulations = np.random.default_rng(3), 100, 15, 0.95, 2000
    positive = rng.normal(np.sqrt(2) * special.ndtri(true), 1, (simulations, n))
    negative = rng.normal(0, 1, (simulations, m))
    areas = (positive[:, :, None] > negative[:, None, :]).mean((1, 2))
    # By the documented simulation of 4,000 data sets: .969 and .792.
    for method, rate in (("newcombe", 0.969), ("hanley_mcneil", 0.792)):
        limits = bp.curves.auc_from_summary(np.minimum(areas, 1 - 1e-9), n, m, method, dims=["data_set"]).eti().values
        covered = ((limits[:, 0] <= true) & (true <= limits[:, 1])).mean()
        error = np.sqrt(rate * (1 - rate) * (1 / simulations + 1 / 4000))
        assert covered == pytest.approx(rate, abs=4 * error)
