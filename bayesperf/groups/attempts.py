"""Questions that were asked several times: whether at least one of k attempts passes, or enough, or all of them."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from bayesperf.core.arrays import Array, Booleans
from bayesperf.core.errors import InputError
from bayesperf.core.words import plural
from bayesperf.data.clusters import Clusters, of_table
from bayesperf.data.counted import Counted
from bayesperf.data.label_encoding import missing_positive_label
from bayesperf.posteriors.quantity import Quantity, Scope


class Rule(NamedTuple):
    """What k attempts at a question count for: 1 if enough pass; by mG-Pass, a part of 1 for each beyond half."""

    # Number of attempts.
    k: int
    # How many must pass: 1 for pass@k, k for pass^k, others for G-Pass@k; None for mG-Pass@k.
    enough: int | None
    # Whether the one of k=1 attempts is all of them (pass^1), and not at least one of them (pass@1).
    every: bool = False

    @property
    def credit(self) -> Array:
        """What it counts for if 0, 1, … k attempts pass."""
        passing = np.arange(self.k + 1.0)
        if self.enough is None:
            return 2 / self.k * (passing - math.ceil(self.k / 2)).clip(0)
        return np.asarray(passing >= self.enough, float)

    def quantity(self, scope: Scope) -> Quantity:
        """Return the name of the expected credit."""
        k, m, every = self
        if m is None:
            levels = f"m from {math.ceil(k / 2) + 1} to {k}"
            name, words = f"mg_pass_at_{k}", f"mean probability that at least m of {k} attempts pass, {levels},"
        elif m == 1 and not every:
            name, words = f"pass_at_{k}", f"probability that at least one of {k} attempts passes"
        elif m == k:
            name, words = f"pass_hat_{k}", f"probability that all of {k} attempts pass"
        else:
            name, words = f"g_pass_at_{k}_{m}", f"probability that at least {m} of {k} attempts pass"
        return Quantity(name, scope, "", True, words, (0.0, 1.0))


def expected_credit(passing: NDArray[Any], failing: NDArray[Any], credit: Array, added: Literal[-1, 0, 1]) -> Array:
    """Return the expected credit of k attempts, which are drawn one by one from an urn.

    The urn holds attempts that pass and that fail. One that was drawn goes back with `added` of its kind: j of k pass
    with probability C(k, j) Π_{i<j} (a + i·added) Π_{i<k−j} (b + i·added)/Π_{i<k} (a + b + i·added).

    Parameters
    ----------
    passing, failing : array
        What the urn holds, a and b.
    credit : array (k + 1,)
        What it counts for if 0, 1, … k pass.
    added : {-1, 0, 1}
        −1 for choices of k of the attempts that were made, whose mean is the unbiased estimate (hypergeometric); 0 for
        k attempts at a question with the probability a/(a + b) (binomial); 1 for a question whose probability is
        Beta(a, b) (beta-binomial).

    Returns
    -------
    array
        NaN where fewer than k attempts were made.
    """
    # The fewer terms are added up: of the credit, or of what lacks from 1.
    if np.count_nonzero(credit != 1) < np.count_nonzero(credit):
        return 1 - expected_credit(passing, failing, 1 - credit, added)
    k, whole = len(credit) - 1, np.add(passing, failing)
    expected = np.zeros(np.shape(whole))
    with np.errstate(invalid="ignore", divide="ignore"):
        for j in np.flatnonzero(credit):
            term = np.full(np.shape(whole), credit[j] * special.comb(k, j))
            for i in range(k):
                kind, before = (passing, i) if i < j else (failing, i - j)
                term *= np.maximum(kind + before * added, 0) / (whole + i * added)
            expected += term
    return np.where(whole >= k, expected, np.nan) if added < 0 else expected


def unbiased_credit(passed: NDArray[Any], attempts: NDArray[Any], credit: Array) -> Array:
    """Return the mean credit of all choices of k of the attempts at each question; NaN with fewer than k."""
    # Few numbers occur among many questions, and each pair of them is computed once.
    most = int(attempts.max(initial=0)) + 1
    if most**2 > attempts.size:
        return expected_credit(passed, attempts - passed, credit, -1)
    made, passing = np.mgrid[:most, :most]
    known = expected_credit(passing, (made - passing).clip(0), credit, -1)
    return known[attempts.astype(np.intp), passed.astype(np.intp)]


def variance_of_credit(passing: Array, failing: Array, credit: Array) -> Array:
    """Return the variance of the credit that questions of these kinds have on average over their attempts.

    The probability of each is Beta(passing, failing). The mean square is the credit of a first k attempts times that
    of a second k, of which j and l pass among 2k with probability C(k, j) C(k, l)/C(2k, j + l).
    """
    if np.count_nonzero(credit != 1) < np.count_nonzero(credit):
        credit = 1 - credit
    k, first = len(credit) - 1, np.flatnonzero(credit)
    both = first[:, None] + first
    log_ways = special.betaln(both + 1, 2 * k - both + 1) + np.log(2 * k + 1)
    log_ways = log_ways - np.add.outer(*[special.betaln(first + 1, k - first + 1) + np.log(k + 1)] * 2)
    products = np.outer(credit[first], credit[first]) * np.exp(log_ways)
    twice = np.bincount(both.ravel(), products.ravel(), minlength=2 * k + 1)
    mean = expected_credit(passing, failing, credit, 1)
    return np.asarray((expected_credit(passing, failing, twice, 1) - mean**2).clip(0))


def place_of_right(cm: Counted) -> tuple[int, int]:
    """Return the row of the attempts in the cells, and the place in it of those that pass."""
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


def as_parts_of_examples(clusters: Clusters, cells: tuple[int, int], right: tuple[int, int], rule: Rule) -> Clusters:
    """Return clusters of one example each, which is a true positive in part and for the rest a false negative.

    The clusters are of attempts, of one system after the other. `cells` is the shape of a system's cells, and `right`
    the row of the attempts and the place in it of those that pass. The true positive's part is the unbiased estimate of
    what k attempts count for by the rule.
    """
    rows, classes = cells
    row, place = right
    systems = clusters.cells // (rows * classes)
    columns = np.arange(systems)[:, None] * rows * classes + row * classes + np.arange(classes)
    of_row = clusters.table[:, columns.ravel()].toarray().reshape(clusters.size, systems, classes)
    attempts, passed = of_row.sum(-1), of_row[..., place]
    refuse_too_few(attempts, rule.k, clusters.name)
    return in_parts(clusters.name, unbiased_credit(passed, attempts, rule.credit), attempts > 0)


def in_parts(name: str, scores: Array, asked: Booleans) -> Clusters:
    """Return questions as clusters of one example each, right in part, of scores (Q, S) of those that were asked."""
    solved = np.where(asked, scores, 0)
    parts = np.stack([np.zeros_like(solved), np.zeros_like(solved), asked - solved, solved], -1)
    return of_table(name, scipy.sparse.csr_array(parts.reshape(len(parts), -1)))
