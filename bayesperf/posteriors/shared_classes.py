"""Draws of the model in which the classes of a confusion matrix share a prior, as arrays.

Of n_i examples of class i, x_i are predicted right, x_i ~ Binomial(n_i, r_i), r_i ~ Beta(κm, κ(1 − m)), κ = 1/ρ − 1:
the classes stand in the place of the groups of `bayesperf.distributions.beta_binomial`, which integrates their recalls
out; given m and ρ they come back by conjugacy. The errors of class i are multinomial with shares q_i ~ Dirichlet(g
without i, rescaled to sum to 1), where g is the popularity of each class among errors.

g is drawn by importance resampling, with the likelihood of Dirichlet–multinomial errors. Under weights that sum to 1
most errors in a cell repeat an earlier one of their row and say nothing of g. A proposal that counted all of them would
be far too narrow; those used here count the errors that are no repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy import special

from bayesperf.core.arrays import Array, blocks, sums_of_others
from bayesperf.distributions import beta_binomial
from bayesperf.distributions.beta_binomial import BetaBinomial
from bayesperf.distributions.gamma import LEAST_MASS, gamma_masses
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.sparse_rows import ATOMS, SparseRows

# Weights of the Betas of the mean recall and its dispersion, and of a class in the Dirichlets of g and of the shares.
MEAN, DISPERSION, POPULARITY, SHARES = (1.0, 1.0), (1.0, 3.0), 1.0, 1.0

# Maximum size of temporary arrays of sparse draws: they stay in the processor's cache.
_BLOCK = 2**19


class Shared(NamedTuple):
    """n draws of what the classes of one matrix share.

    Attributes
    ----------
    logit_mean, logit_dispersion : array (n,)
        Logits of m and of ρ.
    popularity : array (n, K)
        g.
    """

    logit_mean: Array
    logit_dispersion: Array
    popularity: Array

    def take(self, block: slice) -> Shared:
        """Return some of the draws."""
        return Shared(*(part[block] for part in self))


@dataclass(frozen=True)
class SharedClasses:
    """The model of some matrices, each with a prior of its own that its classes share.

    Attributes
    ----------
    counts : array (m, K, K)
        Rows actual.
    mean, dispersion : tuple of two float
        The Betas of m and of ρ.
    popularity, shares : float or array (K,)
        Dirichlet weights of g, and of the proportions of the classes.
    """

    counts: Array
    mean: tuple[float, float] = MEAN
    dispersion: tuple[float, float] = DISPERSION
    popularity: Array | float = POPULARITY
    shares: Array | float = SHARES

    @cached_property
    def recall(self) -> BetaBinomial:
        """The joint posterior of m and ρ, a row for each matrix."""
        right = np.einsum("mii->mi", self.counts)
        return beta_binomial.posterior(right, self.counts.sum(-1), self.dispersion, self.mean)

    def shared(self, index: int, n: int, rng: np.random.Generator) -> Shared:
        """Return n draws of what the classes of one matrix share."""
        recall = self.recall.take(slice(index, index + 1))
        logit_mean = recall.draws_of_mean(n, [rng])
        logit_dispersion = recall.draws_of_dispersion(logit_mean, [rng])
        counts = self.counts[index]
        weights = np.broadcast_to(self.popularity, len(counts))
        popularity = popularity_draws(counts * ~np.eye(len(counts), dtype=bool), weights, n, rng)
        return Shared(logit_mean[0], logit_dispersion[0], popularity)

    def cells(
        self, index: int, n: int, rng: np.random.Generator, prevalence: Prevalence | None = None
    ) -> Iterator[Array]:
        """Yield n draws of the cells of one matrix in blocks (…, K, K), with proportions of the classes of their own.

        The proportions are those of the counts, or of `prevalence`.
        """
        counts = self.counts[index]
        shares, shared = self._shares_and_shared(index, n, rng, prevalence)
        for block in blocks(n, counts.size):
            yield shares[block, :, None] * _rows(counts, shared.take(block), rng)

    def sparse_cells(
        self, index: int, n: int, rng: np.random.Generator, prevalence: Prevalence | None = None
    ) -> Iterator[SparseRows]:
        """Yield n draws as `cells` does, in blocks, of the cells with examples and some of the others."""
        counts = self.counts[index]
        shares, shared = self._shares_and_shared(index, n, rng, prevalence)
        for block in blocks(n, max(ATOMS * len(counts), int((counts > 0).sum())), _BLOCK):
            right, wrong = np.moveaxis(_outcomes(counts, shared.take(block), rng), -1, 0)
            yield SparseRows(
                counts, shares[block] * right, shares[block] * wrong, shared.popularity[block], rng.spawn(1)[0]
            )

    def _shares_and_shared(
        self, index: int, n: int, rng: np.random.Generator, prevalence: Prevalence | None
    ) -> tuple[Array, Shared]:
        """Return n draws of the proportions of the classes, and of what they share."""
        # By a generator of their own, so that recalls are the same at any prevalence.
        of_shares = rng.spawn(1)[0]
        if prevalence is None:
            totals = self.counts[index].sum(-1)
            shares = gamma_masses(of_shares, self.shares + totals, (n, len(totals)))
            shares /= shares.sum(-1, keepdims=True)
        else:
            shares = prevalence.draw(of_shares, n)
        return shares, self.shared(index, n, rng)


def _outcomes(counts: Array, shared: Shared, rng: np.random.Generator) -> Array:
    """Return draws of the probabilities that an example of each class is predicted right and wrong, (n, K, 2)."""
    right = counts.diagonal()
    kappa = np.exp(-shared.logit_dispersion)[:, None]
    weights = [special.expit(sign * shared.logit_mean)[:, None] * kappa for sign in (1, -1)]
    outcomes = np.stack([weights[0] + right, weights[1] + counts.sum(-1) - right], -1)
    outcomes = gamma_masses(rng, outcomes, outcomes.shape)
    return np.asarray(outcomes / outcomes.sum(-1, keepdims=True))


def _rows(counts: Array, shared: Shared, rng: np.random.Generator) -> Array:
    """Return draws of the predictions of each actual class, (n, K, K), given what the classes share."""
    n, classes = shared.popularity.shape
    outcomes = _outcomes(counts, shared, rng)
    others = ~np.eye(classes, dtype=bool)
    spread = shared.popularity[:, None, :] * others
    spread /= spread.sum(-1, keepdims=True)
    spread += counts * others
    rows = gamma_masses(rng, spread, (n, classes, classes))
    rows *= outcomes[:, :, 1:] / rows.sum(-1, keepdims=True)
    np.einsum("nii->ni", rows)[...] = outcomes[:, :, 0]
    # A product of tiny shares can underflow to 0, and a ratio of such cells to 0/0.
    return np.maximum(rows, LEAST_MASS, out=rows)


# ── The popularity of the classes among errors ──


def popularity_draws(errors: Array, weights: Array, n: int, rng: np.random.Generator) -> Array:
    """Return n draws of g, (n, K), by importance resampling.

    Parameters
    ----------
    errors : array (K, K)
        Errors by actual and predicted class; zeros on the diagonal.
    weights : array (K,)
        Of the Dirichlet prior of g.
    n : int
        Number of draws, of which some are alike.
    rng : numpy.random.Generator
        Source of random numbers.
    """
    # Half of the proposals count the errors that are expected to be no repeats, half the first of each cell.
    counted = [weights + _expected_first(errors, weights), weights + (errors > 0).sum(0)]
    halves = zip(counted, (n - n // 2, n // 2), strict=True)
    proposals = np.concatenate([gamma_masses(rng, each, (size, len(errors))) for each, size in halves])
    proposals /= proposals.sum(-1, keepdims=True)
    logs = np.log(proposals)
    log_proposal = np.logaddexp(*(logs @ (each - 1) - _log_beta(each) for each in counted))
    log_weight = logs @ (weights - 1) + log_likelihood(errors, proposals) - log_proposal
    cumulative = np.cumsum(np.exp(log_weight - log_weight.max()))
    positions = (np.arange(n) + rng.random()) / n * cumulative[-1]
    return proposals[rng.permutation(np.minimum(np.searchsorted(cumulative, positions), n - 1))]


def log_likelihood(errors: Array, popularity: Array) -> Array:
    """Return the log-likelihood of Dirichlet–multinomial errors at popularities (n, K), up to a constant."""
    # Summed, not subtracted from 1: the most popular class may have all but a tiny part.
    others = sums_of_others(popularity)
    # Of weight w, k errors in a cell have the likelihood w (w + 1) … (w + k − 1), whose first factor is a ratio.
    seen = errors > 0
    total = np.log(popularity) @ seen.sum(0) - np.log(others) @ seen.sum(1)
    actual, predicted = np.nonzero(errors > 1)
    repeated = errors[actual, predicted]
    for block in blocks(len(popularity), max(1, len(repeated))):
        weight = popularity[block][:, predicted] / others[block][:, actual]
        total[block] += (special.gammaln(weight + repeated) - special.gammaln(weight + 1)).sum(-1)
    return np.asarray(total)


def _expected_first(errors: Array, weights: Array) -> Array:
    """Return how many errors by predicted class are no repeats, at a popularity that these numbers suggest, (K,).

    Of e draws from a Dirichlet–multinomial that fall into a category of weight a, a[ψ(a + e) − ψ(a)] are expected to be
    new ones (Antoniak 1974, Mixtures of Dirichlet processes).
    """
    first = np.zeros(len(errors))
    actual, predicted = np.nonzero(errors)
    seen = errors[actual, predicted]
    for _ in range(20):
        popularity = (weights + first) / (weights + first).sum()
        weight = popularity[predicted] / (1 - popularity)[actual]
        new = weight * (special.digamma(weight + seen) - special.digamma(weight))
        first = np.bincount(predicted, new, len(errors))
    return first


def _log_beta(weights: Array) -> float:
    return float(special.gammaln(weights).sum() - special.gammaln(weights.sum()))


# ── As the exact form of a PyMC model ──


def draws(
    data: xr.DataArray,
    parameters: Mapping[str, Array],
    rngs: Sequence[np.random.Generator],
    size: tuple[int, int],
    *,
    design: str = "joint",
) -> dict[str, xr.DataArray]:
    """Return independent draws (chain, draw, …) of the parameters of the model `classes`.

    Parameters
    ----------
    data : xarray.DataArray
        Counts (…, actual, predicted).
    parameters : mapping
        Those of the priors, by name: Beta of ``mean_recall`` and ``dispersion`` (…, 2), Dirichlet of ``popularity`` and
        ``prevalence`` (…, K).
    rngs : sequence of numpy.random.Generator
        One for each matrix.
    size : tuple of two int
        Chains and draws.
    design : {"joint", "by_actual"}
        Whether the data are informative about prevalence.
    """
    counts = data.transpose(..., "actual", "predicted")
    leading, classes = counts.dims[:-2], counts.sizes["actual"]
    tables = counts.values.reshape(-1, classes, classes).astype(float)
    priors = {name: np.broadcast_to(of_each, (*counts.shape[:-2], of_each.shape[-1])).reshape(len(tables), -1)
              for name, of_each in parameters.items()}  # fmt: skip
    n, drawn = int(np.prod(size)), []
    for i, (table, rng) in enumerate(zip(tables, rngs, strict=True)):
        (a, b), (c, d) = priors["mean_recall"][i].tolist(), priors["dispersion"][i].tolist()
        shared = SharedClasses(table[None], (a, b), (c, d), priors["popularity"][i]).shared(0, n, rng)
        totals = table.sum(-1) if design == "joint" else 0.0
        shares = rng.dirichlet(priors["prevalence"][i] + totals, n)
        drawn.append((special.expit(shared.logit_mean), special.expit(shared.logit_dispersion), shared[2], shares))
    dims = {"mean_recall": (), "dispersion": (), "popularity": ("predicted",), "prevalence": ("actual",)}
    return {
        name: xr.DataArray(
            np.stack(of_each).reshape(*counts.shape[:-2], *size, *of_each[0].shape[1:]),
            dims=(*leading, "chain", "draw", *own),
        ).transpose("chain", "draw", ...)
        for (name, own), of_each in zip(dims.items(), zip(*drawn, strict=True), strict=True)
    }
