"""How many examples show which of two systems is better: against enumeration, integration and simulation."""

import numpy as np
import pytest
from scipy import integrate, stats

import bayesperf as bp
from bayesperf.core.errors import InputError
from bayesperf.distributions.beta import Beta
from bayesperf.plan import two_counts
from bayesperf.plan.plan_result import UnreachableError
from bayesperf.plan.sample_sizes import comparison
from tests.shared.counts import pair_of
from tests.shared.systems import alone

# Of 40 positives both find 26, the new one alone 6, the old one alone 2; of 30 negatives they err on different ones.
Y = np.repeat([1, 0], [40, 30])
NEW = np.concatenate([[1] * 26, [0] * 2, [1] * 6, [0] * 6, [1] * 3, [0] * 27])
OLD = np.concatenate([[1] * 28, [0] * 12, [0] * 25, [1] * 5])
PAIR = pair_of(Y, NEW, OLD, names=("new", "old"))
# Under the flat prior, which is half a pseudo-example in each joint cell.
A, B = np.array([[9.0]]), np.array([[6.0]])
FINDS = np.array([6.5, 2.5, 33.0])
# Under Jeffreys' prior: right by the first alone, by the second alone, and alike.
FIRST_RIGHT = np.array([6.25, 2.25, 32.5])


def half(first, second):
    """Return the probability that the first of two shares is the greater."""
    return stats.beta(first, second).sf(0.5)


def every(n):
    """Return all (first alone, second alone, rest) of n examples."""
    return np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)])


# ── The same examples ──


@pytest.mark.slow
@pytest.mark.parametrize("question", ["settle", "meet"])
def test_paired_sums_are_sums_over_all_outcomes(question):
    plan = comparison(PAIR, metric="recall", question=question, prior="flat")
    for n in (0, 1, 10, 30):
        counts = every(n)
        # SciPy 1.15 asks for a trial.
        chances = stats.dirichlet_multinomial.pmf(counts, FINDS, n) if n else np.ones(1)
        left = half(*(FINDS + counts)[:, :2].T)
        met = (left >= 0.95) | ((question == "settle") & (left <= 0.05))
        assert plan.curve(n).item() == pytest.approx(chances[met].sum(), abs=1e-9)
    assert plan.limit == pytest.approx(1 if question == "settle" else half(6.5, 2.5))
    assert (plan.counts, plan.mcse) == ("positives", 0)
    assert plan.share == pytest.approx(42 / 74)
    assert plan.basis.startswith("70 examples judged by both; prior: flat")
    ahead = plan.curve(np.arange(plan.n, plan.n + 20))
    assert ahead.min() >= 0.8 > plan.curve(plan.n - 1)


def test_right_and_wrong_answers_to_the_same_questions_by_enumeration():
    """Jeffreys' prior for each system is a quarter of an answer in each cell of the table of both."""
    answers = bp.Outcomes.from_correct({"new": NEW[:40], "old": OLD[:40]})
    plan = comparison(answers, metric="pass_rate")
    counts = every(10)
    chances = stats.dirichlet_multinomial.pmf(counts, FIRST_RIGHT, 10)
    left = half(*(FIRST_RIGHT + counts)[:, :2].T)
    assert plan.curve(10).item() == pytest.approx(chances[(left >= 0.95) | (left <= 0.05)].sum(), abs=1e-9)
    assert (plan.counts, plan.claim) == ("answers", "P(pass rate of new better than of old) ≥ 0.95 or ≤ 0.05")
    with pytest.raises(InputError, match="plans of outcomes are for a share of them, and mean_grade is none"):
        comparison(bp.Outcomes.from_grades({"a": [1, 2, 3], "b": [3, 2, 1]}), metric="mean_grade")


def test_the_limit_is_what_compare_says():
    turned = pair_of(Y, OLD, NEW, names=("old", "new"))
    found = alone(bp.compare(turned, metric="accuracy")).prob_greater.item()
    with pytest.raises(UnreachableError, match=r"P\(accuracy of old better than of new\) is 0.0") as caught:
        comparison(turned, question="meet", assurance=0.3)
    assert caught.value.limit == pytest.approx(found, abs=1e-9)
    assert caught.value.settles.n == comparison(turned, assurance=0.3).n


