"""Draws, as arrays, of the model in which the classes of a confusion matrix share a prior.

The classes share the mean of their recalls, its slope on class size, and the dispersion (`shared_class_recalls`). They
also share which classes errors fall into, and how much they clump (`shared_class_errors`). Given these, the recalls and
the error proportions of each class are drawn by conjugacy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import xarray as xr
from scipy import special

from bayesperf.core.arrays import Array, blocks, sums_of_others
from bayesperf.distributions.drawing import LEAST_MASS, dirichlet_shares, gamma_masses
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.shared_class_errors import SharedErrors, draws_of_errors
from bayesperf.posteriors.shared_class_recalls import SharedRecalls, centred_log_sizes, draws_of_recalls
from bayesperf.posteriors.sparse_rows import ATOMS, SparseRows

# The Betas of the mean recall, its dispersion and the clumping of errors, the normal prior of the slope, and weights of
# a class in the Dirichlets of the popularity and of the shares.
MEAN, DISPERSION, CLUMPING, SLOPE, POPULARITY, SHARES = (1.0, 1.0), (1.0, 3.0), (1.0, 1.0), (0.0, 1.0), 0.4, 1.0

# Maximum size of temporary arrays of sparse draws: they stay in the processor's cache.
_BLOCK = 2**19


class Shared(NamedTuple):
    """n draws of the parameters that the classes of one matrix share."""

    recalls: SharedRecalls
    errors: SharedErrors

    def take(self, block: slice) -> Self:
        """Return some of the draws."""
        return type(self)(self.recalls.take(block), self.errors.take(block))


@dataclass(frozen=True)
class ClassesModel:
    """The model of several matrices; the classes of each matrix share a prior."""

    counts: Array
    # The Betas of m, of ρ and of 1/(1 + η).
    mean: tuple[float, float] = MEAN
    dispersion: tuple[float, float] = DISPERSION
    clumping: tuple[float, float] = CLUMPING
    # Mean and standard deviation of the normal prior of β.
    slope: tuple[float, float] = SLOPE
    # Dirichlet weights of g, and of the proportions of the classes, (K,).
    popularity: Array | float = POPULARITY
    shares: Array | float = SHARES

    def recalls(self, index: int, n: int, rng: np.random.Generator) -> SharedRecalls:
        """Return n draws of the parameters shared by the recalls of one matrix."""
        counts = self.counts[index]
        return draws_of_recalls(counts.diagonal(), counts.sum(-1), n, rng, self.mean, self.slope, self.dispersion)

    def shared(self, index: int, n: int, rng: np.random.Generator) -> Shared:
        """Return n draws of the parameters shared by the classes of one matrix."""
        counts = self.counts[index]
        recalls = self.recalls(index, n, rng)
        weights = np.broadcast_to(self.popularity, len(counts))
        errors = draws_of_errors(counts * ~np.eye(len(counts), dtype=bool), n, rng, weights, self.clumping)
        return Shared(recalls, errors)

    def cells(
        self, index: int, n: int, rng: np.random.Generator, prevalence: Prevalence | None = None
    ) -> Iterator[Array]:
        """Yield n draws of the cells of one matrix in blocks (…, K, K), with class proportions of their own.

        The proportions come from the counts, or from `prevalence`.
        """
        counts = self.counts[index]
        shares, shared = self._shares_and_shared(index, n, rng, prevalence)
        for block in blocks(n, counts.size):
            yield shares[block, :, None] * _rows(counts, shared.take(block), rng)

    def sparse_cells(
        self, index: int, n: int, rng: np.random.Generator, prevalence: Prevalence | None = None
    ) -> Iterator[SparseRows]:
        """Yield n draws in blocks, as `cells` does, of the cells with examples and some of the others."""
        counts = self.counts[index]
        shares, shared = self._shares_and_shared(index, n, rng, prevalence)
        for block in blocks(n, max(ATOMS * len(counts), int((counts > 0).sum())), _BLOCK):
            right, wrong = np.moveaxis(_outcomes(counts, shared.take(block), rng), -1, 0)
            yield SparseRows(
                counts, shares[block] * right, shares[block] * wrong, shared.errors.take(block), rng.spawn(1)[0]
            )

    def _shares_and_shared(
        self, index: int, n: int, rng: np.random.Generator, prevalence: Prevalence | None
    ) -> tuple[Array, Shared]:
        """Return n draws of the class proportions, and of the shared parameters."""
        # They have their own generator, so that recalls are the same at any prevalence.
        of_shares = rng.spawn(1)[0]
        if prevalence is None:
            totals = self.counts[index].sum(-1)
            shares = dirichlet_shares(of_shares, self.shares + totals, (n, len(totals)))
        else:
            shares = prevalence.draw(of_shares, n)
        return shares, self.shared(index, n, rng)


def _outcomes(counts: Array, shared: Shared, rng: np.random.Generator) -> Array:
    """Return draws of the probabilities that the prediction is right and wrong in each class, (n, K, 2)."""
    right, totals = counts.diagonal(), counts.sum(-1)
    kappa = np.exp(-shared.recalls.logit_dispersion)[:, None]
    logit_mean = shared.recalls.logits(centred_log_sizes(totals))
    weights = [special.expit(sign * logit_mean) * kappa for sign in (1, -1)]
    outcomes = np.stack([weights[0] + right, weights[1] + totals - right], -1)
    return dirichlet_shares(rng, outcomes, outcomes.shape)


def _rows(counts: Array, shared: Shared, rng: np.random.Generator) -> Array:
    """Return draws of the prediction probabilities in each actual class, (n, K, K), given the shared parameters."""
    log_weight, popularity = shared.errors
    n, classes = popularity.shape
    outcomes = _outcomes(counts, shared, rng)
    others = ~np.eye(classes, dtype=bool)
    spread = (popularity * np.exp(log_weight)[:, None])[:, None, :] * others
    spread /= sums_of_others(popularity)[:, :, None]
    spread += counts * others
    rows = gamma_masses(rng, spread, (n, classes, classes))
    rows *= outcomes[:, :, 1:] / rows.sum(-1, keepdims=True)
    np.einsum("nii->ni", rows)[...] = outcomes[:, :, 0]
    # A product of tiny shares can underflow to 0, and a ratio of such cells to 0/0.
    return np.maximum(rows, LEAST_MASS, out=rows)


# ── As the exact form of a PyMC model ──

# The priors of two parameters, and what they are called in the model.
_PAIRS = {"mean": "mean_recall", "dispersion": "dispersion", "clumping": "clumping", "slope": "slope"}


def draws(
    data: xr.DataArray,
    parameters: Mapping[str, Array],
    rngs: Sequence[np.random.Generator],
    size: tuple[int, int],
    *,
    design: str = "joint",
) -> dict[str, xr.DataArray]:
    """Return independent draws (chain, draw, …) of the parameters of the model `classes`, of counts (…, K, K).

    `parameters` holds the parameters of the priors by name: Beta of ``mean_recall``, ``dispersion`` and ``clumping``
    and normal of ``slope`` (…, 2), Dirichlet of ``popularity`` and ``prevalence`` (…, K). Each matrix has a generator.
    """
    counts = data.transpose(..., "actual", "predicted")
    leading, classes = counts.dims[:-2], counts.sizes["actual"]
    tables = counts.values.reshape(-1, classes, classes).astype(float)
    priors = {name: np.broadcast_to(of_each, (*counts.shape[:-2], of_each.shape[-1])).reshape(len(tables), -1)
              for name, of_each in parameters.items()}  # fmt: skip
    n, drawn = int(np.prod(size)), []
    for i, (table, rng) in enumerate(zip(tables, rngs, strict=True)):
        of_pairs: dict[str, Any] = {attribute: tuple(priors[name][i].tolist()) for attribute, name in _PAIRS.items()}
        model = ClassesModel(table[None], popularity=priors["popularity"][i], **of_pairs)
        (logit_mean, slope, logit_dispersion), (log_weight, popularity) = model.shared(0, n, rng)
        totals = table.sum(-1) if design == "joint" else 0.0
        shares = rng.dirichlet(priors["prevalence"][i] + totals, n)
        rates = [special.expit(logit) for logit in (logit_mean, logit_dispersion, -log_weight)]
        drawn.append((*rates, slope, popularity, shares))
    dims: dict[str, tuple[str, ...]] = dict.fromkeys(["mean_recall", "dispersion", "clumping", "slope"], ())
    dims |= {"popularity": ("predicted",), "prevalence": ("actual",)}
    return {
        name: xr.DataArray(
            np.stack(of_each).reshape(*counts.shape[:-2], *size, *of_each[0].shape[1:]),
            dims=(*leading, "chain", "draw", *own),
        ).transpose("chain", "draw", ...)
        for (name, own), of_each in zip(dims.items(), zip(*drawn, strict=True), strict=True)
    }
