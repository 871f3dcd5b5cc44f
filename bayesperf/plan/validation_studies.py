"""What a validation study of n examples would show of an area, of calibration, and of net benefit: simulated intervals.

Each study has draws of what is believed of the system and its population, and returns an interval for each draw at any
n. If everything is known, there is one draw without sampling error, and widths are the closed forms of Riley et al.
(2021), Statistics in Medicine 40.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.fields import Held

# Log-odds of risks on a grid of normal quantities, with their weights.
_GRID = np.linspace(-6, 6, 161)
_WEIGHTS = np.exp(-(_GRID**2) / 2) / np.exp(-(_GRID**2) / 2).sum()
_SECTIONS, _NEWTON = 30, 8
# Draws of a proportion are this far from 0 and 1.
_LEAST = 1e-9
# Above this number of simulated log-odds, information is taken at its expectation.
_MOST_SIMULATED = 1_000_000


class Intervals(NamedTuple):
    """Lower and upper limits, (draws,) each."""

    lower: Array
    upper: Array


def drawn(name: str, belief: Any, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of a proportion: a number, or the weights (a, b) of a Beta distribution."""
    if isinstance(belief, tuple):
        if len(belief) != 2:
            raise InputError(name, f"must be a number or the weights (a, b) of a Beta distribution; it is {belief}.")
        a, b = (checks.beta_weight(name, weight) for weight in belief)
        # A few draws of a weight below 1 would be 0 or 1 in floating point.
        return np.clip(rng.beta(a, b, draws), _LEAST, 1 - _LEAST)
    return np.full(draws, checks.probability(name, belief))


def is_known(*beliefs: Any) -> bool:
    """Whether all beliefs are numbers."""
    return not any(isinstance(belief, tuple) for belief in beliefs)


@dataclass(frozen=True, eq=False)
class AreaStudy(Held):
    """Areas under the ROC curve by Newcombe's standard error (2006, Statistics in Medicine 25, 559–573)."""

    auc: Array
    prevalence: Array
    known: bool
    random_seed: int
    title: ClassVar[str] = "the area"

    @property
    def true(self) -> Array:
        return self.auc

    @property
    def positives(self) -> float:
        return float(self.prevalence.mean())

    def intervals(self, n: int, z: float) -> Intervals:
        if self.known:
            error = newcombe_error(self.auc, self.prevalence * n, (1 - self.prevalence) * n)
            return Intervals(self.auc - z * error, self.auc + z * error)
        # The same quantiles at every n, so that widths fall smoothly.
        rng = np.random.default_rng(self.random_seed)
        positives = np.clip(_binomial(rng, n, self.prevalence), 1, max(n - 1, 1)).astype(float)
        negatives = np.maximum(n - positives, 1)
        error = newcombe_error(self.auc, positives, negatives)
        # The estimate errs on the logit scale, so that it stays within 0 and 1.
        moved = special.logit(self.auc) + rng.standard_normal(len(self.auc)) * error / (self.auc * (1 - self.auc))
        # As with half a positive (or negative) more, which ranks at random: few examples that are ranked without
        # a mistake do not show an area of 1.
        fewer = np.minimum(positives, negatives)
        seen = (special.expit(moved) * fewer + 0.25) / (fewer + 0.5)
        error = newcombe_error(seen, positives, negatives)
        return Intervals(seen - z * error, seen + z * error)


def newcombe_error(auc: Array, positives: Array, negatives: Array) -> Array:
    """Return Newcombe's standard error of an area, by method 4 with the mean number of both classes."""
    half = (positives + negatives) / 2 - 1
    spread = 1 + half * (1 - auc) / (2 - auc) + half * auc / (1 + auc)
    return np.sqrt(auc * (1 - auc) * spread / (positives * negatives))


