"""Whether one of k attempts passes, of systems asked the same questions: moments, pairs, coverage."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import special, stats

import bayesperf as bp
from bayesperf.core.errors import DependenceWarning, PriorWarning
from bayesperf.groups import group_draws
from bayesperf.groups.attempts import Rule, expected_credit, unbiased_credit, variance_of_credit


def asked(passed, times, **options):
    """Pool questions of one system (question,) or of several (model, question)."""
    passed, times = np.asarray(passed), np.broadcast_to(times, np.shape(passed))
    dims = ["model"] * (passed.ndim - 1) + ["question"]
    cm = bp.ConfusionMatrix.from_counts(tp=passed, fn=times - passed, fp=0, tn=0, dims=dims)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (PriorWarning, DependenceWarning))
        return bp.pool(cm, "question", "clusters", method="bayesian_bootstrap", **options)


def scores(passed, times, k):
    """The share of k-subsets of attempts with one that passes, by counting subsets."""
    return 1 - special.comb(times - np.asarray(passed), k, exact=False) / special.comb(times, k)


def of_population(rng, systems, questions, times, shape=(0.8, 1.2), common=0.8):
    """Attempts passed (model, question), and the probability of each, whose mean over questions is known."""
    own = np.sqrt(1 - common) * rng.standard_normal((systems, questions))
    z = np.sqrt(common) * rng.standard_normal(questions) + own
    rates = stats.beta.ppf(stats.norm.cdf(z), *shape)
    return rng.binomial(times, rates)


def test_one_attempt_of_each_question_is_a_beta():
    passed, n = np.array([1] * 22 + [0] * 8), 40_000
    found = asked(passed, 1, prior="flat", draws=n).pass_at_k(1)
    expected = stats.beta(22 * 28 / 30 + 1, 8 * 28 / 30 + 1)
    assert found.mean().item() == pytest.approx(expected.mean(), abs=4 * expected.std() / np.sqrt(n))
    assert found.sd().item() == pytest.approx(expected.std(), rel=4 / np.sqrt(2 * n))
    assert found.observed.item() == pytest.approx(22 / 30)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 5])
def test_moments_are_those_of_the_unbiased_scores(k):
    rng = np.random.default_rng(1)
    times = rng.integers(5, 12, 200)
    passed = rng.binomial(times, rng.beta(0.5, 0.9, 200))
    n = 20_000
    found = asked(passed, times, draws=n).pass_at_k(k)
    each = scores(passed, times, k)
    error = each.std(ddof=1) / np.sqrt(200)
    assert found.observed.item() == pytest.approx(each.mean(), rel=1e-12)
    # The prior's one pseudo-question of 200 moves the mean by at most half a percent, the deviation by as much.
    assert found.mean().item() == pytest.approx(each.mean(), abs=0.5 / 199 + 4 * error / np.sqrt(n))
    assert found.sd().item() == pytest.approx(error, rel=0.01 + 4 / np.sqrt(2 * n))


def test_a_column_of_questions_and_a_dim_are_the_same():
    rng = np.random.default_rng(2)
    question, right = np.repeat(np.arange(40), 6), rng.random((2, 240)) < 0.4
    systems = {"old": right[0].astype(int), "new": right[1].astype(int)}
    ones = np.ones(240, int)
    column = bp.ConfusionMatrix.from_predictions(ones, systems, labels=[0, 1], cluster={"question": question})
    dim = bp.ConfusionMatrix.from_predictions(ones, systems, labels=[0, 1], by={"question": question})
    dim = bp.ConfusionMatrix(dim.counts.drop_attrs(), 1)
    found = [
        bp.pool(column).pass_at_k(3).joint_draws(100).values,
        bp.pool(dim, "question", "clusters", method="bayesian_bootstrap").pass_at_k(3).joint_draws(100).values,
    ]
    np.testing.assert_array_equal(*found)


def test_more_attempts_pass_no_less_in_every_draw():
    passed = of_population(np.random.default_rng(3), 2, 50, 6)
    pooled = asked(passed, 6, draws=500)
    values = [pooled.pass_at_k(k).joint_draws(500).values for k in (1, 2, 6)]
    assert (np.diff(values, axis=0) >= 0).all()


# ── Pairs ──


@pytest.mark.slow
def test_differences_are_those_of_the_same_questions():
    passed = of_population(np.random.default_rng(4), 2, 150, 8)
    pooled = asked(passed, 8)
    each = scores(passed, 8, 3)
    paired = bp.compare(pooled.pass_at_k(3)).difference.isel(pair=0).sd().item()
    assert paired == pytest.approx(np.std(each[0] - each[1], ddof=1) / np.sqrt(150), rel=0.04)
    # The model takes systems for independent, as questions of their own would be.
    cm = bp.ConfusionMatrix(pooled.mean.source.cm.counts, 1)
    a, b = (bp.pool(cm.isel(model=i), "question", "clusters").pass_at_k(3).sel(of="a new question") for i in (0, 1))
    assert paired < 0.7 * bp.compare(a, b, independent=True).difference.sd().item()


def test_questions_that_all_are_solved_leave_a_width():
    pooled = asked(np.full((2, 30), 5), 5)
    assert pooled.pass_at_k(3).observed.values.tolist() == [1, 1]
    low, high = pooled.pass_at_k(3).eti().isel(model=0).values
    assert low < 0.99 < high
    # Two systems that solved all of them may differ on others, and neither is better.
    compared = bp.compare(pooled.pass_at_k(3))
    assert 0.004 < compared.difference.isel(pair=0).sd().item() < 0.05
    assert compared.prob_greater.sel(model=0, model_other=1).item() == pytest.approx(0.5, abs=0.02)


def test_many_systems_ranks_and_shrinkage():
    passed = of_population(np.random.default_rng(5), 5, 60, 6)
    at_2 = asked(passed, 6, draws=2000).pass_at_k(2)
    compared = bp.compare(at_2, shrink=True)
    assert compared.prob_best.sum().item() == pytest.approx(1)
    assert compared.shrunk.mean().std() < at_2.mean().std()
    assert compared.summary().shape[0] >= 5
    assert bp.compare(at_2.isel(model=[0, 3])).names == (0, 3)


def test_adding_a_system_changes_no_figure():
    passed = of_population(np.random.default_rng(6), 3, 40, 6)
    alone = asked(passed[:2], 6, draws=300).pass_at_k(2).joint_draws(300).values
    np.testing.assert_array_equal(asked(passed, 6, draws=300).pass_at_k(2).joint_draws(300).values[:2], alone)


def test_it_is_saved_and_loaded(tmp_path):
    at_2 = asked(of_population(np.random.default_rng(7), 2, 40, 6), 6, draws=300).pass_at_k(2)
    at_2.save(tmp_path / "at_2.nc")
    loaded = bp.load(tmp_path / "at_2.nc")
    np.testing.assert_array_equal(loaded.joint_draws(300), at_2.joint_draws(300))
    assert bp.compare(loaded).names == (0, 1)


@pytest.mark.slow
def test_pass_at_k_and_its_difference_cover():
    """Against the mean over the population of questions, of paired systems of different quality."""
    rng, sets, times, k = np.random.default_rng(8), 500, 6, 3
    a, b = np.array([0.8, 1.0]), 1.2
    truth = 1 - np.exp(special.betaln(a, b + k) - special.betaln(a, b))
    covered, width = [], []
    for _ in range(sets):
        z = np.sqrt(0.8) * rng.standard_normal(60) + np.sqrt(0.2) * rng.standard_normal((2, 60))
        rates = stats.beta.ppf(stats.norm.cdf(z), a[:, None], b)
        values = asked(rng.binomial(times, rates), times, draws=1000).pass_at_k(k).joint_draws(1000).values
        low, high = np.quantile([*values, values[0] - values[1]], [0.025, 0.975], axis=1)
        wanted = np.array([*truth, truth[0] - truth[1]])
        covered.append((low <= wanted) & (wanted <= high))
        width.append(high - low)
    np.testing.assert_allclose(np.mean(covered, 0), 0.95, atol=3 * np.sqrt(0.95 * 0.05 / sets))
    single, _, paired = np.mean(width, 0)
    assert paired < 0.75 * np.sqrt(2) * single


# ── Refused ──


@pytest.mark.slow
def test_too_few_attempts_and_other_marginals_are_refused():
    pooled = asked([[2, 3, 4, 0], [1, 2, 3, 0]], [[4, 4, 4, 2], [4, 4, 4, 4]])
    with pytest.raises(ValueError, match=r"k: it is 3, and 1 of 4 questions have fewer attempts, the fewest 2"):
        pooled.pass_at_k(3)
    with pytest.raises(ValueError, match="k must be"):
        pooled.pass_at_k(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PriorWarning)
        by_model = bp.pool(pooled.mean.source.cm, "question", "clusters").pass_at_k(2)
    with pytest.raises(TypeError, match="this pass_at_2 has no joint draws of several systems"):
        bp.compare(by_model)
    with pytest.raises(ValueError, match="dim: 'system' is not a leading dim"):
        bp.compare(pooled.pass_at_k(2), dim="system")
    classes = bp.ConfusionMatrix.from_table(np.ones((5, 3, 3), int), dims=["question"])
    with pytest.warns(DependenceWarning):
        of_classes = bp.pool(classes, "question", "clusters", method="bayesian_bootstrap")
    with pytest.raises(ValueError, match="pos_label"):
        of_classes.pass_at_k(1)


@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.PriorWarning")
def test_these_questions_are_those_that_were_asked():
    times = np.array([[4] * 10 + [0] * 20, [2] * 20 + [4] * 10])
    outcomes = bp.Outcomes.from_counts(
        right=np.minimum(times, 3), n=times, dims={"model": ["a", "b"], "question": range(30)}
    )
    pooled = bp.pool(outcomes, "question", "clusters", dispersion=(1, 1))
    of_each = pooled.by_group["accuracy"].mean()
    assert (pooled.pass_hat_k(1).name, pooled.pass_at_k(1).name) == ("pass_hat_1", "pass_at_1")
    both = pooled.pass_hat_k(1).mean().sel(of="these questions")
    np.testing.assert_allclose(both, of_each.where(times > 0).mean("question"), rtol=1e-9)
    nobody = bp.Outcomes.from_counts(right=0, n=[[4] * 9, [0] * 9], dims=["model", "question"])
    with pytest.raises(ValueError, match="cm: some system has no attempt at any question"):
        bp.pool(nobody, "question", "clusters").pass_at_k(1)


# ── All of k attempts ──

# Two systems of scorio's notebook: how many of six attempts at each of five questions pass.
LUCKY_AND_STEADY = [[1, 1, 2, 1, 2], [3, 2, 4, 2, 3]]
# The published airline trials of τ-bench's gpt-4o: tasks solved in 0, 1, 2, 3 and 4 of 4 trials, and pass^1 to pass^4.
AIRLINE = np.repeat([0, 1, 2, 3, 4], [14, 12, 10, 4, 10])
PASS_HAT = [0.42, 0.273, 0.22, 0.2]


def attempts_of(right, times=4):
    dims = ["model"] * (np.ndim(right) - 1) + ["question"]
    return bp.Outcomes.from_counts(right=right, n=times, dims=dims)


def test_pass_hat_k_is_as_published():
    outcomes = attempts_of(AIRLINE)
    by_model = bp.pool(outcomes, "question", "clusters")
    by_bootstrap = bp.pool(outcomes, "question", method="bayesian_bootstrap")
    for k, printed in enumerate(PASS_HAT, 1):
        for found in (by_bootstrap.pass_hat_k(k), by_model.pass_hat_k(k).sel(of="these questions")):
            assert found.observed.item() == pytest.approx(printed, abs=5e-4)
        low, high = by_bootstrap.pass_hat_k(k).eti().values
        assert low < printed < high
        np.testing.assert_allclose(by_model.pass_at_k(k).observed, scores(AIRLINE, 4, k).mean())
    with pytest.raises(ValueError, match="k: it is 5, and 50 of 50 questions have fewer attempts"):
        by_model.pass_hat_k(5)


@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.DependenceWarning")
def test_pass_at_4_of_six_is_as_published():
    """By scorio's notebook, of two systems of which the second is right more often."""
    pooled = bp.pool(attempts_of(LUCKY_AND_STEADY, 6), "question", method="bayesian_bootstrap")
    np.testing.assert_allclose(pooled.pass_at_k(4).observed, [0.7733, 0.9733], atol=5e-5)


