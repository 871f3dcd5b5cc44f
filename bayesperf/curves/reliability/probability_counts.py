"""Probabilities of two classes and what happened: how many positives and negatives have each probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans, Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import Held
from bayesperf.data.binned_scores import BinnedScores
from bayesperf.data.classifier_scores import labelled_scores


@dataclass(frozen=True, eq=False)
class ProbabilityCounts(Held):
    """How many positives and negatives have each probability that occurs."""

    # The probabilities, ascending; of bins their middles, (V,).
    values: Array
    # Between what limits the probabilities are that a value stands for: the value itself, or the edges of a bin, (V,).
    lowest: Array
    highest: Array
    # How many examples of either class have each, (V,).
    positives: Counts
    negatives: Counts

    @classmethod
    def of(cls, y_true: Any, y_prob: ArrayLike | None, pos_label: Any = None) -> ProbabilityCounts:
        """Return the counts of labels (n,) and probabilities (n,), or of binned scores in their place, checked."""
        if isinstance(y_true, BinnedScores):
            for name, given in {"y_prob": y_prob, "pos_label": pos_label}.items():
                if given is not None:
                    raise InputTypeError(name, "BinnedScores know their classes and scores; leave it out.")
            return cls.of_bins(y_true)
        if y_prob is None:
            raise InputTypeError(
                "y_prob", "give the probabilities of the labels, or BinnedScores alone in the place of both."
            )
        return cls.of_outcomes(*labelled_scores(y_true, y_prob, pos_label, "y_prob"))

    @classmethod
    def of_outcomes(cls, happened: Booleans, probability: Array) -> ProbabilityCounts:
        """Return the counts of outcomes (n,) and their probabilities (n,)."""
        order = np.argsort(checks.probabilities("y_prob", probability), kind="stable")
        ascending = probability[order]
        first = np.flatnonzero(np.diff(ascending, prepend=-1) > 0)
        examples = np.diff(first, append=len(ascending))
        positives = np.add.reduceat(happened[order].astype(np.int64), first)
        values = ascending[first]
        return cls(values, values, values, positives, examples - positives)

    @classmethod
    def of_bins(cls, binned: BinnedScores) -> ProbabilityCounts:
        """Return the counts of bins of probabilities, those without examples left out."""
        lowest, highest = (
            (binned.values, binned.values) if binned.edges is None else (binned.edges[:-1], binned.edges[1:])
        )
        some = binned.positives + binned.negatives > 0
        if not some.any():
            raise InputError("y_true", f"{binned!r} holds no examples.")
        lowest, highest = (checks.probabilities("y_true", edge[some]) for edge in (lowest, highest))
        return cls((lowest + highest) / 2, lowest, highest, binned.positives[some], binned.negatives[some])

    @property
    def examples(self) -> Counts:
        """How many examples have each probability, (V,)."""
        return self.positives + self.negatives

    @property
    def total(self) -> int:
        """How many examples there are."""
        return int(self.examples.sum())

    @property
    def certain(self) -> int:
        """How many examples have a probability of 0 or 1."""
        return int(self.examples[(self.values == 0) | (self.values == 1)].sum())

    def grouped(self, bins: int) -> Codes:
        """Return the first value of each of so many groups of about equally many examples, (G,).

        The groups end at the quantiles of the probabilities, as those of scikit-learn's ``strategy="quantile"``; equal
        probabilities stay together, so there may be fewer groups.
        """
        below = np.cumsum(self.examples)
        place = np.arange(1, bins) * ((self.total - 1) / bins)
        whole = np.floor(place)
        at, after = (
            self.values[np.searchsorted(below, np.minimum(order, self.total - 1), side="right")]
            for order in (whole, whole + 1)
        )
        ends = at + (place - whole) * (after - at)
        return np.flatnonzero(np.diff(np.searchsorted(ends, self.values), prepend=-1))

    def merged(self, first: Codes) -> ProbabilityCounts:
        """Return the counts of groups, each with the mean of its probabilities, given the first value of each."""
        examples = np.add.reduceat(self.examples, first)
        positives = np.add.reduceat(self.positives, first)
        last = np.append(first[1:], len(self.values)) - 1
        means = np.add.reduceat(self.values * self.examples, first) / examples
        return ProbabilityCounts(means, self.lowest[first], self.highest[last], positives, examples - positives)
