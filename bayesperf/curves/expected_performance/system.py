"""The examples that thresholds are chosen on and tested on, their counts between thresholds, and the cells that follow.

There are a development and a test set, or a test set in folds. Cells are drawn at thresholds as chosen, or at
thresholds chosen anew in every draw. The population is drawn by the Bayesian bootstrap, or is a bootstrap resample.
Only the number of examples of a class between two thresholds matters, so weights are drawn for these counts and not for
examples: Dirichlet(1, …, 1) over examples is Dirichlet(counts) over their groups. Clusters are drawn as wholes: a
cluster has one weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.arrays import Array, Codes, Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import Held
from bayesperf.core.weights import alike, blocks_of_draws, cluster_weights, tallied
from bayesperf.curves.expected_performance.criteria import (
    Criterion,
    candidates,
    counts_at_thresholds,
    minimisers,
    thinned,
)
from bayesperf.curves.scored_systems import NAMELESS, Examples, clusters_of_examples, systems_of
from bayesperf.data.classifier_scores import Scores, labelled_scores
from bayesperf.data.label_encoding import encode
from bayesperf.distributions.drawing import gamma_masses

if TYPE_CHECKING:
    from bayesperf.curves.expected_performance.performance_curve import ExpectedPerformanceCurve


def examples_of(data: Any, name: str, pos_label: Any, cluster: Any) -> Examples:
    """Return the examples of a pair (labels, scores), checked; errors name the pair."""
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise InputTypeError(name, f"must be a pair of labels and scores, (y_true, y_score); it is {data!r:.60}.")
    try:
        positive, score = labelled_scores(data[0], data[1], pos_label)
    except InputError as error:
        raise type(error)(name, str(error)) from None
    return Examples(positive, score, clusters_of_examples(cluster, len(score), name))


def _may_be_the_same(one: Examples, other: Examples | None) -> bool:
    """Whether two have the same labels, and clusters, in the same order, as the same examples have."""
    return other is not None and all(
        np.array_equal(own, others) if own is not None and others is not None else own is others
        for own, others in ((one.positive, other.positive), (one.cluster, other.cluster))
    )


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


class ThresholdRule(NamedTuple):
    """A criterion, and the values of α at which it chooses a threshold."""

    criterion: Criterion
    alphas: Array


@dataclass(frozen=True, eq=False)
class System(Held):
    """Scores of one system: the scores that test thresholds, and the scores that choose them."""

    # The test set.
    test: Examples
    # The fold of each test example, (n,); 0 without folds.
    fold: Codes
    # Names of the folds; empty without folds.
    labels: list[Any]
    # The development set, which is the test set itself of a curve a posteriori; None with folds.
    development: Examples | None

    @classmethod
    def without_folds(cls, development: Examples, test: Examples) -> System:
        """Return the system whose thresholds are chosen on one set and tested on another, or the same."""
        return cls(test, np.zeros(len(test.score), dtype=np.intp), [], development)

    @cached_property
    def dev(self) -> list[Scores]:
        """The development scores of each fold, those of all others; without folds, a single set."""
        if self.development is not None:
            return [self.development.scores]
        others = (self.fold != i for i in range(len(self.labels)))
        return [Examples(self.test.positive[rest], self.test.score[rest]).scores for rest in others]

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
    elif isinstance(data, tuple | list) and len(data) == 2:
        named = {name: ((data[0], score), cluster) for name, score in systems_of(data[1]).items()}
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


def system_of(dev: Any, test: Any, folds: Any, pos_label: Any, cluster: Any, dev_cluster: Any) -> System:
    """Return the system of a development and a test set, or of a test set in folds."""
    tested = examples_of(test, "test", pos_label, cluster)
    if (dev is None) == (folds is None):
        raise InputError("dev", "give a development set, or else folds of the test set to choose thresholds by.")
    if dev is None and dev_cluster is not None:
        raise InputError("dev_cluster", "there is no development set.", "Those of the test set, in folds, are cluster.")
    if dev is not None:
        development = examples_of(dev, "dev", pos_label, dev_cluster)
        if all(map(np.array_equal, (development.positive, development.score), (tested.positive, tested.score))):
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
    for i, label in enumerate(labels):
        if len(np.unique(tested.positive[column.codes != i])) < 2:
            raise InputError(
                "folds", f"without fold {label!r} the rest hold one class only, and no threshold is chosen."
            )
    return System(tested, column.codes.copy(), labels, None)


# ── Draws of the cells ──

# How many numbers an array of draws may hold at once.
_AT_ONCE = 2**20


def drawn_cells(curve: ExpectedPerformanceCurve, rules: Sequence[ThresholdRule]) -> list[Array]:
    """Return draws of each system's cell probabilities (n, a, actual, predicted) at thresholds that rules choose."""
    systems = list(curve.parts.values())
    if curve.resample == "both":
        tests = [IntervalCounts.of(s.test, s.fold, s.drawn_cuts) for s in systems]
        choosing = [s.choosing_counts() for s in systems]
        fixed = None
    else:
        thresholds = [s.thresholds(rules) for s in systems]
        tests = [s.interval_counts(cuts) for s, cuts in zip(systems, thresholds, strict=True)]
        choosing = [[] for _ in systems]
        fixed = [table.positions(cuts) for table, cuts in zip(tests, thresholds, strict=True)]
    samples = _samples(systems, tests, choosing, curve)
    rng = np.random.default_rng(curve.random_seed)
    wide = sum(len(alphas) for _, alphas in rules)
    width = sum(sample.width for sample in samples) + 4 * len(tests[0].cuts) * wide
    blocks = []
    for n in blocks_of_draws(curve.n_draws, width, curve.progressbar, _AT_ONCE):
        drawn = {table: mass for sample in samples for table, mass in sample.draw(rng, n, curve.method)}
        positions = fixed or [_chosen_candidates(rules, [drawn[table] for table in dev]) for dev in choosing]
        cells = (cells_at_cuts(drawn[test], at) for test, at in zip(tests, positions, strict=True))
        blocks.append([each / each.sum((-2, -1), keepdims=True) for each in cells])
    return [np.concatenate(cells) for cells in zip(*blocks, strict=True)]