def test_less_is_better_turns_it_round():
    by_accuracy, by_errors = (comparison(PAIR, metric=m, assurance=0.6, question="meet") for m in ("acc", "err"))
    assert (by_accuracy.n, by_accuracy.limit) == (by_errors.n, pytest.approx(by_errors.limit))
    apart = [comparison((30, 40), (20, 40), "recall", question="meet", assurance=0.7)]
    apart += [comparison((10, 40), (20, 40), "fnr", question="meet", assurance=0.7)]
    assert apart[0].limit == pytest.approx(apart[1].limit, abs=1e-7)
    assert apart[0].n == apart[1].n


def test_examples_of_many_systems_know_two_of_them():
    frame = bp.datasets.load("breast_cancer")
    cm = bp.ConfusionMatrix.from_predictions(
        frame["actual"], frame["predicted"], by={"model": frame["model"]}, example=frame["example"],
        pos_label="malignant",
    )  # fmt: skip
    plan = comparison(cm.isel(model=[0, 1]), metric="specificity", assurance=0.7)
    assert plan.counts == "negatives"
    assert plan.claim.startswith("P(specificity of decision_tree better than of logistic_regression) ≥ 0.95 or ≤")
    with pytest.raises(ValueError, match="a must be of two systems and no other leading dims; it has 3 along 'model'"):
        comparison(cm)


@pytest.mark.slow
@pytest.mark.parametrize("margin", [0.02, -0.05])
def test_a_margin_by_enumeration(margin):
    n = 13
    plan = comparison(PAIR, metric="recall", margin=margin, confidence=0.8, assurance=0.5, prior="flat")

    def exceeds(first, second, rest):
        # Of S = θ1 + θ2 ~ Beta(first + second, rest), the first has more than (1 + margin/S)/2.
        def given(s):
            return stats.beta.pdf(s, first + second, rest) * stats.beta.sf((1 + margin / s) / 2, first, second)

        return integrate.quad(given, 1e-9, 1, points=[abs(margin), 0.1, 0.3], limit=200)[0]

    counts = every(n)
    met = np.array([not 0.2 < exceeds(*weights) < 0.8 for weights in FINDS + counts])
    expected = stats.dirichlet_multinomial.pmf(counts, FINDS, n)[met].sum()
    assert plan.curve(n).item() == pytest.approx(expected, abs=1e-9)
    assert plan.mcse == 0


# ── Other examples each ──


@pytest.mark.slow
def test_independent_systems_by_enumeration():
    plan = comparison((8, 10), (5, 10), "recall", confidence=0.9, assurance=0.6, prior="flat")
    n = 7
    total = 0.0
    for k in range(n + 1):
        for j in range(n + 1):
            first, second = stats.beta(9 + k, 3 + n - k), stats.beta(6 + j, 6 + n - j)
            left = integrate.quad(lambda x, f=first, s=second: f.pdf(x) * s.cdf(x), 0, 1)[0]
            chance = stats.betabinom(n, 9, 3).pmf(k) * stats.betabinom(n, 6, 6).pmf(j)
            total += chance * (left >= 0.9 or left <= 0.1)
    assert plan.curve(n).item() == pytest.approx(total, abs=1e-9)
    assert plan.counts == "positives each"


def test_examples_suffice_where_positives_are_rarer():
    rare = bp.ConfusionMatrix.from_counts(tp=27, fn=3, fp=5, tn=65)
    common = bp.ConfusionMatrix.from_counts(tp=30, fn=30, fp=5, tn=35)
    for sides in ((rare, common), (common, rare)):
        plan = comparison(*sides, "recall", prior="flat")
        # Two pseudo-examples are positive and two negative.
        assert plan.share == pytest.approx(32 / 104)
        assert plan.examples == int(np.ceil(plan.n * 104 / 32))
    assert comparison(rare, common, "recall", prior="flat", prevalence=0.5).share == 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "margin"), [("recall", 0.05), ("f1", 0.0)])
