"""Chosen thresholds: rules, by trying every threshold; requirements, by their frequencies; optimism, by the truth."""

import re

import numpy as np
import pytest
from scipy.stats import beta, norm

import bayesperf as bp
from bayesperf.curves.decisions.choosing import Candidates, drawn_shares, placed
from bayesperf.curves.decisions.rules import best_threshold, cells_of, requirements_of
from tests.shared.curves import DATA
from validation import thresholds
from validation.study import run

Y, SCORE = DATA["continuous"]
RNG = np.random.default_rng(0)
BIG = np.repeat([0, 1], [300, 100])
BIG_SCORE, NEW_SCORE = RNG.normal(2 * BIG), RNG.normal(2 * BIG)


def counted(y, score, threshold):
    called = score >= threshold
    return [int((called == c)[y == a].sum()) for a, c in ((1, True), (1, False), (0, True), (0, False))]


def every(y, score):
    """All thresholds from the strictest down, with their cells."""
    return [(t, *counted(y, score, t)) for t in [np.inf, *np.unique(score)[::-1]]]


# ── One threshold ──


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"cost": (1, 3)}, lambda tp, fn, fp, tn: -(fp + 3 * fn)),
        ({"cost": (1, 30), "prevalence": 0.02},
         lambda tp, fn, fp, tn: -(0.98 * fp / (fp + tn) + 0.02 * 30 * fn / (tp + fn))),
        ({"best": "f1"}, lambda tp, fn, fp, tn: 2 * tp / (2 * tp + fp + fn)),
        ({"best": bp.metrics.net_benefit(0.2)}, lambda tp, fn, fp, tn: tp - fp / 4),
        ({"best": "fnr", "requirements": {"fpr": 0.4}},
         lambda tp, fn, fp, tn: tp if beta.sf(0.6, tn, fp + 1) >= 0.95 else -np.inf),
    ],
)  # fmt: skip
def test_the_best_of_every_threshold_is_chosen(options, value):
    chosen = bp.choose_threshold(Y, SCORE, **options, draws=10)
    tried = [(t, value(*(cell + 0.5 for cell in cells)) if "requirements" not in options else value(*cells))
             for t, *cells in every(Y, SCORE)]  # fmt: skip
    best = max(v for _, v in tried)
    assert chosen.threshold == next(t for t, v in tried if v >= best - 1e-12)
    assert chosen.apparent.counts.values.ravel()[[3, 2, 1, 0]].tolist() == counted(Y, SCORE, chosen.threshold)


def test_recall_is_required_by_the_quantile_of_an_order_statistic():
    chosen = bp.choose_threshold(BIG, BIG_SCORE, best="specificity", requirements={"recall": 0.8}, draws=10)
    positives = np.sort(BIG_SCORE[BIG == 1])
    # Beyond the j-th smallest of 100 the rate is Beta(101 − j, j); the greatest j that assures .8.
    j = max(j for j in range(1, 101) if beta.sf(0.8, 101 - j, j) >= 0.95)
    assert chosen.threshold == positives[j - 1]
    np.testing.assert_allclose(chosen.prob_met.item(), beta.sf(0.8, 101 - j, j), rtol=1e-9)
    assert (
        chosen.prob_met.attrs["note"] == "each requirement by itself, at a threshold as if it had been named beforehand"
    )


def test_a_test_set_judges_exactly():
    chosen = bp.choose_threshold(BIG, BIG_SCORE, best="f1", test=(BIG, NEW_SCORE), draws=10)
    tp, fn, _, _ = counted(BIG, NEW_SCORE, chosen.threshold)
    expected = beta.ppf([0.025, 0.975], tp + 0.5, fn + 0.5)
    np.testing.assert_allclose(chosen["recall"].eti().values, expected, rtol=1e-7)
    assert "observed" in chosen.summary()


def test_labels_of_any_order():
    names = np.where(BIG == 1, "apple", "pear")
    ours, theirs = (
        bp.choose_threshold(y, BIG_SCORE, best="f1", pos_label=positive, draws=50)
        for y, positive in ((BIG, 1), (names, "apple"))
    )
    assert ours.threshold == theirs.threshold
    np.testing.assert_array_equal(ours["recall"].joint_draws(20, 1), theirs["recall"].joint_draws(20, 1))
    assert ours.apparent.counts.values[1, 1] == theirs.apparent.counts.values[0, 0]


