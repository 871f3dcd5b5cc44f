"""Distributions of metrics of two classes, as functions of the prevalence and both error rates, by quadrature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from bayesperf.core.arrays import Array, Booleans, Codes, blocks
from bayesperf.core.fields import Applied, applied, by_name
from bayesperf.distributions.beta import Beta, weighted_mean_sd
from bayesperf.distributions.function_of_two_betas import FunctionOfTwoBetas, by_kind, mean_variance_of
from bayesperf.distributions.normal_scores import NormalScores, RoughlyKnown
from bayesperf.distributions.quadrature import beta_nodes, gauss_jacobi
from bayesperf.distributions.quantiles import invert, weighted_quantile
from bayesperf.metrics.exact_forms import FunctionOfRates, cells_of_rates

# Number of nodes of the prevalence, if its uncertainty contributes no more than half as much to the metric's as the
# uncertainty of the rates does: for many examples, for fewer than `_FEW` of a class, and for these among at least
# `_RARE` times as many others, whose rate hardly smoothes the distributions at the nodes.
_NODES, _NODES_OF_FEW, _FEW, _NODES_OF_RARE, _RARE = 10, 24, 10, 96, 100
# The largest multiple of them, twice the ratio of both, that is used if it contributes more.
_MOST = 64
# Number of nodes of each rate for the moments: with Jacobi polynomials, of which metrics need few, even for rates near
# 0 or 1, where densities are infinite; and the number for Betas whose parameters are at least `_MANY`, which need
# fewer.
_NODES_OF_RATES, _NODES_OF_MANY, _MANY = 20, 14, 10
# Number of components that are evaluated at once.
_BLOCK = 2048


@dataclass(frozen=True)
class RatesAtPrevalence(FunctionOfTwoBetas):
    """The distribution of a metric at fixed prevalences, a function of the fnr (inner) and the fpr (outer)."""

    # Prevalences, (m, 1).
    prevalence: Array
    # The metric as a function of the rates.
    rates: FunctionOfRates
    # The metric as a function of tp, fn, fp and tn.
    of_cells: Applied

    @classmethod
    def of(
        cls,
        errors: tuple[Beta, Beta],
        prevalence: Array,
        rates: FunctionOfRates,
        of_cells: Applied,
        bounds: tuple[float, float],
        better: int,
    ) -> Self:
        """Return the distributions for an fnr and an fpr and prevalences (m, 1)."""
        # A class without any examples has no rate.
        prevalence = np.clip(prevalence, 1e-300, 1 - 2**-53)
        form = rates.at_prevalence(prevalence, better)
        value = applied(value_of_cells, of_cells, prevalence)
        return cls(*errors, form, value, bounds, prevalence, rates, of_cells)

    def take(self, index: Codes | slice) -> Self:
        errors = self.inner.take(index), self.outer.take(index)
        better = -1 if self.form.increasing else 1
        return self.of(errors, self.prevalence[index], self.rates, self.of_cells, self.bounds, better)

    def parameters(self) -> Array:
        return np.hstack([super().parameters(), self.prevalence])

    @property
    def nodes(self) -> int:
        return 32

    def mean_variance(self) -> tuple[Array, Array]:
        """Return means and variances, (m,)."""
        moments = np.empty((2, self.size))
        for many, rows, part in by_kind(self, self.least >= _MANY):
            moments[:, rows] = mean_variance_of(*part.grid(_NODES_OF_MANY if many else _NODES_OF_RATES))
        return moments[0], moments[1]

    def inner_mass(self, threshold: Array, below: bool) -> Array:
        betas, rows = self.inner.distinct
        mass = betas.tables.cdf(rows, threshold.reshape(len(rows), -1)).reshape(threshold.shape)
        return mass if below else 1 - mass


@by_name
def value_of_cells(of_cells: Applied, prevalence: Array, *rates: Array) -> Array:
    """Return a function of the cells computed from prevalences and rates."""
    return np.asarray(of_cells(*cells_of_rates(prevalence[..., None], *rates)))


@dataclass(frozen=True)
class Mixture(RoughlyKnown):
    """Mixtures, over the prevalence, of the distributions at fixed prevalences."""

    # The components of all m mixtures, one mixture after the other.
    components: RatesAtPrevalence
    # Their weights, (components,).
    weights: Array
    # Position of the first component of each mixture, and the number of all components, (m + 1,).
    starts: Codes
    method: ClassVar[str] = "quadrature"
    chunk: ClassVar[int] = 64

    @property
    def size(self) -> int:
        return len(self.starts) - 1

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Ends of the support."""
        return self.components.bounds

    def take(self, index: Codes | slice) -> Self:
        rows = np.arange(self.size)[index]
        parts = [np.arange(self.starts[row], self.starts[row + 1]) for row in rows]
        every = np.concatenate(parts)
        starts = np.cumsum([0, *map(len, parts)])
        return replace(self, components=self.components.take(every), weights=self.weights[every], starts=starts)

    def parameters(self) -> Array:
        # The rates are the same in all components of a mixture; the prevalence's nodes follow from the ends.
        first, last = self.components.parameters()[self.starts[:-1]], self.components.prevalence[self.starts[1:] - 1]
        return np.hstack([first, last, self.weights[self.starts[:-1], None], np.diff(self.starts)[:, None]])

    def one_peak(self) -> Booleans:
        return np.logical_and.reduceat(self.components.one_peak(), self.starts[:-1])

    def cdf(self, x: Array) -> Array:
        return self._probability(self._mean(lambda part, x: [part.cdf(x)], x)[0], x, 0)

    def sf(self, x: Array) -> Array:
        return self._probability(self._mean(lambda part, x: [part.sf(x)], x)[0], x, 1)

    def logpdf(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self._mean(lambda part, x: [part.pdf(x)], x)[0])

    def cdf_logpdf(self, x: Array) -> tuple[Array, Array]:
        def both(part: RatesAtPrevalence, x: Array) -> list[Array]:
            cdf, logpdf = part.cdf_logpdf(x)
            return [cdf, np.exp(logpdf)]

        cdf, pdf = self._mean(both, x)
        with np.errstate(divide="ignore"):
            return self._probability(cdf, x, 0), np.log(pdf)

    def _probability(self, mean: Array, x: Array, first: float) -> Array:
        """Return probabilities that are exactly `first` and 1 − `first` beyond the bounds, despite rounding errors."""
        low, high = self.bounds
        return np.where(x <= low, first, np.where(x >= high, 1 - first, np.clip(mean, 0, 1)))

    def _mean(self, function: Callable[[RatesAtPrevalence, Array], list[Array]], x: Array) -> list[Array]:
        """Return the weighted means of a function of the components over each mixture, evaluated in blocks."""
        x = np.repeat(np.broadcast_to(x, (self.size, x.shape[-1])), np.diff(self.starts), 0)
        parts = [function(part, x[rows]) for rows, part in self._blocks()]
        every = (np.concatenate(values) for values in zip(*parts, strict=True))
        return [np.add.reduceat(self.weights[:, None] * values, self.starts[:-1]) for values in every]

    def _blocks(self) -> Iterator[tuple[slice, RatesAtPrevalence]]:
        if len(self.weights) <= _BLOCK:
            yield slice(None), self.components
            return
        for rows in blocks(len(self.weights), 1, _BLOCK):
            yield rows, self.components.take(rows)

    def ppf(self, q: Array) -> Array:
        q = np.broadcast_to(q, (self.size, q.shape[-1]))
        x = invert(self, q, self.guess(q))
        return np.where(q <= 0, self.bounds[0], np.where(q >= 1, self.bounds[1], x))

    def quantiles_of_few(self, q: Array) -> Array:
        values, weights = self.components.points(11)
        weights = weights * self.weights[:, None]
        return np.concatenate([
            weighted_quantile(values[a:b].reshape(1, -1), weights[a:b].reshape(1, -1), q[i : i + 1])
            for i, (a, b) in enumerate(pairwise(self.starts))
        ])  # fmt: skip

    @cached_property
    def rough(self) -> NormalScores:

        def cdf(x: Array) -> Array:
            return self._mean(lambda part, x: [part.rough_cdf(x)], x)[0]

        return NormalScores.of(cdf, *self._moments(FunctionOfTwoBetas.logit_mean_variance), self.bounds)

    def mean_sd(self) -> tuple[Array, Array]:
        return self._moments(RatesAtPrevalence.mean_variance)

    def _moments(self, function: Callable[[RatesAtPrevalence], tuple[Array, Array]]) -> tuple[Array, Array]:
        """Return means and standard deviations of a quantity from the means and variances of the components."""
        moments = [function(part) for _, part in self._blocks()]
        means, variances = (np.concatenate(each) for each in zip(*moments, strict=True))
        mean = np.add.reduceat(self.weights * means, self.starts[:-1])
        apart = (means - np.repeat(mean, np.diff(self.starts))) ** 2
        return mean, np.sqrt(np.add.reduceat(self.weights * (variances + apart), self.starts[:-1]))