def test_independent_systems_by_simulating_the_whole_story(metric, margin):
    a, b = (bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=6, tn=40) for tp, fn in ((40, 4), (30, 12)))
    plan = comparison(a, b, metric, margin=margin, assurance=0.5, question="meet", prior="flat")
    rng, runs, n = np.random.default_rng(2), 1500, 60
    posteriors = []
    for tp, fn, fp in ((40, 4, 6), (30, 12, 6)):
        good, bad = (tp + 1, fn + 1) if metric == "recall" else (tp + 1, fn + fp + 2)
        k = rng.binomial(n, rng.beta(good, bad, runs))
        share = rng.beta(good + k[:, None], bad + n - k[:, None], (runs, 1500))
        posteriors.append(share if metric == "recall" else 2 * share / (1 + share))
    expected = ((posteriors[0] - posteriors[1] > margin).mean(1) >= 0.95).mean()
    found = plan.curve(n)
    assert found.item() == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / runs))
    assert plan.limit == pytest.approx(
        bp.compare(bp.posterior(a, "flat"), bp.posterior(b, "flat"), metric).difference.prob_above(margin).item(),
        abs=1e-6,
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "counts",
    [
        two_counts.IndependentCounts(Beta(A, B), Beta(B, B), 0.05, 0.9),
        pytest.param(
            two_counts.IndependentCounts(Beta(A / 18, A / 18), Beta(A / 18, A / 18), 0.1, 0.9), marks=pytest.mark.slow
        ),
        two_counts.PairedCounts(6.5, 2.5, 33.0, 0.0, 0.9),
        two_counts.PairedCounts(2.0, 3.0, 27.0, 0.0, 0.95),
        pytest.param(two_counts.PairedCounts(6.5, 2.5, 3.0, 0.02, 0.9), marks=pytest.mark.slow),
    ],
    ids=["independent", "of no evidence", "paired", "rarely discordant", "paired by a margin"],
)
def test_critical_numbers_between_the_knots_are_right(counts):
    n, total = 130, 0.0
    assert len(counts._second_counts(n)) > 2 * two_counts._KNOTS
    for k in range(n + 1):
        trials = counts.first_trials(np.array([k]), n).item()
        first = np.arange(trials + 1)
        probability = counts.posterior_probability(first, np.full(trials + 1, k), n)
        shown = (probability >= counts.confidence) | (probability <= 1 - counts.confidence)
        chance = stats.betabinom(n, *counts.second_weights).pmf(k)
        total += chance * stats.betabinom(trials, *counts.first_weights).pmf(first)[shown].sum()
    assert counts.assurance(np.array([n]), either_way=True)[0].item() == pytest.approx(total, abs=1e-6)


@pytest.mark.slow
def test_many_examples_of_two_systems_by_simulation():
    n, runs = 20_000, 20_000
    plan = comparison((33, 40), (30, 40), "recall", assurance=0.5, confidence=0.9, prior="flat")
    rng = np.random.default_rng(6)
    a, b = (rng.binomial(n, rng.beta(good, bad, runs)) for good, bad in ((34, 8), (31, 11)))
    # At such numbers the posterior of the difference is all but normal.
    means = [(good + k) / (n + good + bad) for k, (good, bad) in zip((a, b), ((34, 8), (31, 11)), strict=True)]
    z = (means[0] - means[1]) / np.sqrt(sum(mean * (1 - mean) / (n + 42) for mean in means))
    expected = (np.abs(z) >= stats.norm.ppf(0.9)).mean()
    error = 4 * np.sqrt(expected * (1 - expected) / runs)
    assert plan.curve(n).item() == pytest.approx(expected, abs=error)


@pytest.mark.slow
def test_pairing_saves_examples():
    a, b = (bp.ConfusionMatrix(PAIR.sel(model=name).counts) for name in ("new", "old"))
    assert comparison(PAIR, metric="recall", assurance=0.5).n < 0.7 * comparison(a, b, "recall", assurance=0.5).n


# ── Errors ──

CM = bp.ConfusionMatrix.from_counts(tp=40, fn=5, fp=6, tn=60)
BAD = {
    "not paired": ((CM,), {}, "a must be a ConfusionMatrix of two systems .*; it is a ConfusionMatrix without their"),
    "two counts alone": (((4, 5),), {}, "a must be a ConfusionMatrix of two systems .*; it is tuple"),
    "no share of rows": ((PAIR,), {"metric": "f1"}, "metric 'f1': on the same examples, plans are for shares of all"),
    "no share": ((CM, CM), {"metric": "mcc"}, "its posterior is no Beta, nor a function of one, and differences"),
    "direction": ((PAIR,), {"metric": "prevalence"}, "has no one direction that is better"),
    "margin": ((PAIR,), {"margin": "0.1"}, "margin must be a number; it is '0.1'"),
    "far margin": ((PAIR,), {"margin": 1.5}, "margin must be between -1 and 1, both excluded; it is 1.5"),
    "second": ((CM, (6, 5)), {"metric": "recall"}, "b: 6 successes of 5 trials"),
    "confidence": ((PAIR,), {"confidence": 0.3}, "confidence must be above 0.5"),
    "prior": ((PAIR,), {"prior": bp.prior.rate(1, 1)}, "prior: a rate prior says nothing of the whole matrix"),
}  # fmt: skip


@pytest.mark.parametrize(("sides", "options", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_in_words(sides, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        comparison(*sides, **options)