# ── Enough of k attempts ──


def test_enough_of_k_pass_as_counted_over_all_choices():
    for passed in range(7):
        chosen = [sum(choice) for choice in combinations([1] * passed + [0] * (6 - passed), 4)]
        for enough in range(1, 5):
            found = expected_credit(np.array(passed), np.array(6 - passed), Rule(4, enough).credit, -1)
            assert found == pytest.approx(np.mean([each >= enough for each in chosen]), abs=1e-15)
        stable = np.mean([np.mean([each >= 3, each >= 4]) for each in chosen])
        found = expected_credit(np.array(passed), np.array(6 - passed), Rule(4, None).credit, -1)
        assert found == pytest.approx(stable, abs=1e-15)
        many = np.full(100, passed)
        np.testing.assert_array_equal(unbiased_credit(many, np.full(100, 6), Rule(4, None).credit), np.full(100, found))
    # Of an odd number, 2/5 (P(≥ 4) + P(5)): not a mean, and at most 4/5.
    assert Rule(5, None).credit == pytest.approx([0, 0, 0, 0, 0.4, 0.8])


def test_enough_of_k_at_known_and_uncertain_rates_is_binomial_and_beta_binomial():
    a, b = np.array([0.02, 0.7, 3.0, 40.0]), np.array([0.5, 0.7, 1.0, 2.0])
    for k in (1, 4, 16):
        for enough in range(1, k + 1):
            credit = Rule(k, enough).credit
            known, uncertain = (expected_credit(a, b, credit, added) for added in (0, 1))
            np.testing.assert_allclose(known, stats.binom.sf(enough - 1, k, a / (a + b)), rtol=1e-9, atol=1e-14)
            np.testing.assert_allclose(uncertain, stats.betabinom.sf(enough - 1, k, a, b), rtol=1e-9, atol=1e-14)


