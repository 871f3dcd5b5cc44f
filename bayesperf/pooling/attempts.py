"""Questions that were asked several times: whether one of k attempts passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array
from bayesperf.counts.clusters import Clusters, of_table


def all_fail(attempts: NDArray[Any], passed: NDArray[Any], k: int) -> Array:
    """Return the share of the choices of k attempts that are all failures, C(n − c, k)/C(n, k); NaN of fewer than k.

    It is the unbiased estimate of (1 − p)^k, p being the probability that an attempt passes (Chen et al. 2021,
    Evaluating large language models trained on code, equation 1).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        none = np.prod([(attempts - passed - i).clip(0) / (attempts - i) for i in range(k)], axis=0)
    return np.where(attempts >= k, none, np.nan)


def as_parts_of_examples(clusters: Clusters, classes: int, positive: int, k: int) -> Clusters:
    """Return clusters of one example each, which is a true positive in part and for the rest a false negative.

    Parameters
    ----------
    clusters : Clusters
        Of attempts, of one system after the other. Those that passed are true positives.
    classes, positive : int
        Number of classes, and which one is positive.
    k : int
        The true positive's part is the unbiased estimate that one of k attempts passes; of binary matrices.

    Raises
    ------
    ValueError
        If some system was asked a question fewer than k times.
    """
    systems = clusters.cells // classes**2
    row = np.arange(systems)[:, None] * classes**2 + positive * classes + np.arange(classes)
    of_row = clusters.table[:, row.ravel()].toarray().reshape(clusters.size, systems, classes)
    attempts, passed = of_row.sum(-1), of_row[..., positive]
    asked = attempts > 0
    if (few := asked & (attempts < k)).any():
        raise ValueError(
            f"k: of {few.any(1).sum():,} {clusters.name}s there are fewer than {k} attempts (the fewest are "
            f"{attempts[few].min()}), and the unbiased estimate needs as many. Ask of fewer, or take the model, which "
            "needs no more than it was given: count two classes with the dim of the questions and use method='model'."
        )
    none = np.where(asked, all_fail(attempts, passed, k), 0)
    parts = np.stack([np.zeros_like(none), np.zeros_like(none), none, asked - none], -1)
    return of_table(clusters.name, csr_array(parts.reshape(clusters.size, -1)))
