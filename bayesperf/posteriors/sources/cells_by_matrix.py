"""Common parts of sources of counts: each matrix is drawn on demand, from a random stream of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.random_streams import streams
from bayesperf.metrics.metric import Metric, evaluated
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.sources.source import Source
from bayesperf.posteriors.sources.stored_draws import PREDICTED, StoredDraws, stored

if TYPE_CHECKING:
    from bayesperf.posteriors.posterior import Posterior


@dataclass(frozen=True, eq=False, kw_only=True)
class CellsByMatrix(Source):
    """Base class of sources that draw each matrix separately, at the prevalence of the posterior in use."""

    by_matrix = True
    # Seed and number of the draws behind Monte Carlo results.
    random_seed: int = 0
    n_draws: int = Source.n_draws

    @property
    @abstractmethod
    def flat(self) -> Array:
        """What determines the cells of each matrix, (m, K, K)."""

    @abstractmethod
    def draw_blocks(self, post: Posterior, index: int, draws: int, rng: np.random.Generator) -> Iterator[Array]:
        """Yield draws of the cells of one matrix, in blocks (…, K, K)."""

    def metric_blocks(
        self, post: Posterior, metrics: Sequence[Metric], index: int, draws: int, rng: np.random.Generator
    ) -> Iterator[dict[Metric, Array]]:
        """Yield joint draws of the metrics of one matrix, (…,) or (…, K) each, in blocks."""
        return (evaluated(metrics, cells, post.positive) for cells in self.draw_blocks(post, index, draws, rng))

    def generators(self, random_seed: Any, purpose: str = "") -> list[np.random.Generator]:
        """Return a random generator for each matrix."""
        seed = self.random_seed if random_seed is None else checks.seed(random_seed)
        leading = self.template.isel(actual=0, predicted=0, drop=True)
        return streams(seed, purpose, leading, self.flat)

    def drawn_by_matrix(
        self, post: Posterior, metrics: Sequence[Metric], draws: int | None = None, random_seed: Any = None
    ) -> Iterator[dict[Metric, Array]]:
        known = post if post.prevalence is not None else _at_any_prevalence(post)
        for index, rng in enumerate(self.generators(random_seed)):
            blocks = list(self.metric_blocks(known, metrics, index, self.n_draws if draws is None else draws, rng))
            yield {metric: np.concatenate([block[metric] for block in blocks]) for metric in metrics}

    def metric_draws(
        self, post: Posterior, metrics: Sequence[Metric], draws: int, random_seed: Any
    ) -> dict[Metric, Array]:
        """Return joint draws of the metrics, (m, draws) or (m·K, draws) each."""
        if not metrics:
            return {}
        blocks = list(self.drawn_by_matrix(post, metrics, draws, random_seed))
        return {metric: np.concatenate([np.atleast_2d(block[metric].T) for block in blocks]) for metric in metrics}

    def sampled(self, post: Posterior, metric: Metric, draws: int, random_seed: int | None) -> Array:
        return self.metric_draws(post, [metric], draws, random_seed)[metric]

    def draw_cells(self, post: Posterior, index: int, draws: int, rng: np.random.Generator) -> Array:
        """Return draws of the cells of one matrix, (draws, K, K)."""
        blocks = list(self.draw_blocks(post, index, draws, rng))
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def cell_draws(self, post: Posterior, draws: int, random_seed: Any) -> xr.DataArray:
        # The matrices are drawn one by one, and held twice while they are put together.
        checks.draws_in_memory(
            draws, 2 * self.flat.size, f"{self.flat.size:,} cells", "Ask for metrics, or select few of the matrices."
        )
        values = [self.draw_cells(post, index, draws, rng) for index, rng in enumerate(self.generators(random_seed))]
        return stored(np.stack(values), self.template).isel(chain=0, drop=True)

    def cells_by_chain(
        self, post: Posterior, draws: int | None = None, chains: int | None = None, random_seed: Any = None
    ) -> xr.DataArray:
        draws = 1000 if draws is None else checks.count("draws", draws)
        chains = 4 if chains is None else checks.count("chains", chains)
        return stored(self.cell_draws(post, draws * chains, random_seed).values, self.template, chains)

    def predict(self, post: Posterior, n: int | None, draws: int, random_seed: Any) -> Source:
        by_actual = post.prevalence is None and n is None
        known = _at_any_prevalence(post) if by_actual else post
        known.refuse("predict")
        draws = checks.count("draws", draws, least=2)
        counts = self._observed(post, n)
        shares = []
        for index, (observed, rng) in enumerate(zip(counts, self.generators(random_seed), strict=True)):
            cells = self.draw_cells(known, index, draws, rng)
            if by_actual:
                rows = np.broadcast_to(observed.sum(-1), cells.shape[:-1])
                new = rng.multinomial(rows, cells / cells.sum(-1, keepdims=True))
            else:
                size = checks.count("n", int(observed.sum()) if n is None else n)
                flat = cells.reshape(draws, -1)
                new = rng.multinomial(size, flat / flat.sum(-1, keepdims=True)).reshape(cells.shape)
            shares.append(new / new.sum((1, 2), keepdims=True))
        return StoredDraws(
            stored(np.stack(shares), self.template),
            independent_draws=True,
            refusal=PREDICTED,
            predicted_from=post,
            size=n,
        )

    def _observed(self, post: Posterior, n: int | None) -> Array:
        """Return the observed counts, (m, K, K), whose sum is the default size of a new test set."""
        assert post.observed is not None
        counts = post.observed.values.reshape(self.flat.shape).astype(int)
        if n is None and (counts.sum((1, 2)) == 0).any():
            raise InputError("n", "some matrix has no examples; name the size of the new test set.")
        return counts


def _at_any_prevalence(post: Posterior) -> Posterior:
    """Return a posterior with equal prevalences, for quantities that do not depend on prevalence."""
    classes = len(post.labels)
    return replace(post, prevalence=Prevalence(np.full(classes, 1 / classes), fixed=True))
