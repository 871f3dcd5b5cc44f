"""The posterior of the beta-binomial model of groups, as arrays: population mean p and dispersion ρ, by quadrature.

Group f has k of n successes, k ~ BetaBinomial(n, κp, κ(1 − p)), κ = 1/ρ − 1. The group's own rate is integrated out; ρ
is the correlation of two examples in a group. p ~ Beta and ρ ~ Beta; the likelihood may be raised to a power.

The integrand is smooth in both logits and decays exponentially at their ends, so the trapezoidal rule converges
exponentially once its nodes are where the mass is. A sinh spreads them, because p is narrow where ρ is small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, Codes
from bayesperf.distributions.drawing import stratified
from bayesperf.distributions.tabulated import Axis, Tabulated, refinement

# Nodes of each parameter; more of them if every second one gives marginals that differ by more than this.
_NODES, _RESOLUTION = (65, 129, 257), 1e-3
# Rows computed at once: what they need stays in the processor's cache.
_ROWS = 16
# The search for the mass of ρ: nodes of a scan, scans that narrow it down, and Newton steps to the mode of p given ρ.
_SCAN_NODES, _SCANS, _NEWTON_STEPS = 65, 3, 30
# Densities below e^−38 of the maximum are neglected.
_LOG_NEGLIGIBLE = 38.0
# Logits of ρ beyond ±600 are not looked at: e^−600 is still a number when it is divided by others.
_MAX_LOGIT = 600.0
# Steps that the distance of two nodes is divided into when one parameter is drawn given the other.
_STEPS = 4


@dataclass(frozen=True)
class BetaBinomial:
    """The joint posterior of m rows."""

    # Nodes of p and of ρ.
    mean_axis: Axis
    dispersion_axis: Axis
    # Log density of both logits at the nodes, up to a constant, (m, nodes of p, nodes of ρ).
    log_density: Array

    @property
    def log_lengths(self) -> tuple[Array, Array]:
        """Logarithms of the quadrature weights of the nodes of p and of ρ, which broadcast with the log density."""
        _, of_p, of_rho = self.log_density.shape
        return self.mean_axis.nodes(of_p)[1][:, :, None], self.dispersion_axis.nodes(of_rho)[1][:, None, :]

    @cached_property
    def mean(self) -> Tabulated:
        """The marginal of p."""
        return Tabulated.of(self.mean_axis, special.logsumexp(self.log_density + self.log_lengths[1], axis=2))

    @cached_property
    def dispersion(self) -> Tabulated:
        """The marginal of ρ."""
        return Tabulated.of(self.dispersion_axis, special.logsumexp(self.log_density + self.log_lengths[0], axis=1))

    @cached_property
    def weights(self) -> Array:
        """Probabilities of the nodes, (m, nodes of p, nodes of ρ)."""
        log_weight = self.log_density + sum(self.log_lengths)
        weight = np.exp(log_weight - log_weight.max((1, 2), keepdims=True))
        return weight / weight.sum((1, 2), keepdims=True)

    def take(self, index: Codes | slice) -> Self:
        return replace(
            self,
            mean_axis=self.mean_axis.take(index),
            dispersion_axis=self.dispersion_axis.take(index),
            log_density=self.log_density[index],
        )

    def resolution_error(self) -> float:
        """Return the largest change in one parameter's marginal if only every second node of the other is used.

        With all nodes the error is about the square of this.
        """
        w = self.weights
        changes = (2 * w[:, ::2].sum(1) - w.sum(1), 2 * w[:, :, ::2].sum(2) - w.sum(2))
        return max(float(np.abs(change).sum(-1).max()) for change in changes)

    def draws_of_mean(self, n: int, generators: Sequence[np.random.Generator]) -> Array:
        """Return n draws of the logit of p, (m, n), from one generator for each row.

        They are the middles of n equally probable strata, in random order, so means over them are almost exact.
        """
        return self.mean.logits(np.stack([stratified(n, rng) for rng in generators]))

    def draws_of_dispersion(self, logit_p: Array, generators: Sequence[np.random.Generator]) -> Array:
        """Return a draw of the logit of ρ for each draw of the logit of p, (m, n), stratified likewise: joint draws."""
        n = logit_p.shape[1]
        each = enumerate(generators)
        return np.stack([self._conditional(i, logit_p[i], stratified(n, rng), rng.random((n,))) for i, rng in each])

    def _conditional(self, row: int, logit_p: Array, q: Array, coin: Array) -> Array:
        """Return quantiles of the logit of ρ given p, for one row; p is rounded at random to a node next to it."""
        _, of_p, of_rho = self.log_density.shape
        finer_p, finer_rho = refinement(of_p, _STEPS)[0], refinement(of_rho, _STEPS)[0]
        axes = self.mean_axis, self.dispersion_axis
        p_axis, axis = (each.take(slice(row, row + 1)).refined(_STEPS) for each in axes)
        log_density = finer_p @ self.log_density[row] @ finer_rho.T
        v = axis.positions(len(finer_rho))[0]
        density = np.exp(log_density - log_density.max(1, keepdims=True)) * axis.pace(v)
        cumulative = np.cumsum(density[:, 1:] + density[:, :-1], 1)
        cumulative = np.hstack([np.zeros((len(finer_p), 1)), cumulative / cumulative[:, -1:]])
        node = np.clip(np.floor(p_axis.reached(logit_p)[0] + coin).astype(int), 0, len(finer_p) - 1)
        # One search serves all nodes: the masses of the i-th, shifted, lie between 2i and 2i + 1.
        flat = (cumulative + 2 * np.arange(len(finer_p))[:, None]).ravel()
        cell = np.clip(np.searchsorted(flat, q + 2 * node) - 1 - node * len(finer_rho), 0, len(finer_rho) - 2)
        low, high = cumulative[node, cell], cumulative[node, cell + 1]
        return np.asarray(axis.logits(v[cell] + axis.step[0] * (q - low) / (high - low))[0])


def posterior(
    successes: Array,
    trials: Array,
    dispersion: tuple[float, float],
    mean: tuple[float, float] = (1.0, 1.0),
    power: float = 1.0,
) -> BetaBinomial:
    """Return the posterior of m rows of groups.

    Parameters
    ----------
    successes, trials : array (m, groups)
        Counts; a group without trials contributes nothing.
    dispersion, mean : tuple of two float
        The Betas of ρ and of p.
    power : float
        Exponent of the likelihood.
    """
    blocks = [slice(i, i + _ROWS) for i in range(0, len(trials), _ROWS)]
    for nodes in _NODES:
        integrands = [_integrand(Rows.of(successes[b], trials[b], dispersion, mean, power), nodes) for b in blocks]
        of_p, of_rho, log_density = zip(*integrands, strict=True)
        axes = [Axis(*map(np.concatenate, zip(*axis, strict=True))) for axis in (of_p, of_rho)]
        model = BetaBinomial(axes[0], axes[1], np.concatenate(log_density))
        if model.resolution_error() < _RESOLUTION:
            break
    return model


class DistinctCounts(NamedTuple):
    """The distinct counts among the groups of a row, and how often each occurs, (m, counts).

    Values that depend only on the count are then computed once.
    """

    counts: Array
    frequency: Array

    @classmethod
    def of(cls, counts: Array) -> Self:
        ordered = np.sort(counts, -1)
        place = np.cumsum(np.diff(ordered, prepend=-1) > 0, -1) - 1
        distinct = cls(*np.zeros((2, len(counts), place.max() + 1)))
        np.put_along_axis(distinct.counts, place, ordered, -1)
        np.add.at(distinct.frequency, (np.arange(len(counts))[:, None], place), 1)
        return distinct

    def log_rising_ratio(self, x: Array) -> Array:
        """Return Σ log[x(x + 1)…(x + k − 1)/x^k] over the counts k of a row, for x (m, …)."""
        total, base = np.zeros(x.shape), _stirling_rest(x)
        for column in zip(self.counts.T, self.frequency.T, strict=True):
            k, frequency = (values.reshape(-1, *(1,) * (x.ndim - 1)) for values in column)
            total += frequency * ((x + k - 0.5) * np.log1p(k / x) - k + _stirling_rest(x + k) - base)
        return total


def _stirling_rest(x: Array) -> Array:
    """Return log Γ(x) − [(x − ½) log x − x + ½ log 2π].

    Its differences keep the digits that differences of log Γ lose at large x.
    """
    inverse, below = 1 / np.maximum(x, 10.0), x < 10
    square = inverse * inverse
    rest: Array = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    small = x[below]
    rest[below] = special.gammaln(small) - (small - 0.5) * np.log(small) + small - 0.5 * np.log(2 * np.pi)
    return rest


@dataclass(frozen=True)
class Rows:
    """m rows of groups with their priors, and the posterior log density of the logits of p and ρ."""

    successes: Array
    trials: Array
    distinct: tuple[DistinctCounts, DistinctCounts, DistinctCounts]
    dispersion: tuple[float, float]
    mean: tuple[float, float]
    power: float

    @classmethod
    def of(
        cls, successes: Array, trials: Array, dispersion: tuple[float, float], mean: tuple[float, float], power: float
    ) -> Self:
        distinct = DistinctCounts.of(successes), DistinctCounts.of(trials - successes), DistinctCounts.of(trials)
        return cls(successes, trials, distinct, dispersion, mean, power)

    def log_density(self, logit_p: Array, logit_rho: Array) -> Array:
        """Return the log density at logits that broadcast to (m, …), up to a constant.

        It is written as the binomial's log density plus a term that vanishes as ρ → 0, so that no large numbers are
        subtracted.
        """
        log_p, log_q, log_rho, log_rest = (-np.logaddexp(0, s * t) for t in (logit_p, logit_rho) for s in (-1, 1))
        shape = (-1, *(1,) * (logit_p.ndim - 1))
        a = self.mean[0] + self.power * self.successes.sum(-1).reshape(shape)
        b = self.mean[1] + self.power * (self.trials - self.successes).sum(-1).reshape(shape)
        kappa = np.exp(-logit_rho)
        successes, failures, trials = self.distinct
        overdispersion = successes.log_rising_ratio(kappa * np.exp(log_p))
        overdispersion += failures.log_rising_ratio(kappa * np.exp(log_q))
        overdispersion -= trials.log_rising_ratio(kappa)
        prior = self.dispersion[0] * log_rho + self.dispersion[1] * log_rest
        return a * log_p + b * log_q + self.power * overdispersion + prior

    def effective_counts(self, logit_rho: Array) -> tuple[Array, Array]:
        """Return (a, b) such that Beta(a, b) is roughly the posterior of p given ρ, for logits of ρ (m, n).

        A group of n examples with correlation ρ is worth n/(1 + (n − 1)ρ) independent ones.
        """
        trials, right = self.trials[:, :, None], self.successes[:, :, None]
        weight = self.power / (1 + np.maximum(trials - 1, 0) * special.expit(logit_rho)[:, None, :])
        return self.mean[0] + (weight * right).sum(1), self.mean[1] + (weight * (trials - right)).sum(1)


class LaplaceApproximation(NamedTuple):
    """An approximate posterior at logits of ρ, (m, n)."""

    # Logits of ρ.
    logit: Array
    # Given ρ, p is about Beta(a, b).
    a: Array
    b: Array
    # Mode of the logit of p given ρ, and its standard deviation.
    mode: Array
    width: Array
    # Log density of the logit of ρ, minus its maximum.
    log_mass: Array

    @classmethod
    def of(cls, rows: Rows, logit: Array) -> Self:
        """Return the approximation; bounded Newton steps lead from the effective counts' mode to the mode of p."""
        a, b = rows.effective_counts(logit)
        mode, width = np.log(a / b), np.sqrt(1 / a + 1 / b)
        for _ in range(_NEWTON_STEPS):
            around = mode[..., None] + 0.1 * width[..., None] * np.array([-1, 0, 1])
            before, here, after = np.moveaxis(rows.log_density(around, logit[..., None]), -1, 0)
            curvature = (2 * here - before - after) / 0.01
            step = np.clip((after - before) / 0.2 / np.maximum(curvature, 0.01), -3, 3)
            mode, width = mode + width * step, width / np.sqrt(np.maximum(curvature, 0.1))
            if np.abs(step).max() < 0.3:
                break
        log_mass = here + np.log(width)
        return cls(logit, a, b, mode, width, log_mass - log_mass.max(-1, keepdims=True))

    def range_with_mass(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return the lowest of some values and the highest of others, (m, n) each, over the range of ρ with mass."""
        there = self.log_mass > -_LOG_NEGLIGIBLE
        lowest = np.where(there, low, np.inf).min(-1, keepdims=True)
        return lowest, np.where(there, high, -np.inf).max(-1, keepdims=True)


def _integrand(rows: Rows, nodes: int) -> tuple[Axis, Axis, Array]:
    """Return the axes of p and of ρ, with nodes where the mass is, and the log density at the nodes."""
    rough = _approximation(rows)
    mass, step = np.exp(rough.log_mass), rough.logit[:, 1:2] - rough.logit[:, :1]
    # The standard deviation of a normal density with this mass and height.
    width = step * mass.sum(-1, keepdims=True) / np.sqrt(2 * np.pi)
    peak = np.take_along_axis(rough.logit, mass.argmax(-1)[:, None], -1)
    ends = rough.logit[:, :1], rough.logit[:, -1:]
    of_rho = Axis.between(*ends, peak, 2 * np.minimum(width, 1), nodes)

    # How far the log density of p may fall from its mode before it is negligible.
    fall = np.maximum(_LOG_NEGLIGIBLE + rough.log_mass, 0)
    reach = np.sqrt(2 * fall) * rough.width
    ends = rough.range_with_mass(rough.mode - fall / rough.a - reach, rough.mode + fall / rough.b + reach)
    # p is narrowest where ρ is small: where 1 % of its mass begins.
    start = (mass.cumsum(-1) > 0.01 * mass.sum(-1, keepdims=True)).argmax(-1)[:, None]
    centre, scale = (np.take_along_axis(values, start, -1) for values in (rough.mode, rough.width))
    of_p = Axis.between(*ends, centre, scale, nodes)
    p, rho = of_p.nodes(nodes)[0], of_rho.nodes(nodes)[0]
    return of_p, of_rho, rows.log_density(p[:, :, None], rho[:, None, :])


def _approximation(rows: Rows) -> LaplaceApproximation:
    """Return the approximation at equidistant logits of ρ, over the range that has mass.

    The first scan is as wide as the tails of the prior, starting from where the data put ρ.
    """
    c, d = rows.dispersion
    examples = 1 + rows.trials.sum(-1, keepdims=True)
    low = np.maximum(np.minimum(np.log(c / d), -np.log(examples)) - 9 - _LOG_NEGLIGIBLE / c, -_MAX_LOGIT)
    high = np.full_like(low, min(max(np.log(c / d), 0) + 9 + _LOG_NEGLIGIBLE / d, _MAX_LOGIT))
    for _ in range(_SCANS):
        rough = LaplaceApproximation.of(rows, low + (high - low) * np.linspace(0, 1, _SCAN_NODES))
        step = (high - low) / (_SCAN_NODES - 1)
        low, high = rough.range_with_mass(rough.logit - step, rough.logit + step)
    return rough
