"""Probabilities and outcomes: numbers of positives by probability, and isotonic or logistic lines through them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans, Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import Held
from bayesperf.curves.curve import widened
from bayesperf.data.binned_scores import BinnedScores, refuse_beside_bins
from bayesperf.data.classifier_scores import labelled_scores
from bayesperf.distributions import logistic_line
from bayesperf.distributions.logistic_line import NormalPriors


@dataclass(frozen=True, eq=False)
class ProbabilityCounts(Held):
    """How many positives and negatives have each probability that occurs."""

    # The probabilities, ascending; of bins their middles, (V,).
    values: Array
    # Between what limits the probabilities are that a value stands for: the value itself, or the edges of a bin, (V,).
    lowest: Array
    highest: Array
    # How many examples of either class have each, (V,).
    positives: Counts
    negatives: Counts

    @classmethod
    def of(cls, y_true: Any, y_prob: ArrayLike | None, pos_label: Any = None) -> ProbabilityCounts:
        """Return the counts of labels (n,) and probabilities (n,), or of binned scores instead, checked."""
        if isinstance(y_true, BinnedScores):
            refuse_beside_bins(y_prob=y_prob, pos_label=pos_label)
            return cls.of_bins(y_true)
        if y_prob is None:
            raise InputTypeError(
                "y_prob", "give the probabilities of the labels, or BinnedScores alone in the place of both."
            )
        return cls.of_outcomes(*labelled_scores(y_true, y_prob, pos_label, "y_prob"))

    @classmethod
    def of_outcomes(cls, happened: Booleans, probability: Array) -> ProbabilityCounts:
        """Return the counts of outcomes (n,) and their probabilities (n,)."""
        order = np.argsort(checks.probabilities("y_prob", probability), kind="stable")
        ascending = probability[order]
        first = np.flatnonzero(np.diff(ascending, prepend=-1) > 0)
        examples = np.diff(first, append=len(ascending))
        positives = np.add.reduceat(happened[order].astype(np.int64), first)
        values = ascending[first]
        return cls(values, values, values, positives, examples - positives)

    @classmethod
    def of_bins(cls, binned: BinnedScores) -> ProbabilityCounts:
        """Return the counts of bins of probabilities, without empty bins."""
        lowest, highest = (
            (binned.values, binned.values) if binned.edges is None else (binned.edges[:-1], binned.edges[1:])
        )
        some = binned.positives + binned.negatives > 0
        if not some.any():
            raise InputError("y_true", f"{binned!r} holds no examples.")
        lowest, highest = (checks.probabilities("y_true", edge[some]) for edge in (lowest, highest))
        return cls((lowest + highest) / 2, lowest, highest, binned.positives[some], binned.negatives[some])

    @property
    def examples(self) -> Counts:
        """How many examples have each probability, (V,)."""
        return self.positives + self.negatives

    @property
    def total(self) -> int:
        """How many examples there are."""
        return int(self.examples.sum())

    @property
    def certain(self) -> int:
        """How many examples have a probability of 0 or 1."""
        return int(self.examples[(self.values == 0) | (self.values == 1)].sum())

    def grouped(self, bins: int) -> Codes:
        """Return the first value of each of several groups of about equally many examples, (G,).

        The groups end at the quantiles of the probabilities, as with scikit-learn's ``strategy="quantile"``; equal
        probabilities stay together, so there may be fewer groups.
        """
        below = np.cumsum(self.examples)
        place = np.arange(1, bins) * ((self.total - 1) / bins)
        whole = np.floor(place)
        at, after = (
            self.values[np.searchsorted(below, np.minimum(order, self.total - 1), side="right")]
            for order in (whole, whole + 1)
        )
        ends = at + (place - whole) * (after - at)
        return np.flatnonzero(np.diff(np.searchsorted(ends, self.values), prepend=-1))

    def at_most(self, number: int) -> ProbabilityCounts:
        """Return counts of at most a given number of probabilities: of more, neighbours stand for their mean."""
        return self if len(self.values) <= number else self.merged(self.grouped(number))

    def merged(self, first: Codes) -> ProbabilityCounts:
        """Return the counts of groups, each with the mean of its probabilities, given the first value of each."""
        examples = np.add.reduceat(self.examples, first)
        positives = np.add.reduceat(self.positives, first)
        last = np.append(first[1:], len(self.values)) - 1
        means = np.add.reduceat(self.values * self.examples, first) / examples
        return ProbabilityCounts(means, self.lowest[first], self.highest[last], positives, examples - positives)


# The band compares all pairs of so many groups of examples at most.
MOST_GROUPS = 200
ISOTONIC_PRIOR = "Beta of one example, at the share of positives in all, of each bin's frequency"
# Standard deviation of the normal priors: of the intercept around 0, and of the slope around 1. They are those of the
# model `recalibration`.
PRIOR_SD = 2.5
LINE_PRIORS = f"intercept ~ Normal(0, {PRIOR_SD:g}), slope ~ Normal(1, {PRIOR_SD:g})"
PRIORS = NormalPriors(np.array([0.0, 1.0]), np.array([PRIOR_SD, PRIOR_SD]))
INTERCEPT_PRIOR = NormalPriors(PRIORS.means[:1], PRIORS.sds[:1])


def isotonic_line(positives: Array | Counts, examples: Counts) -> Array:
    """Return the frequencies that never fall and are nearest to the observed ones, by pooling adjacent violators."""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(positives / examples, weights=examples).x)


def isotonic_band(counts: ProbabilityCounts, prob: float) -> Array:
    """Return the simultaneous confidence band of a frequency that does not fall as the probability rises, (V, 2).

    If the frequency at x is p(x), the number of positives among examples whose probabilities are all at least x is
    stochastically greater than binomial with p(x). So the upper Clopper–Pearson limit of any run of neighbouring groups
    bounds p at all x up to the first of the run, and the lower limit bounds it from the last of the run upwards. Each
    limit of the K(K + 1)/2 runs of K groups has the level (1 − prob)/(K(K + 1)): all hold together with a confidence of
    at least `prob`, whatever p is, as long as it does not fall. Within a group the bounds come from the groups beside
    it.
    """
    groups = counts.merged(counts.grouped(MOST_GROUPS))
    level = (1 - prob) / (len(groups.values) * (len(groups.values) + 1))
    upper = _upper_bounds(groups.positives, groups.examples, level)
    lower = 1 - _upper_bounds(groups.negatives[::-1], groups.examples[::-1], level)[::-1]
    bounds = np.stack([
        np.insert(lower, 0, 0.0)[np.searchsorted(groups.highest, counts.lowest, side="right")],
        np.append(upper, 1.0)[np.searchsorted(groups.lowest, counts.highest, side="left")],
    ], axis=-1)  # fmt: skip
    return widened(bounds, isotonic_line(counts.positives, counts.examples))


def _upper_bounds(positives: Counts, examples: Counts, level: float) -> Array:
    """Return the smallest upper limit of the runs that begin at each group, or later, (K,).

    Only some runs can have it. One that begins with a group without negatives has a smaller limit without that group,
    and one before a group without positives has a smaller limit with it.
    """
    begins = np.flatnonzero(examples > positives)
    ends = np.flatnonzero(np.append(positives[1:] > 0, True))
    of_begin, of_end = np.nonzero(begins[:, None] <= ends)
    k, n = (
        np.cumsum(number)[ends[of_end]] - (np.cumsum(number) - number)[begins[of_begin]]
        for number in (positives, examples)
    )
    bounds = np.ones(len(examples))
    np.minimum.at(bounds, begins[of_begin], special.betainccinv(k + 1, n - k, level))
    return np.minimum.accumulate(bounds[::-1])[::-1]


def draws_of_isotonic_line(counts: ProbabilityCounts, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the mean probabilities of bins (B,), and draws (draws, B) of frequencies there that do not fall.

    That is the projection posterior, as in `recalibrate`. Its intervals cover if there are more bins than the curve can
    distinguish (their number grows faster than the cube root of n), with many examples in each.
    """
    from scipy.optimize import isotonic_regression

    bins = counts.merged(counts.grouped(max(2, round(np.sqrt(counts.total)))))
    share = counts.positives.sum() / counts.total
    drawn = rng.beta(share + bins.positives, 1 - share + bins.negatives, (draws, len(bins.values)))
    return bins.values, np.stack([isotonic_regression(row, weights=bins.examples).x for row in drawn])


def interpolated(heights: Array, knots: Array, at: Array) -> Array:
    """Return drawn lines (draws, k), given their heights (draws, B) at knots (B,): straight between, level beyond."""
    if len(knots) == 1:
        return np.repeat(heights, len(at), axis=1)
    left = np.clip(np.searchsorted(knots, at) - 1, 0, len(knots) - 2)
    share = np.clip((at - knots[left]) / np.diff(knots)[left], 0, 1)
    return np.asarray(heights[:, left] * (1 - share) + heights[:, left + 1] * share)


# ── The recalibration line ──


def draws_of_line(
    counts: ProbabilityCounts, draws: int, rng: np.random.Generator, priors: NormalPriors = PRIORS
) -> Array:
    """Return draws of intercept and slope, (draws, 2), of the posterior of P(y = 1) = expit(α + β log-odds).

    With a prior of the intercept alone the slope is 1, and the draws are of the intercept, (draws, 1).
    """
    log_odds = special.logit(counts.values)
    return logistic_line.draws_of_line(log_odds, counts.positives, counts.examples, priors, draws, rng)
