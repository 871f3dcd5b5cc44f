"""Measures of calibration as numbers: of the labels, and of many sets of labels for the same probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import entr

from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.curves.reliability.probability_counts import ProbabilityCounts


class Score(NamedTuple):
    """A proper score: what it is of a probability where it happened and where it did not, and its least mean.

    `least` is the mean score of a frequency where that frequency happens: no other probability has less.
    """

    happened: Callable[[Array], Array]
    did_not: Callable[[Array], Array]
    least: Callable[[Array], Array]


def _minus_log(probability: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(probability))


SCORES = {
    "brier": Score(lambda p: (1 - p) ** 2, np.square, lambda q: q * (1 - q)),
    "log_loss": Score(_minus_log, lambda p: _minus_log(1 - p), lambda q: entr(q) + entr(1 - q)),
}


def point_values(counts: ProbabilityCounts, positives: Array, first: Codes) -> dict[str, Array]:
    """Return the measures of sets of labels, (m,) each.

    Parameters
    ----------
    counts : ProbabilityCounts
        The probabilities, and how many examples have each.
    positives : ndarray (m, V)
        How many of these are positive.
    first : ndarray (G,)
        The first value of each bin of the squared calibration error.
    """
    examples, probability = counts.examples, counts.values
    frequencies = positives / examples
    lines = [isotonic_regression(row, weights=examples) for row in frequencies]
    base_rate = positives.sum(-1) / examples.sum()
    values = {
        "calibration_in_the_large": base_rate - probability @ examples / examples.sum(),
        "squared_calibration_error": squared_calibration_error(counts, positives, first),
    }
    for name, score in SCORES.items():
        total = _sums(positives, examples, score.happened(probability), score.did_not(probability))
        # Of each level of the line, which has the frequency of its examples.
        best = np.array([line.weights @ score.least(line.x[line.blocks[:-1]]) for line in lines])
        mean, calibrated, uncertainty = total / examples.sum(), best / examples.sum(), score.least(base_rate)
        values |= {
            name: mean,
            f"{name}_miscalibration": mean - calibrated,
            f"{name}_discrimination": uncertainty - calibrated,
            f"{name}_uncertainty": uncertainty,
        }
    return values


def _sums(positives: Array, examples: Counts, happened: Array, did_not: Array) -> Array:
    """Return the sums of scores (V,) over sets of labels, (m,): inf if what was impossible happened.

    What was certain, and happened, adds nothing.
    """
    never, always = np.isinf(happened), np.isinf(did_not)
    refuted = (positives[:, never] > 0).any(-1) | (positives[:, always] < examples[always]).any(-1)
    happened, did_not = (np.where(never | always, 0.0, score) for score in (happened, did_not))
    return np.where(refuted, np.inf, positives @ (happened - did_not) + examples @ did_not)


def squared_calibration_error(counts: ProbabilityCounts, positives: Array, first: Codes) -> Array:
    """Return the debiased squared calibration error, (m,): the mean over bins of (mean probability − frequency)².

    With d = p − y the square of a bin is estimated by the mean of d_i d_j over pairs of different examples,
    ((Σd)² − Σd²)/(n(n − 1)), whose expectation is the square itself. Bins of one example have no pairs and are left
    out; NaN if all are such.
    """
    examples, p = counts.examples, counts.values
    sums = np.add.reduceat(examples * p, first) - np.add.reduceat(positives, first, axis=-1)
    squares = np.add.reduceat(examples * p**2, first) + np.add.reduceat(positives * (1 - 2 * p), first, axis=-1)
    sizes = np.add.reduceat(examples, first)
    some = sizes > 1
    if not some.any():
        return np.full(len(positives), np.nan)
    sums, squares, sizes = sums[:, some], squares[:, some], sizes[some]
    return np.asarray(((sums**2 - squares) / (sizes - 1)).sum(-1) / sizes.sum())


def drawn_labels(counts: ProbabilityCounts, sets: int, rng: np.random.Generator) -> Array:
    """Return how many examples of each probability are positive in sets of labels drawn from them, (sets, V)."""
    if (counts.examples == 1).all():
        return (rng.random((sets, len(counts.values))) < counts.values).astype(float)
    return rng.binomial(counts.examples, counts.values, (sets, len(counts.values))).astype(float)
