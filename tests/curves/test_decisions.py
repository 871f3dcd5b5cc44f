"""Decision curves against counts by hand, the exact posterior at each threshold, enumeration and Monte Carlo."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import dirichlet

import bayesperf as bp
from bayesperf import metrics

RNG = np.random.default_rng(5)
LOGIT = RNG.normal(-1, 1.5, 300)
Y = RNG.random(300) < 1 / (1 + np.exp(-LOGIT))
PROB = 1 / (1 + np.exp(-LOGIT - RNG.normal(0, 0.8, 300)))
OTHER = 1 / (1 + np.exp(-LOGIT - RNG.normal(0, 1.2, 300)))
CUTS = [0.05, 0.2, 0.5, 0.9]
BINS = bp.curves.BinnedScores.from_counts(positives=[1, 2], negatives=[2, 1], edges=[0, 0.5, 1])
ODDS = np.array(CUTS) / (1 - np.array(CUTS))


@pytest.fixture(scope="module")
def curve():
    return bp.decision_curve(Y, PROB, thresholds=CUTS)


@pytest.fixture(scope="module")
def systems():
    return bp.decision_curve(Y, {"new": PROB, "old": OTHER}, thresholds=CUTS)


# ── What was observed ──


def test_net_benefit_by_hand(curve):
    expected = [(np.sum(Y & (t <= PROB)) - np.sum(~Y & (t <= PROB)) * t / (1 - t)) / 300 for t in CUTS]
    treat_all = [Y.mean() - (1 - Y.mean()) * t / (1 - t) for t in CUTS]
    np.testing.assert_allclose(curve.dataset["net_benefit"], expected, rtol=1e-12)
    np.testing.assert_allclose(curve.dataset["treat_all"], treat_all, rtol=1e-12)
    np.testing.assert_allclose(curve.dataset["standardised_net_benefit"], expected / Y.mean(), rtol=1e-12)
    np.testing.assert_array_equal(curve.net_benefit.observed, curve.dataset["net_benefit"])


def test_a_probability_at_a_threshold_is_called_positive():
    curve = bp.decision_curve([0, 1, 1, 0], [0.2, 0.2, 0.5, 0.1], thresholds=[0.2, 0.5])
    np.testing.assert_allclose(curve.dataset["net_benefit"], [2 / 4 - 1 / 4 * 0.25, 1 / 4])


def test_thresholds_are_sorted_and_by_default_hundredths():
    np.testing.assert_array_equal(bp.decision_curve(Y, PROB).dataset["threshold"], np.arange(1, 100) / 100)
    np.testing.assert_array_equal(bp.decision_curve(Y, PROB, thresholds=[0.5, 0.1]).dataset["threshold"], [0.1, 0.5])


def test_systems_and_groups_are_curves_of_their_own(systems, curve):
    group = np.arange(300) % 3
    by = bp.decision_curve(Y, {"new": PROB, "old": OTHER}, thresholds=CUTS, by={"site": group})
    assert by.dataset["net_benefit"].dims == ("site", "model", "threshold")
    assert by.dataset["treat_all"].dims == ("site", "threshold")
    for site in range(3):
        alone = bp.decision_curve(Y[group == site], OTHER[group == site], thresholds=CUTS)
        xr.testing.assert_allclose(
            by.dataset.sel(site=site, model="old").reset_coords(drop=True), alone.dataset.reset_coords(drop=True)
        )
    xr.testing.assert_allclose(systems.dataset.sel(model="new").reset_coords(drop=True), curve.dataset)


def test_a_frame_has_a_column_for_each_system(systems):
    frame = pd.DataFrame({"new": PROB, "old": OTHER})
    xr.testing.assert_identical(bp.decision_curve(Y, frame, thresholds=CUTS).dataset, systems.dataset)


# ── Draws ──


@pytest.mark.parametrize("threshold", CUTS)
def test_at_each_threshold_it_is_the_posterior_of_the_matrix(curve, systems, threshold):
    """Against the quadrature of the Dirichlet posterior."""
    cm = bp.ConfusionMatrix.from_scores(Y, PROB, thresholds=[threshold])
    exact = bp.posterior(cm)[metrics.net_benefit(threshold)].isel(threshold=0)
    assert exact.method == "quadrature"
    for drawn in (curve.joint_draws(), systems.joint_draws().sel(model="new")):
        values = drawn["net_benefit"].sel(threshold=threshold).values
        probs = np.array([0.025, 0.2, 0.5, 0.8, 0.975])
        found = exact.cdf(np.quantile(values, probs)).values
        assert (np.abs(found - probs) < 4.5 * np.sqrt(probs * (1 - probs) / 10_000)).all()


def test_bins_between_thresholds_are_dirichlet(curve):
    """The covariance of true positives at two thresholds, and with the prevalence, against that of the Dirichlet."""
    draws = curve.joint_draws()
    tp = (draws["prevalence"] * draws["recall"]).transpose("threshold", "draw").values
    counts = [np.sum(Y & (t <= PROB)) + 0.5 for t in CUTS]
    total = 302
    for i, j in product(range(4), repeat=2):
        # The higher threshold calls a part of what the lower one does.
        part, whole = counts[max(i, j)] / total, counts[min(i, j)] / total
        expected = part * (1 - whole) / (total + 1)
        error = np.sqrt((tp[i].var() * tp[j].var() + expected**2) / 10_000)
        assert np.cov(tp[i], tp[j])[0, 1] == pytest.approx(expected, abs=4.5 * error)
    assert draws["prevalence"].var().item() == pytest.approx(dirichlet([Y.sum() + 1, (~Y).sum() + 1]).var()[0], rel=0.1)


def test_systems_share_the_weights_of_examples():
    """The difference of systems that differ in four examples has the spread of four, and copies never differ."""
    other = PROB.copy()
    other[np.flatnonzero(Y & (PROB > 0.3))[:4]] = 0.01
    both = bp.decision_curve(Y, {"a": PROB, "b": other, "copy": PROB}, thresholds=[0.2])
    difference = both.difference("a", "b")
    assert difference.mean().item() == pytest.approx(4 / 302, rel=0.05)
    # Of the four examples, and of the pseudo-example of either class, Beta(½, ½) of which is above for each system.
    pseudo = 2 * (1 / 8) * (2 - 1) * 2 * (1 + 0.25**2) / 2
    expected = np.sqrt(4 + pseudo) / 302
    assert difference.sd().item() == pytest.approx(expected, rel=0.06)
    assert both.difference("a", "copy").sd().item() == 0


@pytest.mark.slow
def test_many_kinds_of_examples_are_weighted_in_groups():
    """Of random groups the spread of a difference is that of the multinomial."""
    rng = np.random.default_rng(0)
    n = 8_000
    y = rng.random(n) < 0.3
    probs = {name: np.clip(0.3 + 0.3 * y + rng.normal(0, 0.2, n), 0, 1) for name in "abc"}
    curve = bp.decision_curve(y, probs, draws=2_000)
    (placed,) = curve.data.groups
    assert len(placed.shapes) == 2_000
    (a, b), t = (probs[name] >= 0.4 for name in "ab"), 0.4
    each = np.where(y, 1.0, -t / (1 - t)) * (a.astype(float) - b)
    difference = curve.difference("a", "b").sel(threshold=t)
    assert difference.mean().item() == pytest.approx(each.mean(), abs=4 * each.std() / np.sqrt(n * 2000) + 1e-4)
    assert difference.sd().item() == pytest.approx(each.std() / np.sqrt(n), rel=0.06)


@pytest.mark.slow
def test_examples_of_a_cluster_have_one_weight():
    """Every example five times over, in a cluster: about the width of a single one."""
    five = np.repeat(np.arange(300), 5)
    once = bp.decision_curve(Y, PROB, thresholds=[0.2]).net_benefit.sd().item()
    clustered = bp.decision_curve(Y[five], PROB[five], thresholds=[0.2], cluster=five).net_benefit.sd().item()
    naive = bp.decision_curve(Y[five], PROB[five], thresholds=[0.2]).net_benefit.sd().item()
    assert clustered == pytest.approx(once, rel=0.05)
    assert naive == pytest.approx(once / np.sqrt(5), rel=0.05)


def test_the_same_seed_draws_the_same_and_groups_differ():
    same = [bp.decision_curve(Y, PROB, thresholds=CUTS, random_seed=3, draws=50).joint_draws() for _ in range(2)]
    xr.testing.assert_identical(*same)
    twice = np.tile(np.arange(300), 2)
    by = bp.decision_curve(Y[twice], PROB[twice], thresholds=CUTS, by={"half": np.repeat([0, 1], 300)}, draws=50)
    assert (by.joint_draws()["recall"].sel(half=0) != by.joint_draws()["recall"].sel(half=1)).any()


# ── Bands and probabilities ──


def test_bands_hold_what_they_say(curve):
    band = curve.band(0.9)
    values = curve.joint_draws()["net_benefit"].values
    expected = np.quantile(values, [0.05, 0.95], axis=1).T
    np.testing.assert_allclose(band["net_benefit"].values[:3], expected[:3])
    whole = curve.band(0.9, "simultaneous")["net_benefit"].values
    inside = ((whole[:, :1] <= values) & (values <= whole[:, 1:])).all(0).mean()
    assert 0.9 <= inside < 0.92
    assert (whole[:, 0] <= expected[:, 0]).all()
    assert set(band) == {"net_benefit", "treat_all", "standardised_net_benefit"}


def test_usefulness_is_counted_in_draws(curve, systems):
    draws = curve.joint_draws()
    useful = (draws["net_benefit"] > np.maximum(draws["treat_all"], 0)).mean("draw")
    np.testing.assert_array_equal(curve.prob_useful, useful)
    assert systems.prob_best.sum("strategy").values == pytest.approx(np.ones(4))
    assert systems.prob_best["strategy"].values.tolist() == ["new", "old", "treat_all", "treat_none"]
    # A threshold that calls everything makes the system worth what treating all is; here it is below all probabilities.
    low = bp.decision_curve(Y, 0.5 + PROB / 2, thresholds=[0.01]).prob_useful
    assert low.item() < 0.2


def test_a_useless_system_is_not_useful():
    noise = np.random.default_rng(0).random(300)
    assert bp.decision_curve(Y, noise).useful_ranges().empty


def test_ranges_of_usefulness_are_runs_of_thresholds(curve):
    found = curve.useful_ranges(0.9)
    flags = dict(zip(CUTS, curve.prob_useful.values >= 0.9, strict=True))
    inside = [any(row.low <= t <= row.high for row in found.itertuples()) for t in CUTS]
    assert inside == list(flags.values())


def test_copies_share_the_probability_of_being_best():
    curve = bp.decision_curve(Y, {"a": PROB, "b": PROB}, thresholds=[0.3])
    a, b, *_ = curve.prob_best.values.ravel()
    assert a == b == pytest.approx(0.5, abs=0.01)


# ── Other prevalences ──


def test_at_another_prevalence_rates_stay(curve):
    elsewhere = curve.at_prevalence(0.02)
    tpr = np.array([(PROB[Y] >= t).mean() for t in CUTS])
    fpr = np.array([(PROB[~Y] >= t).mean() for t in CUTS])
    np.testing.assert_allclose(elsewhere.dataset["net_benefit"], 0.02 * tpr - 0.98 * fpr * ODDS, rtol=1e-12)
    assert elsewhere.joint_draws()["treat_all"].std("draw").max().item() == pytest.approx(0, abs=1e-12)
    cm = bp.ConfusionMatrix.from_scores(Y, PROB, thresholds=CUTS)
    matrix = bp.posterior(cm).at_prevalence(0.02)
    for t in CUTS:
        mean = matrix[metrics.net_benefit(t)].mean().sel(threshold=t).item()
        drawn = elsewhere.net_benefit.sel(threshold=t)
        assert drawn.mean().item() == pytest.approx(mean, abs=5 * drawn.sd().item() / np.sqrt(10_000))
    spread = curve.at_prevalence((2, 98)).joint_draws()["prevalence"]
    assert spread.mean().item() == pytest.approx(0.02, abs=0.001)
    assert spread.std().item() == pytest.approx(np.sqrt(0.02 * 0.98 / 101), rel=0.05)


# ── What more would be worth ──


@pytest.mark.slow
def test_perfect_information_by_brute_force():
    """Against integration over a grid of the three Betas, of a matrix at one threshold."""
    y, prob, t = np.repeat([1, 0], [6, 14]), np.r_[np.full(5, 0.8), 0.1, np.full(4, 0.8), np.full(10, 0.1)], 0.3
    found = bp.decision_curve(y, prob, thresholds=[t], draws=200_000).value_of_perfect_information.item()
    rng = np.random.default_rng(1)
    tp, fn, fp, tn = rng.dirichlet([5.5, 1.5, 4.5, 10.5], 1_000_000).T
    odds = t / (1 - t)
    worth = np.stack([tp - odds * fp, tp + fn - odds * (fp + tn), np.zeros_like(tp)])
    expected = worth.max(0).mean() - worth.mean(1).max()
    assert found == pytest.approx(expected, abs=5 * worth.max(0).std() / np.sqrt(200_000))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3])
def test_more_examples_by_enumeration(n):
    """Against all outcomes of n examples, whose probabilities are Dirichlet-multinomial."""
    y, prob, t = np.repeat([1, 0], [3, 5]), np.r_[0.8, 0.8, 0.1, 0.8, 0.8, 0.1, 0.1, 0.1], 0.35
    alpha, odds = np.array([2.5, 1.5, 2.5, 3.5]), t / (1 - t)
    after = 0.0

    def worth(weights):
        tp, fn, fp, tn = weights / weights.sum()
        return np.array([tp - odds * fp, tp + fn - odds * (fp + tn), 0])

    before = worth(alpha).max()
    for outcome in product(range(4), repeat=n):
        weights, chance = alpha.copy(), 1.0
        for cell in outcome:
            chance *= weights[cell] / weights.sum()
            weights[cell] += 1
        after += chance * worth(weights).max()
    draws = 200_000
    found = bp.decision_curve(y, prob, thresholds=[t], draws=draws).value_of_more_examples(n).item()
    assert found == pytest.approx(after - before, abs=5 * 0.3 / np.sqrt(draws))
    assert after > before


def test_information_is_worth_more_the_more_there_is(curve):
    values = curve.value_of_more_examples([10, 100, 10_000_000])
    assert values.dims == ("n", "threshold")
    assert (values.diff("n") > -2e-4).all()
    np.testing.assert_allclose(values.isel(n=-1), curve.value_of_perfect_information, atol=2e-4)
    assert (curve.value_of_perfect_information >= 0).all()
    by = bp.decision_curve(Y, PROB, thresholds=CUTS, by={"half": np.arange(300) % 2}, draws=500)
    assert by.value_of_more_examples(50).dims == ("half", "threshold")


# ── Binned scores ──


@pytest.mark.slow
def test_bins_have_the_curve_of_the_scores():
    edges = np.arange(0, 101) / 100
    counts = [np.histogram(PROB[label == Y], edges)[0] for label in (1, 0)]
    binned = bp.decision_curve(
        bp.curves.BinnedScores.from_counts(positives=counts[0], negatives=counts[1], edges=edges)
    )
    plain = bp.decision_curve(Y, PROB)
    xr.testing.assert_allclose(binned.dataset, plain.dataset)
    xr.testing.assert_identical(binned.joint_draws(), plain.joint_draws().assign_coords(binned.joint_draws().coords))
    frame = pd.DataFrame({"y": Y.astype(int), "p": PROB})
    of_frame = bp.curves.BinnedScores.from_frame(frame, actual="y", score="p", bins=100)
    xr.testing.assert_allclose(bp.decision_curve(of_frame, thresholds=CUTS).dataset,
                               bp.decision_curve(Y, PROB, thresholds=CUTS).dataset)  # fmt: skip
    coarse = bp.curves.BinnedScores.from_frame(frame, actual="y", score="p", bins=4)
    np.testing.assert_array_equal(bp.decision_curve(coarse).dataset["threshold"], [0.25, 0.5, 0.75])
    ratings = bp.curves.BinnedScores.from_counts(positives=[1, 2, 9], negatives=[9, 3, 1], values=[0.1, 0.4, 0.8])
    found = bp.decision_curve(ratings, thresholds=[0.4]).dataset["net_benefit"].item()
    assert found == pytest.approx((11 - 4 * 0.4 / 0.6) / 25)


# ── Words ──


def test_words_name_ranges_and_a_threshold(curve, systems):
    text = curve.in_words(at=0.2)
    assert "ollowing the system does more good than treating everybody or nobody" in text
    assert "At 0.2 the net benefit is" in text
    assert "new: " in systems.in_words()
    assert systems.at_prevalence((1, 9)).in_words().endswith("All of it at prevalence ~ Beta(1, 9).")
    assert "at none" in bp.decision_curve(Y, 1 - PROB, thresholds=[0.2]).in_words()
    assert (
        repr(curve) == f"<bayesperf.curves.DecisionCurve: 4 thresholds from 0.05 to 0.9, {Y.sum()} positives, "
        f"{(~Y).sum()} negatives>"
    )
    assert "<p>" in curve._repr_html_()


# ── The metric ──


def test_the_metric_by_hand():
    cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=45, tn=5)
    assert bp.score(cm, metrics.net_benefit(0.1)).item() == pytest.approx(0.4 - 0.45 / 9)
    assert metrics.get("net_benefit_at_0.1") == metrics.net_benefit(0.1)
    assert bp.posterior(cm)["net_benefit_at_.5"].mean().item() == pytest.approx((40.5 - 45.5) / 102, rel=1e-9)
    assert metrics.net_benefit(0.1).bounds == pytest.approx((-1 / 9, 1))


# ── What is refused ──


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((Y, LOGIT), {}, ValueError, "y_prob must be probabilities, from 0 to 1; they .*CalibratedClassifier"),
        ((Y, {"a": PROB, "b": LOGIT}), {}, ValueError, r"y_prob\['b'\] must be probabilities"),
        ((Y, {}), {}, ValueError, "y_prob must map names of systems to their scores; it is empty"),
        ((Y, {"treat_all": PROB}), {}, ValueError, "'treat_all' is the name of a strategy"),
        ((Y,), {}, TypeError, "y_prob: give a probability for each label"),
        ((Y, PROB[:-1]), {}, ValueError, "columns of unequal length"),
        ((Y, PROB), {"thresholds": [0, 0.5]}, ValueError, "thresholds must be between 0 and 1, .* they hold 0"),
        ((Y, PROB), {"thresholds": [0.5, 0.5]}, ValueError, "thresholds must all be different"),
        ((Y, PROB), {"by": [1, 2]}, TypeError, "by must be a mapping"),
        ((Y, PROB), {"by": {"threshold": Y}}, ValueError, "by: 'threshold' is the name of another dim"),
        ((Y, PROB), {"by": {"label": Y.astype(int)}}, ValueError, "by: label .* not of both classes"),
        ((Y, PROB), {"cluster": np.arange(300) % 2}, ValueError, "cluster: 2 say little of others"),
        ((Y, PROB), {"draws": 1}, ValueError, "draws must be a whole number of at least 2"),
        ((np.ones(300), PROB), {}, ValueError, "y_true must hold two classes"),
        (
            (bp.curves.BinnedScores.from_counts(positives=[1, 2], negatives=[2, 1], edges=[0, 1, 2]),), {},
            ValueError, "scores of the bins must be"),
        (
            (bp.curves.BinnedScores.from_counts(positives=[1], negatives=[2], edges=[0, 1]),), {},
            ValueError, "one bin alone has no threshold"),
        ((BINS,), {"thresholds": [0.3]}, ValueError,
         "thresholds: 0.3 is within a bin"),
        ((BINS,), {"by": {"a": [1]}}, TypeError, "by: Binned"),
    ],
)  # fmt: skip
def test_bad_arguments(arguments, options, error, words):
    with pytest.raises(error, match=words):
        bp.decision_curve(*arguments, **options)


def test_questions_that_have_no_answer(curve, systems):
    with pytest.raises(ValueError, match="a must be one of 'system', 'treat_all', 'treat_none'; it is 'new'"):
        curve.difference("new", "treat_all")
    with pytest.raises(ValueError, match="is not of several systems"):
        systems.value_of_more_examples(10)
    with pytest.raises(ValueError, match="is not of another prevalence"):
        curve.at_prevalence(0.1).value_of_more_examples(10)
    with pytest.raises(ValueError, match="n must be a whole number"):
        curve.value_of_more_examples(0)
    with pytest.raises(ValueError, match="at must be one of the thresholds"):
        curve.in_words(at=0.3)
    with pytest.raises(ValueError, match="kind must be one of"):
        curve.band(kind="whole")
    with pytest.raises(ValueError, match="threshold must be a number between 0 and 1"):
        metrics.net_benefit(1)