def test_binned_scores_are_as_good_as_scores():
    values, place = np.unique(np.round(BIG_SCORE, 1), return_inverse=True)
    binned = bp.curves.BinnedScores.from_counts(
        positives=np.bincount(place[BIG == 1], minlength=len(values)),
        negatives=np.bincount(place[BIG == 0], minlength=len(values)),
        values=values,
    )  # fmt: skip
    rounded = bp.choose_threshold(BIG, values[place], best="f1", draws=50)
    of_bins = bp.choose_threshold(binned, best="f1", draws=50)
    assert of_bins.threshold == rounded.threshold
    np.testing.assert_array_equal(of_bins["f1"].joint_draws(20, 1), rounded["f1"].joint_draws(20, 1))


def test_prevalence_of_use_is_that_of_the_posterior():
    chosen = bp.choose_threshold(BIG, BIG_SCORE, cost=(1, 20), prevalence=0.02, draws=200)
    draws = chosen.posterior.joint_draws(100)
    np.testing.assert_allclose(draws.sel(actual=1).sum("predicted"), 0.02)
    tp, fn, fp, tn = counted(BIG, BIG_SCORE, chosen.threshold)
    found, wrong = 0.02 * tp / (tp + fn), 0.98 * fp / (fp + tn)
    assert chosen.summary("precision")["apparent"].item() == pytest.approx(found / (found + wrong), rel=1e-9)


# ── Requirements ──


@pytest.mark.slow
@pytest.mark.parametrize(
    ("requirements", "words"),
    [
        ({"recall": 0.99}, "greatest probability of recall at least 0.99 is 63 %"),
        ({"recall": 0.99}, "about 3.0"),
        ({"recall": 0.97, "specificity": 0.97}, "Each is met somewhere, and nowhere all of them"),
        ({"precision": 0.999}, "precision at least 0.999"),
    ],
)
def test_refused_where_no_threshold_meets_them(requirements, words):
    with pytest.raises(ValueError, match="no threshold has") as caught:
        bp.choose_threshold(np.repeat([0, 1], [300, 100]), BIG_SCORE, best="f1", requirements=requirements)
    if words.startswith("Each"):
        assert words in str(caught.value) or "greatest" in str(caught.value)
    else:
        assert words in str(caught.value)


def test_said_number_of_examples_is_enough():
    """300 positives, none missed, are just enough for a recall of .99; 100 are not."""
    assert beta.sf(0.99, 100, 1) < 0.95 <= beta.sf(0.99, 299, 1)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, TypeError, "best, cost"),
        ({"best": "f1", "cost": (1, 1)}, TypeError, "best, cost"),
        ({"cost": (1, 1, 1)}, TypeError, r"cost must be \(cost_fp, cost_fn\)"),
        ({"cost": (0, 1)}, ValueError, "greater than 0"),
        ({"best": "prevalence"}, ValueError, "neither more nor less"),
        ({"best": "f1", "requirements": {"mcc": 0.5}}, ValueError, "no share of one class"),
        ({"best": "f1", "requirements": {"recall": 1.5}}, ValueError, "recall lies between 0 and 1"),
        ({"best": "f1", "requirements": {"recall": 1}}, ValueError, r"requirements\['recall'\]"),
        ({"best": "f1", "requirements": {}}, ValueError, "name at least one"),
        ({"best": "f1", "requirements": {"precision": 0.5}, "prevalence": 0.1}, ValueError, "changes with it"),
        ({"best": "f1", "test": (Y, SCORE, Y)}, TypeError, "test must be"),
        ({"best": "f1", "confidence": 2}, ValueError, "confidence"),
    ],
)
def test_what_cannot_be_chosen_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        bp.choose_threshold(Y, SCORE, **options)


def met_in_truth(rng, requirements, best, n, prevalence, distance):
    """Return whether a threshold was found, and whether it meets the requirement in truth."""
    required = requirements_of(requirements)
    rule = best_threshold(best, None, required, None)
    y = (rng.random(n) < prevalence).astype(int)
    score = rng.normal(distance * y)
    order = np.argsort(-score)
    candidates = Candidates(np.r_[np.inf, score[order]], np.stack([1 - y[order], y[order]]))
    if not np.all([each.met(candidates.cells) for each in required], 0)[1:].any():
        return False, True
    threshold = candidates.thresholds[rule.choose(candidates.cells)[0]]
    recall, fpr = norm.sf(threshold - distance), norm.sf(threshold)
    ((name, bound),) = requirements.items()
    true = {
        "recall": recall,
        "precision": prevalence * recall / (prevalence * recall + (1 - prevalence) * fpr),
        "npv": (1 - prevalence) * (1 - fpr) / ((1 - prevalence) * (1 - fpr) + prevalence * (1 - recall)),
    }[name]
    return True, true >= bound


