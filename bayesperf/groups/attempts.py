"""Questions that were asked several times: whether at least one of k attempts passes, or all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array, Booleans
from bayesperf.core.errors import InputError
from bayesperf.core.words import plural
from bayesperf.data.clusters import Clusters, of_table
from bayesperf.data.counted import Counted
from bayesperf.data.label_encoding import missing_positive_label
from bayesperf.posteriors.quantity import Quantity, Scope


def all_fail(attempts: NDArray[Any], passed: NDArray[Any], k: int) -> Array:
    """Return the proportion of choices of k attempts that all fail, C(n − c, k)/C(n, k); NaN with fewer than k.

    This is the unbiased estimate of (1 − p)^k, where p is the probability that an attempt passes (Chen et al. 2021,
    Evaluating large language models trained on code, equation 1).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        none = np.prod([(attempts - passed - i).clip(0) / (attempts - i) for i in range(k)], axis=0)
    return np.where(attempts >= k, none, np.nan)


def score_of_k(attempts: NDArray[Any], passed: NDArray[Any], k: int, every: bool) -> Array:
    """Return the proportion of choices of k attempts in which one passes, or `every` one; NaN with fewer than k."""
    return all_fail(attempts, attempts - passed, k) if every else 1 - all_fail(attempts, passed, k)


def quantity_of_k(k: int, every: bool, scope: Scope) -> Quantity:
    """Return the name of the probability that at least one of k attempts passes, or `every` one."""
    words = f"probability that {f'all of {k} attempts pass' if every else f'at least one of {k} attempts passes'}"
    return Quantity(f"pass_hat_{k}" if every else f"pass_at_{k}", scope, "", True, words, (0.0, 1.0))


def place_of_right(cm: Counted) -> tuple[int, int]:
    """Return the row of the attempts in the cells, and the place in it of those that pass.

    Raises
    ------
    ValueError
        If there is no positive class, or outcomes have more than two grades.
    """
    if cm.graded and len(cm.labels) > 2:
        raise InputError("cm", f"attempts are right or wrong; these outcomes have {len(cm.labels)} grades.")
    if cm.graded:
        return 0, 1
    if cm.positive is None:
        raise missing_positive_label(cm.labels)
    return cm.positive, cm.positive


def refuse_too_few(attempts: NDArray[Any], k: int, name: str) -> None:
    """Refuse a k beyond the attempts (questions, …) of a question that was asked at all, and systems without attempts.

    No data say how often one of more attempts would pass: that rests on the questions' tail near 0, which few attempts
    do not show.
    """
    if not (attempts > 0).any(0).all():
        raise InputError("cm", f"some system has no attempt at any {name}.", "Leave that system out.")
    few = (attempts > 0) & (attempts < k)
    if few.any():
        short, least = few.reshape(len(few), -1).any(1), int(attempts[few].min())
        leave_out = "" if short.all() else f" leave those {plural(name)} out,"
        raise InputError(
            "k",
            f"it is {k}, and {short.sum():,} of {len(few):,} {plural(name)} have fewer attempts, the "
            f"fewest {least}. {k} attempts of every {name} are needed: make more,{leave_out} or "
            f"ask for k={least}.",
        )


def as_parts_of_examples(
    clusters: Clusters, cells: tuple[int, int], right: tuple[int, int], k: int, every: bool
) -> Clusters:
    """Return clusters of one example each, which is a true positive in part and for the rest a false negative.

    Parameters
    ----------
    clusters : Clusters
        Of attempts, of one system after the other.
    cells, right : tuple of two int
        The shape of a system's cells; the row of the attempts, and the place in it of those that pass.
    k, every
        The true positive's part is the unbiased estimate that at least one of k attempts passes, or `every` one.

    Raises
    ------
    ValueError
        If some system was asked a question, but fewer than k times.
    """
    rows, classes = cells
    row, place = right
    systems = clusters.cells // (rows * classes)
    columns = np.arange(systems)[:, None] * rows * classes + row * classes + np.arange(classes)
    of_row = clusters.table[:, columns.ravel()].toarray().reshape(clusters.size, systems, classes)
    attempts, passed = of_row.sum(-1), of_row[..., place]
    refuse_too_few(attempts, k, clusters.name)
    return in_parts(clusters.name, score_of_k(attempts, passed, k, every), attempts > 0)


def in_parts(name: str, scores: Array, asked: Booleans) -> Clusters:
    """Return questions as clusters of one example each, right in part, of scores (Q, S) of those that were asked."""
    solved = np.where(asked, scores, 0)
    parts = np.stack([np.zeros_like(solved), np.zeros_like(solved), asked - solved, solved], -1)
    return of_table(name, csr_array(parts.reshape(len(parts), -1)))
