"""Plans of validations: printed sample sizes of pmvalsampsize, integrals, and simulated studies."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf.core.errors import InputError
from bayesperf.plan.validation_studies import newcombe_error, normal_log_odds


def test_area_is_that_of_pmvalsampsize():
    """Prevalence .018, area .8 and width .1, printed by the R and Python packages: 4,252."""
    assert bp.plan.area(0.1, auc=0.8, prevalence=0.018).n == 4252


def test_slope_is_that_of_riley():
    """Log-odds Normal(-5, 2.5): the packages simulate 4,501 to 4,563; the integrals give 4,554. Beta(½, ½): 1,644."""
    lp = stats.norm(-5, 2.5)
    a, ab, bb = (
        integrate.quad(lambda x, k=k: x**k * special.expit(x) * special.expit(-x) * lp.pdf(x), -40, 40)[0]
        for k in (0, 1, 2)
    )
    expected = a / (a * bb - ab**2) / (0.2 / (2 * stats.norm.ppf(0.975))) ** 2
    plan = bp.plan.calibration(0.2, log_odds=(-5, 2.5))
    assert plan.n == int(np.ceil(expected))
    assert 4501 <= plan.n <= 4563
    beta = stats.beta(0.5, 0.5).ppf((np.arange(100_000) + 0.5) / 100_000)
    assert bp.plan.calibration(0.2, y_prob=beta).n == pytest.approx(1644, abs=2)


@pytest.mark.slow
def test_slope_from_two_normal_classes_lies_between_the_printed_simulations():
    """Case C of pmvalsampsize: log-odds of both classes normal, of common variance 2 Φ⁻¹(.8)²: 16,175 and 17,080."""
    variance = 2 * stats.norm.ppf(0.8) ** 2
    levels = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000) * np.sqrt(variance)
    negative, positive = levels - 4.7, levels - 4.7 + variance
    sample = np.concatenate([np.repeat(negative, 49), np.repeat(positive, 1)])
    n = bp.plan.calibration(0.2, y_prob=special.expit(sample)).n
    assert 15_500 < n < 17_500


def test_observed_over_expected_is_that_of_pmvalsampsize_but_for_its_rounding():
    """Printed: 20,975, from a standard error in steps of 1e-4, .0510; the exact one is .05094."""
    plan = bp.plan.calibration(0.2, "observed_expected", log_odds=(-5, 2.5))
    share = (
        special.expit(-5 + 2.5 * np.linspace(-8, 8, 4001)) * stats.norm.pdf(np.linspace(-8, 8, 4001))
    ).sum() * 0.004
    assert plan.n == pytest.approx((1 - share) / (share * (np.arcsinh(0.1) / stats.norm.ppf(0.975)) ** 2), abs=1.5)
    assert np.ceil((1 - 0.018) / (0.018 * 0.051**2)) == 20_975
    exact = (1 - 0.018) / (0.018 * (np.arcsinh(0.1) / stats.norm.ppf(0.975)) ** 2)
    assert bp.plan.calibration(0.2, "observed_expected", auc=0.8, prevalence=0.018).n == pytest.approx(exact, abs=1.5)


def test_the_true_ratio_is_between_the_mean_risks():
    study = bp.plan.calibration(0.2, "observed_expected", log_odds=(-1, 1.5), line=(0.3, 0.8)).model.study
    given = np.linspace(-13, 11, 4001)
    weights = stats.norm.pdf(given, -1, 1.5)
    expected = (weights @ special.expit(0.3 + 0.8 * given)) / (weights @ special.expit(given))
    assert study.true.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_uncertain_evidence_comes_near_to_a_printed_bayesian_plan():
    """ISARIC 4C (bayespmtools, 1,000 simulations, some per cent of error): 344 by area, 1,112 by slope, 412 by ratio.

    Newcombe's standard error of an area is some 2 % above DeLong's, and the slope here has no small-sample bias.
    """
    evidence = {"auc": (3628, 1139), "prevalence": (116, 155)}
    assert bp.plan.area(0.1, **evidence).n == pytest.approx(344, rel=0.07)
    assert bp.plan.calibration(0.22, "observed_expected", **evidence, draws=300).n == pytest.approx(412, rel=0.07)
    assert bp.plan.calibration(0.3, **evidence, draws=300).n == pytest.approx(1112, rel=0.07)


def test_normal_log_odds_have_the_prevalence_and_the_area():
    mean, sd = normal_log_odds([0.428, 0.018], [0.761, 0.8])
    rng = np.random.default_rng(0)
    for place, (share, area) in enumerate([(0.428, 0.761), (0.018, 0.8)]):
        risk = special.expit(mean[place] + sd[place] * rng.standard_normal(200_000))
        y = rng.random(200_000) < risk
        assert y.mean() == pytest.approx(share, abs=4 * np.sqrt(share / 200_000))
        found = stats.mannwhitneyu(risk[y], risk[~y]).statistic / (y.sum() * (~y).sum())
        assert found == pytest.approx(area, abs=0.015)


def test_assurance_is_the_share_of_simulated_studies():
    plan = bp.plan.area(0.1, auc=(80, 20), prevalence=0.1, assurance=0.8, draws=4000)
    rng = np.random.default_rng(9)
    auc, positives = rng.beta(80, 20, 4000), rng.binomial(plan.n, 0.1, 4000)
    seen = np.clip(auc + rng.standard_normal(4000) * newcombe_error(auc, positives, plan.n - positives), 0.5, 0.999)
    width = 2 * stats.norm.ppf(0.975) * newcombe_error(seen, positives, plan.n - positives)
    assert (width <= 0.1).mean() == pytest.approx(0.8, abs=0.03)
    assert plan.reached == pytest.approx(0.8, abs=0.01)


def test_net_benefit_has_the_variance_of_one_example():
    plan = bp.plan.net_benefit(0.05, threshold=0.2, recall=0.8, specificity=0.7, prevalence=0.3)
    values, chances = np.array([1, -0.25, 0]), np.array([0.24, 0.21, 0.55])
    variance = chances @ values**2 - (chances @ values) ** 2
    assert plan.n == int(np.ceil(variance * (2 * stats.norm.ppf(0.975) / 0.05) ** 2))
    shown = bp.plan.net_benefit(threshold=0.2, recall=0.8, specificity=0.7, prevalence=0.3, requirement=0.15)
    lead, one_sided = chances @ values - 0.15, stats.norm.ppf(0.95)
    assert shown.n == pytest.approx(variance * ((one_sided + stats.norm.ppf(0.8)) / lead) ** 2, rel=0.1)


def test_words_and_curves():
    plan = bp.plan.area(0.1, auc=0.8, prevalence=0.2)
    assert plan.in_words().startswith(f"{plan.n} new examples are enough: the expected width of the 95 % interval")
    assert plan.curve(plan.n).item() <= 0.1 < plan.curve(plan.n - 1).item()
    shown = bp.plan.area(auc=(80, 20), prevalence=0.2, requirement=0.75)
    assert "they will show the area > 0.75" in shown.in_words()
    assert shown.limit == pytest.approx(stats.beta(80, 20).sf(0.75), abs=0.04)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bp.plan.area(auc=0.8, prevalence=0.1), "width, requirement: give one of them"),
        (lambda: bp.plan.area(0.1, auc=1.2, prevalence=0.1), "auc must be a number between 0 and 1"),
        (lambda: bp.plan.area(0.1, auc=(1, 2, 3), prevalence=0.1), "auc must be a number or the weights"),
        (lambda: bp.plan.area(-0.1, auc=0.8, prevalence=0.1), "width must be above 0"),
        (lambda: bp.plan.calibration(0.1), "give one: probabilities, log-odds, or auc"),
        (lambda: bp.plan.calibration(0.1, auc=0.8), "give one: probabilities"),
        (lambda: bp.plan.calibration(0.1, "line", auc=0.8, prevalence=0.1), "measure must be one of"),
        (lambda: bp.plan.calibration(0.1, auc=0.4, prevalence=0.1), "auc must be above 0.5"),
        (lambda: bp.plan.calibration(0.1, auc=(2, 2), prevalence=0.1), "auc must be above 0.5"),
        (lambda: bp.plan.calibration(0.1, log_odds=(-5, -2.5)), "a standard deviation above 0"),
        (lambda: bp.plan.calibration(0.1, log_odds=(-5, 0)), "a standard deviation above 0"),
        (lambda: bp.plan.calibration(0.1, log_odds=(-5,)), "log_odds must be two numbers"),
        (lambda: bp.plan.calibration(0.1, log_odds=(-5, 2), line=(0,)), "line must be two numbers"),
        (lambda: bp.plan.calibration(0.1, y_prob=[0.5, 1.0]), "whose log-odds are infinite"),
        (lambda: bp.plan.net_benefit(0.1, threshold=2, recall=0.8, specificity=0.8, prevalence=0.1), "threshold must"),
    ],
)
def test_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_what_no_study_shows_is_said():
    with pytest.raises(bp.plan.UnreachableError, match=r"with a probability of at most 0\.000, as is believed"):
        bp.plan.area(auc=0.8, prevalence=0.1, requirement=0.85)


def test_examples_in_which_nothing_happens_do_not_make_an_interval_narrow():
    """Most studies of few examples have no positive and no false alarm; the posterior says how little that is."""
    beliefs = {"recall": (80, 20), "specificity": (98, 2), "prevalence": 0.001}
    plan = bp.plan.net_benefit(0.01, threshold=0.02, assurance=0.9, **beliefs)
    assert plan.curve([1, 2, 5, 20]).max() == 0
    # 100 examples without an event: the standard deviation of θ₁ − θ₂/49 with θ ~ Dirichlet(½, ½, 101).
    narrowest = 2 * 1.96 * np.sqrt((0.5 / 102 * (1 + 1 / 49**2) - (0.5 / 102 * 48 / 49) ** 2) / 103)
    widths = bp.plan.net_benefit(0.001, threshold=0.02, **beliefs).curve(100).item()
    assert widths > 0.999 * narrowest
    shown = bp.plan.net_benefit(requirement=-0.01, threshold=0.02, recall=0.8, specificity=0.9, prevalence=0.005)
    assert shown.curve([1, 5, 20]).max() < 0.05


def test_an_area_of_few_positives_is_planned_as_it_will_be_reported():
    """The mean width of the Bayesian bootstrap's interval of 80 binormal data sets (standard error .003) was .090."""
    plan = bp.plan.area(0.1, auc=(198, 2), prevalence=0.01)
    assert plan.curve(1819).item() == pytest.approx(0.09, rel=0.1)
    assert plan.curve([2, 10]).min() > 0.5
    assert "of them are positives." in plan.in_words()
    closed_form = bp.plan.area(0.1, auc=0.99, prevalence=0.01)
    assert "About 4 of them are positives, too few for a standard error" in closed_form.in_words()
    # Of these weights many draws are 1 in floating point.
    assert np.isfinite(bp.plan.area(0.05, auc=(199.9, 0.1), prevalence=0.1).reached)


@pytest.mark.parametrize("prevalence", [1e-7, 0.3, 1 - 1e-7])
def test_log_odds_of_any_prevalence(prevalence):
    (mean,), (sd,) = normal_log_odds(prevalence, 0.8)
    x = np.linspace(-9, 9, 4001)
    weights, risk = stats.norm.pdf(x), special.expit(mean + sd * x)
    assert special.logit((weights @ risk) / weights.sum()) == pytest.approx(special.logit(prevalence), abs=1e-3)
    positive, negative = weights * risk, weights * special.expit(-mean - sd * x)
    below = np.cumsum(negative) - negative / 2
    assert (positive @ below) / (positive.sum() * negative.sum()) == pytest.approx(0.8, abs=1e-3)
