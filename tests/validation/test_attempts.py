"""Coverage of pass@k."""

import numpy as np
import pytest

from validation.attempts import QUESTIONS, STUDY, pass_probability
from validation.study import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", QUESTIONS)
def test_truth_is_what_questions_say_on_average(kind):
    rng, n = np.random.default_rng(1), 200_000
    population = QUESTIONS[kind]
    rates = rng.beta(*population, n) if isinstance(population, tuple) else rng.choice(population, n)
    for k in (1, 4):
        solved = rng.binomial(k, rates) > 0
        assert pass_probability(kind, k) == pytest.approx(solved.mean(), abs=4 * solved.std() / np.sqrt(n) + 1e-12)


def test_questions_unlike_sites_are_covered():
    study = run(STUDY, 60, n_questions=50, questions=["beta", "easy or hard"], draws=500, random_seed=3)
    covered = study["coverage"].sel(of="a new question").mean(["n_questions", "questions", "k"])
    assert covered.sel(interval="model") > 0.92
    assert covered.sel(interval="bootstrap") > 0.92
    assert covered.sel(interval="model, as of sites") < 0.91