def test_the_variance_of_credit_is_an_integral():
    a, b = np.array([0.4, 2.0, 5.0]), np.array([0.6, 3.0, 0.5])
    levels = (np.arange(100_000) + 0.5) / 100_000
    for rule in (Rule(3, 1), Rule(3, 3), Rule(5, 2), Rule(4, None)):
        of_rates = [expected_credit(x, 1 - x, rule.credit, 0) for x in stats.beta.ppf(levels, a[:, None], b[:, None])]
        np.testing.assert_allclose(variance_of_credit(a, b, rule.credit), np.var(of_rates, 1), rtol=1e-3)


@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.DependenceWarning")
def test_mg_pass_at_4_is_as_published():
    pooled = bp.pool(attempts_of(LUCKY_AND_STEADY, 6), "question", method="bayesian_bootstrap")
    stable = pooled.mg_pass_at_k(4)
    np.testing.assert_allclose(stable.observed, [0.0, 0.1067], atol=5e-5)
    levels = [pooled.pass_at_k(4, at_least=enough).joint_draws(200).values for enough in (3, 4)]
    np.testing.assert_allclose(stable.joint_draws(200), np.mean(levels, 0), rtol=1e-5)
    # Its posterior about these questions, under a flat prior of the rate of each.
    passed = np.array(LUCKY_AND_STEADY, float)
    mean = expected_credit(1 + passed, 7 - passed, Rule(4, None).credit, 1).mean(1)
    sd = np.sqrt(variance_of_credit(1 + passed, 7 - passed, Rule(4, None).credit).sum(1)) / 5
    np.testing.assert_allclose(mean, [0.0794, 0.2136], atol=6e-5)
    np.testing.assert_allclose(sd, [0.0440, 0.0735], atol=6e-5)
    # Printed as the mean and 1.96 deviations, not below 0.
    np.testing.assert_allclose(np.maximum(mean - 1.96 * sd, 0), [0.0, 0.0696], atol=2e-4)
    np.testing.assert_allclose(mean + 1.96 * sd, [0.1657, 0.3577], atol=2e-4)


