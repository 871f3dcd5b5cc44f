"""The recalibration line: a logistic regression of what happened on the log-odds, and its posterior."""

from __future__ import annotations

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array
from bayesperf.curves.reliability.probability_counts import ProbabilityCounts
from bayesperf.distributions import logistic_line
from bayesperf.distributions.logistic_line import NormalPriors

# Standard deviation of the normal priors: of the intercept around 0, and of the slope around 1. They are those of the
# model `recalibration`.
PRIOR_SD = 2.5
PRIORS_IN_WORDS = f"intercept ~ Normal(0, {PRIOR_SD:g}), slope ~ Normal(1, {PRIOR_SD:g})"
PRIORS = NormalPriors(np.array([0.0, 1.0]), np.array([PRIOR_SD, PRIOR_SD]))


def draws_of_line(counts: ProbabilityCounts, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of intercept and slope, (draws, 2), of the posterior of P(y = 1) = expit(α + β log-odds)."""
    return _draws(counts, PRIORS, draws, rng)


def draws_of_intercept(counts: ProbabilityCounts, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of the intercept where the slope is 1, (draws,): P(y = 1) = expit(α + log-odds)."""
    return _draws(counts, NormalPriors(PRIORS.means[:1], PRIORS.sds[:1]), draws, rng)[:, 0]


def _draws(counts: ProbabilityCounts, priors: NormalPriors, draws: int, rng: np.random.Generator) -> Array:
    log_odds = special.logit(counts.values)
    return logistic_line.draws_of_line(log_odds, counts.positives, counts.examples, priors, draws, rng)
