"""How many examples are needed: sums against enumeration, integration and simulation."""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf.plan import one_count
from bayesperf.plan.one_count import OneCount
from bayesperf.plan.plan_result import UnreachableError
from bayesperf.plan.sample_sizes import interval_width, sample_size
from bayesperf.plan.simulated_counts import ProbabilityMet, SimulatedCounts

mpl.use("Agg")

GUIDE = {"requirement": 0.7, "metric": "recall", "evidence": (4, 5), "prior": "flat"}
CM = bp.ConfusionMatrix.from_counts(tp=40, fn=5, fp=6, tn=60)


def enumerated(n, a, b, x, confidence, both):
    """Return the assurance by summing over every outcome."""
    k = np.arange(n + 1)
    left = stats.beta(a + k, b + n - k).sf(x)
    met = (left >= confidence) | (both & (left <= 1 - confidence))
    return stats.betabinom(n, a, b).pmf(k)[met].sum()


# ── The guide's story: 4 of 5 positives found, recall must be 0.7, the prior is flat ──


def test_no_number_of_positives_is_sure_to_show_it():
    assert stats.beta(5, 2).cdf(0.7) == pytest.approx(0.420175, abs=1e-12)
    with pytest.raises(UnreachableError, match=r"P\(recall ≥ 0.7\) is 0.580\. .* 264 positives are enough: question"):
        sample_size(**GUIDE)
    with pytest.raises(ValueError, match=r"assurance: 0.8 is out of reach") as caught:
        sample_size(**GUIDE)
    assert caught.value.limit == pytest.approx(1 - 0.420175, abs=1e-12)
    assert caught.value.settles.n == sample_size(**GUIDE, question="settle").n


@pytest.mark.slow
def test_but_the_question_can_be_settled():
    plan = sample_size(**GUIDE, question="settle", prevalence=0.1)
    np.testing.assert_allclose(plan.curve([200, 400]), [0.769, 0.840], atol=5e-4)
    assert (plan.n, plan.examples, plan.counts, plan.mcse, plan.limit) == (264, 2640, "positives", 0, 1)
    curve = np.array([enumerated(n, 5, 2, 0.7, 0.95, True) for n in range(2 * plan.n)])
    np.testing.assert_allclose(plan.curve(np.arange(2 * plan.n)), curve, atol=1e-12)
    # From 264 on it holds, and not from 263 on; fewer did for once, as it has the teeth of a saw.
    assert curve[plan.n :].min() >= 0.8 > curve[plan.n - 1]
    assert curve[: plan.n].max() >= 0.8


def test_a_short_word_for_the_plan():
    plan = sample_size(**GUIDE, question="settle")
    expected = "<bayesperf.Plan: 264 positives; assurance 0.8074 (wanted 0.8) of P(recall ≥ 0.7) ≥ 0.95 or ≤ 0.05>"
    assert repr(plan) == expected
    assert plan.basis == "4 of 5; prior: flat Dirichlet (1 in each of 4 cells, total weight 4)"


# ── Sums ──

SHARES = [(5, 2, 0.7, 0.95), (0.5, 0.5, 0.3, 0.9), (41, 11, 0.7, 0.99), (1, 1, 0.999, 0.95), (2, 90, 0.05, 0.8)]


@pytest.mark.few
@pytest.mark.parametrize(("a", "b", "x", "confidence"), SHARES)
@pytest.mark.parametrize("both", [False, True])
def test_running_sums_are_sums_over_outcomes(a, b, x, confidence, both):
    found = OneCount(a, b, x, confidence).shown_up_to(4000, either_way=both)
    for n in (0, 1, 2, 7, 100, 1023, 1024, 1025, 2500, 4000):
        assert found[n] == pytest.approx(enumerated(n, a, b, x, confidence, both), abs=1e-10)