def test_fewer_pass_the_more_must_in_every_draw_and_words_say_how_many():
    outcomes = attempts_of(AIRLINE)
    for options in ({}, {"method": "bayesian_bootstrap"}):
        pooled = bp.pool(outcomes, "question", "clusters", **options)
        of_each = [pooled.pass_at_k(4, at_least=enough) for enough in range(1, 5)]
        assert (np.diff([found.joint_draws(300) for found in of_each], axis=0) <= 1e-12).all()
        np.testing.assert_array_equal(of_each[-1].joint_draws(300), pooled.pass_hat_k(4).joint_draws(300))
        np.testing.assert_allclose(of_each[2].observed, np.mean(AIRLINE >= 3))
        assert "G-Pass@4 (at least 3) is" in of_each[2].in_words()
        assert "ean G-Pass@4 is" in pooled.mg_pass_at_k(4).in_words()


def test_numbers_that_no_attempts_can_reach_are_refused():
    pooled = bp.pool(attempts_of(AIRLINE), "question", "clusters")
    for call, words in {
        (lambda: pooled.pass_at_k(4, at_least=5)): "at_least: it is 5, of k=4 attempts. Give a number from 1 to k",
        (lambda: pooled.pass_at_k(4, at_least=0)): "at_least must be a whole number of at least 1",
        (lambda: pooled.pass_at_k(4, at_least=0.75)): "at_least must be a whole number of at least 1",
        (lambda: pooled.mg_pass_at_k(1)): "k must be a whole number of at least 2",
        (lambda: pooled.mg_pass_at_k(5)): "k: it is 5, and 50 of 50 questions have fewer attempts",
        (lambda: pooled.pass_at_k(501, at_least=2)): "k: it is 501, and at most 500",
    }.items():
        with pytest.raises(ValueError, match=words):
            call()


