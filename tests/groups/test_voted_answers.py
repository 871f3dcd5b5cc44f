"""The majority vote of k attempts, against a count of all choices, and the posterior of pass@1."""

import itertools
from collections import Counter

import numpy as np
import pytest

import bayesperf as bp
from bayesperf.groups import majority_vote
from bayesperf.groups.voted_answers import right_majority


def of_all_choices(answers, truth, k):
    """Of every choice of k attempts: whether the right answer has most votes, in part if others have as many."""
    won = []
    for chosen in itertools.combinations(answers, k):
        votes = Counter(chosen)
        best = [answer for answer, count in votes.items() if count == max(votes.values())]
        won.append((truth in best) / len(best))
    return np.mean(won)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("answers", ["AAABBCD", "ABBBCCC", "AABBCCD", "ABCDEFG", "BBCCDDE", "AAAAAAA"])
def test_a_vote_is_that_of_all_choices(answers, k):
    votes = Counter(answers)
    right = votes.pop("A", 0)
    expected = of_all_choices(answers, "A", k)
    assert right_majority(right, tuple(sorted(votes.values())), k) == pytest.approx(expected, rel=1e-12)


QUESTIONS, TIMES = 40, 5


def log(systems=("a", "b"), seed=0):
    """Answers 0 to 4 of systems to questions whose right answer differs."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, QUESTIONS)
    chance = rng.beta(2, 2, QUESTIONS)
    rows = []
    for number, system in enumerate(systems):
        for question in range(QUESTIONS):
            for _ in range(TIMES):
                is_right = rng.random() < chance[question] / (1 + 0.3 * number)
                rows.append((system, question, truth[question] if is_right else rng.integers(0, 5), truth[question]))
    model, question, answer, right = map(np.array, zip(*rows, strict=True))
    return answer, right, {"cluster": {"question": question}, "by": {"model": model}}


def test_systems_have_the_mean_of_their_questions_and_its_error():
    answer, right, columns = log()
    found = majority_vote(answer, right, **columns, k=3)
    model, question = columns["by"]["model"], columns["cluster"]["question"]
    each = np.array([
        [of_all_choices(answer[(model == name) & (question == q)], right[question == q][0], 3)
         for q in range(QUESTIONS)]
        for name in "ab"
    ])  # fmt: skip
    np.testing.assert_allclose(found.observed, each.mean(1), rtol=1e-12)
    # Forty questions, and the prior's one.
    np.testing.assert_allclose(found.sd(), each.std(1, ddof=1) / np.sqrt(QUESTIONS), rtol=0.06)
    difference = bp.compare(found).difference.isel(pair=0)
    assert difference.sd().item() == pytest.approx((each[0] - each[1]).std(ddof=1) / np.sqrt(QUESTIONS), rel=0.08)
    assert "Maj@3 is" in found.in_words()


def test_the_vote_of_one_is_pass_at_1():
    answer, right, columns = log()
    outcomes = bp.Outcomes.from_correct(answer == right, by=columns["by"], cluster=columns["cluster"])
    found = majority_vote(answer, right, **columns, k=1)
    expected = bp.pool(outcomes).pass_at_k(1)
    np.testing.assert_allclose(found.observed, expected.observed, rtol=1e-12)
    np.testing.assert_allclose(found.mean(), expected.mean(), atol=4 * expected.sd().max().item() * np.sqrt(2 / 10_000))
    np.testing.assert_allclose(found.sd(), expected.sd(), rtol=4 / np.sqrt(10_000))


def test_adding_a_system_changes_no_figure():
    answer, right, columns = log()
    kept = columns["by"]["model"] == "a"
    one = {"cluster": {"question": columns["cluster"]["question"][kept]}, "by": {"model": columns["by"]["model"][kept]}}
    alone = majority_vote(answer[kept], right[kept], **one, k=3, draws=50)
    both = majority_vote(answer, right, **columns, k=3, draws=50)
    np.testing.assert_array_equal(both.joint_draws(50).sel(model="a"), alone.joint_draws(50).sel(model="a"))


ANSWERS, TRUTH = ["x", "y", "x", "z"] * 3, ["x"] * 12
OF = [1, 1, 2, 2, 3, 3] * 2


@pytest.mark.parametrize(
    ("answers", "truth", "options", "message"),
    [
        (ANSWERS, TRUTH, {"k": 5}, "^k: it is 5, and 3 of 3 clusters have fewer attempts"),
        (ANSWERS, TRUTH, {"k": 0}, "^k must be"),
        (ANSWERS, ["w"] * 12, {"k": 2}, "^answers: none is right"),
        (ANSWERS, ["x", "y", *TRUTH[2:]], {"k": 2}, "^y_true: some cluster has two right answers"),
        (ANSWERS, [1] * 12, {"k": 2}, "strings"),
        (ANSWERS[1:], TRUTH, {"k": 2}, "unequal length"),
        ([None, *ANSWERS[1:]], TRUTH, {"k": 2}, "missing"),
        (ANSWERS, TRUTH, {"k": 2, "cluster": [1, 2] * 6}, "^cluster: 2 clusters say little"),
        (ANSWERS, TRUTH, {"k": 2, "by": {"model": OF, "seed": OF}}, "^by must name one column"),
    ],
)
def test_refused(answers, truth, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        majority_vote(answers, truth, **{"cluster": OF} | options)


def test_few_questions_are_warned_of():
    with pytest.warns(bp.errors.DependenceWarning, match="3 clusters are few"):
        majority_vote(ANSWERS, TRUTH, cluster=OF, k=2, draws=5)


def test_very_many_attempts_are_counted_exactly():
    """Beyond floating point: of two answers as often as each other, either wins in half of the choices."""
    assert right_majority(900, (900,), 700) == pytest.approx(0.5, abs=1e-12)
    chosen = np.random.default_rng(0).multivariate_hypergeometric([600, 500, 400], 700, 100_000)
    most, ahead = chosen.max(1), chosen[:, 0] == chosen.max(1)
    drawn = ahead / (chosen == most[:, None]).sum(1)
    assert right_majority(600, (400, 500), 700) == pytest.approx(drawn.mean(), abs=4 * drawn.std() / np.sqrt(100_000))