@pytest.mark.slow
@pytest.mark.parametrize(
    ("requirements", "best", "distance", "prevalence"),
    [
        ({"recall": 0.9}, "precision", 1.5, 0.3),
        ({"precision": 0.8}, "recall", 2.0, 0.3),
        ({"npv": 0.9}, "specificity", 2.0, 0.5),
        # No threshold has it, and one found is one too many.
        ({"precision": 0.55}, "recall", 0.0, 0.5),
    ],
    ids=str,
)
def test_requirements_are_met_as_often_as_asked(requirements, best, distance, prevalence):
    simulations, rng = 1000, np.random.default_rng(5)
    outcomes = [met_in_truth(rng, requirements, best, 300, prevalence, distance) for _ in range(simulations)]
    found, met = np.mean(outcomes, axis=0)
    assert met >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / simulations)
    assert found > 0.2 or distance == 0


def test_pointwise_search_would_not_meet_them():
    """Why precision is tried in an order: the best of all thresholds that pass by themselves was found by luck."""
    rng, found = np.random.default_rng(6), 0
    for _ in range(200):
        y = rng.random(200) < 0.5
        tp = np.cumsum(y)
        found += (beta.sf(0.55, tp + 0.5, np.arange(1, 201) - tp + 0.5) >= 0.95).any()
    assert found / 200 > 0.1


# ── Optimism ──


def test_draws_without_optimism_are_the_posterior():
    """Of a rule that chooses the same whatever the examples are."""

    class Fixed:
        size = 1

        def choose(self, cells):
            return np.full((*np.shape(cells.tp)[:-1], 1), 3)

    counts = np.array([[2, 5, 6, 40, 30], [20, 9, 6, 3, 2]])
    shares = drawn_shares(Candidates(np.arange(6.0), counts), Fixed(), np.array([3]), 20_000, np.random.default_rng(0))
    recall = shares[:, 1, 0] / shares[:, 1].sum(-1)
    # The optimism is a mean over 20,000 data sets, and its own error is as large as that of the draws.
    expected = beta(35.5, 5.5)
    assert abs(recall.mean() - expected.mean()) < 5 * expected.std() * np.sqrt(2 / 20_000)
    np.testing.assert_allclose(recall.std(), expected.std(), rtol=0.03)
    np.testing.assert_allclose(shares[:, 1].sum(-1).mean(), 41 / 125, atol=5 * 0.042 / np.sqrt(20_000))


def test_places_are_counted():
    counts = np.array([[1, 2, 3, 4], [8, 4, 2, 1]])
    np.testing.assert_array_equal(placed(counts, np.array([1, 3])), [[1, 5, 4], [8, 6, 1]])
    assert cells_of(counts).tp.tolist() == [0, 8, 12, 14, 15]


@pytest.mark.slow
def test_optimism_is_taken_off():
    """Bias and coverage of the metric that was made best, of 300 data sets of 100 examples."""
    study = run(thresholds.STUDY, 300, n=100, metrics=("f1", "recall"), draws=200, random_seed=2)
    of_f1 = study.sel(metric="f1", n=100)
    apparent, corrected = (of_f1["bias"].sel(judged=judged).item() for judged in ("apparent", "corrected"))
    assert apparent > 0.03
    assert abs(corrected) < 0.02
    error = np.sqrt(0.05 * 0.95 / 300)
    assert (study["coverage"].sel(judged="corrected") > 0.93 - 2 * error).all()


# ── Two thresholds ──


def pairs(y, score):
    ends = [np.inf, *np.unique(score)[::-1]]
    for i, high in enumerate(ends):
        for low in ends[i:]:
            tp, _, fp, _ = counted(y, score, high)
            _, fn, _, tn = counted(y, score, low)
            yield high, low, tp, fn, fp, tn


@pytest.mark.slow
def test_the_pair_of_least_cost_is_chosen():
    two = bp.curves.abstention(Y, SCORE, cost=(5, 8, 1), draws=10)
    costs = {(high, low): 5 * fp + 8 * fn + (100 - tp - fn - fp - tn) for high, low, tp, fn, fp, tn in pairs(Y, SCORE)}
    assert costs[two.high, two.low] == min(costs.values())


