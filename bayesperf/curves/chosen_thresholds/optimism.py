"""What a threshold does to other examples than those that chose it, where there are no others: less its optimism."""

from __future__ import annotations

import numpy as np

from bayesperf.core.arrays import Array, Codes, Counts, blocks
from bayesperf.curves.chosen_thresholds.candidates import Candidates, cells_of
from bayesperf.curves.chosen_thresholds.rules import PSEUDO_EXAMPLES, Rule


def drawn_shares(candidates: Candidates, rule: Rule, chosen: Codes, draws: int, rng: np.random.Generator) -> Array:
    """Return draws of the shares of examples by class, and by place among the thresholds that were chosen.

    Parameters
    ----------
    candidates : Candidates
        The thresholds and examples among which the rule chose.
    rule : Rule
        How it chose.
    chosen : ndarray (size,)
        Numbers of the thresholds that it chose.
    draws : int
        How many draws, and how many data sets the optimism is the mean of.
    rng : numpy.random.Generator
        Their stream.

    Returns
    -------
    ndarray (draws, 2, size + 1)
        Shares of negatives, then of positives, from those above the strictest threshold down; they sum to 1.

    Notes
    -----
    The posterior of the shares at fixed thresholds is Dirichlet(counts + ½). Of data sets drawn from the examples with
    replacement each chooses thresholds of its own. By how much the odds of each place there are greater in the data set
    that chose than in the examples that it was drawn from is the optimism (Efron 1983; Harrell, Lee & Mark 1996), and
    is taken off the odds in the posterior. Both are means over the data sets of shares to which, as in the posterior,
    half an example is added in each place: a place that is empty wherever it was chosen so has no odds of 0. How many
    examples are of either class is as it was: nobody chose by that.
    """
    apparent, actual = _chosen_anew(candidates.counts, rule, draws, rng)
    ratio = actual / apparent
    weights = rng.standard_gamma(placed(candidates.counts, chosen) + PSEUDO_EXAMPLES, (draws, 2, rule.size + 1))
    of_classes = weights.sum(-1, keepdims=True)
    corrected = weights * ratio
    corrected *= of_classes / corrected.sum(-1, keepdims=True)
    return np.asarray(corrected / corrected.sum((-2, -1), keepdims=True))


def _chosen_anew(counts: Counts, rule: Rule, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the mean shares of each class by place, (2, size + 1), by data sets that choose, and by the examples."""
    total, sums = int(counts.sum()), np.zeros((2, 2, rule.size + 1))
    for part in blocks(draws, counts.size):
        drawn = rng.multinomial(total, counts.ravel() / total, part.stop - part.start).reshape(-1, *counts.shape)
        chosen = rule.choose(cells_of(drawn))
        for i, examples in enumerate((drawn, np.broadcast_to(counts, drawn.shape))):
            weights = placed(examples, chosen) + PSEUDO_EXAMPLES
            sums[i] += (weights / weights.sum(-1, keepdims=True)).sum(0)
    return sums[0] / draws, sums[1] / draws


def placed(counts: Counts, chosen: Codes) -> Counts:
    """Return how many of counts (…, 2, T − 1) are in each place among chosen thresholds (…, size): (…, 2, size + 1)."""
    called = np.concatenate([np.zeros_like(counts[..., :1]), counts.cumsum(-1)], axis=-1)
    at = np.take_along_axis(called, np.repeat(chosen[..., None, :], 2, axis=-2), -1)
    return np.diff(np.concatenate([np.zeros_like(at[..., :1]), at, called[..., -1:]], axis=-1), axis=-1)
