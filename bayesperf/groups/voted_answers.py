"""The majority vote of k attempts at a question (maj@k): whether the answer that most of them give is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS, Array, Codes, Counts
from bayesperf.core.errors import InputError
from bayesperf.core.random_streams import streams
from bayesperf.core.weights import UNSEEN, check_number
from bayesperf.core.words import listed, plural
from bayesperf.data.clusters import cluster_column
from bayesperf.data.count_arrays import check_dims
from bayesperf.data.label_encoding import Column, codes_for_labels, encode, encode_levels, merge_labels
from bayesperf.data.outcomes import Outcomes
from bayesperf.groups.attempts import in_parts, refuse_too_few
from bayesperf.groups.cluster_weights import share_of_questions
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity, Scope


@checked
def majority_vote(
    answers: Any,
    y_true: Any,
    k: int,
    *,
    cluster: Any,
    by: Mapping[str, Any] | None = None,
    draws: int = 10_000,
    random_seed: Any = 0,
) -> Marginal:
    """Return the probability that the answer which most of k attempts give is right (maj@k), for a new question.

    Parameters
    ----------
    answers : array-like of shape (n,)
        The answer of each attempt. One that could not be read is an answer as well, such as "none".
    y_true : array-like of shape (n,)
        The right answer, the same in all rows of a question.
    k : int
        How many attempts vote, at least 1, and at most as many as there are at every question.
    cluster : array-like of shape (n,) or mapping of str to array-like
        The question of each attempt, as ``{"question": ids}``.
    by : mapping of str to array-like of shape (n,), optional
        The column that tells systems apart, as ``{"model": names}``, which becomes the leading dim. The draws are
        joint: `bayesperf.compare` compares the systems in pairs, on the same questions.
    draws, random_seed
        Of the Bayesian bootstrap of questions.

    Returns
    -------
    Marginal
        Its `observed` is the mean over questions of the share of all choices of k attempts in which the right answer
        has the most votes. If several answers have as many votes, each wins in its share of cases.

    Raises
    ------
    TypeError, ValueError
        If columns differ in length or have missing values, a question has fewer than k attempts or two right answers,
        or no answer is right.

    Warns
    -----
    DependenceWarning
        If there are fewer than 20 questions.

    Notes
    -----
    Where wrong answers are scattered, the majority may be right although most attempts are wrong (Wang et al. 2023,
    Self-consistency improves chain of thought reasoning in language models). The weights of questions, and what stands
    for those not seen, are as in `Pooled.pass_at_k` by the bootstrap, under Jeffreys' prior.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesperf as bp
    >>> answers = ["4", "4", "5", "4", "6", "7", "4", "4", "4", "1", "1", "4"] * 6
    >>> question = np.repeat(np.arange(24), 3)
    >>> bp.groups.majority_vote(answers, ["4"] * 72, 3, cluster={"question": question}).observed.round(3).item()
    0.583
    """
    size, number, seed = checks.count("k", k), checks.count("draws", draws, least=2), checks.seed(random_seed)
    questions, leading, system = cluster_column(cluster), NO_DIMS, np.zeros(1, np.intp)
    given, right = encode(answers, "answers", fractions=True), encode(y_true, "y_true", fractions=True)
    lengths = {"answers": len(given.codes), "y_true": len(right.codes), "cluster": len(questions.codes)}
    for name, column in _systems(by).items():
        leading, system = xr.DataArray(np.zeros(len(column.labels)), {name: column.labels}, [name]), column.codes
        lengths[f"by[{name!r}]"] = len(system)
    checks.equal_lengths(lengths)
    answer, truth = _matched(given, right)
    _check_one_truth(questions.codes, truth, questions.name)
    cell = questions.codes * leading.size + system
    scores, attempts = _scores(cell, answer, truth, size, (questions.size, leading.size), questions.name)
    check_number(questions.size, f" {plural(questions.name)}")
    words = f"probability that the majority of {size} attempts is right"
    quantity = Quantity(f"maj_at_{size}", Scope("new_group", questions.name), "", True, words, (0.0, 1.0))
    # Pseudo-questions that are failed, and the same number that are solved.
    alpha = np.broadcast_to([[0, 0], [UNSEEN, UNSEEN]], (leading.size, 2, 2))
    parts = in_parts(questions.name, scores, attempts > 0)
    own = streams(seed, f"pseudo-{questions.name}s", leading, scores.T)
    return share_of_questions(quantity, parts, alpha, leading, own, number, seed)


def _systems(by: Mapping[str, Any] | None) -> dict[str, Column]:
    """Return the column of systems by its name, encoded; none if there is one system."""
    names = list({} if by is None else by)
    if len(names) > 1:
        raise InputError("by", f"must name one column, that of the systems; it names {listed(names)}.")
    check_dims(names, Outcomes.cell_dims)
    return {name: encode_levels(column, f"by[{name!r}]") for name, column in (by or {}).items()}


def _matched(given: Column, right: Column) -> tuple[Codes, Codes]:
    """Return answers and right answers as codes of the same labels; refuse them if they have nothing in common."""
    labels = merge_labels([given, right], ["answers", "y_true"])
    answer, truth = codes_for_labels(given, labels, "answers"), codes_for_labels(right, labels, "y_true")
    if not (answer == truth).any():
        raise InputError("answers", "none is right.", "Write answers as `y_true` has them.")
    return answer, truth


def _check_one_truth(question: Codes, truth: Codes, name: str) -> None:
    """Refuse a question with two right answers."""
    pairs = np.unique(np.stack([question, truth]), axis=1)
    if pairs.shape[1] > 1 + question.max():
        raise InputError("y_true", f"some {name} has two right answers.", "Give each one.")


# ── The vote at one question ──


def _scores(
    cell: Codes, answer: Codes, truth: Codes, k: int, shape: tuple[int, int], name: str
) -> tuple[Array, Counts]:
    """Return the probability that k of the attempts vote for the right answer, and how many there are, (Q, S)."""
    attempts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    refuse_too_few(attempts, k, name)
    kinds, first, votes = np.unique(np.stack([cell, answer]), axis=1, return_index=True, return_counts=True)
    is_right, scores = answer[first] == truth[first], np.zeros(attempts.size)
    for place, start, stop in _runs(kinds[0]):
        of_place, won = votes[start:stop], is_right[start:stop]
        scores[place] = right_majority(int(of_place[won].sum()), tuple(sorted(of_place[~won].tolist())), k)
    return scores.reshape(shape), attempts


def _runs(places: Codes) -> list[tuple[int, int, int]]:
    """Return each place of sorted ones, where its run starts, and where the next does."""
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    return list(zip(places[starts].tolist(), starts.tolist(), [*starts[1:].tolist(), len(places)], strict=True))


@cache
def right_majority(right: int, others: tuple[int, ...], k: int) -> float:
    """Return the share of choices of k attempts in which the right answer has the most votes, ties in part.

    `right` attempts gave the right answer, and `others` each of the wrong ones.
    """
    total = right + sum(others)
    # Numbers of ways would overflow. Given their sum, binomial numbers of votes are those of a choice of k.
    of_right, *of_others = (_binomial(np.arange(count + 1), count, k / total) for count in (right, *others))
    chosen = sum(of_right[votes] * _ahead(votes, of_others, k - votes) for votes in range(1, min(right, k) + 1))
    return float(chosen / _binomial(np.array(k), total, k / total))


def _ahead(most: int, others: Sequence[Array], k: int) -> float:
    """Return the probability that k votes are for others, none with more than `most`; 1/(1 + t) of it if t have these.

    `others` are the probabilities of each number of votes for each of them.
    """
    # By how many votes are given so far, and how many of the answers have the most.
    ways = np.zeros((k + 1, min(k // most, len(others)) + 1))
    ways[0, 0] = 1
    for shares in others:
        before, ways = ways, np.zeros_like(ways)
        for tied in range(ways.shape[1]):
            ways[:, tied] += np.convolve(before[:, tied], shares[:most])[: k + 1]
            if tied and most < len(shares):
                ways[most:, tied] += shares[most] * before[: max(k + 1 - most, 0), tied - 1]
    return float((ways[k] / np.arange(1, ways.shape[1] + 1)).sum())


def _binomial(votes: Array | Codes, n: int, p: float) -> Array:
    """Return the probabilities of numbers of votes among n, each given with probability p."""
    log_ways = -np.log1p(n) - special.betaln(n - votes + 1, votes + 1)
    return np.asarray(np.exp(log_ways + special.xlogy(votes, p) + special.xlog1py(n - votes, -p)))
