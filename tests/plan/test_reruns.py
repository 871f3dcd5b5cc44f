"""Reruns and questions: the parts of the variance of a pass rate, against their moments and a simulation."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayesperf as bp

PASSED = [0] * 12 + [1] * 8 + [3] * 10 + [4] * 10


def test_parts_of_the_variance_are_those_of_an_analysis_of_variance():
    rng = np.random.default_rng(1)
    rates, times = rng.beta(0.8, 0.6, 400), 5
    passed = rng.binomial(times, rates)
    plan = bp.plan.attempts(bp.Outcomes.from_counts(right=passed, n=times, dims=["question"]))
    # Noise of reruns, and the variance of the questions' means, without a model.
    noise = (passed * (times - passed)).mean() / (times * (times - 1))
    variance = (passed / times).var(ddof=1)
    assert plan.rerun_share.mean().item() == pytest.approx(noise / times / variance, rel=0.1)
    assert plan.standard_error().item() == pytest.approx(np.sqrt(variance / 400), rel=0.03)
    between = variance - noise / times
    assert plan.standard_error(1, np.inf).item() == pytest.approx(np.sqrt(between / 400), rel=0.05)
    assert plan.standard_error(4, 1).item() == pytest.approx(plan.standard_error().item() / 2, rel=1e-9)
    needed = plan.questions_for(width=0.05, attempts=1).item()
    assert needed == pytest.approx((between + noise) * (2 * 1.96 / 0.05) ** 2, rel=0.05)


def test_unequal_attempts_have_the_variance_of_the_mean_over_questions():
    asked = np.array([1] * 30 + [50] * 10 + [0])
    counts = xr.DataArray(asked, dims=["question"])
    half = np.array([[0.5]])
    plan = bp.plan.AttemptsPlan(passed=counts // 2, asked=counts, mean=half, dispersion=half, random_seed=0)

    def variance(n):
        """Of the share that passes, of a beta-binomial with p = ρ = ½."""
        return stats.betabinom(n, 0.5, 0.5).var() / n**2

    for times in (1, 3):
        of_each = [variance(times * n) for n in asked if n]
        assert plan.standard_error(1, times).item() == pytest.approx(np.sqrt(sum(of_each)) / 40)
    between = 0.25 * 0.5 / np.mean([variance(n) for n in asked if n])
    assert plan.rerun_share.mean().item() == pytest.approx(1 - between)


@pytest.mark.slow
def test_systems_clusters_and_words(tmp_path):
    both = bp.Outcomes.from_counts(right=[PASSED, PASSED[::-1]], n=4, dims={"model": ["a", "b"], "task": range(40)})
    plan = bp.plan.attempts(both, "task")
    assert plan.always.values.tolist() == [10, 10]
    assert plan.never.values.tolist() == [12, 12]
    assert plan.in_words().startswith("a: 10 of 40 tasks passed in every attempt, and 12 in none. Noise of reruns is")
    rows = [(task, i < passed) for task, passed in enumerate(PASSED) for i in range(4)]
    task, right = zip(*rows, strict=True)
    clustered = bp.plan.attempts(bp.Outcomes.from_correct(right, cluster={"task": task}))
    assert clustered.standard_error().item() == pytest.approx(plan.standard_error().values[0], rel=0.01)
    assert plan.summary().shape == (10, 7)
    plan.save(tmp_path / "plan.nc")
    assert bp.load(tmp_path / "plan.nc").in_words() == plan.in_words()


@pytest.mark.parametrize(
    ("outcomes", "options", "message"),
    [
        (bp.Outcomes.from_correct([1, 0, 1]), {}, "'question' is not a leading dim"),
        (bp.Outcomes.from_correct([1, 0, 1], cluster=[1, 2, 3]), {}, "no cluster has two attempts"),
        (
            bp.Outcomes.from_counts(
                right=1, n=[[2, 2], [1, 1], [2, 2]], dims={"model": list("abc"), "question": [1, 2]}
            ),
            {},
            "no question has two attempts by b",
        ),
        (bp.Outcomes.from_correct([1, 0, 1], cluster=[1, 1, 3]), {"dim": "cluster"}, "Remove `dim`"),
        (bp.Outcomes.from_grades([1, 2, 3], cluster=[1, 1, 3]), {}, "these have 3 grades"),
        (bp.ConfusionMatrix.from_counts(tp=1, fn=1, fp=1, tn=1), {}, "must be Outcomes"),
    ],
)
def test_refused(outcomes, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bp.plan.attempts(outcomes, **options)


def test_some_questions_may_be_asked_once():
    plan = bp.plan.attempts(bp.Outcomes.from_counts(right=[1, 2, 0], n=[1, 2, 2], dims=["question"]), draws=10)
    assert plan.asked.values.tolist() == [1, 2, 2]


def test_refused_multiples():
    plan = bp.plan.attempts(bp.Outcomes.from_counts(right=PASSED, n=4, dims=["question"]), draws=2)
    for times in ({"questions": 0}, {"questions": np.inf}, {"questions": np.nan}, {"attempts": -1}):
        with pytest.raises(ValueError, match=f"^{next(iter(times))} must be"):
            plan.standard_error(**times)


def test_an_interval_has_a_width():
    plan = bp.plan.attempts(bp.Outcomes.from_counts(right=[0, 1, 3, 4], n=4, dims=["question"]))
    with pytest.raises(ValueError, match=r"width must be above 0; it is 0"):
        plan.questions_for(width=0)
