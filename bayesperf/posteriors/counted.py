"""What posteriors of counts have in common: independent draws, made on demand, and the posteriors that follow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.fields import by_name
from bayesperf.core.random_streams import streams
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.metrics.metric import Metric, evaluated
from bayesperf.posteriors.posterior import DRAWS, PREDICTED, Posterior, SampledPosterior
from bayesperf.posteriors.prevalence import Prevalence, parse_prevalence
from bayesperf.posteriors.quantity import Scope


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CountedPosterior(Posterior):
    """A posterior of counts under a prior, of which each matrix can be drawn from a random stream of its own.

    Attributes
    ----------
    prevalence : "observed", None or Prevalence
        Prevalence estimated from the data, unknown (None), or from another source.
    random_seed, n_draws : int
        Seed and number of the draws behind Monte Carlo results.
    observed : xarray.DataArray
        The counts.
    """

    pos_label: Any
    prior_text: str
    prevalence: Literal["observed"] | Prevalence | None
    random_seed: int
    n_draws: int
    observed: xr.DataArray

    @property
    @abstractmethod
    def flat(self) -> Array:
        """What determines the posterior of each matrix, (m, K, K)."""

    @abstractmethod
    def draw_blocks(self, index: int, n: int, rng: np.random.Generator) -> Iterator[Array]:
        """Yield n draws of the cells of one matrix, in blocks (…, K, K)."""

    def metric_blocks(
        self, metrics: Sequence[Metric], index: int, n: int, rng: np.random.Generator
    ) -> Iterator[dict[Metric, Array]]:
        """Yield n joint draws of the metrics of one matrix, (…,) or (…, K) each, in blocks."""
        return (evaluated(metrics, cells, self.positive) for cells in self.draw_blocks(index, n, rng))

    # ── What is available ──

    def refuse_without_matrix(self, what: str) -> None:
        """Raise if the posterior is not one of the whole matrix."""
        self.refuse_without_prevalence(what)

    # ── Draws ──

    def generators(self, random_seed: Any, purpose: str = "") -> list[np.random.Generator]:
        """Return a random generator for each matrix."""
        seed = self.random_seed if random_seed is None else checks.seed(random_seed)
        return streams(seed, purpose, self.leading, self.flat)

    def draw_cells(self, index: int, n: int, rng: np.random.Generator) -> Array:
        """Return n draws of the cells of one matrix, (n, K, K)."""
        blocks = list(self.draw_blocks(index, n, rng))
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def joint_draws(
        self, metrics: Sequence[Metric], n: int | None = None, random_seed: Any = None
    ) -> Iterator[dict[Metric, Array]]:
        """Yield joint draws of the metrics, (n,) or (n, K) each, for one matrix at a time to save memory."""
        self.refuse_unavailable(metrics)
        known = self if self.prevalence is not None else self._with_any_prevalence()
        for index, rng in enumerate(self.generators(random_seed)):
            blocks = list(known.metric_blocks(metrics, index, self.n_draws if n is None else n, rng))
            yield {metric: np.concatenate([block[metric] for block in blocks]) for metric in metrics}

    def _metric_draws(self, wanted: Sequence[Metric], n: int, random_seed: Any) -> dict[Metric, Array]:
        """Return joint draws of the metrics, (m, n) or (m·K, n) each."""
        if not wanted:
            return {}
        blocks = list(self.joint_draws(wanted, n, random_seed))
        return {metric: np.concatenate([np.atleast_2d(block[metric].T) for block in blocks]) for metric in wanted}

    @by_name
    def _sample(self, metric: Metric, n: int, random_seed: int | None) -> Array:
        return self._metric_draws([metric], n, random_seed)[metric]

    def _with_any_prevalence(self) -> Self:
        """Return a copy with equal prevalences, for metrics that do not depend on prevalence."""
        classes = len(self.labels)
        return replace(self, prevalence=Prevalence(np.full(classes, 1 / classes), fixed=True))

    def draws(self, n: int, random_seed: Any = None) -> xr.DataArray:
        self.refuse_without_matrix("draws")
        n = checks.count("n", n)
        values = [self.draw_cells(index, n, rng) for index, rng in enumerate(self.generators(random_seed))]
        cells = self.template
        shape = (*cells.shape[:-2], n, *cells.shape[-2:])
        dims = (*self.dims, "draw", *CELL_DIMS)
        return xr.DataArray(
            np.stack(values).reshape(shape), dict(cells.coords) | {"draw": np.arange(n)}, dims, name="cells"
        )

    def cells_by_chain(
        self, draws: int | None = None, chains: int | None = None, random_seed: Any = None
    ) -> xr.DataArray:
        draws = 1000 if draws is None else checks.count("draws", draws)
        chains = 4 if chains is None else checks.count("chains", chains)
        cells = self.draws(draws * chains, random_seed)
        at = cells.get_axis_num("draw")
        shape = (*cells.shape[:at], chains, draws, *cells.shape[at + 1 :])
        coords = {name: value for name, value in cells.coords.items() if name != "draw"}
        coords |= {"chain": np.arange(chains), "draw": np.arange(draws)}
        dims = (*cells.dims[:at], "chain", *cells.dims[at:])
        return xr.DataArray(cells.values.reshape(shape), coords, dims, name="cells")

    # ── Other posteriors ──

    def predict(self, n: int | None = None, draws: int = DRAWS, random_seed: Any = None) -> Posterior:
        by_actual = self.prevalence is None and n is None
        known = self._with_any_prevalence() if by_actual else self
        known.refuse_without_matrix("predict")
        draws = checks.count("draws", draws, least=2)
        observed = self.observed.values.reshape(self.flat.shape).astype(int)
        if n is None and (observed.sum((1, 2)) == 0).any():
            raise InputError("n", "some matrix has no examples; name the size of the new test set.")
        shares = []
        for index, (counts, rng) in enumerate(zip(observed, known.generators(random_seed), strict=True)):
            cells = known.draw_cells(index, draws, rng)
            if by_actual:
                rows = np.broadcast_to(counts.sum(-1), cells.shape[:-1])
                new = rng.multinomial(rows, cells / cells.sum(-1, keepdims=True))
            else:
                size = checks.count("n", int(counts.sum()) if n is None else n)
                flat = cells.reshape(draws, -1)
                new = rng.multinomial(size, flat / flat.sum(-1, keepdims=True)).reshape(cells.shape)
            shares.append(new / new.sum((1, 2), keepdims=True))
        template = self.template
        shape = (*template.shape[:-2], 1, draws, *template.shape[-2:])
        coords = dict(template.coords) | {"chain": [0], "draw": np.arange(draws)}
        return SampledPosterior(
            cells=xr.DataArray(np.stack(shares).reshape(shape), coords, (*self.dims, "chain", "draw", *CELL_DIMS)),
            pos_label=self.pos_label,
            prior_text=self.prior_text,
            scope=Scope("test_set", n=n),
            independent=True,
            refusal=PREDICTED,
            learned_from=self.observed,
        )

    def more_counts(self, cm: ConfusionMatrix) -> xr.DataArray:
        """Return counts to update with, or raise unless their labels and leading coordinates are those observed."""
        if not isinstance(cm, ConfusionMatrix):
            raise InputTypeError("cm", f"must be a ConfusionMatrix; it is {type(cm).__name__}.")
        if cm.labels != self.labels or cm.pos_label != self.pos_label:
            raise InputError(
                "cm",
                f"labels {cm.labels} (positive {cm.pos_label!r}) are not those of the posterior, "
                f"{self.labels} (positive {self.pos_label!r}).",
            )
        try:
            template, counts = xr.align(self.template, cm.counts, join="exact")
        except ValueError as error:
            raise InputError("cm", f"its leading coordinates are not those of the posterior: {error}") from None
        if set(counts.dims) != set(template.dims):
            raise InputError("cm", f"its leading dims {cm.dims} are not those of the posterior, {self.dims}.")
        return counts

    def at_prevalence(self, p: Any) -> Posterior:
        prevalence = parse_prevalence(p, self.labels, self.positive)
        text = f"{self.prior_text}; prevalence {p!r}"
        return replace(self, prevalence=prevalence, prior_text=text)
