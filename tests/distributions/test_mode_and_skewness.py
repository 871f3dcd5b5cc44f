"""Modes and skewness against closed forms, mpmath and numerical searches."""

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize, stats

import bayesperf as bp
from bayesperf.distributions.normal import Normal

CELLS = {"tp": 9, "fn": 3, "fp": 2, "tn": 16}
POST = bp.posterior(bp.ConfusionMatrix.from_counts(**CELLS))


def rate(a, b):
    return bp.posterior(bp.ConfusionMatrix.from_counts(tp=0, fn=0, fp=0, tn=0), bp.prior.rate(a, b))["recall"]


@pytest.mark.parametrize(
    ("a", "b", "mode"),
    [
        (10, 6, 9 / 14),
        (1, 6, 0),
        (6, 1, 1),
        (0.5, 5.5, 0),
        (5.5, 0.5, 1),
        (1, 1, 0.5),
        (0.5, 0.5, 0),
        (0.3, 0.2, 1),
        (1.5, 0.5, 1),
    ],
)
def test_the_mode_of_a_beta(a, b, mode):
    assert rate(a, b).mode().item() == pytest.approx(mode, abs=1e-15)


@pytest.mark.parametrize(("a", "b"), [(10, 6), (0.5, 5.5), (1, 1), (1e6, 10)])
def test_the_skewness_of_a_beta(a, b):
    assert rate(a, b).skewness().item() == pytest.approx(stats.beta(a, b).stats("s").item(), rel=1e-9, abs=1e-12)


def test_the_mode_of_f1_is_on_its_own_scale():
    """The density of F1, p(j) 2/(2 − f)² with j = f/(2 − f), maximised by mpmath."""
    a, b = CELLS["tp"] + 0.5, CELLS["fn"] + CELLS["fp"] + 1
    mpmath.mp.dps = 30

    def slope(f):
        j = f / (2 - f)
        return (a - 1) / j * 2 / (2 - f) ** 2 - (b - 1) / (1 - j) * 2 / (2 - f) ** 2 + 2 / (2 - f)

    expected = float(mpmath.findroot(slope, (0.7, 0.9), solver="anderson"))
    assert POST["f1"].mode().item() == pytest.approx(expected, abs=1e-7)
    # The mode of a function is not the function of the mode.
    jaccard = POST["jaccard"].mode().item()
    assert abs(2 * jaccard / (1 + jaccard) - expected) > 0.005


@pytest.mark.few
@pytest.mark.parametrize("name", ["f2", "balanced_accuracy", "markedness", "mcc", "p4", "positive_likelihood_ratio"])
def test_the_mode_of_an_integrated_density(name):
    found, sd = POST[name], np.ptp(POST[name].eti(0.68).values) / 2
    middle = found.median().item()
    search = optimize.minimize_scalar(lambda x: -found.pdf(x).item(), bounds=(max(middle - 2 * sd, 0.01), middle + sd),
                                      method="bounded", options={"xatol": 1e-9})  # fmt: skip
    assert found.mode().item() == pytest.approx(search.x, abs=1e-3 * sd)


@pytest.mark.few
@pytest.mark.parametrize("name", ["f1", "f2", "balanced_accuracy", "mcc"])
def test_skewness_by_integrating_the_density(name):
    found = POST[name]
    mean, sd = found.mean().item(), found.sd().item()
    low, high = found.bounds
    x = np.polynomial.legendre.leggauss(300)
    nodes, weights = low + (high - low) * (1 + x[0]) / 2, x[1] * (high - low) / 2
    expected = weights @ (found.pdf(nodes).values * ((nodes - mean) / sd) ** 3)
    assert found.skewness().item() == pytest.approx(expected, abs=1e-5)


def test_skewness_of_ratios_by_integrating_both_rates():
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=20, fn=6, fp=9, tn=30), "flat")
    recall, fpr, tpr_other = stats.beta(21, 7), stats.beta(10, 31), stats.beta(16, 8)

    def moment(order, above, below):
        return above.moment(order) * integrate.quad(lambda x: below.pdf(x) / x**order, 0, 1)[0]

    def skewness(above, below):
        first, second, third = (moment(order, above, below) for order in (1, 2, 3))
        variance = second - first**2
        return (third - 3 * first * variance - first**3) / variance**1.5

    found = post["positive_likelihood_ratio"].skewness().item()
    assert found == pytest.approx(skewness(recall, fpr), rel=1e-7)
    other = bp.posterior(bp.ConfusionMatrix.from_counts(tp=15, fn=7, fp=1, tn=1), "flat")
    pair = bp.compare(post, other, "recall", independent=True)
    assert pair.ratio.skewness().item() == pytest.approx(skewness(recall, tpr_other), rel=1e-6)
    thirds = [s.stats("s").item() * s.std() ** 3 for s in (recall, tpr_other)]
    expected = (thirds[0] - thirds[1]) / (recall.var() + tpr_other.var()) ** 1.5
    assert pair.difference.skewness().item() == pytest.approx(expected, rel=1e-9)


def test_the_skewness_of_a_ratio_diverges_with_its_third_moment():
    few = bp.posterior(bp.ConfusionMatrix.from_counts(tp=20, fn=6, fp=2, tn=30), "flat")
    assert np.isinf(few["positive_likelihood_ratio"].skewness())


def test_the_mode_of_draws_is_the_peak_of_their_density():
    predicted = bp.posterior(bp.ConfusionMatrix.from_counts(tp=900, fn=300, fp=200, tn=1600), draws=40_000)
    drawn = bp.Posterior.from_datatree(predicted.to_datatree(["recall"], draws=10_000))["recall"]
    exact = predicted["recall"]
    assert drawn.method == "draws"
    assert drawn.mode().item() == pytest.approx(exact.mode().item(), abs=0.4 * exact.sd().item())
    assert drawn.skewness().item() == pytest.approx(exact.skewness().item(), abs=5 * np.sqrt(6 / 40_000))


def test_symmetric_distributions():
    found = bp.folds.correlated_ttest(
        [0.8, 0.7, 0.9, 0.8, 0.6], [0.7, 0.7, 0.8, 0.6, 0.6], test_fraction=0.2
    ).difference
    assert (found.mode().item(), found.skewness().item()) == (found.median().item(), 0)
    few = bp.folds.correlated_ttest([0.8, 0.7, 0.9], [0.7, 0.7, 0.8], test_fraction=0.2).difference
    assert np.isnan(few.skewness())


def test_a_summary_has_the_mode_if_asked():
    table = POST.summary(["recall", "f1"], mode=True)
    columns = table.columns.tolist()
    assert columns[columns.index("median") + 1] == "mode"
    assert table["mode"].tolist() == [POST["recall"].mode().item(), POST["f1"].mode().item()]
    assert "mode" not in POST.summary(["recall"])


def test_a_point_has_no_skewness():
    np.testing.assert_equal(Normal(np.zeros((2, 1)), np.array([[0.0], [2.0]])).skewness(), [np.nan, 0.0])