@dataclass(frozen=True, eq=False)
class CalibrationStudy(Held):
    """Slope, intercept (at slope 1), or the ratio of observed to expected positives."""

    # What is estimated.
    measure: str
    # Mean and standard deviation of the normal log-odds that the system gives; NaN if `values` holds them, (draws,).
    mean: Array
    sd: Array
    # Log-odds of a sample of the population; empty if they are normal.
    values: Array
    # The line of true log-odds by given ones, (draws,).
    intercept: Array
    slope: Array
    known: bool
    random_seed: int

    @property
    def title(self) -> str:
        return {"slope": "the calibration slope", "intercept": "the calibration intercept",
                "observed_expected": "observed over expected positives"}[self.measure]  # fmt: skip

    def intervals(self, n: int, z: float) -> Intervals:
        rng = np.random.default_rng(self.random_seed)
        log_odds, weights = self._log_odds(n, rng)
        true = special.expit(self.intercept[:, None] + self.slope[:, None] * log_odds)
        if self.measure == "observed_expected":
            return self._ratio(n, z, true, special.expit(log_odds), weights, rng)
        variance = true * (1 - true)
        a, ab, bb = ((weights * variance * log_odds**power).sum(-1) for power in (0, 1, 2))
        per_example = 1 / a if self.measure == "intercept" else a / (a * bb - ab**2)
        error, centre = np.sqrt(per_example / n), self.intercept if self.measure == "intercept" else self.slope
        centre = centre if self.known else centre + error * rng.standard_normal(len(centre))
        return Intervals(centre - z * error, centre + z * error)

    @property
    def true(self) -> Array:
        if self.measure == "observed_expected":
            log_odds, weights = self._population
            true = special.expit(self.intercept[:, None] + self.slope[:, None] * log_odds)
            return np.asarray((weights * true).sum(-1) / (weights * special.expit(log_odds)).sum(-1))
        return self.slope if self.measure == "slope" else self.intercept

    @property
    def positives(self) -> float:
        log_odds, weights = self._population
        return float((weights * special.expit(self.intercept[:, None] + self.slope[:, None] * log_odds)).sum(-1).mean())

    @property
    def _population(self) -> tuple[Array, Array]:
        """Log-odds (draws or 1, k) of the population, and their weights."""
        if len(self.values):
            return self.values[None], np.full((1, len(self.values)), 1 / len(self.values))
        return self.mean[:, None] + self.sd[:, None] * _GRID, _WEIGHTS[None]

    def _log_odds(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return log-odds (draws or 1, k) of the examples, and their weights: all of the population, or n of them."""
        size = len(self.intercept), n
        if self.known or n * len(self.intercept) > _MOST_SIMULATED:
            return self._population
        weights = np.full((1, n), 1 / n)
        if len(self.values):
            return rng.choice(self.values, size), weights
        return self.mean[:, None] + self.sd[:, None] * rng.standard_normal(size), weights

    def _ratio(
        self, n: int, z: float, true: Array, given: Array, weights: Array, rng: np.random.Generator
    ) -> Intervals:
        """Return intervals of observed over expected positives, by the normal distribution of its logarithm."""
        share, expected = (weights * true).sum(-1), (weights * given).sum(-1)
        if not self.known:
            share = np.clip(rng.binomial(n, np.clip(share, 0, 1)), 1, n - 1 if n > 1 else 1) / n
        error, ratio = np.sqrt((1 - share) / (n * share)), share / expected
        return Intervals(ratio * np.exp(-z * error), ratio * np.exp(z * error))


@dataclass(frozen=True, eq=False)
class NetBenefitStudy(Held):
    """Net benefit at a threshold, whose interval comes from the variance of a single example's benefit."""

    recall: Array
    specificity: Array
    prevalence: Array
    threshold: float
    known: bool
    random_seed: int

    @property
    def title(self) -> str:
        return f"net benefit at threshold {self.threshold:g}"

    @property
    def true(self) -> Array:
        odds = self.threshold / (1 - self.threshold)
        return self.prevalence * self.recall - odds * (1 - self.prevalence) * (1 - self.specificity)

    @property
    def positives(self) -> float:
        return float(self.prevalence.mean())

    def intervals(self, n: int, z: float) -> Intervals:
        odds = self.threshold / (1 - self.threshold)
        found, alarms, size = self.prevalence * self.recall, (1 - self.prevalence) * (1 - self.specificity), n
        if not self.known:
            rng = np.random.default_rng(self.random_seed)
            positives = _binomial(rng, n, self.prevalence)
            # The posterior of the cells under Jeffreys' prior: examples that call for no action do not show that none
            # ever does.
            found = (_binomial(rng, positives, self.recall) + 0.5) / (n + 2)
            alarms = (_binomial(rng, n - positives, 1 - self.specificity) + 0.5) / (n + 2)
            size = n + 3
        benefit = found - odds * alarms
        error = np.sqrt((found + odds**2 * alarms - benefit**2) / size)
        return Intervals(benefit - z * error, benefit + z * error)


# What a validation study would show: its title, the true value in each draw, the expected proportion of positives, and
# the intervals of ± z standard errors by n examples, one for each draw.
type ValidationStudy = AreaStudy | CalibrationStudy | NetBenefitStudy


def _binomial(rng: np.random.Generator, n: Any, share: Array) -> Array:
    """Return binomial numbers whose quantiles are the same for every n."""
    from scipy import stats

    return np.asarray(stats.binom.ppf(rng.random(len(share)), n, share), float)


def normal_log_odds(prevalence: ArrayLike, auc: ArrayLike) -> tuple[Array, Array]:
    """Return mean and standard deviation of normal log-odds whose risks have a prevalence and, if true, an area.

    Both equations are solved by bisection over the standard deviation and Newton's steps for the mean.
    """
    share, area = np.broadcast_arrays(np.atleast_1d(prevalence), np.atleast_1d(auc))
    low, high = np.full(share.shape, 0.01), np.full(share.shape, 20.0)
    mean = special.logit(share)
    for _ in range(_SECTIONS):
        sd = np.sqrt(low * high)
        mean = _mean_of(share, sd)
        too_low = _area_of(mean, sd) < area
        low, high = np.where(too_low, sd, low), np.where(too_low, high, sd)
    return mean, np.sqrt(low * high)


def _mean_of(share: Array, sd: Array) -> Array:
    """Return the mean of normal log-odds at which the mean risk is a share."""
    mean = special.logit(share) * np.sqrt(1 + sd**2 / 2.9)
    for _ in range(_NEWTON):
        risk = special.expit(mean[:, None] + sd[:, None] * _GRID)
        found = risk @ _WEIGHTS
        step = special.logit(found) - special.logit(share)
        mean = mean - step * found * (1 - found) / ((risk * (1 - risk)) @ _WEIGHTS)
    return mean


def _area_of(mean: Array, sd: Array) -> Array:
    """Return the area of risks with normal log-odds: how often a positive has a greater risk than a negative."""
    risk = special.expit(mean[:, None] + sd[:, None] * _GRID)
    positive, negative = risk * _WEIGHTS, (1 - risk) * _WEIGHTS
    below = np.cumsum(negative, -1) - negative / 2
    return np.asarray((positive * below).sum(-1) / (positive.sum(-1) * negative.sum(-1)))
