"""Areas under ROC curves by the smoothed Bayesian bootstrap, for scores that separate the classes."""

from __future__ import annotations

import numpy as np

from bayesperf.core.arrays import Array
from bayesperf.counts.classifier_scores import Scores
from bayesperf.curves.areas.bayesian_bootstrap import weight_blocks
from bayesperf.curves.roc.called_positive import PositiveRates, steps_between_scores


def separated(positive: Array, negative: Array) -> list[bool]:
    """Return whether each system's scores, (S, n) and (S, m), separate the classes."""
    return [system.separated for system in _systems(positive, negative)]


def smoothed_area_draws(
    positive: Array, negative: Array, draws: int, rng: np.random.Generator, progressbar: bool = False
) -> Array:
    """Return draws of the area under the ROC curve of systems, (S, draws), with Dirichlet(1) weights of the gaps.

    There are n + 1 gaps between and beyond the n scores of a class. Systems share the weights of the examples: that of
    a positive is the weight of the gap just above its score, that of a negative of the gap just below. The gap that is
    left, below all positives or above all negatives, is where a class overlaps the other unseen: each system has its
    own there, unless it orders the examples as another does.

    Parameters
    ----------
    positive, negative : ndarray (S, n), (S, m)
        Scores that each system gives to the examples of either class.
    draws, rng, progressbar
        As of `area_draws`.
    """
    examples = positive.shape[1], negative.shape[1]
    scores = np.concatenate([positive, negative], 1)
    ranks = np.stack([np.unique(of_system, return_inverse=True)[1] for of_system in scores])
    orders, order_of_system = np.unique(ranks, axis=0, return_inverse=True)
    from_the_top = [np.argsort(-of_class, axis=1, kind="stable") for of_class in (positive, negative)]
    steps = [
        [steps_between_scores(called) for called in system.called(np.r_[np.inf, system.thresholds])]
        for system in _systems(positive, negative)
    ]
    blocks = []
    for weights in weight_blocks(rng, np.ones(sum(examples) + 2 * len(orders), np.int64), draws, progressbar):
        *of_examples, below, above = np.split(weights, np.cumsum([*examples, len(orders)]), axis=1)
        area = np.empty((len(positive), len(weights)))
        for i, own in enumerate(order_of_system.ravel()):
            of_positive, of_negative = (w[:, order[i]] for w, order in zip(of_examples, from_the_top, strict=True))
            gaps = np.c_[of_positive, below[:, own]], np.c_[above[:, own], of_negative]
            recall, fpr = (PositiveRates.of(*pair).at_every_threshold() for pair in zip(steps[i], gaps, strict=True))
            area[i] = np.trapezoid(recall, fpr, axis=1)
        blocks.append(area)
    return np.clip(np.concatenate(blocks, 1), 0, 1)


def _systems(positive: Array, negative: Array) -> list[Scores]:
    """Return the scores of each system, sorted."""
    return [Scores(np.sort(own), np.sort(other)) for own, other in zip(positive, negative, strict=True)]
