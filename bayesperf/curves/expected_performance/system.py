"""The examples that thresholds are chosen on and tested on, their counts between thresholds, and the cells that follow.

There are a development and a test set, or a test set in folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Booleans, Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import Held
from bayesperf.curves.expected_performance.criteria import (
    Criterion,
    candidates,
    counts_at_thresholds,
    minimisers,
    thinned,
)
from bayesperf.curves.scored_systems import NAMELESS, systems_of
from bayesperf.data.classifier_scores import Scores, clusters_of, labelled_scores
from bayesperf.data.label_encoding import encode


@dataclass(frozen=True, eq=False)
class Examples(Held):
    """Labelled scores, in the order given."""

    # Whether an example is of the positive class, (n,).
    positive: Booleans
    # Its score, (n,).
    score: Array
    # Which cluster it belongs to, numbered from 0; None if every example is by itself, (n,), or None.
    cluster: Codes | None = None

    @classmethod
    def of(cls, data: Any, name: str, pos_label: Any, cluster: Any = None) -> Examples:
        """Return the examples of a pair (labels, scores), checked; errors name the pair."""
        if not isinstance(data, tuple | list) or len(data) != 2:
            raise InputTypeError(name, f"must be a pair of labels and scores, (y_true, y_score); it is {data!r:.60}.")
        try:
            positive, score = labelled_scores(data[0], data[1], pos_label)
        except InputError as error:
            raise type(error)(name, str(error)) from None
        return cls(positive, score, None if cluster is None else clusters_of(cluster, len(score), name))

    def same_as(self, other: Examples) -> bool:
        """Whether these are the same labels and scores in the same order."""
        return np.array_equal(self.positive, other.positive) and np.array_equal(self.score, other.score)

    def alike(self, other: Examples | None) -> bool:
        """Whether these have the same labels, and clusters, in the same order, as the same examples have."""
        return other is not None and all(
            np.array_equal(own, others) if own is not None and others is not None else own is others
            for own, others in ((self.positive, other.positive), (self.cluster, other.cluster))
        )

    def sorted(self) -> Scores:
        """Return the scores of either class in ascending order."""
        return Scores(np.sort(self.score[self.positive]), np.sort(self.score[~self.positive]))


@dataclass(frozen=True, eq=False)
class IntervalCounts:
    """Examples by class, fold, and the interval between cuts that their score lies in."""

    # The thresholds of each fold, ascending. Interval j of a fold holds what j cuts do not exceed.
    cuts: Sequence[Array]
    # Where each example is in a table of `shape`; -1 if it is not in it, (n,).
    codes: Codes

    @classmethod
    def of(cls, examples: Examples, fold: Codes, cuts: Sequence[Array]) -> IntervalCounts:
        """Return the counts of examples between the cuts of their folds."""
        interval = np.empty_like(fold)
        for i, of_fold in enumerate(cuts):
            interval[fold == i] = np.searchsorted(of_fold, examples.score[fold == i], side="right")
        place = (examples.positive.astype(np.intp), fold, interval)
        return cls(cuts, np.ravel_multi_index(place, _shape(cuts)))

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of classes, folds and intervals (of the fold that has most)."""
        return _shape(self.cuts)

    @cached_property
    def counts(self) -> Counts:
        """Examples in each interval, of `shape`."""
        inside = self.codes[self.codes >= 0]
        return np.bincount(inside, minlength=int(np.prod(self.shape))).reshape(self.shape)

    def ends(self) -> Codes:
        """Return the codes (actual, predicted) of the intervals that are never (0) and always (1) called positive."""
        last = self.shape[-1] - 1
        return np.array([[np.ravel_multi_index((c, 0, j), self.shape) for j in (0, last)] for c in (0, 1)])

    def positions(self, thresholds: Array) -> Codes:
        """Return the number of the cut that each threshold (fold, a) is, (1, fold, a)."""
        return np.stack([np.searchsorted(*pair) for pair in zip(self.cuts, thresholds, strict=True)])[None]


def _shape(cuts: Sequence[Array]) -> tuple[int, int, int]:
    return 2, len(cuts), 1 + max(map(len, cuts))


def cells_at_cuts(mass: NDArray[Any], positions: Codes) -> Array:
    """Return the cells (n, a, actual, predicted) at cuts, of counts or weights (n, class, fold, interval).

    Positions (n or 1, fold, a) are the numbers of the cuts; -1 for none, and the cells are then NaN.
    """
    below, above = mass.cumsum(-1), mass[..., ::-1].cumsum(-1)[..., ::-1]
    at = np.broadcast_to(positions[:, None], (*mass.shape[:3], positions.shape[-1]))
    called = (np.take_along_axis(side, at + i, -1).sum(2) for i, side in enumerate((below, above)))
    cells = np.stack(list(called), -1).swapaxes(1, 2)
    return np.where((positions < 0).any(1)[..., None, None], np.nan, cells)


def cell_probabilities(mass: Array, positions: Codes) -> Array:
    """Return the cells of `cells_at_cuts` divided by their sum."""
    cells = cells_at_cuts(mass, positions)
    return cells / cells.sum((-2, -1), keepdims=True)


class ThresholdRule(NamedTuple):
    """A criterion, and the values of α at which it chooses a threshold."""

    criterion: Criterion
    alphas: Array


