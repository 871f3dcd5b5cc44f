"""Answers in sentences: their words, their caveats, and that their figures are those of the tables."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import bayesperf as bp
from bayesperf.core.words import (
    LIKELIHOODS,
    OPEN,
    chance,
    enumerated,
    estimate,
    format_value,
    likelihood,
    metric_title,
    over_places,
    probability_value,
)

FEW = bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=5)
MANY = bp.ConfusionMatrix.from_counts(tp=400, fn=100, fp=30, tn=470)


@pytest.mark.parametrize(
    ("probability", "word"),
    [
        (1.0, "almost certainly"),
        (0.99, "almost certainly"),
        (0.9849, "very probably"),
        (0.9, "very probably"),
        (0.894, "probably"),
        (0.66, "probably"),
        (0.654, OPEN),
        (0.5, OPEN),
        (0.346, OPEN),
        (0.34, "probably not"),
        (0.106, "probably not"),
        (0.1, "very probably not"),
        (0.0151, "very probably not"),
        (0.01, "almost certainly not"),
        (0.0, "almost certainly not"),
    ],
)
def test_words_change_at_the_bounds_of_the_table(probability, word):
    assert likelihood(probability) == word


def test_words_go_by_the_percentages_that_are_written():
    for probability in np.linspace(0.001, 0.999, 5000):
        written = float(chance(probability).rstrip(" %")) / 100
        assert likelihood(written) == likelihood(probability)


@pytest.mark.parametrize(
    ("probability", "percent", "decimals"),
    [
        (1.0, ">99.9 %", ">0.999"),
        (0.9996, ">99.9 %", ">0.999"),
        (0.999, "99.9 %", "0.999"),
        (0.9904, "99.0 %", "0.9904"),
        (0.99, "99 %", "0.990"),
        (0.687, "69 %", "0.687"),
        (0.004, "0.4 %", "0.004"),
        (0.0009, "<0.1 %", "<0.001"),
        (0.0, "<0.1 %", "<0.001"),
    ],
)
def test_no_probability_becomes_certain_by_rounding(probability, percent, decimals):
    assert chance(probability) == percent
    assert probability_value(probability) == decimals


def test_undefined_probabilities_are_dashes():
    assert probability_value(np.nan) == "—"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("recall", "recall"),
        ("f1", "F1"),
        ("f1_macro", "F1 macro"),
        ("npv", "NPV"),
        ("p4", "P4"),
        ("matthews_corrcoef", "Matthews correlation"),
        ("cohen_kappa", "Cohen's kappa"),
        ("roc_auc", "ROC AUC"),
        ("half_total_error_rate", "half total error rate"),
    ],
)
def test_metrics_have_titles_in_words(name, title):
    assert metric_title(name) == title


def test_parts_of_a_sentence():
    assert enumerated(["a"]) == "a"
    assert enumerated(["a", "b", "c"]) == "a, b and c"
    assert over_places(["1"], [""], [1]) == "1"
    assert over_places(["1", "2"], ["a", "b"], [1, 2]) == "1 for a and 2 for b"
    assert over_places(list("31425"), list("abcde"), [3, 1, 4, 2, 5]) == "between 1 for b and 5 for e"
    assert estimate(-0.02, -0.05, 0.01, 0.9, "eti") == "−0.020 (90 % ETI −0.050 to 0.010)"


@pytest.mark.parametrize("metric", ["recall", "f1", "matthews_corrcoef", "diagnostic_odds_ratio"])
def test_figures_in_a_sentence_are_those_of_the_table(metric):
    post = bp.posterior(MANY)
    (row,) = post.summary(metric).to_dict("records")
    width = row["ci_upper"] - row["ci_lower"]
    mean, low, high, seen = (format_value(row[n], width) for n in ("mean", "ci_lower", "ci_upper", "observed"))
    text = post[metric].in_words()
    assert f"is {mean} (95 % HDI {low}–{high}; observed " in text
    assert ("400 of 500" if metric == "recall" else seen) in text


def test_a_bound_has_its_probability():
    recall = bp.posterior(FEW)["recall"]
    text = recall.in_words(at_least=0.8, at_most=0.9)
    assert f"With probability {chance(recall.prob_above(0.8).item())} it is at least 0.8." in text
    assert f"With probability {chance(recall.prob_below(0.9).item())} it is at most 0.9." in text


def test_at_least_counts_the_bound_itself_in_predictions():
    new = bp.posterior(FEW).predict(10)["accuracy"]
    at_least = 1 - new.prob_below(0.8).item()
    assert at_least > new.prob_above(0.8).item() + 0.05
    assert f"With probability {chance(at_least)} it is at least 0.8." in new.in_words(at_least=0.8)
    assert new.in_words().startswith("Accuracy in a new test set of 10 examples will be ")
    assert new.prob_above(0.8).name == "P(accuracy > 0.8)"


def test_probabilities_are_named_after_their_question():
    recall = bp.posterior(FEW)["recall"]
    assert recall.prob_above(0.8).name == "P(recall ≥ 0.8)"
    assert recall.prob_below(0.8).name == "P(recall < 0.8)"
    assert recall.prob_between(0.5, 0.8).name == "P(0.5 < recall ≤ 0.8)"
    assert recall.prob_above([0.5, 0.8]).name == "P(recall ≥ x)"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m: m.prob_above(80), r"prob_above: 80 is outside the range of recall, 0 to 1. Is it 80 %, 0.8\?"),
        (lambda m: m.prob_below(-0.1), "prob_below: -0.1 is outside the range of recall, 0 to 1"),
        (lambda m: m.prob_between(0.2, 1.5), "hi: 1.5 is outside the range of recall"),
        (lambda m: m.in_words(at_least=80), "80 is outside the range of recall"),
        (lambda m: m.in_words(ci_prob=95), "ci_prob"),
    ],
)
def test_bounds_in_other_units_are_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(bp.posterior(FEW)["recall"])


def test_few_examples_are_said_to_owe_to_the_prior():
    # Jeffreys' half a pseudo-example a cell is 1 of 6, and 1 of 501.
    assert bp.posterior(FEW)["recall"].in_words().endswith("Few examples: 17 % of the weight is the prior's.")
    assert "prior" not in bp.posterior(MANY)["recall"].in_words()


@pytest.mark.slow
def test_monte_carlo_error_is_said_where_it_is_large():
    labels = np.repeat([0, 1, 2], 20)
    predicted = labels.copy()
    predicted[::4] = 0
    cm = bp.ConfusionMatrix.from_predictions(labels, predicted)
    assert "Monte Carlo error" in bp.posterior(cm, draws=100)["f1_macro"].in_words()
    assert "Monte Carlo error" not in bp.posterior(cm, draws=200_000)["f1_macro"].in_words()


def test_several_places_are_named_or_their_ends():
    found = [7, 9, 5, 8, 6]
    rates = bp.posterior_of_rate(found, 10, metric="recall", dims={"site": list("abcde")})
    assert re.match(r"Recall is between 0\.500 .*5 of 10\) for c and 0\.864 .*9 of 10\) for b\.", rates.in_words())
    few = rates.isel(site=[0, 1])
    assert re.match(r"Recall is .*7 of 10\) for a and .*9 of 10\) for b\.", few.in_words(at_least=0.5))
    assert "for a and " in few.in_words(at_least=0.5).partition("With probability")[2]
    numbered = bp.posterior_of_rate([7, 9], 10, metric="recall", dims={"fold": [0, 1]})
    assert "for fold 0 and" in numbered.in_words()


def test_a_posterior_says_its_main_metrics():
    text = bp.posterior(FEW).in_words()
    assert text.startswith("From 10 examples: accuracy is 0.833 ")
    assert "precision 0.900" in text
    assert "recall 0.750" in text
    assert "observed 4 of 4" in text
    assert "observed 4 of 5" in text
    assert text in bp.posterior(FEW)._repr_html_().replace("&#x27;", "'")
    assert bp.posterior(FEW, design="by_actual").in_words("recall").startswith("From 10 examples: recall is")


def test_an_expected_performance_curve_says_its_ends_and_its_mean():
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 100)
    dev, test = ((y, rng.normal(2 * y)) for _ in range(2))
    curve = bp.curves.epc(dev, test, draws=100)
    text = curve.in_words(ci_prob=0.9)
    values, bounds = curve.dataset["half_total_error_rate"], curve.band(0.9)["half_total_error_rate"]
    for at in (values.values.argmin(), values.values.argmax()):
        low, high = bounds[at].values
        assert f"{estimate(values[at].item(), low, high, 0.9, 'eti')} at α = {curve.alphas[at]:.3g}" in text
    g = curve.expected_performance().sel(quantity="G")
    low, high = g.eti(0.9).values
    assert f"the mean of FPR and FNR, G, is {estimate(g.mean().item(), low, high, 0.9, 'eti')}." in text
    assert f"The thresholds minimise {curve.criterion.formula} on the development set." in text
    assert curve.in_words() in curve._repr_html_()
    one = bp.curves.epc(dev, test, alphas=[0.3], draws=100).in_words()
    assert "between" not in one
    assert bp.curves.epc_a_posteriori(test, draws=100).in_words().endswith("choose it on other examples.")


def test_a_marginal_in_a_notebook_shows_the_sentence_and_a_density():
    recall = bp.posterior(FEW)["recall"]
    shown = recall._repr_html_()
    assert recall.in_words().replace("'", "&#x27;") in shown
    assert shown.count("<svg") == 1
    assert len(shown) < 4000
    assert repr(recall) == f"<bayesperf.Marginal: recall (exact)>\n{recall.in_words()}"


@pytest.mark.parametrize(("metric", "scale"), [("recall", np.array), ("lr+", np.log)])
def test_the_picture_of_a_density_spans_its_axis_and_marks_the_mean(metric, scale):
    marginal = bp.posterior(MANY)[metric]
    picture = ElementTree.fromstring(marginal._repr_html_()).find(".//svg")
    low, high = (float(end.text) for end in picture.findall("text"))
    low, mean, high = scale([low, marginal.mean().item(), high])
    line, mark = (re.findall(r"[\d.]+", path.get("d")) for path in picture.findall("path")[2:])
    assert (line[0], line[-2]) == ("0.0", "260.0")
    assert float(mark[0]) == pytest.approx(260 * (mean - low) / (high - low), abs=2)


def test_of_many_places_a_notebook_shows_the_first():
    rates = bp.posterior_of_rate(np.arange(200), 200, metric="recall", dims={"site": [f"<{i}>" for i in range(200)]})
    shown = rates._repr_html_()
    assert shown.count("<svg") == 12
    assert "… and 188 more" in shown
    assert "&lt;0&gt;" in shown
    assert "<0>" not in shown
    # Intervals of hundreds of places take time: they are said if they are asked for.
    assert repr(rates) == "<bayesperf.Marginal: recall (exact), site: 200>"


@pytest.mark.few
@pytest.mark.parametrize("metric", ["recall", "lr+", "mcc", "dor"])
def test_every_kind_of_marginal_is_shown(metric):
    for marginal in (bp.posterior(FEW)[metric], bp.posterior(FEW).predict(5, draws=200)[metric]):
        shown = marginal._repr_html_()
        ElementTree.fromstring(shown)
        assert "nan" not in shown
        assert "inf" not in shown.lower().replace("infinit", "")


def rate(found, trials=100):
    return bp.posterior_of_rate(found, trials, metric="recall")


def test_comparisons_say_which_is_better_and_whether_it_matters():
    noise = bp.compare(rate(84), rate(81), rope=0.01)
    greater, (_, inside, above) = noise.prob_greater.item(), noise.prob_rope.values
    assert inside < min(LIKELIHOODS.values())
    expected = f"On recall, a is probably better than b (probability {chance(greater)}), but that may not matter: "
    beyond = f"with probability {chance(above)} the difference exceeds 0.01."
    assert noise.in_words().startswith(f"{expected}{beyond}")
    small = bp.compare(rate(8400, 10_000), rate(8380, 10_000), rope=0.03).in_words()
    assert "almost certainly too small to matter: with probability >99.9 % it is within ±0.03" in small
    assert ", and by more than 0.01 with probability >99.9 %." in bp.compare(rate(95), rate(70), rope=0.01).in_words()
    open_question = bp.compare(rate(80), rate(80)).in_words()
    assert open_question.startswith(
        "On recall, it is open whether a is better than b (probability 50 %). The difference, a − b, is "
    )


def test_of_errors_the_smaller_is_better():
    a, b = (bp.posterior_of_rate(wrong, 100, metric="fpr") for wrong in (30, 5))
    text = bp.compare(a, b).in_words()
    said = "On FPR, b is almost certainly better than a (probability >99.9 %). The difference, a − b, is 0.2"
    assert text.startswith(said)


@pytest.mark.slow
def test_the_best_of_several_is_said_to_look_better_than_it_is():
    cm = bp.ConfusionMatrix.from_counts(tp=[90, 80, 60], fn=[10, 20, 40], fp=5, tn=95, dims={"model": ["A", "B", "C"]})
    comparison = bp.compare(bp.posterior(cm), metric="recall", independent=True)
    best = comparison.prob_best
    text = comparison.in_words()
    of_a, of_b = (chance(best.sel(model=name).item()) for name in "AB")
    assert text.startswith(f"On recall, A is very probably the best of 3 (probability {of_a}; B follows with {of_b})")
    row = comparison.summary().query("a == 'A' and b == 'B'").iloc[0]
    assert f"The difference, A − B, is {format_value(row['mean'], row['ci_upper'] - row['ci_lower'])} " in text
    shrunk = bp.compare(bp.posterior(cm), metric="recall", independent=True, shrink=True).shrunk
    excess = (bp.posterior(cm)["recall"].mean() - shrunk.mean()).sel(model="A").item()
    chosen = "The best of 3 is probably partly lucky: on new examples expect A to score"
    assert text.endswith(f"{chosen} about {excess:.3f} below its mean.")
    wrong = bp.compare(bp.posterior(cm), metric="fnr", independent=True).in_words()
    size = re.fullmatch(rf".*{chosen} about (.*) above its mean\.", wrong)
    # The figure is of 10,000 draws with a standard deviation of about .03.
    assert float(size[1]) == pytest.approx(excess, abs=0.0005 + 8 * 0.03 / 100)
    alike = bp.ConfusionMatrix.from_counts(tp=[80, 80, 80], fn=20, fp=5, tn=95, dims=["model"])
    undecided = bp.compare(bp.posterior(alike), metric="recall", independent=True).in_words()
    assert undecided.startswith("On recall, it is open which of 3 is the best: ")
    prevalence = bp.compare(bp.posterior(cm), metric="prevalence", independent=True).in_words()
    assert prevalence == "Neither more nor less prevalence is better, so that none of 3 is the best."


@pytest.mark.slow
def test_of_systems_known_precisely_little_is_luck_and_of_several_places_nothing_is_added():
    def said(tp, dims):
        cm = bp.ConfusionMatrix.from_counts(tp=tp, fn=1_000_000 - np.array(tp), fp=5, tn=95, dims=dims)
        return bp.compare(bp.posterior(cm), metric="recall", independent=True).in_words()

    precise = [900_000, 800_000, 600_000]
    assert said(precise, ["model"]).endswith("expect 0 to score less than 0.001 below its mean.")
    assert said([precise, precise], ["site", "model"]).endswith(
        "The best of several is partly lucky, and looks better than it is."
    )


def test_names_are_written_as_they_are_but_cannot_steer_a_terminal():
    cm = bp.ConfusionMatrix.from_counts(tp=[9, 1], fn=[1, 9], fp=1, tn=9, dims={"model": ["deep_net", "x\x1b[31m"]})
    text = bp.compare(bp.posterior(cm), metric="recall", independent=True).in_words()
    assert "deep_net is almost certainly better than x\\x1b[31m" in text


def test_areas_say_what_was_observed_and_what_chance_is():
    y, score = [0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.3, 0.8, 0.45, 0.7]
    # 12 of the 16 pairs are in the right order.
    assert bp.roc_auc(y, score).observed.item() == 0.75
    # Three pairs are tied, and 5 of the others right.
    assert bp.roc_auc([0, 0, 0, 1, 1, 1], [1, 2, 3, 1, 2, 5]).observed.item() == (4 + 2 / 2) / 9
    binned = bp.curves.BinnedScores.from_counts(positives=[0, 2, 2], negatives=[2, 2, 0], values=[1, 2, 3])
    # Pairs in one bin count half: (2·2·½ + 2·2 + 2·2 + 2·2)/16.
    assert bp.roc_auc(binned).observed.item() == 14 / 16
    text = bp.roc_curve(y, score).in_words()
    assert "observed 0.750" in text
    assert text.endswith("by chance it would be 0.5.")
    assert bp.curves.det_curve(y, score).in_words() == text
    with pytest.warns(UserWarning, match="average precision"):
        assert (
            bp.precision_recall_curve(y, score)
            .in_words()
            .endswith("By chance it would be the share of positives, 0.500.")
        )


def test_scores_that_order_the_examples_alike_have_equal_areas():
    y, score = [0, 0, 1, 0, 1, 1], np.array([0.1, 0.4, 0.35, 0.5, 0.3, 0.8])
    areas = bp.roc_auc(y, {"a": score, "b": 2 * score + 1, "c": -score})
    assert bp.compare(areas.sel(model=["a", "b"])).in_words() == (
        "On ROC AUC, a and b are alike in these data: their difference is exactly 0. It does not vary in these data, "
        "so its interval has no width; that is no certainty about others."
    )
    ratio = bp.compare(areas.sel(model=["a", "b"]), contrast="ratio")
    assert "their ratio is exactly 1. It does not vary" in ratio.in_words()
    assert "are alike" not in bp.compare(areas.sel(model=["a", "c"])).in_words()


def test_what_does_not_vary_is_no_certainty():
    with pytest.warns(UserWarning, match="all 5 differences are the same"):
        comparison = bp.folds.correlated_ttest([0.85] * 5, [0.8] * 5, test_fraction=0.2)
    assert comparison.in_words().endswith("so its interval has no width; that is no certainty about others.")
    with pytest.warns(UserWarning, match="all 5 differences are the same"):
        alike = bp.folds.correlated_ttest([0.8] * 5, [0.8] * 5, test_fraction=0.2)
    assert "certainty about others" in alike.in_words()
    assert "has no width" in bp.curves.weighted_score("mean", np.ones(10)).in_words()


def test_a_mean_that_diverges_gives_way_to_the_median():
    comparison = bp.folds.correlated_ttest([0.85, 0.9], [0.8, 0.81], test_fraction=0.5)
    assert np.isinf(comparison.difference.mean())
    assert "The difference, a − b, is 0.070 (95 % HDI" in comparison.in_words()


def test_plans_and_monitors_in_words():
    plan = bp.plan.sample_size(0.7, metric="recall", evidence=(40, 50), prevalence=0.1)
    assert plan.in_words().startswith(f"{plan.n} new positives, in about {plan.examples:,} examples, are enough")
    assert (
        f"with probability {chance(plan.reached)} they will show {plan.claim} (80 % was asked for)" in plan.in_words()
    )
    assert "in about" not in bp.plan.interval_width(0.1, metric="accuracy", evidence=(40, 50)).in_words()
    cm = bp.ConfusionMatrix.from_table([[[8, 2], [1, 4]], [[9, 1], [1, 4]]], dims=["step"])
    monitor = bp.monitor(cm, 0.7, "recall")
    assert (
        f"With probability {chance(monitor.dataset['prob_met'][-1].item())} it is at least 0.7." in monitor.in_words()
    )


def test_observed_follows_a_selection():
    rates = bp.posterior_of_rate([7, 9], [10, 12], metric="recall", dims={"site": ["a", "b"]})
    one = rates.sel(site="b")
    assert one.observed.item() == 0.75
    assert one.observed["trials"].item() == 12
    per_class = bp.posterior(bp.ConfusionMatrix.from_table([[7, 3], [1, 9]]))["recall_per_class"]
    np.testing.assert_array_equal(per_class.observed["trials"], [10, 10])
    assert np.isnan(bp.posterior(FEW).predict(5)["recall"].observed)
    assert "trials" not in bp.posterior(FEW).at_prevalence(0.2)["precision"].observed.coords


def test_differences_and_ratios_are_called_what_they_are():
    compared = bp.compare(rate(84), rate(81))
    assert compared.difference.in_words().startswith("Difference of recall is 0.030 ")
    assert compared.difference.prob_above(0.01).name == "P(difference of recall ≥ 0.01)"
    assert compared.ratio.in_words().startswith("Ratio of recall is 1.0")
    cm = bp.ConfusionMatrix.from_counts(tp=[8, 9], fn=[2, 1], fp=1, tn=9, dims=["model"])
    new = bp.compare(bp.posterior(cm).predict(20), metric="recall", independent=True).difference
    assert new.in_words().startswith("Difference of recall in a new test set of 20 examples will be ")


def test_a_plan_says_that_nothing_is_needed():
    shown = bp.plan.sample_size(0.7, metric="recall", evidence=(90, 91)).in_words()
    assert shown == "No new positives are needed: those at hand show P(recall ≥ 0.7) ≥ 0.95 already."
    narrow = bp.plan.interval_width(0.5, metric="recall", evidence=(90, 100)).in_words()
    assert re.fullmatch(
        r"No new positives are needed: with those at hand the expected width of the 95 % highest-density interval of "
        r"recall is 0\.\d{3} already \(0\.5 was asked for\)\.",
        narrow,
    )


@pytest.mark.slow
def test_of_many_the_rope_is_asked_of_the_best_and_the_next():
    tables = [[[95, 5], [5, 95]], [[95, 5], [30, 70]], [[95, 5], [40, 60]]]
    post = bp.posterior(bp.ConfusionMatrix.from_table(tables, dims=["model"]))
    without = bp.compare(post, metric="recall", independent=True)
    assert "by more than" not in without.in_words()
    assert "prob_rope" not in vars(without)
    compared = bp.compare(post, metric="recall", independent=True, rope=0.05)
    beyond = compared.prob_rope.values[0, 1, 2]
    # Of the next, not of all others: the probability is about these two.
    said = f", and is better than 1 by more than 0.05 with probability {chance(beyond)}. The difference"
    assert said in compared.in_words()