@pytest.mark.parametrize(("a", "b", "x", "confidence"), SHARES)
def test_the_critical_number_of_successes_of_many_trials(a, b, x, confidence):
    most = 200_000
    critical = OneCount(a, b, x, confidence).critical_successes(most)
    assert set(np.unique(np.diff(critical))) <= {0, 1}
    n = np.random.default_rng(1).integers(1025, most, 300)
    k = critical[n]
    possible = k <= n
    assert np.all(stats.beta.sf(x, a + k, b + n - k)[possible] >= confidence)
    # One less is not enough; nor are all, where none is.
    fewer = np.maximum(k - 1, 0)
    assert np.all((stats.beta.sf(x, a + fewer, b + n - fewer) < confidence) | (k == 0))


def test_many_trials_by_another_way():
    # K ≥ k exactly if the k-th smallest of n uniforms, Beta(k, n − k + 1), is below S: an integral, not a sum.
    a, b, x, confidence, n = 5, 2, 0.7, 0.95, 150_000
    k = OneCount(a, b, x, confidence).critical_successes(n)[n]
    order = stats.beta(k, n - k + 1)
    low, high = order.ppf([1e-14, 1 - 1e-14])
    expected = integrate.quad(lambda t: order.pdf(t) * stats.beta.sf(t, a, b), low, high, epsabs=1e-12)[0]
    assert OneCount(a, b, x, confidence).shown_up_to(n, either_way=False)[n] == pytest.approx(expected, abs=1e-8)


def test_a_plan_for_many_trials_holds_from_there_on():
    plan = sample_size(0.7, evidence=(4, 5), assurance=0.57, prior="flat")
    curve = plan.curve(np.arange(2 * plan.n))
    assert plan.n > 20_000
    assert curve[plan.n :].min() >= 0.57 > curve[plan.n - 1]


# ── Every metric with a Beta behind it, by simulating the whole story ──


def simulated(weights, metric, bound, n, trials, confidence=0.95, runs=4000):
    """Return the assurance of n new trials: cells drawn, trials drawn among them, the posterior taken anew."""
    rng = np.random.default_rng(7)
    shares = rng.dirichlet(weights, runs)[:, trials]
    shares /= shares.sum(1, keepdims=True)
    new = np.zeros((runs, 4), int)
    new[:, trials] = rng.multinomial(n, shares)
    tp, fn, fp, tn = (np.asarray(weights) - 1 + new).astype(int).T
    # A coordinate keeps the runs apart.
    marginal = bp.posterior(bp.ConfusionMatrix.from_counts(tp=tp, fn=fn, fp=fp, tn=tn), "flat")[metric]
    better = bp.metrics.get(metric).greater_is_better
    return ((marginal.prob_above if better else marginal.prob_below)(bound).values >= confidence).mean()


WEIGHTS = np.array([41, 6, 7, 61])
CASES = {
    "recall": (0.8, [0, 1], "positives"),
    "fnr": (0.2, [0, 1], "positives"),
    "fpr": (0.15, [2, 3], "negatives"),
    "specificity": (0.85, [2, 3], "negatives"),
    "precision": (0.8, [0, 2], "predicted positives"),
    "false_omission_rate": (0.15, [1, 3], "predicted negatives"),
    "accuracy": (0.85, [0, 1, 2, 3], "examples"),
    "error_rate": (0.15, [0, 1, 2, 3], "examples"),
    "jaccard": (0.7, [0, 1, 2], "examples that are or are called positive"),
    "f1": (0.82, [0, 1, 2], "examples that are or are called positive"),
}


@pytest.mark.few
@pytest.mark.parametrize("metric", CASES)
def test_every_share_as_it_would_go(metric):
    bound, trials, counts = CASES[metric]
    plan = sample_size(bound, metric=metric, evidence=CM, assurance=0.6, prior="flat")
    assert plan.counts == counts
    for n in (20, plan.n):
        expected = simulated(WEIGHTS, metric, bound, n, trials)
        error = np.sqrt(expected * (1 - expected) / 4000)
        assert plan.curve(n).item() == pytest.approx(expected, abs=4 * error)
    share = WEIGHTS[trials].sum() / WEIGHTS.sum()
    assert plan.examples == int(np.ceil(plan.n / share - 1e-9))


