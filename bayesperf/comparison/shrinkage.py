"""Systems that share a population: each is drawn towards the mean of all, by as much as the data call for.

The estimates θ̂ of M systems are taken to be normal about their values, θ̂ | θ ~ N(θ, Σ), and the values to come from one
population, θ_m ~ N(μ, τ²), with μ flat and τ ~ HalfNormal(1). With V = Σ + τ²I,

    p(τ | θ̂) ∝ p(τ) |V|^−½ (1ᵀV⁻¹1)^−½ exp(−½ (θ̂ − μ̂1)ᵀ V⁻¹ (θ̂ − μ̂1)),    μ̂ = 1ᵀV⁻¹θ̂ / 1ᵀV⁻¹1,

and given τ all else is normal. In the basis of the eigenvectors of Σ, V is diagonal for every τ.

Where the systems come in families, they share a family's mean, which is one of a population: V = Σ + τ²A, where
A = (1 − ρ)I + ρZZᵀ, Z says of which family each system is, and ρ ~ U(0, 1) is the share of the variance that is between
families. In the coordinates A^−½θ̂ it is the model above, for each ρ.

θ is the metric on a scale on which its standard error hardly depends on its value: 2 arcsin √u of a position u between
two bounds, as Efron & Morris have it of proportions, the logarithm above one. Under Jeffreys' prior of a proportion its
posterior on this scale is the likelihood, too.

Of systems that were judged together all covariances of Σ are their mean, or that within families and that between: what
is expected of the sum of squares of θ̂ about their mean is the same. As they are, they mislead. An error that all share
is greater for some systems than for others; V⁻¹ takes it for what made them so, and moves μ̂ out of the estimates
(Peelle's puzzle; D'Agostini 1994). Like systems err alike and are as good as each other, as two settings of a learner
are; Σ would say so of their errors, τ²I would not of their values, and what differs between learners passes for error.
And they are estimates: of 50 systems and 200 examples V⁻¹ believes eigenvalues of a quarter of the true ones.

References
----------
Gelman, Hill & Yajima (2012), Why we (usually) don't have to worry about multiple comparisons, Journal of Research on
Educational Effectiveness 5. Gelman et al. (2013), Bayesian Data Analysis, section 5.4. Efron & Morris (1975), Data
analysis using Stein's estimator and its generalizations, Journal of the American Statistical Association 70, section 2.
D'Agostini (1994), On the use of the covariance matrix to fit correlated data, Nuclear Instruments and Methods A 346.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import hermite_e
from scipy import special

from bayesperf.core.arrays import Array, Codes, blocks
from bayesperf.distributions.base import Distribution

# Nodes of τ, and the greatest one.
_NODES, _MOST = 400, 8.0
# Nodes of an expectation over a normal score: of Beta distributions it is right to five digits or more.
_SCORES = 16
# Nodes of the share of the variance that is between families.
_SHARES = 16
# Maximum size of temporary arrays: they stay in the processor's cache.
_BLOCK = 2**17


class Population(NamedTuple):
    """Estimates of systems in the basis of the eigenvectors of their covariance.

    Attributes
    ----------
    estimates, variances, ones : array (M,)
        Uᵀθ̂, the eigenvalues of Σ, and Uᵀ1.
    basis : array (M, M), optional
        U; None if it is the identity, of independent systems.
    """

    estimates: Array
    variances: Array
    ones: Array
    basis: Array | None

    @classmethod
    def of(cls, estimates: Array, covariance: Array, ones: Array | None = None) -> Population:
        """Return the population of estimates (M,), with their variances (M,) or covariance (M, M).

        `ones` is what the mean of the population is multiplied by, 1 by default.
        """
        ones = np.ones(len(estimates)) if ones is None else ones
        if covariance.ndim == 1:
            return cls(estimates, covariance, ones, None)
        variances, basis = np.linalg.eigh(covariance)
        return cls(basis.T @ estimates, np.maximum(variances, 0), basis.T @ ones, basis)

    def steps(self) -> tuple[Array, Array]:
        """Return the ends of steps of τ, and the logarithms of what the steps add to the density of the estimates."""
        # Steps that are even up to the standard error of an estimate, and even in ln τ beyond.
        scale = float(np.sqrt(np.median(self.variances)))
        ends = scale * np.sinh(np.linspace(0, np.arcsinh(_MOST / scale), _NODES + 1))
        return ends, self.log_density((ends[1:] + ends[:-1]) / 2) + np.log(np.diff(ends))

    def log_density(self, tau: Array) -> Array:
        """Return the log posterior density at values of τ, up to a constant."""
        precision = 1 / (self.variances + tau[:, None] ** 2)
        weight, mean = self._mean(precision)
        residual = self.estimates - mean[:, None] * self.ones
        log_likelihood = 0.5 * (np.log(precision).sum(-1) - np.log(weight) - (precision * residual**2).sum(-1))
        return np.asarray(log_likelihood - tau**2 / 2)

    def _mean(self, precision: Array) -> tuple[Array, Array]:
        """Return 1ᵀV⁻¹1 and μ̂, given the eigenvalues of V⁻¹ (…, M)."""
        weight = (precision * self.ones**2).sum(-1)
        return weight, (precision * self.ones * self.estimates).sum(-1) / weight

    def draws(self, n: int, rng: np.random.Generator) -> Array:
        """Return n draws of the values of the systems, (n, M)."""
        ends, log_mass = self.steps()
        step = rng.choice(len(log_mass), n, p=special.softmax(log_mass))
        tau = ends[step] + rng.random(n) * np.diff(ends)[step]
        return np.concatenate([self._given(tau[part, None], rng) for part in blocks(n, len(self.ones), _BLOCK)])

    def _given(self, tau: Array, rng: np.random.Generator) -> Array:
        """Return a draw of the values of the systems for each of the values of τ, (n, M)."""
        weight, mean = self._mean(1 / (self.variances + tau**2))
        mu = (mean + rng.standard_normal(len(tau)) / np.sqrt(weight))[:, None]
        total = self.variances + tau**2
        centre = (tau**2 * self.estimates + self.variances * mu * self.ones) / total
        values = centre + np.sqrt(self.variances / total) * tau * rng.standard_normal(centre.shape)
        return values if self.basis is None else np.asarray(values @ self.basis.T)


class Families(NamedTuple):
    """The matrix A = (1 − ρ)I + ρZZᵀ of families, one for each ρ.

    Attributes
    ----------
    codes : array (M,)
        The family of each system.
    sizes : array (F,)
        How many systems each family has.
    """

    codes: Codes
    sizes: Codes

    @classmethod
    def of(cls, codes: Codes) -> Families:
        """Return the families of systems, of which the codes (M,) are the places."""
        return cls(codes, np.bincount(codes))

    def power(self, share: float, exponent: float, x: Array) -> Array:
        """Return A to a power, times the last axis of x (…, M): of its eigenvectors, those of families are even."""
        within, family = 1 - share, 1 - share + share * self.sizes
        mean = x @ (np.eye(len(self.sizes))[self.codes] / self.sizes)
        return np.asarray(x * within**exponent + (mean * (family**exponent - within**exponent))[..., self.codes])

    def log_determinant(self, share: float) -> float:
        """Return ln |A|."""
        within, family = 1 - share, 1 - share + share * self.sizes
        return float(((self.sizes - 1) * np.log(within) + np.log(family)).sum())

    def draws(self, estimates: Array, covariance: Array, n: int, rng: np.random.Generator) -> Array:
        """Return n draws of the values of the systems (n, M), of estimates with their variances or covariance."""
        covariance = np.diag(covariance) if covariance.ndim == 1 else covariance
        shares = (np.arange(_SHARES) + 0.5) / _SHARES
        each = [self._population(share, estimates, covariance) for share in shares]
        log_density = [
            special.logsumexp(population.steps()[1]) - self.log_determinant(share) / 2
            for share, population in zip(shares, each, strict=True)
        ]
        counts = rng.multinomial(n, special.softmax(log_density))
        drawn = [
            self.power(share, 0.5, population.draws(count, rng))
            for share, population, count in zip(shares, each, counts, strict=True)
            if count
        ]
        return rng.permutation(np.concatenate(drawn))

    def _population(self, share: float, estimates: Array, covariance: Array) -> Population:
        """Return the population of A^−½θ̂."""
        half = self.power(share, -0.5, covariance)
        ones = self.power(share, -0.5, np.ones(len(estimates)))
        return Population.of(self.power(share, -0.5, estimates), self.power(share, -0.5, half.T), ones)


# ── What the estimates are ──


def even_covariance(draws: Array, families: Codes | None = None) -> Array:
    """Return the covariance (M, M) of joint draws (n, M), with the mean of all pairs in place of each covariance.

    Of `families`, (M,), with that of the pairs within one, and that of the others; none is above the least variance.
    """
    covariance = np.cov(draws.T)
    least = np.diag(covariance).min()
    pairs = ~np.eye(len(covariance), dtype=bool)
    same = pairs if families is None else np.equal.outer(families, families)
    for alike in (pairs & same, pairs & ~same):
        covariance[alike] = min(covariance[alike].mean(), least) if alike.any() else 0
    return np.asarray(covariance)


def exact_moments(distribution: Distribution) -> tuple[Array, Array]:
    """Return means and variances (m,) on the scale of shrinkage, by Gauss and Hermite's quadrature.

    It is over normal scores, in which the quantiles on that scale are nearly linear.
    """
    scores, weights = hermite_e.hermegauss(_SCORES)
    values = stabilised(distribution.ppf(special.ndtr(scores)[None]), distribution.bounds)
    mean = values @ weights / weights.sum()
    return mean, (values - mean[:, None]) ** 2 @ weights / weights.sum()


def stabilised(x: Array, bounds: tuple[float, float]) -> Array:
    """Return a metric on a scale on which the standard error hardly depends on its value.

    Twice the arcsine of the root of the position between two bounds; the logarithm above one; else the metric itself.
    """
    low, high = bounds
    if np.isfinite(bounds).all():
        return np.asarray(2 * np.arcsin(np.sqrt(np.clip((x - low) / (high - low), 0, 1))))
    return np.log(np.maximum(x - low, np.finfo(float).tiny)) if np.isfinite(low) else x


def from_stabilised(x: Array, bounds: tuple[float, float]) -> Array:
    """Return values of a metric, given those on that scale; past its ends they turn back."""
    low, high = bounds
    if np.isfinite(bounds).all():
        return np.asarray((high + low) / 2 - (high - low) / 2 * np.cos(x))
    return np.asarray(low + np.exp(x)) if np.isfinite(low) else x
