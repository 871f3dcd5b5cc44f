"""Measures of calibration: other packages' scores, decompositions, unbiased errors, classes, what is left out."""

import functools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from sklearn import metrics as sklearn_metrics
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import bayesperf as bp
from bayesperf.curves.reliability.frequencies import ProbabilityCounts
from bayesperf.curves.reliability.measures import MEASURES, drawn_labels, point_values, squared_calibration_error
from tests.curves.test_reliability import DATA, every_data, simulated

Y, P = simulated(200, 12, seed=5)


def observed(calibration):
    return calibration.summary().set_index("metric")["observed"]


# ── Scores and their decomposition ──


@pytest.mark.slow
@every_data
def test_scores_are_those_of_scikit_learn_and_their_parts_add_up(data):
    y, p = data
    p = np.clip(p, 1e-4, 1 - 1e-4)
    found = observed(bp.curves.calibration(y, p, draws=2))
    recalibrated = IsotonicRegression().fit(p, y).predict(p)
    functions = {"brier": sklearn_metrics.brier_score_loss, "log_loss": sklearn_metrics.log_loss}
    for name, function in functions.items():
        score, base = function(y, p), function(y, np.full(len(y), y.mean()))
        # scikit-learn clips probabilities of 0 and 1.
        best = np.mean((recalibrated - y) ** 2) if name == "brier" else function(y, recalibrated)
        expected = [score, score - best, base - best, base]
        parts = [found[f"{name}{part}"] for part in ("", "_miscalibration", "_discrimination", "_uncertainty")]
        np.testing.assert_allclose(parts, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(parts[1] - parts[2] + parts[3], parts[0], rtol=1e-12)
        assert parts[1] >= -1e-15
        assert parts[2] >= -1e-15


def test_measures_of_many_sets_of_labels_are_those_of_each():
    counts = ProbabilityCounts.of(*DATA["ties"])
    positives = drawn_labels(counts, 4, np.random.default_rng(0))
    first = counts.grouped(10)
    together = point_values(counts, positives, first)
    for i, row in enumerate(positives):
        alone = point_values(counts, row[None], first)
        for name, value in alone.items():
            np.testing.assert_allclose(together[name][i], value[0], rtol=1e-12, atol=1e-15)


# ── The squared calibration error ──


def kumar(y, p, bins):
    """Return the estimator of Kumar, Liang & Ma (2019), eq. (2) of section 4.1 as they compute it, of given bins."""
    total = 0.0
    for members in bins:
        mean, frequency, n = p[members].mean(), y[members].mean(), len(members)
        total += n / len(y) * ((mean - frequency) ** 2 - frequency * (1 - frequency) / (n - 1))
    return total


def test_of_one_probability_a_bin_it_is_that_of_kumar_and_others():
    rng = np.random.default_rng(0)
    p = np.repeat([0.1, 0.3, 0.6, 0.9], [25, 25, 25, 25])
    y = rng.random(100) < 0.8 * p
    found = observed(bp.curves.calibration(y, p, bins=4, draws=2))["squared_calibration_error"]
    assert np.isclose(found, kumar(y, p, np.arange(100).reshape(4, 25)), rtol=1e-12)


def test_it_is_the_mean_of_products_of_different_examples():
    y, p = Y[:30], P[:30]
    total = 0.0
    for members in np.array_split(np.argsort(p), 3):
        d = p[members] - y[members]
        pairs = np.outer(d, d)[~np.eye(10, dtype=bool)]
        total += pairs.mean() / 3
    assert np.isclose(
        observed(bp.curves.calibration(y, p, bins=3, draws=2))["squared_calibration_error"], total, rtol=1e-12
    )


@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_it_is_unbiased(shift):
    """Also where the probabilities of a bin differ; that of Kumar and others is not."""
    p = np.linspace(0.02, 0.98, 60)
    true = special.expit(special.logit(p) + shift)
    counts = ProbabilityCounts.of_outcomes(np.arange(60) % 2 == 0, p)
    first = counts.grouped(3)
    labels = (np.random.default_rng(0).random((40_000, 60)) < true).astype(float)
    drawn = squared_calibration_error(counts, labels, first)
    d = (p - true).reshape(3, 20)
    expected = np.mean((d.sum(1) ** 2 - (d**2).sum(1)) / (20 * 19))
    assert abs(drawn.mean() - expected) < 4 * drawn.std() / 200
    assert (drawn < 0).any()
    if not shift:
        bins = np.arange(60).reshape(3, 20)
        lower = np.array([kumar(row, p, bins) for row in labels[:2000]]) - drawn[:2000]
        assert abs(lower.mean() + p.reshape(3, 20).var(1).mean() / 19) < 4 * lower.std() / np.sqrt(2000)


def test_bins_of_single_examples_have_no_pairs():
    y, p = np.array([0, 1, 0, 1]), np.array([0.1, 0.4, 0.6, 0.9])
    calibration = bp.curves.calibration(y, p, bins=4, draws=10)
    assert "squared_calibration_error" not in observed(calibration)
    assert "Left out: squared_calibration_error. Every bin holds one example only" in calibration.in_words()


# ── Posteriors ──


@pytest.mark.slow
def test_scores_have_the_posterior_of_weighted_scores():
    calibration = bp.curves.calibration(Y, P, draws=4000)
    for name in ("calibration_in_the_large", "brier", "log_loss"):
        found, expected = calibration[name], bp.curves.weighted_score(name, Y, P, draws=4000, random_seed=1)
        error = 4 * np.sqrt(2 / 4000) * expected.sd().item()
        assert abs(found.mean().item() - expected.mean().item()) < error
        np.testing.assert_allclose(found.eti(), expected.eti(), atol=4 * error)
        assert found.quantity.greater_is_better == expected.quantity.greater_is_better


@pytest.mark.slow
def test_the_mean_difference_is_that_of_student():
    """With many examples the Bayesian bootstrap is the textbook's interval of a mean."""
    found = bp.curves.calibration(Y, P, draws=20_000)["calibration_in_the_large"]
    d = Y - P
    half = stats.t.ppf(0.975, 199) * d.std(ddof=1) / np.sqrt(200)
    np.testing.assert_allclose(found.eti(), [d.mean() - half, d.mean() + half], atol=0.03 * half)


def test_intercept_and_slope_are_those_of_logistic_regression():
    rng = np.random.default_rng(4)
    log_odds = rng.normal(0, 1.5, 2000)
    y = (rng.random(2000) < special.expit(0.3 + 0.8 * log_odds)).astype(int)
    calibration = bp.curves.calibration(y, special.expit(log_odds), draws=1500)
    fitted = LogisticRegression(C=np.inf).fit(log_odds[:, None], y)
    slope = calibration["calibration_slope"]
    assert abs(slope.mean().item() - fitted.coef_.item()) < 0.1 * slope.sd().item()
    p = fitted.predict_proba(log_odds[:, None])[:, 1]
    x = np.stack([np.ones_like(log_odds), log_odds])
    covariance = np.linalg.inv((x * p * (1 - p)) @ x.T)
    assert np.isclose(slope.sd().item(), np.sqrt(covariance[1, 1]), rtol=0.05)
    # The score equation of the intercept where the slope is 1.
    intercept = calibration["calibration_intercept"]
    recalibrated = special.expit(log_odds + intercept.mean().item())
    assert abs(recalibrated.mean() - y.mean()) < 0.1 * intercept.sd().item() * (p * (1 - p)).mean()
    boot = bp.curves.weighted_score("calibration_slope", y[:500], special.expit(log_odds[:500]), draws=400)
    few = bp.curves.calibration(y[:500], special.expit(log_odds[:500]), draws=400)["calibration_slope"]
    assert abs(boot.mean().item() - few.mean().item()) < 0.3 * boot.sd().item()


def test_separated_classes_have_a_slope():
    calibration = bp.curves.calibration([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9], bins=2)
    assert 1 < calibration["calibration_slope"].median().item() < 6


@pytest.mark.few
@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.no_posterior_because])
def test_what_has_no_posterior_says_why(name):
    calibration = bp.curves.calibration(Y, P, draws=2)
    with pytest.raises(ValueError, match=f"{name} has no posterior here: "):
        calibration[name]
    row = calibration.summary().set_index("metric").loc[name]
    assert row["method"] == "none"
    assert row[["mean", "sd", "ci_lower", "ci_upper"]].isna().all()


