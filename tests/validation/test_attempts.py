"""Coverage of pass@k."""

import numpy as np
import pytest

from validation import attempts
from validation.attempts import QUESTIONS, pass_probability


@pytest.mark.parametrize("kind", QUESTIONS)
def test_truth_is_what_questions_say_on_average(kind):
    rng, n = np.random.default_rng(1), 200_000
    population = QUESTIONS[kind]
    rates = rng.beta(*population, n) if isinstance(population, tuple) else rng.choice(population, n)
    for k in (1, 4):
        solved = rng.binomial(k, rates) > 0
        assert pass_probability(kind, k) == pytest.approx(solved.mean(), abs=4 * solved.std() / np.sqrt(n) + 1e-12)


def test_rows_are_the_intervals_and_what_they_are_of():
    study = attempts.attempts([1, 2], [10, 12], ["equal", "beta"], n_attempts=2, simulations=4, draws=50)
    assert study["coverage"].dims == ("row", "n_questions", "questions", "k")
    assert study["coverage"].shape == (5, 2, 2, 2)
    assert study["of"].values.tolist() == ["a new question", "these questions"] * 2 + ["a new question"]
    assert set(study["interval"].values) == {"model", "model, as of sites", "bootstrap"}


@pytest.mark.slow
def test_questions_unlike_sites_are_covered():
    study = attempts.attempts([1, 3, 5], [50], ["beta", "easy or hard"], simulations=60, draws=500, random_seed=3)
    covered = study["coverage"].where(study["of"] == "a new question", drop=True).groupby("interval").mean(...)
    assert covered.sel(interval="model") > 0.92
    assert covered.sel(interval="bootstrap") > 0.92
    assert covered.sel(interval="model, as of sites") < 0.91


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 6}, "k must be at most n_attempts, 5; it is 6"),
        ({"k": 0}, "k must be a whole number of at least 1"),
        ({"n_questions": []}, "n_questions must name a number"),
        ({"questions": ["hard"]}, "questions must be one of"),
        ({"questions": []}, "questions must name a kind"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        attempts.attempts(**options)