@pytest.mark.slow
def test_less_is_better_is_the_complement():
    assert sample_size(0.2, metric="fnr", evidence=CM).n == sample_size(0.8, metric="recall", evidence=CM).n
    found, missed = ({"evidence": counts, "question": "settle"} for counts in ((4, 5), (1, 5)))
    assert sample_size(0.7, metric="recall", **found).n == sample_size(0.3, metric="fnr", **missed).n


@pytest.mark.slow
def test_evidence_of_any_kind_says_the_same():
    rows = bp.ConfusionMatrix.from_counts(tp=40, fn=5, fp=0, tn=0)
    of_recall = {sample_size(0.8, evidence=e).n for e in (CM, bp.posterior(CM), (40, 45), rows)}
    assert len(of_recall) == 1
    # The prior of a matrix is one pseudo-example on each side of accuracy, of a rate it is what it says.
    cells, rate = (sample_size(0.6, metric="accuracy", evidence=(30, 40), prior=p) for p in (None, bp.prior.rate(2, 2)))
    assert cells.limit == pytest.approx(stats.beta(31, 11).sf(0.6), abs=1e-12)
    assert rate.limit == pytest.approx(stats.beta(32, 12).sf(0.6), abs=1e-12)
    prior_alone = sample_size(0.2, question="settle")
    assert prior_alone.curve(50).item() == pytest.approx(enumerated(50, 0.5, 0.5, 0.2, 0.95, True), abs=1e-12)
    assert prior_alone.basis.startswith("no examples yet")


def test_classes_of_many():
    cm = bp.ConfusionMatrix.from_table([[30, 2, 1], [3, 40, 2], [0, 4, 50]])
    plan = sample_size(0.85, metric="f1_micro", evidence=cm)
    assert plan.limit == pytest.approx(stats.beta(120 + 3 / 9, 12 + 6 / 9).sf(0.85), abs=1e-12)
    assert (plan.counts, plan.share) == ("examples", 1)
    one = cm.one_vs_rest().sel(label=2)
    assert sample_size(0.8, evidence=one).limit == pytest.approx(stats.beta(50.5, 4.5).sf(0.8), abs=1e-12)
    # 1 − (1 − A)/2 is below 0.05 less than 1 where the errors are below 0.1.
    errors = sample_size(0.05, metric="fpr_micro", evidence=cm, assurance=0.4)
    assert errors.limit == pytest.approx(stats.beta(12 + 6 / 9, 120 + 3 / 9).cdf(0.1), abs=1e-12)


def test_what_is_shown_already_needs_nothing():
    plan = sample_size(0.5, evidence=(990, 1000))
    assert (plan.n, plan.reached) == (0, 1)
    # Shown, but barely: a few more positives may put it in doubt again.
    barely = sample_size(0.7, evidence=(41, 50), assurance=0.7, prior="flat")
    assert barely.curve(0).item() == 1
    assert barely.curve(1).item() < 1


@pytest.mark.slow
def test_examples_by_prevalence():
    counts = {"evidence": (40, 50), "assurance": 0.6}
    plan = sample_size(0.7, **counts, prevalence=0.03)
    assert plan.examples == int(np.ceil(plan.n / 0.03))
    assert sample_size(0.7, metric="specificity", **counts, prevalence=0.03).examples == int(np.ceil(plan.n / 0.97))
    with pytest.raises(
        ValueError, match=r"examples: n counts positives, and nothing says which share .* Give prevalence"
    ):
        sample_size(0.7, **counts).examples  # noqa: B018
    # Rows chosen by hand say nothing of prevalence, until it is given.
    chosen = bp.posterior(CM, design="by_actual")
    with pytest.raises(ValueError, match="nothing says which share"):
        sample_size(0.8, evidence=chosen).examples  # noqa: B018
    assert sample_size(0.8, evidence=chosen.at_prevalence(0.2)).share == pytest.approx(0.2)
    assert sample_size(0.8, evidence=chosen.at_prevalence((2, 6))).share == pytest.approx(0.25)


