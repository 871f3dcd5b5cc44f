"""The true classes in strata of votes: a logit model that the strata share.

Examples of stratum s have the votes s_v, and Y_st of the verified ones have class t. In each stratum

    p(· | s) ~ Dirichlet(κ m_s),   m_s(t) ∝ exp η_st,
    η_st = a_t + Σ_v u_vst (b_v + c_vl + β_vt − γ_v (ℓ_t − mean ℓ)) + Σ_{v<w} u_vst u_wst d_vw + Σ_v δ_vst.

A vote for a class speaks for it: u_vst = [t = s_v]. A score, whose vote is one of its bins, speaks for the second of
two classes with a weight that rises from 0 in the lowest bin to 1 in the highest, in proportion to the median score of
the bin, and for the first class with the rest; δ_vst, for the second class, is the bin's deviation from this line.

a_t is the popularity of a class; b_v the quality of a voter, c_vl its difference in level l of the strata, if there are
levels, and β_vt its difference for class t; γ_v says whether a voter's errors fall on popular classes; and d_vw how
much less two votes for one class say than their sum, because voters err together. ℓ_t is the log proportion of class t
among the examples on which all voters agree (with scores: in proportion to the smallest u). η is linear in these
parameters x: η = X x.

The posterior given x and κ is p(· | s) ~ Dirichlet(κ m_s + Y_s). Draws of (x, κ) come from importance sampling. For
each of a few spreads τ of β and precisions k, Newton's method finds the mode of the multinomial logit model in which
n_s verified examples count as n_s (k + 1)/(k + n_s), which is what a Dirichlet–multinomial of κ = k makes of them.
Draws of multivariate t distributions about the modes are weighted by posterior over proposal, all proposals taken
together (the balance heuristic of Veach & Guibas 1995, Optimally combining sampling techniques), and resampled.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import linalg, special
from scipy.sparse import csr_array, hstack

from bayesperf.core.arrays import Array, Codes, Counts, blocks, row_product
from bayesperf.core.errors import ConvergenceWarning, warn
from bayesperf.core.weights import tallied

# Mean and standard deviation of the priors; to the mean of b is added the log of the other classes' number.
_POPULARITY_SD, _LEVEL_SD = 1.0, 2.0
_SKILL = (1.75, 1.5)
_OVERLAP = (-0.5, 1.2)
_SLOPE = (0.3, 0.4)
# Standard deviations of β, equally probable, and the Beta prior of 1/(1 + κ).
_CLASS_SKILL_SDS = (0.15, 0.4, 0.8, 1.5)
DISPERSION = (1.0, 9.0)

# The proposals: precisions k, degrees of freedom, and how much wider than the curvature says.
_PRECISIONS, _FREEDOM, _WIDER = (8.0, 60.0, 500.0, 4000.0), 8, 1.15
# Draws of each round, the part of them from all proposals alike, and independent draws that are enough, or too few.
_ROUNDS, _ALIKE = (800, 1600, 2400, 2400, 4800, 4800), 0.1
_ENOUGH, _TOO_FEW = 800, 100
# Newton's method.
_STEPS, _LEAST_STEP, _CONVERGED = 100, 1e-9, 1e-9
_LEAST = 1e-290
_BLOCK = 2**21


class VoteModel(NamedTuple):
    """The logit model of some strata."""

    # X, a row for each stratum and class, (S·K, P).
    design: csr_array
    # Y, (S, K).
    verified: Counts
    # Prior means of the parameters, (P,).
    mean: Array
    # Their prior standard deviations, for each τ, (T, P).
    sds: Array

    def seen(self) -> VoteModel:
        """Return the model of the strata that have verified examples."""
        some = self.verified.any(1)
        rows = np.flatnonzero(np.repeat(some, self.verified.shape[1]))
        return self._replace(design=self.design[rows], verified=self.verified[some])

    def class_shares(self, parameters: Array) -> Array:
        """Return m, (S, K, n), of parameters (n, P)."""
        shares = (self.design @ parameters.T).reshape(*self.verified.shape, -1)
        shares -= shares.max(1, keepdims=True)
        np.exp(shares, out=shares)
        shares /= shares.sum(1, keepdims=True)
        return np.asarray(shares)


class ModelDraws(NamedTuple):
    """Draws of the parameters, (n, P), and of κ, (n,)."""

    parameters: Array
    precision: Array


def vote_model(
    votes: Codes, counts: Counts, verified: Counts, levels: Codes, bins: tuple[tuple[float, ...], ...] = ()
) -> VoteModel:
    """Return the model of strata, from the fields of `labels.voter_cells.Strata`."""
    (size, voters), classes = votes.shape, verified.shape[1]
    spoken = support(votes, classes, bins)
    popular = np.log(counts @ spoken.min(0) + 0.5)
    popular -= special.logsumexp(popular)
    labels = np.tile(np.arange(classes), size)
    of_class = tallied(np.arange(len(labels)), labels, (len(labels), classes))
    named = spoken.reshape(voters, -1)
    pairs = list(combinations(range(voters), 2))
    several = np.unique(levels).tolist() if levels.any() else []
    within = [each * np.repeat(levels == level, classes) for each in named for level in several]
    columns = [*named, *within, *(named * (popular.mean() - popular[labels])), *(named[v] * named[w] for v, w in pairs)]
    by_class = [of_class.multiply(each[:, None]) for each in named]
    by_bin = [
        labels * np.repeat(votes[:, v] == place, classes) for v, each in enumerate(bins) for place in range(len(each))
    ]
    of_voters = [csr_array(np.reshape(each, (-1, 1))) for each in columns]
    design = hstack([of_class, *of_voters, *by_class, *(csr_array(each[:, None]) for each in by_bin)], format="csr")
    sizes = (classes, voters, len(within), voters, len(pairs), voters * classes + len(by_bin))
    means = (0.0, np.log(classes - 1) + _SKILL[0], 0.0, _SLOPE[0], _OVERLAP[0], 0.0)
    mean = np.repeat(means, sizes)
    mean[:classes] = popular
    sds = [
        np.repeat([_POPULARITY_SD, _SKILL[1], _LEVEL_SD, _SLOPE[1], _OVERLAP[1], tau], sizes)
        for tau in _CLASS_SKILL_SDS
    ]
    return VoteModel(design, verified, mean, np.array(sds))


def support(votes: Codes, classes: int, bins: tuple[tuple[float, ...], ...] = ()) -> Array:
    """Return u, how much each vote speaks for each class, (V, S, K)."""
    spoken = (votes.T[..., None] == np.arange(classes)).astype(float)
    for voter, of_bins in enumerate(bins):
        if of_bins:
            for_second = np.array(of_bins)[votes[:, voter]]
            spoken[voter] = np.stack([1 - for_second, for_second], -1)
    return np.asarray(spoken)


# ── The posterior of the parameters ──


def log_posterior(model: VoteModel, drawn: ModelDraws) -> Array:
    """Return the log density of parameters and ln κ, (n,), up to a constant."""
    return log_prior(model, drawn) + log_likelihood(model, drawn)


def log_prior(model: VoteModel, drawn: ModelDraws) -> Array:
    """Return the log prior density of parameters and ln κ, (n,), up to a constant: a mixture over τ."""
    z = (drawn.parameters - model.mean) / model.sds[:, None]
    of_each = -0.5 * (z**2).sum(-1) - np.log(model.sds).sum(-1)[:, None]
    # ρ = 1/(1 + κ) has the density of a Beta(a, b), and |dρ/d ln κ| = ρ(1 − ρ).
    a, b = DISPERSION
    of_precision = -a * np.log1p(drawn.precision) - b * np.log1p(1 / drawn.precision)
    return np.asarray(special.logsumexp(of_each, 0) + of_precision)


def log_likelihood(model: VoteModel, drawn: ModelDraws) -> Array:
    """Return the Dirichlet–multinomial log likelihood, (n,), up to a constant."""
    stratum, label = np.nonzero(model.verified)
    successes = model.verified[stratum, label][:, None]
    once, (trials, times) = successes[:, 0] == 1, np.unique(model.verified.sum(1).astype(float), return_counts=True)
    found = np.empty(len(drawn.precision))
    for block in blocks(len(found), model.verified.size, _BLOCK):
        kappa = drawn.precision[block]
        weight = np.maximum(kappa * model.class_shares(drawn.parameters[block])[stratum, label], _LEAST)
        # Most classes of most strata were verified once, and Γ(x + 1)/Γ(x) = x.
        gained = np.log(weight[once]).sum(0) + _log_rising(weight[~once], successes[~once]).sum(0)
        found[block] = gained - times @ _log_rising(kappa, trials[:, None])
    return found


def _log_rising(x: Array, n: Array) -> Array:
    """Return ln Γ(x + n)/Γ(x)."""
    return np.asarray(special.gammaln(x + n) - special.gammaln(x))


def posterior_draws(model: VoteModel, n: int, rng: np.random.Generator) -> ModelDraws:
    """Return n draws of the parameters and of κ; warn if they are worth fewer than 100 independent ones.

    Draws of the same parameters follow each other, as in a chain, so that the autocorrelation says what they are worth.
    """
    drawn, weight = weighted_draws(model.seen(), rng)
    if (effective := 1 / (weight**2).sum()) < _TOO_FEW:
        warn(
            ConvergenceWarning,
            "BP304",
            f"the draws of the model that the strata share are worth {effective:.0f} independent ones only, so that "
            "intervals are rough. Compare them with those of another random_seed, or use a prior as 'perks'.",
        )
    # Systematic resampling.
    chosen = np.searchsorted(np.cumsum(weight), (np.arange(n) + rng.random()) / n)
    chosen = np.minimum(chosen, len(weight) - 1)
    return ModelDraws(drawn.parameters[chosen], drawn.precision[chosen])


def weighted_draws(model: VoteModel, rng: np.random.Generator) -> tuple[ModelDraws, Array]:
    """Return draws in random order, and their weights by the posterior, which sum to 1.

    The first round draws from all proposals equally; the next rounds draw from the proposals behind the weighted draws
    and from one with their moments, until there are enough.
    """
    proposals = _proposals(model)
    shares = np.full(len(proposals), 1 / len(proposals))
    values, target, densities = np.empty((0, model.mean.size + 1)), np.empty(0), np.empty((len(proposals), 0))
    counts = np.zeros(len(proposals), int)
    for size in _ROUNDS:
        times = rng.multinomial(size, shares)
        new = np.concatenate([each.draw(k, rng) for each, k in zip(proposals, times, strict=True)])
        target = np.append(target, log_posterior(model, ModelDraws(new[:, :-1], np.exp(new[:, -1]))))
        values, counts = np.concatenate([values, new]), counts + times
        densities = np.hstack([densities, [each.log_density(new) for each in proposals]])
        weight = special.softmax(target - special.logsumexp(densities, 0, counts[:, None]))
        if 1 / (weight**2).sum() > _ENOUGH:
            break
        belongs = special.softmax(densities, 0) @ weight
        proposals.append(_adapted_proposal(values, weight, proposals[int(np.argmax(belongs))]))
        densities = np.vstack([densities, proposals[-1].log_density(values)])
        counts, shares = np.append(counts, 0), np.append(belongs, belongs.sum())
        shares = (1 - _ALIKE) * shares / shares.sum() + _ALIKE / len(shares)
    order = rng.permutation(len(weight))
    return ModelDraws(values[order, :-1], np.exp(values[order, -1])), weight[order]


# ── Proposals ──


class Proposal(NamedTuple):
    """A multivariate t distribution of the parameters and ln κ, with the Cholesky factor L of the precision L Lᵀ."""

    mode: Array
    factor: Array

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Return draws (n, P + 1)."""
        normal = row_product(rng.standard_normal((len(self.mode), n)).T, np.linalg.inv(self.factor))
        return np.asarray(self.mode + _WIDER * normal * np.sqrt(_FREEDOM / rng.chisquare(_FREEDOM, (n, 1))))

    def log_density(self, values: Array) -> Array:
        """Return the log density, up to a constant that all proposals share."""
        distance = ((row_product(values - self.mode, self.factor) / _WIDER) ** 2).sum(1)
        power = (_FREEDOM + len(self.mode)) / 2
        return np.asarray(np.log(np.diag(self.factor)).sum() - power * np.log1p(distance / _FREEDOM))


