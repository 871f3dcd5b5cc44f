"""Questions that were asked several times: whether one of k attempts passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.data.clusters import Clusters, of_table


def all_fail(attempts: NDArray[Any], passed: NDArray[Any], k: int) -> Array:
    """Return the share of the choices of k attempts that are all failures, C(n − c, k)/C(n, k); NaN of fewer than k.

    It is the unbiased estimate of (1 − p)^k, p being the probability that an attempt passes (Chen et al. 2021,
    Evaluating large language models trained on code, equation 1).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        none = np.prod([(attempts - passed - i).clip(0) / (attempts - i) for i in range(k)], axis=0)
    return np.where(attempts >= k, none, np.nan)


def refuse_too_few(attempts: NDArray[Any], k: int, name: str) -> None:
    """Refuse a k beyond the attempts (questions, …) of a question that was asked at all.

    No data say how often one of more attempts would pass: that rests on the questions' tail near 0, which few attempts
    do not show.
    """
    few = (attempts > 0) & (attempts < k)
    if few.any():
        short, least = few.reshape(len(few), -1).any(1), int(attempts[few].min())
        leave_out = "" if short.all() else f" leave those {name}s out,"
        raise InputError(
            "k",
            f"it is {k}, and {short.sum():,} of {len(few):,} {name}s have fewer attempts, the "
            f"fewest {least}. {k} attempts of every {name} are needed: make more,{leave_out} or "
            f"ask for k={least}.",
        )


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
        If some system was asked a question, but fewer than k times.
    """
    systems = clusters.cells // classes**2
    row = np.arange(systems)[:, None] * classes**2 + positive * classes + np.arange(classes)
    of_row = clusters.table[:, row.ravel()].toarray().reshape(clusters.size, systems, classes)
    attempts, passed = of_row.sum(-1), of_row[..., positive]
    refuse_too_few(attempts, k, clusters.name)
    asked = attempts > 0
    none = np.where(asked, all_fail(attempts, passed, k), 0)
    parts = np.stack([np.zeros_like(none), np.zeros_like(none), none, asked - none], -1)
    return of_table(clusters.name, csr_array(parts.reshape(clusters.size, -1)))
