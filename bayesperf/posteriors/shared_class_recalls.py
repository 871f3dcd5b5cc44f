"""Parameters shared by the recalls of all classes: their mean, its slope on class size, and their dispersion.

Class i has n_i examples, of which x_i are predicted right: x_i ~ Binomial(n_i, r_i), r_i ~ Beta(κm_i, κ(1 − m_i)), κ =
1/ρ − 1, logit m_i = logit m + βs_i. Here s_i is the logarithm of the class size, centred (`centred_log_sizes`), so that
m is the mean recall of a class of middle size. If classes are equally large, all s_i are 0, and β drops out.

Draws are made by importance resampling. Given ρ, n_i examples are worth about n_i/(1 + (n_i − 1)ρ) independent ones,
and m and β follow a logistic regression, whose posterior is about normal. The proposal for m and β is Student's
distribution around its mode; the proposal for ρ has the mass that Laplace's approximation gives it there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy import special

from bayesperf.core.arrays import Array, Codes, blocks
from bayesperf.distributions.drawing import interpolated, resampled, stepwise, with_mass

# Nodes of the logit of ρ, scans that narrow down the range of its mass, and how far its log density falls there.
_NODES, _SCANS, _FALL = 65, 3, 12.0
# The smallest logit of ρ: at dispersion 1e-10 recalls are equal, and log-gamma functions have lost few digits.
_LEAST_LOGIT = -23.0
# Newton steps to the mode of the logistic regression, and the longest of them.
_NEWTON_STEPS, _LONGEST = 20, 2.0
# Degrees of freedom of the proposals of m and β.
_FREEDOM = 5.0
# The smallest weight of an outcome: products of tiny proportions underflow to 0.
_LEAST_WEIGHT = 1e-300


class SharedRecalls(NamedTuple):
    """n draws of the shared parameters of one matrix's recalls: logits of m and ρ, and β, (n,) each."""

    logit_mean: Array
    slope: Array
    logit_dispersion: Array

    def take(self, index: Codes | slice) -> Self:
        """Return some of the draws."""
        return type(self)(*(part[index] for part in self))

    def logits(self, log_sizes: Array) -> Array:
        """Return the logits of m_i, (n, K), for centred log sizes (K,)."""
        return self.logit_mean[:, None] + self.slope[:, None] * log_sizes


def centred_log_sizes(totals: Array) -> Array:
    """Return s_i for class sizes n_i (…, K): log(n_i + 1), minus its mean; a class may be empty.

    Examples
    --------
    >>> centred_log_sizes(np.array([0, 9, 99])).round(2)
    array([-2.3,  0. ,  2.3])
    """
    logs = np.log1p(totals)
    return np.asarray(logs - logs.mean(-1, keepdims=True))


def draws_of_recalls(
    right: Array,
    totals: Array,
    n: int,
    rng: np.random.Generator,
    mean: tuple[float, float],
    slope: tuple[float, float],
    dispersion: tuple[float, float],
) -> SharedRecalls:
    """Return n draws, some of them equal, given the numbers of right predictions and of examples (K,) of each class.

    `mean` and `dispersion` are the Betas of m and of ρ; `slope` holds mean and standard deviation of the normal prior
    of β.
    """
    classes = _Classes.of(right, totals, mean, slope, dispersion)
    rough = _approximation(classes)
    logit_rho, log_proposal = stepwise(rough.logit_rho, rough.log_mass, n, rng)
    mode, root = (interpolated(values, rough.logit_rho, logit_rho) for values in (rough.mode, rough.root))
    z = rng.standard_t(_FREEDOM, (n, 2))
    drawn = mode + np.einsum("nij,nj->ni", root, z)
    log_proposal -= (_FREEDOM + 1) / 2 * np.log1p(z**2 / _FREEDOM).sum(-1) + np.log(root[:, 0, 0] * root[:, 1, 1])
    recalls = SharedRecalls(drawn[:, 0], drawn[:, 1], logit_rho)
    log_density = [classes.log_density(recalls.take(block)) for block in blocks(n, len(classes.totals))]
    return recalls.take(resampled(np.concatenate(log_density) - log_proposal, rng))


