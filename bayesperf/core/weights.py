"""Bayesian bootstrap weights (Rubin 1981): for examples, for groups of identical examples, and for clusters.

The population consists of the observed examples, in proportion to weights. The weights are Gamma variables: callers
divide by their sums. An example's weight is a standard exponential; identical examples share the sum of theirs, and the
examples of a cluster share one weight.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayesperf.core.arrays import Array, Booleans, Codes, Counts
from bayesperf.core.errors import DependenceWarning, InputError, warn

# Fewest clusters: of two the weights would be 0. And how many are enough to be silent.
LEAST, ENOUGH = 3, 20
# What was not seen weighs half as much as a unit that was, in each class or cell: Jeffreys' prior.
UNSEEN = 0.5
# How many numbers are drawn at once, and how many take so long that a progress bar is shown.
_AT_ONCE, _LONG = 2**18, 2**27
# With so many clusters of one size, few weights are not exponentials.
_MANY = 1_000


def weight_blocks(
    rng: np.random.Generator,
    sizes: Array | Counts,
    draws: int,
    progressbar: bool,
    cluster: Codes | None = None,
    one_by_one: bool = False,
) -> Iterator[Array]:
    """Yield weights of groups of identical examples, (some draws, groups), until there are enough draws.

    `sizes` (groups,) holds the number of examples in each, which is also the mean of its weight. `cluster` numbers,
    from 0, the clusters of the first groups, which have one example each: the groups of a cluster share one weight. The
    other groups belong to no cluster. With `one_by_one` a block is a single draw, for functions that take long with
    each.
    """
    blocks = blocks_of_draws(draws, len(sizes), progressbar, 1 if one_by_one else None)
    if cluster is None:
        yield from (unit_weights(rng, sizes, block) for block in blocks)
        return
    of_clusters, unseen = np.bincount(cluster), sizes[len(cluster) :]
    for block in blocks:
        weights = cluster_weights(rng, of_clusters, block).astype(float) / mean_weight(len(of_clusters))
        yield np.concatenate([weights[:, cluster], unseen * rng.standard_exponential((block, len(unseen)))], 1)


def blocks_of_draws(draws: int, width: int, progressbar: bool, at_once: int | None = None) -> Iterator[int]:
    """Yield block sizes for draws of the given width, and show progress on a terminal.

    With `at_once` 1 each draw is a block, for draws that take long.
    """
    from rich.progress import track

    step = max(1, (at_once or _AT_ONCE) // width)
    shown = progressbar and (at_once == 1 or draws * width > _LONG) and sys.stderr.isatty()
    for start in track(range(0, draws, step), "Drawing", transient=True, disable=not shown):
        yield min(step, draws - start)


def unit_weights(rng: np.random.Generator, shapes: Array | Counts, n: int) -> Array:
    """Return n Gamma weights of units, (n, U): standard exponentials, which are drawn faster, if all shapes are 1."""
    size = (n, len(shapes))
    return rng.standard_exponential(size) if (shapes == 1).all() else rng.standard_gamma(shapes, size)


def cluster_weights(rng: np.random.Generator, sizes: ArrayLike, n: int) -> NDArray[np.float32]:
    """Return n draws of the weights of G clusters with these sizes, (n, G), each with mean (G − 2)/G.

    They are in single precision, whose rounding is far below the Monte Carlo error; Gamma(a) is Gamma(a + 1) U^(1/a).
    """
    shapes = weight_shapes(sizes).astype(np.float32)
    size = n, len(shapes)
    if (shapes == shapes[0]).all():  # One shape makes the same draws in less time.
        if size[1] >= _MANY:
            return _many_alike(rng, size)
        shapes = shapes[0]
    weights = rng.standard_gamma(shapes + 1, size, dtype=np.float32)
    weights *= np.exp(rng.standard_exponential(size, dtype=np.float32) / -shapes)
    weights *= np.float32(mean_weight(size[1])) / shapes
    return weights


def _many_alike(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float32]:
    """Return weights ~ Gamma(1 − b), with b = 2/G, of many clusters of one size: nearly all are exponentials.

    Gamma(1 − b) is a standard exponential times 1 − X, with X ~ Beta(b, 1 − b), whose density is that of U^(1/b) times
    (1 − X)^(−b): in single precision X is 0 for all but about 17 b of the weights. The others are drawn by rejection.
    """
    b, least = 2 / size[1], 2.0**-25
    weights = rng.standard_exponential(size, dtype=np.float32)
    number = rng.binomial(weights.size, special.betaincc(b, 1 - b, least))
    places, x = rng.choice(weights.size, number, replace=False, shuffle=False), np.empty(0)
    while len(x) < number:
        drawn = rng.uniform(least**b, 1, 2 * number) ** (1 / b)
        kept = rng.random(len(drawn)) * least**-b < np.maximum(1 - drawn, least) ** -b
        x = np.concatenate([x, drawn[kept]])
    weights.ravel()[places] *= (1 - x[:number]).astype(np.float32)
    return weights


def weight_shapes(sizes: ArrayLike) -> Array:
    """Return the Gamma shapes of the weights of G clusters with these sizes, (G,).

    If all clusters have one size, each shape is (G − 2)/G: proportions of the total are then Dirichlet with sum G − 2,
    so that a mean over clusters has the variance S²/G, as in samples of clusters. The Bayesian bootstrap's weights
    Gamma(1) for examples (Rubin 1981, The Bayesian bootstrap, Annals of Statistics 9, 130–134) make it too small by the
    factor (G − 1)/(G + 1).

    With unequal sizes that is too small, for two reasons. A cluster with the proportion h of all examples pulls the
    mean towards itself, so that its squared deviation is too small by the factor 1 − h (Bell & McCaffrey 2002, Bias
    reduction in standard errors for linear regression with multi-stage samples, Survey Methodology 28, 169–181): its
    shape is reduced by that factor. And the variance between clusters is estimated as if from fewer clusters: 1/Σh²
    (Kish 1965, Survey sampling) takes the place of G.
    """
    sizes = np.asarray(sizes)
    shares = sizes / sizes.sum()
    effective = max(1 / (shares**2).sum(), LEAST)
    return np.asarray((effective - 2) / effective * (1 - shares) / (1 - 1 / len(shares)))


def mean_weight(clusters: int) -> float:
    """Return the mean of the weights of this number of clusters."""
    return (clusters - 2) / clusters


def unit_size(cluster: Codes | None) -> float:
    """Return how many examples have one weight: 1 or, given the cluster of each, the mean over the clusters."""
    return 1.0 if cluster is None else len(cluster) / len(np.unique(cluster))


def alike(codes: Codes) -> tuple[Codes, Counts]:
    """Return an example of each kind that some system distinguishes, and the number of examples of that kind.

    `codes` (S, n) are the positions that each system gives each example.
    """
    kind, least = np.zeros(codes.shape[1], np.intp), codes.min()
    for of_system in codes:
        place = kind * (codes.max() - least + 1) + of_system - least
        _, first, kind, sizes = np.unique(place, return_index=True, return_inverse=True, return_counts=True)
    return first, sizes


def tallied(rows: Codes, columns: Codes, shape: tuple[int, int], dtype: Any = float) -> scipy.sparse.csr_array:
    """Return the number of examples in each row and column, given the position of each example."""
    return scipy.sparse.csr_array((np.ones(len(rows), dtype), (rows, columns)), shape=shape)


def indicators(of_class: Codes, classes: int, kept: Booleans | None = None) -> scipy.sparse.csr_array:
    """Return the matrix (n, K) that sums values, or only those kept, by class."""
    rows = np.arange(len(of_class)) if kept is None else np.flatnonzero(kept)
    return tallied(rows, of_class[rows], (len(of_class), classes))


def at_random(units: int, most: int, rng: np.random.Generator) -> Codes:
    """Return the group (units,) of each unit: itself or, at random, one of the `most` groups that have weights.

    Groups keep the variance between units, and its estimate, to a relative error of √(2/most) (Wolter 2007,
    Introduction to variance estimation, ch. 2: the random groups).
    """
    group = np.arange(units) % most
    return group if units <= most else rng.permutation(group)


def check_enough(clusters: int, where: str, argument: str = "cluster") -> None:
    """Refuse fewer clusters than can be weighted."""
    if clusters < LEAST:
        raise InputError(argument, f"{clusters}{where} say little of others.", f"Give {LEAST} or more.")


def check_number(clusters: int, where: str = "", argument: str = "cluster") -> None:
    """Refuse fewer clusters than can be weighted, and warn of few."""
    check_enough(clusters, where, argument)
    if few := about_few(clusters, f"{argument}: {clusters}{where}"):
        warn(DependenceWarning, "BP105", f"{few}.")


def about_few(clusters: int, in_words: str) -> str:
    """Return a remark on few clusters; empty if there are enough."""
    if clusters >= ENOUGH:
        return ""
    return (
        f"{in_words} are few: how much they differ is hardly known, and intervals of fewer than {ENOUGH} may be too "
        "narrow"
    )
