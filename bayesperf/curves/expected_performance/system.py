"""Where thresholds come from and what they are tried on: a development and a test set, or a test set in folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes
from bayesperf.counts.label_encoding import encode
from bayesperf.counts.scores import Scores
from bayesperf.curves.expected_performance.criteria import Criterion, candidates, cells_at, choose
from bayesperf.curves.expected_performance.interval_counts import Examples, IntervalCounts, cells

# A criterion with the values of α at which it chooses a threshold.
Rule = tuple[Criterion, Array]


@dataclass(frozen=True, eq=False)
class System:
    """Scores of one system: those that thresholds are chosen on, a set a fold, and those they are tried on.

    Attributes
    ----------
    dev : tuple of Scores
        For each fold the development scores; without folds, of one.
    test : Examples
        The test set.
    fold : ndarray (n,)
        Which of `dev` is the development set of each test example.
    labels : list
        What the folds are called; empty without folds.
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
    def dev_cells(self) -> list[NDArray[np.int64]]:
        """Development counts (k, actual, predicted) at the candidates of each fold."""
        return [cells_at(scores, cuts) for scores, cuts in zip(self.dev, self.cuts, strict=True)]

    def thresholds(self, rules: Sequence[Rule]) -> Array:
        """Return the thresholds (fold, a) that criteria choose, rule after rule."""
        return np.stack([cuts[chosen(at, rules)] for cuts, at in zip(self.cuts, self.dev_cells, strict=True)])

    def tally(self, thresholds: Array) -> IntervalCounts:
        """Return the test examples between thresholds (fold, a)."""
        return IntervalCounts.of(self.test, self.fold, [np.unique(of_fold) for of_fold in thresholds])

    def counts(self, thresholds: Array) -> NDArray[np.int64]:
        """Return the test counts (a, actual, predicted) at thresholds (fold, a)."""
        tally = self.tally(thresholds)
        found: NDArray[np.int64] = cells(tally.counts[None], tally.places(thresholds))[0].astype(np.int64)
        return found


def chosen(at: NDArray[Any], rules: Sequence[Rule]) -> Codes:
    """Return which of k candidates, with cells (…, k, actual, predicted), rules choose, one after the other: (…, a)."""
    return np.concatenate([choose(criterion, at, alphas) for criterion, alphas in rules], -1)


def system_of(dev: Any, test: Any, folds: Any, pos_label: Any) -> System:
    """Return the system of a development and a test set, or of a test set in folds."""
    tried = Examples.of(test, "test", pos_label)
    if (dev is None) == (folds is None):
        raise ValueError("dev: give a development set, or else folds of the test set to choose thresholds by.")
    if dev is not None:
        chosen_on = Examples.of(dev, "dev", pos_label)
        if chosen_on.same_as(tried):
            raise ValueError(
                "dev and test are the same examples: a threshold that is chosen on the test set performs better there "
                "than it will elsewhere. Give other examples, or folds=ids to choose by cross-validation."
            )
        return System((chosen_on.sorted(),), tried, np.zeros(len(tried.score), dtype=np.intp), [])
    column = encode(folds, "folds", fractions=True)
    checks.equal_lengths({"test": len(tried.score), "folds": len(column.codes)})
    labels = column.labels.tolist()
    if len(labels) < 2:
        raise ValueError("folds: there is only one, so no other examples to choose its threshold on.")
    others = []
    for i, label in enumerate(labels):
        rest = column.codes != i
        if len(np.unique(tried.positive[rest])) < 2:
            raise ValueError(f"folds: without fold {label!r} the rest hold one class only, and no threshold is chosen.")
        others.append(Examples(tried.positive[rest], tried.score[rest]).sorted())
    return System(tuple(others), tried, column.codes, labels)
