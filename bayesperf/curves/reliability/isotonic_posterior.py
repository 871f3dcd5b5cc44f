"""The projection posterior of a frequency that does not fall as the probability rises."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from bayesperf.core.arrays import Array
from bayesperf.curves.reliability.probability_counts import ProbabilityCounts

PRIOR_IN_WORDS = "Beta of one example, at the share of positives in all, of each bin's frequency"


def draws_of_isotonic_line(counts: ProbabilityCounts, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the mean probabilities of bins (B,), and draws (draws, B) of frequencies there that do not fall.

    The √n bins have a Beta posterior each, and each draw of all of them is replaced by the nearest frequencies that do
    not fall, weighted by examples: the projection posterior of Chakraborty & Ghosal (2021). Its intervals cover where
    there are more bins than the curve can tell apart (their number grows faster than the cube root of n), with many
    examples in each; of one example a bin, which is the Bayesian bootstrap of the isotonic line, they do not.
    """
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
