"""Systems that share a population: each is drawn towards the mean of all, by as much as the data call for.

The estimates θ̂ of M systems, on a scale without bounds, are taken to be normal about their values, θ̂ | θ ~ N(θ, Σ), and
the values to come from one population, θ_m ~ N(μ, τ²), with μ flat and τ ~ HalfNormal(1). With V = Σ + τ²I,

    p(τ | θ̂) ∝ p(τ) |V|^−½ (1ᵀV⁻¹1)^−½ exp(−½ (θ̂ − μ̂1)ᵀ V⁻¹ (θ̂ − μ̂1)),    μ̂ = 1ᵀV⁻¹θ̂ / 1ᵀV⁻¹1,

and given τ all else is normal. In the basis of the eigenvectors of Σ, V is diagonal for every τ.

References
----------
Gelman, Hill & Yajima (2012), Why we (usually) don't have to worry about multiple comparisons, Journal of Research on
Educational Effectiveness 5. Gelman et al. (2013), Bayesian Data Analysis, section 5.4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import hermite_e
from scipy import special

from bayesperf.core.arrays import Array, blocks
from bayesperf.distributions.base import Distribution
from bayesperf.distributions.normal_scores import logit_between

# Nodes of τ, and the greatest one.
_NODES, _MOST = 400, 8.0
# Nodes of an expectation over a normal score: of Beta distributions it is right to five digits or more.
_SCORES = 16
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
    def of(cls, estimates: Array, covariance: Array) -> Population:
        """Return the population of estimates (M,), with their variances (M,) or covariance (M, M)."""
        if covariance.ndim == 1:
            return cls(estimates, covariance, np.ones(len(estimates)), None)
        variances, basis = np.linalg.eigh(covariance)
        return cls(basis.T @ estimates, np.maximum(variances, 0), basis.sum(0), basis)

    def tau(self) -> tuple[Array, Array, Array]:
        """Return nodes of τ, their probabilities, and the ends of the steps that they are the middles of."""
        # Steps that are even up to the standard error of an estimate, and even in ln τ beyond.
        scale = float(np.sqrt(np.median(self.variances)))
        ends = scale * np.sinh(np.linspace(0, np.arcsinh(_MOST / scale), _NODES + 1))
        nodes = (ends[1:] + ends[:-1]) / 2
        log_density = self.log_density(nodes) + np.log(np.diff(ends))
        return nodes, special.softmax(log_density), ends

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
        nodes, probability, ends = self.tau()
        step = rng.choice(len(nodes), n, p=probability)
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


def exact_moments(distribution: Distribution) -> tuple[Array, Array]:
    """Return means and variances (m,) on the free scale, by Gauss and Hermite's quadrature over normal scores.

    The logit of a rate is nearly linear in its normal score.
    """
    scores, weights = hermite_e.hermegauss(_SCORES)
    free = _to_free(distribution.ppf(special.ndtr(scores)[None]), distribution.bounds)
    mean = free @ weights / weights.sum()
    return mean, (free - mean[:, None]) ** 2 @ weights / weights.sum()


def drawn_moments(draws: Array, bounds: tuple[float, float], independent: bool) -> tuple[Array, Array]:
    """Return means (M,) on the free scale, and variances or, unless `independent`, covariances, of draws (n, M)."""
    free = _to_free(draws, bounds)
    return free.mean(0), free.var(0, ddof=1) if independent else np.cov(free.T)


def _to_free(x: Array, bounds: tuple[float, float]) -> Array:
    """Return the logit between two bounds, the logarithm above one, or else the metric itself."""
    if np.isfinite(bounds).all():
        return logit_between(x, bounds)
    return np.log(np.maximum(x - bounds[0], np.finfo(float).tiny)) if np.isfinite(bounds[0]) else x


def from_free(x: Array, bounds: tuple[float, float]) -> Array:
    """Return values of a metric, given those on its free scale."""
    low, high = bounds
    if np.isfinite(bounds).all():
        return np.asarray(low + (high - low) * special.expit(x))
    return np.asarray(low + np.exp(x)) if np.isfinite(low) else x