# ── Calibrated systems ──


@pytest.mark.slow
def test_tails_of_calibrated_systems_are_uniform():
    """Labels drawn from the probabilities are in each tail as often as it says."""
    p = np.random.default_rng(0).beta(1, 2, 80)
    tails = [
        bp.curves.calibration(np.random.default_rng([1, i]).random(80) < p, p, draws=99, random_seed=i).summary()
        for i in range(150)
    ]
    tails = pd.concat(tails).dropna(subset="tail").groupby("metric")["tail"]
    assert set(tails.groups) == {name for name, measure in MEASURES.items() if measure.worse}
    for _, values in tails:
        assert len(values) == 150
        # At most 1 in 10 below 0.1, but for chance; ties and the 1 that is added make fewer.
        assert (values < 0.1).mean() < 0.1 + 3 * np.sqrt(0.09 / 150)
        assert 0.4 < values.mean() < 0.62


def test_an_overconfident_system_is_found():
    calibration = bp.curves.calibration(*simulated(600, 12, seed=6))
    table = calibration.summary().set_index("metric")
    assert table.loc["calibration_slope", "ci_upper"] < 1
    for name in ("squared_calibration_error", "brier", "brier_miscalibration", "log_loss"):
        assert table.loc[name, "tail"] < 0.01
        assert table.loc[name, "observed"] > table.loc[name, "calibrated_upper"]
    words = calibration.in_words()
    assert "its probabilities are almost certainly too extreme" in words
    assert "the slope, the squared difference and the Brier score speak against calibrated" in words.lower().replace(
        "brier", "Brier"
    )