def test_the_mean_over_many_questions_is_that_of_rates_drawn_one_by_one(monkeypatch):
    rng, n = np.random.default_rng(11), 4_000
    passed, times = rng.binomial(6, rng.beta(0.5, 0.5, 400)), np.full(400, 6)
    passed[:40], times[:40] = passed[:40].clip(0, 4), rng.permutation(np.repeat([0, 4], 20))
    outcomes = bp.Outcomes.from_counts(right=np.minimum(passed, times), n=times, dims=["question"])
    found = []
    for most in (200, 400):
        monkeypatch.setattr(group_draws, "_MOST_DRAWN", most)
        pooled = bp.pool(outcomes, "question", "clusters", draws=n)
        found.append([pooled.pass_at_k(4, enough).sel(of="these questions") for enough in (1, 3, 4)])
    for normal, drawn in zip(*found, strict=True):
        error = drawn.sd().item() / np.sqrt(n)
        assert normal.mean().item() == pytest.approx(drawn.mean().item(), abs=4 * np.sqrt(2) * error)
        assert normal.sd().item() == pytest.approx(drawn.sd().item(), rel=4 / np.sqrt(n))
        for tail in (0.025, 0.975):
            # A quantile's error is √(q(1 − q)/n) over the density there, 0.058/sd of a normal.
            off = 4 * np.sqrt(2 * tail * (1 - tail)) / 0.058 * error
            assert normal.ppf(tail).item() == pytest.approx(drawn.ppf(tail).item(), abs=off)