def _chosen_candidates(rules: Sequence[ThresholdRule], masses: Sequence[Array]) -> Codes:
    """Return which candidates (n, fold, a) are chosen on drawn development sets, a table for each fold."""
    cells = (cells_at_cuts(mass, np.arange(mass.shape[-1] - 1)[None, None]) for mass in masses)
    return np.stack([choose_candidates(rules, of_fold) for of_fold in cells], 1)


def _samples(
    systems: Sequence[System],
    tests: Sequence[IntervalCounts],
    choosing: Sequence[Sequence[IntervalCounts]],
    curve: ExpectedPerformanceCurve,
) -> list[ResampledTables]:
    """Return the samples of examples that are drawn: those that test thresholds, and those that choose them.

    Systems tested on the same examples share their sample, and so do those developed on the same. Folds of the test
    set are development sets as well, and so belong to its sample.
    """
    developed = [s.development for s in systems]
    shared = curve.paired and all(d is not None and _may_be_the_same(d, developed[0]) for d in developed)
    # The examples of each sample, and its tables: those that are tested, and those that choose.
    members: dict[tuple[str, int], tuple[Examples, list[IntervalCounts], list[IntervalCounts]]] = {}
    for i, (system, test, dev) in enumerate(zip(systems, tests, choosing, strict=True)):
        _, tested, by_folds = members.setdefault(("test", 0 if curve.paired else i), (system.test, [], []))
        tested.append(test)
        if system.development is None:
            by_folds.extend(dev)
        elif dev:
            members.setdefault(("dev", 0 if shared else i), (system.development, [], []))[2].extend(dev)
    return [
        ResampledTables.of(tested, choose, curve.prior, examples.cluster)
        for examples, tested, choose in members.values()
    ]