def test_a_calibrated_system_is_not_accused():
    rng = np.random.default_rng(8)
    p = rng.uniform(size=500)
    words = bp.curves.calibration(rng.random(500) < p, p).in_words()
    assert words.endswith("None of this speaks against calibration, nor does it prove it.")


@pytest.mark.parametrize(("tail", "speaks"), [(0.03, False), (0.01, True)])
def test_measures_share_the_probability_of_a_false_alarm(tail, speaks):
    """Four measures speak against calibration: each where a calibrated system is as far off in 0.05/4 of test sets."""
    found = bp.curves.calibration(Y, P, draws=20)
    part = found.parts[""]
    evenly = part.calibrated | {"brier": np.linspace(0, 1, 2001)}
    part = replace(part, calibrated=evenly, observed={**part.observed, "brier": 1 - tail / 2})
    assert part.tail("brier") == pytest.approx(tail, abs=0.002)
    assert ("Brier score speaks against" in replace(found, parts={"": part}).in_words()) == speaks


# ── More than two classes ──


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1.5, (300, 3))
    p = special.softmax(logits, 1)
    return np.array(["a", "b", "c"])[(p.cumsum(1) > rng.random((300, 1))).argmax(1)], p


@pytest.mark.slow
def test_classes_have_a_top_label_and_one_against_the_others(three):
    y, p = three
    calibration = bp.curves.calibration(y, p, draws=100)
    assert calibration.labels == ["top label", "a", "b", "c"]
    table = calibration.summary()
    top = p.argmax(1)
    expected = {
        "top label": np.mean((p.max(1) - (np.array(["a", "b", "c"])[top] == y)) ** 2),
        **{label: sklearn_metrics.brier_score_loss(y == label, p[:, i]) for i, label in enumerate("abc")},
    }
    found = table[table["metric"] == "brier"].set_index("label")["observed"].to_dict()
    assert found == pytest.approx(expected, rel=1e-12)
    slope = calibration["calibration_slope"]
    assert slope.dims == ("label",)
    assert slope.sel(label="b").mean().item() == slope.mean().sel(label="b").item()
    assert [line.partition(":")[0] for line in calibration.in_words().splitlines()] == ["top label", "a", "b", "c"]


@pytest.mark.slow
def test_columns_can_be_named(three):
    y, p = three
    found = bp.curves.calibration(y, p, draws=10).summary()
    for y_prob, labels in ((p[:, [2, 0, 1]], ["c", "a", "b"]), (pd.DataFrame(p, columns=list("abc")), None)):
        other = bp.curves.calibration(y, y_prob, labels=labels, draws=10).summary()
        rows = [table.set_index(["metric", "label"])["observed"].sort_index() for table in (found, other)]
        pd.testing.assert_series_equal(*rows)


# ── Binned scores, and what is left out ──


def test_values_that_tie_are_the_probabilities_themselves():
    y, p = DATA["ties"]
    values = np.unique(p)
    counts = [[(p[y == label] == value).sum() for value in values] for label in (1, 0)]
    binned = bp.curves.calibration(
        bp.curves.BinnedScores.from_counts(positives=counts[0], negatives=counts[1], values=values), draws=10
    )
    pd.testing.assert_frame_equal(
        pd.DataFrame(binned.summary()), pd.DataFrame(bp.curves.calibration(y, p, draws=10).summary())
    )


