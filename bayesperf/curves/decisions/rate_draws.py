"""Joint draws of the prevalence, and of recall and false positive rate at every threshold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesperf.core.arrays import Array, blocks
from bayesperf.core.weights import unit_weights
from bayesperf.curves.decisions.placed_examples import PlacedExamples, called_at

# Jeffreys' prior: so much of an example in each cell of the confusion matrix, at whatever threshold.
PSEUDO_EXAMPLES = 0.5


class RateDraws(NamedTuple):
    """Draws of the prevalence (n,), and of fpr and recall at thresholds, (S, T, n) each."""

    prevalence: Array
    fpr: Array
    recall: Array


def drawn_rates(placed: PlacedExamples, draws: int, rng: np.random.Generator) -> RateDraws:
    """Return joint draws of the rates of all systems at all thresholds.

    Notes
    -----
    Probabilities and classes are jointly a Dirichlet process: examples have Dirichlet weights, and so have half a
    positive and half a negative example at either end of the scale, above all thresholds and below. At every threshold
    the four cells then are Dirichlet(counts + ½), which is the posterior of that confusion matrix under Jeffreys'
    prior, and along thresholds they change as the weights of the examples between them. All systems have the examples'
    weights; of the whole example that is added to a class, each has a share of its own above the thresholds,
    Beta(½, ½), but systems that place all examples alike have the same.
    """
    systems, _, places = placed.counts.shape
    rates = np.empty((2, systems, places - 1, draws))
    prevalence = np.empty(draws)
    _, alike = np.unique(placed.counts.reshape(systems, -1), axis=0, return_inverse=True)
    for part in blocks(draws, max(len(placed.shapes), placed.counts.size)):
        n = part.stop - part.start
        of_places = (unit_weights(rng, placed.shapes, n) @ placed.table).reshape(n, systems, 2, places)
        added = rng.standard_gamma(2 * PSEUDO_EXAMPLES, (n, 1, 2))
        above = added * rng.beta(PSEUDO_EXAMPLES, PSEUDO_EXAMPLES, (n, 1 + alike.max(), 2))[:, alike.ravel()]
        totals = of_places.sum(-1) + added
        called = called_at(of_places) + above[..., None]
        rates[..., part] = np.moveaxis(called / totals[..., None], (2, 1, 3, 0), (0, 1, 2, 3))
        prevalence[part] = totals[:, 0, 1] / totals[:, 0].sum(-1)
    return RateDraws(prevalence, *rates)