# ── Metrics without a Beta posterior ──


@pytest.mark.parametrize("metric", ["balanced_accuracy", "informedness"])
def test_a_few_examples_are_enumerated(metric):
    small = bp.ConfusionMatrix.from_counts(tp=6, fn=1, fp=1, tn=5)
    weights, n, bound = np.array([7, 2, 2, 6]), 3, 0.6
    bound = bound if metric == "balanced_accuracy" else 2 * bound - 1
    total = 0.0
    for counts in np.ndindex(4, 4, 4, 4):
        if sum(counts) == n:
            tp, fn, fp, tn = weights + counts

            def above(r, fp=fp, tn=tn):
                return stats.beta.sf(1.2 - r, tn, fp)

            left = integrate.quad(lambda r, a=tp, b=fn, f=above: stats.beta.pdf(r, a, b) * f(r), 0, 1)[0]
            total += (left >= 0.9) * stats.dirichlet_multinomial.pmf(counts, weights, n)
    plan = sample_size(bound, 0.9, 0.5, metric, "flat", evidence=small, simulations=100)
    assert plan.curve(n).item() == pytest.approx(total, abs=1e-9)
    assert plan.curve(n)["mcse"] == 0


def test_a_value_at_the_bound_meets_the_requirement():
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=5, fn=1, fp=5, tn=1), draws=1000)
    half = bp.metrics.Metric("half", lambda tp: np.full_like(tp, 0.5), bounds=(0, 1), greater_is_better=True)
    met = [ProbabilityMet(post, half, bound)(np.zeros((1, 4), int)).item() for bound in (0.5, 0.500001)]
    assert met == [1, 0]


