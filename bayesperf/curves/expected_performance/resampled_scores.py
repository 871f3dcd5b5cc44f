"""Draws of what lies between thresholds: of the examples that test them, and of those that choose them.

The population is drawn by the Bayesian bootstrap, or is a bootstrap resample. Only how many examples of a class lie
between two thresholds matters, so weights are drawn for those counts and not for examples: Dirichlet(1, …, 1) over
examples is Dirichlet(counts) over their groups. Clusters are drawn as wholes: a cluster has one weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bayesperf.core.arrays import Array, Codes
from bayesperf.core.weights import alike
from bayesperf.curves.expected_performance.interval_counts import IntervalCounts
from bayesperf.distributions.drawing import gamma_masses


@dataclass(frozen=True, eq=False)
class ResampledTables:
    """Tables of the same examples, which one set of weights draws: those that belong together stay together.

    Attributes
    ----------
    tables : sequence of IntervalCounts
        The tables; of the population, and then of data sets drawn from it.
    tested : int
        How many are of the population.
    weights : ndarray (u + q,)
        Examples in each of u groups (1 for a cluster), and the weights of q pseudo-examples.
    groups : int
        u.
    sums : sequence of sparse arrays (size, u + q)
        Matrices that sum draws of the groups to draws of each table.
    """

    tables: Sequence[IntervalCounts]
    tested: int
    weights: Array
    groups: int
    sums: Sequence[Any]

    @classmethod
    def of(
        cls, tested: Sequence[IntervalCounts], choosing: Sequence[IntervalCounts], alpha: Array, cluster: Codes | None
    ) -> ResampledTables:
        """Return tables of a population and of data sets from it.

        Parameters
        ----------
        tested, choosing : sequence of IntervalCounts
            Tables of the population, by which thresholds are tested; and of data sets, on which they are chosen.
        alpha : ndarray (actual, predicted)
            Pseudo-counts of the population, of examples that score −∞ and ∞. Given the actual class, the
            pseudo-examples of two systems are independent, as in `bayesperf.compare`.
        cluster : ndarray of int (n,), optional
            Clusters of the examples.
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
            sums.append(csr_array((np.ones(inside.sum()), (row[inside], column[inside])), shape=shape))
        return cls(tables, len(tested), np.concatenate([weights, pseudo_weights]), len(weights), sums)

    @property
    def width(self) -> int:
        """How many numbers a draw takes."""
        return len(self.weights) + sum(int(np.prod(table.shape)) for table in self.tables)

    def draw(self, rng: np.random.Generator, n: int, method: str) -> list[Array]:
        """Return n draws of every table, (n, class, fold, interval) each.

        By the Bayesian bootstrap a data set has as many examples (or clusters) as were observed, drawn from the
        population with replacement; by the bootstrap population and data set are one resample.
        """
        size = round(self.weights[: self.groups].sum())
        if method == "bootstrap":
            population = rng.multinomial(size, self.weights / size, n).astype(float)
        else:
            population = gamma_masses(rng, self.weights, (n, len(self.weights)))
        drawn = [population] * self.tested
        if self.tested < len(self.tables):
            drawn += [self._data_set(rng, population, size, method)] * (len(self.tables) - self.tested)
        return [
            (total @ mass.T).T.reshape(n, *table.shape)
            for total, mass, table in zip(self.sums, drawn, self.tables, strict=True)
        ]

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