def test_infinite_measures_are_left_out_and_said_to_be():
    y, p = DATA["naive Bayes"]
    calibration = bp.curves.calibration(y, p, draws=50)
    assert not [name for name in observed(calibration).index if "log_loss" in name or "slope" in name]
    assert np.isfinite(observed(calibration)).all()
    for text in (calibration.in_words(), repr(calibration.summary())):
        assert "Left out: log_loss, log_loss_miscalibration" in text
        assert "Left out: calibration_intercept, calibration_slope. y_prob: " in text
    with pytest.raises(ValueError, match="probabilities are 0 or 1, whose log-odds are infinite"):
        calibration["calibration_slope"]
    with pytest.raises(ValueError, match="the log loss is infinite"):
        calibration["log_loss"]
    # Where what was certain happened, the loss is finite.
    certain = observed(bp.curves.calibration([0, 0, 1, 1, 1], [0.0, 0.3, 0.6, 1.0, 1.0], bins=2, draws=10))
    assert np.isclose(certain["log_loss"], -(np.log(0.7) + np.log(0.6)) / 5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda y, p: bp.curves.calibration(y, p * 2), ValueError, "y_prob must hold probabilities"),
        (lambda y, p: bp.curves.calibration(y), TypeError, "y_prob: give the probabilities"),
        (
            lambda y, p: bp.curves.calibration(y, p, labels=[0, 1]),
            TypeError,
            "labels apply to y_prob with a column",
        ),
        (lambda y, p: bp.curves.calibration(y, p, draws=1), ValueError, "draws must be a whole number of at least 2"),
        (lambda y, p: bp.curves.calibration(y, np.stack([p, p], 1)), ValueError, "must add up to 1; those of example"),
        (
            lambda y, p: bp.curves.calibration(y, np.stack([p, 1 - p], 1), pos_label=1),
            TypeError,
            "pos_label: probabilities",
        ),
        (lambda y, p: bp.curves.calibration(y, np.stack([p / 2] * 3, 1)), ValueError, "labels must name the 3 columns"),
        (
            lambda y, p: bp.curves.calibration(y, np.stack([p, 1 - p], 1), labels=["a", "b"]),
            ValueError,
            "not among the labels",
        ),
        (lambda y, p: bp.curves.calibration(y, np.stack([p, 1 - p], 1)[1:]), ValueError, "unequal length"),
        (lambda y, p: bp.curves.calibration(y, p, draws=5)["auc"], ValueError, "measure must be one of"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call(Y, P)


# ── An unseen example ──


def test_the_unseen_example_is_jeffreys_prior_where_all_probabilities_are_one():
    """At a probability of 0.8 the Brier score is 0.64 − 0.6 f, and the mean of y − p is f − 0.8, of the frequency f."""
    y, p, frequency = np.repeat([1, 0], [7, 3]), np.full(10, 0.8), stats.beta(7.5, 3.5)
    calibration = bp.curves.calibration(y, p, draws=5000)
    for found in (
        functools.partial(bp.curves.weighted_score, y_true=y, y_score=p, draws=5000),
        calibration.__getitem__,
    ):
        brier, mean = (found(name).joint_draws(5000).values for name in ("brier", "calibration_in_the_large"))
        assert stats.kstest((0.64 - brier) / 0.6, frequency.cdf).pvalue > 0.001
        assert stats.kstest(mean + 0.8, frequency.cdf).pvalue > 0.001


@pytest.mark.parametrize("per_class", [False, True])
def test_the_unseen_example_by_sampling_it(per_class):
    """A Dirichlet process by its definition: weights of all probabilities with either label."""
    y, p, rng = np.array([0, 0, 1, 1, 1]), np.array([0.1, 0.3, 0.6, 0.9, 0.9]), np.random.default_rng(3)
    weights = rng.standard_gamma(np.r_[np.full(5, 1.1), np.full(5, 0.1)], (40_000, 10))
    label, errors = np.r_[y, 1 - y], np.r_[(p - y) ** 2, (p - 1 + y) ** 2]
    shares = weights / weights.sum(1, keepdims=True)
    if per_class:
        of_class = [weights * (label == each) for each in (0, 1)]
        shares = sum(part * w / w.sum(1, keepdims=True) for part, w in zip((0.4, 0.6), of_class, strict=True))
    found = bp.curves.weighted_score("brier", y, p, per_class=per_class, draws=40_000).joint_draws(40_000)
    assert stats.ks_2samp(found.values, shares @ errors).pvalue > 0.001


def test_sharp_probabilities_that_all_came_true_are_not_certain_to():
    y = np.repeat([0, 1], 5)
    alike = {"a": y * 0.8 + 0.1, "b": y * 0.8 + 0.1}
    score = bp.curves.weighted_score("brier", y, alike, draws=4000)
    assert score.isel(model=0).eti()[1] > 0.1
    assert bp.compare(score).difference.sd() == 0