def _proposals(model: VoteModel) -> list[Proposal]:
    """Return the proposal for each precision k and each τ; ln κ has a standard deviation of 1 about ln k."""
    found, n = [], model.verified.sum(1)
    for k in _PRECISIONS:
        counts, mode = model.verified * ((k + 1) / (k + n))[:, None], model.mean
        for sd in model.sds:
            mode, factor = _mode(model, counts, sd, mode)
            found.append(Proposal(np.append(mode, np.log(k)), linalg.block_diag(factor, np.eye(1))))
    return found


def _adapted_proposal(values: Array, weight: Array, nearest: Proposal) -> Proposal:
    """Return a proposal with the mean of weighted draws, and the mean of their covariance and a proposal's."""
    weight = np.minimum(weight, 1 / np.sqrt(len(weight)))
    weight /= weight.sum()
    mean = weight @ values
    away = values - mean
    inverse = np.linalg.inv(nearest.factor)
    covariance = row_product(away.T, weight[:, None] * away) + inverse.T @ inverse
    return Proposal(mean, np.asarray(linalg.cholesky(np.linalg.inv(covariance / 2), lower=True)))


def _mode(model: VoteModel, counts: Array, sd: Array, start: Array) -> tuple[Array, Array]:
    """Return the mode of the multinomial logit model, and the Cholesky factor of its curvature, by Newton's method."""
    at = start
    for _ in range(_STEPS):
        gradient, curvature = _slopes(model, counts, at, sd)
        factor = linalg.cholesky(curvature, lower=True)
        step = linalg.cho_solve((factor, True), gradient)
        if (gain := float(gradient @ step)) < _CONVERGED:
            break
        value, size = _log_multinomial(model, counts, at, sd), 1.0
        while size > _LEAST_STEP and _log_multinomial(model, counts, at + size * step, sd) < value + size * gain / 1e4:
            size /= 2
        at = at + size * step
    return at, np.asarray(factor)


def _log_multinomial(model: VoteModel, counts: Array, at: Array, sd: Array) -> float:
    log_shares = special.log_softmax((model.design @ at).reshape(counts.shape), 1)
    return float((counts * log_shares).sum() - 0.5 * (((at - model.mean) / sd) ** 2).sum())


def _slopes(model: VoteModel, counts: Array, at: Array, sd: Array) -> tuple[Array, Array]:
    """Return the gradient of the log posterior of the multinomial logit model, and its negative Hessian."""
    n, classes = counts.sum(1), counts.shape[1]
    shares = model.class_shares(at[None])[..., 0]
    expected = n[:, None] * shares
    gradient = model.design.T @ (counts - expected).ravel() - (at - model.mean) / sd**2
    design, ends = model.design, np.arange(0, shares.size + 1, classes)
    means = (csr_array((shares.ravel(), np.arange(shares.size), ends)) @ design).toarray()
    scale = np.repeat(expected.ravel(), np.diff(design.indptr))
    weighted = csr_array((scale * design.data, design.indices, design.indptr), design.shape)
    curvature = (design.T @ weighted).toarray() - means.T @ (n[:, None] * means)
    return np.asarray(gradient), np.asarray(curvature + np.diag(1 / sd**2))
