"""Systems that share a population: each is shrunk towards similar ones, as strongly as the data suggest.

The estimates θ̂ of M systems are approximately normal about their values, θ̂_m | θ_m ~ N(θ_m, s_m²). The values come
from a mixture of an unknown number of normals:

    θ_m | z_m = k ~ N(μ_k, τ_k²),    z_m ~ Categorical(w),    w ~ Dirichlet(α/K, …, α/K),

with μ_k flat, of density 1/π on the scale, and τ_k ~ HalfNormal(0.3). Broken systems, a group of better ones, or one
outstanding system form normals of their own and do not widen the others. With one normal for all, one broken system in
fifty would leave the best of the others looking as good as it was lucky.

Gibbs chains alternate between the normals given the memberships, and the memberships given the normals. θ is integrated
out of both. For the systems of one normal, with V = s² + τ², W = Σ 1/V and m = Σ (θ̂/V) / W,

    p(τ | z, θ̂) ∝ p(τ) (Π V)^−½ W^−½ exp(−½ (Σ θ̂²/V − W m²)),    μ | τ, z, θ̂ ~ N(m, 1/W),

where the first is drawn on a grid. There are many short chains. They start with one normal or with several, cut at the
largest gaps between the estimates, soon forget how they started, and all take a step in one array operation.

Systems in families have weights w that depend on their family. All families share the components, so that a family
mostly uses one or two of them, and similar families use the same ones.

θ is the metric on a scale on which its standard error hardly depends on its value. For a position u between two bounds
this is 2 arcsin √u, as Efron & Morris use for proportions; above one bound it is the logarithm. Under Jeffreys' prior,
the posterior of a proportion on this scale equals the likelihood.

An error that all systems share, of variance c, says nothing about how they differ. As every μ_k is flat, the values are
drawn with variances s² − c, and one N(0, c) is added to all values of a draw. An error that only a family shares is a
term in the chains.

If systems were tested together, their mean covariance replaces all of them (or one mean within families and one
between): the expected sum of squares of θ̂ about their mean stays the same. Used as they are, the covariances mislead.
A shared error is greater for some systems than for others; V⁻¹ treats it as the cause of their differences, and moves μ
outside the estimates (Peelle's puzzle; D'Agostini 1994). Similar systems, such as two settings of one learner, err
alike and are equally good; Σ would say so about their errors but τ²I would not about their values, so that differences
between learners would pass for error. And they are estimates: with 50 systems and 200 examples V⁻¹ relies on
eigenvalues of a quarter of the true ones.

``validation/best_of_many.py`` measures how often intervals cover, also for populations that are not mixtures of
normals.

References
----------
Ishwaran & James (2001), Gibbs sampling methods for stick-breaking priors, Journal of the American Statistical
Association 96. Gelman, Hill & Yajima (2012), Why we (usually) don't have to worry about multiple comparisons, Journal
of Research on Educational Effectiveness 5. Efron & Morris (1975), Data analysis using Stein's estimator and its
generalizations, Journal of the American Statistical Association 70, section 2. D'Agostini (1994), On the use of the
covariance matrix to fit correlated data, Nuclear Instruments and Methods A 346.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial import hermite_e
from scipy import special

from bayesperf.core.arrays import Array, Codes, row_product
from bayesperf.distributions.base import Distribution

# The population: normals of the mixture (K), α of their weights, and the scale of their standard deviations.
_COMPONENTS, _CONCENTRATION, _SPREAD = 6, 2.0, 0.3
# The grid of standard deviations: its cells, and its largest value.
_CELLS, _GREATEST = 24, 3.0
# The chains: how many, how many sweeps are thrown away, and how many are kept at most: the first number, or the second
# over the number of systems if that is more. Where more draws are asked for, a sweep gives several.
_CHAINS, _WARM_UP, _KEPT = 50, 50, (50, 20_000)
# Nodes of an expectation over a normal score: of Beta distributions it is right to five digits or more.
_SCORES = 16


class Estimates(NamedTuple):
    """Estimates of systems on the scale of shrinkage, and the variances of their errors."""

    # θ̂, (M,).
    means: Array
    # Variance of each system's own error, (M,).
    variances: Array
    # Variance of the error that all systems share.
    common: float = 0.0
    # Variance of the error that the systems of a family share.
    of_family: float = 0.0
    # The family of each system, (M,).
    families: Codes | None = None

    def draws(self, n: int, rng: np.random.Generator) -> Array:
        """Return n draws of the values of the systems, (n, M), one chain after the other."""
        middle = (self.means.max() + self.means.min()) / 2
        # Where the scale has no ends, estimates may lie further apart than two proportions can.
        spacing = np.ptp(self.means) + 4 * np.sqrt(np.median(self.variances))
        unit = max(1.0, spacing / np.pi)
        scaled = self._replace(
            means=(self.means - middle) / unit, variances=self.variances / unit**2, of_family=self.of_family / unit**2
        )
        values = _chains(scaled, -(-n // _CHAINS), rng).reshape(-1, len(self.means))[:n]
        values *= unit
        values += middle
        values += np.sqrt(self.common) * rng.standard_normal((n, 1))
        return values


# ── The chains ──


class _Grid(NamedTuple):
    """Standard deviations τ (T,), their log prior, and 1/V and ln 1/V of each system (T, M)."""

    spreads: Array
    log_prior: Array
    precision: Array
    log_precision: Array

    @classmethod
    def of(cls, variances: Array) -> _Grid:
        # Steps that are even up to the standard error of an estimate, and even in ln τ beyond.
        scale = max(float(np.sqrt(np.median(variances))), 1e-4)
        ends = scale * np.sinh(np.linspace(0, np.arcsinh(_GREATEST / scale), _CELLS + 1))
        below = special.erf(ends / (_SPREAD * np.sqrt(2)))
        # Where both round to 1 there is a little more than nothing.
        log_prior = np.log(np.maximum(np.diff(below), np.finfo(float).tiny))
        spreads = (ends[1:] + ends[:-1]) / 2
        precision = 1 / (variances + spreads[:, None] ** 2)
        return cls(spreads, log_prior, precision, np.log(precision))


def _chains(estimates: Estimates, length: int, rng: np.random.Generator) -> Array:
    """Return draws of the values (chain, length, M), given estimates centred at 0."""
    grid, systems = _Grid.of(estimates.variances), len(estimates.means)
    codes = np.zeros(systems, int) if estimates.families is None else estimates.families
    families = codes.max() + 1
    members = np.eye(families)[codes]
    sweeps = min(length, max(_KEPT[0], _KEPT[1] // systems))
    each = -(-length // sweeps)
    component = _starts(estimates.means)
    shared = np.sqrt(estimates.of_family) * rng.standard_normal((_CHAINS, families))
    values = np.empty((_CHAINS, -(-length // each) * each, systems))
    for sweep in range(-_WARM_UP, values.shape[1] // each):
        own = estimates.means - shared[:, codes]
        belongs = np.equal(component, np.arange(_COMPONENTS)[:, None, None]).astype(float)
        mean, cell = _components(own, belongs, grid, rng)
        with np.errstate(divide="ignore"):  # A weight may be below the smallest number.
            weights = np.log(rng.standard_gamma(row_product(belongs, members) + _CONCENTRATION / _COMPONENTS))
        component = _memberships(own, weights if families == 1 else weights[..., codes], mean, cell, grid, rng)
        mu, tau = (np.take_along_axis(of.T, component, 1) for of in (mean, grid.spreads[cell]))
        if estimates.of_family:
            shared = _shared_errors(estimates, mu, tau, members, rng)
        if sweep >= 0:
            kept = values[:, sweep * each : (sweep + 1) * each]
            _fill_values(kept, estimates.means - shared[:, codes], estimates.variances, mu, tau, rng)
    return values[:, :length]


def _starts(means: Array) -> Codes:
    """Return a component for each system (chain, M): sorted estimates are cut at the largest gaps, or nowhere."""
    order = np.sort(means)
    largest = np.argsort(-np.diff(order), kind="stable")[: _COMPONENTS - 1]
    cuts = (order[1:] + order[:-1])[largest] / 2
    above = np.cumsum(means > cuts[:, None], 0)
    starts = np.concatenate([np.zeros((1, len(means)), int), above])
    return np.asarray(starts[np.arange(_CHAINS) % len(starts)])


def _components(own: Array, belongs: Array, grid: _Grid, rng: np.random.Generator) -> tuple[Array, Codes]:
    """Return a draw of each component's mean and of the grid cell of its standard deviation (K, chain).

    `own` (chain, M) holds the estimates, and the memberships (K, chain, M) say which component each belongs to. An
    empty component is drawn from the prior.
    """
    sums = np.empty((len(belongs), 4, len(own), len(grid.spreads)))
    # One component at a time, as its arrays stay in the cache.
    for members, of_one in zip(belongs, sums, strict=True):
        weighted = members * own
        of_one[:2] = [row_product(members, of.T) for of in (grid.precision, grid.log_precision)]
        of_one[2:] = [row_product(values, grid.precision.T) for values in (weighted, weighted * own)]
    precision, log_precision, first, second = sums.swapaxes(0, 1)
    empty = precision[..., 0] == 0
    precision[empty] = 1
    centre = first / precision
    exponent = log_precision - np.log(precision) - second + precision * centre**2
    cell = _drawn_positions(np.moveaxis(grid.log_prior + exponent / 2, -1, 0), rng)
    centre, precision = (np.take_along_axis(of, cell[..., None], -1)[..., 0] for of in (centre, precision))
    mean = centre + rng.standard_normal(cell.shape) / np.sqrt(precision)
    return np.where(empty, np.pi * (rng.random(cell.shape) - 0.5), mean), cell


def _memberships(own: Array, weights: Array, mean: Array, cell: Codes, grid: _Grid, rng: np.random.Generator) -> Codes:
    """Return a draw of each system's component (chain, M), given log weights (K, chain, M or 1) and the components."""
    log_weight = np.empty((len(mean), *own.shape))
    # One component at a time, as its arrays stay in the cache.
    for of_one, of_weight, centre, place in zip(log_weight, weights, mean, cell, strict=True):
        np.subtract(own, centre[:, None], out=of_one)
        of_one *= of_one
        of_one *= grid.precision[place]
        np.subtract(grid.log_precision[place], of_one, out=of_one)
        of_one *= 0.5
        of_one += of_weight
    return _drawn_positions(log_weight, rng)


