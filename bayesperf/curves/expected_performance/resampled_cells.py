"""Draws of the cells of systems, at thresholds as chosen or at thresholds chosen anew in every draw.

The population is drawn by the Bayesian bootstrap, or is a bootstrap resample. Only the number of examples of a class
between two thresholds matters, so weights are drawn for these counts and not for examples: Dirichlet(1, …, 1) over
examples is Dirichlet(counts) over their groups. Clusters are drawn as wholes: a cluster has one weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesperf.core.arrays import Array, Codes
from bayesperf.core.weights import alike, blocks_of_draws, tallied
from bayesperf.curves.expected_performance.system import (
    Examples,
    IntervalCounts,
    System,
    ThresholdRule,
    cell_probabilities,
    cells_at_cuts,
    choose_candidates,
)
from bayesperf.distributions.drawing import gamma_masses

if TYPE_CHECKING:
    from bayesperf.curves.expected_performance.performance_curve import ExpectedPerformanceCurve

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
        blocks.append([cell_probabilities(drawn[test], at) for test, at in zip(tests, positions, strict=True)])
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
    shared = curve.paired and all(d is not None and d.alike(developed[0]) for d in developed)
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
    # u, how many groups.
    groups: int
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
            codes, group = codes[:, example], np.arange(len(weights))
        else:
            group, weights = cluster, np.ones(cluster.max() + 1, np.int64)
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
        return cls(tables, len(tested), np.concatenate([weights, pseudo_weights]), len(weights), sums)

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
            population = gamma_masses(rng, self.weights, (n, len(self.weights)))
        drawn = [population] * self.tested
        if self.tested < len(self.tables):
            drawn += [self._data_set(rng, population, size, method)] * (len(self.tables) - self.tested)
        for total, mass, table in zip(self.sums, drawn, self.tables, strict=True):
            yield table, (total @ mass.T).T.reshape(n, *table.shape)

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