@pytest.mark.parametrize(("probability", "shown"), [(0.95, 1), (0.9499, 0), (0.05, 1), (0.0501, 0)])
def test_the_confidence_itself_is_enough(probability, shown):
    found = SimulatedCounts(np.ones(2), lambda counts: np.full(len(counts), probability), 0.95, 100, 0)
    assert found.assurance([7], either_way=True)[0] == pytest.approx(shown)


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "bound"), [pytest.param("mcc", 0.7, marks=pytest.mark.slow), ("f2", 0.82)])
def test_more_examples_are_simulated(metric, bound):
    def value(tp, fn, fp, tn):
        if metric == "f2":
            return 5 * tp / (5 * tp + 4 * fn + fp)
        return (tp * tn - fp * fn) / np.sqrt((tp + fn) * (tp + fp) * (tn + fn) * (tn + fp))

    runs, n = 600, 80
    plan = sample_size(bound, 0.9, 0.5, metric, "flat", evidence=CM, simulations=400, random_seed=3)
    rng = np.random.default_rng(5)
    shown = []
    for theta in rng.dirichlet(WEIGHTS, runs):
        cells = rng.dirichlet(WEIGHTS + rng.multinomial(n, theta), 1000)
        shown.append((value(*cells.T) > bound).mean() >= 0.9)
    expected = np.mean(shown)
    found = plan.curve(n)
    assert found["mcse"].item() == pytest.approx(np.sqrt(found * (1 - found) / 400))
    error = np.hypot(found["mcse"].item(), np.sqrt(expected * (1 - expected) / runs))
    assert found.item() == pytest.approx(expected, abs=4 * error)
    # At the answer it is met within the error, and at a third of it clearly not.
    assert plan.reached >= 0.5
    assert plan.mcse == pytest.approx(np.sqrt(plan.reached * (1 - plan.reached) / 400))
    assert plan.curve(plan.n // 4).item() < 0.5
    assert (plan.counts, plan.examples) == ("examples", plan.n)


# ── Figures ──


def test_the_figure_shows_the_curve_its_target_and_its_answer():
    plan = sample_size(0.7, evidence=(40, 50))
    figure = plan.plot([0, 50, 100, 300])
    (axes,) = figure.axes
    wanted, limit, curve, answer = axes.lines
    np.testing.assert_allclose(curve.get_ydata(), plan.curve([0, 50, 100, 300]), atol=1e-12)
    assert wanted.get_ydata()[0] == 0.8
    assert limit.get_ydata()[0] == pytest.approx(plan.limit)
    assert (answer.get_xdata()[0], answer.get_ydata()[0]) == (plan.n, plan.reached)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("new positives", "assurance")
    title = "Probability of showing P(recall ≥ 0.7) ≥ 0.95\nfrom 40 of 50; prior: Jeffreys' Dirichlet"
    assert figure.get_suptitle().startswith(title)
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["wanted: 0.8", "limit: 0.943", "from 138 positives on (0.817)"]


@pytest.mark.slow
def test_a_simulated_curve_has_a_band_and_a_width_is_called_one():
    simulated = sample_size(0.8, 0.99, metric="f2", evidence=CM, question="settle", assurance=0.3, simulations=150)
    (axes,) = simulated.plot([0, 40, 80]).axes
    band = axes.collections[0].get_paths()[0].vertices
    curve = simulated.curve([0, 40, 80])
    assert band[:, 1].max() == pytest.approx((curve + 1.96 * curve["mcse"]).max().item())
    assert "± 1.96 Monte Carlo errors" in [text.get_text() for text in axes.get_legend().get_texts()]
    narrow = bp.plan.interval_width(0.2, evidence=(4, 5)).plot()
    assert narrow.axes[0].get_ylabel() == "expected width"
    assert narrow.get_suptitle().startswith(
        "Expected width of the 95 % highest-density interval of recall\nfrom 4 of 5"
    )


# ── Errors ──

DRAWN = bp.Posterior.from_datatree(bp.posterior(CM).to_datatree(draws=100))
BAD = {
    "requirement": ({"requirement": 1.0}, "requirement must be between 0 and 1, both excluded, as recall is"),
    "text": ({"requirement": "0.7"}, "requirement must be a number; it is '0.7'"),
    "confidence": ({"confidence": 0.5}, "confidence must be above 0.5: less shows nothing; it is 0.5"),
    "share": ({"confidence": 95}, "confidence must be a number between 0 and 1"),
    "assurance": ({"assurance": 1}, "assurance must be a number between 0 and 1"),
    "question": ({"question": "win"}, "question must be one of 'meet', 'settle'; it is 'win'"),
    "metric": ({"metric": "recal"}, "no metric named 'recal': did you mean 'recall'"),
    "direction": ({"metric": "prevalence"}, "metric 'prevalence' has no one direction that is better"),
    "classes": ({"metric": "recall_per_class", "evidence": CM}, r"Plan for one: take evidence.one_vs_rest\(\)"),
    "counts": ({"evidence": (6, 5)}, r"evidence: 6 successes of 5 trials; give \(successes, trials\)"),
    "fractions": ({"evidence": (0.8, 5)}, "evidence: successes must be a whole number of at least 0; it is 0.8"),
    "kind": ({"evidence": [4, 5]}, r"a Posterior, or \(successes, trials\); it is list"),
    "no share": ({"metric": "mcc", "evidence": (4, 5)}, "two counts say enough of a single share, and matt"),
    "dims": (
        {"evidence": bp.ConfusionMatrix.from_table([[[1, 2], [3, 4]]], dims=["fold"])},
        r"evidence has leading dims \['fold'\]: plan for one matrix, as evidence.isel",
    ),
    "draws": ({"evidence": DRAWN}, "evidence: a posterior known by its draws cannot be updated"),
    "two priors": ({"evidence": bp.posterior(CM), "prior": "flat"}, "prior: evidence is a posterior"),
    "improper": ({"evidence": None, "prior": "haldane"}, "the posterior is improper"),
    "prevalence": ({"metric": "precision", "prevalence": 0.1, "evidence": CM}, "prevalence: precision is of predic"),
    "no prevalence": (
        {"metric": "precision", "evidence": bp.posterior(CM, design="by_actual")},
        "depends on prevalence, about which these data",
    ),
    "at a prevalence": (
        {"metric": "precision", "evidence": bp.posterior(CM).at_prevalence(0.1)},
        "a plan for precision: it is of examples as they come, and this posterior is at a given prevalence",
    ),
    "rate prior": ({"metric": "mcc", "evidence": CM, "prior": bp.prior.rate(1, 1)}, "needs a prior of the whole"),
    "simulations": ({"metric": "mcc", "evidence": CM, "simulations": 9}, "simulations must be a whole number"),
}  # fmt: skip


@pytest.mark.few
@pytest.mark.parametrize(("change", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_in_words(change, words):
    with pytest.raises((ValueError, TypeError), match=words):
        sample_size(**{**GUIDE, "prior": None, **change})


@pytest.mark.parametrize("n", [-1, 2.5, np.nan])
def test_a_curve_is_of_numbers_of_trials(n):
    with pytest.raises(ValueError, match="n holds"):
        sample_size(**GUIDE, question="settle").curve(n)


def test_a_curve_of_one_number_is_one_number():
    plan = sample_size(**GUIDE, question="settle")
    assert plan.curve(10).dims == ()
    default = plan.curve()
    assert (default["n"][0], default["n"][-1], default.name) == (0, 2 * plan.n, "assurance")
    assert all(low < high for low, high in pairwise(default["n"].values))
    with pytest.raises(ValueError, match="n must be a number or a list of numbers of positives"):
        plan.curve([[1, 2]])


@pytest.mark.slow
def test_unreachable_requirements_may_be_settled_already_or_not_within_a_million():
    with pytest.raises(UnreachableError, match="none are needed") as caught:
        sample_size(0.9, evidence=(10, 1000))
    assert caught.value.settles.n == 0
    with pytest.raises(UnreachableError, match="more than a million positives are needed: question") as caught:
        sample_size(0.7, evidence=(4, 5), assurance=0.9995, prior="flat")
    assert caught.value.settles is None


def test_what_a_million_do_not_show_is_unreachable(monkeypatch):
    """Also where ever more examples would show it: the limit is above what is wanted."""
    monkeypatch.setattr("bayesperf.plan.smallest_number.MOST", 2**10)
    with pytest.raises(UnreachableError, match=r"more than a million positives are needed for 0\.9999") as caught:
        sample_size(**{**GUIDE, "assurance": 0.9999}, question="settle")
    assert (caught.value.limit, caught.value.settles) == (1.0, None)
    with pytest.raises(UnreachableError, match=r"more than a million positives are needed for 0\.8") as caught:
        sample_size(0.7, metric="recall", evidence=(7001300, 10000000))
    assert caught.value.limit == pytest.approx(special.betaincc(7001300.5, 2998700.5, 0.7), abs=1e-3)
    with pytest.raises(UnreachableError, match=r"more than a million positives are needed for 0\.01"):
        interval_width(0.01, metric="recall", evidence=(4, 5))


def test_probability_of_outcomes_sums_to_one():
    k = np.arange(-2, 1003)
    found = one_count.beta_binomial_pmf(k, 1000, 0.5, 3.0)
    np.testing.assert_allclose(found[2:-2], stats.betabinom(1000, 0.5, 3.0).pmf(k[2:-2]), rtol=1e-9)
    assert (found[[0, 1, -2, -1]] == 0).all()
    assert special.betaincc(5, 2, 0.7) == pytest.approx(0.579825, abs=1e-12)
