"""False claims at repeated looks: against runs written down one by one, and against simulated ones."""

from itertools import product

import numpy as np
import pytest
from scipy import special

from bayesperf import intervals
from validation.repeated_looks import repeated_looks

pytestmark = pytest.mark.slow


def said(rule, found, trials, requirement):
    """Return whether it is said of each look that the rate is above, and below."""
    if rule == "confidence_sequence":
        lower, upper = np.moveaxis(intervals.confidence_sequence(found, trials), -1, 0)
        return lower >= requirement, upper <= requirement
    weight = {"flat": 1, "jeffreys": 0.5}[rule]
    below = special.betainc(weight + found, weight + trials - found, requirement)
    return below <= 0.05, below >= 0.95


def test_every_run_of_six_batches_of_two():
    study = repeated_looks(0.4, 6, 2, rates=[0.35, 0.9])
    runs = np.array(list(product(range(3), repeat=6)))
    for rate in (0.35, 0.9):
        weights = np.array([(1 - rate) ** 2, 2 * rate * (1 - rate), rate**2])[runs].prod(1)
        for rule in study["rule"].values:
            above, below = said(rule, runs.cumsum(1), 2 * np.arange(1, 7), 0.4)
            for name, claims in {"met": above, "missed": below}.items():
                by_then = np.logical_or.accumulate(claims, 1)
                np.testing.assert_allclose(study[name].sel(rule=rule, rate=rate), weights @ by_then, atol=1e-12)


def test_a_thousand_looks():
    study = repeated_looks(0.7, 1000)
    at_the_end = study.isel(look=-1, rate=0)
    # Of the confidence sequence at most 5 % on both sides together; by plain posteriors two systems in five.
    false = (at_the_end["met"] + at_the_end["missed"]).sel(rule="confidence_sequence")
    assert 0 < false <= 0.05
    assert at_the_end["met"].sel(rule=["flat", "jeffreys"]).values == pytest.approx([0.41, 0.43], abs=0.005)
    # The figures of the documentation, after 20.
    assert study["met"].sel(look=20, rate=0.7).values == pytest.approx([0.19, 0.21, 0.004], abs=0.0005 + 0.0025)
    # And by simulation.
    runs, rng = 400, np.random.default_rng(1)
    found, trials = np.cumsum(rng.binomial(10, 0.7, (runs, 1000)), 1), 10 * np.arange(1, 1001)
    for rule in ("flat", "confidence_sequence"):
        for name, claims in zip(("met", "missed"), said(rule, found, trials, 0.7), strict=True):
            exact = at_the_end[name].sel(rule=rule).item()
            assert claims.any(1).mean() == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / runs))


def test_what_is_true_is_shown_in_the_end():
    study = repeated_looks(0.7, 300, rates=[0.6, 0.8]).sel(rule="confidence_sequence").isel(look=-1)
    assert study["met"].sel(rate=0.8) > 0.999
    assert study["missed"].sel(rate=0.6) > 0.999