@pytest.mark.parametrize(
    ("solved", "printed"),
    [
        ([3, 3, 2, 7, 35], [84.00, 77.67, 73.50, 70.00]),
        ([3, 9, 11, 32, 59], [79.61, 67.40, 58.77, 51.75]),
        ([2, 5, 12, 22, 73], [84.87, 75.44, 68.86, 64.04]),
    ],
    ids=["airline", "retail", "telecom"],
)
def test_a_leaderboard_is_as_published(solved, printed):
    """Rows of that of τ²-bench: tasks solved in 0 to 4 of 4 trials, which its four figures determine."""
    pooled = bp.pool(attempts_of(np.repeat(range(5), solved)), "question", method="bayesian_bootstrap")
    observed = [100 * pooled.pass_hat_k(k).observed.item() for k in range(1, 5)]
    np.testing.assert_allclose(observed, printed, atol=0.005 + 1e-9)


def test_the_standard_error_of_a_harness_is_as_published():
    """lm-evaluation-harness prints √(p(1 − p)/(n − 1)): as of a sample of clusters with one answer each."""
    right = np.repeat([1, 0], [2, 4998])
    found = bp.curves.weighted_score("mean", right, cluster=np.arange(5000), draws=4000)
    assert found.observed.item() == pytest.approx(0.0004, abs=1e-12)
    # The excess kurtosis of the mean of two answers in five thousand is 3.
    assert found.sd().item() == pytest.approx(0.0002828144211304471, rel=4 * np.sqrt(5 / 4 / 4000))


@pytest.mark.slow
def test_all_of_k_attempts_at_failures_is_none_of_k_at_successes():
    passed = of_population(np.random.default_rng(9), 2, 60, 5)
    for k in (1, 3):
        for options in ({"method": "bayesian_bootstrap"}, {}):
            found = bp.pool(attempts_of(passed, 5), "question", "clusters", **options).pass_hat_k(k)
            mirrored = bp.pool(attempts_of(5 - passed, 5), "question", "clusters", **options).pass_at_k(k)
            np.testing.assert_allclose(found.observed, 1 - mirrored.observed, rtol=1e-12)
            np.testing.assert_allclose(found.mean(), 1 - mirrored.mean(), atol=0.01)


def test_systems_are_compared_on_the_same_questions():
    passed = of_population(np.random.default_rng(10), 2, 150, 6)
    pooled = bp.pool(attempts_of(passed, 6), "question", "clusters", method="bayesian_bootstrap")
    each = special.comb(passed, 2) / special.comb(6, 2)
    found = bp.compare(pooled.pass_hat_k(2)).difference.isel(pair=0)
    assert found.sd().item() == pytest.approx(np.std(each[0] - each[1], ddof=1) / np.sqrt(150), rel=0.04)
    assert found.quantity.metric == "pass_hat_2"


@pytest.mark.slow
def test_outcomes_are_pooled_as_true_positives_and_false_negatives_are():
    outcomes = attempts_of(AIRLINE)
    matrix = bp.ConfusionMatrix.from_counts(tp=AIRLINE, fn=4 - AIRLINE, fp=0, tn=0, dims=["question"])
    found, expected = (bp.pool(counts, "question", "clusters") for counts in (outcomes, matrix))
    # The random streams are those of other counts.
    error = 5 * expected.mean["recall"].sd().item() / np.sqrt(10_000)
    assert found.mean["accuracy"].mean().item() == pytest.approx(expected.mean["recall"].mean().item(), abs=error)
    np.testing.assert_allclose(found.dispersion.ppf(0.9), expected.dispersion.ppf(0.9).isel(actual=1), rtol=1e-9)
    assert found.dispersion.dims == ()
    assert found.by_group["accuracy"].dims == ("question",)
    assert "For a new question, pass rate is" in found.in_words()
    assert found.summary()["metric"].unique().tolist() == ["accuracy"]
    with pytest.raises(ValueError, match="attempts are right or wrong"):
        bp.pool(bp.Outcomes.from_grades([1, 2, 3] * 20, cluster=np.arange(60) // 3)).pass_hat_k(2)
