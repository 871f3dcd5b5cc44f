"""The posterior of true cells if some labels were replaced at random, by exact and independent draws.

With probability d the recorded label of an example is the true one; otherwise it is drawn independently of the truth: r
with probability ν_r, where d + Σν = 1. Among the examples with one prediction z (a column), a proportion s_t is truly
t, so that

    P(recorded = r | z) = ν_r + d·s_r,    s ~ Dirichlet(α).

Among the C_r examples recorded as r, let b_r have a replaced label. Given b, s is Dirichlet(α + C − b), and

    P(b) ∝ Π_r binom(C_r, b_r) ν_r^b_r d^(C_r − b_r) Γ(α_r + C_r − b_r) / Γ(Σα + Σ(C − b)).

Except for the last factor, the b_r are independent, with tables of a few hundred probabilities each. The logarithm of
that factor is a concave function of Σb, and lies below its tangent, which is a power that the tables can include. Draws
from the tables are accepted with the ratio of the two: nearly always, if few labels are replaced. The sum over all b,
which is the likelihood of ν and d, is a convolution of the tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import fft, special

from bayesperf.core.arrays import Array, Codes
from bayesperf.distributions.drawing import dirichlet_shares

# How close to the mean the tangent touches, in Poisson standard deviations: it decides how many draws are rejected, and
# nothing else.
_CLOSE, _MOST_STEPS = 0.3, 30
# Half the length of a table, in standard deviations and in addition.
_DEVIATIONS, _MORE = 10, 30


class Replacement(NamedTuple):
    """How labels are replaced: d, and ν (K,)."""

    kept: float
    replaced: Array


class Tables(NamedTuple):
    """Distributions of the number of replaced labels in each cell with examples."""

    # Probabilities of the numbers from `least` on, (c, w).
    probability: Array
    # Smallest number of each table, (c,).
    least: Array
    # Logarithm of the sum of the weights from which the probabilities come, (c,).
    log_total: Array
    # Slope of the tangent, ψ(Σα + n − touched), (columns,).
    tangent: Array
    # The sum of b at which the tangent touches, (columns,).
    touched: Array


@dataclass(frozen=True)
class RecordedCounts:
    """Examples by recorded label and column."""

    # Numbers of examples, by recorded label and column, (K, Z).
    counts: Array
    # Dirichlet weights α of the true labels in each column, all above 0, (K, Z).
    weights: Array

    @cached_property
    def _cells(self) -> tuple[Codes, Codes]:
        """Row and column of the cells with examples, column by column."""
        column, row = np.nonzero(self.counts.T)
        return row, column

    @cached_property
    def _columns(self) -> tuple[Codes, Codes, Codes]:
        """The columns with examples, the first cell of each, and the column of each cell."""
        return np.unique(self._cells[1], return_index=True, return_inverse=True)

    @cached_property
    def _weight_of_columns(self) -> Array:
        """Σα + n of the columns with examples."""
        return np.asarray((self.counts + self.weights).sum(0)[self._columns[0]])

    def _sums(self, values: Array) -> Array:
        """Sum values of cells (…, c) over the cells of each column with examples."""
        return np.asarray(np.add.reduceat(values, self._columns[1], axis=-1))

    def tables(self, noise: Replacement) -> Tables:
        """Return the tables of the cells with examples.

        The tangent touches at the mean of Σb under the tables, which themselves depend on it; Newton's method finds it.
        """
        low, high = np.zeros(len(self._columns[0])), self._sums(self.counts[self._cells])
        touched = (1 - noise.kept) * high
        for _ in range(_MOST_STEPS):
            tables = self._tables_touching(touched, noise)
            number = tables.least[:, None] + np.arange(tables.probability.shape[1])
            mean = (tables.probability * number).sum(-1)
            variance = self._sums((tables.probability * (number - mean[:, None]) ** 2).sum(-1))
            above = self._sums(mean) - touched
            if (np.abs(above) <= _CLOSE * np.sqrt(self._weight_of_columns - touched)).all():
                break
            low, high = np.where(above > 0, touched, low), np.where(above > 0, high, touched)
            step = above / (1 + variance * special.polygamma(1, self._weight_of_columns - touched))
            # Within what is known to enclose it.
            inside = (touched + step > low) & (touched + step < high)
            touched = np.where(inside, touched + step, (low + high) / 2)
        return tables

    def _tables_touching(self, touched: Array, noise: Replacement) -> Tables:
        """Return the tables for tangents that touch at given sums of b, (columns,)."""
        counts, weights = self.counts[self._cells], self.weights[self._cells]
        of_cell, replaced = self._columns[2], noise.replaced[self._cells[0]]
        tangent = special.digamma(self._weight_of_columns - touched)
        with np.errstate(divide="ignore"):
            rate = np.where(replaced > 0, replaced * np.exp(tangent[of_cell]) / np.float64(noise.kept), 0)
        mode = _mode(counts, weights, rate)
        reach = _DEVIATIONS * np.sqrt(mode) + _MORE
        least, most = np.floor(np.maximum(mode - reach, 0)), np.minimum(np.ceil(mode + reach), counts)
        number = least[:, None] + np.arange(int((most - least).max(initial=0)) + 1)
        inside, number = number <= most[:, None], np.minimum(number, counts[:, None])
        rest = counts[:, None] - number
        log_weight = (
            -special.gammaln(number + 1) - special.gammaln(rest + 1) + special.gammaln(weights[:, None] + rest)
            + special.xlogy(number, replaced[:, None]) + special.xlogy(rest, noise.kept)
            - rest * tangent[of_cell, None]
        )  # fmt: skip
        log_weight[~inside] = -np.inf
        highest = log_weight.max(-1, keepdims=True)
        weight = np.exp(log_weight - highest)
        total = weight.sum(-1, keepdims=True)
        return Tables(weight / total, least, (highest + np.log(total))[:, 0], tangent, touched)

    def log_likelihood(self, noise: Replacement) -> float:
        """Return the logarithm of the probability of the counts, up to a constant that does not depend on the noise."""
        if not len(self._cells[0]):
            return 0.0
        tables = self.tables(noise)
        longest = int(np.bincount(self._columns[2]).max()) * tables.probability.shape[1]
        size = fft.next_fast_len(longest, real=True)
        spectrum = np.multiply.reduceat(fft.rfft(tables.probability, size), self._columns[1], axis=0)
        probability = np.maximum(fft.irfft(spectrum, size), 0)
        total = self._sums(tables.least)[:, None] + np.arange(size)
        # Beyond the largest possible sum there is only rounding.
        possible = total <= self._sums(self.counts[self._cells])[:, None]
        below = self._below_tangent(tables, np.where(possible, total, tables.touched[:, None]).T).T
        expected = (probability * np.exp(below) * possible).sum(-1)
        of_columns = np.log(expected) + self._at_touched(tables)
        return float(tables.log_total.sum() + of_columns.sum())

    def draw_shares(self, noise: Replacement, n: int, rng: np.random.Generator) -> Array:
        """Return n draws of the proportions of the true labels in each column, (n, K, Z)."""
        concentration = np.tile(self.weights, (n, 1, 1))
        if len(self._cells[0]):
            concentration[:, *self._cells] += self.counts[self._cells] - self._draw_replaced(noise, n, rng)
        return dirichlet_shares(rng, concentration, concentration.shape, axis=1)

    def _draw_replaced(self, noise: Replacement, n: int, rng: np.random.Generator) -> Array:
        """Return n draws of the numbers of replaced labels in the cells with examples, (n, c)."""
        tables = self.tables(noise)
        cell = np.arange(len(tables.least))
        # One increasing sequence for all cells: cell i has the numbers between i and i + 1.
        cumulative = np.cumsum(tables.probability, -1)
        cumulative = (cumulative / cumulative[:, -1:] + cell[:, None]).ravel()
        drawn = np.empty((n, len(cell)))
        rejected = np.ones((n, len(tables.touched)), dtype=bool)
        while rejected.any():
            of_cells = np.nonzero(rejected[:, self._columns[2]])
            place = np.searchsorted(cumulative, rng.random(len(of_cells[0])) + of_cells[1], side="right")
            width = tables.probability.shape[1]
            drawn[of_cells] = tables.least[of_cells[1]] + np.minimum(place - width * of_cells[1], width - 1)
            below = self._below_tangent(tables, self._sums(drawn))
            rejected &= -rng.standard_exponential(below.shape) > below
        return drawn

    def _below_tangent(self, tables: Tables, total: Array) -> Array:
        """Return how far −ln Γ(Σα + n − total) is below its tangent, for sums of b by column, (…, columns)."""
        rest = self._weight_of_columns - total
        values = rest * tables.tangent - special.gammaln(rest)
        touching = self._weight_of_columns - tables.touched
        return np.asarray(values - (touching * tables.tangent - special.gammaln(touching)))

    def _at_touched(self, tables: Tables) -> Array:
        """Return −ln Γ(Σα + n − touched), with the power included in the tables, minus the prior's value."""
        touching = self._weight_of_columns - tables.touched
        seen = self.counts.sum(0)[self._columns[0]]
        return np.asarray((seen - tables.touched) * tables.tangent - special.gammaln(touching))


def _mode(counts: Array, weights: Array, rate: Array) -> Array:
    """Return the most probable b: x = C − b with x·rate = (C − x)(α + x), where the rate is a Poisson's."""
    finite = np.where(np.isfinite(rate), rate, 0)
    half = (weights + finite - counts) / 2
    root = np.sqrt(half**2 + counts * weights)
    right = np.where(half > 0, counts * weights / (half + root), root - half)
    return np.asarray(np.where(np.isfinite(rate), np.clip(counts - right, 0, counts), counts))
