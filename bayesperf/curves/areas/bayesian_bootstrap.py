"""The Bayesian bootstrap (Rubin 1981): the examples at hand are all there are, their shares ~ Dirichlet(1)."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from bayesperf.core.arrays import Array, Counts

# Weights held at once, and how many take so long that a progress bar is shown.
_BLOCK, _LONG = 2**18, 2**27


def blocks(
    rng: np.random.Generator, sizes: Counts, draws: int, progressbar: bool, one_by_one: bool = False
) -> Iterator[Array]:
    """Yield the weights of groups of examples, (some draws, groups), until there are enough draws.

    A weight is the sum of as many standard exponentials as the group has examples; divided by their sum over a class,
    or over all, weights are Dirichlet. The stream does not depend on the size of the blocks. With `one_by_one` that
    is one, for what takes long with each.
    """
    from rich.progress import track

    single = (sizes == 1).all()
    step = 1 if one_by_one else max(1, _BLOCK // len(sizes))
    long = one_by_one or draws * len(sizes) > _LONG
    shown = progressbar and long and sys.stderr.isatty()
    for start in track(range(0, draws, step), "Weighting", transient=True, disable=not shown):
        shape = (min(step, draws - start), len(sizes))
        yield rng.standard_exponential(shape) if single else rng.standard_gamma(sizes, shape)


def area_draws(
    positive: Array, negative: Array, draws: int, rng: np.random.Generator, progressbar: bool = False
) -> Array:
    """Return draws of the area under the ROC curve of systems, (S, draws), of one set of weights for all.

    Parameters
    ----------
    positive, negative : ndarray (S, n), (S, m)
        What each system gives the examples of either class.
    draws, rng, progressbar
        How many draws, their stream, and whether to show a bar on a terminal if it takes long.
    """
    (rows, of_positive), (columns, of_negative) = _kinds(positive, negative), _kinds(negative, positive)
    systems = [_places(own[rows], others[columns]) for own, others in zip(positive, negative, strict=True)]
    found = []
    for weights in blocks(rng, np.concatenate([of_positive, of_negative]), draws, progressbar):
        of_rows, of_columns = np.split(weights, [len(rows)], 1)
        below = np.zeros((len(weights), len(columns) + 1))
        area = np.empty((len(systems), len(weights)))
        for i, (order, low, high) in enumerate(systems):
            np.cumsum(of_columns[:, order], 1, out=below[:, 1:])
            share = (np.take(below, low, 1) + np.take(below, high, 1)) / (2 * below[:, -1:])
            area[i] = np.einsum("ij,ij->i", of_rows, share) / of_rows.sum(1)
        found.append(area)
    # Sums in two orders may differ in the last digit.
    return np.clip(np.concatenate(found, 1), 0, 1)


def twice_below(scores: Array, others: Array) -> Counts:
    """Return twice the number of others below each score, one that ties counted half."""
    ordered = np.sort(others)
    return np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")


def _places(scores: Array, others: Array) -> tuple[Counts, Counts, Counts]:
    """Return the order of the others, and among them the first and the last place of each score."""
    order = np.argsort(others)
    ordered = others[order]
    return order, np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")


def _kinds(scores: Array, others: Array) -> tuple[Counts, Counts]:
    """Return an example of each kind, and how many there are of it.

    Of one kind are examples that, to every system, have the same others below: their weights count together. Where
    they are few to a kind, single weights are drawn faster.
    """
    examples = scores.shape[1]
    kind = np.zeros(examples, np.int64)
    for own, other in zip(scores, others, strict=True):
        place = kind * (2 * len(other) + 1) + twice_below(own, other)
        _, first, kind, sizes = np.unique(place, return_index=True, return_inverse=True, return_counts=True)
    if 4 * len(first) > examples:
        return np.arange(examples), np.ones(examples, np.int64)
    return first, sizes