@dataclass(frozen=True)
class _Classes:
    """The distinct classes, how often each occurs, and the priors."""

    right: Array
    totals: Array
    log_sizes: Array
    frequency: Codes
    mean: tuple[float, float]
    slope: tuple[float, float]
    dispersion: tuple[float, float]

    @classmethod
    def of(cls, right: Array, totals: Array, *priors: tuple[float, float]) -> Self:
        (totals, sizes, right), frequency = np.unique(
            [totals, centred_log_sizes(totals), right], axis=1, return_counts=True
        )
        return cls(right, totals, sizes, frequency.astype(float), *priors)

    @cached_property
    def by_size(self) -> tuple[Codes, Array]:
        """The first class of each size, and the number of classes of that size."""
        first = np.flatnonzero(np.diff(self.totals, prepend=-1))
        return first, np.add.reduceat(self.frequency, first)

    def log_density(self, drawn: SharedRecalls) -> Array:
        """Return the log density of the logits of m and ρ and of β, (n,), up to a constant."""
        kappa, logit = np.exp(-drawn.logit_dispersion)[:, None], drawn.logits(self.log_sizes)
        first, of_size = self.by_size
        likelihood = (special.gammaln(kappa) - special.gammaln(kappa + self.totals[first])) @ of_size
        for count, sign in ((self.right, 1), (self.totals - self.right, -1)):
            weight = np.maximum(kappa * special.expit(sign * logit), _LEAST_WEIGHT)
            likelihood += special.gammaln(weight + count) @ self.frequency
            likelihood -= special.gammaln(weight[:, first]) @ of_size
        (a, b), (centre, width), (c, d) = self.mean, self.slope, self.dispersion
        prior = a * special.log_expit(drawn.logit_mean) + b * special.log_expit(-drawn.logit_mean)
        prior += c * special.log_expit(drawn.logit_dispersion) + d * special.log_expit(-drawn.logit_dispersion)
        return np.asarray(likelihood + prior - ((drawn.slope - centre) / width) ** 2 / 2)


class _Approximation(NamedTuple):
    """An approximate posterior: logits of ρ (k,), log mass, mode, and a root of the variance of (logit m, β) there."""

    logit_rho: Array
    log_mass: Array
    mode: Array
    root: Array


def _approximation(classes: _Classes) -> _Approximation:
    """Return the approximation at equidistant logits of ρ, over the range that has mass."""
    c, d = classes.dispersion
    low, high = _LEAST_LOGIT, max(np.log(c / d), 0.0) + 9 + _FALL / d
    for _ in range(_SCANS):
        logit_rho = np.linspace(low, high, _NODES)
        mode, precision = _regressions(classes, np.asarray(special.expit(logit_rho)))
        root = np.linalg.cholesky(np.linalg.inv(precision))
        log_mass = classes.log_density(SharedRecalls(mode[:, 0], mode[:, 1], logit_rho)) + np.log(
            root[:, 0, 0] * root[:, 1, 1]
        )
        low, high = with_mass(logit_rho, log_mass, _FALL)
    return _Approximation(logit_rho, log_mass, mode, root)


def _regressions(classes: _Classes, rho: Array) -> tuple[Array, Array]:
    """Return the mode (k, 2) and the precision (k, 2, 2) of (logit m, β) at each ρ (k,), for effective examples."""
    (a, b), (centre, width) = classes.mean, classes.slope
    weight = classes.frequency / (1 + np.maximum(classes.totals - 1, 0) * rho[:, None])
    design = np.stack([np.ones_like(classes.log_sizes), classes.log_sizes])
    right, totals = (weight * values for values in (classes.right, classes.totals))
    share = (right.sum(-1) + a) / (totals.sum(-1) + a + b)
    mode = np.stack([special.logit(share), np.full_like(share, centre)], -1)
    for _ in range(_NEWTON_STEPS):
        p, p_mean = special.expit(mode @ design), special.expit(mode[:, 0])
        gradient = (right - totals * p) @ design.T
        gradient += np.stack([a - (a + b) * p_mean, (centre - mode[:, 1]) / width**2], -1)
        precision = np.einsum("kc,ic,jc->kij", totals * p * (1 - p), design, design)
        precision += np.stack([(a + b) * p_mean * (1 - p_mean), np.full_like(p_mean, width**-2)], -1)[:, None] * np.eye(
            2
        )
        step = np.clip(np.linalg.solve(precision, gradient[..., None])[..., 0], -_LONGEST, _LONGEST)
        mode = mode + step
        if np.abs(step).max() < 1e-6:
            break
    return mode, precision