@pytest.mark.slow
@pytest.mark.parametrize("most", [0.1, 0.35])
def test_no_more_is_left_to_people_than_allowed(most):
    two = bp.curves.abstention(Y, SCORE, max_abstention=most, cost=(1, 2), draws=10)
    costs = {(high, low): fp + 2 * fn for high, low, tp, fn, fp, tn in pairs(Y, SCORE)
             if 100 - tp - fn - fp - tn <= 100 * most}  # fmt: skip
    assert costs[two.high, two.low] == min(costs.values())
    assert two.apparent.counts.sum() >= 100 * (1 - most)
    assert two.summary()["apparent"][0] == (100 - two.apparent.counts.sum()) / 100


@pytest.mark.slow
def test_required_pairs_keep_what_is_required():
    two = bp.curves.abstention(BIG, BIG_SCORE, requirements={"precision": 0.7, "npv": 0.9}, test=(BIG, NEW_SCORE))
    alone = bp.choose_threshold(BIG, BIG_SCORE, best="recall", requirements={"precision": 0.7}, draws=10)
    assert two.high == alone.threshold or two.high == two.low
    tp, _, fp, _ = counted(BIG, NEW_SCORE, two.high)
    _, fn, _, tn = counted(BIG, NEW_SCORE, two.low)
    np.testing.assert_allclose(two["precision"].mean(), (tp + 0.5) / (tp + fp + 1), rtol=1e-9)
    np.testing.assert_allclose(two["npv"].mean(), (tn + 0.5) / (tn + fn + 1), rtol=1e-9)
    left = 400 - tp - fn - fp - tn
    if left:
        np.testing.assert_allclose(two.abstention_rate.mean(), (left + 1) / 403, rtol=1e-9)


def test_a_test_set_says_how_many_are_left():
    """Half a pseudo-example of either class in each of three regions: one of six halves is left, and two are not."""
    score = SCORE[::-1]
    two = bp.curves.abstention(Y, SCORE, cost=(5, 8, 1), test=(Y, score))
    left = ((two.low <= score) & (score < two.high)).sum()
    assert left > 0
    posterior = beta(left + 1, len(Y) - left + 2)
    np.testing.assert_allclose(two.abstention_rate.mean(), posterior.mean(), rtol=1e-9)
    np.testing.assert_allclose(two.abstention_rate.eti(), posterior.interval(0.95), rtol=1e-9)


@pytest.mark.slow
def test_one_threshold_is_enough_where_both_sides_have_it():
    two = bp.curves.abstention(BIG, BIG_SCORE, requirements={"precision": 0.3, "npv": 0.6}, draws=20)
    assert two.low == two.high
    assert two.abstention_rate.mean() == 0
    assert "nothing is left to people" in two.in_words()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, TypeError, "give one of them"),
        ({"cost": (1, 2)}, TypeError, "cost_abstention"),
        ({"requirements": {"npv": 0.9}}, ValueError, "give two"),
        ({"requirements": {"npv": 0.9, "recall": 0.9}}, ValueError, "give two"),
        ({"requirements": {"npv": 0.9, "precision": 0.9}, "cost": (1, 1, 1)}, TypeError, "not both"),
        ({"requirements": {"npv": 0.9, "precision": 0.9999}}, ValueError, "no threshold has"),
        ({"max_abstention": 1.2}, ValueError, "max_abstention"),
    ],
)
def test_what_cannot_be_abstained_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        bp.curves.abstention(Y, SCORE, **options)


def test_words_say_what_was_asked_and_what_was_found():
    chosen = bp.choose_threshold(BIG, BIG_SCORE, best="precision", requirements={"recall": 0.8}, draws=200)
    text = chosen.in_words()
    assert text.startswith("Best precision, with recall at least 0.8, with probability 0.95: threshold")
    assert "At this threshold, had it been named beforehand, the requirement is met with probability 9" in text
    both = bp.choose_threshold(BIG, BIG_SCORE, best="f1", requirements={"recall": 0.6, "specificity": 0.6}, draws=10)
    assert re.search(
        r"each requirement alone is met with probability .* for recall and .* for specificity\.", both.in_words()
    )
    assert "Less the optimism" in text
    assert repr(chosen).startswith("<bayesperf.curves.ChosenThreshold")
    assert chosen.summary()["metric"].tolist() == ["precision", "recall", "specificity"]
    assert "<table" in chosen._repr_html_()


def test_a_pair_that_calls_nothing_positive_says_so():
    two = bp.curves.abstention(np.repeat([0, 1], 5), np.full(10, 0.5), cost=(10, 10, 1), draws=50)
    assert np.isinf(two.high)
    assert (
        "what scores below 0.5 is called negative, nothing positive, and the rest is left to people" in two.in_words()
    )
