"""How many more questions would show which of two systems is better."""

import numpy as np
import pytest
from scipy import stats

from bayesperf.plan.settling import questions_to_settle


def test_so_many_more_questions_show_which_of_two_is_better():
    mean, sd, questions = 0.04, 0.05, 60
    more = questions_to_settle(mean, sd, questions, 0.95, 0.8)
    rng, draws = np.random.default_rng(4), 100_000
    for n, probability in ((more, 0.8), (more / 4, None)):
        true = rng.normal(mean, sd, draws)
        variance = sd**2 * questions / n
        seen = rng.normal(true, np.sqrt(variance))
        after = (mean / sd**2 + seen / variance) / (1 / sd**2 + 1 / variance)
        settled = (np.abs(after) * np.sqrt(1 / sd**2 + 1 / variance) > stats.norm.ppf(0.95)).mean()
        if probability:
            assert settled == pytest.approx(probability, abs=4 * np.sqrt(0.16 / draws) + 0.003)
        else:
            assert settled < 0.75
    assert questions_to_settle(0.2, 0.05, 60, 0.95, 0.8) == 0
