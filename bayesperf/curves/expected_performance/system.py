"""The examples that thresholds are chosen on and tested on: a development and a test set, or a test set in folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.counts.classifier_scores import Scores
from bayesperf.counts.label_encoding import encode
from bayesperf.curves.expected_performance.criteria import (
    Criterion,
    candidates,
    counts_at_thresholds,
    minimisers,
)
from bayesperf.curves.expected_performance.interval_counts import Examples, IntervalCounts, cells_at_cuts


class ThresholdRule(NamedTuple):
    """A criterion, and the values of α at which it chooses a threshold."""

    criterion: Criterion
    alphas: Array


@dataclass(frozen=True, eq=False)
class System:
    """Scores of one system: those that thresholds are chosen on, a set for each fold, and those they are tested on.

    Attributes
    ----------
    dev : tuple of Scores
        The development scores of each fold; without folds, a single set.
    test : Examples
        The test set.
    fold : ndarray (n,)
        Which of `dev` is the development set of each test example.
    labels : list
        Names of the folds; empty without folds.
    """

    dev: tuple[Scores, ...]
    test: Examples
    fold: Codes
    labels: list[Any]

    @cached_property
    def cuts(self) -> list[Array]:
        """The candidates for thresholds of each fold."""
        return [candidates(scores) for scores in self.dev]

    @cached_property
    def dev_cells(self) -> list[Counts]:
        """Development counts (k, actual, predicted) at the candidates of each fold."""
        return [counts_at_thresholds(scores, cuts) for scores, cuts in zip(self.dev, self.cuts, strict=True)]

    def thresholds(self, rules: Sequence[ThresholdRule]) -> Array:
        """Return the thresholds (fold, a) that rules choose, one rule after the other."""
        return np.stack(
            [cuts[choose_candidates(rules, cells)] for cuts, cells in zip(self.cuts, self.dev_cells, strict=True)]
        )

    def interval_counts(self, thresholds: Array) -> IntervalCounts:
        """Return the counts of test examples between thresholds (fold, a)."""
        return IntervalCounts.of(self.test, self.fold, [np.unique(of_fold) for of_fold in thresholds])

    def counts(self, thresholds: Array) -> Counts:
        """Return the test counts (a, actual, predicted) at thresholds (fold, a)."""
        between = self.interval_counts(thresholds)
        counts: Counts = cells_at_cuts(between.counts[None], between.positions(thresholds))[0].astype(np.int64)
        return counts


def choose_candidates(rules: Sequence[ThresholdRule], cells: NDArray[Any]) -> Codes:
    """Return which of k candidates with cells (…, k, actual, predicted) each rule chooses, rule after rule: (…, a)."""
    return np.concatenate([minimisers(criterion, cells, alphas) for criterion, alphas in rules], -1)


def system_of(dev: Any, test: Any, folds: Any, pos_label: Any) -> System:
    """Return the system of a development and a test set, or of a test set in folds."""
    tested = Examples.of(test, "test", pos_label)
    if (dev is None) == (folds is None):
        raise ValueError("dev: give a development set, or else folds of the test set to choose thresholds by.")
    if dev is not None:
        development = Examples.of(dev, "dev", pos_label)
        if development.same_as(tested):
            raise ValueError(
                "dev and test are the same examples: a threshold that is chosen on the test set performs better there "
                "than it will elsewhere. Give other examples, or folds=ids to choose by cross-validation."
            )
        return System((development.sorted(),), tested, np.zeros(len(tested.score), dtype=np.intp), [])
    column = encode(folds, "folds", fractions=True)
    checks.equal_lengths({"test": len(tested.score), "folds": len(column.codes)})
    labels = column.labels.tolist()
    if len(labels) < 2:
        raise ValueError("folds: there is only one, so no other examples to choose its threshold on.")
    others = []
    for i, label in enumerate(labels):
        rest = column.codes != i
        if len(np.unique(tested.positive[rest])) < 2:
            raise ValueError(f"folds: without fold {label!r} the rest hold one class only, and no threshold is chosen.")
        others.append(Examples(tested.positive[rest], tested.score[rest]).sorted())
    return System(tuple(others), tested, column.codes, labels)
