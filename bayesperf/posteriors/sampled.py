"""The posterior carried by draws: of a sampler, or of new test sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.counts.count_arrays import CELL_DIMS
from bayesperf.counts.matrix import ConfusionMatrix
from bayesperf.distributions.draws import Draws
from bayesperf.metrics.formulas import headline
from bayesperf.metrics.registry import Metric
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import DRAWS, Posterior, prediction_of
from bayesperf.posteriors.summary import evaluate

PREDICTED = "this is a prediction already. Take the prevalence, or the size of the new test set, of the posterior."


@dataclass(frozen=True, eq=False, repr=False)
class SampledPosterior(Posterior):
    """Draws of cells, dims (…, chain, draw, actual, predicted).

    Attributes
    ----------
    independent : bool
        Whether draws are independent of each other; else Monte Carlo errors allow for their autocorrelation.
    refusal : str
        Why `predict` and `at_prevalence` make no sense; empty if they do.
    """

    cells: xr.DataArray
    pos_label: Any
    prior_text: str
    estimand: str = Posterior.estimand
    independent: bool = False
    observed: xr.DataArray | None = None
    refusal: str = ""
    _kind = "draws"

    @cached_property
    def _cells(self) -> xr.DataArray:
        return self.cells.isel(chain=0, draw=0, drop=True)

    @property
    def _independent(self) -> bool:  # type: ignore[override]
        return self.independent

    @property
    def _observed(self) -> xr.DataArray | None:  # type: ignore[override]
        return self.observed

    def _default_metrics(self) -> list[str]:
        return headline(len(self.labels), self._positive is not None)

    def _blocks(self, wanted: Sequence[Metric]) -> Iterator[dict[Metric, NDArray[np.float64]]]:
        cells = self.cells.values.reshape(-1, self._available, *self.cells.shape[-2:])
        for matrix in cells:
            yield {metric: metric.evaluate(matrix, self._positive) for metric in wanted}

    @property
    def _available(self) -> int:
        return self.cells.sizes["chain"] * self.cells.sizes["draw"]

    def _marginals(self, wanted: Sequence[Metric]) -> list[Marginal]:
        found = []
        for metric in wanted:
            ordered = evaluate(metric, self.cells, self._positive).transpose(..., "chain", "draw")
            flat = ordered.values.reshape(-1, *ordered.shape[-2:])
            distribution = Draws.of(metric.name, flat, metric.bounds, self.independent)
            leading = xr.zeros_like(ordered.isel(chain=0, draw=0, drop=True))
            found.append(Marginal(metric.name, distribution, leading, self._sampler(metric), self.estimand))
        return found

    def _sampler(self, metric: Metric) -> Callable[[int, Any], NDArray[np.float64]]:
        def sample(n: int, random_seed: Any) -> NDArray[np.float64]:
            values = evaluate(metric, self.draws(n, random_seed), self._positive).transpose(..., "draw").values
            return values.reshape(-1, n)

        return sample

    def draws(self, n: int, random_seed: Any = None) -> xr.DataArray:
        n = checks.count("n", n)
        if n > self._available:
            raise ValueError(f"n: {n} draws asked for and {self._available} there. Sample more of them.")
        return self._chosen(n, self._generator(random_seed, 0))

    def _generator(self, random_seed: Any, purpose: int) -> np.random.Generator:
        """Return a stream for a purpose: choosing draws, new test sets, prevalence."""
        return np.random.default_rng([0 if random_seed is None else checks.seed(random_seed), purpose])

    def _chosen(self, n: int, rng: np.random.Generator) -> xr.DataArray:
        chosen = np.sort(rng.choice(self._available, n, replace=n > self._available))
        flat = self.cells.stack(sample=("chain", "draw"), create_index=False).isel(sample=chosen)
        flat = flat.drop_vars(["chain", "draw"]).rename(sample="draw").assign_coords(draw=np.arange(n))
        return flat.transpose(*self.dims, "draw", *CELL_DIMS)

    def _chains(self, draws: int | None, chains: int | None, random_seed: Any) -> xr.DataArray:
        if not draws == chains == random_seed is None:
            raise ValueError("draws, chains and random_seed are for exact posteriors; these draws are what they are.")
        return self.cells

    def _refuse(self, what: str) -> None:
        if self.refusal:
            raise ValueError(f"{what}: {self.refusal}")

    def predict(self, n: int | None = None, draws: int = DRAWS, random_seed: Any = None) -> Posterior:
        self._refuse("predict")
        size = self._size(n)
        cells = self._chosen(checks.count("draws", draws, least=2), self._generator(random_seed, 0))
        flat = cells.values.reshape(*cells.shape[:-2], -1)
        rng = self._generator(random_seed, 1)
        new = rng.multinomial(size, flat / flat.sum(-1, keepdims=True)).reshape(cells.shape)
        shares = cells.copy(data=new / new.sum((-2, -1), keepdims=True)).expand_dims(chain=[0])
        shares = shares.transpose(*self.dims, "chain", "draw", *CELL_DIMS)
        return replace(self, cells=shares, estimand=prediction_of(n), observed=None, refusal=PREDICTED)

    def _size(self, n: int | None) -> Any:
        if n is not None:
            return checks.count("n", n)
        if self.observed is None:
            raise ValueError("n: name the size of the new test set; these draws do not say how many were observed.")
        totals = self.observed.sum(CELL_DIMS).transpose(*self.dims).values[..., None].astype(int)
        if (totals == 0).any():
            raise ValueError("n: some matrix has no examples; name the size of the new test set.")
        return totals

    def update(self, cm: ConfusionMatrix) -> Posterior:
        raise ValueError("update: draws cannot be updated exactly; fit the model to all counts together.")

    def at_prevalence(self, p: Any) -> Posterior:
        from bayesperf.posteriors.dirichlet import parse_prevalence

        self._refuse("at_prevalence")
        prevalence = parse_prevalence(p, self.labels, self._positive)
        shape = self.cells.shape[:-1]
        shares = prevalence.draw(self._generator(None, 2), int(np.prod(shape[:-1]))).reshape(shape)
        target = xr.DataArray(shares, dims=self.cells.dims[:-1])
        cells = self.cells / self.cells.sum("predicted") * target
        return replace(self, cells=cells.transpose(*self.cells.dims), prior_text=f"{self.prior_text}; prevalence {p!r}")