@dataclass(frozen=True, eq=False)
class ResampledTables:
    """Tables of the same examples, which one set of weights draws: those that belong together stay together."""

    # The tables; of the population, and then of data sets drawn from it.
    tables: Sequence[IntervalCounts]
    # How many are of the population.
    tested: int
    # Examples in each of u groups (1 for a cluster), and the weights of q pseudo-examples, (u + q,).
    weights: Array
    # u, how many groups; if they are clusters, the numbers of their examples, (u,).
    groups: int
    sizes: Counts | None
    # Matrices that sum draws of the groups to draws of each table, (size, u + q).
    sums: Sequence[Any]

    @classmethod
    def of(
        cls, tested: Sequence[IntervalCounts], choosing: Sequence[IntervalCounts], alpha: Array, cluster: Codes | None
    ) -> ResampledTables:
        """Return tables of a population, by which thresholds are tested, and of data sets, on which they are chosen.

        Pseudo-counts (actual, predicted) of the population belong to examples that score −∞ and ∞. Given the actual
        class, the pseudo-examples of two systems are independent, as in `bayesperf.compare`.
        """
        tables = [*tested, *choosing]
        codes = np.stack([table.codes for table in tables])
        if cluster is None:
            example, weights = alike(codes)
            codes, group, sizes = codes[:, example], np.arange(len(weights)), None
        else:
            sizes = np.bincount(cluster)
            group, weights = cluster, np.ones_like(sizes)
        pseudo_codes, pseudo_weights = _pseudo_examples(tested, alpha)
        pseudo = len(weights) + np.arange(len(pseudo_weights))
        sums = []
        for i, table in enumerate(tables):
            row, column = codes[i], group
            if i < len(tested):
                row, column = np.concatenate([row, pseudo_codes[i]]), np.concatenate([column, pseudo])
            inside = row >= 0
            shape = int(np.prod(table.shape)), len(weights) + len(pseudo)
            sums.append(tallied(row[inside], column[inside], shape))
        return cls(tables, len(tested), np.concatenate([weights, pseudo_weights]), len(weights), sizes, sums)

    @property
    def width(self) -> int:
        """How many numbers a draw takes."""
        return len(self.weights) + sum(int(np.prod(table.shape)) for table in self.tables)

    def draw(self, rng: np.random.Generator, n: int, method: str) -> Iterator[tuple[IntervalCounts, Array]]:
        """Yield every table with n draws of it, (n, class, fold, interval).

        By the Bayesian bootstrap a data set has the observed number of examples (or clusters), drawn from the
        population with replacement; by the bootstrap, population and data set are one resample.
        """
        size = round(self.weights[: self.groups].sum())
        if method == "bootstrap":
            population = rng.multinomial(size, self.weights / size, n).astype(float)
        else:
            population = self._population(rng, n)
        drawn = [population] * self.tested
        if self.tested < len(self.tables):
            drawn += [self._data_set(rng, population, size, method)] * (len(self.tables) - self.tested)
        for total, mass, table in zip(self.sums, drawn, self.tables, strict=True):
            yield table, (total @ mass.T).T.reshape(n, *table.shape)

    def _population(self, rng: np.random.Generator, n: int) -> Array:
        """Return weights of the groups and the pseudo-examples, (n, u + q), by the Bayesian bootstrap."""
        if self.sizes is None:
            return gamma_masses(rng, self.weights, (n, len(self.weights)))
        pseudo = self.weights[self.groups :]
        return np.hstack([cluster_weights(rng, self.sizes, n), gamma_masses(rng, pseudo, (n, len(pseudo)))])

    def _data_set(self, rng: np.random.Generator, population: Array, size: int, method: str) -> Array:
        """Return the numbers of examples of each group, (n, u + q), in data sets drawn from populations."""
        if method == "bootstrap":
            return population
        examples = population[:, : self.groups]
        numbers = rng.multinomial(size, examples / examples.sum(1, keepdims=True)).astype(float)
        return np.pad(numbers, ((0, 0), (0, population.shape[1] - self.groups)))


def _pseudo_examples(tables: Sequence[IntervalCounts], alpha: Array) -> tuple[Codes, Array]:
    """Return where pseudo-examples are in each table (t, q), and their weights (q,)."""
    if not tables or not alpha.any():
        return np.empty((len(tables), 0), np.intp), np.empty(0)
    of_class = alpha.sum(1, keepdims=True)
    share = np.divide(alpha, of_class, out=np.zeros((2, 2)), where=of_class > 0)
    # The class, and what each system calls the pseudo-example.
    weights = reduce(lambda joint, _: joint[..., None] * share.reshape(2, *[1] * (joint.ndim - 1), 2), tables,
                     of_class[:, 0])  # fmt: skip
    actual, *called = np.indices(weights.shape).reshape(weights.ndim, -1)
    codes = np.stack([table.ends()[actual, side] for table, side in zip(tables, called, strict=True)])
    some = weights.ravel() > 0
    return codes[:, some], weights.ravel()[some]