def _shared_errors(estimates: Estimates, mu: Array, tau: Array, members: Array, rng: np.random.Generator) -> Array:
    """Return a draw of the error that each family shares (chain, F), given mean and spread about it (chain, M)."""
    precision = 1 / (estimates.variances + tau**2)
    total = row_product(precision, members) + 1 / estimates.of_family
    centre = row_product(precision * (estimates.means - mu), members) / total
    return np.asarray(centre + rng.standard_normal(total.shape) / np.sqrt(total))


def _fill_values(values: Array, own: Array, variances: Array, mu: Array, tau: Array, rng: np.random.Generator) -> None:
    """Fill `values` (chain, length, M) with draws, given the mean and the spread of each system's component."""
    total = variances + tau**2
    centre = (tau**2 * own + variances * mu) / total
    spread = tau * np.sqrt(variances / total)
    for place in range(values.shape[1]):
        values[:, place] = centre + spread * rng.standard_normal(own.shape)


def _drawn_positions(log_weight: Array, rng: np.random.Generator) -> Codes:
    """Return positions along the first axis, drawn with probabilities given as logarithms, up to a constant."""
    up_to = log_weight - log_weight.max(0)
    np.exp(up_to, out=up_to)
    # NumPy's cumulative sum along the first axis takes four times as long.
    for before, after in pairwise(up_to):
        after += before
    return np.asarray((up_to <= up_to[-1] * rng.random(up_to.shape[1:])).sum(0))