def over_prevalence(prevalence: Beta, at_prevalence: Callable[[Array, Codes], RatesAtPrevalence]) -> Mixture | None:
    """Return the distributions of a metric whose prevalence has a Beta distribution.

    `at_prevalence` makes the n components from prevalences (n, 1) and their rows (n,). None if the rates contribute so
    little beside the prevalence (as with 10⁹ examples) that there is nothing between its nodes: an integral over it
    would be wrong, and slow.
    """
    rows = np.arange(prevalence.size)
    nodes, _, weights = beta_nodes(prevalence.a, prevalence.b, 17)
    rough = at_prevalence(nodes.reshape(-1, 1), np.repeat(rows, nodes.shape[-1]))
    parts = (rough.take(slice(start, start + _BLOCK)) for start in range(0, rough.size, _BLOCK))
    moments = np.concatenate([np.stack(weighted_mean_sd(*part.points(9))) for part in parts], 1)
    mean, sd = (each.reshape(nodes.shape) for each in moments)
    apart = np.sqrt((weights * (mean - (weights * mean).sum(-1, keepdims=True)) ** 2).sum(-1))
    ratio = apart / np.maximum((weights * sd).sum(-1), 1e-300)
    if (2 * ratio > _MOST).any():
        return None
    rarer, other = (extreme(prevalence.a, prevalence.b)[:, 0] for extreme in (np.minimum, np.maximum))
    base = np.select([rarer >= _FEW, other < _RARE * rarer], [_NODES, _NODES_OF_FEW], _NODES_OF_RARE)
    counts = base * 2 ** np.ceil(np.log2(np.maximum(2 * ratio, 1))).astype(int)
    every: list[tuple[Array, Array]] = [(nodes, weights)] * len(rows)
    for count in np.unique(counts):
        same = np.flatnonzero(counts == count)
        x_of, _, weights_of = gauss_jacobi(prevalence.a[same], prevalence.b[same], int(count))
        for row, x, weight in zip(same.tolist(), x_of, weights_of, strict=True):
            every[row] = x, weight
    x, weights = (np.concatenate([parts[i] for parts in every]) for i in (0, 1))
    return Mixture(at_prevalence(x[:, None], np.repeat(rows, counts)), weights, np.cumsum([0, *counts]))