@dataclass(frozen=True, eq=False)
class System(Held):
    """Scores of one system: the scores that choose thresholds, a set for each fold, and the scores that test them."""

    # The development scores of each fold; without folds, a single set.
    dev: tuple[Scores, ...]
    # The test set.
    test: Examples
    # Which of `dev` is the development set of each test example, (n,).
    fold: Codes
    # Names of the folds; empty without folds.
    labels: list[Any]
    # The development set, which is the test set itself of a curve a posteriori; None with folds.
    development: Examples | None

    @classmethod
    def without_folds(cls, development: Examples, test: Examples) -> System:
        """Return the system whose thresholds are chosen on one set and tested on another, or the same."""
        return cls((development.sorted(),), test, np.zeros(len(test.score), dtype=np.intp), [], development)

    @property
    def chosen_on(self) -> str:
        """The examples that choose thresholds, in words."""
        if self.development is None:
            return "the other folds"
        return "the test set itself" if self.development is self.test else "the development set"

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

    @cached_property
    def drawn_cuts(self) -> list[Array]:
        """The candidates among which drawn development sets choose, of each fold."""
        return [thinned(scores, cuts) for scores, cuts in zip(self.dev, self.cuts, strict=True)]

    def choosing_counts(self) -> list[IntervalCounts]:
        """Return, for each fold, the counts of the examples that choose its threshold, between candidates."""
        if self.development is not None:
            return [
                IntervalCounts.of(self.development, np.zeros_like(self.development.score, np.intp), self.drawn_cuts)
            ]
        tables = []
        for i, cuts in enumerate(self.drawn_cuts):
            between = IntervalCounts.of(self.test, np.zeros_like(self.fold), [cuts])
            tables.append(replace(between, codes=np.where(self.fold == i, -1, between.codes)))
        return tables

    def counts(self, thresholds: Array) -> Counts:
        """Return the test counts (a, actual, predicted) at thresholds (fold, a)."""
        between = self.interval_counts(thresholds)
        counts: Counts = cells_at_cuts(between.counts[None], between.positions(thresholds))[0].astype(np.int64)
        return counts


def choose_candidates(rules: Sequence[ThresholdRule], cells: NDArray[Any]) -> Codes:
    """Return which of k candidates with cells (…, k, actual, predicted) each rule chooses, rule after rule: (…, a)."""
    return np.concatenate([minimisers(criterion, cells, alphas) for criterion, alphas in rules], -1)


def by_system(argument: str, data: Any, cluster: Any = None) -> dict[Any, tuple[Any, Any]]:
    """Return labels and scores, and the clusters, of each system by its name."""
    if isinstance(data, Mapping):
        ids = cluster if isinstance(cluster, Mapping) else dict.fromkeys(data, cluster)
        if cluster is not None and set(ids) != set(data):
            raise InputError("cluster", f"must be of the systems of {argument}, {list(data)}; it is of {list(ids)}.")
        named = {name: (pair, ids[name]) for name, pair in data.items()}
    elif isinstance(data, tuple | list) and len(data) == 2 and (scores := systems_of(data[1])) is not None:
        named = {name: ((data[0], score), cluster) for name, score in scores.items()}
    else:
        return {NAMELESS: (data, cluster)}
    if not named:
        raise InputError(argument, "must map names of systems to their scores; it is empty.")
    return named


def systems_from(dev: Any, test: Any, folds: Any, pos_label: Any, cluster: Any, dev_cluster: Any) -> dict[Any, System]:
    """Return each system by its name."""
    tests = by_system("test", test, cluster)
    devs = dict.fromkeys(tests, (None, dev_cluster)) if dev is None else by_system("dev", dev, dev_cluster)
    if set(devs) != set(tests):
        raise InputError("dev and test", f"must be of the same systems; they are {list(devs)} and {list(tests)}.")
    return {
        name: system_of(devs[name][0], pair, folds, pos_label, ids, devs[name][1])
        for name, (pair, ids) in tests.items()
    }


def system_of(dev: Any, test: Any, folds: Any, pos_label: Any, cluster: Any = None, dev_cluster: Any = None) -> System:
    """Return the system of a development and a test set, or of a test set in folds."""
    tested = Examples.of(test, "test", pos_label, cluster)
    if (dev is None) == (folds is None):
        raise InputError("dev", "give a development set, or else folds of the test set to choose thresholds by.")
    if dev is None and dev_cluster is not None:
        raise InputError("dev_cluster", "there is no development set.", "Those of the test set, in folds, are cluster.")
    if dev is not None:
        development = Examples.of(dev, "dev", pos_label, dev_cluster)
        if development.same_as(tested):
            raise InputError(
                "dev and test",
                "are the same examples: a threshold that is chosen on the test set performs better "
                "there than it will elsewhere.",
                "Give other examples, or folds=ids to choose by cross-validation; the curve of such "
                "thresholds is bayesperf.curves.epc_a_posteriori.",
            )
        return System.without_folds(development, tested)
    column = encode(folds, "folds", fractions=True)
    checks.equal_lengths({"test": len(tested.score), "folds": len(column.codes)})
    labels = column.labels.tolist()
    if len(labels) < 2:
        raise InputError("folds", "there is only one, so no other examples to choose its threshold on.")
    others = []
    for i, label in enumerate(labels):
        rest = column.codes != i
        if len(np.unique(tested.positive[rest])) < 2:
            raise InputError(
                "folds", f"without fold {label!r} the rest hold one class only, and no threshold is chosen."
            )
        others.append(Examples(tested.positive[rest], tested.score[rest]).sorted())
    return System(tuple(others), tested, column.codes.copy(), labels, None)