# ── What the estimates are ──


def estimates_of_draws(draws: Array, units: float = np.inf, families: Codes | None = None) -> Estimates:
    """Return the estimates of systems tested together, from joint draws (n, M).

    All pairs share an error with the mean of their covariances. With `families` (M,), pairs of two families share the
    mean between families, and pairs in one family the mean within families. No shared variance exceeds the smallest
    variance. The variances are estimated from `units` examples or clusters, and from the draws. Each is shrunk to their
    mean by the proportion of their spread that is chance: a system whose variance is too small by chance would be
    shrunk too little, and the best of many would often be such a system.
    """
    covariance = np.cov(draws.T)
    pairs = ~np.eye(len(covariance), dtype=bool)
    variances = np.diag(covariance)
    mean, spread = variances.mean(), variances.var(ddof=1)
    chance = mean**2 * (2 / (units - 1) + 2 / (len(draws) - 1))
    share = min(1.0, chance / spread) if spread > 0 else 1.0
    variances = share * mean + (1 - share) * variances
    same = np.zeros_like(pairs) if families is None else pairs & np.equal.outer(families, families)
    between = min(covariance[pairs & ~same].mean(), variances.min())
    within = min(covariance[same].mean(), variances.min()) if same.any() else between
    of_family = max(within - between, 0.0)
    # A negative covariance does not come from a shared error; differences vary all the more.
    return Estimates(draws.mean(0), variances - between - of_family, max(between, 0.0), of_family, families)


def exact_moments(distribution: Distribution) -> tuple[Array, Array]:
    """Return means and variances (m,) on the scale of shrinkage, by Gauss–Hermite quadrature.

    It integrates over normal scores, in which the quantiles on that scale are nearly linear.
    """
    scores, weights = hermite_e.hermegauss(_SCORES)
    values = stabilised(distribution.ppf(special.ndtr(scores)[None]), distribution.bounds)
    mean = values @ weights / weights.sum()
    return mean, (values - mean[:, None]) ** 2 @ weights / weights.sum()


def stabilised(x: Array, bounds: tuple[float, float]) -> Array:
    """Return a metric on a scale where the standard error hardly depends on its value.

    This is twice the arcsine of the root of the position between two bounds; the logarithm above one bound; else the
    metric itself.
    """
    low, high = bounds
    if np.isfinite(bounds).all():
        return np.asarray(2 * np.arcsin(np.sqrt(np.clip((x - low) / (high - low), 0, 1))))
    return np.log(np.maximum(x - low, np.finfo(float).tiny)) if np.isfinite(low) else x


def from_stabilised(x: Array, bounds: tuple[float, float]) -> Array:
    """Return values of a metric, given values on that scale; beyond its ends they turn back."""
    low, high = bounds
    if np.isfinite(bounds).all():
        values = np.cos(x)
        values *= (low - high) / 2
        values += (high + low) / 2
        return values
    return np.asarray(low + np.exp(x)) if np.isfinite(low) else x
